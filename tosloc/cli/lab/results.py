"""Commands over finished runs of many projects: ``evaluate`` and ``compare``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from tosloc.cli.judging import (
    CommonOption,
    LevelOption,
    MarkdownOption,
    MeasuresOption,
    NoTestsOption,
    SplitOption,
    parse_measures,
    read_scored_runs,
)
from tosloc.cli.options import JsonOption, Level, Split
from tosloc.cli.printing import (
    Table,
    count_cell,
    differences_table,
    mean_cell,
    output_form,
    print_notes,
    print_results,
    share_cell,
)
from tosloc.core.errors import RunError, pluralize
from tosloc.evaluate.compare import ALWAYS_COMPARED, Comparison, difference_values
from tosloc.evaluate.compare import compare as compare_pair
from tosloc.evaluate.run_paths import BM25_NAME
from tosloc.evaluate.tables import header_notes
from tosloc.lab.projects import (
    compare_project_means,
    find_project_runs,
    group_comparisons,
    project_means,
)


class Rows(StrEnum):
    """What has a row of its own."""

    project = "project"
    language = "language"
    fixed = "fixed"


def evaluate(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUNS...",
            help="Folder with a run folder for each project; or such run folders, by name.",
        ),
    ],
    split: SplitOption = Split.test,
    level: LevelOption = Level.file,
    measures: MeasuresOption = None,
    no_tests: NoTestsOption = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Print how good the runs of many projects are.

    A row for each project, and their macro mean, with an interval over projects, and their micro mean.
    """
    form, asked = output_form(as_json, as_markdown), parse_measures(measures, level)
    lacking: list[str] = []
    if len(runs) == 1:
        paths, lacking = find_project_runs(runs[0], split.value)
    else:
        names = Counter(path.name for path in runs)
        paths = {path.name if names[path.name] == 1 else str(path): path for path in runs}
        if len(paths) < len(runs):
            raise RunError("a run is named twice")
    found = read_scored_runs(list(paths.values()), split.value, None, no_tests, level)
    sides = {"": found}
    if level is Level.function:
        sides = {"functions": found[::2], BM25_NAME: found[1::2]}
    values = {}
    for side, scored in sides.items():
        evaluations = {name: one.evaluation() for name, one in zip(paths, scored, strict=True)}
        values[side] = project_means(
            {name: one for name, one in evaluations.items() if one.per_report}, asked
        )
    print_results(
        form, values.get("", values), [means_table(one, side) for side, one in values.items()]
    )
    lacking_note = (
        f"{pluralize(len(lacking), 'project')} without a finished run: {', '.join(lacking)}"
    )
    notes = dict.fromkeys(note for one in found for note in header_notes(one))
    print_notes([*notes, *([lacking_note] if lacking else [])])


def means_table(values: Mapping[str, Any], title: str = "") -> Table:
    """The means of each project, and of all of them: each counting the same, and each report."""

    def row(name: str, one: Mapping[str, Any]) -> list[str]:
        return [
            name,
            count_cell(one["reports"]),
            *(share_cell(one[measure]) for measure in values["macro"]),
        ]

    rows = [row(one["project"], one) for one in values["projects"]]
    macro = [mean_cell(one["mean"], one["interval"]) for one in values["macro"].values()]
    rows += [
        [f"macro mean of {len(rows)} projects", "", *macro],
        row("micro mean of all reports", values["micro"]),
    ]
    return Table(["project", "reports", *values["macro"]], rows, title)


def compare(
    first: Annotated[
        Path, typer.Argument(metavar="RUNS", help="Folder with a run folder for each project.")
    ],
    second: Annotated[Path, typer.Argument(metavar="OTHERS", help="The same of another ranking.")],
    split: SplitOption = Split.test,
    by: Annotated[Rows, typer.Option("--by", help="What has a row of its own.")] = Rows.project,
    measures: MeasuresOption = None,
    no_tests: NoTestsOption = False,
    common: CommonOption = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Compare two rankings of many projects.

    A row for each project, for each language of fixed files, or for each number of them; below, all reports together
    with intervals and tests, and means over projects that count alike, projects resampled.
    """
    form, asked = output_form(as_json, as_markdown), parse_measures(measures)
    if first.resolve() == second.resolve():
        raise RunError(f"{first}: named twice")
    a, b = (find_project_runs(folder, split.value)[0] for folder in (first, second))
    both = [name for name in a if name in b]
    if not both:
        raise RunError(
            f"{first} and {second}: no project has a finished run of the split {split.value!r} in both"
        )
    names = (first.name, second.name) if first.name != second.name else (str(first), str(second))
    projects: dict[str, Comparison] = {}
    for project in both:
        scored = [
            read_scored_runs([one[project]], split.value, None, no_tests)[0].evaluation()
            for one in (a, b)
        ]
        projects[project] = compare_pair(
            (names[0], scored[0]), (names[1], scored[1]), common, asked
        )
    whole, rows = group_comparisons(projects)["all"], group_comparisons(projects, by.value)
    number, means = pluralize(len(projects), "project"), compare_project_means(projects)
    tables = [
        _rows_table(by.value, rows | {"all": whole}),
        differences_table(whole.differences, *names, pluralize(len(whole.pairs), "report")),
        differences_table(means, *names, number),
    ]
    listed = {
        name: {"reports": len(one.pairs), "measures": difference_values(one.differences)}
        for name, one in (rows | {"all": whole}).items()
    }
    values = {
        "a": whole.a,
        "b": whole.b,
        "all": listed.pop("all"),
        "rows": listed,
        "projects": {"number": len(projects), "measures": difference_values(means)},
    }
    print_results(form, values, tables)
    if apart := sorted(a.keys() ^ b.keys()):
        print_notes(
            [
                f"{pluralize(len(apart), 'project')} only in one of the folders, left out: first {apart[0]}"
            ]
        )


def _rows_table(by: str, rows: Mapping[str, Comparison]) -> Table:
    whole = rows["all"]
    heads = [by, "reports", *map(repr, whole.differences)]
    heads += [f"{measure!r}: difference [95 %]" for measure in ALWAYS_COMPARED]
    cells = [
        [
            name,
            count_cell(len(one.pairs)),
            *(f"{share_cell(of.b)} / {share_cell(of.a)}" for of in one.differences.values()),
            *(
                mean_cell(of.difference, of.interval, sign=True)
                for of in map(one.differences.__getitem__, ALWAYS_COMPARED)
            ),
        ]
        for name, one in rows.items()
    ]
    return Table(heads, cells, f" {whole.b} / {whole.a}")
