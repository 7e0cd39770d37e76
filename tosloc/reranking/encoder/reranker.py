"""The encoder reranker: pretrained encoders read report and files, these in chunks; a scoring head compares them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol, Self

import numpy as np
import torch

from tosloc.arrays import all_finite, check_starts, checked, load_arrays, save_arrays
from tosloc.config import Config, StageTwoSettings
from tosloc.errors import CheckpointError
from tosloc.learning.early_stopping import EarlyStopping
from tosloc.records import Float16Array, FloatArray, IntArray, Progress, silent
from tosloc.reranking.base import Candidates, Reranked, Reranker, RerankingContext, TrainingSet, values_of
from tosloc.reranking.encoder.batches import ChunkTable, TokenizedCandidates
from tosloc.reranking.encoder.chunk_vectors import CodeEncoding, Cut, best_device, encode
from tosloc.reranking.encoder.models import EncoderModels, damaged_reranker
from tosloc.reranking.encoder.texts import report_text
from tosloc.reranking.encoder.training import Trainer, score_lists
from tosloc.reranking.encoder.vector_store import VectorStore

_WEIGHTS: Final = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
"""Weights beside stage one's score that validation chooses from; 0 is stage one alone."""
_BLOCK: Final = 48
"""Reports whose candidates are in memory together when many are ranked."""
_LARGEST_WEIGHT: Final = 1e9
_VECTORS: Final = "vectors.npz"
"""Chunk vectors that a checkpoint carries along."""


class ChunkSource(Protocol):
    """Where the chunks of files come from."""

    def vectors(self, blobs: Sequence[str], progress: Progress = silent) -> Mapping[str, Float16Array]:
        """Blob -> (n, d) chunk vectors, of those that can be had."""

    def chunks(self, blobs: Sequence[str]) -> Mapping[str, Sequence[IntArray]]:
        """Blob -> marked token sequences; a file without any token has none."""


class EncodedChunks:
    """Chunks of a repository's files, encoded when first asked for and kept."""

    def __init__(self, models: EncoderModels, context: RerankingContext) -> None:
        assert context.texts is not None
        assert context.vectors is not None
        settings = models.settings
        device = "cpu" if settings.training.device == "cpu" else best_device()
        cut = Cut(settings.chunks, settings.chunk_tokens)
        self._texts = context.texts
        self._encoding = CodeEncoding(
            models.code, cut, VectorStore(context.vectors), device=device, precision=settings.precision
        )

    def vectors(self, blobs: Sequence[str], progress: Progress = silent) -> Mapping[str, Float16Array]:
        """Blob -> (n, d) chunk vectors; those that the store lacks are made now."""
        self._encoding.make(blobs, self._texts, progress)
        found = self._encoding.store.vectors(self._encoding.maker, blobs)
        if len(found) < len(set(blobs)) and self._encoding.make(blobs, self._texts, progress):  # some were damaged
            found = self._encoding.store.vectors(self._encoding.maker, blobs)
        return found

    def chunks(self, blobs: Sequence[str]) -> Mapping[str, Sequence[IntArray]]:
        """Blob -> marked token sequences; a file without any token has none."""
        cut, words = self._encoding.cut, self._encoding.encoder.words
        known = self._encoding.tokens(blobs, self._texts)
        return {
            blob: words.chunks(tokens, cut.length, cut.chunks) if len(tokens) else [] for blob, tokens in known.items()
        }


class CarriedChunks:
    """Chunk vectors that a checkpoint carries along."""

    def __init__(self, made: Mapping[str, Float16Array]) -> None:
        self.made = made

    def vectors(self, blobs: Sequence[str], progress: Progress = silent) -> Mapping[str, Float16Array]:
        """Blob -> (n, d) chunk vectors, of those that are carried."""
        return {blob: self.made[blob] for blob in blobs if blob in self.made}

    def chunks(self, blobs: Sequence[str]) -> Mapping[str, Sequence[IntArray]]:
        """Tokens are not carried."""
        raise CheckpointError("this checkpoint carries vectors only; name the repository with --repo to read its files")


class EncoderReranker(Reranker):
    """Chunked code and report through one or two encoders, pooling over chunks, a contrastive loss (the paper, 2.3)."""

    name: ClassVar = "encoder"
    says: ClassVar = "read again by the deep model"

    def __init__(self, models: EncoderModels) -> None:
        self.models, self.settings = models, models.settings
        self.weight = 1.0
        self.device = torch.device("cpu") if self.settings.training.device == "cpu" else best_device()
        self.state_: EarlyStopping | None = None
        """How the training went; None where nothing was to be learned."""
        self._carried: dict[str, Float16Array] | None = None
        self._encoded: tuple[RerankingContext, EncodedChunks] | None = None

    @classmethod
    def configured(cls, config: Config) -> Self:
        """Untrained, with the encoders that the configuration names. Raises CheckpointError."""
        return cls(EncoderModels.fresh(config.stage_two, config.run.seed))

    @property
    def depth(self) -> int:
        """How many of the first files it reads."""
        return self.settings.candidates

    # Learning

    def fit(
        self,
        training_set: TrainingSet,
        context: RerankingContext,
        folder: Path,
        *,
        seed: int,
        progress: Progress = silent,
    ) -> Self:
        """Learn from train, stop and choose the weight by validation; the folder holds what an interruption leaves.

        Without epochs nothing is learned, and the encoders' own closeness is the score.
        """
        models, training = self.models, self.settings.training
        chunks = self._chunks(context)
        train = (
            [self.tokenized(one) for one in training_set.candidates("train", self.depth, for_training=True)]
            if training.epochs
            else []
        )
        # the same files are wrong in every epoch: the rest is never read
        train = [one.for_training(training.negatives) or one for one in train]
        validation = [self.tokenized(one) for one in training_set.candidates("validation", self.depth)]
        self.state_ = None
        if training.epochs:
            self.trained_until = 0  # while it learns, files of all reports are read
            table, both = self._ready(chunks, [*train, *validation], progress, training.learns)
            self.trained_until = max((one.candidates.fixed_at for one in train), default=0)
            encoders = models.code.fingerprint, models.report.fingerprint
            key = training_key(self.settings, train, *encoders, seed, self.trained_until)
            trainer = Trainer(
                models.whole, table, training, folder, seed=seed, key=key, trained_until=self.trained_until
            )
            self.state_ = trainer.fit(both[: len(train)], both[len(train) :], progress)
            models.renew_fingerprints()
        scores = list(self._scores(*self._ready(chunks, validation, progress)))
        self.weight, self.validation_ = choose_weight([one.candidates for one in validation], scores)
        return self

    def tokenized(self, candidates: Candidates) -> TokenizedCandidates:
        """Candidates with their report's tokens."""
        words = self.models.report.words
        [tokens] = words.tokens([report_text(candidates.report)])
        return TokenizedCandidates(candidates, words.marked(tokens, self.settings.report_tokens))

    # Scoring

    def rerank(
        self, candidates: Iterable[Candidates], context: RerankingContext, progress: Progress = silent
    ) -> Iterator[Reranked | None]:
        """New scores: stage one's and the encoders', a block of reports at a time."""
        rest = iter(candidates)
        while block := list(islice(rest, _BLOCK)):
            asked = [one for one in block if self.may_score(one.opened)]
            found = self.encoder_scores(asked, context, progress) if asked else iter(())
            for one in block:
                if not self.may_score(one.opened):
                    yield None
                    continue
                best = one.scores.max(initial=0.0)
                yield Reranked(best + combined(one.scores, next(found), self.weight))

    def encoder_scores(
        self, candidates: Sequence[Candidates], context: RerankingContext, progress: Progress = silent
    ) -> Iterator[FloatArray]:
        """(C,) the encoders' own scores of each report's candidates; 0 for one opened before the last fix learned."""
        lists = [self.tokenized(one) for one in candidates]
        return self._scores(*self._ready(self._chunks(context), lists, progress))

    def _chunks(self, context: RerankingContext) -> ChunkSource:
        if context.texts is None:
            return CarriedChunks(self._carried or {})
        if self._encoded is None or self._encoded[0] is not context:
            self._encoded = context, EncodedChunks(self.models, context)
        return self._encoded[1]

    def _ready(
        self, source: ChunkSource, lists: Sequence[TokenizedCandidates], progress: Progress, learns: str = "head"
    ) -> tuple[ChunkTable, list[TokenizedCandidates]]:
        """The chunks of all candidates, and the lists with their reports read.

        While encoders learn (``report`` or ``both``) they read tokens themselves; else only vectors are needed. Nothing
        is made for reports that are left to stage one.
        """
        wanted = (one.candidates for one in lists if self.trained_before(one.candidates.opened))
        blobs = sorted({blob for one in wanted for blob in one.blobs})
        if learns == "both":
            return ChunkTable.of_tokens(source.chunks(blobs)), list(lists)
        table = ChunkTable.of_vectors(source.vectors(blobs, progress), self.models.code.width)
        if learns == "report":
            return table, list(lists)
        report = self.models.report.to(self.device, torch.float32).eval()
        vectors = encode(report, [one.report_tokens for one in lists], self.device).astype(np.float64)
        return table, [replace(one, report_vector=vector) for one, vector in zip(lists, vectors, strict=True)]

    def _scores(self, table: ChunkTable, lists: Sequence[TokenizedCandidates]) -> Iterator[FloatArray]:
        return score_lists(self.models.whole.to(self.device), table, lists, trained_until=self.trained_until)

    # Keeping

    def carry(self, context: RerankingContext, blobs: Sequence[str]) -> None:
        """Take along the chunk vectors of blobs; those that lack are made now."""
        self._carried = dict(self._chunks(context).vectors(blobs))

    def can_score(self, context: RerankingContext) -> bool:
        """Whether texts of files, or vectors carried along, are at hand."""
        return context.texts is not None or self._carried is not None

    def save(self, folder: Path) -> None:
        """Write models and weight, and the vectors that are carried along."""
        if self._carried is not None:
            folder.mkdir(parents=True, exist_ok=True)
            save_arrays(folder / _VECTORS, _to_arrays(self._carried, self.models.code.width))
        self.models.save(
            folder,
            {
                "weight": self.weight,
                "validation": self.validation_,
                "trained_until": self.trained_until,
            },
        )

    @classmethod
    def load(cls, folder: Path) -> Self:
        """What ``save`` wrote. Raises CheckpointError when it is incomplete, damaged or of another version."""
        models, record = EncoderModels.load(folder)
        made = cls(models)
        try:
            made.weight = float(record["weight"])
            if not (0 <= made.weight <= _LARGEST_WEIGHT or made.weight == math.inf):
                raise ValueError("the weight is out of bounds")
            validation, made.trained_until = record["validation"], int(record["trained_until"])
            if validation is not None:
                made.validation_ = {name: (mrr, map_) for name, (mrr, map_) in validation.items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged_reranker(folder, error) from error
        if (folder / _VECTORS).exists():
            stored = load_arrays(folder / _VECTORS)
            try:
                made._carried = _from_arrays(stored, models.code.width)
            except (KeyError, ValueError) as error:
                raise CheckpointError(
                    f"{folder / _VECTORS} is damaged ({error}); train again, or copy the whole folder"
                ) from error
        return made


def _to_arrays(vectors: Mapping[str, Float16Array], width: int) -> dict[str, np.ndarray]:
    none = np.zeros((0, width), dtype=np.float16)
    return {
        "blobs": np.frombuffer(" ".join(vectors).encode(), dtype=np.uint8),
        "sizes": np.array([len(made) for made in vectors.values()], dtype=np.int64),
        "vectors": np.concatenate([none, *vectors.values()]),
    }


def _from_arrays(stored: Mapping[str, Any], width: int) -> dict[str, Float16Array]:
    """What ``_to_arrays`` took apart. Raises KeyError or ValueError when it is none."""
    blobs = checked(stored, "blobs", np.uint8, None).tobytes().decode().split()
    vectors: Any = checked(stored, "vectors", np.float16, None, width)
    ends = np.cumsum([0, *checked(stored, "sizes", np.int64, len(blobs)).tolist()])
    check_starts(ends, len(vectors), "sizes")
    if not all_finite(vectors):
        raise ValueError("a number of a vector is not finite")
    return {blob: vectors[ends[i] : ends[i + 1]] for i, blob in enumerate(blobs)}


def combined(scores: FloatArray, encoder_scores: FloatArray, weight: float) -> FloatArray:
    """(C,) stage one's scores, counted from their best, and ``weight`` times the encoders', counted from their mean.

    An infinite weight is the encoders' order alone.
    """
    if not len(scores):
        return scores
    if math.isinf(weight):
        alone: FloatArray = encoder_scores - encoder_scores.max()
        return alone
    together: FloatArray = scores - scores.max() + weight * (encoder_scores - encoder_scores.mean())
    return together


def choose_weight(
    candidates: Sequence[Candidates], encoder_scores: Sequence[FloatArray]
) -> tuple[float, dict[str, tuple[float, float]]]:
    """The weight with the best MRR + MAP on these reports, the smallest of equals, and what each weight gave."""
    tried = {}
    for weight in (*_WEIGHTS, math.inf):
        values = [
            values_of(one, combined(one.scores, scores, weight))
            for one, scores in zip(candidates, encoder_scores, strict=True)
        ]
        number = max(len(values), 1)
        tried[weight] = (math.fsum(rr for rr, _ in values) / number, math.fsum(ap for _, ap in values) / number)
    best = max(_WEIGHTS, key=lambda weight: (round(sum(tried[weight]), 9), -weight))
    names = {0.0: "stage one", math.inf: "encoder"}
    return best, {names.get(weight, f"encoder x {weight:g}"): value for weight, value in tried.items()}


def training_key(settings: StageTwoSettings, lists: Sequence[TokenizedCandidates], *more: object) -> str:
    """Of everything that a training depends on."""
    parts = [settings.model_dump(mode="json"), [str(one) for one in more]]
    digest = hashlib.sha256(json.dumps(parts).encode())
    for one in lists:
        digest.update(f"{one.candidates.report.id} {' '.join(one.candidates.blobs)}".encode())
        digest.update(one.candidates.fixed.tobytes())
        digest.update(one.report_tokens.tobytes())
    return digest.hexdigest()
