"""Training of the encoder reranker: a loop that can be killed at any time and goes on to the same end."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import torch
from accelerate.utils import reduce
from torch import Tensor
from torch.optim import AdamW, Optimizer

from tosloc.errors import ToslocError
from tosloc.io import written_whole
from tosloc.records import FloatArray, Progress, silent
from tosloc.rerank.base import Candidates, values_of
from tosloc.rerank.encoder.encoders import memory_explained, processes
from tosloc.rerank.encoder.scoring import Chunks, Question, RerankingModel, contrastive

STATE: Final = "state.pt"  # everything that training needs to go on; read with weights_only, so it runs no code
PATIENCE: Final = 5  # epochs without gain on validation before training stops, as in every training of docs/results.md
LONGEST_GRADIENT: Final = 1.0  # the default of transformers

Loss: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""(C,) scores of a report's candidates, and which of them are fixed, to a loss."""
Parameters: TypeAlias = Mapping[str, Tensor]


@dataclass(slots=True)
class EarlyStopping:
    """How far a training has come: kept after every epoch, so that a killed one goes on."""

    epoch: int = 0  # epochs that are finished
    best: float = -math.inf
    """Best value of what stops it: a measure on validation, or the loss below 0 where there is no validation."""
    best_epoch: int = 0
    curve: list[dict[str, Any]] = field(default_factory=list)
    """One entry an epoch: loss on train, measures on validation, seconds of the pass, and the loss of each step."""


@dataclass(eq=False)
class Trainer:
    """Trains what of a model learns, and keeps the epoch that is best by MRR + MAP on validation. Reports of validation
    that were opened before ``trained_until``, the last fix learned from, keep stage one's order there. The folder holds
    the state of an interrupted training, and every epoch begins from its own seed, so that going on ends where never
    stopping does.
    """

    model: RerankingModel
    chunks: Mapping[str, Chunks]  # blob -> its chunks
    folder: Path
    seed: int
    key: str = ""  # what the training is of: a state of another key is not gone on with
    trained_until: float = 0
    loss: Loss = contrastive

    def __post_init__(self) -> None:
        self.settings = self.model.settings.training
        self.processes = processes()

    def fit(
        self, train: Sequence[Question], validation: Sequence[Question], progress: Progress = silent
    ) -> EarlyStopping:
        """Train until validation no longer gains; the model holds the best epoch's parameters afterwards."""
        teaching = [question for question in train if 0 < question.candidates.fixed.sum() < len(question.candidates)]
        if not teaching:
            raise ToslocError("stage two has nothing to learn: no training report has both fixed and wrong candidates")
        self.model.to(self.processes.device)
        learned = self.model.learned
        optimizer = AdamW(learned.values(), lr=self.settings.learning_rate)
        state, best = self._resume(learned, optimizer)
        if not state.curve:
            state.best, best = sum(self.validate(validation)), _copied(learned)
        while state.epoch < self.settings.epochs and state.epoch - state.best_epoch < PATIENCE:
            started = time.monotonic()
            losses, loss = self._epoch(optimizer, teaching, state.epoch, progress)
            seconds = round(time.monotonic() - started, 1)
            mrr, map_ = self.validate(validation)
            state.epoch += 1
            entry = {"epoch": state.epoch, "loss": loss, "mrr": mrr, "map": map_}
            state.curve.append(entry | {"seconds": seconds, "losses": losses})
            if mrr + map_ > state.best:
                state.best, state.best_epoch, best = mrr + map_, state.epoch, _copied(learned)
            self._save(state, learned, best, optimizer)
            progress(f"epoch {state.epoch}: loss {loss:.3f}, validation MRR {mrr:.3f} MAP {map_:.3f}", 1, 1)
        _restore(learned, best)
        return state

    def _epoch(
        self, optimizer: Optimizer, train: Sequence[Question], epoch: int, progress: Progress
    ) -> tuple[list[float], float]:
        """Mean loss of the reports of each step of one pass, and of all; many processes learn what one would."""
        processes, parameters = self.processes, list(self.model.learned.values())
        mixed = self.settings.precision == "bfloat16"
        rng = np.random.default_rng([self.seed, epoch])
        torch.manual_seed(int(rng.integers(2**31)) + processes.process_index)
        self.model.train()
        sums, sizes = [], list[int]()
        for step in _steps([train[number] for number in rng.permutation(len(train))], self.settings.pairs):
            optimizer.zero_grad()
            total = torch.zeros((), device=processes.device)
            for question in step[processes.process_index :: processes.num_processes]:
                with memory_explained("training.chunks_at_once"):
                    with torch.autocast(processes.device.type, torch.bfloat16, enabled=mixed):
                        scores_C = self.model(question, self.chunks)
                    fixed_C = torch.from_numpy(question.candidates.fixed).to(scores_C.device)
                    loss = self.loss(scores_C.float(), fixed_C)
                    (loss / len(step)).backward()  # type: ignore[no-untyped-call]
                total += loss.detach()
            for value in parameters if processes.num_processes > 1 else ():
                # a process without reports in this step has no gradient, but the others wait for it
                value.grad = reduce(torch.zeros_like(value) if value.grad is None else value.grad, "sum")
            torch.nn.utils.clip_grad_norm_(parameters, LONGEST_GRADIENT)
            optimizer.step()
            sums.append(total)
            sizes.append(len(step))
            progress(f"epoch {epoch + 1}", sum(sizes), len(train))
        totals: list[float] = reduce(torch.stack(sums), "sum").tolist()
        return [total / size for total, size in zip(totals, sizes, strict=True)], sum(totals) / len(train)

    def validate(self, questions: Sequence[Question]) -> tuple[float, float]:
        """MRR and MAP of the model's order over all reports; fixed files beyond the candidates keep their ranks."""
        scores = self.model.scores(questions, self.chunks, self.trained_until)
        return mean_values([question.candidates for question in questions], scores)

    def _save(self, state: EarlyStopping, learned: Parameters, best: Parameters, optimizer: Optimizer) -> None:
        values = {"key": self.key, "state": asdict(state), "parameters": _copied(learned), "best": best}
        if self.processes.is_main_process:
            with written_whole(self.folder / STATE) as temporary:
                torch.save(values | {"optimizer": optimizer.state_dict()}, temporary)

    def _resume(self, learned: Parameters, optimizer: Optimizer) -> tuple[EarlyStopping, Parameters]:
        try:
            values: dict[str, Any] = torch.load(self.folder / STATE, map_location="cpu", weights_only=True)
        except Exception:  # half a state, whatever it raises, is none; training begins again
            return EarlyStopping(), {}
        if values["key"] != self.key:
            return EarlyStopping(), {}
        _restore(learned, values["parameters"])
        optimizer.load_state_dict(values["optimizer"])
        return EarlyStopping(**values["state"]), values["best"]


def mean_values(candidates: Sequence[Candidates], scores: Iterator[FloatArray]) -> tuple[float, float]:
    """MRR and MAP of the candidates reordered by scores (C,) of each report, over all reports."""
    values = [values_of(listed, row) for listed, row in zip(candidates, scores, strict=True)]
    number = max(len(values), 1)
    return math.fsum(rr for rr, _ in values) / number, math.fsum(ap for _, ap in values) / number


def _steps(questions: Sequence[Question], pairs: int) -> Iterator[list[Question]]:
    """Reports in groups of ``pairs`` pairs of report and candidate, or of a few more."""
    step, count = [], 0
    for question in questions:
        step.append(question)
        count += len(question.candidates)
        if count >= pairs:
            yield step
            step, count = [], 0
    if step:
        yield step


def _copied(values: Parameters) -> dict[str, Tensor]:
    return {name: value.detach().cpu().clone() for name, value in values.items()}


@torch.no_grad()
def _restore(learned: Parameters, values: Parameters) -> None:
    for name, value in learned.items():
        value.copy_(values[name])
