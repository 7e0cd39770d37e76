"""What the learned techniques share: which reports they learn from, trainings that can be killed, weights on disk.

``Learned`` is the base of such a technique. Its ``fit`` asks for a ``Training``, which knows the reports, the folder
and how to learn; ``in_batches`` makes an epoch of a loss.

Everything is kept in safetensors files whose header holds a JSON record: nothing that is read can run code. torch loads
inside the functions that need it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from tosloc.data.splits import fix_order
from tosloc.errors import ToslocError
from tosloc.files import write_text, written_whole
from tosloc.lab.baselines.context import Baseline, BaselineQuery
from tosloc.metrics import average_precision, fixed_ranks
from tosloc.records import Case, FloatArray, LongArray, Progress, silent
from tosloc.reranking.encoder.state import State

if TYPE_CHECKING:
    import torch

Choice: TypeAlias = Literal["newest", "spread"]
"""Which training reports are learned from when not all are: the last ones, or some over the whole time."""
Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]
Float16Array: TypeAlias = npt.NDArray[np.float32]


class LearningSettings(Protocol):
    """Settings that every learned technique has, each with a default of its own.

    They are declared where the technique's file has them and not inherited: what an interrupted run has kept is found
    by the settings in the order of their declaration.
    """

    train_reports: int
    """Training reports that are learned from; 0 for all."""
    choose: Choice
    validation_reports: int
    """Validation reports, at even distances, whose MAP stops the training."""
    learning_rate: float
    patience: int
    """Epochs without a better MAP after which a training stops; 0: never."""
    device: Literal["auto", "cpu"]
    threads: int
    """Threads of torch; 0: as many as it likes."""


def chosen(cases: Sequence[Case], number: int, how: Choice = "newest") -> list[Case]:
    """At most ``number`` (0: all) of the cases with a fixed file, in the order of their fixes."""
    usable = sorted((case for case in cases if case.fixed), key=fix_order)
    if how == "spread":
        return spread(usable, number)
    return usable[-number:] if number else usable


def spread(cases: Sequence[Case], number: int) -> list[Case]:
    """At most ``number`` (0: all) of the cases, at even distances, the last one among them."""
    if not number or number >= len(cases):
        return list(cases)
    return [cases[(place + 1) * len(cases) // number - 1] for place in range(number)]


def places_of(query: BaselineQuery, paths: Sequence[str]) -> LongArray:
    """Places in the version of those of the paths that it has and that could be read, rising."""
    names, places = query.version.snapshot.path_names.ids, query.version.row_of_path
    found = {places[names[path]] for path in paths if path in names and names[path] in places}
    return np.array(sorted(place for place in found if query.version.rows[place] >= 0), dtype=np.int64)


class ScoredRun(Protocol):
    """A report whose files have been scored, as far as measures go."""

    @property
    def fixed(self) -> LongArray:
        """Places of the fixed files."""

    @property
    def relevant(self) -> int:
        """Fixed files of the report, those that have no place too."""


def mean_average_precision(reports: Sequence[ScoredRun], found: Iterable[FloatArray]) -> float:
    """MAP over the full rankings of some reports by their files' scores, given in the same order; 0 of no report."""
    values = [
        average_precision(fixed_ranks(scores, one.fixed).tolist(), one.relevant, add=np.sum)
        for one, scores in zip(reports, found, strict=True)
    ]
    return float(np.mean(values)) if values else 0.0


def key_of(name: str, settings: Any, seed: int, cutoff: str, train: Sequence[Case], validation: Sequence[Case]) -> str:
    """What a training is of: weights of another key are not gone on with."""
    told = settings.model_dump(mode="json", exclude={"device", "threads", "cache_mb"})
    cases = [
        [[case.report.id, case.version, case.fixed_at, *case.fixed] for case in part]
        for part in (sorted(train, key=fix_order), sorted(validation, key=fix_order))
    ]
    text = json.dumps([name, told, seed, cutoff, cases], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def device_of(name: Literal["auto", "cpu"], threads: int) -> torch.device:
    """Where the networks live; ``threads`` above 0 limits what torch uses of the processor."""
    import torch

    if threads:
        torch.set_num_threads(threads)
    return torch.device("cuda" if name == "auto" and torch.cuda.is_available() else "cpu")


def save(path: Path, arrays: Arrays, key: str, record: Mapping[str, Any]) -> None:
    """Write arrays and a record whole or not at all."""
    import safetensors.numpy

    with written_whole(path) as temporary:
        safetensors.numpy.save_file(
            {name: np.ascontiguousarray(values) for name, values in arrays.items()},
            temporary,
            {"key": key, "record": json.dumps(record)},
        )


def load(path: Path, key: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]] | None:
    """What was saved with this key; None if there is nothing, something else, or half a file."""
    import safetensors

    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            told = file.metadata() or {}
            if told.get("key") != key:
                return None
            arrays = {name: file.get_tensor(name) for name in file.keys()}
            return arrays, json.loads(told["record"])
    except (OSError, ValueError, KeyError, safetensors.SafetensorError):
        return None


Epoch: TypeAlias = Callable[["torch.optim.Optimizer", np.random.Generator], float]
"""One pass over the training data with randomness of its own; its mean loss."""


def train(
    model: torch.nn.Module,
    path: Path,
    epoch: Epoch,
    validate: Callable[[], float] | None,
    *,
    key: str,
    seed: int,
    epochs: int,
    learning_rate: float,
    weight_decay: float = 0.0,
    patience: int = 0,
    what: str = "training",
    progress: Progress = silent,
) -> State:
    """Train by Adam until validation gains nothing for ``patience`` epochs; the model holds the best epoch afterwards.

    Without ``validate`` the last epoch is the best; of equal ones, the later. ``path`` is written after every epoch,
    and every epoch's randomness depends on nothing before it, so that going on ends where never stopping does.
    """
    import torch

    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate, weight_decay=weight_decay)
    state, best = _resumed(path, key, model, optimizer)
    while state.epoch < epochs and not (patience and state.waited >= patience):
        model.train()
        loss = epoch(optimizer, np.random.default_rng([seed, state.epoch]))
        if not math.isfinite(loss):
            raise ToslocError(f"{what}: the loss is no longer a number; lower learning_rate")
        model.eval()
        score = validate() if validate is not None else -loss
        state.epoch += 1
        state.curve.append({"epoch": state.epoch, "loss": loss, **({"map": score} if validate is not None else {})})
        if validate is None or score >= state.best:
            state.best, state.best_epoch = score, state.epoch
            best = weights(model)
        arrays = weights(model, "now/")
        arrays |= {f"best/{name}": values for name, values in best.items()}
        for name, parameter in model.named_parameters():
            for part, tensor in optimizer.state[parameter].items():
                arrays[f"adam/{part}/{name}"] = tensor.detach().cpu().numpy()
        save(path, arrays, key, asdict(state))
        write_text(path.with_suffix(".json"), json.dumps(state.curve, indent=1) + "\n")
        told = f", validation MAP {score:.3f}" if validate is not None else ""
        progress(f"{what}, epoch {state.epoch}: loss {loss:.4f}{told}", state.epoch, epochs)
    if best:
        put(model, best)
    model.eval()
    return state


def put(model: torch.nn.Module, arrays: Arrays, under: str = "") -> None:
    """Give a model its weights, whose names in ``arrays`` begin with ``under``."""
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(np.array(arrays[under + name])))


def weights(model: torch.nn.Module, under: str = "") -> dict[str, npt.NDArray[Any]]:
    """Copies of a model's weights by name, with ``under`` in front; ``put`` gives them back."""
    return {under + name: parameter.detach().cpu().numpy().copy() for name, parameter in model.named_parameters()}


def _resumed(
    path: Path, key: str, model: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[State, dict[str, npt.NDArray[Any]]]:
    import torch

    found = load(path, key)
    if found is None:
        return State(), {}
    arrays, record = found
    names = [name for name, _ in model.named_parameters()]
    put(model, arrays, "now/")
    told = optimizer.state_dict()
    told["state"] = {
        number: {
            part: torch.from_numpy(np.array(arrays[f"adam/{part}/{name}"]))
            for part in ("step", "exp_avg", "exp_avg_sq")
        }
        for number, name in enumerate(names)
    }
    optimizer.load_state_dict(told)
    return State(**record), {name: arrays[f"best/{name}"] for name in names}


def in_batches(
    number: int,
    size: int,
    loss_of: Callable[[LongArray], torch.Tensor],
    order: LongArray | None = None,
    told: Callable[[int], None] | None = None,
) -> Epoch:
    """One pass over ``number`` examples, ``size`` at a time; ``loss_of`` gives the mean loss of those at some places.

    The order is drawn anew for every epoch, unless one is given. ``told`` hears after each batch how many are done.
    """

    def epoch(optimizer: torch.optim.Optimizer, rng: np.random.Generator) -> float:
        total = 0.0
        places = rng.permutation(number) if order is None else order
        for start in range(0, number, size):
            batch = places[start : start + size]
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(batch)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += float(loss.detach()) * len(batch)
            if told is not None:
                told(start + len(batch))
        return total / max(number, 1)

    return epoch


def seeded(seed: int, build: Callable[[], torch.nn.Module]) -> torch.nn.Module:
    """A network whose first weights follow from the seed; torch's own randomness stays as it was."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()


@dataclass(frozen=True, eq=False)
class Training:
    """What one technique learns from, and where it keeps what it has learned."""

    settings: LearningSettings
    seed: int
    cases: Sequence[Case]
    """Training reports that are learned from, in the order of their fixes."""
    judged: Sequence[Case]
    """Validation reports whose MAP stops the training."""
    device: torch.device
    folder: Path
    key: str
    """Of what is kept in the folder, only what was saved with it counts."""
    progress: Progress

    def learn(
        self,
        model: torch.nn.Module,
        file: str,
        epoch: Epoch,
        validate: Callable[[], float] | None,
        *,
        epochs: int,
        what: str,
        weight_decay: float = 0.0,
    ) -> State:
        """``train`` with a file of the folder; without ``validate`` all epochs are gone through."""
        return train(
            model,
            self.folder / file,
            epoch,
            validate,
            key=self.key,
            seed=self.seed,
            epochs=epochs,
            learning_rate=self.settings.learning_rate,
            weight_decay=weight_decay,
            patience=self.settings.patience,
            what=what,
            progress=self.progress,
        )

    def save(self, file: str, arrays: Arrays, record: Mapping[str, Any]) -> None:
        """Keep arrays and a record, whole or not at all."""
        save(self.folder / file, arrays, self.key, record)

    def load(self, file: str) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]] | None:
        """What was kept; None if there is nothing, something else, or half a file."""
        return load(self.folder / file, self.key)


class Learned(Baseline):
    """A technique that learns from training reports and stops by validation reports."""

    learned: ClassVar[bool] = True

    settings: Any

    @classmethod
    def wanted(cls, settings: LearningSettings, train: Sequence[Case]) -> Sequence[Case]:
        """The training reports that are learned from: the newest ones, unless the settings say otherwise."""
        return chosen(train, settings.train_reports, settings.choose)

    def training(
        self, train: Sequence[Case], validation: Sequence[Case], folder: Path, progress: Progress = silent
    ) -> Training:
        """The training that ``fit`` is query for."""
        settings = self.settings
        device = device_of(settings.device, settings.threads)
        judged = spread([case for case in validation if case.fixed], settings.validation_reports)
        key = key_of(self.name, settings, self.seed, self.context.cutoff, train, judged)
        return Training(settings, self.seed, self.wanted(settings, train), judged, device, folder, key, progress)
