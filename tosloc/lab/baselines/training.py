"""What the learned techniques share: which reports they learn from, and trainings that survive an interruption."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import NonNegativeInt, PositiveFloat

from tosloc.arrays import Array, Arrays, load_arrays, pack_words, save_arrays, unpack_words
from tosloc.errors import CheckpointError, ToslocError
from tosloc.lab.baselines.context import Baseline, BaselineQuery, Settings
from tosloc.metrics import average_precision, fixed_ranks
from tosloc.records import Case, FloatArray, LongArray, Progress, silent
from tosloc.reports.labelled import fix_order

if TYPE_CHECKING:
    import torch

    from tosloc.rerank.encoder.training import EarlyStopping

_RECORD = "record"


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


def evenly_spaced(cases: Sequence[Case], number: int) -> list[Case]:
    """At most ``number`` of the cases, the last one among them."""
    if number >= len(cases):
        return list(cases)
    return [cases[(chosen + 1) * len(cases) // number - 1] for chosen in range(number)]


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


def weights_of(model: torch.nn.Module, prefix: str = "") -> Arrays:
    """Copies of a model's weights by name, with a prefix; ``set_weights`` gives them back."""
    return {prefix + name: parameter.detach().cpu().numpy().copy() for name, parameter in model.named_parameters()}


def set_weights(model: torch.nn.Module, arrays: Mapping[str, Array], prefix: str = "") -> None:
    """Give a model the weights of ``weights_of``."""
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(np.array(arrays[prefix + name])))


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

        model.to(self.device)
        settings, file = self.settings, f"{name}.npz"
        optimizer = torch.optim.Adam(model.parameters(), lr=settings.learning_rate, weight_decay=weight_decay)
        state, best = self._resumed(file, model, optimizer)
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
                state.best, state.best_epoch, best = score, state.epoch, weights_of(model, "best/")
            self.save(file, best | weights_of(model, "now/") | _adam_arrays(model, optimizer), asdict(state))
            suffix = "" if validate is None else f", validation MAP {score:.3f}"
            self.progress(f"{name}, epoch {state.epoch}: loss {loss:.4f}{suffix}", state.epoch, epochs)
        if best:
            set_weights(model, best, "best/")
        model.eval()
        return state.best

    def _resumed(
        self, file: str, model: torch.nn.Module, optimizer: torch.optim.Optimizer
    ) -> tuple[EarlyStopping, Arrays]:
        from tosloc.rerank.encoder.training import EarlyStopping

        found = self.load(file)
        if found is None:
            return EarlyStopping(), {}
        arrays, record = found
        set_weights(model, arrays, "now/")
        _set_adam(model, optimizer, arrays)
        return EarlyStopping(**record), {name: values for name, values in arrays.items() if name.startswith("best/")}

    def save(self, file: str, arrays: Mapping[str, Array], record: Mapping[str, Any] | None = None) -> None:
        """Keep arrays and a record, whole or not at all."""
        packed = pack_words([json.dumps({"key": self.key, "record": record})])
        save_arrays(self.folder / file, {**arrays, _RECORD: packed}, level=0)

    def load(self, file: str) -> tuple[Arrays, dict[str, Any]] | None:
        """What was kept; None if there is nothing, something else, or half a file."""
        try:
            arrays = load_arrays(self.folder / file)
            packed = json.loads(unpack_words(arrays.pop(_RECORD))[0])
        except (CheckpointError, IndexError):
            return None
        return (arrays, packed["record"]) if packed["key"] == self.key else None


def _adam_arrays(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> Arrays:
    return {
        f"adam/{part}/{name}": tensor.detach().cpu().numpy()
        for name, parameter in model.named_parameters()
        for part, tensor in optimizer.state[parameter].items()
    }


def _set_adam(model: torch.nn.Module, optimizer: torch.optim.Optimizer, arrays: Mapping[str, Array]) -> None:
    import torch

    state = optimizer.state_dict()
    state["state"] = {
        number: {
            part: torch.from_numpy(np.array(arrays[f"adam/{part}/{name}"]))
            for part in ("step", "exp_avg", "exp_avg_sq")
        }
        for number, (name, _) in enumerate(model.named_parameters())
    }
    optimizer.load_state_dict(state)


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
        stop_by = evenly_spaced(usable, settings.validation_reports or len(usable))
        cases = self.training_cases(settings, train)
        return Training(settings, self.seed, cases, stop_by, device, folder, self._key(train, stop_by), progress)

    def _key(self, train: Sequence[Case], validation: Sequence[Case]) -> str:
        """What a training is of: what was saved with another key is not used."""
        settings = self.settings.model_dump(mode="json", exclude={"device", "threads", "cache_mb"})
        cases = [
            [[case.report.id, case.version, case.fixed_at, *case.fixed] for case in sorted(part, key=fix_order)]
            for part in (train, validation)
        ]
        text = json.dumps([self.name, settings, self.seed, self.context.cutoff, cases], sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
