"""Tables 4 and 5: the accuracy and the cost of every system on every project.

All systems rank all files of the version. Table 4 also compares TosLoc with each other system.

Table 5 shows processor time as a ratio to stage one's, because absolute times depend on the
machine, and its growth with the number of files. A few versions of each project are opened one
after the other, and all systems answer a few test reports in turn. A technique that learns is first
fitted on a few reports. The times of a version are cached under ``OUT/speed``.
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

from tosloc.core.io import content_key, fingerprint, write_text
from tosloc.core.progress import Progress
from tosloc.core.reports import BugReport, Case
from tosloc.evaluate.compare import compare_all
from tosloc.evaluate.measures import AP, RR, Evaluation, Measure
from tosloc.git.repository import Repository
from tosloc.lab import baseline_runs
from tosloc.lab.baselines.context import Baseline
from tosloc.lab.paper.workspace import (
    BOTH_STAGES_SYSTEM,
    STAGE_ONE_SYSTEM,
    Cell,
    PaperResult,
    PaperTable,
    Published,
    Workspace,
    missing_training_error,
    table_rows,
)
from tosloc.lab.projects import Project, spread_evenly
from tosloc.lab.tracking import track
from tosloc.localize.localizer import Localizer
from tosloc.localize.question import Question
from tosloc.train.experiment import ExperimentContext

OWN_TITLES: Final = {
    STAGE_ONE_SYSTEM: "TosLoc, stage one",
    BOTH_STAGES_SYSTEM: "TosLoc, both stages",
}
TITLES: Final[Mapping[str, str]] = {
    **baseline_runs.SYSTEMS,
    "dnnloc": "DNNLOC",
    **OWN_TITLES,
}
"""Title of each system by its name."""
MEASURES: Final[Mapping[str, Measure]] = {"MRR": RR, "MAP": AP}
DIFFERENCE: Final = ": TosLoc - other"
"""End of the head of a table of differences."""
P_VALUE: Final = ": p of it"
"""End of the head of a table of p-values."""
FORM_BY_KIND: Final = {"": ".3f", DIFFERENCE: "+.3f", P_VALUE: "p"}
"""Format of the numbers in each kind of table of a measure, by the end of the table's head."""
P_VALUE_NOTE: Final = (
    "p: paired t-test over the test reports, with Holm's correction over all pairs of systems of"
    " the project"
)
VERSIONS: Final = 6
"""Number of versions of a project that are timed."""
REPORTS: Final = 5
"""Number of reports that every system answers on a version."""
ROUNDS: Final = 3
"""Number of times that every system answers each report."""
FITTED_REPORTS: Final = (16, 1)
"""Numbers of training and validation reports with which a technique is fitted for timing."""
NOT_TIMED: Final = ("dnnloc",)
RATIO: Final = "ratio to stage one"
GROWTH: Final = "growth"
ALL_PROJECTS: Final = "all"
"""Column of the versions of all projects."""
SPEED_NOTES: Final = (
    "processor time from a report to the ranking of all files, with the version and its facts in"
    " memory: the median over reports that all systems answer in turns. The times are from one"
    " shared machine, so only their ratios are results",
    "a slope of 1 means growth in proportion to the number of files",
    "between reports, systems cache data about files but nothing about earlier reports",
)


def measure_accuracy(work: Workspace) -> PaperResult:
    """Return table 4, MRR and MAP of every system."""
    systems = [*baseline_runs.SYSTEMS, *OWN_TITLES]
    evaluations: dict[str, dict[str, Evaluation]] = {}
    missing: list[str] = []
    for project in work.track_projects():
        work.make_missing_runs(project, list(baseline_runs.SYSTEMS))
        evaluations[project.name] = {}
        for system in systems:
            title = TITLES.get(system, system)
            folder = work.run_folder(project, system)
            if folder is not None:
                evaluations[project.name][title] = work.evaluate_run(project, folder)
            elif system not in OWN_TITLES:
                missing.append(f"{title} on {project.name}")
    notes = [P_VALUE_NOTE]
    if missing:
        notes.append(f"no run of {', '.join(missing)}")
    titles = [TITLES.get(system, system) for system in systems]
    return PaperResult(accuracy_tables(evaluations, titles, work.published), notes)


def accuracy_tables(
    evaluations: Mapping[str, Mapping[str, Evaluation]],
    titles: Sequence[str],
    published: Published,
) -> list[PaperTable]:
    """Return the tables of MRR and MAP, of TosLoc's differences and of their p-values.

    On projects with two stages, TosLoc is compared with both stages. ``evaluations`` maps projects
    to titles of systems to evaluations; the rows are in the order of ``titles``.
    """
    values: dict[tuple[str, str, str], float | None] = {}
    row_titles = set(published.paper.get("MRR", {}))
    for project, project_evaluations in evaluations.items():
        row_titles.update(project_evaluations)
        for title, evaluation in project_evaluations.items():
            values["MRR", title, project] = evaluation.mrr
            values["MAP", title, project] = evaluation.map
        for (head, title), value in _tosloc_differences(project_evaluations).items():
            values[head, title, project] = value
    heads_with_values = {head for head, _, _ in values}
    names = [title for title in titles if title in row_titles]

    def table(head: str, form: str) -> PaperTable:
        def cell(title: str, project: str) -> Cell:
            value = values.get((head, title, project))
            return Cell(value, form, published.number(head, title, project))

        return PaperTable([head, *evaluations], table_rows(names, evaluations, cell))

    tables: list[PaperTable] = []
    for kind, form in FORM_BY_KIND.items():
        for name in MEASURES:
            head = f"{name}{kind}"
            if head in heads_with_values or not kind:
                tables.append(table(head, form))
    return tables


def _tosloc_differences(
    evaluations: Mapping[str, Evaluation],
) -> dict[tuple[str, str], float | None]:
    """Return the differences of TosLoc from each other system, and p-values, on one project.

    Keys are the head of a table and the title of the other system.
    """
    values: dict[tuple[str, str], float | None] = {}
    own_titles = [title for title in OWN_TITLES.values() if title in evaluations]
    if not own_titles:
        return values
    for pair in compare_all(evaluations, all_pairs=True):
        # TosLoc's best system is the last of the evaluations, and so the second of its pairs.
        if pair.b == own_titles[-1]:
            for name, measure in MEASURES.items():
                difference = pair.differences[measure]
                values[f"{name}{DIFFERENCE}", pair.a] = difference.difference
                p = difference.p_t if difference.p_t_holm is None else difference.p_t_holm
                values[f"{name}{P_VALUE}", pair.a] = p
    return values


# Table 5

Answer = Callable[[BugReport], object]
"""A function that ranks all files of one version for a report."""


@dataclass(frozen=True)
class VersionTimes:
    """Processor times of reports on one version."""

    files: int
    """Number of files of the version."""
    seconds: Mapping[str, Sequence[float]]
    """System -> median processor seconds of each report."""

    def median(self, system: str) -> float:
        """Return a system's median time over the reports."""
        return float(np.median(self.seconds[system]))


def measure_speed(work: Workspace) -> PaperResult:
    """Return table 5, the cost of a report with every system."""
    techniques = [
        baseline_runs.technique(name) for name in baseline_runs.SYSTEMS if name not in NOT_TIMED
    ]
    times = {
        project.name: time_project(work, project, techniques) for project in work.track_projects()
    }
    return PaperResult(speed_tables(times, work.published), SPEED_NOTES)


def speed_tables(
    times: Mapping[str, Sequence[VersionTimes]], published: Published
) -> list[PaperTable]:
    """Return the tables of ratios and of growth.

    Ratios are medians over the versions of a project. Growth is computed over the versions of each
    project, and over the versions of all projects.
    """
    all_times: list[VersionTimes] = []
    for project_times in times.values():
        all_times += project_times
    columns = {**times, ALL_PROJECTS: all_times}
    system_by_title: dict[str, str] = {}
    for version_times in all_times:
        for system in version_times.seconds:
            system_by_title[TITLES.get(system, system)] = system

    def ratio(title: str, project: str) -> Cell:
        value = _median_ratio(times[project], system_by_title[title])
        return Cell(value, ",.2f", published.number(RATIO, title, project))

    def growth(title: str, project: str) -> Cell:
        value = _growth(columns[project], system_by_title[title])
        return Cell(value, ",.2f", published.number(GROWTH, title, project))

    others = [title for title, system in system_by_title.items() if system != STAGE_ONE_SYSTEM]
    growth_head = f"{GROWTH}: slope of log time on log files"
    return [
        PaperTable([f"{RATIO}, median", *times], table_rows(others, times, ratio)),
        PaperTable([growth_head, *columns], table_rows(system_by_title, columns, growth)),
    ]


def _median_ratio(times: Sequence[VersionTimes], system: str) -> float | None:
    ratios = [
        version_times.median(system) / version_times.median(STAGE_ONE_SYSTEM)
        for version_times in times
        if system in version_times.seconds
    ]
    return float(np.median(ratios)) if ratios else None


def _growth(times: Sequence[VersionTimes], system: str) -> float | None:
    """Return the slope of log(seconds) over log(files), by least squares.

    Return None if all versions have the same number of files.
    """
    points = [
        (version_times.files, version_times.median(system))
        for version_times in times
        if system in version_times.seconds
    ]
    if len({files for files, _ in points}) < 2:
        return None
    log_files, log_seconds = np.log(points).T
    return float(np.polynomial.polynomial.polyfit(log_files, log_seconds, 1)[1])


def time_project(
    work: Workspace, project: Project, techniques: Sequence[type[Baseline]]
) -> list[VersionTimes]:
    """Return the times on a few versions of a project; times that are not cached are measured."""
    trained = work.training_folder(project)
    if trained is None:
        raise missing_training_error(project)
    progress = work.project_progress(project)
    localizer = Localizer.load(trained)
    # Other weights, techniques or reports have another folder.
    key = content_key(
        localizer.model.provenance,
        [technique.name for technique in techniques],
        fingerprint(project.reports),
        REPORTS,
        ROUNDS,
    )
    folder = work.out / "speed" / project.name / key[:12]
    times: list[VersionTimes] = []
    with (
        Repository(project.repo) as repo,
        ExperimentContext(project.config, repo, project.reports, progress, facts=False) as context,
    ):
        case_by_commit = {case.before_commit: case for case in context.dataset.cases}
        reports = spread_evenly(_answerable_reports(localizer, context), REPORTS)
        commits = spread_evenly(list(case_by_commit), VERSIONS)
        for commit in track(commits, "timing versions", progress):
            path = folder / f"{commit}.json"
            if not path.exists():
                case = case_by_commit[commit]
                answers = _open_systems(localizer, context, case, techniques, progress)
                seconds = time_answers(answers, reports, progress)
                values = {"files": len(context.indexed.snapshot(commit)), "seconds": seconds}
                write_text(path, json.dumps(values, indent=1) + "\n")
            times.append(VersionTimes(**json.loads(path.read_text(encoding="utf-8"))))
    return times


def _answerable_reports(localizer: Localizer, context: ExperimentContext) -> list[BugReport]:
    """Return the test reports that both stages rank, or all test reports if there are none.

    A reranker ranks only reports that were opened after the last fix that it learned from.
    """
    reports = [case.report for case in context.parts["test"]]
    reranker = localizer.model.reranker
    if reranker is None:
        return reports
    later = [report for report in reports if report.opened_seconds >= reranker.trained_until]
    return later or reports


def time_answers(
    answers: Mapping[str, Answer], reports: Sequence[BugReport], progress: Progress
) -> dict[str, list[float]]:
    """Return the median processor seconds of each system's answer to each report.

    In each round all systems answer, in a changing order. An additional first round is not timed,
    so that the systems can cache what they need of the files.
    """
    names = list(answers)
    times = np.zeros((ROUNDS + 1, len(names), len(reports)))
    for report_index, report in enumerate(track(reports, "timing reports", progress)):
        for round_number in range(ROUNDS + 1):
            for system_index in np.roll(np.arange(len(names)), round_number).tolist():
                start = time.process_time()
                answers[names[system_index]](report)
                seconds = time.process_time() - start
                # The logarithm of the time must exist even if the clock did not move.
                times[round_number, system_index, report_index] = max(seconds, 1e-6)
    return dict(zip(names, np.median(times[1:], axis=0).tolist(), strict=True))


def _open_systems(
    localizer: Localizer,
    context: ExperimentContext,
    case: Case,
    techniques: Sequence[type[Baseline]],
    progress: Progress,
) -> dict[str, Answer]:
    """Return system -> function that ranks the case's before-fix version for a report.

    Only this version is in memory.
    """
    version = localizer.model.open_version(context.indexed, case.before_commit, progress)
    snapshot = context.indexed.snapshot(case.before_commit)
    train_number, validation_number = FITTED_REPORTS
    cases = _move_cases(
        context.dataset.cases, case, frozenset(snapshot.paths), train_number + validation_number
    )
    train = cases[:train_number]
    validation = cases[train_number:]
    small_experiment = copy(context)
    small_experiment.parts = {"train": train, "validation": validation, "test": (case,)}
    baseline_context = baseline_runs.context_for(small_experiment, techniques, ("test",), progress)
    answers: dict[str, Answer] = {}
    for technique in techniques:
        system = technique(baseline_context, context.config.run.seed)
        system.fit(train, validation, progress)
        answers[technique.name] = partial(system.rank, version=snapshot)
    stage_one_version = copy(version)
    stage_one_version.reranking = None
    answers[STAGE_ONE_SYSTEM] = lambda report: localizer.rank(Question(report), stage_one_version)
    if localizer.model.reranker is not None and localizer.model.reranker.weight > 0:
        answers[BOTH_STAGES_SYSTEM] = lambda report: localizer.rank(Question(report), version)
    return answers


def _move_cases(
    cases: Sequence[Case], case: Case, paths: frozenset[str], number: int
) -> tuple[Case, ...]:
    """Return the ``number`` cases fixed next from ``case`` on, moved to the version of ``case``.

    Near the end of the history, the last cases are returned. Cases without a fixed file among the
    ``paths`` of the version are left out.
    """
    moved_cases: list[Case] = []
    for other in cases:
        fixed = tuple(path for path in other.fixed if path in paths)
        if fixed:
            moved_cases.append(
                replace(other, before_commit=case.before_commit, listed=fixed, fixed=fixed)
            )
    later = sum(moved.fixed_at >= case.fixed_at for moved in moved_cases)
    return tuple(moved_cases[-max(later, number) :][:number])
