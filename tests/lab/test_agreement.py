"""The five levels of reproduction: worked numbers, repro_eval, and the command."""

import importlib
import importlib.util
import json
import sys
import warnings
from types import ModuleType

import numpy as np
import pytest
from scipy import stats

from tests.toy import make_run
from tosloc.cli import main
from tosloc.core.errors import RunError
from tosloc.core.records import Ranking
from tosloc.evaluate.judgements import Judgement, to_qrels, write_judgements
from tosloc.evaluate.measures import AP, RR, evaluate
from tosloc.evaluate.runs import Run, write_run
from tosloc.lab import agreement
from tosloc.lab.agreement import (
    Pair,
    effect,
    kendall_tau_union,
    p_value,
    rank_biased_overlap,
    reproduction,
    rmse,
)


@pytest.mark.parametrize(
    ("means", "ratio", "delta", "place"),
    [
        ((0.2, 0.3, 0.2, 0.3), 1.0, 0.0, 4),
        ((0.2, 0.3, 0.4, 0.45), 0.5, 0.375, 1),
        ((0.2, 0.3, 0.1, 0.2), 1.0, -0.5, 4),
        ((0.2, 0.3, 0.2, 0.2), 0.0, 0.5, 2),
        ((0.4, 0.2, 0.4, 0.5), -0.5, -0.75, 3),
    ],
)
def test_worked_effects(means, ratio, delta, place):
    assert effect(AP, *means) == (pytest.approx(ratio), pytest.approx(delta), place)


@pytest.mark.parametrize(
    ("means", "said"),
    [
        ((0.3, 0.3, 0.1, 0.2), r"AP: the original's advanced .* same mean, 0\.3: no effect"),
        ((0.2, 0.3, 0.0, 0.1), "the baseline's mean is 0: no relative improvement"),
    ],
)
def test_no_effect_and_no_baseline_are_one_sentence(means, said):
    with pytest.raises(RunError, match=said):
        effect(AP, *means)


def test_p_values():
    one, other = np.random.default_rng(5).random((2, 30))
    assert p_value(one, other[:17], False) == pytest.approx(stats.ttest_ind(one, other[:17]).pvalue)
    assert p_value(one, one, True) == 1.0
    assert p_value(np.ones(3), np.zeros(5), False) is p_value(np.ones(1), other, False) is None


# Against repro_eval 0.5


@pytest.fixture(scope="module")
def oracle():
    """Its measures. Their import warns of names that SciPy gave up, and wants pandas, which no measure here uses."""
    modules = ("document_order", "effectiveness", "overall_effects", "statistics")
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if importlib.util.find_spec("pandas") is None:
            patch.setitem(sys.modules, "pandas", ModuleType("pandas"))
        return {
            key: value
            for name in modules
            for key, value in vars(importlib.import_module(f"repro_eval.measure.{name}")).items()
        }


@pytest.mark.parametrize("seed", range(5))
def test_scores_and_effects_are_those_of_repro_eval(oracle, seed):
    rng = np.random.default_rng(seed)
    b, a, our_b, our_a = (rng.random(25) ** power for power in (3, 1, 2, 1))
    four = [
        {f"{number:03}": {"map": value} for number, value in enumerate(of)}
        for of in (a, b, our_a, our_b)
    ]
    found = effect(AP, *(values.mean() for values in (b, a, our_b, our_a)))
    assert rmse(a, our_a) == pytest.approx(oracle["RMSE"](four[0], four[2])["map"], abs=1e-12)
    assert found.ratio == pytest.approx(oracle["ER"](*four)["map"], rel=1e-9)
    assert found.delta_ri == pytest.approx(oracle["DRI"](*four)["map"], abs=1e-9)
    for same in (True, False):
        theirs = oracle["ttest"](four[0], four[2], rpd=same)["map"]
        assert p_value(a, our_a, same) == pytest.approx(theirs, rel=1e-9)


def test_orders_are_those_of_repro_eval(oracle):
    """Where files have names in their order, which it sorts by, and lists are long, at whose end it stops."""
    files = [f"d{number:04}" for number in range(600)]
    near = np.argsort(np.arange(600) + np.random.default_rng(3).normal(0, 9, 600))
    ours = [files[place] for place in near]
    runs = [{"1": {file: float(-place) for place, file in enumerate(one)}} for one in (files, ours)]
    assert 0.8 < kendall_tau_union(files, ours) == pytest.approx(oracle["KTU"](*runs))
    theirs = oracle["RBO"](*runs, p=0.8, depth=1000, pbar=False, per_topic=False)
    assert rank_biased_overlap(files, ours) == pytest.approx(theirs, abs=1e-9)
    assert 0.1 < theirs < 0.9


@pytest.mark.parametrize(
    ("original", "ours", "tau", "phi", "rbo"),
    [
        ("123", "124", 1.0, 0.5, 11 / 12),
        ("1234", "253", 1 / 3, 0.8, None),
        ("12", "34", 1.0, 0.8, 0.0),
        ("1", "12", 0.0, 0.8, 1.0),
        ("", "1", 0.0, 0.8, 0.0),
        ("1234567", "2134567", 19 / 21, 0.8, 0.8),
        ("1234", "21", -1.0, 0.8, 0.8),  # agreement goes on as it was where the shorter list ends
        ("1234", "13", 1.0, 0.5, 0.5 * (1 + 0.5 / 2 + 0.5**2 * 2.5 / 3) + 0.5**3 * 3 / 4),
    ],
)
def test_orders_of_short_lists(original, ours, tau, phi, rbo):
    assert kendall_tau_union(original, ours) == pytest.approx(tau, abs=1e-13)
    assert rbo is None or rank_biased_overlap(original, ours, phi) == pytest.approx(rbo)


FILES = tuple(f"src/F{number:02}.java" for number in range(20))


def judgements(name="", number=12, seed=0):
    rng = np.random.default_rng(seed)
    chosen = [
        tuple(FILES[place] for place in rng.choice(len(FILES), 2, replace=False))
        for _ in range(number)
    ]
    return to_qrels(
        Judgement(f"{name}{report}", fixed, fixed) for report, fixed in enumerate(chosen)
    )


def scored(qrels, skill, seed):
    """A run whose scores are noise, plus ``skill`` for fixed files."""
    rng = np.random.default_rng(seed)
    rankings = [
        Ranking.from_scores(
            one.report, FILES, rng.random(len(FILES)) + skill * np.isin(FILES, one.fixed)
        )
        for one in qrels.values()
    ]
    run = make_run(rankings, where=f"run {seed}")
    return run, evaluate(run, qrels)


def pair(qrels, seed=1, high=0.8):
    return Pair(scored(qrels, 0.2, seed), scored(qrels, high, seed + 1))


QRELS = judgements()
ORIGINAL = pair(QRELS)


def test_the_levels_are_those_of_the_scores():
    ours = pair(QRELS, seed=7, high=0.4)
    rows = {row["measure"]: row for row in reproduction(ORIGINAL, ours, [RR])[0]}
    runs = ORIGINAL.baseline, ORIGINAL.advanced, ours.baseline, ours.advanced
    b, a, our_b, our_a = (evaluation.values(RR) for _, evaluation in runs)
    assert rows["RMSE of RR"]["advanced"] == rmse(a, our_a)
    assert rows["p of RR"]["baseline"] == p_value(b, our_b, True)
    assert rows["RR, delta"]["advanced"] == pytest.approx(a.mean() - our_a.mean())
    assert rows["ER of RR"]["effect"] == pytest.approx((our_a - our_b).mean() / (a - b).mean())
    orders = [[run.ranking(report).paths for run, _ in runs[1::2]] for report in QRELS]
    for name, measure in (
        ("Kendall's tau union", kendall_tau_union),
        ("RBO, phi 0.8", rank_biased_overlap),
    ):
        assert rows[name]["advanced"] == pytest.approx(np.mean([measure(*both) for both in orders]))


@pytest.mark.parametrize(
    ("ours", "partial", "remark"),
    [
        (pair(judgements("X", 9, 3)), False, agreement.ANOTHER_PROJECT),
        (ORIGINAL, True, agreement.RANKS_ONLY),
    ],
)
def test_what_does_not_apply_is_said(ours, partial, remark, monkeypatch):
    monkeypatch.setattr(Run, "partial", partial)
    rows, remarks = reproduction(ORIGINAL, ours, [RR])
    assert (remark in remarks, {row["baseline"] for row in rows if row["level"] == "order"}) == (
        True,
        {None},
    )


def test_other_reports_or_only_some_in_common_are_refused():
    some = to_qrels(list(QRELS.values())[:5])
    with pytest.raises(RunError, match="share 5 of 12 and 5 judged reports"):
        reproduction(ORIGINAL, pair(some), [RR])
    with pytest.raises(
        RunError, match="run 1 and run 2 are judged by different reports or fixed files"
    ):
        _ = Pair(scored(QRELS, 0.2, 1), scored(judgements(seed=9), 0.8, 2)).keys


def test_against_published_means():
    b, a = ORIGINAL.baseline[1].mean(AP), ORIGINAL.advanced[1].mean(AP)
    rows, _ = agreement.against_published(b - 0.05, a, ORIGINAL, AP)
    assert [row["difference"] for row in rows[:3]] == pytest.approx([0.05, 0, -0.05], abs=1e-12)
    assert [row["interval"].low < row["difference"] < row["interval"].high for row in rows[:3]] == [
        True
    ] * 3
    assert [row["ours"] for row in rows[3:]] == [*effect(AP, b - 0.05, a, b, a)]
    with pytest.raises(RunError, match="a published mean of AP is between 0 and 1, not 30"):
        agreement.against_published(30, a, ORIGINAL, AP)


# The command reproduce-check


@pytest.fixture
def check(tmp_path, capsys):
    """Function (number, *options) -> exit code, output and errors of an original pair against itself, or ours, "2"."""
    for number, two in (("", ORIGINAL), ("2", pair(QRELS, 7, 0.4))):
        for name, (run, _) in (("b", two.baseline), ("a", two.advanced)):
            folder = tmp_path / f"{name}{number}" / "test"
            write_run(folder / "run.jsonl.gz", {}, run.rankings())
            write_judgements(folder / "qrels.jsonl", QRELS.values())

    def call(number, *options, original=True):
        named = (
            ["--baseline", str(tmp_path / "b"), "--advanced", str(tmp_path / "a")]
            if original
            else []
        )
        ours = [
            "--our-baseline",
            str(tmp_path / f"b{number}"),
            "--our-advanced",
            str(tmp_path / f"a{number}"),
        ]
        return main(["lab", "reproduce-check", *named, *ours, *options]), *capsys.readouterr()

    return call


MEANS = ["--published-baseline", ".3", "--published-advanced", ".4"]


def test_tables_and_json(check):
    code, out, _ = check("2", "--depth", "5")
    assert (code, out.startswith("12 reports of the original, 12 of ours")) == (0, True)
    levels = [line.split()[0] for line in out.splitlines()[4:-3] if line.strip()]
    assert (
        levels
        == ["order"] * 2
        + ["effectiveness"] * 3
        + ["effect"] * 9
        + ["statistics"] * 3
        + ["mean"] * 9
    )
    lines = check("2", "--markdown")[1].splitlines()
    assert "| level | measure | baseline | advanced | effect |" in lines
    assert lines[-1].startswith("- region ")
    rows = {
        row["measure"]: row
        for row in json.loads(check("", "--json", "--measures", "RR,P@5")[1])["rows"]
    }
    assert rows["Kendall's tau union"]["advanced"] == rows["ER of RR"]["effect"] == 1.0
    assert rows["region of P@5"]["effect"] == 4
    out = check("2", *MEANS, "--measure", "AP", original=False)[1]
    assert out.startswith("our 12 reports against published means of AP")
    lines = [line.split()[0] for line in out.splitlines()[4:10]]
    assert lines == ["baseline", "advanced", "improvement", "ER", "DeltaRI", "region"]


@pytest.mark.parametrize(
    ("original", "options", "said"),
    [
        (
            False,
            [],
            "name the original pair by --baseline and --advanced, or by --published-baseline",
        ),
        (False, MEANS, "published means are of one measure"),
        (True, ["--measures", "AP,Q@5"], "no measure Q@5"),
        (True, ["--split", "train"], "no finished run of the split 'train'"),
        (True, ["--depth", "1"], "a depth of 1 leaves nothing to order"),
    ],
)
def test_wrong_input_is_one_sentence(check, original, options, said):
    code, out, err = check("2", *options, original=original)
    assert (code, out, err.count("\n"), said in err) == (2, "", 1, True)
