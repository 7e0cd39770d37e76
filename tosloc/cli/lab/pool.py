"""The command ``pool``: weights, ranker and temperature of many projects together. Heavy imports wait inside."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.judging import MarkdownOption
from tosloc.cli.lab.projects import ReposOption, StoresOption, means_table, show_outcomes
from tosloc.cli.options import ClusterOption, JsonOption, ProgressOption
from tosloc.cli.printing import form_of, show

PoolConfigOption = Annotated[
    Path | None, typer.Option("--config", help="TOML file of settings.", show_default="the defaults")
]
FoldsOption = Annotated[
    int, typer.Option("--leave-projects-out", metavar="K", min=1, help="Parts that are left out in turn.")
]


def pool(
    projects: Annotated[
        Path | None,
        typer.Option(
            "--projects",
            help="TOML file of projects, or a folder of JSON lines (with --repos). By default the tables in WORK.",
        ),
    ] = None,
    repos: ReposOption = None,
    config: PoolConfigOption = None,
    work: Annotated[
        Path, typer.Option("--work", help="Folder of feature tables and of the runs; what is in it is not made again.")
    ] = Path("pool"),
    out: Annotated[
        Path | None, typer.Option("--out", file_okay=False, help="Folder to write weights.json and ranker.npz to.")
    ] = None,
    folds: FoldsOption = 5,
    stores: StoresOption = None,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
    progress: ProgressOption = None,
) -> None:
    """Learn the shipped weights from many projects.

    And rank each project by weights that never saw it: those runs stand in WORK/left-out, and their means are printed.
    """
    from tosloc.cli.progress import shown
    from tosloc.cluster import on_cluster
    from tosloc.config import Config, load_config
    from tosloc.experiment import results_folder
    from tosloc.lab.pool import LEFT_OUT, Pool, make_pool
    from tosloc.lab.project_means import ProjectMeans
    from tosloc.lab.projects import read_projects

    form = form_of(as_json, as_markdown)
    found = None if projects is None else read_projects(projects, repos)
    settings = Config() if config is None else load_config(config)
    reached = {project.repo: "" for project in (found.projects if found else ())}
    with results_folder(work), on_cluster(cluster, reached), shown(progress) as callback:
        made = make_pool(Pool(work, settings, stores), None if found is None else found.projects, folds, out, callback)
    means = ProjectMeans.of(made.evaluations)
    show(form, means.values() | {"temperature": made.temperature}, [means_table(means)])
    print(f"tosloc: the runs are in {work / LEFT_OUT}; see: tosloc lab evaluate {work / LEFT_OUT}", file=sys.stderr)
    if out is not None:
        print(f"tosloc: wrote {out / 'weights.json'}, temperature {made.temperature:g}", file=sys.stderr)
    if found is not None:
        show_outcomes(found, made.outcomes)
