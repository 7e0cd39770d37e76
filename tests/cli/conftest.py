"""A command that must fail: what it says, and that it leaves nothing behind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tosloc.cli import main


@pytest.fixture
def fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Function (*arguments) -> the one sentence of a command that must end with 2 and leave no new file behind."""

    def run(*arguments: object) -> str:
        before = sorted(tmp_path.rglob("*"))
        capsys.readouterr()
        assert main([str(argument) for argument in arguments]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert sorted(tmp_path.rglob("*")) == before
        [line] = printed.err.splitlines()
        assert line.startswith("tosloc: ")
        assert "Traceback" not in line
        return line.removeprefix("tosloc: ")

    return run
