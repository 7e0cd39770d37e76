"""Stage one: from features to the scores of every file, and why each stands where it stands. F files, K features.

Of all that can be said for a file at most three things are told, by their use to a reader: where the report itself
points (a stack frame, a name), then an earlier fix or commit, then the words that met; what is left after these is for
files of which little can be said. A thing is told only where a feature of its kind lifted the file. Age, size, folder
and what changes together lift files too, and are never reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Self

import numpy as np

from tosloc.code.functions import FunctionFacts
from tosloc.index.context import QueryContext
from tosloc.index.postings import leaders
from tosloc.rank import features, lambdamart
from tosloc.rank.lambdamart import HeadRanker, head_rows, raised
from tosloc.rank.reasons import NEAR, ReasonsOf, Sources
from tosloc.records import Float32Array, FloatArray, Function, LongArray, Reason

SHOWN: Final = 3  # reasons a file, at most
LEADING: Final = 5  # a test, or what one tests, speaks for a file where it is among so many first ones


def weighted_sums(rows: Float32Array, weights: FloatArray) -> FloatArray:
    """(n,) weighted sums of rows (n, K), each in single precision and in the order of the features. Here and in the
    fits the linear algebra library is asked for no product: it splits sums by its number of threads, and rounding would
    follow. ``einsum`` adds in one order.
    """
    return np.asarray(np.einsum("nk,k->n", rows, weights.astype(np.float32)).astype(np.float64))


@dataclass(frozen=True, eq=False)
class StageOne:
    """A weighted sum of features, and where one was learned a ranker for the first files."""

    features: tuple[str, ...]
    weights: FloatArray  # (K,)
    ranker: HeadRanker | None = None  # its features are among these

    def aligned(self, names: tuple[str, ...]) -> StageOne | None:
        """The same decision for tables of other features: one that it does not know has weight 0. None where a feature
        that it knows is not among them.
        """
        if not set(self.features) <= set(names):
            return None
        known = dict(zip(self.features, self.weights.tolist(), strict=True))
        return replace(self, features=names, weights=np.array([known.get(name, 0.0) for name in names]))

    def linear(self, table: Float32Array) -> FloatArray:
        """(F,) weighted sums of a feature table (F, K), in single precision so that every path to it rounds alike.
        Features of weight 0 are left out, so that one that is not known changes no bit.
        """
        used = np.flatnonzero(self.weights)
        table = table if len(used) == len(self.weights) else table[:, used]
        return weighted_sums(np.ascontiguousarray(table, dtype=np.float32), self.weights[used])

    def head(self, names: Sequence[str], table: Float32Array, scores: FloatArray) -> tuple[LongArray, Float32Array]:
        """The files that a ranker orders by their linear scores (F,), and their rows of the features ``names``."""
        order = leaders(scores, lambdamart.DEPTH)
        columns = np.array([self.features.index(name) for name in names], dtype=np.int64)
        return order, head_rows(table[np.ix_(order, columns)].astype(np.float32), scores[order])

    def scores(self, table: Float32Array) -> FloatArray:
        """(F,) final scores of a feature table (F, K) whose rows are in path order."""
        scores = self.linear(table)
        if self.ranker is None or not len(scores):
            return scores
        order, rows = self.head(self.ranker.features, table, scores)
        weight, learned = self.ranker.weight, self.ranker.trees.scores(rows)
        return raised(scores, order, (scores[order] + weight * learned) / (1 + weight))


@dataclass(frozen=True, eq=False)
class StageOneAnswer:
    """What stage one says to one query of every file of the version, in path order."""

    context: QueryContext
    stage: StageOne
    columns: Mapping[str, FloatArray]  # feature -> (F,) values
    scores: FloatArray  # (F,)

    @classmethod
    def of(cls, context: QueryContext, stage: StageOne) -> Self:
        """Stage one's answer to a query."""
        columns = features.columns(context, stage.features)
        table = np.stack([*columns.values()], axis=1, dtype=np.float32, casting="same_kind")
        return cls(context, stage, columns, stage.scores(table))

    @cached_property
    def order(self) -> LongArray:
        """(F,) the files, best first; equal scores keep path order."""
        return np.argsort(-self.scores, kind="stable")

    @cached_property
    def reasons(self) -> ReasonsOf:
        """What can be said of the files."""
        return ReasonsOf(self.context)

    def why(
        self,
        file: int,
        sources: Sources,
        terms: Reason | None = None,
        functions: FunctionFacts | None = None,
        listed: Sequence[Function] = (),
    ) -> tuple[Reason, ...]:
        """At most ``SHOWN`` reasons for a file, the most useful first. ``terms`` is what a reranker says of it,
        ``functions`` are its functions, and ``listed`` those of them that the answer names.
        """
        reasons = self.reasons
        past = reasons.past(file) if self._lifted(file, "past") else []
        # the first one, and a second one where that is near to the report, too
        past = [change for place, change in enumerate(past[:2]) if not place or change.similarity >= NEAR]
        changes = [reasons.of_change(change, sources) for change in past]
        pointed = (reasons.frame(file) if self._lifted(file, "frame") else None) or reasons.name(file)
        if pointed is None and self._lifted(file, "name"):
            pointed = reasons.defined(file)
        words, telling = reasons.words(file) if self._lifted(file, "words") else ([], False)
        met = reasons.of_words(words, functions, listed) if words else None
        held = reasons.name_words(file) if pointed is None and self._lifted(file, "path") else []
        told = [
            pointed,
            *changes[:1],
            met if telling else None,
            terms,
            # words of its name, where they are not told as words of its text
            None if set(held) <= set(words) else Reason("path", f"its name has {reasons.listed(held)}"),
            reasons.counterpart(file, leaders(self.scores, LEADING).tolist()) if self._lifted(file, "test") else None,
            *changes[1:],
        ]
        little = met or Reason("activity", "no word in common; ranked by how often and how lately it changed")
        return tuple([reason for reason in told if reason is not None][:SHOWN] or [little])

    def _lifted(self, file: int, kind: str) -> bool:
        """Whether the features of a kind together add to the file's score."""
        weights = dict(zip(self.stage.features, self.stage.weights.tolist(), strict=True))
        of_kind = [name for name in weights if features.FEATURES[name].reason == kind]
        return bool(sum(weights[name] * self.columns[name][file] for name in of_kind) > 0)
