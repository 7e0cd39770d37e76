"""Measure the effect of each feature on projects that are left out of the training in turn.

The model is a weighted sum, without the learned ranker, so that trees cannot replace a feature by
other features.

Shapes: V variants (all features, then without each one), P projects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tosloc.core.arrays import FloatArray
from tosloc.core.errors import ConfigError
from tosloc.core.metrics import fixed_ranks, rr_and_ap
from tosloc.core.progress import Progress, ignore_progress
from tosloc.evaluate.statistics import Difference
from tosloc.lab.pretraining import (
    Pretraining,
    ProjectTables,
    join_lists,
    run_calls,
    split_folds,
)
from tosloc.lab.projects import Project
from tosloc.rank.features import FeatureTable
from tosloc.rank.features.extraction import select_names
from tosloc.rank.model import StageOne
from tosloc.rank.model.fitting import fit_listwise


def feature_ablation(
    pretraining: Pretraining,
    projects: Sequence[Project],
    folds: int,
    features: Sequence[str] = (),
    progress: Progress = ignore_progress,
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return a row with all features, then a row without each of ``features`` (all if empty).

    Rows are plain values; their changes are means over projects, each of which counts the same. The
    second result maps projects without tables to the reason. Raises ConfigError for an unknown
    feature.
    """
    names = select_names(pretraining.config.stage_one)
    unknown = [name for name in features if name not in names]
    if unknown:
        raise ConfigError(
            f"the tables have no feature {unknown[0]!r}; choose from {', '.join(names)}"
        )
    tables, failed = pretraining.tables(projects, progress)
    left_out_features = list(features or names)
    calls = [
        partial(_fold_means, tables, fold, left_out_features) for fold in split_folds(tables, folds)
    ]
    fold_means = run_calls(
        calls, pretraining.config.run.jobs, "training without each part", progress
    )
    means_PV2 = np.concatenate(fold_means)
    rows: list[dict[str, Any]] = []
    for variant, left_out in enumerate(("all", *left_out_features)):
        row: dict[str, Any] = {"left out": left_out}
        for column, measure in enumerate(("mrr", "map")):
            values_P = means_PV2[:, variant, column]
            row[measure] = float(values_P.mean())
            if left_out != "all":
                change = Difference.between(means_PV2[:, 0, column], values_P)
                row[f"{measure} change"] = {
                    "mean": change.difference,
                    "interval": change.interval,
                    "p": change.p_bootstrap,
                }
        rows.append(row)
    return rows, failed


def _fold_means(
    tables: Sequence[ProjectTables], left_out: Sequence[ProjectTables], features: Sequence[str]
) -> FloatArray:
    """Return (P, V, 2) mean RR and AP of the projects that are left out.

    V is the number of variants: all features, and without each feature.
    """
    lists = join_lists(
        project_tables.lists() for project_tables in tables if project_tables not in left_out
    )
    names = tables[0].features
    all_weights = fit_listwise(lists)
    variants = [all_weights]
    for feature in features:
        kept = [column for column, name in enumerate(names) if name != feature]
        fewer = replace(lists, rows=np.ascontiguousarray(lists.rows[:, kept]))
        weights = np.zeros(len(names))
        # Starting from the weights of all features finds the same minimum sooner.
        weights[kept] = fit_listwise(fewer, centre=all_weights[kept])
        variants.append(weights)

    def report_values(table: FeatureTable) -> list[tuple[float, float]]:
        values: list[tuple[float, float]] = []
        for weights in variants:
            scores = StageOne(names, weights).linear(table.rows)
            ranks = fixed_ranks(scores, table.fixed)
            values.append(rr_and_ap(ranks.tolist()))
        return values

    means: list[FloatArray] = []
    for project_tables in left_out:
        values = [report_values(table) for table in project_tables.tables()]
        means.append(np.mean(values, axis=0))
    return np.array(means)
