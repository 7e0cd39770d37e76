"""Runs of many projects: means over projects that count alike (macro) and over all reports (micro), and comparisons.

A folder of many projects holds a run folder for each, called by its name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from tosloc.code.languages import language_of
from tosloc.errors import RunError
from tosloc.evaluate.compare import Comparison, Difference, Move, compared, difference
from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.measures import AP, RR, Measure
from tosloc.evaluate.run_paths import JUDGEMENTS_FILE, RUN_FILE
from tosloc.evaluate.statistics import BOOTSTRAP_SEED, RESAMPLES, mean_interval, percentile_interval

Rows: TypeAlias = Literal["project", "language", "fixed"]
SPLITS: Final = ("train", "validation", "test", "all")
NO_LANGUAGE: Final = "none"  # stands for the language of a report that lists no file
HOW_MANY: Final = ("no fixed file", "1 fixed file", "2 to 5 fixed files", "6 or more fixed files")
"""How many of the searched files a fix changed."""
HEADLINE: Final[Mapping[Measure, str]] = {RR: "mrr", AP: "map", **{Measure("Hit", k): f"top{k}" for k in (1, 5, 10)}}
"""Measures whose means are told, in this order, with what they are called."""


def runs_of_projects(folder: Path, split: str) -> tuple[dict[str, Path], list[str]]:
    """Project -> its run of the split, or its only one; and the projects without. Raises RunError for none at all."""

    def finished(place: Path) -> list[Path]:
        some = (place, *(place / name for name in SPLITS))
        return [one for one in some if (one / RUN_FILE).is_file() and (one / JUDGEMENTS_FILE).is_file()]

    runs: dict[str, Path] = {}
    lacking: list[str] = []
    if folder.is_dir() and not finished(folder):
        for place in sorted(one for one in folder.iterdir() if one.is_dir()):
            there = finished(place)
            asked = [one for one in there if one in (place, place / split)] or there[: len(there) == 1]
            if asked:
                runs[place.name] = asked[0]
            else:
                lacking.append(place.name)
    if not runs:
        raise RunError(f"{folder}: no folder of runs, one a project")
    return runs, lacking


def project_means(evaluations: Mapping[str, Evaluation], measures: Sequence[Measure] = ()) -> dict[str, Any]:
    """Plain values of evaluations by project, in the headline and ``measures`` beyond it: the mean of each project, the
    macro mean with its 95 % bootstrap interval over projects (None for a single one), and the micro mean.
    """
    asked = tuple(dict.fromkeys((*HEADLINE, *measures)))
    names = [HEADLINE.get(measure) or repr(measure) for measure in asked]
    values = [np.column_stack([one.values(measure) for measure in asked]) for one in evaluations.values()]
    means = np.array([one.mean(axis=0) for one in values])  # a row a project
    reports = [len(one) for one in values]

    def row(numbers: Any) -> dict[str, Any]:
        return dict(zip(names, numbers.tolist(), strict=True))

    of_each = zip(evaluations, reports, means, strict=True)
    intervals = [mean_interval(np.ascontiguousarray(column)) for column in means.T]
    macro = zip(row(means.mean(axis=0)).items(), intervals, strict=True)
    return {
        "projects": [{"project": name, "reports": number} | row(one) for name, number, one in of_each],
        "macro": {name: {"mean": mean, "interval": interval} for (name, mean), interval in macro},
        "micro": {"reports": sum(reports)} | row(np.concatenate(values).mean(axis=0)),
    }


# ---- comparisons: one a project


def grouped(projects: Mapping[str, Comparison], by: Rows | None = None) -> dict[str, Comparison]:
    """The comparisons of each project, on the reports of each language, or of each number of fixed files; without
    ``by`` on all reports, called "all". Each report counts alike.
    """
    if by == "project":
        return dict(projects)
    groups: defaultdict[str, list[Move]] = defaultdict(list)
    for move in (move for one in projects.values() for move in one.moves):
        if by == "language":
            name = language_of_report(move.a.judgement.listed)
        else:
            name = HOW_MANY[int(np.searchsorted([0, 1, 5], move.a.relevant))] if by else "all"
        groups[name].append(move)
    names = [one for one in HOW_MANY if one in groups]
    if by != "fixed":
        names = sorted(groups, key=lambda name: (-len(groups[name]), name))
    first = next(iter(projects.values()))
    measures = [one.measure for one in first.differences]
    return {name: compared(first.a, first.b, groups[name], measures) for name in names}


def language_of_report(listed: Sequence[str]) -> str:
    """The language of most of the source files that a report lists as fixed; ``NO_LANGUAGE`` where it lists none."""
    counts = Counter(language_of(PurePosixPath(path).suffix) for path in listed)
    return min(counts, key=lambda name: (-counts[name], name)) if counts else NO_LANGUAGE


def over_projects(projects: Mapping[str, Comparison]) -> list[Difference]:
    """The differences of the projects' means: each project is one pair, for the t-test as for the bootstrap."""
    columns = zip(*(one.differences for one in projects.values()), strict=True)
    return [
        difference(
            of[0].measure, *(np.array([getattr(one, side) for one in of]) for side in ("a", "b")), yes_or_no=False
        )
        for of in columns
    ]


def gains(projects: Mapping[str, Comparison]) -> dict[str, dict[str, Any]]:
    """The mean over projects, each counting alike, of their mean gains in MRR and in MAP from run a to run b: whether
    these very projects gained. p is two-sided, of 0: twice the share of the resamples on the rarer side.
    """
    samples = [
        np.array([(move.b.reciprocal_rank - move.a.reciprocal_rank, move.difference) for move in one.moves])
        for one in projects.values()
    ]
    means = np.mean([one.mean(axis=0) for one in samples], axis=0).tolist()
    rng = np.random.default_rng(BOOTSTRAP_SEED)
    drawn = np.array(
        [
            np.mean([one[rng.integers(0, len(one), len(one))].mean(axis=0) for one in samples], axis=0)
            for _ in range(RESAMPLES)
        ]
    )
    p = np.minimum(2 * np.minimum((drawn <= 0).mean(axis=0), (drawn >= 0).mean(axis=0)), 1.0).tolist()
    return {
        name: {"mean": means[place], "interval": percentile_interval(drawn[:, place]), "p": p[place]}
        for place, name in enumerate(("MRR", "MAP"))
    }
