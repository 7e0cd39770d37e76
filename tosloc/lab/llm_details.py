"""Measure how well functions and suspect changes are found after a language model's order.

The answers are files, as ``tosloc.lab.llm_tasks`` reads them. Each answer is used like an answer
with ``--rerank llm``: the files get the model's order, and functions and suspect changes follow
from that order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from tosloc.code.functions import FunctionFacts
from tosloc.core.errors import RunError
from tosloc.core.progress import Progress, ignore_progress
from tosloc.evaluate.statistics import Difference, Interval
from tosloc.git.patches import FilePatch, read_patches
from tosloc.git.repository import Repository
from tosloc.lab.llm_tasks import (
    GUESS,
    OWN,
    TASKS_FILE,
    Task,
    answer_by_paths,
    find_kinds,
    read_tasks,
)
from tosloc.lab.projects import Project
from tosloc.lab.suspects import find_inducing_commits
from tosloc.localize.localizer import Localizer
from tosloc.localize.model import Model
from tosloc.localize.question import Question
from tosloc.rank.explain import FUNCTION_DEPTH
from tosloc.rerank.llm.reranker import LanguageModelReranker
from tosloc.train.experiment import ExperimentContext
from tosloc.train.function_runs import changed_functions

ANY_FUNCTION_DEPTHS: Final = (1, 5, 10)
"""Numbers of first functions that must contain one changed function."""
ALL_FUNCTIONS_DEPTHS: Final = (5, 10)
"""Numbers of first functions that must contain all changed functions."""
FUNCTIONS_OF_FILE: Final = max(ALL_FUNCTIONS_DEPTHS)
"""Number of functions that are ranked in each file."""
SUSPECT_DEPTHS: Final = (1, 5)
"""Numbers of first suspect changes that must contain a true one."""
MEASURES: Final = (
    *(f"a changed function within {depth}" for depth in ANY_FUNCTION_DEPTHS),
    *(f"all changed functions within {depth}" for depth in ALL_FUNCTIONS_DEPTHS),
    *(f"an introducing commit within {depth}" for depth in SUSPECT_DEPTHS),
)
"""Names of the measures. A task without a truth for a measure does not count in it."""


class Finding(NamedTuple):
    """How often one kind of answer succeeds in one measure."""

    measure: str
    tasks: int
    """Number of tasks that have a truth for this measure."""
    mean: float
    """Share of these tasks in which the answer succeeds."""
    interval: Interval | None
    difference: Difference
    """Paired difference of the share from the share of TosLoc's own ranking."""


def judge_details(
    projects: Iterable[Project],
    prompts: Path,
    answers: Path,
    progress: Progress = ignore_progress,
) -> dict[str, list[Finding]]:
    """Return kind of answer -> its results by measure, including TosLoc's own ranking.

    Guesses without a list of files are left out. The truth consists of the functions that the fix
    changed, and of the commits that last wrote the lines which it changed or removed. Raises
    RunError for a task whose project is not among ``projects``, and the errors of ``read_tasks``.
    """
    tasks = read_tasks(prompts / TASKS_FILE)
    by_name = {project.name: project for project in projects}
    missing = sorted({task.project for task in tasks} - set(by_name))
    if missing:
        raise RunError(f"the list of projects lacks {missing[0]}, which {prompts} asks about")
    kinds = [kind for kind in find_kinds(prompts, answers) if kind != GUESS]
    rows: dict[str, list[Values]] = {kind: [] for kind in (OWN, *kinds)}
    judged = 0
    for name, project in by_name.items():
        tasks_of_project = [task for task in tasks if task.project == name]
        if not tasks_of_project:
            continue
        with (
            Repository(project.repo) as repo,
            ExperimentContext(project.config, repo, project.reports, progress) as experiment,
        ):
            for task in tasks_of_project:
                judged_task = _JudgedTask(experiment, task)
                rows[OWN].append(judged_task.judge(None))
                for kind in kinds:
                    prompt = prompts / kind / f"{task.name}.txt"
                    answer = answer_by_paths(prompt, answers / kind / prompt.name)
                    rows[kind].append(judged_task.judge(answer))
                judged += 1
                progress("judging answers", judged, len(tasks))
    return {kind: _compare(rows[OWN], values) for kind, values in rows.items()}


Values: TypeAlias = list[bool | None]
"""For each measure, whether an answer succeeds; None for a measure without a truth."""


class _JudgedTask:
    """A task with its truth."""

    def __init__(self, experiment: ExperimentContext, task: Task) -> None:
        """Find the truth. Raises RunError if the report of the task is not among the reports."""
        cases = {case.report.id: case for case in experiment.dataset.cases}
        if task.report not in cases:
            raise RunError(f"{experiment.reports}: it lacks the report {task.report}")
        case = cases[task.report]
        repository = experiment.repo
        self._indexed = experiment.indexed
        self._question = Question(case.report, commit=task.commit)
        version = Model().open_version(experiment.indexed, task.commit)
        files = [version.snapshot.paths.index(path) for path in task.fixed]
        facts = dict(zip(task.fixed, version.functions_of(files), strict=True))
        listed = experiment.dataset.labelled[task.report].functions
        self._functions = frozenset(changed_functions(listed, facts).in_version)
        self._inducing: Collection[str] = ()
        if case.fix_commit:
            self._inducing = find_inducing_commits(repository, case)
            if not listed:
                patches = read_patches(repository, [case.fix_commit], task.fixed).files
                self._functions = frozenset(functions_of_patches(patches, facts))

    def judge(self, text: str | None) -> Values:
        """Return the values of ``MEASURES`` for an answer, or for TosLoc alone if it is None."""
        reranker = None if text is None else LanguageModelReranker.with_answer(text)
        localizer = Localizer(Model(), self._indexed, reranker)
        values: Values = []
        ranked = self._rank_functions(localizer)
        truth = self._functions
        for depth in ANY_FUNCTION_DEPTHS:
            values.append(bool(truth & set(ranked[:depth])) if truth else None)
        for depth in ALL_FUNCTIONS_DEPTHS:
            values.append(truth <= set(ranked[:depth]) if truth else None)
        rank = self._rank_of_suspect(localizer)
        for depth in SUSPECT_DEPTHS:
            is_found = rank is not None and rank <= depth
            values.append(is_found if self._inducing else None)
        return values

    def _rank_functions(self, localizer: Localizer) -> list[str]:
        """Return the functions of the first files as ``path::name``, the most suspicious first."""
        question = replace(
            self._question, top=FUNCTION_DEPTH, functions=FUNCTIONS_OF_FILE, suspects=False
        )
        score_of_name: dict[str, float] = {}
        for hit in localizer.answer(question).hits:
            for function in hit.functions:
                score_of_name[f"{hit.path}::{function.name}"] = function.score
        return sorted(score_of_name, key=lambda name: -score_of_name[name])

    def _rank_of_suspect(self, localizer: Localizer) -> int | None:
        """Return the rank of the first true suspect change; None if no true one is a candidate."""
        candidates = localizer.find_suspects(self._question)
        # Of equal candidates the newest comes first.
        newest_first = candidates.commits[::-1]
        values = candidates.scores()[::-1]
        for rank, place in enumerate(np.argsort(-values, kind="stable").tolist(), start=1):
            if newest_first[place] in self._inducing:
                return rank
        return None


def functions_of_patches(
    patches: Iterable[FilePatch], facts: Mapping[str, FunctionFacts]
) -> Iterator[str]:
    """Yield the innermost functions and classes, as ``path::name``, that a fix changes.

    Functions that the fix adds, and changes outside of all functions, are left out.
    """
    for patch in patches:
        functions = facts[patch.path]
        spans = list(zip(functions.starts.tolist(), functions.ends.tolist(), strict=True))
        for before, after in _changed_places(patch):
            around = []
            for number, (start, end) in enumerate(spans):
                if start <= before and after <= end:
                    around.append((end - start, number))
            if around:
                yield f"{patch.path}::{functions.names[min(around)[1]]}"


def _changed_places(patch: FilePatch) -> Iterator[tuple[int, int]]:
    """Yield first and last line of each change by a patch, in the file before the change.

    A removed line is yielded as a pair of equal lines. Where lines are only added, the pair is the
    lines around the addition.
    """
    for hunk in patch.hunks:
        number = hunk.old_start
        replaces = False
        for line in hunk.lines:
            sign = line[0]
            if sign == "-":
                yield number, number
            elif sign == "+" and not replaces and line[1:].strip():
                yield number - 1, number
            if sign != "+":
                number += 1
                replaces = sign == "-"


def _compare(own: Sequence[Values], values: Sequence[Values]) -> list[Finding]:
    """Return the results of a kind of answer, compared with TosLoc's own ranking, by measure."""
    findings = []
    for place, measure in enumerate(MEASURES):
        pairs = []
        for before, after in zip(own, values, strict=True):
            if before[place] is not None:
                pairs.append((before[place], after[place]))
        table = np.array(pairs, dtype=np.float64).reshape(-1, 2)
        if not len(table):
            continue
        findings.append(
            Finding(
                measure,
                len(table),
                float(table[:, 1].mean()),
                Interval.of_mean(table[:, 1]),
                Difference.between(table[:, 0], table[:, 1], yes_or_no=True),
            )
        )
    return findings


def details_as_values(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return results as JSON values."""
    return [finding._asdict() | {"difference": asdict(finding.difference)} for finding in findings]
