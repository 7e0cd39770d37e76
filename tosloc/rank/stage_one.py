"""Stage one: from features to the scores of every file, and why each stands where it stands.

A weighted sum of features, and over the same features a learned ranker for the head of the list: LambdaMART (Burges
2010), by LightGBM. LightGBM is needed to learn trees; what it imports would take longer than answering a report. So
they are kept as arrays, which give its own sums to the last bit. A split that sends a row right takes from its tree the
leaves on its left; the first leaf that is left, from left to right, is the row's (QuickScorer, Lucchese et al. 2015).

Of all that can be said for a file at most three reasons are given, by their use to a reader: where the report itself
points (a stack frame, a name), then an earlier fix or commit, then the words in common; what is left after these is for
files of which little can be said. One is given only where a feature of its kind lifted the file. Age, size, folder
and what changes together lift files too, and are never reasons.

Shapes: F files, K features, T trees, k rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from tosloc.code.functions import FunctionFacts
from tosloc.core.arrays import Array, Arrays, validate_array
from tosloc.core.errors import MissingExtra
from tosloc.core.records import Float32Array, FloatArray, Function, IntArray, LongArray, Reason
from tosloc.rank import features
from tosloc.rank.ranking_lists import RankingLists
from tosloc.rank.reasons import MIN_SIMILARITY_ONE_WORD, FileReasons, RepositoryLookups
from tosloc.retrieval.context import QueryContext
from tosloc.retrieval.postings import top_k

MAX_REASONS: Final = 3  # reasons a file, at most
LEADING: Final = (
    5  # a test, or what one tests, speaks for a file where it is among so many first ones
)
HEAD_DEPTH: Final = 150  # files of the head that it orders; the rest keeps its order
NUM_TREES: Final = 600  # trees
LIGHTGBM_PARAMETERS: Final = {
    "objective": "lambdarank",
    "num_leaves": 15,
    "learning_rate": 0.05,
    "min_data_in_leaf": 200,
    "lambda_l2": 20.0,
    "feature_fraction": 0.35,
    "lambdarank_truncation_level": 20,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}
"""Of LightGBM; like the two above chosen on the training and validation reports of four projects."""
_MOST_LEAVES: Final = 16  # of a tree: one bit each
_LARGEST: Final = 1e9  # of a leaf; LightGBM learns none beyond 100


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees of numeric splits, filled up with splits that send no row right. Whatever the numbers, each row has a sum.
    Values of rows are finite numbers.
    """

    feature: IntArray  # (T, 15) feature that each split asks for
    threshold: Float32Array
    """(T, 15) values up to it go left; rounded down to single precision, which for such values means the same."""
    left: npt.NDArray[
        np.uint16
    ]  # (T, 15) the leaves on its left, as bits; leaves are numbered from left to right
    leaves: FloatArray  # (T, 16) what each leaf adds

    @classmethod
    def of_model(cls, model: Mapping[str, Any]) -> Self:
        """Trees of what LightGBM's ``Booster.dump_model`` gives, of at most 16 leaves."""
        largest, size = np.finfo(np.float32).max, (len(model["tree_info"]), _MOST_LEAVES - 1)
        feature, left = np.zeros(size, np.int32), np.zeros(size, np.uint16)
        threshold, leaves = (
            np.full(size, largest, np.float64),
            np.zeros((len(feature), _MOST_LEAVES)),
        )
        for tree, made in enumerate(model["tree_info"]):
            splits, values = _collected(made["tree_structure"])
            leaves[tree, : len(values)] = values
            for place, split in enumerate(splits):
                feature[tree, place], threshold[tree, place], left[tree, place] = split
        threshold = np.minimum(threshold, largest)
        rounded = threshold.astype(np.float32)
        return cls(
            feature,
            np.where(rounded > threshold, np.nextafter(rounded, -largest), rounded),
            left,
            leaves,
        )

    def to_arrays(self) -> Arrays:
        """Plain arrays, for ``from_arrays``."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], features: int) -> Self:
        """Trees of ``to_arrays`` that ask for ``features``. Raises KeyError or ValueError when they are none."""
        leaves = validate_array(
            arrays, "leaves", np.float64, None, _MOST_LEAVES, least=-_LARGEST, below=_LARGEST
        )
        size = len(leaves), _MOST_LEAVES - 1
        feature = validate_array(arrays, "feature", np.int32, *size, below=features)
        return cls(
            feature,
            validate_array(arrays, "threshold", np.float32, *size),
            validate_array(arrays, "left", np.uint16, *size),
            leaves,
        )

    def scores(self, rows: Float32Array) -> FloatArray:
        """(k,) sums over the trees, in their order, of the leaves that the rows (k, K) come to."""
        right = rows.T.take(self.feature, axis=0) > self.threshold[..., None]
        # to the bits of a leaf on the left add nothing where a row goes right, and all where it goes left
        kept = np.bitwise_and.reduce(
            ~self.left[..., None] | (right - np.uint16(1)), axis=1
        )  # (T, k)
        lowest = np.frexp((kept & -kept).astype(np.float32))[1] - 1
        places = np.arange(0, self.leaves.size, _MOST_LEAVES)[:, None] + (
            lowest & (_MOST_LEAVES - 1)
        )
        total = np.zeros(len(rows))
        for values in self.leaves.ravel().take(places):  # one tree after the other
            total += values
        return total


def _collected(
    node: Mapping[str, Any], first: int = 0
) -> tuple[list[tuple[int, float, int]], list[float]]:
    """The splits (feature, threshold, leaves on the left as bits) and leaves of a node, whose ``first`` leaf it is."""
    if "split_feature" not in node:
        return [], [float(node["leaf_value"])]
    splits, values = _collected(node["left_child"], first)
    middle = first + len(values)
    more, others = _collected(node["right_child"], middle)
    own = int(node["split_feature"]), float(node["threshold"]), (1 << middle) - (1 << first)
    return [own, *splits, *more], values + others


@dataclass(frozen=True, eq=False)
class HeadRanker:
    """What orders the first ``HEAD_DEPTH`` files; learned from heads, without knowledge of paths."""

    features: tuple[
        str, ...
    ]  # names of what it reads of a feature table, before the two columns of head_rows
    trees: Trees
    weight: float  # what the trees' score is multiplied by before it is added to the linear score; chosen on validation


def head_rows(rows: Float32Array, scores: FloatArray) -> Float32Array:
    """(k, K+2) features of the head, linear score below the leader's, and ln(1 + rank); rows stand in rank order."""
    rank = np.arange(1, len(rows) + 1, dtype=np.float32)
    return np.column_stack([rows, scores - scores[0], np.log1p(rank)]).astype(np.float32)


def load_lightgbm() -> Any:
    """Import LightGBM. Raises MissingExtra where the OpenMP library that it needs is missing."""
    try:
        import lightgbm
    except OSError as error:
        raise MissingExtra(
            f"training a ranker needs LightGBM, which does not load here ({error}); install the OpenMP library:"
            " apt-get install libgomp1 (Debian, Ubuntu), dnf install libgomp (Fedora), brew install libomp (macOS)"
        ) from error
    return lightgbm


def fit_trees(heads: RankingLists, seed: int, rounds: int | None = None) -> Trees:
    """Trees learned from heads, ``NUM_TREES`` of them; deterministic for a seed. A report's pairs count as much as the
    report does. Raises MissingExtra where LightGBM cannot be loaded.
    """
    lightgbm = load_lightgbm()
    weights = np.repeat(heads.report_weights, heads.sizes)
    data = lightgbm.Dataset(
        heads.rows, heads.fixed.astype(np.int32), weight=weights, group=heads.sizes.tolist()
    )
    return Trees.of_model(
        lightgbm.train(LIGHTGBM_PARAMETERS | {"seed": seed}, data, rounds or NUM_TREES).dump_model()
    )


def splice_head_above_rest(scores: FloatArray, order: np.ndarray, head: FloatArray) -> FloatArray:
    """(F,) scores in which the files ``order`` have the scores ``head``, raised above all the rest if need be."""
    rest = np.delete(scores, order)
    floor = float(rest.max()) if len(rest) else 0.0
    lowest = float(head.min())
    new = scores.copy()
    new[order] = head if lowest > floor else head - lowest + np.nextafter(floor, np.inf) + 1e-6
    return new


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

    def align(self, names: tuple[str, ...]) -> StageOne | None:
        """The same decision for tables of other features: one that it does not know has weight 0. None where a feature
        that it knows is not among them.
        """
        if not set(self.features) <= set(names):
            return None
        known = dict(zip(self.features, self.weights.tolist(), strict=True))
        return replace(
            self, features=names, weights=np.array([known.get(name, 0.0) for name in names])
        )

    def linear(self, table: Float32Array) -> FloatArray:
        """(F,) weighted sums of a feature table (F, K), in single precision so that every path to it rounds alike.
        Features of weight 0 are left out, so that one that is not known changes no bit.
        """
        used = np.flatnonzero(self.weights)
        table = table if len(used) == len(self.weights) else table[:, used]
        return weighted_sums(np.ascontiguousarray(table, dtype=np.float32), self.weights[used])

    def head(
        self, names: Sequence[str], table: Float32Array, scores: FloatArray
    ) -> tuple[LongArray, Float32Array]:
        """The files that a ranker orders by their linear scores (F,), and their rows of the features ``names``."""
        order = top_k(scores, HEAD_DEPTH)
        columns = np.array([self.features.index(name) for name in names], dtype=np.int64)
        return order, head_rows(table[np.ix_(order, columns)], scores[order])

    def scores(self, table: Float32Array) -> FloatArray:
        """(F,) final scores of a feature table (F, K) whose rows are in path order."""
        scores = self.linear(table)
        if self.ranker is None or not len(scores):
            return scores
        order, rows = self.head(self.ranker.features, table, scores)
        weight, learned = self.ranker.weight, self.ranker.trees.scores(rows)
        return splice_head_above_rest(
            scores, order, (scores[order] + weight * learned) / (1 + weight)
        )


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
    def reasons(self) -> FileReasons:
        """What can be said of the files."""
        return FileReasons(self.context)

    def why(
        self,
        file: int,
        sources: RepositoryLookups,
        terms: Reason | None = None,
        functions: FunctionFacts | None = None,
        listed: Sequence[Function] = (),
    ) -> tuple[Reason, ...]:
        """At most ``MAX_REASONS`` reasons for a file, the most useful first. ``terms`` is what a reranker says of it,
        ``functions`` are its functions, and ``listed`` those of them that the answer names.
        """
        reasons, lifted = self.reasons, self._lifted(file)
        past = reasons.past(file)[:2] if "past" in lifted else []
        # the first one, and a second one where that is near to the report, too
        near = [
            change
            for place, change in enumerate(past)
            if not place or change.similarity >= MIN_SIMILARITY_ONE_WORD
        ]
        changes = [reasons.describe_change(change, sources) for change in near]
        pointed = (reasons.frame(file) if "frame" in lifted else None) or reasons.name(file)
        if pointed is None and "name" in lifted:
            pointed = reasons.defined_name(file, functions)
        words, telling = reasons.words(file) if "words" in lifted else ([], False)
        common = reasons.describe_words(words, functions, listed) if words else None
        held = reasons.name_words(file) if pointed is None and "path" in lifted else []
        found = [
            pointed,
            *changes[:1],
            common if telling else None,
            terms,
            # words of its name, where they are not shown as words of its text
            None
            if set(held) <= set(words)
            else Reason("path", f"its name has {reasons.join_words(held)}"),
            reasons.counterpart(file, top_k(self.scores, LEADING).tolist())
            if "test" in lifted
            else None,
            *changes[1:],
        ]
        little = common or Reason(
            "activity", "no word in common; ranked by how often and how lately it changed"
        )
        return tuple([reason for reason in found if reason is not None][:MAX_REASONS] or [little])

    def _lifted(self, file: int) -> set[str | None]:
        """The kinds of reasons whose features together add to the file's score."""
        added: defaultdict[str | None, float] = defaultdict(float)
        for name, weight in zip(self.stage.features, self.stage.weights.tolist(), strict=True):
            added[features.FEATURES[name].reason] += weight * self.columns[name][file]
        return {kind for kind, value in added.items() if value > 0}
