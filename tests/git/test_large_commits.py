"""Of large commits, only so much is read together, because a small pack can stand for any size."""

import pytest

from tosloc.git import commit_info, process
from tosloc.git import history as git_history
from tosloc.git.history import NO_LIMITS, History, HistoryLimits
from tosloc.git.repository import Repository
from tosloc.git.repository import changes as git_changes

PYTHON = frozenset({".py"})


def files(number, content):
    """Return a number of files with the same content."""
    return {f"f{position}.py": content for position in range(number)}


@pytest.fixture
def few_changes(monkeypatch):
    """Count commits of more than 3 changes as large, and list 4 changes of them beyond that."""
    monkeypatch.setattr(git_history, "MANY_CHANGES", 3)
    monkeypatch.setattr(git_changes, "MANY_CHANGES", 3)
    monkeypatch.setattr(git_changes, "MAX_CHANGES_OF_LARGE_COMMITS", 4)


@pytest.fixture
def grown(repository):
    """Return a repository with commits of 5, 3, 6, 1, 4 and 2 changes."""
    for number in (5, 3, 6, 1, 4, 2):
        repository.commit(files(number, f"x = {len(repository.commits)}\n"))
    return repository


def read(repository):
    with Repository(repository.path) as opened:
        return History.read(opened, "HEAD", PYTHON)


def numbers_of_changes(repository):
    return list(map(len, read(repository).touched))


def test_all_changes_are_listed_within_the_limit(grown):
    history = read(grown)
    assert list(map(len, history.touched)) == [5, 3, 6, 1, 4, 2]
    assert history.limits == NO_LIMITS


def test_large_commits_beyond_the_limit_touch_nothing(grown, few_changes):
    assert numbers_of_changes(grown) == [5, 3, 0, 1, 0, 2]


def test_commits_that_are_not_listed_are_counted(grown, few_changes):
    assert read(grown).limits == HistoryLimits(unlisted=2)


def test_the_limit_holds_for_all_groups_of_commits_together(grown, few_changes, monkeypatch):
    monkeypatch.setattr(git_changes, "_COMPARED_TOGETHER", 2)
    assert numbers_of_changes(grown) == [5, 3, 0, 1, 0, 2]


def test_a_last_commit_beyond_the_limit_touches_nothing(grown, few_changes):
    grown.commit(files(9, "y = 1\n"))
    assert numbers_of_changes(grown)[-1] == 0


def test_large_commits_are_named(grown, few_changes):
    large = [grown.commits[number] for number in (0, 2, 4)]
    assert read(grown).large == frozenset(large)


def test_changes_beyond_the_limit_are_not_read(grown, few_changes, monkeypatch):
    """Commits of the same trees cost no more than those that are listed."""
    for number in range(30):
        grown.commit(files(50, f"z = {number}\n"))
    parts = []
    split = process.split_at_nul

    def count_parts(stream):
        for part in split(stream):
            parts.append(part)
            yield part

    monkeypatch.setattr(git_changes, "split_at_nul", count_parts)
    read(grown)
    # A line and a path for each of at most 3 + 1 changes, and the commit; the first commits more.
    assert len(parts) < 30 * 9 + 60


# Messages


@pytest.fixture
def short_messages(monkeypatch):
    """Count messages of more than 10 bytes as long, and keep 50 bytes of them."""
    monkeypatch.setattr(commit_info, "LONG_MESSAGE_BYTES", 10)
    monkeypatch.setattr(commit_info, "MAX_LONG_MESSAGES_BYTES", 50)


@pytest.fixture
def talkative(repository):
    """Return a repository with messages of 30, 8, 40, 10 and 20 bytes."""
    for number in (30, 8, 40, 10, 20):
        repository.commit({"a.py": f"x = {number}\n"}, "m" * number)
    return repository


def test_long_messages_are_kept_within_the_limit(talkative):
    assert list(map(len, read(talkative).messages)) == [30, 8, 40, 10, 20]


def test_long_messages_beyond_the_limit_are_shortened(talkative, short_messages):
    assert list(map(len, read(talkative).messages)) == [30, 8, 10, 10, 20]


def test_shortened_messages_are_counted(talkative, short_messages):
    assert read(talkative).limits == HistoryLimits(shortened=1)


def test_commits_with_long_messages_are_named_as_large(talkative, short_messages):
    long = [talkative.commits[number] for number in (0, 2, 4)]
    assert read(talkative).large == frozenset(long)


# Objects


def test_large_objects_are_not_kept_together_in_memory(talkative, monkeypatch):
    monkeypatch.setattr(process, "_MAX_BATCH_BYTES", 200)
    sizes = []
    read_batch = process.Git._read_batch

    def count_objects(git, batch, kind):
        objects = read_batch(git, batch, kind)
        sizes.append(len(objects))
        return objects

    monkeypatch.setattr(process.Git, "_read_batch", count_objects)
    assert list(map(len, read(talkative).messages)) == [30, 8, 40, 10, 20]
    assert max(sizes) == 2
