"""Answer the questions of a client one after the other in another process.

The client's own process stays responsive, and can end any question by killing that process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from operator import attrgetter
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from tosloc.core.answers import Hit
from tosloc.core.closing_cache import closing_cache
from tosloc.core.errors import Interrupted, ReportError
from tosloc.core.processes import Worker
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import BugReport

if TYPE_CHECKING:
    from tosloc.localize.answer import Answer
    from tosloc.localize.localizer import Localizer
    from tosloc.localize.question import Question
    from tosloc.retrieval.query import Query
    from tosloc.retrieval.version_index import VersionIndex


SECONDS_TO_READ: Final = 30
"""Time limit in seconds for reading a report. Most take milliseconds.

The rest of the time is for starting a process.
"""


class Session:
    """A queue of questions, and the process that answers them. Any thread may use it.

    Close it after use.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "tosloc-answers")
        self._process = Worker()
        self._closing = False

    def ask(
        self,
        answer: Callable[..., Any],
        *question: Any,
        progress: Progress,
        stopped: Callable[[], bool],
    ) -> Future[Any]:
        """Call ``answer`` in the other process, with a progress callback as its last argument.

        Once ``stopped`` returns true, the process is killed. The future raises what ``answer``
        raises, BrokenProcessPool if the process dies, and Interrupted if it is killed.
        """
        return self._thread.submit(
            self._call, answer, *question, progress=progress, stopped=stopped
        )

    def ask_about(
        self,
        question: Question,
        answer: Callable[..., Any],
        *arguments: Any,
        progress: Progress,
        stopped: Callable[[], bool],
    ) -> Future[Any]:
        """Call ``answer`` as ``ask`` does, after the other process has read the report's text.

        The question with the report is the first argument of ``answer``. The future also raises
        ReportError for a text that is no report, or that takes longer than ``SECONDS_TO_READ`` to
        read.
        """

        def call() -> Any:
            asked = replace(question, report=self._read(question.report, stopped))
            return self._call(answer, asked, *arguments, progress=progress, stopped=stopped)

        return self._thread.submit(call)

    def _read(self, text: BugReport | str, stopped: Callable[[], bool]) -> BugReport:
        deadline = monotonic() + SECONDS_TO_READ

        def is_late() -> bool:
            return monotonic() > deadline

        try:
            report: BugReport = self._call(
                read_whole, text, progress=ignore_progress, stopped=lambda: is_late() or stopped()
            )
        except Interrupted:
            if is_late() and not self._closing and not stopped():
                raise ReportError(
                    f"this report could not be read in {SECONDS_TO_READ} seconds",
                    hint="shorten it to what goes wrong",
                ) from None
            raise
        return report

    def _call(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        progress: Progress,
        stopped: Callable[[], bool],
    ) -> Any:
        if stopped():
            raise Interrupted
        return self._process.call(
            function, *arguments, progress=progress, stopped=lambda: self._closing or stopped()
        )

    def close(self) -> None:
        """End the session, and the question that is being answered."""
        self._closing = True
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._process.close()


def read_whole(text: str, progress: Progress = ignore_progress) -> BugReport:
    """Read a report completely: also the parts that are usually read when an answer needs them.

    A slow text then reaches the time limit for reading, instead of slowing down the answer. Raises
    ReportError.
    """
    from tosloc.reports.issues import read_report
    from tosloc.retrieval.query import Query

    report = read_report(StringIO(text))
    query = Query(report)
    for name in (
        "weights",
        "names.compounds",
        "names.mentions",
        "names.changes",
        "names.release_claims",
        "names.says_that_it_worked",
        "places.qualified_names",
        "places.locations",
    ):
        attrgetter(name)(query)
    return report


def open_localizer(repository: Path, checkpoint: Path | None) -> Localizer:
    """Return a localizer for a repository, in the process that answers questions.

    The last four localizers stay open. A localizer is opened again if its checkpoint has been
    written since.

    Raises the errors of ``Localizer.open``.
    """
    return _open_as_of(repository, checkpoint, _checkpoint_time(repository, checkpoint))


@closing_cache(4)
def _open_as_of(repository: Path, checkpoint: Path | None, _: int) -> Localizer:
    """Return the localizer for ``open_localizer``; the number is the version of a checkpoint."""
    from tosloc.localize.localizer import Localizer

    return Localizer.open(repository, checkpoint, ready=False)


def _checkpoint_time(repository: Path, checkpoint: Path | None) -> int:
    """Return when the checkpoint of a repository was written, in nanoseconds; 0 without one."""
    from tosloc.git import discovery
    from tosloc.git.repository import Repository
    from tosloc.localize.checkpoint import WEIGHTS_FILE
    from tosloc.localize.localizer import find_trained

    if checkpoint is None:
        with Repository(discovery.enclosing_repository(repository)) as repo:
            checkpoint = find_trained(repo)
    if checkpoint is not None:
        for folder in (checkpoint, checkpoint / "checkpoint"):
            with suppress(OSError):
                return (folder / WEIGHTS_FILE).stat().st_mtime_ns
    return 0


class FileLines(NamedTuple):
    """A listed file with its lines."""

    hit: Hit
    pointed_lines: Sequence[int]
    """Numbers of lines that stack frames name, then of the line that contains a message.

    The frames and the message are those of the report.
    """
    lines: list[str]


class AnswerDetails(NamedTuple):
    """Data to show beside an answer: the words of the report and the lines of its files."""

    query: Query
    version: VersionIndex
    terms: dict[str, float]
    """The report's words that distinguish files -> their weights."""
    files: Sequence[int]
    """Numbers of the answer's files that still exist."""
    lines: Sequence[FileLines]
    """Lines of the first of ``files``."""

    @classmethod
    def of(cls, localizer: Localizer, answer: Answer, number: int) -> Self:
        """Return the data to show beside an answer, with the lines of its first ``number`` files.

        The localizer must have an open repository.
        """
        from tosloc.code.notebooks import readable_text
        from tosloc.git.repository import decode_text
        from tosloc.rank.explain import ReportLines
        from tosloc.retrieval.history import ReportMessages
        from tosloc.retrieval.query import Query

        version = localizer.prepare(None if answer.searched.uncommitted else answer.commit)
        shared_lines = version.history.shared_lines.as_of(answer.report.opened_seconds)
        projects = version.history.releases.projects
        form_lines = version.template | shared_lines
        query = Query(answer.report, form_lines, projects, version.index.has_term)
        snapshot = version.snapshot
        repository = localizer.repository
        assert repository is not None
        hits = [hit for hit in answer.hits if hit.path in snapshot.paths]
        files = [snapshot.paths.index(hit.path) for hit in hits]
        messages = ReportMessages(query.text.message_lines, version.index.text)
        evidence = ReportLines(query, version.index, files, messages)
        texts = repository.texts(map(snapshot.blob, files[:number]))
        file_lines = []
        for hit, file, (_, data) in zip(hits, files, texts, strict=False):
            text = readable_text(decode_text(data or b""), hit.path)
            text = text.replace("\r\n", "\n").expandtabs(4)
            lines = text.removesuffix("\n").split("\n")
            pointed = evidence.pointed(file, hit.functions, lines)
            file_lines.append(FileLines(hit, pointed, lines))
        return cls(query, version.index, evidence.terms, files, file_lines)
