"""The term reranker: vectors of the project's own terms, learned from its fixed reports; no pretrained encoder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np
import safetensors.numpy

from tosloc.core.config import Config
from tosloc.core.errors import ToslocError, require
from tosloc.core.io import atomic_write, read_regular_file, write_text
from tosloc.core.records import FloatArray, Progress, ignore_progress
from tosloc.rerank.base import (
    Candidates,
    Matches,
    Reranked,
    Reranker,
    RerankingContext,
    TrainingSet,
    mrr_and_map_by_weight,
)
from tosloc.rerank.terms.sparse_vectors import (
    FILE_SIDES,
    SIDES,
    DualEncoder,
    SparseVectors,
    Vocabulary,
    report_counts,
    stacked,
)

_TRAINING_DEPTH: Final = 150  # training draws wrong files from so many first ones
WEIGHTS: Final = (0.2, 0.4, 0.6, 0.8, 1.0)
"""Weights of its score beside stage one's, of which validation takes one, or none."""
_MARGIN: Final = (
    0.002  # MRR + MAP on validation by which both stages must lead stage one: less is chance
)
_MATCHES: Final = 3  # words of the report that a reason names
_VECTORS: Final = "vectors.safetensors"
_IDFS: Final = ("in_files", "in_reports", "in_commits", "in_fixes")


class TermReranker(Reranker):
    """Adds what a dual encoder of term vectors says of the first files."""

    name: ClassVar = "terms"
    depth = 100

    _vocabulary: Vocabulary
    _encoder: DualEncoder
    _vectors: SparseVectors | None = None

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Untrained. Raises MissingExtra without torch."""
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
        """Learn on train what stage one's linear score leaves over; validation takes it or leaves it. The score before
        the learned ranker, which knows the training reports too well. Raises ToslocError.
        """
        from tosloc.rerank.terms.training import Lessons, fit_dual_encoder, start_vectors  # torch

        of_train = training_set.candidates(
            "train", _TRAINING_DEPTH, for_training=True, by_linear_score=True
        )
        train = [listed for listed in of_train if listed.fixed.any()]
        if all(listed.fixed.all() for listed in train):
            raise ToslocError(
                "no training report has both fixed and wrong candidates; the second stage cannot learn"
            )
        self.trained_until = max(listed.fixed_at for listed in train)
        counts = [report_counts(listed.report) for listed in train]
        newest = {
            path: blob
            for listed in train
            for path, blob in zip(listed.paths, listed.blobs, strict=True)
        }
        self._vocabulary = vocabulary = Vocabulary.learned(
            context, newest, counts, self.trained_until
        )
        self._vectors = vectors = SparseVectors(vocabulary, context)
        lessons = Lessons(
            vectors.of_reports(counts), train, list(map(vectors.of_candidates, train))
        )
        contents = stacked(vectors.of_contents(list(newest.items())), len(vocabulary))
        start = start_vectors(lessons, contents, seed)
        self._encoder = fit_dual_encoder(start, lessons, seed=seed, progress=progress)
        self._choose(list(training_set.candidates("validation", self.depth)), context)
        return self

    def _choose(self, validation: Sequence[Candidates], context: RerankingContext) -> None:
        """Take the weight that gains most; none where it gains less than a margin, or a measure falls."""
        added = [
            self._reranked(one.without_labels(), context)[0]
            if len(one) and one.opened >= self.trained_until
            else np.zeros(len(one))
            for one in validation
        ]
        tried = mrr_and_map_by_weight(validation, added, (0.0, *WEIGHTS))
        self.validation_results = {
            f"weight {weight:g}" if weight else "stage one": found
            for weight, found in tried.items()
        }
        gains = np.round(np.array([tried[weight] for weight in WEIGHTS]) - tried[0.0], 9)
        total = np.where(gains.min(axis=1) >= 0, gains.sum(axis=1), 0.0)
        self.weight = WEIGHTS[int(total.argmax())] if total.max() > _MARGIN else 0.0

    def answer(
        self,
        candidates: Candidates,
        context: RerankingContext,
        progress: Progress = ignore_progress,
    ) -> Reranked:
        """New scores: stage one's, and what term vectors add."""
        added, matches = self._reranked(candidates, context)
        return Reranked(candidates.scores + self.weight * added, matches)

    def _reranked(
        self, listed: Candidates, context: RerankingContext
    ) -> tuple[FloatArray, Matches]:
        """(C,) what term vectors say of a report's candidates, and by which terms."""
        vocabulary, encoder = self._vocabulary, self._encoder
        if self._vectors is None or self._vectors.context is not context:
            self._vectors = SparseVectors(vocabulary, context)
        vectors = self._vectors
        report = vectors.of_reports([report_counts(listed.report)])
        files = {
            side: stacked(some, len(vocabulary))
            for side, some in vectors.of_candidates(listed).items()
        }

        def matches(position: int) -> Sequence[tuple[str, str]]:
            file = {side: files[side][[position]] for side in FILE_SIDES}
            found = encoder.matches(report, file, _MATCHES)
            return [(vocabulary.terms[asked], vocabulary.terms[answer]) for asked, answer in found]

        return encoder.scores(report, files), matches

    def save(self, folder: Path) -> None:
        """Write what was learned."""
        arrays = {name: getattr(self._vocabulary, name) for name in _IDFS}
        arrays |= {side: self._encoder.tables[side].astype(np.float16) for side in SIDES}
        with atomic_write(folder / _VECTORS) as temporary:
            temporary.write_bytes(safetensors.numpy.save(arrays))
        record = self.learned() | {"gains": self._encoder.gains, "terms": self._vocabulary.terms}
        write_text(
            folder / f"{self.name}.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n"
        )

    @classmethod
    def read(cls, record: Mapping[str, Any], folder: Path) -> Self:
        """What ``save`` wrote."""
        arrays = safetensors.numpy.load(read_regular_file(folder / _VECTORS))
        vocabulary = Vocabulary(tuple(map(str, record["terms"])), *(arrays[name] for name in _IDFS))
        tables, gains = {side: arrays[side].astype(np.float32) for side in SIDES}, record["gains"]
        shapes = {array.shape[:1] for array in arrays.values()} | {(len(vocabulary.ids),)}
        if len(shapes) > 1 or len({table.shape[1:] for table in tables.values()}) > 1:
            raise ValueError("terms and vectors do not fit together")
        made = cls()
        made._vocabulary = vocabulary
        made._encoder = DualEncoder(tables, {side: float(gains[side]) for side in FILE_SIDES})
        return made
