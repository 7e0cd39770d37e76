"""The five levels between pairs of runs: what applies when, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tosloc.cli import main
from tosloc.errors import RunError
from tosloc.evaluate import Judgement, Qrels, Run, evaluate, write_judgements, write_run
from tosloc.evaluate.measures import AP, RR
from tosloc.evaluate.runs import write_known_ranks
from tosloc.lab.agreement.levels import (
    Pair,
    ScoredReports,
    against_published,
    reproduction,
)
from tosloc.records import Ranking

FILES = tuple(f"src/F{number:02}.java" for number in range(20))
REPORTS = tuple(f"{number}" for number in range(12))


def judgements(reports=REPORTS, files=FILES, seed=0):
    rng = np.random.default_rng(seed)
    chosen = [tuple(files[place] for place in rng.choice(len(files), 2, replace=False)) for _ in reports]
    return Qrels.of(Judgement(report, fixed, fixed) for report, fixed in zip(reports, chosen, strict=True))


def scored(qrels, skill, seed, files=FILES):
    """A run whose scores are noise, plus ``skill`` for fixed files."""
    rng = np.random.default_rng(seed)
    rankings = [
        Ranking.from_scores(one.report, files, rng.random(len(files)) + skill * np.isin(files, one.fixed))
        for one in qrels.judgements.values()
    ]
    run = Run.of({}, rankings, f"run {seed}")
    return ScoredReports(run, evaluate(run, qrels))


def pair(qrels, seed=1, low=0.2, high=0.8, files=FILES):
    return Pair(scored(qrels, low, seed, files), scored(qrels, high, seed + 1, files))


QRELS = judgements()
ORIGINAL = pair(QRELS)


def test_the_levels_are_those_of_the_scores():
    ours = pair(QRELS, seed=7, high=0.4)
    result = reproduction(ORIGINAL, ours, [RR])
    b, a, our_b, our_a = (
        one.evaluation.values(RR) for one in (ORIGINAL.baseline, ORIGINAL.advanced, ours.baseline, ours.advanced)
    )
    assert result.advanced.rmse == {RR: pytest.approx(np.sqrt(((a - our_a) ** 2).mean()))}
    assert result.baseline.p == {RR: pytest.approx(stats.ttest_rel(b, our_b).pvalue)}
    assert result.advanced.means == {RR: (pytest.approx(a.mean()), pytest.approx(our_a.mean()))}
    assert result.effects[RR].ratio == pytest.approx((our_a - our_b).mean() / (a - b).mean())
    expected = (a - b).mean() / b.mean() - (our_a - our_b).mean() / our_b.mean()
    assert result.effects[RR].delta_ri == pytest.approx(expected)
    assert result.advanced.order.tau < 0.5


def test_other_reports_or_only_some_in_common_are_refused():
    with pytest.raises(RunError, match="share 5 of 12 and 5 judged reports"):
        reproduction(ORIGINAL, pair(Qrels.of(QRELS.judgements[one] for one in REPORTS[:5])))
    with pytest.raises(RunError, match="run 1 and run 2 are judged by different reports or fixed files"):
        Pair(scored(QRELS, 0.2, 1), scored(judgements(seed=9), 0.8, 2))


def test_no_effect_names_its_measure():
    same = Pair(ORIGINAL.baseline, ORIGINAL.baseline)
    with pytest.raises(RunError, match=r"^RR: the original's advanced run and its baseline have the same mean"):
        reproduction(same, ORIGINAL, [RR])


# Published means


def test_against_published_means():
    b, a = ORIGINAL.baseline.evaluation.mean(AP), ORIGINAL.advanced.evaluation.mean(AP)
    result = against_published(b, a, ORIGINAL, AP)
    assert (result.effect.ratio, result.effect.delta_ri, result.effect.region) == (pytest.approx(1.0), 0.0, 4)
    for one in result.differences.values():
        assert one.ours == pytest.approx(one.published, abs=1e-12)
        assert one.interval.low < 0 < one.interval.high
    assert against_published(b, a, ORIGINAL, AP) == result
    further = against_published(b - 0.05, a, ORIGINAL, AP)
    values = json.loads(json.dumps(further.as_dict()))
    assert values["baseline"]["difference"] == pytest.approx(0.05)
    assert values["improvement"]["difference"] == pytest.approx(-0.05)
    assert values["baseline"]["interval"][0] == pytest.approx(result.differences["baseline"].interval.low + 0.05)


# The command reproduce-check, in process


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """Folders of an original pair (b, a), ours (b2, a2), another project's (b3, a3) and one of known ranks (b4, a4)."""
    files = FILES[:15]
    made = {"": (QRELS, pair(QRELS)), "2": (QRELS, pair(QRELS, seed=7, high=0.4))}
    other = judgements([f"X{number}" for number in range(9)], files, seed=3)
    made["3"] = (other, pair(other, seed=5, high=0.5, files=files))
    for number, (qrels, two) in made.items():
        for name, one in (("b", two.baseline), ("a", two.advanced)):
            folder = tmp_path / f"{name}{number}" / "test"
            write_run(folder / "run.jsonl.gz", {}, one.run.rankings())
            write_judgements(folder / "qrels.jsonl", qrels.judgements.values())
    for name, one in (("b4", ORIGINAL.baseline), ("a4", ORIGINAL.advanced)):
        ranks = (
            (score.report, {one.run.ranking(score.report).paths[rank - 1]: rank for rank in score.ranks})
            for score in one.evaluation.per_report
        )
        write_known_ranks(tmp_path / name / "test" / "run.jsonl.gz", {}, ranks)
        write_judgements(tmp_path / name / "test" / "qrels.jsonl", QRELS.judgements.values())
    return tmp_path


def check(folders: Path, number: str, *options: str, original: bool = True) -> int:
    named = ["--baseline", str(folders / "b"), "--advanced", str(folders / "a")] if original else []
    ours = ["--our-baseline", str(folders / f"b{number}"), "--our-advanced", str(folders / f"a{number}")]
    return main(["lab", "reproduce-check", *named, *ours, *options])


def test_tables_for_a_narrow_terminal_and_as_markdown(folders, capsys):
    assert check(folders, "2") == 0
    printed = capsys.readouterr().out
    assert printed.startswith("replication: the same 12 reports")
    assert "…" not in printed
    lines = [line.rstrip() for line in printed.splitlines()]
    levels = [line.split()[0] for line in lines[4:-3] if line]
    assert levels == ["order"] * 2 + ["effectiveness"] * 3 + ["effect"] * 9 + ["statistics"] * 3 + ["mean"] * 9
    assert check(folders, "2", "--markdown", "--depth", "5") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "| level | measure | baseline | advanced | effect |" in lines
    assert lines[-1].startswith("- region ")


def test_the_same_pair_is_found_again(folders, capsys):
    assert check(folders, "", "--json", "--measures", "RR,P@5") == 0
    values = json.loads(capsys.readouterr().out)
    assert values["same_reports"] is True
    assert values["advanced"]["tau"] == 1.0
    assert values["effects"].keys() == {"RR", "P@5"}
    assert values["effects"]["RR"]["ER"] == 1.0


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
    assert (number == "3") == printed.startswith("reproduction: 12 reports of the original, 9 others of ours")


def test_published_means(folders, capsys):
    options = ["--published-baseline", ".3", "--published-advanced", ".4", "--measure", "AP"]
    assert check(folders, "2", *options, original=False) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("our 12 reports against published means of AP")
    assert [line.split()[0] for line in printed.splitlines()[4:7]] == ["baseline", "advanced", "improvement"]
    assert check(folders, "2", *options, "--json", original=False) == 0
    assert json.loads(capsys.readouterr().out)["baseline"]["published"] == 0.3


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
