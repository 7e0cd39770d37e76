"""``tosloc serve``: the page of answers, to ask and read in a browser on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.options import AroundRepositoryOption, CommitOption, StoreOption


def serve(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port of 127.0.0.1; 0 is any free one.")] = 8765,
    repo: AroundRepositoryOption = None,
    commit: CommitOption = "HEAD",
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", help="Folder of a trained checkpoint.", show_default="shipped weights"),
    ] = None,
    store: StoreOption = None,
) -> None:
    """A page on this machine alone: paste or drop a bug report, see its files."""
    from tosloc.errors import require

    require("tosloc serve", "serve", "jinja2", "starlette", "uvicorn")
    from tosloc.data import git_files
    from tosloc.localizer import Localizer
    from tosloc.page.server import listening
    from tosloc.page.server import serve as serve_at

    with listening(port) as place:
        opened = Localizer.open(repo or git_files.around(Path.cwd()), checkpoint, commit=None, store=store)
        with opened as localizer:
            assert localizer.repository is not None
            place_of = localizer.repository.path
            git_files.check_roots(place_of, (place_of, git_files.find(place_of).own))
            localizer.files(commit)  # what is wrong with it is said at once
            serve_at(localizer, place, commit, lambda address: print(f"{address} (Ctrl-C ends it)", flush=True))
