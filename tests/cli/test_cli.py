"""What every command keeps to: exit codes, one sentence for what is wrong, help, and what cannot be written."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.test_judging import GOOD, write_split
from tests.conftest import GitRepository
from tosloc.answer import Answer, Searched
from tosloc.cli import main
from tosloc.cli.answers import print_answer
from tosloc.records import BugReport, Hit, Reason

LONG = "java/org/apache/catalina/core/deeply/nested/packages/of/a/large/project/StandardContext.java"


def test_a_table_keeps_paths_whole_and_controls_out(capsys: pytest.CaptureFixture[str]) -> None:
    hits = (
        Hit(1, LONG, 2.5, 0.9, (), (Reason("frame", "first frame of the trace"), Reason("words", "start " * 20))),
        Hit(2, "caf\udce9/[bold]\x1b.java", 0.25, 0.1),
        Hit(3, "C.java", -1.0, 0.0),
    )
    when, report = datetime(2014, 1, 15, 7, 30, tzinfo=UTC), BugReport("bug", "Context does not start", "", None)
    print_answer(Answer("there", "c" * 40, when, report, Searched(2, 1), hits))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "bug: Context does not start",
        "2 files of cccccccccc, 2014-01-15; 1 test file hidden (--tests)",
        f"1   90%  {LONG}",
        "    first frame of the trace",
    ]
    assert lines[5:] == ["2   10%  caf\\xe9/[bold]\\x1b.java", "3    0%  C.java"]


def test_index_and_data_print_counts(
    repository: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def printed(*arguments: str) -> str:
        assert main([*arguments]) == 0
        return capsys.readouterr().out

    def rows(text: str) -> list[list[str]]:
        return [line.split() for line in text.splitlines()]

    repository.commit({"src/A.java": "class A {}"})
    fix = repository.commit({"src/A.java": "class A { int x; }", "B.java": "class B {}"})
    line = {"id": "1", "summary": "s", "description": "d", "opened": "2001-01-01T00:00:00Z", "fix_commit": fix}
    (tmp_path / "bugs.jsonl").write_text(json.dumps({**line, "fixed": ["src/A.java", "B.java"]}) + "\n")
    monkeypatch.chdir(repository.path / "src")  # the repository around the folder
    data = ["data", "--repo", str(repository.path), "--reports", str(tmp_path / "bugs.jsonl")]
    first = json.loads(printed(*data, "--json"))[0]
    assert (first["part"], first["reports"], first["listed"], first["existing"]) == ("all", 1, 2, 1)
    table = rows(printed(*data))
    assert table[1] == ["part", "all", "train", "validation", "test"]
    assert ["listed", "2"] in [row[:2] for row in table]
    index = ["index", "--store", str(tmp_path / "facts")]
    assert json.loads(printed(*index, "--commit", "HEAD~1", "--json"))["added"] == 1
    assert ["added", "2"] in [row[:2] for row in rows(printed(*index))]
    assert ["known", "2", "were", "analysed", "before"] in rows(printed(*index))


FULL = "no room left on the disk; make room and run the same command again to go on"


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == "tosloc 0.1.0\n"
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    for name in ("localize", "index", "train", "rank", "evaluate", "compare", "data"):
        assert f"\n  {name} " in printed
        assert main([name, "--help"]) == 0


def test_help_of_the_laboratory_is_plain_text_like_all_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "train-encoder", "--help"]) == 0
    printed = capsys.readouterr().out
    assert "with [stage_two]" in " ".join(printed.split())  # no markup of a library's that is taken away
    assert "│" not in printed


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    write_split(tmp_path / "test", GOOD)
    command = [sys.executable, "-m", "tosloc", "evaluate", str(tmp_path), "--json"]
    reader, writer = os.pipe()
    os.close(reader)
    closed = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (closed.returncode, closed.stderr) == (1, "")
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, f"tosloc: {FULL}\n")
