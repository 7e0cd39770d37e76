"""Commands that run in this process."""

import pytest

from tosloc.cli import main


@pytest.fixture
def tosloc(capsys):
    """Return a function (*words, code=0) -> (out, err) of a command that ends with this code."""

    def run(*words, code=0):
        capsys.readouterr()
        assert main([str(word) for word in words]) == code
        return capsys.readouterr()

    return run


@pytest.fixture
def fails(tmp_path, tosloc):
    """Return a function (*words) -> the one sentence of a command that ends with 2.

    The command must change nothing but the cache.
    """

    def read_files():
        contents = {}
        for path in tmp_path.rglob("*"):
            if not path.is_relative_to(tmp_path / "cache"):
                contents[path] = path.read_bytes() if path.is_file() else None
        return contents

    def run(*words):
        before = read_files()
        out, err = tosloc(*words, code=2)
        assert out == ""
        assert read_files() == before
        [line] = err.splitlines()
        assert line.startswith("tosloc: ")
        return line.removeprefix("tosloc: ")

    return run
