"""Training of the encoder reranker: a loop that can be killed at any time and goes on to the same end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import torch
from accelerate.utils import reduce
from torch import Tensor
from torch.optim import AdamW, Optimizer

from tosloc.errors import ToslocError
from tosloc.io import written_whole
from tosloc.records import Progress, silent
from tosloc.rerank.base import mean_values
from tosloc.rerank.encoder.encoders import processes
from tosloc.rerank.encoder.scoring import Chunks, Question, RerankingModel, contrastive

STATE: Final = "state.pt"  # everything that training needs to go on; read with weights_only, so it runs no code
PATIENCE: Final = 5  # epochs without gain on validation before training stops, as in every training of docs/results.md
LONGEST_GRADIENT: Final = 1.0  # the default of transformers

Loss: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""(C,) scores of a report's candidates, and which of them are fixed, to a loss."""
Curve: TypeAlias = list[dict[str, float]]
"""Of each epoch, the untrained model first, MRR and MAP on validation, and the loss on train."""


@dataclass(eq=False)
class Trainer:
    """Trains what of a model learns, and keeps the epoch that is best by MRR + MAP on validation. Reports of validation
    that were opened before ``trained_until``, the last fix learned from, keep stage one's order there. The folder holds
    the state of an interrupted training, and every epoch begins from its own seed, so that going on ends where never
    stopping does.

    Not the Trainer of transformers: it writes all weights each epoch, those that never change too, and a kill while it
    does leaves a state that it cannot read.
    """

    model: RerankingModel
    chunks: Mapping[str, Chunks]  # blob -> its chunks
    folder: Path
    seed: int
    key: str = ""  # what the training is of: a state of another key is not gone on with
    trained_until: float = 0
    loss: Loss = contrastive

    def fit(self, train: Sequence[Question], validation: Sequence[Question], progress: Progress = silent) -> Curve:
        """Train until validation no longer gains; the model holds the best epoch's parameters afterwards."""
        teaching = [question for question in train if 0 < question.candidates.fixed.sum() < len(question.candidates)]
        if not teaching:
            raise ToslocError("stage two has nothing to learn: no training report has both fixed and wrong candidates")
        settings = self.model.settings.training
        self.model.to(processes().device)
        optimizer = AdamW(self.model.learned.values(), lr=settings.learning_rate)
        curve, best = self._resumed(optimizer) or ([self.validate(validation)], self._parameters())
        while True:
            values = [entry["mrr"] + entry["map"] for entry in curve]
            epoch = len(curve) - 1
            if epoch >= settings.epochs or epoch - values.index(max(values)) >= PATIENCE:
                break
            loss = self._epoch(optimizer, teaching, epoch, progress)
            curve.append({"loss": loss} | (judged := self.validate(validation)))
            if judged["mrr"] + judged["map"] > max(values):
                best = self._parameters()
            state = {"key": self.key, "curve": curve, "parameters": self._parameters(), "best": best}
            if processes().is_main_process:
                with written_whole(self.folder / STATE) as temporary:
                    torch.save(state | {"optimizer": optimizer.state_dict()}, temporary)
            said = "loss {loss:.3f}, validation MRR {mrr:.3f} MAP {map:.3f}".format(**curve[-1])
            progress(f"epoch {epoch + 1}: {said}", 1, 1)
        self.model.load_state_dict(best, strict=False)
        return curve

    def _epoch(self, optimizer: Optimizer, train: Sequence[Question], epoch: int, progress: Progress) -> float:
        """Mean loss of one pass over the reports; many processes learn what one would."""
        settings, own, parameters = self.model.settings.training, processes(), list(self.model.learned.values())
        rng = np.random.default_rng([self.seed, epoch])
        torch.manual_seed(int(rng.integers(2**31)) + own.process_index)
        self.model.train()
        order, total = rng.permutation(len(train)), torch.zeros((), device=own.device)
        size = max(1, round(settings.pairs / np.mean([len(question.candidates) for question in train])))
        for start in range(0, len(order), size):
            step = order[start : start + size]
            optimizer.zero_grad()
            for number in step[own.process_index :: own.num_processes]:
                with torch.autocast(own.device.type, torch.bfloat16, enabled=settings.precision == "bfloat16"):
                    scores_C = self.model(train[number], self.chunks)
                fixed_C = torch.from_numpy(train[number].candidates.fixed).to(scores_C.device)
                loss = self.loss(scores_C.float(), fixed_C)
                (loss / len(step)).backward()  # type: ignore[no-untyped-call]
                total += loss.detach()
            for value in parameters if own.num_processes > 1 else ():
                # a process without reports in this step has no gradient, but the others wait for it
                value.grad = reduce(torch.zeros_like(value) if value.grad is None else value.grad, "sum")
            torch.nn.utils.clip_grad_norm_(parameters, LONGEST_GRADIENT)
            optimizer.step()
            progress(f"epoch {epoch + 1}", start + len(step), len(train))
        return float(reduce(total, "sum")) / len(train)

    def validate(self, validation: Sequence[Question]) -> dict[str, float]:
        """MRR and MAP of the model's order over all reports; fixed files beyond the candidates keep their ranks."""
        scores = self.model.scores(validation, self.chunks, self.trained_until)
        mrr, map_ = mean_values([question.candidates for question in validation], scores)
        return {"mrr": mrr, "map": map_}

    def _parameters(self) -> Mapping[str, Tensor]:
        return {name: value.detach().cpu().clone() for name, value in self.model.learned.items()}

    def _resumed(self, optimizer: Optimizer) -> tuple[Curve, Mapping[str, Tensor]] | None:
        with suppress(Exception):  # half a state, whatever it raises, is none; training begins again
            kept: Any = torch.load(self.folder / STATE, map_location="cpu", weights_only=True)
            if kept["key"] == self.key:
                self.model.load_state_dict(kept["parameters"], strict=False)
                optimizer.load_state_dict(kept["optimizer"])
                return kept["curve"], kept["best"]
        return None
