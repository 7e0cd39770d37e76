"""Tables 4 and 5 of made-up runs and times, and how cells are printed."""

import time
from functools import partial

import pytest

from tests.rerank.by_hand import report
from tosloc.core.progress import ignore_progress
from tosloc.evaluate.measures import Evaluation, ReportScores
from tosloc.evaluate.runs.judgements import Judgement
from tosloc.lab.commands.paper import cell_text
from tosloc.lab.paper import systems
from tosloc.lab.paper.systems import VersionTimes
from tosloc.lab.paper.workspace import Cell, Published

STAGE_ONE = "TosLoc, stage one"


def published(**numbers):
    return Published(title="", source="", paper=numbers)


def evaluate_ranks(*ranks):
    """Return the evaluation of reports with one fixed file each, at these ranks."""
    scores = []
    for number, rank in enumerate(ranks):
        judgement = Judgement(f"r{number:03}", ("a",), ("a",), 100)
        scores.append(ReportScores(judgement, (rank,), 100))
    return Evaluation(tuple(scores))


def row_values(table):
    """Return the values of each row's cells by the row's name."""
    return {row[0]: [cell.value for cell in row[1:]] for row in table.rows}


@pytest.fixture(scope="module")
def accuracy_tables():
    """Return the tables of two projects, by their heads."""
    good = evaluate_ranks(*[1] * 30, *[2] * 10)
    similar = evaluate_ranks(*[1] * 29, *[2] * 11)
    bad = evaluate_ranks(*[4, 2] * 20)
    evaluations = {
        "toy": {"BugLocator": bad, "BLIA": similar, STAGE_ONE: good},
        "other": {"BLIA": good},
    }
    titles = ["BugLocator", "BLIA", STAGE_ONE, "BLUiR", "AmaLgam"]
    numbers = published(MAP={"BugLocator": {"toy": 0.2}}, MRR={"BLUiR": {}})
    tables = systems.accuracy_tables(evaluations, titles, numbers)
    return {table.heads[0]: table for table in tables}


def test_accuracy_tables_are_means_differences_and_p_values(accuracy_tables):
    assert list(accuracy_tables) == [
        "MRR",
        "MAP",
        "MRR: TosLoc - other",
        "MAP: TosLoc - other",
        "MRR: p of it",
        "MAP: p of it",
    ]


def test_accuracy_cell_shows_our_and_the_published_number(accuracy_tables):
    row = accuracy_tables["MAP"].rows[0]
    assert row == ["BugLocator", Cell(15 / 40, paper=0.2), Cell(None)]


def test_differences_compare_tosloc_with_every_other_system(accuracy_tables):
    assert row_values(accuracy_tables["MRR: TosLoc - other"]) == {
        "BugLocator": [pytest.approx(0.5), None],
        "BLIA": [pytest.approx(0.0125), None],
        STAGE_ONE: [None, None],
        "BLUiR": [None, None],
    }


def test_p_values_separate_a_clear_difference_from_a_small_one(accuracy_tables):
    p_values = row_values(accuracy_tables["MRR: p of it"])
    assert p_values["BugLocator"][0] < 0.001
    assert p_values["BLIA"][0] > 0.05


def version_times(files):
    """Return times of stage one in proportion to the files, and of DreamLoc to their square.

    The last report is slow; medians ignore it.
    """
    seconds = files / 1000
    squared = seconds * seconds * 3
    return VersionTimes(
        files, {"dreamloc": [squared, squared, 99.0], "stage-one": [seconds, seconds, 50.0]}
    )


@pytest.fixture(scope="module")
def speed_tables():
    """Return the tables of ratios and of growth of two projects."""
    times = {
        "a": [version_times(1000), version_times(2000), version_times(3000)],
        "b": [version_times(8000)],
    }
    return systems.speed_tables(times, published(growth={"DreamLoc": {"all": 0.9}}))


def test_ratios_are_medians_over_versions(speed_tables):
    ratios, _ = speed_tables
    assert row_values(ratios) == {"DreamLoc": pytest.approx([6.0, 24.0])}


def test_growth_is_the_slope_over_versions_of_a_project_and_of_all(speed_tables):
    _, growth = speed_tables
    dreamloc = row_values(growth)["DreamLoc"]
    assert dreamloc == [pytest.approx(2.0), None, pytest.approx(2.0)]
    assert row_values(growth)[STAGE_ONE][0] == pytest.approx(1.0)


def test_growth_shows_the_published_number(speed_tables):
    _, growth = speed_tables
    assert growth.rows[0][3].paper == 0.9


def test_systems_take_turns_in_an_order_that_changes(monkeypatch):
    asked: list[str] = []
    costs = {"a": 1.0, "b": 3.0}
    monkeypatch.setattr(time, "process_time", lambda: sum(costs[name] for name in asked))

    def answer(_, name):
        asked.append(name)

    answers = {name: partial(answer, name=name) for name in costs}
    times = systems.time_answers(answers, [report(), report()], ignore_progress)
    assert times == {"a": [1.0, 1.0], "b": [3.0, 3.0]}
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
    ids=["unknown", "share", "one", "difference", "p-value", "count", "ratio"],
)
def test_cell_text(cell, text):
    assert cell_text(cell) == text
