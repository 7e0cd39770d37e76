"""Tables 4 and 5 of made-up runs and times, and how cells are printed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from tosloc.cli.lab.paper import cell_text
from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.judgements import Judgement
from tosloc.evaluate.measures import ReportScores
from tosloc.lab.paper import accuracy, speed
from tosloc.lab.paper.speed import Timed
from tosloc.lab.paper.workspace import Cell
from tosloc.records import BugReport

OURS = "TosLoc, stage one"
REPORT = BugReport("1", "a", "b", datetime.now(UTC))


def evaluation(ranks: Sequence[int]) -> Evaluation:
    """Reports with one fixed file each, at these ranks."""
    return Evaluation(
        tuple(
            ReportScores(Judgement(f"r{number:03}", ("a",), ("a",), 100), (rank,), 100)
            for number, rank in enumerate(ranks)
        )
    )


def values(table):
    return {row[0]: [cell.value for cell in row[1:]] for row in table.rows}


def test_tosloc_against_every_system():
    good, same, bad = [1] * 30 + [2] * 10, [1] * 29 + [2] * 11, [4] * 20 + [2] * 20
    runs = {"BugLocator": evaluation(bad), "BLIA": evaluation(same), OURS: evaluation(good)}
    found = {"toy": runs, "other": {"BLIA": evaluation(good)}}
    paper = {("MAP", "BugLocator", "toy"): 0.2}
    tables = {table.heads[0]: table for table in accuracy.tables(found, ["BugLocator", "BLIA", OURS, "BLUiR"], paper)}
    assert list(tables) == [
        *("MRR", "MAP", "MRR: TosLoc - other", "MAP: TosLoc - other", "MRR: p of it", "MAP: p of it"),
    ]
    assert tables["MAP"].rows[0] == ["BugLocator", Cell(15 / 40, paper=0.2), Cell(None)]
    assert values(tables["MRR"])["BLUiR"] == [None, None]
    above = values(tables["MRR: TosLoc - other"])
    assert above == {"BugLocator": [pytest.approx(0.5), None], "BLIA": [pytest.approx(0.0125), None]} | {
        OURS: [None, None],
        "BLUiR": [None, None],
    }
    p = values(tables["MRR: p of it"])
    assert p["BugLocator"][0] < 0.001 < 0.05 < p["BLIA"][0]
    [*_, change, _] = accuracy.tables({"toy": {"BLIA": evaluation(good), OURS: evaluation(bad)}}, ["BLIA", OURS], {})[
        :5
    ]
    assert values(change)["BLIA"] == [pytest.approx(0.375 - 0.875)]


def timed(files: int) -> Timed:
    """Stage one grows in proportion to the files, DreamLoc with their square; a slow report counts by the median."""
    one = files / 1000
    return Timed(files, {"dreamloc": [one * one * 3, one * one * 3, 99.0], "stage-one": [one, one, 50.0]})


def test_ratios_are_of_one_version_and_slopes_of_all():
    found = {"a": [timed(1000), timed(2000), timed(3000)], "b": [timed(8000)]}
    ratios, growth = speed.tables(found, {("growth", "DreamLoc", "all"): 0.9})
    assert values(ratios) == {"DreamLoc": pytest.approx([6.0, 24.0])}
    assert values(growth)["DreamLoc"] == [pytest.approx(2.0), None, pytest.approx(2.0)]
    assert values(growth)[OURS][0] == pytest.approx(1.0)
    assert growth.rows[0][3].paper == 0.9


def test_answers_take_turns(monkeypatch):
    asked: list[str] = []
    clock = [0.0]
    costs = {"a": 1.0, "b": 3.0}

    def answer(name):
        def call(report):
            asked.append(name)
            clock[0] += costs[name]

        return call

    monkeypatch.setattr(time, "process_time", lambda: clock[0])
    last: dict[str, float] = {}
    answers = {"a": answer("a"), "b": answer("b")}
    assert speed.in_turns(answers, REPORT, last) == costs
    assert "".join(asked) == "ab" + "ab" + "a" + "a"  # b is slow: one measurement is enough
    assert last == costs
    asked.clear()
    costs["b"] = 1.5
    assert speed.in_turns(answers, REPORT, {}) == costs
    assert "".join(asked) == "ab" + "ab" + "ba" + "ab"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("wins", "wins"),
        (Cell(None, paper=0.4), "- (.40)"),
        (Cell(0.6742, paper=0.4), ".674 (.40)"),
        (Cell(1.0), "1.00"),
        (Cell(-0.0123, "+.3f"), "-.012"),
        (Cell(0.0002, "p"), "<.001"),
        (Cell(1536.4, ",.0f", 1500), "1,536 (1,500)"),
        (Cell(0.854, ",.2f", 1.2), "0.85 (1.20)"),
    ],
)
def test_cells(cell, text):
    assert cell_text(cell) == text
