"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

AroundRepositoryOption = Annotated[
    Path | None,
    typer.Option(
        "--repo",
        help="Git repository: a work tree, a bare repository or a git directory.",
        show_default="the one around the current folder",
    ),
]
NamedReportsOption = Annotated[
    Path | None,
    typer.Option(
        "--reports",
        help="Labelled reports: xlsx, XML or JSON lines; recognised by content.",
        show_default="those that tosloc mine has left for the repository",
    ),
]
RepositoryOption = Annotated[
    Path, typer.Option("--repo", help="Git repository: a work tree, a bare repository or a git directory.")
]
ReportsOption = Annotated[
    Path, typer.Option("--reports", help="Labelled reports: xlsx, XML or JSON lines; recognised by content.")
]
OutOption = Annotated[Path, typer.Option("--out", file_okay=False, help="Folder to write.")]
CheckpointOption = Annotated[
    Path | None, typer.Option("--checkpoint", help="Folder of a trained checkpoint.", show_default="shipped weights")
]
FoundCheckpointOption = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        help="Folder of a trained checkpoint; none: the shipped weights.",
        show_default="the one that tosloc train has left for the repository, else the shipped weights",
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Dask scheduler, such as tcp://10.0.0.5:8786, whose workers share the work.",
        show_default="this machine alone",
    ),
]
VersionOption = Annotated[
    str | None,
    typer.Option(
        "--commit",
        help="Version to search.",
        show_default="the files as they are on disk, HEAD's in a bare repository, or what the checkpoint carries",
    ),
]
CommitOption = Annotated[str, typer.Option("--commit", help="Version to search.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
FigureOption = Annotated[
    Path | None, typer.Option("--figure", metavar="PATH", help="Draw it, as PATH.svg and PATH.png.")
]


class Level(StrEnum):
    """What is ranked and judged."""

    file = "file"
    function = "function"


def check_drawing(*wanted: Path | None) -> None:
    """Raise MissingExtra, before any work, where a figure or page is wanted and what draws it is not installed."""
    if any(path is not None for path in wanted):
        import_module("tosloc.plots")


class Split(StrEnum):
    """Parts of the labelled reports, by the time of their fix."""

    train = "train"
    validation = "validation"
    test = "test"
    all = "all"
