"""Questions of a client: asked one after the other, answered by another process, so that this one can always end it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tosloc.errors import Interrupted
from tosloc.processes import Worker
from tosloc.records import Progress

if TYPE_CHECKING:
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
