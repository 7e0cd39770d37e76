"""Define all commands, and the entry point that turns errors into sentences and exit codes."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from tosloc.cli.guard import WRONG_INPUT, run_guarded
from tosloc.cli.options import MAX_SHORT_HELP, FullHelpGroup
from tosloc.core.errors import ToslocError
from tosloc.terminal.printing import print_notes

COMMANDS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "Localize": [
        (
            "localize:localize",
            "tosloc localize 'Config.from_file opens text files only' --top 5",
        ),
        ("bisect:app", "tosloc bisect start bug.md --good v1.2"),
        ("similar:similar", "tosloc similar '#123'"),
    ],
    "Learn from your project": [
        ("mine:mine", "tosloc mine issues.json pulls.json"),
        ("commands:data", "tosloc data --reports Tomcat.xlsx --repo tomcat.git"),
        (
            "commands:train",
            "tosloc train tomcat --reports Tomcat.xlsx --repo tomcat.git --out runs/tomcat",
        ),
        (
            "commands:rank",
            "tosloc rank --reports Newer.xlsx --repo tomcat.git --split all --out runs/newer",
        ),
    ],
    "Evaluate and compare": [
        ("judging:evaluate", "tosloc evaluate runs/tomcat --html tomcat.html"),
        ("judging:compare", "tosloc compare runs/other runs/tomcat --common"),
        ("commands:import_run", "tosloc import-run other.run --qrels other.qrels --out runs/other"),
        ("commands:export_run", "tosloc export-run runs/tomcat --out trec"),
    ],
    "Serve": [
        ("serve:serve", "tosloc serve --port 8765"),
        ("serve:mcp_app", "claude mcp add tosloc -- tosloc mcp --text-only"),
    ],
    "Maintain": [
        ("commands:index", "tosloc index --commit v2.1"),
        ("cache:app", "tosloc cache prune --repo flask"),
        ("app:lab", "tosloc lab baselines --help"),
    ],
}
"""Heading -> place and example of each command below it.

A place is a module of this package and the function or group of commands in it. The module is
imported when its command, or the list of all commands, is asked for.
"""
_ANSWERING: Final = ("localize", "bisect", "serve", "mcp")
"""Commands whose results are not stored in the cache, so that a temporary cache is enough."""
_GROUP_NAMES: Final = {
    "bisect:app": "bisect",
    "serve:mcp_app": "mcp",
    "cache:app": "cache",
    "app:lab": "lab",
}
"""Place of a group of commands -> its name."""


class _CommandTable(Mapping[str, Any]):
    """The commands by name, each loaded when it is looked up."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[str, str, str]] = {}
        for heading, rows in COMMANDS.items():
            for place, example in rows:
                name = _GROUP_NAMES.get(place) or place.partition(":")[2].replace("_", "-")
                self._rows[name] = (heading, place, example)
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _load_command(name, *self._rows[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        return name in self._rows


def _load_command(name: str, heading: str, place: str, example: str) -> Any:
    """Import the module of a command and return the command, or the group of commands."""
    module, _, variable = place.partition(":")
    value = getattr(import_module(f"tosloc.cli.{module}"), variable)
    options: dict[str, Any] = {
        "name": name,
        "rich_help_panel": heading,
        "epilog": f"Example: {example}",
    }
    only = typer.Typer(rich_markup_mode=None)
    if isinstance(value, typer.Typer):
        only.add_typer(value, **options)
    else:
        only.command(**options)(value)
    return typer.main.get_group(only).commands[name]


class _Commands(FullHelpGroup):
    """The commands, listed under headings."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Any = _CommandTable()

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command in the arguments; without one, a report is localized."""
        [first, *_] = args
        if first not in self.commands and (" " in first or "#" in first or Path(first).exists()):
            args = ["localize", *args]
        elif first not in self.commands and not get_close_matches(first, self.commands):
            raise ToslocError(
                f"there is no command or file {first!r}; if this is the text of a report, run:"
                f" tosloc localize {shlex.quote(first)}"
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands in the help."""
        for heading, group in groupby(self.commands.values(), attrgetter("rich_help_panel")):
            with formatter.section(heading):
                rows = [
                    (command.name, command.get_short_help_str(MAX_SHORT_HELP)) for command in group
                ]
                formatter.write_dl(rows)


class _LabCommands(FullHelpGroup):
    """The commands of the laboratory, imported only when one of them or their list is needed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Import the commands before the arguments are parsed."""
        from tosloc.lab.commands import app as lab

        self.commands = typer.main.get_group(lab).commands
        return super().parse_args(ctx, args)


lab: Final = typer.Typer(
    cls=_LabCommands,
    help="Run experiments: published techniques, the paper's tables, many projects.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app: Final = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    """Print the version and exit, if the option is given."""
    if wanted:
        from importlib.metadata import version

        print(f"tosloc {version('tosloc')}")
        raise typer.Exit


@app.callback(epilog="Example: tosloc localize bug.md")
def tosloc(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    color: Annotated[
        Literal["auto", "always", "never"],
        typer.Option(help="Colours of the output. This option comes before the command."),
    ] = "auto",
) -> None:
    """Rank the files and functions of a git repository most likely to contain a bug."""
    if color != "auto":
        # These variables also decide how worker processes print.
        for name in ("FORCE_COLOR", "NO_COLOR"):
            os.environ.pop(name, None)
        os.environ["FORCE_COLOR" if color == "always" else "NO_COLOR"] = "1"
    if context.invoked_subcommand in _ANSWERING:
        from tosloc.storage.cache import Cache

        print_notes(Cache.replace_unwritable())


COMMAND: Final[Any] = typer.main.get_command(app)
"""The command line as one command, for ``main`` and for tests that read its options."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    The code is 0 for success, 2 for wrong input, which a sentence on standard error describes, or
    130 after Ctrl-C.
    """
    return run_guarded(lambda: _run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    """Run a command and return its exit code. Raises ToslocError for wrong arguments."""
    try:
        code = COMMAND(args=arguments, prog_name="tosloc", standalone_mode=False)
    except typer.TyperException as error:
        # Typer has no public name for the error of a group without a command, whose text is help.
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error, file=sys.stderr)
            return WRONG_INPUT
        context = getattr(error, "ctx", None)
        command = "tosloc" if context is None else context.command_path
        message = error.format_message().rstrip(".").replace("Value error, ", "", 1)
        raise ToslocError(f"{message}; see: {command} --help") from None
    return code if isinstance(code, int) else 0
