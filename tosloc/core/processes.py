"""Processes that do work for this process: they do not see Ctrl-C, and end when it does."""

from __future__ import annotations

import gc
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tosloc.core.children import start_child
from tosloc.core.errors import Interrupted

if TYPE_CHECKING:
    from concurrent.futures import Future
    from multiprocessing.connection import Connection

    from tosloc.core.progress import Progress

Call: TypeAlias = Callable[[], Any]
"""A function without arguments that can be pickled: a ``partial`` of a module's function."""
Executor: TypeAlias = Callable[[Iterable[Call], bool], Generator[Any, None, None]]
"""Function that lets other machines perform calls.

Its arguments are the calls and whether their results are wanted in order. The function yields the
results.
"""
EXECUTOR: Final[ContextVar[Executor | None]] = ContextVar("executor", default=None)
"""Executor of ``run_in_parallel``; None if processes of this machine perform the calls."""
current_executor: Final = EXECUTOR.get
_POLL_SECONDS: Final = 0.1
"""Seconds between two checks whether a call was abandoned."""
_WAITING_PER_WORKER: Final = 2
"""Number of calls per worker that are submitted at once; the others wait."""
_CPU_QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")
"""File that says how many microseconds of processor time a container may use in each period."""
_THREAD_LIMITS: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""Environment variables that limit the threads of numerical libraries."""


def start_python(module: str, function: str, **options: Any) -> subprocess.Popen[bytes]:
    """Start a process of the same Python that calls a function.

    It has the module path and the thresholds of garbage collection of this process. ``options`` are
    passed to ``start_child``. Nothing is imported from the current folder, which may be a
    stranger's repository, unless it is on the module path of this process.
    """
    program = (
        f"import gc, sys; gc.set_threshold{gc.get_threshold()}; sys.path[:] = sys.argv[1:];"
        f" import {module}; {module}.{function}()"
    )
    safe_path = "-I" if sys.flags.isolated else "-P"
    environment = options.pop("environment", None)
    return start_child(
        [sys.executable, safe_path, "-c", program, *sys.path], environment, **options
    )


def count_workers(jobs: int) -> int:
    """Return the number of processes that ``jobs`` means: -1 means one for every usable core.

    A core is usable if this process may run on it and the quota of its container covers it.
    """
    if jobs > 0:
        return jobs
    cores = len(os.sched_getaffinity(0))
    # Without a container there is no such file, or it says "max" in place of a number.
    with suppress(OSError, ValueError):
        quota, period = _CPU_QUOTA.read_text(encoding="ascii").split()
        cores = min(cores, ceil(int(quota) / int(period)))
    return max(1, cores)


@contextmanager
def run_in_parallel(calls: Iterable[Call], jobs: int, *, ordered: bool) -> Iterator[Iterator[Any]]:
    """Yield an iterator over the results of calls.

    Results come in the order of the calls if ``ordered``, else as they are finished. ``jobs`` is
    the number of processes; -1 means one for every core. With 1, this process performs the calls.
    Unfinished calls are killed at the end of the block. Raises the errors of the calls, and
    BrokenProcessPool if a process dies.
    """
    executor = current_executor()
    if executor is not None:
        with closing(executor(calls, ordered)) as results:
            yield results
        return

    workers = count_workers(jobs)
    if workers == 1:
        yield (call() for call in calls)
        return
    with closing(_Pool(workers)) as pool:
        yield pool.results(calls, ordered=ordered)


class Worker:
    """A process for calls that may crash it or never end. Close it after use."""

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
        """Call a function in the process and return its result, or raise its error.

        With ``progress``, the function gets a callback as its last argument, whose calls are
        forwarded to ``progress``. Raises BrokenProcessPool if the process dies. Kills the process
        and raises Interrupted once ``stopped`` returns true.
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
        """Kill the process. The next call starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            self._connection.close()

    def _start(self) -> None:
        from multiprocessing import Pipe

        self._connection, worker_end = Pipe()
        with closing(worker_end):
            self._process = start_python(
                "tosloc.core.processes",
                "perform_calls",
                environment=self._environment,
                stdin=worker_end.fileno(),
                stdout=None,
                stderr=None,
            )

    def _perform(
        self, request: Any, progress: Progress | None, stopped: Callable[[], bool]
    ) -> tuple[Any, BaseException | None]:
        """Return the result of a call, and the error that it raised; one of them is None."""
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
    """Workers among which calls are distributed. Close it after use."""

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

    def results(self, calls: Iterable[Call], *, ordered: bool) -> Iterator[Any]:
        """Yield the results of calls, in their order or as they are finished."""
        waiting: deque[Future[Any]] = deque()
        for call in calls:
            waiting.append(self._threads.submit(self._perform, call))
            if len(waiting) == self._most_waiting:
                yield _take(waiting, ordered=ordered).result()
        while waiting:
            yield _take(waiting, ordered=ordered).result()

    def close(self) -> None:
        """Kill all worker processes, also those with unfinished calls."""
        self._closing.set()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def _perform(self, call: Call) -> Any:
        worker = self._idle.get()
        try:
            return worker.call(call, stopped=self._closing.is_set)
        finally:
            self._idle.put(worker)


def _take(waiting: deque[Future[Any]], *, ordered: bool) -> Future[Any]:
    """Remove and return the first future of the queue, or the first that is done."""
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
    # Calls, and programs that they start, must not read the connection from standard input.
    empty_input = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty_input, 0)
    os.close(empty_input)
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive_requests, args=(connection, requests), daemon=True).start()
    while True:
        _answer_request(connection, requests.get())


def _receive_requests(connection: Connection, requests: queue.SimpleQueue[bytes]) -> None:
    """Queue the requests that arrive; end this process at once when the other end is closed."""
    with suppress(EOFError, OSError):
        while True:
            requests.put(connection.recv_bytes())
    os._exit(1)


def _answer_request(connection: Connection, request: bytes) -> None:
    """Perform a call, and send its result or error."""
    import pickle
    import traceback

    def send_progress(what: str, done: int, total: int) -> None:
        connection.send((False, (what, done, total)))

    try:
        function, arguments, wants_progress = pickle.loads(request)
        if wants_progress:
            arguments = (*arguments, send_progress)
        result = function(*arguments)
        connection.send((True, (result, None)))
    except Exception as error:
        error.add_note(traceback.format_exc())
        try:
            connection.send((True, (None, error)))
        except Exception:  # the error cannot be pickled
            connection.send((True, (None, RuntimeError(traceback.format_exc()))))
