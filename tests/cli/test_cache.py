"""``tosloc cache`` as people type it."""

import os
import stat
import time
from datetime import datetime, timedelta

import pytest

from tosloc.git.repository import Repository
from tosloc.storage.cache import CacheEntry
from tosloc.train.experiment import results_folder


@pytest.fixture(autouse=True)
def current_folder(plain_folder):
    """Begin every command outside of a repository, with a cache of its own."""


@pytest.fixture
def folder(repository, tosloc, tmp_path):
    """Index a repository, date that ten days back, and return its folder in the cache."""
    repository.commit(
        {"src/Door.java": "class Door { void open() {} }", "src/Key.java": "class Key {}"}
    )
    tosloc("index", "--repo", repository.path)
    [folder] = (tmp_path / "cache").iterdir()
    ten_days_ago = time.time() - 10 * 86_400 - 60
    os.utime(folder / "place.json", (ten_days_ago, ten_days_ago))
    return folder


@pytest.mark.parametrize("words", ["", "list --repo {}"], ids=["all", "one repository"])
def test_list_shows_size_and_last_use(folder, tosloc, repository, words):
    out = tosloc("cache", *words.format(repository.path).split())[0]
    [head, _, row, total] = [line.split() for line in out.splitlines() if line.strip()]
    assert head == ["folder", "size", "last", "used", "repository"]
    assert row[0] == folder.name
    assert row[-1] == str(repository.path)
    last_use = datetime.fromisoformat("T".join(row[-3:-1]))
    assert datetime.now() - last_use > timedelta(days=9)
    assert total[:2] == ["total:", "1"]


def rights(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_only_its_owner_can_read_the_cache(folder):
    assert rights(folder.parent) == 0o700
    assert rights(folder) == 0o700


COMMANDS = {
    "localize": ("localize", "the door does not open", "--repo"),
    "index": ("index", "--repo"),
    "list": ("cache", "list", "--repo"),
    "prune": ("cache", "prune", "--max-size", "1G", "--repo"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_withdraw_the_rights_of_other_users(folder, tosloc, repository, command):
    folder.parent.chmod(0o755)
    folder.chmod(0o775)
    tosloc(*COMMANDS[command], repository.path)
    assert rights(folder.parent) == 0o700
    assert rights(folder) == 0o700


def test_results_in_the_cache_are_readable_by_their_owner_only(repository, tmp_path):
    with (
        Repository(repository.path) as opened,
        results_folder(CacheEntry.of(opened).trained, own=True),
    ):
        pass
    cache = tmp_path / "cache"
    [folder] = cache.iterdir()
    assert rights(cache) == 0o700
    assert rights(folder) == 0o700


def test_results_elsewhere_have_the_usual_rights(tmp_path):
    (tmp_path / "usual").mkdir()
    with results_folder(tmp_path / "new" / "runs", own=True):
        pass
    assert rights(tmp_path / "new") == rights(tmp_path / "usual")
    assert rights(tmp_path / "new" / "runs") == rights(tmp_path / "usual")


def test_a_folder_with_files_of_others_keeps_its_rights(folder, tosloc):
    (folder.parent / "notes.txt").write_text("mine")
    folder.parent.chmod(0o755)
    folder.chmod(0o755)
    tosloc("cache", "list")
    assert rights(folder.parent) == 0o755
    assert rights(folder) == 0o700


def test_a_folder_for_all_users_keeps_its_rights(tmp_path, tosloc):
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o1777)
    tosloc("cache", "list")
    assert rights(cache) == 0o1777


def test_an_empty_cache_lists_nothing(tosloc):
    out, err = tosloc("cache")
    assert out == ""
    assert "is empty" in err


def test_an_empty_cache_has_nothing_to_prune(tosloc):
    assert tosloc("cache", "prune")[0] == "nothing to remove\n"


@pytest.fixture
def folder_with_more(folder):
    """Return that folder after reports were mined, and another program wrote a file there."""
    for name in ("reports.jsonl", "mine"):
        (folder / name).write_text("{}")
    return folder


def file_names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "place.json")


@pytest.mark.parametrize(
    ("words", "kept_files"),
    [("--repo {}", ["mine"]), ("--max-size 0", ["mine", "reports.jsonl"])],
    ids=["by repository", "by size"],
)
def test_prune_removes_own_files(folder_with_more, tosloc, repository, words, kept_files):
    out = tosloc("cache", "prune", *words.format(repository.path).split())[0]
    assert out.startswith(f"removed {folder_with_more.name} (")
    assert out.endswith("B)\n")
    assert file_names(folder_with_more) == kept_files


def test_a_dry_run_of_prune_removes_nothing(folder_with_more, tosloc, repository):
    before = file_names(folder_with_more)
    out = tosloc("cache", "prune", "--repo", repository.path, "--dry-run")[0]
    assert out.startswith(f"would remove {folder_with_more.name} (")
    assert file_names(folder_with_more) == before


@pytest.mark.parametrize("words", ["--max-size 1G", ""], ids=["small enough", "not gone"])
def test_prune_may_have_nothing_to_remove(folder_with_more, tosloc, words):
    assert tosloc("cache", "prune", *words.split())[0] == "nothing to remove\n"
    assert file_names(folder_with_more) == ["facts.sqlite", "mine", "reports.jsonl"]


def test_prune_removes_files_of_a_repository_that_is_gone(folder_with_more, tosloc, repository):
    repository.path.rename(repository.path.with_name("elsewhere"))
    assert "(gone)" in tosloc("cache")[0]
    tosloc("cache", "prune")
    assert {path.name for path in folder_with_more.iterdir()} <= {"mine", "place.json"}


def localize(tosloc, repository, code):
    """Return what localize prints on standard error, for the given exit code."""
    return tosloc("localize", "Door does not open", "--repo", repository.path, code=code)[1]


def test_a_size_limit_removes_all_but_the_own_data(folder, tosloc, repository, monkeypatch):
    other = folder.with_name("other-00000000")
    other.mkdir()
    (other / "facts.sqlite").write_bytes(bytes(9_000_000))
    os.utime(other, (0, 0))
    monkeypatch.setenv("TOSLOC_CACHE_SIZE", "1K")
    localize(tosloc, repository, code=0)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    assert (folder / "facts.sqlite").exists()


def test_a_size_limit_that_is_no_size_is_refused(folder, tosloc, repository, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE_SIZE", "a lot")
    assert "$TOSLOC_CACHE_SIZE: 'a lot' is not a size" in localize(tosloc, repository, code=2)
    assert (folder / "facts.sqlite").exists()


@pytest.mark.parametrize("command", ["list", "prune"])
def test_an_unknown_repository_is_one_sentence(folder, fails, repository, command):
    path = f"/elsewhere/{repository.path.name}"
    message = f"{path}: the cache has no data of this repository; see: tosloc cache list"
    assert fails("cache", command, "--repo", path) == message
    assert folder.exists()


def test_a_wrong_size_is_one_sentence(folder, fails):
    assert "--max-size: 'much' is not a size" in fails("cache", "prune", "--max-size", "much")
    assert folder.exists()
