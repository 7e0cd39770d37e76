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
    """The command that adds an extra to this installation, and keeps those that it has: by the tool that made it, from
    where it came (PEP 610).
    """
    import json  # here, as below: few processes need them
    import shlex
    import sys
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    try:
        stated = json.loads(distribution("tosloc").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:  # sources that are run as they lie there
        stated = {}
    url = stated.get("url", "tosloc")
    source = shlex.quote(f"{unquote(urlsplit(url).path) if url.startswith('file:') else url}[{extra}]")
    if stated.get("vcs_info"):
        source = shlex.quote(f"tosloc[{extra}] @ {stated['vcs_info']['vcs']}+{url}")
    if "uv/tools/" in f"{sys.prefix}/":
        return f"uv pip install --python {shlex.quote(sys.executable)} {source}"
    if "pipx/venvs/" in f"{sys.prefix}/":
        return f"pipx inject tosloc {source}"
    editable = "--editable " if stated.get("dir_info", {}).get("editable") else ""
    return f"{shlex.quote(sys.executable)} -m pip install {editable}{source}"
