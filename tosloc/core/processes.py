"""Processes that this one starts: they leave Ctrl-C to it, and end when it is gone."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tosloc.core.children import start_child
from tosloc.core.errors import Interrupted

if TYPE_CHECKING:
    from concurrent.futures import Future
    from multiprocessing.connection import Connection

    from tosloc.core.records import Progress

Executor: TypeAlias = Callable[[Iterable[Any], bool], Generator[Any, None, None]]
"""What has calls that ``joblib.delayed`` made done by other machines: in their order, or as they come."""
EXECUTOR: Final[ContextVar[Executor | None]] = ContextVar("executor", default=None)
current_executor: Final = (
    EXECUTOR.get
)  # what parallel hands its calls to; None: processes of this machine do them
_POLL_SECONDS: Final = 0.1  # between two looks at whether a call is still wanted
_WAITING_PER_WORKER: Final = 2  # calls that are handed out at once
_THREAD_LIMITS: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""Environment variables that say how many threads a numerical library may use."""


def start_python(module: str, function: str, **options: Any) -> subprocess.Popen[bytes]:
    """Return a process of the same Python, with the same module path, that calls a function.

    ``options`` are those of ``start_child``. Nothing is imported from the current folder, which may be
    a stranger's repository, unless the module path of this process names it.
    """
    program = f"import sys; sys.path[:] = sys.argv[1:]; import {module}; {module}.{function}()"
    safe_path = "-I" if sys.flags.isolated else "-P"
    environment = options.pop("environment", None)
    return start_child(
        [sys.executable, safe_path, "-c", program, *sys.path], environment, **options
    )


@contextmanager
def run_in_parallel(calls: Iterable[Any], jobs: int, *, ordered: bool) -> Iterator[Iterator[Any]]:
    """Give the results of calls that ``joblib.delayed`` made, in their order or as they come.

    ``jobs`` counts the processes as joblib does: -1 is every core. With one, this process does the
    calls. At the end of the block unfinished calls are killed. Raises what a call raises, and
    BrokenProcessPool when a process dies.
    """
    if (other := current_executor()) is not None:
        with closing(other(calls, ordered)) as results:
            yield results
        return
    from joblib import effective_n_jobs

    workers = effective_n_jobs(jobs)
    if workers == 1:
        yield (function(*arguments, **named) for function, arguments, named in calls)
        return
    with closing(_Pool(workers)) as pool:
        yield pool.results(calls, ordered=ordered)


class Worker:
    """One process for calls that may bring it down, or never end. Close it."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection

    def call(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        progress: Progress | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Any:
        """Return what the function returns there, or raise what it raises.

        With ``progress`` the function gets a ``progress`` of its own as its last argument. Raise
        BrokenProcessPool when the process dies, and Interrupted once ``stopped`` returns true: the
        process is killed.
        """
        try:
            if self._process is None:
                self._start()
            result, error = self._perform(
                (function, arguments, progress is not None), progress, stopped
            )
        except BaseException:
            self.close()
            raise
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """Kill the process; another call starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            self._connection.close()

    def _start(self) -> None:
        from multiprocessing import Pipe

        self._connection, theirs = Pipe()
        with closing(theirs):
            self._process = start_python(
                "tosloc.core.processes",
                "perform_calls",
                environment=self._environment,
                stdin=theirs.fileno(),
                stdout=None,
                stderr=None,
            )

    def _perform(
        self, request: Any, progress: Progress | None, stopped: Callable[[], bool]
    ) -> tuple[Any, BaseException | None]:
        """Return the result of a call and the error that it raised."""
        self._send(request)
        while True:
            if stopped():
                raise Interrupted
            if not self._connection.poll(_POLL_SECONDS):
                continue
            is_last, message = self._receive()
            if is_last:
                return message  # type: ignore[no-any-return]
            assert progress is not None
            progress(*message)

    def _send(self, request: Any) -> None:
        from concurrent.futures.process import BrokenProcessPool

        try:
            self._connection.send(request)
        except ConnectionError:
            raise BrokenProcessPool("a worker process has ended") from None

    def _receive(self) -> tuple[bool, Any]:
        from concurrent.futures.process import BrokenProcessPool

        try:
            return self._connection.recv()  # type: ignore[no-any-return]
        except (EOFError, ConnectionError):
            raise BrokenProcessPool("a worker process has ended") from None


class _Pool:
    """Workers that share calls. Close it."""

    def __init__(self, workers: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        threads = str(max(1, (os.cpu_count() or 1) // workers))
        environment = dict.fromkeys(_THREAD_LIMITS, threads) | os.environ
        self._most_waiting = _WAITING_PER_WORKER * workers
        self._workers = [Worker(environment) for _ in range(workers)]
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)
        self._threads = ThreadPoolExecutor(workers, "tosloc-workers")
        self._closing = threading.Event()

    def results(self, calls: Iterable[Any], *, ordered: bool) -> Iterator[Any]:
        """Return the results of calls, in their order or as they come."""
        waiting: deque[Future[Any]] = deque()
        for call in calls:
            waiting.append(self._threads.submit(self._perform, *call))
            if len(waiting) == self._most_waiting:
                yield _take(waiting, ordered=ordered).result()
        while waiting:
            yield _take(waiting, ordered=ordered).result()

    def close(self) -> None:
        """Kill what is unfinished."""
        self._closing.set()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def _perform(
        self, function: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, Any]
    ) -> Any:
        worker = self._idle.get()
        try:
            call = partial(function, *arguments, **named)
            return worker.call(call, stopped=self._closing.is_set)
        finally:
            self._idle.put(worker)


def _take(waiting: deque[Future[Any]], *, ordered: bool) -> Future[Any]:
    """Remove and return the first of some futures, or the first that is done."""
    from concurrent.futures import FIRST_COMPLETED, wait

    if ordered:
        return waiting.popleft()
    done = wait(waiting, return_when=FIRST_COMPLETED).done
    future = next(future for future in waiting if future in done)
    waiting.remove(future)
    return future


def perform_calls() -> None:
    """Perform the calls that a Worker sends to this process, until it closes the connection."""
    from multiprocessing.connection import Connection

    connection = Connection(os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # what is called, and what it starts, must not read the connection
    os.close(nothing)
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive_requests, args=(connection, requests), daemon=True).start()
    while True:
        _answer(connection, requests.get())


def _receive_requests(connection: Connection, requests: queue.SimpleQueue[bytes]) -> None:
    """Queue what comes; end this process, whatever it is doing, once the other one is gone."""
    with suppress(EOFError, OSError):
        while True:
            requests.put(connection.recv_bytes())
    os._exit(1)


def _answer(connection: Connection, request: bytes) -> None:
    """Perform a call and send what it returns or raises."""
    import pickle
    import traceback

    def tell(what: str, done: int, total: int) -> None:
        connection.send((False, (what, done, total)))

    try:
        function, arguments, wants_progress = pickle.loads(request)
        result = function(*arguments, tell) if wants_progress else function(*arguments)
        connection.send((True, (result, None)))
    except Exception as error:
        error.add_note(traceback.format_exc())
        try:
            connection.send((True, (None, error)))
        except Exception:  # of a kind that cannot be sent
            connection.send((True, (None, RuntimeError(traceback.format_exc()))))
