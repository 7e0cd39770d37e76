"""Tables 4 and 5 of made-up runs and times, and how cells are printed."""

import time

import pytest

from tests.rerank.by_hand import report
from tosloc.cli.lab.paper import cell_text
from tosloc.core.records import ignore_progress
from tosloc.evaluate.judgements import Judgement
from tosloc.evaluate.measures import Evaluation, ReportScores
from tosloc.lab.paper import systems
from tosloc.lab.paper.systems import Timed
from tosloc.lab.paper.workspace import Cell, Published

OURS = "TosLoc, stage one"


def paper(**numbers):
    return Published(title="", source="", paper=numbers)


def evaluation(*ranks):
    """Reports with one fixed file each, at these ranks."""
    judged = [Judgement(f"r{number:03}", ("a",), ("a",), 100) for number in range(len(ranks))]
    return Evaluation(
        tuple([ReportScores(one, (rank,), 100) for one, rank in zip(judged, ranks, strict=True)])
    )


def values(table):
    return {row[0]: [cell.value for cell in row[1:]] for row in table.rows}


def test_tosloc_against_every_system():
    good, same, bad = (
        evaluation(*[1] * 30, *[2] * 10),
        evaluation(*[1] * 29, *[2] * 11),
        evaluation(*[4, 2] * 20),
    )
    found = {"toy": {"BugLocator": bad, "BLIA": same, OURS: good}, "other": {"BLIA": good}}
    numbers = paper(MAP={"BugLocator": {"toy": 0.2}}, MRR={"BLUiR": {}})
    made = systems.accuracy_tables(found, ["BugLocator", "BLIA", OURS, "BLUiR", "AmaLgam"], numbers)
    tables = {table.heads[0]: table for table in made}
    assert list(tables) == [f"{name}{kind}" for kind in systems.KINDS for name in ("MRR", "MAP")]
    assert tables["MAP"].rows[0] == ["BugLocator", Cell(15 / 40, paper=0.2), Cell(None)]
    above = {"BugLocator": [pytest.approx(0.5), None], "BLIA": [pytest.approx(0.0125), None]}
    assert values(tables["MRR: TosLoc - other"]) == above | {
        OURS: [None, None],
        "BLUiR": [None, None],
    }
    p = values(tables["MRR: p of it"])
    assert p["BugLocator"][0] < 0.001 < 0.05 < p["BLIA"][0]


def timed(files):
    """Stage one grows in proportion to the files, DreamLoc with their square; a slow report counts by the median."""
    one = files / 1000
    return Timed(
        files, {"dreamloc": [one * one * 3, one * one * 3, 99.0], "stage-one": [one, one, 50.0]}
    )


def test_ratios_are_of_one_version_and_slopes_of_all():
    found = {"a": [timed(1000), timed(2000), timed(3000)], "b": [timed(8000)]}
    ratios, growth = systems.speed_tables(found, paper(growth={"DreamLoc": {"all": 0.9}}))
    assert values(ratios) == {"DreamLoc": pytest.approx([6.0, 24.0])}
    assert values(growth)["DreamLoc"] == [pytest.approx(2.0), None, pytest.approx(2.0)]
    assert values(growth)[OURS][0] == pytest.approx(1.0)
    assert growth.rows[0][3].paper == 0.9


def test_answers_take_turns(monkeypatch):
    asked, costs = [], {"a": 1.0, "b": 3.0}
    monkeypatch.setattr(time, "process_time", lambda: sum(costs[name] for name in asked))
    answers = {name: lambda _, name=name: asked.append(name) for name in costs}
    assert systems.time_answers(answers, [report(), report()], ignore_progress) == {
        "a": [1.0, 1.0],
        "b": [3.0, 3.0],
    }
    assert "".join(asked) == 2 * ("ab" + "ba" + "ab" + "ba")


@pytest.mark.parametrize(
    ("cell", "text"),
    [
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
