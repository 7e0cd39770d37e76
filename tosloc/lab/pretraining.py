"""Weights, ranker and temperature of many projects together: what TosLoc ships, and how it serves unseen projects.

A folder keeps each project's feature tables, made once for as long as nothing that they depend on changes, and the
rankings of every project by weights that never saw it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import joblib
import numpy as np

from tosloc.code.languages import analyser_version
from tosloc.core.arrays import load_arrays, save_arrays, unpack_words
from tosloc.core.config import Config
from tosloc.core.errors import ToslocError, UnknownCommit, pluralize
from tosloc.core.io import content_key, parse_json, read_regular_file, write_text
from tosloc.core.processes import run_in_parallel
from tosloc.core.records import Case, FloatArray, Progress, ignore_progress
from tosloc.evaluate.measures import Evaluation
from tosloc.evaluate.run_paths import JUDGEMENTS_FILE, RUN_FILE, read_scored_run
from tosloc.evaluate.runs import write_run
from tosloc.git.repository import Repository
from tosloc.lab.projects import Project, spread
from tosloc.localize.checkpoint import LEARNED_ON, write_stage_one
from tosloc.rank.calibration import CALIBRATED_FILES, TEMPERATURE_KEY, JudgedAnswer, fit_temperature
from tosloc.rank.extraction import HISTORY_FILE, SAMPLED_FILES, sample_table
from tosloc.rank.features import FEATURES_VERSION, PRIOR_WEIGHTS
from tosloc.rank.fitting import fit_listwise, head_lists
from tosloc.rank.ranking_lists import RankingLists, ranking_lists
from tosloc.rank.stage_one import HeadRanker, StageOne, fit_trees, load_lightgbm
from tosloc.rank.tables import FeatureTable, read_blocks
from tosloc.train.experiment import ExperimentContext, fingerprint, write_truth
from tosloc.train.training import feature_names

ROUNDS: Final = 400  # trees of a ranker of many projects: chosen on projects left out
RANKER_WEIGHT: Final = (
    16.0  # what its score counts beside the linear one: of 2, 4, 8, 16 and 32, on projects left out
)
LEAST_REPORTS: Final = 300
"""Every project counts the same, but one of fewer reports less: so much for each of its reports."""
LEFT_OUT: Final = (
    "left-out"  # folder of the runs: a folder a project, ranked by weights that never saw it
)
_RECORD: Final = "tables.json"
_LISTS: Final = "lists.npz"


@dataclass(frozen=True)
class Tables:
    """The finished feature tables of a project, on disk."""

    project: Project
    folder: Path
    features: tuple[str, ...]
    learned: int  # how many reports are learned from
    blocks: tuple[str, ...]  # files of the judged reports' tables, which hold every searched file

    @classmethod
    def read(cls, folder: Path, project: Project | None = None) -> Tables:
        """Of a folder; without a project, as the folder knows it."""
        record = parse_json(read_regular_file(folder / _RECORD))
        project = project or Project(
            name=folder.name, repo=folder, reports=folder, **record["project"]
        )
        return cls(
            project, folder, tuple(record["features"]), record["learned"], tuple(record["blocks"])
        )

    def lists(self) -> RankingLists:
        """What is learned from: of each report the fixed files and sampled others; reports count as the project says,
        and less where they are many.
        """
        arrays: Any = load_arrays(self.folder / _LISTS)
        columns = {name: arrays[name] for name in ("rows", "fixed", "starts", "weights")}
        return RankingLists(
            **columns, report_weights=report_weight(self.project, len(arrays["starts"]) - 1)
        )

    def tables(self) -> Iterator[FeatureTable]:
        """The judged reports' tables, in order."""
        return read_blocks(self.folder / name for name in self.blocks)


@dataclass(frozen=True)
class Pretraining:
    """Where everything of a pretraining is kept, and the settings that it is made with."""

    folder: Path
    config: Config

    def tables(
        self, projects: Sequence[Project] | None, progress: Progress
    ) -> tuple[list[Tables], dict[str, str]]:
        """The tables of the projects, made where they lack, and why some have none; without projects those that are
        kept, without any repository. Raises ToslocError for fewer than two.
        """
        failed: dict[str, str] = {}
        if projects is None:
            tables = [
                Tables.read(path.parent) for path in sorted(self.folder.glob(f"tables/*/{_RECORD}"))
            ]
        else:
            # the largest first, so that no core waits for the last
            ordered = sorted(projects, key=lambda one: -one.reports.stat().st_size)
            calls = [joblib.delayed(_tables)(self, project) for project in ordered]
            found = dict(each(calls, self.config.run.jobs, "tables of projects", progress))
            tables = [one for project in projects if isinstance(one := found[project.name], Tables)]
            failed = {name: one for name, one in found.items() if isinstance(one, str)}
        if len(tables) < 2:
            why = next((f" ({name} failed: {why})" for name, why in failed.items()), "")
            raise ToslocError(f"fewer than two projects have tables{why}; name at least two")
        if len({one.features for one in tables}) > 1:
            raise ToslocError(
                f"{self.folder}: its tables have different features", hint="name the {projects}"
            )
        return tables, failed

    def made(self, project: Project) -> Tables:
        """The feature tables of a project, made unless they are there. Raises ToslocError."""
        names, folder = feature_names(self.config), self.folder / "tables" / project.name
        # a project's data, and all else as for the others; one process, since others run beside it
        run = self.config.run.model_copy(update={"jobs": 1})
        config = self.config.model_copy(update={"data": project.config.data, "run": run})
        with Repository(project.repo) as repo:
            head = ""  # another one, and more fixes may be found; a repository without branches has none
            with suppress(UnknownCommit):
                head = repo.resolve("HEAD")
            values = project.model_dump(mode="json", exclude={"repo", "reports", "alone", "weight"})
            key = content_key(
                [FEATURES_VERSION, analyser_version(), sorted(PRIOR_WEIGHTS.items()), names, head],
                [values, config.data.model_dump(), fingerprint(project.reports), SAMPLED_FILES],
            )
            with suppress(OSError, ValueError, KeyError):
                if parse_json(read_regular_file(folder / _RECORD))["key"] == key:
                    return Tables.read(folder, project)
            (folder / _RECORD).unlink(missing_ok=True)
            made = self._make(project, config, repo, folder, names)
        own = project.model_dump(
            mode="json", include={"part", "judged", "at_most", "alone", "weight"}
        )
        # last: with the record they are finished
        write_text(
            folder / _RECORD,
            json.dumps({"key": key, "project": own, "features": names, **made}, indent=1) + "\n",
        )
        return Tables.read(folder, project)

    def _make(
        self,
        project: Project,
        config: Config,
        repo: Repository,
        folder: Path,
        names: tuple[str, ...],
    ) -> dict[str, Any]:
        with ExperimentContext(config, repo, project.reports, facts=False) as experiment:
            learned, judged = (
                spread(experiment.parts[part], project.at_most)
                for part in (project.part, project.judged)
            )
            if not judged:
                number = pluralize(len(experiment.dataset.cases), "report")
                raise ToslocError(
                    f"{project.reports}: none of its {number} falls to {project.judged}"
                )
            versions = dict.fromkeys(case.version for case in (*learned, *judged))
            experiment.indexed.build_facts(
                [experiment.indexed.snapshot(version) for version in versions]
            )
            extraction = experiment.extraction(folder, names)

            def blocks(cases: Sequence[Case], sampled: int) -> list[Path]:
                return extraction.run(cases, sampled, jobs=1)

            whole = blocks(judged, 0)
            if project.part == project.judged:
                version = {case.report.id: case.version for case in judged}
                tables = read_blocks(whole)
                columns = (
                    (one, dict(zip(names, one.rows.T.astype(np.float64), strict=True)))
                    for one in tables
                )
                lists = ranking_lists(
                    sample_table(one, values, SAMPLED_FILES, version[one.report])
                    for one, values in columns
                )
            else:
                lists = ranking_lists(
                    read_blocks(blocks([case for case in learned if case.fixed], SAMPLED_FILES))
                )
            arrays = {name: getattr(lists, name) for name in ("rows", "fixed", "starts", "weights")}
            save_arrays(folder / _LISTS, arrays, level=1)
            write_truth(folder, judged, experiment.dataset)
        for path in {*folder.glob("block-*.npz")} - {*whole}:
            path.unlink()
        return {"learned": len(lists), "blocks": [path.name for path in whole]}


def _tables(pretraining: Pretraining, project: Project) -> tuple[str, Tables | str]:
    """A project's tables; or why it has none: the others are worth having all the same."""
    try:
        return project.name, pretraining.made(project)
    except Exception as error:
        return project.name, str(error) if isinstance(
            error, ToslocError
        ) else f"{type(error).__name__}: {error}"


def report_weight(project: Project, size: int) -> FloatArray:
    """(R,) what each of so many reports of a project counts: projects count as they say and otherwise the same, but one
    of fewer than ``LEAST_REPORTS`` less, since so few reports say little.
    """
    return np.full(size, project.weight / max(size, LEAST_REPORTS))


def joined(projects: Iterable[RankingLists]) -> RankingLists:
    """What several projects teach; the mean report counts 1. Raises ToslocError without reports."""
    some = [lists for lists in projects if len(lists)]
    if not some:
        raise ToslocError(
            "no project is left to learn from; name at least two with fixed files in their versions"
        )
    lists = RankingLists.join(some)
    return replace(lists, report_weights=lists.report_weights / lists.report_weights.mean())


def fit_projects(
    config: Config, names: tuple[str, ...], projects: Iterable[RankingLists]
) -> StageOne:
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
        (one for one in projects if not one.project.alone),
        key=lambda one: (-one.learned, one.project.name),
    )
    folds = [*alone, *(others[start::number] for start in range(min(number, len(others))))]
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
    out: Path | None = None,
    progress: Progress = ignore_progress,
) -> tuple[dict[str, Evaluation], float, dict[str, str]]:
    """Make the tables that lack and the rankings of each project by the others' weights; the weights of all, to OUT.
    By project how good its rankings are, the temperature, and why some projects have no tables.
    """
    jobs = pretraining.config.run.jobs
    if pretraining.config.stage_one.ranker:
        load_lightgbm()  # if it is missing, say so before hours of work
    tables, failed = pretraining.tables(projects, progress)
    parts = folds_of(tables, folds)
    calls = [
        joblib.delayed(_fold)(pretraining, tables, part)
        for part in (*parts, *([] if out is None else [[]]))
    ]
    found = each(calls, jobs, "parts left out", progress)
    answers = {name: judged for _, answered in found for name, judged in answered.items()}
    # shares are told to users, so that reports which users did not write say nothing of them
    asked = [one for one in tables if one.project.weight == 1]
    fitted = [one for one in asked if one.project.judged != "test" or one.project.part == "test"]
    calls = []
    for part, (stage, _) in zip(parts, found, strict=False):
        others = [other.project.name for other in tables if other not in part]
        for one in part:
            temperature = _temperature([other for other in fitted if other is not one], answers)
            calls.append(joblib.delayed(_rank)(pretraining, one, stage, others, temperature))
    evaluations = dict(each(calls, jobs, "projects ranked by the others", progress))
    temperature = _temperature(fitted, answers)
    if out is not None:
        provenance = {
            "projects": {
                one.project.name: {"reports": one.learned, "part": one.project.part}
                for one in tables
            },
            "reports": sum(one.learned for one in tables),
            "settings": _settings(pretraining.config),
        }
        write_stage_one(out, found[-1][0], temperature, {LEARNED_ON: provenance})
    return {one.project.name: evaluations[one.project.name] for one in tables}, temperature, failed


def each(calls: Sequence[Any], jobs: int, what: str, progress: Progress) -> list[Any]:
    """Results of calls that ``joblib.delayed`` made, one process a core."""
    workers, found = max(1, min(joblib.effective_n_jobs(jobs), len(calls))), list[Any]()
    progress(what, 0, len(calls))
    with run_in_parallel(calls, workers, ordered=True) as results:
        for result in results:
            found.append(result)
            progress(what, len(found), len(calls))
    return found


def _fold(
    pretraining: Pretraining, tables: Sequence[Tables], left_out: Sequence[Tables]
) -> tuple[StageOne, dict[str, list[JudgedAnswer]]]:
    """Learn from all but those left out; their answers by it."""
    stage = fit_projects(
        pretraining.config,
        tables[0].features,
        (one.lists() for one in tables if one not in left_out),
    )
    answers = {}
    for one in left_out:
        judged = answers[one.project.name] = list[JudgedAnswer]()
        for table in one.tables():
            scores = stage.scores(table.rows)
            first = np.argsort(-scores, kind="stable")[:CALIBRATED_FILES]
            judged.append(JudgedAnswer(scores[first], bool(table.fixed[first[:1]].any())))
    return stage, answers


def _temperature(
    projects: Sequence[Tables], answers: Mapping[str, Sequence[JudgedAnswer]]
) -> float:
    each = [
        (one.project, answers[one.project.name]) for one in projects if answers[one.project.name]
    ]
    weights = (
        np.concatenate([report_weight(project, len(judged)) for project, judged in each])
        if each
        else None
    )
    judged = [one for _, of_project in each for one in of_project]
    return fit_temperature(judged, 1.0 if weights is None else weights / weights.mean())


def _rank(
    pretraining: Pretraining,
    one: Tables,
    stage: StageOne,
    learned_on: Sequence[str],
    temperature: float,
) -> tuple[str, Evaluation]:
    """Write the run of a project that was left out; how good it is."""
    folder = pretraining.folder / LEFT_OUT / one.project.name
    header = {
        "command": "tosloc lab pretrain",
        "project": one.project.name,
        "part": one.project.judged,
        "search space": "all source files of the before-fix version",
        "learned on": list(learned_on),
        "settings": _settings(pretraining.config),
        TEMPERATURE_KEY: temperature,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / JUDGEMENTS_FILE).unlink(missing_ok=True)
    paths = unpack_words(load_arrays(one.folder / HISTORY_FILE)["paths"])  # what their numbers mean
    write_run(
        folder / RUN_FILE,
        header,
        (table.ranking(stage.scores(table.rows), paths) for table in one.tables()),
    )
    shutil.copyfile(
        one.folder / JUDGEMENTS_FILE, folder / JUDGEMENTS_FILE
    )  # last: a folder with it is a finished run
    return one.project.name, read_scored_run(folder).evaluation()


def _settings(config: Config) -> dict[str, Any]:
    fit = {"rounds": ROUNDS, "ranker weight": RANKER_WEIGHT, "least reports": LEAST_REPORTS}
    return {"ranker": config.stage_one.ranker, **fit, "seed": config.run.seed}
