"""Encoder rerankers trained from a bundle: as configured, with a part exchanged (table 6), with more files reranked.

They need no repository. What a trained variant scores is kept: called again nothing is trained twice.
"""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tosloc.core.config import Config
from tosloc.core.io import write_text
from tosloc.core.records import FloatArray, LongArray, Progress, ignore_progress, track
from tosloc.lab.bundle import CandidateBundle, read_bundle
from tosloc.lab.word2vec import word_encoder
from tosloc.rerank.base import Candidates, TrainingSet, mrr_and_map
from tosloc.rerank.encoder.encoders import process_state
from tosloc.rerank.encoder.reranker import EncoderReranker, choose_weight
from tosloc.rerank.encoder.scoring import RerankingModel

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
        found = self.training_set.candidates(
            part, depth, for_training=for_training, by_linear_score=by_linear_score
        )
        if not for_training:
            yield from found
            return
        reports = [one for one in found if one.fixed.any()]
        order = np.random.default_rng(self.seed).permutation(len(reports))
        crossed = dict[int, Candidates]()
        for start in range(0, len(order), TOGETHER):
            batch = order[start : start + TOGETHER]
            firsts = [
                reports[number].take(np.flatnonzero(reports[number].fixed)[:1]) for number in batch
            ]
            crossed |= {
                number: _asked_of(reports[number], firsts, place)
                for place, number in enumerate(batch)
            }
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


SCORED: Final = ("validation", "test")
CONFIGURED: Final = "TosLoc"
VARIANTS: Final = (
    *(
        CONFIGURED,
        "word2vec",
        "no fusion",
        "mean fusion",
        "max fusion",
        "BCE loss",
        "cross-entropy loss",
    ),
)
"""Rows of the paper's table 6: which part of the configured model is exchanged."""
POOLINGS: Final = {"mean fusion": MeanPooling, "max fusion": MaxPooling}


@dataclass(frozen=True)
class Ablation:
    """A bundle and a configuration, of which variants are trained, each once and in a folder of its own."""

    bundle: CandidateBundle
    config: Config
    folder: Path
    vectors: Path
    progress: Progress = ignore_progress

    def trained(self, name: str) -> Path:
        """The folder of a variant's results; trained now unless it was before."""
        folder, seed = self.folder / name.replace(" ", "-"), self.config.run.seed

        def progress(what: str, done: int, total: int) -> None:
            self.progress(f"{name}: {what}", done, total)

        if not (folder / "result.json").exists():
            training_set = (
                CrossedReports(self.bundle, seed) if name == "cross-entropy loss" else self.bundle
            )
            train(
                self.reranker(name), self.bundle, folder, seed, self.vectors, training_set, progress
            )
        return folder

    def reranker(self, name: str) -> EncoderReranker:
        """The variant, untrained."""
        settings, seed = self.config.stage_two, self.config.run.seed
        if name == "no fusion":
            settings = settings.model_copy(update={"chunks": 1})
        if name == "word2vec":
            # word vectors do not learn with the rest
            learning = settings.training.model_copy(update={"learns": "head"})
            settings, encoder = (
                settings.model_copy(update={"training": learning}),
                word_encoder(self.texts(), seed),
            )
            return EncoderReranker(RerankingModel(settings, encoder, encoder, seed))
        made = EncoderReranker.from_config(self.config.model_copy(update={"stage_two": settings}))
        if name in POOLINGS:
            made.model.head.pooling = POOLINGS[name]()
        if name == "BCE loss":
            made.loss = bce
        return made

    def texts(self) -> list[str]:
        """The training reports, and of each of their candidate files the newest version."""
        listed, texts = self.bundle.parts["train"], self.bundle.texts
        newest = {
            path: blob for one in listed for path, blob in zip(one.paths, one.blobs, strict=True)
        }
        reports = [f"{one.report.summary}\n{one.report.description}" for one in listed]
        return reports + [texts[blob] for blob in newest.values() if blob in texts]

    def rows(self) -> list[dict[str, Any]]:
        """The paper's table 6: of each variant its name, and what ``train`` found."""
        folders = {name: self.trained(name) for name in track(VARIANTS, "parts", self.progress)}
        return [{"name": name, **_read(folder / "result.json")} for name, folder in folders.items()]

    def sweep(self, depths: Sequence[int]) -> list[dict[str, Any]]:
        """The paper's figure 6: means of the configured model with its candidates cut to each number."""
        deep, rows = _read(self.trained(CONFIGURED) / "deep.json"), list[dict[str, Any]]()
        for depth in depths:
            heads = {part: [one.head(depth) for one in self.bundle.parts[part]] for part in SCORED}
            scores = {
                part: [np.array(row[:depth]) for row in deep[part].values()] for part in SCORED
            }
            weight, _ = choose_weight(heads["validation"], scores["validation"])
            means = {part: mean_measures(heads[part], scores[part], weight) for part in SCORED}
            rows.append({"candidates": depth, "mix": weight, **means})
        return rows


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def mean_measures(
    candidates: Sequence[Candidates], scores: Sequence[FloatArray], weight: float
) -> Mapping[str, Mapping[str, float]]:
    """MRR and MAP over all reports of stage one, of both stages, and of the encoder's order alone."""
    rows: dict[str, Any] = {}
    for name, first, used in (("stage one", 1.0, 0.0), ("fused", 1.0, weight), ("deep", 0.0, 1.0)):
        both = zip(candidates, scores, strict=True)
        mrr, map_ = mrr_and_map(candidates, [first * one.scores + used * row for one, row in both])
        rows[name] = {"mrr": round(mrr, 4), "map": round(map_, 4)}
    return rows


def train(
    reranker: EncoderReranker,
    bundle: CandidateBundle,
    folder: Path,
    seed: int,
    vectors: Path,
    training_set: TrainingSet,
    progress: Progress,
) -> dict[str, Any] | None:
    """Train a reranker, and write ``deep.json`` and ``result.json``; None but in the main process."""
    state, context, parts, started = (
        process_state(),
        bundle.for_reranking(vectors),
        bundle.parts,
        time.monotonic(),
    )
    reranker.fit(training_set, context, folder / "work", seed=seed, progress=progress)
    seconds = time.monotonic() - started
    if not state.is_main_process:
        return None
    scores = {
        part: list(reranker.encoder_scores(parts[part], context, progress)) for part in SCORED
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if torch.cuda.is_available():
        peak = torch.cuda.max_memory_allocated() / 2**30
    result = {
        "seconds": round(seconds, 1),
        "processes": state.num_processes,
        "peak GiB": round(peak, 2),
        "epochs": len(reranker.training_curve) - 1 if reranker.training_curve else None,
        "curve": reranker.training_curve,
        "mix": reranker.weight,
        **{part: mean_measures(parts[part], scores[part], reranker.weight) for part in SCORED},
    }
    deep = {
        part: {
            one.report.id: row.tolist() for one, row in zip(parts[part], scores[part], strict=True)
        }
        for part in SCORED
    }
    write_text(folder / "deep.json", json.dumps(deep) + "\n")
    write_text(folder / "result.json", json.dumps(result, indent=1) + "\n")
    return result


def train_on_bundle(
    path: Path, config: Config, out: Path, progress: Progress = ignore_progress
) -> dict[str, Any] | None:
    """``train`` the configured reranker on the bundle of a file; its models stand in ``out/encoder``."""
    bundle, reranker = read_bundle(path), EncoderReranker.from_config(config)
    vectors = out / f"vectors-{process_state().process_index}.sqlite"
    result = train(reranker, bundle, out, config.run.seed, vectors, bundle, progress)
    if result is not None:
        reranker.save(out / "encoder")
    return result
