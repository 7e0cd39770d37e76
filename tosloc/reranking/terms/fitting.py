"""How the term reranker learns: terms and start vectors of train, a dual encoder, a combiner; validation decides.

Letters in shapes: V terms with the padding, C candidates of a report, d width.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from scipy import sparse

from tosloc.config import TermsSettings
from tosloc.errors import ToslocError
from tosloc.index.documents import DocumentsView
from tosloc.metrics import fixed_ranks, rr_and_ap
from tosloc.records import Float32Array, FloatArray, Progress, silent
from tosloc.reranking.base import Candidates, RerankingContext, TrainingSet
from tosloc.reranking.terms.combiner import fit_combiner, out_of_fold_predictions
from tosloc.reranking.terms.dual_encoder import CachedDualEncoder, DualEncoder
from tosloc.reranking.terms.file_vectors import LOADED, CandidateRows, FileVectors, counts_of
from tosloc.reranking.terms.model import TermModel
from tosloc.reranking.terms.sparse_vectors import SparseVectors, principal
from tosloc.reranking.terms.training import DualEncoderTrainingSet, LabelledRows, fit_dual_encoder
from tosloc.reranking.terms.vocabulary import TermVocabulary

_WEIGHTS: Final = (0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
"""Weights of the component scores that validation measures too, without the combiner."""
_MARGIN: Final = 0.002
"""MRR + MAP on validation by which both stages must lead stage one."""
STAGE_ONE: Final = "stage one"
BOTH: Final = "both stages"
JOINED: Final = 10
"""Fixed files of a training report whose contents join it when term vectors begin."""


def fit_terms(
    settings: TermsSettings,
    training_set: TrainingSet,
    context: RerankingContext,
    *,
    seed: int,
    progress: Progress = silent,
) -> tuple[TermModel, TermModel, FileVectors]:
    """Learn on train, ask validation whether it gains, and where the settings say so learn again on both.

    Returns what has not seen validation, to rank it by, what ranks whatever comes later, and the files' sparse vectors.
    Terms, their frequencies and the start vectors are those of train, of which only the newest reports count where the
    settings say how many. Raises ToslocError where no training report can teach anything.
    """
    learner = _Learner(settings, training_set, context, seed, progress)
    combiner = None
    if settings.combiner_weight:
        predictions = out_of_fold_predictions(
            learner.train, lambda number: learner.fit(number, learner.start(number)), learner.predict
        )
        combiner = fit_combiner(learner.train, predictions, seed=seed, weight=settings.combiner_weight)
    everything = len(learner.train)
    start = learner.start(everything)
    model = TermModel(
        settings,
        learner.vectors.vocabulary,
        learner.fit(everything, start),
        weight=settings.weight,
        combiner=combiner,
        trained_until=last_fix(learner.train),
    )
    model = replace(
        model,
        validation=measured_on_validation(
            model, training_set.candidates("validation", settings.candidates), learner.vectors
        ),
    )
    if not gains(model.validation):
        model = replace(model, weight=0.0, combiner=None)
    if not settings.refit or not model.weight:
        return model, model, learner.vectors
    later = learner.useful("validation")
    learner.add(later)
    refitted = replace(
        model,
        encoder=learner.fit(len(learner.lists), start),
        learned_on=(*model.learned_on, "validation"),
        trained_until=max(model.trained_until, last_fix(later)),
    )
    return model, refitted, learner.vectors


class _Learner:
    """The training reports with the sparse vectors of all that stands in them."""

    def __init__(
        self,
        settings: TermsSettings,
        training_set: TrainingSet,
        context: RerankingContext,
        seed: int,
        progress: Progress,
    ) -> None:
        self.settings, self.context, self.seed, self.progress = settings, context, seed, progress
        self.training_set = training_set
        self.train = self.useful("train")[-settings.train_reports :]
        if not self.train:
            raise ToslocError("no training report has a fixed file; the second stage cannot learn")
        self.counts = [counts_of(one.report) for one in self.train]
        progress("terms of files and reports", 0, 2)
        vocabulary = vocabulary_of(settings, context, self.train, self.counts)
        self.vectors = FileVectors(vocabulary, settings, context)
        progress("terms of files and reports", 1, 2)
        self.lists = labelled_rows(self.train, self.vectors)
        self.reports = self.vectors.reports(self.counts)
        progress("terms of files and reports", 2, 2)

    def useful(self, part: str) -> list[Candidates]:
        """The reports of a part that hold a fixed file."""
        depth = self.settings.depth
        of_part = self.training_set.candidates(part, depth, for_training=True, by_linear_score=True)
        return [one for one in of_part if one.fixed.any()]

    def add(self, later: Sequence[Candidates]) -> None:
        """Go on with further reports."""
        self.lists += [replace(one, report=len(self.counts) + one.report) for one in labelled_rows(later, self.vectors)]
        self.reports = self.vectors.reports([*self.counts, *(counts_of(one.report) for one in later)])

    def start(self, number: int) -> Float32Array:
        """(V, d) start vectors of the first so many training reports."""
        some = newest_files(self.train[:number])
        reports = self.reports.take(np.arange(number))
        return start_vectors(self.settings, self.vectors, some, self.lists[:number], reports, self.seed)

    def fit(self, number: int, start: Float32Array) -> DualEncoder:
        """Dual encoder of the first so many reports."""
        known = DualEncoderTrainingSet(self.reports, self.vectors.contents, self.vectors.histories, self.lists[:number])
        return fit_dual_encoder(self.settings, start, known, seed=self.seed, progress=self.progress)

    def predict(self, encoder: CachedDualEncoder, number: int) -> FloatArray:
        """(C, 2) component scores of the n-th training report's candidates."""
        one = self.lists[number]
        return component_scores(encoder, self.vectors, self.reports.take(np.array([one.report])), one.rows)


def labelled_rows(candidates: Sequence[Candidates], vectors: FileVectors) -> list[LabelledRows]:
    """Candidates as rows of ``vectors``; report r is the r-th of them."""
    rows = vectors.rows(candidates)
    return [
        LabelledRows(number, of_files, one.fixed, one.scores)
        for number, (one, of_files) in enumerate(zip(candidates, rows, strict=True))
    ]


def component_scores(
    encoder: CachedDualEncoder, vectors: FileVectors, report: SparseVectors, rows: CandidateRows
) -> FloatArray:
    """(C, 2) what a dual encoder says of a report's candidates, by content and by history."""
    return encoder.component_scores(report, vectors.contents, rows.contents, vectors.histories, rows.histories)


def last_fix(candidates: Sequence[Candidates]) -> int:
    """When the last of the reports was fixed, seconds since 1970; 0 without any."""
    return max((one.fixed_at for one in candidates), default=0)


def newest_files(candidates: Sequence[Candidates]) -> tuple[list[str], list[str]]:
    """Blobs and paths of the newest version of each file among the candidates, in the order of the paths' numbers."""
    newest: dict[int, tuple[str, str]] = {}
    for one in candidates:
        newest.update(zip(one.path_ids.tolist(), zip(one.blobs, one.paths, strict=True), strict=True))
    files = [newest[number] for number in sorted(newest)]
    return [blob for blob, _ in files], [path for _, path in files]


def vocabulary_of(
    settings: TermsSettings,
    context: RerankingContext,
    candidates: Sequence[Candidates],
    counts: Sequence[Mapping[str, float]],
) -> TermVocabulary:
    """The terms that count, by the newest training version of each file, the training reports, and history then."""
    assert context.facts is not None
    assert context.history is not None
    facts = context.facts
    blobs, paths = newest_files(candidates)
    tables = (
        facts(blobs[start : start + LOADED], paths[start : start + LOADED])[0] for start in range(0, len(paths), LOADED)
    )
    history = context.history.as_of(last_fix(candidates))
    return TermVocabulary.learned(
        tables,
        paths,
        counts,
        idf_of(history.commits),
        idf_of(history.reports),
        min_files=settings.min_files,
        min_reports=settings.min_reports,
    )


def idf_of(view: DocumentsView) -> dict[str, float]:
    """Inverse document frequency of each known term, and under "" that of an unknown one."""
    unknown = float(np.log1p((view.number + 0.5) / 0.5))
    return dict(zip(view.documents.vocabulary, view.idf.tolist(), strict=True)) | {"": unknown}


def start_vectors(
    settings: TermsSettings,
    vectors: FileVectors,
    newest: tuple[list[str], list[str]],
    lists: Sequence[LabelledRows],
    reports: SparseVectors,
    seed: int,
) -> Float32Array:
    """(V, d) vectors by which files, reports, and reports joined with their fixed files are told apart best."""
    terms = len(vectors.vocabulary)
    rows = vectors.content_rows(*newest)
    contents, asked = vectors.contents.matrix(terms), reports.matrix(terms)
    fixed = [one.rows.contents[np.flatnonzero(one.fixed)[:JOINED]] for one in lists]
    starts = np.cumsum([0, *map(len, fixed)])
    shares = np.repeat([1.0 / max(len(some), 1) for some in fixed], np.diff(starts))
    mean = sparse.csr_array((shares, np.concatenate(fixed), starts), shape=(len(lists), contents.shape[0]))
    return principal(
        sparse.vstack((contents[rows], asked, asked + mean @ contents), format="csr"), settings.width, seed
    )


def measured_on_validation(
    model: TermModel, validation: Iterable[Candidates], vectors: FileVectors
) -> dict[str, tuple[float, float]]:
    """MRR and MAP of stage one, of both stages, and of some weights of the component scores without the combiner."""
    sums: dict[str, FloatArray] = {}
    reports, encoder = 0, CachedDualEncoder(model.encoder)
    for one in validation:
        scores, added = np.zeros((len(one), 2)), np.zeros(len(one))
        if one.opened >= model.trained_until:
            [rows] = vectors.rows([one])
            scores = component_scores(encoder, vectors, vectors.reports([counts_of(one.report)]), rows)
            added = model.added(scores, one.features)
        reports += 1
        alone = {f"vectors x {weight:g}": weight * scores.sum(axis=1) for weight in _WEIGHTS}
        for name, more in {STAGE_ONE: np.zeros(len(one)), BOTH: added, **alone}.items():
            ranks = [*fixed_ranks(one.scores + more, one.fixed).tolist(), *one.missed_ranks]
            sums[name] = sums.get(name, np.zeros(2)) + rr_and_ap(ranks)
    return {name: (float(pair[0]) / max(reports, 1), float(pair[1]) / max(reports, 1)) for name, pair in sums.items()}


def gains(validation: Mapping[str, tuple[float, float]] | None) -> bool:
    """Whether both stages gain on stage one in MRR + MAP by more than a margin, and lose in neither.

    One weight for every project and a yes or no of its own: some hundred reports cannot tell the best of several.
    """
    if not validation:
        return False
    gain = np.round(np.subtract(validation[BOTH], validation[STAGE_ONE]), 9)
    return bool(gain.min() >= 0 and gain.sum() > _MARGIN)
