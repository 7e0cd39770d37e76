"""Processes that this one starts: they end when it ends, however it does, and leave Ctrl-C to it.

Each holds the reading end of a pipe whose writing end this process alone has, so the system closes that one when this
process is gone. On Linux the kernel then kills whoever holds the other end, whatever it is doing; unlike a parent-death
signal this does not depend on the thread that started it. Elsewhere a worker waits for the end of the pipe in a thread,
and git ends when its standard input or output does.
"""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias

from tosloc.errors import Interrupted, ToslocError

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing.connection import Connection

    from tosloc.records import Progress


Broken: TypeAlias = Callable[..., Any]
"""What stands for a call of (function, *arguments) whose process dies of it."""
_LOOK: Final = 0.1
"""Seconds between two looks at whether a call is still wanted."""
_teller: Connection
"""Where a ``Worker``'s process tells how far it is."""


Executor: TypeAlias = Callable[[Iterable[Any], bool, Broken | None], Generator[Any, None, None]]
"""What has calls that ``joblib.delayed`` made done by other machines: in their order, or as they come."""
_FILES: Final = 32
"""Files that a process has open at most, beside one for each of its workers."""
_EXECUTOR: Final[ContextVar[Executor | None]] = ContextVar("executor", default=None)


def executor() -> Executor | None:
    """What ``parallel`` hands its calls to; None: processes of this machine do them."""
    return _EXECUTOR.get()


@contextmanager
def executed_by(other: Executor) -> Iterator[None]:
    """Within, ``parallel`` hands its calls to another executor, however many ``jobs`` are asked for."""
    before = _EXECUTOR.set(other)
    try:
        yield
    finally:
        _EXECUTOR.reset(before)


def start(
    command: Sequence[str],
    environment: Mapping[str, str],
    stdin: int | IO[bytes] = subprocess.PIPE,
    stderr: int | IO[bytes] = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """A running program; its output, and by default its input, are pipes. Raises OSError when it cannot be run."""
    if sys.platform != "linux":
        with no_ctrl_c():
            return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, env=environment)
    reading, writing = os.pipe()
    try:
        with no_ctrl_c():
            process = subprocess.Popen(
                command, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, env=environment, pass_fds=[reading]
            )
        _kill_when_closed(reading, process.pid)
    except BaseException:
        os.close(writing)
        raise
    finally:
        os.close(reading)
    weakref.finalize(process, os.close, writing)
    return process


@contextmanager
def parallel(
    calls: Iterable[Any], jobs: int, *, broken: Broken | None = None, **options: Any
) -> Iterator[Iterator[Any]]:
    """Results of calls that ``joblib.delayed`` made, as ``joblib.Parallel(jobs, **options)`` gives them.

    ``options`` has a ``return_as`` that is a generator. Calls that are unfinished at the end of the block are given up,
    and their processes killed. Where joblib is told to use another backend than its own processes, such as Dask, the
    life of its workers is that backend's.

    A process of this machine's that dies is an error of joblib's, for all calls; one of an ``executor`` costs its own
    call: what ``broken`` makes of it, on this machine, takes the result's place. Raises ToslocError where there is
    none.
    """
    if (other := executor()) is not None:
        with closing(other(calls, options["return_as"] == "generator", broken)) as found:
            yield found
        return
    from joblib import Parallel, effective_n_jobs
    from joblib.parallel import BACKENDS, get_active_backend

    if isinstance(get_active_backend()[0], BACKENDS["loky"]):
        options = options | {"initializer": end_with_parent, "initargs": (_line()[0],)}
        _start_trackers(effective_n_jobs(jobs))
    with no_ctrl_c():
        results: Generator[Any, None, None] = Parallel(jobs, **options)(calls)
    try:
        yield results
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib's, that results were not used
            results.close()


class Worker:
    """One process for calls that may bring it down, or never end. Close it, or use it in a ``with`` block."""

    def __init__(self) -> None:
        self._executor: ProcessPoolExecutor | None = None
        self._told: Connection
        self._telling: Connection

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def call(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        progress: Progress | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Any:
        """What the function answers there. Raises what it raises, and BrokenProcessPool when the process dies.

        Where there is a ``progress`` the function gets one after its arguments, which tells it. Once ``stopped`` says
        so the process is killed, whatever it does: raises Interrupted.
        """
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import Pipe, get_context

        if self._executor is None:
            _start_trackers()
            self._told, self._telling = Pipe(duplex=False)
            given = _line()[0], self._telling
            self._executor = ProcessPoolExecutor(
                1, mp_context=get_context("spawn"), initializer=_begin_worker, initargs=given
            )
        called = (function, *arguments) if progress is None else (_telling, function, *arguments)
        try:
            with no_ctrl_c():
                future: Future[Any] = self._executor.submit(*called)
            future.add_done_callback(lambda _: self._telling.send(None))
            while not stopped():
                if self._told.poll(_LOOK):
                    if (told := self._told.recv()) is None:
                        return future.result()
                    assert progress is not None
                    progress(*told)
            raise Interrupted
        except (Interrupted, KeyboardInterrupt):
            self.close()
            raise
        except BrokenProcessPool as error:
            self.close()
            raise BrokenProcessPool("a process died of this, as for want of memory; ask again, or for less") from error

    def close(self) -> None:
        """Kill the process; another call starts another."""
        if self._executor is not None:
            for process in list(self._executor._processes.values()):
                process.kill()
            self._executor.shutdown(cancel_futures=True)
            self._told.close()
            self._telling.close()
            self._executor = None


def _begin_worker(line: Connection, telling: Connection) -> None:
    global _teller
    end_with_parent(line)
    _teller = telling


def _telling(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments, lambda *progress: _teller.send(progress))


def end_with_parent(line: Connection) -> None:
    """End this process when the other end of the pipe ``line`` is closed; do not answer Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        with suppress(OSError):  # where /proc is not to be seen
            # opened anew: this process has its own entry at the pipe, which names it as the one to be killed
            _kill_when_closed(os.open(f"/proc/self/fd/{line.fileno()}", os.O_RDONLY | os.O_NONBLOCK), os.getpid())
            if line.poll():  # it was closed before that
                os._exit(1)
            return
    threading.Thread(target=_exit_when_closed, args=(line,), daemon=True).start()


@contextmanager
def no_ctrl_c() -> Iterator[None]:
    """Processes that are started within never see a Ctrl-C, which a terminal sends to all: their parent ends them."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


if sys.platform == "linux":
    import fcntl

    def _kill_when_closed(reading: int, process: int) -> None:
        """Have the kernel kill a process when the pipe is closed at its other end."""
        with suppress(OSError):  # a kernel without it: the process ends with its input or output
            fcntl.fcntl(reading, fcntl.F_SETOWN, process)
            fcntl.fcntl(reading, fcntl.F_SETSIG, signal.SIGKILL)
            fcntl.fcntl(reading, fcntl.F_SETFL, fcntl.fcntl(reading, fcntl.F_GETFL) | os.O_ASYNC)


def _exit_when_closed(line: Connection) -> None:
    with suppress(EOFError, OSError):
        line.recv_bytes()
    os._exit(1)


@functools.cache
def _line() -> tuple[Connection, Connection]:
    """The pipe of all workers: the end that they are given, and the one that this process keeps."""
    from multiprocessing import Pipe

    return Pipe(duplex=False)


def _start_trackers(workers: int = 1) -> None:
    """Start the processes that clean up semaphores of killed ones.

    Here, since starting them later would let Ctrl-C through to the first worker; and silent, since what they say is of
    no use to whoever killed a command. Raises ToslocError where too few files may be open for so many workers.
    """
    # Python would look for modules in the current folder first, which may be a stranger's repository
    os.environ["PYTHONSAFEPATH"] = "1"
    if sys.platform == "win32":
        return
    import resource
    from multiprocessing import resource_tracker

    from joblib.externals.loky.backend import resource_tracker as joblib_tracker

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= most < _FILES + workers:
        what = f"only {most} files may be open at once, too few for {workers} worker processes"
        raise ToslocError(f"{what}; allow more by: ulimit -n 1024")
    sys.warnoptions.append("ignore:resource_tracker")
    try:
        resource_tracker.ensure_running()
        joblib_tracker.ensure_running()
    finally:
        sys.warnoptions.remove("ignore:resource_tracker")
