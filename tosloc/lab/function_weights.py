"""Learn the weights of the signs of functions from the functions that fixes changed.

The files of each project are ranked by weights that were learned without it, in the runs of
``tosloc lab pretrain``. The functions of each project are also judged by sign weights that were
learned without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from tosloc.core.arrays import BoolArray, Float32Array, FloatArray, LongArray
from tosloc.core.config import Config
from tosloc.core.errors import ToslocError
from tosloc.core.progress import Progress, ignore_progress
from tosloc.evaluate.runs import RunFolder
from tosloc.git.repository import Repository
from tosloc.lab.pretraining import LEFT_OUT_FOLDER, run_calls
from tosloc.lab.projects import Project, spread_evenly
from tosloc.rank.explain import SIGN_WEIGHTS, function_signs
from tosloc.rank.model.fitting import fit_listwise
from tosloc.rank.model.ranking_lists import RankingLists
from tosloc.retrieval.query import Query
from tosloc.retrieval.version_index import VersionIndex
from tosloc.train.experiment import ExperimentContext
from tosloc.train.function_runs import FirstFiles, read_judged

MAX_REPORTS: Final = 25
"""Largest number of a project's reports that are used, spread evenly over its history."""
DEPTHS: Final = (1, 5, 10)
"""Depths at which a ranking of functions is judged."""


@dataclass(frozen=True, eq=False)
class FunctionTable:
    """Signs of the functions of one report's first files."""

    signs: Float32Array
    """(J, K) values in the order of ``SIGN_WEIGHTS``."""
    name_ids: LongArray
    """(J,) number of each function's full name; overloads share theirs."""
    changed: BoolArray
    """(J,) whether the fix changed the function."""
    missing: int
    """Number of changed functions in other files, which no weights can find."""

    def ranks(self, weights: FloatArray) -> list[int]:
        """Return the ranks of the changed functions, from 1, by weights (K,)."""
        order = np.argsort(-(self.signs @ weights), kind="stable")
        # Overloads count once, at the best of their ranks.
        _, first = np.unique(self.name_ids[order], return_index=True)
        distinct = order[np.sort(first)]
        return (np.flatnonzero(self.changed[distinct]) + 1).tolist()


@dataclass(frozen=True)
class FunctionQuality:
    """Quality of a ranking of functions by some sign weights: means over reports."""

    accuracy: Mapping[int, float]
    """Depth in ``DEPTHS`` -> share of reports with all changed functions within it."""
    mrr: float

    def as_dict(self) -> dict[str, float]:
        """Return plain values by name."""
        shares = {f"acc@{depth}": share for depth, share in self.accuracy.items()}
        return {**shares, "mrr": self.mrr}


def judge_functions(
    tables: Iterable[FunctionTable], weights: Sequence[FloatArray]
) -> FunctionQuality:
    """Return the quality of a ranking in which each table has its own weights (K,)."""
    hits: dict[int, list[bool]] = {depth: [] for depth in DEPTHS}
    reciprocal_ranks: list[float] = []
    for table, table_weights in zip(tables, weights, strict=True):
        ranks = table.ranks(table_weights)
        for depth in DEPTHS:
            hits[depth].append(not table.missing and max(ranks) <= depth)
        reciprocal_ranks.append(1 / ranks[0] if ranks else 0.0)
    accuracy = {depth: float(np.mean(hits[depth])) for depth in DEPTHS}
    return FunctionQuality(accuracy, float(np.mean(reciprocal_ranks)))


def fit_signs(tables: Iterable[FunctionTable]) -> FloatArray:
    """Return the weights (K,) of the signs that minimise stage one's listwise loss."""
    lists = []
    for table in tables:
        if table.changed.any() and not table.changed.all():
            ones = np.ones(len(table.changed), dtype=np.float32)
            lists.append((table.signs, table.changed, ones))
    if not lists:
        raise ToslocError("no report is left whose fix changed a function of its first files")
    return fit_listwise(RankingLists.of(lists))


def learn_function_weights(
    projects: Sequence[Project],
    work: Path,
    config: Config,
    folds: int,
    progress: Progress = ignore_progress,
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the weights of the signs, with their quality on projects that are left out in turn.

    ``work`` is the folder of a finished ``tosloc lab pretrain`` of these projects. The first result
    contains plain values: the number of reports and projects, the weights, the quality of the
    learned weights on left-out projects, and the quality of the current weights on the same
    reports. The second result maps projects that are left out to the reason. Raises ToslocError if
    ``work`` is not such a folder, and for fewer than two projects.
    """
    if not (work / LEFT_OUT_FOLDER).is_dir():
        raise ToslocError(
            f"{work} contains no runs of left-out projects", hint="run tosloc lab pretrain first"
        )
    calls = [partial(_try_project, project, work, config) for project in projects]
    results = run_calls(calls, config.run.jobs, "reading functions of projects", progress)
    by_project: list[list[FunctionTable]] = []
    failed: dict[str, str] = {}
    for project, result in zip(projects, results, strict=True):
        if isinstance(result, str):
            failed[project.name] = result
        elif result:
            by_project.append(result)
    if len(by_project) < 2:
        raise ToslocError(
            "fewer than two projects have reports that list changed functions",
            hint="name more {projects}",
        )
    largest_first = sorted(by_project, key=len, reverse=True)
    parts = [largest_first[start::folds] for start in range(min(folds, len(largest_first)))]
    judged: list[FunctionTable] = []
    weights: list[FloatArray] = []
    for part in parts:
        left_out = {id(tables) for tables in part}
        others = [tables for tables in largest_first if id(tables) not in left_out]
        part_weights = fit_signs(_joined(others))
        for table in _joined(part):
            judged.append(table)
            weights.append(part_weights)
    today = np.array(list(SIGN_WEIGHTS.values()))
    learned = fit_signs(judged).tolist()
    return {
        "projects": len(by_project),
        "reports": len(judged),
        "weights": dict(zip(SIGN_WEIGHTS, learned, strict=True)),
        "left out": judge_functions(judged, weights).as_dict(),
        "today": judge_functions(judged, [today] * len(judged)).as_dict(),
    }, failed


def _joined(projects: Iterable[Sequence[FunctionTable]]) -> Iterator[FunctionTable]:
    for tables in projects:
        yield from tables


def _try_project(project: Project, work: Path, config: Config) -> list[FunctionTable] | str:
    """Return the tables of a project, or the reason why it has none."""
    try:
        return list(_function_tables(project, work, config))
    except ToslocError as error:
        return str(error)


def _function_tables(project: Project, work: Path, config: Config) -> Iterator[FunctionTable]:
    """Yield the tables of a project's reports whose changed functions exist in their version."""
    run = RunFolder(work / LEFT_OUT_FOLDER / project.name).read()
    settings = config.model_copy(update={"data": project.config.data})
    with (
        Repository(project.repo) as repo,
        ExperimentContext(settings, repo, project.reports, facts=False) as experiment,
    ):
        labelled = experiment.dataset.labelled
        cases = []
        for case in experiment.parts[project.judged]:
            # A run lacks reports if the project's ``at_most`` left them out.
            if labelled[case.report.id].functions and case.report.id in run.orders:
                cases.append(case)
        cases = spread_evenly(cases, MAX_REPORTS)
        commits = dict.fromkeys(case.before_commit for case in cases)
        experiment.indexed.build_facts([experiment.indexed.snapshot(commit) for commit in commits])
        shared_lines = experiment.history_index.shared_lines
        for judged in read_judged(experiment.indexed, experiment.dataset, cases, shared_lines):
            ranking = run.ranking(judged.case.report.id)
            files = FirstFiles.of(ranking, judged.version, judged.facts)
            yield _table(judged.query, judged.version, files, judged.changed.in_version)


def _table(
    query: Query, version: VersionIndex, files: FirstFiles, changed: Sequence[str]
) -> FunctionTable:
    """Return the signs of the functions of some files, and which functions are ``changed``."""
    names: list[str] = []
    for path, facts in zip(files.paths, files.facts, strict=True):
        names += [f"{path}::{name}" for name in facts.names]
    if not names:
        signs = np.zeros((0, len(SIGN_WEIGHTS)), dtype=np.float32)
    else:
        values = function_signs(query, version, files.rows, files.scores, files.facts)
        signs = np.column_stack([values[sign] for sign in SIGN_WEIGHTS]).astype(np.float32)
    number_by_name = {name: number for number, name in enumerate(dict.fromkeys(names))}
    name_ids = np.array([number_by_name[name] for name in names], dtype=np.int64)
    is_changed = np.array([name in changed for name in names], dtype=np.bool_)
    missing = sum(name not in number_by_name for name in changed)
    return FunctionTable(signs, name_ids, is_changed, missing)
