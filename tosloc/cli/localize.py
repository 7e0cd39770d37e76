"""``tosloc localize``: bug reports, and for each the files of a version that are most likely at fault."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from tosloc.cli.options import (
    FoundCheckpointOption,
    JsonOption,
    NamedRepositoryOption,
    VersionOption,
    check_drawing,
)
from tosloc.cli.printing import print_json, print_notes, progress_bars
from tosloc.core.errors import ReportError, RepositoryError, ToslocError
from tosloc.core.io import truncate_text, write_text

if TYPE_CHECKING:
    from tosloc.core.records import BugReport
    from tosloc.git.repository import Repository
    from tosloc.localize.answer import Answer
    from tosloc.localize.localizer import Localizer


_SPECIAL_IN_GLOBS: Final = re.compile(r"[\\*?\[\]]")
ON_PAGE: Final = 100
"""Answers of a page, at most."""
ReportArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="REPORT",
        help="File of a bug report (text, Markdown, JSON) or of many (JSON lines); - is standard input. Else an issue"
        " at GitHub ('#12', OWNER/REPO#12, its address), or the text itself. A folder narrows the search to its files.",
        show_default="standard input, if it is a pipe or a file",
    ),
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="GLOB", help="Name only files that match, as in .gitignore; may be given again."
    ),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option(metavar="GLOB", help="Name no file that matches; may be given again."),
]
ShareOption = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Name only files with such a share, as 0.3, or more."),
]
TopOption = Annotated[int, typer.Option(min=1, help="How many files to print.")]
FunctionsOption = Annotated[int, typer.Option(min=0, help="How many functions of a file, at most.")]
PageOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", dir_okay=False, help="Write the answers as a page, too."),
]
OpenOption = Annotated[
    bool, typer.Option("--open", help="Open the first file in VISUAL or EDITOR.")
]
FormatOption = Annotated[
    Literal["text", "path"],
    typer.Option(
        "--format", help="How to print; path: FILE:LINE:COLUMN, for vim -q and other editors."
    ),
]
BackgroundOption = Annotated[
    bool,
    typer.Option(
        help="Tell earlier changes like the report, and people and tests of the first file."
    ),
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print notes that ask nothing of you, too.")
]
OpenedOption = Annotated[
    str | None, typer.Option(help="When the report was opened, in UTC: nothing later is looked at.")
]


def localize(
    report: ReportArgument = None,
    repo: NamedRepositoryOption = None,
    commit: VersionOption = None,
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    tests: Annotated[bool, typer.Option("--tests", help="Name test files, too.")] = False,
    min_share: ShareOption = None,
    top: TopOption = 10,
    functions: FunctionsOption = 3,
    form: FormatOption = "text",
    as_json: JsonOption = False,
    as_lines: Annotated[
        bool, typer.Option("--jsonl", help="Print JSON, an answer a line.")
    ] = False,
    html: PageOption = None,
    open_file: OpenOption = False,
    checkpoint: FoundCheckpointOption = None,
    opened: OpenedOption = None,
    background: BackgroundOption = True,
    verbose: VerboseOption = False,
) -> None:
    """Here are bug reports: which files, and which functions?"""
    from tosloc.cli.answers import open_first, print_answer, print_locations
    from tosloc.reports.source import time_of

    form_options = {"--json": as_json, "--jsonl": as_lines, "--format path": form == "path"}
    chosen_forms = [option for option, is_chosen in form_options.items() if is_chosen]
    if len(chosen_forms) > 1:
        raise ToslocError(f"{' and '.join(chosen_forms)}: choose one of them")
    when = None if opened is None else time_of(opened, UTC, "--opened")
    sources, folders = _sort_arguments(report or [])
    if folders and include:
        raise ToslocError(
            f"{folders[0]} and --include: choose one of them; --include 'src/**/*.py' does both"
        )
    reports = [
        replace(one, opened=when or one.opened) for source in sources for one in _read(source, repo)
    ]
    most = 1 if as_json or open_file else ON_PAGE
    if len(reports) > most and (most == 1 or html is not None):
        raise ToslocError(
            f"--json and --open are for 1 answer, --html for {ON_PAGE}, not {len(reports)}; use --jsonl"
        )
    check_drawing(html, "tosloc.web.render")
    with progress_bars() as callback, _opened(repo, checkpoint, commit) as localizer:
        if folders:
            include = _globs_of(folders, localizer.repository)
        said: set[str] = set()
        answers: Iterable[Answer] = localizer.localize_many(
            reports,
            commit=commit,
            include=include,
            exclude=exclude,
            tests=tests or None,
            min_share=min_share,
            top=top,
            functions=functions,
            background=background,
            progress=callback,
        )
        if html is not None:  # before anything is printed: who reads may close the pipe
            answers = list(answers)
            _write_page(html, answers, localizer)
        for number, answer in enumerate(answers):
            notes = answer.notes if verbose else answer.warnings
            if verbose or answer.weights.kind == "trained":
                notes = (*notes, answer.weights.sentence)
            print_notes(note for note in notes if note not in said)
            said.update(notes)
            if as_json or as_lines:
                print_json(answer.as_dict(), indent=None if as_lines else 2)
            else:
                here = localizer.repository
                print_locations(answer, here) if form == "path" else print_answer(
                    answer, here, number
                )
    if commit is not None and (open_file or form == "path"):
        print_notes([f"lines are those of {commit}; in the files on disk they may be others"])
    if open_file:
        open_first(answer, localizer.repository)


def _write_page(html: Path, answers: list[Answer], localizer: Localizer) -> None:
    from tosloc.web.render import answers_page

    write_text(html, answers_page(answers, localizer))


def _sort_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what is to be read, and the folders to search. Raises ToslocError if there is nothing to read."""
    folders = [argument for argument in arguments if os.path.isdir(argument)]
    sources = [argument for argument in arguments if argument not in folders]
    if not sources and _is_fed():
        sources = ["-"]
    if not sources and folders:
        raise ToslocError(
            f"{folders[0]}: is a folder to search; name a report, too: tosloc localize 'what goes wrong' {folders[0]}"
        )
    if not sources:
        raise ToslocError("Missing argument 'REPORT'; see: tosloc localize --help")
    words = [source for source in sources if _is_word(source)]
    if len(words) > 1:
        text = shlex.quote(truncate_text(" ".join(words), 60))
        raise ReportError(
            f"{words[0]}: no such file; if this is the text of a report, quote it: tosloc localize {text}"
        )
    return sources, folders


def _is_fed() -> bool:
    """Return whether standard input is a pipe or a file, and no terminal or null device."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError):  # it is closed, or no stream of the system
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _is_word(source: str) -> bool:
    """Return whether an argument is a single word, and names neither a file nor an issue."""
    from tosloc.mine.github import REFERENCE

    is_one = len(source.split()) == 1 and source != "-"
    return is_one and not os.path.exists(source) and REFERENCE.fullmatch(source) is None


def _globs_of(folders: Sequence[str], repository: Repository | None) -> list[str] | None:
    """Return globs of the files below folders of a work tree; None for all. Raises ToslocError for other folders."""
    root = None if repository is None else repository.work_tree
    globs = []
    for folder in folders:
        path = Path(folder).resolve()
        if root is None or not path.is_relative_to(root.resolve()):
            where = "there is no work tree" if root is None else f"is no folder of {root}"
            raise ToslocError(
                f"{folder}: {where}; narrow the search with --include, as in --include 'src/**'"
            )
        if path == root.resolve():
            return None
        inside = path.relative_to(root.resolve()).as_posix()
        escaped = _SPECIAL_IN_GLOBS.sub(r"\\\g<0>", inside)
        globs.append(f"/{escaped}/")
    return globs


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
            with Repository(repo or discovery.current_repository()) as repository:
                origin = discovery.WebPages.of(repository.remote_url())
            here = origin and REFERENCE.fullmatch(f"{origin.project}/issues/{named['number']}")
            if not here:
                raise ReportError(
                    f"{source}: the remote called origin is not at github.com; give OWNER/REPO{source}"
                )
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
    from tosloc.localize.localizer import Localizer

    if repo is None and checkpoint is not None and commit is None:
        localizer = Localizer.load(checkpoint)
        if (carried := localizer.model.version) is not None:
            try:
                with Repository(discovery.current_repository()) as repository:
                    repository.resolve(carried.snapshot.commit)
            except RepositoryError:  # also where it does not know the commit
                return localizer
    return Localizer.open(repo or discovery.current_repository(), checkpoint, ready=False)
