"""Questions of a client: asked one after the other, answered by another process, so that this one can always end it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tosloc.errors import Interrupted
from tosloc.processes import Worker
from tosloc.records import Hit, Progress

if TYPE_CHECKING:
    from tosloc.answer import Answer
    from tosloc.index.context import VersionIndex
    from tosloc.index.query import Query
    from tosloc.localizer import Localizer


class Session:
    """A queue of questions, and the process that answers them; any thread may ask. Close it."""

    def __init__(self) -> None:
        self._thread, self._process = ThreadPoolExecutor(1, "tosloc-answers"), Worker()
        self._closing = False

    def ask(
        self, answer: Callable[..., Any], *question: Any, progress: Progress, stopped: Callable[[], bool]
    ) -> Future[Any]:
        """What ``answer`` says there, given a ``progress`` of its own. Once ``stopped`` the process is killed.

        The future raises what ``answer`` raises, BrokenProcessPool when it kills its process, else Interrupted.
        """

        def call() -> Any:
            if stopped():
                raise Interrupted
            return self._process.call(answer, *question, progress=progress, stopped=lambda: self._closing or stopped())

        return self._thread.submit(call)

    def close(self) -> None:
        """Answer nothing more, whatever is being answered."""
        self._closing = True
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._process.close()


@lru_cache(4)
def opened(repository: Path, checkpoint: Path | None) -> Localizer:
    """In that process: a repository, and the last others, stay open. Raises as ``Localizer.open`` does."""
    from tosloc.localizer import Localizer

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
    from tosloc.git.repository import decode
    from tosloc.index.query import Query
    from tosloc.rank.functions import framed_lines, telling_terms

    version, query = localizer.version(None if answer.searched.uncommitted else answer.commit), Query(answer.report)
    snapshot, repository = version.snapshot, localizer.repository
    assert repository is not None
    known = [(hit, snapshot.paths.index(hit.path)) for hit in answer.hits if hit.path in snapshot.paths]
    files = [file for _, file in known]
    framed = framed_lines(query, version.index, files)
    texts = repository.texts(map(snapshot.blob, files[:number]))
    lines = []
    for (hit, file), (_, data) in zip(known, texts, strict=False):
        text = decode(data or b"").replace("\r\n", "\n").expandtabs(4)
        lines.append((hit, framed.get(file, ()), text.removesuffix("\n").split("\n")))
    return AnswerDetails(query, version.index, telling_terms(query, version.index), files, lines)
