"""The side of a cluster where the command runs: it connects, looks whether the workers fit, and hands out calls.

Calls go out a few for each thread of the workers, so that what waits is in nobody's memory and workers that join get
their share. What a worker had in hand when it died is done by another; a call whose own process dies twice is given
back to the command.
"""

from __future__ import annotations

import logging
import os
import pickle
import secrets
import socket
import threading
import time
import warnings
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tosloc.cluster import worker
from tosloc.errors import ClusterError, ClusterWarning, require
from tosloc.files import passing_file
from tosloc.processes import Broken, executed_by

if TYPE_CHECKING:
    from distributed import Client, Future

ANSWER_SECONDS: Final = 10.0
"""How long a scheduler, and the workers at the start, may take to answer."""
LOST_SECONDS: Final = 60.0
"""How long the work waits for a worker when there is none any more, or for a scheduler that says nothing."""
AHEAD: Final = 2
"""Calls that are handed out for each thread of the workers: one at work, one that waits."""
DEATHS: Final = 2
"""So often the process of a call may die before it is taken for the call's fault."""
_LOOK_SECONDS: Final = 1.0
_Call: TypeAlias = tuple[Any, tuple[Any, ...], dict[str, Any]]
"""As ``joblib.delayed`` makes it."""
_AT_WORK: Final = ("running", "paused")
_QUIET: Final = ("distributed", "tornado", "asyncio")


@contextmanager
def connected(
    address: str, repositories: Mapping[Path, str], folder: Path | None = None, *, written: bool = False
) -> Iterator[None]:
    """Within, ``tosloc.processes.parallel`` has its calls done by the workers of the Dask cluster at ``address``.

    Each worker has to have the same packages, the ``repositories`` at the same paths, with the commit that is named for
    each (empty: any), and to read what stands in ``folder``, or to write there, too. Raises ClusterError, in one
    sentence, when the cluster does not answer, has no worker or one that does not fit, and from ``parallel`` when it
    goes away; MissingExtra without Dask.
    """
    require("--cluster", "dask", "distributed")
    checked = _checked_address(address)
    with ExitStack() as stack:
        stack.enter_context(_quiet())
        client = _client(checked, address)
        stack.callback(_close, client)
        wanted = _Wanted({str(path.absolute()): commit for path, commit in repositories.items()}, folder, written)
        cluster = _Cluster(client, address, wanted)
        cluster.begin()
        stack.enter_context(executed_by(cluster))
        yield


def _checked_address(address: str) -> str:
    """The address in full. Raises ClusterError where it is none, or names no host."""
    scheme, _, place = address.rpartition("://")
    host, _, port = place.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if scheme not in ("", "tcp", "tls") or not host or not (port.isascii() and port.isdecimal()):
        port = "0"
    if not 0 < int(port[:6]) < 65_536 or len(address) > 1_000:
        raise ClusterError(f"--cluster: {address!r} is no address of a Dask scheduler, such as tcp://127.0.0.1:8786")
    try:
        socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ClusterError(f"--cluster: {address}: no host is called {host!r}") from None
    return f"{scheme or 'tcp'}://{place}"


def _client(address: str, shown: str) -> Client:
    """A connection to the scheduler. Raises ClusterError when it does not answer."""
    from distributed import Client

    made: SimpleQueue[Client | Exception] = SimpleQueue()

    def make() -> None:
        try:
            made.put(Client(address, timeout=ANSWER_SECONDS, set_as_default=False, name="tosloc"))
        except Exception as error:
            made.put(error)

    # what takes a connection and then says nothing is waited for without end: so in a thread that may be left
    threading.Thread(target=make, daemon=True).start()
    try:
        found = made.get(timeout=ANSWER_SECONDS + 2)
    except Empty:
        found = TimeoutError()
    if isinstance(found, ImportError):  # of Dask's own check of versions
        raise ClusterError(f"--cluster: {shown} has other versions of what Dask needs: {found}")
    if isinstance(found, Exception):
        why = "" if isinstance(found, OSError) else f" ({found})"
        raise ClusterError(
            f"--cluster: no Dask scheduler answers at {shown} within {ANSWER_SECONDS:.0f} s{why}; start one with: dask"
            " scheduler"
        )
    return found


def _close(client: Client) -> None:
    with suppress(Exception):  # whatever becomes of the connection, the work is over
        client.close(timeout=2)


@contextmanager
def _quiet() -> Iterator[None]:
    """What Dask's own threads log and warn of goes nowhere: what matters of it becomes a sentence of ours."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        warnings.filterwarnings("ignore", module="distributed")
        import distributed  # noqa: F401  (makes its loggers)

        loggers = [logging.getLogger(name) for name in ("", *_QUIET, *logging.root.manager.loggerDict)]
        handlers = {handler for logger in loggers for handler in logger.handlers}
        if logging.lastResort is not None:
            handlers.add(logging.lastResort)
        for handler in handlers:
            handler.addFilter(_not_dasks)
        try:
            yield
        finally:
            for handler in handlers:
                handler.removeFilter(_not_dasks)


def _not_dasks(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] not in _QUIET


@dataclass(frozen=True)
class _Wanted:
    """What every worker has to reach."""

    repositories: dict[str, str]
    folder: Path | None
    written: bool
    """Whether it has to write in the folder, too."""


@dataclass(eq=False)
class _Handed:
    """A call that is in the hands of a worker."""

    number: int
    call: _Call
    workers: frozenset[str]
    """Those that may do it."""
    deaths: int = 0


class _Cluster:
    """The workers of one cluster, looked after while calls are in their hands."""

    def __init__(self, client: Client, address: str, wanted: _Wanted) -> None:
        self._client, self._address, self._wanted = client, address, wanted
        self._session = secrets.token_hex(8)
        self._threads: dict[str, int] = {}
        """Workers that fit -> their threads."""
        self._unfit: set[str] = set()
        self._looked = self._had_workers = self._heard = time.monotonic()

    def begin(self) -> None:
        """Look at the workers that are there. Raises ClusterError unless there is one, and all of them fit."""
        with suppress(Exception):  # that there is none is seen below
            self._client.wait_for_workers(1, timeout=ANSWER_SECONDS)
        threads = self._present()
        if not threads:
            raise ClusterError(
                f"--cluster: {self._address} has no worker; start some with: dask worker {self._address} --nthreads 1"
            )
        self._look_at_scheduler()
        problems = self._problems(list(threads))
        for problem in problems.values():
            if problem:
                raise ClusterError(problem)
        if not problems:
            raise ClusterError(f"--cluster: no worker of {self._address} answers within {ANSWER_SECONDS:.0f} s")
        self._threads = {name: number for name, number in threads.items() if name in problems}

    def results(self, calls: Iterable[Any], ordered: bool, broken: Broken | None) -> Generator[Any, None, None]:
        """Results of calls, in their order or as they come. Raises what a call raises, and ClusterError."""
        waiting = enumerate(calls)
        more = True
        handed: dict[Future, _Handed] = {}
        arrived: SimpleQueue[Future] = SimpleQueue()
        kept: dict[int, Any] = {}
        """Results whose turn has not come."""
        turn = 0
        try:
            while more or handed:
                for future in self._look_after(handed):
                    self._hand(handed.pop(future), handed, arrived)
                while more and len(handed) + len(kept) < AHEAD * max(1, sum(self._threads.values())):
                    number, call = next(waiting, (-1, None))
                    if call is None:
                        more = False
                        break
                    self._hand(_Handed(number, call, frozenset()), handed, arrived)
                try:
                    future = arrived.get(timeout=_LOOK_SECONDS)
                except Empty:
                    continue
                if future not in handed:  # given up since
                    continue
                one = handed.pop(future)
                found = self._result(future, one, broken)
                if found is None:
                    self._hand(one, handed, arrived)
                    continue
                if not ordered:
                    yield found[0]
                    continue
                kept[one.number] = found[0]
                while turn in kept:
                    yield kept.pop(turn)
                    turn += 1
        finally:
            for future in handed:
                with suppress(Exception):
                    future.release()
            handed.clear()

    def _hand(self, one: _Handed, handed: dict[Future, _Handed], arrived: SimpleQueue[Future]) -> None:
        """Have a worker that fits do a call."""
        import cloudpickle

        one.workers = frozenset(self._threads)
        key = f"tosloc-{self._session}-{one.number}-{secrets.token_hex(4)}"
        try:
            future = self._client.submit(
                worker.perform,
                self._session,
                os.getcwd(),
                cloudpickle.dumps(one.call),
                key=key,
                pure=False,
                workers=sorted(one.workers) or None,
            )
        except Exception:
            self._still_there()
            raise
        handed[future] = one
        future.add_done_callback(arrived.put)

    def _result(self, future: Future, one: _Handed, broken: Broken | None) -> tuple[Any] | None:
        """What a call gave; None where it is to be done again."""
        from distributed import KilledWorker

        self._heard = time.monotonic()
        data: bytes | None = None
        try:
            data = future.result(timeout=LOST_SECONDS)
        except KilledWorker:  # as often as the scheduler bears it
            one.deaths = DEATHS
        except Exception as error:
            self._still_there()
            if future.status == "error":
                raise ClusterError(f"--cluster: {self._address}: a worker failed ({error})") from None
            return None
        if data is not None:
            kind, value = pickle.loads(data)
            if kind == "error":
                raise value
            return (value,)
        one.deaths += 1
        if one.deaths < DEATHS:
            return None
        if broken is None:
            raise ClusterError(
                f"--cluster: {self._address}: the processes of {DEATHS} workers were killed at the same work, most"
                " likely for their memory; give the workers more, or do it without --cluster"
            )
        function, arguments, _ = one.call
        return (broken(function, *arguments),)

    def _look_after(self, handed: Mapping[Future, _Handed]) -> Collection[Future]:
        """See, once in a while, who is there; what is in the hands of workers that have gone is to be done again."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return ()
        self._looked = now
        present = self._present()
        new = [name for name in present if name not in self._threads and name not in self._unfit]
        for name, problem in self._problems(new).items():
            if problem:
                self._unfit.add(name)
                warnings.warn(f"{problem}; it is left out", ClusterWarning, stacklevel=2)
            else:
                self._threads[name] = present[name]
        self._threads = {name: number for name, number in self._threads.items() if name in present}
        if self._threads:
            self._had_workers = time.monotonic()
        elif now - self._had_workers > LOST_SECONDS:
            raise ClusterError(
                f"--cluster: {self._address} has had no worker for {LOST_SECONDS:.0f} s; what was finished is kept:"
                f" start some with: dask worker {self._address} --nthreads 1, and run the same command again to go on"
            )
        if not self._threads:
            return ()
        return [future for future, one in handed.items() if not one.workers & self._threads.keys()]

    def _present(self) -> dict[str, int]:
        """Workers that the scheduler knows -> their threads. Raises ClusterError when it is gone."""
        self._still_there()
        try:
            known = self._client.sync(self._client.scheduler.identity, n_workers=-1, callback_timeout=ANSWER_SECONDS)
        except Exception as error:  # TimeoutError, OSError, or whatever a closed connection makes of it
            self._still_there()
            if time.monotonic() - self._heard > LOST_SECONDS or not isinstance(error, TimeoutError):
                raise self._gone() from None
            return dict(self._threads)
        self._heard = time.monotonic()
        return {name: one["nthreads"] for name, one in known["workers"].items() if one["status"] in _AT_WORK}

    def _still_there(self) -> None:
        if self._client.status != "running":
            raise self._gone()

    def _gone(self) -> ClusterError:
        return ClusterError(
            f"--cluster: the Dask scheduler at {self._address} has gone; what was finished is kept: start it again,"
            " with its workers, and run the same command again to go on"
        )

    def _look_at_scheduler(self) -> None:
        try:
            found = self._client.run_on_scheduler(worker.about, callback_timeout=ANSWER_SECONDS)
        except Exception as error:
            self._still_there()
            raise ClusterError(self._lacking("the scheduler", error)) from None
        if problem := self._differs("the scheduler", found, ("Python", "tosloc", "tosloc's code")):
            raise ClusterError(problem)

    def _problems(self, names: list[str]) -> dict[str, str]:
        """What is wrong with each worker, empty for one that fits; those that do not answer are left out."""
        if not names:
            return {}
        with self._token() as token:
            asked = self._asked(names, token)
            return {name: self._problem(f"the worker {name}", found, token) for name, found in asked.items()}

    def _asked(self, names: list[str], token: str) -> dict[str, Any]:
        """What each worker says, or why it says nothing."""
        asked: dict[str, Any] = {}
        for some, seconds in [(names, ANSWER_SECONDS), *(([name], 2.0) for name in names if len(names) > 1)]:
            if asked.keys() >= set(some):
                continue
            try:
                asked |= self._client.run(
                    worker.look,
                    self._wanted.repositories,
                    token,
                    self._wanted.written,
                    workers=some,
                    on_error="return",
                    callback_timeout=seconds,
                )
            except TimeoutError:  # one of them: they are asked one by one
                self._still_there()
            except Exception:  # whatever a closed connection makes of it
                raise self._gone() from None
        return asked

    def _problem(self, who: str, found: Any, token: str) -> str:
        if isinstance(found, BaseException):
            return self._lacking(who, found)
        if problem := self._differs(who, found.about, found.about.keys() | worker.about().keys()):
            return problem
        if found.repository:
            return (
                f"--cluster: {self._address}: {who} cannot read a repository: {found.repository}; each worker has to"
                " reach it at the same path"
            )
        if token and found.token != Path(token).read_text(encoding="ascii"):
            return (
                f"--cluster: {self._address}: {who} cannot {'write' if self._wanted.written else 'read'} in"
                f" {self._wanted.folder} ({found.token[:200]}); the folder has to be shared by all workers"
            )
        return ""

    def _lacking(self, who: str, error: BaseException) -> str:
        says = str(error).splitlines()[0] if str(error) else type(error).__name__
        lacks = "No module named 'tosloc" in says or "tosloc." in says
        what = "has no TosLoc, or another one" if lacks else "cannot work for TosLoc"
        return (
            f"--cluster: {self._address}: {who} {what} ({says}); install the same there as here: pip install"
            " 'tosloc[dask]'"
        )

    def _differs(self, who: str, theirs: Mapping[str, str], names: Iterable[str]) -> str:
        ours = worker.about()
        for name in sorted(names):
            if theirs.get(name) != ours.get(name):
                return (
                    f"--cluster: {self._address}: {who} has {name} {theirs.get(name, 'nowhere')}, here it is"
                    f" {ours.get(name, 'nowhere')}; install the same on both sides, or the results would differ"
                )
        return ""

    @contextmanager
    def _token(self) -> Iterator[str]:
        """A file in the shared folder for the workers to read."""
        if self._wanted.folder is None:
            yield ""
            return
        with passing_file(self._wanted.folder.absolute()) as token:
            token.chmod(0o644)  # workers may be another user's
            token.write_text(secrets.token_hex(16), encoding="ascii")
            yield str(token)
