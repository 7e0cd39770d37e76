"""The vector space model by the golden values of docs/method.md, section B.11."""

import numpy as np
import pytest

from tosloc.lab.baselines.vsm import (
    VectorSpace,
    count_terms,
    plain_length_score,
    step_length_score,
)

TEXTS = [["a", "a", "b"], ["b", "c"], ["c", "c", "c", "d"]]
QUERY = ["a", "b", "b", "zzz"]


def test_golden_query_weights():
    space = VectorSpace.of_version(count_terms(TEXTS), np.ones(3, dtype=np.int64))
    columns, weights = space.query_weights(QUERY)
    assert columns.tolist() == [space.counts.vocabulary[term] for term in "ab"]
    assert weights.round(6).tolist() == [1.098612, 0.686512]


def test_golden_cosine():
    space = VectorSpace.of_version(count_terms(TEXTS), np.ones(3, dtype=np.int64))
    assert space.cosine(QUERY).round(6).tolist() == [0.941447, 0.374719, 0.0]


def test_texts_outside_the_version_do_not_count_and_copies_do():
    query = ["a", "c", "e"]
    multiplicity = np.array([2, 1, 1, 0])
    cosine = VectorSpace.of_version(count_terms([*TEXTS, query]), multiplicity).cosine(query)
    copied_texts = [TEXTS[0], *TEXTS]
    copied = VectorSpace.of_version(count_terms(copied_texts), np.ones(4, dtype=np.int64))
    assert cosine[[0, 0, 1, 2]].tolist() == pytest.approx(copied.cosine(query).tolist())


@pytest.mark.parametrize("query", [[], ["unknown"], ["every"]])
def test_query_without_weight_gives_zeros(query):
    counts = count_terms([["every", "a"], ["every", "b"], []])
    space = VectorSpace.of_version(counts, np.array([1, 1, 0]))
    assert space.cosine(query).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("length_score", "lengths", "expected"),
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
    ids=["code", "paper", "code, equal", "code, empty files", "code, no files", "paper, equal"],
)
def test_golden_length_scores(length_score, lengths, expected):
    assert length_score(np.array(lengths, dtype=np.float64)).round(6).tolist() == expected
