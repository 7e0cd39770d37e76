"""Commits that replaced a name in many lines, but not everywhere."""

import pytest

from tosloc.git.repository import Repository
from tosloc.rank.suspects.sweeps import Sweep, find_unfinished_sweep


def lines(kind, number):
    """Return declarations of some variables of a kind."""
    return "".join(f"{kind} size{position} = {position};\n" for position in range(number))


def find(repository, paths=()):
    """Return the unfinished sweep of a repository's last commit."""
    with Repository(repository.path) as opened:
        commit = repository.commits[-1]
        return find_unfinished_sweep(opened, commit, commit, paths)


@pytest.fixture
def missed(repository):
    """Return a repository whose last commit replaces a type in six lines and leaves one."""
    left = "\nint other;\nunsigned int left = 1;\n"
    repository.commit({"cart.c": lines("unsigned int", 6) + left})
    repository.commit({"cart.c": lines("uint32_t", 6) + left}, "Use types of a fixed size")
    return repository


def test_missed_line_is_found(missed):
    sweep = find(missed)
    assert (sweep.before, sweep.after, sweep.lines) == ("unsigned int", "uint32_t", 6)
    assert sweep.missed == (("cart.c", 9),)


def test_sweep_in_words_names_the_missed_lines(missed):
    words = "replaced `unsigned int` by `uint32_t` in 6 lines, but not in cart.c:9"
    assert str(find(missed)) == words


def test_sweep_in_words_names_a_file_once():
    sweep = Sweep("int", "long", 6, (("cart.c", 9), ("cart.c", 12), ("bill.c", 3)))
    assert str(sweep).endswith("but not in cart.c:9,12, bill.c:3")


def test_finished_sweep_is_none(repository):
    repository.commit({"cart.c": lines("long", 6)})
    repository.commit({"cart.c": lines("int64_t", 6)})
    assert find(repository) is None


def test_few_lines_are_no_sweep(repository):
    repository.commit({"cart.c": lines("long", 4) + "\nint other;\nlong left;\n"})
    repository.commit({"cart.c": lines("int64_t", 4) + "\nint other;\nlong left;\n"})
    assert find(repository) is None


def test_other_files_are_searched_if_they_are_named(repository):
    repository.commit({"cart.c": lines("long", 6), "bill.c": "long left;\n"})
    repository.commit({"cart.c": lines("int64_t", 6)})
    assert find(repository) is None
    assert find(repository, ["bill.c"]).missed == (("bill.c", 1),)


def test_name_that_is_widely_left_was_not_swept(repository):
    left = "\nint other;\n" + lines("long", 9)
    repository.commit({"cart.c": lines("long", 6) + left})
    repository.commit({"cart.c": lines("int64_t", 6) + left})
    assert find(repository) is None
