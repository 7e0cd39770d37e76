"""Errors that a user can cause: one clear sentence saying what, where and what to do. The command line exits with 2."""

import errno
import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import Final

_ARGUMENT: Final = re.compile(r"\{([a-z_]+)\}")


def pluralize(number: int, what: str) -> str:
    """A number and what it counts, for sentences.

    >>> pluralize(1, "report"), pluralize(3320, "report"), pluralize(0, "file")
    ('1 report', '3,320 reports', '0 files')
    """
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


class ToslocError(Exception):
    """An error that the input causes: base of all errors that users can meet.

    ``about`` names the argument at fault, ``hint`` says what to do. In a hint, a name in braces
    stands for an argument, as in "name another with {commit}", since callers call it differently:
    ``commit`` in Python, ``--commit`` on the command line.
    """

    def __init__(self, message: str, *, hint: str = "", about: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        self.about = about

    def render(self, argument_name: Callable[[str], str]) -> str:
        """Return the whole sentence, with the names that ``argument_name`` gives to arguments.

        >>> error = ToslocError("no file matches", hint="widen {include}", about="include")
        >>> error.render("--{}".format)
        '--include: no file matches; widen --include'
        """
        subject = f"{argument_name(self.about)}: " if self.about else ""
        action = f"; {self.hint}" if self.hint else ""
        return (
            subject
            + str(self.args[0])
            + _ARGUMENT.sub(lambda match: argument_name(match[1]), action)
        )

    def without_arguments(self) -> str:
        """Return the sentence for readers who cannot set arguments: no hint that names one."""
        return str(self.args[0]) if _ARGUMENT.search(self.hint) else self.render(str)

    def __str__(self) -> str:
        return self.render(str)


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


def user_sentence(
    error: BaseException, render: Callable[[ToslocError], str] = ToslocError.__str__
) -> str | None:
    """Return the sentence that tells users of an error, or None for an error in this program.

    ``render`` gives the sentence for a ToslocError.
    """
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
    return render(error) if isinstance(error, ToslocError) else None


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
    source = shlex.quote(
        f"{unquote(urlsplit(url).path) if url.startswith('file:') else url}[{extra}]"
    )
    if stated.get("vcs_info"):
        source = shlex.quote(f"tosloc[{extra}] @ {stated['vcs_info']['vcs']}+{url}")
    if "uv/tools/" in f"{sys.prefix}/":
        return f"uv pip install --python {shlex.quote(sys.executable)} {source}"
    if "pipx/venvs/" in f"{sys.prefix}/":
        return f"pipx inject tosloc {source}"
    editable = "--editable " if stated.get("dir_info", {}).get("editable") else ""
    return f"{shlex.quote(sys.executable)} -m pip install {editable}{source}"
