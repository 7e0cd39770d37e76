"""Two rankings of the same reports of many projects side by side: each project or each kind of reports, and all.

A folder holds a run folder for each project; the two folders' projects are matched by name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from tosloc.code.languages import language_of
from tosloc.errors import RunError
from tosloc.evaluate.compare import COMPARED, Comparison, Move, compare, compared, comparison_values
from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.measures import Measure
from tosloc.evaluate.project_means import ProjectMeans, project_difference_values, project_runs
from tosloc.evaluate.project_means import compare_projects as project_differences
from tosloc.evaluate.run_paths import ScoredRun, read_scored

NO_LANGUAGE: Final = "none"
"""Stands for the language of a report that lists no file."""
HOW_MANY: Final = ("no fixed file", "1 fixed file", "2 to 5 fixed files", "6 or more fixed files")
"""How many of the searched files a fix changed."""


def compare_projects(
    a: Path,
    b: Path,
    split: str = "all",
    measures: Sequence[Measure] = COMPARED,
    prepared: Callable[[ScoredRun], ScoredRun] = lambda one: one,
) -> dict[str, Comparison]:
    """Project -> its run in folder ``b`` against that in folder ``a``, for the projects that both hold, by name.

    ``prepared`` is what is done with a run before it is judged. Raises RunError where no project is in both, or the two
    runs of a project do not judge the same reports by the same truth.
    """
    of_a, of_b = _projects(a, split), _projects(b, split)
    names = [name for name in of_a if name in of_b]
    if not names:
        raise RunError(f"{a} and {b}: no project has a finished run of the split {split!r} in both")
    called = (str(a), str(b)) if a.name == b.name else (a.name, b.name)
    found = {}
    for name in names:
        sides = list(zip(called, (of_a[name], of_b[name]), strict=True))
        judged = [(side, prepared(read_scored(place, split)).evaluation()) for side, place in sides]
        found[name] = compare(judged[0], judged[1], measures=measures)
    return found


def reachable(projects: Mapping[str, Comparison], measures: Sequence[Measure] = COMPARED) -> dict[str, Comparison]:
    """The comparisons on the reports of which some fixed file is among those searched. Raises RunError for none."""
    kept = {
        name: compared(one.a, one.b, moves, measures)
        for name, one in projects.items()
        if (moves := [move for move in one.moves if move.a.outcome.relevant])
    }
    if not kept:
        raise RunError("no report has a fixed file among those searched")
    return kept


def only_in_one(a: Path, b: Path, split: str) -> list[str]:
    """Names of the projects whose run one of the folders lacks."""
    return sorted(_projects(a, split).keys() ^ _projects(b, split).keys())


def _projects(folder: Path, split: str) -> dict[str, Path]:
    found = project_runs(folder, split)
    if found is None:
        raise RunError(f"{folder}: no folder of runs, one a project")
    return found.runs


def by_language(projects: Mapping[str, Comparison], measures: Sequence[Measure] = COMPARED) -> dict[str, Comparison]:
    """Language -> the comparison on its reports of all projects; those of most reports first.

    A report's language is that of most of the source files that it lists as fixed.
    """
    groups = _grouped(projects, lambda move: language_of_report(move.a.judgement.listed))
    ordered = sorted(groups, key=lambda name: (-len(groups[name]), name))
    return _compared_groups(projects, {name: groups[name] for name in ordered}, measures)


def by_fixed_files(projects: Mapping[str, Comparison], measures: Sequence[Measure] = COMPARED) -> dict[str, Comparison]:
    """How many files the fix changed, in words -> the comparison on such reports of all projects."""
    groups = _grouped(projects, lambda move: _how_many(move.a.outcome.relevant))
    return _compared_groups(projects, {name: groups[name] for name in HOW_MANY if name in groups}, measures)


def _grouped(projects: Mapping[str, Comparison], name: Callable[[Move], str]) -> dict[str, list[Move]]:
    groups: defaultdict[str, list[Move]] = defaultdict(list)
    for one in projects.values():
        for move in one.moves:
            groups[name(move)].append(move)
    return groups


def _compared_groups(
    projects: Mapping[str, Comparison], groups: Mapping[str, Sequence[Move]], measures: Sequence[Measure]
) -> dict[str, Comparison]:
    first = next(iter(projects.values()))
    return {name: compared(first.a, first.b, moves, measures) for name, moves in groups.items()}


def language_of_report(listed: Sequence[str]) -> str:
    """The language of most of the source files that a report lists as fixed; ``NO_LANGUAGE`` where it lists none."""
    counts = Counter(language_of(PurePosixPath(path).suffix) for path in listed)
    return min(counts, key=lambda name: (-counts[name], name)) if counts else NO_LANGUAGE


def _how_many(fixed: int) -> str:
    return HOW_MANY[0 if not fixed else 1 if fixed == 1 else 2 if fixed <= 5 else 3]


def together(parts: Mapping[str, Comparison], measures: Sequence[Measure] = COMPARED) -> Comparison:
    """The comparison on the reports of all parts, each report counting alike."""
    first = next(iter(parts.values()))
    return compared(first.a, first.b, [move for one in parts.values() for move in one.moves], measures)


def means_of(projects: Mapping[str, Comparison], measures: Sequence[Measure] = ()) -> tuple[ProjectMeans, ProjectMeans]:
    """Means of each project in run a, and in run b."""
    sides: tuple[dict[str, Evaluation], dict[str, Evaluation]] = {}, {}
    for name, one in projects.items():
        for side, scores in zip(sides, zip(*((move.a, move.b) for move in one.moves), strict=True), strict=True):
            side[name] = Evaluation(scores)
    return ProjectMeans.of(sides[0], measures), ProjectMeans.of(sides[1], measures)


def beside_values(rows: Mapping[str, Comparison], whole: Comparison, projects: Mapping[str, Comparison]) -> Any:
    """All of it as plain values for JSON."""
    means = means_of(projects, [one.measure for one in whole.differences])

    def row(one: Comparison) -> dict[str, Any]:
        values = comparison_values(one, 0)
        return {"reports": values["reports"], "measures": values["measures"]}

    return {
        "a": whole.a,
        "b": whole.b,
        "rows": {name: row(one) for name, one in rows.items()},
        "all": row(whole),
        "projects": {
            "number": len(projects),
            "measures": {one.measure: project_difference_values(one) for one in project_differences(*means)},
        },
    }
