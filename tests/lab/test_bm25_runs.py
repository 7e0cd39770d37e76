"""BM25 over whole files: the command, and the library's own scores."""

import json
import subprocess
import sys

import bm25s
import pytest
from Stemmer import Stemmer

from tosloc.cli import main
from tosloc.core.reports import BugReport
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.git.repository import Repository
from tosloc.lab.bm25_runs import WholeFiles

FILES = {
    "app/http_server.py": "class HTTPServer:\n    def open_socket(self): pass\n",
    "app/parser.py": "# parses the headers\ndef parseHeaders(text): return text\n",
    "app/empty.py": "",
    "doc/notes.txt": "open socket server parser headers\n",
}
OPENED = {"opened": "2001-09-09T02:00:00Z", "description": ""}


def write_records(path, records):
    lines = [json.dumps(OPENED | record) + "\n" for record in records]
    path.write_text("".join(lines))


@pytest.fixture
def bm25_command(repository, tmp_path):
    """Return the command for three reports, with a fix or a version; its output folder is ``out``.

    No word of the third report is in any file.
    """
    first = repository.commit(FILES)
    fix = repository.commit({"app/parser.py": FILES["app/parser.py"] + "# mended\n"})
    parser = ["app/parser.py"]
    server = ["app/http_server.py"]
    records = [
        {"id": "1", "summary": "Headers are not parsed", "fix_commit": fix, "fixed": parser},
        {"id": "2", "summary": "socketOpen", "version": first, "fixed": server},
        {"id": "3", "summary": "zzz", "version": fix, "fixed": parser},
    ]
    records[1]["description"] = "HTTP hangs"
    reports = tmp_path / "reports.jsonl"
    write_records(reports, records)
    arguments = ["--repo", str(repository.path), "--reports", str(reports)]
    return ["lab", "bm25", *arguments, "--out", str(tmp_path / "out")]


def test_command_runs_without_torch(bm25_command):
    program = """
import sys
sys.modules["torch"] = sys.modules["transformers"] = sys.modules["sklearn"] = None
from tosloc.cli import main
sys.exit(main(sys.argv[1:]))
"""
    assert (
        subprocess.run([sys.executable, "-c", program, *bm25_command], check=False).returncode == 0
    )


def test_reports_with_a_fix_and_with_a_version_are_ranked(bm25_command, tmp_path):
    assert main(bm25_command) == 0
    scored = ScoredRun.read(tmp_path / "out", "all")
    assert scored.run.header["search space"] == ".py, .pyi, .pyw files of the before-fix version"
    evaluation = scored.evaluation()
    # Without a known word files are ordered by path.
    assert [scores.ranks for scores in evaluation.per_report] == [(1,), (1,), (3,)]
    assert evaluation.length == 1.0
    paths = scored.run.ranking("2").paths
    assert paths == ("app/http_server.py", "app/empty.py", "app/parser.py")


def test_command_says_what_it_searched(bm25_command, capsys):
    assert main(bm25_command) == 0
    sentence = "tosloc: searched .py, .pyi, .pyw files of the before-fix version: at least a tenth"
    assert sentence in capsys.readouterr().err


def test_settings_choose_the_files_that_are_searched(bm25_command, tmp_path):
    settings = tmp_path / "other.toml"
    settings.write_text('[data]\nsuffixes = [".py", ".txt"]\n', encoding="utf-8")
    assert main([*bm25_command, "--config", str(settings)]) == 0
    first, *_ = ScoredRun.read(tmp_path / "out", "all").evaluation().per_report
    assert first.searched == 4


def test_split_without_reports_is_refused(bm25_command, tmp_path, capsys):
    assert main([*bm25_command, "--split", "validation"]) == 2
    assert "none of its 3 reports is in the split validation" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("command", "folder"),
    [("bm25", "thesis"), ("baselines", "thesis/blia")],
    ids=["bm25", "baselines"],
)
def test_folder_with_other_things_is_refused(repository, tmp_path, capsys, command, folder):
    repository.commit(FILES)
    fix = repository.commit({"app/parser.py": "mended = True\n"})
    reports = tmp_path / "reports.jsonl"
    record = {"id": "1", "summary": "s", "fix_commit": fix, "fixed": ["app/parser.py"]}
    write_records(reports, [record])
    own_file = tmp_path / folder / "all/run.jsonl.gz"
    own_file.parent.mkdir(parents=True)
    own_file.write_text("mine")
    arguments = ["--repo", str(repository.path), "--reports", str(reports), "--split", "all"]
    assert main(["lab", command, *arguments, "--out", str(tmp_path / "thesis")]) == 2
    assert f"{tmp_path / folder} contains other files, such as 'all'" in capsys.readouterr().err
    assert own_file.read_text() == "mine"


def test_scores_are_those_of_the_library(repository):
    repository.commit(FILES)
    split_texts = [
        " ",
        "class HTTP Server:\n def open socket(self): pass",
        "parses the headers def parse Headers(text) return text",
    ]
    stemmer = Stemmer("english")
    tokens = bm25s.tokenize(split_texts, stemmer=stemmer, show_progress=False, return_ids=False)
    tokens[0] = []  # the library has the empty word there
    retriever = bm25s.BM25()
    retriever.index(tokens, show_progress=False)
    [query] = bm25s.tokenize(
        "socket Open of the server open HTTP headers", stemmer=stemmer, return_ids=False
    )
    report = BugReport("2", "socketOpen of the server", "open HTTP_headers", None)
    with Repository(repository.path) as repo:
        snapshot = repo.snapshot("HEAD", {".py"})
        scores = WholeFiles(repo).index(snapshot)(report)
    assert snapshot.paths == ("app/empty.py", "app/http_server.py", "app/parser.py")
    assert scores.tolist() == pytest.approx(retriever.get_scores(query).tolist())
    assert min(scores[1:]) > 0
