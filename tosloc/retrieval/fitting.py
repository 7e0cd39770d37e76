"""Learning stage one: weights on train, every choice on validation, test never seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tosloc.config import StageOneSettings
from tosloc.learning.lambdamart import HeadRanker, head_rows
from tosloc.learning.linear import ListQuality, fit_evolution, fit_listwise
from tosloc.learning.ranking_lists import RankingLists
from tosloc.metrics import fixed_ranks, rr_and_ap
from tosloc.records import Progress, silent
from tosloc.retrieval.feature_tables import FeatureTable
from tosloc.retrieval.stage_one import StageOne

WEIGHTS = (0.5, 2.0, 8.0, 32.0)
"""Of the learned ranker's score against the linear one, tried on validation."""
MARGIN = 0.002
"""MRR + MAP on validation by which a candidate must lead a simpler one before it."""
AS_SHIPPED = "default weights and ranker as they are"
"""What whatever was learned has to beat on validation, or it is not taken."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What was tried on validation, in the order of preference, and what was taken."""

    taken: str
    tried: Mapping[str, tuple[float, float]]
    """name -> (MRR, MAP) on validation."""
    note: str = ""
    """Why the default weights were not tried, where they were given and do not fit."""

    @property
    def sentence(self) -> str:
        """What validation decided between what was learned and the default weights; "" where these were not tried."""
        shipped = AS_SHIPPED if AS_SHIPPED in self.tried else "default weights"
        if shipped not in self.tried:
            return ""
        best = max((name for name in self.tried if name != shipped), key=lambda name: sum(self.tried[name]))
        whole = "the shipped weights and ranker as they are" if shipped == AS_SHIPPED else "the shipped weights"
        if self.taken == shipped:
            (mrr, map_), how, other = self.tried[best], whole, f"the best of the others ({best})"
        else:
            (mrr, map_), how, other = self.tried[shipped], self.taken, whole
        how, other = (text.replace("default", "shipped") for text in (f"took {how}", other))
        own_mrr, own_map = self.tried[self.taken]
        return f"validation {how}: MRR {own_mrr:.3f}, MAP {own_map:.3f}; {other}: {mrr:.3f}, {map_:.3f}"


def judge(candidates: Mapping[str, StageOne], tables: Iterable[FeatureTable]) -> dict[str, tuple[float, float]]:
    """(MRR, MAP) of every candidate over full feature tables, read once. Reports without fixed files count 0."""
    sums = {name: np.zeros(2) for name in candidates}
    reports = 0
    for table in tables:
        reports += 1
        if table.fixed.any():
            for name, stage in candidates.items():
                sums[name] += rr_and_ap(fixed_ranks(stage.scores(table.rows), table.fixed).tolist())
    return {name: (float(s[0]) / max(reports, 1), float(s[1]) / max(reports, 1)) for name, s in sums.items()}


def choose(tried: Mapping[str, tuple[float, float]]) -> str:
    """The first name whose MRR + MAP no later one exceeds by more than the margin; names stand simplest first."""
    best = ""
    for name, (mrr, map_) in tried.items():
        if not best or mrr + map_ > sum(tried[best]) + MARGIN:
            best = name
    return best


def head_lists(stage: StageOne, lists: RankingLists, depth: int) -> RankingLists:
    """The first ``depth`` rows of every report's list by linear score, those that hold a fixed file."""
    heads, kept = [], []
    scores = stage.linear(lists.rows)
    for report, (start, end) in enumerate(pairwise(lists.starts.tolist())):
        order = np.argsort(-scores[start:end], kind="stable")[:depth]
        fixed = lists.fixed[start:end][order]
        if fixed.any():
            heads.append((head_rows(lists.rows[start:end][order], scores[start:end][order]), fixed))
            kept.append(report)
    return RankingLists.of(heads, features=lists.rows.shape[1] + 2).counting(lists.report_weights[kept])


def fit_weights(
    settings: StageOneSettings,
    names: tuple[str, ...],
    train: RankingLists,
    centre: StageOne | None,
    seed: int,
    progress: Progress = silent,
) -> StageOne:
    """A weighted sum fitted as configured; the listwise fit is drawn towards a ``centre`` of the same features."""
    if settings.fit == "differential_evolution":
        evolution = settings.evolution
        weights = fit_evolution(
            len(names),
            ListQuality(train),
            bounds=evolution.bounds,
            generations=evolution.generations,
            population=evolution.population,
            tolerance=evolution.tolerance,
            seed=seed,
            progress=lambda generation: progress("differential evolution", generation, evolution.generations),
        )
        return StageOne(names, weights)
    if centre is not None and centre.features == names:
        # few reports lean on the shipped weights, many do not need them
        pull = settings.shrink_to_default * 50.0 / max(len(train), 50)
        return StageOne(names, fit_listwise(train, l2=settings.l2, centre=centre.weights, pull=pull))
    return StageOne(names, fit_listwise(train, l2=settings.l2))


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

    Whatever was learned has to beat there the default stage one as it is, with its own ranker, or that is taken.
    ``validation`` gives full feature tables anew at each call.
    """
    usable = default if default is not None and default.features == names else None
    own = fit_weights(settings, names, train, usable, seed, progress)
    linear = {"own weights": own}
    if usable is not None:
        linear["default weights"] = StageOne(names, usable.weights)
        linear["mean of both"] = StageOne(names, (own.weights + usable.weights) / 2)
    whole = {} if usable is None or usable.ranker is None or not settings.ranker.enabled else {AS_SHIPPED: usable}
    judged = judge(linear | whole, validation())
    tried = {name: judged[name] for name in linear}
    taken = choose(tried)
    stage = linear[taken]
    if settings.ranker.enabled:
        progress("learned ranker", 0, 1)
        rankers = _rankers(settings, stage, train, usable, seed)
        progress("learned ranker", 1, 1)
        ranked = {
            f"{taken}, {name} x {weight:g}": StageOne(names, stage.weights, ranker.weighted(weight))
            for name, ranker in rankers.items()
            for weight in WEIGHTS
        }
        scores = judge(ranked, validation())
        taken = choose({taken: tried[taken], **scores})
        stage = ranked.get(taken, stage)
        tried |= scores
    if whole:
        tried |= {AS_SHIPPED: judged[AS_SHIPPED]}
        if 0 < sum(tried[AS_SHIPPED]) >= sum(tried[taken]):  # 0 where nothing was left to judge by
            taken, stage = AS_SHIPPED, whole[AS_SHIPPED]
    return stage, Choice(taken, tried, _note(default, names))


def _rankers(
    settings: StageOneSettings, stage: StageOne, train: RankingLists, default: StageOne | None, seed: int
) -> dict[str, HeadRanker]:
    """The rankers to choose from: one learned on the heads that the stage's weights give, and the default one."""
    rankers = {}
    heads = head_lists(stage, train, settings.ranker.depth)
    if len(heads):
        rankers["own ranker"] = HeadRanker(settings.ranker, seed).fit(heads)
    if default is not None and default.ranker is not None:
        rankers["default ranker"] = default.ranker
    return rankers


def _note(default: StageOne | None, names: tuple[str, ...]) -> str:
    """Why default weights are of no use for these features; nothing where they are, or where there are none."""
    if default is None or default.features == names:
        return ""
    lacking = [name for name in names if name not in default.features]
    if lacking:
        shown = ", ".join(lacking[:5]) + (" ..." if len(lacking) > 5 else "")
        why = f"they lack {'a feature' if len(lacking) == 1 else f'{len(lacking)} features'} ({shown})"
    else:
        why = "they weigh other features too, or these in another order"
    return f"the default weights were not tried: {why}; learn them anew with tosloc lab pool"
