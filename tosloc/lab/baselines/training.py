"""Code that the learned techniques share: choice of their cases, and training with Adam."""

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

from tosloc.core.arrays import FloatArray, LongArray
from tosloc.core.errors import ToslocError
from tosloc.core.metrics import average_precision, fixed_ranks
from tosloc.core.progress import Progress
from tosloc.core.reports import Case
from tosloc.lab.baselines.context import Baseline, BaselineQuery

LEARNING_RATE: Final = 1e-3
"""Adam's learning rate: DreamLoc's public code; for DNNLOC our choice."""
PATIENCE: Final = 3
"""Epochs without a better MAP after which training stops: DreamLoc's public code; for DNNLOC our
choice."""
DEVICE: Final = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@dataclass(frozen=True)
class LearningSettings:
    """Numbers of reports that a learned technique uses."""

    train_reports: int = 0
    """Number of the newest training reports; 0 for all."""
    validation_reports: int = 0
    """Number of validation reports, taken at even distances; 0 for all.

    Their MAP over all files decides when training stops.
    """


class LearnedBaseline(Baseline):
    """A technique that learns from training reports; validation reports decide when it stops."""

    learned: ClassVar[bool] = True
    settings: ClassVar[Any]

    @classmethod
    def select_training_cases(cls, train: Sequence[Case]) -> Sequence[Case]:
        """Return the newest training reports with a fixed file, in the order of their fixes."""
        usable = [case for case in train if case.fixed]
        return sorted(usable, key=Case.fix_order)[-cls.settings.train_reports :]

    def select_cases(
        self, train: Sequence[Case], validation: Sequence[Case]
    ) -> tuple[Sequence[Case], Sequence[Case]]:
        """Return the reports to train on and those to validate by.

        The validation reports have a fixed file and are taken at even distances; the last one is
        always among them. Raises ToslocError if there are too few reports.
        """
        cases = self.select_training_cases(train)
        usable = [case for case in validation if case.fixed]
        if len(cases) < 2 or not usable:
            raise ToslocError(
                f"{self.name} needs two training reports and one for validation "
                "whose fixed files exist"
            )
        number = min(self.settings.validation_reports or len(usable), len(usable))
        ends = range(1, number + 1)
        return cases, [usable[end * len(usable) // number - 1] for end in ends]


def fixed_positions(query: BaselineQuery, paths: Sequence[str]) -> LongArray:
    """Return the positions, ascending, of ``paths``, without missing and unreadable files."""
    path_ids = query.version.snapshot.path_names.ids
    positions: set[int] = set()
    for path in paths:
        position = query.version.position_of_path.get(path_ids.get(path, -1))
        if position is not None and query.version.rows[position] >= 0:
            positions.add(position)
    return np.array(sorted(positions), dtype=np.int64)


def mean_average_precision(rankings: Iterable[tuple[FloatArray, LongArray, int]]) -> float:
    """Return the MAP over all files.

    For each report, ``rankings`` contains the scores of the files, the positions of the fixed
    files, and the number of relevant files.
    """
    precisions: list[float] = []
    for scores, fixed, relevant in rankings:
        ranks = fixed_ranks(scores, fixed).tolist()
        precisions.append(average_precision(ranks, relevant, add=np.sum))
    return float(np.mean(precisions))


def build_seeded(seed: int, build: Callable[[], nn.Module]) -> Any:
    """Return a network whose initial weights depend only on the seed.

    Torch's global random state does not change.
    """
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        return build().to(DEVICE)


def train_epochs(
    model: nn.Module,
    number: int,
    batch_size: int,
    batch_loss: Callable[[LongArray], Tensor],
    seed: int,
    weight_decay: float = 0.0,
) -> Iterator[float]:
    """Train a model with Adam without end, and yield the mean loss of each epoch.

    An epoch goes once through ``number`` examples, ``batch_size`` at a time, in a random order.
    ``batch_loss`` returns the mean loss of the examples with the given indices.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, weight_decay=weight_decay)
    for epoch in count():
        total = 0.0
        order = np.random.default_rng([seed, epoch]).permutation(number)
        for start in range(0, number, batch_size):
            batch = order[start : start + batch_size]
            optimizer.zero_grad()
            loss = batch_loss(batch)
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
    """Train until MAP on validation has not risen for ``PATIENCE`` epochs; return the best MAP.

    ``losses`` trains one epoch for each value that is taken from it; at most ``epochs`` are taken.
    At the end the model has the weights of the best epoch; of equally good epochs the latest
    counts.
    """
    best_map = -math.inf
    best_epoch = 0
    best_weights: dict[str, Any] = {}
    for epoch, loss in enumerate(islice(losses, epochs), start=1):
        validation_map = validate()
        message = f"{name}, epoch {epoch}: loss {loss:.4f}, validation MAP {validation_map:.3f}"
        progress(message, epoch, epochs)
        if validation_map >= best_map:
            best_map = validation_map
            best_epoch = epoch
            best_weights = copy.deepcopy(model.state_dict())
        elif epoch - best_epoch == PATIENCE:
            break
    model.load_state_dict(best_weights)
    return best_map
