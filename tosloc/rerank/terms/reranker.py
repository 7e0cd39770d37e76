"""The term reranker: vectors of a project's terms, learned from its fixed reports.

It needs no pretrained encoder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
import safetensors.numpy

from tosloc.core.arrays import FloatArray
from tosloc.core.config import Config
from tosloc.core.errors import ToslocError, require
from tosloc.core.io import atomic_write, read_regular_file, write_text
from tosloc.core.progress import Progress, ignore_progress
from tosloc.rerank.base import (
    Candidates,
    Matches,
    Reranked,
    Reranker,
    RerankingContext,
    TrainingSet,
    mrr_and_map_by_weight,
    weight_name,
)
from tosloc.rerank.terms.sparse_vectors import (
    FILE_SIDES,
    SIDES,
    DualEncoder,
    SparseVectors,
    Vocabulary,
    report_counts,
    stack_vectors,
)

_TRAINING_DEPTH: Final = 150
"""Number of first files from which training draws wrong files."""
WEIGHTS: Final = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Weights of the reranker's score, beside stage one's, among which validation chooses.

Validation may also choose 0.
"""
_MIN_GAIN: Final = 0.002
"""Smallest gain in MRR + MAP on validation for which both stages are preferred to stage one.

A smaller gain may be chance.
"""
_MATCHES_PER_REASON: Final = 3
_VECTORS_FILE: Final = "vectors.safetensors"
_IDF_NAMES: Final = ("in_files", "in_reports", "in_commits", "in_fixes")


class TermReranker(Reranker):
    """A reranker that adds the similarity of report and file in a dual encoder of term vectors."""

    name: ClassVar = "terms"
    depth = 100

    _vocabulary: Vocabulary
    _encoder: DualEncoder
    _vectors: SparseVectors | None = None

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Return an untrained reranker. Raises MissingExtra without torch."""
        require("learning term vectors", "encoder", "torch")
        return cls()

    def fit(
        self,
        training_set: TrainingSet,
        context: RerankingContext,
        folder: Path,
        seed: int,
        progress: Progress = ignore_progress,
    ) -> Self:
        """Learn from train the part of relevance that stage one's linear score does not explain.

        The linear score is used because stage one's learned ranker has seen the training reports.
        Validation chooses the weight, which may be 0. Raises ToslocError.
        """
        # imports torch, which only training needs
        from tosloc.rerank.terms.training import (
            TrainingData,
            fit_dual_encoder,
            initial_term_vectors,
        )

        train = []
        for candidates in training_set.candidates(
            "train", _TRAINING_DEPTH, for_training=True, by_linear_score=True
        ):
            if candidates.fixed.any():
                train.append(candidates)
        if all(candidates.fixed.all() for candidates in train):
            raise ToslocError(
                "no training report has both fixed and wrong candidates; "
                "the second stage cannot learn"
            )
        self.trained_until = max(candidates.fixed_at for candidates in train)
        counts = [_counts(candidates, context) for candidates in train]
        newest_blobs: dict[str, str] = {}
        for candidates in train:
            newest_blobs.update(zip(candidates.paths, candidates.blobs, strict=True))
        vocabulary = Vocabulary.from_training(context, newest_blobs, counts, self.trained_until)
        vectors = SparseVectors(vocabulary, context)
        data = TrainingData(
            vectors.report_vectors(counts), train, list(map(vectors.candidate_vectors, train))
        )
        content_vectors = vectors.content_vectors(list(newest_blobs.items()))
        contents = stack_vectors(content_vectors, len(vocabulary))
        start = initial_term_vectors(data, contents, seed)
        self._vocabulary = vocabulary
        self._vectors = vectors
        self._encoder = fit_dual_encoder(start, data, seed=seed, progress=progress)
        self._choose_weight(list(training_set.candidates("validation", self.depth)), context)
        return self

    def _choose_weight(self, validation: Sequence[Candidates], context: RerankingContext) -> None:
        """Set the weight that gains most in MRR + MAP on validation.

        The weight is 0 if the gain is too small, or if MRR or MAP falls.
        """
        added = [self._scores_on_validation(candidates, context) for candidates in validation]
        results = mrr_and_map_by_weight(validation, added, (0.0, *WEIGHTS))
        self.validation_results = {
            weight_name(weight): result for weight, result in results.items()
        }
        gains = np.round(np.array([results[weight] for weight in WEIGHTS]) - results[0.0], 9)
        total_gains = np.where(gains.min(axis=1) >= 0, gains.sum(axis=1), 0.0)
        self.weight = 0.0
        if total_gains.max() > _MIN_GAIN:
            self.weight = WEIGHTS[int(total_gains.argmax())]

    def _scores_on_validation(
        self, candidates: Candidates, context: RerankingContext
    ) -> FloatArray:
        """Return (C,) scores without stage one's.

        They are 0 for a report that was opened before the last fix that was learned from.
        """
        if len(candidates) == 0 or candidates.opened < self.trained_until:
            return np.zeros(len(candidates))
        scores, _ = self._score_by_terms(candidates.without_labels(), context)
        return scores

    def score(
        self,
        candidates: Candidates,
        context: RerankingContext,
        progress: Progress = ignore_progress,
    ) -> Reranked:
        """Return stage one's scores + weight * the scores of term vectors."""
        added, matches = self._score_by_terms(candidates, context)
        return Reranked(candidates.scores + self.weight * added, matches)

    def _score_by_terms(
        self, candidates: Candidates, context: RerankingContext
    ) -> tuple[FloatArray, Matches]:
        """Return (C,) the scores of term vectors, and the terms that explain them."""
        vocabulary = self._vocabulary
        encoder = self._encoder
        if self._vectors is None or self._vectors.context is not context:
            self._vectors = SparseVectors(vocabulary, context)
        report = self._vectors.report_vectors([_counts(candidates, context)])
        files = {}
        for side, vectors in self._vectors.candidate_vectors(candidates).items():
            files[side] = stack_vectors(vectors, len(vocabulary))

        def matches(position: int) -> Sequence[tuple[str, str]]:
            file = {side: files[side][[position]] for side in FILE_SIDES}
            terms = []
            for report_term, file_term in encoder.matches(report, file, _MATCHES_PER_REASON):
                terms.append((vocabulary.terms[report_term], vocabulary.terms[file_term]))
            return terms

        return encoder.scores(report, files), matches

    def save(self, folder: Path) -> None:
        """Write everything that was learned to a folder."""
        arrays = {name: getattr(self._vocabulary, name) for name in _IDF_NAMES}
        for side in SIDES:
            arrays[side] = self._encoder.tables[side].astype(np.float16)
        with atomic_write(folder / _VECTORS_FILE) as temporary:
            temporary.write_bytes(safetensors.numpy.save(arrays))
        record = self.training_record()
        record["gains"] = self._encoder.gains
        record["terms"] = self._vocabulary.terms
        text = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
        write_text(folder / f"{self.name}.json", text)

    @classmethod
    def from_record(cls, record: Mapping[str, Any], folder: Path) -> Self:
        """Return the reranker that ``save`` wrote."""
        arrays = safetensors.numpy.load(read_regular_file(folder / _VECTORS_FILE))
        terms = tuple(map(str, record["terms"]))
        vocabulary = Vocabulary(terms, *(arrays[name] for name in _IDF_NAMES))
        lengths = {array.shape[:1] for array in arrays.values()}
        widths = {arrays[side].shape[1:] for side in SIDES}
        if lengths != {(len(vocabulary.id_by_term),)} or len(widths) > 1:
            raise ValueError("terms and vectors do not match")
        reranker = cls()
        reranker._vocabulary = vocabulary
        reranker._encoder = DualEncoder(
            {side: arrays[side].astype(np.float32) for side in SIDES},
            {side: float(record["gains"][side]) for side in FILE_SIDES},
        )
        return reranker


def _counts(candidates: Candidates, context: RerankingContext) -> Mapping[str, float]:
    """Return term of the candidates' report -> its weighted count."""
    report = candidates.report
    return report_counts(report, context.form_lines(report, candidates.commit))
