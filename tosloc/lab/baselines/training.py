"""What the learned techniques share: which reports they learn from, and trainings that survive an interruption."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import NonNegativeInt, PositiveFloat

from tosloc.errors import ToslocError
from tosloc.io import key_of, written_whole
from tosloc.lab.baselines.context import Baseline, BaselineQuery, Settings
from tosloc.metrics import average_precision, fixed_ranks
from tosloc.records import Case, FloatArray, LongArray, Progress, silent
from tosloc.reports.labelled import fix_order

if TYPE_CHECKING:
    import torch


class LearningSettings(Settings):
    """Settings that every learned technique has."""

    train_reports: NonNegativeInt = 600
    """Training reports that are learned from, the newest; 0 for all."""
    validation_reports: NonNegativeInt = 100
    """Validation reports, evenly spaced, whose MAP stops the training; 0 for all."""
    learning_rate: PositiveFloat = 1e-3
    patience: NonNegativeInt = 3
    """Epochs without a better MAP after which a training stops; 0: never."""
    device: Literal["auto", "cpu"] = "auto"
    threads: NonNegativeInt = 0


def fixed_positions(query: BaselineQuery, paths: Sequence[str]) -> LongArray:
    """Positions, rising, of those of the paths that the version has and that could be read."""
    ids, positions = query.version.snapshot.path_names.ids, query.version.position_of_path
    found = {positions[ids[path]] for path in paths if path in ids and ids[path] in positions}
    return np.array(sorted(position for position in found if query.version.rows[position] >= 0), dtype=np.int64)


def mean_average_precision(rankings: Iterable[tuple[FloatArray, LongArray, int]]) -> float:
    """MAP over all files; of each report the files' scores, the fixed files' positions and their number."""
    values = [
        average_precision(fixed_ranks(scores, fixed).tolist(), relevant, add=np.sum)
        for scores, fixed, relevant in rankings
    ]
    return float(np.mean(values)) if values else 0.0


Epoch: TypeAlias = Callable[["torch.optim.Optimizer", np.random.Generator], float]
"""One pass over the training data with randomness of its own; its mean loss."""


def in_batches(
    number: int,
    size: int,
    loss_of: Callable[[LongArray], torch.Tensor],
    progress: Callable[[int], None] = lambda done: None,
) -> Epoch:
    """One pass over ``number`` examples in a random order, ``size`` at a time; ``loss_of`` gives their mean loss."""

    def epoch(optimizer: torch.optim.Optimizer, rng: np.random.Generator) -> float:
        total = 0.0
        order = rng.permutation(number)
        for start in range(0, number, size):
            batch = order[start : start + size]
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(batch)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += float(loss.detach()) * len(batch)
            progress(start + len(batch))
        return total / max(number, 1)

    return epoch


def seeded(seed: int, build: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    """A network whose first weights follow from the seed; torch's own randomness stays as it was."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()


def weights_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Copies of a model's weights."""
    return {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}


@dataclass(frozen=True, eq=False)
class Training:
    """What one technique learns from, and where it keeps what it has learned."""

    settings: LearningSettings
    seed: int
    cases: Sequence[Case]
    """Training reports that are learned from, in the order of their fixes."""
    validation: Sequence[Case]
    device: torch.device
    folder: Path
    key: str
    """Of what is kept in the folder, only what was saved with it counts."""
    progress: Progress

    def learn(
        self,
        model: torch.nn.Module,
        name: str,
        epoch: Epoch,
        validate: Callable[[], float] | None,
        *,
        epochs: int,
        weight_decay: float = 0.0,
    ) -> float:
        """Train by Adam until validation gains nothing for ``patience`` epochs; the model then has the best weights.

        Returns what ``validate`` gave them. Without ``validate`` all epochs are gone through, and it is minus the loss.
        Of equally good epochs the later is the best. Everything is kept after every epoch, and an epoch's randomness
        depends on nothing before it, so that a training that goes on ends as one that was never stopped.
        """
        import torch

        from tosloc.rerank.encoder.training import EarlyStopping

        model.to(self.device)
        settings, file = self.settings, f"{name}.pt"
        optimizer = torch.optim.Adam(model.parameters(), lr=settings.learning_rate, weight_decay=weight_decay)
        state, best = EarlyStopping(), None
        if stored := self.load(file):
            model.load_state_dict(stored["now"])
            optimizer.load_state_dict(stored["optimizer"])
            state, best = EarlyStopping(**stored["state"]), stored["best"]
        while state.epoch < epochs and not (settings.patience and state.epoch - state.best_epoch >= settings.patience):
            model.train()
            loss = epoch(optimizer, np.random.default_rng([self.seed, state.epoch]))
            if not math.isfinite(loss):
                raise ToslocError(f"{name}: the loss is no longer a number; lower learning_rate")
            model.eval()
            score = -loss if validate is None else validate()
            state.epoch += 1
            state.curve.append({"loss": loss} if validate is None else {"loss": loss, "map": score})
            if validate is None or score >= state.best:
                state.best, state.best_epoch, best = score, state.epoch, weights_of(model)
            values = {"state": asdict(state), "best": best, "now": weights_of(model)}
            self.save(file, values | {"optimizer": optimizer.state_dict()})
            suffix = "" if validate is None else f", validation MAP {score:.3f}"
            self.progress(f"{name}, epoch {state.epoch}: loss {loss:.4f}{suffix}", state.epoch, epochs)
        if best:
            model.load_state_dict(best)
        model.eval()
        return state.best

    def save(self, file: str, values: dict[str, Any]) -> None:
        """Keep tensors and plain values, whole or not at all."""
        import torch

        with written_whole(self.folder / file) as temporary:
            torch.save(values | {"key": self.key}, temporary)

    def load(self, file: str) -> dict[str, Any] | None:
        """What was kept; None if there is nothing, something else, or half a file."""
        import torch

        try:
            values: dict[str, Any] = torch.load(self.folder / file, map_location="cpu", weights_only=True)
        except Exception:  # half a file raises anything
            return None
        return values if values["key"] == self.key else None


class LearnedBaseline(Baseline):
    """A technique that learns from training reports and stops by validation reports."""

    learned: ClassVar[bool] = True

    settings: Any

    @classmethod
    def training_cases(cls, settings: LearningSettings, train: Sequence[Case]) -> Sequence[Case]:
        """The newest training reports with a fixed file, in the order of their fixes."""
        usable = sorted((case for case in train if case.fixed), key=fix_order)
        return usable[-settings.train_reports :] if settings.train_reports else usable

    def training(
        self, train: Sequence[Case], validation: Sequence[Case], folder: Path, progress: Progress = silent
    ) -> Training:
        """The training that ``fit`` is called for."""
        import torch

        settings = self.settings
        if settings.threads:
            torch.set_num_threads(settings.threads)
        device = torch.device("cuda" if settings.device == "auto" and torch.cuda.is_available() else "cpu")
        usable = [case for case in validation if case.fixed]
        number = min(settings.validation_reports or len(usable), len(usable))
        stop_by = [usable[chosen * len(usable) // number - 1] for chosen in range(1, number + 1)]  # the last among them
        known = [
            [[case.report.id, case.version, case.fixed_at, *case.fixed] for case in sorted(part, key=fix_order)]
            for part in (train, stop_by)
        ]
        counting = settings.model_dump(mode="json", exclude={"device", "threads", "cache_mb"})
        key = key_of(self.name, counting, self.seed, self.context.cutoff, known)
        cases = self.training_cases(settings, train)
        return Training(settings, self.seed, cases, stop_by, device, folder, key, progress)
