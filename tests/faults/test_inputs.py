"""Hostile inputs, as ``python -m tests.faults inputs`` runs them; and that the traps of repositories are real."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import RepositoryFactory
from tests.faults.cases import kind_of, kinds
from tests.faults.repositories import CANARY, running, set_traps
from tosloc.data.git import Repository

ROOT = Path(__file__).parents[2]
CASES = 500


@pytest.mark.faults
def test_hostile_inputs_end_with_an_answer_or_a_sentence() -> None:
    command = [sys.executable, "-m", "tests.faults", "inputs", "--number", str(CASES), "--seed", "100000"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_seed_is_one_case() -> None:
    assert [kind_of(seed)[0] for seed in range(50)] == [kind_of(seed)[0] for seed in range(50)]
    assert {kind_of(seed)[0] for seed in range(2_000)} == set(kinds())


# What git itself runs in such a repository, if it is let


CONTROLS = {
    "core.fsmonitor": ["status"],
    "core.hooksPath": ["update-ref", "refs/heads/other", "HEAD"],
    "diff.external": ["diff", "HEAD~1", "HEAD"],
    "diff.evil.textconv": ["diff", "HEAD~1", "HEAD"],
    "filter.evil.clean": ["add", "-A"],
    "alias.cat": ["cat"],
}
"""Setting -> a git command that heeds it."""


@pytest.mark.parametrize("name", CONTROLS)
def test_the_traps_are_real(make_repository: RepositoryFactory, tmp_path: Path, name: str) -> None:
    repository = make_repository()
    repository.commit({"A.java": "class A { }\n"})
    repository.commit({"A.java": "class A { int n; }\n"})
    canary = tmp_path / CANARY
    traps = running(canary) | {"alias.cat": f"!touch {canary}; cat"}
    if name in running(canary):
        set_traps(repository.path / ".git", canary, [name])
    (repository.path / "A.java").write_text("class A { int other; }\n")
    setting = ["-c", f"{name}={traps[name]}"] if name not in running(canary) else []
    subprocess.run(
        ["git", "-C", str(repository.path), *setting, *CONTROLS[name]],
        env=repository.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert canary.exists()
    canary.unlink()
    with Repository(repository.path) as repo:
        commit = repo.resolve("HEAD")
        assert repo.snapshot(commit, frozenset({".java"})).paths == ("A.java",)
    assert not canary.exists()
