"""The learned ranker's text: what is no ranker is refused, and its trees are read as LightGBM reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import lightgbm
import numpy as np
import pytest

from tests.mutations import in_child, kinds, text_damage
from tosloc.config import RankerSettings
from tosloc.errors import CheckpointError
from tosloc.learning.lambdamart import HeadRanker
from tosloc.learning.ranking_lists import RankingLists
from tosloc.learning.tree_text import read_trees
from tosloc.retrieval import features

ROWS = np.random.default_rng(0).random((40, 5)).astype(np.float32)


def fitted(**settings: float) -> HeadRanker:
    rng = np.random.default_rng(1)
    lists = []
    for _ in range(12):
        rows = rng.random((25, 5)).astype(np.float32)
        rows[rng.random(rows.shape) < 0.1] = np.nan  # thresholds that are infinite
        lists.append((rows, np.arange(25) == rows[:, 0].argmax()))
    return HeadRanker(RankerSettings(**{"rounds": 8, "leaves": 6, "min_leaf": 2, **settings})).fit(
        RankingLists.of(lists)
    )


@pytest.fixture(scope="module")
def text() -> str:
    return fitted().text()


@pytest.mark.parametrize("settings", [{}, {"leaves": 2}, {"min_leaf": 10_000}, {"rounds": 1}, {"leaves": 40}])
def test_what_lightgbm_writes_is_let_through(settings: dict[str, float]) -> None:
    ranker = fitted(**settings)
    assert read_trees(ranker.text()).features == ranker.features == 5
    again = HeadRanker.from_text(ranker.text(), ranker.settings, 1.0)
    assert again.scores(ROWS).tolist() == ranker.scores(ROWS).tolist()
    assert again.text() == ranker.text()


def odd_rows(features: int, text: str) -> np.ndarray:
    """Rows of numbers about the trees' thresholds, with zeros, the smallest numbers and what is no number."""
    rng = np.random.default_rng(3)
    thresholds = [float(word) for line in re.findall("^threshold=(.+)$", text, re.MULTILINE) for word in line.split()]
    near = np.array([value for value in thresholds if abs(value) < 1e30] or [0.0]).astype(np.float32)
    near = np.concatenate((near, np.nextafter(near, np.float32(9)), np.nextafter(near, np.float32(-9))))
    rows = rng.choice(near, (300, features))
    for value in (0.0, -0.0, 1e-36, -1e-35, 3e-35, np.nan, np.inf, -np.inf):
        rows[rng.random(rows.shape) < 0.03] = value
    return rows.astype(np.float32)


@pytest.mark.parametrize("settings", [{}, {"leaves": 2}, {"min_leaf": 10_000}, {"leaves": 40}, None])
def test_the_scores_are_lightgbms_to_the_last_bit(settings: dict[str, float] | None) -> None:
    shipped = (Path(__file__).parents[2] / "tosloc/defaults/ranker.txt").read_text()
    text = shipped if settings is None else fitted(**settings).text()
    for decision in (None, "0", "4", "6", "8", "10"):  # what is missing, and where it goes
        changed_text = text if decision is None else re.sub("(?<=decision_type=)(.+)", _all(decision), text)
        changed_text = _resized(changed_text)
        booster, trees = lightgbm.Booster(model_str=changed_text), read_trees(changed_text)
        for rows in (
            odd_rows(trees.features, text),
            ROWS if trees.features == 5 else np.eye(trees.features, dtype=np.float32),
        ):
            expected = booster.predict(rows, num_threads=1).tolist()
            for _ in range(5):  # the first ones node by node, the others by tables where they may be
                assert trees.scores(rows).tolist() == expected
        finite = np.nan_to_num(rows)
        assert trees.scores(finite).tolist() == booster.predict(finite, num_threads=1).tolist()


def test_a_row_alone_has_the_score_that_it_has_among_others() -> None:
    shipped = (Path(__file__).parents[2] / "tosloc/defaults/ranker.txt").read_text()
    trees = read_trees(shipped)
    rows = np.random.default_rng(3).random((20, trees.features), dtype=np.float32)
    assert [float(trees.scores(rows[[place]])[0]) for place in range(20)] == trees.scores(rows).tolist()


def _all(decision: str) -> Callable[[re.Match[str]], str]:
    return lambda found: " ".join([decision] * len(found[1].split()))


def test_other_features_are_one_sentence(text: str) -> None:
    with pytest.raises(CheckpointError, match="reads 5 features, but there are 4; train again"):
        HeadRanker.from_text(text, RankerSettings(), 1.0).scores(ROWS[:, :4])


def changed(text: str, line: str, place: int, value: str) -> str:
    """The first tree with more than one split, with another value at a place of a line."""
    found = re.search(rf"^{line}=(\S+ \S+ \S+.*)$", text, re.MULTILINE)
    assert found is not None
    words = found[1].split(" ")
    words[place] = value
    return _resized(text[: found.start(1)] + " ".join(words) + text[found.end(1) :])


def _resized(new: str) -> str:
    """The text with the sizes that its trees have."""
    sizes = [len(tree) for tree in re.findall(r"Tree=\d+\n.*?\n\n\n", new, re.DOTALL)]
    return re.sub(r"tree_sizes=.*", "tree_sizes=" + " ".join(map(str, sizes)), new)


@pytest.mark.parametrize(
    ("line", "place", "value", "words"),
    [
        ("left_child", 1, "0", "tied wrongly"),  # goes round for ever
        ("left_child", 0, "99", "tied wrongly"),
        ("right_child", 0, "-99", "tied wrongly"),
        ("left_child", -1, "-1", "two parents"),
        ("split_feature", 0, "5", "out of bounds"),
        ("split_feature", 0, "-1", "out of bounds"),
        ("decision_type", 0, "1", "no known kind"),  # by categories
        ("leaf_value", 0, "1e10", "out of bounds"),
        ("leaf_value", 0, "1e999", "out of bounds"),
        ("leaf_value", 0, "nan", "not the form"),
        ("threshold", 0, "-inf", "out of bounds"),
        ("threshold", 0, "1e", "could not convert"),
        ("leaf_count", 0, "9" * 30, "out of bounds"),
        ("leaf_value", 0, "1 1", "too long or too short"),
        ("leaf_value", 0, "7" * 5000, "out of bounds"),
    ],
)
def test_a_tree_that_is_none_is_said(text: str, line: str, place: int, value: str, words: str) -> None:
    hostile = changed(text, line, place, value)
    with pytest.raises(ValueError, match=words):
        read_trees(hostile)
    with pytest.raises(CheckpointError, match=r"damaged or no ranker .* copy the whole folder"):
        HeadRanker.from_text(hostile, RankerSettings(), 1.0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("num_class=1", "num_class=2"),
        ("max_feature_idx=4", "max_feature_idx=5"),
        ("max_feature_idx=4", "max_feature_idx=99999"),
        ("objective=lambdarank", "objective=regression"),
        ("tree_sizes=", "tree_sizes=1"),
        ("num_cat=0", "num_cat=1"),
        ("is_linear=0", "is_linear=1"),
        ("Tree=1\n", "Tree=2\n"),
        ("end of trees", "end of tree"),
        ("pandas_categorical:null", "pandas_categorical:[["),
        ("[num_leaves: 6]", "[num_leaves: [[[[]"),
        ("Column_0 ", "Cölumn_0 "),
    ],
)
def test_any_other_form_is_refused(text: str, old: str, new: str) -> None:
    assert old in text
    with pytest.raises(ValueError):  # noqa: PT011
        read_trees(text.replace(old, new))


def test_any_cut_is_refused(text: str) -> None:
    for end in range(0, text.index("end of parameters"), 97):
        with pytest.raises(ValueError):  # noqa: PT011
            read_trees(text[:end])


SHIPPED_FEATURES = len(features.NAMES) + 2
"""Of the shipped ranker: stage one's, the linear score and the rank."""


@pytest.mark.slow
def test_no_damage_ends_the_process(text: str) -> None:
    """Before there was a check, 287 of 500 such texts ended it or never came back."""
    shipped = (Path(__file__).parents[2] / "tosloc/defaults/ranker.txt").read_bytes()
    rows = np.random.default_rng(0).random((50, SHIPPED_FEATURES)).astype(np.float32)

    def use(damaged: bytes, rows: np.ndarray) -> str:
        scores = HeadRanker.from_text(damaged.decode("utf-8", "replace"), RankerSettings(), 1.0).scores(rows)
        assert np.isfinite(scores).all()
        return "answered"

    outcomes = [in_child(lambda seed=seed: use(text_damage(text.encode(), seed), ROWS)) for seed in range(300)]
    outcomes += [in_child(lambda seed=seed: use(text_damage(shipped, seed), rows)) for seed in range(60)]
    assert set(kinds(outcomes, "answered")) <= {"right", "sentence"}
