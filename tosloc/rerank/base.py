"""Stage two: the contract of rerankers, which score the first files anew, and the one record of a report's candidates.

Shapes: C candidates of a report.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self, TypeAlias

import numpy as np

from tosloc.core.errors import CheckpointError, require
from tosloc.core.io import parse_json, read_regular_file
from tosloc.core.metrics import fixed_ranks, rr_and_ap
from tosloc.core.records import (
    BoolArray,
    BugReport,
    FloatArray,
    IntArray,
    LongArray,
    Progress,
    ignore_progress,
)
from tosloc.retrieval.corpus import Corpus
from tosloc.retrieval.history_index import HistoryAsOf, HistoryIndex

if TYPE_CHECKING:
    from tosloc.core.config import Config

FactSource: TypeAlias = Callable[[Mapping[str, str]], Corpus]
"""Blobs, each with a path of it -> what has the facts of those that are known."""
TextSource: TypeAlias = Callable[[Sequence[str]], Iterable[tuple[str, str | None]]]
"""Blobs -> each with its text, None for one that cannot be read."""
Matches: TypeAlias = Callable[[int], Sequence[tuple[str, str]]]
"""Position -> terms of the report that bring the candidate most, each with the file's term that answers it best."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The first files of stage one's ranking for one report, in its order: what a reranker scores anew. What is known
    of the fix is for training and measuring alone; without it no file is fixed. All but the version, the full id of the
    searched one, have shape (C,).
    """

    report: BugReport
    version: str
    paths: tuple[str, ...]
    blobs: tuple[str, ...]
    path_ids: IntArray  # numbers of the paths in the history index
    scores: FloatArray  # stage one's, never increasing
    fixed: BoolArray
    missed_ranks: tuple[
        int, ...
    ] = ()  # ranks of the fixed files beyond the candidates, which keep their places
    relevant: int = 0  # all fixed files of the report
    fixed_at: int = (
        0  # when the fix was committed, seconds since 1970; 0 for a report that nobody has fixed
    )

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def opened(self) -> float:
        """When the report was opened, seconds since 1970."""
        return self.report.opened_seconds

    def without_labels(self) -> Self:
        """The same without what is known of the fix: what a reranker gets to score."""
        return replace(
            self, fixed=np.zeros_like(self.fixed), missed_ranks=(), relevant=0, fixed_at=0
        )

    def take(self, positions: LongArray) -> Self:
        """Some of the candidates, in the order of their positions."""
        paths, blobs = (
            tuple(some[place] for place in positions) for some in (self.paths, self.blobs)
        )
        scores, fixed = self.scores[positions], self.fixed[positions]
        return replace(
            self,
            paths=paths,
            blobs=blobs,
            path_ids=self.path_ids[positions],
            scores=scores,
            fixed=fixed,
        )

    def head(self, depth: int) -> Self:
        """The first ``depth`` candidates; fixed files after them are missed."""
        lost = tuple((np.flatnonzero(self.fixed[depth:]) + depth + 1).tolist())
        return replace(
            self.take(np.arange(len(self))[:depth]), missed_ranks=(*lost, *self.missed_ranks)
        )


def rr_and_ap_reranked(candidates: Candidates, scores: FloatArray) -> tuple[float, float]:
    """Reciprocal rank and average precision of the candidates reordered by ``scores`` (C,), the rest in its places.
    Equal scores keep stage one's order. A report without fixed files counts 0.
    """
    ranks = [*fixed_ranks(scores, candidates.fixed).tolist(), *candidates.missed_ranks]
    return rr_and_ap(ranks, candidates.relevant, add=sum)


def mrr_and_map(
    candidates: Sequence[Candidates], scores: Iterable[FloatArray]
) -> tuple[float, float]:
    """MRR and MAP of the candidates reordered by scores (C,) of each report, over all reports."""
    values = [
        rr_and_ap_reranked(listed, row) for listed, row in zip(candidates, scores, strict=True)
    ]
    mrr, map_ = (
        (math.fsum(column) / len(values) for column in zip(*values, strict=True))
        if values
        else (0.0, 0.0)
    )
    return mrr, map_


def mrr_and_map_by_weight(
    candidates: Sequence[Candidates], added: Sequence[FloatArray], weights: Sequence[float]
) -> dict[float, tuple[float, float]]:
    """Weight -> ``mrr_and_map`` of stage one's scores with so many times what a reranker adds."""
    both = list(zip(candidates, added, strict=True))
    return {
        weight: mrr_and_map(candidates, (one.scores + weight * row for one, row in both))
        for weight in weights
    }


@dataclass(frozen=True, eq=False)
class RerankingContext:
    """What a reranker may read beside the candidates: facts and texts of files, and the history of their project."""

    facts: FactSource | None = None
    history: HistoryIndex | None = None
    contained: Callable[[str], BoolArray | None] = lambda version: None
    """Version -> commits of the history that it contains; None: all of them."""
    texts: TextSource | None = None  # None where no repository is at hand
    vectors: Path | None = None  # file where vectors of blobs are kept

    def known_history(self, candidates: Candidates) -> HistoryAsOf:
        """The history that was known when the report was opened, as far as the searched version contains it."""
        assert self.history is not None
        return self.history.as_of(candidates.opened, self.contained(candidates.version))


class TrainingSet(Protocol):
    """Labelled reports in the order of their fixes, as candidates; each call reads them anew."""

    def candidates(
        self, part: str, depth: int, *, for_training: bool = False, by_linear_score: bool = False
    ) -> Iterator[Candidates]:
        """The first ``depth`` files of each report of a part (train, validation, test). With ``for_training`` every
        other fixed file follows them; ``by_linear_score``: before stage one's ranker.
        """


@dataclass(frozen=True, eq=False)
class Reranked:
    """New scores of a report's candidates, and why."""

    scores: FloatArray  # (C,)
    matches: Matches = lambda position: ()


class Reranker(ABC):
    """Scores the first files of a ranking anew; every other file keeps its place. A new reranker is one folder, and one
    line in ``RERANKERS``.
    """

    name: ClassVar[
        str
    ]  # in [stage_two] reranker; also of its folder in a checkpoint, and of a record in it
    depth: int  # how many of the first files it scores
    weight: float = 0.0  # its score's weight beside stage one's, chosen on validation; 0 leaves all to stage one
    trained_until: int = (
        0  # when the last of the reports that it learned from was fixed, seconds since 1970
    )
    validation_results: Mapping[str, tuple[float, float]] | None = (
        None  # what was tried on validation: name -> MRR and MAP
    )

    @classmethod
    @abstractmethod
    def from_config(cls, config: Config) -> Self:
        """Untrained, as a configuration describes it. Raises ToslocError when what it names is not there."""

    @abstractmethod
    def fit(
        self,
        training_set: TrainingSet,
        context: RerankingContext,
        folder: Path,
        seed: int,
        progress: Progress = ignore_progress,
    ) -> Self:
        """Learn from train, choose by validation; ``folder`` is for an interrupted training. Raises ToslocError."""

    def rerank(
        self,
        candidates: Candidates,
        context: RerankingContext,
        progress: Progress = ignore_progress,
    ) -> Reranked | None:
        """New scores for a report's candidates; None where there are none, or ``may_score`` says no: stage one's order
        stands.
        """
        asked = len(candidates) and self.may_score(candidates.opened)
        return self.answer(candidates, context, progress) if asked else None

    @abstractmethod
    def answer(
        self,
        candidates: Candidates,
        context: RerankingContext,
        progress: Progress = ignore_progress,
    ) -> Reranked:
        """New scores for the candidates of a report that it may score."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write it, for ``load``."""

    @classmethod
    def load(cls, folder: Path) -> Self:
        """What ``save`` wrote. Raises CheckpointError when it is incomplete or damaged."""
        try:
            record = parse_json(read_regular_file(folder / f"{cls.name}.json"))
            made = cls.read(record, folder)
            made.weight, made.trained_until = float(record["weight"]), int(record["trained_until"])
            if not made.weight >= 0:
                raise ValueError("a weight is out of bounds")
            if (tried := record["validation"]) is not None:
                made.validation_results = {
                    name: (float(mrr), float(map_)) for name, (mrr, map_) in tried.items()
                }
        except CheckpointError:
            raise
        except Exception as error:  # files that are no reranker's raise anything
            raise CheckpointError(
                f"{folder}: this second stage is incomplete or damaged ({' '.join(str(error).split())[:100]}); train it"
                " again, or copy the whole folder"
            ) from error
        return made

    @classmethod
    @abstractmethod
    def read(cls, record: Mapping[str, Any], folder: Path) -> Self:
        """What ``save`` wrote, but for what ``learned`` says. Raises anything when that is damaged."""

    def learned(self) -> dict[str, Any]:
        """Of a record, what every reranker has learned."""
        return {
            "weight": self.weight,
            "validation": self.validation_results,
            "trained_until": self.trained_until,
        }

    def may_score(self, opened: float) -> bool:
        """Whether it has an answer to a report opened then: it has weight, and learned from nothing later."""
        return bool(self.weight) and opened >= self.trained_until

    def can_score(self, context: RerankingContext) -> bool:
        """Whether the context holds what it reads."""
        return True


RERANKERS: Final = {
    "terms": "tosloc.rerank.terms.reranker:TermReranker",
    "encoder": "tosloc.rerank.encoder.reranker:EncoderReranker",
}
"""Name in ``[stage_two] reranker`` -> module and class; loaded when first asked for, since encoders bring torch."""


def reranker_class(name: str) -> type[Reranker]:
    """The class of a reranker, by its name in the configuration."""
    if name == "encoder":
        require("the encoder reranker", "encoder", "torch", "transformers", "accelerate")
    found: type[Reranker] = resolve_name(RERANKERS[name])
    return found
