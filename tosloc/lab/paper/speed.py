"""Table 5: what a report costs, against the number of files searched.

A few versions of each project, spread over its time, are made ready one after the other (facts known, indexes in
memory), and a few test reports are asked of each: every system answers each report in turns, from the report to the
ranking of all files. What counts is the processor time, as a ratio to stage one's on the same version: absolute times
are of one machine, which other work may share, and say nothing. A technique that learns is fitted on a few reports
first, since what it has learned does not change what an answer costs.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from tosloc.config import Config
from tosloc.data.git import Repository
from tosloc.data.splits import Splits
from tosloc.experiment import ExperimentContext, fingerprint
from tosloc.files import write_text
from tosloc.lab.baseline_runs import BaselineContexts, Chosen, choose
from tosloc.lab.paper.accuracy import title_of
from tosloc.lab.paper.expected import Expected, Key
from tosloc.lab.paper.lengths import spread
from tosloc.lab.paper.projects import Project
from tosloc.lab.paper.tables import Cell, Outcome, PaperTable, Step
from tosloc.lab.paper.workspace import Workspace, by_project, is_trained, told
from tosloc.localizer import Localizer
from tosloc.records import BugReport, Case, Progress, Snapshot, silent

VERSIONS: Final = 6
REPORTS: Final = 5
ROUNDS: Final = 3
SLOW: Final = 2.0
"""Processor seconds of an answer beyond which one measurement of it is enough."""
MEMORY: Final = "cache_mb"
"""Setting of what a technique keeps of one report for the next: nothing here, as if each report were the first."""
FITTED: Final = (16, 1)
"""Reports that a technique is fitted on, and stopped by, before it is timed."""
STAGE_ONE: Final = "stage-one"
BOTH_STAGES: Final = "both-stages"
DEFAULT: Final = ("dreamloc", "buglocator", "brtracer", "bluir", "amalgam", "blia")
RATIO: Final = "ratio to stage one"
GROWTH: Final = "growth"
DRAWN: Final = (*DEFAULT[:1], STAGE_ONE, BOTH_STAGES)
"""Systems of the figure, as in the paper's table, where there are too many for one."""
FEW: Final = 4
POOLED: Final = "all"
"""In the place of a project: the versions of all of them."""

Answer = Callable[[BugReport], object]


@dataclass(frozen=True)
class Timed:
    """What reports cost on one version."""

    version: str
    files: int
    seconds: Mapping[str, Sequence[float]]
    """System -> median processor seconds of each report."""
    session: str
    """Which call measured it."""

    def median(self, system: str) -> float:
        """Median over the reports."""
        return float(np.median(self.seconds[system]))

    def ratio(self, system: str) -> float:
        """Median to stage one's."""
        return self.median(system) / self.median(STAGE_ONE)


def techniques(work: Workspace) -> list[str]:
    """The techniques that are timed beside stage one."""
    wanted = work.systems or DEFAULT
    return [name for name in wanted if name not in (STAGE_ONE, BOTH_STAGES)]


def without_memory(one: Chosen) -> Chosen:
    """The technique, such that no report is answered with the help of an earlier one."""
    if MEMORY not in type(one.settings).model_fields:
        return one
    return replace(one, settings=one.settings.model_copy(update={MEMORY: 0}))


def choice(work: Workspace) -> list[Chosen]:
    """The techniques that are timed, with their settings."""
    wanted = techniques(work)
    return [without_memory(one) for one in choose(wanted, folder=work.settings)] if wanted else []


def plan(work: Workspace) -> list[Step]:
    """What table 5 needs."""
    steps = []
    chosen = choice(work)
    for project in work.projects:
        trained = checkpoint_of(work, project)
        missing: Literal["to be made", "missing"] = "to be made" if work.make else "missing"
        steps.append(
            Step(
                f"{project.name}: {title_of(STAGE_ONE)}",
                trained or work.out / project.name,
                "finished" if trained else missing,
            )
        )
        number = work.versions or VERSIONS
        whole = None if trained is None else whole_path(work, project, trained, chosen)
        place, done = whole or folder_of(project, work.out), whole is not None and whole.exists()
        steps.append(
            Step(f"{project.name}: time reports on {number} versions", place, "finished" if done else "to be made")
        )
    return steps


def checkpoint_of(work: Workspace, project: Project) -> Path | None:
    """The folder of a finished training, of both stages if there is one."""
    return work.both_stages(project, is_trained) or work.trained(project)


def folder_of(project: Project, out: Path) -> Path:
    """Where the times of a project are kept."""
    return out / "speed" / project.name


def whole_path(work: Workspace, project: Project, checkpoint: Path, chosen: Sequence[Chosen]) -> Path:
    """The file of a project's finished times: another one for other weights, techniques, reports or versions."""
    trained = checkpoint / "checkpoint"
    told = [
        fingerprint(trained / "weights.json"),
        [fingerprint(record) for record in sorted(trained.glob("*/*.json"))],
        [[one.name, one.settings.model_dump(mode="json")] for one in chosen],
        fingerprint(project.reports),
        [work.versions or VERSIONS, REPORTS, ROUNDS],
    ]
    return folder_of(project, work.out) / f"{hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]}.json"


def measure(work: Workspace, expected: Expected, progress: Progress = silent) -> Outcome:
    """Table 5."""
    chosen = choice(work)
    found: dict[str, list[Timed]] = {}
    for project in by_project(work.projects, "projects", progress):
        checkpoint = checkpoint_of(work, project)
        if checkpoint is None and work.make:
            checkpoint = work.train(project, progress)
        if checkpoint is not None:
            found[project.name] = time_project(work, project, checkpoint, chosen, progress)
    return table(found, [one.name for one in chosen], expected)


def table(found: Mapping[str, Sequence[Timed]], techniques: Sequence[str], expected: Expected) -> Outcome:
    """Table 5 from what was measured."""
    present = {system for timed in found.values() for one in timed for system in one.seconds}
    systems = [name for name in (*techniques, STAGE_ONE, BOTH_STAGES) if name in present]
    beside = [name for name in systems if name != STAGE_ONE]
    drawn = systems if len(systems) <= FEW else [name for name in systems if name in DRAWN]
    paper = expected.paper
    ratios: list[list[str | Cell]] = []
    for system in beside:
        row: list[str | Cell] = [title_of(system)]
        for project, timed in found.items():
            key = (RATIO, title_of(system), project)
            values = [one.ratio(system) for one in timed if system in one.seconds]
            row.append(Cell(float(np.median(values)) if values else None, "ratio", key, paper.get(key)))
        ratios.append(row)
    pooled = [one for timed in found.values() for one in timed]
    growth: list[list[str | Cell]] = [
        [
            title_of(system),
            *(_slope(timed, system, project, paper) for project, timed in found.items()),
            _slope(pooled, system, POOLED, paper),
        ]
        for system in systems
    ]
    detail: list[list[str | Cell]] = []
    for project, timed in found.items():
        for one in timed:
            cells = [Cell(one.ratio(name) if name in one.seconds else None, "ratio") for name in beside]
            detail.append([f"{project} {one.version[:10]}", Cell(one.files, "count"), *cells])
    tables = [
        PaperTable([f"{RATIO}, median", *found], ratios),
        PaperTable([f"{GROWTH}: slope of log time on log files", *found, POOLED], growth),
        PaperTable([RATIO, "files searched", *map(title_of, beside)], detail),
    ]
    return Outcome(
        tables if ratios else tables[1:],
        _notes(pooled),
        {"table-5": _figure(found, drawn)} if pooled else {},
        {
            "times": {
                project: [
                    {"version": one.version, "files": one.files, "processor seconds": dict(one.seconds)}
                    for one in timed
                ]
                for project, timed in found.items()
            }
        },
    )


def _notes(pooled: Sequence[Timed]) -> list[str]:
    notes = [
        "processor time from a report to the ranking of all files, version and facts in memory; medians over reports"
        " that every system answers in turns. Times are of one shared machine: the ratios are the result",
        "a slope of 1 is growth in proportion to the files",
        "what is known of files is kept between reports, but nothing that an earlier report's answer left",
    ]
    if len({one.session for one in pooled}) > 1:
        notes.append("the versions were measured in several calls: ratios are of one call each, slopes go across them")
    return notes


def slope(files: Sequence[int], seconds: Sequence[float]) -> float | None:
    """Least squares of log seconds on log files; None where the sizes do not differ.

    >>> round(slope([1000, 2000, 4000], [0.1, 0.2, 0.4]), 3), slope([10, 10], [1.0, 2.0])
    (1.0, None)
    """
    if len(set(files)) < 2:
        return None
    x, y = np.log(files), np.log(seconds)
    return float(np.polynomial.polynomial.polyfit(x, y, 1)[1])


def _slope(timed: Sequence[Timed], system: str, project: str, paper: Mapping[Key, float]) -> Cell:
    has = [one for one in timed if system in one.seconds]
    key = (GROWTH, title_of(system), project)
    return Cell(slope([one.files for one in has], [one.median(system) for one in has]), "ratio", key, paper.get(key))


# Measuring


def time_project(
    work: Workspace, project: Project, checkpoint: Path, chosen: Sequence[Chosen], progress: Progress = silent
) -> list[Timed]:
    """Times on the versions of a project; each is kept when it is done, and all of them together at the end."""
    whole = whole_path(work, project, checkpoint, chosen)
    if whole.exists():
        return [Timed(**one) for one in json.loads(whole.read_text(encoding="utf-8"))]
    folder, tell, config = folder_of(project, work.out), told(progress, project), project.settings
    localizer, session = Localizer.load(checkpoint), secrets.token_hex(4)
    made = []
    with Repository(project.repo) as repo:
        experiment = ExperimentContext.set_up(config, repo, project.reports, project.store, tell, facts=False)
        try:
            cases = spread_cases(experiment.dataset.cases, work.versions or VERSIONS)
            known = known_later(localizer, [case.report for case in experiment.part("test")])
            reports = [known[place] for place in _places(len(known), REPORTS)]
            for number, case in enumerate(cases):
                tell("versions timed", number, len(cases))
                path = whole.with_name(f"{whole.stem}-{case.version[:12]}.json")
                timed = _read(path)
                if timed is None:
                    timed = _time(
                        localizer, config, experiment, case, chosen, reports, folder / "work" / path.stem, session, tell
                    )
                    write_text(path, json.dumps(asdict(timed), indent=1) + "\n")
                made.append(timed)
            tell("versions timed", len(cases), len(cases))
        finally:
            experiment.indexed.close()
    made.sort(key=lambda one: (one.files, one.version))
    write_text(whole, json.dumps([asdict(one) for one in made], indent=1) + "\n")
    shutil.rmtree(folder / "work", ignore_errors=True)
    return made


def known_later(localizer: Localizer, reports: Sequence[BugReport]) -> list[BugReport]:
    """The reports opened after the last fix that term vectors learned from, which both stages answer; else all."""
    reranker = localizer.reranker_
    return [one for one in reports if reranker is None or reranker.trained_before(one.opened_seconds)] or list(reports)


def spread_cases(cases: Sequence[Case], number: int) -> list[Case]:
    """So many cases of different versions, evenly from the first fix to the last."""
    by_version = {case.version: case for case in cases}
    return [by_version[version] for version in spread(list(by_version), number)]


def _places(length: int, number: int) -> list[int]:
    return sorted({round(place) for place in np.linspace(0, length - 1, min(number, length)).tolist()})


def _time(
    localizer: Localizer,
    config: Config,
    experiment: ExperimentContext,
    case: Case,
    chosen: Sequence[Chosen],
    reports: Sequence[BugReport],
    work: Path,
    session: str,
    progress: Progress,
) -> Timed:
    project = experiment.indexed
    snapshot = project.snapshot(case.version)
    localizer.open(project, case.version, progress)
    context = localizer.version_
    assert context is not None
    alone = replace(context, reranking=None)
    answers: dict[str, Answer] = {STAGE_ONE: lambda report: localizer.answer(report, alone)}
    if localizer.reranker_ is not None and localizer.reranker_.weight > 0:
        answers[BOTH_STAGES] = lambda report: localizer.answer(report, context)
    answers |= techniques_on(chosen, config, experiment, case, snapshot, work, progress)
    seconds = {name: list[float]() for name in answers}
    last: dict[str, float] = {}
    for place, report in enumerate(reports):
        for name, median in in_turns(answers, report, last).items():
            seconds[name].append(median)
        progress(f"reports of version {case.version[:10]}", place + 1, len(reports))
    return Timed(case.version, len(snapshot), seconds, session)


def techniques_on(
    chosen: Sequence[Chosen],
    config: Config,
    experiment: ExperimentContext,
    case: Case,
    snapshot: Snapshot,
    work: Path,
    progress: Progress = silent,
) -> dict[str, Answer]:
    """Techniques, ready to rank the files of one version, with nothing but that version in memory.

    Those that learn are fitted on the reports fixed next, as if they had been asked of this version.
    """
    if not chosen:
        return {}
    near = _as_if(experiment.dataset.cases, case, frozenset(snapshot.paths), sum(FITTED))
    few = replace(experiment, splits=Splits(near[: FITTED[0]], near[FITTED[0] :], (case,)))
    contexts = BaselineContexts(few, config, chosen, ("test",), progress)
    answers: dict[str, Answer] = {}
    for one in chosen:
        system = one.kind(one.settings, contexts.context(one), config.run.seed)
        if one.kind.learned:
            system.fit(few.splits.train, few.splits.validation, work / one.name, progress)
        answers[one.name] = partial(system.rank, snapshot=snapshot)
    return answers


def _as_if(cases: Sequence[Case], case: Case, paths: frozenset[str], number: int) -> tuple[Case, ...]:
    """The reports fixed from a case on (or, at the end, the last ones), with the case's version as theirs."""
    moved = []
    for other in cases:
        fixed = tuple(path for path in other.fixed if path in paths)
        if fixed:
            moved.append(replace(other, version=case.version, listed=fixed, fixed=fixed))
    start = next((place for place, other in enumerate(moved) if other.fixed_at >= case.fixed_at), len(moved))
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
        for place in np.roll(np.arange(len(names)), number).tolist():
            name = names[place]
            if not number or last[name] <= SLOW:
                last[name] = times[number, place] = _seconds(answers[name], report)
    return {name: float(value) for name, value in zip(names, np.nanmedian(times, axis=0), strict=True)}


def _seconds(answer: Answer, report: BugReport) -> float:
    start = time.process_time()
    answer(report)
    return max(time.process_time() - start, 1e-6)  # a clock that stood still has no logarithm


def _read(path: Path) -> Timed | None:
    try:
        return Timed(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _figure(found: Mapping[str, Sequence[Timed]], systems: Sequence[str]) -> Callable[[], Any]:
    def draw() -> Any:
        from tosloc.lab.paper.growth_figure import growth_figure

        unit = float(np.median([one.median(STAGE_ONE) for timed in found.values() for one in timed]))
        return growth_figure(
            {
                title_of(system): {
                    project: [(one.files, one.median(system) / unit) for one in timed if system in one.seconds]
                    for project, timed in found.items()
                }
                for system in systems
            }
        )

    return draw
