"""What set one file above another: the difference of their scores of stage one, by feature. F files, K features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from tosloc.rank.feature_tables import FeatureTable
from tosloc.rank.lambdamart import Trees
from tosloc.rank.stage_one import StageOne
from tosloc.records import Float32Array, FloatArray

WEIGHTED_SUM: Final = "weighted_sum"
"""What the learned ranker makes of all features together: the place and distance that their weighted sum gave."""
TOLD: Final = 3  # features that are told of what set a file above, at most
_ORDERS: Final = 4


def why_above(
    stage: StageOne,
    tables: Iterable[FeatureTable],
    paths: Sequence[str],
    asked: Mapping[str, tuple[str, Sequence[str]]],
) -> dict[tuple[str, str], list[tuple[str, float]]]:
    """(report, path above) -> the features that did most to set it there, and by how much; none where stage one set it
    below. ``paths`` are what the tables' numbers mean; ``asked`` is report -> the path below, and those above it. What
    the tables lack is left out.
    """
    found = {}
    for table in tables:
        below, above = asked.get(table.report, ("", ()))
        rows = {paths[number]: row for row, number in enumerate(table.path_ids.tolist())} if above else {}
        if below in rows and rows.keys() >= set(above):
            parts = differences(stage, table.rows, [rows[path] for path in above], rows[below])
            found.update({(table.report, path): telling(one) for path, one in zip(above, parts, strict=True)})
    return found


def telling(parts: Mapping[str, float]) -> list[tuple[str, float]]:
    """The features that did most to set a file above; what the ranker makes of their sum where no feature did."""
    if sum(parts.values()) <= 0:
        return []
    raised = sorted((part for part in parts.items() if part[1] > 0), key=lambda part: -part[1])
    return [part for part in raised if part[0] != WEIGHTED_SUM][:TOLD] or raised[:1]


def differences(stage: StageOne, table: Float32Array, above: Sequence[int], below: int) -> list[dict[str, float]]:
    """For each file ``above``: feature -> how much more it adds to its score than to that of the file ``below``.
    ``table`` is (F, K), its rows in path order. Of the weighted sum the parts are its terms; of the ranker's trees
    Shapley values between the two files, where they order both, else the weighted sum alone is told. The parts of a
    file add up to the difference of the scores.
    """
    values = (table[list(above)].astype(np.float64) - table[below]) * stage.weights
    found = [dict(zip(stage.features, one, strict=True)) for one in values.tolist()]
    if (ranker := stage.ranker) is None:
        return found
    order, rows = stage.head(ranker.features, table, stage.linear(table))
    places = {file: place for place, file in enumerate(order.tolist())}
    if not {below, *above} <= places.keys():
        return found
    for file, parts in zip(above, found, strict=True):
        learned = _shapley(ranker.trees, rows[places[file]], rows[places[below]]).tolist()
        names = [*ranker.features, WEIGHTED_SUM, WEIGHTED_SUM]
        for name in [*parts, WEIGHTED_SUM]:
            trees = sum(value for own, value in zip(names, learned, strict=True) if own == name)
            parts[name] = (parts.get(name, 0.0) + ranker.weight * trees) / (1 + ranker.weight)
    return found


def _shapley(trees: Trees, row: Float32Array, other: Float32Array) -> FloatArray:
    """(K,) what each column adds to the score of a row over another's; together the difference. The columns that differ
    are exchanged one by one: the mean over a few orders, each also backward (Mitchell et al. 2022).
    """
    parts, differing = np.zeros(len(row)), np.flatnonzero(row != other)
    rng = np.random.default_rng(0)
    for order in (rng.permutation(differing) for _ in range(_ORDERS)):
        for columns in (order, order[::-1]):
            rows = np.tile(other, (len(columns) + 1, 1))
            for step, column in enumerate(columns.tolist(), start=1):
                rows[step:, column] = row[column]
            parts[columns] += np.diff(trees.scores(rows)) / (2 * _ORDERS)
    return parts
