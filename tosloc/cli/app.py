"""The commands together, and what becomes of an error: one sentence on standard error, exit code 2."""

from __future__ import annotations

import functools
import itertools
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from tosloc.cli import cache, commands, interchange, judging, localize, mine, serve
from tosloc.cli.guard import WRONG_INPUT, guarded
from tosloc.errors import Interrupted, ToslocError

UsageError: Final[Any] = typer.BadParameter.__mro__[1]
"""What the command line library raises for options and arguments that do not fit."""
COMMANDS: Final[Mapping[str, Sequence[tuple[str, Any, str]]]] = {
    "Localize": [("localize", localize.localize, "tosloc localize 'Config.from_file opens text files only' --top 5")],
    "Learn from your project": [
        ("mine", mine.mine, "tosloc mine issues.json pulls.json"),
        ("data", commands.data, "tosloc data --reports Tomcat.xlsx --repo tomcat.git"),
        ("train", commands.train, "tosloc train tomcat --reports Tomcat.xlsx --repo tomcat.git --out runs/tomcat"),
        ("rank", commands.rank, "tosloc rank --reports Newer.xlsx --repo tomcat.git --split all --out runs/newer"),
    ],
    "Judge and compare": [
        ("evaluate", judging.evaluate, "tosloc evaluate runs/tomcat --html tomcat.html"),
        ("compare", judging.compare, "tosloc compare runs/other runs/tomcat --common"),
        ("import-run", interchange.import_run, "tosloc import-run other.run --qrels other.qrels --out runs/other"),
        ("export-run", interchange.export_run, "tosloc export-run runs/tomcat --out trec"),
    ],
    "Serve": [
        ("serve", serve.serve, "tosloc serve --port 8765"),
        ("mcp", serve.mcp, "claude mcp add tosloc -- tosloc mcp --text-only"),
    ],
    "Keep house": [("index", commands.index, "tosloc index --commit v2.1"), ("cache", None, ""), ("lab", None, "")],
}
"""Heading -> name, function and example of each command."""


class _Commands(TyperGroup):
    """The commands, under headings."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for heading, listed in COMMANDS.items():
            with formatter.section(heading):
                helps = {name: str(getattr(self.get_command(ctx, name), "help", "")) for name, _, _ in listed}
                formatter.write_dl([(name, text.partition("\n")[0]) for name, text in helps.items()])


class _LabCommands(TyperGroup):
    """The commands of the laboratory, imported when one of them, or their list, is asked for."""

    @functools.cached_property
    def lab(self) -> Mapping[str, Any]:
        from tosloc.cli.lab import app as lab

        return typer.main.get_group(lab).commands

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.lab)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self.lab.get(cmd_name)


app = typer.Typer(
    name="tosloc",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _, _function, _example in itertools.chain.from_iterable(COMMANDS.values()):
    if _function is not None:
        app.command(epilog=f"Example: {_example}")(_function)
app.add_typer(cache.app, name="cache")
app.add_typer(
    typer.Typer(
        cls=_LabCommands,
        help="Experiments: published techniques, the paper's tables, many projects, ablations.",
        no_args_is_help=True,
        rich_markup_mode=None,
    ),
    name="lab",
)


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
    return guarded(lambda: _run(arguments))


@functools.cache
def _command() -> Any:
    return typer.main.get_command(app)  # 30 ms, which a process that answers several commands spends once


def _run(arguments: Sequence[str] | None) -> int:
    words = None if arguments is None else list(arguments)
    try:
        code = _command()(args=words, prog_name="tosloc", standalone_mode=False)
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else int(bool(done.code))
    except UsageError as error:
        if type(error).__name__ != "NoArgsIsHelpError":
            command = "tosloc" if error.ctx is None else error.ctx.command_path
            raise ToslocError(f"{error.format_message().rstrip('.')}; see: {command} --help") from None
        print(error, file=sys.stderr)  # a group of commands without any: its help
        return WRONG_INPUT
    if code == 128 + signal.SIGINT:  # what the library makes of an interruption that is not ours
        raise Interrupted
    return code if isinstance(code, int) else 0
