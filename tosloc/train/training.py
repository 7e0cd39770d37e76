"""Training: labelled reports become a checkpoint, and runs of validation and test that say how good it is."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Final

from tosloc.core.config import Config, did_you_mean
from tosloc.core.errors import ConfigError, ToslocError
from tosloc.core.records import Case, Progress, Ranking, ignore_progress
from tosloc.evaluate.run_paths import SHIPPED
from tosloc.evaluate.runs import WEAK_REPORTS
from tosloc.git.repository import Repository
from tosloc.localize.answer import Weights
from tosloc.localize.checkpoint import write_record
from tosloc.localize.localizer import Localizer
from tosloc.rank import features
from tosloc.rank.calibration import (
    CALIBRATED_FILES,
    DEFAULT_TEMPERATURE,
    TEMPERATURE_KEY,
    JudgedAnswer,
    fit_temperature,
    match_temperature,
)
from tosloc.rank.extraction import SAMPLED_FILES
from tosloc.rank.fitting import AS_SHIPPED, MIN_REPORTS, fit_stage_one, learns_ranker
from tosloc.rank.stage_one import StageOne, load_lightgbm
from tosloc.rank.tables import PARTS, WORK_FOLDER, FeatureTable, read_blocks, write_listing
from tosloc.rerank.base import Reranker, reranker_class
from tosloc.retrieval.history_index import report_documents
from tosloc.train.candidates import LabelledCandidates
from tosloc.train.experiment import ExperimentContext, results_folder

STAGE_ONE: Final = "stage_one"  # folder of the runs of stage one alone, where there is a reranker
EVOLUTION_REPORTS: Final = 600
"""The newest training reports, with all their files, that differential evolution looks at: of more it takes hours."""


def train(
    config: Config,
    repo_path: str | Path,
    reports_path: str | Path,
    out: str | Path,
    progress: Progress = ignore_progress,
    *,
    embed_version: bool = True,
    keep_features: bool = False,
) -> Localizer:
    """Learn on train, choose on validation, rank validation and test, and write checkpoint and runs to ``out``.

    With ``embed_version`` the checkpoint holds the newest version among the reports, to localize without a repository.
    Raises ToslocError where there is no training report with a fixed file.
    """
    folder = Path(out).expanduser()
    if (
        config.data.suffixes == "auto"
    ):  # what is learned searches all that the shipped weights search
        config = config.model_copy(update={"data": config.data.model_copy(update={"suffixes": ()})})
    names, reranker = feature_names(config), configured_reranker(config)
    with (
        results_folder(folder, own=True) as work,
        Repository(repo_path) as repo,
        ExperimentContext(config, repo, Path(reports_path), progress) as experiment,
    ):
        learned_from = training_cases(experiment.config, experiment.parts)
        shipped = experiment.shipped(experiment.parts["train"][-1])
        default = shipped[0] if config.stage_one.shipped else None
        if learns_ranker(config.stage_one, len(learned_from[0]), default):
            load_lightgbm()  # if it is missing, say so before hours of work
        extraction, blocks = experiment.extraction(work, names), {}
        for part in PARTS:
            cases, sampled = learned_from if part == "train" else (experiment.parts[part], 0)
            what = f"features of {part}"
            blocks[part] = extraction.run(
                cases, sampled, jobs=config.run.jobs, what=what, progress=progress
            )

        def tables(part: str) -> Iterable[FeatureTable]:
            return read_blocks(blocks[part])

        localizer = Localizer(experiment.config)
        localizer.reranker_ = reranker
        localizer.stage_one, localizer.choice_ = fit_stage_one(
            config.stage_one,
            names,
            tables("train"),
            partial(tables, "validation"),
            default,
            config.run.seed,
            progress,
        )
        localizer.weights = _weights(experiment, localizer, learned_from[0])
        documents = report_documents(experiment.dataset.cases, experiment.history, repo.path_names)
        if len(documents):  # else no fix is known, and commits stood in for reports: let them go on
            localizer.reports_ = (documents, tuple(repo.path_names.names))
        newest = (
            max(experiment.dataset.cases, key=lambda case: case.fixed_at).version
            if embed_version
            else None
        )
        _finish(experiment, localizer, shipped, tables, folder, newest, progress)
    if keep_features:
        write_listing(work, blocks)
    else:
        shutil.rmtree(work)
    return localizer


def feature_names(config: Config) -> tuple[str, ...]:
    """Features that the configuration names, or all of its method. Raises ConfigError for one that there is not."""
    settings = config.stage_one
    names = settings.features or (
        features.PAPER_NAMES if settings.method == "paper" else features.NAMES
    )
    unknown = [name for name in names if name not in features.ALL]
    if unknown:
        hint = did_you_mean(unknown[0], features.ALL)
        raise ConfigError(f"[stage_one] features: no feature is called {unknown[0]!r}{hint}")
    return tuple(dict.fromkeys(names))


def configured_reranker(config: Config) -> Reranker | None:
    """The reranker to learn, if one is configured; asked for early, so that what it lacks is known at once. Raises
    MissingExtra without its packages, CheckpointError without its encoders.
    """
    settings = config.stage_two
    return reranker_class(settings.reranker).configured(config) if settings.enabled else None


def training_cases(
    config: Config, parts: Mapping[str, Sequence[Case]]
) -> tuple[Sequence[Case], int]:
    """Return the training reports that the fit of stage one looks at, and how many wrong files of each (0: all).

    ``parts`` are those of ``chronological``. Raises ToslocError when no training report has a fixed file.
    """
    settings = config.stage_one
    useful = [case for case in parts["train"] if case.fixed]
    if not useful:
        share = config.data.train
        needed = math.ceil(MIN_REPORTS / Fraction(str(share)))
        number = sum(1 for case in parts["all"] if case.fixed)
        raise ToslocError(
            f"training needs {needed} reports with a fixed file, since it learns from the oldest {100 * share:g} % and"
            f" from at least {MIN_REPORTS}; {number} found. Give more reports of this repository, or use the shipped weights"
        )
    useful = useful[-settings.train_reports :]
    if settings.fit == "differential_evolution":
        return useful[-EVOLUTION_REPORTS:], 0
    return useful, SAMPLED_FILES


def _weights(
    experiment: ExperimentContext, localizer: Localizer, learned_from: Sequence[Case]
) -> Weights:
    """Return what answers are to say about the weights that a localizer has learned from some reports today."""
    choice = localizer.choice_
    kept = choice is not None and choice.taken == AS_SHIPPED and localizer.reranker_ is None
    return Weights(
        "shipped" if kept else "trained",
        datetime.now(UTC).date(),
        len(learned_from),
        weak=2 * experiment.weak_reports(learned_from) > len(learned_from),
    )


def _finish(
    experiment: ExperimentContext,
    localizer: Localizer,
    shipped: tuple[StageOne, float],
    tables: Callable[[str], Iterable[FeatureTable]],
    folder: Path,
    newest: str | None,
    progress: Progress,
) -> None:
    """Do the second half of training: fit the localizer's reranker on top of stage one, write runs and checkpoint.

    ``shipped`` are the shipped weights and their temperature; ``newest`` is the version that the checkpoint carries.
    Beside the run of each part stands that of stage one alone, where there is a reranker, and beside that of the test
    part the shipped weights' ranking of it, so that ``tosloc evaluate`` can say whether training helped.
    """
    candidates = experiment.candidates(localizer.stage_one, tables)
    shipped_stage = shipped[0].align(localizer.stage_one.features)
    by_shipped = None if shipped_stage is None else experiment.candidates(shipped_stage, tables)
    context, work = experiment.for_reranking(), folder / WORK_FOLDER / "reranker"
    if (whole := localizer.reranker_) is not None:
        seed = experiment.config.run.seed
        whole = localizer.reranker_ = whole.fit(
            candidates, context, work, seed=seed, progress=progress
        )
    localizer.provenance_ = experiment.provenance()
    shutil.rmtree(folder / SHIPPED, ignore_errors=True)  # of an earlier training
    judged: list[JudgedAnswer] = []
    for part in ("validation", "test"):
        cases, header = (
            experiment.parts[part],
            experiment.run_header("tosloc train") | {"split": part},
        )
        if weak := experiment.weak_reports(cases):
            header[WEAK_REPORTS] = weak
        rankings = candidates.rankings(part)
        if whole is not None:
            experiment.write_part(
                folder / STAGE_ONE / part, header | {"stage": "one"}, rankings, cases
            )
            rankings = candidates.rankings(part, whole, context, progress)
        if part == "validation":
            rankings = _judging(rankings, cases, judged)
        elif by_shipped is not None:
            header_of_shipped = header | {"weights": "shipped", TEMPERATURE_KEY: shipped[1]}
            experiment.write_part(
                folder / SHIPPED / part, header_of_shipped, by_shipped.rankings(part), cases
            )
        if part == "test":
            header[TEMPERATURE_KEY] = localizer.temperature
        experiment.write_part(folder / part, header, rankings, cases)
        if part == "validation":
            localizer.temperature = _temperature(experiment, judged, by_shipped, shipped[1])
    if newest is not None:
        localizer.open_version(experiment.indexed, newest, progress)
    localizer.save(folder / "checkpoint")
    shutil.rmtree(work, ignore_errors=True)
    write_record(folder / "provenance.json", localizer.provenance_)


def _temperature(
    experiment: ExperimentContext,
    judged: Sequence[JudgedAnswer],
    by_shipped: LabelledCandidates | None,
    shipped_temperature: float,
) -> float:
    """Return the temperature of the trained weights, by their ``judged`` answers to the validation reports.

    Real reports fit it. Without any, it is the shipped one, on the scale of the trained weights: what commit messages
    say about how often an answer is right does not hold for users' reports. Where the shipped weights cannot rank the
    reports, because their features were not asked for, nothing is fitted.
    """
    cases = experiment.parts["validation"]
    real = [
        answer
        for answer, case in zip(judged, cases, strict=True)
        if not experiment.weak_reports([case])
    ]
    if real:
        return fit_temperature(real)
    if by_shipped is None:
        return DEFAULT_TEMPERATURE
    known: list[JudgedAnswer] = []
    for _ in _judging(by_shipped.rankings("validation"), cases, known):
        pass
    return match_temperature(judged, known, shipped_temperature)


def _judging(
    rankings: Iterable[Ranking], cases: Iterable[Case], judged: list[JudgedAnswer]
) -> Iterator[Ranking]:
    """Yield the rankings, and add to ``judged`` what is needed of each to fit a temperature."""
    for ranking, case in zip(rankings, cases, strict=True):
        right = bool(set(ranking.paths[:1]) & set(case.fixed))
        judged.append(JudgedAnswer(ranking.scores[:CALIBRATED_FILES].copy(), right))
        yield ranking
