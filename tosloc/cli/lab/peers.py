"""The commands about other systems on the same reports: ``bm25``, ``beside``, ``peers``. Heavy imports wait inside."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.judging import MarkdownOption, MeasuresOption, NoTestsOption, RunsArgument, SplitOption
from tosloc.cli.options import JsonOption, OutOption, ProgressOption, ReposOption, Split
from tosloc.errors import RunError, ToslocError

if TYPE_CHECKING:
    from tosloc.evaluate.compare import Comparison


class Rows(StrEnum):
    """What has a row of its own."""

    project = "project"
    language = "language"
    fixed = "fixed"


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
    from tosloc.cli.many import show_outcomes
    from tosloc.cli.progress import shown
    from tosloc.config import Config, load_config
    from tosloc.lab.bm25_runs import rank_projects_with_bm25s, rank_with_bm25s
    from tosloc.lab.projects import read_projects

    if out.exists() and not out.is_dir():
        raise ToslocError(f"{out} is a file; name a folder for the results")
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


def beside(
    reference: Annotated[Path, typer.Argument(metavar="REFERENCE", help="Folder with a run folder for each project.")],
    runs: Annotated[Path, typer.Argument(metavar="RUNS", help="Another such folder, compared with the first.")],
    split: Annotated[Split, typer.Option("--split", help="Which run of each folder.")] = Split.all,
    by: Annotated[Rows, typer.Option("--by", help="What has a row of its own.")] = Rows.project,
    measures: MeasuresOption = None,
    no_tests: NoTestsOption = False,
    only_reachable: Annotated[
        bool, typer.Option("--reachable", help="Only the reports of which some fixed file is searched.")
    ] = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Compare two rankings of many projects.

    A row for each project, for each language of fixed files, or for each number of them; below, all reports together
    with intervals and tests (McNemar's for measures that are yes or no), and means over projects that count alike.
    """
    from tosloc.cli.judging import check_one_form, parsed_measures, without_tests
    from tosloc.cli.printing import print_json, print_notes
    from tosloc.cli.tables import print_project_differences, print_whole_comparison
    from tosloc.evaluate.compare import COMPARED
    from tosloc.evaluate.project_means import compare_projects as project_differences
    from tosloc.lab.beside import (
        beside_values,
        by_fixed_files,
        by_language,
        compare_projects,
        means_of,
        only_in_one,
        reachable,
        together,
    )

    check_one_form(as_json, as_markdown)
    asked = tuple(dict.fromkeys((*COMPARED, *parsed_measures(measures))))
    if no_tests:
        projects = compare_projects(reference, runs, split.value, asked, without_tests)
    else:
        projects = compare_projects(reference, runs, split.value, asked)
    if only_reachable:
        projects = reachable(projects, asked)
    whole = together(projects, asked)
    rows = projects
    if by is not Rows.project:
        rows = (by_language if by is Rows.language else by_fixed_files)(projects, asked)
    if as_json:
        print_json(beside_values(rows, whole, projects))
    else:
        _print_rows(by.value, rows, whole, as_markdown)
        print_whole_comparison(whole, as_markdown)
        a, b = means_of(projects, asked)
        print_project_differences([whole.a, whole.b], a, b, project_differences(a, b), 0, as_markdown)
    apart = only_in_one(reference, runs, split.value)
    if apart:
        left = "1 project is left out" if len(apart) == 1 else f"{len(apart)} projects are left out"
        print_notes([f"{left}, which only one of the folders holds, first {apart[0]}"])


def _print_rows(by: str, rows: Mapping[str, Comparison], whole: Comparison, as_markdown: bool) -> None:
    from tosloc.cli.cells import UNKNOWN, count_cell, share, within
    from tosloc.cli.printing import markdown_table, print_table
    from tosloc.evaluate.compare import COMPARED, Difference

    def gain(one: Difference) -> str:
        interval = one.paired.interval
        return f"{share(one.paired.mean, sign=True)} {UNKNOWN if interval is None else within(interval, sign=True)}"

    heads = [by, "reports", *(repr(one.measure) for one in whole.differences)]
    heads += [f"{measure!r}: difference [95 %]" for measure in COMPARED]
    cells = [
        [
            name,
            count_cell(len(one.moves)),
            *(f"{share(of.b)} / {share(of.a)}" for of in one.differences),
            *(gain(of) for of in one.differences if of.measure in COMPARED),
        ]
        for name, one in (*rows.items(), ("all", whole))
    ]
    title = f"{whole.b} / {whole.a}"
    if as_markdown:
        print(f"{title}\n\n{markdown_table(heads, cells)}")
    else:
        print_table(heads, cells, title=f" {title}")


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
    from tosloc.cli.judging import check_one_form
    from tosloc.cli.printing import markdown_table, print_json, print_notes, print_table
    from tosloc.evaluate.run_paths import read_scored
    from tosloc.lab.peers import against_peers, peer_values, read_hits

    check_one_form(as_json, as_markdown)
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
    if as_json:
        print_json(peer_values(rows))
    elif as_markdown:
        print(markdown_table(heads, cells), end="")
    else:
        print_table(heads, cells, left=(0, 3))
    print_notes(notes)
