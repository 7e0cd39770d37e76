"""Learn the shipped weights, ranker and temperature from many projects.

The weights are also measured on projects that are left out of the training. A folder stores each
project's feature tables, which are computed again only if something that they depend on changes,
and the rankings of every project by weights that were learned without it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from tosloc.code.languages import analyser_version
from tosloc.core.arrays import FloatArray, load_arrays, save_arrays
from tosloc.core.config import Config
from tosloc.core.errors import ToslocError, UnknownCommit, pluralize
from tosloc.core.io import content_key, fingerprint, parse_json, read_regular_file, write_text
from tosloc.core.processes import Call, count_workers, run_in_parallel
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import Case
from tosloc.evaluate.measures import Evaluation
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.runs import RunFolder
from tosloc.git.repository import Repository
from tosloc.lab.projects import Project, spread_evenly
from tosloc.localize.answer import Weights
from tosloc.localize.checkpoint import LEARNED_ON, write_stage_one
from tosloc.localize.model import Model
from tosloc.rank.features import FEATURES_VERSION, PRIOR_WEIGHTS, FeatureTable
from tosloc.rank.features.extraction import SAMPLED_FILES, Extraction, select_names
from tosloc.rank.model import (
    TEMPERATURE_KEY,
    HeadRanker,
    JudgedAnswer,
    StageOne,
    Trees,
    fit_temperature,
    load_lightgbm,
)
from tosloc.rank.model.fitting import fit_listwise
from tosloc.rank.model.ranking_lists import RankingLists
from tosloc.train.experiment import ExperimentContext, judge_cases

ROUNDS: Final = 400
"""Number of trees of the ranker, chosen on projects that were left out."""
RANKER_WEIGHT: Final = 16.0
"""Weight of the ranker's score beside the linear score.

It was chosen among 2, 4, 8, 16 and 32 on projects that were left out.
"""
MIN_REPORTS_FULL_WEIGHT: Final = 300
"""Number of reports from which a project has its full weight; fewer count in proportion."""
LEFT_OUT_FOLDER: Final = "left-out"
"""Folder of the runs of projects, one folder for each, by weights that were learned without it."""
CHECKPOINT_FOLDER: Final = "checkpoint"
"""Folder of the weights that were learned without a project, in the project's own folder."""
_UNSEEN_FOLDER: Final = "unseen"
"""Folder with the tables of projects that nothing is learned from."""
_RECORD_FILE: Final = "tables.json"
_LISTS_FILE: Final = "lists.npz"
_LIST_COLUMNS: Final = ("rows", "fixed", "starts", "weights")


@dataclass(frozen=True)
class ProjectTables:
    """The finished feature tables of a project, on disk."""

    project: Project
    folder: Path
    features: tuple[str, ...]
    learned: int
    """Number of reports that are learned from."""
    blocks: tuple[str, ...]
    """Files of the judged reports' tables, which contain every searched file."""
    search_space: str = ""
    """The searched files in words; "" for tables of an earlier version of TosLoc."""

    @classmethod
    def read(cls, folder: Path, project: Project | None = None) -> ProjectTables:
        """Return the tables in a folder; without a project, its description in the folder is used.

        Raises OSError, ValueError or KeyError if the folder has no finished tables.
        """
        record = parse_json(read_regular_file(folder / _RECORD_FILE))
        if project is None:
            project = Project(name=folder.name, repo=folder, reports=folder, **record["project"])
        features = tuple(record["features"])
        return cls(
            project,
            folder,
            features,
            record["learned"],
            tuple(record["blocks"]),
            record.get("search space", ""),
        )

    def lists(self) -> RankingLists:
        """Return the lists to learn from: for each report its fixed files and sampled other files.

        ``report_weights`` returns the weights of the reports.
        """
        arrays: Any = load_arrays(self.folder / _LISTS_FILE)
        columns = {name: arrays[name] for name in _LIST_COLUMNS}
        weights = report_weights(self.project, len(arrays["starts"]) - 1)
        return RankingLists(**columns, report_weights=weights)

    def tables(self) -> Iterator[FeatureTable]:
        """Yield the judged reports' tables, in order."""
        return FeatureTable.read_blocks(self.folder / name for name in self.blocks)


@dataclass(frozen=True)
class Pretraining:
    """The folder that stores everything of a pretraining, and its settings."""

    folder: Path
    config: Config

    def tables(
        self, projects: Sequence[Project] | None, progress: Progress
    ) -> tuple[list[ProjectTables], dict[str, str]]:
        """Return the tables of the projects, and project -> reason for those without tables.

        Missing tables are made. Without projects, all tables in the folder are returned, and no
        repository is needed. Raises ToslocError for fewer than two projects with tables.
        """
        failed: dict[str, str] = {}
        if projects is None:
            record_files = sorted(self.folder.glob(f"tables/*/{_RECORD_FILE}"))
            tables = [ProjectTables.read(path.parent) for path in record_files]
        else:
            tables, failed = self._make_all_tables(projects, progress)
        if len(tables) < 2:
            reason = ""
            if failed:
                name, message = next(iter(failed.items()))
                reason = f" ({name} failed: {message})"
            raise ToslocError(f"fewer than two projects have tables{reason}; name at least two")
        if len({project_tables.features for project_tables in tables}) > 1:
            raise ToslocError(
                f"{self.folder}: its tables have different features", hint="name the {projects}"
            )
        return tables, failed

    def unseen_tables(
        self, projects: Sequence[Project], learned_from: Sequence[ProjectTables], progress: Progress
    ) -> tuple[list[ProjectTables], dict[str, str]]:
        """Return the tables of projects that are only ranked, and project -> reason for failures.

        Missing tables are made. They are in a separate folder, because ``tables`` without projects
        returns all tables in its own folder. Raises ToslocError if a project is also learned from,
        or has other features.
        """
        _refuse_learned(projects, [tables.project for tables in learned_from])
        unseen = replace(self, folder=self.folder / _UNSEEN_FOLDER)
        all_tables, failed = unseen._make_all_tables(projects, progress)
        for tables in all_tables:
            if tables.features != learned_from[0].features:
                raise ToslocError(
                    f"{self.folder}: its tables have other features than those of"
                    f" {tables.project.name}",
                    hint="name the {projects}",
                )
        return all_tables, failed

    def _make_all_tables(
        self, projects: Sequence[Project], progress: Progress
    ) -> tuple[list[ProjectTables], dict[str, str]]:
        # The largest project comes first, so that no core waits for it at the end.
        largest_first = sorted(projects, key=lambda project: -project.reports.stat().st_size)
        calls = [partial(_try_tables, self, project) for project in largest_first]
        results = run_calls(calls, self.config.run.jobs, "computing tables of projects", progress)
        tables_by_name: dict[str, ProjectTables] = {}
        failed: dict[str, str] = {}
        for name, result in results:
            if isinstance(result, ProjectTables):
                tables_by_name[name] = result
            else:
                failed[name] = result
        names = [project.name for project in projects if project.name in tables_by_name]
        return [tables_by_name[name] for name in names], failed

    def project_tables(self, project: Project) -> ProjectTables:
        """Return the feature tables of a project; missing ones are made. Raises ToslocError."""
        names = select_names(self.config.stage_one)
        folder = self.folder / "tables" / project.name
        # The settings are those of all projects, except for the project's data. Projects are
        # processed in parallel, so that each has one process.
        run = self.config.run.model_copy(update={"jobs": 1})
        config = self.config.model_copy(update={"data": project.config.data, "run": run})
        with Repository(project.repo) as repo:
            key = _tables_key(project, config, repo, names)
            with suppress(OSError, ValueError, KeyError):
                if parse_json(read_regular_file(folder / _RECORD_FILE))["key"] == key:
                    return ProjectTables.read(folder, project)
            (folder / _RECORD_FILE).unlink(missing_ok=True)
            learned, blocks, search_space = _make_tables(project, config, repo, folder, names)
        record = {
            "key": key,
            "project": project.model_dump(
                mode="json", include={"part", "judged", "at_most", "alone", "weight"}
            ),
            "features": names,
            "learned": learned,
            "blocks": blocks,
            "search space": search_space,
        }
        # The record is written last: tables with a record are finished.
        write_text(folder / _RECORD_FILE, json.dumps(record, indent=1) + "\n")
        return ProjectTables.read(folder, project)


def _tables_key(project: Project, config: Config, repo: Repository, names: tuple[str, ...]) -> str:
    """Return a key of everything that a project's tables depend on."""
    # With another HEAD more fixes may be found. A repository without branches has none.
    head = ""
    with suppress(UnknownCommit):
        head = repo.resolve("HEAD")
    settings = project.model_dump(mode="json", exclude={"repo", "reports", "alone", "weight"})
    return content_key(
        [FEATURES_VERSION, analyser_version(), sorted(PRIOR_WEIGHTS.items()), names, head],
        [settings, config.data.model_dump(), fingerprint(project.reports), SAMPLED_FILES],
    )


def _make_tables(
    project: Project,
    config: Config,
    repo: Repository,
    folder: Path,
    names: tuple[str, ...],
) -> tuple[int, list[str], str]:
    """Write a project's tables, lists and judgements.

    Return the number of reports that are learned from, the names of the files with the judged
    reports' tables, and the searched files in words.
    """
    with ExperimentContext(config, repo, project.reports, facts=False) as experiment:
        learned = spread_evenly(experiment.parts[project.part], project.at_most)
        judged = spread_evenly(experiment.parts[project.judged], project.at_most)
        if not judged:
            number = pluralize(len(experiment.dataset.cases), "report")
            raise ToslocError(
                f"{project.reports}: none of its {number} is in the split {project.judged}"
            )
        commits = dict.fromkeys(case.before_commit for case in (*learned, *judged))
        experiment.indexed.build_facts([experiment.indexed.snapshot(commit) for commit in commits])
        extraction = experiment.extraction(folder, names)
        judged_blocks = extraction.run(judged, 0, jobs=1)
        if project.part == project.judged:
            lists = RankingLists.of_tables(_sample_tables(judged_blocks, judged, names))
        else:
            with_fixed_files = [case for case in learned if case.fixed]
            learned_blocks = extraction.run(with_fixed_files, SAMPLED_FILES, jobs=1)
            lists = RankingLists.of_tables(FeatureTable.read_blocks(learned_blocks))
        arrays = {name: getattr(lists, name) for name in _LIST_COLUMNS}
        save_arrays(folder / _LISTS_FILE, arrays, level=1)
        RunFolder(folder).write_judgements(judge_cases(judged, experiment.dataset))
        search_space = experiment.search_space
    for path in folder.glob("block-*.npz"):
        if path not in judged_blocks:
            path.unlink()
    return len(lists), [path.name for path in judged_blocks], search_space


def _sample_tables(
    blocks: Sequence[Path], cases: Sequence[Case], names: tuple[str, ...]
) -> Iterator[FeatureTable]:
    """Yield the tables in the blocks with a sample of their files."""
    commit_by_report = {case.report.id: case.before_commit for case in cases}
    for table in FeatureTable.read_blocks(blocks):
        columns = dict(zip(names, table.rows.T.astype(np.float64), strict=True))
        yield table.sample(columns, SAMPLED_FILES, commit_by_report[table.report])


def _try_tables(pretraining: Pretraining, project: Project) -> tuple[str, ProjectTables | str]:
    """Return a project's name and its tables, or the message of the error.

    One failure then does not stop the other projects.
    """
    try:
        return project.name, pretraining.project_tables(project)
    except ToslocError as error:
        return project.name, str(error)
    except Exception as error:
        return project.name, f"{type(error).__name__}: {error}"


def report_weights(project: Project, number: int) -> FloatArray:
    """Return (R,) the weights of a project's ``number`` reports.

    The sum of the weights is the project's weight, whatever its number of reports. The sum is
    smaller for fewer than ``MIN_REPORTS_FULL_WEIGHT`` reports, because these are weak evidence.
    """
    return np.full(number, project.weight / max(number, MIN_REPORTS_FULL_WEIGHT))


def join_lists(projects: Iterable[RankingLists]) -> RankingLists:
    """Return the lists of several projects, with the weights of reports scaled to a mean of 1.

    Raises ToslocError if there are no reports.
    """
    nonempty = [lists for lists in projects if len(lists)]
    if not nonempty:
        raise ToslocError(
            "no project is left to learn from; name at least two with fixed files in their versions"
        )
    lists = RankingLists.join(nonempty)
    return replace(lists, report_weights=lists.report_weights / lists.report_weights.mean())


def fit_projects(
    config: Config, names: tuple[str, ...], projects: Iterable[RankingLists]
) -> StageOne:
    """Return the weights and the ranker fitted to several projects together.

    Raises ToslocError if the projects have no reports.
    """
    lists = join_lists(projects)
    stage_one = StageOne(names, fit_listwise(lists))
    if not config.stage_one.ranker:
        return stage_one
    trees = Trees.fit(stage_one.head_lists(lists), config.run.seed, ROUNDS)
    return StageOne(names, stage_one.weights, HeadRanker(names, trees, RANKER_WEIGHT))


def split_folds(projects: Sequence[ProjectTables], number: int) -> list[list[ProjectTables]]:
    """Return the folds: groups of projects that are left out together.

    A project that is marked ``alone`` has a fold of its own. All others are distributed by size
    over ``number`` folds. Raises ToslocError for fewer than two folds.
    """
    folds: list[list[ProjectTables]] = []
    others: list[ProjectTables] = []
    for project_tables in projects:
        if project_tables.project.alone:
            folds.append([project_tables])
        else:
            others.append(project_tables)
    others.sort(key=lambda tables: (-tables.learned, tables.project.name))
    for start in range(min(number, len(others))):
        folds.append(others[start::number])
    if len(folds) < 2:
        raise ToslocError(
            "with one part nothing is left to learn from",
            hint="name more {projects}",
            about="leave_projects_out",
        )
    return folds


def pretrain(
    pretraining: Pretraining,
    projects: Sequence[Project] | None,
    folds: int,
    *,
    unseen: Sequence[Project] = (),
    out: Path | None = None,
    progress: Progress = ignore_progress,
) -> tuple[dict[str, Evaluation], float, dict[str, str]]:
    """Rank each project by weights learned from other projects, and learn weights from all.

    Missing tables are made. The projects in ``unseen`` are ranked by weights learned from all other
    projects, and nothing is learned from them. The weights learned from all projects are written to
    ``out``. Return the evaluation of each project's rankings, the temperature, and project ->
    reason for projects without tables.
    """
    jobs = pretraining.config.run.jobs
    if pretraining.config.stage_one.ranker:
        # If LightGBM is missing, it must be reported before hours of work.
        load_lightgbm()
    _refuse_learned(unseen, projects or ())  # before hours of work
    tables, failed = pretraining.tables(projects, progress)
    unseen_tables: list[ProjectTables] = []
    if unseen:
        unseen_tables, unseen_failed = pretraining.unseen_tables(unseen, tables, progress)
        failed = failed | unseen_failed
    parts = split_folds(tables, folds)
    left_out_parts = list(parts)
    if out is not None or unseen_tables:
        left_out_parts.append([])  # the weights of all leave out no project
    calls = [partial(_fit_fold, pretraining, tables, part) for part in left_out_parts]
    results = run_calls(calls, jobs, "training without each part", progress)
    answers: dict[str, list[JudgedAnswer]] = {}
    for _, fold_answers in results:
        answers.update(fold_answers)
    calibrating = [project_tables for project_tables in tables if _is_calibrating(project_tables)]
    runs = []
    for part, (stage_one, _) in zip(parts, results, strict=False):
        learned_on = [other.project.name for other in tables if other not in part]
        for left_out in part:
            others = [other for other in calibrating if other is not left_out]
            temperature = _fit_temperature(others, answers)
            runs.append(
                partial(
                    _write_left_out_run, pretraining, left_out, stage_one, learned_on, temperature
                )
            )
    stage_one_of_all, _ = results[-1]
    temperature = _fit_temperature(calibrating, answers)
    all_names = [project_tables.project.name for project_tables in tables]
    for project_tables in unseen_tables:
        runs.append(
            partial(
                _write_left_out_run,
                pretraining,
                project_tables,
                stage_one_of_all,
                all_names,
                temperature,
            )
        )
    evaluations = dict(run_calls(runs, jobs, "ranking left-out projects", progress))
    if out is not None:
        provenance = _provenance(pretraining.config, tables)
        write_stage_one(out, stage_one_of_all, temperature, {LEARNED_ON: provenance})
    all_names += [project_tables.project.name for project_tables in unseen_tables]
    return {name: evaluations[name] for name in all_names}, temperature, failed


def _refuse_learned(unseen: Iterable[Project], learned_from: Iterable[Project]) -> None:
    """Raise ToslocError if an unseen project is also learned from."""
    names = {project.name.lower() for project in learned_from}
    for project in unseen:
        if project.name.lower() in names:
            raise ToslocError(
                f"{project.name} is among the projects to learn from, so it is not unseen"
            )


def _is_calibrating(tables: ProjectTables) -> bool:
    """Return whether the temperature is fitted to a project's answers.

    Users see the shares that it yields, so reports that users did not write do not count. Test
    reports of a project that learns from another part do not count either.
    """
    project = tables.project
    return project.weight == 1 and (project.judged != "test" or project.part == "test")


def _provenance(config: Config, tables: Sequence[ProjectTables]) -> dict[str, Any]:
    """Return the record of what the shipped weights were learned from."""
    projects = {
        project_tables.project.name: {
            "reports": project_tables.learned,
            "part": project_tables.project.part,
        }
        for project_tables in tables
    }
    return {
        "projects": projects,
        "reports": sum(project_tables.learned for project_tables in tables),
        "settings": _settings(config),
    }


def run_calls(calls: Sequence[Call], jobs: int, what: str, progress: Progress) -> list[Any]:
    """Return the results of calls, in their order.

    The calls run in at most ``jobs`` processes.
    """
    workers = max(1, min(count_workers(jobs), len(calls)))
    results: list[Any] = []
    progress(what, 0, len(calls))
    with run_in_parallel(calls, workers, ordered=True) as running:
        for result in running:
            results.append(result)
            progress(what, len(results), len(calls))
    return results


def _fit_fold(
    pretraining: Pretraining,
    tables: Sequence[ProjectTables],
    left_out: Sequence[ProjectTables],
) -> tuple[StageOne, dict[str, list[JudgedAnswer]]]:
    """Learn from all projects except the left-out ones; return stage one and answers.

    The answers are those to the reports of the left-out projects.
    """
    stage_one = fit_projects(
        pretraining.config,
        tables[0].features,
        (project_tables.lists() for project_tables in tables if project_tables not in left_out),
    )
    answers: dict[str, list[JudgedAnswer]] = {}
    for project_tables in left_out:
        project_answers: list[JudgedAnswer] = []
        for table in project_tables.tables():
            scores = stage_one.scores(table.rows, table.asserted)
            is_right = len(scores) > 0 and bool(table.fixed[scores.argmax()])
            project_answers.append(JudgedAnswer.of(scores, is_right))
        answers[project_tables.project.name] = project_answers
    return stage_one, answers


def _fit_temperature(
    tables: Sequence[ProjectTables], answers: Mapping[str, Sequence[JudgedAnswer]]
) -> float:
    """Return the temperature fitted to the answers, in which reports have their usual weights."""
    all_answers: list[JudgedAnswer] = []
    project_weights: list[FloatArray] = []
    for project_tables in tables:
        project_answers = answers[project_tables.project.name]
        if project_answers:
            all_answers += project_answers
            project_weights.append(report_weights(project_tables.project, len(project_answers)))
    if not all_answers:
        return fit_temperature(all_answers, 1.0)
    weights = np.concatenate(project_weights)
    return fit_temperature(all_answers, weights / weights.mean())


def _write_left_out_run(
    pretraining: Pretraining,
    tables: ProjectTables,
    stage_one: StageOne,
    learned_on: Sequence[str],
    temperature: float,
) -> tuple[str, Evaluation]:
    """Write the run of a project that was not learned from; return its name and evaluation."""
    folder = pretraining.folder / LEFT_OUT_FOLDER / tables.project.name
    header = {
        "command": "tosloc lab pretrain",
        "project": tables.project.name,
        "part": tables.project.judged,
        "search space": tables.search_space,
        "learned on": list(learned_on),
        "settings": _settings(pretraining.config),
        TEMPERATURE_KEY: temperature,
    }
    folder.mkdir(parents=True, exist_ok=True)
    # tosloc lab presence asks other reports with the same weights.
    provenance = {LEARNED_ON: list(learned_on)}
    weights = Weights("trained")
    model = Model(stage_one, temperature, weights=weights, provenance=provenance)
    model.save(folder / CHECKPOINT_FOLDER)
    # The tables number paths; their names are in the history.
    paths = Extraction.read_paths(tables.folder)
    rankings = (
        table.ranking(stage_one.scores(table.rows, table.asserted), paths)
        for table in tables.tables()
    )
    judgements = RunFolder(tables.folder).read_judgements()
    RunFolder(folder).write(header, rankings, judgements.values())
    return tables.project.name, ScoredRun.read(folder).evaluation()


def _settings(config: Config) -> dict[str, Any]:
    return {
        "ranker": config.stage_one.ranker,
        "rounds": ROUNDS,
        "ranker weight": RANKER_WEIGHT,
        "least reports": MIN_REPORTS_FULL_WEIGHT,
        "seed": config.run.seed,
    }
