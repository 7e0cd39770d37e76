"""The vector space by the golden values of docs/method.md, section B.11."""

import numpy as np
import pytest

from tosloc.lab.baselines.vsm import VectorSpace, count, plain_length_score, step_length_score

TEXTS = [["a", "a", "b"], ["b", "c"], ["c", "c", "c", "d"]]


def test_golden_cosine():
    space = VectorSpace.of(count(TEXTS), np.ones(3, dtype=np.int64))
    columns, weights = space.query_weights("a b b zzz".split())
    assert columns.tolist() == [space.counts.vocabulary[term] for term in "ab"]
    assert weights.round(6).tolist() == [1.098612, 0.686512]
    assert space.cosine("a b b zzz".split()).round(6).tolist() == [0.941447, 0.374719, 0.0]


def test_texts_outside_the_version_have_no_say_and_copies_count():
    query = ["a", "c", "e"]
    found = VectorSpace.of(count([*TEXTS, query]), np.array([2, 1, 1, 0])).cosine(query)
    alone = VectorSpace.of(count([TEXTS[0], *TEXTS]), np.ones(4, dtype=np.int64)).cosine(query)
    assert found[[0, 0, 1, 2]].tolist() == pytest.approx(alone.tolist())


@pytest.mark.parametrize("query", [[], ["unknown"], ["every"]])
def test_nothing_to_ask_gives_zeros(query):
    space = VectorSpace.of(count([["every", "a"], ["every", "b"], []]), np.array([1, 1, 0]))
    assert space.cosine(query).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("score", "lengths", "golden"),
    [
        (
            step_length_score,
            [10, 20, 40, 80, 200],
            [0.553778, 0.606326, 0.703451, 0.849102, 0.986861],
        ),
        (plain_length_score, [10, 20, 40, 80, 200], [0.5, 0.513155, 0.539392, 0.591077, 0.731059]),
        (step_length_score, [7, 7], [0.5, 0.5]),
        (step_length_score, [0, 0], [0.5, 0.5]),
        (step_length_score, [], []),
        (plain_length_score, [4, 4], [0.5, 0.5]),
    ],
)
def test_golden_length_scores(score, lengths, golden):
    assert score(np.array(lengths, dtype=np.float64)).round(6).tolist() == golden
