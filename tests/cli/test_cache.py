"""``tosloc cache`` as people type it."""

import os
import stat
import time
from datetime import datetime, timedelta

import pytest


@pytest.fixture(autouse=True)
def place(plain_folder):
    """Every command begins outside of a repository, with a cache of its own."""


@pytest.fixture
def folder(repository, tosloc, tmp_path):
    """The folder that is kept of a repository, indexed ten days ago."""
    repository.commit(
        {"src/Door.java": "class Door { void open() {} }", "src/Key.java": "class Key {}"}
    )
    tosloc("index", "--repo", repository.path)
    [made] = (tmp_path / "cache").iterdir()
    ten_days = time.time() - 10 * 86_400 - 60
    os.utime(made / "place.json", (ten_days, ten_days))
    return made


def test_listed(folder, tosloc, repository):
    for arguments in ([], ["list", "--repo", repository.path]):
        out = tosloc("cache", *arguments)[0]
        [head, _, line, last] = [line.split() for line in out.splitlines() if line.strip()]
        assert head == ["kept", "of", "size", "last", "used", "repository"]
        assert (line[0], line[-1]) == (folder.name, str(repository.path))
        assert datetime.now() - datetime.fromisoformat("T".join(line[-3:-1])) > timedelta(days=9)
        assert last[:2] == ["all", "1"]
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700  # its owner's alone


def test_of_nothing(tosloc):
    out, err = tosloc("cache")
    assert (out, "nothing is kept in" in err) == ("", True)
    assert tosloc("cache", "prune")[0] == "nothing to remove\n"


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("--repo {}", ["mine"]),
        ("--max-size 0", ["mine", "reports.jsonl"]),
        ("--max-size 1G", ["facts.sqlite", "mine", "reports.jsonl"]),
        ("", ["facts.sqlite", "mine", "reports.jsonl"]),
    ],
)
def test_pruned_but_for_what_was_mined_and_a_strangers(folder, tosloc, repository, words, left):
    for name in ("reports.jsonl", "mine"):
        (folder / name).write_text("{}")
    out = tosloc("cache", "prune", *words.format(repository.path).split())[0]
    assert (out.startswith(f"{folder.name}: ") and "removed" in out) == (len(left) < 3)
    assert sorted(path.name for path in folder.iterdir() if path.name != "place.json") == left
    repository.path.rename(repository.path.with_name("elsewhere"))
    assert "(gone)" in tosloc("cache")[0]
    tosloc("cache", "prune")
    assert {path.name for path in folder.iterdir()} <= {"mine", "place.json"}


def test_the_largest_size(folder, tosloc, repository, monkeypatch):
    other = folder.with_name("other-00000000")
    other.mkdir()
    (other / "facts.sqlite").write_bytes(bytes(9_000_000))
    os.utime(other, (0, 0))
    for size, code, says in (("1K", 0, ""), ("a lot", 2, "$TOSLOC_CACHE_SIZE: 'a lot' is no size")):
        monkeypatch.setenv("TOSLOC_CACHE_SIZE", size)
        assert (
            says
            in tosloc("localize", "Door does not open", "--repo", repository.path, code=code)[1]
        )
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    assert (folder / "facts.sqlite").exists()  # of whoever writes


def test_wrong_input_is_one_sentence(folder, fails, repository):
    there = f"/elsewhere/{repository.path.name}"
    for command in ("list", "prune"):
        said = fails("cache", command, "--repo", there)
        assert said == f"{there}: nothing is kept of such a repository; see: tosloc cache list"
    assert "--max-size: 'much' is no size" in fails("cache", "prune", "--max-size", "much")
    assert folder.exists()
