"""Training of stage two: a loop that can be killed at any time and goes on to the same end."""

from __future__ import annotations

import json
import math
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
from tosloc.records import FloatArray, Progress, silent
from tosloc.reranking.encoder.batches import (
    Batch,
    CandidateList,
    ChunkTable,
    batch_of,
    batches,
    for_training,
    values_of,
)
from tosloc.reranking.encoder.losses import LISTWISE, in_batch
from tosloc.reranking.encoder.model import RerankingModel
from tosloc.reranking.encoder.state import State

STATE = "state.pt"
"""Everything that training needs to go on; read with ``weights_only``, so it runs no code."""


class Trainer:
    """Trains the parts of a reader that require gradients, and keeps the best by MRR + MAP on validation.

    Learns from ``train``; ``validation`` decides when to stop and which epoch is kept, where those of its reports that
    were opened before ``learned_until``, the last fix learned from, keep stage one's order. The folder holds the state
    of an interrupted training, and every epoch begins from its own seed, so that going on ends where never stopping
    does.
    """

    def __init__(
        self,
        reader: RerankingModel,
        chunk_table: ChunkTable,
        settings: TrainingSettings,
        folder: Path,
        *,
        seed: int,
        key: str = "",
        learned_until: float = 0,
        accelerator: Accelerator | None = None,
    ) -> None:
        self.reader, self.chunk_table, self.settings, self.folder, self.seed = (
            reader,
            chunk_table,
            settings,
            folder,
            seed,
        )
        self.learned_until = learned_until
        self.key = key
        """What the training is of: a state of another key is not gone on with."""
        self.accelerator = accelerator or Accelerator(
            mixed_precision=None if settings.precision == "float32" else "bf16", cpu=settings.device == "cpu"
        )

    def fit(
        self, train: Sequence[CandidateList], validation: Sequence[CandidateList], progress: Progress = silent
    ) -> State:
        """Train until validation no longer gains; the reader holds the best epoch's parameters afterwards."""
        settings, accelerator = self.settings, self.accelerator
        learned = {name: value for name, value in self.reader.named_parameters() if value.requires_grad}
        if not learned or not train:
            raise ToslocError("stage two has nothing to learn: no parameter, or no training report with a fixed file")
        optimizer = torch.optim.AdamW(learned.values(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
        self.reader.to(accelerator.device)
        optimizer = accelerator.prepare(optimizer)
        state, best = self._resume(learned, optimizer)
        if not state.curve:
            state.best = sum(self.validate(validation)[:2])
            best = _copied(learned)
        while state.epoch < settings.epochs and state.waited < settings.patience:
            loss = self._epoch(optimizer, train, state.epoch, progress)
            mrr, map_ = self.validate(validation)
            state.epoch += 1
            state.curve.append({"epoch": state.epoch, "loss": loss, "mrr": mrr, "map": map_})
            if mrr + map_ > state.best:
                state.best, state.best_epoch = mrr + map_, state.epoch
                best = _copied(learned)
            self._save(state, learned, best, optimizer)
            progress(f"epoch {state.epoch}: loss {loss:.3f}, validation MRR {mrr:.3f} MAP {map_:.3f}", 1, 1)
        with torch.no_grad():
            for name, value in learned.items():
                value.copy_(best[name])
        return state

    def _epoch(self, optimizer: Any, train: Sequence[CandidateList], epoch: int, progress: Progress) -> float:
        """Mean loss of one pass over the reports.

        Every process sees the same steps and takes its share of each one's reports; gradients are summed, so that many
        processes learn what one would.
        """
        settings, accelerator = self.settings, self.accelerator
        rng = np.random.default_rng([self.seed, epoch])
        torch.manual_seed(int(rng.integers(2**31)) + accelerator.process_index)
        order = rng.permutation(len(train))
        cut = [
            made
            for place in order.tolist()
            if (made := for_training(train[place], settings.negatives, rng, settings.negatives_by_rank)) is not None
        ]
        if not cut:
            raise ToslocError("stage two has nothing to learn: no training report has both fixed and wrong candidates")
        self.reader.train()
        total, done = torch.zeros((), device=accelerator.device), 0
        for step in _steps(cut, settings.pairs):
            optimizer.zero_grad(set_to_none=True)
            own = step[accelerator.process_index :: accelerator.num_processes]
            for batch in batches(own, self.chunk_table, settings.pairs_at_once, range(len(own))):
                try:
                    loss = self._loss(batch.to(accelerator.device)) * (len(batch.fixed_BC) / len(step))
                    accelerator.backward(loss)
                except torch.cuda.OutOfMemoryError as error:
                    raise ToslocError(
                        "the GPU's memory is too small for this training; lower [stage_two.training] chunks_at_once or"
                        " pairs_at_once"
                    ) from error
                total += loss.detach() * len(step)
            self._sum_gradients()
            if settings.clip:
                accelerator.clip_grad_norm_(self.reader.parameters(), settings.clip)
            optimizer.step()
            done += len(step)
            progress(f"epoch {epoch + 1}", done, len(cut))
        return float(accelerator.reduce(total, "sum")) / len(cut)

    def _sum_gradients(self) -> None:
        if self.accelerator.num_processes == 1:
            return
        for value in self.reader.parameters():
            if value.requires_grad:
                # a process without reports in this step has no gradient, but the others wait for it
                gradient = torch.zeros_like(value) if value.grad is None else value.grad
                value.grad = self.accelerator.reduce(gradient, "sum")

    def _loss(self, batch: Batch) -> Tensor:
        with self.accelerator.autocast():
            scores_BC = self.reader(_crossed(batch) if self.settings.loss == "in_batch" else batch)
        if self.settings.loss == "in_batch":
            return in_batch(scores_BC.float())
        return LISTWISE[self.settings.loss](scores_BC.float(), batch.fixed_BC, batch.real_BC)

    def validate(self, lists: Sequence[CandidateList]) -> tuple[float, float]:
        """MRR and MAP of the deep order over all reports; fixed files beyond the lists keep their ranks."""
        scored = score_lists(self.reader, self.chunk_table, lists, self.accelerator, self.learned_until)
        values = [values_of(one, scores) for one, scores in zip(lists, scored, strict=True)]
        number = max(len(values), 1)
        return math.fsum(rr for rr, _ in values) / number, math.fsum(ap for _, ap in values) / number

    # The state of an interrupted training

    def _save(self, state: State, learned: Mapping[str, Tensor], best: Mapping[str, Tensor], optimizer: Any) -> None:
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

    def _resume(self, learned: Mapping[str, Tensor], optimizer: Any) -> tuple[State, dict[str, Tensor]]:
        path = self.folder / STATE
        if not path.exists():
            return State(), {}
        try:
            values = torch.load(path, map_location="cpu", weights_only=True)
            if values["key"] != self.key or values["parameters"].keys() != learned.keys():
                return State(), {}
            state = State(**values["state"])
        except (OSError, RuntimeError, KeyError, TypeError, ValueError, EOFError):
            return State(), {}  # half a state is none; training begins again
        with torch.no_grad():
            for name, value in learned.items():
                value.copy_(values["parameters"][name])
        optimizer.load_state_dict(values["optimizer"])
        return state, values["best"]


@torch.inference_mode()
def score_lists(
    reader: RerankingModel,
    chunk_table: ChunkTable,
    lists: Sequence[CandidateList],
    accelerator: Accelerator | None = None,
    learned_until: float = 0,
) -> Iterator[FloatArray]:
    """(C,) scores of each list, one list at a time, so that padding cannot matter and memory stays one list's.

    Of a report that was opened before ``learned_until`` the reader may say nothing: its scores are all 0.
    """
    device = accelerator.device if accelerator is not None else next(reader.parameters()).device
    was_training = reader.training
    reader.eval()
    try:
        for one in lists:
            if not one.blobs or one.opened < learned_until:
                yield np.zeros(len(one.blobs))
                continue
            scores = reader(batch_of([one], chunk_table).to(device))
            yield scores[0].float().cpu().numpy().astype(np.float64)
    finally:
        reader.train(was_training)


def _steps(lists: Sequence[CandidateList], pairs: int) -> Iterator[list[CandidateList]]:
    """Lists that make one step of the optimizer together: about ``pairs`` pairs."""
    step: list[CandidateList] = []
    count = 0
    for one in lists:
        step.append(one)
        count += len(one.blobs)
        if count >= pairs:
            yield step
            step, count = [], 0
    if step:
        yield step


def _crossed(batch: Batch) -> Batch:
    """The batch with each report asked of every report's first fixed file, and of nothing else."""
    B = len(batch.fixed_BC)
    first_B = batch.fixed_BC.to(torch.int64).argmax(-1)
    rows_B = torch.arange(B, device=first_B.device)
    places_BN, real_BN = batch.places_BCN[rows_B, first_B], batch.real_BCN[rows_B, first_B]
    features = None
    if batch.features_BCK is not None:
        features = batch.features_BCK[rows_B, first_B].expand(B, -1, -1)
    return Batch(
        places_BN.expand(B, *places_BN.shape),
        real_BN.expand(B, *real_BN.shape),
        torch.eye(B, dtype=torch.bool, device=first_B.device),
        torch.ones((B, B), dtype=torch.bool, device=first_B.device),
        batch.queries,
        batch.query_count,
        batch.vectors_Ud,
        batch.chunks,
        features,
        batch.queries_BQd,
    )


def _copied(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value.detach().cpu().clone() for name, value in values.items()}
