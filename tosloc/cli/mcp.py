"""``tosloc mcp``: answers coding agents over the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.guard import end_at_signals
from tosloc.cli.options import FoundCheckpointOption
from tosloc.errors import RepositoryError, require


def mcp(
    root: Annotated[
        list[Path] | None,
        typer.Option(
            "--root",
            help="Folder whose repositories may be asked; may be given again.",
            show_default="the folders that the client names, else the repository around the current folder",
        ),
    ] = None,
    checkpoint: FoundCheckpointOption = None,
    text_only: Annotated[
        bool,
        typer.Option(
            "--text-only",
            help="Leave out structured content: for clients that show it to their model in place of the short text.",
        ),
    ] = False,
) -> None:
    """Answer coding agents (Model Context Protocol, standard input and output)."""
    require("tosloc mcp", "mcp", "mcp")
    from tosloc.mcp.server import Settings, serve

    folders = tuple(folder.expanduser().resolve() for folder in root or ())
    for folder in folders:
        if not folder.is_dir():
            raise RepositoryError(f"{folder}: no such folder; give one that holds repositories to --root")
    if checkpoint is not None:
        from tosloc.localizer import Localizer

        Localizer.load(checkpoint)  # said now, not when a first question is asked
    end_at_signals()  # what waits for standard input cannot be woken
    serve(Settings(folders, checkpoint, structured=not text_only))
