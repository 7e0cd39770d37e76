"""``tosloc cache`` as people type it."""

import os
import stat
import time
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from tosloc.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(plain_folder, capsys):
    """Function (*arguments) -> exit code, standard output and standard error."""

    def tosloc(*arguments):
        return main([str(argument) for argument in arguments]), *capsys.readouterr()

    return tosloc


@pytest.fixture
def folder(repository, run, tmp_path):
    """The folder that is kept of a repository, indexed ten days ago."""
    repository.commit({"src/Door.java": "class Door { void open() {} }", "src/Key.java": "class Key {}"})
    assert run("index", "--repo", repository.path)[0] == 0
    [made] = (tmp_path / "cache").iterdir()
    ten_days = time.time() - 10 * 86_400 - 60
    os.utime(made / "place.json", (ten_days, ten_days))
    return made


def test_listed(folder, run, repository):
    for arguments in ([], ["list", "--repo", repository.path]):
        code, out, _ = run("cache", *arguments)
        assert code == 0
        [head, _, line, last] = [line.split() for line in out.splitlines() if line.strip()]
        assert head == ["kept", "of", "size", "last", "used", "repository"]
        assert (line[0], line[-1]) == (folder.name, str(repository.path))
        assert datetime.now() - datetime.fromisoformat("T".join(line[-3:-1])) > timedelta(days=9)
        assert last[:2] == ["all", "1"]
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700  # its owner's alone


def test_of_nothing(run):
    code, out, err = run("cache")
    assert (code, out, "nothing is kept in" in err) == (0, "", True)
    assert run("cache", "prune")[:2] == (0, "nothing to remove\n")


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        (["--repo", "{}"], ["mine"]),
        (["--max-size", "0"], ["mine", "reports.jsonl"]),
        (["--max-size", "1G"], ["facts.sqlite", "mine", "reports.jsonl"]),
        ([], ["facts.sqlite", "mine", "reports.jsonl"]),
    ],
)
def test_pruned_but_for_what_was_mined_and_a_strangers(folder, run, repository, arguments, left):
    for name in ("reports.jsonl", "mine"):
        (folder / name).write_text("{}")
    code, out, _ = run("cache", "prune", *(word.format(repository.path) for word in arguments))
    assert (code, out.startswith(f"{folder.name}: ") and "removed" in out) == (0, len(left) < 3)
    assert sorted(path.name for path in folder.iterdir() if path.name != "place.json") == left
    repository.path.rename(repository.path.with_name("elsewhere"))
    assert "(gone)" in run("cache")[1]
    assert run("cache", "prune")[0] == 0
    assert {path.name for path in folder.iterdir()} <= {"mine", "place.json"}


def test_the_largest_size(folder, run, repository, monkeypatch):
    other = folder.with_name("other-00000000")
    other.mkdir()
    (other / "facts.sqlite").write_bytes(bytes(9_000_000))
    os.utime(other, (0, 0))
    for size, code, says in (("5M", 0, ""), ("a lot", 2, "$TOSLOC_CACHE_SIZE: 'a lot' is no size")):
        monkeypatch.setenv("TOSLOC_CACHE_SIZE", size)
        done, _, err = run("localize", "Door does not open", "--repo", repository.path)
        assert (done, says in err) == (code, True)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--repo", "elsewhere"], "elsewhere: nothing is kept of such a repository; see: tosloc cache list"),
        (["--max-size", "much"], "--max-size: 'much' is no size"),
    ],
)
def test_wrong_input_is_one_sentence(arguments, words, folder, run):
    code, out, err = run("cache", "prune", *arguments)
    assert (code, out, len(err.splitlines()), words in err) == (2, "", 1, True)
    assert folder.exists()
