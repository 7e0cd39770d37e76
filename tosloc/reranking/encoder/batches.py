"""Candidate lists and batches of them: what the matching model is trained on and asked.

Shapes: B reports, C candidates of the longest list, N chunks of the longest file, Q queries of a report, K features,
U chunks that a batch needs, L tokens of the longest, d width.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

import numpy as np
import torch
from torch import Tensor

from tosloc.metrics import fixed_ranks, rr_and_ap
from tosloc.records import BoolArray, FloatArray, IntArray, LongArray
from tosloc.reranking.encoder.vector_store import Float16Array


class Judgeable(Protocol):
    """What measures need to know of a report's candidates, in stage one's order."""

    @property
    def fixed(self) -> BoolArray:
        """(C,)"""

    @property
    def scores(self) -> FloatArray:
        """(C,) stage one's scores."""

    @property
    def missed_ranks(self) -> tuple[int, ...]:
        """Ranks of the fixed files beyond the candidates, which keep their places."""

    @property
    def relevant(self) -> int:
        """All fixed files of the report."""


@dataclass(frozen=True, eq=False)
class Head:
    """The first of a report's candidates, as measures see them."""

    fixed: BoolArray
    scores: FloatArray
    missed_ranks: tuple[int, ...]
    relevant: int

    @classmethod
    def of(cls, one: Judgeable, depth: int) -> Self:
        """The first ``depth`` candidates; the fixed files after them are missed."""
        lost = tuple((np.flatnonzero(one.fixed[depth:]) + depth + 1).tolist())
        return cls(one.fixed[:depth], one.scores[:depth], (*lost, *one.missed_ranks), one.relevant)


@dataclass(frozen=True, eq=False)
class CandidateList:
    """One report with the files that are read again, in stage one's order."""

    report: str
    queries: tuple[IntArray, ...]
    """Q marked token sequences."""
    blobs: tuple[str, ...]
    """(C,)"""
    fixed: BoolArray
    """(C,)"""
    scores: FloatArray
    """(C,) stage one's scores."""
    features: FloatArray | None = None
    """(C, K) further columns for the last layer."""
    query_vectors: FloatArray | None = None
    """(Q, d) what a report encoder that does not learn made of the queries."""
    missed_ranks: tuple[int, ...] = ()
    """Ranks of the fixed files beyond the list, which keep their places."""
    relevant: int = 0
    """All fixed files of the report."""
    opened: float = math.inf
    """Seconds since 1970 when the report was opened."""
    fixed_at: int = 0
    """The same of its fix."""


@dataclass(frozen=True, eq=False)
class ChunkTable:
    """Chunks of many blobs, as vectors or as tokens."""

    rows: Mapping[str, int]
    """Blob -> row."""
    starts: LongArray
    """(F + 1,) row r has chunks ``starts[r]:starts[r + 1]``."""
    vectors: Float16Array | None = None
    """(T, d)"""
    chunks: Sequence[IntArray] = field(default=())
    """(T,) marked token sequences, where there are no vectors."""

    @classmethod
    def of_vectors(cls, made: Mapping[str, Float16Array], width: int) -> Self:
        """ChunkTable of chunk vectors by blob."""
        blobs = sorted(made)
        sizes = [len(made[blob]) for blob in blobs]
        none = np.zeros((0, width), dtype=np.float16)
        return cls(
            {blob: row for row, blob in enumerate(blobs)},
            np.cumsum([0, *sizes], dtype=np.int64),
            np.concatenate([none, *(made[blob] for blob in blobs)]),
        )

    @classmethod
    def of_tokens(cls, made: Mapping[str, Sequence[IntArray]]) -> Self:
        """ChunkTable of marked token sequences by blob."""
        blobs = sorted(made)
        sizes = [len(made[blob]) for blob in blobs]
        return cls(
            {blob: row for row, blob in enumerate(blobs)},
            np.cumsum([0, *sizes], dtype=np.int64),
            chunks=[chunk for blob in blobs for chunk in made[blob]],
        )


@dataclass(eq=False)
class Batch:
    """Candidate lists as tensors."""

    places_BCN: Tensor
    """Place of each chunk among the batch's; 0 where it is padding."""
    real_BCN: Tensor
    fixed_BC: Tensor
    real_BC: Tensor
    queries: list[IntArray]
    """(B * Q) marked token sequences."""
    query_count: int
    vectors_Ud: Tensor | None = None
    chunks: list[IntArray] = field(default_factory=list)
    """(U) marked token sequences, where there are no vectors."""
    features_BCK: Tensor | None = None
    queries_BQd: Tensor | None = None
    """The queries' vectors, where the report encoder does not learn."""

    def to(self, device: torch.device | str) -> Self:
        """The same batch on a device."""
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                setattr(self, name, value.to(device))
        return self


def batch_of(lists: Sequence[CandidateList], chunk_table: ChunkTable) -> Batch:
    """The tensors of some lists; a blob without chunks, or unknown, is a file of padding alone."""
    B, C = len(lists), max(len(one.blobs) for one in lists)
    rows = [[chunk_table.rows.get(blob, -1) for blob in one.blobs] for one in lists]
    used = np.unique([row for report in rows for row in report if row >= 0]).astype(np.int64)
    sizes = chunk_table.starts[used + 1] - chunk_table.starts[used]
    firsts = dict(zip(used.tolist(), (np.cumsum(sizes) - sizes).tolist(), strict=True))
    N = max(int(sizes.max(initial=1)), 1)
    places = np.zeros((B, C, N), dtype=np.int64)
    real = np.zeros((B, C, N), dtype=np.bool_)
    fixed = np.zeros((B, C), dtype=np.bool_)
    there = np.zeros((B, C), dtype=np.bool_)
    for b, (one, own) in enumerate(zip(lists, rows, strict=True)):
        fixed[b, : len(own)] = one.fixed
        there[b, : len(own)] = True
        for c, row in enumerate(own):
            if row >= 0:
                size = int(chunk_table.starts[row + 1] - chunk_table.starts[row])
                places[b, c, :size] = firsts[row] + np.arange(size)
                real[b, c, :size] = True
    chunks = np.concatenate([np.arange(chunk_table.starts[row], chunk_table.starts[row + 1]) for row in used] or [used])
    features = None
    if lists[0].features is not None:
        features = np.zeros((B, C, lists[0].features.shape[1]), dtype=np.float32)
        for b, one in enumerate(lists):
            assert one.features is not None
            features[b, : len(one.blobs)] = one.features
    vectors = chunk_table.vectors
    asked = [one.query_vectors for one in lists if one.query_vectors is not None]
    return Batch(
        torch.from_numpy(places),
        torch.from_numpy(real),
        torch.from_numpy(fixed),
        torch.from_numpy(there),
        [query for one in lists for query in one.queries],
        len(lists[0].queries),
        None if vectors is None else torch.from_numpy(vectors[chunks].astype(np.float32)),
        [] if vectors is not None else [chunk_table.chunks[place] for place in chunks.tolist()],
        None if features is None else torch.from_numpy(features),
        torch.from_numpy(np.stack(asked).astype(np.float32)) if asked else None,
    )


def batches(
    lists: Sequence[CandidateList], chunk_table: ChunkTable, pairs: int, order: Sequence[int]
) -> Iterator[Batch]:
    """Batches of about ``pairs`` pairs of report and candidate, at least one report each, in the order given."""
    part: list[CandidateList] = []
    count = 0
    for place in order:
        one = lists[place]
        if part and count + len(one.blobs) > pairs:
            yield batch_of(part, chunk_table)
            part, count = [], 0
        part.append(one)
        count += len(one.blobs)
    if part:
        yield batch_of(part, chunk_table)


def for_training(one: CandidateList, negatives: int, rng: np.random.Generator, by_rank: bool) -> CandidateList | None:
    """The list cut to its fixed files and at most ``negatives`` of its own wrong files; None if it can teach nothing.

    With ``by_rank`` a wrong file is the likelier to stay the higher it stands (1 / rank); else the first ones stay.
    """
    right, wrong = np.flatnonzero(one.fixed), np.flatnonzero(~one.fixed)
    if not len(right) or not len(wrong):
        return None
    if len(wrong) > negatives:
        if by_rank:
            share = 1.0 / (wrong + 1.0)
            wrong = np.sort(rng.choice(wrong, size=negatives, replace=False, p=share / share.sum()))
        else:
            wrong = wrong[:negatives]
    kept = np.sort(np.concatenate((right, wrong)))
    return replace(
        one,
        blobs=tuple(one.blobs[place] for place in kept.tolist()),
        fixed=one.fixed[kept],
        scores=one.scores[kept],
        features=None if one.features is None else one.features[kept],
    )


def values_of(one: Judgeable, scores: FloatArray) -> tuple[float, float]:
    """Reciprocal rank and textbook average precision of a list reordered by ``scores``, the rest in its places.

    Equal scores keep stage one's order. A report without fixed files counts 0.
    """
    ranks = [*fixed_ranks(scores, one.fixed).tolist(), *one.missed_ranks]
    return rr_and_ap(ranks, one.relevant, add=sum)
