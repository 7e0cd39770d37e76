"""Table 5: what a report costs in processor time, as a ratio to stage one's, against the number of files searched.

Of a few versions of each project, made ready one after the other, every system answers a few test reports in turns: as
ratios, since absolute times are of one machine. A technique that learns is fitted on a few reports first.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from tosloc.config import Config
from tosloc.experiment import ExperimentContext, fingerprint
from tosloc.git.repository import Repository
from tosloc.io import key_of, write_text
from tosloc.lab.baseline_runs import Chosen, choose_techniques, contexts_for
from tosloc.lab.paper.accuracy import title_of
from tosloc.lab.paper.workspace import (
    Cell,
    PaperTable,
    Published,
    TableResult,
    Workspace,
    by_project,
    figure_of,
    is_trained,
    named,
    rows_of,
)
from tosloc.lab.projects import Project, spread
from tosloc.localizer import Localizer
from tosloc.rank.feature_tables import WORK
from tosloc.records import BugReport, Case, Progress, Snapshot, silent
from tosloc.reports.labelled import Splits

VERSIONS: Final = 6
REPORTS: Final = 5
ROUNDS: Final = 3
SLOW: Final = 2.0
"""Processor seconds of an answer beyond which one measurement of it is enough."""
MEMORY: Final = "cache_mb"
"""Setting of what a technique keeps of one report for the next: nothing here, as if each report were the first."""
FITTED: Final = (16, 1)
"""Reports that a technique is fitted on, and stopped by, before it is timed."""
_STAGE_ONE: Final = "stage-one"
BOTH_STAGES: Final = "both-stages"
_DEFAULT: Final = ("dreamloc", "buglocator", "brtracer", "bluir", "amalgam", "blia")
RATIO: Final = "ratio to stage one"
GROWTH: Final = "growth"
DRAWN: Final = (*_DEFAULT[:1], _STAGE_ONE, BOTH_STAGES)
"""Systems of the figure, as in the paper's table, where there are too many for one."""
FEW: Final = 4
ALL_PROJECTS: Final = "all"
"""In the place of a project: the versions of all of them."""

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

    version: str
    files: int
    seconds: Mapping[str, Sequence[float]]
    """System -> median processor seconds of each report."""

    def median(self, system: str) -> float:
        """Median over the reports."""
        return float(np.median(self.seconds[system]))

    def ratio(self, system: str) -> float:
        """Median to stage one's."""
        return self.median(system) / self.median(_STAGE_ONE)


Times = Mapping[str, Sequence[Timed]]


def measure(work: Workspace, published: Published, progress: Progress = silent) -> TableResult:
    """Table 5."""
    names = [name for name in work.systems or _DEFAULT if name not in (_STAGE_ONE, BOTH_STAGES)]
    techniques = []
    for one in choose_techniques(names) if names else []:
        alone = {MEMORY: 0} if MEMORY in type(one.settings).model_fields else {}
        techniques.append(replace(one, settings=one.settings.model_copy(update=alone)))
    found: dict[str, list[Timed]] = {}
    for project in by_project(work.projects, "projects", progress):
        checkpoint = work.both_stages(project, is_trained) or work.trained(project)
        if checkpoint is None and work.make:
            checkpoint = work.train(project, progress)
        if checkpoint is not None:
            found[project.name] = time_project(work, project, checkpoint, techniques, progress)
    return table(found, [one.name for one in techniques], published)


def table(found: Times, techniques: Sequence[str], published: Published) -> TableResult:
    """Table 5 from what was measured."""
    every = [one for timed in found.values() for one in timed]
    present = {system for one in every for system in one.seconds}
    systems = {title_of(name): name for name in (*techniques, _STAGE_ONE, BOTH_STAGES) if name in present}
    beside = {title: name for title, name in systems.items() if name != _STAGE_ONE}
    columns, paper = {**found, ALL_PROJECTS: every}, published.numbers

    def ratio(title: str, project: str) -> Cell:
        values = [one.ratio(systems[title]) for one in found[project] if systems[title] in one.seconds]
        return Cell(float(np.median(values)) if values else None, "ratio", paper.get((RATIO, title, project)))

    def growth(title: str, project: str) -> Cell:
        there = [one for one in columns[project] if systems[title] in one.seconds]
        found = slope([one.files for one in there], [one.median(systems[title]) for one in there])
        return Cell(found, "ratio", paper.get((GROWTH, title, project)))

    versions: list[list[str | Cell]] = []
    for project, timed in found.items():
        for one in timed:
            cells = (Cell(one.ratio(name) if name in one.seconds else None, "ratio") for name in beside.values())
            versions.append([f"{project} {one.version[:10]}", Cell(one.files, "count"), *cells])
    tables = [
        PaperTable([f"{GROWTH}: slope of log time on log files", *columns], rows_of(systems, columns, growth)),
        PaperTable([RATIO, "files searched", *beside], versions),
    ]
    if beside:
        tables.insert(0, PaperTable([f"{RATIO}, median", *found], rows_of(beside, found, ratio)))
    unit = float(np.median([one.median(_STAGE_ONE) for one in every])) if every else 1.0
    drawn = list(systems.values())
    if len(drawn) > FEW:
        drawn = [name for name in drawn if name in DRAWN]
    growths = {
        title_of(system): {
            project: [(one.files, one.median(system) / unit) for one in timed if system in one.seconds]
            for project, timed in found.items()
        }
        for system in drawn
    }
    times = {
        project: [{"version": one.version, "files": one.files, "processor seconds": dict(one.seconds)} for one in timed]
        for project, timed in found.items()
    }
    return TableResult(
        tables, NOTES, {"table-5": figure_of("growth_figure", growths)} if every else {}, {"times": times}
    )


def slope(files: Sequence[int], seconds: Sequence[float]) -> float | None:
    """Least squares of log seconds on log files; None where the sizes do not differ.

    >>> round(slope([1000, 2000, 4000], [0.1, 0.2, 0.4]), 3), slope([10, 10], [1.0, 2.0])
    (1.0, None)
    """
    if len(set(files)) < 2:
        return None
    x, y = np.log(files), np.log(seconds)
    return float(np.polynomial.polynomial.polyfit(x, y, 1)[1])


def time_project(
    work: Workspace, project: Project, checkpoint: Path, techniques: Sequence[Chosen], progress: Progress = silent
) -> list[Timed]:
    """Times on the versions of a project; each is kept when it is done."""
    trained = checkpoint / "checkpoint"
    key = key_of(  # another file for other weights, techniques, reports or versions
        fingerprint(trained / "weights.json"),
        [fingerprint(record) for record in sorted(trained.glob("*/*.json"))],
        [[one.name, one.settings.model_dump(mode="json")] for one in techniques],
        fingerprint(project.reports),
        [work.versions or VERSIONS, REPORTS, ROUNDS],
    )
    path = work.out / "speed" / project.name / f"{key[:12]}.json"
    stored: Any = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"versions": -1, "times": []}
    timed = [Timed(**one) for one in stored["times"]]
    if len(timed) == stored["versions"]:
        return timed
    progress, localizer = named(progress, project), Localizer.load(checkpoint)
    with (
        Repository(project.repo) as repo,
        ExperimentContext.set_up(project.configured(), repo, project.reports, progress, facts=False) as context,
    ):
        by_version = {case.version: case for case in context.dataset.cases}
        cases = [by_version[version] for version in spread(list(by_version), work.versions or VERSIONS)]
        # opened after the last fix that was learned from, so that both stages answer them
        reports, reranker = [case.report for case in context.part("test")], localizer.reranker_
        later = [one for one in reports if reranker is None or reranker.trained_before(one.opened_seconds)]
        reports = spread(later or reports, REPORTS)
        for case in cases:
            progress("versions timed", len(timed), len(cases))
            if case.version in {one.version for one in timed}:
                continue
            folder = path.parent / WORK / case.version
            clock = VersionClock(localizer, project.configured(), context, case, techniques, folder, progress)
            timed.append(clock.time(reports))
            timed.sort(key=lambda one: (one.files, one.version))
            values = {"versions": len(cases), "times": [asdict(one) for one in timed]}
            write_text(path, json.dumps(values, indent=1) + "\n")
        progress("versions timed", len(cases), len(cases))
    shutil.rmtree(path.parent / WORK, ignore_errors=True)
    return timed


@dataclass(frozen=True)
class VersionClock:
    """Every system on one version of a project, with nothing but that version in memory."""

    localizer: Localizer
    config: Config
    context: ExperimentContext
    case: Case
    """Whose before-fix version is searched."""
    techniques: Sequence[Chosen]
    folder: Path
    progress: Progress = silent

    def time(self, reports: Sequence[BugReport]) -> Timed:
        """Processor seconds of each report."""
        snapshot = self.context.indexed.snapshot(self.case.version)
        localizer = self.localizer
        localizer.open_version(self.context.indexed, self.case.version, self.progress)
        version = localizer.version_
        assert version is not None
        alone = replace(version, reranking=None)
        answers: dict[str, Answer] = {_STAGE_ONE: lambda report: localizer.localization(report, alone)}
        if localizer.reranker_ is not None and localizer.reranker_.weight > 0:
            answers[BOTH_STAGES] = lambda report: localizer.localization(report, version)
        answers |= self._techniques_answers(snapshot)
        seconds = {name: list[float]() for name in answers}
        last: dict[str, float] = {}
        for number, report in enumerate(reports, start=1):
            for name, median in in_turns(answers, report, last).items():
                seconds[name].append(median)
            self.progress(f"reports of version {self.case.version[:10]}", number, len(reports))
        return Timed(self.case.version, len(snapshot), seconds)

    def _techniques_answers(self, snapshot: Snapshot) -> dict[str, Answer]:
        if not self.techniques:
            return {}
        next_cases = _as_if(self.context.dataset.cases, self.case, frozenset(snapshot.paths), sum(FITTED))
        train, validation = next_cases[: FITTED[0]], next_cases[FITTED[0] :]
        few = replace(self.context, splits=Splits(train, validation, (self.case,)))
        context_of = contexts_for(few, self.techniques, ("test",), self.progress)
        answers: dict[str, Answer] = {}
        for one in self.techniques:
            system = one.kind(one.settings, context_of(one), self.config.run.seed)
            if one.kind.learned:
                system.fit(train, validation, self.folder / one.name, self.progress)
            answers[one.name] = partial(system.rank, version=snapshot)
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


def in_turns(
    answers: Mapping[str, Answer], report: BugReport, last: dict[str, float], rounds: int = ROUNDS
) -> dict[str, float]:
    """Median processor seconds of each answer; all are asked once a round, in an order that changes.

    Before, each is asked once untimed, so that what it keeps of files is there; ``last`` holds what each took the last
    time, and one that is slow is not asked more often than it has to be.
    """
    names = list(answers)
    for name in names:
        if last.get(name, 0.0) <= SLOW or name == BOTH_STAGES:  # which encodes each report's own candidates
            last[name] = _seconds(answers[name], report)
    times = np.full((rounds, len(names)), np.nan)
    for number in range(rounds):
        for column in np.roll(np.arange(len(names)), number).tolist():
            name = names[column]
            if not number or last[name] <= SLOW:
                last[name] = times[number, column] = _seconds(answers[name], report)
    return {name: float(value) for name, value in zip(names, np.nanmedian(times, axis=0), strict=True)}


def _seconds(answer: Answer, report: BugReport) -> float:
    start = time.process_time()
    answer(report)
    return max(time.process_time() - start, 1e-6)  # a clock that stood still has no logarithm
