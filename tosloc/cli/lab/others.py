"""The commands about techniques beside our own: ``baselines`` and ``bm25``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.options import ClusterOption, OutOption, ReportsOption, RepositoryOption, Split


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
    split: Annotated[
        Split | None, typer.Option("--split", help="Reports to rank.", show_default="validation, then test")
    ] = None,
    cluster: ClusterOption = None,
) -> None:
    """Rank labelled reports with published techniques.

    Every file of each version, under OUT/NAME; a second call leaves finished techniques alone.
    """
    from tosloc.cli.progress import shown
    from tosloc.cluster import on_cluster
    from tosloc.config import Config, load_config
    from tosloc.lab import baseline_runs

    techniques = [baseline_runs.technique(name) for name in names or baseline_runs.SYSTEMS]
    splits = baseline_runs.SPLITS if split is None else (split.value,)
    loaded = Config() if config is None else load_config(config)
    with on_cluster(cluster, {repo: ""}), shown() as callback:
        folders = baseline_runs.rank_with(techniques, loaded, repo, reports, out, splits, callback)
    for folder in folders:
        print(folder)
    print(f"tosloc: ranked; now run: tosloc evaluate {out}/* --split {splits[-1]}", file=sys.stderr)


def bm25(
    repo: RepositoryOption,
    reports: ReportsOption,
    out: OutOption,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="TOML file of settings, for zone, suffixes, split.", show_default="the defaults"),
    ] = None,
    split: Annotated[Split, typer.Option("--split", help="Reports to rank.")] = Split.all,
) -> None:
    """Rank labelled reports by BM25 over whole files.

    The library bm25s as it comes, over the files that tosloc rank searches. A finished run is left as it is.
    """
    from tosloc.cli.progress import shown
    from tosloc.config import Config, load_config
    from tosloc.errors import require
    from tosloc.lab.bm25_runs import rank_with_bm25s

    require("BM25 over whole files", "lab", "bm25s")
    settings = Config() if config is None else load_config(config)
    with shown() as callback:
        rank_with_bm25s(repo, reports, out, split.value, settings, callback)
    print(f"tosloc: ranked; now run: tosloc evaluate {out} --split {split.value}", file=sys.stderr)
