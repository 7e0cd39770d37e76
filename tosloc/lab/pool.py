"""Weights, ranker and temperature of many projects together: what TosLoc ships, and how it serves unseen projects.

A folder keeps each project's feature tables, whatever was learned from them, and the rankings of every project by
weights that never saw it; each is made once, for as long as nothing that it depends on changes.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import joblib
import numpy as np

from tosloc.arrays import load_arrays, save_arrays
from tosloc.calibration import LISTED, TEMPERATURE, JudgedAnswer, fit_temperature
from tosloc.checkpoint import LEARNED_ON, read_stage_one, write_stage_one
from tosloc.code.languages import analyser
from tosloc.config import Config
from tosloc.errors import ToslocError, counted
from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.file_lists import FILE_LISTS_FILE
from tosloc.evaluate.run_paths import JUDGEMENTS_FILE, RUN_FILE, read_scored
from tosloc.evaluate.runs import write_run
from tosloc.experiment import ExperimentContext, fingerprint, write_truth
from tosloc.git.repository import Repository
from tosloc.index.history_index import HistoryIndex
from tosloc.io import key_of, parse_json, read_plain, write_text
from tosloc.lab.many_projects import Outcome, finish, for_each, head_of, is_finished, unfinish
from tosloc.lab.projects import Project, spread
from tosloc.processes import parallel
from tosloc.rank.extract import SAMPLED, sampled_table, tasks_of
from tosloc.rank.feature_tables import HISTORY_FILE, FeatureTable, RankingLists, ranking_lists, read_block
from tosloc.rank.features import FEATURES_VERSION, PRIOR_WEIGHTS
from tosloc.rank.fitting import fit_listwise, head_lists
from tosloc.rank.lambdamart import HeadRanker, fit_trees
from tosloc.rank.stage_one import StageOne
from tosloc.records import Case, FloatArray, Progress, silent
from tosloc.training import feature_names

ROUNDS: Final = 400
"""Trees of a ranker of many projects: chosen on projects left out."""
RANKER_WEIGHT: Final = 8.0
"""What its score counts beside the linear one."""
LEAST_REPORTS: Final = 300
"""Every project counts the same, but one of fewer reports less: so much for each of its reports."""
LEFT_OUT: Final = "left-out"
"""Folder of the runs: a folder a project, ranked by weights that never saw it."""
_RECORD: Final = "tables.json"
_LISTS: Final = "lists.npz"


@dataclass(frozen=True)
class Tables:
    """The finished feature tables of a project, on disk."""

    project: Project
    folder: Path
    key: str
    """What they were made of."""
    names: tuple[str, ...]
    learned: int
    judged: int
    blocks: tuple[str, ...]
    """Files of the judged reports' tables, which hold every searched file."""

    def lists(self) -> RankingLists:
        """What is learned from: of each report the fixed files and sampled others."""
        arrays: Any = load_arrays(self.folder / _LISTS)
        return RankingLists(*(arrays[name] for name in ("rows", "fixed", "starts", "weights")))

    def tables(self) -> Iterator[FeatureTable]:
        """The judged reports' tables, in order."""
        for name in self.blocks:
            yield from read_block(self.folder / name)


@dataclass(frozen=True)
class Pool:
    """Where everything of a pool is kept, and the settings that it is made with."""

    folder: Path
    config: Config

    def tables(self, project: Project) -> tuple[bool, Tables]:
        """The feature tables of a project, and whether they had to be made. Raises ToslocError."""
        names, folder = feature_names(self.config), self.folder / "tables" / project.name
        # a project's data, and all else as for the others; one process, since others run beside it
        run = self.config.run.model_copy(update={"jobs": 1})
        config = self.config.model_copy(update={"data": project.configured(self.config).data, "run": run})
        key = key_of(
            [FEATURES_VERSION, analyser(), sorted(PRIOR_WEIGHTS.items()), names, head_of(project)],
            [project.record(), config.data.model_dump(), fingerprint(project.reports), SAMPLED],
        )
        made = not is_finished(folder, key)
        if made:
            with Repository(project.repo) as repo:
                self._make(project, config, repo, folder, names)
            finish(folder, key)
        record = parse_json(read_plain(folder / _RECORD))
        return made, Tables(project, folder, key, names, record["learned"], record["judged"], tuple(record["blocks"]))

    def kept(self) -> list[Tables]:
        """The finished tables that the folder holds, in the order of their names, without any repository."""
        found = []
        for path in sorted(self.folder.glob(f"tables/*/{_RECORD}")):
            record = parse_json(read_plain(path))
            project = Project(path.parent.name, path.parent, path.parent, **record["project"])
            counts = record["learned"], record["judged"], tuple(record["blocks"])
            found.append(Tables(project, path.parent, fingerprint(path), tuple(record["features"]), *counts))
        if len({tables.names for tables in found}) > 1:
            raise ToslocError(
                f"{self.folder}: its tables have different features; name the --projects to make them anew"
            )
        return found

    def _make(self, project: Project, config: Config, repo: Repository, folder: Path, names: tuple[str, ...]) -> None:
        unfinish(folder)
        with ExperimentContext.set_up(config, repo, project.reports, facts=False) as experiment:
            learned, judged = (
                spread(experiment.part(part), project.at_most) for part in (project.part, project.judged)
            )
            if not judged:
                number = counted(len(experiment.dataset.cases), "report")
                raise ToslocError(f"{project.reports}: none of its {number} falls to {project.judged}")
            versions = dict.fromkeys(case.version for case in (*learned, *judged))
            experiment.indexed.index([experiment.indexed.snapshot(version) for version in versions])
            extraction = experiment.extraction(folder, names)

            def blocks(cases: Sequence[Case], sampled: int) -> list[Path]:
                return extraction.run(tasks_of(cases, experiment.history, sampled), jobs=1)

            sampled, whole = SAMPLED, blocks(judged, 0)
            if project.part == project.judged:
                version = {case.report.id: case.version for case in judged}
                tables = extraction.tables(whole)
                each = ((one, dict(zip(names, one.rows.T.astype(np.float64), strict=True))) for one in tables)
                lists = ranking_lists(sampled_table(one, values, sampled, version[one.report]) for one, values in each)
            else:
                lists = ranking_lists(extraction.tables(blocks([case for case in learned if case.fixed], sampled)))
            columns = {"rows": lists.rows, "fixed": lists.fixed, "starts": lists.starts, "weights": lists.weights}
            save_arrays(folder / _LISTS, columns, level=1)
            write_truth(folder, judged, experiment.dataset, experiment.indexed.snapshot)
        kept = [path.name for path in whole]
        for path in folder.glob("block-*.npz"):
            if path.name not in kept:
                path.unlink()
        own = {name: getattr(project, name) for name in ("part", "judged", "at_most", "alone")}
        record = {"learned": len(lists), "judged": len(judged), "blocks": kept, "features": names, "project": own}
        write_text(folder / _RECORD, json.dumps(record, indent=1) + "\n")

    def learned(self, names: tuple[str, ...], projects: Sequence[Tables]) -> StageOne:
        """Weights and ranker of several projects together; kept, and read where they were learned before."""
        key = key_of(names, _settings(self.config), [(one.project.name, one.key) for one in projects])
        folder = self.folder / "learned" / key[:24]
        if is_finished(folder, key):
            return read_stage_one(folder)[0]
        stage = fit_pool(self.config, names, (one.lists() for one in projects))
        unfinish(folder)
        write_stage_one(folder, stage)
        finish(folder, key)
        return stage


def report_weights(sizes: Sequence[int], least: int) -> list[FloatArray]:
    """For each project the weights of its reports (R,): each project counts the same, the mean report 1.

    A project of fewer than ``least`` reports counts less: so few reports say little.

    >>> [one.round(3).tolist() for one in report_weights([1, 4], 2)]
    [[1.667], [0.833, 0.833, 0.833, 0.833]]
    """
    each = [1.0 / max(size, least) for size in sizes]
    total = sum(weight * size for weight, size in zip(each, sizes, strict=True))
    return [np.full(size, weight * sum(sizes) / total) for weight, size in zip(each, sizes, strict=True)]


def joined(projects: Iterable[RankingLists]) -> RankingLists:
    """What several projects teach, each counting the same. Raises ToslocError without reports."""
    some = [lists for lists in projects if len(lists)]
    if not some:
        raise ToslocError("no project is left to learn from; name at least two with fixed files in their versions")
    weights = report_weights([len(lists) for lists in some], LEAST_REPORTS)
    return RankingLists.join([one.counting(each) for one, each in zip(some, weights, strict=True)])


def fit_pool(config: Config, names: tuple[str, ...], projects: Iterable[RankingLists]) -> StageOne:
    """Weights and ranker of several projects together, each counting the same. Raises ToslocError without reports."""
    lists = joined(projects)
    stage = StageOne(names, fit_listwise(lists))
    if not config.stage_one.ranker:
        return stage
    trees = fit_trees(head_lists(stage, lists), config.run.seed, ROUNDS)
    return StageOne(names, stage.weights, HeadRanker(names, trees, RANKER_WEIGHT))


def folds_of(projects: Sequence[Tables], number: int) -> list[list[Tables]]:
    """The projects that are left out together: those of their own alone, the others dealt by size."""
    alone = [[one] for one in projects if one.project.alone]
    others = sorted(
        (one for one in projects if not one.project.alone), key=lambda one: (-one.learned, one.project.name)
    )
    dealt = [others[start::number] for start in range(min(number, len(others)))]
    folds = [*alone, *dealt]
    if len(folds) < 2:
        raise ToslocError("--leave-projects-out: with one part nothing is left to learn from; name more projects")
    return folds


@dataclass(frozen=True)
class Pooled:
    """What a pool found."""

    outcomes: tuple[Outcome, ...]
    evaluations: Mapping[str, Evaluation]
    """By project: its rankings by weights that never saw it."""
    temperature: float


def make_pool(
    pool: Pool,
    projects: Sequence[Project] | None,
    folds: int,
    out: Path | None = None,
    progress: Progress = silent,
) -> Pooled:
    """Make what is missing: tables, rankings of each project by the others' weights; the weights of all, to OUT."""
    jobs = pool.config.run.jobs
    tables, outcomes = of_projects(pool, projects, progress)
    parts = folds_of(tables, folds)
    calls = [joblib.delayed(_fold)(pool, number, tables, left_out) for number, left_out in enumerate(parts)]
    if out is not None:
        calls.append(joblib.delayed(_fold)(pool, len(parts), tables, []))
    answers: dict[str, list[JudgedAnswer]] = {}
    learned: dict[int, StageOne] = {}
    for number, stage, answered in one_by_one(calls, jobs, "parts left out", progress):
        learned[number] = stage
        answers |= answered
    fitted = [one for one in tables if one.project.judged != "test" or one.project.part == "test"]
    calls = [
        joblib.delayed(_left_out)(
            pool,
            one,
            learned[number],
            [other.project.name for other in tables if other not in left_out],
            _temperature(pool, [other for other in fitted if other is not one], answers),
        )
        for number, left_out in enumerate(parts)
        for one in left_out
    ]
    evaluations = dict(one_by_one(calls, jobs, "projects ranked by the others", progress))
    temperature = _temperature(pool, fitted, answers)
    if out is not None:
        provenance = {
            "projects": {one.project.name: {"reports": one.learned, "part": one.project.part} for one in tables},
            "reports": sum(one.learned for one in tables),
            "settings": _settings(pool.config),
        }
        write_stage_one(out, learned[len(parts)], temperature=temperature, more={LEARNED_ON: provenance})
    ordered = {one.project.name: evaluations[one.project.name] for one in tables}
    return Pooled(tuple(outcomes), ordered, temperature)


def of_projects(
    pool: Pool, projects: Sequence[Project] | None, progress: Progress
) -> tuple[list[Tables], list[Outcome]]:
    """The tables of the projects that have any (None: those kept), and what became of each. Raises ToslocError."""
    if projects is None:
        outcomes, tables = [], pool.kept()
    else:
        jobs = pool.config.run.jobs
        outcomes = for_each(projects, pool.tables, jobs=jobs, what="tables of projects", progress=progress)
        tables = [outcome.value for outcome in outcomes if outcome.state != "failed"]
    if len(tables) < 2:
        failed = [f"{outcome.project} failed: {outcome.why}" for outcome in outcomes if outcome.state == "failed"]
        why = f" ({failed[0]})" if failed else ""
        raise ToslocError(f"fewer than two projects have tables{why}; name at least two")
    return tables, outcomes


def one_by_one(calls: Sequence[Any], jobs: int, what: str, progress: Progress) -> Iterator[Any]:
    """Results of calls that ``joblib.delayed`` made, as they come, one process a core."""
    workers = max(1, min(joblib.effective_n_jobs(jobs), len(calls)))
    progress(what, 0, len(calls))
    with parallel(calls, workers, return_as="generator_unordered", pre_dispatch=workers) as results:
        for done, result in enumerate(results, start=1):
            progress(what, done, len(calls))
            yield result


def _fold(
    pool: Pool, number: int, tables: Sequence[Tables], left_out: Sequence[Tables]
) -> tuple[int, StageOne, dict[str, list[JudgedAnswer]]]:
    """Learn from all but those left out; their answers by it."""
    stage = pool.learned(tables[0].names, [one for one in tables if one not in left_out])
    return number, stage, {one.project.name: list(_answers(stage, one)) for one in left_out}


def _answers(stage: StageOne, tables: Tables) -> Iterator[JudgedAnswer]:
    for table in tables.tables():
        scores = stage.scores(table.rows)
        first = np.argsort(-scores, kind="stable")[:LISTED]
        yield JudgedAnswer(scores[first], bool(table.fixed[first[:1]].any()))


def _temperature(pool: Pool, projects: Sequence[Tables], answers: Mapping[str, list[JudgedAnswer]]) -> float:
    some = [answers[one.project.name] for one in projects if answers[one.project.name]]
    weights = report_weights([len(one) for one in some], LEAST_REPORTS)
    return fit_temperature([answer for one in some for answer in one], np.concatenate(weights) if some else None)


def _left_out(
    pool: Pool, one: Tables, stage: StageOne, learned_on: Sequence[str], temperature: float
) -> tuple[str, Evaluation]:
    """Write the run of a project that was left out; how good it is."""
    folder = pool.folder / LEFT_OUT / one.project.name
    header = {
        "command": "tosloc lab pool",
        "project": one.project.name,
        "part": one.project.judged,
        "search space": "all source files of the before-fix version",
        "learned on": list(learned_on),
        "settings": _settings(pool.config),
        TEMPERATURE: temperature,
    }
    ranker = None if stage.ranker is None else stage.ranker.trees.leaves.tolist()
    key = key_of(header, one.key, stage.weights.tolist(), ranker)
    if not is_finished(folder, key):
        unfinish(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / JUDGEMENTS_FILE).unlink(missing_ok=True)
        paths = HistoryIndex.from_arrays(load_arrays(one.folder / HISTORY_FILE))[1]  # what their numbers mean
        rankings = (table.ranking(stage.scores(table.rows), paths) for table in one.tables())
        write_run(folder / RUN_FILE, header, rankings)
        for name in (FILE_LISTS_FILE, JUDGEMENTS_FILE):  # last, since a folder with judgements is a finished run
            shutil.copyfile(one.folder / name, folder / name)
        finish(folder, key)
    return one.project.name, read_scored(folder).evaluation()


def _settings(config: Config) -> dict[str, Any]:
    fit = {"rounds": ROUNDS, "ranker weight": RANKER_WEIGHT, "least reports": LEAST_REPORTS}
    return {"ranker": config.stage_one.ranker, **fit, "seed": config.run.seed}
