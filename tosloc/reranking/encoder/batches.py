"""Candidates as tokens and vectors, and batches of them: what the reranking model is trained on and asked.

Shapes: B reports, C candidates of the longest list, N chunks of the longest file, U chunks that a batch needs, T chunks
of all files, d width.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from tosloc.records import Float16Array, FloatArray, IntArray, LongArray
from tosloc.reranking.base import Candidates


@dataclass(frozen=True, eq=False)
class TokenizedCandidates:
    """A report's candidates, with the report as an encoder reads it."""

    candidates: Candidates
    report_tokens: IntArray
    """Marked tokens of the report."""
    report_vector: FloatArray | None = None
    """(d,) what a report encoder that does not learn made of them."""

    def __len__(self) -> int:
        return len(self.candidates)

    def for_training(self, negatives: int) -> Self | None:
        """Cut to the fixed files and the first ``negatives`` wrong ones; None if it can teach nothing."""
        right, wrong = np.flatnonzero(self.candidates.fixed), np.flatnonzero(~self.candidates.fixed)
        if not len(right) or not len(wrong):
            return None
        kept = np.sort(np.concatenate((right, wrong[:negatives])))
        return replace(self, candidates=self.candidates.take(kept))


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
    def of_vectors(cls, vectors: Mapping[str, Float16Array], width: int) -> Self:
        """Table of chunk vectors by blob."""
        none = np.zeros((0, width), dtype=np.float16)
        rows, starts = _rows(vectors)
        return cls(rows, starts, np.concatenate([none, *(vectors[blob] for blob in rows)]))

    @classmethod
    def of_tokens(cls, chunks: Mapping[str, Sequence[IntArray]]) -> Self:
        """Table of marked token sequences by blob."""
        rows, starts = _rows(chunks)
        return cls(rows, starts, chunks=[chunk for blob in rows for chunk in chunks[blob]])


def _rows(chunks: Mapping[str, Sequence[IntArray] | Float16Array]) -> tuple[dict[str, int], LongArray]:
    blobs = sorted(chunks)
    starts = np.cumsum([0, *(len(chunks[blob]) for blob in blobs)], dtype=np.int64)
    return {blob: row for row, blob in enumerate(blobs)}, starts


@dataclass(eq=False)
class Batch:
    """Tokenized candidates as tensors."""

    positions_BCN: Tensor
    """Position of each chunk among the batch's; 0 where it is padding."""
    real_BCN: Tensor
    fixed_BC: Tensor
    real_BC: Tensor
    reports: list[IntArray]
    """(B) marked token sequences."""
    vectors_Ud: Tensor | None = None
    chunks: list[IntArray] = field(default_factory=list)
    """(U) marked token sequences, where there are no vectors."""
    report_Bd: Tensor | None = None
    """The reports' vectors, where the report encoder does not learn."""

    def to(self, device: torch.device | str) -> Self:
        """The same batch on a device."""
        for name, value in vars(self).items():
            if isinstance(value, Tensor):
                setattr(self, name, value.to(device))
        return self

    def crossed(self) -> Batch:
        """The batch with each report asked of every report's first fixed file, and of nothing else."""
        B = len(self.fixed_BC)
        first_B = self.fixed_BC.to(torch.int64).argmax(-1)
        rows_B = torch.arange(B, device=first_B.device)
        positions_BN, real_BN = self.positions_BCN[rows_B, first_B], self.real_BCN[rows_B, first_B]
        return replace(
            self,
            positions_BCN=positions_BN.expand(B, *positions_BN.shape),
            real_BCN=real_BN.expand(B, *real_BN.shape),
            fixed_BC=torch.eye(B, dtype=torch.bool, device=first_B.device),
            real_BC=torch.ones((B, B), dtype=torch.bool, device=first_B.device),
        )


def batch_of(lists: Sequence[TokenizedCandidates], table: ChunkTable) -> Batch:
    """The tensors of some lists; a blob without chunks, or unknown, is a file of padding alone."""
    B, C = len(lists), max(map(len, lists))
    rows = [[table.rows.get(blob, -1) for blob in one.candidates.blobs] for one in lists]
    used = np.unique([row for report in rows for row in report if row >= 0]).astype(np.int64)
    sizes = table.starts[used + 1] - table.starts[used]
    firsts = dict(zip(used.tolist(), (np.cumsum(sizes) - sizes).tolist(), strict=True))
    N = max(int(sizes.max(initial=1)), 1)
    positions = np.zeros((B, C, N), dtype=np.int64)
    real_chunks, fixed, real = (
        np.zeros((B, C, N), dtype=np.bool_),
        np.zeros((B, C), np.bool_),
        np.zeros((B, C), np.bool_),
    )
    for b, (one, own) in enumerate(zip(lists, rows, strict=True)):
        fixed[b, : len(own)] = one.candidates.fixed
        real[b, : len(own)] = True
        for c, row in enumerate(own):
            if row >= 0:
                size = int(table.starts[row + 1] - table.starts[row])
                positions[b, c, :size] = firsts[row] + np.arange(size)
                real_chunks[b, c, :size] = True
    chunks = np.concatenate([np.arange(table.starts[row], table.starts[row + 1]) for row in used] or [used])
    vectors = table.vectors
    known = [one.report_vector for one in lists if one.report_vector is not None]
    return Batch(
        torch.from_numpy(positions),
        torch.from_numpy(real_chunks),
        torch.from_numpy(fixed),
        torch.from_numpy(real),
        [one.report_tokens for one in lists],
        None if vectors is None else torch.from_numpy(vectors[chunks].astype(np.float32)),
        [] if vectors is not None else [table.chunks[number] for number in chunks.tolist()],
        torch.from_numpy(np.stack(known).astype(np.float32)) if known else None,
    )


def grouped(lists: Sequence[TokenizedCandidates], pairs: int, *, at_most: bool) -> Iterator[list[TokenizedCandidates]]:
    """Lists in their order, in groups of about ``pairs`` pairs of report and candidate, at least one report each.

    A group ends before it exceeds the number with ``at_most``, else as soon as it reaches it.
    """
    group: list[TokenizedCandidates] = []
    count = 0
    for one in lists:
        if at_most and group and count + len(one) > pairs:
            yield group
            group, count = [], 0
        group.append(one)
        count += len(one)
        if not at_most and count >= pairs:
            yield group
            group, count = [], 0
    if group:
        yield group
