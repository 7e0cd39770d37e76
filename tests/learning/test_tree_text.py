"""The learned ranker's text: what is no ranker is refused before LightGBM reads it, which would end the process."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.mutations import in_child, kinds, text_damage
from tosloc.config import RankerSettings
from tosloc.errors import CheckpointError
from tosloc.learning.lambdamart import HeadRanker
from tosloc.learning.ranking_lists import RankingLists
from tosloc.learning.tree_text import check_ranker

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
    assert check_ranker(ranker.text()) == ranker.features == 5
    again = HeadRanker.from_text(ranker.text(), ranker.settings, 1.0)
    assert again.scores(ROWS).tolist() == ranker.scores(ROWS).tolist()
    assert again.text() == ranker.text()


def test_other_features_are_one_sentence(text: str) -> None:
    with pytest.raises(CheckpointError, match="reads 5 features, but there are 4; train again"):
        HeadRanker.from_text(text, RankerSettings(), 1.0).scores(ROWS[:, :4])


def changed(text: str, line: str, place: int, value: str) -> str:
    """The first tree with more than one split, with another value at a place of a line."""
    found = re.search(rf"^{line}=(\S+ \S+ \S+.*)$", text, re.MULTILINE)
    assert found is not None
    words = found[1].split(" ")
    words[place] = value
    new = text[: found.start(1)] + " ".join(words) + text[found.end(1) :]
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
        check_ranker(hostile)
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
        check_ranker(text.replace(old, new))


def test_any_cut_is_refused(text: str) -> None:
    for end in range(0, text.index("end of parameters"), 97):
        with pytest.raises(ValueError):  # noqa: PT011
            check_ranker(text[:end])


@pytest.mark.slow
def test_no_damage_ends_the_process(text: str) -> None:
    """Before there was a check, 287 of 500 such texts ended it or never came back."""
    shipped = (Path(__file__).parents[2] / "tosloc/defaults/ranker.txt").read_bytes()
    rows = np.random.default_rng(0).random((50, 33)).astype(np.float32)

    def use(damaged: bytes, rows: np.ndarray) -> str:
        scores = HeadRanker.from_text(damaged.decode("utf-8", "replace"), RankerSettings(), 1.0).scores(rows)
        assert np.isfinite(scores).all()
        return "answered"

    outcomes = [in_child(lambda seed=seed: use(text_damage(text.encode(), seed), ROWS)) for seed in range(300)]
    outcomes += [in_child(lambda seed=seed: use(text_damage(shipped, seed), rows)) for seed in range(60)]
    assert set(kinds(outcomes, "answered")) <= {"right", "sentence"}
