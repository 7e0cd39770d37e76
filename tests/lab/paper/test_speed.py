"""Ratios and growth of table 5 on made-up times."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from tosloc.lab.paper.speed import Timed, in_turns, table
from tosloc.lab.paper.workspace import Published
from tosloc.records import BugReport

PUBLISHED = Published(title="", source="", paper={"growth": {"DreamLoc": {"all": 0.9}}})
REPORT = BugReport("1", "a", "b", datetime.now(UTC))


def timed(files: int) -> Timed:
    """Stage one grows in proportion to the files, DreamLoc with their square; a slow report counts by the median."""
    one = files / 1000
    seconds = {"dreamloc": [one * one * 3, one * one * 3, 99.0], "stage-one": [one, one, 50.0]}
    return Timed(f"v{files}", files, seconds)


def values(table):
    return {row[0]: [cell.value for cell in row[1:]] for row in table.rows}


def test_ratios_are_of_one_version_and_slopes_of_all():
    outcome = table({"a": [timed(1000), timed(2000), timed(3000)], "b": [timed(8000)]}, ["dreamloc"], PUBLISHED)
    ratios, growth, detail = map(values, outcome.tables)
    assert ratios == {"DreamLoc": pytest.approx([6.0, 24.0])}
    assert growth["DreamLoc"][0] == pytest.approx(2.0)
    assert growth["TosLoc, stage one"][0] == pytest.approx(1.0)
    assert growth["DreamLoc"][1] is None
    assert growth["DreamLoc"][2] == pytest.approx(2.0)
    assert detail["b v8000"] == pytest.approx([8000, 24.0])
    assert outcome.tables[1].rows[0][3].paper == 0.9
    assert any("shared machine" in note for note in outcome.notes)


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
    assert in_turns(answers, REPORT, last) == costs
    assert "".join(asked) == "ab" + "ab" + "a" + "a"  # b is slow: one measurement is enough
    assert last == costs
    asked.clear()
    costs["b"] = 1.5
    assert in_turns(answers, REPORT, {}) == costs
    assert "".join(asked) == "ab" + "ab" + "ba" + "ab"
