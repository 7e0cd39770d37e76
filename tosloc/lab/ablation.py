"""Encoder rerankers trained from a bundle: as configured, with a part exchanged (table 6), with more files reranked.

They need no repository. What a trained variant scores is kept: called again nothing is trained twice.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tosloc.config import Config, StageTwoSettings
from tosloc.experiment import fingerprint
from tosloc.io import key_of, write_text
from tosloc.lab.bundle import PARTS, CandidateBundle, read_bundle
from tosloc.lab.word2vec import VERSION, word_encoder
from tosloc.records import FloatArray, LongArray, Progress, silent, tracked
from tosloc.rerank.base import Candidates, TrainingSet, values_of
from tosloc.rerank.encoder.encoders import Encoder, processes
from tosloc.rerank.encoder.reranker import EncoderReranker, Loss, choose_weight
from tosloc.rerank.encoder.scoring import RerankingModel, contrastive

# C candidates of a report, N chunks of the longest file, d width

TOGETHER = 8  # reports of a batch: a step of 400 pairs holds so many lists of 50 candidates


class MeanPooling(nn.Module):
    """A file's vector is the mean of its chunks'."""

    def forward(self, chunks_CNd: Tensor, real_CN: Tensor) -> Tensor:
        """(C, d) vectors of files; a file without any real chunk is 0."""
        real_CN1 = real_CN.unsqueeze(-1).to(chunks_CNd.dtype)
        return (chunks_CNd * real_CN1).sum(-2) / real_CN1.sum(-2).clamp(min=1)


class MaxPooling(nn.Module):
    """A file's vector has the largest of its chunks' numbers."""

    def forward(self, chunks_CNd: Tensor, real_CN: Tensor) -> Tensor:
        """(C, d) vectors of files; a file without any real chunk is 0."""
        most_Cd = chunks_CNd.masked_fill(~real_CN.unsqueeze(-1), -torch.inf).amax(-2)
        return most_Cd.where(real_CN.any(-1, keepdim=True), torch.zeros_like(most_Cd))


def bce(scores_C: Tensor, fixed_C: Tensor) -> Tensor:
    """Binary cross-entropy of every candidate, at the offset of all scores that makes it least.

    Closeness has no zero of its own: without an offset, most of what is learned would be that few files are fixed.
    """
    fixed, scores = fixed_C.to(scores_C.dtype), scores_C.detach()
    low, high = -scores.max() - 20, -scores.min() + 20
    for _ in range(40):  # the shares sum to the number of fixed files where the loss is least
        middle = (low + high) / 2
        over = (scores + middle).sigmoid().sum() > fixed.sum()
        low, high = torch.where(over, low, middle), torch.where(over, middle, high)
    return functional.binary_cross_entropy_with_logits(scores_C + (low + high) / 2, fixed)


class CrossedReports:
    """Reports asked of their own first fixed file and those of ``TOGETHER`` others: cross-entropy within a batch."""

    def __init__(self, training_set: TrainingSet, seed: int) -> None:
        self.training_set, self.seed = training_set, seed

    def candidates(
        self, part: str, depth: int, *, for_training: bool = False, by_linear_score: bool = False
    ) -> Iterator[Candidates]:
        """The training reports with such candidates; those of other parts as they are."""
        found = self.training_set.candidates(part, depth, for_training=for_training, by_linear_score=by_linear_score)
        if not for_training:
            yield from found
            return
        reports = [one for one in found if one.fixed.any()]
        order = np.random.default_rng(self.seed).permutation(len(reports))
        crossed = dict[int, Candidates]()
        for start in range(0, len(order), TOGETHER):
            batch = order[start : start + TOGETHER]
            firsts = [reports[number].take(np.flatnonzero(reports[number].fixed)[:1]) for number in batch]
            crossed |= {number: _asked_of(reports[number], firsts, place) for place, number in enumerate(batch)}
        yield from (crossed[number] for number in range(len(reports)))


def _asked_of(report: Candidates, files: list[Candidates], own: int) -> Candidates:
    numbers: LongArray = np.arange(len(files), dtype=np.int64)
    return replace(
        report,
        paths=tuple(one.paths[0] for one in files),
        blobs=tuple(one.blobs[0] for one in files),
        path_ids=np.concatenate([one.path_ids for one in files]),
        scores=np.zeros(len(files)),
        fixed=numbers == own,
        relevant=1,
    )


SCORED: Final = PARTS[1:]


@dataclass(frozen=True)
class Variant:
    """A row of the paper's table 6: which part of the configured model is exchanged."""

    name: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    word_vectors: bool = False  # word2vec stands in for the encoders
    pooling: type[nn.Module] | None = None  # in the place of the learned softmax over chunks
    loss: Loss = contrastive
    in_batch: bool = False  # the wrong files of a report are other reports' fixed files

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


class AblationRunner:
    """A bundle and a configuration, of which variants are trained, each once and in a folder of its own."""

    def __init__(self, path: Path, config: Config, folder: Path, vectors: Path, progress: Progress = silent) -> None:
        self.path, self.config, self.folder, self.vectors = path, config, folder, vectors
        self.progress = progress

    @cached_property
    def bundle(self) -> CandidateBundle:
        """The content of the bundle. Raises ToslocError when it is none."""
        return read_bundle(self.path)

    @cached_property
    def encoders(self) -> list[str]:
        """Fingerprints of the encoders that the configuration names. Raises CheckpointError when there are none."""
        settings = self.config.stage_two
        names = dict.fromkeys((settings.code_encoder, settings.report_encoder or settings.code_encoder))
        return [Encoder.load(name, settings.token_pooling).fingerprint for name in names]

    def scores(self, variant: Variant) -> dict[str, Any]:
        """The variant's epochs, seconds and ``deep`` scores of candidates by part; trained now unless it was before."""
        folder, seed = self.folder / variant.name.replace(" ", "-"), self.config.run.seed
        # an encoder is what its weights are, not where it lies
        settings = variant.settings(self.config.stage_two)
        values = settings.model_dump(mode="json", exclude={"code_encoder", "report_encoder"})
        made_with = [VERSION] if variant.word_vectors else self.encoders
        key = key_of(variant.name, fingerprint(self.path), values, seed, made_with)
        with suppress(OSError, ValueError, KeyError, TypeError):
            found: dict[str, Any] = json.loads((folder / "found.json").read_text(encoding="utf-8"))
            if found["key"] == key:
                return found
        started = time.monotonic()

        def progress(what: str, done: int, total: int) -> None:
            self.progress(f"{variant.name}: {what}", done, total)

        reranker, context = self.reranker(variant), self.bundle.for_reranking(self.vectors)
        training_set = CrossedReports(self.bundle, seed) if variant.in_batch else self.bundle
        reranker.fit(training_set, context, folder / "work", seed=seed, progress=progress)
        deep = {
            part: [row.tolist() for row in reranker.encoder_scores(self.bundle.parts[part], context, progress)]
            for part in SCORED
        }
        found = {
            "key": key,
            "epochs": len(reranker.curve_) - 1 if reranker.curve_ else None,
            "seconds": round(time.monotonic() - started, 1),
            "deep": deep,
        }
        write_text(folder / "found.json", json.dumps(found) + "\n")
        return found

    def reranker(self, variant: Variant) -> EncoderReranker:
        """The variant, untrained."""
        settings, seed = variant.settings(self.config.stage_two), self.config.run.seed
        if variant.word_vectors:
            encoder = word_encoder(list(self.texts()), seed=seed)
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
        for variant in tracked(VARIANTS, "parts", self.progress):
            found = self.scores(variant)
            trained = {"name": variant.name, "epochs": found["epochs"], "seconds": found["seconds"]}
            rows.append({**trained, **self._means(found)})
        return rows

    def sweep(self, depths: Sequence[int]) -> list[dict[str, Any]]:
        """The paper's figure 6: means of the configured model with its candidates cut to each number."""
        found = self.scores(CONFIGURED)
        return [{"candidates": depth, **self._means(found, depth)} for depth in depths]

    def _means(self, found: Mapping[str, Any], depth: int | None = None) -> dict[str, Any]:
        """The weight that validation chose, and ``mean_measures`` of each part, with only so many files reranked."""
        parts = self.bundle.parts
        heads = {part: [one.head(len(one) if depth is None else depth) for one in parts[part]] for part in SCORED}
        scores = {part: [np.array(row[:depth], dtype=np.float64) for row in found["deep"][part]] for part in SCORED}
        weight, _ = choose_weight(heads["validation"], scores["validation"])
        return {"mix": weight, **{part: mean_measures(heads[part], scores[part], weight) for part in SCORED}}


def mean_measures(
    candidates: Sequence[Candidates], scores: Sequence[FloatArray], weight: float
) -> Mapping[str, Mapping[str, float]]:
    """MRR and MAP over all reports of stage one, of both stages, and of the encoder's order alone."""
    rows: dict[str, Any] = {}
    for name, first, used in (("stage one", 1.0, 0.0), ("fused", 1.0, weight), ("deep", 0.0, 1.0)):
        both = zip(candidates, scores, strict=True)
        values = [values_of(one, first * one.scores + used * row) for one, row in both]
        number = max(len(values), 1)
        rows[name] = {
            "mrr": round(sum(rr for rr, _ in values) / number, 4),
            "map": round(sum(ap for _, ap in values) / number, 4),
        }
    return rows


def train_on_bundle(bundle_path: Path, config: Config, out: Path, progress: Progress = silent) -> dict[str, Any] | None:
    """Train on a bundle: models in ``out/encoder``, ``result.json``, ``deep.json``; None but in the main process."""
    state, bundle = processes(), read_bundle(bundle_path)
    started = time.monotonic()
    context = bundle.for_reranking(out / f"vectors-{state.process_index}.sqlite")
    reranker = EncoderReranker.configured(config)
    reranker.fit(bundle, context, out / "work", seed=config.run.seed, progress=progress)
    seconds, parts = time.monotonic() - started, bundle.parts
    if not state.is_main_process:
        return None
    scores = {part: list(reranker.encoder_scores(parts[part], context, progress)) for part in SCORED}
    reranker.save(out / "encoder")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if torch.cuda.is_available():
        peak = torch.cuda.max_memory_allocated() / 2**30
    result = {
        "seconds": round(seconds, 1),
        "processes": state.num_processes,
        "device": str(state.device),
        "peak GiB": round(peak, 2),
        "epochs": len(reranker.curve_) - 1 if reranker.curve_ else None,
        "curve": reranker.curve_,
        "mix": reranker.weight,
        **{part: mean_measures(parts[part], scores[part], reranker.weight) for part in SCORED},
    }
    write_text(out / "result.json", json.dumps(result, indent=1) + "\n")
    by_report = {
        part: {one.report.id: row.tolist() for one, row in zip(parts[part], scores[part], strict=True)}
        for part in SCORED
    }
    write_text(out / "deep.json", json.dumps(by_report) + "\n")
    return result
