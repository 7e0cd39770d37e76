"""The commands about techniques beside our own: ``baselines`` and ``restrict``. Heavy imports wait inside."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.options import (
    ClusterOption,
    OutOption,
    ProgressOption,
    ReportsOption,
    RepositoryOption,
    Split,
    StoreOption,
)
from tosloc.errors import ToslocError


class Profiles(StrEnum):
    """How closely a technique is followed."""

    clean = "clean"
    upstream = "upstream"


def baselines(
    repo: RepositoryOption,
    reports: ReportsOption,
    out: OutOption,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAMES",
            help="buglocator, brtracer, bluir, amalgam, blia, dnnloc, dreamloc.",
            show_default="all seven",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="TOML file of settings, for zone and split.", show_default="the defaults"),
    ] = None,
    settings: Annotated[
        Path | None,
        typer.Option("--settings", help="Folder of NAME.toml, a technique's own.", show_default="the defaults"),
    ] = None,
    profile: Annotated[
        Profiles,
        typer.Option("--profile", help="clean: published formulas, no leaks; upstream: what the public code does."),
    ] = Profiles.clean,
    split: Annotated[
        Split | None, typer.Option("--split", help="Reports to rank.", show_default="validation, then test")
    ] = None,
    store: StoreOption = None,
    cluster: ClusterOption = None,
    progress: ProgressOption = None,
) -> None:
    """Rank labelled reports with published techniques.

    Every file of each version, under OUT/NAME; a second call goes on where the first was interrupted.
    """
    from tosloc.cli.progress import shown
    from tosloc.cluster import on_cluster
    from tosloc.config import Config, load_config
    from tosloc.lab import baseline_runs

    if settings is not None and not settings.is_dir():
        raise ToslocError(f"{settings} is no folder; name one that holds NAME.toml, such as configs/baselines")
    chosen = baseline_runs.choose_techniques(
        names or (), "clean" if profile is Profiles.clean else "upstream", settings
    )
    splits = baseline_runs.SPLITS if split is None else (split.value,)
    loaded = Config() if config is None else load_config(config)
    with on_cluster(cluster, {repo: ""}), shown(progress) as callback:
        folders = baseline_runs.rank_with(chosen, loaded, repo, reports, out, store, splits, callback)
    for folder in folders:
        print(folder)
    print(f"tosloc: ranked; now run: tosloc evaluate {out}/* --split {splits[-1]}", file=sys.stderr)


def restrict(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Folder that train, rank or baselines wrote, or a split's.")
    ],
    to: Annotated[Path, typer.Option("--to", help="File with a path a line: tosloc data --ever-fixed writes one.")],
    out: OutOption,
    split: Annotated[Split, typer.Option("--split", help="Which run of a folder.")] = Split.test,
) -> None:
    """Keep only some files of finished rankings.

    As studies do that search only files which some report of the data set fixed: an easier task, which looks better.
    """
    from tosloc.cli.printing import print_notes
    from tosloc.evaluate.run_paths import read_scored
    from tosloc.lab.restricted import RESTRICTED, read_paths, restricted, write_restricted

    kept = read_paths(to)
    for run in runs:
        scored = restricted(read_scored(run, split.value), kept)
        folder = out / scored.name / split.value
        write_restricted(folder, scored)
        print(folder.parent)
    print_notes([f"search space of these runs: {RESTRICTED}"])
