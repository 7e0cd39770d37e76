"""Stage two: the contract of rerankers, which score the first files anew, and the one record of a report's candidates.

Shapes: C candidates of a report.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import compress, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self, TypeAlias

import numpy as np

from tosloc.errors import CheckpointError, require
from tosloc.index.corpus import Corpus, suffix_of
from tosloc.index.history_index import HistoryAsOf, HistoryIndex
from tosloc.io import parse_json, read_plain
from tosloc.metrics import fixed_ranks, rr_and_ap
from tosloc.records import BoolArray, BugReport, FloatArray, IntArray, LongArray, Progress, silent

if TYPE_CHECKING:
    from tosloc.config import Config
    from tosloc.index.repository import IndexedRepository

FactSource: TypeAlias = Callable[[Sequence[str], Sequence[str]], tuple[Corpus, LongArray]]
"""(blobs, paths) -> what has the facts of these files, and (n,) the row of each, -1 where there are none."""
TextSource: TypeAlias = Callable[[Sequence[str]], Iterable[tuple[str, str | None]]]
"""Blobs -> each with its text, None for one that cannot be read."""
Matches: TypeAlias = Callable[[int], Sequence[tuple[str, str]]]
"""Position -> terms of the report that bring the candidate most, each with the file's term that answers it best."""


_BLOCK: Final = 48  # reports whose candidates are in memory together when many are ranked


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
    missed_ranks: tuple[int, ...] = ()  # ranks of the fixed files beyond the candidates, which keep their places
    relevant: int = 0  # all fixed files of the report
    fixed_at: int = 0  # when the fix was committed, seconds since 1970; 0 for a report that nobody has fixed

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def opened(self) -> float:
        """When the report was opened, seconds since 1970."""
        return self.report.opened_seconds

    def unlabelled(self) -> Self:
        """The same without what is known of the fix: what a reranker gets to score."""
        nothing = np.zeros(len(self), dtype=np.bool_)
        return replace(self, fixed=nothing, missed_ranks=(), relevant=0, fixed_at=0)

    def take(self, positions: LongArray) -> Self:
        """Some of the candidates, in the order of their positions."""
        taken: dict[str, Any] = {name: getattr(self, name)[positions] for name in ("path_ids", "scores", "fixed")}
        for name in ("paths", "blobs"):
            taken[name] = tuple(getattr(self, name)[place] for place in positions.tolist())
        return replace(self, **taken)

    def head(self, depth: int) -> Self:
        """The first ``depth`` candidates; fixed files after them are missed."""
        lost = tuple((np.flatnonzero(self.fixed[depth:]) + depth + 1).tolist())
        first = self.take(np.arange(min(depth, len(self)), dtype=np.int64))
        return replace(first, missed_ranks=(*lost, *self.missed_ranks))


def values_of(candidates: Candidates, scores: FloatArray) -> tuple[float, float]:
    """Reciprocal rank and average precision of the candidates reordered by ``scores`` (C,), the rest in its places.
    Equal scores keep stage one's order. A report without fixed files counts 0.
    """
    ranks = [*fixed_ranks(scores, candidates.fixed).tolist(), *candidates.missed_ranks]
    return rr_and_ap(ranks, candidates.relevant)


@dataclass(frozen=True, eq=False)
class RerankingContext:
    """What a reranker may read beside the candidates: facts and texts of files, and the history of their project."""

    facts: FactSource | None = None
    history: HistoryIndex | None = None
    path_count: int = 0  # paths that the history can speak of
    contained: Callable[[str], BoolArray] | None = None
    """Version -> commits of the history that it contains; None: all of them."""
    texts: TextSource | None = None  # None where no repository is at hand
    vectors: Path | None = None  # file where vectors of blobs are kept

    def history_of(self, candidates: Candidates) -> HistoryAsOf:
        """The history that was known when the report was opened, as far as the searched version contains it."""
        assert self.history is not None
        contained = None if self.contained is None else self.contained(candidates.version)
        return self.history.as_of(candidates.opened, contained)


def facts_in_corpus(corpus: Corpus) -> FactSource:
    """The facts of a version that is in memory."""
    known = corpus.row_of_blob
    return lambda blobs, paths: (corpus, np.array([known.get(blob, -1) for blob in blobs], dtype=np.int64))


def facts_in_store(indexed: IndexedRepository) -> FactSource:
    """The facts of a store; a blob that it lacks has no terms."""

    def facts(blobs: Sequence[str], paths: Sequence[str]) -> tuple[Corpus, LongArray]:
        wanted = {blob: suffix_of(path, indexed.suffixes) for blob, path in zip(blobs, paths, strict=True)}
        rows = {blob: row for row, blob in enumerate(wanted)}
        return indexed.facts(wanted), np.array([rows[blob] for blob in blobs], dtype=np.int64)

    return facts


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
    matches: Matches = field(default=lambda position: ())


class Reranker(ABC):
    """Scores the first files of a ranking anew; every other file keeps its place. A new reranker is one folder, and one
    line in ``RERANKERS``.
    """

    name: ClassVar[str]  # in [stage_two] reranker; also of its folder in a checkpoint
    says: ClassVar[str]  # what a reason says that it did
    record_file: ClassVar[str]  # JSON in its folder
    depth: int  # how many of the first files it scores
    weight: float = 0.0  # its score's weight beside stage one's, chosen on validation; 0 leaves all to stage one
    trained_until: int = 0  # when the last of the reports that it learned from was fixed, seconds since 1970
    validation_: Mapping[str, tuple[float, float]] | None = None  # what was tried on validation: name -> MRR and MAP

    @classmethod
    @abstractmethod
    def configured(cls, config: Config) -> Self:
        """Untrained, as a configuration describes it. Raises ToslocError when what it names is not there."""

    @abstractmethod
    def fit(
        self, training_set: TrainingSet, context: RerankingContext, folder: Path, seed: int, progress: Progress = silent
    ) -> Self:
        """Learn from train, choose by validation; ``folder`` is for an interrupted training. Raises ToslocError."""

    def rerank(
        self, candidates: Iterable[Candidates], context: RerankingContext, progress: Progress = silent
    ) -> Iterator[Reranked | None]:
        """New scores for the candidates of each report; None where there are none, or ``may_score`` says no: stage
        one's order stands.
        """
        rest = iter(candidates)
        while block := list(islice(rest, _BLOCK)):
            asked = [bool(len(listed)) and self.may_score(listed.opened) for listed in block]
            found = self.answers(list(compress(block, asked)), context, progress) if any(asked) else iter(())
            yield from (next(found) if one else None for one in asked)

    @abstractmethod
    def answers(
        self, candidates: Sequence[Candidates], context: RerankingContext, progress: Progress = silent
    ) -> Iterator[Reranked]:
        """New scores for the candidates of each of some reports that it may score."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write it, for ``load``."""

    @classmethod
    def load(cls, folder: Path) -> Self:
        """What ``save`` wrote. Raises CheckpointError when it is incomplete or damaged."""
        try:
            record = parse_json(read_plain(folder / cls.record_file))
            made = cls.read(record, folder)
            made.weight, made.trained_until = float(record["weight"]), int(record["trained_until"])
            if not made.weight >= 0:
                raise ValueError("a weight is out of bounds")
            if (tried := record["validation"]) is not None:
                made.validation_ = {name: (float(mrr), float(map_)) for name, (mrr, map_) in tried.items()}
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
        return {"weight": self.weight, "validation": self.validation_, "trained_until": self.trained_until}

    def trained_before(self, opened: float) -> bool:
        """Whether all that it learned from was fixed when a report was opened; if not, stage one alone may rank it."""
        return opened >= self.trained_until

    def may_score(self, opened: float) -> bool:
        """Whether it has an answer to a report opened then: it has weight, and learned from nothing later."""
        return bool(self.weight) and self.trained_before(opened)

    def carry(self, context: RerankingContext, blobs: Sequence[str]) -> None:  # noqa: B027  most need nothing
        """Take along what scoring these blobs without their repository needs."""

    def can_score(self, context: RerankingContext) -> bool:
        """Whether the context, with what was carried along, holds what it needs."""
        return True


RERANKERS: Final = {
    "terms": ("tosloc.rerank.terms.reranker", "TermReranker"),
    "encoder": ("tosloc.rerank.encoder.reranker", "EncoderReranker"),
}
"""Name in ``[stage_two] reranker`` -> module and class; loaded when first asked for, since encoders bring torch."""


def reranker_class(name: str) -> type[Reranker]:
    """The class of a reranker, by its name in the configuration."""
    if name == "encoder":
        require("the encoder reranker", "encoder", "torch", "transformers", "accelerate")
    module, kind = RERANKERS[name]
    found: type[Reranker] = getattr(import_module(module), kind)
    return found
