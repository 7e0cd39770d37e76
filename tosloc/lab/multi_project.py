"""What each feature is worth, on the feature tables that ``train --keep-features`` leaves behind."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tosloc.lab.pool import evenly
from tosloc.rank.feature_tables import FeatureTable, StoredFeatureTables
from tosloc.rank.fitting import L2, fit_listwise, judge, listwise_loss
from tosloc.rank.stage_one import StageOne
from tosloc.records import Progress, silent

LINEAR_REPORTS = 900
"""Reports of each project that weights are fitted on, spread evenly over its training part."""


class FeatureWorth(NamedTuple):
    """Listwise loss on train, MRR and MAP on validation."""

    loss: float
    mrr: float
    map: float


def feature_ablation(project: StoredFeatureTables, progress: Progress = silent) -> dict[str, FeatureWorth]:
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
        stage = StageOne(names, fit_listwise(part))
        loss = listwise_loss(stage.weights, part, L2, np.zeros(len(names)), 0.0)[0]
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
