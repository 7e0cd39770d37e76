"""``tosloc localize``: bug reports, and for each the files of a version that are most likely at fault."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC
from enum import StrEnum
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tosloc.cli.options import AroundRepositoryOption, FoundCheckpointOption, JsonOption, VersionOption
from tosloc.errors import ReportError, RepositoryError, ToslocError
from tosloc.io import write_text

if TYPE_CHECKING:
    from tosloc.answer import Answer
    from tosloc.localizer import Localizer
    from tosloc.records import BugReport


class Format(StrEnum):
    """How answers are printed."""

    text = "text"
    path = "path"


ReportArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="REPORT",
        help="File of a bug report (text, Markdown, JSON) or of many (JSON lines); - is standard input. Else an issue"
        " at GitHub ('#12', OWNER/REPO#12, its address), or the text itself.",
    ),
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(metavar="GLOB", help="Name only files that match, as in .gitignore; may be given again."),
]
ExcludeOption = Annotated[
    list[str] | None, typer.Option(metavar="GLOB", help="Name no file that matches; may be given again.")
]
ShareOption = Annotated[
    float | None, typer.Option(min=0, max=1, help="Name only files with such a share, as 0.3, or more.")
]
TopOption = Annotated[int, typer.Option(min=1, help="How many files to print.")]
FunctionsOption = Annotated[int, typer.Option(min=0, help="How many functions of a file, at most.")]
PageOption = Annotated[
    Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Write the answers as a page, too.")
]
OpenOption = Annotated[bool, typer.Option("--open", help="Open the first file in VISUAL or EDITOR.")]
FormatOption = Annotated[
    Format, typer.Option("--format", help="How to print; path: FILE:LINE:COLUMN, for vim -q and other editors.")
]
BackgroundOption = Annotated[
    bool, typer.Option(help="Tell earlier changes like the report, and people and tests of the first file.")
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Print notes that ask nothing of you, too.")]
OpenedOption = Annotated[
    str | None, typer.Option(help="When the report was opened, in UTC: nothing later is looked at.")
]


def localize(
    report: ReportArgument,
    repo: AroundRepositoryOption = None,
    commit: VersionOption = None,
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    tests: Annotated[bool, typer.Option("--tests", help="Name test files, too.")] = False,
    min_share: ShareOption = None,
    top: TopOption = 10,
    functions: FunctionsOption = 3,
    form: FormatOption = Format.text,
    as_json: JsonOption = False,
    as_lines: Annotated[bool, typer.Option("--jsonl", help="Print JSON, an answer a line.")] = False,
    html: PageOption = None,
    open_file: OpenOption = False,
    checkpoint: FoundCheckpointOption = None,
    opened: OpenedOption = None,
    background: BackgroundOption = True,
    verbose: VerboseOption = False,
) -> None:
    """Here are bug reports: which files, and which functions?"""
    from tosloc.cli.answers import open_first, print_answer, print_places
    from tosloc.cli.printing import print_json, print_notes
    from tosloc.cli.progress import shown
    from tosloc.reports.source import time_of

    when = None if opened is None else time_of(opened, UTC, "--opened")
    reports = [replace(one, opened=when or one.opened) for source in report for one in _read(source, repo)]
    if len(reports) > 1 and (as_json or open_file):
        raise ToslocError(
            f"--json and --open are for one answer, and there are {len(reports)} reports; name one, or use --jsonl"
        )
    if html is not None:
        from tosloc.web.render import MOST_ANSWERS, page

        if len(reports) > MOST_ANSWERS:
            many = f"and there are {len(reports):,} reports; use --jsonl"
            raise ToslocError(f"a page holds {MOST_ANSWERS} answers, {many}")
    with shown() as callback, _opened(repo, checkpoint, commit) as localizer:
        repository = localizer.repository
        said: set[str] = set()
        asked: dict[str, Any] = {"commit": commit, "include": include, "exclude": exclude, "tests": tests or None}
        asked |= {"min_share": min_share, "top": top, "functions": functions, "background": background}
        answers: Iterable[Answer] = localizer.localize_many(reports, **asked, progress=callback)
        if html is not None:  # before anything is printed: who reads may close the pipe
            answers = list(answers)
            write_text(html, page(answers, localizer))
        for number, answer in enumerate(answers):
            notes = answer.notes if verbose else answer.warnings
            print_notes(note for note in notes if note not in said)
            said.update(notes)
            if as_lines:
                print(json.dumps(answer.as_dict(), allow_nan=False), flush=True)
            elif as_json:
                print_json(answer.as_dict())
            else:
                print_places(answer, repository) if form is Format.path else print_answer(answer, repository, number)
    if open_file:
        open_first(answer, repository)


def _read(source: str, repo: Path | None) -> list[BugReport]:
    """What an argument names or says. Raises ReportError."""
    from tosloc.git import discovery
    from tosloc.git.repository import Repository
    from tosloc.mine.github import REFERENCE, fetch_issue, read_token
    from tosloc.reports.issues import read_new_reports

    if source == "-" or os.path.exists(source):
        return read_new_reports("-" if source == "-" else Path(source))
    if (named := REFERENCE.fullmatch(source)) is not None:
        if (project := named["named"] or named["project"]) is None:
            with Repository(repo or discovery.around(Path.cwd())) as repository:
                origin = discovery.WebPages.of(repository.remote_url())
            here = origin and REFERENCE.fullmatch(f"{origin.project}/issues/{named['number']}")
            if not here:
                raise ReportError(f"{source}: the remote called origin is not at github.com; give OWNER/REPO{source}")
            project = here["project"]
        issue = fetch_issue(project, named["number"], read_token())
        return read_new_reports(StringIO(json.dumps(issue)))
    if len(source.split()) != 1:
        return read_new_reports(StringIO(source))
    what = "the text itself, of several words, or an issue at github.com: '#12', OWNER/REPO#12 or its address"
    raise ReportError(f"{source}: no such file; check the path, or give {what}")


def _opened(repo: Path | None, checkpoint: Path | None, commit: str | None) -> Localizer:
    """The named repository, else the one around this folder. Else, or where that is another project than the one that
    a checkpoint has learned of, the version that the checkpoint carries: unless a commit is asked for.
    """
    from tosloc.git import discovery
    from tosloc.git.repository import Repository
    from tosloc.localizer import Localizer

    if repo is None and checkpoint is not None and commit is None:
        localizer, found = Localizer.load(checkpoint), None
        if (carried := localizer.version_) is not None:
            with suppress(RepositoryError), Repository(discovery.around(Path.cwd())) as around:
                found = around.resolve_many([carried.snapshot.commit])[carried.snapshot.commit]
            if found is None:
                return localizer
    return Localizer.open(repo or discovery.around(Path.cwd()), checkpoint, ready=False)
