"""Which commit last wrote each line of a file."""

import pytest

from tosloc.core.answers import Function, Hit
from tosloc.git.patches import FilePatch, Hunk
from tosloc.rank.suspects.line_history import FileLines, without_moves


def make_patch(*lines, commit="c", path="a.py"):
    return FilePatch(commit, path, False, (Hunk(1, 1, lines),))


def test_line_moved_between_files_counts_as_unchanged():
    patches = [make_patch("-cart = 1"), make_patch("+cart = 1", "+door = 2", path="b.py")]
    [patch] = without_moves(patches)
    assert patch.path == "b.py"
    assert patch.hunks[0].lines == (" cart = 1", "+door = 2")


@pytest.fixture
def file_lines():
    """Return the lines of a file with two functions and a line that is in both."""
    text = "def first():\n    check(value)\ndef second():\n    check(value)\n"
    functions = (Function("first", 1, 2, 2.0), Function("second", 3, 4, 1.0))
    hit = Hit(1, "a.py", 1.0, 0.5, functions)
    return FileLines.of(hit, 0, 1.0, text)


def test_equal_lines_are_assigned_by_nearness(file_lines):
    hunk = Hunk(3, 3, (" def second():", "+    check(value)"))
    written, _ = file_lines.assign(FilePatch("new", "a.py", False, (hunk,)))
    assert written == [3]


def test_function_with_an_equal_line_is_not_touched(file_lines):
    hunk = Hunk(3, 3, (" def second():", "+    check(value)"))
    _, rank = file_lines.assign(FilePatch("new", "a.py", False, (hunk,)))
    assert file_lines.functions[rank - 1].name == "second"


def test_equal_lines_are_assigned_by_nearness_after_later_insertions():
    inserted = [f"insert_line({number})" for number in range(10)]
    lines = [*inserted, "def first():", "check(value)", "def second():", "check(value)"]
    file_lines = FileLines.of(Hit(1, "a.py", 1.0, 0.5, ()), 0, 1.0, "\n".join(lines))
    hunk = Hunk(2, 3, (" def second():", "+check(value)"))
    written, _ = file_lines.assign(FilePatch("old", "a.py", False, (hunk,)))
    assert written == [13]


def test_newest_writer_of_a_line_is_kept(file_lines):
    file_lines.assign(make_patch("+def first():", commit="new"))
    assert file_lines.assign(make_patch("+def  first():", commit="old")) == ([], 1)
    assert file_lines.writers[0] == "new"


def test_likelihoods_of_lines_sum_to_one(file_lines):
    assert file_lines.by_function.sum() == pytest.approx(1)
    assert file_lines.by_function[0] > file_lines.by_function[2]
