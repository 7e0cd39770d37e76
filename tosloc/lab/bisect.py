"""Simulate how many test runs a bisection by weights needs, compared with a bisection by count.

The culprit of a report comes from the truth of suspect changes (see ``tosloc.lab.suspects``): it is
the commit that wrote most of the fixed lines. A range consists of successive commits in the history
of the reported version, in topological order, with the culprit at evenly spread places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from tosloc.bisect.graph import count_runs
from tosloc.bisect.weights import score_suspects, weigh_commits
from tosloc.core.progress import Progress, ignore_progress
from tosloc.git.repository import Repository
from tosloc.lab.projects import Project
from tosloc.lab.suspects import find_cases, find_inducing_commits
from tosloc.lab.tracking import track
from tosloc.localize.localizer import Localizer
from tosloc.localize.question import Question

SIZES: Final = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
"""Numbers of commits in a range."""
PLACES: Final = 8
"""Places of the culprit in the ranges of one size."""


class SimulatedReport(NamedTuple):
    """A report with the data for simulating its bisection."""

    history: Sequence[str]
    """Full ids of the commits that the report's version contains, parents before children."""
    culprit: int
    """Position of the commit that introduced the fault."""
    scores: Mapping[str, float]
    """Scores of the suspects."""


class RangeRuns(NamedTuple):
    """Test runs in the ranges of one size."""

    commits: int
    """Number of commits in each range."""
    reports: int
    """Number of reports whose history is long enough."""
    weighted: float
    """Mean number of test runs by weights."""
    plain: float
    """Mean number of test runs by count, as git bisects."""
    worst: int
    """Largest number of test runs by weights in any range."""
    most_worse: int
    """Largest number of test runs that weights needed more than counts in any range."""


def collect_reports(
    project: Project, progress: Progress = ignore_progress
) -> list[SimulatedReport]:
    """Return the reports of a project whose culprit is known."""
    reports = []
    with Repository(project.repo) as repository:
        cases = find_cases(repository, project, progress)
        with Localizer.open(project.repo, checkpoint="none", ready=False) as localizer:
            for case in track(cases, f"{project.name}: finding suspects", progress):
                truth = find_inducing_commits(repository, case)
                if not truth:
                    continue
                culprit = max(truth, key=lambda commit: (truth[commit], commit))
                history = _list_history(repository, case.before_commit)
                question = Question(case.report, commit=case.before_commit)
                scores = score_suspects(localizer, question)
                reports.append(SimulatedReport(history, history.index(culprit), scores))
    return reports


def _list_history(repository: Repository, commit: str) -> list[str]:
    """Return the ids of all commits that ``commit`` contains, parents before children."""
    with repository.git.stream(["rev-list", "--topo-order", "--reverse", commit]) as output:
        return output.read().decode("ascii").split()


def simulate(reports: Sequence[SimulatedReport], sizes: Sequence[int] = SIZES) -> list[RangeRuns]:
    """Return the test runs by size of the range; sizes larger than every history are left out."""
    results = []
    for size in sizes:
        pairs: list[tuple[int, int]] = []
        means = []
        for report in reports:
            if len(report.history) >= size:
                report_pairs = _simulate_report(report, size)
                pairs += report_pairs
                means.append(np.mean(report_pairs, axis=0))
        if means:
            weighted, plain = np.mean(means, axis=0).tolist()
            worst = max(pair[0] for pair in pairs)
            most_worse = max(pair[0] - pair[1] for pair in pairs)
            results.append(RangeRuns(size, len(means), weighted, plain, worst, most_worse))
    return results


def _simulate_report(report: SimulatedReport, size: int) -> list[tuple[int, int]]:
    """Return the test runs by weights and by count in each range of a size with the culprit."""
    last_start = len(report.history) - size
    starts = set()
    for place in np.linspace(0, size - 1, PLACES).round().astype(int).tolist():
        starts.add(min(max(report.culprit - place, 0), last_start))
    pairs = []
    for start in sorted(starts):
        commits = report.history[start : start + size]
        culprit = report.culprit - start
        weights = weigh_commits(commits, report.scores)
        even = np.ones(size)
        pairs.append((count_runs(weights, culprit), count_runs(even, culprit)))
    return pairs
