"""Options that several commands of the laboratory share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tosloc.core.config import Config, load_config
from tosloc.git import discovery

RepositoryOption = Annotated[
    Path,
    typer.Option(
        help="Git repository (bare or not), or a folder inside one.",
        callback=discovery.enclosing_repository,
    ),
]
ReportsOption = Annotated[
    Path,
    typer.Option(help="File of labelled reports: xlsx, XML or JSON lines. The format is detected."),
]
FigureOption = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="Draw a figure and write it to PATH.svg and PATH.png."),
]
ProjectsOption = Annotated[Path, typer.Option("--projects", help="TOML file of projects.")]
UnseenOption = Annotated[
    Path | None,
    typer.Option(
        "--unseen",
        help="TOML file of more projects to evaluate, which do not affect the weights.",
    ),
]
WorkOption = Annotated[
    Path,
    typer.Option(
        "--work",
        help="Folder for feature tables and runs. Finished tables in it are reused.",
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", help="TOML file with settings.", show_default="the defaults"),
]
FoldsOption = Annotated[
    int,
    typer.Option(
        "--leave-projects-out",
        metavar="K",
        min=1,
        help="Number of parts into which the projects are divided; each is left out in turn.",
    ),
]


def read_settings(config: Path | None) -> Config:
    """Return the settings in a file, or the defaults without a file. Raises ConfigError."""
    return Config() if config is None else load_config(config)
