"""Errors that a user can cause, each with one sentence: what is wrong, where, and what to do.

The command line exits with code 2 on any of them.
"""

import errno
import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import Final

_ARGUMENT: Final = re.compile(r"\{([a-z_]+)\}")


def pluralize(number: int, noun: str) -> str:
    """Return a number with the noun that it counts, for use in a sentence.

    >>> pluralize(1, "report"), pluralize(3320, "report"), pluralize(0, "file")
    ('1 report', '3,320 reports', '0 files')
    """
    ending = "" if number == 1 else "s"
    return f"{number:,} {noun}{ending}"


class ToslocError(Exception):
    """Base of all errors that the user's input or environment causes.

    ``about`` is the name of the argument at fault, ``hint`` an instruction that solves the problem.
    A name in braces in a hint stands for an argument, as in "name another with {commit}", because
    each front end spells arguments differently: ``commit`` in Python, ``--commit`` on the command
    line.
    """

    def __init__(self, message: str, *, hint: str = "", about: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        self.about = about

    def render(self, argument_name: Callable[[str], str]) -> str:
        """Return the whole sentence, with each argument spelled by ``argument_name``.

        >>> error = ToslocError("no file matches", hint="widen {include}", about="include")
        >>> error.render("--{}".format)
        '--include: no file matches; widen --include'
        """
        sentence = str(self.args[0])
        if self.about:
            sentence = f"{argument_name(self.about)}: {sentence}"
        if self.hint:
            hint = _ARGUMENT.sub(lambda match: argument_name(match[1]), self.hint)
            sentence = f"{sentence}; {hint}"
        return sentence

    def without_arguments(self) -> str:
        """Return the sentence for readers who cannot set arguments.

        It leaves out the hint if the hint mentions an argument.
        """
        if _ARGUMENT.search(self.hint):
            return str(self.args[0])
        return self.render(str)

    def __str__(self) -> str:
        return self.render(str)


class RepositoryError(ToslocError):
    """Error about a folder that is not a git repository, or a repository that cannot be read."""


class UnknownCommit(RepositoryError):
    """Error about a revision that names no commit of the repository."""


class ReportError(ToslocError):
    """Error about a bug report, or a file of bug reports, that cannot be read."""


class ConfigError(ToslocError):
    """Error about a configuration with an unknown key or an impossible value."""


class StoreError(ToslocError):
    """Error about a facts store that is damaged, has another schema, or cannot be written."""


class CheckpointError(ToslocError):
    """Error about a checkpoint folder that is incomplete, damaged or of another kind."""


class RunError(ToslocError):
    """Error about a run, or its relevance judgements, that cannot be evaluated."""


class MissingExtra(ToslocError):
    """Error about a part of TosLoc whose packages are not installed."""


class Interrupted(BaseException):
    """Signal that the user has pressed Ctrl-C, sent SIGTERM, or abandoned a call.

    It does not derive from KeyboardInterrupt, because libraries would catch and report that error.
    """


def user_sentence(
    error: BaseException, render: Callable[[ToslocError], str] = ToslocError.__str__
) -> str | None:
    """Return the sentence that explains an error to users; None for a bug in this program.

    ``render`` makes the sentence for a ToslocError.
    """
    from concurrent.futures import BrokenExecutor  # here: few processes need it

    if isinstance(error, MemoryError):
        return "there is not enough memory; free some, or ask for less at once"
    if isinstance(error, BrokenExecutor):
        return (
            "a worker process was killed, most likely because memory ran out; set jobs in [run]"
            " to a lower number and try again"
        )
    if isinstance(error, OSError):
        problem = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            problem = (
                "there is no space left on the disk; free some, and run the same command again to"
                " continue"
            )
        return f"{error.filename}: {problem}" if error.filename else problem
    if isinstance(error, ToslocError):
        return render(error)
    return None


def require(part: str, extra: str, *modules: str) -> None:
    """Check that the modules that a part of TosLoc needs are installed.

    Raises MissingExtra, whose sentence has the command that installs the ``extra``.
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        names = ", ".join(missing)
        raise MissingExtra(f"{part} needs {names}; run: {_install_command(extra)}")


def _install_command(extra: str) -> str:
    """Return the command that adds an extra to this installation, and keeps the extras it has.

    It uses the tool that made the installation, and the source that the installation came from
    (PEP 610).
    """
    import json  # here, as below: few processes need them
    import shlex
    import sys
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    try:
        origin = json.loads(distribution("tosloc").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:  # the sources are run without an installation
        origin = {}
    url = origin.get("url", "tosloc")
    version_control = origin.get("vcs_info")
    if version_control:
        requirement = f"tosloc[{extra}] @ {version_control['vcs']}+{url}"
    elif url.startswith("file:"):
        requirement = f"{unquote(urlsplit(url).path)}[{extra}]"
    else:
        requirement = f"{url}[{extra}]"
    source = shlex.quote(requirement)
    python = shlex.quote(sys.executable)
    if "uv/tools/" in f"{sys.prefix}/":
        return f"uv pip install --python {python} {source}"
    if "pipx/venvs/" in f"{sys.prefix}/":
        return f"pipx inject tosloc {source}"
    if origin.get("dir_info", {}).get("editable"):
        return f"{python} -m pip install --editable {source}"
    return f"{python} -m pip install {source}"
