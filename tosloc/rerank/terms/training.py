"""How the dual encoder learns: a softmax over each report's own candidates, on top of what stage one says of them.

Letters in shapes: R reports, B reports of a step, N candidates of all of them, C of one, V terms, d width.
"""

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

from tosloc.core.records import Float32Array, LongArray, Progress, ignore_progress
from tosloc.rerank.base import Candidates
from tosloc.rerank.terms.sparse_vectors import FILE_SIDES, SIDES, DualEncoder, Vector, stacked
from tosloc.retrieval.postings import group_starts

WIDTH: Final = 64  # numbers of a term's vector
_EPOCHS: Final = 3
_REPORTS: Final = 64  # reports of a step
_LEARNING_RATE: Final = 3e-3
_DROPOUT: Final = 0.5  # share of the terms that a step does not see
_POSITIVES, _NEGATIVES = 12, 20
"""Fixed files of a report, at most, and wrong ones, drawn anew each epoch."""
_NEGATIVE_OFFSET: Final = 3.0  # a wrong file at position r (from 0) is drawn with odds 1 / (r + 3)
_JOINED: Final = 10  # fixed files of a report whose contents join it when term vectors begin
_OVERSAMPLED, _ROUNDS = 20, 5
"""Further directions of the randomised decomposition, and its rounds."""


@dataclass(frozen=True, eq=False)
class Lessons:
    """What a dual encoder learns from: reports (R, V), and of each the candidates with their sparse vectors by side."""

    reports: sparse.csr_array
    candidates: Sequence[Candidates]
    vectors: Sequence[Mapping[str, Sequence[Vector]]]

    def take(self, side: str, reports: LongArray, chosen: Sequence[LongArray]) -> sparse.csr_array:
        """(N, V) vectors of a side of the candidates that are chosen of some reports, one report after the other."""
        each = zip(reports.tolist(), chosen, strict=True)
        vectors = [
            self.vectors[report][side][place]
            for report, places in each
            for place in places.tolist()
        ]
        return stacked(vectors, self.reports.shape[1])


def start_vectors(lessons: Lessons, contents: sparse.csr_array, seed: int) -> Float32Array:
    """(V, d) vectors by which files (their contents), reports, and reports joined with their fixed files are told apart
    best.
    """
    fixed = [np.flatnonzero(listed.fixed)[:_JOINED] for listed in lessons.candidates]
    starts = group_starts([len(some) for some in fixed])
    shares = np.repeat([1.0 / len(some) for some in fixed], np.diff(starts))
    mean = sparse.csr_array(
        (shares, np.arange(len(shares)), starts), shape=(len(fixed), len(shares))
    )
    joined = lessons.reports + mean @ lessons.take("content", np.arange(len(fixed)), fixed)
    return principal(sparse.vstack((contents, lessons.reports, joined), format="csr"), WIDTH, seed)


def principal(rows: sparse.csr_array, width: int, seed: int) -> Float32Array:
    """(V, d) the first right singular vectors of rows (n, V), by a randomised decomposition; missing ones are 0."""
    number = min(width + _OVERSAMPLED, *rows.shape)
    single = rows.astype(np.float32)
    space = np.random.default_rng(seed).standard_normal((rows.shape[1], number)).astype(np.float32)
    with threadpool_limits(limits=1, user_api="blas"):  # another number of threads rounds otherwise
        for _ in range(_ROUNDS):
            space = np.linalg.qr(single.T @ (single @ space))[0]
        found = space @ np.linalg.svd(single @ space, full_matrices=False)[2].T
    return np.pad(found, ((0, 0), (0, width)))[:, :width]


def fit_dual_encoder(
    start: Float32Array, lessons: Lessons, *, seed: int, progress: Progress = ignore_progress
) -> DualEncoder:
    """Dual encoder learned from start vectors (V, d); the same for the same seed, however many cores there are."""
    useful = np.flatnonzero([not listed.fixed.all() for listed in lessons.candidates])
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    tables = {side: torch.from_numpy(start.copy()).requires_grad_() for side in SIDES}
    gains = {side: torch.tensor(1.0, requires_grad=True) for side in FILE_SIDES}
    total = -(-len(useful) // _REPORTS) * _EPOCHS
    optimizer = torch.optim.AdamW(
        [*tables.values(), *gains.values()], lr=_LEARNING_RATE, weight_decay=0.0
    )
    # of fewer than twenty steps the schedule has no end
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, _LEARNING_RATE, total_steps=max(total, 20), pct_start=0.1
    )
    done, threads = 0, torch.get_num_threads()
    torch.set_num_threads(1)  # another number of threads adds in another order
    try:
        for _ in range(_EPOCHS):
            order = rng.permutation(useful)
            for begin in range(0, len(order), _REPORTS):
                some = order[begin : begin + _REPORTS]
                loss = _loss(tables, gains, lessons, some, rng, generator)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                schedule.step()
                done += 1
                progress("term vectors", done, total)
    finally:
        torch.set_num_threads(threads)
    with torch.no_grad():
        learned = {side: table.half().float().numpy() for side, table in tables.items()}
        return DualEncoder(learned, {side: float(gain) for side, gain in gains.items()})


def _encode(table_Vd: Tensor, texts: sparse.csr_array, generator: torch.Generator) -> Tensor:
    """(n, d) unit vectors of texts, of which some terms are not seen."""
    weights, terms = torch.from_numpy(texts.data), torch.from_numpy(texts.indices).long()
    weights = weights * (torch.rand(weights.shape, generator=generator) > _DROPOUT)
    starts = torch.from_numpy(texts.indptr[:-1]).long()
    summed = functional.embedding_bag(
        terms, table_Vd, starts, mode="sum", per_sample_weights=weights
    )
    return functional.normalize(summed, dim=-1)


def _draw(listed: Candidates, rng: np.random.Generator) -> LongArray:
    """Positions of a list's first fixed files and of some wrong ones, the likelier the higher they stand."""
    right, wrong = np.flatnonzero(listed.fixed)[:_POSITIVES], np.flatnonzero(~listed.fixed)
    odds = 1.0 / (wrong + _NEGATIVE_OFFSET)
    number = min(_NEGATIVES, len(wrong))
    return np.concatenate(
        (right, rng.choice(wrong, size=number, replace=False, p=odds / odds.sum()))
    )


def _loss(
    tables: Mapping[str, Tensor],
    gains: Mapping[str, Tensor],
    lessons: Lessons,
    some: LongArray,
    rng: np.random.Generator,
    generator: torch.Generator,
) -> Tensor:
    """The loss of some reports by candidates that are drawn of each."""
    drawn = [_draw(lessons.candidates[number], rng) for number in some]
    pairs = [
        (lessons.candidates[number], chosen) for number, chosen in zip(some, drawn, strict=True)
    ]
    sizes = [len(chosen) for chosen in drawn]
    owner_N = torch.from_numpy(np.repeat(np.arange(len(sizes)), sizes))
    score_N = torch.from_numpy(
        np.concatenate([listed.scores[chosen] for listed, chosen in pairs])
    ).float()
    fixed_N = torch.from_numpy(np.concatenate([listed.fixed[chosen] for listed, chosen in pairs]))
    report_Bd = _encode(tables["report"], lessons.reports[some], generator)
    for side in FILE_SIDES:
        file_Nd = _encode(tables[side], lessons.take(side, some, drawn), generator)
        score_N = score_N + gains[side] * (report_Bd[owner_N] * file_Nd).sum(dim=-1)
    lists = zip(torch.split(score_N, sizes), torch.split(fixed_N, sizes), strict=True)
    # cross-entropy of the softmax over a report's candidates with a mass spread evenly over its fixed files
    return -torch.stack(
        [score_C.log_softmax(dim=0)[fixed_C].mean() for score_C, fixed_C in lists]
    ).mean()
