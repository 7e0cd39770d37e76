"""Runs, judgements and lists of files that no one of ours wrote: refused with the line that is at fault."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tosloc.errors import RunError
from tosloc.evaluate import jsonl
from tosloc.evaluate.file_lists import read_file_lists
from tosloc.evaluate.judgements import read_judgements
from tosloc.evaluate.run_paths import read_any_run
from tosloc.evaluate.runs import read_run

HEAD = '{"format": "tosloc-run/2"}\n{"first": 0, "paths": ["a", "b"]}\n'
RANKING = {"report": "1", "files": [0, 1], "scores": [2, 1]}
JUDGED = {"report": "1", "fixed": ["a"], "listed": ["a"], "searched": 2, "version": "v", "traits": None}
LISTED = {"version": "v", "like": None, "with": ["a"], "without": []}


@pytest.mark.parametrize(
    "changed",
    [
        {"files": [0.5, 1]},
        {"files": [0, 2**40]},
        {"files": [-1, 0]},
        {"scores": [10**400, 1]},
        {"report": [1]},
        {"ranks": "12"},
    ],
)
def test_runs(tmp_path: Path, changed: dict[str, object]) -> None:
    (tmp_path / "run").write_text(HEAD + json.dumps(RANKING | changed))
    with pytest.raises(RunError, match=r"run line 3: .*(damaged|number|input should be)"):
        read_run(tmp_path / "run")


@pytest.mark.parametrize(
    "changed",
    [
        {"fixed": "a"},
        {"fixed": [1]},
        {"searched": "2"},
        {"traits": [1]},
        {"nonrelevant": "b"},
    ],
)
def test_judgements(tmp_path: Path, changed: dict[str, object]) -> None:
    (tmp_path / "qrels").write_text(json.dumps(JUDGED | changed))
    with pytest.raises(RunError, match="qrels line 1: "):
        read_judgements(tmp_path / "qrels")


@pytest.mark.parametrize("changed", [{"like": ["v"]}, {"version": 1}, {"with": [1]}, {"without": "a"}])
def test_lists_of_files(tmp_path: Path, changed: dict[str, object]) -> None:
    (tmp_path / "searched").write_text(json.dumps(LISTED | changed))
    with pytest.raises(RunError, match=r"line 1: .*: input should be"):
        read_file_lists(tmp_path / "searched")


@pytest.mark.parametrize("read", [read_run, read_judgements, read_file_lists])
@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 5_000, '{"report": ' + "9" * 5_000 + "}"])
def test_json_that_is_made_to_hurt(tmp_path: Path, read: Callable[[Path], object], text: str) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(RunError, match="line 1: not valid JSON"):
        read(tmp_path / "file")


def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "LONGEST_LINE", 1_000_000)
    (tmp_path / "run").write_bytes(gzip.compress(b" " * 50_000_000, 1))
    with pytest.raises(RunError, match="line 1: is longer than 1,000,000 bytes"):
        read_run(tmp_path / "run")


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run")
    with pytest.raises(RunError, match="cannot read it: is a named pipe"):
        read_any_run(tmp_path / "run")
