"""Commands over finished runs of many projects: ``evaluate`` and ``compare``. Heavy imports wait inside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tosloc.cli.judging import (
    CommonOption,
    LevelOption,
    MarkdownOption,
    MeasuresOption,
    NoTestsOption,
    SplitOption,
    parsed_measures,
    scored_runs,
)
from tosloc.cli.options import JsonOption, Level, Split
from tosloc.cli.printing import (
    Table,
    count_cell,
    differences_table,
    form_of,
    print_notes,
    share,
    show,
    with_interval,
    within,
)
from tosloc.errors import RunError, counted

if TYPE_CHECKING:
    from tosloc.evaluate.compare import Comparison, Difference

RunsOfProjects = Annotated[
    list[Path],
    typer.Argument(metavar="RUNS...", help="Folder with a run folder for each project; or such run folders, by name."),
]


class Rows(StrEnum):
    """What has a row of its own."""

    project = "project"
    language = "language"
    fixed = "fixed"


def evaluate(
    runs: RunsOfProjects,
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
    from tosloc.evaluate.run_paths import BM25_NAME
    from tosloc.evaluate.tables import FUNCTION_MEASURES, header_notes
    from tosloc.lab.project_means import project_means, runs_of_projects

    form, asked = form_of(as_json, as_markdown), parsed_measures(measures)
    lacking: list[str] = []
    if len(runs) == 1:
        paths, lacking = runs_of_projects(runs[0], split.value)
    else:
        names = Counter(path.name for path in runs)
        paths = {path.name if names[path.name] == 1 else str(path): path for path in runs}
        if len(paths) < len(runs):
            raise RunError("a run is named twice")
    scored = scored_runs(list(paths.values()), split.value, None, no_tests, level)
    if level is Level.function:
        ours, bm25 = (dict(zip(paths, side, strict=True)) for side in (scored[::2], scored[1::2]))
        sides = {"functions": ours, BM25_NAME: bm25}
        asked = list(dict.fromkeys((*FUNCTION_MEASURES, *asked)))
    else:
        sides = {"": dict(zip(paths, scored, strict=True))}
    evaluations = {side: {name: one.evaluation() for name, one in runs.items()} for side, runs in sides.items()}
    judged = {side: {name: one for name, one in found.items() if one.per_report} for side, found in evaluations.items()}
    values = {side: project_means(found, asked) for side, found in judged.items()}
    show(form, values.get("", values), [means_table(one, side) for side, one in values.items()])
    lacking_note = f"{counted(len(lacking), 'project')} without a finished run: {', '.join(lacking)}"
    notes = dict.fromkeys(note for one in scored for note in header_notes(one))
    print_notes([*notes, *([lacking_note] if lacking else [])])


def means_table(values: Mapping[str, Any], title: str = "") -> Table:
    """The means of each project, and of all of them: each counting the same, and each report."""

    def row(name: str, one: Mapping[str, Any]) -> list[str]:
        return [name, count_cell(one["reports"]), *(share(one[measure]) for measure in values["macro"])]

    rows = [row(one["project"], one) for one in values["projects"]]
    macro = [with_interval(one["mean"], one["interval"]) for one in values["macro"].values()]
    rows += [[f"macro mean of {len(rows)} projects", "", *macro], row("micro mean of all reports", values["micro"])]
    return Table(["project", "reports", *values["macro"]], rows, title)


def compare(
    runs: RunsOfProjects,
    split: SplitOption = Split.test,
    by: Annotated[Rows, typer.Option("--by", help="What has a row of its own.")] = Rows.project,
    measures: MeasuresOption = None,
    no_tests: NoTestsOption = False,
    common: CommonOption = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Compare two rankings of many projects.

    RUNS are two folders, or an earlier and a later run of each project, in pairs. A row for each project, for each
    language of fixed files, or for each number of them; below, all reports together with intervals and tests, and means
    over projects that count alike, projects resampled; of pairs also the mean gain, reports resampled.
    """
    from tosloc.evaluate.compare import COMPARED, difference_values
    from tosloc.evaluate.compare import compare as compare_pair
    from tosloc.lab.project_means import gains, grouped, over_projects

    form, asked = form_of(as_json, as_markdown), tuple(dict.fromkeys((*COMPARED, *parsed_measures(measures))))
    names, pairs, apart = _pairs(runs, split.value)
    projects: dict[str, Comparison] = {}
    for name, pair in pairs.items():
        scored = (scored_runs([path], split.value, None, no_tests)[0].evaluation() for path in pair)
        a, b = zip(names, scored, strict=True)
        projects[name] = compare_pair(a, b, common, asked)
    whole, rows = grouped(projects)["all"], grouped(projects, by.value)
    found = gains(projects) if names == _PAIR else {}
    number, means = counted(len(projects), "project"), over_projects(projects)
    tables = [
        _rows_table(by.value, rows | {"all": whole}),
        differences_table(whole.differences, whole.a, whole.b, counted(len(whole.moves), "report")),
        differences_table(means, whole.a, whole.b, number),
    ]
    if found:
        cells = [
            [name, f"{one['mean']:+.4f}", "[{:+.4f}, {:+.4f}]".format(*one["interval"]), f"{one['p']:.4f}"]
            for name, one in found.items()
        ]
        heads = [f"mean of {number}", "gain", "95 % interval", "p"]
        tables.append(Table(heads, cells, " reports resampled within each project"))

    def plain(of: Sequence[Difference]) -> dict[str, Any]:
        return {repr(one.measure): difference_values(one) for one in of}

    told = {name: {"reports": len(one.moves), "measures": plain(one.differences)} for name, one in rows.items()}
    values = {
        "a": whole.a,
        "b": whole.b,
        "rows": told,
        "all": {"reports": len(whole.moves), "measures": plain(whole.differences)},
        "projects": {"number": len(projects), "measures": plain(means), "gains": found},
    }
    show(form, values, tables)
    if apart:
        print_notes([f"{counted(len(apart), 'project')} only in one of the folders, left out: first {apart[0]}"])


_PAIR = ("earlier", "later")


def _pairs(runs: Sequence[Path], split: str) -> tuple[tuple[str, str], dict[str, tuple[Path, Path]], list[str]]:
    """What the two sides are called, each project's two runs, and the projects that only one side has."""
    from tosloc.lab.project_means import runs_of_projects

    if len(runs) % 2:
        raise RunError(f"{len(runs)} folders are not pairs; name two folders of runs, or two runs of each project")
    folders = False
    with suppress(RunError):
        folders = len(runs) == 2 and bool(runs_of_projects(runs[0], split)[0])
    if not folders:
        return _PAIR, {str(later): (one, later) for one, later in zip(runs[::2], runs[1::2], strict=True)}, []
    a, b = (runs_of_projects(folder, split)[0] for folder in runs)
    both = {name: (a[name], b[name]) for name in a if name in b}
    if not both:
        raise RunError(f"{runs[0]} and {runs[1]}: no project has a finished run of the split {split!r} in both")
    first, second = runs
    named = (first.name, second.name) if first.name != second.name else (str(first), str(second))
    return named, both, sorted(a.keys() ^ b.keys())


def _rows_table(by: str, rows: Mapping[str, Comparison]) -> Table:
    from tosloc.evaluate.compare import COMPARED

    def gain(one: Difference) -> str:
        return f"{share(one.difference, sign=True)} {within(one.interval, sign=True)}"

    whole = rows["all"]
    heads = [by, "reports", *(repr(one.measure) for one in whole.differences)]
    heads += [f"{measure!r}: difference [95 %]" for measure in COMPARED]
    cells = [
        [
            name,
            count_cell(len(one.moves)),
            *(f"{share(of.b)} / {share(of.a)}" for of in one.differences),
            *(gain(of) for of in one.differences if of.measure in COMPARED),
        ]
        for name, one in rows.items()
    ]
    return Table(heads, cells, f" {whole.b} / {whole.a}")
