"""The command truncation, in process."""

import json
from pathlib import Path

import numpy as np
import pytest

from tosloc.cli import main
from tosloc.evaluate.judgements import Judgement, write_judgements
from tosloc.evaluate.runs import write_known_ranks, write_run
from tosloc.records import Ranking

FILES = tuple([f"F{number:02}.java" for number in range(1, 21)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rankings = [Ranking(report, FILES, -np.arange(20.0)) for report in ("1", "2")]
    write_run(tmp_path / "run" / "test" / "run.jsonl.gz", {}, rankings)
    two = ("F01.java", "F12.java")
    judged = [Judgement("1", two, two, 20), Judgement("2", (), ("New.java",), 20)]
    write_judgements(tmp_path / "run" / "test" / "qrels.jsonl", judged)
    return tmp_path / "run"


def test_tables_for_a_narrow_terminal_markdown_json_and_figure(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lab", "truncation", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "…" not in printed
    assert "cleaned truth (the listed files that exist); uncut textbook MAP 0.2917" in printed
    last = next(line for line in printed.splitlines() if line.strip().startswith("k = 10"))
    assert last.split()[3:] == "10 0.2500 0.5000 +100.00 0.5000 1.0000 +300.00".split()
    assert all(len(line) <= 80 for line in printed.splitlines() if line.strip().startswith(("k = 10", "0.1")))
    assert main(["lab", "truncation", str(folder), "--markdown"]) == 0
    assert "| k = 10 | 10 | 0.2500 | 0.5000 | +100.00 | 0.5000 | 1.0000 | +300.00 |" in capsys.readouterr().out
    assert main(["lab", "truncation", str(folder), "--json", "--figure", str(tmp_path / "figures" / "cut.png")]) == 0
    values = json.loads(capsys.readouterr().out)
    assert [row["cut"] for row in values["rows"]] == 2 * [*[f"{n / 10}" for n in range(1, 11)], "k = 10"]
    assert values["rows"][10]["over"] == pytest.approx(100)
    assert values["baseline"] == {
        "cleaned": pytest.approx((1 + 2 / 12) / 4),
        "bloated": pytest.approx((1 + 2 / 12) / 4),
    }
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == ["cut.png", "cut.svg"]


def test_a_run_of_known_ranks_needs_the_files_searched(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = folder.parent / "known.jsonl.gz"
    write_known_ranks(run, {}, [("1", {"F01.java": 1, "F12.java": 12}), ("2", {})])
    truth = folder / "test" / "qrels.jsonl"
    assert main(["lab", "truncation", str(folder), "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert main(["lab", "truncation", str(run), "--qrels", str(truth), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == whole["rows"]
    truth.write_text(truth.read_text().replace('"searched":20', '"searched":null'))
    assert main(["lab", "truncation", str(run), "--qrels", str(truth)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("tosloc: report 1: neither its ranking's length nor the number of files searched")
    assert printed.err.count("\n") == 1
