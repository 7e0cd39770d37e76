"""Learning stage one: weights on train, in one of two ways, every choice on validation, test never seen.

Shapes: R reports, n rows over all reports, K features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np

from tosloc.core.config import EvolutionSettings, StageOneSettings
from tosloc.core.metrics import fixed_ranks, rr_and_ap
from tosloc.core.records import FloatArray, Progress, ignore_progress
from tosloc.rank.ranking_lists import RankingLists, ranking_lists
from tosloc.rank.stage_one import HeadRanker, StageOne, fit_trees, weighted_sums
from tosloc.rank.tables import FeatureTable
from tosloc.retrieval.postings import group_sum

L2: Final = 1e-3
"""Pull of the weights toward zero in the listwise fit; chosen on the validation reports of four projects."""
_BLOCK: Final = 4096  # rows that are added in single precision before their sum is added in double
SHRINK: Final = 0.03
"""Pull of the weights toward the shipped ones where 50 reports or fewer are learned from; of more, by so much less.

Chosen on the validation reports of four projects."""
RANKER_WEIGHTS: Final = (
    0.5,
    2.0,
    8.0,
    32.0,
)  # of the learned ranker's score against the linear one, tried on validation
MIN_LEAD: Final = (
    0.002  # MRR + MAP on validation by which a candidate must lead a simpler one before it
)
AS_SHIPPED: Final = "shipped weights and ranker as they are"
"""What whatever was learned has to beat, or it is not taken."""
MIN_REPORTS_OWN_RANKER: Final = 750
"""Training reports from which on an own ranker is learned and validation decides. On 50 to 700 reports of six projects
validation chose what was .008 worse than the shipped weights as they are (docs/results.md)."""
MIN_REPORTS: Final = 20
"""Training reports from which on anything is learned beside a shipped ranker. What cross-validation chose on 4 and 8
reports of three projects was .001 better than the shipped weights, on single ones .02 worse."""
FOLDS: Final = 4
_SHIPPED_WEIGHTS: Final = "shipped weights"


def listwise_loss(
    weights: FloatArray, lists: RankingLists, l2: float, centre: FloatArray, pull: float
) -> tuple[float, FloatArray]:
    """Mean over reports of the mean over fixed files of -log p(file | file + all files not fixed), and its gradient.
    Reports count as ``report_weights`` says. ``l2`` draws the weights to 0, ``pull`` to ``centre``. Convex in the
    weights.
    """
    rows, fixed, starts, reports = lists.rows, lists.fixed, lists.starts[:-1], len(lists)
    report_of = np.repeat(np.arange(reports), lists.sizes)
    scores = weighted_sums(rows, weights)
    mass = np.exp(scores - np.maximum.reduceat(scores, starts)[report_of]) * lists.weights
    others = np.add.reduceat(np.where(fixed, 0.0, mass), starts)
    hit = np.flatnonzero(fixed)
    own, of_hit = mass[hit], report_of[hit]
    total, number = own + others[of_hit], np.add.reduceat(fixed.astype(np.float64), starts)
    share = lists.report_weights[of_hit] / (number[of_hit] * float(lists.report_weights.sum()))
    loss = float((-np.log(own / total) * share).sum())
    # d(-log p)/d score of the fixed file is p - 1, of each other file its own share of the mass
    slope = mass * group_sum(of_hit, share / total, reports)[report_of]
    slope[hit] = (own / total - 1.0) * share
    gradient = np.zeros(rows.shape[1])
    for start in range(0, len(rows), _BLOCK):
        some = slice(start, start + _BLOCK)
        gradient += np.einsum("n,nk->k", slope[some].astype(np.float32), rows[some])
    away = weights - centre
    loss += l2 * float(weights @ weights) + pull * float(away @ away)
    return loss, gradient + 2 * l2 * weights + 2 * pull * away


def fit_listwise(
    lists: RankingLists, *, centre: FloatArray | None = None, pull: float = 0.0
) -> FloatArray:
    """(K,) weights that minimise ``listwise_loss`` (L-BFGS from the centre, by SciPy's own tolerance); signed."""
    from scipy import optimize  # here, as below: what was learned is used without it

    start = np.zeros(lists.rows.shape[1]) if centre is None else centre
    given = lists, L2, start, pull
    found = optimize.minimize(
        listwise_loss, start, given, "L-BFGS-B", jac=True, options={"maxiter": 300}
    )
    return np.asarray(found.x)


def list_quality(weights: FloatArray, lists: RankingLists) -> float:
    """MRR + MAP of the weighted sums over the lists, in which every row stands for one file. A fixed file stands behind
    every wrong file with the same score, so that constant scores earn nothing.
    """
    scores, total = weighted_sums(lists.rows, weights), 0.0
    for own, fixed in zip(
        *(np.split(column, lists.starts[1:-1]) for column in (scores, lists.fixed)), strict=True
    ):
        right = np.sort(own[fixed])[::-1]
        wrong = np.count_nonzero(own[~fixed] >= right[:, None], axis=1)
        total += sum(rr_and_ap(wrong + np.arange(1, len(right) + 1)))
    return total / len(lists)


def fit_evolution(
    features: int,
    objective: Callable[[FloatArray], float],
    settings: EvolutionSettings,
    seed: int,
    progress: Progress,
) -> FloatArray:
    """(K,) weights from 0 to 1 that maximise the objective, by differential evolution (Storn and Price 1997). Not
    polished: MAP and MRR are step functions, a gradient step would only move along a stair.
    """
    from scipy import optimize

    def step(intermediate_result: optimize.OptimizeResult) -> None:  # SciPy wants this name
        progress("differential evolution", intermediate_result.nit, settings.generations)

    def cost(weights: FloatArray) -> float:
        return -objective(weights)

    found = optimize.differential_evolution(
        cost,
        optimize.Bounds(np.zeros(features), 1),
        maxiter=settings.generations,
        popsize=settings.population,
        rng=seed,
        polish=False,
        callback=step,
    )
    return np.asarray(found.x)


@dataclass(frozen=True, slots=True)
class Choice:
    """What was tried, in the order of preference, and what was taken."""

    taken: str
    tried: Mapping[str, tuple[float, float]]  # name -> (MRR, MAP)
    by: str  # validation, cross-validation of so many training reports, or why there was no choice

    @property
    def sentence(self) -> str:
        """Return what was decided between trained and shipped weights; "" where the shipped ones were not tried."""
        shipped = AS_SHIPPED if AS_SHIPPED in self.tried else _SHIPPED_WEIGHTS
        if shipped not in self.tried:
            return ""
        quality = {
            name: "MRR {:.3f}, MAP {:.3f}".format(*means) for name, means in self.tried.items()
        }
        if self.taken != shipped:
            trained = f"your trained weights ({quality[self.taken]} in {self.by})"
            return f"Using {trained} instead of the shipped ones ({quality[shipped]})."
        learned = [name for name in self.tried if name != shipped]
        if not learned:
            return f"Keeping the shipped weights: {self.by}."
        best = max(learned, key=lambda name: sum(self.tried[name]))
        kept = f"the shipped weights ({quality[shipped]} in {self.by})"
        return f"Keeping {kept} instead of trained ones ({quality[best]})."


def judge(
    candidates: Mapping[str, StageOne], tables: Iterable[FeatureTable]
) -> dict[str, tuple[float, float]]:
    """(MRR, MAP) of every candidate over feature tables, read once. Reports without fixed files count 0."""
    values = [
        [
            rr_and_ap(fixed_ranks(stage.scores(table.rows), table.fixed).tolist())
            for stage in candidates.values()
        ]
        for table in tables
    ]
    means = np.mean(values or np.zeros((1, len(candidates), 2)), axis=0)
    return dict(zip(candidates, map(tuple, means.tolist()), strict=True))


def choose_candidate(tried: Mapping[str, tuple[float, float]]) -> str:
    """The first name whose MRR + MAP no later one exceeds by more than the margin; names stand simplest first."""
    best, *others = tried
    for name in others:
        best = name if sum(tried[name]) > sum(tried[best]) + MIN_LEAD else best
    return best


def head_lists(stage: StageOne, lists: RankingLists) -> RankingLists:
    """The head of every report's list by linear score, of those that hold a fixed file there."""
    heads, kept = [], []
    scores = stage.linear(lists.rows)
    for report, (start, end) in enumerate(pairwise(lists.starts.tolist())):
        order, rows = stage.head(stage.features, lists.rows[start:end], scores[start:end])
        fixed = lists.fixed[start:end][order]
        if fixed.any():
            heads.append((rows, fixed, lists.weights[start:end][order]))
            kept.append(report)
    return replace(RankingLists.of(heads), report_weights=lists.report_weights[kept])


def fit_stage_one(
    settings: StageOneSettings,
    names: tuple[str, ...],
    train: Iterable[FeatureTable],
    validation: Callable[[], Iterable[FeatureTable]],
    default: StageOne | None,
    seed: int = 7,
    progress: Progress = ignore_progress,
) -> tuple[StageOne, Choice]:
    """Stage one learned on ``train``; among own, shipped and averaged weights and rankers, validation decides. Beside a
    shipped ranker fewer than ``MIN_REPORTS_OWN_RANKER`` reports teach no own one, and their cross-validation decides; fewer than
    ``MIN_REPORTS`` teach nothing. Whatever was
    learned has to beat there the default stage one as it is, with its own ranker, or that is taken. A feature that it
    does not know has weight 0 there; where one that it knows is not among ``names``, it is of no use. ``validation``
    gives full feature tables anew at each call.
    """
    default = None if default is None else default.align(names)
    tables = [table for table in train if table.fixed.any()]
    rankers, shipped = dict[str, HeadRanker](), dict[str, StageOne]()
    if settings.ranker and default is not None and default.ranker is not None:
        rankers["shipped ranker"], shipped[AS_SHIPPED] = default.ranker, default
        if len(tables) < MIN_REPORTS:
            too_few = f"training needs {MIN_REPORTS} reports with a fixed file to learn from, and there are {len(tables)}"
            return default, Choice(AS_SHIPPED, judge(shipped, tables), too_few)
    lists = ranking_lists(tables)
    if settings.fit == "differential_evolution":
        quality = partial(list_quality, lists=lists)
        weights = fit_evolution(len(names), quality, settings.evolution, seed, progress)
        stages = _linear(names, weights, default)
    else:
        stages = _linear(names, _listwise(lists, default), default)
    few = _is_cross_validated(settings, len(tables), default)
    if few:
        stages, folds = _ranked(stages, rankers) | shipped, []
        for part in np.array_split(np.arange(len(tables)), FOLDS):
            others = [table for number, table in enumerate(tables) if number not in part]
            options = (
                _ranked(_linear(names, _listwise(ranking_lists(others), default), default), rankers)
                | shipped
            )
            folds.append(judge(options, [tables[number] for number in part]))
        tried = {
            name: tuple(np.mean([fold[name] for fold in folds], axis=0).tolist()) for name in stages
        }
    else:
        tried = judge(stages, validation())
        if settings.ranker:
            progress("learned ranker", 0, 1)
            taken = choose_candidate(tried)
            if len(heads := head_lists(stages[taken], lists)):
                rankers = {"own ranker": HeadRanker(names, fit_trees(heads, seed), 1.0), **rankers}
            progress("learned ranker", 1, 1)
            ranked = _ranked({taken: stages[taken]}, rankers) | shipped
            stages |= ranked
            tried |= judge(ranked, validation())
    taken = choose_candidate(
        {name: quality for name, quality in tried.items() if name != AS_SHIPPED}
    )
    if (
        0 < sum(tried.get(AS_SHIPPED, ())) >= sum(tried[taken])
    ):  # 0 where nothing was left to judge by
        taken = AS_SHIPPED
    return stages[taken], Choice(
        taken, tried, f"cross-validation of {len(tables)} training reports" if few else "validation"
    )


def learns_ranker(settings: StageOneSettings, reports: int, default: StageOne | None) -> bool:
    """Whether ``fit_stage_one`` learns a ranker, with LightGBM, from a number of reports."""
    return settings.ranker and not _is_cross_validated(settings, reports, default)


def _is_cross_validated(settings: StageOneSettings, reports: int, default: StageOne | None) -> bool:
    """Whether reports are too few for an own ranker, so that cross-validation decides."""
    has_shipped_ranker = settings.ranker and default is not None and default.ranker is not None
    return has_shipped_ranker and settings.fit == "listwise" and reports < MIN_REPORTS_OWN_RANKER


def _listwise(lists: RankingLists, default: StageOne | None) -> FloatArray:
    """(K,) weights: few reports lean on the shipped ones, many do not need them."""
    if default is None:
        return fit_listwise(lists)
    return fit_listwise(lists, centre=default.weights, pull=SHRINK * 50.0 / max(len(lists), 50))


def _linear(
    names: tuple[str, ...], weights: FloatArray, default: StageOne | None
) -> dict[str, StageOne]:
    """By name a stage one of the weights, and of the shipped ones and the mean of both where there are shipped ones."""
    stages = {"own weights": StageOne(names, weights)}
    if default is not None:
        stages[_SHIPPED_WEIGHTS] = StageOne(names, default.weights)
        stages["mean of both"] = StageOne(names, (weights + default.weights) / 2)
    return stages


def _ranked(
    stages: Mapping[str, StageOne], rankers: Mapping[str, HeadRanker]
) -> dict[str, StageOne]:
    """Each stage with each ranker at each weight."""
    return {
        f"{of}, {name} x {weight:g}": replace(stage, ranker=replace(ranker, weight=weight))
        for of, stage in stages.items()
        for name, ranker in rankers.items()
        for weight in RANKER_WEIGHTS
    }
