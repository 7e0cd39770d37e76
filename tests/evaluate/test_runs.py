"""Runs and judgements come back from disk as they were."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest

from tosloc.core.rankings import Ranking
from tosloc.core.reports import BugReport, Case, ReportAttributes
from tosloc.evaluate.runs import RunFolder
from tosloc.evaluate.runs.judgements import Judgement, read_judgements, write_judgements
from tosloc.evaluate.runs.run import Order, read_run, write_run

RANKINGS = [
    Ranking("7", ("a b/X.java", "Y.java"), np.array([0.123456789, -1e-9])),
    Ranking("8", ("Y.java", "caf\udce9.java", "Z.java"), np.array([12345678.0, 2.0, 2.0])),
    Ranking("9", (), np.array([])),
]
HEADER = {"method": "linear", "split": "test"}
CASE = Case(
    BugReport("7", "s", "d", datetime(2020, 1, 1, tzinfo=UTC)),
    "f" * 40,
    "e" * 40,
    1_600_000_000,
    ("A.java", "New.java", "caf\udce9"),
    ("A.java", "caf\udce9"),
)
JUDGEMENTS = (
    Judgement.from_case(CASE, searched=9),
    Judgement("8", (), ("B.java",), attributes=ReportAttributes(True, False, 2)),
)


@pytest.fixture
def run_file(tmp_path):
    path = tmp_path / "new" / "run.jsonl.gz"
    write_run(path, HEADER, RANKINGS)
    return path


def test_a_run_comes_back_with_six_digits(run_file):
    run = read_run(run_file)
    assert run.header == HEADER
    assert list(run.rankings()) == [
        Ranking("7", ("a b/X.java", "Y.java"), np.array([0.123457, -1e-9])),
        Ranking("8", RANKINGS[1].paths, np.array([12345700.0, 2.0, 2.0])),
        RANKINGS[2],
    ]


def test_ranks_of_an_order_are_counted_or_known():
    files = np.array([4, 0], dtype=np.int32)
    ranking = Order(files, np.array([2.0, 1.0]))
    published = Order(files, np.array([]), known_ranks=np.array([3, 17], dtype=np.int32))
    assert ranking.ranks.tolist() == [1, 2]
    assert published.ranks.tolist() == [3, 17]


def test_run_that_fails_leaves_the_earlier_one(tmp_path):
    folder = RunFolder(tmp_path)
    folder.write(HEADER, RANKINGS[:2], JUDGEMENTS)

    def failing():
        yield RANKINGS[0]
        raise ValueError("a fault of the ranker")

    with pytest.raises(ValueError, match="a fault of the ranker"):
        folder.write(HEADER, failing(), JUDGEMENTS)
    assert folder.is_finished
    assert list(folder.read().orders) == ["7", "8"]
    assert {path.name for path in tmp_path.iterdir()} == {"run.jsonl.gz", "qrels.jsonl"}


def test_runs_of_functions_of_an_earlier_run_are_removed(tmp_path):
    folder = RunFolder(tmp_path)
    folder.write(HEADER, RANKINGS[:2], JUDGEMENTS)
    folder.functions.write(HEADER, RANKINGS[:2], JUDGEMENTS)
    folder.functions_bm25.write(HEADER, RANKINGS[:2], JUDGEMENTS)
    folder.write(HEADER, RANKINGS[:2], JUDGEMENTS)
    assert {path.name for path in tmp_path.iterdir()} == {"run.jsonl.gz", "qrels.jsonl"}


def test_the_same_run_has_the_same_bytes(run_file, tmp_path):
    write_run(tmp_path / "again.gz", HEADER, iter(RANKINGS))
    assert (tmp_path / "again.gz").read_bytes() == run_file.read_bytes()


def test_a_run_file_contains_no_time(run_file):
    assert run_file.read_bytes()[4:8] == b"\0\0\0\0"


def test_an_interrupted_writer_leaves_the_file_as_it_was(run_file):
    before = run_file.read_bytes()

    def interrupted_rankings():
        yield RANKINGS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_run(run_file, HEADER, interrupted_rankings())
    assert [file.read_bytes() for file in run_file.parent.iterdir()] == [before]


@pytest.fixture
def judgements_file(tmp_path):
    path = tmp_path / "qrels.jsonl"
    write_judgements(path, JUDGEMENTS)
    return path


def test_judgements_come_back(judgements_file):
    assert tuple(read_judgements(judgements_file).values()) == JUDGEMENTS


def test_the_summary_of_a_judgement_comes_back(judgements_file):
    assert read_judgements(judgements_file)["7"].summary == "s"


def test_a_line_of_judgements_has_these_keys(judgements_file):
    assert json.loads(judgements_file.read_text().splitlines()[0]) == {
        "report": "7",
        "fixed": ["A.java", "caf\udce9"],
        "dropped": 1,
        "listed": ["A.java", "New.java", "caf\udce9"],
        "searched": 9,
        "version": "e" * 40,
        "traits": None,
        "summary": "s",
    }
