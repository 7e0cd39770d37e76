"""What the learned techniques share: which reports they learn from, and the training of a network by Adam."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any, ClassVar, Final

import numpy as np
import torch
from torch import Tensor, nn

from tosloc.core.errors import ToslocError
from tosloc.core.metrics import average_precision, fixed_ranks
from tosloc.core.records import Case, FloatArray, LongArray, Progress
from tosloc.lab.baselines.context import Baseline, BaselineQuery
from tosloc.reports.labelled import fix_order

LEARNING_RATE: Final = 1e-3  # of DreamLoc its public code's, of DNNLOC ours
PATIENCE: Final = 3  # epochs without a better MAP after which a training stops: likewise
DEVICE: Final = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@dataclass(frozen=True)
class LearningSettings:
    """What every learned technique learns from."""

    train_reports: int = 0  # the newest; 0 for all
    validation_reports: int = (
        0  # at even distances; 0 for all. Their MAP over all files stops the training
    )


class LearnedBaseline(Baseline):
    """A technique that learns from training reports and stops by validation reports."""

    learned: ClassVar[bool] = True
    settings: ClassVar[Any]

    @classmethod
    def training_cases(cls, train: Sequence[Case]) -> Sequence[Case]:
        """The newest training reports with a fixed file, in the order of their fixes."""
        return sorted((case for case in train if case.fixed), key=fix_order)[
            -cls.settings.train_reports :
        ]

    def chosen(
        self, train: Sequence[Case], validation: Sequence[Case]
    ) -> tuple[Sequence[Case], Sequence[Case]]:
        """The training reports, and validation reports with a fixed file at even distances, the last among them. Raises
        ToslocError.
        """
        cases, usable = self.training_cases(train), [case for case in validation if case.fixed]
        if len(cases) < 2 or not usable:
            raise ToslocError(
                f"{self.name} needs two training reports and one for validation whose fixed files exist"
            )
        number = min(self.settings.validation_reports or len(usable), len(usable))
        return cases, [
            usable[chosen * len(usable) // number - 1] for chosen in range(1, number + 1)
        ]


def fixed_positions(query: BaselineQuery, paths: Sequence[str]) -> LongArray:
    """Positions, rising, of those of the paths that the version has and that could be read."""
    ids, positions = query.version.snapshot.path_names.ids, query.version.position_of_path
    found = {positions[ids[path]] for path in paths if path in ids and ids[path] in positions}
    return np.array(
        sorted(position for position in found if query.version.rows[position] >= 0), dtype=np.int64
    )


def mean_average_precision(rankings: Iterable[tuple[FloatArray, LongArray, int]]) -> float:
    """MAP over all files; of each report the files' scores, the fixed files' positions and their number."""
    ranked = (
        (fixed_ranks(scores, fixed).tolist(), relevant) for scores, fixed, relevant in rankings
    )
    return float(
        np.mean([average_precision(ranks, relevant, add=np.sum) for ranks, relevant in ranked])
    )


def seeded(seed: int, build: Callable[[], nn.Module]) -> Any:
    """A network whose first weights follow from the seed; torch's own randomness stays as it was."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        return build().to(DEVICE)


def passes(
    model: nn.Module,
    number: int,
    size: int,
    loss_of: Callable[[LongArray], Tensor],
    seed: int,
    weight_decay: float = 0.0,
) -> Iterator[float]:
    """Train by Adam without end: the mean loss of each pass over ``number`` examples, ``size`` at a time in a random
    order. ``loss_of`` gives the mean loss of examples.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, weight_decay=weight_decay)
    for epoch in count():
        total, order = 0.0, np.random.default_rng([seed, epoch]).permutation(number)
        for start in range(0, number, size):
            batch = order[start : start + size]
            optimizer.zero_grad()
            loss = loss_of(batch)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += float(loss.detach()) * len(batch)
        yield total / number


def train_until_best(
    model: nn.Module,
    losses: Iterator[float],
    epochs: int,
    validate: Callable[[], float],
    name: str,
    progress: Progress,
) -> float:
    """Train until validation gains nothing for ``PATIENCE`` passes, at most so many; its best MAP. The model then has
    the weights that had it; of equally good ones the later.
    """
    best, best_epoch, weights = -math.inf, 0, {}
    for epoch, loss in enumerate(islice(losses, epochs), start=1):
        score = validate()
        progress(
            f"{name}, epoch {epoch}: loss {loss:.4f}, validation MAP {score:.3f}", epoch, epochs
        )
        if score >= best:
            best, best_epoch, weights = score, epoch, copy.deepcopy(model.state_dict())
        elif epoch - best_epoch == PATIENCE:
            break
    model.load_state_dict(weights)
    return best
