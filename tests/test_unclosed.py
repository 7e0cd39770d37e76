"""A test that leaves a file, a process or a database connection open fails, on every Python."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = """
import sqlite3, subprocess

def test_statement():
    {}
"""


def run_test(folder, statement):
    """Run a test of one statement with this repository's settings; return the ended process."""
    path = folder / "test_unclosed_thing.py"
    path.write_text(PROGRAM.format(statement), encoding="utf-8")
    plugins = ["-p", "tests.conftest", "-p", "no:xdist", "-p", "no:cacheprovider"]
    settings = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder)]
    command = [sys.executable, "-m", "pytest", *plugins, *settings, str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("statement", "warning"),
    [
        ("sqlite3.connect(':memory:')", "unclosed database :memory:"),
        pytest.param("open(__file__)", "unclosed file", marks=pytest.mark.slow),
        pytest.param("subprocess.Popen('cat', stdin=-1)", "still running", marks=pytest.mark.slow),
    ],
    ids=["database", "file", "process"],
)
def test_what_stays_open_fails_its_test(tmp_path, statement, warning):
    result = run_test(tmp_path, statement)
    assert result.returncode == 1
    # pytest reports on standard error what is collected only when it ends.
    assert warning in result.stdout + result.stderr


@pytest.mark.slow
def test_what_is_closed_passes(tmp_path):
    result = run_test(tmp_path, "sqlite3.connect(':memory:').close()")
    assert result.returncode == 0, result.stdout
