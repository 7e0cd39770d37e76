"""The five levels of reproduction: worked numbers, laws, slow literal definitions, repro_eval, and the command."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import warnings
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.runs import run_of
from tosloc.cli import main
from tosloc.errors import RunError
from tosloc.evaluate.evaluate import evaluate
from tosloc.evaluate.judgements import Judgement, by_report, write_judgements
from tosloc.evaluate.measures import AP, RR
from tosloc.evaluate.runs import write_known_ranks, write_run
from tosloc.lab.agreement import (
    Effect,
    Pair,
    against_published,
    effect,
    kendall_tau_union,
    p_value,
    rank_biased_overlap,
    reproduction,
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
    assert effect(AP, *means) == Effect(pytest.approx(ratio), pytest.approx(delta), place)


def test_no_effect_and_no_baseline_are_one_sentence():
    with pytest.raises(RunError, match=r"AP: the original's advanced .* same mean, 0\.3: no effect"):
        effect(AP, 0.3, 0.3, 0.1, 0.2)
    for means in ((0.0, 0.3, 0.1, 0.2), (0.2, 0.3, 0.0, 0.1)):
        with pytest.raises(RunError, match="the baseline's mean is 0: no relative improvement"):
            effect(AP, *means)


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
    found = effect(AP, *(float(values.mean()) for values in (b, a, our_b, our_a)))
    assert rmse(a, our_a) == pytest.approx(oracle["effectiveness"].RMSE(four[0], four[2])["map"], abs=1e-12)
    assert found.ratio == pytest.approx(oracle["overall_effects"].ER(*four)["map"], rel=1e-9)
    assert found.delta_ri == pytest.approx(oracle["overall_effects"].DRI(*four)["map"], abs=1e-9)
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

DOCUMENTS = [f"d{number}" for number in range(12)]
lists = st.permutations(DOCUMENTS).flatmap(lambda files: st.integers(0, len(files)).map(lambda size: files[:size]))


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
    ("original", "ours", "tau", "phi", "rbo"),
    [
        ("123", "124", 1.0, 0.5, 11 / 12),
        ("1234", "2536", 2 / 3, 0.8, None),
        ("123", "321", -1.0, 0.8, None),
        ("12", "34", 1.0, 0.8, 0.0),
        ("1234", "253", 1 / 3, 0.8, None),
        ("1", "2", 0.0, 0.8, 0.0),
        ("1", "12", 0.0, 0.8, 1.0),
        ("", "", 1.0, 0.8, 1.0),
        ("", "1", 0.0, 0.8, 0.0),
        ("1234567", "2134567", 19 / 21, 0.8, 0.8),
    ],
)
def test_orders_of_short_lists(original, ours, tau, phi, rbo):
    assert kendall_tau_union(original, ours) == pytest.approx(tau, abs=1e-13)
    assert rbo is None or rank_biased_overlap(original, ours, phi) == pytest.approx(rbo)


@given(lists, lists, st.integers(2, 12), st.sampled_from([0.5, 0.8, 0.9]))
def test_orders_are_the_literal_ones(original, ours, depth, phi):
    length = min(len(original), len(ours), depth)
    if length >= 2:
        expected = literal_tau(original[:length], ours[:length])
        assert kendall_tau_union(original, ours, depth) == pytest.approx(expected, abs=1e-12)
    if original and ours:
        value = rank_biased_overlap(original, ours, phi)
        assert value == pytest.approx(literal_rbo(original, ours, phi), abs=1e-9)
        assert value == pytest.approx(rank_biased_overlap(ours, original, phi))
        assert -1e-12 <= value <= 1 + 1e-12
        assert rank_biased_overlap(original, original, phi) == pytest.approx(1.0)


# Pairs of runs

FILES = tuple(f"src/F{number:02}.java" for number in range(20))
REPORTS = tuple(f"{number}" for number in range(12))


def judgements(reports=REPORTS, files=FILES, seed=0):
    rng = np.random.default_rng(seed)
    chosen = [tuple(files[place] for place in rng.choice(len(files), 2, replace=False)) for _ in reports]
    return by_report(Judgement(report, fixed, fixed) for report, fixed in zip(reports, chosen, strict=True))


def scored(qrels, skill, seed, files=FILES):
    """A run whose scores are noise, plus ``skill`` for fixed files."""
    rng = np.random.default_rng(seed)
    rankings = [
        Ranking.from_scores(one.report, files, rng.random(len(files)) + skill * np.isin(files, one.fixed))
        for one in qrels.values()
    ]
    run = run_of(rankings, where=f"run {seed}")
    return run, evaluate(run, qrels)


def pair(qrels, seed=1, low=0.2, high=0.8, files=FILES):
    return Pair(scored(qrels, low, seed, files), scored(qrels, high, seed + 1, files))


QRELS = judgements()
ORIGINAL = pair(QRELS)


def rows_of(rows):
    return {row["measure"]: row for row in rows}


def test_the_levels_are_those_of_the_scores():
    ours = pair(QRELS, seed=7, high=0.4)
    rows = rows_of(reproduction(ORIGINAL, ours, [RR])[0])
    b, a, our_b, our_a = (
        one[1].values(RR) for one in (ORIGINAL.baseline, ORIGINAL.advanced, ours.baseline, ours.advanced)
    )
    assert rows["RMSE of RR"]["advanced"] == pytest.approx(np.sqrt(((a - our_a) ** 2).mean()))
    assert rows["p of RR"]["baseline"] == pytest.approx(stats.ttest_rel(b, our_b).pvalue)
    assert rows["RR, original"]["advanced"] == pytest.approx(a.mean())
    assert rows["RR, delta"]["advanced"] == pytest.approx(a.mean() - our_a.mean())
    assert rows["ER of RR"]["effect"] == pytest.approx((our_a - our_b).mean() / (a - b).mean())
    expected = (a - b).mean() / b.mean() - (our_a - our_b).mean() / our_b.mean()
    assert rows["DeltaRI of RR"]["effect"] == pytest.approx(expected)
    runs = ORIGINAL.advanced[0], ours.advanced[0]
    orders = [[run.ranking(report).paths for run in runs] for report in REPORTS]
    for name, measure in (("Kendall's tau union", kendall_tau_union), ("RBO, phi 0.8", rank_biased_overlap)):
        assert rows[name]["advanced"] == pytest.approx(np.mean([measure(*both) for both in orders]))


def test_other_reports_or_only_some_in_common_are_refused():
    with pytest.raises(RunError, match="share 5 of 12 and 5 judged reports"):
        reproduction(ORIGINAL, pair(by_report(QRELS[one] for one in REPORTS[:5])), [RR])
    with pytest.raises(RunError, match="run 1 and run 2 are judged by different reports or fixed files"):
        Pair(scored(QRELS, 0.2, 1), scored(judgements(seed=9), 0.8, 2))


def test_against_published_means():
    b, a = ORIGINAL.baseline[1].mean(AP), ORIGINAL.advanced[1].mean(AP)
    rows, _ = against_published(b, a, ORIGINAL, AP)
    assert [row["ours"] for row in rows[3:]] == [pytest.approx(1.0), pytest.approx(0.0, abs=1e-12), 4]
    for row in rows[:3]:
        assert row["ours"] == pytest.approx(row["published"], abs=1e-12)
        assert row["interval"][0] < 0 < row["interval"][1]
    further, _ = against_published(b - 0.05, a, ORIGINAL, AP)
    assert [row["difference"] for row in further[:3]] == pytest.approx([0.05, 0, -0.05], abs=1e-12)
    assert further[0]["interval"][0] == pytest.approx(rows[0]["interval"][0] + 0.05)
    with pytest.raises(RunError, match="a published mean of AP is between 0 and 1, not 30"):
        against_published(30, a, ORIGINAL, AP)


# The command reproduce-check, in process


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Folders of an original pair (b, a), ours (b2, a2), another project's (b3, a3) and one of known ranks (b4, a4)."""
    files = FILES[:15]
    made = {"": (QRELS, pair(QRELS)), "2": (QRELS, pair(QRELS, seed=7, high=0.4))}
    other = judgements([f"X{number}" for number in range(9)], files, seed=3)
    made["3"] = (other, pair(other, seed=5, high=0.5, files=files))
    for number, (qrels, two) in made.items():
        for name, (run, _) in (("b", two.baseline), ("a", two.advanced)):
            folder = tmp_path / f"{name}{number}" / "test"
            write_run(folder / "run.jsonl.gz", {}, run.rankings())
            write_judgements(folder / "qrels.jsonl", qrels.values())
    for name, (run, evaluation) in (("b4", ORIGINAL.baseline), ("a4", ORIGINAL.advanced)):
        ranks = [
            (one.report, {run.ranking(one.report).paths[rank - 1]: rank for rank in one.ranks})
            for one in evaluation.per_report
        ]
        write_known_ranks(tmp_path / name / "run.jsonl.gz", {}, ranks)
        write_judgements(tmp_path / name / "qrels.jsonl", QRELS.values())
    return tmp_path


def check(folders: Path, number: str, *options: str, original: bool = True) -> int:
    named = ["--baseline", str(folders / "b"), "--advanced", str(folders / "a")] if original else []
    ours = ["--our-baseline", str(folders / f"b{number}"), "--our-advanced", str(folders / f"a{number}")]
    return main(["lab", "reproduce-check", *named, *ours, *options])


def test_tables_for_a_narrow_terminal_markdown_and_json(folders, capsys):
    assert check(folders, "2") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("12 reports of the original, 12 of ours")
    assert "…" not in printed
    lines = [line.rstrip() for line in printed.splitlines()]
    levels = [line.split()[0] for line in lines[4:-3] if line]
    assert levels == ["order"] * 2 + ["effectiveness"] * 3 + ["effect"] * 9 + ["statistics"] * 3 + ["mean"] * 9
    assert check(folders, "2", "--markdown", "--depth", "5") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "| level | measure | baseline | advanced | effect |" in lines
    assert lines[-1].startswith("- region ")
    assert check(folders, "", "--json", "--measures", "RR,P@5") == 0
    rows = rows_of(json.loads(capsys.readouterr().out)["rows"])
    assert rows["Kendall's tau union"]["advanced"] == rows["ER of RR"]["effect"] == 1.0
    assert rows["region of P@5"]["effect"] == 4


@pytest.mark.parametrize(
    ("number", "says"),
    [
        ("3", "other reports were judged: order and RMSE, which need the same ones, do not apply"),
        ("4", "whole rankings, does not apply"),
    ],
)
def test_what_does_not_apply_is_said(folders, capsys, number, says):
    assert check(folders, number) == 0
    printed = capsys.readouterr().out
    assert says in printed
    assert (number == "3") == printed.startswith("12 reports of the original, 9 of ours")
    [line] = [line for line in printed.splitlines() if "Kendall" in line]
    assert line.split()[-2:] == ["-", "-"]


def test_published_means(folders, capsys):
    options = ["--published-baseline", ".3", "--published-advanced", ".4", "--measure", "AP"]
    assert check(folders, "2", *options, original=False) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("our 12 reports against published means of AP")
    lines = [line.split()[0] for line in printed.splitlines()[4:10]]
    assert lines == ["baseline", "advanced", "improvement", "ER", "DeltaRI", "region"]


@pytest.mark.parametrize(
    ("original", "options", "said"),
    [
        (False, [], "name the original pair by --baseline and --advanced, or by --published-baseline"),
        (False, ["--published-baseline", ".3", "--published-advanced", ".4"], "published means are of one measure"),
        (True, ["--measures", "AP,Q@5"], "no measure Q@5"),
        (True, ["--split", "train"], "no finished run of the split 'train'"),
    ],
)
def test_wrong_input_is_one_sentence(folders, capsys, original, options, said):
    assert check(folders, "2", *options, original=original) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
