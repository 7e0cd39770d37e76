"""The term reranker: vectors of the project's own terms, learned from its fixed reports; no pretrained encoder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar, Final, Self

from tosloc.config import Config, TermsSettings
from tosloc.errors import ToslocError, require
from tosloc.records import Progress, silent
from tosloc.reranking.base import Candidates, Reranked, Reranker, RerankingContext, TrainingSet
from tosloc.reranking.terms.dual_encoder import CachedDualEncoder
from tosloc.reranking.terms.file_vectors import FileVectors, counts_of
from tosloc.reranking.terms.model import TermModel

MATCHES: Final = 3
"""Words of the report that a reason names."""


class TermReranker(Reranker):
    """Adds what a dual encoder of term vectors, and a combiner over it, say of the first files."""

    name: ClassVar = "terms"
    says: ClassVar = "read again by its words"

    def __init__(self, settings: TermsSettings) -> None:
        self.settings = settings
        self.model_: TermModel | None = None
        self._validation_model: TermModel | None = None
        self._working: tuple[RerankingContext, FileVectors, CachedDualEncoder] | None = None

    @classmethod
    def configured(cls, config: Config) -> Self:
        """Untrained; the combiner learns as the configured learned ranker does. Raises MissingExtra without torch."""
        require("learning term vectors", "encoder", "torch")
        return cls(config.stage_two.terms)

    @classmethod
    def of(cls, model: TermModel) -> Self:
        """A reranker that has learned."""
        made = cls(model.settings)
        made._take(model)
        return made

    def _take(self, model: TermModel) -> None:
        self.model_, self.weight, self.validation_ = model, model.weight, model.validation
        self.learned_on, self.trained_until = model.learned_on, model.trained_until

    @property
    def model(self) -> TermModel:
        """What was learned. Raises ToslocError before ``fit`` or ``load``."""
        if self.model_ is None:
            raise ToslocError("this reranker has learned nothing yet; call fit, or load a checkpoint")
        return self.model_

    @property
    def depth(self) -> int:
        """How many of the first files it scores."""
        return self.settings.candidates

    @property
    def for_validation(self) -> TermReranker:
        """This one as it was before it learned from the validation reports."""
        if self._validation_model is None or self._validation_model is self.model_:
            return self
        made = TermReranker.of(self._validation_model)
        if self._working is not None:  # the files' sparse vectors are the same
            context, vectors, _ = self._working
            made._working = context, vectors, CachedDualEncoder(self._validation_model.encoder)
        return made

    def fit(
        self,
        training_set: TrainingSet,
        context: RerankingContext,
        folder: Path,
        *,
        seed: int,
        progress: Progress = silent,
    ) -> Self:
        """Learn on train, take it or leave it by validation, then learn from both for what comes later."""
        from tosloc.reranking.terms.fitting import fit_terms  # torch, only to learn

        self._validation_model, model, vectors = fit_terms(
            self.settings, training_set, context, seed=seed, progress=progress
        )
        self._take(model)
        self._working = context, vectors, CachedDualEncoder(model.encoder)
        return self

    def rerank(
        self, candidates: Iterable[Candidates], context: RerankingContext, progress: Progress = silent
    ) -> Iterator[Reranked | None]:
        """New scores: stage one's, and what term vectors and combiner add."""
        model = self.model
        for one in candidates:
            if not len(one) or not self.may_score(one.opened):
                yield None
                continue
            vectors, encoder = self._at(context)
            [rows] = vectors.rows([one])
            report = vectors.reports([counts_of(one.report)])
            component_scores = encoder.component_scores(
                report, vectors.contents, rows.contents, vectors.histories, rows.histories
            )

            def matches(position: int, one: Candidates = one) -> Sequence[tuple[str, str]]:
                return self._matches(one, position, context)

            yield Reranked(one.scores + model.added(component_scores, one.features), matches)

    def _at(self, context: RerankingContext) -> tuple[FileVectors, CachedDualEncoder]:
        """The files' sparse vectors of a context, and the dual encoder with what it made of them; the last are kept."""
        if self._working is None or self._working[0] is not context:
            vectors = FileVectors(self.model.vocabulary, self.settings, context)
            self._working = context, vectors, CachedDualEncoder(self.model.encoder)
        return self._working[1], self._working[2]

    def _matches(self, one: Candidates, position: int, context: RerankingContext) -> list[tuple[str, str]]:
        vectors, _ = self._at(context)
        [rows] = vectors.rows([one])
        terms = self.model.vocabulary.terms
        found = self.model.encoder.matches(
            vectors.reports([counts_of(one.report)]),
            vectors.contents.take(rows.contents[[position]]),
            vectors.histories.take(rows.histories[[position]]),
            MATCHES,
        )
        return [(terms[match.asked], terms[match.found]) for match in found]

    def save(self, folder: Path) -> None:
        """Write what was learned."""
        self.model.save(folder)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """What ``save`` wrote. Raises CheckpointError."""
        return cls.of(TermModel.load(folder))
