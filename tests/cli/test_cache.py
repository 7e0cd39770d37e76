"""``tosloc cache`` as people type it."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.conftest import GitRepository
from tosloc.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(plain_folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Function (*arguments) -> exit code, standard output and standard error."""

    def tosloc(*arguments: str | Path) -> tuple[int, str, str]:
        return main([str(argument) for argument in arguments]), *capsys.readouterr()

    return tosloc


@pytest.fixture
def folder(repository: GitRepository, run: Run, tmp_path: Path) -> Path:
    """The folder that is kept of a repository, indexed ten days ago."""
    repository.commit({"src/Door.java": "class Door { void open() {} }", "src/Key.java": "class Key {}"})
    assert run("index", "--repo", repository.path)[0] == 0
    [made] = (tmp_path / "cache").iterdir()
    ten_days = time.time() - 10 * 86_400 - 60
    os.utime(made / "place.json", (ten_days, ten_days))
    return made


def test_listed(folder: Path, run: Run, repository: GitRepository) -> None:
    for arguments in ([], ["list"], ["list", "--repo", repository.path]):
        code, out, _ = run("cache", *arguments)
        assert code == 0
        [head, _, line, last] = [line.split() for line in out.splitlines() if line.strip()]
        assert head == ["kept", "of", "size", "last", "used", "repository"]
        assert (line[0], line[-1]) == (folder.name, str(repository.path))
        assert datetime.now() - datetime.fromisoformat("T".join(line[-3:-1])) > timedelta(days=9)
        assert last[:2] == ["all", "1"]
    [found] = json.loads(run("cache", "list", "--json")[1])
    assert (found["repository"], found["there"]) == (str(repository.path), True)
    assert found["total"] > 0
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700  # its owner's alone


def test_of_nothing(run: Run) -> None:
    code, out, err = run("cache")
    assert (code, out) == (0, "")
    assert "nothing is kept in" in err
    assert run("cache", "prune")[:2] == (0, "nothing to remove\n")


@pytest.mark.parametrize(
    ("arguments", "goes"),
    [(["--repo", "{}"], True), (["--max-size", "0"], True), (["--max-size", "1G"], False), ([], False)],
)
def test_pruned(folder: Path, run: Run, repository: GitRepository, arguments: list[str], goes: bool) -> None:
    code, out, _ = run("cache", "prune", *(word.format(repository.path) for word in arguments))
    assert (code, out.startswith(f"{folder.name}: ") and "removed" in out) == (0, goes)
    assert list(folder.parent.iterdir()) == ([] if goes else [folder])
    repository.path.rename(repository.path.with_name("elsewhere"))
    assert ("(gone)" in run("cache")[1]) is not goes
    assert run("cache", "prune")[0] == 0
    assert not folder.exists()


def test_what_was_mined_stays_when_room_is_made(folder: Path, run: Run, repository: GitRepository) -> None:
    (folder / "reports.jsonl").write_text("{}\n")
    (folder / "mine").write_text("a stranger's")
    assert run("cache", "prune", "--max-size", "0")[0] == 0
    assert sorted(path.name for path in folder.iterdir()) == ["mine", "place.json", "reports.jsonl"]
    assert run("cache", "prune", "--repo", repository.path)[0] == 0
    assert sorted(path.name for path in folder.iterdir()) == ["mine", "place.json"]


def test_the_largest_size(folder: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = folder.with_name("other-00000000")
    other.mkdir()
    (other / "facts.sqlite").write_bytes(bytes(9_000_000))
    os.utime(other, (0, 0))
    monkeypatch.setenv("TOSLOC_CACHE_SIZE", "1K")
    given = ["localize", "Door does not open", "--repo", json.loads((folder / "place.json").read_text())["repository"]]
    assert run(*given)[0] == 0
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    assert (folder / "facts.sqlite").exists()  # of whoever writes
    monkeypatch.setenv("TOSLOC_CACHE_SIZE", "a lot")
    code, _, err = run(*given)
    assert (code, "$TOSLOC_CACHE_SIZE: 'a lot' is no size" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--repo", "elsewhere"], "elsewhere: nothing is kept of such a repository; see: tosloc cache list"),
        (["--max-size", "much"], "--max-size: 'much' is no size"),
    ],
)
def test_wrong_input_is_one_sentence(arguments: list[str], words: str, folder: Path, run: Run) -> None:
    code, out, err = run("cache", "prune", *arguments)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert words in err
    assert folder.exists()
