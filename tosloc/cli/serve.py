"""``tosloc serve``: the page of answers, to ask and read in a browser on this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.options import AroundRepositoryOption, FoundCheckpointOption, VersionOption


def serve(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port of 127.0.0.1; 0 is any free one.")] = 8765,
    repo: AroundRepositoryOption = None,
    commit: VersionOption = None,
    checkpoint: FoundCheckpointOption = None,
    editor: Annotated[
        str,
        typer.Option("--editor", metavar="ADDRESS", help="What opens {path} at {line} in your editor; '' for nothing."),
    ] = "vscode://file{path}:{line}",
) -> None:
    """A page on this machine alone: paste or drop a bug report, see its files."""
    from tosloc.errors import ToslocError, require

    require("tosloc serve", "serve", "jinja2", "starlette", "uvicorn")
    from tosloc.git import discovery
    from tosloc.git.discovery import WebPages
    from tosloc.localizer import Localizer
    from tosloc.web.questions import Questions
    from tosloc.web.server import listening
    from tosloc.web.server import serve as serve_at
    from tosloc.web.view import project_of

    if editor and not re.match(r"[a-z][a-z0-9+.-]*:.*\{path\}", editor):
        raise ToslocError(
            f"--editor {editor}: is no address with {{path}} in it; give one as vscode://file{{path}}:{{line}}"
        )
    with listening(port) as place:
        with Localizer.open(repo or discovery.around(Path.cwd()), checkpoint, ready=False) as localizer:
            repository = localizer.repository
            assert repository is not None
            discovery.check_roots(repository.path, (repository.path, discovery.find(repository.path)[0]))
            localizer.files(commit)  # what is wrong with it is said at once
            project = project_of(str(repository.path), WebPages.of(repository.remote_url()))
        questions = Questions(repository.path, checkpoint, editor)
        serve_at(
            questions, place, commit or "", project, lambda address: print(f"{address} (Ctrl-C ends it)", flush=True)
        )
