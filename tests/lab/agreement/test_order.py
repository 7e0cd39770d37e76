"""Kendall's tau union and rank-biased overlap against worked numbers, laws and slow literal definitions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosloc.evaluate.runs import Run
from tosloc.lab.agreement.effects import (
    Agreement,
    agreement,
    kendall_tau_union,
    rank_biased_overlap,
)
from tosloc.records import Ranking

FILES = [f"d{number}" for number in range(12)]
lists = st.permutations(FILES).flatmap(lambda files: st.integers(0, len(files)).map(lambda size: files[:size]))
permutations = st.permutations(FILES)


def literal_tau(original, ours):
    """Equation 1 of the paper over all pairs of places; its sequences never hold ties."""
    union = [*original, *(file for file in ours if file not in original)]
    pairs = [(union.index(first), union.index(second)) for first, second in zip(original, ours, strict=True)]
    signs = [np.sign((a[0] - b[0]) * (a[1] - b[1])) for a, b in combinations(pairs, 2)]
    return sum(signs) / len(signs)


def literal_rbo(original, ours, phi, depth=400):
    """Equation 2 of the paper summed far down, with agreement assumed below the lists' ends as Webber et al. do."""
    short, long = sorted((original, ours), key=len)
    s, total = len(short), 0.0
    at_short = len(set(short) & set(long[:s]))
    for d in range(1, depth + 1):
        seen = min(d, len(long))
        overlap = len(set(short[:d]) & set(long[:d])) + (at_short * (seen - s) / s if seen > s else 0.0)
        total += phi ** (d - 1) * overlap / seen
    return (1 - phi) * total


# Kendall's tau union


@pytest.mark.parametrize(
    ("original", "ours", "tau"),
    [
        ("d1 d2 d3", "d1 d2 d4", 1.0),
        ("d1 d2 d3 d4", "d2 d5 d3 d6", 2 / 3),
        ("d1 d2 d3", "d3 d2 d1", -1.0),
        ("d1 d2", "d3 d4", 1.0),
        ("d1 d2 d3 d4", "d2 d5 d3", 1 / 3),
        ("d1", "d1", 1.0),
        ("d1", "d2", 0.0),
        ("d1", "d1 d2", 0.0),
        ("", "", 1.0),
        ("", "d1 d2", 0.0),
    ],
)
def test_tau_of_short_lists(original, ours, tau):
    assert kendall_tau_union(original.split(), ours.split()) == pytest.approx(tau, abs=1e-13)


@given(lists, lists, st.integers(2, 12))
def test_tau_is_the_literal_one(original, ours, depth):
    length = min(len(original), len(ours), depth)
    if length >= 2:
        expected = literal_tau(original[:length], ours[:length])
        assert kendall_tau_union(original, ours, depth) == pytest.approx(expected, abs=1e-12)


# Rank-biased overlap


@pytest.mark.parametrize(
    ("original", "ours", "phi", "value"),
    [
        ("abcdefg", "abcdefg", 0.9, 1.0),
        ("abcdefg", "bacdefg", 0.9, 0.9),
        ("abcdefg", "bacdefg", 0.8, 0.8),
        ("ab", "cd", 0.8, 0.0),
        ("a", "ab", 0.8, 1.0),
        ("ab", "ac", 0.5, 0.75),
        ("", "", 0.8, 1.0),
        ("", "a", 0.8, 0.0),
    ],
)
def test_rbo_of_short_lists(original, ours, phi, value):
    assert rank_biased_overlap(original, ours, phi) == pytest.approx(value)


@given(lists.filter(bool), lists.filter(bool), st.sampled_from([0.5, 0.8, 0.9]))
def test_rbo_is_the_literal_one(original, ours, phi):
    value = rank_biased_overlap(original, ours, phi)
    assert value == pytest.approx(literal_rbo(original, ours, phi), abs=1e-9)
    assert value == pytest.approx(rank_biased_overlap(ours, original, phi))
    assert -1e-12 <= value <= 1 + 1e-12
    assert rank_biased_overlap(original, original, phi) == pytest.approx(1.0)


def test_runs_report_by_report():
    original, ours = (
        Run.of({}, [Ranking(name, tuple(files), -np.arange(4.0)) for name, files in (("one", "abcd"), ("two", second))])
        for second in ("abcd", "dcba")
    )
    rbo = (1 + rank_biased_overlap("abcd", "dcba")) / 2
    assert agreement(original, ours, ["one", "two"]) == Agreement(0.0, pytest.approx(rbo))
    assert agreement(original, ours, ["two"], depth=2).tau == 1.0
