"""The encoder reranker: pretrained encoders read report and files, these in chunks; a scoring head compares them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
import safetensors.torch

from tosloc.config import Config, StageTwoSettings
from tosloc.errors import CheckpointError, ToslocError
from tosloc.io import key_of, read_plain, write_text, written_whole
from tosloc.records import FloatArray, Progress, silent
from tosloc.rerank.base import Candidates, Reranked, Reranker, RerankingContext, TrainingSet, values_by_weight
from tosloc.rerank.encoder.encoders import ChunkReader, Encoder, processes, report_text
from tosloc.rerank.encoder.scoring import Chunks, Question, RerankingModel, contrastive
from tosloc.rerank.encoder.training import Curve, Loss, Trainer

SCHEMA: Final = 3
RECORD: Final = "encoder.json"
HEAD: Final = "head.safetensors"
_WEIGHTS: Final = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
"""Weights beside stage one's score that validation chooses from; 0 is stage one alone."""


class EncoderReranker(Reranker):
    """Chunked code and report through one or two encoders, pooling over chunks, a contrastive loss (the paper, 2.3)."""

    name: ClassVar = "encoder"

    def __init__(self, model: RerankingModel) -> None:
        self.model, self.settings = model.to(processes().device), model.settings
        self.depth, self.weight = self.settings.candidates, 1.0
        self.loss: Loss = contrastive
        self.curve_: Curve = []  # how the training went; empty where nothing was to be learned

    @classmethod
    def configured(cls, config: Config) -> Self:
        """Untrained, with the encoders that the configuration names. Raises CheckpointError."""
        settings = config.stage_two
        code = Encoder.load(settings.code_encoder, settings.token_pooling)
        other = settings.report_encoder not in ("", settings.code_encoder)
        report = Encoder.load(settings.report_encoder, settings.token_pooling) if other else code
        if (asked := settings.chunk_tokens) > code.longest:
            raise ToslocError(f"[stage_two] chunk_tokens: {code.name} reads at most {code.longest} tokens, not {asked}")
        return cls(RerankingModel(settings, code, report, config.run.seed))

    def fit(
        self, training_set: TrainingSet, context: RerankingContext, folder: Path, seed: int, progress: Progress = silent
    ) -> Self:
        """Learn from train, stop and choose the weight by validation; the folder holds what an interruption leaves.
        Without epochs nothing is learned, and the encoders' own closeness is the score.
        """
        validation, self.curve_ = list(training_set.candidates("validation", self.depth)), []
        if self.settings.training.epochs:
            train = []
            for listed in training_set.candidates("train", self.depth, for_training=True):
                # the fixed files and as many wrong ones as stand beside one fixed file
                right, wrong = np.flatnonzero(listed.fixed), np.flatnonzero(~listed.fixed)
                train.append(listed.take(np.sort(np.concatenate((right, wrong[: self.depth - 1])))))
            self.trained_until = 0  # while it learns, files of all reports are read
            chunks, questions = self._read([*train, *validation], context, progress, learns=bool(self.model.learning))
            self.trained_until = max((listed.fixed_at for listed in train), default=0)
            encoders = [encoder.fingerprint for encoder in self.model.encoders.values()]
            lists = [(report_text(listed.report), listed.blobs, listed.fixed.tolist()) for listed in train]
            key = key_of(self.settings.model_dump(mode="json"), encoders, seed, self.trained_until, lists)
            trainer = Trainer(self.model, chunks, folder, seed, key, self.trained_until, self.loss)
            self.curve_ = trainer.fit(questions[: len(train)], questions[len(train) :], progress)
            for encoder in self.model.learning.values():
                encoder.fingerprint = encoder.fingerprint_now()  # what it made before is another encoder's
        self.weight, self.validation_ = choose_weight(validation, list(self.encoder_scores(validation, context)))
        return self

    def _read(
        self, candidates: Sequence[Candidates], context: RerankingContext, progress: Progress, *, learns: bool = False
    ) -> tuple[Mapping[str, Chunks], list[Question]]:
        """Chunks of all candidates by blob, and reports: vectors, or tokens where encoders learn."""
        assert context.texts is not None
        assert context.vectors is not None
        reader = ChunkReader(self.model.code, self.settings.chunks, self.settings.chunk_tokens, context.texts)
        # no file is read for reports that are left to stage one
        blobs = sorted({blob for one in candidates if self.trained_before(one.opened) for blob in one.blobs})
        pieces = self.model.report.pieces([report_text(one.report) for one in candidates], self.settings.report_tokens)
        chunks: Mapping[str, Chunks] = (
            reader.chunks(blobs) if learns else reader.vectors(blobs, context.vectors, progress)
        )
        reports: Sequence[Chunks] = pieces
        if not learns:
            reports = self.model.report.vectors([piece for [piece] in pieces])[:, None]
        return chunks, [Question(*pair) for pair in zip(candidates, reports, strict=True)]

    def answer(self, candidates: Candidates, context: RerankingContext, progress: Progress = silent) -> Reranked:
        """New scores: stage one's and the encoders'."""
        [row] = self.encoder_scores([candidates], context, progress)
        return Reranked(candidates.scores + self.weight * row)

    def encoder_scores(
        self, candidates: Sequence[Candidates], context: RerankingContext, progress: Progress = silent
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
            raise CheckpointError(f"{folder}: holds other things than a second stage; name another folder")
        learning = self.model.learning
        encoders = {
            name: {"place": None if name in learning else encoder.name, "fingerprint": encoder.fingerprint}
            for name, encoder in self.model.encoders.items()
        }
        record = {"schema": SCHEMA, "settings": self.settings.model_dump(mode="json"), "encoders": encoders}
        with written_whole(folder) as new:
            new.mkdir()
            for name, encoder in learning.items():
                encoder.save(new / name)
            safetensors.torch.save_file(self.model.head.state_dict(), new / HEAD)
            write_text(new / RECORD, json.dumps(record | self.learned(), indent=1) + "\n")

    @classmethod
    def read(cls, record: Mapping[str, Any], folder: Path) -> Self:
        """What ``save`` wrote. Raises CheckpointError for another version, or where an encoder is gone or another."""
        if record["schema"] != SCHEMA:
            raise CheckpointError(f"{folder / RECORD}: written by another version of TosLoc; train again")
        settings = StageTwoSettings.model_validate(record["settings"])
        encoders = {}
        for name, known in record["encoders"].items():
            place = known["place"] or str(folder / name)
            encoders[name] = Encoder.load(place, settings.token_pooling)
            if encoders[name].fingerprint != known["fingerprint"]:
                raise CheckpointError(
                    f"{place}: not the encoder that {folder} was trained with; its vectors would mean nothing to it"
                )
        made = cls(RerankingModel(settings, encoders["code"], encoders.get("report", encoders["code"]), seed=0))
        head = safetensors.torch.load(read_plain(folder / HEAD))
        made.model.head.load_state_dict(head)
        if not all(bool(value.isfinite().all()) for value in head.values()):
            raise ValueError("a weight is out of bounds")
        return made


def choose_weight(
    candidates: Sequence[Candidates], encoder_scores: Sequence[FloatArray]
) -> tuple[float, dict[str, tuple[float, float]]]:
    """The weight with the best MRR + MAP on these reports, the smallest of equals, and what each weight gave."""
    tried = values_by_weight(candidates, encoder_scores, _WEIGHTS)
    best = max(_WEIGHTS, key=lambda weight: (round(sum(tried[weight]), 9), -weight))
    return best, {f"encoder x {weight:g}" if weight else "stage one": found for weight, found in tried.items()}
