"""Tables 4 and 5: how good every system is on every project, over all files of the version, and what a report costs it.

Table 4 sets TosLoc against each of the others. Table 5 tells processor time as a ratio to stage one's, against the
number of files searched: of a few versions of each project, made ready one after the other, every system answers a few
test reports in turns. Ratios, since absolute times are of one machine. A technique that learns is fitted on a few
reports first. What was measured of a version is kept under ``OUT/speed``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from tosloc.core.io import content_key, write_text
from tosloc.core.records import BugReport, Case, Progress, track
from tosloc.evaluate.compare import compare_all
from tosloc.evaluate.measures import AP, RR, Evaluation
from tosloc.git.repository import Repository
from tosloc.lab import baseline_runs
from tosloc.lab.baselines.context import Baseline
from tosloc.lab.paper.workspace import (
    Cell,
    PaperTable,
    Published,
    Result,
    Workspace,
    no_training,
    rows_of,
)
from tosloc.lab.projects import Project, spread
from tosloc.localize.localizer import Localizer
from tosloc.train.experiment import ExperimentContext, fingerprint

STAGE_ONE, BOTH_STAGES = "stage-one", "both-stages"
OWN: Final = {STAGE_ONE: "TosLoc, stage one", BOTH_STAGES: "TosLoc, both stages"}
TITLES: Final[Mapping[str, str]] = {**baseline_runs.SYSTEMS, "dnnloc": "DNNLOC", **OWN}
"""What the systems are called."""
KINDS: Final = {"": ".3f", ": TosLoc - other": "+.3f", ": p of it": "p"}
"""What a table shows of a measure, and how a number of it is written."""
NOTE: Final = "p: paired t-test over the test reports, by Holm's correction over all pairs of systems on the project"
VERSIONS: Final = 6
REPORTS: Final = 5
ROUNDS: Final = 3
FITTED: Final = (16, 1)  # reports that a technique is fitted on, and stopped by, before it is timed
NOT_TIMED: Final = ("dnnloc",)
RATIO: Final = "ratio to stage one"
GROWTH: Final = "growth"
ALL_PROJECTS: Final = "all"  # in the place of a project: the versions of all of them
SPEED_NOTES: Final = (
    "processor time from a report to the ranking of all files, version and facts in memory; medians over reports"
    " that every system answers in turns. Times are of one shared machine: the ratios are the result",
    "a slope of 1 is growth in proportion to the files",
    "what is known of files is kept between reports, but nothing that an earlier report's answer left",
)


def accuracy(work: Workspace) -> Result:
    """Table 4."""
    techniques = list(baseline_runs.SYSTEMS)
    found: dict[str, dict[str, Evaluation]] = {}
    lacking: list[str] = []
    for project in work.each():
        work.rank(project, techniques)
        found[project.name] = {}
        for name in (*techniques, *OWN):
            title, folder = TITLES.get(name, name), work.run(project, name)
            if folder is not None:
                found[project.name][title] = work.evaluation(project, folder)
            elif name not in OWN:
                lacking.append(f"{title} on {project.name}")
    notes = [NOTE, *([f"no run of {', '.join(lacking)}"] if lacking else [])]
    return Result(
        accuracy_tables(
            found, [TITLES.get(name, name) for name in (*techniques, *OWN)], work.published
        ),
        notes,
    )


def accuracy_tables(
    found: Mapping[str, Mapping[str, Evaluation]], titles: Sequence[str], paper: Published
) -> list[PaperTable]:
    """MRR and MAP of every system on every project; what TosLoc, by both stages where there are two, is above each
    other, and p of that.
    """
    values: dict[tuple[str, str, str], float | None] = {}
    for project, evaluations in found.items():
        for title, evaluation in evaluations.items():
            values |= {
                ("MRR", title, project): evaluation.mrr,
                ("MAP", title, project): evaluation.map,
            }
        own = [title for title in OWN.values() if title in evaluations][-1:]
        for pair in compare_all(evaluations, all_pairs=True) if own else ():
            if pair.b == own[0]:  # which stands last
                for name, measure in (("MRR", RR), ("MAP", AP)):
                    one = pair.differences[measure]
                    values[f"{name}: TosLoc - other", pair.a, project] = one.difference
                    values[f"{name}: p of it", pair.a, project] = (
                        one.p_t if one.p_t_holm is None else one.p_t_holm
                    )
    heads = {head for head, _, _ in values}
    printed = paper.paper.get("MRR", {}).keys() | {title for of in found.values() for title in of}

    def table(head: str, form: str) -> PaperTable:
        def cell(title: str, project: str) -> Cell:
            return Cell(
                values.get((head, title, project)), form, paper.number(head, title, project)
            )

        return PaperTable(
            [head, *found], rows_of([one for one in titles if one in printed], found, cell)
        )

    shown = {f"{name}{kind}": form for kind, form in KINDS.items() for name in ("MRR", "MAP")}
    return [
        table(head, form) for head, form in shown.items() if head in heads or head in ("MRR", "MAP")
    ]


# Table 5

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
    techniques = [
        baseline_runs.technique(name) for name in baseline_runs.SYSTEMS if name not in NOT_TIMED
    ]
    found = {project.name: time_project(work, project, techniques) for project in work.each()}
    return Result(speed_tables(found, work.published), SPEED_NOTES)


def speed_tables(found: Mapping[str, Sequence[Timed]], paper: Published) -> list[PaperTable]:
    """Ratios, medians over the versions of a project, and growth, over those of all projects too."""
    columns = {**found, ALL_PROJECTS: [one for timed in found.values() for one in timed]}
    systems = {
        TITLES.get(name, name): name for one in columns[ALL_PROJECTS] for name in one.seconds
    }

    def ratio(title: str, project: str) -> Cell:
        name = systems[title]
        values = [
            one.median(name) / one.median(STAGE_ONE)
            for one in found[project]
            if name in one.seconds
        ]
        return Cell(
            float(np.median(values)) if values else None,
            ",.2f",
            paper.number(RATIO, title, project),
        )

    def growth(title: str, project: str) -> Cell:
        there = [one for one in columns[project] if systems[title] in one.seconds]
        slope = None
        if len({one.files for one in there}) > 1:  # least squares of log seconds on log files
            x, y = np.log([(one.files, one.median(systems[title])) for one in there]).T
            slope = float(np.polynomial.polynomial.polyfit(x, y, 1)[1])
        return Cell(slope, ",.2f", paper.number(GROWTH, title, project))

    others = [title for title, name in systems.items() if name != STAGE_ONE]
    return [
        PaperTable([f"{RATIO}, median", *found], rows_of(others, found, ratio)),
        PaperTable(
            [f"{GROWTH}: slope of log time on log files", *columns],
            rows_of(systems, columns, growth),
        ),
    ]


def time_project(
    work: Workspace, project: Project, techniques: Sequence[type[Baseline]]
) -> list[Timed]:
    """Times on the versions of a project."""
    trained, progress = work.trained(project), work.of(project)
    if trained is None:
        raise no_training(project)
    localizer = Localizer.load(trained)
    # another folder for other weights, techniques or reports
    key = content_key(
        localizer.model.provenance,
        [one.name for one in techniques],
        fingerprint(project.reports),
        REPORTS,
        ROUNDS,
    )
    folder = work.out / "speed" / project.name / key[:12]
    timed = []
    with (
        Repository(project.repo) as repo,
        ExperimentContext(project.config, repo, project.reports, progress, facts=False) as context,
    ):
        by_version = {case.version: case for case in context.dataset.cases}
        # opened after the last fix that was learned from, so that both stages answer them
        reports, reranker = (
            [case.report for case in context.parts["test"]],
            localizer.model.reranker,
        )
        later = [
            one
            for one in reports
            if reranker is None or one.opened_seconds >= reranker.trained_until
        ]
        versions = spread(list(by_version), VERSIONS)
        for version in track(versions, "versions timed", progress):
            path = folder / f"{version}.json"
            if not path.exists():
                answers = _answers(localizer, context, by_version[version], techniques, progress)
                seconds = time_answers(answers, spread(later or reports, REPORTS), progress)
                found = {"files": len(context.indexed.snapshot(version)), "seconds": seconds}
                write_text(path, json.dumps(found, indent=1) + "\n")
            timed.append(Timed(**json.loads(path.read_text(encoding="utf-8"))))
    return timed


def time_answers(
    answers: Mapping[str, Answer], reports: Sequence[BugReport], progress: Progress
) -> dict[str, list[float]]:
    """Median processor seconds of each system's answer to each report; all are asked once a round, in an order that
    changes. Before, each is asked once untimed, so that what it keeps of files is there.
    """
    names = list(answers)
    times = np.zeros((ROUNDS + 1, len(names), len(reports)))
    for place, report in enumerate(track(reports, "reports", progress)):
        for number in range(ROUNDS + 1):
            for column in np.roll(np.arange(len(names)), number).tolist():
                start = time.process_time()
                answers[names[column]](report)
                # a clock that stood still has no logarithm
                times[number, column, place] = max(time.process_time() - start, 1e-6)
    return dict(zip(names, np.median(times[1:], axis=0).tolist(), strict=True))


def _answers(
    localizer: Localizer,
    context: ExperimentContext,
    case: Case,
    techniques: Sequence[type[Baseline]],
    progress: Progress,
) -> dict[str, Answer]:
    """What answers a report by each system, with nothing but the case's before-fix version in memory."""
    version = localizer.open_version(context.indexed, case.version, progress)
    snapshot = context.indexed.snapshot(case.version)
    answers: dict[str, Answer] = {}
    next_cases = _as_if(context.dataset.cases, case, frozenset(snapshot.paths), sum(FITTED))
    train, validation = next_cases[: FITTED[0]], next_cases[FITTED[0] :]
    few = copy(context)
    few.parts = {"train": train, "validation": validation, "test": (case,)}
    looked_at = baseline_runs.context_for(few, techniques, ("test",), progress)
    for one in techniques:
        system = one(looked_at, context.config.run.seed)
        system.fit(train, validation, progress)
        answers[one.name] = partial(system.rank, version=snapshot)
    alone = copy(version)
    alone.reranking = None
    answers[STAGE_ONE] = lambda report: localizer.localization(report, alone)
    if localizer.model.reranker is not None and localizer.model.reranker.weight > 0:
        answers[BOTH_STAGES] = lambda report: localizer.localization(report, version)
    return answers


def _as_if(
    cases: Sequence[Case], case: Case, paths: frozenset[str], number: int
) -> tuple[Case, ...]:
    """The reports fixed from a case on (or, at the end, the last ones), with the case's version as theirs."""
    moved = []
    for other in cases:
        if fixed := tuple(path for path in other.fixed if path in paths):
            moved.append(replace(other, version=case.version, listed=fixed, fixed=fixed))
    later = sum(other.fixed_at >= case.fixed_at for other in moved)
    return tuple(moved[-max(later, number) :][:number])
