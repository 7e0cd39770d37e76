"""The encoder reranker: pretrained encoders read the report and chunks of files.

A scoring head compares their vectors. The training can be killed at any time; when it is started
again, it continues to the same result.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Self, TypeAlias

import numpy as np
import safetensors.torch
import torch
from accelerate.utils import reduce
from torch import Tensor
from torch.amp import GradScaler
from torch.optim import AdamW, Optimizer

from tosloc.core.arrays import FloatArray
from tosloc.core.config import Config, StageTwoSettings
from tosloc.core.errors import CheckpointError, ToslocError, pluralize
from tosloc.core.io import atomic_write, content_key, read_regular_file, write_text
from tosloc.core.progress import Progress, announce, ignore_progress
from tosloc.core.resources import format_duration
from tosloc.rerank.base import (
    Candidates,
    Reranked,
    Reranker,
    RerankingContext,
    TrainingSet,
    mrr_and_map,
    mrr_and_map_by_weight,
    weight_name,
)
from tosloc.rerank.encoder.encoders import ChunkReader, Encoder, process_state, report_text
from tosloc.rerank.encoder.precision import (
    Precision,
    autocast,
    choose_precision,
    make_gradient_scaler,
)
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
"""Weights of the encoders' score, among which validation chooses; 0 is stage one alone."""
STATE: Final = "state.pt"
"""File with everything that training needs to continue; it is read without running code in it."""
PATIENCE: Final = 5
"""Number of epochs without gain on validation after which training stops (docs/results.md)."""
MAX_GRADIENT_NORM: Final = 1.0
"""Largest norm of the gradient; it is the default of transformers."""

Loss: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""Function from (C,) scores of a report's candidates and (C,) whether they are fixed to a loss."""
Curve: TypeAlias = list[dict[str, float]]
"""MRR and MAP on validation, and loss on train, after each epoch; first for the untrained model."""


@dataclass(eq=False)
class Trainer:
    """Trains a model, and keeps the epoch with the best MRR + MAP on validation.

    ``trained_until`` is the time of the last fix that is learned from. Validation reports that were
    opened before it keep stage one's order. ``folder`` contains the state of an interrupted
    training; a state with another ``key`` is not used. Every epoch has its own seed, so that an
    interrupted training gives the same result as an uninterrupted one.

    The Trainer of transformers is not used, because it writes all weights after each epoch, even
    those that never change, and cannot read its state if it was killed while writing.
    """

    model: RerankingModel
    chunks: Mapping[str, Chunks]
    """Blob -> its chunks."""
    folder: Path
    seed: int
    key: str = ""
    """Key that identifies what is trained, and on which data."""
    trained_until: float = 0
    loss: Loss = contrastive_loss
    epoch_seconds: list[float] = field(default_factory=list)
    """Seconds of each epoch with its validation, including epochs before an interruption."""

    def fit(
        self,
        train: Sequence[EncodedQuery],
        validation: Sequence[EncodedQuery],
        progress: Progress = ignore_progress,
    ) -> Curve:
        """Train until validation no longer improves, and restore the best epoch's parameters.

        Return MRR and MAP on validation, and the loss, of each epoch. Raises ToslocError if no
        report of ``train`` has both fixed and wrong candidates.
        """
        useful = []
        for query in train:
            if 0 < query.candidates.fixed.sum() < len(query.candidates):
                useful.append(query)
        if not useful:
            raise ToslocError(
                "stage two cannot learn, because no training report has both fixed and wrong"
                " candidates"
            )
        settings = self.model.settings.training
        optimizer = AdamW(self.model.trainable_parameters.values(), lr=settings.learning_rate)
        scaler = make_gradient_scaler(self.precision, process_state().device)
        resumed = self._resume(optimizer, scaler)
        self._announce_start(useful, resumed is not None, progress)
        if resumed is None:
            curve = [self.validate(validation)]
            best_parameters = self._copy_parameters()
        else:
            curve, best_parameters = resumed
        while True:
            values = [entry["mrr"] + entry["map"] for entry in curve]
            best_epoch = values.index(max(values))
            epoch = len(curve) - 1
            if epoch >= settings.epochs or epoch - best_epoch >= PATIENCE:
                break
            started = time.monotonic()
            rng = np.random.default_rng([self.seed, epoch])
            with temporary_seed(int(rng.integers(2**31)) + process_state().process_index):
                loss = self._train_epoch(optimizer, scaler, useful, epoch, rng, progress)
            result = self.validate(validation)
            curve.append({"loss": loss} | result)
            if result["mrr"] + result["map"] > max(values):
                best_parameters = self._copy_parameters()
            self.epoch_seconds.append(time.monotonic() - started)
            if process_state().is_main_process:
                self._save_state(curve, best_parameters, optimizer, scaler)
                announce(
                    progress,
                    f"stage two, epoch {epoch + 1} of at most {settings.epochs}: loss {loss:.3f}, "
                    f"validation MRR {result['mrr']:.3f}, MAP {result['map']:.3f}, "
                    f"{format_duration(self.epoch_seconds[-1])}",
                )
        self.model.load_state_dict(best_parameters, strict=False)
        self._announce_end(useful, progress)
        return curve

    def _announce_start(
        self, train: Sequence[EncodedQuery], resumes: bool, progress: Progress
    ) -> None:
        """Announce which part of the model learns, from which reports and on which device."""
        if not process_state().is_main_process:
            return
        learner = "the encoders" if self.model.trainable_encoders else "the head"
        announce(
            progress,
            f"stage two trains {learner} on {_device_name()} in {self.precision}: "
            f"{pluralize(len(train), 'report')}, {self._reports_per_step(train)} for one step",
        )
        if resumes:
            epochs = pluralize(len(self.epoch_seconds), "epoch")
            announce(progress, f"stage two resumes a training that was interrupted after {epochs}")

    def _announce_end(self, train: Sequence[EncodedQuery], progress: Progress) -> None:
        """Announce the time and memory that training took."""
        epochs = len(self.epoch_seconds)
        if not process_state().is_main_process or not epochs:
            return
        seconds = sum(self.epoch_seconds)
        steps = -(-len(train) // self._reports_per_step(train))
        sentence = (
            f"stage two: {pluralize(epochs, 'epoch')} took {format_duration(seconds)}, "
            f"{format_duration(seconds / epochs / steps)} per step including validation"
        )
        if process_state().device.type == "cuda":
            sentence += f"; peak GPU memory {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB"
        announce(progress, sentence)

    def _reports_per_step(self, train: Sequence[EncodedQuery]) -> int:
        """Return the number of reports in a step, so that it has about ``pairs`` candidates."""
        mean_candidates = np.mean([len(query.candidates) for query in train])
        return max(1, round(self.model.settings.training.pairs / mean_candidates))

    @property
    def precision(self) -> Precision:
        """Precision in which the model is trained on this machine."""
        return choose_precision(self.model.settings.training.precision, process_state().device)

    def _train_epoch(
        self,
        optimizer: Optimizer,
        scaler: GradScaler,
        train: Sequence[EncodedQuery],
        epoch: int,
        rng: np.random.Generator,
        progress: Progress,
    ) -> float:
        """Return the mean loss of one pass over the reports, in an order drawn from ``rng``.

        Several processes together give the result of a single one. Losses and gradients that are
        not finite numbers, as low precision can yield, change no weight and are left out of the
        mean. Raises ToslocError if no loss is finite.
        """
        state = process_state()
        parameters = list(self.model.trainable_parameters.values())
        self.model.train()
        order = rng.permutation(len(train))
        total = torch.zeros((), device=state.device)
        finite_losses = torch.zeros((), device=state.device)
        reports_per_step = self._reports_per_step(train)
        for start in range(0, len(order), reports_per_step):
            step = order[start : start + reports_per_step]
            optimizer.zero_grad()
            for number in step[state.process_index :: state.num_processes]:
                with autocast(self.precision, state.device):
                    scores_C = self.model(train[number], self.chunks)
                fixed_C = torch.from_numpy(train[number].candidates.fixed).to(scores_C.device)
                loss = self.loss(scores_C.float(), fixed_C)
                if not loss.isfinite():
                    continue
                scaler.scale(loss / len(step)).backward()  # type: ignore[no-untyped-call]
                total += loss.detach()
                finite_losses += 1
            if state.num_processes > 1:
                _sum_gradients(parameters)
            self._take_step(optimizer, scaler, parameters)
            progress(f"epoch {epoch + 1}", start + len(step), len(train))
        number_of_losses = float(reduce(finite_losses, "sum"))
        if not number_of_losses:
            raise ToslocError(
                f"stage two cannot learn in {self.precision}: no loss is a finite number",
                hint='set precision = "float32" under [stage_two.training]',
            )
        left_out = len(train) - round(number_of_losses)
        if left_out and state.is_main_process:
            reports = pluralize(left_out, "report")
            announce(
                progress,
                f"stage two, epoch {epoch + 1}: nothing was learned from {reports}, whose loss was "
                "no finite number",
            )
        return float(reduce(total, "sum")) / number_of_losses

    @staticmethod
    def _take_step(
        optimizer: Optimizer, scaler: GradScaler, parameters: Sequence[torch.nn.Parameter]
    ) -> None:
        """Change the parameters by their gradients, unless gradients are missing or not finite.

        The scaler of float16 skips steps by itself, and then lowers its scale.
        """
        if all(value.grad is None for value in parameters):
            return
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(parameters, MAX_GRADIENT_NORM)
        if scaler.is_enabled() or norm.isfinite():
            scaler.step(optimizer)
        scaler.update()

    def validate(self, validation: Sequence[EncodedQuery]) -> dict[str, float]:
        """Return MRR and MAP of the model's order over all reports.

        Fixed files that are not candidates keep their ranks.
        """
        scores = self.model.scores(validation, self.chunks, self.trained_until)
        mrr, map_ = mrr_and_map([query.candidates for query in validation], scores)
        return {"mrr": mrr, "map": map_}

    def _copy_parameters(self) -> dict[str, Tensor]:
        copies = {}
        for name, value in self.model.trainable_parameters.items():
            copies[name] = value.detach().cpu().clone()
        return copies

    def _save_state(
        self,
        curve: Curve,
        best_parameters: Mapping[str, Tensor],
        optimizer: Optimizer,
        scaler: GradScaler,
    ) -> None:
        state = {
            "key": self.key,
            "curve": curve,
            "seconds": self.epoch_seconds,
            "parameters": self._copy_parameters(),
            "best": best_parameters,
            "optimizer": optimizer.state_dict(),
            "scaler": scaler.state_dict(),
            "precision": self.precision,
        }
        with atomic_write(self.folder / STATE) as temporary:
            torch.save(state, temporary)

    def _resume(
        self, optimizer: Optimizer, scaler: GradScaler
    ) -> tuple[Curve, dict[str, Tensor]] | None:
        """Load the state of an interrupted training; return its curve and best parameters.

        Return None if there is no state with this key and precision; training then starts from the
        beginning.
        """
        with suppress(Exception):  # reading a damaged state can raise anything
            state: Any = torch.load(self.folder / STATE, map_location="cpu", weights_only=True)
            if state["key"] == self.key and state["precision"] == self.precision:
                scaler.load_state_dict(state["scaler"])
                self.model.load_state_dict(state["parameters"], strict=False)
                optimizer.load_state_dict(state["optimizer"])
                self.epoch_seconds = state["seconds"]
                return state["curve"], state["best"]
        return None


def _device_name() -> str:
    """Return the name of this process's device."""
    device = process_state().device
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "the CPU"


def _sum_gradients(parameters: Sequence[torch.nn.Parameter]) -> None:
    """Replace each gradient by its sum over all processes."""
    for value in parameters:
        # A process without reports has no gradient, but the other processes wait for its part.
        gradient = torch.zeros_like(value) if value.grad is None else value.grad
        value.grad = reduce(gradient, "sum")


class EncoderReranker(Reranker):
    """A reranker with one or two encoders, pooling over chunks, and a contrastive loss.

    Source: section 2.3 of the paper.
    """

    name: ClassVar = "encoder"

    def __init__(self, model: RerankingModel) -> None:
        self.model = model.to(process_state().device)
        self.settings = model.settings
        self.depth = self.settings.candidates
        self.weight = 1.0
        self.loss: Loss = contrastive_loss
        self.training_curve: Curve = []
        """How the training went; empty where nothing was to be learned."""

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Return an untrained reranker with the encoders that the configuration names.

        Raises CheckpointError for an encoder that cannot be loaded, and ToslocError for chunks that
        it cannot read.
        """
        settings = config.stage_two
        code = Encoder.load(settings.code_encoder, settings.token_pooling)
        report = code
        if settings.report_encoder not in ("", settings.code_encoder):
            report = Encoder.load(settings.report_encoder, settings.token_pooling)
        _check_lengths(settings, code, report)
        return cls(RerankingModel(settings, code, report, config.run.seed))

    def fit(
        self,
        training_set: TrainingSet,
        context: RerankingContext,
        folder: Path,
        seed: int,
        progress: Progress = ignore_progress,
    ) -> Self:
        """Learn from train; validation decides when to stop, and chooses the weight.

        With 0 epochs nothing is learned, and the score is the similarity of the encoders' vectors.
        ``folder`` stores the state of an interrupted training.
        """
        validation = list(training_set.candidates("validation", self.depth))
        self.training_curve = []
        if self.settings.training.epochs:
            train = []
            for candidates in training_set.candidates("train", self.depth, for_training=True):
                train.append(self._training_candidates(candidates))
            self._train(train, validation, context, folder, seed, progress)
        else:
            self.model.head.weigh_chunks_equally()
        scores = list(self.encoder_scores(validation, context, progress))
        self.weight, self.validation_results = choose_weight(validation, scores)
        return self

    def _training_candidates(self, candidates: Candidates) -> Candidates:
        """Return the fixed files and the first wrong files, ``depth`` - 1 of them at most."""
        number_of_wrong = np.cumsum(~candidates.fixed)
        return candidates.take(np.flatnonzero(candidates.fixed | (number_of_wrong < self.depth)))

    def _train(
        self,
        train: Sequence[Candidates],
        validation: Sequence[Candidates],
        context: RerankingContext,
        folder: Path,
        seed: int,
        progress: Progress,
    ) -> None:
        self.trained_until = 0  # so that the files of all reports are read
        chunks, queries = self._read(
            [*train, *validation], context, progress, as_tokens=bool(self.model.trainable_encoders)
        )
        self.trained_until = max((candidates.fixed_at for candidates in train), default=0)
        key = self._training_key(train, seed)
        trainer = Trainer(self.model, chunks, folder, seed, key, self.trained_until, self.loss)
        self.training_curve = trainer.fit(queries[: len(train)], queries[len(train) :], progress)
        for encoder in self.model.trainable_encoders.values():
            # vectors made before training are those of another encoder
            encoder.fingerprint = encoder.compute_fingerprint()

    def _training_key(self, train: Sequence[Candidates], seed: int) -> str:
        """Return a key of everything that the result of a training depends on."""
        fingerprints = [encoder.fingerprint for encoder in self.model.encoders.values()]
        lists = []
        for candidates in train:
            report = report_text(candidates.report)
            lists.append((report, candidates.blobs, candidates.fixed.tolist()))
        settings = self.settings.model_dump(mode="json")
        return content_key(settings, fingerprints, seed, self.trained_until, lists)

    def _read(
        self,
        reports: Sequence[Candidates],
        context: RerankingContext,
        progress: Progress,
        *,
        as_tokens: bool = False,
    ) -> tuple[Mapping[str, Chunks], list[EncodedQuery]]:
        """Return blob -> chunks of all candidates, and the reports, as vectors or as tokens."""
        assert context.texts is not None
        assert context.vectors is not None
        reader = ChunkReader(
            self.model.code,
            self.settings.chunks,
            self.settings.chunk_tokens,
            context.texts,
            self.settings.code_prefix,
        )
        blobs: set[str] = set()
        for candidates in reports:
            # no file is read for reports that are left to stage one
            if candidates.opened >= self.trained_until:
                blobs.update(candidates.blobs)
        texts = [report_text(candidates.report) for candidates in reports]
        pieces = self.model.report.prefixed_pieces(
            texts, self.settings.report_tokens, self.settings.query_prefix
        )
        if as_tokens:
            return reader.chunks(sorted(blobs)), list(map(EncodedQuery, reports, pieces))
        chunks = reader.vectors(sorted(blobs), context.vectors, progress)
        vectors = self.model.report.vectors([piece for [piece] in pieces])[:, None]
        return chunks, list(map(EncodedQuery, reports, vectors))

    def score(
        self,
        candidates: Candidates,
        context: RerankingContext,
        progress: Progress = ignore_progress,
    ) -> Reranked:
        """Return stage one's scores + weight * the encoders' scores."""
        [scores] = self.encoder_scores([candidates], context, progress)
        return Reranked(candidates.scores + self.weight * scores)

    def encoder_scores(
        self,
        candidates: Sequence[Candidates],
        context: RerankingContext,
        progress: Progress = ignore_progress,
    ) -> Iterator[FloatArray]:
        """Yield (C,) the encoders' scores, without stage one's, of each report's candidates.

        They are 0 for a report that was opened before the last fix that the encoders learned from.
        """
        chunks, queries = self._read(candidates, context, progress)
        return self.model.scores(queries, chunks, self.trained_until)

    def can_score(self, context: RerankingContext) -> bool:
        """Return whether the context contains texts of files."""
        return context.texts is not None

    def save(self, folder: Path) -> None:
        """Write the head, the trained encoders, and the record, which names the other encoders.

        If writing is interrupted, the previous folder remains. Raises CheckpointError for a folder
        that contains other files.
        """
        if folder.exists() and any(folder.iterdir()) and not (folder / RECORD).exists():
            raise CheckpointError(
                f"{folder} contains files that are not a second stage; name another folder"
            )
        encoders = {}
        for name, encoder in self.model.encoders.items():
            learned = name in self.model.trainable_encoders
            encoders[name] = {
                "place": None if learned else encoder.name,
                "fingerprint": encoder.fingerprint,
            }
        record = {
            "schema": SCHEMA,
            "settings": self.settings.model_dump(mode="json"),
            "encoders": encoders,
            **self.training_record(),
        }
        with atomic_write(folder) as new:
            new.mkdir()
            for name, encoder in self.model.trainable_encoders.items():
                encoder.save(new / name)
            safetensors.torch.save_file(self.model.head.state_dict(), new / HEAD)
            write_text(new / RECORD, json.dumps(record, indent=1) + "\n")

    @classmethod
    def from_record(cls, record: Mapping[str, Any], folder: Path) -> Self:
        """Return the reranker that ``save`` wrote.

        Raises CheckpointError if it has another version, or if an encoder is missing or changed.
        """
        if record["schema"] != SCHEMA:
            raise CheckpointError(
                f"{folder / RECORD} was written by another version of TosLoc; train again"
            )
        settings = StageTwoSettings.model_validate(record["settings"])
        encoders = {}
        for name, entry in record["encoders"].items():
            location = entry["place"] or str(folder / name)
            encoders[name] = Encoder.load(location, settings.token_pooling)
            if encoders[name].fingerprint != entry["fingerprint"]:
                raise CheckpointError(
                    f"{location} is not the encoder that {folder} was trained with; restore that"
                    " encoder, or train again"
                )
        code = encoders["code"]
        reranker = cls(RerankingModel(settings, code, encoders.get("report", code), seed=0))
        head = safetensors.torch.load(read_regular_file(folder / HEAD))
        reranker.model.head.load_state_dict(head)
        if not all(bool(value.isfinite().all()) for value in head.values()):
            raise ValueError("a weight is out of bounds")
        return reranker


def _check_lengths(settings: StageTwoSettings, code: Encoder, report: Encoder) -> None:
    """Raise ToslocError if an encoder cannot read as many tokens as the settings require."""
    for encoder, name, length, prefix_name, prefix in (
        (code, "chunk_tokens", settings.chunk_tokens, "code_prefix", settings.code_prefix),
        (report, "report_tokens", settings.report_tokens, "query_prefix", settings.query_prefix),
    ):
        if length > encoder.max_tokens:
            raise ToslocError(
                f"[stage_two] {name}: {encoder.name} reads at most {encoder.max_tokens} tokens, "
                f"not {length}"
            )
        prefix_tokens = encoder.count_tokens(prefix) if prefix else 0
        if 2 * prefix_tokens > length:
            raise ToslocError(
                f"[stage_two] {prefix_name}: its {prefix_tokens} tokens are more than half of"
                f" {name}, {length}; raise {name}"
            )


def choose_weight(
    candidates: Sequence[Candidates], encoder_scores: Sequence[FloatArray]
) -> tuple[float, dict[str, tuple[float, float]]]:
    """Return the weight with the best MRR + MAP on these reports, and the results of all weights.

    Of equally good weights the smallest is returned.
    """
    results = mrr_and_map_by_weight(candidates, encoder_scores, _WEIGHTS)
    best = max(_WEIGHTS, key=lambda weight: round(sum(results[weight]), 9))
    return best, {weight_name(weight): result for weight, result in results.items()}
