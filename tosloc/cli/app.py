"""The commands together, and what becomes of an error: one sentence on standard error, exit code 2."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from tosloc.cli import cache, commands, judging, localize, mine, serve
from tosloc.cli.guard import WRONG_INPUT, run_guarded
from tosloc.core.errors import ToslocError

UsageError: Final[Any] = typer.BadParameter.__mro__[1]
"""What the command line library raises for options and arguments that do not fit."""
COMMANDS: Final[Mapping[str, Sequence[tuple[Any, str]]]] = {
    "Localize": [
        (localize.localize, "tosloc localize 'Config.from_file opens text files only' --top 5")
    ],
    "Learn from your project": [
        (mine.mine, "tosloc mine issues.json pulls.json"),
        (commands.data, "tosloc data --reports Tomcat.xlsx --repo tomcat.git"),
        (
            commands.train,
            "tosloc train tomcat --reports Tomcat.xlsx --repo tomcat.git --out runs/tomcat",
        ),
        (
            commands.rank,
            "tosloc rank --reports Newer.xlsx --repo tomcat.git --split all --out runs/newer",
        ),
    ],
    "Judge and compare": [
        (judging.evaluate, "tosloc evaluate runs/tomcat --html tomcat.html"),
        (judging.compare, "tosloc compare runs/other runs/tomcat --common"),
        (commands.import_run, "tosloc import-run other.run --qrels other.qrels --out runs/other"),
        (commands.export_run, "tosloc export-run runs/tomcat --out trec"),
    ],
    "Serve": [
        (serve.serve, "tosloc serve --port 8765"),
        (serve.mcp, "claude mcp add tosloc -- tosloc mcp --text-only"),
    ],
    "Keep house": [(commands.index, "tosloc index --commit v2.1")],  # and cache, lab
}
"""Heading -> function and example of each command."""


class _Commands(TyperGroup):
    """The commands, under headings."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for heading, listed in groupby(self.commands.values(), attrgetter("rich_help_panel")):
            with formatter.section(heading):
                formatter.write_dl(
                    [(command.name, command.get_short_help_str(200)) for command in listed]
                )


class _LabCommands(TyperGroup):
    """The commands of the laboratory, imported when one of them, or their list, is asked for."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        from tosloc.cli.lab import app as lab

        self.commands = typer.main.get_group(lab).commands
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _heading, _commands in COMMANDS.items():
    for _function, _example in _commands:
        app.command(epilog=f"Example: {_example}", rich_help_panel=_heading)(_function)
app.add_typer(cache.app, name="cache", rich_help_panel=_heading)
app.add_typer(
    typer.Typer(
        cls=_LabCommands,
        help="Experiments: published techniques, tables, many projects.",
        no_args_is_help=True,
        rich_markup_mode=None,
    ),
    name="lab",
    rich_help_panel=_heading,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"tosloc {version('tosloc')}")
        raise typer.Exit


@app.callback()
def tosloc(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Here is a bug report: which files? Ranks every source file of a git version."""


COMMAND: Final[Any] = typer.main.get_command(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code of a command: 0, 2 for input that is at fault (one sentence on standard error), 130 for Ctrl-C."""

    def run() -> int:
        try:
            code = COMMAND(args=arguments, prog_name="tosloc", standalone_mode=False)
        except UsageError as error:
            if type(error).__name__ != "NoArgsIsHelpError":
                command = "tosloc" if error.ctx is None else error.ctx.command_path
                raise ToslocError(
                    f"{error.format_message().rstrip('.')}; see: {command} --help"
                ) from None
            print(error, file=sys.stderr)  # a group of commands without any: its help
            return WRONG_INPUT
        return code if isinstance(code, int) else 0

    return run_guarded(run)
