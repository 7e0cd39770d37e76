"""Cut rankings: worked numbers of the paper, cases by hand, the invariants that always hold, and the command."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosloc.cli import main
from tosloc.core.records import Ranking
from tosloc.evaluate.judgements import Judgement, write_judgements
from tosloc.evaluate.measures import Evaluation, ReportScores
from tosloc.evaluate.runs import write_known_ranks, write_run
from tosloc.lab.truncation import TRUTHS, truncation


def scored(report, ranks, unranked=0, missing=0, searched=15):
    """A report whose fixed files have these ranks, with more that are not ranked or not in the version."""
    fixed = tuple([f"F{place}.java" for place in range(len(ranks) + unranked)])
    listed = (*fixed, *[f"New{place}.java" for place in range(missing)])
    return ReportScores(Judgement(report, fixed, listed, searched), ranks, searched)


@pytest.mark.parametrize(
    ("ranks", "textbook", "seen"),
    [((1, 2, 5, 12, 15), 0.52, 0.867), ((1, 4), 0.75, 0.75), ((1, 12), 0.5, 1.0)],
)
def test_the_papers_examples_at_ten(ranks, textbook, seen):
    ten = truncation(Evaluation((scored("1", ranks),))).of("cleaned")[-1]
    assert (ten.cut, ten.textbook, ten.seen) == (
        "k = 10",
        *(pytest.approx(one, abs=5e-4) for one in (textbook, seen)),
    )
    assert ten.over == pytest.approx(100 * (seen / textbook - 1), abs=0.1)


def test_three_reports_by_hand():
    result = truncation(
        Evaluation(
            (scored("1", (1, 12)), scored("2", (11,), missing=1), scored("3", (), missing=2))
        )
    )
    cleaned, bloated = (result.of(truth)[-1] for truth in TRUTHS)
    assert (cleaned.cut, cleaned.files) == ("k = 10", 10)
    # report 3 has no file to divide by; only report 1 shows a file
    wanted = {"textbook": 0.5 / 3, "textbook_dropped": 0.5 / 2, "seen": 1 / 3, "seen_dropped": 1}
    wanted |= {"over": 100, "over_dropped": 500}
    assert {name: getattr(cleaned, name) for name in wanted} == pytest.approx(wanted)
    assert (bloated.textbook, bloated.textbook_dropped) == (
        pytest.approx(0.5 / 3),
        pytest.approx(0.5 / 3),
    )
    first, second = (1 + 2 / 12) / 2, 1 / 11
    assert result.baseline == pytest.approx(
        {"cleaned": (first + second) / 3, "bloated": (first + second / 2) / 3}
    )


@st.composite
def evaluations(draw):
    reports = []
    for number in range(draw(st.integers(1, 6))):
        searched = draw(st.integers(1, 40))
        ranks = draw(st.sets(st.integers(1, searched), max_size=6))
        extra = [draw(st.integers(0, min(2, searched - len(ranks)))), draw(st.integers(0, 3))]
        reports.append(scored(str(number), tuple(sorted(ranks)), *extra, searched=searched))
    return Evaluation(tuple(reports))


@given(evaluations())
def test_laws_hold_for_every_run(drawn):
    result = truncation(drawn)
    for truth in TRUTHS:
        *rows, ten = result.of(truth)
        assert max(ten.textbook, rows[-1].textbook) <= result.baseline[truth]
        assert [row.textbook for row in rows] == sorted(row.textbook for row in rows)
        assert all(row.textbook <= min(row.textbook_dropped, row.seen) for row in (*rows, ten))
        assert all(row.seen_dropped >= row.seen for row in rows)
    # listing files that do not exist never raises textbook, and leaves seen as it is
    for cleaned, bloated in zip(result.of("cleaned"), result.of("bloated"), strict=True):
        assert (bloated.textbook <= cleaned.textbook, bloated.seen) == (True, cleaned.seen)
    whole = result.of("cleaned")[-2]
    assert whole.textbook == result.baseline["cleaned"] == drawn.map
    assert whole.seen == whole.textbook or any(
        len(one.ranks) < one.relevant for one in drawn.per_report
    )


@pytest.fixture
def folder(tmp_path):
    files, two = tuple([f"F{number:02}.java" for number in range(1, 21)]), ("F01.java", "F12.java")
    rankings = [Ranking(report, files, -np.arange(20.0)) for report in ("1", "2")]
    write_run(tmp_path / "run" / "test" / "run.jsonl.gz", {}, rankings)
    judged = [Judgement("1", two, two, 20), Judgement("2", (), ("New.java",), 20)]
    write_judgements(tmp_path / "run" / "test" / "qrels.jsonl", judged)
    return tmp_path / "run"


def test_the_command(folder, capsys):
    def printed(*options):
        assert main(["lab", "truncation", *map(str, options)]) == 0
        return capsys.readouterr().out

    out = printed(folder)
    assert "cleaned truth (the listed files that exist); uncut textbook MAP 0.2917" in out
    assert max(len(line) for line in out.splitlines() if line.strip().startswith("k = 10")) <= 80
    expected = "| k = 10 | 10 | 0.2500 | 0.5000 | +100.00 | 0.5000 | 1.0000 | +300.00 |"
    assert expected in printed(folder, "--markdown")
    values = json.loads(printed(folder, "--json"))
    assert [row["cut"] for row in values["rows"][:11]] == [
        *[f"{n / 10}" for n in range(1, 11)],
        "k = 10",
    ]
    assert values["baseline"] == dict.fromkeys(TRUTHS, pytest.approx((1 + 2 / 12) / 4))
    # a run of known ranks, with the files searched and without
    run, truth = folder.parent / "known.jsonl.gz", folder / "test" / "qrels.jsonl"
    write_known_ranks(run, {}, [("1", {"F01.java": 1, "F12.java": 12}), ("2", {})])
    assert json.loads(printed(run, "--qrels", truth, "--json"))["rows"] == values["rows"]
    truth.write_text(truth.read_text().replace('"searched":20', '"searched":null'))
    assert main(["lab", "truncation", str(run), "--qrels", str(truth)]) == 2
    said = "tosloc: report 1: neither its ranking's length nor the number of files searched"
    assert capsys.readouterr().err.startswith(said)
