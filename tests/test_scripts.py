"""Scripts that write and measure repositories: ``synthetic``, ``scale`` and ``languages``."""

import json

import numpy as np
import pytest

from scripts import languages, scale, synthetic
from tosloc.cli.guard import run_guarded
from tosloc.core.errors import ToslocError
from tosloc.git.fixes import is_fix_message
from tosloc.git.history import History
from tosloc.git.repository import Repository

SOURCE = """class Parser:
    def parse(self, header):
        return header


def other():
    return 'colon'
"""
COMMIT_OF_60_FILES = "e97d0027ab5f7774d440e8df55eec43ed509c0e7"
"""With NumPy's draws as they have been since its version 1.17."""


@pytest.fixture
def project(repository):
    """Create a repository of several languages with a fix."""
    files = {
        "src/parser.py": SOURCE,
        "src/a.py": "x = 1",
        "b.vue": "<script>function f() {}</script>",
    }
    repository.commit(files, "Begin")
    changes = {"src/parser.py": SOURCE + "\n", "d.dart": "x = 1", "e.md": "none"}
    repository.commit(changes, "Fix the header of a parser")
    return repository


@pytest.mark.slow
def test_scale_measures_time_memory_and_sizes(project, tmp_path, capsys):
    (tmp_path / "work").mkdir()
    assert scale.main([str(project.path), "--work", str(tmp_path / "work"), "--json"]) == 0
    [result] = json.loads(capsys.readouterr().out)
    assert result["files"] == 4
    assert [row["part"] for row in result["parts"]] == list(scale.PARTS)
    for row in result["parts"]:
        assert 0.05 < row["processor"] < 60
        assert 10 * 2**20 < row["own"]
        assert row["own"] < row["whole"]
        assert row["whole"] < 2**30
    assert result["bytes"]["store"] > 1000
    assert result["bytes"]["kept"] > 1000


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "{here} --parts version,others",
            "--parts: there is no part 'others'; choose from facts, version, commit, opening,",
        ),
        ("{here}/nowhere", "/nowhere: no such folder; create it first"),
    ],
    ids=["unknown part", "missing folder"],
)
def test_scale_refuses_bad_input_in_one_sentence(words, sentence, tmp_path, capsys):
    words = words.format(here=tmp_path).split()
    code = run_guarded(lambda: scale.main([str(tmp_path), "--work", *words]))
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert sentence in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_languages_counts_parsed_files_and_functions(project, capsys):
    assert languages.main([str(project.path)]) == 0
    counts = {}
    for line in capsys.readouterr().out.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 8:
            counts[cells[0]] = cells[3:]
    assert counts["python"] == ["1", "2", "1.000", "0.000", "1.5"]
    assert counts["vue"] == ["1", "1", "1.000", "0.000", "1.0"]
    assert counts["dart"] == ["1", "1", "", "", "none"]
    assert "text" not in counts


def test_languages_counts_files_that_are_parsed_in_part(repository, capsys):
    repository.commit({"a.py": "def f():\n    pass\n", "b.py": "def g():\n    x = = 1\n"}, "Begin")
    assert languages.main([str(repository.path)]) == 0
    assert "| 1.000 | 0.500 | 1.0 |" in capsys.readouterr().out


def test_languages_compares_names_with_those_of_ctags(project, tmp_path, monkeypatch, capsys):
    tags = [
        {"name": "Parser", "path": "src/parser.py", "kind": "class"},
        {"name": "a.parse", "path": "src/parser.py", "kind": "member"},
        {"name": "missing", "path": "src/parser.py", "kind": "function"},
        {"name": "x", "path": "src/a.py", "kind": "variable"},
    ]
    (tmp_path / "tags").write_text("".join(json.dumps(tag) + "\n" for tag in tags))
    program = tmp_path / "bin" / "ctags"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ncat {tmp_path / 'tags'}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    assert languages.main([str(project.path), "--ctags", "--show", "9"]) == 0
    out, err = capsys.readouterr()
    [row] = [line for line in out.splitlines() if line.startswith("| python ")]
    assert row.endswith("| 0.667 | 0.667 |")
    assert "src/parser.py: only TosLoc finds other" in err
    assert "src/parser.py: only ctags finds missing" in err


def test_languages_asks_for_ctags(project, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(ToslocError, match="Universal Ctags"):
        languages.main([str(project.path), "--ctags"])


def write_synthetic(path, capsys, *options):
    """Write a synthetic repository of 60 files; return the printed id of its last commit."""
    assert synthetic.main([str(path), "--files", "60", *options]) == 0
    return capsys.readouterr().out.strip()


def test_the_same_arguments_give_the_same_commit(tmp_path, capsys):
    commit = write_synthetic(tmp_path / "a.git", capsys, "--commits", "30")
    assert commit == COMMIT_OF_60_FILES


def test_another_seed_gives_another_commit(tmp_path, capsys):
    commit = write_synthetic(tmp_path / "a.git", capsys, "--commits", "0")
    other = write_synthetic(tmp_path / "b.git", capsys, "--commits", "0", "--seed", "1")
    assert commit != other


def test_an_existing_folder_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="2"):
        synthetic.main([str(tmp_path)])


def test_a_synthetic_repository_is_like_real_ones(tmp_path, capsys):
    write_synthetic(tmp_path / "a.git", capsys, "--commits", "30")
    with Repository(tmp_path / "a.git") as repository:
        snapshot = repository.snapshot("HEAD~30", {".java"})
        lines = [data.count(b"\n") for _, data in repository.texts(snapshot.blobs) if data]
        messages = History.read(repository, "HEAD", {".java"}).messages
    fixes = [message for message in messages if is_fix_message(message)]
    assert len(lines) == 60
    assert 40 < np.median(lines) < 150
    assert 3 <= len(fixes) <= 20
