"""``scripts/bench.py`` in a process of its own, on a repository of a few files."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import GitRepository
from tests.rerank.encoder.tiny import write_encoder

pytestmark = pytest.mark.slow  # each starts the script
SCRIPT = Path(__file__).parents[1] / "scripts" / "bench.py"
SHIPPED = Path(__file__).parents[1] / "checkpoints"
JAVA = "package org.x;\n/** Keeps {0} open. */\nclass {0} {{\n  int {1}Count(int a) {{ return a > 0 ? a : 1; }}\n}}\n"
MEMORY = Path("/proc/self/status").exists()
EVALUATION = ["evaluate TREC files / ir-measures", "evaluate JSON lines / ir-measures"]
EVALUATION += ["memory: evaluate TREC files", "memory: evaluate JSON lines"] if MEMORY else []


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)


def test_rows_of_a_small_repository(repository: GitRepository) -> None:
    names = [f"{first}{second}" for first in ("Session", "Cookie", "Header") for second in ("Reader", "Writer")]
    repository.commit({f"src/{name}.java": JAVA.format(name, name.lower()) for name in names}, "first version")
    repository.commit({"src/CookieReader.java": JAVA.format("CookieReader", "value")}, "Fix bug 12345: cookie is lost")
    done = run("--repo", str(repository.path), "--rankings", "3", "--files", "20", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["name"] for row in rows] == [
        "stage one / bm25s",
        "stage one (paper) / bm25s",
        "second localize, shell / numpy",
        "question in one process / bm25s",
        "one commit more / first version",
        "throughput: rankings / bm25s",
        "throughput: answers / bm25s",
        "first index / tree-sitter",
        *(["memory: localize"] if MEMORY else []),
        *EVALUATION,
    ]
    for row in rows:
        assert sorted(row) == ["name", "ratio", "reference", "value"]
        assert row["value"] > 0
        assert row["ratio"] == pytest.approx(row["value"] / row["reference"])


def test_rows_of_a_second_stage(repository: GitRepository, tmp_path: Path) -> None:
    repository.commit(
        {f"src/{name}.java": JAVA.format(name, name.lower()) for name in ("Door", "Key")}, "first version"
    )
    encoder = write_encoder(tmp_path / "encoder")
    (tmp_path / "c.toml").write_text("[stage_two]\nchunks = 2\nchunk_tokens = 16\nreport_tokens = 16\n")
    where = ["--repo", str(repository.path), "--only", "stage two", "--config", str(tmp_path / "c.toml")]
    done = run(*where, "--encoder", str(encoder), "--json")
    assert done.returncode == 0, done.stderr
    two, encoding = json.loads(done.stdout)
    assert [two["name"], encoding["name"]] == ["two stages / stage one + one text", "encoding / encoder alone"]
    assert two["value"] > two["reference"] / 2 > 0
    assert 0 < encoding["ratio"] < 1.5  # chunks a second: more work makes fewer
    done = run(*where, "--json")
    assert (done.returncode, json.loads(done.stdout)) == (0, [])
    assert "--encoder" in done.stderr
    assert "--checkpoint" in done.stderr
    done = run(*where, "--encoder", str(tmp_path))
    assert done.returncode == 2
    assert "no encoder can be loaded from there" in done.stderr


def test_a_checkpoint_without_term_vectors_is_refused(repository: GitRepository) -> None:
    repository.commit({f"src/{name}.java": JAVA.format(name, name.lower()) for name in ("Door", "Key")}, "first")
    done = run("--repo", str(repository.path), "--only", "stage two", "--checkpoint", str(SHIPPED / "tomcat"))
    assert done.returncode == 2
    assert "no second stage of term vectors" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--repo", "nowhere"], "nowhere"), (["--repo", ".", "--only", "everything"], "everything"), ([], "--repo")],
    ids=["no repository", "no such part", "nothing"],
)
def test_wrong_input_is_one_sentence(arguments: list[str], words: str, tmp_path: Path) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not done.stdout


def test_evaluation_needs_no_repository() -> None:
    done = run("--only", "evaluation", "--rankings", "3", "--files", "20")
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in EVALUATION)
    done = run("--only", "evaluation", "--rankings", "0")
    assert (done.returncode, done.stderr) == (2, "bench: --rankings and --files: 1 or more of each\n")
