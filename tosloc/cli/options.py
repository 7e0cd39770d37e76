"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from tosloc.git import discovery

_AROUND = "the one around the current folder"
_REPOSITORY = "Git repository, bare or not, or a folder in one."


def _repository(named: Path | None) -> Path | None:
    """Return the repository that an option names. Raises RepositoryError if it names none."""
    return None if named is None else discovery.enclosing_repository(named)


AroundRepositoryOption = Annotated[
    Path,
    typer.Option(
        help=_REPOSITORY,
        default_factory=discovery.current_repository,
        show_default=_AROUND,
        callback=_repository,
    ),
]
NamedRepositoryOption = Annotated[
    Path | None, typer.Option(help=_REPOSITORY, show_default=_AROUND, callback=_repository)
]
RepositoryOption = Annotated[Path, typer.Option(help=_REPOSITORY, callback=_repository)]
PublishedRepositoryOption = Annotated[
    Path | None, typer.Option(help="Git repository of published ranks.", callback=_repository)
]
_LABELLED = "Labelled reports: xlsx, XML or JSON lines; recognised by content."
NamedReportsOption = Annotated[
    Path | None,
    typer.Option(help=_LABELLED, show_default="those of tosloc mine for the repository"),
]
ReportsOption = Annotated[Path, typer.Option(help=_LABELLED)]
OutOption = Annotated[Path, typer.Option(file_okay=False, help="Folder to write.")]
CheckpointOption = Annotated[
    Path | None,
    typer.Option(help="Folder of a trained checkpoint.", show_default="shipped weights"),
]
FoundCheckpointOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder of a trained checkpoint; none: the shipped weights.",
        show_default="what tosloc train has left for the repository, else the shipped weights",
    ),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="Dask scheduler, such as tcp://10.0.0.5:8786, for the work."
    ),
]
VersionOption = Annotated[
    str | None,
    typer.Option(
        help="Version to search.", show_default="the files on disk; of a bare repository HEAD's"
    ),
]
CommitOption = Annotated[str, typer.Option(help="Version to search.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
FigureOption = Annotated[
    Path | None, typer.Option(metavar="PATH", help="Draw it, as PATH.svg and PATH.png.")
]


class Level(StrEnum):
    """What is ranked and judged."""

    file = "file"
    function = "function"


def check_drawing(wanted: Path | None, by: str = "tosloc.plots") -> None:
    """Raise MissingExtra, before any work, where a figure or page is wanted and what draws it is not installed."""
    if wanted is not None:
        import_module(by)


class Split(StrEnum):
    """Parts of the labelled reports, by the time of their fix."""

    train = "train"
    validation = "validation"
    test = "test"
    all = "all"
