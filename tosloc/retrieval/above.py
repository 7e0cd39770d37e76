"""What set one file above another: the difference of their scores of stage one, by feature. F files, K features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from tosloc.index.postings import leaders
from tosloc.learning.lambdamart import head_rows
from tosloc.records import Float32Array
from tosloc.retrieval.feature_tables import FeatureTable
from tosloc.retrieval.features import FEATURES
from tosloc.retrieval.stage_one import StageOne

WEIGHTED_SUM: Final = "weighted_sum"
"""What the learned ranker makes of all features together: the place and distance that their weighted sum gave."""

TOLD: Final = 3
"""Features that are told of what set a file above, at most."""


def differences(stage: StageOne, table: Float32Array, above: Sequence[int], below: int) -> list[dict[str, float]]:
    """For each file ``above``: feature -> how much more it adds to its score than to that of the file ``below``.

    ``table`` is (F, K), its rows in path order. Of the weighted sum the parts are its terms; of the ranker's trees
    their SHAP values (Lundberg and Lee 2017), where they order both files. Where one is no file of the head, only the
    weighted sum is told. The parts of a file add up to the difference of the scores.
    """
    parts = table.astype(np.float64) * stage.weights
    names = [*stage.features]
    if stage.ranker is not None:
        scores = stage.linear(table)
        head = leaders(scores, stage.ranker.depth)
        if {below, *above} <= set(head.tolist()):
            trees = stage.ranker.shap(head_rows(table[head].astype(np.float32), scores[head]))
            weight = stage.ranker.weight_
            parts[head] = (parts[head] + weight * trees[:, : len(names)]) / (1 + weight)
            rest = np.zeros(len(table))
            rest[head] = weight * trees[:, len(names) :].sum(axis=1) / (1 + weight)
            parts, names = np.column_stack([parts, rest]), [*names, WEIGHTED_SUM]
    return [dict(zip(names, (parts[file] - parts[below]).tolist(), strict=True)) for file in above]


def why_above(
    stage: StageOne,
    tables: Iterable[FeatureTable],
    paths: Sequence[str],
    asked: Mapping[str, tuple[str, Sequence[str]]],
) -> dict[tuple[str, str], dict[str, float]]:
    """``differences`` of stored tables: (report, path above) -> feature -> what it adds.

    ``paths`` are what the tables' numbers mean; ``asked`` is report -> the path below, and those above it. What the
    tables lack is left out.
    """
    found = {}
    for table in tables:
        below, above = asked.get(table.report, ("", ()))
        rows = {paths[number]: row for row, number in enumerate(table.path_ids.tolist())} if above else {}
        if below in rows and rows.keys() >= set(above):
            parts = differences(stage, table.rows, [rows[path] for path in above], rows[below])
            found.update({(table.report, path): one for path, one in zip(above, parts, strict=True)})
    return found


def telling(parts: Mapping[str, float], most: int = TOLD) -> list[tuple[str, float]]:
    """The features that did most to set a file above, and how much; none where all together set it below.

    What the ranker makes of their sum is told where no feature is.
    """
    if sum(parts.values()) <= 0:
        return []
    order = sorted(parts.items(), key=lambda part: (part[0] == WEIGHTED_SUM, -part[1]))
    raised = [part for part in order if part[1] > 0]
    return [part for part in raised if part[0] != WEIGHTED_SUM][:most] or raised[:1]


def meaning(feature: str) -> str:
    """What a feature is, in a sentence."""
    if feature == WEIGHTED_SUM:
        return "what the learned ranker makes of the place that the weighted sum of all features gave."
    return (FEATURES[feature].values.__doc__ or "").partition("\n")[0]
