"""Work on many machines: the calls of a command go to the workers of a Dask cluster that the user has started."""

from __future__ import annotations

import logging
import os
import pickle
import re
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import tosloc
from tosloc.core.errors import RepositoryError, ToslocError, require
from tosloc.core.processes import EXECUTOR

if TYPE_CHECKING:
    from distributed import Client

ANSWER_SECONDS: Final = 10  # how long a scheduler, and its first worker, may take to answer
_ADDRESS: Final = re.compile(r"((tcp|tls)://)?([\w.-]{1,253}|\[[0-9a-fA-F:]{2,39}\]):[0-9]{1,5}")
_SETTLED: Final = re.compile(
    "numpy|scipy|lightgbm|pystemmer|lizard|tree-sitter.*"
)  # packages that results depend on


@contextmanager
def on_cluster(
    address: str | None, repositories: Mapping[Path, str], resolve: Callable[[Path, str], str]
) -> Iterator[None]:
    """Let a Dask cluster make the calls of ``tosloc.core.processes.run_in_parallel`` within the block, if an address is named.

    Each worker must have one thread, the same packages, and the ``repositories`` at the same paths with the revision
    named for each (empty for HEAD, where there is one). ``resolve`` gives the commit of a revision in the repository
    at a path, here and in workers. Raises ToslocError if there is no such cluster or worker, MissingExtra without
    Dask, and RepositoryError for a revision that does not exist here.
    """
    if not address:
        yield
        return
    require("a Dask cluster", "dask", "distributed")
    if not _ADDRESS.fullmatch(address):
        raise ToslocError(
            f"{address!r} is no address of a Dask scheduler",
            hint="an address is tcp://127.0.0.1:8786",
            about="cluster",
        )
    wanted = {}
    for path, revision in repositories.items():
        with nullcontext() if revision else suppress(RepositoryError):
            wanted[str(path.absolute())] = resolve(path, revision or "HEAD")
    with warnings.catch_warnings(), ExitStack() as quiet:
        warnings.filterwarnings("ignore", message="Sending large graph")
        warnings.filterwarnings("ignore", module="distributed")
        from distributed import Client

        # What matters of what they log becomes a sentence of ours.
        quiet.enter_context(_silenced("distributed", "tornado", "asyncio"))
        try:
            client = Client(address, timeout=ANSWER_SECONDS, set_as_default=False, name="tosloc")
        except (OSError, ValueError, ImportError) as error:
            raise ToslocError(
                f"no Dask scheduler of these versions answers at {address} ({error})",
                hint="start one with: dask scheduler",
                about="cluster",
            ) from None
        with closing(client):
            _check_workers(client, address, wanted, resolve)
            before = EXECUTOR.set(partial(_results, client, address))
            try:
                yield
            finally:
                EXECUTOR.reset(before)


@contextmanager
def _silenced(*names: str) -> Iterator[None]:
    """Drop what some loggers are given within the block."""
    loggers = [logging.getLogger(name) for name in names]
    before = [(logger.handlers[:], logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.handlers[:] = [logging.NullHandler()]
        logger.propagate = False
    try:
        yield
    finally:
        for logger, (handlers, propagates) in zip(loggers, before, strict=True):
            logger.handlers[:] = handlers
            logger.propagate = propagates


def _check_workers(
    client: Client, address: str, repositories: dict[str, str], resolve: Callable[[Path, str], str]
) -> None:
    """Raise ToslocError unless there are workers, and each fits."""
    start = f"start some with: dask worker {address} --nworkers auto --nthreads 1"
    try:
        client.wait_for_workers(1, timeout=ANSWER_SECONDS)
        found = client.run(_look, repositories, resolve, on_error="return")
    except Exception:  # TimeoutError, OSError, or whatever a closed connection makes of it
        raise ToslocError(f"{address} has no worker", hint=start, about="cluster") from None
    ours = _look(repositories, resolve)
    for name, theirs in found.items():
        if theirs != ours:
            why = (
                str(theirs)
                if isinstance(theirs, BaseException)
                else f"{', '.join(theirs ^ ours)} on one side alone"
            )
            raise ToslocError(
                f"{address}: the worker {name} differs from this machine ({why})",
                hint="install the same packages there, and clone the repository to the same path",
                about="cluster",
            )
    if any(threads != 1 for threads in client.nthreads().values()):
        raise ToslocError(
            f"{address}: a worker runs more than one thread, and parsers are not thread-safe",
            hint=start,
            about="cluster",
        )


def _look(repositories: dict[str, str], resolve: Callable[[Path, str], str]) -> set[str]:
    """In a worker: versions of what results depend on. Raises RepositoryError for a commit that cannot be read."""
    for path, commit in repositories.items():
        resolve(Path(path), commit)
    found = (
        package
        for package in metadata.distributions()
        if _SETTLED.fullmatch(str(package.name).lower())
    )
    ours = {
        f"Python {sys.version_info.major}.{sys.version_info.minor}",
        f"tosloc {tosloc.__version__}",
    }
    return ours | {f"{package.name} {package.version}" for package in found}


def _results(
    client: Client, address: str, calls: Iterable[Any], ordered: bool
) -> Generator[Any, None, None]:
    """Results of calls, in their order or as they come. Raises what a call raises, ToslocError, BrokenProcessPool."""
    from distributed import KilledWorker, as_completed

    packed = [pickle.dumps(call) for call in calls]
    futures = client.map(_perform, [os.getcwd()] * len(packed), packed, pure=False)
    try:
        for future in list(futures) if ordered else as_completed(futures, loop=client.loop):
            yield future.result()
            future.release()
    except KilledWorker:
        raise BrokenProcessPool(
            "several workers of the cluster were killed at the same work"
        ) from None
    except CancelledError:
        raise ToslocError(
            f"the Dask scheduler at {address} has gone, and finished results are kept",
            hint="start it again, with its workers, and run the same command again to go on",
            about="cluster",
        ) from None
    finally:
        with suppress(Exception):  # the scheduler is gone
            client.cancel(futures, force=True)


def _perform(folder: str, call: bytes) -> Any:
    """In a worker: what a call gives."""
    with suppress(
        OSError
    ):  # relative paths mean what they mean to the command, where its folder is here too
        os.chdir(folder)
    function, arguments, named = pickle.loads(call)
    return function(*arguments, **named)
