"""DNNLOC: six features of a report and a file, one of them learned by a network, combined by another network.

Lam, Nguyen, Nguyen, Nguyen: Bug localization with combination of deep learning and information retrieval, ICPC 2017
(docs/method.md, section B.8, also of what is ours, as no code of the authors is public). The older training reports
teach phi1, the newer ones the combiner, which would otherwise trust a phi1 that has seen its answers. Wrong files and
calibration are chosen for each project by MAP on validation.

Shapes: B blobs, F files of a version, V terms, P pairs of a report and a file, H width of a projection.
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

from tosloc.core.records import (
    Case,
    Float32Array,
    FloatArray,
    IntArray,
    LongArray,
    Progress,
    ignore_progress,
    track,
)
from tosloc.lab.baselines import training
from tosloc.lab.baselines.context import BaselineContext, BaselineQuery
from tosloc.lab.baselines.dnnloc_features import DnnlocFeatures, TermWeighting, report_terms
from tosloc.lab.baselines.training import DEVICE
from tosloc.lab.baselines.vsm import count

WRONG_FILES: Final = (
    "hardest",
    "random",
)  # that the networks learn from: most similar by phi2 (paper), any (ours)
CALIBRATIONS: Final = (
    "pairs",
    "versions",
)  # range of each feature: of the pairs, of all files of validation versions
POSITIVE_WEIGHT_LIMIT: Final = 50.0  # most that a right pair may weigh against a wrong one


@dataclass(frozen=True)
class DnnlocSettings(training.LearningSettings):
    """What DNNLOC is set to. All but the wrong files of a report is ours (docs/method.md, section B.8)."""

    negatives: int = 300  # wrong files of each report: paper
    report_terms: int = 5_000  # most frequent terms of all training reports, in 2 or more
    code_terms: int = 10_000  # of the files of the first and the last version learned from, in at most half of them
    projection: int = 600
    projection_epochs: int = 10
    projection_batch: int = 256
    relevancy_share: float = (
        0.6  # older part of the training reports, for phi1; the newer rest teaches the combiner
    )
    relevancy_hidden: tuple[int, int] = (600, 300)
    relevancy_epochs: int = 20
    relevancy_batch: int = 512
    combiner_hidden: int = 300  # a re-implementation: 100 to 1,000 made no visible difference
    combiner_epochs: int = 50
    combiner_batch: int = 1_024
    weight_decay: float = 1e-5  # of the combiner


@dataclass(frozen=True, eq=False)
class LabelledFiles:
    """One report with files of its version: for training the fixed and the wrong ones, for validation all."""

    report_H: Tensor  # Its projection
    rows: IntArray  # (P,) rows of blobs, -1 for a file that could not be read
    features: Float32Array  # (P, 5) phi2 to phi6, later (P, 6) with phi1 before them
    fixed: LongArray
    relevant: int


class Relevancy(nn.Module):
    """phi1's network: projections of report and code, the first layer over both in its halves, and the layers above."""

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
        """(P,) logits of pairs."""
        logits: Tensor = self.above(torch.relu(self.report_half(reports_PH) + code_halves)).squeeze(
            -1
        )
        return logits

    @torch.no_grad()
    def phi1(self, one: LabelledFiles, code_halves: Tensor) -> FloatArray:
        """(P,) of a report's files; 0 for one that could not be read."""
        distinct, back = np.unique(one.rows, return_inverse=True)
        logits = self(one.report_H, code_halves[distinct.clip(0)])
        values = torch.sigmoid(logits).cpu().numpy().astype(np.float64)
        values[distinct < 0] = 0.0
        return values[back]

    def with_phi1(self, parts: Sequence[LabelledFiles], code_halves: Tensor) -> list[LabelledFiles]:
        """The same reports and files with all six features."""
        tables = (np.column_stack([self.phi1(one, code_halves), one.features]) for one in parts)
        return [
            replace(one, features=six.astype(np.float32))
            for one, six in zip(parts, tables, strict=True)
        ]


@dataclass(eq=False)
class Combiner:
    """The network over all features, with the range of each."""

    low: FloatArray
    high: FloatArray
    network: Any

    def scaled(self, features: Float32Array) -> Tensor:
        """(P, 6) features between 0 and 1; one whose range is a point is 0."""
        span = self.high - self.low
        scaled = np.where(span > 0, (features - self.low) / np.where(span > 0, span, 1.0), 0.0)
        return torch.from_numpy(np.clip(scaled, 0.0, 1.0).astype(np.float32)).to(DEVICE)

    @torch.no_grad()
    def scores(self, one: LabelledFiles) -> FloatArray:
        """(P,) scores before the sigmoid, rounded so that equal files stay equal wherever they stand in the table."""
        logits = self.network(self.scaled(one.features)).squeeze(-1)
        rounded: FloatArray = np.round(logits.cpu().numpy().astype(np.float64), 5)
        return rounded


def weighted_loss(labels: Float32Array) -> Callable[[Tensor, LongArray], Tensor]:
    """Binary cross entropy in which right pairs weigh as much as all wrong ones, within a limit."""
    right = float(labels.sum())
    weight = torch.tensor(
        min((len(labels) - right) / max(right, 1.0), POSITIVE_WEIGHT_LIMIT), device=DEVICE
    )
    loss, targets = nn.BCEWithLogitsLoss(pos_weight=weight), torch.from_numpy(labels).to(DEVICE)
    return lambda logits, batch: loss(logits, targets[batch])


def labels_of(parts: Sequence[LabelledFiles]) -> Float32Array:
    """(P,) 1 for a fixed file, over the files of all reports."""
    return np.concatenate([np.isin(np.arange(len(one.rows)), one.fixed) for one in parts]).astype(
        np.float32
    )


class Dnnloc(training.LearnedBaseline):
    """DNNLOC (Lam et al. 2017)."""

    name: ClassVar[str] = "dnnloc"
    settings: ClassVar[DnnlocSettings] = DnnlocSettings()
    _fitted: tuple[Relevancy, Tensor, Combiner]
    """phi1's network, (B, first layer) what it makes of all blobs, and the combiner."""
    _projections: tuple[TermWeighting, nn.Linear]  # Of reports

    def __init__(self, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(context, seed)
        self.features = DnnlocFeatures(context)

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) the combiner's value before its sigmoid, which would make many of them equal."""
        relevancy, halves, combiner = self._fitted
        return combiner.scores(*relevancy.with_phi1([self._files(query)], halves))

    def fit(
        self,
        train: Sequence[Case],
        validation: Sequence[Case],
        progress: Progress = ignore_progress,
    ) -> None:
        """Learn projections, phi1 and combiner."""
        cases, stop_by = self.chosen(train, validation)
        projected, code_BH = self._projected(train, cases)
        numbered = enumerate(track(cases, "features for training", progress), start=1)
        pairs = [self._pairs(case, number) for number, case in numbered]
        lists = list(map(self._labelled, track(stop_by, "features for validation", progress)))
        older = min(max(int(self.settings.relevancy_share * len(cases)), 1), len(cases) - 1)
        tried: dict[str, float] = {}
        for wrong in WRONG_FILES:
            relevancy, of_kind = copy.deepcopy(projected), [by_kind[wrong] for by_kind in pairs]
            self._fit_relevancy(
                f"relevancy, {wrong}", relevancy, code_BH, of_kind[:older], lists, progress
            )
            with torch.no_grad():
                halves = relevancy.code_half(code_BH)
            newer, whole = (
                relevancy.with_phi1(parts, halves) for parts in (of_kind[older:], lists)
            )
            for calibration in CALIBRATIONS:
                name = f"{wrong}, {calibration}"
                combiner = self._combiner(newer if calibration == "pairs" else whole)
                score = self._fit_combiner(f"combiner, {name}", combiner, newer, whole, progress)
                if not tried or score > max(tried.values()):
                    self._fitted = relevancy, halves, combiner
                    self.choice = {"wrong files": wrong, "calibration": calibration, "MAP": tried}
                tried[name] = score

    def _pairs(self, case: Case, number: int) -> dict[str, LabelledFiles]:
        """The fixed files of a training report and some wrong ones, by the kind of these."""
        one = self._labelled(case)
        drawn = np.random.default_rng([self.seed, number]).random(len(one.rows))
        found: dict[str, LabelledFiles] = {}
        for wrong in WRONG_FILES:
            by = one.features[:, 0] if wrong == "hardest" else drawn
            order = np.argsort(-by, kind="stable")  # of equal ones the first
            chosen = np.concatenate(
                [one.fixed, order[~np.isin(order, one.fixed)][: self.settings.negatives]]
            )
            rows, features, fixed = (
                one.rows[chosen],
                one.features[chosen],
                np.arange(len(one.fixed)),
            )
            found[wrong] = replace(one, rows=rows, features=features, fixed=fixed)
        return found

    def _labelled(self, case: Case) -> LabelledFiles:
        return self._files(self.context.query(case.report, case.version), case.fixed)

    def _files(self, query: BaselineQuery, fixed: Sequence[str] = ()) -> LabelledFiles:
        """A report with all files of its version."""
        weights, layer = self._projections
        counts = count([report_terms(query.report)], dict(self.features.reports.vocabulary))
        with torch.no_grad():
            vector = torch.from_numpy(weights.vectors(counts).toarray()[0]).to(DEVICE)
            report_H = torch.sigmoid(layer(vector))
        positions = training.fixed_positions(query, fixed)
        features = self.features.of(query).astype(np.float32)
        return LabelledFiles(report_H, query.version.rows, features, positions, len(fixed))

    def _projected(self, train: Sequence[Case], cases: Sequence[Case]) -> tuple[Relevancy, Tensor]:
        """phi1's network, of which only the projections have learned, and (B, H) its projections of all blobs.

        They learn to give back (mean squared error) the training reports, and the files of the first and last version.
        """
        settings, features, files = self.settings, self.features, self.context.files
        row_of_report = self.context.fix_history.row_of_report
        reports = np.unique([row_of_report[case.report.id] for case in train])
        chosen = np.zeros(len(files), dtype=np.bool_)
        for case in (cases[0], cases[-1]):
            rows = self.context.version(case.version).rows
            chosen[rows[rows >= 0]] = True
        blobs = np.array(files.rows_by_blob(chosen), dtype=np.int64)
        report_weights = TermWeighting.of(features.reports, reports, settings.report_terms)
        code_weights = TermWeighting.of(features.counts, blobs, settings.code_terms, 0.5)
        widths = len(report_weights.columns), len(code_weights.columns), settings.projection
        network: Relevancy = training.seeded(
            self.seed, lambda: Relevancy(*widths, settings.relevancy_hidden)
        )
        of_code = code_weights.vectors(features.counts)
        self._autoencode(network.report, report_weights.vectors(features.reports)[reports])
        self._autoencode(network.code, of_code[blobs])
        self._projections = report_weights, network.report
        with torch.no_grad():
            made = of_code @ network.code.weight.cpu().numpy().T
            return network, torch.sigmoid(torch.from_numpy(made).to(DEVICE) + network.code.bias)

    def _autoencode(self, layer: nn.Linear, vectors: sparse.csr_array) -> None:
        """Have a projection learn from vectors (P, V), with a way back that is then forgotten; it learns no further."""
        decoder = training.seeded(
            self.seed, lambda: nn.Linear(layer.out_features, layer.in_features)
        )
        coder = nn.Sequential(layer, nn.Sigmoid(), decoder)

        def loss(batch: LongArray) -> Tensor:
            target = torch.from_numpy(vectors[batch].toarray()).to(DEVICE)
            return nn.functional.mse_loss(coder(target), target)

        losses = training.passes(
            coder, vectors.shape[0], self.settings.projection_batch, loss, self.seed
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
        lists: Sequence[LabelledFiles],
        progress: Progress,
    ) -> None:
        settings, reports_RH = self.settings, torch.stack([one.report_H for one in pairs])
        rows = np.concatenate([one.rows for one in pairs])
        readable = np.flatnonzero(rows >= 0)
        rows, reports = (
            rows[readable],
            np.repeat(np.arange(len(pairs)), [len(one.rows) for one in pairs])[readable],
        )
        loss_of = weighted_loss(labels_of(pairs)[readable])

        def loss(batch: LongArray) -> Tensor:
            halves = network.code_half(code_BH[rows[batch]])
            return loss_of(network(reports_RH[reports[batch]], halves), batch)

        @torch.no_grad()
        def validate() -> float:
            halves = network.code_half(code_BH)
            return training.mean_average_precision(
                (network.phi1(one, halves), one.fixed, one.relevant) for one in lists
            )

        losses = training.passes(network, len(rows), settings.relevancy_batch, loss, self.seed)
        training.train_until_best(
            network, losses, settings.relevancy_epochs, validate, name, progress
        )

    def _combiner(self, parts: Sequence[LabelledFiles]) -> Combiner:
        """One that has not learned; the ranges of its features are those of the parts."""
        table, hidden = (
            np.concatenate([one.features for one in parts]).astype(np.float64),
            self.settings.combiner_hidden,
        )
        network = training.seeded(
            self.seed, lambda: nn.Sequential(nn.Linear(6, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        )
        return Combiner(table.min(axis=0), table.max(axis=0), network)

    def _fit_combiner(
        self,
        name: str,
        combiner: Combiner,
        pairs: Sequence[LabelledFiles],
        lists: Sequence[LabelledFiles],
        progress: Progress,
    ) -> float:
        """Its best MAP on validation."""
        settings, network = self.settings, combiner.network
        values = combiner.scaled(np.concatenate([one.features for one in pairs]))
        loss_of = weighted_loss(labels_of(pairs))

        def loss(batch: LongArray) -> Tensor:
            return loss_of(network(values[batch]).squeeze(-1), batch)

        def validate() -> float:
            return training.mean_average_precision(
                (combiner.scores(one), one.fixed, one.relevant) for one in lists
            )

        passes = training.passes(
            network, len(values), settings.combiner_batch, loss, self.seed, settings.weight_decay
        )
        return training.train_until_best(
            network, passes, settings.combiner_epochs, validate, name, progress
        )
