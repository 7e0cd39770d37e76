"""Errors that a user can cause: one clear sentence saying what, where and what to do. The command line exits with 2."""

import errno
from importlib.util import find_spec


def counted(number: int, what: str) -> str:
    """A number and what it counts, for sentences.

    >>> counted(1, "report"), counted(3320, "report"), counted(0, "file")
    ('1 report', '3,320 reports', '0 files')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


class ToslocError(Exception):
    """Base of every error that is the input's fault; its text is shown to the user as it is."""


class RepositoryError(ToslocError):
    """Not a git repository, or one that cannot be read."""


class UnknownCommit(RepositoryError):
    """A revision that names no commit of the repository."""


class ReportError(ToslocError):
    """A bug report, or a file of bug reports, that cannot be read."""


class ConfigError(ToslocError):
    """A configuration with an unknown key or an impossible value."""


class StoreError(ToslocError):
    """A facts store of another schema, a damaged one, or no room to write it."""


class CheckpointError(ToslocError):
    """A checkpoint folder that is incomplete, damaged or made for something else."""


class RunError(ToslocError):
    """A run or its relevance judgements that cannot be evaluated."""


class MissingExtra(ToslocError):
    """A part of TosLoc whose packages are not installed."""


class Interrupted(BaseException):
    """Ctrl-C or SIGTERM, on its way past libraries that would answer in words of their own; or a call given up."""


def sentence_of(error: BaseException) -> str | None:
    """What is said of an error that is foreseen; None of any other, which is a mistake of ours."""
    from concurrent.futures import BrokenExecutor  # here: few processes need it

    if isinstance(error, MemoryError):
        return "the memory is not enough for this; free some, or ask for less at once"
    if isinstance(error, BrokenExecutor):
        return "a worker process was killed, most likely for its memory; set a lower jobs in [run] and try again"
    if isinstance(error, OSError):
        what = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            what = "no room left on the disk; make room and run the same command again to go on"
        return f"{error.filename}: {what}" if error.filename else what
    return str(error) if isinstance(error, ToslocError) else None


def require(part: str, extra: str, *modules: str) -> None:
    """Raise MissingExtra, which names the ``extra`` to install, unless all modules that a part needs are there."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise MissingExtra(f"{part} needs {', '.join(missing)}; run: {_install(extra)}")


def _install(extra: str) -> str:
    """The command that adds an extra to this installation, and keeps those that it has: pip looks first at what is
    there, wherever it came from. What ``uv tool`` has made is without a pip of its own.
    """
    import shlex  # here: few processes need them
    import sys

    python = shlex.quote(sys.executable)
    pip = f"uvx pip --python {python}" if find_spec("pip") is None else f"{python} -m pip"
    return f"{pip} install 'tosloc[{extra}]'"
