"""Two rankings of the same reports of many projects side by side: project by project or language by language, and all.

A folder holds a run folder for each project; the two folders' projects are matched by name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np

from tosloc.analysis.languages import language_of
from tosloc.errors import RunError
from tosloc.evaluation.compare import COMPARED, Comparison, Move, compare, compared, comparison_values
from tosloc.evaluation.measures import Measure
from tosloc.evaluation.run_paths import RUN_FILE, ScoredRun, read_scored
from tosloc.evaluation.statistics import SAME, Paired, paired
from tosloc.evaluation.tables import pair

NO_LANGUAGE: Final = "none"
"""Stands for the language of a report that lists no file."""


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
    names = sorted(_projects(a, split) & _projects(b, split))
    if not names:
        raise RunError(f"{a} and {b}: no project has a finished run of the split {split!r} in both")
    found = {}
    for name in names:
        sides = [(str(place), prepared(read_scored(place / name, split)).evaluation()) for place in (a, b)]
        found[name] = compare(sides[0], sides[1], measures=measures)
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
    return sorted(_projects(a, split) ^ _projects(b, split))


def _projects(folder: Path, split: str) -> set[str]:
    if not folder.is_dir():
        raise RunError(f"{folder}: no folder of runs, one a project")
    return {run.parents[1].name for run in folder.glob(f"*/{split}/{RUN_FILE}")}


def by_language(projects: Mapping[str, Comparison], measures: Sequence[Measure] = COMPARED) -> dict[str, Comparison]:
    """Language -> the comparison on its reports of all projects; those of most reports first.

    A report's language is that of most of the source files that it lists as fixed.
    """
    groups: defaultdict[str, list[Move]] = defaultdict(list)
    for one in projects.values():
        for move in one.moves:
            groups[_language(move.a.judgement.listed)].append(move)
    first = next(iter(projects.values()))
    ordered = sorted(groups, key=lambda name: (-len(groups[name]), name))
    return {name: compared(first.a, first.b, groups[name], measures) for name in ordered}


def _language(listed: Sequence[str]) -> str:
    counts = Counter(language_of(PurePosixPath(path).suffix) for path in listed)
    return min(counts, key=lambda name: (-counts[name], name)) if counts else NO_LANGUAGE


def together(parts: Mapping[str, Comparison], measures: Sequence[Measure] = COMPARED) -> Comparison:
    """The comparison on the reports of all parts, each report counting alike."""
    first = next(iter(parts.values()))
    return compared(first.a, first.b, [move for one in parts.values() for move in one.moves], measures)


@dataclass(frozen=True, slots=True)
class ProjectGain:
    """How run b stands against run a on one measure, every project counting alike."""

    measure: Measure
    a: float
    """Mean over projects of run a's means."""
    b: float
    paired: Paired
    """Mean of b - a over the projects, with interval and tests: projects are drawn, not reports."""
    wins: int
    """Projects where b's mean is higher."""
    losses: int


def project_gains(projects: Mapping[str, Comparison]) -> list[ProjectGain]:
    """The gain of run b on each measure, as a mean over projects."""
    found = []
    for differences in zip(*(one.differences for one in projects.values()), strict=True):
        a, b = (np.array([getattr(one, side) for one in differences], dtype=np.float64) for side in "ab")
        wins, losses = int(np.count_nonzero(b - a > SAME)), int(np.count_nonzero(a - b > SAME))
        found.append(ProjectGain(differences[0].measure, float(a.mean()), float(b.mean()), paired(a, b), wins, losses))
    return found


def beside_values(rows: Mapping[str, Comparison], whole: Comparison, projects: Mapping[str, Comparison]) -> Any:
    """All of it as plain values for JSON."""

    def row(one: Comparison) -> dict[str, Any]:
        values = comparison_values(one, 0)
        return {"reports": values["reports"], "measures": values["measures"]}

    def gain(one: ProjectGain) -> dict[str, Any]:
        return {
            "a": one.a,
            "b": one.b,
            "difference": one.paired.mean,
            "interval": pair(one.paired.interval),
            "p_t": one.paired.t_test.p,
            "p_bootstrap": one.paired.bootstrap_p,
            "wins": one.wins,
            "losses": one.losses,
        }

    return {
        "a": whole.a,
        "b": whole.b,
        "rows": {name: row(one) for name, one in rows.items()},
        "all": row(whole),
        "projects": {
            "number": len(projects),
            "measures": {repr(one.measure): gain(one) for one in project_gains(projects)},
        },
    }
