"""What several projects teach together: the shipped weights, and what each feature is worth.

Works on the feature tables that ``train --keep-features`` leaves behind; test tables are read only to be measured.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tosloc.config import StageOneSettings
from tosloc.errors import ToslocError
from tosloc.learning.lambdamart import HeadRanker
from tosloc.learning.linear import fit_listwise, listwise_loss
from tosloc.learning.ranking_lists import RankingLists
from tosloc.records import LongArray
from tosloc.retrieval.feature_tables import FeatureTable
from tosloc.retrieval.fitting import head_lists, judge
from tosloc.retrieval.stage_one import StageOne
from tosloc.retrieval.stored_tables import StoredFeatureTables

LINEAR_REPORTS = 900
"""Reports of each project that the pooled weights are fitted on, spread evenly over its training part."""
RANKER_REPORTS = 2500
"""The same for the pooled ranker, which needs more."""
RANKER_MIX = 8.0
"""Points of the pooled ranker for one of the linear score where no validation part is at hand: on the validation parts
of projects that it never saw, 8 is better than 2, and 32 no better than 8 beyond ``fitting.MARGIN`` a measure."""


def evenly(reports: int, number: int) -> LongArray:
    """At most ``number`` of so many reports, spread evenly.

    >>> evenly(10, 4).tolist()
    [0, 3, 6, 9]
    """
    return np.unique(np.linspace(0, reports - 1, min(number, reports)).round().astype(np.int64))


def pool(
    settings: StageOneSettings, names: tuple[str, ...], projects: Sequence[RankingLists], seed: int = 7
) -> StageOne:
    """Weights and ranker of several projects together, each with an equal say in the weights.

    Raises ToslocError without projects.
    """
    if not projects:
        raise ToslocError("no project is left to learn from; name at least two training folders")
    shared = RankingLists.join([part.take(evenly(len(part), LINEAR_REPORTS)) for part in projects])
    linear = StageOne(names, fit_listwise(shared, l2=settings.l2))
    if not settings.ranker.enabled:
        return linear
    heads = RankingLists.join(
        [head_lists(linear, part.take(evenly(len(part), RANKER_REPORTS)), settings.ranker.depth) for part in projects]
    )
    return StageOne(names, linear.weights, HeadRanker(settings.ranker, seed, RANKER_MIX).fit(heads))


def ablation(settings: StageOneSettings, kept: StoredFeatureTables) -> dict[str, tuple[float, float, float]]:
    """For each feature what leaving it out changes: listwise loss on train, MRR and MAP on validation.

    The first row, "all", holds the values with every feature. Linear weights of the project's own, fitted on
    ``LINEAR_REPORTS`` of its training reports.
    """
    whole_train = kept.train()
    train = whole_train.take(evenly(len(whole_train), LINEAR_REPORTS))
    validation = list(kept.tables("validation"))

    def measured(names: tuple[str, ...]) -> tuple[float, float, float]:
        columns = [kept.features.index(name) for name in names]
        part = train.columns(columns)
        stage = StageOne(names, fit_listwise(part, l2=settings.l2))
        loss = listwise_loss(stage.weights, part, settings.l2, np.zeros(len(names)), 0.0)[0]
        cut = [FeatureTable(t.report, t.rows[:, columns], t.fixed, t.weights, t.path_ids) for t in validation]
        mrr, map_ = judge({"": stage}, cut)[""]
        return loss, mrr, map_

    whole = measured(kept.features)
    rows = {"all": whole}
    for name in kept.features:
        loss, mrr, map_ = measured(tuple(other for other in kept.features if other != name))
        rows[name] = (loss - whole[0], mrr - whole[1], map_ - whole[2])
    return rows
