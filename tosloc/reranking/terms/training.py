"""How the dual encoder learns: a softmax over each report's own candidates, on top of what stage one says of them.

It learns several times from the same start, with other draws, and the vectors are averaged (Wortsman et al. 2022,
"Model soups"): as good as averaging the scores, at the cost of one.

Letters in shapes: B reports of a step, C candidates of the longest list, U different texts of a step, V terms, d width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tosloc.config import TermsSettings
from tosloc.errors import ToslocError
from tosloc.records import BoolArray, Float32Array, FloatArray, LongArray, Progress, silent
from tosloc.reranking.terms.dual_encoder import FILE_SIDES, SIDES, DualEncoder
from tosloc.reranking.terms.file_vectors import CandidateRows
from tosloc.reranking.terms.sparse_vectors import SparseVectors

_NEGATIVE_OFFSET = 3.0
"""A wrong file at position r (from 0) is drawn with odds 1 / (r + 3)."""


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """A training report's candidates, as rows of sparse vectors."""

    report: int
    rows: CandidateRows
    fixed: BoolArray
    """(C,)"""
    scores: FloatArray
    """(C,) stage one's."""


@dataclass(frozen=True, eq=False)
class DualEncoderTrainingSet:
    """What a dual encoder learns from: the candidates of reports, and the sparse vectors that their rows mean."""

    reports: SparseVectors
    contents: SparseVectors
    histories: SparseVectors
    lists: Sequence[LabelledRows]


class TrainableDualEncoder(nn.Module):
    """Start vectors that stay, and what each side adds to them."""

    def __init__(self, start: Float32Array) -> None:
        super().__init__()
        self.register_buffer("start_Vd", torch.from_numpy(start))
        self.moved = nn.ParameterDict({side: nn.Parameter(torch.zeros(start.shape)) for side in SIDES})
        self.gains = nn.ParameterDict({side: nn.Parameter(torch.tensor(1.0)) for side in FILE_SIDES})

    def encode(self, side: str, texts: SparseVectors, dropout: float, generator: torch.Generator) -> Tensor:
        """(n, d) unit vectors of texts, of which some terms are not seen."""
        weights = torch.from_numpy(texts.weights)
        if dropout:
            weights = weights * (torch.rand(weights.shape, generator=generator) > dropout)
        terms = torch.from_numpy(texts.terms).long()
        summed = functional.embedding_bag(terms, self.table(side), per_sample_weights=weights, mode="sum")
        return functional.normalize(summed, dim=-1)

    def table(self, side: str) -> Tensor:
        """(V, d) the vectors of one side."""
        moved_Vd: Tensor = self.get_buffer("start_Vd") + self.moved[side]
        return moved_Vd


def draw(one: LabelledRows, settings: TermsSettings, rng: np.random.Generator) -> LongArray:
    """Positions of a list's first fixed files and of some wrong ones, the likelier the higher they stand."""
    right, wrong = np.flatnonzero(one.fixed)[: settings.positives], np.flatnonzero(~one.fixed)
    odds = 1.0 / (wrong + _NEGATIVE_OFFSET)
    number = min(settings.negatives, len(wrong))
    return np.concatenate((right, rng.choice(wrong, size=number, replace=False, p=odds / odds.sum())))


def fit_dual_encoder(
    settings: TermsSettings,
    start: Float32Array,
    training_set: DualEncoderTrainingSet,
    *,
    seed: int,
    progress: Progress = silent,
) -> DualEncoder:
    """Dual encoder learned from start vectors (V, d); the same for the same seed, however many cores there are.

    Raises ToslocError when no list holds both fixed and wrong files.
    """
    useful = replace(training_set, lists=[one for one in training_set.lists if one.fixed.any() and not one.fixed.all()])
    if not useful.lists:
        raise ToslocError("no training report has both fixed and wrong candidates; the second stage cannot learn")
    seeds = [int(np.random.SeedSequence([seed, turn]).generate_state(1)[0]) for turn in range(settings.averaged)]
    steps = -(-len(useful.lists) // settings.reports) * settings.epochs

    def learned(turn: int) -> TrainableDualEncoder:
        def step_done(step: int) -> None:
            progress("term vectors", turn * steps + step, len(seeds) * steps)

        return fit_once(settings, start, useful, seed=seeds[turn], step_done=step_done)

    with _one_thread():
        return averaged([learned(turn) for turn in range(len(seeds))])


@contextmanager
def _one_thread() -> Iterator[None]:
    """Torch adds in another order with another number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def averaged(models: Sequence[TrainableDualEncoder]) -> DualEncoder:
    """The mean of what was learned, in half precision."""
    with torch.no_grad():
        tables = {side: torch.stack([model.table(side) for model in models]).mean(dim=0) for side in SIDES}
        gains = {side: float(torch.stack([model.gains[side] for model in models]).mean()) for side in FILE_SIDES}
        return DualEncoder({side: table.half().numpy() for side, table in tables.items()}, gains)


def fit_once(
    settings: TermsSettings,
    start: Float32Array,
    training_set: DualEncoderTrainingSet,
    *,
    seed: int,
    step_done: Callable[[int], None],
) -> TrainableDualEncoder:
    """One training, each of whose lists has fixed and wrong files; ``step_done`` is told how many steps are done."""
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    model = TrainableDualEncoder(start)
    steps = -(-len(training_set.lists) // settings.reports)
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, weight_decay=0.0)
    total = steps * settings.epochs
    # fewer than ten steps have no warm-up of a tenth
    schedule = (
        torch.optim.lr_scheduler.OneCycleLR(optimizer, settings.learning_rate, total_steps=total, pct_start=0.1)
        if total >= 10
        else None
    )
    for epoch in range(settings.epochs):
        order = rng.permutation(len(training_set.lists))
        for step in range(steps):
            some = [training_set.lists[n] for n in order[step * settings.reports : (step + 1) * settings.reports]]
            batch = DrawnCandidates.of(some, [draw(one, settings, rng) for one in some])
            loss = even_mass_loss(
                batch.scores(model, training_set, settings.dropout, generator), batch.fixed_BC, batch.real_BC
            )
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if schedule is not None:
                schedule.step()
            step_done(epoch * steps + step + 1)
    return model


@dataclass(frozen=True, eq=False)
class DrawnCandidates:
    """The drawn candidates of some reports."""

    reports: LongArray
    """(B,)"""
    rows_BC: dict[str, LongArray]
    """Side -> rows of the files' sparse vectors; 0 where there is no candidate."""
    score_BC: Tensor
    """Stage one's."""
    fixed_BC: Tensor
    real_BC: Tensor

    @classmethod
    def of(cls, lists: Sequence[LabelledRows], positions: Sequence[LongArray]) -> DrawnCandidates:
        """The candidates at the given positions of each list."""
        shape = (len(lists), max(map(len, positions)))
        contents, histories = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        scores, fixed, real = np.zeros(shape), np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
        for b, (one, chosen) in enumerate(zip(lists, positions, strict=True)):
            c = slice(0, len(chosen))
            contents[b, c], histories[b, c] = one.rows.contents[chosen], one.rows.histories[chosen]
            scores[b, c], fixed[b, c], real[b, c] = one.scores[chosen], one.fixed[chosen], True
        return cls(
            np.array([one.report for one in lists]),
            {"content": contents, "history": histories},
            torch.from_numpy(scores).float(),
            torch.from_numpy(fixed),
            torch.from_numpy(real),
        )

    def scores(
        self,
        model: TrainableDualEncoder,
        training_set: DualEncoderTrainingSet,
        dropout: float,
        generator: torch.Generator,
    ) -> Tensor:
        """(B, C) stage one's scores and the model's."""
        report_Bd = model.encode("report", training_set.reports.take(self.reports), dropout, generator)
        score_BC = self.score_BC
        for side, texts in (("content", training_set.contents), ("history", training_set.histories)):
            used, inverse = np.unique(self.rows_BC[side], return_inverse=True)
            file_Ud = model.encode(side, texts.take(used), dropout, generator)
            cosine_BU = report_Bd @ file_Ud.T
            position_BC = torch.from_numpy(inverse.reshape(self.rows_BC[side].shape))
            score_BC = score_BC + model.gains[side] * cosine_BU.gather(1, position_BC)
        return score_BC


def even_mass_loss(score_BC: Tensor, fixed_BC: Tensor, real_BC: Tensor) -> Tensor:
    """Cross-entropy of the softmax over a report's candidates with a mass spread evenly over its fixed files.

    Unlike the encoder reranker's contrastive loss the fixed files share the mass. Every report has a fixed candidate.
    """
    share_BC = score_BC.masked_fill(~real_BC, -torch.inf).log_softmax(dim=-1)
    wanted_B = torch.where(fixed_BC, share_BC, torch.zeros_like(share_BC)).sum(-1) / fixed_BC.sum(-1)
    return -wanted_B.mean()
