"""``tosloc lab``: loaded when it is asked for, with its extra."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tosloc.cli import main

COMMANDS = (
    "evaluate compare baselines bm25 reproduce reproduce-check truncation calibration feature-ablation pool pack"
    " train-encoder"
).split()
LOADED = (
    "import sys; print('loaded', *(name for name in sys.modules if name.startswith(('tosloc.lab', 'tosloc.cli.lab'))))"
)


def test_the_group_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "--help"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert [name for name in listed if name in COMMANDS] == COMMANDS
    assert main(["--help"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert "lab" in listed
    assert "baselines" not in listed


def test_nothing_of_it_loads_for_other_commands() -> None:
    called = f"main(['--help'])\nmain(['localize', '--help'])\n{LOADED}\nmain(['lab', '-h'])\n{LOADED}"
    command = [sys.executable, "-c", f"from tosloc.cli import main\n{called}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    before, after = (line.split() for line in done.stdout.splitlines() if line.startswith("loaded"))
    assert before == ["loaded"]
    assert not [name for name in after if name.startswith("tosloc.lab")]
