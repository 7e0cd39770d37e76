"""``tosloc localize``: bug reports, and for each the files of a version that are most likely at fault."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.options import CheckpointOption, JsonOption, ProgressOption, StoreOption
from tosloc.errors import ReportError, ToslocError

if TYPE_CHECKING:
    from tosloc.localizer import Localizer
    from tosloc.records import BugReport
    from tosloc.web.view import View


ReportArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="REPORT", help="Text, Markdown or JSON of a bug report; JSON lines of many; - is standard input."
    ),
]
RepositoryOption = Annotated[
    Path | None,
    typer.Option(
        "--repo",
        help="Git repository: a work tree, a bare repository or a git directory.",
        show_default="the version that the checkpoint carries; else the one around the current folder",
    ),
]
VersionOption = Annotated[
    str | None,
    typer.Option(
        "--commit",
        help="Version to search.",
        show_default="the files as they are on disk, HEAD's in a bare repository, or what the checkpoint carries",
    ),
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option("--include", metavar="GLOB", help="Name only files that match, as in .gitignore; may be given again."),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="GLOB", help="Name no file that matches; may be given again."),
]
TopOption = Annotated[int, typer.Option("--top", min=1, help="How many files to print.")]
FunctionsOption = Annotated[int, typer.Option("--functions", min=0, help="How many functions of a file, at most.")]
PageOption = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write a page of the answers, too; it needs no other file."),
]
OpenedOption = Annotated[
    str | None,
    typer.Option(
        "--opened",
        help="When the report was opened, in UTC unless it says otherwise: nothing later is looked at.",
        show_default="what the report says, else when the version was new",
    ),
]


def localize(
    report: ReportArgument = None,
    named: Annotated[list[Path] | None, typer.Option("--report", hidden=True)] = None,
    repo: RepositoryOption = None,
    commit: VersionOption = None,
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    tests: Annotated[bool, typer.Option("--tests", help="Name test files, too.")] = False,
    top: TopOption = 10,
    functions: FunctionsOption = 3,
    as_json: JsonOption = False,
    as_lines: Annotated[bool, typer.Option("--jsonl", help="Print JSON, an answer a line.")] = False,
    html: PageOption = None,
    checkpoint: CheckpointOption = None,
    opened: OpenedOption = None,
    store: StoreOption = None,
    progress: ProgressOption = None,
) -> None:
    """Here are bug reports: which files, and which functions?"""
    from tosloc.cli.answers import print_answer
    from tosloc.cli.printing import print_json, print_notes
    from tosloc.cli.progress import shown
    from tosloc.reports.test_paths import PathFilter, which_are_tests

    reports = _reports([*(report or ()), *(named or ())], opened)
    if as_json and len(reports) > 1:
        raise ToslocError(f"--json prints one answer, and there are {len(reports)} reports; use --jsonl")
    views = None if html is None else _begin_page(html, len(reports))
    with shown(progress) as callback, _opened(repo, checkpoint, store, commit) as localizer:
        if include or exclude:  # before anything is made
            files = localizer.files(commit)
            wanted = PathFilter(tuple(include or ()), tuple(exclude or ()), tests)
            wanted.choose(which_are_tests(files), lambda: files)
        said: set[str] = set()
        answers = localizer.localize_many(
            reports,
            commit=commit,
            include=include or (),
            exclude=exclude or (),
            tests=tests,
            top=top,
            functions=functions,
            progress=callback,
        )
        for number, answer in enumerate(answers):
            if html is not None and views is not None:
                from tosloc.web.view import View

                views.append(View.of(answer, localizer))
                if len(views) == len(reports):  # before the last is printed: who reads may close the pipe
                    _write_page(html, views)
            print_notes(note for note in answer.notes if note not in said)
            said.update(answer.notes)
            if as_lines:
                print(json.dumps(answer.as_dict(), allow_nan=False), flush=True)
            elif as_json:
                print_json(answer.as_dict())
            else:
                print_answer(answer, localizer.repository, again=number > 0)


def _write_page(path: Path, views: Sequence[View]) -> None:
    from tosloc.io import write_text
    from tosloc.web.render import page

    write_text(path, page(views))


def _begin_page(path: Path, reports: int) -> list[View]:
    """The list of what its page will show. Raises MissingExtra, and ToslocError for what cannot become a page."""
    from tosloc.web.render import MOST_ANSWERS

    if path.is_dir():
        raise ToslocError(f"--html {path}: is a folder; name a file")
    if reports > MOST_ANSWERS:
        raise ToslocError(f"a page holds {MOST_ANSWERS} answers, and there are {reports:,} reports; use --jsonl")
    return []


def _reports(sources: Sequence[Path], opened: str | None) -> list[BugReport]:
    """All reports of the sources, in order. Raises ReportError when there is none."""
    from tosloc.reports.issues import read_new_reports
    from tosloc.reports.source import time_of

    if not sources:
        raise ReportError("no report is given; name a file, or - for standard input")
    reports = [one for source in sources for one in read_new_reports("-" if str(source) == "-" else source)]
    if opened is None:
        return reports
    when = time_of(opened, UTC, "--opened")
    return [replace(one, opened=when) for one in reports]


def _opened(repo: Path | None, checkpoint: Path | None, store: Path | None, commit: str | None) -> Localizer:
    """The named repository, else the version that a checkpoint carries, else the repository around this folder.

    A commit that is asked for is one of a repository: what a checkpoint carries is a single version.
    """
    from tosloc.git import discovery
    from tosloc.localizer import Localizer

    if repo is None and checkpoint is not None and commit is None:
        localizer = Localizer.load(checkpoint)
        if localizer.version_ is not None:
            return localizer
    return Localizer.open(repo or discovery.around(Path.cwd()), checkpoint, ready=False, store=store)
