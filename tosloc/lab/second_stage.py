"""What features of the first files add to stage one, on projects that neither it nor they learned from.

Stage one of each part that is left out is the pool's (``tosloc.lab.pool``); the features' weights beside its score are
learned on the other parts. Shapes: C candidates of a report, K features.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import joblib
import numpy as np

from tosloc.candidates import LabelledCandidates
from tosloc.config import Config
from tosloc.data.git import Repository
from tosloc.errors import ToslocError
from tosloc.evaluation.statistics import MeanOfMeans, mean_of_means
from tosloc.experiment import ExperimentContext
from tosloc.lab.candidate_features import CandidateFeatures
from tosloc.lab.many_projects import Outcome
from tosloc.lab.pool import Pool, Tables, folds_of, joined, of_projects, one_by_one
from tosloc.lab.projects import Project
from tosloc.learning.linear import fit_listwise, listwise_loss
from tosloc.learning.ranking_lists import RankingLists
from tosloc.metrics import fixed_ranks, rr_and_ap
from tosloc.records import BoolArray, Float32Array, FloatArray, Progress, silent
from tosloc.reranking.base import Candidates
from tosloc.retrieval.stage_one import StageOne

DEPTH: Final = 100
"""First files of stage one that are ordered anew."""
_PULL: Final = 0.001
"""How strongly the weights are drawn to stage one's order."""


@dataclass(frozen=True, eq=False)
class FeaturedReport:
    """The candidates of a labelled report, with their features."""

    rows: Float32Array
    """(C, 1 + K) stage one's score, then the features."""
    fixed: BoolArray
    missed_ranks: tuple[int, ...]
    relevant: int

    @property
    def teaches(self) -> bool:
        """Whether there is an order to learn: some candidates are fixed, and some are not."""
        return bool(self.fixed.any() and not self.fixed.all())

    def values(self, scores: FloatArray) -> tuple[float, float, float]:
        """Reciprocal rank, average precision and loss of the candidates ordered by ``scores`` (C,).

        The loss is what the fit lowers, ``listwise_loss``; NaN where none or all are fixed.
        """
        ranks = [*fixed_ranks(scores, self.fixed).tolist(), *self.missed_ranks]
        loss = np.nan
        if self.teaches:
            alone = RankingLists.of([(scores[:, None].astype(np.float32), self.fixed)])
            loss, _ = listwise_loss(np.ones(1), alone, 0.0, np.zeros(1), 0.0)
        return (*rr_and_ap(ranks, self.relevant, add=sum), loss)


@dataclass(frozen=True)
class Gain:
    """What some features add; each measure is the mean over projects of the means over their reports."""

    features: tuple[str, ...]
    values: tuple[float, float, float]
    """MRR, MAP, loss."""
    mrr: MeanOfMeans
    """What MRR gains on stage one's."""
    map: MeanOfMeans
    """The same of MAP."""
    loss: float
    """Its difference to that of stage one's score times a number, which is learned likewise."""


@dataclass(frozen=True)
class Study:
    """What was found."""

    projects: int
    reports: int
    stage_one: tuple[float, float, float]
    """MRR, MAP, and the loss of its score times a learned number."""
    gains: tuple[Gain, ...]
    outcomes: tuple[Outcome, ...]

    def values(self) -> dict[str, Any]:
        """As plain values, without the outcomes."""
        gains = [asdict(one) for one in self.gains]
        return {"projects": self.projects, "reports": self.reports, "stage one": self.stage_one, "gains": gains}


def study(
    pool: Pool,
    projects: Sequence[Project],
    groups: Mapping[str, CandidateFeatures],
    chosen: Sequence[Sequence[str]] = (),
    folds: int = 5,
    progress: Progress = silent,
) -> Study:
    """What each group of features adds, all of them together, and each choice of features.

    Stage one learns of projects that are left out alone (``alone``), too, but they are not looked at. Raises
    ToslocError when fewer than two others have tables.
    """
    of_group = {group: [f"{group}.{name}" for name in one.names] for group, one in groups.items()}
    names = [name for group in of_group.values() for name in group]
    for name in (name for one in chosen for name in one if name not in names):
        raise ToslocError(f"no feature of candidates is called {name!r}; there are {', '.join(names)}")
    tables, outcomes = of_projects(pool, projects, progress)
    parts = [part for part in folds_of(tables, folds) if not part[0].project.alone]
    if len(parts) < 2:
        raise ToslocError("fewer than two parts are left out in turn; name at least two projects that are not alone")
    stages = [pool.learned(tables[0].names, [one for one in tables if one not in part]) for part in parts]
    calls = [
        joblib.delayed(_featured)(pool, one, stage, groups)
        for stage, part in zip(stages, parts, strict=True)
        for one in part
    ]
    found = dict(one_by_one(calls, pool.config.run.jobs, "features of candidates", progress))
    dealt = [[found[one.project.name] for one in part if found[one.project.name]] for part in parts]
    if not any(dealt):
        raise ToslocError("no report has candidates; there is nothing to look at")
    first, scaled = _judged(pool.config, dealt, []), _means(_judged(pool.config, dealt, [0]))
    asked = [*of_group.values(), *([names] if len(groups) > 1 else []), *map(list, chosen)]
    gains = []
    for one in asked:
        after = _judged(pool.config, dealt, [0, *(1 + names.index(name) for name in one)])
        mrr, map_ = mean_of_means([new[:, :2] - old[:, :2] for new, old in zip(after, first, strict=True)])
        gains.append(Gain(tuple(one), _means(after), mrr, map_, _means(after)[2] - scaled[2]))
    stage_one = (*_means(first)[:2], scaled[2])
    return Study(len(first), sum(map(len, first)), stage_one, tuple(gains), tuple(outcomes))


def _featured(
    pool: Pool, one: Tables, stage: StageOne, groups: Mapping[str, CandidateFeatures]
) -> tuple[str, list[FeaturedReport]]:
    reports = []
    for candidates, made in _candidates(pool, one, stage, groups):
        rows = np.column_stack([candidates.scores, *made]).astype(np.float32)
        reports.append(FeaturedReport(rows, candidates.fixed, candidates.missed_ranks, candidates.relevant))
    return one.project.name, reports


def _candidates(
    pool: Pool, one: Tables, stage: StageOne, groups: Mapping[str, CandidateFeatures]
) -> Iterator[tuple[Candidates, list[FloatArray]]]:
    """The first files of each judged report of a project, with their features in the groups' order."""
    config = pool.config_of(one.project)
    with Repository(one.project.repo) as repo:
        for path in one.paths():  # the tables' numbers of paths
            repo.path_names.id(path)
        store = one.project.store_in(pool.stores)
        with ExperimentContext.set_up(config, repo, one.project.reports, store, facts=False) as experiment:
            facts = experiment.for_reranking().facts
            assert facts is not None
            labelled = LabelledCandidates(experiment.labelled(), stage, lambda _: one.tables())
            for candidates in labelled.candidates(one.project.judged, DEPTH):
                if len(candidates):
                    table, rows = facts(candidates.blobs, candidates.paths)
                    made = [(group.names, group.values(candidates, table, rows)) for group in groups.values()]
                    yield candidates, [values[name] for names, values in made for name in names]


def _judged(
    config: Config, dealt: Sequence[Sequence[Sequence[FeaturedReport]]], columns: Sequence[int]
) -> list[FloatArray]:
    """Of each project (R, 3) values of its reports, by weights that are learned without its part; stage one's alone
    without columns."""
    judged = []
    for number, part in enumerate(dealt):
        weights = np.ones(1)
        if columns:
            others = [project for place, other in enumerate(dealt) if place != number for project in other]
            weights = _fitted(others, columns)
        for project in part:
            rows = [(one, one.rows[:, columns or [0]].astype(np.float64) @ weights) for one in project]
            judged.append(np.array([one.values(scores) for one, scores in rows]))
    return judged


def _fitted(projects: Sequence[Sequence[FeaturedReport]], columns: Sequence[int]) -> FloatArray:
    """(K',) weights of some columns, each project counting as in the pool."""
    taught = ([one for one in project if one.teaches] for project in projects)
    lists = joined(
        RankingLists.of([(one.rows[:, columns], one.fixed) for one in some], features=len(columns)) for some in taught
    )
    return fit_listwise(lists, l2=0.0, centre=np.eye(1, len(columns))[0], pull=_PULL)


def _means(values: Sequence[FloatArray]) -> tuple[float, float, float]:
    """Means over projects; a report without a loss has none."""
    losses = [np.nanmean(one[:, 2]) for one in values if not np.isnan(one[:, 2]).all()]
    whole = np.mean([one[:, :2].mean(axis=0) for one in values], axis=0)
    return float(whole[0]), float(whole[1]), float(np.mean(losses)) if losses else 0.0
