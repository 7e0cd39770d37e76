"""Commands over finished runs of many projects: ``evaluate`` and ``compare``. Heavy imports wait inside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.judging import (
    CommonOption,
    LevelOption,
    MarkdownOption,
    MeasuresOption,
    NoTestsOption,
    PerReportOption,
    SplitOption,
    check_distinct,
    check_level,
    function_runs,
    parsed_measures,
    scored_runs,
    write_reports,
)
from tosloc.cli.lab.projects import named
from tosloc.cli.options import JsonOption, Level, Split
from tosloc.cli.printing import Table, form_of, print_notes, show
from tosloc.errors import RunError

if TYPE_CHECKING:
    from tosloc.evaluate.compare import Comparison, Difference
    from tosloc.evaluate.evaluate import Evaluation
    from tosloc.lab.project_means import Gain, ProjectMeans

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
    per_report: PerReportOption = None,
) -> None:
    """Print how good the runs of many projects are.

    A row for each project, and their macro mean, with an interval over projects, and their micro mean.
    """
    from tosloc.evaluate.run_paths import BM25_NAME
    from tosloc.evaluate.tables import FUNCTION_MEASURES, taught_notes, unjudged_note
    from tosloc.lab.project_means import ProjectMeans

    form, asked = form_of(as_json, as_markdown), parsed_measures(measures)
    paths, lacking = _paths(runs, split.value)
    if level is Level.function:
        check_level(no_tests=no_tests)
        pairs = function_runs(list(paths.values()), split.value)
        ours, bm25 = (dict(zip(paths, side, strict=True)) for side in (pairs[::2], pairs[1::2]))
        sides = {"functions": ours, BM25_NAME: bm25}
        asked, notes = list(dict.fromkeys((*FUNCTION_MEASURES, *asked))), unjudged_note(pairs[::2])
    else:
        scored = scored_runs(list(paths.values()), split.value, None, no_tests)
        sides = {"": dict(zip(paths, scored, strict=True))}
        notes = taught_notes(sides[""].values())
    evaluations = {side: {name: one.evaluation() for name, one in runs.items()} for side, runs in sides.items()}
    judged = {side: {name: one for name, one in found.items() if one.per_report} for side, found in evaluations.items()}
    means = {side: ProjectMeans.of(found, asked) for side, found in judged.items()}
    if per_report is not None:
        first = next(iter(judged.values()))
        write_reports(per_report, ((name, one.per_report) for name, one in first.items()), asked)
    values = {side: one.values() for side, one in means.items()}
    show(form, values.get("", values), [means_table(one, side) for side, one in means.items()])
    print_notes([*notes, *([named(lacking, "has no finished run", "have no finished run")] if lacking else [])])


def _paths(runs: Sequence[Path], split: str) -> tuple[dict[str, Path], list[str]]:
    """Project -> its run: those of one folder, and the projects without any; or runs that are named."""
    from tosloc.lab.project_means import runs_of_projects

    if len(runs) == 1:
        return runs_of_projects(runs[0], split)
    check_distinct(runs)
    names = Counter(path.name for path in runs)
    return {path.name if names[path.name] == 1 else str(path): path for path in runs}, []


def means_table(means: ProjectMeans, title: str = "") -> Table:
    """The means of each project, and of all of them: each counting the same, and each report."""
    from tosloc.cli.tables import count_cell, share, with_interval

    rows = [
        [name, count_cell(reports), *map(share, row)]
        for name, reports, row in zip(means.projects, means.reports, means.means.tolist(), strict=True)
    ]
    macro = [with_interval(mean, one) for mean, one in zip(means.macro.tolist(), means.intervals, strict=True)]
    rows.append([f"macro mean of {len(means.projects)} projects", "", *macro])
    rows.append(["micro mean of all reports", count_cell(sum(means.reports)), *map(share, means.micro.tolist())])
    return Table(["project", "reports", *means.names], rows, title)


def compare(
    runs: RunsOfProjects,
    split: SplitOption = Split.test,
    by: Annotated[Rows, typer.Option("--by", help="What has a row of its own.")] = Rows.project,
    measures: MeasuresOption = None,
    no_tests: NoTestsOption = False,
    common: CommonOption = False,
    only_reachable: Annotated[
        bool, typer.Option("--reachable", help="Only the reports of which some fixed file is searched.")
    ] = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Compare two rankings of many projects.

    RUNS are two folders, or an earlier and a later run of each project, in pairs. A row for each project, for each
    language of fixed files, or for each number of them; below, all reports together with intervals and tests, and means
    over projects that count alike, projects resampled; of pairs also the mean gain, reports resampled.
    """
    from tosloc.cli.tables import differences_table
    from tosloc.errors import counted
    from tosloc.evaluate.compare import COMPARED
    from tosloc.evaluate.compare import compare as compare_pair
    from tosloc.lab.project_means import (
        by_fixed_files,
        by_language,
        comparison_values,
        gains,
        over_projects,
        reachable,
        together,
    )

    form, asked = form_of(as_json, as_markdown), tuple(dict.fromkeys((*COMPARED, *parsed_measures(measures))))
    names, pairs, apart = _pairs(runs, split.value)
    projects: dict[str, Comparison] = {}
    for name, pair in pairs.items():
        sides: list[tuple[str, Evaluation]] = [
            (called, one.evaluation())
            for called, path in zip(names, pair, strict=True)
            for one in scored_runs([path], split.value, None, no_tests)
        ]
        projects[name] = compare_pair(sides[0], sides[1], common, asked)
    if only_reachable:
        projects = reachable(projects)
    whole = together(projects)
    rows = {Rows.project: lambda of: of, Rows.language: by_language, Rows.fixed: by_fixed_files}[by](projects)
    found = {} if _are_folders(runs, split.value) else gains(projects)
    number, means = counted(len(projects), "project"), over_projects(projects)
    tables = [
        _rows_table(by.value, rows, whole),
        differences_table(whole.differences, whole.a, whole.b, counted(len(whole.moves), "report")),
        differences_table(means, whole.a, whole.b, number),
        *([_gains_table(found, number)] if found else []),
    ]
    show(form, comparison_values(rows, whole, len(projects), means, found), tables)
    if apart:
        left = "1 project is left out" if len(apart) == 1 else f"{len(apart)} projects are left out"
        print_notes([f"{left}, which only one of the folders holds, first {apart[0]}"])


def _pairs(runs: Sequence[Path], split: str) -> tuple[tuple[str, str], dict[str, tuple[Path, Path]], list[str]]:
    """What the two sides are called, each project's two runs, and the projects that only one side has."""
    from tosloc.lab.project_means import runs_of_projects

    if len(runs) % 2:
        raise RunError(f"{len(runs)} folders are not pairs; name two folders of runs, or two runs of each project")
    if not _are_folders(runs, split):
        of_each = zip(runs[::2], runs[1::2], strict=True)
        return ("earlier", "later"), {str(later): (earlier, later) for earlier, later in of_each}, []
    a, b = (runs_of_projects(folder, split)[0] for folder in runs)
    both = {name: (a[name], b[name]) for name in a if name in b}
    if not both:
        raise RunError(f"{runs[0]} and {runs[1]}: no project has a finished run of the split {split!r} in both")
    named = (runs[0].name, runs[1].name)
    return named if named[0] != named[1] else (str(runs[0]), str(runs[1])), both, sorted(a.keys() ^ b.keys())


def _are_folders(runs: Sequence[Path], split: str) -> bool:
    """Whether these are two folders of runs of projects; else they are runs."""
    from tosloc.lab.project_means import runs_of_projects

    with suppress(RunError):
        return len(runs) == 2 and bool(runs_of_projects(runs[0], split)[0])
    return False


def _rows_table(by: str, rows: Mapping[str, Comparison], whole: Comparison) -> Table:
    from tosloc.cli.tables import count_cell, share, within
    from tosloc.evaluate.compare import COMPARED

    def gain(one: Difference) -> str:
        return f"{share(one.difference, sign=True)} {within(one.interval, sign=True)}"

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
    return Table(heads, cells, f" {whole.b} / {whole.a}")


def _gains_table(gains: Mapping[str, Gain], number: str) -> Table:
    rows = [
        [name, f"{one.mean:+.4f}", f"[{one.interval.low:+.4f}, {one.interval.high:+.4f}]", f"{one.p:.4f}"]
        for name, one in gains.items()
    ]
    return Table([f"mean of {number}", "gain", "95 % interval", "p"], rows, " reports resampled within each project")
