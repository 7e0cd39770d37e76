"""The vector space by the golden values of docs/method.md, section B.11, and by slow versions of its formulas."""

from __future__ import annotations

from collections import Counter
from math import log, sqrt

import numpy as np
import pytest

from tosloc.lab.baselines.vsm import VectorSpace, count, plain_length_score, step_length_score

TEXTS = [["a", "a", "b"], ["b", "c"], ["c", "c", "c", "d"]]
LENGTHS = np.array([10.0, 20.0, 40.0, 80.0, 200.0])


def cosine(texts: list[list[str]], query: list[str]) -> list[float]:
    """Section B.1.5, term by term."""
    holders = Counter(term for text in texts for term in set(text))

    def vector(terms: list[str]) -> dict[str, float]:
        return {
            term: (log(number) + 1) * log(len(texts) / holders[term])
            for term, number in Counter(terms).items()
            if term in holders
        }

    query = vector(query)
    length = sqrt(sum(weight**2 for weight in query.values()))
    found = []
    for text in texts:
        own = vector(text)
        norm = sqrt(sum(weight**2 for weight in own.values()))
        product = sum(weight * own.get(term, 0.0) for term, weight in query.items())
        found.append(product / (length * norm) if length * norm else 0.0)
    return found


def test_golden_cosine() -> None:
    space = VectorSpace.of(count(TEXTS), np.ones(3, dtype=np.int64))
    query = "a b b zzz".split()
    columns, weights = space.query_weights(query)
    assert columns.tolist() == [space.counts.vocabulary[term] for term in "ab"]
    assert weights.round(6).tolist() == [1.098612, 0.686512]
    assert space.cosine(query).round(6).tolist() == [0.941447, 0.374719, 0.0]


def test_texts_outside_the_version_have_no_say_and_copies_count() -> None:
    texts = [*TEXTS, ["a", "c", "e"]]
    multiplicity = np.array([2, 1, 1, 0], dtype=np.int64)
    found = VectorSpace.of(count(texts), multiplicity).cosine(["a", "c", "e"])
    assert found[[0, 0, 1, 2]].tolist() == pytest.approx(cosine([TEXTS[0], *TEXTS], ["a", "c", "e"]))


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
