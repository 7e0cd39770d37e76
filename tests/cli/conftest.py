"""A command that must fail: what it says, and that it leaves nothing behind."""

import pytest

from tosloc.cli import main


@pytest.fixture
def fails(tmp_path, capsys):
    """Function (*arguments) -> the one sentence of a command that must end with 2 and change the cache alone."""

    def files():
        found = (path for path in tmp_path.rglob("*") if not path.is_relative_to(tmp_path / "cache"))
        return {path: path.read_bytes() if path.is_file() else None for path in found}

    def run(*arguments):
        before = files()
        capsys.readouterr()
        assert main([str(argument) for argument in arguments]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert files() == before
        [line] = printed.err.splitlines()
        assert line.startswith("tosloc: ")
        assert "Traceback" not in line
        return line.removeprefix("tosloc: ")

    return run
