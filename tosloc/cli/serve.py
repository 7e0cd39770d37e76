"""``tosloc serve`` and ``tosloc mcp``: answers for a browser here, and for coding agents."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.guard import end_at_signals
from tosloc.cli.options import AroundRepositoryOption, FoundCheckpointOption, VersionOption
from tosloc.core.errors import ToslocError, require


def serve(
    repo: AroundRepositoryOption,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of 127.0.0.1; 0 is any free one.")
    ] = 8765,
    commit: VersionOption = None,
    checkpoint: FoundCheckpointOption = None,
    editor: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address that opens {path} at {line} in your editor; '' for no links.",
        ),
    ] = "vscode://file{path}:{line}",
) -> None:
    """Serve a page on this machine, in which you paste bug reports."""
    require("tosloc serve", "serve", "jinja2", "starlette", "uvicorn")
    from tosloc.git import discovery
    from tosloc.localize.localizer import Localizer
    from tosloc.web import server
    from tosloc.web.render import project_name

    if editor and not re.match(r"[a-z][a-z0-9+.-]*:.*\{path\}", editor):
        raise ToslocError(
            f"--editor {editor}: is no address with {{path}} in it;"
            " give one as vscode://file{path}:{line}"
        )
    with server.open_socket(port) as listener:
        with Localizer.open(repo, checkpoint, ready=False) as localizer:
            repository = localizer.repository
            assert repository is not None
            git_directory = discovery.find_git_directories(repository.path)[0]
            discovery.check_inside_roots(repository.path, (repository.path, git_directory))
            # An unknown version is an error now, and not when the first question is asked.
            if commit:
                repository.resolve(commit)
            else:
                repository.checked_out()
            project = project_name(localizer)
        questions = server.Questions(repository.path, checkpoint, editor, commit or "", project)
        server.serve(questions, listener)


def mcp(
    root: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            file_okay=False,
            help="Folder whose repositories may be asked. Repeatable.",
            show_default="the client's folders, else the repository around the current folder",
        ),
    ] = None,
    checkpoint: FoundCheckpointOption = None,
    text_only: Annotated[
        bool,
        typer.Option(
            "--text-only",
            help="Leave out structured content, for clients that show it to their model in place of"
            " the short text.",
        ),
    ] = False,
) -> None:
    """Answer coding agents (Model Context Protocol)."""
    require("tosloc mcp", "mcp", "mcp")
    from tosloc.localize.localizer import Localizer
    from tosloc.mcp.server import Settings, create_server

    if checkpoint is not None:
        # A damaged checkpoint is an error now, and not when the first question is asked.
        Localizer.load(checkpoint)
    # The loop waits for standard input, which an exception of a signal's handler cannot interrupt.
    end_at_signals()
    create_server(Settings(root or (), checkpoint, structured=not text_only)).run()
