"""Questions of a client: asked one after the other, answered by another process, so that this one can always end it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tosloc.core.closing_cache import closing_cache
from tosloc.core.errors import Interrupted, ReportError
from tosloc.core.processes import Worker
from tosloc.core.records import BugReport, Hit, Progress, ignore_progress

if TYPE_CHECKING:
    from tosloc.localize.answer import Answer
    from tosloc.localize.localizer import Localizer
    from tosloc.retrieval.context import VersionIndex
    from tosloc.retrieval.query import Query


SECONDS_TO_READ: Final = 30
"""Time limit for reading one report; ordinary ones take milliseconds, the rest is for a process that starts."""


class Session:
    """A queue of questions, and the process that answers them; any thread may ask. Close it."""

    def __init__(self) -> None:
        self._thread, self._process = ThreadPoolExecutor(1, "tosloc-answers"), Worker()
        self._closing = False

    def ask(
        self,
        answer: Callable[..., Any],
        *question: Any,
        progress: Progress,
        stopped: Callable[[], bool],
    ) -> Future[Any]:
        """What ``answer`` says there, given a ``progress`` of its own. Once ``stopped`` the process is killed.

        The future raises what ``answer`` raises, BrokenProcessPool when it kills its process, else Interrupted.
        """

        return self._thread.submit(
            self._call, answer, *question, progress=progress, stopped=stopped
        )

    def ask_about(
        self,
        text: str,
        answer: Callable[..., Any],
        *question: Any,
        progress: Progress,
        stopped: Callable[[], bool],
    ) -> Future[Any]:
        """As ``ask``, but the other process first reads ``text``; the report is the first argument of ``answer``.

        The future also raises ReportError for a text that is no report, or that takes longer than
        ``SECONDS_TO_READ``: then the process is killed.
        """

        def call() -> Any:
            report = self._read(text, stopped)
            return self._call(answer, report, *question, progress=progress, stopped=stopped)

        return self._thread.submit(call)

    def _read(self, text: str, stopped: Callable[[], bool]) -> BugReport:
        until = monotonic() + SECONDS_TO_READ

        def is_late() -> bool:
            return monotonic() > until

        try:
            report: BugReport = self._call(
                read_whole, text, progress=ignore_progress, stopped=lambda: is_late() or stopped()
            )
        except Interrupted:
            if is_late() and not self._closing and not stopped():
                raise ReportError(
                    f"this report could not be read in {SECONDS_TO_READ} seconds; shorten it to what goes wrong"
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
        """Answer nothing more, whatever is being answered."""
        self._closing = True
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._process.close()


def read_whole(text: str, progress: Progress = ignore_progress) -> BugReport:
    """Read a report in that process, with all that an answer looks for in it. Raises ReportError.

    What takes too long in a text takes too long here, within the time limit, and not in the answer.
    """
    from tosloc.reports.issues import read_report
    from tosloc.retrieval.query import Query

    report = read_report(StringIO(text))
    query = Query(report)
    for name in ("names", "weights", "compounds", "mentions", "qualified_names", "locations"):
        getattr(query, name)
    return report


@closing_cache(4)
def opened(repository: Path, checkpoint: Path | None) -> Localizer:
    """Return a localizer of a repository, for a process that answers questions: the last four stay open.

    Raises as ``Localizer.open`` does.
    """
    from tosloc.localize.localizer import Localizer

    return Localizer.open(repository, checkpoint, ready=False)


class AnswerDetails(NamedTuple):
    """What is shown beside an answer: the report's words and its files' lines."""

    query: Query
    version: VersionIndex
    terms: dict[str, float]
    """The report's that tell files from another, with what they count."""
    files: Sequence[int]
    """The answer's files, those that are still there."""
    lines: Sequence[tuple[Hit, Sequence[int], list[str]]]
    """Of the first of them: the lines that frames of the report name, and all lines."""


def details_of(localizer: Localizer, answer: Answer, number: int) -> AnswerDetails:
    """What is shown beside an answer of an open repository, with lines of the first ``number`` files."""
    from tosloc.git.repository import decode_text
    from tosloc.rank.excerpts import distinctive_terms, frame_lines
    from tosloc.retrieval.query import Query

    version, query = (
        localizer.version(None if answer.searched.uncommitted else answer.commit),
        Query(answer.report),
    )
    snapshot, repository = version.snapshot, localizer.repository
    assert repository is not None
    known = [
        (hit, snapshot.paths.index(hit.path)) for hit in answer.hits if hit.path in snapshot.paths
    ]
    files = [file for _, file in known]
    framed = frame_lines(query, version.index, files)
    texts = repository.texts(map(snapshot.blob, files[:number]))
    lines = []
    for (hit, file), (_, data) in zip(known, texts, strict=False):
        text = decode_text(data or b"").replace("\r\n", "\n").expandtabs(4)
        lines.append((hit, framed.get(file, ()), text.removesuffix("\n").split("\n")))
    return AnswerDetails(
        query, version.index, distinctive_terms(query, version.index), files, lines
    )
