"""The commands about other systems on the same reports: ``bm25`` and ``peers``. Heavy imports wait inside."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.judging import MarkdownOption, RunsArgument, SplitOption
from tosloc.cli.lab.projects import ReposOption, show_outcomes
from tosloc.cli.options import JsonOption, OutOption, ProgressOption, Split
from tosloc.cli.printing import Table, form_of, print_notes, show
from tosloc.errors import RunError, ToslocError


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
    progress: ProgressOption = None,
) -> None:
    """Rank labelled reports by BM25 over whole files.

    The library bm25s as it comes, over the files that tosloc rank searches. Of many projects each has a folder in OUT,
    one process a core. A finished run is left as it is.
    """
    from tosloc.cli.progress import shown
    from tosloc.config import Config, load_config
    from tosloc.lab.bm25_runs import rank_projects_with_bm25s, rank_with_bm25s
    from tosloc.lab.projects import read_projects

    settings = Config() if config is None else load_config(config)
    if projects is not None:
        if repo is not None or reports is not None:
            raise ToslocError("--projects: each project has its repository and reports; leave out --repo and --reports")
        found = read_projects(projects, repos)
        with shown(progress) as callback:
            outcomes = rank_projects_with_bm25s(found.projects, out, split.value, settings, callback)
        show_outcomes(found, outcomes)
        return
    if repo is None or reports is None:
        raise ToslocError("name --repo and --reports, or --projects")
    with shown(progress) as callback:
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
    from tosloc.cli.cells import count_cell, p_value_cell, share
    from tosloc.evaluate.run_paths import read_scored
    from tosloc.lab.peers import against_peers, peer_values, read_hits

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
    show(form, peer_values(rows), [Table(heads, cells, left=(0, 3))])
    print_notes(notes)
