"""The vector space by the golden values of docs/method.md, section B.11."""

from __future__ import annotations

import numpy as np
import pytest

from tosloc.lab.baselines.vsm import VectorSpace, count, plain_length_score, step_length_score

TEXTS = [["a", "a", "b"], ["b", "c"], ["c", "c", "c", "d"]]
LENGTHS = np.array([10.0, 20.0, 40.0, 80.0, 200.0])


def test_golden_cosine() -> None:
    space = VectorSpace.of(count(TEXTS), np.ones(3, dtype=np.int64))
    query = "a b b zzz".split()
    columns, weights = space.query_weights(query)
    assert columns.tolist() == [space.counts.vocabulary[term] for term in "ab"]
    assert weights.round(6).tolist() == [1.098612, 0.686512]
    assert space.cosine(query).round(6).tolist() == [0.941447, 0.374719, 0.0]


def test_texts_outside_the_version_have_no_say_and_copies_count() -> None:
    query = ["a", "c", "e"]
    found = VectorSpace.of(count([*TEXTS, query]), np.array([2, 1, 1, 0], dtype=np.int64)).cosine(query)
    alone = VectorSpace.of(count([TEXTS[0], *TEXTS]), np.ones(4, dtype=np.int64)).cosine(query)
    assert found[[0, 0, 1, 2]].tolist() == pytest.approx(alone.tolist())


@pytest.mark.parametrize("query", [[], ["unknown"], ["every"]])
def test_nothing_to_ask_gives_zeros(query: list[str]) -> None:
    space = VectorSpace.of(count([["every", "a"], ["every", "b"], []]), np.array([1, 1, 0], dtype=np.int64))
    assert space.cosine(query).tolist() == [0.0, 0.0, 0.0]


def test_golden_length_scores() -> None:
    golden = [0.553778, 0.606326, 0.703451, 0.849102, 0.986861]
    assert step_length_score(LENGTHS).round(6).tolist() == golden
    assert plain_length_score(LENGTHS).round(6).tolist() == [0.5, 0.513155, 0.539392, 0.591077, 0.731059]


def test_length_scores_of_equal_files_are_numbers() -> None:
    assert plain_length_score(np.array([4.0, 4.0])).tolist() == [0.5, 0.5]
    assert np.isfinite(step_length_score(np.array([7.0, 7.0]))).all()
    assert step_length_score(np.zeros(2)).tolist() == [0.5, 0.5]
    assert step_length_score(np.zeros(0)).tolist() == []
