"""Runs of many projects, and means over projects that count alike (macro) and over all of their reports (micro)."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.measures import AP, RR, Measure
from tosloc.evaluate.run_paths import JUDGEMENTS_FILE, RUN_FILE
from tosloc.evaluate.statistics import SAME, Interval, Paired, mean_interval, paired
from tosloc.records import FloatArray

SPLITS: Final = ("train", "validation", "test", "all")


@dataclass(frozen=True)
class ProjectRuns:
    """The finished runs of a folder of projects."""

    runs: dict[str, Path]
    """Project -> the folder of its run, by name."""
    lacking: tuple[str, ...]
    """Projects without a finished run of the split, nor of just one other."""
    split: str = "test"


def project_runs(folder: Path, split: str, only: Container[str] | None = None) -> ProjectRuns | None:
    """The runs of a folder of projects; None where the folder is of one run, or of one run's splits.

    Of a project whose run has several splits it is the ``split`` asked for, of one that has a single split that one.
    ``only`` are the projects looked at.
    """
    if not folder.is_dir() or (folder / RUN_FILE).is_file():
        return None
    if any((folder / name / RUN_FILE).is_file() for name in SPLITS):
        return None
    runs: dict[str, Path] = {}
    lacking: list[str] = []
    for place in sorted(folder.iterdir()):
        if place.is_dir() and (only is None or place.name in only):
            found = _finished(place, split)
            if found is None:
                lacking.append(place.name)
            else:
                runs[place.name] = found
    return ProjectRuns(runs, tuple(lacking), split) if runs else None


def _finished(place: Path, split: str) -> Path | None:
    there = [one for one in (place, *(place / name for name in SPLITS)) if _is_finished(one)]
    asked = [one for one in there if one in (place, place / split)]
    if asked:
        return asked[0]
    return there[0] if len(there) == 1 else None


def _is_finished(place: Path) -> bool:
    return (place / RUN_FILE).is_file() and (place / JUDGEMENTS_FILE).is_file()


HEADLINE: Final[Mapping[Measure, str]] = {RR: "mrr", AP: "map", **{Measure("Hit", k): f"top{k}" for k in (1, 5, 10)}}
"""Measures whose means are told, in this order, with what they are called."""


@dataclass(frozen=True)
class ProjectMeans:
    """Means of measures for each of P projects. Shapes: M measures."""

    projects: tuple[str, ...]
    reports: tuple[int, ...]
    """Judged reports of each."""
    measures: tuple[Measure, ...]
    means: FloatArray
    """(P, M) mean over the project's reports."""
    micro: FloatArray
    """(M,) mean over all reports of all projects."""

    @classmethod
    def of(cls, evaluations: Mapping[str, Evaluation], measures: Sequence[Measure] = ()) -> ProjectMeans:
        """Of evaluations by project: the headline, and ``measures`` beyond it."""
        asked = (*HEADLINE, *(one for one in dict.fromkeys(measures) if one not in HEADLINE))
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

        def named(row: FloatArray) -> dict[str, float]:
            return dict(zip(names, row.tolist(), strict=True))

        return {
            "projects": [
                {"project": project, "reports": reports} | named(row)
                for project, reports, row in zip(self.projects, self.reports, self.means, strict=True)
            ],
            "macro": {
                name: {"mean": float(mean), "interval": None if interval is None else [interval.low, interval.high]}
                for name, mean, interval in zip(names, self.macro, self.intervals, strict=True)
            },
            "micro": {"reports": sum(self.reports)} | named(self.micro),
        }


@dataclass(frozen=True)
class ProjectDifference:
    """How system b stands against system a on one measure, over the same projects."""

    measure: str
    a: float
    """Macro mean of a."""
    b: float
    paired: Paired
    """Mean over projects of b - a; interval and tests over projects."""
    wins: int
    """Projects where b is better."""
    ties: int
    losses: int
    micro_a: float
    """Mean of a over all reports."""
    micro_b: float


def compare_projects(a: ProjectMeans, b: ProjectMeans) -> list[ProjectDifference]:
    """Differences of two systems on the same reports of the same projects, measure by measure.

    Each project is one pair: the bootstrap resamples projects, and the t-test is over their differences. Raises
    RunError for other projects or another number of reports.
    """
    if a.projects != b.projects or a.reports != b.reports or a.measures != b.measures:
        raise RunError("the two are not of the same reports of the same projects; compare those that both have")
    found = []
    for column, name in enumerate(a.names):
        of_a, of_b = (np.ascontiguousarray(one.means[:, column]) for one in (a, b))
        change = of_b - of_a
        wins, losses = int((change > SAME).sum()), int((change < -SAME).sum())
        micro = float(a.micro[column]), float(b.micro[column])
        ties = len(change) - wins - losses
        found.append(
            ProjectDifference(
                name, float(of_a.mean()), float(of_b.mean()), paired(of_a, of_b), wins, ties, losses, *micro
            )
        )
    return found


def project_difference_values(one: ProjectDifference) -> dict[str, Any]:
    """One measure's difference as plain values, for JSON."""
    return {
        "a": one.a,
        "b": one.b,
        **one.paired.as_dict(),
        "wins": one.wins,
        "ties": one.ties,
        "losses": one.losses,
        "micro_a": one.micro_a,
        "micro_b": one.micro_b,
    }
