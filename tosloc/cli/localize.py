"""``tosloc localize``: one report, every file of a version, ranked."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.options import CommitOption, JsonOption, ProgressOption, StoreOption


def localize(
    report: Annotated[
        Path, typer.Option("--report", help="Text, Markdown or JSON of a bug report; - is standard input.")
    ],
    repo: Annotated[
        Path | None,
        typer.Option(
            "--repo",
            help="Git repository: a work tree, a bare repository or a git directory.",
            show_default="the version that the checkpoint carries; without a checkpoint the current folder",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", help="Folder of a trained checkpoint.", show_default="shipped weights"),
    ] = None,
    commit: CommitOption = "HEAD",
    opened: Annotated[
        str | None,
        typer.Option(
            "--opened",
            help="When the report was opened, in UTC unless it says otherwise: nothing later is looked at.",
            show_default="what the report says, else when the version was new",
        ),
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many files to print.")] = 10,
    as_json: JsonOption = False,
    store: StoreOption = None,
    progress: ProgressOption = None,
) -> None:
    """Rank a version's files for one report."""
    from tosloc.cli.printing import print_hits, print_json, print_notes
    from tosloc.cli.progress import shown
    from tosloc.data.git import Repository
    from tosloc.data.report_file import time_of
    from tosloc.data.reports import read_report
    from tosloc.localizer import Localizer

    question = read_report("-" if str(report) == "-" else report)
    if opened is not None:
        question = replace(question, opened=time_of(opened, UTC, "--opened"))
    localizer = Localizer.default() if checkpoint is None else Localizer.load(checkpoint)
    if repo is None and checkpoint is None:
        repo = Path()
    with ExitStack() as stack:
        repository = None if repo is None else stack.enter_context(Repository(repo))
        with shown(progress) as callback:
            result = localizer.localize(question, repository, revision=commit, store_path=store, progress=callback)
    answer = result.answer(top, None, None if repository is None else repository.path)
    print_notes(answer.notes)
    if as_json:
        print_json(answer.as_dict())
    else:
        print_hits(answer.hits)
