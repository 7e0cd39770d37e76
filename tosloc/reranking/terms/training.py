"""How the encoder learn: a softmax over each report's own candidates, on top of what stage one says of them.

They learn several times from the same start, with other draws, and their vectors are averaged (Wortsman et al. 2022,
"Model soups"): as good as averaging their scores, at the cost of one.

Letters in shapes: B reports of a step, C candidates of the longest list, U different bags of a step, V terms, d width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tosloc.config import TermsSettings
from tosloc.errors import ToslocError
from tosloc.records import FloatArray, LongArray, Progress, silent
from tosloc.reranking.encoder.losses import spread
from tosloc.reranking.terms.dual_encoder import SIDES, CandidateRows, DualEncoder
from tosloc.reranking.terms.vocabulary import Float32Array, SparseVectors

LEVEL = 3.0
"""A wrong file at place r (from 0) is drawn with odds 1 / (r + 3)."""


class TrainableDualEncoder(nn.Module):
    """Start vectors that stay, and what each side adds to them."""

    def __init__(self, start: Float32Array) -> None:
        super().__init__()
        self.register_buffer("start_Vd", torch.from_numpy(start))
        self.moved = nn.ParameterDict({side: nn.Parameter(torch.zeros(start.shape)) for side in SIDES})
        self.gains = nn.ParameterDict({side: nn.Parameter(torch.tensor(1.0)) for side in SIDES[1:]})

    def vectors(self, side: str, bags: SparseVectors, dropout: float, generator: torch.Generator) -> Tensor:
        """(n, d) unit vectors of bags, of which some terms are not seen."""
        weights = torch.from_numpy(bags.weights)
        if dropout:
            weights = weights * (torch.rand(weights.shape, generator=generator) > dropout)
        terms = torch.from_numpy(bags.terms).long()
        summed = functional.embedding_bag(terms, self.table(side), per_sample_weights=weights, mode="sum")
        return functional.normalize(summed, dim=-1)

    def table(self, side: str) -> Tensor:
        """(V, d) the vectors of one side."""
        moved_Vd: Tensor = self.get_buffer("start_Vd") + self.moved[side]
        return moved_Vd


def drawn(one: CandidateRows, settings: TermsSettings, rng: np.random.Generator) -> LongArray:
    """Places of a list's first fixed files and of some wrong ones, the likelier the higher they stand."""
    right, wrong = np.flatnonzero(one.fixed)[: settings.positives], np.flatnonzero(~one.fixed)
    odds = 1.0 / (wrong + LEVEL)
    number = min(settings.negatives, len(wrong))
    return np.concatenate((right, rng.choice(wrong, size=number, replace=False, p=odds / odds.sum())))


@dataclass(frozen=True, eq=False)
class DualEncoderTrainingSet:
    """What encoder learn from: lists whose rows are those of the bags."""

    reports: SparseVectors
    contents: SparseVectors
    histories: SparseVectors
    lists: Sequence[CandidateRows]


def fit(
    settings: TermsSettings,
    start: Float32Array,
    training_set: DualEncoderTrainingSet,
    *,
    seed: int,
    progress: Progress = silent,
) -> DualEncoder:
    """DualEncoder learned from start vectors (V, d); the same for the same seed.

    Raises ToslocError when no list holds both fixed and wrong files.
    """
    useful = replace(training_set, lists=[one for one in training_set.lists if one.fixed.any() and not one.fixed.all()])
    if not useful.lists:
        raise ToslocError("no training report has both fixed and wrong candidates; the second stage cannot learn")
    rounds = [int(np.random.SeedSequence([seed, turn]).generate_state(1)[0]) for turn in range(settings.averaged)]
    steps = -(-len(useful.lists) // settings.reports) * settings.epochs

    def learned(turn: int) -> TrainableDualEncoder:
        def moved_on(step: int) -> None:
            progress("term vectors", turn * steps + step, len(rounds) * steps)

        return fit_once(settings, start, useful, seed=rounds[turn], moved_on=moved_on)

    return averaged([learned(turn) for turn in range(len(rounds))])


def averaged(models: Sequence[TrainableDualEncoder]) -> DualEncoder:
    """The mean of what was learned, in half precision."""
    with torch.no_grad():
        tables = {side: torch.stack([model.table(side) for model in models]).mean(dim=0) for side in SIDES}
        gains = {side: float(torch.stack([model.gains[side] for model in models]).mean()) for side in SIDES[1:]}
        return DualEncoder({side: table.half().numpy() for side, table in tables.items()}, gains)


def fit_once(
    settings: TermsSettings,
    start: Float32Array,
    training_set: DualEncoderTrainingSet,
    *,
    seed: int,
    moved_on: Callable[[int], None],
) -> TrainableDualEncoder:
    """One training, each of whose lists has fixed and wrong files; ``moved_on`` is told how many steps are done."""
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
            some = [
                training_set.lists[place] for place in order[step * settings.reports : (step + 1) * settings.reports]
            ]
            places = [drawn(one, settings, rng) for one in some]
            asked_Bd = model.vectors(
                "report", training_set.reports.take(np.array([one.report for one in some])), settings.dropout, generator
            )
            fixed_BC, real_BC = padded(some, places, "fixed") > 0, padded(some, places, "scores", np.nan)
            score_BC = torch.from_numpy(np.nan_to_num(real_BC)).float()
            for side, bags, rows in (
                ("content", training_set.contents, "contents"),
                ("history", training_set.histories, "histories"),
            ):
                used, inverse_BC = np.unique(padded(some, places, rows).astype(np.int64), return_inverse=True)
                file_Ud = model.vectors(side, bags.take(used), settings.dropout, generator)
                close_BU = asked_Bd @ file_Ud.T
                score_BC = score_BC + model.gains[side] * close_BU.gather(
                    1, torch.from_numpy(inverse_BC.reshape(fixed_BC.shape))
                )
            loss = spread(score_BC, torch.from_numpy(fixed_BC), torch.from_numpy(~np.isnan(real_BC)))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            if schedule is not None:
                schedule.step()
            moved_on(epoch * steps + step + 1)
    return model


def padded(lists: Sequence[CandidateRows], places: Sequence[LongArray], name: str, empty: float = 0.0) -> FloatArray:
    """(B, C) a field of the lists at the given places."""
    made = np.full((len(lists), max(map(len, places))), empty)
    for row, (one, some) in enumerate(zip(lists, places, strict=True)):
        made[row, : len(some)] = getattr(one, name)[some]
    return made
