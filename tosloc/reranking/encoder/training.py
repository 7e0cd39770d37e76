"""Training of stage two: a loop that can be killed at any time and goes on to the same end."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor

from tosloc.config import TrainingSettings
from tosloc.errors import ToslocError
from tosloc.files import write_text, written_whole
from tosloc.learning.early_stopping import EarlyStopping
from tosloc.records import FloatArray, Progress, silent
from tosloc.reranking.base import values_of
from tosloc.reranking.encoder.batches import Batch, ChunkTable, TokenizedCandidates, batch_of, grouped
from tosloc.reranking.encoder.losses import LISTWISE, in_batch
from tosloc.reranking.encoder.model import RerankingModel

STATE = "state.pt"
"""Everything that training needs to go on; read with ``weights_only``, so it runs no code."""


class Trainer:
    """Trains the parts of a model that require gradients, and keeps the best by MRR + MAP on validation.

    Learns from ``train``; ``validation`` decides when to stop and which epoch is kept, where those of its reports that
    were opened before ``trained_until``, the last fix learned from, keep stage one's order. The folder holds the state
    of an interrupted training, and every epoch begins from its own seed, so that going on ends where never stopping
    does.
    """

    def __init__(
        self,
        model: RerankingModel,
        chunk_table: ChunkTable,
        settings: TrainingSettings,
        folder: Path,
        *,
        seed: int,
        key: str = "",
        trained_until: float = 0,
        accelerator: Accelerator | None = None,
    ) -> None:
        self.model, self.chunk_table, self.settings = model, chunk_table, settings
        self.folder, self.seed = folder, seed
        self.trained_until = trained_until
        self.key = key
        """What the training is of: a state of another key is not gone on with."""
        self.accelerator = accelerator or Accelerator(
            mixed_precision=None if settings.precision == "float32" else "bf16", cpu=settings.device == "cpu"
        )

    def fit(
        self,
        train: Sequence[TokenizedCandidates],
        validation: Sequence[TokenizedCandidates],
        progress: Progress = silent,
    ) -> EarlyStopping:
        """Train until validation no longer gains; the model holds the best epoch's parameters afterwards."""
        settings, accelerator = self.settings, self.accelerator
        learned = {name: value for name, value in self.model.named_parameters() if value.requires_grad}
        if not learned or not train:
            raise ToslocError("stage two has nothing to learn: no parameter, or no training report with a fixed file")
        optimizer = torch.optim.AdamW(learned.values(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
        self.model.to(accelerator.device)
        optimizer = accelerator.prepare(optimizer)
        state, best = self._resume(learned, optimizer)
        if not state.curve:
            state.best = sum(self.validate(validation)[:2])
            best = _copied(learned)
        while state.epoch < settings.epochs and state.epochs_since_best < settings.patience:
            started = time.monotonic()
            loss, losses = self._epoch(optimizer, train, state.epoch, progress)
            seconds = round(time.monotonic() - started, 1)
            mrr, map_ = self.validate(validation)
            state.epoch += 1
            entry = {"epoch": state.epoch, "loss": loss, "mrr": mrr, "map": map_}
            state.curve.append(entry | {"seconds": seconds, "losses": losses})
            if mrr + map_ > state.best:
                state.best, state.best_epoch = mrr + map_, state.epoch
                best = _copied(learned)
            self._save(state, learned, best, optimizer)
            progress(f"epoch {state.epoch}: loss {loss:.3f}, validation MRR {mrr:.3f} MAP {map_:.3f}", 1, 1)
        with torch.no_grad():
            for name, value in learned.items():
                value.copy_(best[name])
        return state

    def _epoch(
        self, optimizer: Any, train: Sequence[TokenizedCandidates], epoch: int, progress: Progress
    ) -> tuple[float, list[float]]:
        """Mean loss over the reports of one pass, and over those of each of its steps.

        Every process sees the same steps and takes its share of each one's reports; gradients are summed, so that many
        processes learn what one would.
        """
        settings, accelerator = self.settings, self.accelerator
        rng = np.random.default_rng([self.seed, epoch])
        torch.manual_seed(int(rng.integers(2**31)) + accelerator.process_index)
        order = rng.permutation(len(train))
        cut = [
            made for number in order.tolist() if (made := train[number].for_training(settings.negatives)) is not None
        ]
        if not cut:
            raise ToslocError("stage two has nothing to learn: no training report has both fixed and wrong candidates")
        self.model.train()
        sums: list[Tensor] = []
        sizes: list[int] = []
        for step in grouped(cut, settings.pairs, at_most=False):
            optimizer.zero_grad(set_to_none=True)
            sums.append(torch.zeros((), device=accelerator.device))
            sizes.append(len(step))
            own = step[accelerator.process_index :: accelerator.num_processes]
            for part in grouped(own, settings.pairs_at_once, at_most=True):
                batch = batch_of(part, self.chunk_table)
                try:
                    loss = self._loss(batch.to(accelerator.device)) * (len(batch.fixed_BC) / len(step))
                    accelerator.backward(loss)
                except torch.cuda.OutOfMemoryError as error:
                    raise ToslocError(
                        "the GPU's memory is too small for this training; lower [stage_two.training] chunks_at_once or"
                        " pairs_at_once"
                    ) from error
                sums[-1] += loss.detach() * len(step)
            self._sum_gradients()
            if settings.clip:
                accelerator.clip_grad_norm_(self.model.parameters(), settings.clip)
            optimizer.step()
            progress(f"epoch {epoch + 1}", sum(sizes), len(cut))
        totals: list[float] = accelerator.reduce(torch.stack(sums), "sum").tolist()
        return sum(totals) / len(cut), [total / size for total, size in zip(totals, sizes, strict=True)]

    def _sum_gradients(self) -> None:
        if self.accelerator.num_processes == 1:
            return
        for value in self.model.parameters():
            if value.requires_grad:
                # a process without reports in this step has no gradient, but the others wait for it
                gradient = torch.zeros_like(value) if value.grad is None else value.grad
                value.grad = self.accelerator.reduce(gradient, "sum")

    def _loss(self, batch: Batch) -> Tensor:
        with self.accelerator.autocast():
            scores_BC = self.model(batch.crossed() if self.settings.loss == "in_batch" else batch)
        if self.settings.loss == "in_batch":
            return in_batch(scores_BC.float())
        return LISTWISE[self.settings.loss](scores_BC.float(), batch.fixed_BC, batch.real_BC)

    def validate(self, lists: Sequence[TokenizedCandidates]) -> tuple[float, float]:
        """MRR and MAP of the model's order over all reports; fixed files beyond the lists keep their ranks."""
        scored = score_lists(self.model, self.chunk_table, lists, self.accelerator, self.trained_until)
        values = [values_of(one.candidates, scores) for one, scores in zip(lists, scored, strict=True)]
        number = max(len(values), 1)
        return math.fsum(rr for rr, _ in values) / number, math.fsum(ap for _, ap in values) / number

    # The state of an interrupted training

    def _save(
        self, state: EarlyStopping, learned: Mapping[str, Tensor], best: Mapping[str, Tensor], optimizer: Any
    ) -> None:
        if not self.accelerator.is_main_process:
            return
        values = {
            "key": self.key,
            "state": asdict(state),
            "parameters": {name: value.detach().cpu() for name, value in learned.items()},
            "best": dict(best),
            "optimizer": optimizer.state_dict(),
        }
        with written_whole(self.folder / STATE) as temporary:
            torch.save(values, temporary)
        write_text(self.folder / "curve.json", json.dumps(state.curve, indent=1) + "\n")

    def _resume(self, learned: Mapping[str, Tensor], optimizer: Any) -> tuple[EarlyStopping, dict[str, Tensor]]:
        path = self.folder / STATE
        if not path.exists():
            return EarlyStopping(), {}
        try:
            values = torch.load(path, map_location="cpu", weights_only=True)
            if values["key"] != self.key or values["parameters"].keys() != learned.keys():
                return EarlyStopping(), {}
            state = EarlyStopping(**values["state"])
        except (OSError, RuntimeError, KeyError, TypeError, ValueError, EOFError):
            return EarlyStopping(), {}  # half a state is none; training begins again
        with torch.no_grad():
            for name, value in learned.items():
                value.copy_(values["parameters"][name])
        optimizer.load_state_dict(values["optimizer"])
        return state, values["best"]


@torch.inference_mode()
def score_lists(
    model: RerankingModel,
    chunk_table: ChunkTable,
    lists: Sequence[TokenizedCandidates],
    accelerator: Accelerator | None = None,
    trained_until: float = 0,
) -> Iterator[FloatArray]:
    """(C,) scores of each list, one list at a time, so that padding cannot matter and memory stays one list's.

    Of a report that was opened before ``trained_until`` the model may say nothing: its scores are all 0.
    """
    device = accelerator.device if accelerator is not None else next(model.parameters()).device
    was_training = model.training
    model.eval()
    try:
        for one in lists:
            if not len(one) or one.candidates.opened < trained_until:
                yield np.zeros(len(one))
                continue
            scores = model(batch_of([one], chunk_table).to(device))
            yield scores[0].float().cpu().numpy().astype(np.float64)
    finally:
        model.train(was_training)


def _copied(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().cpu().clone() for name, value in values.items()}
