"""What each feature is worth on projects that the weights never saw, each left out in turn.

Linear weights, without the learned ranker, so that a feature's worth does not hang on trees that find another way to
it. Shapes: V variants (all features, then without each), P projects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import joblib
import numpy as np

from tosloc.core.errors import ConfigError
from tosloc.core.metrics import fixed_ranks, rr_and_ap
from tosloc.core.records import FloatArray, Progress, ignore_progress
from tosloc.evaluate.statistics import difference
from tosloc.lab.pretraining import Pretraining, Tables, each, folds_of, joined
from tosloc.lab.projects import Project
from tosloc.rank.fitting import fit_listwise
from tosloc.rank.stage_one import weighted_sums
from tosloc.rank.tables import FeatureTable
from tosloc.train.training import feature_names


def feature_ablation(
    pretraining: Pretraining,
    projects: Sequence[Project],
    folds: int,
    features: Sequence[str] = (),
    progress: Progress = ignore_progress,
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """A row of plain values with all features, and for each of the ``features`` (of all) one without it; and why some
    projects have no tables. Changes are over projects, which count the same. Raises ConfigError.
    """
    names = feature_names(pretraining.config)
    if unknown := [name for name in features if name not in names]:
        raise ConfigError(
            f"no feature of the tables is called {unknown[0]!r}; they are {', '.join(names)}"
        )
    tables, failed = pretraining.tables(projects, progress)
    wanted = list(features or names)
    calls = [joblib.delayed(_fold)(tables, part, wanted) for part in folds_of(tables, folds)]
    means = np.concatenate(
        each(calls, pretraining.config.run.jobs, "parts left out", progress)
    )  # (P, V, 2)
    rows: list[dict[str, Any]] = []
    for place, left_out in enumerate(("all", *wanted)):
        row: dict[str, Any] = {"left out": left_out}
        for measure, whole, values in zip(
            ("mrr", "map"), means[:, 0].T, means[:, place].T, strict=True
        ):
            row[measure] = float(values.mean())
            if place:
                change = difference(whole, values)
                about = {
                    "mean": change.difference,
                    "interval": change.interval,
                    "p": change.p_bootstrap,
                }
                row[f"{measure} change"] = about
        rows.append(row)
    return rows, failed


def _fold(
    tables: Sequence[Tables], left_out: Sequence[Tables], features: Sequence[str]
) -> FloatArray:
    """(P, V, 2) mean RR and AP of the projects that are left out."""
    lists = joined(one.lists() for one in tables if one not in left_out)
    names = tables[0].features
    weights = [fit_listwise(lists)]
    for feature in features:
        kept = [place for place, name in enumerate(names) if name != feature]
        without = np.zeros(len(names))
        # from where the whole fit ended, and without pull: the same minimum, sooner
        fewer = replace(lists, rows=np.ascontiguousarray(lists.rows[:, kept]))
        without[kept] = fit_listwise(fewer, centre=weights[0][kept])
        weights.append(without)

    def values(table: FeatureTable) -> list[tuple[float, float]]:
        ranks = (
            fixed_ranks(weighted_sums(table.rows, variant), table.fixed) for variant in weights
        )
        return [rr_and_ap(one.tolist()) for one in ranks]

    return np.array([np.mean(list(map(values, one.tables())), axis=0) for one in left_out])
