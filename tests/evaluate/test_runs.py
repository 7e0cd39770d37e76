"""Runs and judgements come back from disk as they were."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest

from tosloc.core.records import BugReport, Case, Ranking, ReportAttributes
from tosloc.evaluate.judgements import Judgement, read_judgements, write_judgements
from tosloc.evaluate.runs import read_run, write_run

RANKINGS = [
    Ranking("7", ("a b/X.java", "Y.java"), np.array([0.123456789, -1e-9])),
    Ranking("8", ("Y.java", "caf\udce9.java", "Z.java"), np.array([12345678.0, 2.0, 2.0])),
    Ranking("9", (), np.array([])),
]
HEADER = {"method": "linear", "split": "test"}


def test_a_run_comes_back_with_six_digits_and_an_interrupted_one_changes_nothing(tmp_path):
    path = tmp_path / "new" / "run.jsonl.gz"
    write_run(path, HEADER, RANKINGS)
    run, before = read_run(path), path.read_bytes()
    assert run.header == HEADER
    assert list(run.rankings()) == [
        Ranking("7", ("a b/X.java", "Y.java"), np.array([0.123457, -1e-9])),
        Ranking("8", RANKINGS[1].paths, np.array([12345700.0, 2.0, 2.0])),
        RANKINGS[2],
    ]
    write_run(tmp_path / "again.gz", HEADER, iter(RANKINGS))
    assert (tmp_path / "again.gz").read_bytes() == before
    assert before[4:8] == b"\0\0\0\0"  # no time

    def interrupted():
        yield RANKINGS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_run(path, HEADER, interrupted())
    assert [file.read_bytes() for file in path.parent.iterdir()] == [before]


def test_judgements_come_back(tmp_path):
    report = BugReport("7", "s", "d", datetime(2020, 1, 1, tzinfo=UTC))
    case = Case(
        report,
        "f" * 40,
        "e" * 40,
        1_600_000_000,
        ("A.java", "New.java", "caf\udce9"),
        ("A.java", "caf\udce9"),
    )
    kind = ReportAttributes(True, False, 2)
    judgements = (
        Judgement.from_case(case, searched=9),
        Judgement("8", (), ("B.java",), attributes=kind),
    )
    write_judgements(tmp_path / "qrels.jsonl", judgements)
    read = read_judgements(tmp_path / "qrels.jsonl")
    assert tuple(read.values()) == judgements
    assert json.loads((tmp_path / "qrels.jsonl").read_text().splitlines()[0]) == {
        "report": "7",
        "fixed": ["A.java", "caf\udce9"],
        "dropped": 1,
        "listed": ["A.java", "New.java", "caf\udce9"],
        "searched": 9,
        "version": "e" * 40,
        "traits": None,
        "summary": "s",
    }
    assert read["7"].summary == "s"
