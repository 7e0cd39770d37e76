"""Learning stage one: weights on train, every choice on validation, test never seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from tosloc.config import StageOneSettings
from tosloc.metrics import fixed_ranks, rr_and_ap
from tosloc.rank.feature_tables import FeatureTable, RankingLists
from tosloc.rank.lambdamart import HeadRanker, fit_trees
from tosloc.rank.linear import fit_evolution, fit_listwise, list_quality
from tosloc.rank.stage_one import StageOne
from tosloc.records import Progress, silent

SHRINK: Final = 0.03
"""Pull of the weights toward the shipped ones where 50 reports or fewer are learned from; of more, by so much less.

Chosen on the validation reports of four projects."""
WEIGHTS: Final = (0.5, 2.0, 8.0, 32.0)
"""Of the learned ranker's score against the linear one, tried on validation."""
MARGIN: Final = 0.002
"""MRR + MAP on validation by which a candidate must lead a simpler one before it."""
AS_SHIPPED: Final = "default weights and ranker as they are"
"""What whatever was learned has to beat on validation, or it is not taken."""
_SHIPPED_WEIGHTS: Final = "default weights"


@dataclass(frozen=True, slots=True)
class Choice:
    """What was tried on validation, in the order of preference, and what was taken."""

    taken: str
    tried: Mapping[str, tuple[float, float]]
    """name -> (MRR, MAP) on validation."""

    @property
    def sentence(self) -> str:
        """What validation decided between what was learned and the default weights; "" where these were not tried."""
        shipped = AS_SHIPPED if AS_SHIPPED in self.tried else _SHIPPED_WEIGHTS
        if shipped not in self.tried:
            return ""
        best = max((name for name in self.tried if name != shipped), key=lambda name: sum(self.tried[name]))
        whole = "the shipped weights and ranker as they are" if shipped == AS_SHIPPED else "the shipped weights"
        was, other = (best, f"the best of the others ({best})") if self.taken == shipped else (shipped, whole)
        taken = whole if self.taken == shipped else self.taken
        (mrr, map_), (other_mrr, other_map) = self.tried[self.taken], self.tried[was]
        said = f"took {taken}: MRR {mrr:.3f}, MAP {map_:.3f}; {other}: {other_mrr:.3f}, {other_map:.3f}"
        return f"validation {said.replace('default', 'shipped')}"


def judge(candidates: Mapping[str, StageOne], tables: Iterable[FeatureTable]) -> dict[str, tuple[float, float]]:
    """(MRR, MAP) of every candidate over full feature tables, read once. Reports without fixed files count 0."""
    sums = {name: np.zeros(2) for name in candidates}
    reports = 0
    for table in tables:
        reports += 1
        if table.fixed.any():
            for name, stage in candidates.items():
                sums[name] += rr_and_ap(fixed_ranks(stage.scores(table.rows), table.fixed).tolist())
    return {name: (float(mrr) / max(reports, 1), float(map_) / max(reports, 1)) for name, (mrr, map_) in sums.items()}


def choose(tried: Mapping[str, tuple[float, float]]) -> str:
    """The first name whose MRR + MAP no later one exceeds by more than the margin; names stand simplest first."""
    best, *others = tried
    for name in others:
        best = name if sum(tried[name]) > sum(tried[best]) + MARGIN else best
    return best


def head_lists(stage: StageOne, lists: RankingLists) -> RankingLists:
    """The head of every report's list by linear score, of those that hold a fixed file there."""
    heads, kept = [], []
    scores = stage.linear(lists.rows)
    for report, (start, end) in enumerate(pairwise(lists.starts.tolist())):
        order, rows = stage.head(stage.features, lists.rows[start:end], scores[start:end])
        fixed = lists.fixed[start:end][order]
        if fixed.any():
            heads.append((rows, fixed))
            kept.append(report)
    return RankingLists.of(heads, features=lists.rows.shape[1] + 2).counting(lists.report_weights[kept])


def fit_stage_one(
    settings: StageOneSettings,
    names: tuple[str, ...],
    train: RankingLists,
    validation: Callable[[], Iterable[FeatureTable]],
    default: StageOne | None,
    seed: int = 7,
    progress: Progress = silent,
) -> tuple[StageOne, Choice]:
    """Stage one learned on ``train``; among own, shipped and averaged weights and rankers, validation decides.

    Whatever was learned has to beat there the default stage one as it is, with its own ranker, or that is taken. A
    feature that it does not know has weight 0 there; where one that it knows is not among ``names``, it is of no use.
    ``validation`` gives full feature tables anew at each call.
    """
    default = None if default is None else default.aligned(names)
    if settings.fit == "differential_evolution":
        weights = fit_evolution(len(names), list_quality(train), settings.evolution, seed, progress)
    elif default is None:
        weights = fit_listwise(train)
    else:  # few reports lean on the shipped weights, many do not need them
        weights = fit_listwise(train, centre=default.weights, pull=SHRINK * 50.0 / max(len(train), 50))
    stages, whole = {"own weights": StageOne(names, weights)}, {}
    if default is not None:
        stages[_SHIPPED_WEIGHTS] = StageOne(names, default.weights)
        stages["mean of both"] = StageOne(names, (weights + default.weights) / 2)
        whole = {AS_SHIPPED: default} if default.ranker is not None and settings.ranker else {}
    tried = judge(stages | whole, validation())
    of_whole = {name: tried.pop(name) for name in whole}
    taken = choose(tried)
    if settings.ranker:
        progress("learned ranker", 0, 1)
        stage, heads = stages[taken], head_lists(stages[taken], train)
        rankers = {"own ranker": HeadRanker(names, fit_trees(heads, seed), 1.0)} if len(heads) else {}
        if default is not None and default.ranker is not None:
            rankers["default ranker"] = default.ranker
        ranked = {
            f"{taken}, {name} x {weight:g}": replace(stage, ranker=replace(ranker, weight=weight))
            for name, ranker in rankers.items()
            for weight in WEIGHTS
        }
        progress("learned ranker", 1, 1)
        scores = judge(ranked, validation())
        taken = choose({taken: tried[taken], **scores})
        stages, tried = stages | ranked, tried | scores
    if whole and 0 < sum(of_whole[AS_SHIPPED]) >= sum(tried[taken]):  # 0 where nothing was left to judge by
        taken = AS_SHIPPED
    return (stages | whole)[taken], Choice(taken, tried | of_whole)
