"""The encoder reranker: pretrained encoders read report and files, these in chunks; a scoring head compares them. It
learns in a loop that can be killed at any time and goes on to the same end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Self, TypeAlias

import numpy as np
import safetensors.torch
import torch
from accelerate.utils import reduce
from torch import Tensor
from torch.optim import AdamW, Optimizer

from tosloc.core.config import Config, StageTwoSettings
from tosloc.core.errors import CheckpointError, ToslocError
from tosloc.core.io import atomic_write, content_key, read_regular_file, write_text
from tosloc.core.records import FloatArray, Progress, ignore_progress
from tosloc.rerank.base import (
    Candidates,
    Reranked,
    Reranker,
    RerankingContext,
    TrainingSet,
    mrr_and_map,
    mrr_and_map_by_weight,
)
from tosloc.rerank.encoder.encoders import ChunkReader, Encoder, process_state, report_text
from tosloc.rerank.encoder.scoring import (
    Chunks,
    EncodedQuery,
    RerankingModel,
    contrastive_loss,
    temporary_seed,
)

SCHEMA: Final = 3
RECORD: Final = "encoder.json"
HEAD: Final = "head.safetensors"
_WEIGHTS: Final = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
"""Weights beside stage one's score that validation chooses from; 0 is stage one alone."""
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
    loss: Loss = contrastive_loss

    def fit(
        self,
        train: Sequence[EncodedQuery],
        validation: Sequence[EncodedQuery],
        progress: Progress = ignore_progress,
    ) -> Curve:
        """Train until validation no longer gains; the model holds the best epoch's parameters afterwards."""
        teaching = [
            question
            for question in train
            if 0 < question.candidates.fixed.sum() < len(question.candidates)
        ]
        if not teaching:
            raise ToslocError(
                "stage two has nothing to learn: no training report has both fixed and wrong candidates"
            )
        settings = self.model.settings.training
        optimizer = AdamW(self.model.learned.values(), lr=settings.learning_rate)
        curve, best = self._resumed(optimizer) or ([self.validate(validation)], self._parameters())
        while True:
            values = [entry["mrr"] + entry["map"] for entry in curve]
            epoch = len(curve) - 1
            if epoch >= settings.epochs or epoch - values.index(max(values)) >= PATIENCE:
                break
            rng = np.random.default_rng([self.seed, epoch])
            with temporary_seed(int(rng.integers(2**31)) + process_state().process_index):
                loss = self._epoch(optimizer, teaching, epoch, rng, progress)
            curve.append({"loss": loss} | (judged := self.validate(validation)))
            if judged["mrr"] + judged["map"] > max(values):
                best = self._parameters()
            if process_state().is_main_process:
                state = {
                    "key": self.key,
                    "curve": curve,
                    "parameters": self._parameters(),
                    "best": best,
                }
                state["optimizer"] = optimizer.state_dict()
                with atomic_write(self.folder / STATE) as temporary:
                    torch.save(state, temporary)
            said = "loss {loss:.3f}, validation MRR {mrr:.3f} MAP {map:.3f}".format(**curve[-1])
            progress(f"epoch {epoch + 1}: {said}", 1, 1)
        self.model.load_state_dict(best, strict=False)
        return curve

    def _epoch(
        self,
        optimizer: Optimizer,
        train: Sequence[EncodedQuery],
        epoch: int,
        rng: np.random.Generator,
        progress: Progress,
    ) -> float:
        """Return the mean loss of one pass over the reports, in an order drawn from ``rng``.

        Several processes learn what one would.
        """
        settings, own, parameters = (
            self.model.settings.training,
            process_state(),
            list(self.model.learned.values()),
        )
        self.model.train()
        order, total = rng.permutation(len(train)), torch.zeros((), device=own.device)
        size = max(
            1, round(settings.pairs / np.mean([len(question.candidates) for question in train]))
        )
        for start in range(0, len(order), size):
            step = order[start : start + size]
            optimizer.zero_grad()
            for number in step[own.process_index :: own.num_processes]:
                with torch.autocast(
                    own.device.type, torch.bfloat16, enabled=settings.precision == "bfloat16"
                ):
                    scores_C = self.model(train[number], self.chunks)
                fixed_C = torch.from_numpy(train[number].candidates.fixed).to(scores_C.device)
                loss = self.loss(scores_C.float(), fixed_C)
                (loss / len(step)).backward()  # type: ignore[no-untyped-call]
                total += loss.detach()
            for value in parameters if own.num_processes > 1 else ():
                # a process without reports in this step has no gradient, but the others wait for it
                value.grad = reduce(
                    torch.zeros_like(value) if value.grad is None else value.grad, "sum"
                )
            torch.nn.utils.clip_grad_norm_(parameters, LONGEST_GRADIENT)
            optimizer.step()
            progress(f"epoch {epoch + 1}", start + len(step), len(train))
        return float(reduce(total, "sum")) / len(train)

    def validate(self, validation: Sequence[EncodedQuery]) -> dict[str, float]:
        """MRR and MAP of the model's order over all reports; fixed files beyond the candidates keep their ranks."""
        scores = self.model.scores(validation, self.chunks, self.trained_until)
        mrr, map_ = mrr_and_map([question.candidates for question in validation], scores)
        return {"mrr": mrr, "map": map_}

    def _parameters(self) -> Mapping[str, Tensor]:
        return {name: value.detach().cpu().clone() for name, value in self.model.learned.items()}

    def _resumed(self, optimizer: Optimizer) -> tuple[Curve, Mapping[str, Tensor]] | None:
        with suppress(
            Exception
        ):  # half a state, whatever it raises, is none; training begins again
            kept: Any = torch.load(self.folder / STATE, map_location="cpu", weights_only=True)
            if kept["key"] == self.key:
                self.model.load_state_dict(kept["parameters"], strict=False)
                optimizer.load_state_dict(kept["optimizer"])
                return kept["curve"], kept["best"]
        return None


class EncoderReranker(Reranker):
    """Chunked code and report through one or two encoders, pooling over chunks, a contrastive_loss loss (the paper, 2.3)."""

    name: ClassVar = "encoder"

    def __init__(self, model: RerankingModel) -> None:
        self.model, self.settings = model.to(process_state().device), model.settings
        self.depth, self.weight = self.settings.candidates, 1.0
        self.loss: Loss = contrastive_loss
        self.training_curve: Curve = []  # how the training went; empty where nothing was to be learned

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Untrained, with the encoders that the configuration names. Raises CheckpointError."""
        settings = config.stage_two
        code = Encoder.load(settings.code_encoder, settings.token_pooling)
        other = settings.report_encoder not in ("", settings.code_encoder)
        report = Encoder.load(settings.report_encoder, settings.token_pooling) if other else code
        if (asked := settings.chunk_tokens) > code.max_tokens:
            raise ToslocError(
                f"[stage_two] chunk_tokens: {code.name} reads at most {code.max_tokens} tokens, not {asked}"
            )
        return cls(RerankingModel(settings, code, report, config.run.seed))

    def fit(
        self,
        training_set: TrainingSet,
        context: RerankingContext,
        folder: Path,
        seed: int,
        progress: Progress = ignore_progress,
    ) -> Self:
        """Learn from train, stop and choose the weight by validation; the folder holds what an interruption leaves.
        Without epochs nothing is learned, and the encoders' own closeness is the score.
        """
        validation, self.training_curve = (
            list(training_set.candidates("validation", self.depth)),
            [],
        )
        if self.settings.training.epochs:
            train = [  # the fixed files and as many wrong ones as stand beside one fixed file
                listed.take(np.flatnonzero(listed.fixed | (np.cumsum(~listed.fixed) < self.depth)))
                for listed in training_set.candidates("train", self.depth, for_training=True)
            ]
            self.trained_until = 0  # while it learns, files of all reports are read
            chunks, questions = self._read(
                [*train, *validation], context, progress, learns=bool(self.model.learning)
            )
            self.trained_until = max((listed.fixed_at for listed in train), default=0)
            encoders = [encoder.fingerprint for encoder in self.model.encoders.values()]
            lists = [
                (report_text(listed.report), listed.blobs, listed.fixed.tolist())
                for listed in train
            ]
            key = content_key(
                self.settings.model_dump(mode="json"), encoders, seed, self.trained_until, lists
            )
            trainer = Trainer(self.model, chunks, folder, seed, key, self.trained_until, self.loss)
            self.training_curve = trainer.fit(
                questions[: len(train)], questions[len(train) :], progress
            )
            for encoder in self.model.learning.values():
                encoder.fingerprint = (
                    encoder.compute_fingerprint()
                )  # what it made before is another encoder's
        self.weight, self.validation_results = choose_weight(
            validation, list(self.encoder_scores(validation, context))
        )
        return self

    def _read(
        self,
        candidates: Sequence[Candidates],
        context: RerankingContext,
        progress: Progress,
        *,
        learns: bool = False,
    ) -> tuple[Mapping[str, Chunks], list[EncodedQuery]]:
        """Chunks of all candidates by blob, and reports: vectors, or tokens where encoders learn."""
        assert context.texts is not None
        assert context.vectors is not None
        reader = ChunkReader(
            self.model.code, self.settings.chunks, self.settings.chunk_tokens, context.texts
        )
        # no file is read for reports that are left to stage one
        blobs = sorted(
            {blob for one in candidates if one.opened >= self.trained_until for blob in one.blobs}
        )
        pieces = self.model.report.pieces(
            [report_text(one.report) for one in candidates], self.settings.report_tokens
        )
        if learns:
            return reader.chunks(blobs), list(map(EncodedQuery, candidates, pieces))
        chunks = reader.vectors(blobs, context.vectors, progress)
        reports = self.model.report.vectors([piece for [piece] in pieces])[:, None]
        return chunks, list(map(EncodedQuery, candidates, reports))

    def answer(
        self,
        candidates: Candidates,
        context: RerankingContext,
        progress: Progress = ignore_progress,
    ) -> Reranked:
        """New scores: stage one's and the encoders'."""
        [row] = self.encoder_scores([candidates], context, progress)
        return Reranked(candidates.scores + self.weight * row)

    def encoder_scores(
        self,
        candidates: Sequence[Candidates],
        context: RerankingContext,
        progress: Progress = ignore_progress,
    ) -> Iterator[FloatArray]:
        """(C,) the encoders' own scores of each report's candidates; 0 for one opened before the last fix learned."""
        chunks, questions = self._read(candidates, context, progress)
        return self.model.scores(questions, chunks, self.trained_until)

    def can_score(self, context: RerankingContext) -> bool:
        """Whether texts of files are at hand."""
        return context.texts is not None

    def save(self, folder: Path) -> None:
        """Write head, encoders that learned, and the record that names the rest. An interruption leaves the folder that
        was there before. Raises CheckpointError for one that holds other things.
        """
        if folder.exists() and any(folder.iterdir()) and not (folder / RECORD).exists():
            raise CheckpointError(
                f"{folder}: holds other things than a second stage; name another folder"
            )
        learning = self.model.learning
        encoders = {
            name: {
                "place": None if name in learning else encoder.name,
                "fingerprint": encoder.fingerprint,
            }
            for name, encoder in self.model.encoders.items()
        }
        record = {
            "schema": SCHEMA,
            "settings": self.settings.model_dump(mode="json"),
            "encoders": encoders,
        }
        with atomic_write(folder) as new:
            new.mkdir()
            for name, encoder in learning.items():
                encoder.save(new / name)
            safetensors.torch.save_file(self.model.head.state_dict(), new / HEAD)
            write_text(new / RECORD, json.dumps(record | self.learned(), indent=1) + "\n")

    @classmethod
    def read(cls, record: Mapping[str, Any], folder: Path) -> Self:
        """What ``save`` wrote. Raises CheckpointError for another version, or where an encoder is gone or another."""
        if record["schema"] != SCHEMA:
            raise CheckpointError(
                f"{folder / RECORD}: written by another version of TosLoc; train again"
            )
        settings = StageTwoSettings.model_validate(record["settings"])
        encoders = {}
        for name, known in record["encoders"].items():
            place = known["place"] or str(folder / name)
            encoders[name] = Encoder.load(place, settings.token_pooling)
            if encoders[name].fingerprint != known["fingerprint"]:
                raise CheckpointError(
                    f"{place}: not the encoder that {folder} was trained with; its vectors would mean nothing to it"
                )
        made = cls(
            RerankingModel(
                settings, encoders["code"], encoders.get("report", encoders["code"]), seed=0
            )
        )
        head = safetensors.torch.load(read_regular_file(folder / HEAD))
        made.model.head.load_state_dict(head)
        if not all(bool(value.isfinite().all()) for value in head.values()):
            raise ValueError("a weight is out of bounds")
        return made


def choose_weight(
    candidates: Sequence[Candidates], encoder_scores: Sequence[FloatArray]
) -> tuple[float, dict[str, tuple[float, float]]]:
    """The weight with the best MRR + MAP on these reports, the smallest of equals, and what each weight gave."""
    tried = mrr_and_map_by_weight(candidates, encoder_scores, _WEIGHTS)
    best = max(_WEIGHTS, key=lambda weight: round(sum(tried[weight]), 9))
    return best, {
        f"encoder x {weight:g}" if weight else "stage one": found for weight, found in tried.items()
    }
