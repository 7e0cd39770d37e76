"""Experiments with the encoder reranker: its parts exchanged one at a time, and more and more files reranked.

Everything is trained from a bundle, stage one's first files with their texts, so that it needs no repository. What a
trained variant scores is kept: called again nothing is trained twice, and what was interrupted goes on.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from torch import nn

from tosloc.config import Config, StageTwoSettings
from tosloc.experiment import fingerprint
from tosloc.io import key_of, write_text
from tosloc.lab.ablated_parts import CrossedReports, MaxPooling, MeanPooling, bce
from tosloc.lab.bundle import PARTS, CandidateBundle, read_bundle
from tosloc.lab.word2vec import VERSION, word_encoder
from tosloc.records import FloatArray, Progress, silent
from tosloc.rerank.base import Candidates, values_of
from tosloc.rerank.encoder.encoders import Encoder
from tosloc.rerank.encoder.reranker import EncoderReranker, choose_weight, combined
from tosloc.rerank.encoder.scoring import RerankingModel, contrastive
from tosloc.rerank.encoder.training import Loss

SCORED: Final = PARTS[1:]
"""Parts that a variant is scored on."""


@dataclass(frozen=True)
class Variant:
    """A row of the paper's table 6: which part of the configured model is exchanged."""

    name: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Of ``[stage_two]``."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Of ``[stage_two.training]``."""
    word_vectors: bool = False
    """Whether word2vec stands in for the encoders."""
    pooling: type[nn.Module] | None = None
    """In the place of the learned softmax over chunks."""
    loss: Loss = contrastive
    in_batch: bool = False
    """Whether the wrong files of a report are other reports' fixed files."""

    def settings(self, configured: StageTwoSettings) -> StageTwoSettings:
        """The configured settings with its part exchanged."""
        training = configured.training.model_copy(update=dict(self.training))
        return configured.model_copy(update={**self.changes, "training": training})


CONFIGURED: Final = Variant("TosLoc")
VARIANTS: Final = (
    CONFIGURED,
    Variant("word2vec", training={"learns": "head"}, word_vectors=True),  # word vectors do not learn with the rest
    Variant("no fusion", {"chunks": 1}),
    Variant("mean fusion", pooling=MeanPooling),
    Variant("max fusion", pooling=MaxPooling),
    Variant("BCE loss", loss=bce),
    Variant("cross-entropy loss", in_batch=True),
)


@dataclass(frozen=True, eq=False)
class VariantScores:
    """What a trained variant scores the candidates of validation and test."""

    scores: Mapping[str, Sequence[FloatArray]]
    """Part -> (C,) encoder scores of each report's candidates."""
    epochs: int | None
    """None where nothing was learned."""
    seconds: float

    @classmethod
    def read(cls, path: Path, key: str) -> Self | None:
        """What was kept under this key; None where there is nothing, or of something else."""
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            if stored["key"] != key:
                return None
            scores = {part: [np.array(row, dtype=np.float64) for row in stored["deep"][part]] for part in SCORED}
            return cls(scores, stored["epochs"], stored["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, path: Path, key: str) -> None:
        """Keep it under a key."""
        scores = {part: [row.tolist() for row in self.scores[part]] for part in SCORED}
        values = {"key": key, "epochs": self.epochs, "seconds": self.seconds, "deep": scores}
        write_text(path, json.dumps(values) + "\n")


class AblationRunner:
    """A bundle and a configuration, of which variants are trained, each once and in a folder of its own.

    ``vectors`` is the file of the files' vectors, kept once for all variants.
    """

    def __init__(self, path: Path, config: Config, folder: Path, vectors: Path, progress: Progress = silent) -> None:
        self.path, self.config, self.folder, self.vectors = path, config, folder, vectors
        self.progress = progress

    @cached_property
    def bundle(self) -> CandidateBundle:
        """The content of the bundle. Raises ToslocError when it is none."""
        return read_bundle(self.path)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the bundle."""
        return fingerprint(self.path)

    @cached_property
    def encoders(self) -> list[str]:
        """Fingerprints of the encoders that the configuration names. Raises CheckpointError when there are none."""
        settings = self.config.stage_two
        names = dict.fromkeys((settings.code_encoder, settings.report_encoder or settings.code_encoder))
        return [Encoder.load(name, settings.token_pooling).fingerprint for name in names]

    def key(self, variant: Variant) -> str:
        """What a training of the variant depends on."""
        settings = variant.settings(self.config.stage_two)
        made_with = [VERSION] if variant.word_vectors else self.encoders
        # an encoder is what its weights are, not where it lies
        values = settings.model_dump(mode="json", exclude={"code_encoder", "report_encoder"})
        return key_of(variant.name, self.digest, values, self.config.run.seed, made_with)

    def folder_of(self, variant: Variant) -> Path:
        """The variant's folder."""
        return self.folder / variant.name.replace(" ", "-")

    def stored(self, variant: Variant) -> VariantScores | None:
        """The variant's scores of an earlier training; None if there was none, or from something else."""
        return VariantScores.read(self.folder_of(variant) / "found.json", self.key(variant))

    def scores(self, variant: Variant) -> VariantScores:
        """The variant's scores; trained now unless it was before."""
        stored = self.stored(variant)
        if stored is not None:
            return stored
        started = time.monotonic()

        def progress(what: str, done: int, total: int) -> None:
            self.progress(f"{variant.name}: {what}", done, total)

        reranker, context = self.reranker(variant, progress), self.bundle.for_reranking(self.vectors)
        work, seed = self.folder_of(variant) / "work", self.config.run.seed
        training_set = CrossedReports(self.bundle, seed) if variant.in_batch else self.bundle
        reranker.fit(training_set, context, work, seed=seed, progress=progress)
        scores = {part: list(reranker.encoder_scores(self.bundle.parts[part], context, progress)) for part in SCORED}
        epochs = None if reranker.state_ is None else reranker.state_.epoch
        made = VariantScores(scores, epochs, round(time.monotonic() - started, 1))
        made.write(self.folder_of(variant) / "found.json", self.key(variant))
        return made

    def reranker(self, variant: Variant, progress: Progress = silent) -> EncoderReranker:
        """The variant, untrained."""
        settings, seed = variant.settings(self.config.stage_two), self.config.run.seed
        if variant.word_vectors:
            progress("word vectors", 0, 1)
            encoder = word_encoder(list(self.texts()), seed=seed)
            progress("word vectors", 1, 1)
            made = EncoderReranker(RerankingModel(settings, encoder, encoder, seed))
        else:
            made = EncoderReranker.configured(self.config.model_copy(update={"stage_two": settings}))
        if variant.pooling is not None:
            made.model.head.pooling = variant.pooling()
        made.loss = variant.loss
        return made

    def texts(self) -> Iterator[str]:
        """The training reports, and of each of their candidate files the newest version."""
        train = self.bundle.parts["train"]
        yield from (f"{one.report.summary}\n{one.report.description}" for one in train)
        newest = {path: blob for one in train for path, blob in zip(one.paths, one.blobs, strict=True)}
        yield from (self.bundle.texts[blob] for blob in newest.values() if blob in self.bundle.texts)

    def ablation(self) -> list[dict[str, Any]]:
        """The paper's table 6: of each variant its name, epochs, seconds and means."""
        rows = []
        for number, variant in enumerate(VARIANTS):
            self.progress("parts", number, len(VARIANTS))
            found = self.scores(variant)
            trained = {"name": variant.name, "epochs": found.epochs, "seconds": found.seconds}
            rows.append({**trained, **self._means(found)})
        self.progress("parts", len(VARIANTS), len(VARIANTS))
        return rows

    def sweep(self, depths: Sequence[int]) -> list[dict[str, Any]]:
        """The paper's figure 6: means of the configured model with its candidates cut to each number."""
        found = self.scores(CONFIGURED)
        return [{"candidates": depth, **self._means(found, depth)} for depth in depths]

    def _means(self, found: VariantScores, depth: int | None = None) -> dict[str, Any]:
        """The weight that validation chose, and ``mean_measures`` of each part, with only so many files reranked."""
        parts = self.bundle.parts
        heads = {part: [one.head(len(one) if depth is None else depth) for one in parts[part]] for part in SCORED}
        scores = {part: [row[:depth] for row in found.scores[part]] for part in SCORED}
        weight, _ = choose_weight(heads["validation"], scores["validation"])
        return {"mix": weight, **{part: mean_measures(heads[part], scores[part], weight) for part in SCORED}}


def mean_measures(
    candidates: Sequence[Candidates], scores: Sequence[FloatArray], weight: float
) -> Mapping[str, Mapping[str, float]]:
    """MRR and MAP over all reports of stage one, of both stages, and of the encoder's order alone."""
    rows: dict[str, Any] = {}
    for name, used in (("stage one", 0.0), ("fused", weight), ("deep", math.inf)):
        values = [values_of(one, combined(one.scores, row, used)) for one, row in zip(candidates, scores, strict=True)]
        number = max(len(values), 1)
        rows[name] = {
            "mrr": round(sum(rr for rr, _ in values) / number, 4),
            "map": round(sum(ap for _, ap in values) / number, 4),
        }
    return rows
