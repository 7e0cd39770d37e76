"""``tosloc localize``: rank the files of a version for each of one or more bug reports."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from tosloc.cli.options import (
    FoundCheckpointOption,
    NamedRepositoryOption,
    RerankOption,
    VersionOption,
    user_language_model,
)
from tosloc.core.errors import ReportError, RepositoryError, ToslocError, pluralize
from tosloc.core.io import truncate_text, write_text
from tosloc.terminal.options import JsonOption, check_drawing
from tosloc.terminal.printing import print_json, print_notes, progress_bars

if TYPE_CHECKING:
    from tosloc.core.progress import Progress
    from tosloc.core.reports import BugReport
    from tosloc.git.repository import Repository
    from tosloc.localize.answer import Answer
    from tosloc.localize.localizer import Localizer
    from tosloc.localize.options import LocalizeOptions
    from tosloc.rerank.llm.reranker import LanguageModelReranker


_SPECIAL_IN_GLOBS: Final = re.compile(r"[\\*?\[\]]")
MAX_ANSWERS_ON_PAGE: Final = 100
_MAX_SUGGESTED_CHARACTERS: Final = 60
"""Characters of a report in a suggested command."""
ReportArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="REPORT",
        help="Bug report: a file (text, Markdown, JSON, JSON lines of several reports, test results"
        " or the log of a failed run), - for standard input, a GitHub issue ('#12', OWNER/REPO#12"
        " or its address), or the text itself in quotation marks. A folder restricts the search to"
        " its files.",
        show_default="standard input, if it is a pipe or a file",
    ),
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="GLOB",
        help="Show only files matching this glob (.gitignore syntax). Repeatable.",
    ),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option(metavar="GLOB", help="Show no files matching this glob. Repeatable."),
]
ShareOption = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Show only files with at least this confidence, such as 0.3."),
]
AllOption = Annotated[
    bool,
    typer.Option(
        "--all", help="Include test, generated, minified, translation and vendored files."
    ),
]
TopOption = Annotated[int, typer.Option(min=1, help="Number of files to show.")]
FunctionsOption = Annotated[
    int, typer.Option(min=0, help="Maximum number of functions to show per file.")
]
PageOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", dir_okay=False, help="Also write the answers to FILE as an HTML page."
    ),
]
OpenOption = Annotated[
    bool,
    typer.Option("--open", help="Open the first file in the editor that $VISUAL or $EDITOR names."),
]
FormatOption = Annotated[
    Literal["text", "path"],
    typer.Option(
        "--format",
        help="Output format: text for people, or path for FILE:LINE:COLUMN lines, which vim -q and"
        " other editors read.",
    ),
]
BackgroundOption = Annotated[
    bool,
    typer.Option(
        help="Show tests related to the first file, people who know it, and similar past changes."
    ),
]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Also print informational notes.")
]
OpenedOption = Annotated[
    str | None,
    typer.Option(help="Time when the report was opened (in UTC). Later history is ignored."),
]


CodeOption = Annotated[
    bool, typer.Option(help="Show the most relevant lines of code of the first files.")
]
SuspectsOption = Annotated[
    bool | None,
    typer.Option(
        "--suspects/--no-suspects",
        help="Show past changes that may have introduced the bug.",
        show_default="if the report says that something worked before",
    ),
]
EncoderOption = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER_OR_NAME",
        help="Let a pretrained encoder reorder the first files: a folder, a name on the Hugging"
        " Face hub, or a shipped configuration such as coderankembed.",
    ),
]
DryRunOption = Annotated[
    bool,
    typer.Option("--dry-run", help="With --rerank, print the prompt without sending it."),
]


def localize(
    report: ReportArgument = None,
    repo: NamedRepositoryOption = None,
    commit: VersionOption = None,
    include: IncludeOption = None,
    exclude: ExcludeOption = None,
    tests: Annotated[bool, typer.Option("--tests", help="Include test files.")] = False,
    every_class: AllOption = False,
    min_share: ShareOption = None,
    top: TopOption = 10,
    functions: FunctionsOption = 3,
    form: FormatOption = "text",
    as_json: JsonOption = False,
    as_lines: Annotated[
        bool, typer.Option("--jsonl", help="Print one JSON answer per line.")
    ] = False,
    html: PageOption = None,
    open_file: OpenOption = False,
    checkpoint: FoundCheckpointOption = None,
    opened: OpenedOption = None,
    background: BackgroundOption = True,
    code: CodeOption = True,
    suspects: SuspectsOption = None,
    verbose: VerboseOption = False,
    rerank: RerankOption = None,
    encoder: EncoderOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Rank the files and functions most likely to contain the bug."""
    from tosloc.cli.answers import open_first
    from tosloc.core.inputs import time_of

    output = _choose_output(form, as_json, as_lines)
    opening_time = None if opened is None else time_of(opened, UTC, "--opened")
    sources, folders = _sort_arguments(report or [])
    if folders and include:
        raise ToslocError(
            f"the folder {folders[0]} and --include cannot be combined; put the folder into the"
            " glob, as in --include 'src/**/*.py'"
        )
    reports = _read_all(sources, opening_time, repo, as_lines)
    one_answer = as_json or open_file
    max_reports = 1 if one_answer else MAX_ANSWERS_ON_PAGE
    if len(reports) > max_reports and (one_answer or html is not None):
        raise ToslocError(
            f"--json and --open accept only one report, and --html at most {MAX_ANSWERS_ON_PAGE},"
            f" but there are {len(reports)}; use --jsonl"
        )
    check_drawing(html, "tosloc.web.render")
    language_model = user_language_model(rerank)
    if dry_run and language_model is None:
        raise ToslocError("--dry-run prints the prompt for a language model; add --rerank llm")
    with (
        progress_bars() as callback,
        _open_localizer(repo, checkpoint, commit, language_model, encoder) as localizer,
    ):
        if folders:
            include = _folder_globs(folders, localizer.repository)
        options: LocalizeOptions = {
            "commit": commit,
            "include": include,
            "exclude": exclude,
            "tests": tests or None,
            "every_class": every_class,
            "min_share": min_share,
            "top": top,
            "functions": functions,
            "background": background,
            "code": code,
            "suspects": suspects,
        }
        if dry_run:
            _print_prompts(localizer, reports, options, callback)
            return
        failures = _Failures(output, len(reports))
        answers: Iterable[Answer] = localizer.localize_many(
            reports, on_error=failures.on_error, progress=callback, **options
        )
        if html is not None:
            # The page is written before anything is printed, because a reader may close the pipe.
            answers = list(answers)
            _write_page(html, answers, localizer)
        printed_notes: set[str] = set()
        for number, answer in enumerate(answers):
            notes = _notes(answer, verbose)
            print_notes(note for note in notes if note not in printed_notes)
            printed_notes.update(notes)
            _print_answer(answer, output, localizer.repository, number)
        failures.raise_any()
    if commit is not None and (open_file or form == "path"):
        print_notes([f"line numbers are those of {commit} and may differ in the files on disk"])
    if open_file:
        open_first(answer, localizer.repository)


def _choose_output(form: str, as_json: bool, as_lines: bool) -> str:
    """Return the output format: json, jsonl, path or text. Raises ToslocError for two of them."""
    options = {"--json": as_json, "--jsonl": as_lines, "--format path": form == "path"}
    chosen = [option for option, is_chosen in options.items() if is_chosen]
    if len(chosen) > 1:
        raise ToslocError(f"{' and '.join(chosen)} cannot be combined; choose one of them")
    if as_json:
        return "json"
    return "jsonl" if as_lines else form


def _read_all(
    sources: Sequence[str],
    opening_time: datetime | None,
    repo: Path | None,
    every_failure: bool,
) -> list[BugReport]:
    """Return the reports of all arguments, opened at ``opening_time`` if it is given.

    ``every_failure`` is as in ``read_new_reports``.
    """
    reports = []
    for source in sources:
        for report in read_reports(source, repo, every_failure):
            reports.append(replace(report, opened=opening_time or report.opened))
    return reports


def _notes(answer: Answer, verbose: bool) -> list[str]:
    """Return the notes to print for an answer."""
    notes = list(answer.notes if verbose else answer.warnings)
    if verbose or answer.weights.kind == "trained":
        notes.append(answer.weights.sentence)
    return notes


def _print_answer(answer: Answer, output: str, repository: Repository | None, before: int) -> None:
    """Print an answer on standard output; ``before`` is the number of answers above it."""
    from tosloc.cli.answers import print_answer, print_locations

    if output in ("json", "jsonl"):
        print_json(answer.as_dict(), indent=2 if output == "json" else None)
    elif output == "path":
        print_locations(answer, repository)
    else:
        print_answer(answer, repository, before)


class _Failures:
    """Prints why reports cannot be answered, so that one of several does not end the others."""

    def __init__(self, output: str, reports: int) -> None:
        self._output = output
        self._reports = reports
        self._failed = 0

    @property
    def on_error(self) -> Callable[[BugReport | str, Exception], None] | None:
        """The function for ``localize_many``; None if the error is to be raised."""
        is_alone = self._reports == 1 and self._output != "jsonl"
        return None if is_alone else self._print

    def _print(self, report: BugReport | str, error: Exception) -> None:
        """Print the reason for an error: in place of the answer for programs, else as a note."""
        from tosloc.cli.guard import describe_error
        from tosloc.localize.answer import failure_values

        assert not isinstance(report, str)
        self._failed += 1
        sentence = describe_error(error)
        if sentence is None:
            traceback.print_exception(error)
            sentence = f"an internal error occurred ({type(error).__name__})"
        if self._output == "jsonl":
            print_json(failure_values(report, sentence), indent=None)
        else:
            print_notes([f"{report.id}: {sentence}"])

    def raise_any(self) -> None:
        """Raise ReportError if reports could not be answered."""
        if self._failed:
            total = pluralize(self._reports, "report")
            raise ReportError(f"{self._failed:,} of {total} could not be answered")


def _print_prompts(
    localizer: Localizer,
    reports: Sequence[BugReport],
    options: LocalizeOptions,
    progress: Progress,
) -> None:
    """Print exactly what would be sent to the language model for each report."""
    for report in reports:
        messages = localizer.language_model_messages(report, progress=progress, **options)
        for message in messages:
            print(f"[{message['role']}]\n{message['content']}\n")


def _write_page(html: Path, answers: list[Answer], localizer: Localizer) -> None:
    """Write answers as a page."""
    from tosloc.web.render import answers_page

    write_text(html, answers_page(answers, localizer))


def _sort_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what is to be read, and the folders to search.

    Raises ToslocError if there is nothing to read, for several words that are not quoted, and for
    a source file in place of a report or beside one.
    """
    folders = [argument for argument in arguments if os.path.isdir(argument)]
    sources = [argument for argument in arguments if argument not in folders]
    if not sources and _has_piped_input():
        sources = ["-"]
    if not sources and folders:
        raise ToslocError(
            f"{folders[0]} is a folder, which only restricts the search; add a report:"
            f" tosloc localize 'what goes wrong' {folders[0]}"
        )
    if not sources:
        raise ToslocError("Missing argument 'REPORT'; see: tosloc localize --help")
    words = [source for source in sources if _is_word(source)]
    if len(words) > 1:
        text = shlex.quote(truncate_text(" ".join(words), _MAX_SUGGESTED_CHARACTERS))
        raise ReportError(
            f"{words[0]}: no such file; if this is the text of a report, put it in quotation marks:"
            f" tosloc localize {text}"
        )
    for source in sources:
        if _is_source_file(source):
            glob = _SPECIAL_IN_GLOBS.sub(r"\\\g<0>", os.path.basename(source))
            raise ReportError(_describe_source_file(source, glob, is_alone=len(sources) == 1))
    return sources, folders


def _is_source_file(source: str) -> bool:
    """Return whether an argument is an existing file that a search covers by its suffix."""
    from tosloc.code.languages import SOURCE_SUFFIXES

    return Path(source).suffix.lower() in SOURCE_SUFFIXES and os.path.isfile(source)


def _describe_source_file(source: str, glob: str, *, is_alone: bool) -> str:
    """Return why a source file is no report, and how to search it with a glob of its name."""
    problem = f"{source} is a source file and no report"
    include = f"--include {shlex.quote(glob)}"
    if not is_alone:
        return f"{problem}; to search only this file, use {include}"
    return (
        f"{problem}; describe the bug in quotation marks or in a text file, and add {include} to"
        f" search only this file: tosloc localize 'what goes wrong' {include}"
    )


def _has_piped_input() -> bool:
    """Return whether standard input is a pipe or a file, not a terminal or null device."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError):  # It is closed, or not a stream of the system.
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _is_word(source: str) -> bool:
    """Return whether an argument is a single word that names neither a file nor an issue."""
    from tosloc.mine.github import IssueReference

    is_one_word = len(source.split()) == 1 and source != "-"
    return is_one_word and not os.path.exists(source) and IssueReference.parse(source) is None


def _folder_globs(folders: Sequence[str], repository: Repository | None) -> list[str] | None:
    """Return globs of the files below folders of a work tree, None for all of its files.

    Raises ToslocError for folders outside the work tree.
    """
    work_tree = None if repository is None else repository.work_tree
    root = None if work_tree is None else work_tree.resolve()
    globs = []
    for folder in folders:
        path = Path(folder).resolve()
        if root is None or not path.is_relative_to(root):
            if root is None:
                problem = "a folder can restrict the search only in a work tree"
            else:
                problem = f"this folder is not inside {work_tree}"
            raise ToslocError(
                f"{folder}: {problem}; restrict the search with a glob, as in --include 'src/**'"
            )
        if path == root:
            return None
        escaped = _SPECIAL_IN_GLOBS.sub(r"\\\g<0>", path.relative_to(root).as_posix())
        globs.append(f"/{escaped}/")
    return globs


def read_reports(source: str, repo: Path | None, every_failure: bool) -> list[BugReport]:
    """Return the reports of an argument: a file, standard input, an issue at GitHub, or a text.

    ``every_failure`` is as in ``read_new_reports``. Raises ReportError.
    """
    from tosloc.mine.github import IssueReference
    from tosloc.reports.issues import read_new_reports

    if source == "-":
        return read_new_reports("-", every_failure=every_failure)
    if os.path.exists(source):
        return read_new_reports(Path(source), every_failure=every_failure)
    reference = IssueReference.parse(source)
    if reference is not None:
        if not reference.project:
            reference = IssueReference(_github_project(source, repo), reference.number)
        return read_new_reports(StringIO(json.dumps(reference.fetch())))
    if len(source.split()) == 1:
        raise ReportError(
            f"{source}: no such file or folder; check the path, or give the report's text (two"
            " words or more) or a GitHub issue ('#12', OWNER/REPO#12 or its address)"
        )
    return read_new_reports(StringIO(source))


def _github_project(source: str, repo: Path | None) -> str:
    """Return OWNER/NAME of the repository's remote, for an issue that is named by its number.

    Raises ReportError if the remote is not at github.com.
    """
    from tosloc.git import discovery
    from tosloc.git.repository import Repository
    from tosloc.mine.github import IssueReference

    with Repository(repo or discovery.current_repository()) as repository:
        web_pages = discovery.WebPages.of(repository.remote_url())
    if web_pages is not None:
        reference = IssueReference.parse(f"{web_pages.project}/issues/1")
        if reference is not None:
            return reference.project
    raise ReportError(
        f"{source}: the remote named origin is not on github.com; write OWNER/REPO{source}"
    )


def _open_localizer(
    repo: Path | None,
    checkpoint: Path | None,
    commit: str | None,
    language_model: LanguageModelReranker | None,
    encoder: str | None,
) -> Localizer:
    """Open the repository at ``repo``, else the one around the current folder.

    Without ``repo`` and ``commit``, a checkpoint that contains a version answers from that version,
    unless the repository around the current folder knows its commit.
    """
    from tosloc.git import discovery
    from tosloc.localize.localizer import Localizer
    from tosloc.localize.model import Model

    if repo is None and checkpoint is not None and commit is None:
        model = Model.load(checkpoint)
        if encoder is not None:
            model = model.with_encoder(encoder)
        localizer = Localizer(model, rerank=language_model)
        version = localizer.model.version
        if version is not None and not _is_known_here(version.snapshot.commit):
            return localizer
    repository = repo or discovery.current_repository()
    return Localizer.open(
        repository, checkpoint, rerank=language_model, encoder=encoder, ready=False
    )


def _is_known_here(commit: str) -> bool:
    """Return whether the repository around the current folder contains a commit."""
    from tosloc.git import discovery
    from tosloc.git.repository import Repository

    try:
        with Repository(discovery.current_repository()) as repository:
            repository.resolve(commit)
    except RepositoryError:  # There is no repository, or it does not know the commit.
        return False
    return True
