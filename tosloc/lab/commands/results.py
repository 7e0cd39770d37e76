"""Commands over finished runs of many projects: ``evaluate`` and ``compare``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tosloc.core.errors import RunError, pluralize
from tosloc.evaluate.compare import Comparison
from tosloc.evaluate.measures import AP, RR, Evaluation, Measure
from tosloc.evaluate.run_paths import BM25_NAME, ScoredRun
from tosloc.evaluate.runs import Judgement
from tosloc.lab.projects import (
    compare_project_means,
    find_project_runs,
    group_comparisons,
    project_means,
)
from tosloc.terminal.options import (
    CommonOption,
    JsonOption,
    Level,
    LevelOption,
    MarkdownOption,
    MeasuresOption,
    NoTestsOption,
    SplitOption,
)
from tosloc.terminal.printing import (
    Form,
    Table,
    count_cell,
    differences_table,
    mean_cell,
    print_notes,
    share_cell,
)


class Rows(StrEnum):
    """Groups of reports that get a row each."""

    project = "project"
    language = "language"
    fixed = "fixed"


def evaluate(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUNS...",
            help="Folder with one run folder per project, or several such run folders.",
        ),
    ],
    split: SplitOption = None,
    level: LevelOption = Level.file,
    measures: MeasuresOption = None,
    no_tests: NoTestsOption = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Evaluate the runs of many projects.

    Prints a row for each project, then the macro mean with an interval over projects, then the
    micro mean over all reports.
    """
    form = Form.chosen(as_json, as_markdown)
    shown_measures = Measure.parse_all(measures, level is Level.function)
    missing: list[str] = []
    if len(runs) == 1:
        paths, missing = find_project_runs(runs[0], split)
    else:
        names = Counter(path.name for path in runs)
        paths = {path.name if names[path.name] == 1 else str(path): path for path in runs}
        if len(paths) < len(runs):
            raise RunError("a run is given twice")
    scored_runs = ScoredRun.read_all(
        list(paths.values()), split, None, no_tests, level is Level.function
    )
    runs_by_title = {"": scored_runs}
    if level is Level.function:
        # Each project has our run of functions, followed by that of BM25.
        runs_by_title = {"functions": scored_runs[::2], BM25_NAME: scored_runs[1::2]}
    values: dict[str, Any] = {}
    search_spaces: dict[str, str] = {}
    for title, project_runs in runs_by_title.items():
        evaluations: dict[str, Evaluation] = {}
        for name, scored in zip(paths, project_runs, strict=True):
            evaluation = scored.evaluation()
            if evaluation.per_report:
                evaluations[name] = evaluation
                search_spaces[name] = scored.search_space
        values[title] = project_means(evaluations, shown_measures)
        for row in values[title]["projects"]:
            row["search_space"] = search_spaces[row["project"]] or None
    tables = [means_table(means, title) for title, means in values.items()]
    tables[-1] = tables[-1].with_search_spaces(search_spaces)
    form.print(values.get("", values), tables)
    judged_runs = next(iter(runs_by_title.values()))
    judgements = [judgement for scored in judged_runs for judgement in scored.qrels.values()]
    notes = dict.fromkeys(Judgement.notes_on_truth(judgements))  # used as an ordered set
    for scored in scored_runs:
        notes.update(dict.fromkeys(scored.notes))
    print_notes(notes)
    if missing:
        number = pluralize(len(missing), "project")
        print_notes([f"left out {number} without a finished run: {', '.join(missing)}"])


def means_table(values: Mapping[str, Any], title: str = "") -> Table:
    """Return the table of the values of ``project_means``: projects, macro mean and micro mean."""
    measures = list(values["macro"])

    def row(name: str, means: Mapping[str, Any]) -> list[str]:
        cells = [share_cell(means[measure]) for measure in measures]
        return [name, count_cell(means["reports"]), *cells]

    rows = [row(means["project"], means) for means in values["projects"]]
    macro = [mean_cell(means["mean"], means["interval"]) for means in values["macro"].values()]
    rows.append([f"macro mean of {len(rows)} projects", "", *macro])
    rows.append(row("micro mean of all reports", values["micro"]))
    return Table(["project", "reports", *measures], rows, title)


def compare(
    first: Annotated[
        Path, typer.Argument(metavar="RUNS", help="Folder with one run folder per project.")
    ],
    second: Annotated[
        Path, typer.Argument(metavar="OTHERS", help="Such a folder for the second ranking.")
    ],
    split: SplitOption = None,
    by: Annotated[Rows, typer.Option("--by", help="Group that gets a row.")] = Rows.project,
    measures: MeasuresOption = None,
    no_tests: NoTestsOption = False,
    common: CommonOption = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Compare two rankings of many projects.

    Prints a row for each project, each language of fixed files, or each number of fixed files. Then
    it prints two tables with intervals and tests: over all reports, and over projects, each of
    which counts the same.
    """
    form = Form.chosen(as_json, as_markdown)
    shown_measures = Measure.parse_all(measures)
    if first.resolve() == second.resolve():
        raise RunError(f"{first} is given twice")
    first_runs, _ = find_project_runs(first, split)
    second_runs, _ = find_project_runs(second, split)
    common_projects = [name for name in first_runs if name in second_runs]
    if not common_projects:
        raise RunError(
            f"{first} and {second}: no project has a finished run of the split"
            f" {split or 'test'} in both"
        )
    names = (first.name, second.name) if first.name != second.name else (str(first), str(second))
    comparisons: dict[str, Comparison] = {}
    search_spaces: dict[str, str] = {}
    for project in common_projects:
        evaluations = []
        for name, path in zip(names, (first_runs[project], second_runs[project]), strict=True):
            [scored] = ScoredRun.read_all([path], split, None, no_tests)
            evaluations.append((name, scored.evaluation()))
            search_spaces[f"{name}/{project}"] = scored.search_space
        first_evaluation, second_evaluation = evaluations
        comparisons[project] = Comparison.of(
            first_evaluation, second_evaluation, common, shown_measures
        )
    whole = group_comparisons(comparisons)["all"]
    rows = group_comparisons(comparisons, by.value)
    project_differences = compare_project_means(comparisons)
    tables = [
        _rows_table(by.value, rows | {"all": whole}),
        differences_table(whole.differences, *names, pluralize(len(whole.pairs), "report")),
        differences_table(project_differences, *names, pluralize(len(comparisons), "project")),
    ]
    tables[-1] = tables[-1].with_search_spaces(search_spaces)
    values = {
        "a": whole.a,
        "b": whole.b,
        "all": _comparison_values(whole),
        "rows": {name: _comparison_values(comparison) for name, comparison in rows.items()},
        "projects": {
            "number": len(comparisons),
            "measures": {
                repr(measure): asdict(result) for measure, result in project_differences.items()
            },
        },
        "search_spaces": {run: space or None for run, space in search_spaces.items()},
    }
    form.print(values, tables)
    print_notes(Judgement.notes_on_truth([pair.judgement for pair in whole.pairs]))
    unpaired = sorted(first_runs.keys() ^ second_runs.keys())
    if unpaired:
        number = pluralize(len(unpaired), "project")
        print_notes([f"left out {number} found in only one of the folders, such as {unpaired[0]}"])


def _comparison_values(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as plain values."""
    return {
        "reports": len(comparison.pairs),
        "measures": comparison.measure_values,
    }


def _rows_table(by: str, rows: Mapping[str, Comparison]) -> Table:
    """Return the table of comparisons, with the two means and the difference of each."""
    whole = rows["all"]
    heads = [by, "reports", *(repr(measure) for measure in whole.differences)]
    heads += [f"{measure!r}: difference [95 %]" for measure in (AP, RR)]
    cells: list[list[str]] = []
    for name, comparison in rows.items():
        row = [name, count_cell(len(comparison.pairs))]
        for difference in comparison.differences.values():
            row.append(f"{share_cell(difference.b)} / {share_cell(difference.a)}")
        for measure in (AP, RR):
            difference = comparison.differences[measure]
            row.append(mean_cell(difference.difference, difference.interval, sign=True))
        cells.append(row)
    return Table(heads, cells, f" {whole.b} / {whole.a}")
