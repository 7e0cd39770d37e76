"""Scripts that make and measure repositories: ``synthetic.py``, ``scale.py``, ``languages.py``."""

import json

import numpy as np
import pytest

from scripts import languages, scale, synthetic
from tosloc.cli.guard import run_guarded
from tosloc.git.fixes import is_fix_message
from tosloc.git.history import read_history
from tosloc.git.repository import Repository

SOURCE = "class Parser:\n    def parse(self, header):\n        return header\n\n\ndef other():\n    return 'colon'\n"


@pytest.fixture
def project(repository):
    files = {
        "src/parser.py": SOURCE,
        "src/a.py": "x = 1",
        "b.vue": "<script>function f() {}</script>",
    }
    repository.commit(files, "Begin")
    repository.commit(
        {"src/parser.py": SOURCE + "\n", "d.lua": "x = 1", "e.md": "none"},
        "Fix the header of a parser",
    )
    return repository


@pytest.mark.slow
def test_what_a_repository_costs(project, tmp_path, capsys):
    (tmp_path / "work").mkdir()
    assert scale.main([str(project.path), "--work", str(tmp_path / "work"), "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert found["files"] == 4
    assert [row["part"] for row in found["parts"]] == list(scale.PARTS)
    for row in found["parts"]:
        assert 0.05 < row["processor"] < 60
        assert 10 * 2**20 < row["own"] < row["whole"] < 2**30
    sizes = found["bytes"]
    assert sizes["store"] > 1000
    assert sizes["kept"] > 1000


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            "{here} --parts version,others",
            "--parts has 'others', which is none of facts, version, commit, opening,",
        ),
        ("{here}/nowhere", "/nowhere: no such folder; make it first"),
    ],
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


def test_what_repositories_hold(project, capsys):
    assert languages.main([str(project.path)]) == 0
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in capsys.readouterr().out.splitlines()
    ]
    found = {row[0]: row[3:] for row in rows if len(row) == 7}
    assert found["python"] == ["1", "2", "1.000", "1.5"]
    assert found["vue"] == ["1", "1", "1.000", "1.0"]
    assert found["lua"] == ["1", "1", "", "none"]
    assert "text" not in found


def test_the_same_arguments_give_the_same_commit(tmp_path, capsys):
    # with NumPy's draws as they have been since its 1.17
    assert synthetic.main([str(tmp_path / "a.git"), "--files", "60", "--commits", "30"]) == 0
    assert (
        synthetic.main([str(tmp_path / "b.git"), "--files", "60", "--commits", "0", "--seed", "1"])
        == 0
    )
    first, other = capsys.readouterr().out.split()
    assert first == "e97d0027ab5f7774d440e8df55eec43ed509c0e7" != other
    with pytest.raises(SystemExit, match="2"):
        synthetic.main([str(tmp_path / "a.git")])
    with Repository(tmp_path / "a.git") as repository:
        snapshot = repository.snapshot("HEAD~30", {".java"})
        lines = [data.count(b"\n") for _, data in repository.texts(snapshot.blobs) if data]
        assert (
            3
            <= sum(map(is_fix_message, read_history(repository, "HEAD", {".java"}).messages))
            <= 20
        )
    assert len(lines) == 60
    assert 40 < np.median(lines) < 150  # as in real repositories
