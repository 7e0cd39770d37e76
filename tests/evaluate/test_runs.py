"""Runs, judgements and lists of files: they come back from disk, and say of each other what does not fit."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from tosloc.errors import RunError
from tosloc.evaluate.judgements import Judgement, read_file_lists, read_judgements, write_file_lists, write_judgements
from tosloc.evaluate.run_paths import read_scored
from tosloc.evaluate.runs import read_run, write_run
from tosloc.records import BugReport, Case, Ranking

RANKINGS = [
    Ranking("7", ("a b/X.java", "Y.java"), np.array([0.123456789, -1e-9])),
    Ranking("8", ("Y.java", "caf\udce9.java", "Z.java"), np.array([12345678.0, 2.0, 2.0])),
    Ranking("9", (), np.array([])),
]
HEADER = {"method": "linear", "split": "test"}


def test_a_run_comes_back_with_six_digits(tmp_path: Path) -> None:
    write_run(tmp_path / "new" / "run.jsonl.gz", HEADER, RANKINGS)
    run = read_run(tmp_path / "new" / "run.jsonl.gz")
    assert run.header == HEADER
    assert list(run.rankings()) == [
        Ranking("7", ("a b/X.java", "Y.java"), np.array([0.123457, -1e-9])),
        Ranking("8", RANKINGS[1].paths, np.array([12345700.0, 2.0, 2.0])),
        RANKINGS[2],
    ]
    write_run(tmp_path / "again.gz", HEADER, iter(RANKINGS))
    assert (tmp_path / "again.gz").read_bytes() == (tmp_path / "new" / "run.jsonl.gz").read_bytes()
    assert (tmp_path / "again.gz").read_bytes()[4:8] == b"\0\0\0\0"  # no time


def test_nothing_half_written_stays_and_the_old_run_survives(tmp_path: Path) -> None:
    def interrupted() -> Iterator[Ranking]:
        yield RANKINGS[0]
        raise KeyboardInterrupt

    path = tmp_path / "run.jsonl.gz"
    write_run(path, HEADER, RANKINGS)
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write_run(path, HEADER, interrupted())
    assert [file.name for file in tmp_path.iterdir()] == ["run.jsonl.gz"]
    assert path.read_bytes() == before


def test_judgements_come_back(tmp_path: Path) -> None:
    report = BugReport("7", "s", "d", datetime(2020, 1, 1, tzinfo=UTC))
    case = Case(report, "f" * 40, "e" * 40, 1_600_000_000, ("A.java", "New.java", "Z z.java"), ("A.java", "Z z.java"))
    judgements = (Judgement.of(case, searched=9), Judgement("8", (), ("B.java",)))
    write_judgements(tmp_path / "qrels.jsonl", judgements)
    assert tuple(read_judgements(tmp_path / "qrels.jsonl").judgements.values()) == judgements
    assert json.loads((tmp_path / "qrels.jsonl").read_text().splitlines()[0]) == {
        "report": "7",
        "fixed": ["A.java", "Z z.java"],
        "dropped": 1,
        "listed": ["A.java", "New.java", "Z z.java"],
        "searched": 9,
        "version": "e" * 40,
        "traits": None,
        "summary": "s",
    }
    assert read_judgements(tmp_path / "qrels.jsonl").judgements["7"].summary == "s"


VERSIONS = [("v1", ["A", "caf\udce9 b"]), ("v2", ["A", "C", "caf\udce9 b"]), ("v3", ["C"]), ("v4", [])]


def test_versions_come_back(tmp_path: Path) -> None:
    write_file_lists(tmp_path / "searched.jsonl.gz", [*VERSIONS, *VERSIONS])
    searched = read_file_lists(tmp_path / "searched.jsonl.gz")
    assert {version: searched.files(version) for version in searched.versions} == {v: frozenset(f) for v, f in VERSIONS}


def folder_of(tmp_path: Path, files: tuple[str, ...], fixed: tuple[str, ...], version: str = "v2") -> Path:
    write_run(tmp_path / "run.jsonl.gz", {}, [Ranking("1", files, -np.arange(len(files), dtype=np.float64))])
    write_judgements(tmp_path / "qrels.jsonl", [Judgement("1", fixed, fixed, 3, version)])
    write_file_lists(tmp_path / "searched.jsonl.gz", VERSIONS)
    return tmp_path


def test_a_ranking_of_the_version_is_judged(tmp_path: Path) -> None:
    evaluation = read_scored(folder_of(tmp_path, ("C", "A", "caf\udce9 b"), ("A",))).evaluation()
    assert (evaluation.mrr, evaluation.length) == (0.5, 1.0)


@pytest.mark.parametrize(
    ("files", "fixed", "version", "sentence"),
    [
        (("A", "Z"), ("A",), "v2", "run.jsonl.gz: report 1: Z is ranked or fixed, but not in v2"),
        (("A", "C"), ("A", "Z"), "v2", "run.jsonl.gz: report 1: Z is ranked or fixed, but not in v2"),
        (("A", "C"), ("A",), "v9", "searched.jsonl.gz: no list of the files of version v9"),
    ],
)
def test_a_file_that_was_not_searched_is_refused(
    tmp_path: Path, files: tuple[str, ...], fixed: tuple[str, ...], version: str, sentence: str
) -> None:
    with pytest.raises(RunError) as caught:
        read_scored(folder_of(tmp_path, files, fixed, version)).evaluation()
    assert str(caught.value) == f"{tmp_path}/{sentence}"
