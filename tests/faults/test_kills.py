"""Kills at random points, as ``python -m tests.faults kills`` does them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KILLS = 100


@pytest.mark.faults
def test_kills_leave_nothing_behind_and_change_nothing() -> None:
    command = [sys.executable, "-m", "tests.faults", "kills", "--number", str(KILLS), "--seed", "100000"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stdout + done.stderr
