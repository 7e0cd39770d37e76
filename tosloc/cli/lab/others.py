"""The commands about techniques beside our own: ``baselines``, ``restrict``, ``bm25`` and ``peers``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.judging import MarkdownOption, RunsArgument, SplitOption
from tosloc.cli.lab.projects import ReposOption, for_each_project, show_outcomes
from tosloc.cli.options import (
    ClusterOption,
    JsonOption,
    OutOption,
    ReportsOption,
    RepositoryOption,
    Split,
)
from tosloc.cli.printing import Table, form_of, print_notes, show
from tosloc.errors import RunError, ToslocError


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
    cluster: ClusterOption = None,
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
    with on_cluster(cluster, {repo: ""}), shown() as callback:
        folders = baseline_runs.rank_with(chosen, loaded, repo, reports, out, splits, callback)
    for folder in folders:
        print(folder)
    print(f"tosloc: ranked; now run: tosloc evaluate {out}/* --split {splits[-1]}", file=sys.stderr)


def restrict(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Folder that train, rank or baselines wrote, or a split's.")
    ],
    to: Annotated[Path, typer.Option("--to", help="File with a path a line.")],
    out: OutOption,
    split: Annotated[Split, typer.Option("--split", help="Which run of a folder.")] = Split.test,
) -> None:
    """Keep only some files of finished rankings.

    As studies do that search only files which some report of the data set fixed: an easier task, which looks better.
    """
    from tosloc.evaluate.run_paths import read_scored
    from tosloc.lab.restricted import RESTRICTED, read_paths, restricted, write_restricted

    kept = read_paths(to)
    for run in runs:
        scored = restricted(read_scored(run, split.value), kept)
        folder = out / scored.name / split.value
        write_restricted(folder, scored)
        print(folder.parent)
    print_notes([f"search space of these runs: {RESTRICTED}"])


def bm25(
    out: OutOption,
    repo: Annotated[
        Path | None, typer.Option("--repo", help="Git repository: a work tree, a bare repository or a git directory.")
    ] = None,
    reports: Annotated[
        Path | None, typer.Option("--reports", help="Labelled reports: xlsx, XML or JSON lines; recognised by content.")
    ] = None,
    projects: Annotated[
        Path | None,
        typer.Option("--projects", help="Many: a TOML file of projects, or a folder of JSON lines (with --repos)."),
    ] = None,
    repos: ReposOption = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="TOML file of settings, for zone, suffixes, split.", show_default="the defaults"),
    ] = None,
    split: Annotated[Split, typer.Option("--split", help="Reports to rank.")] = Split.all,
) -> None:
    """Rank labelled reports by BM25 over whole files.

    The library bm25s as it comes, over the files that tosloc rank searches. Of many projects each has a folder in OUT,
    one process a core. A finished run is left as it is.
    """
    from tosloc.cli.progress import shown
    from tosloc.config import Config, load_config
    from tosloc.errors import require
    from tosloc.lab.bm25_runs import rank_project_with_bm25s, rank_with_bm25s

    require("BM25 over whole files", "lab", "bm25s")
    settings = Config() if config is None else load_config(config)
    if projects is not None:
        if repo is not None or reports is not None:
            raise ToslocError("--projects: each project has its repository and reports; leave out --repo and --reports")
        work = partial(rank_project_with_bm25s, out=out, split=split.value, config=settings)
        show_outcomes(*for_each_project(projects, repos, work, settings.run.jobs, None, out))
        return
    if repo is None or reports is None:
        raise ToslocError("name --repo and --reports, or --projects")
    with shown() as callback:
        rank_with_bm25s(repo, reports, out, split.value, settings, callback)
    print(f"tosloc: ranked; now run: tosloc evaluate {out} --split {split.value}", file=sys.stderr)


def peers(
    table: Annotated[Path, typer.Argument(metavar="CSV", help="Hits of other systems: project, bug_id, NAME_hit10 ..")],
    runs: RunsArgument,
    split: SplitOption = Split.test,
    described: Annotated[
        bool, typer.Option("--described", help="Only the reports that have a description in our data.")
    ] = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Compare runs with published hits of other systems, report by report.

    A run a project. McNemar's exact test, two-sided; of a system with several runs each is tested, and the largest p
    stands for all.
    """
    from tosloc.cli.tables import count_cell, p_value_cell, share
    from tosloc.evaluate.run_paths import read_scored
    from tosloc.lab.peers import against_peers, read_hits

    form = form_of(as_json, as_markdown)
    rows, notes = against_peers(read_hits(table), [read_scored(run, split.value) for run in runs], described)
    if not rows:
        raise RunError(f"{table}: no report is left to compare")
    heads = ["project", "reports", "hit within", "system", "theirs", "ours", "difference"]
    heads += ["only ours : only theirs", "p, McNemar", "Holm"]
    cells = [
        [
            row.project,
            count_cell(row.reports),
            str(row.k),
            row.system,
            share(row.theirs),
            share(row.ours),
            share(row.ours - row.theirs, sign=True),
            ", ".join(f"{won} : {lost}" for won, lost in zip(row.won, row.lost, strict=True)),
            p_value_cell(row.p),
            p_value_cell(row.holm),
        ]
        for row in rows
    ]
    show(form, [asdict(row) for row in rows], [Table(heads, cells, left=(0, 3))])
    print_notes(notes)
