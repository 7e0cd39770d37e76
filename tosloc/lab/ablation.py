"""Train encoder rerankers from a bundle: as configured, with one part exchanged, or in a sweep.

The variants with an exchanged part are the paper's table 6; the sweep over the number of candidates
is its figure 6. No repository is needed. The scores of a trained variant are stored, so that
nothing is trained twice.

Shapes: C candidates of a report, N chunks of the longest file, d width of a vector.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tosloc.core.arrays import FloatArray, LongArray
from tosloc.core.config import Config
from tosloc.core.io import write_text
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.resources import peak_gibibytes
from tosloc.evaluate.statistics import Difference
from tosloc.lab.bundle import CandidateBundle, read_bundle
from tosloc.lab.tracking import track
from tosloc.lab.word2vec import word_encoder
from tosloc.rerank.base import Candidates, TrainingSet, mrr_and_map
from tosloc.rerank.encoder.encoders import process_state
from tosloc.rerank.encoder.reranker import EncoderReranker, choose_weight
from tosloc.rerank.encoder.scoring import RerankingModel

BATCH_REPORTS = 8
"""Number of reports in a batch of ``CrossedReports``.

A step of 400 pairs consists of that many lists of 50 candidates.
"""


class MeanPooling(nn.Module):
    """A pooling whose file vector is the mean of its chunks' vectors."""

    def forward(self, chunks_CNd: Tensor, real_CN: Tensor) -> Tensor:
        """Return (C, d) vectors of files from their chunks' vectors; 0 for a file without chunks.

        ``real_CN`` marks the chunks that are not padding.
        """
        real_CN1 = real_CN.unsqueeze(-1).to(chunks_CNd.dtype)
        return (chunks_CNd * real_CN1).sum(-2) / real_CN1.sum(-2).clamp(min=1)


class MaxPooling(nn.Module):
    """A pooling whose file vector has the largest value in each component of chunks' vectors."""

    def forward(self, chunks_CNd: Tensor, real_CN: Tensor) -> Tensor:
        """Return (C, d) vectors of files from their chunks' vectors; 0 for a file without chunks.

        ``real_CN`` marks the chunks that are not padding.
        """
        largest_Cd = chunks_CNd.masked_fill(~real_CN.unsqueeze(-1), -torch.inf).amax(-2)
        return largest_Cd.where(real_CN.any(-1, keepdim=True), torch.zeros_like(largest_Cd))


def bce(scores_C: Tensor, fixed_C: Tensor) -> Tensor:
    """Return the binary cross-entropy of all candidates, with the best common offset of scores.

    Similarity scores have no natural zero. Without an offset, the model would mostly learn that few
    files are fixed.
    """
    fixed = fixed_C.to(scores_C.dtype)
    scores = scores_C.detach()
    low = -scores.max() - 20
    high = -scores.min() + 20
    # Bisection: where the loss is least, the probabilities sum to the number of fixed files.
    for _ in range(40):
        middle = (low + high) / 2
        is_too_high = (scores + middle).sigmoid().sum() > fixed.sum()
        low = torch.where(is_too_high, low, middle)
        high = torch.where(is_too_high, middle, high)
    return functional.binary_cross_entropy_with_logits(scores_C + (low + high) / 2, fixed)


class CrossedReports:
    """A training set for cross-entropy within a batch.

    The candidates of a report are the first fixed files of all reports in its batch of
    ``BATCH_REPORTS``; only its own counts as fixed.
    """

    def __init__(self, training_set: TrainingSet, seed: int) -> None:
        self.training_set = training_set
        self.seed = seed

    def candidates(
        self, part: str, depth: int, *, for_training: bool = False, by_linear_score: bool = False
    ) -> Iterator[Candidates]:
        """Yield the training reports with crossed candidates; reports of other parts unchanged."""
        all_candidates = self.training_set.candidates(
            part, depth, for_training=for_training, by_linear_score=by_linear_score
        )
        if not for_training:
            yield from all_candidates
            return
        reports = [candidates for candidates in all_candidates if candidates.fixed.any()]
        order = np.random.default_rng(self.seed).permutation(len(reports)).tolist()
        crossed: dict[int, Candidates] = {}
        for start in range(0, len(order), BATCH_REPORTS):
            batch = order[start : start + BATCH_REPORTS]
            first_fixed = [_first_fixed_file(reports[number]) for number in batch]
            for own_index, number in enumerate(batch):
                crossed[number] = _replace_files(reports[number], first_fixed, own_index)
        for number in range(len(reports)):
            yield crossed[number]


def _first_fixed_file(candidates: Candidates) -> Candidates:
    return candidates.take(np.flatnonzero(candidates.fixed)[:1])


def _replace_files(report: Candidates, files: Sequence[Candidates], own_index: int) -> Candidates:
    """Return a report with one candidate from each of ``files``; its own candidate is fixed.

    ``own_index`` is the position of its own candidate.
    """
    indices: LongArray = np.arange(len(files), dtype=np.int64)
    return replace(
        report,
        paths=tuple(file.paths[0] for file in files),
        blobs=tuple(file.blobs[0] for file in files),
        path_ids=np.concatenate([file.path_ids for file in files]),
        scores=np.zeros(len(files)),
        fixed=indices == own_index,
        relevant=1,
    )


SCORED_PARTS: Final = ("validation", "test")
CONFIGURED: Final = "TosLoc"
"""Name of the model as it is configured."""
VARIANTS: Final = (
    CONFIGURED,
    "word2vec",
    "no fusion",
    "mean fusion",
    "max fusion",
    "BCE loss",
    "cross-entropy loss",
)
"""Rows of the paper's table 6: the exchanged part of the configured model."""
POOLINGS: Final = {"mean fusion": MeanPooling, "max fusion": MaxPooling}


@dataclass(frozen=True)
class Ablation:
    """A bundle and a configuration; each variant is trained once, in a folder of its own."""

    bundle: CandidateBundle
    config: Config
    folder: Path
    vectors: Path
    """File in which vectors of texts are cached."""
    progress: Progress = ignore_progress

    def variant_folder(self, name: str) -> Path:
        """Return the folder of a variant's results; if there are none, train the variant first."""
        folder = self.folder / name.replace(" ", "-")
        seed = self.config.run.seed

        def progress(what: str, done: int, total: int) -> None:
            self.progress(f"{name}: {what}", done, total)

        if not (folder / "result.json").exists():
            training_set: TrainingSet = self.bundle
            if name == "cross-entropy loss":
                training_set = CrossedReports(self.bundle, seed)
            train(
                self.reranker(name), self.bundle, folder, seed, self.vectors, training_set, progress
            )
        return folder

    def reranker(self, name: str) -> EncoderReranker:
        """Return the untrained reranker of a variant."""
        settings = self.config.stage_two
        seed = self.config.run.seed
        if name == "word2vec":
            # The word vectors are not trained with the head.
            head_only = settings.training.model_copy(update={"learns": "head"})
            settings = settings.model_copy(update={"training": head_only})
            encoder = word_encoder(self.texts(), seed)
            return EncoderReranker(RerankingModel(settings, encoder, encoder, seed))
        if name == "no fusion":
            settings = settings.model_copy(update={"chunks": 1})
        reranker = EncoderReranker.from_config(
            self.config.model_copy(update={"stage_two": settings})
        )
        if name in POOLINGS:
            reranker.model.head.pooling = POOLINGS[name]()
        if name == "BCE loss":
            reranker.loss = bce
        return reranker

    def texts(self) -> list[str]:
        """Return the training reports, and the newest text of each of their candidate files."""
        reports: list[str] = []
        newest_blob: dict[str, str] = {}
        for candidates in self.bundle.parts["train"]:
            reports.append(f"{candidates.report.summary}\n{candidates.report.description}")
            newest_blob.update(zip(candidates.paths, candidates.blobs, strict=True))
        texts = self.bundle.texts
        return reports + [texts[blob] for blob in newest_blob.values() if blob in texts]

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of table 6: the name of each variant, and what ``train`` returned."""
        rows: list[dict[str, Any]] = []
        for name in track(VARIANTS, "training variants", self.progress):
            rows.append({"name": name, **_read_json(self.variant_folder(name) / "result.json")})
        return rows

    def sweep(self, depths: Sequence[int]) -> list[dict[str, Any]]:
        """Return the rows of figure 6: the means of the configured model for each depth.

        For each depth, the candidates are cut to it, and the weight of the model's scores is chosen
        again.
        """
        encoder_scores = _read_json(self.variant_folder(CONFIGURED) / "deep.json")
        rows: list[dict[str, Any]] = []
        for depth in depths:
            candidates: dict[str, list[Candidates]] = {}
            scores: dict[str, list[FloatArray]] = {}
            for part in SCORED_PARTS:
                candidates[part] = [report.head(depth) for report in self.bundle.parts[part]]
                scores[part] = [
                    np.array(report_scores[:depth])
                    for report_scores in encoder_scores[part].values()
                ]
            weight, _ = choose_weight(candidates["validation"], scores["validation"])
            row: dict[str, Any] = {"candidates": depth, "mix": weight}
            for part in SCORED_PARTS:
                row[part] = mean_measures(candidates[part], scores[part], weight)
            rows.append(row)
        return rows


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def mean_measures(
    candidates: Sequence[Candidates], scores: Sequence[FloatArray], weight: float
) -> Mapping[str, Mapping[str, float]]:
    """Return MRR and MAP over all reports of three orders of the candidates.

    "stage one" is the order by stage one's scores, "deep" the order by the encoder's ``scores``,
    and "fused" the order by stage one's scores plus ``weight`` times the encoder's.
    """
    return {
        "stage one": _mrr_and_map(candidates, scores, 1.0, 0.0),
        "fused": _mrr_and_map(candidates, scores, 1.0, weight),
        "deep": _mrr_and_map(candidates, scores, 0.0, 1.0),
    }


def gains_over_stage_one(
    candidates: Sequence[Candidates], scores: Sequence[FloatArray], weight: float
) -> Mapping[str, Mapping[str, Any]]:
    """Return how MRR and MAP of the orders "fused" and "deep" differ from stage one's.

    Each has the mean difference, its 95 % bootstrap interval, and the p of a paired t-test.
    Interval and p are None if they are undefined.
    """
    by_stage_one = _values_by_report(candidates, scores, 1.0, 0.0)
    orders = {
        "fused": _values_by_report(candidates, scores, 1.0, weight),
        "deep": _values_by_report(candidates, scores, 0.0, 1.0),
    }
    gains: dict[str, Mapping[str, Any]] = {}
    for name, values in orders.items():
        by_measure = {}
        for column, measure in enumerate(("mrr", "map")):
            result = Difference.between(by_stage_one[:, column], values[:, column])
            by_measure[measure] = {
                "difference": round(result.difference, 4),
                "interval": [round(end, 4) for end in result.interval or ()] or None,
                "p": None if result.p_t is None else round(result.p_t, 4),
            }
        gains[name] = by_measure
    return gains


def _values_by_report(
    candidates: Sequence[Candidates],
    scores: Sequence[FloatArray],
    stage_one_weight: float,
    encoder_weight: float,
) -> FloatArray:
    """Return (N, 2) reciprocal ranks and average precisions of the N reports.

    Candidates are ordered by the weighted sum of stage one's and the encoder's scores.
    """
    values = []
    for report, report_scores in zip(candidates, scores, strict=True):
        mixed_scores = stage_one_weight * report.scores + encoder_weight * report_scores
        values.append(report.rr_and_ap(mixed_scores))
    return np.array(values, dtype=np.float64).reshape(-1, 2)


def _mrr_and_map(
    candidates: Sequence[Candidates],
    scores: Sequence[FloatArray],
    stage_one_weight: float,
    encoder_weight: float,
) -> dict[str, float]:
    mixed_scores = [
        stage_one_weight * report.scores + encoder_weight * report_scores
        for report, report_scores in zip(candidates, scores, strict=True)
    ]
    mrr, map_ = mrr_and_map(candidates, mixed_scores)
    return {"mrr": round(mrr, 4), "map": round(map_, 4)}


def train(
    reranker: EncoderReranker,
    bundle: CandidateBundle,
    folder: Path,
    seed: int,
    vectors: Path,
    training_set: TrainingSet,
    progress: Progress,
) -> dict[str, Any] | None:
    """Train a reranker, and write ``deep.json``, its scores, and ``result.json``.

    Return the result, or None in processes other than the main process.
    """
    state = process_state()
    context = bundle.for_reranking(vectors)
    started = time.monotonic()
    reranker.fit(training_set, context, folder / "work", seed=seed, progress=progress)
    seconds = time.monotonic() - started
    if not state.is_main_process:
        return None
    means: dict[str, Mapping[str, Mapping[str, float]]] = {}
    gains: dict[str, Mapping[str, Mapping[str, Any]]] = {}
    deep: dict[str, dict[str, list[float]]] = {}
    for part in SCORED_PARTS:
        candidates = bundle.parts[part]
        scores = list(reranker.encoder_scores(candidates, context, progress))
        means[part] = mean_measures(candidates, scores, reranker.weight)
        gains[part] = gains_over_stage_one(candidates, scores, reranker.weight)
        deep[part] = {
            report.report.id: report_scores.tolist()
            for report, report_scores in zip(candidates, scores, strict=True)
        }
    result = {
        "seconds": round(seconds, 1),
        "processes": state.num_processes,
        "peak GiB": round(_peak_gib(), 2),
        "epochs": len(reranker.training_curve) - 1 if reranker.training_curve else None,
        "curve": reranker.training_curve,
        "mix": reranker.weight,
        **means,
        "gains over stage one": gains,
    }
    write_text(folder / "deep.json", json.dumps(deep) + "\n")
    write_text(folder / "result.json", json.dumps(result, indent=1) + "\n")
    return result


def _peak_gib() -> float:
    """Return the largest memory in use so far, in GiB: the GPU's, or without one the process's."""
    if torch.cuda.is_available():
        return torch.cuda.max_memory_allocated() / 2**30
    return peak_gibibytes()


def train_on_bundle(
    path: Path, config: Config, out: Path, progress: Progress = ignore_progress
) -> dict[str, Any] | None:
    """Train the configured reranker on the bundle in a file, and save it in ``out/encoder``.

    Return the result of ``train``.
    """
    bundle = read_bundle(path)
    reranker = EncoderReranker.from_config(config)
    vectors = out / f"vectors-{process_state().process_index}.sqlite"
    result = train(reranker, bundle, out, config.run.seed, vectors, bundle, progress)
    if result is not None:
        reranker.save(out / "encoder")
    return result
