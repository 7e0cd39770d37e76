"""Do the work of ``tosloc localize``: read reports, ask about each, and print the answers."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Self

from tosloc.cli.guard import describe_error
from tosloc.cli.options import announced_language_model
from tosloc.cli.report_arguments import folder_globs, read_all, sort_arguments
from tosloc.core.errors import ReportError, RepositoryError, ToslocError, pluralize
from tosloc.core.inputs import time_of
from tosloc.core.io import write_text
from tosloc.localize.answer import Answer, failure_values
from tosloc.terminal.options import check_drawing
from tosloc.terminal.printing import print_json, print_notes, progress_bars

if TYPE_CHECKING:
    from tosloc.core.progress import Progress
    from tosloc.git.repository import Repository
    from tosloc.localize.localizer import Localizer
    from tosloc.localize.question import Question
    from tosloc.rerank.llm.reranker import LanguageModelReranker

MAX_ANSWERS_ON_PAGE: Final = 100


@dataclass(frozen=True)
class Source:
    """Where answers are computed from: a repository or a checkpoint, and rerankers."""

    repo: Path | None
    """The repository; None for the repository around the current folder."""
    checkpoint: Path | None
    rerank: Literal["llm"] | None
    encoder: str | None


@dataclass(frozen=True)
class Output:
    """Where answers are written, and in which form."""

    form: str
    """Form of the answers: json, jsonl, path or text."""
    html: Path | None
    """File of a page that is also written; None for no page."""
    open_file: bool
    """Whether to open the first file in an editor."""
    verbose: bool
    """Whether to print everything that is known, and informational notes."""

    @classmethod
    def choose(
        cls,
        form: str,
        as_json: bool,
        as_lines: bool,
        html: Path | None,
        open_file: bool,
        verbose: bool,
    ) -> Self:
        """Return the output that options select. Raises ToslocError for two forms at once."""
        options = {"--json": as_json, "--jsonl": as_lines, "--format path": form == "path"}
        chosen = [option for option, is_chosen in options.items() if is_chosen]
        if len(chosen) > 1:
            raise ToslocError(f"{' and '.join(chosen)} cannot be combined; choose one of them")
        if as_json:
            form = "json"
        elif as_lines:
            form = "jsonl"
        return cls(form, html, open_file, verbose)

    def check_number(self, reports: int) -> None:
        """Raise ToslocError if the form cannot contain so many answers."""
        needs_one = self.form == "json" or self.open_file
        most = 1 if needs_one else MAX_ANSWERS_ON_PAGE
        if reports > most and (needs_one or self.html is not None):
            raise ToslocError(
                f"--json and --open accept only one report, and --html at most"
                f" {MAX_ANSWERS_ON_PAGE}, but there are {reports}; use --jsonl"
            )

    def print(self, answer: Answer, repository: Repository | None, before: int) -> None:
        """Print an answer on standard output; ``before`` is the number of answers above it."""
        if self.form in ("json", "jsonl"):
            print_json(answer.as_dict(), indent=2 if self.form == "json" else None)
            return
        # Programs that read JSON do not wait for the import of what prints to a terminal.
        from tosloc.cli.answers import print_answer, print_locations

        if self.form == "path":
            print_locations(answer, repository)
        else:
            print_answer(answer, repository, before, self.verbose)


def answer_reports(
    arguments: Sequence[str],
    question: Question,
    opened: str | None,
    source: Source,
    output: Output,
    dry_run: bool,
) -> None:
    """Ask the question about each report that the arguments name, and print the answers.

    The report in ``question`` is replaced by each of these. ``opened`` is the time of opening of
    all reports. With ``dry_run``, the prompts for the language model are printed instead of
    answers.
    """
    opening_time = None if opened is None else time_of(opened, UTC, "--opened")
    report_sources, folders = sort_arguments(arguments)
    if folders and question.include:
        raise ToslocError(
            f"the folder {folders[0]} and --include cannot be combined; put the folder into the"
            " glob, as in --include 'src/**/*.py'"
        )
    reports = read_all(report_sources, opening_time, source.repo, output.form == "jsonl")
    output.check_number(len(reports))
    check_drawing(output.html, "tosloc.web.render")
    language_model = announced_language_model(source.rerank, only_prompts=dry_run)
    if dry_run and language_model is None:
        raise ToslocError("--dry-run prints the prompt for a language model; add --rerank llm")
    with (
        progress_bars() as progress,
        _open_localizer(source, question.commit, language_model) as localizer,
    ):
        if folders:
            question = replace(question, include=folder_globs(folders, localizer.repository))
        questions = [replace(question, report=report) for report in reports]
        if dry_run:
            _print_prompts(localizer, questions, progress)
            return
        last_answer = _print_answers(localizer, questions, output, progress)
    if question.commit is not None and (output.open_file or output.form == "path"):
        print_notes(
            [f"line numbers are those of {question.commit} and may differ in the files on disk"]
        )
    if output.open_file and last_answer is not None:
        from tosloc.cli.answers import open_first

        open_first(last_answer, localizer.repository)


def _print_answers(
    localizer: Localizer, questions: Sequence[Question], output: Output, progress: Progress
) -> Answer | None:
    """Answer questions and print the answers with their notes; return the last answer.

    Raises ReportError at the end if some of several reports could not be answered.
    """
    failures = _Failures(output.form, len(questions))
    answers: Iterable[Answer] = localizer.answer_many(
        questions, on_error=failures.on_error, progress=progress
    )
    if output.html is not None:
        # The page is written before anything is printed, because a reader may close the pipe.
        answers = list(answers)
        _write_page(output.html, answers, localizer)
    answer = None
    printed_notes: set[str] = set()
    for number, answer in enumerate(answers):
        notes = _notes(answer, output.verbose)
        print_notes(note for note in notes if note not in printed_notes)
        printed_notes.update(notes)
        output.print(answer, localizer.repository, number)
    failures.raise_any()
    return answer


def _notes(answer: Answer, verbose: bool) -> list[str]:
    """Return the notes to print for an answer."""
    return [*answer.notes, answer.weights.sentence] if verbose else list(answer.warnings)


class _Failures:
    """Prints why reports cannot be answered, so that one report does not stop the others."""

    def __init__(self, form: str, reports: int) -> None:
        self._form = form
        self._reports = reports
        self._failed = 0

    @property
    def on_error(self) -> Callable[[Question, Exception], None] | None:
        """Function for ``answer_many``; None if errors are to be raised."""
        is_alone = self._reports == 1 and self._form != "jsonl"
        return None if is_alone else self._print

    def _print(self, question: Question, error: Exception) -> None:
        """Print why there is no answer: as JSON for programs, otherwise as a note."""
        report = question.report
        assert not isinstance(report, str)
        self._failed += 1
        sentence = describe_error(error)
        if sentence is None:
            traceback.print_exception(error)
            sentence = f"an internal error occurred ({type(error).__name__})"
        if self._form == "jsonl":
            print_json(failure_values(report, sentence), indent=None)
        else:
            print_notes([f"{report.id}: {sentence}"])

    def raise_any(self) -> None:
        """Raise ReportError if some reports could not be answered."""
        if self._failed:
            total = pluralize(self._reports, "report")
            raise ReportError(f"{self._failed:,} of {total} could not be answered")


def _print_prompts(localizer: Localizer, questions: Sequence[Question], progress: Progress) -> None:
    """Print exactly the messages that would be sent to the language model for each question."""
    for question in questions:
        for message in localizer.language_model_messages(question, progress):
            print(f"[{message['role']}]\n{message['content']}\n")


def _write_page(html: Path, answers: list[Answer], localizer: Localizer) -> None:
    """Write answers as a page."""
    from tosloc.web.render import answers_page

    write_text(html, answers_page(answers, localizer))


def _open_localizer(
    source: Source, commit: str | None, language_model: LanguageModelReranker | None
) -> Localizer:
    """Open the repository of a source, or by default the repository around the current folder.

    Without a repository and ``commit``, a checkpoint that contains a version answers from that
    version. If the repository around the current folder contains the version's commit, that
    repository is opened instead.
    """
    from tosloc.git import discovery
    from tosloc.localize.localizer import Localizer
    from tosloc.localize.model import Model

    if source.repo is None and source.checkpoint is not None and commit is None:
        model = Model.load(source.checkpoint)
        if source.encoder is not None:
            model = model.with_encoder(source.encoder)
        localizer = Localizer(model, rerank=language_model)
        version = localizer.model.version
        if version is not None and not _is_known_here(version.snapshot.commit):
            return localizer
    return Localizer.open(
        source.repo or discovery.current_repository(),
        source.checkpoint,
        rerank=language_model,
        encoder=source.encoder,
        ready=False,
    )


def _is_known_here(commit: str) -> bool:
    """Return whether the repository around the current folder contains a commit."""
    from tosloc.git import discovery
    from tosloc.git.repository import Repository

    try:
        with Repository(discovery.current_repository()) as repository:
            repository.resolve(commit)
    except RepositoryError:  # no repository, or one without the commit
        return False
    return True
