"""What ``evaluate`` and ``compare`` print and refuse."""

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests import toy
from tosloc import training
from tosloc.cli import main
from tosloc.cli.printing import print_table
from tosloc.cli.tables import results_table
from tosloc.evaluate import Judgement, write_judgements, write_run
from tosloc.evaluate.run_paths import read_scored
from tosloc.evaluate.tables import results_of
from tosloc.records import Ranking, ReportAttributes

Fails = Callable[..., str]
TRUTH = {"1": ("A.java",), "2": ("B.java", "test/T.java"), "3": ("C.java",)}
GOOD = {"1": "ABC", "2": "BAC", "3": "CBA"}
WORSE = {"1": "BAC", "2": "BAC", "3": "ABC"}


def write_split(
    folder: Path, orders: Mapping[str, str], truth: Mapping[str, Sequence[str]] = TRUTH, searched: int | None = 4
) -> None:
    """A run over A.java, B.java, C.java and test/T.java, which comes last."""
    write_run(
        folder / "run.jsonl.gz",
        {},
        (
            Ranking(report, (*(f"{one}.java" for one in order), "test/T.java"), -np.arange(len(order) + 1.0))
            for report, order in orders.items()
        ),
    )
    write_judgements(
        folder / "qrels.jsonl",
        [
            Judgement(
                report,
                tuple(truth[report]),
                (*truth[report], "Gone.java"),
                searched,
                attributes=ReportAttributes(True, False, 0),
            )
            for report in orders
        ],
    )


@pytest.fixture
def good(tmp_path: Path) -> Path:
    write_split(tmp_path / "good" / "test", GOOD)
    return tmp_path / "good"


@pytest.fixture
def worse(tmp_path: Path) -> Path:
    write_split(tmp_path / "worse" / "test", WORSE)
    return tmp_path / "worse"


def said(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> tuple[str, str]:
    assert main([str(argument) for argument in arguments]) == code
    printed = capsys.readouterr()
    return printed.out, printed.err


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one sentence of a command that must end with 2."""
    out, err = said(capsys, *arguments, code=2)
    assert (out, err[:8], err.count("\n")) == ("", "tosloc: ", 1)
    return err.removeprefix("tosloc: ").rstrip("\n")


def test_evaluate_prints_one_object(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, "evaluate", good, "--json", "--measures", "P@1, nDCG@10, mrr")
    printed = json.loads(out)
    assert err == ""
    wanted = {"reports": 3, "relevant": 4, "dropped": 3, "empty": 0, "mrr": 1.0, "map": pytest.approx(2.75 / 3)}
    wanted |= {f"{name}{k}": 1.0 for name in ("coverage", "any") for k in (50, 100, 300)}
    wanted |= {"top1": 1.0, "top5": 1.0, "top10": 1.0, "length": 1.0}
    assert {name: printed[name] for name in wanted} == wanted
    assert set(printed) - set(wanted) == {"intervals", "strata", "measures"}
    assert printed["intervals"]["map"] == [pytest.approx(0.75), 1.0]
    assert list(printed["measures"]) == ["P@1", "nDCG@10", "RR"]
    assert printed["measures"]["P@1"] == {"mean": 1.0, "interval": [1.0, 1.0]}
    assert [row["reports"] for row in printed["strata"] if row["stratum"] == "1 fixed file"] == [2]


def test_without_tests_neither_ranking_nor_truth_has_them(
    good: Path, worse: Path, fails: Fails, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of report 2 one fixed file is a test: it is last of four, and gone without tests."""
    asked = ["--json", "--measures", "Acc@2"]
    every = json.loads(said(capsys, "evaluate", good, *asked)[0])
    fewer = json.loads(said(capsys, "evaluate", good, *asked, "--no-tests")[0])
    assert (every["relevant"], every["measures"]["Acc@2"]["mean"]) == (4, pytest.approx(2 / 3))
    assert (fewer["relevant"], fewer["dropped"], fewer["measures"]["Acc@2"]["mean"]) == (3, 3, 1.0)
    assert (fewer["map"], fewer["length"]) == (1.0, 1.0)
    pair = json.loads(said(capsys, "compare", worse, good, "--no-tests", "--json", "--measures", "Acc@1")[0])["pairs"][
        0
    ]
    assert pair["measures"]["Acc@1"] | {"a": 1 / 3, "b": 1.0, "wins": 2, "p_mcnemar": 0.5} == pair["measures"]["Acc@1"]
    table = rows(said(capsys, "compare", worse, good, "--measures", "Acc@1")[0])
    assert ["p,", "McNemar", "-", "-", ".500"] in table
    assert "McNemar" not in said(capsys, "compare", worse, good)[0]
    assert "leave it out" in fails("evaluate", good, "--level", "function", "--no-tests")
    assert fails("compare", worse, good, "--same", "--no-tests") == "--same: leave out --no-tests"


def test_evaluate_prints_the_headline_then_strata(good: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, "evaluate", good)
    table = rows(out)
    assert err == ""
    assert table[1] == ["all", "reports", "good", "[95", "%]"]
    assert ["map", ".917", "[.750,", "1.00]"] in [row[:4] for row in table]
    assert ["dropped", "3"] in [row[:2] for row in table]
    assert ["length", "1.00"] in [row[:2] for row in table]
    assert table.index(["strata", "of", "good"]) > table.index(next(row for row in table if row[:1] == ["length"]))
    assert ["2", "to", "5", "fixed", "files", "1*", "2", "1.00", ".750"] in table
    assert ["with", "a", "stack", "trace", "0", "0", "-", "-"] in table
    assert "* fewer than 30 reports" in out
    assert "strata" not in said(capsys, "evaluate", good, "--no-strata")[0]


def test_a_narrow_terminal_gets_tables_below_each_other(
    good: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = results_table([results_of(read_scored(good), name=f"run number {n}") for n in range(4)])
    print_table(table)
    assert capsys.readouterr().out.count("all reports") == 1
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    print_table(table)
    printed = capsys.readouterr().out
    assert printed.count("all reports") == 2
    assert "…" not in printed


def test_evaluate_prints_markdown(good: Path, worse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "evaluate", good, worse, "--markdown", "--no-strata")[0].splitlines()
    assert lines[:2] == ["| all reports | good [95 %] | worse [95 %] |", "|---|---|---|"]
    assert "| map | .917 [.750, 1.00] | .528 [.333, .750] |" in lines
    text = said(capsys, "evaluate", good, "--markdown")[0]
    assert "strata of good\n\n| stratum | reports | relevant | MRR [95 %] | MAP [95 %] |\n" in text
    assert "| 1 fixed file | 2* | 2 | " in text


def test_evaluate_writes_every_report(
    good: Path, worse: Path, tmp_path: Path, fails: Fails, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "reports.jsonl"
    said(capsys, "evaluate", good, "--per-report", file, "--measures", "P@1")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["report"] for line in lines] == ["1", "2", "3"]
    assert lines[1] == {
        "report": "2",
        "ranks": [1, 4],
        "relevant": 2,
        "dropped": 1,
        "searched": 4,
        "AP": 0.75,
        "RR": 1.0,
        "P@1": 1.0,
        "traits": {"description": True, "stack_trace": False, "named": 0},
    }
    said(capsys, "evaluate", good, worse, "--per-report", file)
    assert [json.loads(line)["run"] for line in file.read_text().splitlines()] == ["good"] * 3 + ["worse"] * 3
    assert "is a directory" in fails("evaluate", good, "--per-report", tmp_path)


def test_other_judgements_and_runs_of_one_name(
    good: Path, worse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = json.loads(said(capsys, "evaluate", good / "test", worse / "test", "--json")[0])
    assert [one["run"] for one in both] == [str(good / "test"), str(worse / "test")]
    file = tmp_path / "other.jsonl"
    write_judgements(file, [Judgement(report, ("B.java",), ("B.java",), 4) for report in GOOD])
    printed = json.loads(said(capsys, "evaluate", good / "test" / "run.jsonl.gz", "--qrels", file, "--json")[0])
    assert printed["mrr"] == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)
    assert "with a description" not in [row["stratum"] for row in printed["strata"]]


def test_rankings_that_lack_files_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_split(tmp_path / "cut", GOOD, searched=8)
    out, err = said(capsys, "evaluate", tmp_path / "cut")
    assert ["length", ".5000"] in [row[:2] for row in rows(out)]
    assert err == (
        "tosloc: cut: rankings hold 50.0% of the files searched, 3 of 3 are cut off; "
        "a fixed file that is not ranked counts as not found\n"
    )
    write_split(tmp_path / "cut", GOOD, searched=None)
    out, err = said(capsys, "evaluate", tmp_path / "cut", "--json")
    assert json.loads(out)["length"] is None
    assert "not known how many files were searched" in err


def test_evaluate_refuses(good: Path, tmp_path: Path, fails: Fails) -> None:
    assert "no finished run of the split 'validation'; it holds test" in fails(
        "evaluate", good, "--split", "validation"
    )
    assert "named twice" in fails("evaluate", good, good)
    assert "choose one" in fails("evaluate", good, "--json", "--markdown")
    assert "MAPP" in fails("evaluate", good, "--measures", "AP,MAPP")
    assert "P@0" in fails("evaluate", good, "--measures", "P@0")
    assert "nowhere.jsonl" in fails("evaluate", good, "--qrels", tmp_path / "nowhere.jsonl")
    alone = tmp_path / "alone.jsonl.gz"
    alone.write_bytes((good / "test" / "run.jsonl.gz").read_bytes())
    assert "--qrels" in fails("evaluate", alone)
    (good / "test" / "qrels.jsonl").write_text("")
    assert str(good / "test") in fails("evaluate", good)


def test_compare_prints_tests_and_moves(good: Path, worse: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, "compare", worse, good)
    table = rows(out)
    assert err == ""
    assert ["good", "against", "worse"] in table
    assert ["mean", "of", "worse", ".528", ".611"] in table
    assert ["mean", "of", "good", ".917", "1.00"] in table
    assert ["difference", "+.389", "+.389"] in table
    assert ["better", "in", "good", "2", "2"] in table
    assert ["equal", "1", "1"] in table
    assert ["better", "in", "worse", "0", "0"] in table
    assert ["3", ".333", "1.00", "+.667", "3", "1"] in table
    assert "risen" in out
    assert "fallen" not in out
    assert "Holm" not in out
    out, _ = said(capsys, "compare", good, worse, "--top", "1")
    assert ["3", "1.00", ".333", "-.667", "1", "3"] in rows(out)
    assert ["1", "1.00", ".500", "-.500", "1", "2"] not in rows(out)
    assert "report " not in said(capsys, "compare", good, worse, "--top", "0")[0]


def test_compare_as_values(good: Path, worse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (pair,) = json.loads(said(capsys, "compare", worse, good, "--json")[0])["pairs"]
    assert (pair["a"], pair["b"], pair["reports"]) == ("worse", "good", 3)
    rr = pair["measures"]["RR"]
    assert (rr["wins"], rr["ties"], rr["losses"], rr["p_t_holm"]) == (2, 1, 0, None)
    assert rr["difference"] == pytest.approx((1 / 2 + 0 + 2 / 3) / 3)
    assert pair["risen"][0] == {
        "report": "3",
        "difference": pytest.approx(2 / 3),
        "relevant": 1,
        "AP_a": pytest.approx(1 / 3),
        "AP_b": 1.0,
        "ranks_a": [3],
        "ranks_b": [1],
    }
    write_split(tmp_path / "third" / "test", GOOD)
    pairs = json.loads(said(capsys, "compare", worse, good, tmp_path / "third", "--json")[0])["pairs"]
    assert [(one["a"], one["b"]) for one in pairs] == [("worse", "good"), ("worse", "third")]
    assert pairs[0]["measures"]["AP"]["p_t_holm"] == pytest.approx(2 * pairs[0]["measures"]["AP"]["p_t"])
    out, _ = said(capsys, "compare", worse, good, tmp_path / "third", "--all-pairs")
    assert out.count("p, t-test, Holm") == 3


def test_compare_refuses_what_is_not_comparable(
    good: Path, worse: Path, tmp_path: Path, fails: Fails, capsys: pytest.CaptureFixture[str]
) -> None:
    write_split(tmp_path / "short", {report: WORSE[report] for report in "12"})
    assert "--common" in fails("compare", good, tmp_path / "short")
    out, err = said(capsys, "compare", good, tmp_path / "short", "--common")
    assert "short against good" in out
    assert err == "tosloc: left out: 1 report only of good, 0 only of short\n"
    write_split(tmp_path / "large", GOOD, searched=9)
    err = said(capsys, "compare", good, tmp_path / "large")[1]
    assert "good and large searched different numbers of files for 3 reports, first 1" in err
    write_split(tmp_path / "other", WORSE, TRUTH | {"3": ("A.java",)})
    sentence = fails("compare", good, tmp_path / "other")
    assert sentence.startswith("report 3: A.java is a fixed file for other but not for good")
    assert "name two runs or more" in fails("compare", good)
    assert "named twice" in fails("compare", good, worse, good)
    assert "nowhere: no such file or folder" in fails("compare", good, tmp_path / "nowhere")
    assert "choose one" in fails("compare", good, worse, "--json", "--markdown")


def test_the_same_ranking_or_where_it_differs(
    good: Path, worse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_split(tmp_path / "again" / "test", {report: GOOD[report] for report in "312"})
    assert said(capsys, "compare", good, tmp_path / "again", "--same") == ("the same ranking for all 3 reports\n", "")
    alone = tmp_path / "alone.jsonl.gz"
    alone.write_bytes((good / "test" / "run.jsonl.gz").read_bytes())
    assert said(capsys, "compare", good, alone, "--same")[0] == "the same ranking for all 3 reports\n"
    out, err = said(capsys, "compare", good, worse, "--same", code=1)
    assert out == f"{good} and {worse}: report 1 differs first: A.java at rank 1 against B.java at rank 1\n"
    assert err == ""
    values = json.loads(said(capsys, "compare", good, alone, worse, "--same", "--json", code=1)[0])
    assert (values["same"], values["reports"]) == (False, 3)
    assert [one["first_difference"] is None for one in values["runs"]] == [True, False]


@pytest.mark.slow
def test_figures_hold_every_run(good: Path, worse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "figures"
    assert main(["evaluate", str(good), str(worse), "--figures", str(folder), "--json"]) == 0
    names = {"precision-recall", "coverage", "first-hit"}
    assert {path.name for path in folder.iterdir()} == {f"{name}.{end}" for name in names for end in ("svg", "png")}
    first = (folder / "coverage.svg").read_bytes()
    assert main(["evaluate", str(good), "--figures", str(folder), "--json"]) == 0
    assert (folder / "coverage.svg").read_bytes() != first  # one run alone
    capsys.readouterr()
    (tmp_path / "file").touch()
    assert main(["evaluate", str(good), "--figures", str(tmp_path / "file"), "--json"]) == 2
    assert "is a file" in capsys.readouterr().err


@pytest.mark.slow
def test_why_files_stand_above_is_told_of_a_run_that_keeps_its_features(tmp_path: Path) -> None:
    project = toy.grow(tmp_path / "toy", bugs=20, themes=8)
    run = tmp_path / "run"
    config = toy.config(0.6, 0.2, features=["complexity", "length"])  # of the files alone, so that others come first
    training.train(
        config, project.git.path, project.reports(), run,
        carry=False, keep_features=True,
    )  # fmt: skip
    page = tmp_path / "page.html"
    told = r'<span class="why">(?:complexity|length) \+\d'
    texts = []
    for place in (run, run / "test"):
        assert main(["evaluate", str(place), "--html", str(page)]) == 0
        texts.append(page.read_text(encoding="utf-8"))
        assert re.search(told, texts[-1])
    shutil.rmtree(run / ".tosloc-work")
    assert main(["evaluate", str(run), "--html", str(page)]) == 0
    assert "--keep-features" in page.read_text(encoding="utf-8")
