"""Stage one: from features to the scores of every file, and the reasons for its rank.

The score is a weighted sum of features. A learned ranker then orders the head of the list by the
same features: LambdaMART (Burges 2010), trained with LightGBM. Importing LightGBM takes longer than
answering a report, so that it is only used to learn trees. The trees are stored as arrays, which
yield LightGBM's sums to the last bit. A split that sends a row to the right removes the leaves on
its left; the first remaining leaf, from left to right, is the row's (QuickScorer, Lucchese et al.
2015).

A file gets at most three reasons, in the order of their use to a reader: first what the report
itself points to (a stack frame, a name), then an earlier fix or commit, then shared words. Other
reasons are for files that have none of these. A reason is only given if features of its kind lifted
the file. Age, size, folder and common changes also lift files, but are not reasons.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tosloc.code.functions import FunctionFacts
from tosloc.core.answers import Function, Reason
from tosloc.core.arrays import (
    Array,
    Arrays,
    Float32Array,
    FloatArray,
    IntArray,
    LongArray,
    validate_array,
)
from tosloc.core.errors import MissingExtra
from tosloc.core.rankings import splice_head_above_rest
from tosloc.rank import features
from tosloc.rank.explain.change_reasons import MIN_SIMILARITY_ONE_WORD
from tosloc.rank.explain.lookups import RepositoryLookups
from tosloc.rank.explain.reasons import FileReasons
from tosloc.rank.explain.related_files import relate_files
from tosloc.rank.features.evidence import find_asserted, raise_asserted
from tosloc.rank.features.query_context import QueryContext
from tosloc.retrieval.texts import top_k

if TYPE_CHECKING:
    from tosloc.rank.model.ranking_lists import RankingLists

MAX_REASONS: Final = 3
"""Largest number of reasons for a file."""
COUNTERPART_DEPTH: Final = 5
"""Number of first files for which a test, or a tested file, is a reason."""
HEAD_DEPTH: Final = 150
"""Number of files in the head, which a ranker orders; the other files keep their order."""
NUM_TREES: Final = 600
"""Number of trees of a ranker."""
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
"""Parameters of LightGBM.

They were chosen, as were ``HEAD_DEPTH`` and ``NUM_TREES``, on the training and validation reports
of four projects.
"""
_MAX_LEAVES: Final = 16
"""Largest number of leaves of a tree; each leaf is one bit of a 16-bit number."""
_MAX_LEAF_VALUE: Final = 1e9
"""Largest absolute value of a leaf; LightGBM learns none above 100."""


class _Split(NamedTuple):
    """A split of a tree."""

    feature: int
    threshold: float
    left_leaves: int
    """Bits of the leaves on the left of the split."""


@cache
def _lowest_bits() -> npt.NDArray[np.uint8]:
    """Return the position of the lowest set bit of each 16-bit number; 15 for the number 0."""
    numbers = np.arange(1 << _MAX_LEAVES)
    positions = np.full(len(numbers), _MAX_LEAVES - 1, dtype=np.uint8)
    for bit in reversed(range(_MAX_LEAVES)):
        positions[(numbers >> bit) & 1 == 1] = bit
    return positions


@dataclass(frozen=True, eq=False)
class Trees:
    """Decision trees with numeric splits, padded to 15 splits that always go left.

    Rows must be finite numbers. Any bit pattern of the arrays yields a finite score.
    """

    feature: IntArray
    """(Y, 15) feature of each split."""
    threshold: Float32Array
    """(Y, 15) threshold of each split; values up to it go left.

    Thresholds are rounded down to single precision, which makes no difference for values in single
    precision.
    """
    left: npt.NDArray[np.uint16]
    """(Y, 15) bits of the leaves on the left of each split; leaves count from left to right."""
    leaves: FloatArray
    """(Y, 16) value of each leaf."""

    @classmethod
    def fit(cls, heads: RankingLists, seed: int, rounds: int | None = None) -> Self:
        """Return ``rounds`` trees learned from heads, by default ``NUM_TREES``.

        The result is the same for the same seed. The pairs of files of a report are weighted by the
        report's weight. Raises MissingExtra if LightGBM cannot be loaded.
        """
        lightgbm = load_lightgbm()
        weights = np.repeat(heads.report_weights, heads.sizes)
        labels = heads.fixed.astype(np.int32)
        data = lightgbm.Dataset(heads.rows, labels, weight=weights, group=heads.sizes.tolist())
        parameters = LIGHTGBM_PARAMETERS | {"seed": seed}
        booster = lightgbm.train(parameters, data, rounds or NUM_TREES)
        return cls.of_model(booster.dump_model())

    @classmethod
    def of_model(cls, model: Mapping[str, Any]) -> Self:
        """Return the trees of LightGBM's ``Booster.dump_model``, with at most 16 leaves each."""
        largest = np.finfo(np.float32).max
        trees = len(model["tree_info"])
        size = (trees, _MAX_LEAVES - 1)
        feature = np.zeros(size, np.int32)
        threshold = np.full(size, largest, np.float64)
        left = np.zeros(size, np.uint16)
        leaves = np.zeros((trees, _MAX_LEAVES))
        for tree, info in enumerate(model["tree_info"]):
            splits, values = _splits_and_leaves(info["tree_structure"])
            leaves[tree, : len(values)] = values
            for position, split in enumerate(splits):
                feature[tree, position] = split.feature
                threshold[tree, position] = split.threshold
                left[tree, position] = split.left_leaves
        threshold = np.minimum(threshold, largest)
        rounded = threshold.astype(np.float32)
        rounded_down = np.where(rounded > threshold, np.nextafter(rounded, -largest), rounded)
        return cls(feature, rounded_down, left, leaves)

    def to_arrays(self) -> Arrays:
        """Return the trees as plain arrays, for ``from_arrays``."""
        return dict(vars(self))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], features: int) -> Self:
        """Return the trees from the arrays of ``to_arrays``; they split on ``features`` features.

        Raises KeyError or ValueError if the arrays are not such trees.
        """
        leaves = validate_array(
            arrays,
            "leaves",
            np.float64,
            None,
            _MAX_LEAVES,
            least=-_MAX_LEAF_VALUE,
            below=_MAX_LEAF_VALUE,
        )
        size = (len(leaves), _MAX_LEAVES - 1)
        return cls(
            validate_array(arrays, "feature", np.int32, *size, below=features),
            validate_array(arrays, "threshold", np.float32, *size),
            validate_array(arrays, "left", np.uint16, *size),
            leaves,
        )

    def scores(self, rows: Float32Array) -> FloatArray:
        """Return (k,) the sum of the leaf values that each of the rows (k, K) reaches."""
        columns = np.ascontiguousarray(rows.T)
        # Leaves (Y, k) that the splits remove: those on the left of splits that go right.
        removed = np.zeros((len(self.leaves), len(rows)), dtype=np.uint16)
        # Arrays of a single split per tree fit into the processor's caches.
        for split in np.flatnonzero(self.left.any(axis=0)).tolist():
            feature_values = columns.take(self.feature[:, split], axis=0)
            goes_right = feature_values > self.threshold[:, split, None]
            removed |= goes_right * self.left[:, split, None]
        first_of_tree = np.arange(0, self.leaves.size, _MAX_LEAVES)[:, None]
        reached = first_of_tree + _lowest_bits().take(~removed)
        values = self.leaves.ravel().take(reached)
        if len(rows) == 1:
            values = values.repeat(2, axis=1)
        # NumPy adds the rows of two columns or more in their order, so that the sums are
        # LightGBM's to the last bit. It would add the values of a single column pairwise.
        total: FloatArray = values.sum(axis=0)[: len(rows)]
        return total


def _splits_and_leaves(node: Mapping[str, Any], first: int = 0) -> tuple[list[_Split], list[float]]:
    """Return the splits and leaf values below a node, in preorder.

    ``first`` is the number of the node's first leaf.
    """
    if "split_feature" not in node:
        return [], [float(node["leaf_value"])]
    left_splits, left_values = _splits_and_leaves(node["left_child"], first)
    middle = first + len(left_values)
    right_splits, right_values = _splits_and_leaves(node["right_child"], middle)
    split = _Split(
        int(node["split_feature"]), float(node["threshold"]), (1 << middle) - (1 << first)
    )
    return [split, *left_splits, *right_splits], left_values + right_values


@dataclass(frozen=True, eq=False)
class HeadRanker:
    """A ranker of the first ``HEAD_DEPTH`` files, learned from such files; it sees no paths."""

    features: tuple[str, ...]
    """Names of the features that the ranker reads, without the columns that ``head_rows`` adds."""
    trees: Trees
    weight: float
    """Weight of the trees' score beside the linear score; chosen on validation."""


def head_rows(rows: Float32Array, scores: FloatArray) -> Float32Array:
    """Return (k, K + 2) the rows of a head in rank order, with two more columns.

    The columns are the linear score minus that of the first file, and ln(1 + rank). ``scores`` (k,)
    are the linear scores.
    """
    rank = np.arange(1, len(rows) + 1, dtype=np.float32)
    return np.column_stack([rows, scores - scores[0], np.log1p(rank)]).astype(np.float32)


def load_lightgbm() -> Any:
    """Return the module of LightGBM.

    Raises MissingExtra if the OpenMP library that LightGBM needs is missing.
    """
    try:
        import lightgbm
    except OSError as error:
        raise MissingExtra(
            f"training a ranker needs LightGBM, which does not load here ({error}); install the"
            " OpenMP library: apt-get install libgomp1 (Debian, Ubuntu), dnf install libgomp"
            " (Fedora), brew install libomp (macOS)"
        ) from error
    return lightgbm


def weighted_sums(rows: Float32Array, weights: FloatArray) -> FloatArray:
    """Return (n,) weighted sums of rows (n, K), added in single precision and feature order.

    Neither this function nor the fits use matrix products of the linear algebra library, because
    that splits sums by its number of threads, so that rounding would depend on this number.
    ``einsum`` always adds in the same order.
    """
    return np.asarray(np.einsum("nk,k->n", rows, weights.astype(np.float32)).astype(np.float64))


@dataclass(frozen=True, eq=False)
class StageOne:
    """A weighted sum of features, and a ranker for the first files if one was learned."""

    features: tuple[str, ...]
    """Names of the features."""
    weights: FloatArray
    """(K,) weight of each feature."""
    ranker: HeadRanker | None = None
    """Ranker of the head, whose features are among ``features``; None if there is none."""

    def align(self, names: tuple[str, ...]) -> StageOne | None:
        """Return the same stage one for tables of the features ``names``.

        Features that it does not have get the weight 0. Return None if it has a feature that is not
        among ``names``.
        """
        if not set(self.features) <= set(names):
            return None
        known = dict(zip(self.features, self.weights.tolist(), strict=True))
        weights = np.array([known.get(name, 0.0) for name in names])
        return replace(self, features=names, weights=weights)

    def linear(self, table: Float32Array) -> FloatArray:
        """Return (F,) weighted sums of a feature table (F, K).

        Sums are computed in single precision, so that every way to compute them rounds alike.
        Features of weight 0 are left out, so that a new feature changes no bit.
        """
        used = np.flatnonzero(self.weights)
        if len(used) < len(self.weights):
            table = table[:, used]
        return weighted_sums(np.ascontiguousarray(table, dtype=np.float32), self.weights[used])

    def head(
        self, names: Sequence[str], table: Float32Array, scores: FloatArray
    ) -> tuple[LongArray, Float32Array]:
        """Return the head by linear ``scores`` (F,): its files (k,) and their ``head_rows``.

        The rows contain the features ``names`` from a feature table (F, K).
        """
        order = top_k(scores, HEAD_DEPTH)
        positions = {name: position for position, name in enumerate(self.features)}
        columns = [positions[name] for name in names]
        return order, head_rows(table[order][:, columns], scores[order])

    def head_lists(self, lists: RankingLists) -> RankingLists:
        """Return the head of each report's list, by linear score.

        Reports without a fixed file in the head are left out.
        """
        from tosloc.rank.model.ranking_lists import RankingLists  # only training needs it

        heads = []
        kept = []
        scores = self.linear(lists.rows)
        for report, (start, end) in enumerate(pairwise(lists.starts.tolist())):
            order, rows = self.head(self.features, lists.rows[start:end], scores[start:end])
            fixed = lists.fixed[start:end][order]
            if fixed.any():
                heads.append((rows, fixed, lists.weights[start:end][order]))
                kept.append(report)
        return replace(RankingLists.of(heads), report_weights=lists.report_weights[kept])

    def scores(self, table: Float32Array, asserted: FloatArray | Float32Array) -> FloatArray:
        """Return (F,) final scores of a feature table (F, K) whose rows are in path order.

        ``asserted`` (F,) is how strongly the report itself points to each file (see
        ``find_asserted``). It raises the learned scores of files, and is never fitted.
        """
        return raise_asserted(self.learned_scores(table), asserted)

    def learned_scores(self, table: Float32Array) -> FloatArray:
        """Return (F,) scores by the weights and the ranker alone."""
        scores = self.linear(table)
        if self.ranker is None or not len(scores):
            return scores
        order, rows = self.head(self.ranker.features, table, scores)
        weight = self.ranker.weight
        head = (scores[order] + weight * self.ranker.trees.scores(rows)) / (1 + weight)
        return splice_head_above_rest(scores, order, head)


@dataclass(frozen=True, eq=False)
class StageOneResult:
    """Stage one's features and scores of all files of the version, in path order, for a query."""

    context: QueryContext
    stage: StageOne
    columns: Mapping[str, FloatArray]
    """Feature -> (F,) values."""
    asserted: FloatArray
    """(F,) how strongly the report itself points to each file; see ``find_asserted``."""
    learned_scores: FloatArray
    """(F,) scores by the weights and the ranker alone."""
    scores: FloatArray
    """(F,) final scores."""

    @classmethod
    def of(cls, context: QueryContext, stage: StageOne) -> Self:
        """Return stage one's result for a query."""
        columns = features.columns(context, stage.features)
        table = np.array([*columns.values()], dtype=np.float32).T
        asserted = find_asserted(context, stage.features)
        learned_scores = stage.learned_scores(table)
        scores = raise_asserted(learned_scores, asserted)
        return cls(context, stage, columns, asserted, learned_scores, scores)

    @cached_property
    def order(self) -> LongArray:
        """(F,) the files, best first; equal scores keep path order."""
        return np.argsort(-self.scores, kind="stable")

    @cached_property
    def reasons(self) -> FileReasons:
        """Reasons for the files."""
        return FileReasons(self.context)

    def relate_files(self, first: Sequence[int], code: Sequence[str]) -> FloatArray:
        """Return (F,) how closely each file is related to the first ones; see ``related_files``."""
        return relate_files(self.context, first, code)

    def choose_reasons(
        self,
        file: int,
        lookups: RepositoryLookups,
        terms: Reason | None = None,
        functions: FunctionFacts | None = None,
        listed: Sequence[Function] = (),
    ) -> tuple[Reason, ...]:
        """Return at most ``MAX_REASONS`` reasons for a file, the most useful first.

        ``terms`` is the reason of a reranker, ``functions`` are the file's functions, and
        ``listed`` those of them that the answer names. Every file gets a reason; if no other
        exists, a weak one is returned.
        """
        lifted = self._lifted_kinds(file)
        words: list[str] = []
        distinguish = False
        if "words" in lifted:
            words, distinguish = self.reasons.words.shared(file)
        by_words = self.reasons.words.describe(words, functions, listed) if words else None
        pointer = self._pointer(file, lifted, functions)
        named = self.reasons.changes.named_change(file, lookups)
        in_range = self.reasons.changes.changed_in_range(file, lookups)
        if named is not None and in_range is not None and named.commit == in_range.commit:
            in_range = None
        cited = {reason.commit for reason in (named, in_range) if reason is not None}
        changes = []
        for change in self._changes(file, lifted, lookups):
            if change.commit not in cited:
                changes.append(change)
        candidates = [
            pointer,
            named,
            self.reasons.pointers.message(file),
            in_range,
            *changes[:1],
            by_words if distinguish else None,
            terms,
            self._path_words(file, words) if pointer is None and "path" in lifted else None,
            self._counterpart(file) if "test" in lifted else None,
            *changes[1:],
        ]
        reasons = [reason for reason in candidates if reason is not None]
        if reasons:
            return tuple(reasons[:MAX_REASONS])
        if by_words is not None:
            return (by_words,)
        unexplained = "No matching words; ranked by how often and how recently it changed"
        return (Reason("activity", unexplained),)

    def _pointer(
        self, file: int, lifted: set[str | None], functions: FunctionFacts | None
    ) -> Reason | None:
        """Return the reason that the report itself points to the file; None if it does not."""
        pointer = None
        if "frame" in lifted or self.asserted[file] > 0:
            pointer = self.reasons.pointers.frame(file)
        if pointer is None:
            pointer = self.reasons.pointers.name(file)
        if pointer is None and "name" in lifted:
            pointer = self.reasons.pointers.defined_name(file, functions)
        return pointer

    def _changes(
        self, file: int, lifted: set[str | None], lookups: RepositoryLookups
    ) -> Iterator[Reason]:
        """Yield the best earlier change, and a second one if it is similar enough."""
        if "past" not in lifted:
            return
        for position, change in enumerate(self.reasons.changes.past(file)[:2]):
            if position == 0 or change.similarity >= MIN_SIMILARITY_ONE_WORD:
                yield self.reasons.changes.describe_change(change, lookups)

    def _path_words(self, file: int, words: Sequence[str]) -> Reason | None:
        """Return the reason that the path contains words of the report; else None.

        None is also returned if all of these words are among ``words``, which another reason shows.
        """
        name_words = self.reasons.words.in_name(file)
        if set(name_words) <= set(words):
            return None
        return Reason("path", f"The path contains {self.reasons.spelling.join_words(name_words)}")

    def _counterpart(self, file: int) -> Reason | None:
        """Return the reason that a first file is a test of the file or is tested by it, or None."""
        return self.reasons.counterpart(file, self._matching_leaders)

    @cached_property
    def _matching_leaders(self) -> list[int]:
        """The first files, without those that share no word and to which the report does not point.

        Files come first even if the report matches none, because they change often.
        """
        words = self.reasons.words
        matching: list[int] = []
        for file in top_k(self.scores, COUNTERPART_DEPTH).tolist():
            if self.asserted[file] > 0 or words.in_name(file) or words.shared(file)[0]:
                matching.append(file)
        return matching

    def _lifted_kinds(self, file: int) -> set[str | None]:
        """Return the kinds of reasons whose features together raise the file's score."""
        added: defaultdict[str | None, float] = defaultdict(float)
        for name, weight in zip(self.stage.features, self.stage.weights.tolist(), strict=True):
            added[features.FEATURES[name].reason] += weight * self.columns[name].item(file)
        return {kind for kind, value in added.items() if value > 0}
