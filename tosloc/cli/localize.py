"""``tosloc localize``: bug reports, and for each the files of a version that are most likely at fault."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.options import CommitOption, JsonOption, ProgressOption, StoreOption
from tosloc.errors import ReportError, ToslocError

if TYPE_CHECKING:
    from tosloc.answer import Answer
    from tosloc.data.git import Repository
    from tosloc.data.path_filter import PathFilter
    from tosloc.localizer import Localizer
    from tosloc.records import BugReport, Progress


def localize(
    report: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[REPORT]...",
            help="Text, Markdown or JSON of a bug report; JSON lines of many; - is standard input.",
            show_default=False,
        ),
    ] = None,
    named: Annotated[list[Path] | None, typer.Option("--report", hidden=True)] = None,
    repo: Annotated[
        Path | None,
        typer.Option(
            "--repo",
            help="Git repository: a work tree, a bare repository or a git directory.",
            show_default="the one around the current folder; the version that a checkpoint carries",
        ),
    ] = None,
    commit: CommitOption = "HEAD",
    include: Annotated[
        list[str] | None,
        typer.Option("--include", metavar="GLOB", help="Name only such files; as in .gitignore.", show_default=False),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option("--exclude", metavar="GLOB", help="Name no such files.", show_default=False),
    ] = None,
    tests: Annotated[bool, typer.Option("--tests", help="Name test files, too.")] = False,
    top: Annotated[int, typer.Option("--top", min=1, help="How many files to print.")] = 10,
    functions: Annotated[int, typer.Option("--functions", min=0, help="How many functions of a file, at most.")] = 3,
    as_json: JsonOption = False,
    as_lines: Annotated[bool, typer.Option("--jsonl", help="Print JSON, an answer a line.")] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", help="Folder of a trained checkpoint.", show_default="shipped weights"),
    ] = None,
    opened: Annotated[
        str | None,
        typer.Option(
            "--opened",
            help="When the report was opened, in UTC unless it says otherwise: nothing later is looked at.",
            show_default="what the report says, else when the version was new",
        ),
    ] = None,
    store: StoreOption = None,
    progress: ProgressOption = None,
) -> None:
    """Here are bug reports: which files, and which functions?"""
    from tosloc.cli.answers import print_answer
    from tosloc.cli.printing import print_json, print_notes
    from tosloc.cli.progress import shown
    from tosloc.data.path_filter import PathFilter
    from tosloc.localizer import Localizer

    reports = _reports([*(report or ()), *(named or ())], opened)
    if as_json and len(reports) > 1:
        raise ToslocError(f"--json prints one answer, and there are {len(reports)} reports; use --jsonl")
    localizer = Localizer.default() if checkpoint is None else Localizer.load(checkpoint)
    wanted = PathFilter(tuple(include or ()), tuple(exclude or ()), tests)
    with _repository(repo, localizer) as repository, shown(progress) as callback:
        answers = _answers(localizer, reports, repository, commit, store, wanted, top, functions, callback)
        said: set[str] = set()
        for number, answer in enumerate(answers):
            print_notes(note for note in answer.notes if note not in said)
            said.update(answer.notes)
            if as_lines:
                print(json.dumps(answer.as_dict(), allow_nan=False), flush=True)
            elif as_json:
                print_json(answer.as_dict())
            else:
                print_answer(answer, repository, again=number > 0)


def _reports(sources: Sequence[Path], opened: str | None) -> list[BugReport]:
    """All reports of the sources, in order. Raises ReportError when there is none."""
    from tosloc.data.report_file import time_of
    from tosloc.data.reports import read_new_reports

    if not sources:
        raise ReportError("no report is given; name a file, or - for standard input")
    reports = [one for source in sources for one in read_new_reports("-" if str(source) == "-" else source)]
    if opened is None:
        return reports
    when = time_of(opened, UTC, "--opened")
    return [replace(one, opened=when) for one in reports]


def _repository(named: Path | None, localizer: Localizer) -> closing[Repository] | nullcontext[None]:
    """The named repository, else the one around the current folder; None for what a checkpoint carries along."""
    from tosloc.data import git_files
    from tosloc.data.git import Repository

    if named is None and localizer.version_ is not None:
        return nullcontext()
    return closing(Repository(git_files.around(Path.cwd()) if named is None else named))


def _answers(
    localizer: Localizer,
    reports: Sequence[BugReport],
    repository: Repository | None,
    commit: str,
    store: Path | None,
    wanted: PathFilter,
    top: int,
    functions: int,
    progress: Progress,
) -> Iterator[Answer]:
    """The answers, one after the other, of one opened version."""
    chosen = None
    for report in reports:
        started = time.perf_counter()
        if chosen is None:
            if repository is not None and (wanted.include or wanted.exclude):
                wanted.choose(localizer.sources(repository, commit).paths)  # before anything is made
            result = localizer.localize(report, repository, commit, store, progress)
            chosen = wanted.choose(result.ranked_paths)
        else:
            result = localizer.localize(report)
        path = None if repository is None else repository.path
        answer = result.answer(top, chosen, path)
        hits = tuple(replace(hit, functions=hit.functions[:functions]) for hit in answer.hits)
        yield replace(answer, hits=hits, seconds=time.perf_counter() - started)
