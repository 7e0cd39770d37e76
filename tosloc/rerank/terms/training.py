"""Training of the dual encoder: a softmax over a report's own candidates, on top of stage one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from scipy import sparse
from threadpoolctl import threadpool_limits
from torch import Tensor
from torch.nn import functional

from tosloc.core.arrays import Float32Array, LongArray
from tosloc.core.progress import Progress, ignore_progress
from tosloc.rerank.base import Candidates
from tosloc.rerank.terms.sparse_vectors import (
    FILE_SIDES,
    SIDES,
    DualEncoder,
    Vector,
    stack_vectors,
)
from tosloc.retrieval.texts import group_starts

WIDTH: Final = 64
"""Length of a term's vector."""
_EPOCHS: Final = 3
_REPORTS_PER_STEP: Final = 64
_MIN_SCHEDULED_STEPS: Final = 20
"""Smallest number of steps for which the schedule of the learning rate is computed."""
_LEARNING_RATE: Final = 3e-3
_DROPOUT: Final = 0.5
"""Share of the terms that dropout hides in a step."""
_MAX_POSITIVES: Final = 12
"""Largest number of fixed files of a report in an epoch, the first ones."""
_MAX_NEGATIVES: Final = 20
"""Largest number of wrong files of a report in an epoch, drawn anew for each epoch."""
_NEGATIVE_OFFSET: Final = 3.0
"""Offset r0 of the odds 1 / (r + r0) with which a wrong file at position r (from 0) is drawn."""
_MAX_JOINED_FILES: Final = 10
"""Largest number of fixed files whose contents are added to their report at the start."""
_OVERSAMPLED_DIRECTIONS: Final = 20
"""Number of additional directions in the randomized decomposition."""
_DECOMPOSITION_ROUNDS: Final = 5


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Reports (R, V), and for each report its candidates with their sparse vectors by side."""

    reports: sparse.csr_array
    candidates: Sequence[Candidates]
    vectors: Sequence[Mapping[str, Sequence[Vector]]]

    def take(
        self, side: str, reports: LongArray, positions: Sequence[LongArray]
    ) -> sparse.csr_array:
        """Return (n, V) vectors of n candidates on a side, one report after the other.

        ``reports`` are numbers of reports; ``positions`` contains for each the positions of its
        candidates.
        """
        vectors = []
        for report, report_positions in zip(reports.tolist(), positions, strict=True):
            report_vectors = self.vectors[report][side]
            for position in report_positions.tolist():
                vectors.append(report_vectors[position])
        return stack_vectors(vectors, self.reports.shape[1])


def initial_term_vectors(data: TrainingData, contents: sparse.csr_array, seed: int) -> Float32Array:
    """Return (V, d) term vectors that best distinguish files, reports, and reports with files.

    These are the first principal directions of three groups of rows: the ``contents`` of files, the
    reports, and each report with the mean of its fixed files' contents added.
    """
    fixed = []
    for candidates in data.candidates:
        fixed.append(np.flatnonzero(candidates.fixed)[:_MAX_JOINED_FILES])
    sizes = [len(positions) for positions in fixed]
    starts = group_starts(sizes)
    shares = np.repeat([1.0 / size for size in sizes], np.diff(starts))
    mean = sparse.csr_array(
        (shares, np.arange(len(shares)), starts), shape=(len(fixed), len(shares))
    )
    joined = data.reports + mean @ data.take("content", np.arange(len(fixed)), fixed)
    rows = sparse.vstack((contents, data.reports, joined), format="csr")
    return principal_directions(rows, WIDTH, seed)


def principal_directions(rows: sparse.csr_array, width: int, seed: int) -> Float32Array:
    """Return (V, d) the first right singular vectors of ``rows`` (n, V), with d = ``width``.

    The decomposition is randomized. If there are fewer than d vectors, the others are 0.
    """
    number = min(width + _OVERSAMPLED_DIRECTIONS, *rows.shape)
    single = rows.astype(np.float32)
    rng = np.random.default_rng(seed)
    space = rng.standard_normal((rows.shape[1], number)).astype(np.float32)
    # Another number of threads would round otherwise.
    with threadpool_limits(limits=1, user_api="blas"):
        for _ in range(_DECOMPOSITION_ROUNDS):
            space = np.linalg.qr(single.T @ (single @ space))[0]
        directions = space @ np.linalg.svd(single @ space, full_matrices=False)[2].T
    return np.pad(directions, ((0, 0), (0, width)))[:, :width]


def fit_dual_encoder(
    start: Float32Array,
    data: TrainingData,
    *,
    seed: int,
    progress: Progress = ignore_progress,
) -> DualEncoder:
    """Return a dual encoder learned from initial vectors (V, d).

    The result is the same for the same seed, whatever the number of cores.
    """
    useful = np.flatnonzero([not candidates.fixed.all() for candidates in data.candidates])
    rng = np.random.default_rng(seed)
    generator = torch.Generator().manual_seed(seed)
    tables = {side: torch.from_numpy(start.copy()).requires_grad_() for side in SIDES}
    gains = {side: torch.tensor(1.0, requires_grad=True) for side in FILE_SIDES}
    steps_per_epoch = -(-len(useful) // _REPORTS_PER_STEP)
    steps = steps_per_epoch * _EPOCHS
    parameters = [*tables.values(), *gains.values()]
    optimizer = torch.optim.AdamW(parameters, lr=_LEARNING_RATE, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer,
        _LEARNING_RATE,
        total_steps=max(steps, _MIN_SCHEDULED_STEPS),
        pct_start=0.1,
    )
    done = 0
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # another number of threads would add in another order
    try:
        for _ in range(_EPOCHS):
            order = rng.permutation(useful)
            for begin in range(0, len(order), _REPORTS_PER_STEP):
                reports = order[begin : begin + _REPORTS_PER_STEP]
                loss = _loss(tables, gains, data, reports, rng, generator)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                schedule.step()
                done += 1
                progress("learning term vectors", done, steps)
    finally:
        torch.set_num_threads(threads)
    with torch.no_grad():
        return DualEncoder(
            {side: table.half().float().numpy() for side, table in tables.items()},
            {side: float(gain) for side, gain in gains.items()},
        )


def _encode(table_Vd: Tensor, texts: sparse.csr_array, generator: torch.Generator) -> Tensor:
    """Return (n, d) unit vectors of texts (n, V), with dropout of some of their terms."""
    weights = torch.from_numpy(texts.data)
    terms = torch.from_numpy(texts.indices).long()
    starts = torch.from_numpy(texts.indptr[:-1]).long()
    weights = weights * (torch.rand(weights.shape, generator=generator) > _DROPOUT)
    sums = functional.embedding_bag(terms, table_Vd, starts, mode="sum", per_sample_weights=weights)
    return functional.normalize(sums, dim=-1)


def _draw(candidates: Candidates, rng: np.random.Generator) -> LongArray:
    """Return the positions of a report's first fixed files and of some wrong files.

    Wrong files with better ranks are more likely to be drawn.
    """
    right = np.flatnonzero(candidates.fixed)[:_MAX_POSITIVES]
    wrong = np.flatnonzero(~candidates.fixed)
    odds = 1.0 / (wrong + _NEGATIVE_OFFSET)
    number = min(_MAX_NEGATIVES, len(wrong))
    drawn = rng.choice(wrong, size=number, replace=False, p=odds / odds.sum())
    return np.concatenate((right, drawn))


def _loss(
    tables: Mapping[str, Tensor],
    gains: Mapping[str, Tensor],
    data: TrainingData,
    reports: LongArray,
    rng: np.random.Generator,
    generator: torch.Generator,
) -> Tensor:
    """Return the loss of some reports, given by their numbers, with candidates drawn for each.

    It is the mean over reports of the cross-entropy between the softmax over a report's candidates
    and a probability mass that is spread evenly over its fixed files.
    """
    drawn = []
    scores = []
    fixed = []
    for number in reports:
        candidates = data.candidates[number]
        positions = _draw(candidates, rng)
        drawn.append(positions)
        scores.append(candidates.scores[positions])
        fixed.append(candidates.fixed[positions])
    sizes = [len(positions) for positions in drawn]
    report_of_candidate_n = torch.from_numpy(np.repeat(np.arange(len(sizes)), sizes))
    score_n = torch.from_numpy(np.concatenate(scores)).float()
    fixed_n = torch.from_numpy(np.concatenate(fixed))
    report_Rd = _encode(tables["report"], data.reports[reports], generator)
    for side in FILE_SIDES:
        file_nd = _encode(tables[side], data.take(side, reports, drawn), generator)
        cosine_n = (report_Rd[report_of_candidate_n] * file_nd).sum(dim=-1)
        score_n = score_n + gains[side] * cosine_n
    log_likelihoods = []
    for score_C, fixed_C in zip(
        torch.split(score_n, sizes), torch.split(fixed_n, sizes), strict=True
    ):
        log_likelihoods.append(score_C.log_softmax(dim=0)[fixed_C].mean())
    return -torch.stack(log_likelihoods).mean()
