"""``tosloc mine`` as people type it, and ``tosloc train`` after it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests import toy
from tests.conftest import GitRepository
from tosloc.cli import main
from tosloc.reports.formats import read_reports

ISSUE: dict[str, Any] = {
    "number": 7,
    "title": "The header loses its colon",
    "body": "parse_header drops it",
    "createdAt": "2001-09-09T01:50:00Z",
    "labels": [],
    "url": "https://github.com/ann/one/issues/7",
}


@pytest.fixture(autouse=True)
def place(plain_folder: Path) -> Path:
    """Every command begins outside of a repository."""
    return plain_folder


@pytest.fixture
def project(repository: GitRepository) -> GitRepository:
    repository.commit({"src/parser.py": "1\n"}, "Begin")
    repository.commit({"src/parser.py": "2\n"}, "Fix #7: the header lost its colon")
    return repository


def written(place: Path, *records: Any) -> str:
    (place / "issues.json").write_text(json.dumps(records))
    return str(place / "issues.json")


def test_lines_that_train_reads_and_a_table(project, place, monkeypatch, capsys, tmp_path):
    export = written(place, ISSUE, ISSUE | {"number": 8, "labels": [{"name": "question"}]})
    monkeypatch.chdir(project.path / "src")
    assert main(["mine", export]) == 0
    printed = capsys.readouterr()
    words = [line.split() for line in printed.out.splitlines() if line.strip(" ─")]
    assert [" ".join(line) for line in words] == [
        *("linked by (GitHub) reports", "closing keyword 1", "all 1"),
        *("left out issues", "labelled as something else than a bug 1", "all 1"),
    ]
    [file] = tmp_path.glob("cache/*/reports.jsonl")
    assert printed.err == f"tosloc: {file} holds 1 report; now run: tosloc train\n"
    [report] = read_reports(file, suffixes=[".py"])
    assert (report.report.id, report.commit, report.listed) == ("7", project.made[1], ("src/parser.py",))
    line = json.loads(file.read_text())
    assert (line["link"], line["url"], "weak" in line) == ("closing keyword", ISSUE["url"], False)
    assert project.git("status", "--porcelain") == ""


def test_json_and_a_file_of_ones_own(project, place, capsys, tmp_path):
    export, out = written(place, ISSUE), tmp_path / "own.jsonl"
    assert main(["mine", export, "--repo", str(project.path), "--out", str(out), "--json"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert (found["tracker"], found["linked"], found["reports"]) == ("GitHub", {"closing keyword": 1}, 1)
    assert (found["weak"], found["read"], found["left_out"], found["file"]) == (False, 1, {}, str(out))
    assert f"now run: tosloc train --repo {project.path} --reports {out}\n" in printed.err
    assert not (tmp_path / "cache").exists()


def test_git_alone_says_that_its_reports_are_weak(project, capsys):
    assert main(["mine", "--repo", str(project.path)]) == 0
    out = capsys.readouterr().out
    assert "linked by (git alone)" in out
    assert "weak reports: what commits say of their own fixes" in out
    assert main(["mine", "--repo", str(project.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["weak"] is True


def test_what_goes_wrong_is_one_sentence_and_leaves_nothing(project, place, fails, capsys, monkeypatch):
    empty, other = written(place), place / "other.json"
    assert "not in a git repository; go to one, or name it with --repo" in fails("mine")
    monkeypatch.chdir(project.path)
    assert "issues.json: holds no issue" in fails("mine", empty)
    assert "nowhere.json: cannot be read (No such file" in fails("mine", "nowhere.json")
    other.write_text('{"kind": "youtrack#issue"}')
    assert "other.json, record 1: JSON of no known kind (keys: kind)" in fails("mine", str(other))
    assert main(["mine", written(place, ISSUE | {"number": 9})]) == 2
    assert "none of 1 issues has a fix to learn from" in capsys.readouterr().err
    assert "Missing option '--reports'; or run tosloc mine first" in fails("train", "--out", "run")
    assert "'(' is no regular expression" in fails("mine", written(place, ISSUE), "--pattern", "(")
    assert "--pattern: says which issues commits name, and none are given" in fails("mine", "--pattern", "(1)")


@pytest.mark.slow
def test_train_learns_from_what_was_mined(tmp_path, monkeypatch, capsys):
    project = toy.grow(tmp_path / "toy", bugs=12, themes=6)
    keys = ("id", "summary", "description", "opened")
    export = tmp_path / "export.jsonl"
    export.write_text("".join(json.dumps({key: one[key] for key in keys}) + "\n" for one in project.records))
    settings = tmp_path / "small.toml"
    settings.write_text(toy.SETTINGS)
    monkeypatch.chdir(project.git.path)
    assert main(["mine", str(export)]) == 0
    assert main(["train", str(settings), "--out", str(tmp_path / "run")]) == 0
    err = capsys.readouterr().err
    assert "the reports are those of tosloc mine" in err
    assert "tosloc: validation took " in err
    assert re.search("; of few reports .[12]., so that chance decides, too\n", err)
    assert "; not " in err
