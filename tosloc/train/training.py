"""Train a checkpoint on labelled reports, and write runs on validation and test reports."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Final

from tosloc.core.config import Config
from tosloc.core.errors import ToslocError
from tosloc.core.progress import Progress, announce, ignore_progress
from tosloc.core.rankings import Ranking
from tosloc.core.reports import Case
from tosloc.core.resources import format_duration, peak_gibibytes
from tosloc.evaluate.runs import RunFolder
from tosloc.git.repository import Repository
from tosloc.localize.answer import Weights
from tosloc.localize.checkpoint import write_record
from tosloc.localize.model import Model
from tosloc.rank.features import PARTS, WORK_FOLDER, FeatureTable, TableFolder
from tosloc.rank.features.extraction import SAMPLED_FILES, select_names
from tosloc.rank.model import (
    DEFAULT_TEMPERATURE,
    TEMPERATURE_KEY,
    JudgedAnswer,
    StageOne,
    fit_temperature,
    load_lightgbm,
    match_temperature,
)
from tosloc.rank.model.fitting import AS_SHIPPED, MIN_REPORTS, fit_stage_one, learns_ranker
from tosloc.rerank.base import Reranker, reranker_class
from tosloc.retrieval.version_index import KnownReports
from tosloc.train.candidates import LabelledCandidates
from tosloc.train.experiment import ExperimentContext, results_folder

STAGE_ONE: Final = "stage_one"
"""Folder with the runs of stage one alone, written if there is a reranker."""
MAX_EVOLUTION_REPORTS: Final = 600
"""Number of training reports, the newest, for differential evolution; more take hours."""


def train(
    config: Config,
    repo_path: str | Path,
    reports_path: str | Path,
    out: str | Path,
    progress: Progress = ignore_progress,
    *,
    embed_version: bool = True,
    keep_features: bool = False,
) -> Model:
    """Learn on train, choose on validation, rank validation and test; write checkpoint and runs.

    Return the trained model. With ``embed_version`` the checkpoint contains the newest version
    among the reports, so that it can localize without a repository. With ``keep_features`` the
    feature tables stay in ``out``. Raises ToslocError if no training report has a fixed file.
    """
    started = time.monotonic()
    folder = Path(out).expanduser()
    if config.data.suffixes == "auto":
        # A trained model searches all files that the shipped weights search.
        data = config.data.model_copy(update={"suffixes": ()})
        config = config.model_copy(update={"data": data})
    names = select_names(config.stage_one)
    reranker = configured_reranker(config)
    with (
        results_folder(folder, own=True) as work,
        Repository(repo_path) as repo,
        ExperimentContext(config, repo, Path(reports_path), progress) as experiment,
    ):
        train_cases, sampled = training_cases(experiment.config, experiment.parts)
        shipped = experiment.shipped(experiment.parts["train"][-1])
        default = shipped[0] if config.stage_one.shipped else None
        if learns_ranker(config.stage_one, len(train_cases), default):
            load_lightgbm()  # if it is missing, say so before hours of work
        extraction = experiment.extraction(work, names)
        blocks = {}
        for part in PARTS:
            is_train = part == "train"
            blocks[part] = extraction.run(
                train_cases if is_train else experiment.parts[part],
                sampled if is_train else 0,
                jobs=config.run.jobs,
                what=f"computing {part} features",
                progress=progress,
            )

        def tables(part: str) -> Iterable[FeatureTable]:
            return FeatureTable.read_blocks(blocks[part])

        extracted = time.monotonic()
        announce(progress, f"reading and features took {format_duration(extracted - started)}")
        stage_one, choice = fit_stage_one(
            config.stage_one,
            names,
            tables("train"),
            partial(tables, "validation"),
            default,
            config.run.seed,
            progress,
        )
        model = Model(
            stage_one,
            reranker=reranker,
            known_reports=known_reports(experiment),
            choice=choice,
            configuration=experiment.config,
        )
        fitting_seconds = time.monotonic() - extracted
        announce(progress, f"stage one took {format_duration(fitting_seconds)} to learn")
        model = replace(model, weights=_weights(experiment, model, train_cases))
        model = _finish(experiment, model, shipped, tables, folder, progress)
        if embed_version:
            newest = max(experiment.dataset.cases, key=lambda case: case.fixed_at)
            version = experiment.indexed.index_version(newest.before_commit, progress)
            model = model.with_version(version)
        model.save(folder / "checkpoint")
        shutil.rmtree(_reranker_work(folder), ignore_errors=True)
        write_record(folder / "provenance.json", model.provenance)
    if keep_features:
        TableFolder(folder).write_listing(blocks)
    else:
        shutil.rmtree(work)
    seconds = time.monotonic() - started
    announce(
        progress,
        f"all of training took {format_duration(seconds)}; "
        f"peak memory of this process {peak_gibibytes():.1f} GiB",
    )
    return model


def known_reports(experiment: ExperimentContext) -> KnownReports:
    """Return the labelled reports of an experiment, in the form that a checkpoint stores."""
    return KnownReports.of(
        experiment.dataset.cases,
        experiment.history,
        experiment.repo.path_names,
        experiment.history_index.shared_lines,
    )


def configured_reranker(config: Config) -> Reranker | None:
    """Return the untrained reranker of a configuration; None if it has none.

    Training calls this first, so that missing packages are noticed before hours of work. Raises
    MissingExtra without the reranker's packages, and CheckpointError without its encoders.
    """
    settings = config.stage_two
    return reranker_class(settings.reranker).from_config(config) if settings.enabled else None


def training_cases(
    config: Config, parts: Mapping[str, Sequence[Case]]
) -> tuple[Sequence[Case], int]:
    """Return the training reports for stage one, and how many wrong files of each are learned from.

    A number of 0 stands for all wrong files. ``parts`` are the result of ``Dataset.split``. Raises
    ToslocError if no training report has a fixed file.
    """
    settings = config.stage_one
    useful = [case for case in parts["train"] if case.fixed]
    if not useful:
        share = config.data.train
        needed = math.ceil(MIN_REPORTS / Fraction(str(share)))
        number = sum(1 for case in parts["all"] if case.fixed)
        raise ToslocError(
            f"training needs {needed} reports with a fixed file, because it learns from the oldest"
            f" {100 * share:g} % of them and needs {MIN_REPORTS} of these; there are {number}",
            hint="give more reports of this repository, or use the shipped weights",
        )
    useful = useful[-settings.train_reports :]
    if settings.fit == "differential_evolution":
        return useful[-MAX_EVOLUTION_REPORTS:], 0
    return useful, SAMPLED_FILES


def _weights(experiment: ExperimentContext, model: Model, train_cases: Sequence[Case]) -> Weights:
    """Return the record of a model's weights and their training that answers contain."""
    choice = model.choice
    is_shipped = choice is not None and choice.taken == AS_SHIPPED and model.reranker is None
    return Weights(
        "shipped" if is_shipped else "trained",
        datetime.now(UTC).date(),
        len(train_cases),
        weak=2 * experiment.weak_reports(train_cases) > len(train_cases),
    )


def _reranker_work(folder: Path) -> Path:
    return folder / WORK_FOLDER / "reranker"


def _finish(
    experiment: ExperimentContext,
    model: Model,
    shipped: tuple[StageOne, float],
    tables: Callable[[str], Iterable[FeatureTable]],
    folder: Path,
    progress: Progress,
) -> Model:
    """Fit the reranker on top of stage one, write the runs, and return the finished model.

    ``shipped`` are the shipped weights and their temperature. If there is a reranker, a run of
    stage one alone is written beside the run of each part. For the test part the run of the shipped
    weights is written as well, so that ``tosloc evaluate`` can say whether training helped.
    """
    stage_one = model.stage_one
    assert stage_one is not None
    candidates = experiment.candidates(stage_one, tables)
    shipped_stage = shipped[0].align(stage_one.features)
    by_shipped = None
    if shipped_stage is not None:
        by_shipped = experiment.candidates(shipped_stage, tables)
    context = experiment.for_reranking()
    reranker = model.reranker
    if reranker is not None:
        reranker = reranker.fit(
            candidates,
            context,
            _reranker_work(folder),
            seed=experiment.config.run.seed,
            progress=progress,
        )
    model = replace(model, reranker=reranker, provenance=experiment.provenance())
    shipped_folder = RunFolder(folder / "test").shipped.path
    shutil.rmtree(shipped_folder, ignore_errors=True)  # an earlier training's
    judged: list[JudgedAnswer] = []
    for part in ("validation", "test"):
        cases = experiment.parts[part]
        header = experiment.run_header("tosloc train") | {"split": part}
        rankings = candidates.rankings(part)
        if reranker is not None:
            first_stage = header | {"stage": "one"}
            experiment.write_part(folder / STAGE_ONE / part, first_stage, rankings, cases)
            rankings = candidates.rankings(part, reranker, context, progress)
        if part == "validation":
            rankings = _record_judged(rankings, cases, judged)
            experiment.write_part(folder / part, header, rankings, cases)
            temperature = _temperature(experiment, judged, by_shipped, shipped[1])
            model = replace(model, temperature=temperature)
            continue
        if by_shipped is not None:
            shipped_header = header | {"weights": "shipped", TEMPERATURE_KEY: shipped[1]}
            shipped_rankings = by_shipped.rankings(part)
            experiment.write_part(shipped_folder, shipped_header, shipped_rankings, cases)
        header[TEMPERATURE_KEY] = model.temperature
        experiment.write_part(folder / part, header, rankings, cases)
    return model


def _temperature(
    experiment: ExperimentContext,
    judged: Sequence[JudgedAnswer],
    by_shipped: LabelledCandidates | None,
    shipped_temperature: float,
) -> float:
    """Return the temperature of the trained weights, from ``judged`` answers to validation reports.

    It is fitted on real reports, because commit messages say nothing about how often answers to
    user reports are right. Without real reports it is the shipped temperature, converted to the
    scale of the trained weights. If the shipped weights cannot rank the reports, because the
    configuration leaves out features, ``by_shipped`` is None, and the result is the default
    temperature.
    """
    cases = experiment.parts["validation"]
    real: list[JudgedAnswer] = []
    for answer, case in zip(judged, cases, strict=True):
        if not experiment.weak_reports([case]):
            real.append(answer)
    if real:
        return fit_temperature(real)
    if by_shipped is None:
        return DEFAULT_TEMPERATURE
    judged_shipped: list[JudgedAnswer] = []
    for _ in _record_judged(by_shipped.rankings("validation"), cases, judged_shipped):
        pass
    return match_temperature(judged, judged_shipped, shipped_temperature)


def _record_judged(
    rankings: Iterable[Ranking], cases: Iterable[Case], judged: list[JudgedAnswer]
) -> Iterator[Ranking]:
    """Yield the rankings; for each, append to ``judged`` its scores and whether it is right."""
    for ranking, case in zip(rankings, cases, strict=True):
        right = bool(set(ranking.paths[:1]) & set(case.fixed))
        judged.append(JudgedAnswer.of(ranking.scores, right))
        yield ranking
