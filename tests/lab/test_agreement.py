"""The five levels of reproduction: worked numbers, the package repro_eval, and the command."""

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
from tosloc.core.rankings import Ranking
from tosloc.evaluate.measures import AP, RR, evaluate
from tosloc.evaluate.runs.judgements import Judgement, to_qrels, write_judgements
from tosloc.evaluate.runs.run import Run, write_run
from tosloc.lab.agreement import (
    ANOTHER_PROJECT,
    RANKS_ONLY,
    Pair,
    compare_published,
    compare_reproduction,
    effect,
    kendall_tau_union,
    p_value,
    rank_biased_overlap,
    rmse,
)


@pytest.mark.parametrize(
    ("means", "ratio", "delta_ri", "region"),
    [
        ((0.2, 0.3, 0.2, 0.3), 1.0, 0.0, 4),
        ((0.2, 0.3, 0.4, 0.45), 0.5, 0.375, 1),
        ((0.2, 0.3, 0.1, 0.2), 1.0, -0.5, 4),
        ((0.2, 0.3, 0.2, 0.2), 0.0, 0.5, 2),
        ((0.4, 0.2, 0.4, 0.5), -0.5, -0.75, 3),
    ],
)
def test_worked_effects(means, ratio, delta_ri, region):
    result = effect(AP, *means)
    assert result.ratio == pytest.approx(ratio)
    assert result.delta_ri == pytest.approx(delta_ri)
    assert result.region == region


@pytest.mark.parametrize(
    ("means", "message"),
    [
        (
            (0.3, 0.3, 0.1, 0.2),
            r"AP: the original's advanced .* same mean, 0\.3, so there is no effect",
        ),
        ((0.2, 0.3, 0.0, 0.1), "the baseline's mean is 0, so a relative improvement"),
    ],
    ids=["no effect", "baseline of 0"],
)
def test_effect_that_does_not_exist_is_refused(means, message):
    with pytest.raises(RunError, match=message):
        effect(AP, *means)


@pytest.fixture
def samples():
    """Return two random samples of 30 values."""
    return np.random.default_rng(5).random((2, 30))


def test_p_value_of_other_reports_is_that_of_students_test(samples):
    first, second = samples
    expected = stats.ttest_ind(first, second[:17]).pvalue
    assert p_value(first, second[:17], False) == pytest.approx(expected)


def test_p_value_of_equal_values_is_1(samples):
    assert p_value(samples[0], samples[0], True) == 1.0


def test_p_value_is_none_where_nothing_varies_or_a_sample_has_one_value(samples):
    assert p_value(np.ones(3), np.zeros(5), False) is None
    assert p_value(np.ones(1), samples[1], False) is None


# Against repro_eval 0.5


@pytest.fixture(scope="module")
def oracle():
    """Return the measures of repro_eval by name.

    Importing them warns of names that SciPy gave up, and needs pandas, which no measure here uses.
    """
    measures = {}
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if importlib.util.find_spec("pandas") is None:
            patch.setitem(sys.modules, "pandas", ModuleType("pandas"))
        for name in ("document_order", "effectiveness", "overall_effects", "statistics"):
            measures |= vars(importlib.import_module(f"repro_eval.measure.{name}"))
    return measures


@pytest.fixture(params=range(5))
def four_samples(request):
    """Return the values of a baseline and an advanced run, then those of ours."""
    rng = np.random.default_rng(request.param)
    return [rng.random(25) ** power for power in (3, 1, 2, 1)]


def to_oracle(values):
    """Return the values as repro_eval reads them, by report and measure."""
    return {f"{number:03}": {"map": value} for number, value in enumerate(values)}


def test_rmse_is_that_of_repro_eval(oracle, four_samples):
    _, advanced, _, our_advanced = four_samples
    expected = oracle["RMSE"](to_oracle(advanced), to_oracle(our_advanced))["map"]
    assert rmse(advanced, our_advanced) == pytest.approx(expected, abs=1e-12)


def test_effect_is_that_of_repro_eval(oracle, four_samples):
    baseline, advanced, our_baseline, our_advanced = map(to_oracle, four_samples)
    result = effect(AP, *(values.mean() for values in four_samples))
    arguments = (advanced, baseline, our_advanced, our_baseline)
    assert result.ratio == pytest.approx(oracle["ER"](*arguments)["map"], rel=1e-9)
    assert result.delta_ri == pytest.approx(oracle["DRI"](*arguments)["map"], abs=1e-9)


@pytest.mark.parametrize("same_reports", [True, False], ids=["same reports", "other reports"])
def test_p_value_is_that_of_repro_eval(oracle, four_samples, same_reports):
    _, advanced, _, our_advanced = four_samples
    ttest = oracle["ttest"](to_oracle(advanced), to_oracle(our_advanced), rpd=same_reports)
    result = p_value(advanced, our_advanced, same_reports)
    assert result == pytest.approx(ttest["map"], rel=1e-9)


@pytest.fixture
def similar_lists():
    """Return two long orders of the same files.

    The files are named in order, because repro_eval sorts equal scores by name; the lists are long,
    because it stops at their end.
    """
    files = [f"d{number:04}" for number in range(600)]
    order = np.argsort(np.arange(600) + np.random.default_rng(3).normal(0, 9, 600))
    return files, [files[position] for position in order]


def to_oracle_run(files):
    return {"1": {file: float(-position) for position, file in enumerate(files)}}


def test_kendall_tau_union_is_that_of_repro_eval(oracle, similar_lists):
    tau = kendall_tau_union(*similar_lists)
    assert tau > 0.8
    assert tau == pytest.approx(oracle["KTU"](*map(to_oracle_run, similar_lists)))


def test_rank_biased_overlap_is_that_of_repro_eval(oracle, similar_lists):
    runs = map(to_oracle_run, similar_lists)
    expected = oracle["RBO"](*runs, p=0.8, depth=1000, pbar=False, per_topic=False)
    assert 0.1 < expected < 0.9
    assert rank_biased_overlap(*similar_lists) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("original", "ours", "expected"),
    [
        ("123", "124", 1.0),
        ("1234", "253", 1 / 3),
        ("12", "34", 1.0),
        ("1", "12", 0.0),
        ("", "1", 0.0),
        ("1234567", "2134567", 19 / 21),
        ("1234", "21", -1.0),
        ("1234", "13", 1.0),
    ],
)
def test_kendall_tau_union_of_short_lists(original, ours, expected):
    assert kendall_tau_union(original, ours) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize(
    ("original", "ours", "phi", "expected"),
    [
        ("123", "124", 0.5, 11 / 12),
        ("12", "34", 0.8, 0.0),
        ("1", "12", 0.8, 1.0),
        ("", "1", 0.8, 0.0),
        ("1234567", "2134567", 0.8, 0.8),
        ("1234", "21", 0.8, 0.8),  # the agreement stays the same where the shorter list ends
        ("1234", "13", 0.5, 0.5 * (1 + 0.5 / 2 + 0.5**2 * 2.5 / 3) + 0.5**3 * 3 / 4),
    ],
)
def test_rank_biased_overlap_of_short_lists(original, ours, phi, expected):
    assert rank_biased_overlap(original, ours, phi) == pytest.approx(expected)


FILES = tuple(f"src/F{number:02}.java" for number in range(20))


def make_qrels(prefix="", number=12, seed=0):
    """Return judgements of reports with two random fixed files each."""
    rng = np.random.default_rng(seed)
    judgements = []
    for report in range(number):
        chosen = rng.choice(len(FILES), 2, replace=False)
        fixed = tuple(FILES[position] for position in chosen)
        judgements.append(Judgement(f"{prefix}{report}", fixed, fixed))
    return to_qrels(judgements)


def make_evaluated_run(qrels, skill, seed):
    """Return a run whose scores are noise, plus ``skill`` for fixed files, and its evaluation."""
    rng = np.random.default_rng(seed)
    rankings = []
    for judgement in qrels.values():
        scores = rng.random(len(FILES)) + skill * np.isin(FILES, judgement.fixed)
        rankings.append(Ranking.from_scores(judgement.report, FILES, scores))
    run = make_run(rankings, where=f"run {seed}")
    return run, evaluate(run, qrels)


def make_pair(qrels, seed=1, skill=0.8):
    baseline = make_evaluated_run(qrels, 0.2, seed)
    return Pair(baseline, make_evaluated_run(qrels, skill, seed + 1))


QRELS = make_qrels()
ORIGINAL = make_pair(QRELS)
OURS = make_pair(QRELS, seed=7, skill=0.4)


@pytest.fixture(scope="module")
def rows_by_measure():
    """Return the rows of the levels between the original pair and ours."""
    rows, _ = compare_reproduction(ORIGINAL, OURS, [RR])
    return {row["measure"]: row for row in rows}


def test_rows_have_the_measures_of_the_reports_values(rows_by_measure):
    runs = ORIGINAL.baseline, ORIGINAL.advanced, OURS.baseline, OURS.advanced
    baseline, advanced, our_baseline, our_advanced = (
        evaluation.values(RR) for _, evaluation in runs
    )
    assert rows_by_measure["RMSE of RR"]["advanced"] == rmse(advanced, our_advanced)
    assert rows_by_measure["p of RR"]["baseline"] == p_value(baseline, our_baseline, True)
    mean_difference = advanced.mean() - our_advanced.mean()
    assert rows_by_measure["RR, delta"]["advanced"] == pytest.approx(mean_difference)
    ratio = (our_advanced - our_baseline).mean() / (advanced - baseline).mean()
    assert rows_by_measure["ER of RR"]["effect"] == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("name", "order_measure"),
    [("Kendall's tau union", kendall_tau_union), ("RBO, phi 0.8", rank_biased_overlap)],
    ids=["tau", "RBO"],
)
def test_order_rows_are_means_over_reports(name, order_measure, rows_by_measure):
    run, _ = ORIGINAL.advanced
    our_run, _ = OURS.advanced
    values = [
        order_measure(run.ranking(report).paths, our_run.ranking(report).paths) for report in QRELS
    ]
    assert rows_by_measure[name]["advanced"] == pytest.approx(np.mean(values))


@pytest.mark.parametrize(
    ("ours", "partial", "expected_remark"),
    [
        (make_pair(make_qrels("X", 9, 3)), False, ANOTHER_PROJECT),
        (ORIGINAL, True, RANKS_ONLY),
    ],
    ids=["another project", "only known ranks"],
)
def test_order_that_does_not_apply_is_none_with_a_remark(
    ours, partial, expected_remark, monkeypatch
):
    monkeypatch.setattr(Run, "partial", partial)
    rows, remarks = compare_reproduction(ORIGINAL, ours, [RR])
    assert expected_remark in remarks
    assert {row["baseline"] for row in rows if row["level"] == "order"} == {None}


def test_pairs_that_share_only_some_reports_are_refused():
    some_qrels = to_qrels(list(QRELS.values())[:5])
    with pytest.raises(RunError, match="share 5 of 12 and 5 judged reports"):
        compare_reproduction(ORIGINAL, make_pair(some_qrels), [RR])


def test_runs_of_a_pair_with_other_judgements_are_refused():
    baseline = make_evaluated_run(QRELS, 0.2, 1)
    pair = Pair(baseline, make_evaluated_run(make_qrels(seed=9), 0.8, 2))
    message = "run 1 and run 2 are judged on different reports or fixed files"
    with pytest.raises(RunError, match=message):
        _ = pair.keys


def test_published_means_are_compared_with_our_values():
    baseline = ORIGINAL.baseline[1].mean(AP)
    advanced = ORIGINAL.advanced[1].mean(AP)
    rows, _ = compare_published(baseline - 0.05, advanced, ORIGINAL, AP)
    differences = [row["difference"] for row in rows[:3]]
    assert differences == pytest.approx([0.05, 0, -0.05], abs=1e-12)
    for row in rows[:3]:
        assert row["interval"].low < row["difference"] < row["interval"].high
    expected_effect = effect(AP, baseline - 0.05, advanced, baseline, advanced)
    assert [row["ours"] for row in rows[3:]] == [*expected_effect]


def test_published_mean_above_1_is_refused():
    with pytest.raises(RunError, match="a published mean of AP must be between 0 and 1, not 30"):
        compare_published(30, 0.5, ORIGINAL, AP)


# The command reproduce-check


@pytest.fixture
def check(tmp_path, capsys):
    """Return a function that runs the command and returns its exit code, output and errors.

    It takes "" to check the original pair against itself or "2" for ours, and options.
    """
    for suffix, pair in (("", ORIGINAL), ("2", OURS)):
        for name, (run, _) in (("b", pair.baseline), ("a", pair.advanced)):
            folder = tmp_path / f"{name}{suffix}" / "test"
            write_run(folder / "run.jsonl.gz", {}, run.rankings())
            write_judgements(folder / "qrels.jsonl", QRELS.values())

    def run_command(suffix, *options, original=True):
        arguments = ["lab", "reproduce-check"]
        if original:
            arguments += ["--baseline", str(tmp_path / "b"), "--advanced", str(tmp_path / "a")]
        arguments += ["--our-baseline", str(tmp_path / f"b{suffix}")]
        arguments += ["--our-advanced", str(tmp_path / f"a{suffix}")]
        return main([*arguments, *options]), *capsys.readouterr()

    return run_command


PUBLISHED_MEANS = ["--published-baseline", ".3", "--published-advanced", ".4"]


def test_table_has_the_rows_of_all_levels(check):
    code, out, _ = check("2", "--depth", "5")
    assert code == 0
    assert out.startswith("Original runs: 12 reports; reproduced: 12")
    levels = [line.split()[0] for line in out.splitlines()[4:-3] if line.strip()]
    expected = ["order"] * 2 + ["effectiveness"] * 3 + ["effect"] * 9
    expected += ["statistics"] * 3 + ["mean"] * 9
    assert levels == expected


def test_markdown_ends_with_remarks(check):
    lines = check("2", "--markdown")[1].splitlines()
    assert "| level | measure | baseline | advanced | effect |" in lines
    assert lines[-1].startswith("- region ")


def test_original_pair_reproduces_itself(check):
    out = check("", "--json", "--measures", "RR,P@5")[1]
    rows = {row["measure"]: row for row in json.loads(out)["rows"]}
    assert rows["Kendall's tau union"]["advanced"] == 1.0
    assert rows["ER of RR"]["effect"] == 1.0
    assert rows["region of P@5"]["effect"] == 4


def test_published_means_have_a_table_of_their_own(check):
    out = check("2", *PUBLISHED_MEANS, "--measure", "AP", original=False)[1]
    assert out.startswith("12 reproduced reports against published means of AP")
    names = [line.split()[0] for line in out.splitlines()[4:10]]
    assert names == ["baseline", "advanced", "improvement", "ER", "DeltaRI", "region"]


@pytest.mark.parametrize(
    ("original", "options", "message"),
    [
        (
            False,
            [],
            "name the original runs with --baseline and --advanced, or their means with",
        ),
        (False, PUBLISHED_MEANS, "published means need exactly one measure"),
        (True, ["--measures", "AP,Q@5"], "no measure Q@5"),
        (True, ["--split", "train"], "no finished run of the split train"),
        (True, ["--depth", "1"], "a depth of 1 leaves nothing to order"),
    ],
    ids=["no original", "no single measure", "unknown measure", "missing split", "depth of 1"],
)
def test_wrong_options_are_reported_in_one_line(check, original, options, message):
    code, out, err = check("2", *options, original=original)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert message in err
