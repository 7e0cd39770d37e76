"""Work on many machines: a command's calls go to the workers of a Dask cluster.

The user starts the cluster.
"""

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
from tosloc.core.processes import EXECUTOR, Call

if TYPE_CHECKING:
    from distributed import Client

ANSWER_SECONDS: Final = 10
"""Seconds that a scheduler, and its first worker, may take to answer."""
_ADDRESS: Final = re.compile(r"((tcp|tls)://)?([\w.-]{1,253}|\[[0-9a-fA-F:]{2,39}\]):[0-9]{1,5}")
_RESULT_PACKAGES: Final = re.compile("numpy|scipy|lightgbm|pystemmer|lizard|tree-sitter.*")
"""Pattern of the names of packages whose version can change results."""


@contextmanager
def on_cluster(
    address: str | None, repositories: Mapping[Path, str], resolve: Callable[[Path, str], str]
) -> Iterator[None]:
    """Let a Dask cluster perform the calls of ``run_in_parallel`` within the block.

    Does nothing without an ``address``. Each worker must have one thread, the same packages as this
    machine, and the ``repositories`` at the same paths, with the revision given for each (an empty
    one is HEAD, if it exists). ``resolve`` returns the commit of a revision in the repository at a
    path; it is called here and in the workers.

    Raises ToslocError if there is no such cluster or worker, MissingExtra without Dask, and
    RepositoryError for a revision that does not exist here.
    """
    if not address:
        yield
        return
    require("a Dask cluster", "dask", "distributed")
    if not _ADDRESS.fullmatch(address):
        raise ToslocError(
            f"{address!r} is not the address of a Dask scheduler",
            hint="write it like tcp://127.0.0.1:8786",
            about="cluster",
        )
    commits = {}
    for path, revision in repositories.items():
        with nullcontext() if revision else suppress(RepositoryError):
            commits[str(path.absolute())] = resolve(path, revision or "HEAD")
    with warnings.catch_warnings(), ExitStack() as quiet:
        warnings.filterwarnings("ignore", message="Sending large graph")
        warnings.filterwarnings("ignore", module="distributed")
        from distributed import Client

        # Whatever matters in their logs is reported as an error of ours.
        quiet.enter_context(_silence_loggers("distributed", "tornado", "asyncio"))
        try:
            client = Client(address, timeout=ANSWER_SECONDS, set_as_default=False, name="tosloc")
        except (OSError, ValueError, ImportError) as error:
            raise ToslocError(
                f"no Dask scheduler with the same package versions answers at {address} ({error})",
                hint="start one with: dask scheduler",
                about="cluster",
            ) from None
        with closing(client):
            _check_workers(client, address, commits, resolve)
            before = EXECUTOR.set(partial(_perform_on_workers, client, address))
            try:
                yield
            finally:
                EXECUTOR.reset(before)


@contextmanager
def _silence_loggers(*names: str) -> Iterator[None]:
    """Drop the messages of some loggers within the block."""
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
    client: Client, address: str, commits: dict[str, str], resolve: Callable[[Path, str], str]
) -> None:
    """Raise ToslocError unless the cluster has workers that all match this machine.

    ``on_cluster`` says what must be the same.
    """
    start = f"start some with: dask worker {address} --nworkers auto --nthreads 1"
    try:
        client.wait_for_workers(1, timeout=ANSWER_SECONDS)
        versions_by_worker = client.run(_read_versions, commits, resolve, on_error="return")
    except Exception:  # TimeoutError, OSError, or whatever a closed connection makes of it
        raise ToslocError(f"{address} has no worker", hint=start, about="cluster") from None
    own_versions = _read_versions(commits, resolve)
    for worker, versions in versions_by_worker.items():
        if versions == own_versions:
            continue
        if isinstance(versions, BaseException):
            difference = str(versions)
        else:
            difference = f"only one of them has {', '.join(versions ^ own_versions)}"
        raise ToslocError(
            f"{address}: the worker {worker} differs from this machine ({difference})",
            hint="install the same packages there, and clone the repository to the same path",
            about="cluster",
        )
    if any(threads != 1 for threads in client.nthreads().values()):
        raise ToslocError(
            f"{address}: a worker runs more than one thread, and parsers are not thread-safe",
            hint=start,
            about="cluster",
        )


def _read_versions(commits: dict[str, str], resolve: Callable[[Path, str], str]) -> set[str]:
    """Return the versions of Python, TosLoc and the packages that results depend on.

    ``commits`` maps the path of each repository to a commit that must exist there. Raises
    RepositoryError if a commit cannot be read. The workers call this function as well.
    """
    for path, commit in commits.items():
        resolve(Path(path), commit)
    versions = {
        f"Python {sys.version_info.major}.{sys.version_info.minor}",
        f"tosloc {tosloc.__version__}",
    }
    for package in metadata.distributions():
        if _RESULT_PACKAGES.fullmatch(str(package.name).lower()):
            versions.add(f"{package.name} {package.version}")
    return versions


def _perform_on_workers(
    client: Client, address: str, calls: Iterable[Call], ordered: bool
) -> Generator[Any, None, None]:
    """Yield the results of calls, in their order or as they are finished.

    Raises the errors of the calls, ToslocError if the scheduler is gone, and BrokenProcessPool if a
    call kills its workers.
    """
    from distributed import KilledWorker, as_completed

    packed = [pickle.dumps(call) for call in calls]
    futures = client.map(_perform_call, [os.getcwd()] * len(packed), packed, pure=False)
    try:
        for future in list(futures) if ordered else as_completed(futures, loop=client.loop):
            yield future.result()
            future.release()
    except KilledWorker:
        raise BrokenProcessPool(
            "several workers of the cluster were killed while doing the same task"
        ) from None
    except CancelledError:
        raise ToslocError(
            f"the Dask scheduler at {address} no longer answers; finished results are kept",
            hint="start it and its workers again, and run the same command again to continue",
            about="cluster",
        ) from None
    finally:
        with suppress(Exception):  # the scheduler is gone
            client.cancel(futures, force=True)


def _perform_call(folder: str, call: bytes) -> Any:
    """Return the result of a pickled call.

    A worker runs this function, in ``folder`` if that exists on its machine.
    """
    # Relative paths mean the same as in the command, if its folder exists on this machine.
    with suppress(OSError):
        os.chdir(folder)
    return pickle.loads(call)()
