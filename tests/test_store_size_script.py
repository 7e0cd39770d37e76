"""``scripts/store_size.py`` on a repository of a few commits."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import GitRepository

pytestmark = pytest.mark.slow  # each starts the script
SCRIPT = Path(__file__).parents[1] / "scripts" / "store_size.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def grown(repository: GitRepository) -> str:
    for number in range(6):
        repository.commit(
            {f"src/C{number}.java": f"class C{number} {{ int word{number}; }}", "src/C0.java": f"// {number}"}
        )
    return str(repository.path)


def test_bytes_of_each_kind(grown: str) -> None:
    done = run(grown, "--compression", "--json")
    assert done.returncode == 0, done.stderr
    [row] = json.loads(done.stdout)
    assert (row["files"], row["commits"]) == (6, 6)
    assert min(row[kind] for kind in ("source", "facts", "terms", "functions", "version")) > 0
    first, *others = row["compression"]
    assert (first["level"], first["bytes"], first["packing"]) == (1, 1.0, 1.0)
    assert others
    assert "facts" in run(grown).stdout


def test_growth(grown: str) -> None:
    done = run(grown, "--commits", "4", "--step", "2", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["commits"] for row in rows] == [0, 2, 4, 4, 4]
    assert [row["commit"] for row in rows[3:]] == ["vacuum", "fresh"]
    assert [row["files"] for row in rows] == [2, 4, 6, 6, 6]
    assert [row["blobs"] for row in rows] == [2, 5, 8, 8, 6]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["nowhere"], "nowhere"), ([".", "--commits", "0"], "--commits and --step: 1 or more of each")],
)
def test_wrong_input_is_one_sentence(arguments: list[str], words: str) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
