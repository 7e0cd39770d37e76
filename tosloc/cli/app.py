"""The commands together, and what becomes of an error: one sentence on standard error, exit code 2."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tosloc.cli import commands, localize
from tosloc.errors import ToslocError

WRONG_INPUT = 2
INTERRUPTED = 130


class _Interrupted(BaseException):
    """Ctrl-C, on its way past the command line library, which would answer it in its own words."""


class _Commands(TyperGroup):
    """The group of commands."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise _Interrupted from None


app = typer.Typer(
    name="tosloc",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(localize.localize)
for _command in (commands.index, commands.train, commands.rank, commands.evaluate, commands.data):
    app.command()(_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"tosloc {version('tosloc')}")
        raise typer.Exit


@app.callback()
def tosloc(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Here is a bug report: which files? Ranks every source file of a git version."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code of a command: 0, 2 for input that is at fault (one sentence on standard error), 130 for Ctrl-C."""
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except (_Interrupted, KeyboardInterrupt):
        return _say("interrupted; run the same command again to go on", INTERRUPTED)
    except ToslocError as error:
        return _say(str(error), WRONG_INPUT)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        _forget_output()
        return 1
    except OSError as error:
        _forget_output()
        return _say(_about(error), WRONG_INPUT)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        app(args=None if arguments is None else list(arguments), prog_name="tosloc")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else int(bool(done.code))
    return 0


def _forget_output() -> None:
    """Let the interpreter's last flush of standard output go nowhere, if it cannot be written."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _about(error: OSError) -> str:
    """One sentence about a file that cannot be read or written."""
    place = f"{error.filename}: " if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{place}no room left on the disk; make room and run the same command again to go on"
    return f"{place}{error.strerror or error}"


def _say(sentence: str, code: int) -> int:
    print("tosloc: " + " ".join(sentence.split()), file=sys.stderr)
    return code
