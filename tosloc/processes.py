"""Processes that this one starts: they leave Ctrl-C to it, and end when it is gone."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tosloc.errors import Interrupted

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing.connection import Connection

    from tosloc.records import Progress

Executor: TypeAlias = Callable[[Iterable[Any], bool], Generator[Any, None, None]]
"""What has calls that ``joblib.delayed`` made done by other machines: in their order, or as they come."""
EXECUTOR: Final[ContextVar[Executor | None]] = ContextVar("executor", default=None)
executor: Final = EXECUTOR.get  # what parallel hands its calls to; None: processes of this machine do them
_LOOK: Final = 0.1  # seconds between two looks at whether a call is still wanted
_SILENT: Final = "ignore:resource_tracker"
_sender: Connection | None = None  # where a Worker's process tells how far it is


@contextmanager
def parallel(calls: Iterable[Any], jobs: int, **options: Any) -> Iterator[Iterator[Any]]:
    """Results of calls that ``joblib.delayed`` made, from the generator of ``joblib.Parallel(jobs, **options)``. At the
    end of the block unfinished ones are killed. Raises BrokenProcessPool when a process dies.
    """
    if (other := executor()) is not None:
        with closing(other(calls, options["return_as"] == "generator")) as found:
            yield found
        return
    from joblib import Parallel

    warnings.filterwarnings("ignore", "A worker stopped")  # one that had grown large: joblib starts another
    with _starting() as parent:
        results: Generator[Any, None, None] = Parallel(jobs, initializer=_begin, initargs=parent, **options)(calls)
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib's, that results were not used
            results.close()


class Worker:
    """One process for calls that may bring it down, or never end. Close it."""

    def __init__(self) -> None:
        self._executor: ProcessPoolExecutor | None = None
        self._receiver: Connection

    def call(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        progress: Progress | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Any:
        """What the function answers there, given a ``progress`` of its own where there is one. Raises what it raises,
        BrokenProcessPool when the process dies, and Interrupted once ``stopped`` says so: the process is killed.
        """
        from concurrent.futures import ProcessPoolExecutor, wait
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import Pipe, get_context

        more = () if progress is None else (_tell,)
        try:
            with _starting() as parent:
                if self._executor is None:
                    self._receiver, sender = Pipe(duplex=False)
                    self._executor = ProcessPoolExecutor(
                        1, mp_context=get_context("spawn"), initializer=_begin, initargs=(*parent, sender)
                    )
                future = self._executor.submit(function, *arguments, *more)
            while not stopped():
                wait([future], _LOOK)
                while progress is not None and self._receiver.poll():
                    progress(*self._receiver.recv())
                if future.done():
                    return future.result()
            raise Interrupted
        except (BrokenProcessPool, Interrupted, KeyboardInterrupt):
            self.close()
            raise

    def close(self) -> None:
        """Kill the process; another call starts another."""
        if self._executor is not None:
            for process in list(self._executor._processes.values()):
                process.kill()
            self._executor.shutdown(cancel_futures=True)
            self._executor = None


@contextmanager
def _starting() -> Iterator[tuple[int]]:
    """This process, for ``_begin``. Those that are started within leave Ctrl-C to it, from their first instruction."""
    from multiprocessing import resource_tracker

    # Python would look for modules in the current folder first, which may be a stranger's repository
    os.environ["PYTHONSAFEPATH"] = "1"
    if _SILENT not in sys.warnoptions:
        sys.warnoptions.append(_SILENT)  # what clean-up after a killed command says is of no use to who killed it
    resource_tracker.ensure_running()  # if started within, it would let the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield (os.getpid(),)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(parent: int, sender: Connection | None = None) -> None:
    """In a worker: end when a look once a second finds the parent gone."""

    def end_after() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    global _sender
    _sender = sender
    threading.Thread(target=end_after, daemon=True).start()


def _tell(what: str, done: int, total: int) -> None:
    assert _sender is not None
    _sender.send((what, done, total))
