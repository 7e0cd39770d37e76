"""The first files of stage one's rankings, as what a second stage reads again: before any tokenizer or encoder.

Shapes: C candidates of a report, K features.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tosloc.records import BoolArray, FloatArray
from tosloc.retrieval.feature_tables import FeatureTable, LabelledReports
from tosloc.retrieval.stage_one import StageOne


@dataclass(frozen=True, eq=False)
class Candidates:
    """One report with the files that are read again, in stage one's order."""

    report: str
    summary: str
    description: str
    paths: tuple[str, ...]
    """(C,)"""
    blobs: tuple[str, ...]
    """(C,)"""
    fixed: BoolArray
    """(C,)"""
    scores: FloatArray
    """(C,) stage one's scores."""
    features: FloatArray
    """(C, K + 1) stage one's features, and how far the score is below the first file's."""
    missed_ranks: tuple[int, ...] = ()
    """Ranks of the fixed files beyond the candidates, which keep their places."""
    relevant: int = 0
    """All fixed files of the report."""
    opened: float = math.inf
    """Seconds since 1970 when it was opened."""
    fixed_at: int = 0
    """The same of its fix; 0 for a report that nobody has fixed."""


def candidates_of(
    tables: Iterable[FeatureTable], labelled: LabelledReports, stage: StageOne, depth: int, *, train: bool = False
) -> Iterator[Candidates]:
    """The first ``depth`` files of each table's report; in training every fixed file that stage one missed is added."""
    paths = labelled.repo.path_names.names
    for table in tables:
        case = labelled.cases[table.report]
        scores = stage.scores(table.rows)
        order = np.argsort(-scores, kind="stable")
        rows, rest = order[:depth], order[depth:]
        missed = np.flatnonzero(table.fixed[rest])
        ranks: tuple[int, ...] = tuple((missed + len(rows) + 1).tolist())
        if train:
            rows, ranks = np.concatenate((rows, rest[missed])), ()
        snapshot = labelled.repo.snapshot(case.version, labelled.suffixes)
        blobs = dict(zip(snapshot.path_ids.tolist(), snapshot.blob_ids.tolist(), strict=True))
        numbers = table.path_ids[rows].tolist()
        yield Candidates(
            report=table.report,
            summary=case.report.summary,
            description=case.report.description,
            paths=tuple(paths[number] for number in numbers),
            blobs=tuple(snapshot.blob_names.names[blobs[number]] for number in numbers),
            fixed=table.fixed[rows],
            scores=scores[rows],
            features=features_of(table.rows[rows], scores[rows]),
            missed_ranks=ranks,
            relevant=len(case.fixed),
            opened=case.report.opened_seconds,
            fixed_at=int(case.fixed_at),
        )


def features_of(rows: np.ndarray, scores: FloatArray) -> FloatArray:
    """(C, K + 1) rows of a feature table, and how far each score is below the first one."""
    below = scores - scores.max(initial=-np.inf) if len(scores) else scores
    return np.column_stack([rows, below]).astype(np.float64)
