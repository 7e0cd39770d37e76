"""LightGBM's text of a ranker, checked and read. LightGBM itself never reads it: what is wrong there would end the
whole process.

Only what rankers of numbers have is let through: one class, no categories, no linear leaves, one form of every line.

Letters in shapes: T trees, L leaves of a tree, N nodes of all trees (a tree has L - 1), K features.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from itertools import accumulate, chain, pairwise
from typing import Final, TypeVar

import numpy as np

from tosloc.learning.trees import Trees

_MOST_FEATURES: Final = 10_000
_MOST_TREES: Final = 100_000
_MOST_LEAVES: Final = 131_072
"""What LightGBM allows, too."""
_LARGEST_OUTPUT: Final = 1e9
"""Of a leaf; LightGBM learns none beyond 100."""
_LARGEST: Final = 1e300
"""Of any other number; LightGBM writes none beyond it."""
_DECISIONS: Final = (0, 2, 4, 6, 8, 10)
"""Kinds of numeric splits: where a missing value goes, and which values count as missing."""

_NUMBERS, _WHOLES = r"[-+.0-9e ]*", r"[-0-9 ]*"
_THRESHOLDS = r"[-+.0-9einf ]*"
"""Infinite ones part what is missing from what is not."""
_HEADER: Final = re.compile(
    r"tree\nversion=v[34]\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=(\d{1,5})\n"
    r"objective=lambdarank\nfeature_names=([!-~]+(?: [!-~]+)*)\n"
    r"feature_infos=((?:none|\[[-+.0-9e]+:[-+.0-9e]+\])(?: (?:none|\[[-+.0-9e]+:[-+.0-9e]+\]))*)\n"
    r"tree_sizes=(\d{1,9}(?: \d{1,9})*)\n\n"
)
_TREE: Final = re.compile(
    r"Tree=(\d{1,6})\nnum_leaves=(\d{1,6})\nnum_cat=0\n"
    + "".join(
        f"{name}=({form})\n"
        for name, form in (
            ("split_feature", _WHOLES),
            ("split_gain", _NUMBERS),
            ("threshold", _THRESHOLDS),
            ("decision_type", _WHOLES),
            ("left_child", _WHOLES),
            ("right_child", _WHOLES),
            ("leaf_value", _NUMBERS),
            ("leaf_weight", _NUMBERS),
            ("leaf_count", _WHOLES),
            ("internal_value", _NUMBERS),
            ("internal_weight", _NUMBERS),
            ("internal_count", _WHOLES),
        )
    )
    + r"is_linear=0\nshrinkage=([-+.0-9e]{1,30})\n\n\n"
)
_REST: Final = re.compile(
    r"end of trees\n\nfeature_importances:\n(?:[!-~]+=\d{1,18}\n)*\n"
    r"parameters:\n(?:\[\w{1,60}: [-+.,:;/\\ \w~@=()*]{0,2000}\]\n)*\nend of parameters\n"
    r"\n?(?:pandas_categorical:null\n?)?"
)
_N = TypeVar("_N", int, float)


def read_trees(text: str) -> Trees:
    """The trees of LightGBM's ``text``.

    Raises ValueError, which says what is wrong, unless every tree is a tree of finite numbers whose splits ask for
    features from 0 to K - 1 and everything else has the form that LightGBM writes.
    """
    header = _HEADER.match(text)
    if header is None or not text.isascii():
        raise ValueError("it does not begin as a ranker of LightGBM")
    features = int(header[1]) + 1
    sizes = [int(size) for size in header[4].split(" ")]
    if features > _MOST_FEATURES or not len(header[2].split(" ")) == len(header[3].split(" ")) == features:
        raise ValueError("its features are counted wrongly")
    ends = list(accumulate(sizes, initial=header.end()))
    if len(sizes) > _MOST_TREES or ends[-1] > len(text):
        raise ValueError("it is cut off, or the sizes of its trees are wrong")
    trees = [_TREE.fullmatch(text, start, end) for start, end in pairwise(ends)]
    lines = [tree.groups() for tree in trees if tree is not None]
    if len(lines) < len(trees):
        raise ValueError(f"tree {trees.index(None)} has not the form of a tree")
    if [int(line[0]) for line in lines] != list(range(len(lines))):
        raise ValueError("its trees are numbered wrongly")
    if _REST.fullmatch(text, ends[-1]) is None:
        raise ValueError("what follows its trees is not what LightGBM writes there")
    leaves = np.array([int(line[1]) for line in lines])
    if leaves.min() < 1 or leaves.max() > _MOST_LEAVES:
        raise ValueError("a tree has no leaves, or too many")
    return Trees.of(features, leaves.tolist(), _checked_columns(lines, leaves, features))


def _checked_columns(lines: Sequence[Sequence[str]], leaves: np.ndarray, features: int) -> list[np.ndarray]:
    """Split features, thresholds, decisions, left and right children, leaf values of all trees.

    Raises ValueError unless the lines' arrays are as long as the trees have nodes or ``leaves`` (T,), and fit.
    """

    def column(place: int, sizes: Sequence[int], kind: Callable[[str], _N], least: float, most: float) -> np.ndarray:
        """The numbers of one line of every tree, one tree after the other."""
        tokens = [line[place].split(" ") if size else [] for line, size in zip(lines, sizes, strict=True)]
        if list(map(len, tokens)) != list(sizes):
            raise ValueError("a line of a tree is too long or too short")
        values = list(map(kind, chain.from_iterable(tokens)))
        if values and not least <= min(values) <= max(values) <= most:  # not a number compares as false, too
            raise ValueError("a number of a tree is out of bounds")
        return np.array(values)

    nodes, of_leaves = (leaves - 1).tolist(), leaves.tolist()
    asked = column(2, nodes, int, 0, features - 1)
    column(3, nodes, float, -_LARGEST, _LARGEST)
    thresholds = column(4, nodes, float, -_LARGEST, math.inf)
    decisions = column(5, nodes, int, 0, max(_DECISIONS))
    left, right = (column(place, nodes, int, -_MOST_LEAVES, _MOST_LEAVES) for place in (6, 7))
    values = column(8, of_leaves, float, -_LARGEST_OUTPUT, _LARGEST_OUTPUT)
    for place, sizes in ((9, of_leaves), (11, nodes), (12, nodes)):
        # a tree without a split may leave out how many reached its leaf
        kept = [size if line[place] or size > 1 else 0 for line, size in zip(lines, sizes, strict=True)]
        column(place, kept, float, -_LARGEST, _LARGEST)
    for place, sizes in ((10, of_leaves), (13, nodes)):
        kept = [size if line[place] or size > 1 else 0 for line, size in zip(lines, sizes, strict=True)]
        column(place, kept, int, 0, 2**31 - 1)
    if not all(abs(float(line[14])) <= _LARGEST for line in lines):
        raise ValueError("a number of a tree is out of bounds")
    if not np.isin(decisions, _DECISIONS).all():
        raise ValueError("a split is of no known kind")
    _check_children(left, right, leaves)
    return [asked, thresholds, decisions, left, right, values]


def _check_children(left: np.ndarray, right: np.ndarray, leaves: np.ndarray) -> None:
    """Raise ValueError unless the children (N,) of all nodes make one tree of each number of leaves (T,).

    A child that is a node has a higher number than its parent, so that no way goes round; a leaf l is -1 - l.
    """
    tree = np.repeat(np.arange(len(leaves)), leaves - 1)
    node = np.arange(len(tree)) - np.repeat(np.cumsum(leaves - 1) - (leaves - 1), leaves - 1)
    child, parent, tree = np.concatenate((left, right)), np.concatenate((node, node)), np.concatenate((tree, tree))
    is_leaf = child < 0
    if (~is_leaf & (child <= parent)).any() or (np.where(is_leaf, -child, child + 1) > leaves[tree]).any():
        raise ValueError("the nodes of a tree are tied wrongly")
    # as many children as there are nodes below a root and leaves: none comes twice, so none is left out
    if len(np.unique(tree * (2 * _MOST_LEAVES + 1) + child)) < len(child):
        raise ValueError("a node of a tree has two parents")
