"""Wins, ties and losses of table 4 on made-up runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tosloc.evaluate.compare import compare_all
from tosloc.evaluate.evaluate import Evaluation, ReportScores
from tosloc.evaluate.judgements import Judgement
from tosloc.evaluate.measures import AP, RR, Outcome
from tosloc.lab.paper.accuracy import (
    ALL,
    EVER_FIXED,
    ScoredProject,
    accuracy_tables,
    statistics_tables,
)
from tosloc.lab.paper.workspace import Cell

OURS = "TosLoc, stage one"


def evaluation(ranks: Sequence[int]) -> Evaluation:
    """Reports with one fixed file each, at these ranks."""
    return Evaluation(
        tuple(
            ReportScores(Judgement(f"r{number:03}", ("a",), ("a",), 100), Outcome((rank,), 1, 100, 100))
            for number, rank in enumerate(ranks)
        )
    )


def scored(all_files: Mapping[str, Sequence[int]], fewer: Mapping[str, Sequence[int]] | None = None) -> ScoredProject:
    spaces = {
        space: {name: evaluation(ranks) for name, ranks in runs.items()}
        for space, runs in ((ALL, all_files), (EVER_FIXED, fewer or all_files))
    }
    return ScoredProject(spaces, compare_all(spaces[ALL], all_pairs=True, measures=(RR, AP)))


GOOD, SAME, BAD = [1] * 30 + [2] * 10, [1] * 29 + [2] * 11, [4] * 20 + [2] * 20
TITLES = ["BugLocator", "BLIA", OURS]


@pytest.fixture(scope="module")
def one() -> ScoredProject:
    return scored({"BugLocator": BAD, "BLIA": SAME, OURS: GOOD}, {"BugLocator": SAME, "BLIA": SAME, OURS: GOOD})


def rows_of(table):
    return {row[0]: row[1:] for row in table.rows}


def test_the_summary_counts_systems_and_the_rows_count_reports(one):
    summary, against, matrix = statistics_tables({"toy": one}, TITLES)
    assert rows_of(summary) == {"MRR": ["1 / 1 / 0"], "MAP": ["1 / 1 / 0"]}
    rows = rows_of(against)
    assert list(rows) == ["BugLocator", "BLIA"]
    change, p, said, reports = rows["BugLocator"][:4]
    assert change.value == pytest.approx(35 / 40 - 15 / 40)
    assert change.interval.low < change.value < change.interval.high
    assert (p.value < 0.001, said) == (True, "wins")
    assert reports == "30 / 10 / 0"
    assert rows["BLIA"][3] == "1 / 39 / 0"
    cells = {
        name: [cell if isinstance(cell, str) else (round(cell.value, 4), cell.mark) for cell in row]
        for name, row in rows_of(matrix).items()
    }
    assert cells == {
        "BugLocator": ["", (-0.4875, "*"), (-0.5, "*")],
        "BLIA": [(0.4875, "*"), "", (-0.0125, "")],
        OURS: [(0.5, "*"), (0.0125, ""), ""],
    }


def test_a_system_that_is_better_than_ours_is_said_so():
    [summary, against] = statistics_tables({"toy": scored({"BLIA": GOOD, OURS: BAD})}, ["BLIA", OURS])
    assert rows_of(summary)["MAP"] == ["0 / 0 / 1"]
    [change, _, said, reports] = rows_of(against)["BLIA"][4:]
    assert (change.value < 0, change.interval.high < 0, said, reports) == (True, True, "loses", "0 / 10 / 30")


def test_the_spaces_stand_apart_with_the_paper_s_numbers(one):
    paper = {(ALL, "MAP", "BugLocator", "toy"): 0.2, (EVER_FIXED, "MAP", "BugLocator", "toy"): 0.5}
    tables = {table.heads[0]: rows_of(table) for table in accuracy_tables({"toy": one}, [*TITLES, "BRTracer"], paper)}
    assert list(tables) == [
        *("MRR, all files", "MAP, all files", "MRR, ever fixed", "MAP, ever fixed"),
        *("MRR, ever fixed - all files", "MAP, ever fixed - all files"),
    ]
    assert tables["MAP, all files"]["BugLocator"] == [
        Cell(15 / 40, paper=0.2),
    ]
    assert tables["MAP, ever fixed"]["BRTracer"][0].value is None
    [cell] = tables["MAP, ever fixed - all files"]["BugLocator"]
    assert (cell.value, cell.paper) == (pytest.approx(0.8625 - 0.375), pytest.approx(0.3))
    assert tables["MAP, ever fixed - all files"][OURS][0].value == 0
    assert tables["MRR, ever fixed - all files"]["BRTracer"][0].value is None
