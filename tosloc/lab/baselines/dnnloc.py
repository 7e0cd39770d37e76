"""DNNLOC: six features of a report and a file, one of them by a network, combined by another one.

Lam, Nguyen, Nguyen, Nguyen: Bug localization with combination of deep learning and information
retrieval, ICPC 2017 (docs/method.md, section B.8). No code of the authors is public; the section
says which choices are ours. The older training reports train the network phi1, and the newer ones
train the combiner; otherwise the combiner would trust phi1 too much on reports that phi1 was
trained on. The kind of wrong files and the calibration are selected for each project by MAP on
validation.

Shapes: B blobs, F files of a version, V terms, P pairs of a report and a file, R reports, H width
of a projection.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar, Final

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from tosloc.core.arrays import Float32Array, FloatArray, IntArray, LongArray
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import Case
from tosloc.lab.baselines import training
from tosloc.lab.baselines.context import BaselineContext, BaselineQuery
from tosloc.lab.baselines.dnnloc_features import DnnlocFeatures, TermWeighting, report_terms
from tosloc.lab.baselines.training import DEVICE
from tosloc.lab.baselines.vsm import count_terms
from tosloc.lab.tracking import track

WRONG_FILE_KINDS: Final = ("hardest", "random")
"""Kinds of wrong files to learn from: the most similar by phi2 (paper), or random ones (ours)."""
CALIBRATIONS: Final = ("pairs", "versions")
"""Sources of the range of each feature.

They are the training pairs, or all files of the validation reports' versions.
"""
MAX_POSITIVE_WEIGHT: Final = 50.0
"""Largest weight of a right pair relative to a wrong one: section B.8.5."""


@dataclass(frozen=True)
class DnnlocSettings(training.LearningSettings):
    """The settings of DNNLOC.

    All are our choices, except the number of wrong files of a report (docs/method.md, section B.8).
    """

    negatives: int = 300
    """Wrong files of each report: paper."""
    report_terms: int = 5_000
    """Number of terms of reports, the most frequent ones in all training reports.

    Each must occur in at least two of the reports.
    """
    code_terms: int = 10_000
    """Number of terms of code, the most frequent ones in the files of two training versions.

    The versions are the first and the last. Each term may occur in at most half of the files.
    """
    projection: int = 600
    """Width of a projection."""
    projection_epochs: int = 10
    projection_batch: int = 256
    relevancy_share: float = 0.6
    """Share of the training reports, the oldest, that train phi1; the others train the combiner."""
    relevancy_hidden: tuple[int, int] = (600, 300)
    relevancy_epochs: int = 20
    relevancy_batch: int = 512
    combiner_hidden: int = 300
    """Width of the combiner's hidden layer; a re-implementation saw no difference from 100 to
    1,000."""
    combiner_epochs: int = 50
    combiner_batch: int = 1_024
    weight_decay: float = 1e-5
    """Weight decay of the combiner."""


@dataclass(frozen=True, eq=False)
class LabelledFiles:
    """One report with files of its version.

    For training these are the fixed files followed by some wrong files; for validation all files.
    """

    report_H: Tensor
    """(H,) projection of the report."""
    rows: IntArray
    """(P,) rows of the files' blobs, -1 for a file that could not be read."""
    features: Float32Array
    """(P, 5) phi2 to phi6, later (P, 6) with phi1 before them."""
    fixed: LongArray
    """Positions of the fixed files."""
    relevant: int
    """Number of relevant files."""


class Relevancy(nn.Module):
    """The network that computes phi1, the relevancy of a file to a report.

    It consists of projections of report and code, a first layer over both, which is computed in two
    halves, and the layers above.
    """

    def __init__(
        self, report_terms: int, code_terms: int, projection: int, hidden: tuple[int, int]
    ) -> None:
        super().__init__()
        first, second = hidden
        self.report = nn.Linear(report_terms, projection)
        self.code = nn.Linear(code_terms, projection)
        self.report_half = nn.Linear(projection, first)
        self.code_half = nn.Linear(projection, first, bias=False)
        self.above = nn.Sequential(nn.Linear(first, second), nn.ReLU(), nn.Linear(second, 1))

    def forward(self, reports_PH: Tensor, code_halves: Tensor) -> Tensor:
        """Return (P,) logits of pairs of a report and a file.

        ``reports_PH`` are the projections of the pairs' reports, and ``code_halves`` (P, first
        layer) the outputs of the code's half of the first layer.
        """
        first_layer = torch.relu(self.report_half(reports_PH) + code_halves)
        logits: Tensor = self.above(first_layer).squeeze(-1)
        return logits

    @torch.no_grad()
    def phi1(self, files: LabelledFiles, code_halves: Tensor) -> FloatArray:
        """Return (P,) phi1 of a report's files; 0 for a file that could not be read.

        ``code_halves`` (B, first layer) is the output of the code's half of the first layer for all
        blobs.
        """
        distinct_rows, inverse = np.unique(files.rows, return_inverse=True)
        logits = self(files.report_H, code_halves[distinct_rows.clip(0)])
        values = torch.sigmoid(logits).cpu().numpy().astype(np.float64)
        values[distinct_rows < 0] = 0.0
        return values[inverse]

    def with_phi1(
        self, reports: Sequence[LabelledFiles], code_halves: Tensor
    ) -> list[LabelledFiles]:
        """Return the same reports and files with all six features."""
        complete: list[LabelledFiles] = []
        for files in reports:
            features = np.column_stack([self.phi1(files, code_halves), files.features])
            complete.append(replace(files, features=features.astype(np.float32)))
        return complete


@dataclass(eq=False)
class Combiner:
    """The network over all six features, with the range of each feature."""

    low: FloatArray
    """(6,) lower end of each feature's range."""
    high: FloatArray
    """(6,) upper end of each feature's range."""
    network: Any

    def scale(self, features: Float32Array) -> Tensor:
        """Return (P, 6) features scaled to 0..1 by their ranges; an empty range gives 0."""
        span = self.high - self.low
        scaled = np.where(span > 0, (features - self.low) / np.where(span > 0, span, 1.0), 0.0)
        return torch.from_numpy(np.clip(scaled, 0.0, 1.0).astype(np.float32)).to(DEVICE)

    @torch.no_grad()
    def scores(self, files: LabelledFiles) -> FloatArray:
        """Return (P,) scores of a report's files, before the sigmoid.

        They are rounded, so that equal files get equal scores wherever they are in the batch.
        """
        logits = self.network(self.scale(files.features)).squeeze(-1)
        rounded: FloatArray = np.round(logits.cpu().numpy().astype(np.float64), 5)
        return rounded


def weighted_loss(labels: Float32Array) -> Callable[[Tensor, LongArray], Tensor]:
    """Return the loss of a batch's logits, given the batch's indices into the labels.

    It is the binary cross-entropy in which all right pairs together weigh as much as all wrong
    pairs. The weight of one right pair is at most ``MAX_POSITIVE_WEIGHT``.
    """
    right = float(labels.sum())
    balance = (len(labels) - right) / max(right, 1.0)
    weight = torch.tensor(min(balance, MAX_POSITIVE_WEIGHT), device=DEVICE)
    loss = nn.BCEWithLogitsLoss(pos_weight=weight)
    targets = torch.from_numpy(labels).to(DEVICE)
    return lambda logits, batch: loss(logits, targets[batch])


def pair_labels(reports: Sequence[LabelledFiles]) -> Float32Array:
    """Return (P,) 1 for a fixed file, else 0, over the files of all reports."""
    labels = [np.isin(np.arange(len(files.rows)), files.fixed) for files in reports]
    return np.concatenate(labels).astype(np.float32)


def join_features(reports: Sequence[LabelledFiles]) -> Float32Array:
    """Return the features of the files of all reports, one row for each pair."""
    return np.concatenate([files.features for files in reports])


@dataclass(frozen=True, eq=False)
class FittedNetworks:
    """The trained networks of DNNLOC."""

    relevancy: Relevancy
    code_halves: Tensor
    """(B, first layer) output of the code's half of the first layer for all blobs."""
    combiner: Combiner


class Dnnloc(training.LearnedBaseline):
    """DNNLOC (Lam et al. 2017)."""

    name: ClassVar[str] = "dnnloc"
    settings: ClassVar[DnnlocSettings] = DnnlocSettings()
    _fitted: FittedNetworks
    _report_projection: tuple[TermWeighting, nn.Linear]

    def __init__(self, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(context, seed)
        self.features = DnnlocFeatures(context)

    def scores(self, query: BaselineQuery) -> FloatArray:
        """Return (F,) the combiner's logits; after its sigmoid, many of them would be equal."""
        fitted = self._fitted
        [files] = fitted.relevancy.with_phi1([self._all_files(query)], fitted.code_halves)
        return fitted.combiner.scores(files)

    def fit(
        self,
        train: Sequence[Case],
        validation: Sequence[Case],
        progress: Progress = ignore_progress,
    ) -> None:
        """Train the projections, then phi1 and the combiner for each kind of wrong files.

        The combination of wrong files and calibration with the best MAP on validation is kept; of
        equally good combinations the first.
        """
        train_cases, stop_cases = self.select_cases(train, validation)
        projecting, code_BH = self._fit_projections(train, train_cases)
        pairs_by_kind: dict[str, list[LabelledFiles]] = {kind: [] for kind in WRONG_FILE_KINDS}
        tracked_cases = track(train_cases, "computing training features", progress)
        for number, case in enumerate(tracked_cases, start=1):
            for kind, files in self._sample_pairs(case, number).items():
                pairs_by_kind[kind].append(files)
        tracked_cases = track(stop_cases, "computing validation features", progress)
        validation_files = [self._labelled_files(case) for case in tracked_cases]
        older = int(self.settings.relevancy_share * len(train_cases))
        older = min(max(older, 1), len(train_cases) - 1)
        map_by_name: dict[str, float] = {}
        for kind, pairs in pairs_by_kind.items():
            relevancy = copy.deepcopy(projecting)
            self._fit_relevancy(
                f"training the relevancy model, {kind}",
                relevancy,
                code_BH,
                pairs[:older],
                validation_files,
                progress,
            )
            with torch.no_grad():
                code_halves = relevancy.code_half(code_BH)
            newer = relevancy.with_phi1(pairs[older:], code_halves)
            complete = relevancy.with_phi1(validation_files, code_halves)
            for calibration in CALIBRATIONS:
                name = f"{kind}, {calibration}"
                combiner = self._build_combiner(newer if calibration == "pairs" else complete)
                best_map = self._fit_combiner(
                    f"training the combiner, {name}", combiner, newer, complete, progress
                )
                if not map_by_name or best_map > max(map_by_name.values()):
                    self._fitted = FittedNetworks(relevancy, code_halves, combiner)
                    self.choice = {
                        "wrong files": kind,
                        "calibration": calibration,
                        "MAP": map_by_name,
                    }
                map_by_name[name] = best_map

    def _sample_pairs(self, case: Case, number: int) -> dict[str, LabelledFiles]:
        """Return kind of wrong files -> fixed files of a training report with some wrong files."""
        files = self._labelled_files(case)
        random_keys = np.random.default_rng([self.seed, number]).random(len(files.rows))
        sort_keys: dict[str, FloatArray | Float32Array] = {
            "hardest": files.features[:, 0],
            "random": random_keys,
        }
        pairs: dict[str, LabelledFiles] = {}
        for kind in WRONG_FILE_KINDS:
            order = np.argsort(-sort_keys[kind], kind="stable")
            wrong = order[~np.isin(order, files.fixed)][: self.settings.negatives]
            selected = np.concatenate([files.fixed, wrong])
            pairs[kind] = replace(
                files,
                rows=files.rows[selected],
                features=files.features[selected],
                fixed=np.arange(len(files.fixed)),
            )
        return pairs

    def _labelled_files(self, case: Case) -> LabelledFiles:
        """Return a labelled report with all files of its version."""
        return self._all_files(self.context.query(case.report, case.before_commit), case.fixed)

    def _all_files(self, query: BaselineQuery, fixed: Sequence[str] = ()) -> LabelledFiles:
        """Return a report with all files of its version; ``fixed`` are the paths of fixed files."""
        weighting, layer = self._report_projection
        vocabulary = dict(self.features.report_counts.vocabulary)
        counts = count_terms([report_terms(query.report)], vocabulary)
        with torch.no_grad():
            vector = torch.from_numpy(weighting.vectors(counts).toarray()[0]).to(DEVICE)
            report_H = torch.sigmoid(layer(vector))
        return LabelledFiles(
            report_H=report_H,
            rows=query.version.rows,
            features=self.features.compute(query).astype(np.float32),
            fixed=training.fixed_positions(query, fixed),
            relevant=len(fixed),
        )

    def _fit_projections(
        self, train: Sequence[Case], cases: Sequence[Case]
    ) -> tuple[Relevancy, Tensor]:
        """Train the projections; return phi1's network, and (B, H) its projections of all blobs.

        No other part of the network is trained yet. The projections learn to reconstruct (by mean
        squared error) the training reports, and the files of the first and the last version.
        """
        settings = self.settings
        row_of_report = self.context.fix_history.row_of_report
        report_rows = np.unique([row_of_report[case.report.id] for case in train])
        blob_rows = self._blob_rows((cases[0], cases[-1]))
        report_counts = self.features.report_counts
        report_weighting = TermWeighting.select(report_counts, report_rows, settings.report_terms)
        code_weighting = TermWeighting.select(
            self.features.counts, blob_rows, settings.code_terms, max_share=0.5
        )

        def build() -> Relevancy:
            return Relevancy(
                len(report_weighting.columns),
                len(code_weighting.columns),
                settings.projection,
                settings.relevancy_hidden,
            )

        network: Relevancy = training.build_seeded(self.seed, build)
        code_vectors = code_weighting.vectors(self.features.counts)
        self._autoencode(network.report, report_weighting.vectors(report_counts)[report_rows])
        self._autoencode(network.code, code_vectors[blob_rows])
        self._report_projection = (report_weighting, network.report)
        with torch.no_grad():
            # SciPy's product of a sparse matrix needs far less memory than a dense one would.
            products = code_vectors @ network.code.weight.cpu().numpy().T
            code_BH = torch.sigmoid(torch.from_numpy(products).to(DEVICE) + network.code.bias)
        return network, code_BH

    def _blob_rows(self, cases: Sequence[Case]) -> LongArray:
        """Return the rows, in the order of blob ids, of the blobs of the cases' versions."""
        mask = np.zeros(len(self.context.files), dtype=np.bool_)
        for case in cases:
            rows = self.context.version(case.before_commit).rows
            mask[rows[rows >= 0]] = True
        return np.array(self.context.files.rows_in_blob_order(mask), dtype=np.int64)

    def _autoencode(self, layer: nn.Linear, vectors: sparse.csr_array) -> None:
        """Train a projection as the encoder of an autoencoder of vectors (P, V), then freeze it.

        The decoder is thrown away.
        """
        decoder = training.build_seeded(
            self.seed, lambda: nn.Linear(layer.out_features, layer.in_features)
        )
        autoencoder = nn.Sequential(layer, nn.Sigmoid(), decoder)

        def batch_loss(batch: LongArray) -> Tensor:
            target = torch.from_numpy(vectors[batch].toarray()).to(DEVICE)
            return nn.functional.mse_loss(autoencoder(target), target)

        losses = training.train_epochs(
            autoencoder, vectors.shape[0], self.settings.projection_batch, batch_loss, self.seed
        )
        for _ in islice(losses, self.settings.projection_epochs):
            pass
        layer.requires_grad_(False)

    def _fit_relevancy(
        self,
        name: str,
        network: Relevancy,
        code_BH: Tensor,
        pairs: Sequence[LabelledFiles],
        validation_files: Sequence[LabelledFiles],
        progress: Progress,
    ) -> None:
        """Train phi1's network on the pairs whose file could be read."""
        reports_RH = torch.stack([files.report_H for files in pairs])
        all_rows = np.concatenate([files.rows for files in pairs])
        all_reports = np.repeat(np.arange(len(pairs)), [len(files.rows) for files in pairs])
        readable = np.flatnonzero(all_rows >= 0)
        rows = all_rows[readable]
        reports = all_reports[readable]
        loss = weighted_loss(pair_labels(pairs)[readable])

        def batch_loss(batch: LongArray) -> Tensor:
            code_halves = network.code_half(code_BH[rows[batch]])
            return loss(network(reports_RH[reports[batch]], code_halves), batch)

        @torch.no_grad()
        def validate() -> float:
            code_halves = network.code_half(code_BH)
            return training.mean_average_precision(
                (network.phi1(files, code_halves), files.fixed, files.relevant)
                for files in validation_files
            )

        losses = training.train_epochs(
            network, len(rows), self.settings.relevancy_batch, batch_loss, self.seed
        )
        training.train_until_best(
            network, losses, self.settings.relevancy_epochs, validate, name, progress
        )

    def _build_combiner(self, reports: Sequence[LabelledFiles]) -> Combiner:
        """Return an untrained combiner, with the ranges of the features in ``reports``."""
        hidden = self.settings.combiner_hidden
        features = join_features(reports).astype(np.float64)
        network = training.build_seeded(
            self.seed, lambda: nn.Sequential(nn.Linear(6, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        )
        return Combiner(features.min(axis=0), features.max(axis=0), network)

    def _fit_combiner(
        self,
        name: str,
        combiner: Combiner,
        pairs: Sequence[LabelledFiles],
        validation_files: Sequence[LabelledFiles],
        progress: Progress,
    ) -> float:
        """Train a combiner on pairs, and return its best MAP on validation."""
        settings = self.settings
        network = combiner.network
        scaled = combiner.scale(join_features(pairs))
        loss = weighted_loss(pair_labels(pairs))

        def batch_loss(batch: LongArray) -> Tensor:
            return loss(network(scaled[batch]).squeeze(-1), batch)

        def validate() -> float:
            return training.mean_average_precision(
                (combiner.scores(files), files.fixed, files.relevant) for files in validation_files
            )

        losses = training.train_epochs(
            network,
            len(scaled),
            settings.combiner_batch,
            batch_loss,
            self.seed,
            settings.weight_decay,
        )
        return training.train_until_best(
            network, losses, settings.combiner_epochs, validate, name, progress
        )
