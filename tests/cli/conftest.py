"""Commands that are run in this process: what they say, and that one that fails leaves nothing behind."""

import pytest

from tosloc.cli import main


@pytest.fixture
def tosloc(capsys):
    """Function (*words, code=0) -> what a command that must end so prints, as a pair (out, err)."""

    def run(*words, code=0):
        capsys.readouterr()
        assert main([str(word) for word in words]) == code
        return capsys.readouterr()

    return run


@pytest.fixture
def fails(tmp_path, tosloc):
    """Function (*words) -> the one sentence of a command that must end with 2 and change the cache alone."""

    def files():
        found = (
            path for path in tmp_path.rglob("*") if not path.is_relative_to(tmp_path / "cache")
        )
        return {path: path.read_bytes() if path.is_file() else None for path in found}

    def run(*words):
        before = files()
        out, err = tosloc(*words, code=2)
        assert (out, files()) == ("", before)
        [line] = err.splitlines()
        assert line.startswith("tosloc: ")
        return line.removeprefix("tosloc: ")

    return run
