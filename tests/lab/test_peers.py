"""Other systems on the same reports: many projects side by side, and published hits report by report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tosloc.cli import main
from tosloc.evaluate import Judgement, write_judgements, write_run
from tosloc.records import Ranking, ReportAttributes

FILES = ("a.py", "b.go", "c.go", "test_a.py")
HEADS = "project,bug_id,label,agent_t1_hit1,agent_t2_hit1,tool_hit2\n"


def write(folder: Path, ranks: dict[str, tuple[str, int]], described: bool = True) -> Path:
    """A run of which each report has one fixed file, at a rank: report -> (file, rank)."""
    rankings, judgements = [], []
    for report, (fixed, rank) in ranks.items():
        order = [path for path in FILES if path != fixed]
        order.insert(rank - 1, fixed)
        rankings.append(Ranking(report, tuple(order), -np.arange(4.0)))
        traits = ReportAttributes(described, False, 0)
        judgements.append(Judgement(report, (fixed,), (fixed,), 4, attributes=traits))
    write_run(folder / "run.jsonl.gz", {}, rankings)
    write_judgements(folder / "qrels.jsonl", judgements)
    return folder


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    """Two folders with the projects one and two, and one that only the second has."""
    fixed = {"1": "a.py", "2": "a.py", "3": "b.go"}
    for name, ranks in (("bm25", (2, 3, 2)), ("ours", (1, 1, 3))):
        write(tmp_path / name / "one" / "all", {r: (fixed[r], k) for r, k in zip("123", ranks, strict=True)})
        write(tmp_path / name / "two" / "all", {"1": ("c.go", ranks[0])})
    write(tmp_path / "ours" / "three" / "all", {"1": ("a.py", 1)})
    return [str(tmp_path / "bm25"), str(tmp_path / "ours")]


def test_two_rankings_of_many_projects(folders: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "compare", *folders, "--measures", "Acc@1", "--json"]) == 0
    printed = capsys.readouterr()
    values = json.loads(printed.out)
    assert printed.err.endswith("1 project is left out, which only one of the folders holds, first three\n")
    assert {name: row["reports"] for name, row in values["rows"].items()} == {"one": 3, "two": 1}
    of_all = values["all"]["measures"]["Acc@1"]
    assert (of_all["a"], of_all["b"], of_all["wins"], of_all["losses"], of_all["p_mcnemar"]) == (0.0, 0.75, 3, 0, 0.25)
    assert values["rows"]["one"]["measures"]["RR"]["b"] == pytest.approx((1 + 1 + 1 / 3) / 3)
    of_projects = values["projects"]["measures"]["RR"]  # 7/9 against 4/9, and 1 against 1/2
    assert of_projects["difference"] == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert (of_projects["a"], of_projects["wins"], of_projects["losses"]) == (pytest.approx(17 / 36), 2, 0)
    assert of_projects["interval"] == pytest.approx([1 / 3, 1 / 2])


def test_a_row_for_each_language(folders: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "compare", *folders, "--by", "language", "--no-tests", "--markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "ours / bm25"
    assert lines[2] == "| language | reports | AP | RR | AP: difference [95 %] | RR: difference [95 %] |"
    assert [line.rpartition(" | ")[0] for line in lines if line.startswith(("| go", "| python", "| all"))] == [
        "| go | 2 | .667 / .500 | .667 / .500 | +.167 [-.167, +.500]",
        "| python | 2 | 1.00 / .417 | 1.00 / .417 | +.583 [+.500, +.667]",
        "| all | 4 | .833 / .458 | .833 / .458 | +.375 [.000, +.625]",
    ]
    assert main(["lab", "compare", *folders, "--by", "fixed", "--json"]) == 0
    assert {name: row["reports"] for name, row in json.loads(capsys.readouterr().out)["rows"].items()} == {
        "1 fixed file": 4
    }
    assert main(["lab", "compare", *folders]) == 0
    assert "2 projects" in capsys.readouterr().out


def test_reports_without_a_searched_fixed_file_can_be_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, rank in (("bm25", 2), ("ours", 1)):
        write(tmp_path / name / "one" / "all", {"1": ("a.py", rank), "2": ("test_a.py", 1)})
        write(tmp_path / name / "two" / "all", {"1": ("test_a.py", rank)})
    command = ["lab", "compare", str(tmp_path / "bm25"), str(tmp_path / "ours"), "--no-tests", "--json"]
    assert main(command) == 0
    every = json.loads(capsys.readouterr().out)
    assert main([*command, "--reachable"]) == 0
    fewer = json.loads(capsys.readouterr().out)
    assert (every["all"]["reports"], every["all"]["measures"]["RR"]["b"]) == (3, pytest.approx(1 / 3))
    assert (fewer["all"]["reports"], fewer["all"]["measures"]["RR"]["b"]) == (1, 1.0)
    assert fewer["projects"]["number"] == 1


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "hits.csv"
    lines = ["x,1,BUG,0,1,0", "x,2,BUG,0,0,0", "x,3,RFE,1,1,1", "y,1,BUG,0,0,0", "y,9,BUG,1,1,1"]
    path.write_text(HEADS + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_hits_against_those_of_others(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = write(tmp_path / "x" / "test", {"1": ("a.py", 1), "2": ("a.py", 1), "3": ("a.py", 3)})
    y = write(tmp_path / "y" / "test", {"1": ("b.go", 2), "9": ("b.go", 3)}, described=False)
    assert main(["lab", "peers", str(table), str(x.parent), str(y.parent), "--json"]) == 0
    rows = {(row["project"], row["system"], row["k"]): row for row in json.loads(capsys.readouterr().out)}
    agent = rows["x", "agent", 1]
    assert (agent["reports"], agent["theirs"], agent["ours"]) == (3, pytest.approx(3 / 6), pytest.approx(2 / 3))
    # against its first run two won, one lost; against the second one each: the larger p
    assert (agent["won"], agent["lost"], agent["p"], agent["holm"]) == ([2, 1], [1, 1], 1.0, 1.0)
    tool = rows["all", "tool", 2]
    assert (tool["reports"], tool["theirs"], tool["ours"]) == (5, pytest.approx(2 / 5), pytest.approx(3 / 5))
    assert (tool["won"], tool["lost"], tool["p"]) == ([3], [2], 1.0)
    assert main(["lab", "peers", str(table), str(x.parent), str(y.parent), "--markdown", "--described"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "| x | 3 | 2 | tool | .333 | .667 | +.333 | 2 : 1 | 1.00 | 1.00 |" in lines
    assert not [line for line in lines if line.startswith("| y")]
    assert main(["lab", "peers", str(table), str(x.parent)]) == 0
    assert "all" not in capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not a table of hits"),
        ("project,bug_id,tool_hit1\n", "without lines"),
        ("project,bug_id,tool_hit1\nx,1,2\n", "line 2: tool_hit1 is '2'; a hit is 0 or 1"),
        ("project,bug_id,tool_hit1\nx,1,1\nx,1,1\n", "line 3: report 1 of x comes twice"),
    ],
)
def test_what_is_no_table_of_hits_is_one_sentence(
    text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "hits.csv"
    path.write_bytes(text.encode("latin-1"))
    assert main(["lab", "peers", str(path), str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
