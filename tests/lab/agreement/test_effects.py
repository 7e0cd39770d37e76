"""RMSE, effect ratio, DeltaRI and tests: worked numbers, boundaries, and repro_eval on random runs."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from itertools import combinations
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tosloc.errors import RunError
from tosloc.evaluate.runs import Run
from tosloc.lab.agreement.effects import (
    Agreement,
    Effect,
    agreement,
    kendall_tau_union,
    mean,
    p_value,
    rank_biased_overlap,
    rmse,
)
from tosloc.records import Ranking


@pytest.mark.parametrize(
    ("means", "ratio", "delta", "place"),
    [
        ((0.2, 0.3, 0.2, 0.3), 1.0, 0.0, 4),
        ((0.2, 0.3, 0.4, 0.5), 1.0, 0.25, 1),
        ((0.2, 0.3, 0.4, 0.45), 0.5, 0.375, 1),
        ((0.2, 0.3, 0.1, 0.2), 1.0, -0.5, 4),
        ((0.2, 0.3, 0.2, 0.1), -1.0, 1.0, 2),
        ((0.2, 0.3, 0.2, 0.2), 0.0, 0.5, 2),
        ((0.4, 0.2, 0.4, 0.5), -0.5, -0.75, 3),
        ((0.2, 0.1, 0.2, 0.2), 0.0, -0.5, 3),
    ],
)
def test_worked_effects(means, ratio, delta, place):
    assert Effect.of(*means) == Effect(pytest.approx(ratio), pytest.approx(delta), place)


def test_the_paper_says_what_rmse_sees_and_effect_ratio_does_not():
    """Two topics whose improvements change places (section 3.1): ER 1, yet RMSE is not 0."""
    b, a, ours = 0.1, np.array([0.2, 0.8]), np.array([0.8, 0.2])
    assert Effect.of(b, mean(a), b, mean(ours)).ratio == pytest.approx(1.0)
    assert rmse(a, ours) == pytest.approx(0.6)


def test_no_effect_and_no_baseline_are_one_sentence():
    with pytest.raises(RunError, match=r"same mean, 0\.3: no effect"):
        Effect.of(0.3, 0.3, 0.1, 0.2)
    with pytest.raises(RunError, match="the baseline's mean is 0: no relative improvement"):
        Effect.of(0.0, 0.3, 0.1, 0.2)
    with pytest.raises(RunError, match="the baseline's mean is 0"):
        Effect.of(0.2, 0.3, 0.0, 0.1)


def test_p_values():
    rng = np.random.default_rng(5)
    one, two, other = rng.random(30), rng.random(30), rng.random(17)
    assert p_value(one, two, True) == pytest.approx(stats.ttest_rel(one, two).pvalue)
    assert p_value(one, other, False) == pytest.approx(stats.ttest_ind(one, other).pvalue)
    assert p_value(one, one, True) == 1.0
    assert p_value(np.ones(3), np.ones(5), False) == 1.0
    assert p_value(np.ones(3), np.zeros(5), False) is None
    assert p_value(np.ones(1), other, False) is None
    assert p_value(np.ones(1), np.ones(1), True) is None


# Against repro_eval 0.5


@pytest.fixture(scope="module")
def oracle() -> dict[str, ModuleType]:
    """Its modules. Their import warns of names that SciPy gave up, and wants pandas, which no measure here uses."""
    names = ("document_order", "effectiveness", "overall_effects", "statistics")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if importlib.util.find_spec("pandas") is None:
            patch.setitem(sys.modules, "pandas", ModuleType("pandas"))
        return {name: importlib.import_module(f"repro_eval.measure.{name}") for name in names}


def scores_of(values: np.ndarray) -> dict[str, dict[str, float]]:
    return {f"{number:03}": {"map": float(value)} for number, value in enumerate(values)}


@pytest.mark.parametrize("seed", range(20))
def test_scores_and_effects_are_those_of_repro_eval(oracle, seed):
    rng = np.random.default_rng(seed)
    b, a, our_b, our_a = (rng.random(25) ** power for power in (3, 1, 2, 1))
    four = [scores_of(values) for values in (a, b, our_a, our_b)]
    effect = Effect.of(*(mean(values) for values in (b, a, our_b, our_a)))
    assert rmse(a, our_a) == pytest.approx(oracle["effectiveness"].RMSE(four[0], four[2])["map"], abs=1e-12)
    assert effect.ratio == pytest.approx(oracle["overall_effects"].ER(*four)["map"], rel=1e-9)
    assert effect.delta_ri == pytest.approx(oracle["overall_effects"].DRI(*four)["map"], abs=1e-9)
    for same in (True, False):
        theirs = oracle["statistics"].ttest(four[0], four[2], rpd=same)["map"]
        assert p_value(a, our_a, same) == pytest.approx(theirs, rel=1e-9)


def ranked(files: list[str]) -> dict[str, dict[str, float]]:
    return {"1": {file: float(-place) for place, file in enumerate(files)}}


def shuffled(seed: int) -> tuple[list[str], list[str]]:
    """Two lists of 40 of 60 files, neighbours lightly swapped."""
    rng = np.random.default_rng(seed)
    original = [f"d{number:02}" for number in rng.permutation(60)]
    places = np.argsort(np.arange(60) + rng.normal(0, 3, 60))
    return original[:40], [original[place] for place in places][:40]


def tau_of(oracle: dict[str, Any], original: list[str], ours: list[str]) -> float:
    value: float = oracle["document_order"].KTU(ranked(original), ranked(ours))
    return value


@pytest.mark.parametrize("seed", range(10))
def test_the_sorted_union_is_that_of_repro_eval(oracle, seed):
    original, ours = shuffled(seed)
    assert kendall_tau_union(original, ours, sorted_union=True) == pytest.approx(tau_of(oracle, original, ours))


def test_renaming_files_changes_the_tau_of_repro_eval_and_not_ours(oracle):
    original, ours = shuffled(0)
    in_order = {file: f"d{place:02}" for place, file in enumerate(dict.fromkeys((*original, *ours)))}
    new, our_new = [in_order[file] for file in original], [in_order[file] for file in ours]
    assert kendall_tau_union(original, ours) == kendall_tau_union(new, our_new) > 0.8
    assert abs(tau_of(oracle, original, ours) - tau_of(oracle, new, our_new)) > 0.3
    assert tau_of(oracle, new, our_new) == pytest.approx(kendall_tau_union(original, ours))


def test_rbo_of_repro_eval_ends_where_the_lists_end(oracle):
    """It divides the sum down to a depth by the weight of that depth; on long lists that is the same."""
    rng = np.random.default_rng(3)
    files = [f"d{number:04}" for number in range(600)]
    original, ours = ([files[place] for place in rng.permutation(600)] for _ in range(2))
    ours[:30] = original[15:45]
    ours = list(dict.fromkeys((*ours, *files)))

    def theirs(first: list[str], second: list[str]) -> float:
        run = oracle["document_order"].RBO
        value: float = run(ranked(first), ranked(second), p=0.8, depth=1000, pbar=False, per_topic=False)
        return value

    assert rank_biased_overlap(original, ours) == pytest.approx(theirs(original, ours), abs=1e-9)
    assert rank_biased_overlap(["a", "b"], ["a", "b"]) == pytest.approx(1.0)
    assert theirs(["a", "b"], ["a", "b"]) < 0.9


# Orders: worked numbers, laws and slow literal definitions

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
