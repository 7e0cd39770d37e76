"""The command ``suspects``, which measures how well suspect changes are found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from tosloc.lab.commands.options import ProjectsOption, UnseenOption
from tosloc.lab.projects import read_projects
from tosloc.lab.suspects import (
    DEPTHS,
    ProjectReports,
    Quality,
    judge_left_out,
    judge_projects,
    judge_unseen,
    learn_weights,
)
from tosloc.rank.suspects import FEATURES
from tosloc.terminal.options import JsonOption, MarkdownOption
from tosloc.terminal.printing import Form, Table, interval_cell, progress_bars, share_cell
from tosloc.train.experiment import results_folder

LEFT_OUT: Final = {
    "blame": "Projects left out in turn, commits by git blame",
    "declared": "Projects left out in turn, commits that authors declared",
}
UNSEEN: Final = "Projects not used to learn the weights"


def suspects(
    projects: ProjectsOption,
    unseen: UnseenOption = None,
    work: Annotated[
        Path,
        typer.Option(
            "--work",
            file_okay=False,
            help="Folder for the commits to find in each project and the ranks of BM25.",
        ),
    ] = Path("suspects"),
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Measure how well suspect changes are found, compared with two baselines.

    The commits to find are those that last wrote the lines which the fix changed or removed, or
    those that the reports name in introduced_by.
    Weights are learned on the other projects, which may have either kind of truth. Each report
    needs a fix_commit.
    """
    form = Form.chosen(as_json, as_markdown)
    project_list = read_projects(projects)
    unseen_list = [] if unseen is None else read_projects(unseen)
    with results_folder(work), progress_bars() as callback:
        judged = judge_projects(project_list, work, callback)
        weights = learn_weights(judged)
        results = {LEFT_OUT[truth]: rows for truth, rows in judge_left_out(judged).items()}
        if unseen_list:
            judged_unseen = judge_projects(unseen_list, work, callback)
            results[UNSEEN] = judge_unseen(judged_unseen, weights)
            judged += judged_unseen
    weight_by_feature = dict(zip(FEATURES, weights.round(3).tolist(), strict=True))
    values: dict[str, Any] = {
        "projects": [_project_values(project) for project in judged],
        "results": {title: list(map(_values, rows)) for title, rows in results.items()},
        "weights": weight_by_feature,
    }
    tables = [_table(title, rows) for title, rows in results.items()]
    weight_cells = [[name, f"{weight:.2f}"] for name, weight in weight_by_feature.items()]
    tables.append(Table(["feature", "weight"], weight_cells))
    form.print(values, tables)


def _project_values(project: ProjectReports) -> dict[str, Any]:
    return {
        "name": project.name,
        "truth": project.truth,
        "reports": len(project.judged),
        "without_truth": project.without_truth,
    }


def _values(quality: Quality) -> dict[str, Any]:
    """Return a quality as plain values."""
    accuracy = {f"acc@{depth}": value for depth, value in quality.accuracy.items()}
    return {
        "technique": quality.technique,
        "reports": quality.reports,
        **accuracy,
        "ranked": quality.ranked,
        "mrr": quality.mrr,
        "acc@1 interval": quality.interval,
    }


def _table(title: str, rows: list[Quality]) -> Table:
    """Return the table of the qualities of techniques that ranked the same reports."""
    heads = ["technique", "reports", "Acc@1", "95 %", *(f"Acc@{depth}" for depth in DEPTHS[1:])]
    cells = []
    for quality in rows:
        row = [quality.technique, str(quality.reports), share_cell(quality.accuracy[1])]
        row.append(interval_cell(quality.interval))
        row += [share_cell(quality.accuracy[depth]) for depth in DEPTHS[1:]]
        cells.append([*row, share_cell(quality.ranked), share_cell(quality.mrr)])
    return Table([*heads, "candidate", "MRR"], cells, title)
