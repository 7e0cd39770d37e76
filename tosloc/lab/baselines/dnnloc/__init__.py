"""DNNLOC: six features of a report and a file, one of them learned by a network, combined by another network.

Lam, Nguyen, Nguyen, Nguyen: Bug localization with combination of deep learning and information retrieval, ICPC 2017
(docs/method.md, section B.8). No code of the authors is public: layer sizes, activations, epochs and vocabularies are
ours, and there is no ``upstream`` profile. ``relevancy_share`` of the training reports, the older, teaches phi1, the
rest the combiner, which would otherwise trust a phi1 that has seen its answers. ``wrong_files`` and ``calibration`` are
chosen for each project by MAP on validation: where text is weak the published hardest files teach the combiner to
distrust it, and the pairs' phi2 is not distributed like a whole version's. The projections are not learned further.

Shapes in this package: B blobs, F files of a version, N paths, R labelled reports, V terms, P pairs of a report and a
file, H width of a projection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, get_args

import numpy as np
from scipy import sparse

from tosloc.errors import ToslocError
from tosloc.lab.baselines.context import BaselineContext, BaselineQuery
from tosloc.lab.baselines.dnnloc.features import DnnlocFeatures, TermWeighting
from tosloc.lab.baselines.dnnloc.networks import (
    Calibration,
    Combiner,
    DnnlocSettings,
    Relevancy,
    WrongFiles,
    autoencoder,
    weighted_loss,
)
from tosloc.lab.baselines.training import (
    LearnedBaseline,
    Training,
    fixed_positions,
    in_batches,
    mean_average_precision,
    weights_of,
)
from tosloc.records import BugReport, Case, Float32Array, FloatArray, IntArray, LongArray, Progress, silent

if TYPE_CHECKING:
    import torch

_FILE: Final = "fitted.pt"


@dataclass(eq=False)
class LabelledFiles:
    """One report with files of its version: for training the fixed and the wrong ones, for validation all."""

    report: BugReport
    rows: IntArray
    """(P,) rows of blobs, -1 for a file that could not be read."""
    features: Float32Array
    """(P, 5) phi2 to phi6."""
    fixed: LongArray
    relevant: int


class Dnnloc(LearnedBaseline):
    """DNNLOC (Lam et al. 2017)."""

    name: ClassVar[str] = "dnnloc"
    Settings: ClassVar = DnnlocSettings

    settings: DnnlocSettings

    def __init__(self, settings: DnnlocSettings, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(settings, context, seed)
        self.features = DnnlocFeatures(context)
        self._fitted: tuple[Relevancy, Combiner] | None = None

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) the combiner's value before its sigmoid, which would make many of them equal."""
        if self._fitted is None:
            raise ToslocError("DNNLOC has to be fitted before it can rank")
        relevancy, combiner = self._fitted
        [table] = self._tables(relevancy, [self._all_files(query)])
        return combiner.scores(combiner.scaled(table))

    def fit(self, train: Sequence[Case], validation: Sequence[Case], folder: Path, progress: Progress = silent) -> None:
        """Learn projections, phi1 and combiner; a folder that holds them already is read."""
        training = self.training(train, validation, folder, progress)
        self._fitted = self._load(training)
        if self._fitted is not None:
            return
        cases, stop_by = training.cases, training.validation
        if len(cases) < 2 or not stop_by:
            raise ToslocError("DNNLOC needs two training reports and one for validation whose fixed files exist")
        settings = self.settings
        wrongs = get_args(WrongFiles) if settings.wrong_files == "chosen" else (settings.wrong_files,)
        calibrations = get_args(Calibration) if settings.calibration == "chosen" else (settings.calibration,)
        pairs = [self._pairs(case, wrongs, training, number) for number, case in enumerate(cases, start=1)]
        lists: list[LabelledFiles] = []
        for case in stop_by:
            lists.append(self._all_files(self.context.query(case.report, case.version), case.fixed))
            progress("features for validation", len(lists), len(stop_by))
        older = min(max(int(settings.relevancy_share * len(cases)), 1), len(cases) - 1)
        relevancy = self._projections(train, training)
        projected = weights_of(relevancy.network)
        tried: dict[str, float] = {}
        for wrong in wrongs:
            relevancy.network.load_state_dict(projected)
            of_kind = [by_kind[wrong] for by_kind in pairs]
            self._fit_relevancy(f"relevancy, {wrong}", relevancy, of_kind[:older], lists, training)
            for calibration in calibrations:
                name = f"{wrong}, {calibration}"
                combiner, score = self._fit_combiner(name, calibration, relevancy, of_kind[older:], lists, training)
                if not tried or score > max(tried.values()):
                    best = weights_of(relevancy.network), combiner
                    self.choice = {"wrong files": wrong, "calibration": calibration, "MAP": tried}
                tried[name] = score
        weights, combiner = best
        relevancy.network.load_state_dict(weights)
        relevancy.forget()
        self._fitted = relevancy, combiner
        self._save(training, relevancy, combiner)

    def _pairs(
        self, case: Case, wrongs: Sequence[WrongFiles], training: Training, number: int
    ) -> dict[WrongFiles, LabelledFiles]:
        """The fixed files of a training report and some wrong ones, by the kind of these."""
        query = self.context.query(case.report, case.version)
        features = self.features.of(query)
        fixed = fixed_positions(query, case.fixed)
        among_chosen = np.arange(len(fixed), dtype=np.int64)
        found: dict[WrongFiles, LabelledFiles] = {}
        for wrong in wrongs:
            drawn = np.random.default_rng([self.seed, number]).random(len(features))
            similarity = features[:, 0] if wrong == "hardest" else drawn
            order = np.argsort(-similarity, kind="stable")  # of equal ones the first
            chosen = np.concatenate([fixed, order[~np.isin(order, fixed)][: self.settings.negatives]])
            rows, of_chosen = query.version.rows[chosen], features[chosen].astype(np.float32)
            found[wrong] = LabelledFiles(case.report, rows, of_chosen, among_chosen, len(case.fixed))
        training.progress("features for training", number, len(training.cases))
        return found

    def _all_files(self, query: BaselineQuery, fixed: Sequence[str] = ()) -> LabelledFiles:
        features = self.features.of(query).astype(np.float32)
        return LabelledFiles(query.report, query.version.rows, features, fixed_positions(query, fixed), len(fixed))

    def _tables(self, relevancy: Relevancy, reports: Sequence[LabelledFiles]) -> list[Float32Array]:
        """(P, 6) phi1 to phi6 of each report's files."""
        projected = relevancy.project_reports([self.features.terms(one.report) for one in reports])
        tables: list[Float32Array] = []
        for report_H, one in zip(projected, reports, strict=True):
            phi1 = relevancy.of_rows(report_H, one.rows, self.features.counts)
            tables.append(np.column_stack([phi1, one.features]).astype(np.float32))
        return tables

    def _projections(self, train: Sequence[Case], training: Training) -> Relevancy:
        """phi1's network, of which only the projections have learned: the training reports, first and last version."""
        files, row_of_report = self.context.files, self.context.fix_history.row_of_report
        reports = np.unique(np.array([row_of_report[case.report.id] for case in train], dtype=np.int64))
        chosen = np.zeros(len(files), dtype=np.bool_)
        for case in (training.cases[0], training.cases[-1]):
            rows = self.context.version(case.version).rows
            chosen[rows[rows >= 0]] = True
        blobs = np.array(files.rows_by_blob(chosen), dtype=np.int64)
        settings, of_reports, of_code = self.settings, self.features.reports, self.features.counts
        report = TermWeighting.of(of_reports, reports, settings.report_terms)
        code = TermWeighting.of(of_code, blobs, settings.code_terms, 0.5)
        relevancy = Relevancy(self.seed, settings, report, code, training.device)
        sides = {
            "report": ("reports", report.matrix(of_reports)[reports]),
            "code": ("code", code.matrix(of_code)[blobs]),
        }
        for side, (what, vectors) in sides.items():
            layer, size = relevancy.network[side], settings.projection_batch
            coder, epoch = autoencoder(self.seed, layer, sparse.csr_array(vectors), size)
            training.learn(coder, f"projection of {what}", epoch, None, epochs=settings.projection_epochs)
        return relevancy

    def _fit_relevancy(
        self,
        name: str,
        relevancy: Relevancy,
        pairs: Sequence[LabelledFiles],
        lists: Sequence[LabelledFiles],
        training: Training,
    ) -> None:
        import torch

        settings, features, device = self.settings, self.features, relevancy.device
        files_BH = relevancy.project_files(features.counts)
        reports_RH = relevancy.project_reports([features.terms(one.report) for one in pairs])
        stop_by_RH = relevancy.project_reports([features.terms(one.report) for one in lists])
        all_rows = np.concatenate([one.rows for one in pairs])
        readable = np.flatnonzero(all_rows >= 0)
        rows = all_rows[readable].astype(np.int64)
        reports = np.repeat(np.arange(len(pairs)), [len(one.rows) for one in pairs])[readable]
        loss_of = weighted_loss(_labels(pairs)[readable], device)

        def loss(batch: LongArray) -> torch.Tensor:
            files_PH = files_BH[torch.from_numpy(rows[batch]).to(device)]
            reports_PH = reports_RH[torch.from_numpy(reports[batch]).to(device)]
            return loss_of(relevancy.logits(reports_PH, files_PH), batch)

        def validate() -> float:
            relevancy.forget()
            return mean_average_precision(
                (relevancy.of_rows(report_H, one.rows, features.counts), one.fixed, one.relevant)
                for report_H, one in zip(stop_by_RH, lists, strict=True)
            )

        epoch = in_batches(len(rows), settings.relevancy_batch, loss)
        training.learn(relevancy.above_projections, name, epoch, validate, epochs=settings.relevancy_epochs)
        relevancy.forget()

    def _fit_combiner(
        self,
        name: str,
        calibration: Calibration,
        relevancy: Relevancy,
        pairs: Sequence[LabelledFiles],
        lists: Sequence[LabelledFiles],
        training: Training,
    ) -> tuple[Combiner, float]:
        import torch

        settings, device = self.settings, training.device
        table, of_lists = np.concatenate(self._tables(relevancy, pairs)), self._tables(relevancy, lists)
        ranged = [table] if calibration == "pairs" else of_lists
        low = np.min([one.min(axis=0) for one in ranged if len(one)], axis=0).astype(np.float64)
        high = np.max([one.max(axis=0) for one in ranged if len(one)], axis=0).astype(np.float64)
        combiner = Combiner.build(low, high, settings.combiner_hidden, self.seed, device)
        values = torch.from_numpy(combiner.scaled(table)).to(device)
        loss_of = weighted_loss(_labels(pairs), device)
        scaled_lists = [combiner.scaled(one) for one in of_lists]

        def loss(batch: LongArray) -> torch.Tensor:
            return loss_of(combiner.network(values[torch.from_numpy(batch).to(device)]).squeeze(-1), batch)

        def validate() -> float:
            return mean_average_precision(
                (combiner.scores(scaled), one.fixed, one.relevant)
                for scaled, one in zip(scaled_lists, lists, strict=True)
            )

        score = training.learn(
            combiner.network,
            f"combiner, {name}",
            in_batches(len(table), settings.combiner_batch, loss),
            validate,
            epochs=settings.combiner_epochs,
            weight_decay=settings.weight_decay,
        )
        return combiner, score

    def _save(self, training: Training, relevancy: Relevancy, combiner: Combiner) -> None:
        sides = [(list(one.terms), one.idf.tolist()) for one in (relevancy.report, relevancy.code)]
        values = {"sides": sides, "range": [combiner.low.tolist(), combiner.high.tolist()], "choice": self.choice}
        values |= {"relevancy": weights_of(relevancy.network), "combiner": weights_of(combiner.network)}
        training.save(_FILE, values)

    def _load(self, training: Training) -> tuple[Relevancy, Combiner] | None:
        stored = training.load(_FILE)
        if stored is None:
            return None
        self.choice = stored["choice"]
        report, code = (TermWeighting(tuple(terms), np.array(idf)) for terms, idf in stored["sides"])
        relevancy = Relevancy(self.seed, self.settings, report, code, training.device)
        relevancy.network.load_state_dict(stored["relevancy"])
        low, high = map(np.array, stored["range"])
        combiner = Combiner.build(low, high, self.settings.combiner_hidden, self.seed, training.device)
        combiner.network.load_state_dict(stored["combiner"])
        return relevancy, combiner


def _labels(reports: Sequence[LabelledFiles]) -> Float32Array:
    """(P,) 1 for a fixed file, over the files of all reports."""
    labels = [np.zeros(len(one.rows), dtype=np.float32) for one in reports]
    for of_report, one in zip(labels, reports, strict=True):
        of_report[one.fixed] = 1.0
    return np.concatenate(labels)
