"""A test that leaves a file, a process or a database connection open fails, on every Python."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = """
import sqlite3, subprocess

def test_nothing_is_closed():
    {}
"""


def run_test(folder, statement):
    """Run a test of one statement with this repository's settings for pytest; the process that has ended."""
    path = folder / "test_unclosed_thing.py"
    path.write_text(PROGRAM.format(statement), encoding="utf-8")
    pytest_here = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:xdist", "-p", "no:cacheprovider"]
    command = [*pytest_here, "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("statement", "warning"),
    [
        ("sqlite3.connect(':memory:')", "unclosed database :memory:"),
        pytest.param("open(__file__)", "unclosed file", marks=pytest.mark.slow),
        pytest.param("subprocess.Popen(['cat'], stdin=-1)", "is still running", marks=pytest.mark.slow),
    ],
)
def test_what_stays_open_fails_its_test(tmp_path, statement, warning):
    done = run_test(tmp_path, statement)
    assert done.returncode == 1
    assert warning in done.stdout + done.stderr  # pytest reports what is collected late when it ends


@pytest.mark.slow
def test_what_is_closed_passes(tmp_path):
    done = run_test(tmp_path, "sqlite3.connect(':memory:').close()")
    assert done.returncode == 0, done.stdout
