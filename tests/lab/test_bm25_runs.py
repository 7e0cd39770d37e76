"""BM25 over whole files: the run that stands beside ours, with the library's own scores."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import GitRepository
from tosloc.cli import main
from tosloc.evaluate.run_paths import read_scored
from tosloc.git.repository import Repository
from tosloc.lab.bm25_runs import WholeFiles
from tosloc.records import BugReport

FILES = {
    "app/http_server.py": "class HTTPServer:\n    def open_socket(self): pass\n",
    "app/parser.py": "# parses the headers\ndef parseHeaders(text): return text\n",
    "app/empty.py": "",
    "doc/notes.txt": "open socket server parser headers\n",
}


@pytest.fixture
def project(repository: GitRepository, tmp_path: Path) -> tuple[GitRepository, Path]:
    """Two versions, a report with its fix and one with the version to search."""
    git = repository
    first = git.commit(FILES)
    fix = git.commit({"app/parser.py": FILES["app/parser.py"] + "# mended\n"})
    reports = [
        {"id": "1", "summary": "Headers are not parsed", "description": "", "fix_commit": fix},
        {"id": "2", "summary": "socketOpen of the server", "description": "HTTP hangs", "version": first},
        {"id": "3", "summary": "zzz", "description": "", "version": fix},
    ]
    fixed = (["app/parser.py"], ["app/http_server.py"], ["app/parser.py"])
    path = tmp_path / "reports.jsonl"
    lines = [
        json.dumps({**one, "opened": "2001-09-09T02:00:00Z", "fixed": f}) for one, f in zip(reports, fixed, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return git, path


def test_reports_with_a_fix_and_with_a_version_are_ranked(
    project: tuple[GitRepository, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git, reports = project
    out = tmp_path / "bm25"
    command = ["lab", "bm25", "--repo", str(git.path), "--reports", str(reports), "--out", str(out)]
    assert main(command) == 0
    scored = read_scored(out, "all")
    assert scored.run.header["search space"] == "all source files of the before-fix version"
    assert scored.run.header["data"]["suffixes"] == [".py", ".pyi", ".pyw"]
    evaluation = scored.evaluation()
    assert [one.ranks for one in evaluation.per_report] == [(1,), (1,), (3,)]  # no word of 3 is known: by path
    assert scored.run.ranking("2").paths == ("app/http_server.py", "app/empty.py", "app/parser.py")
    assert evaluation.length == 1.0
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    assert main(command) == 0  # finished: left as it is
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()} == before
    settings = tmp_path / "other.toml"
    settings.write_text('[data]\nsuffixes = [".py", ".txt"]\n', encoding="utf-8")
    assert main([*command, "--config", str(settings)]) == 0  # other files: made again
    assert read_scored(out, "all").evaluation().per_report[0].searched == 4
    assert main([*command[:-1], str(reports)]) == 2
    assert "is a file" in capsys.readouterr().err
    assert main([*command[:-1], str(tmp_path / "new"), "--split", "validation"]) == 2
    assert "falls to validation; rank them all" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_the_scores_are_the_librarys(project: tuple[GitRepository, Path]) -> None:
    import bm25s
    from Stemmer import Stemmer

    report = BugReport("2", "socketOpen of the server", "open HTTP_headers", None)
    texts = ["", " ", "class HTTP Server:\n def open socket(self): pass", "parses the headers def parse Headers(text)"]
    texts[3] += " return text"
    stemmer = Stemmer("english")
    tokens = bm25s.tokenize(texts[1:], stemmer=stemmer, show_progress=False, return_ids=False)
    tokens[0] = []  # the library has the empty word there
    retriever = bm25s.BM25()
    retriever.index(tokens, show_progress=False)
    [query] = bm25s.tokenize("socket Open of the server open HTTP headers", stemmer=stemmer, return_ids=False)
    with Repository(project[0].path) as repo:
        snapshot = repo.snapshot("HEAD~1", {".py"})
        scores = WholeFiles(repo).index(snapshot)(report)
    assert snapshot.paths == ("app/empty.py", "app/http_server.py", "app/parser.py")
    assert scores.tolist() == pytest.approx(retriever.get_scores(query).tolist())
    assert np.all(scores[1:] > 0)
