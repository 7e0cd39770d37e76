import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from tosloc.errors import RunError
from tosloc.evaluate import Judgement, read_judgements, read_run, write_judgements, write_run
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
    assert [ranking.report for ranking in run.rankings()] == ["7", "8", "9"]
    assert run.ranking("7") == Ranking("7", ("a b/X.java", "Y.java"), np.array([0.123457, -1e-9]))
    assert run.ranking("8") == Ranking("8", RANKINGS[1].paths, np.array([12345700.0, 2.0, 2.0]))
    assert len(run.ranking("9")) == 0


def test_the_same_run_is_the_same_file(tmp_path: Path) -> None:
    for name in ("one.gz", "two.gz"):
        write_run(tmp_path / name, HEADER, iter(RANKINGS))
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()
    assert (tmp_path / "one.gz").read_bytes()[4:8] == b"\0\0\0\0"


def test_nothing_half_written_stays_and_the_old_run_survives(tmp_path: Path) -> None:
    def interrupted() -> Iterator[Ranking]:
        yield RANKINGS[0]
        raise KeyboardInterrupt

    path = tmp_path / "run.jsonl.gz"
    write_run(path, HEADER, RANKINGS)
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write_run(path, HEADER, interrupted())
    with pytest.raises(ValueError, match="report 7: ranked twice"):
        write_run(path, HEADER, [RANKINGS[0], RANKINGS[0]])
    assert [file.name for file in tmp_path.iterdir()] == ["run.jsonl.gz"]
    assert path.read_bytes() == before


START = '{"format":"tosloc-run/2"}\n{"first":0,"paths":["A","B"]}\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (START + '{"report":"1","files":[0,1,0],"scores":[3,2,1]}', "line 3: report 1 ranks A twice"),
        (START + '{"report":"1","files":[0,1],"scores":[1,2]}', "line 3: report 1: scores increase down the ranking"),
        (START + '{"report":"1","files":[0,2],"scores":[2,1]}', "line 3: report 1 is damaged"),
        (START + '{"report":"1","files":[],"scores":[]}\n' * 2, "line 4: report 1 is ranked twice"),
        (START + "{", "line 3: not valid JSON"),
        ("", "not a run of the form tosloc-run/2"),
    ],
)
def test_a_broken_run_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "run").write_text(text)
    with pytest.raises(RunError) as caught:
        read_run(tmp_path / "run")
    assert sentence in str(caught.value)
    assert str(tmp_path / "run") in str(caught.value)


def test_a_cut_or_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    write_run(path, HEADER, RANKINGS)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RunError, match="cut off"):
        read_run(path)
    path.write_bytes(whole[:20] + b"\xff" * 20 + whole[40:])
    with pytest.raises(RunError, match=r"line|cut off"):
        read_run(path)
    with pytest.raises(RunError, match="cannot read it: No such file"):
        read_run(tmp_path / "none")


def test_judgements_come_back(tmp_path: Path) -> None:
    report = BugReport("7", "s", "d", datetime(2020, 1, 1, tzinfo=UTC))
    case = Case(report, "f" * 40, "e" * 40, 1_600_000_000, ("A.java", "New.java", "Z z.java"), ("A.java", "Z z.java"))
    judgements = (Judgement.of(case, searched=9), Judgement("8", (), ("B.java",)))
    write_judgements(tmp_path / "qrels.jsonl", judgements)
    assert tuple(read_judgements(tmp_path / "qrels.jsonl").judgements.values()) == judgements
    assert [one.dropped for one in judgements] == [1, 1]
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


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"report":"1","fixed":["A","A"],"listed":["A"]}', "line 1: report 1: a file is listed twice"),
        ('{"report":"1","fixed":["A"],"listed":[]}', "line 1: report 1: fixed files that are not listed"),
        ('{"report":"1","fixed":[]}', "line 1: listed: field required"),
        ('{"report":"1","fixed":[],"listed":[]}\n' * 2, "line 2: report 1 is judged twice"),
    ],
)
def test_broken_judgements_are_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "qrels").write_text(text)
    with pytest.raises(RunError) as caught:
        read_judgements(tmp_path / "qrels")
    assert str(caught.value) == f"{tmp_path / 'qrels'} {sentence}"
