"""What several projects teach together: the shipped weights, and what each feature is worth.

Works on the feature tables that ``train --keep-features`` leaves behind; test tables are read only to be measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tosloc.calibration import LISTED, UNFITTED, JudgedAnswer, fit_temperature
from tosloc.checkpoint import weights_record, write_digests
from tosloc.config import StageOneSettings
from tosloc.errors import ToslocError
from tosloc.evaluation.reliability import Reliability
from tosloc.files import write_text
from tosloc.learning.lambdamart import HeadRanker
from tosloc.learning.linear import fit_listwise, listwise_loss
from tosloc.learning.ranking_lists import RankingLists
from tosloc.records import LongArray, Progress, silent
from tosloc.retrieval.feature_tables import FeatureTable
from tosloc.retrieval.fitting import WEIGHTS, head_lists, judge
from tosloc.retrieval.stage_one import StageOne
from tosloc.retrieval.stored_tables import StoredFeatureTables

LINEAR_REPORTS = 900
"""Reports of each project that the common weights are fitted on, spread evenly over its training part."""
RANKER_REPORTS = 2500
"""The same for the common ranker, which needs more."""
RANKER_MIX = 8.0
"""Points of the common ranker for one of the linear score where no validation part is at hand: on the validation parts
of projects that it never saw, 8 is better than 2, and 32 no better than 8 beyond ``fitting.MARGIN`` a measure."""


def evenly(reports: int, number: int) -> LongArray:
    """At most ``number`` of so many reports, spread evenly.

    >>> evenly(10, 4).tolist()
    [0, 3, 6, 9]
    """
    return np.unique(np.linspace(0, reports - 1, min(number, reports)).round().astype(np.int64))


def read_alike(folders: Sequence[Path]) -> list[StoredFeatureTables]:
    """The kept tables of training folders. Raises ToslocError when one keeps none, or they hold different features."""
    projects = [StoredFeatureTables.read(folder) for folder in folders]
    if any(project.features != projects[0].features for project in projects):
        raise ToslocError("the folders hold different features; train them with the same configuration")
    return projects


def fit_projects(
    settings: StageOneSettings, names: tuple[str, ...], projects: Sequence[RankingLists], seed: int = 7
) -> StageOne:
    """Weights and ranker of several projects together, each with an equal say in the weights.

    Raises ToslocError without projects.
    """
    if not projects:
        raise ToslocError("no project is left to learn from; name at least two training folders")
    shared = RankingLists.join([lists.take(evenly(len(lists), LINEAR_REPORTS)) for lists in projects])
    linear = StageOne(names, fit_listwise(shared, l2=settings.l2))
    if not settings.ranker.enabled:
        return linear
    heads = RankingLists.join(
        [head_lists(linear, one.take(evenly(len(one), RANKER_REPORTS)), settings.ranker.depth) for one in projects]
    )
    return StageOne(names, linear.weights, HeadRanker(settings.ranker, seed, RANKER_MIX).fit(heads))


def write_weights(settings: StageOneSettings, projects: Sequence[StoredFeatureTables], out: Path) -> Path:
    """Fit stage one on all projects and write it as TosLoc ships it; the file of its weights."""
    stage = fit_projects(settings, projects[0].features, [project.train() for project in projects])
    temperature = common_temperature(stage, projects)
    if stage.ranker is not None:
        write_text(out / "ranker.txt", stage.ranker.text())
    write_text(out / "weights.json", json.dumps(weights_record(stage, temperature=temperature), indent=1) + "\n")
    write_digests(out)
    return out / "weights.json"


@dataclass(frozen=True)
class LeftOut:
    """How a stage one that the other projects taught serves a project."""

    project: str
    stage: str
    validation: tuple[float, float]
    """MRR and MAP."""
    test: tuple[float, float]
    shares: Reliability | None = None
    """What its shares are worth on the project's validation and test reports; of the stage one to be shipped."""
    temperature: float = UNFITTED
    """Of those shares, fitted on the others' validation parts."""


def judged(stage: StageOne, project: StoredFeatureTables, parts: Sequence[str]) -> Iterator[JudgedAnswer]:
    """A stage one's answers to the reports of some parts of a project."""
    for table in (table for part in parts for table in project.tables(part)):
        scores = stage.scores(table.rows)
        first = np.argsort(-scores, kind="stable")[:LISTED]
        yield JudgedAnswer(scores[first], bool(table.fixed[first[:1]].any()))


def common_temperature(stage: StageOne, projects: Iterable[StoredFeatureTables]) -> float:
    """The temperature of a stage one's shares, fitted on the validation parts of all projects together."""
    return fit_temperature([answer for project in projects for answer in judged(stage, project, ["validation"])])


def leave_one_out(
    settings: StageOneSettings, projects: Sequence[StoredFeatureTables], progress: Progress = silent
) -> Iterator[LeftOut]:
    """Of each project the common weights of all others, alone and with their ranker at each weight."""
    lists = [project.train() for project in projects]
    for number, project in enumerate(projects):
        progress("projects", number, len(projects))
        names = project.features
        stage = fit_projects(settings, names, [one for other, one in enumerate(lists) if other != number])
        stages = {"weights of the others": StageOne(names, stage.weights)}
        if stage.ranker is not None:
            for weight in WEIGHTS:
                with_ranker = StageOne(names, stage.weights, stage.ranker.weighted(weight))
                stages[f"and their ranker x {weight:g}"] = with_ranker
        validation, test = (judge(stages, project.tables(part)) for part in ("validation", "test"))
        shipped = f"and their ranker x {RANKER_MIX:g}" if stage.ranker is not None else "weights of the others"
        temperature = common_temperature(stage, [one for other, one in enumerate(projects) if other != number])
        shares = Reliability.of(list(judged(stage, project, ["validation", "test"])), temperature)
        for name in stages:
            measured = (shares, temperature) if name == shipped else ()
            yield LeftOut(project.name, name, validation[name], test[name], *measured)
    progress("projects", len(projects), len(projects))


class FeatureWorth(NamedTuple):
    """Listwise loss on train, MRR and MAP on validation."""

    loss: float
    mrr: float
    map: float


def feature_ablation(
    settings: StageOneSettings, project: StoredFeatureTables, progress: Progress = silent
) -> dict[str, FeatureWorth]:
    """For each feature what leaving it out changes.

    The first row, "all", holds the values with every feature. Linear weights of the project's own, fitted on
    ``LINEAR_REPORTS`` of its training reports.
    """
    whole_train = project.train()
    train = whole_train.take(evenly(len(whole_train), LINEAR_REPORTS))
    validation = list(project.tables("validation"))

    def measured(names: tuple[str, ...]) -> FeatureWorth:
        columns = [project.features.index(name) for name in names]
        part = train.columns(columns)
        stage = StageOne(names, fit_listwise(part, l2=settings.l2))
        loss = listwise_loss(stage.weights, part, settings.l2, np.zeros(len(names)), 0.0)[0]
        cut = [FeatureTable(t.report, t.rows[:, columns], t.fixed, t.weights, t.path_ids) for t in validation]
        return FeatureWorth(loss, *judge({"": stage}, cut)[""])

    whole = measured(project.features)
    rows = {"all": whole}
    for number, name in enumerate(project.features):
        progress(f"{project.name}: features left out", number, len(project.features))
        without = measured(tuple(other for other in project.features if other != name))
        rows[name] = FeatureWorth(*(value - of_all for value, of_all in zip(without, whole, strict=True)))
    progress(f"{project.name}: features left out", len(project.features), len(project.features))
    return rows
