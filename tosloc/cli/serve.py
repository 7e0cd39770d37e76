"""``tosloc serve`` and ``tosloc mcp``: answers in a browser on this machine, or for agents."""

from __future__ import annotations

import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from tosloc.cli.guard import end_at_signals
from tosloc.cli.options import (
    AroundRepositoryOption,
    FoundCheckpointOption,
    FullHelpGroup,
    NamedRepositoryOption,
    VersionOption,
)
from tosloc.core.errors import ToslocError, require
from tosloc.core.io import escape_unprintable
from tosloc.terminal.printing import print_notes


def serve(
    repo: AroundRepositoryOption,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 picks a free one.")
    ] = 8765,
    commit: VersionOption = None,
    checkpoint: FoundCheckpointOption = None,
    editor: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address that opens {path} at {line} in your editor; '' shows no links.",
        ),
    ] = "vscode://file{path}:{line}",
) -> None:
    """Serve a local web page that answers pasted bug reports."""
    require("tosloc serve", "serve", "jinja2", "starlette", "uvicorn")
    from tosloc.web.server import serve_repository

    if editor and not re.match(r"[a-z][a-z0-9+.-]*:.*\{path\}", editor):
        raise ToslocError(
            f"--editor {editor}: this address does not contain {{path}};"
            " write one like vscode://file{path}:{line}"
        )
    serve_repository(repo, port, checkpoint, commit or "", editor)


RootOption = Annotated[
    list[Path] | None,
    typer.Option(
        exists=True,
        file_okay=False,
        help="Folder whose repositories clients may ask about. Repeatable.",
        show_default="the client's folders, else the repository around the current folder",
    ),
]
TextOnlyOption = Annotated[
    bool,
    typer.Option(
        "--text-only",
        help="Leave out structured content, for clients that pass it to their model instead of"
        " the short text.",
    ),
]
SamplingOption = Annotated[
    bool,
    typer.Option(
        "--sampling",
        help="Ask the client's own language model, if it lends one, to order the first files.",
    ),
]
IN_TERMINAL: Final = (
    "this is a server for coding agents, which start it and speak to it in JSON",
    "set up an agent with: tosloc mcp install; ask a question yourself with: tosloc localize",
    "waiting for an agent; press Ctrl-C to stop",
)
"""Text for a person who starts the server in a terminal."""
mcp_app = typer.Typer(cls=FullHelpGroup, rich_markup_mode=None, invoke_without_command=True)


@mcp_app.callback()
def mcp(
    context: typer.Context,
    root: RootOption = None,
    checkpoint: FoundCheckpointOption = None,
    text_only: TextOnlyOption = False,
    sampling: SamplingOption = False,
) -> None:
    """Serve coding agents over the Model Context Protocol (MCP).

    Without a command, the server runs on standard input and output.
    """
    if context.invoked_subcommand is not None:
        if root or checkpoint or text_only or sampling:
            raise ToslocError(
                "these options are for the server; write them after the command, as in:"
                " tosloc mcp install AGENT --root FOLDER"
            )
        return
    require("tosloc mcp", "mcp", "mcp")
    from tosloc.mcp.server import run_server

    _check_checkpoint(checkpoint)
    if sys.stdin.isatty():
        print_notes(IN_TERMINAL)
    # The loop waits for standard input, which an exception of a signal's handler cannot interrupt.
    end_at_signals()
    run_server(root or (), checkpoint, structured=not text_only, sampling=sampling)


def _check_checkpoint(checkpoint: Path | None) -> None:
    """Raise CheckpointError for a damaged checkpoint now, and not at an agent's first question."""
    if checkpoint is not None:
        from tosloc.localize.localizer import Localizer

        Localizer.load(checkpoint)


class AgentName(StrEnum):
    """Coding agents whose set-up is known."""

    claude_code = "claude-code"
    cursor = "cursor"
    vscode = "vscode"
    codex = "codex"
    gemini = "gemini"


@mcp_app.command(epilog="Example: tosloc mcp install claude-code --write")
def install(
    agents: Annotated[
        list[AgentName] | None,
        typer.Argument(metavar="AGENT", help="Coding agents to set up.", show_default="print all"),
    ] = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help="Add the entry to the agent's configuration file, and change nothing else in it."
            " Also write a skill and a sub-agent if the agent reads them.",
        ),
    ] = False,
    repo: NamedRepositoryOption = None,
    root: RootOption = None,
    checkpoint: FoundCheckpointOption = None,
    text_only: TextOnlyOption = False,
    sampling: SamplingOption = False,
) -> None:
    """Print or write the configuration that adds TosLoc to coding agents.

    Agents: claude-code, cursor, vscode, codex, gemini. The file of Codex is in the home folder;
    the files of the other agents are in the root of the repository. --root, --checkpoint,
    --text-only and --sampling are passed on to the server that the agent starts.
    """
    require("tosloc mcp", "mcp", "mcp")
    from tosloc.git import discovery
    from tosloc.mcp.install import AgentSetup

    _check_checkpoint(checkpoint)
    setup = AgentSetup(
        agents or (),
        roots=root or (),
        checkpoint=checkpoint,
        text_only=text_only,
        sampling=sampling,
    )
    if not write:
        print(setup.describe())
        return
    if not agents:
        raise ToslocError(f"--write needs at least one agent; choose from {', '.join(AgentName)}")
    if repo is None and not setup.is_user_wide:
        repo = discovery.current_repository()
    for file in setup.write(repo):
        verdict = f"{file.outcome} the {file.kind} tosloc"
        if file.outcome == "unchanged":
            verdict = f"the {file.kind} tosloc was already there; nothing was changed"
        print(f"{escape_unprintable(str(file.path))}: {verdict}")
    if setup.has_full_path:
        print_notes(
            ["tosloc is not on the PATH, so the entry contains its full path on this machine"]
        )


@mcp_app.command(epilog="Example: tosloc mcp uninstall claude-code")
def uninstall(
    agents: Annotated[
        list[AgentName],
        typer.Argument(metavar="AGENT", help="Coding agents to remove TosLoc from."),
    ],
    repo: NamedRepositoryOption = None,
) -> None:
    """Remove what `tosloc mcp install --write` added to coding agents, and nothing else."""
    require("tosloc mcp", "mcp", "mcp")
    from tosloc.git import discovery
    from tosloc.mcp.install import AgentSetup

    setup = AgentSetup(agents)
    if repo is None and not setup.is_user_wide:
        repo = discovery.current_repository()
    for file in setup.remove(repo):
        verdict = f"removed the {file.kind} tosloc"
        if file.outcome == "unchanged":
            verdict = f"there was no {file.kind} tosloc; nothing was changed"
        print(f"{escape_unprintable(str(file.path))}: {verdict}")
