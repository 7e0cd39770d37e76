"""Runs of many projects: means over projects that count alike (macro) and over all reports (micro), and comparisons.

A folder of many projects holds a run folder for each, called by its name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np

from tosloc.code.languages import language_of
from tosloc.errors import RunError
from tosloc.evaluate.compare import Comparison, Difference, Move, compared, difference, difference_values
from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.measures import AP, RR, Measure
from tosloc.evaluate.run_paths import JUDGEMENTS_FILE, RUN_FILE
from tosloc.evaluate.statistics import BOOTSTRAP_SEED, RESAMPLES, Interval, mean_interval, percentile_interval
from tosloc.records import FloatArray

SPLITS: Final = ("train", "validation", "test", "all")
NO_LANGUAGE: Final = "none"
"""Stands for the language of a report that lists no file."""
HOW_MANY: Final = ("no fixed file", "1 fixed file", "2 to 5 fixed files", "6 or more fixed files")
"""How many of the searched files a fix changed."""
HEADLINE: Final[Mapping[Measure, str]] = {RR: "mrr", AP: "map", **{Measure("Hit", k): f"top{k}" for k in (1, 5, 10)}}
"""Measures whose means are told, in this order, with what they are called."""


def runs_of_projects(folder: Path, split: str) -> tuple[dict[str, Path], list[str]]:
    """Project -> its run of the split, or its only one; and the projects without. Raises RunError for none at all."""
    runs: dict[str, Path] = {}
    lacking: list[str] = []
    if folder.is_dir() and not any(map(_is_finished, (folder, *(folder / name for name in SPLITS)))):
        for place in sorted(one for one in folder.iterdir() if one.is_dir()):
            there = [one for one in (place, *(place / name for name in SPLITS)) if _is_finished(one)]
            asked = [one for one in there if one in (place, place / split)] or there[: len(there) == 1]
            if asked:
                runs[place.name] = asked[0]
            else:
                lacking.append(place.name)
    if not runs:
        raise RunError(f"{folder}: no folder of runs, one a project")
    return runs, lacking


def _is_finished(place: Path) -> bool:
    return (place / RUN_FILE).is_file() and (place / JUDGEMENTS_FILE).is_file()


@dataclass(frozen=True)
class ProjectMeans:
    """Means of measures for each of P projects. Shapes: M measures."""

    projects: tuple[str, ...]
    reports: tuple[int, ...]
    measures: tuple[Measure, ...]
    means: FloatArray
    """(P, M) mean over the project's reports."""
    micro: FloatArray
    """(M,) mean over all reports of all projects."""

    @classmethod
    def of(cls, evaluations: Mapping[str, Evaluation], measures: Sequence[Measure] = ()) -> ProjectMeans:
        """Of evaluations by project: the headline, and ``measures`` beyond it."""
        asked = tuple(dict.fromkeys((*HEADLINE, *measures)))
        values = [np.column_stack([one.values(measure) for measure in asked]) for one in evaluations.values()]
        return cls(
            tuple(evaluations),
            tuple(len(one) for one in values),
            asked,
            np.array([one.mean(axis=0) for one in values]),
            np.concatenate(values).mean(axis=0),
        )

    @property
    def names(self) -> list[str]:
        """What the measures' means are called."""
        return [HEADLINE.get(measure) or repr(measure) for measure in self.measures]

    @property
    def macro(self) -> FloatArray:
        """(M,) mean over projects, each counting the same."""
        means: FloatArray = self.means.mean(axis=0)
        return means

    @property
    def intervals(self) -> tuple[Interval | None, ...]:
        """95 % bootstrap interval of each macro mean, projects resampled; None for a single project."""
        return tuple(mean_interval(np.ascontiguousarray(column)) for column in self.means.T)

    def values(self) -> dict[str, Any]:
        """All of it as plain values, for JSON."""
        names = self.names
        rows = zip(self.projects, self.reports, self.means.tolist(), strict=True)
        macro = zip(names, self.macro.tolist(), self.intervals, strict=True)
        return {
            "projects": [{"project": name, "reports": n} | dict(zip(names, row, strict=True)) for name, n, row in rows],
            "macro": {name: {"mean": mean, "interval": interval} for name, mean, interval in macro},
            "micro": {"reports": sum(self.reports)} | dict(zip(names, self.micro.tolist(), strict=True)),
        }


# ---- comparisons: one a project


def together(parts: Mapping[str, Comparison]) -> Comparison:
    """The comparison on the reports of all parts, each report counting alike."""
    [whole] = _grouped(parts, lambda _, move: "").values()
    return whole


def reachable(projects: Mapping[str, Comparison]) -> dict[str, Comparison]:
    """The comparisons on the reports of which some fixed file is among those searched. Raises RunError for none."""
    kept = _grouped(projects, lambda name, move: name if move.a.outcome.relevant else "")
    kept.pop("", None)
    if not kept:
        raise RunError("no report has a fixed file among those searched")
    return kept


def by_language(projects: Mapping[str, Comparison]) -> dict[str, Comparison]:
    """Language -> the comparison on its reports of all projects; those of most reports first."""
    groups = _grouped(projects, lambda _, move: language_of_report(move.a.judgement.listed))
    return {name: groups[name] for name in sorted(groups, key=lambda name: (-len(groups[name].moves), name))}


def by_fixed_files(projects: Mapping[str, Comparison]) -> dict[str, Comparison]:
    """How many files the fix changed, in words -> the comparison on such reports of all projects."""
    groups = _grouped(projects, lambda _, move: HOW_MANY[int(np.searchsorted([0, 1, 5], move.a.outcome.relevant))])
    return {name: groups[name] for name in HOW_MANY if name in groups}


def _grouped(projects: Mapping[str, Comparison], name_of: Callable[[str, Move], str]) -> dict[str, Comparison]:
    """The comparisons on groups of reports, by what a project's name and a report are called."""
    groups: defaultdict[str, list[Move]] = defaultdict(list)
    for name, one in projects.items():
        for move in one.moves:
            groups[name_of(name, move)].append(move)
    first = next(iter(projects.values()))
    measures = [one.measure for one in first.differences]
    return {name: compared(first.a, first.b, moves, measures) for name, moves in groups.items()}


def language_of_report(listed: Sequence[str]) -> str:
    """The language of most of the source files that a report lists as fixed; ``NO_LANGUAGE`` where it lists none."""
    counts = Counter(language_of(PurePosixPath(path).suffix) for path in listed)
    return min(counts, key=lambda name: (-counts[name], name)) if counts else NO_LANGUAGE


def over_projects(projects: Mapping[str, Comparison]) -> list[Difference]:
    """The differences of the projects' means: each project is one pair, for the t-test as for the bootstrap."""
    measures = [one.measure for one in next(iter(projects.values())).differences]
    sides = [
        np.array([[getattr(of, side) for of in one.differences] for one in projects.values()]) for side in ("a", "b")
    ]
    return [
        difference(measure, *(np.ascontiguousarray(side[:, column]) for side in sides), yes_or_no=False)
        for column, measure in enumerate(measures)
    ]


@dataclass(frozen=True, slots=True)
class Gain:
    """The mean over projects, each counting alike, of their mean gains in one measure."""

    mean: float
    interval: Interval
    p: float
    """Two-sided, of 0: twice the share of the resamples on the rarer side."""


def gains(projects: Mapping[str, Comparison]) -> dict[str, Gain]:
    """The gain in MRR and in MAP from run a to run b: whether these very projects gained."""
    samples = [
        np.array([(move.b.reciprocal_rank - move.a.reciprocal_rank, move.difference) for move in one.moves])
        for one in projects.values()
    ]
    means = np.mean([one.mean(axis=0) for one in samples], axis=0)
    rng = np.random.default_rng(BOOTSTRAP_SEED)
    drawn = np.array(
        [
            np.mean([one[rng.integers(0, len(one), len(one))].mean(axis=0) for one in samples], axis=0)
            for _ in range(RESAMPLES)
        ]
    )
    smaller = np.minimum((drawn <= 0).mean(axis=0), (drawn >= 0).mean(axis=0))
    return {
        name: Gain(float(means[place]), percentile_interval(drawn[:, place]), float(min(2 * smaller[place], 1.0)))
        for place, name in enumerate(("MRR", "MAP"))
    }


def comparison_values(
    rows: Mapping[str, Comparison],
    whole: Comparison,
    projects: int,
    means: Sequence[Difference],
    gained: Mapping[str, Gain],
) -> dict[str, Any]:
    """All of it as plain values for JSON; ``means`` are the differences over so many projects."""

    def row(one: Comparison) -> dict[str, Any]:
        values = {repr(of.measure): difference_values(of) for of in one.differences}
        return {"reports": len(one.moves), "measures": values}

    return {
        "a": whole.a,
        "b": whole.b,
        "rows": {name: row(one) for name, one in rows.items()},
        "all": row(whole),
        "projects": {
            "number": projects,
            "measures": {repr(one.measure): difference_values(one) for one in means},
            "gains": {name: {"mean": one.mean, "interval": one.interval, "p": one.p} for name, one in gained.items()},
        },
    }
