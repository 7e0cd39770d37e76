"""``tosloc lab``: loaded when it is asked for, with its extra."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tosloc.cli import main

COMMANDS = (
    "train rank data evaluate compare baselines restrict reproduce reproduce-check truncation feature-ablation pool"
    " pack train-encoder"
).split()
LOADED = "import sys; print(*sorted(name for name in sys.modules if name.startswith(('tosloc.lab', 'tosloc.cli.lab'))))"


def test_the_group_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "--help"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert [name for name in listed if name in COMMANDS] == COMMANDS
    assert main(["--help"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert "lab" in listed
    assert "baselines" not in listed


@pytest.mark.parametrize("command", ["--help", "localize --help", "lab -h"])
def test_nothing_of_it_loads_for_other_commands(command: str) -> None:
    program = f"from tosloc.cli import main\nmain({command.split()!r})\n{LOADED}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    if "lab" in command:
        assert not [name for name in loaded if name.startswith("tosloc.lab")]
    else:
        assert loaded == []
