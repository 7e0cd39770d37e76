"""Table 5: what a report costs in processor time, as a ratio to stage one's, against the number of files searched.

Of a few versions of each project, made ready one after the other, every system answers a few test reports in turns: as
ratios, since absolute times are of one machine. A technique that learns is fitted on a few reports first. What was
measured of a version is kept under ``OUT/speed``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from tosloc.experiment import ExperimentContext, fingerprint
from tosloc.git.repository import Repository
from tosloc.io import key_of, write_text
from tosloc.lab import baseline_runs
from tosloc.lab.baseline_runs import context_for, technique
from tosloc.lab.baselines.context import Baseline
from tosloc.lab.paper.accuracy import title_of
from tosloc.lab.paper.workspace import Cell, PaperTable, Result, Workspace, no_training, rows_of
from tosloc.lab.projects import Project, spread
from tosloc.localizer import Localizer
from tosloc.records import BugReport, Case, Progress, tracked
from tosloc.reports.labelled import Splits

VERSIONS: Final = 6
REPORTS: Final = 5
ROUNDS: Final = 3
SLOW: Final = 2.0  # processor seconds of an answer beyond which one measurement of it is enough
FITTED: Final = (16, 1)  # reports that a technique is fitted on, and stopped by, before it is timed
NOT_TIMED: Final = ("dnnloc",)
STAGE_ONE: Final = "stage-one"
BOTH_STAGES: Final = "both-stages"
RATIO: Final = "ratio to stage one"
GROWTH: Final = "growth"
ALL_PROJECTS: Final = "all"  # in the place of a project: the versions of all of them
NOTES: Final = (
    "processor time from a report to the ranking of all files, version and facts in memory; medians over reports"
    " that every system answers in turns. Times are of one shared machine: the ratios are the result",
    "a slope of 1 is growth in proportion to the files",
    "what is known of files is kept between reports, but nothing that an earlier report's answer left",
)

Answer = Callable[[BugReport], object]


@dataclass(frozen=True)
class Timed:
    """What reports cost on one version."""

    files: int
    seconds: Mapping[str, Sequence[float]]  # system -> median processor seconds of each report

    def median(self, system: str) -> float:
        """Median over the reports."""
        return float(np.median(self.seconds[system]))


def speed(work: Workspace) -> Result:
    """Table 5."""
    techniques = [technique(name) for name in baseline_runs.SYSTEMS if name not in NOT_TIMED]
    found = {project.name: time_project(work, project, techniques) for project in work.each()}
    return Result(tables(found, work.published.numbers), NOTES)


def tables(found: Mapping[str, Sequence[Timed]], paper: Mapping[tuple[str, ...], float]) -> list[PaperTable]:
    """Ratios, medians over the versions of a project, and growth, over those of all projects too."""
    columns = {**found, ALL_PROJECTS: [one for timed in found.values() for one in timed]}
    systems = {title_of(name): name for one in columns[ALL_PROJECTS] for name in one.seconds}

    def ratio(title: str, project: str) -> Cell:
        name = systems[title]
        values = [one.median(name) / one.median(STAGE_ONE) for one in found[project] if name in one.seconds]
        return Cell(float(np.median(values)) if values else None, ",.2f", paper.get((RATIO, title, project)))

    def growth(title: str, project: str) -> Cell:
        there = [one for one in columns[project] if systems[title] in one.seconds]
        slope = None
        if len({one.files for one in there}) > 1:  # least squares of log seconds on log files
            x, y = np.log([(one.files, one.median(systems[title])) for one in there]).T
            slope = float(np.polynomial.polynomial.polyfit(x, y, 1)[1])
        return Cell(slope, ",.2f", paper.get((GROWTH, title, project)))

    others = [title for title, name in systems.items() if name != STAGE_ONE]
    return [
        PaperTable([f"{RATIO}, median", *found], rows_of(others, found, ratio)),
        PaperTable([f"{GROWTH}: slope of log time on log files", *columns], rows_of(systems, columns, growth)),
    ]


def time_project(work: Workspace, project: Project, techniques: Sequence[type[Baseline]]) -> list[Timed]:
    """Times on the versions of a project."""
    trained, progress = work.trained(project), work.of(project)
    if trained is None:
        raise no_training(project)
    checkpoint = trained / "checkpoint"
    key = key_of(  # another folder for other weights, techniques or reports
        fingerprint(checkpoint / "weights.json"),
        [fingerprint(record) for record in sorted(checkpoint.glob("*/*.json"))],
        [one.name for one in techniques],
        fingerprint(project.reports),
        [REPORTS, ROUNDS],
    )
    folder, localizer = work.out / "speed" / project.name / key[:12], Localizer.load(trained)
    timed = []
    with (
        Repository(project.repo) as repo,
        ExperimentContext.set_up(project.config, repo, project.reports, progress, facts=False) as context,
    ):
        by_version = {case.version: case for case in context.dataset.cases}
        # opened after the last fix that was learned from, so that both stages answer them
        reports, reranker = [case.report for case in context.part("test")], localizer.reranker_
        later = [one for one in reports if reranker is None or reranker.trained_before(one.opened_seconds)]
        versions = spread(list(by_version), VERSIONS)
        for version in tracked(versions, "versions timed", progress):
            path = folder / f"{version}.json"
            if not path.exists():
                answers = _answers(localizer, context, by_version[version], techniques, progress)
                one = time_version(answers, context, version, spread(later or reports, REPORTS), progress)
                write_text(path, json.dumps(asdict(one), indent=1) + "\n")
            timed.append(Timed(**json.loads(path.read_text(encoding="utf-8"))))
    return timed


def time_version(
    answers: Mapping[str, Answer],
    context: ExperimentContext,
    version: str,
    reports: Sequence[BugReport],
    progress: Progress,
) -> Timed:
    """Processor seconds of each report on one version."""
    seconds = {name: list[float]() for name in answers}
    last: dict[str, float] = {}
    for report in tracked(reports, f"reports of version {version[:10]}", progress):
        for name, median in in_turns(answers, report, last).items():
            seconds[name].append(median)
    return Timed(len(context.indexed.snapshot(version)), seconds)


def _answers(
    localizer: Localizer,
    context: ExperimentContext,
    case: Case,
    techniques: Sequence[type[Baseline]],
    progress: Progress,
) -> dict[str, Answer]:
    """What answers a report by each system, with nothing but the case's before-fix version in memory."""
    localizer.open_version(context.indexed, case.version, progress)
    version, snapshot = localizer.version_, context.indexed.snapshot(case.version)
    assert version is not None
    answers: dict[str, Answer] = {}
    next_cases = _as_if(context.dataset.cases, case, frozenset(snapshot.paths), sum(FITTED))
    train, validation = next_cases[: FITTED[0]], next_cases[FITTED[0] :]
    few = replace(context, splits=Splits(train, validation, (case,)))
    looked_at = context_for(few, techniques, ("test",), progress)
    for one in techniques:
        system = one(looked_at, context.config.run.seed)
        system.fit(train, validation, progress)
        answers[one.name] = partial(system.rank, version=snapshot)
    alone = copy(localizer)
    alone.reranker_ = None
    answers[STAGE_ONE] = lambda report: alone.localization(report, version)
    if localizer.reranker_ is not None and localizer.reranker_.weight > 0:
        answers[BOTH_STAGES] = lambda report: localizer.localization(report, version)
    return answers


def _as_if(cases: Sequence[Case], case: Case, paths: frozenset[str], number: int) -> tuple[Case, ...]:
    """The reports fixed from a case on (or, at the end, the last ones), with the case's version as theirs."""
    moved = []
    for other in cases:
        fixed = tuple(path for path in other.fixed if path in paths)
        if fixed:
            moved.append(replace(other, version=case.version, listed=fixed, fixed=fixed))
    start = next((position for position, other in enumerate(moved) if other.fixed_at >= case.fixed_at), len(moved))
    start = max(0, min(start, len(moved) - number))
    return tuple(moved[start : start + number])


def in_turns(answers: Mapping[str, Answer], report: BugReport, last: dict[str, float]) -> dict[str, float]:
    """Median processor seconds of each answer; all are asked once a round, in an order that changes.

    Before, each is asked once untimed, so that what it keeps of files is there; ``last`` holds what each took the last
    time, and one that is slow is not asked more often than it has to be.
    """
    names = list(answers)
    for name in names:
        if last.get(name, 0.0) <= SLOW or name == BOTH_STAGES:  # which encodes each report's own candidates
            last[name] = _seconds(answers[name], report)
    times = np.full((ROUNDS, len(names)), np.nan)
    for number in range(ROUNDS):
        for column in np.roll(np.arange(len(names)), number).tolist():
            name = names[column]
            if not number or last[name] <= SLOW:
                last[name] = times[number, column] = _seconds(answers[name], report)
    return {name: float(value) for name, value in zip(names, np.nanmedian(times, axis=0), strict=True)}


def _seconds(answer: Answer, report: BugReport) -> float:
    start = time.process_time()
    answer(report)
    return max(time.process_time() - start, 1e-6)  # a clock that stood still has no logarithm
