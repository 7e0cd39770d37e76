"""Renames of one commit, told from paths and blob ids; names of commits; both in a history."""

import pytest

from tosloc.git.fixes import change_names
from tosloc.git.history import History
from tosloc.git.renames import find_renames
from tosloc.git.repository import Repository

JAVA = frozenset({".java"})


def test_a_file_that_keeps_its_blob_is_an_exact_rename():
    assert find_renames({"a/Tree.java": "1"}, {"b/Node.java": "1"}) == {
        "a/Tree.java": "b/Node.java"
    }


def test_a_blob_of_several_files_is_no_evidence():
    assert find_renames({"a.py": "1", "b.py": "1"}, {"c.py": "1", "d.py": "1"}) == {}


def test_equal_blobs_are_told_apart_by_the_move_of_their_folder():
    deleted = {"shop/__init__.py": "0", "shop/old/__init__.py": "0", "shop/cart.py": "7"}
    added = {f"src/{path}": blob for path, blob in deleted.items()}
    assert find_renames(deleted, added) == {path: f"src/{path}" for path in deleted}


def test_edited_files_move_with_most_of_their_folder():
    deleted = {"shop/cart.py": "1", "shop/bill.py": "2", "shop/gone.py": "3"}
    added = {"src/shop/cart.py": "1", "src/shop/bill.py": "22", "src/shop/new.py": "4"}
    expected = {"shop/cart.py": "src/shop/cart.py", "shop/bill.py": "src/shop/bill.py"}
    assert find_renames(deleted, added) == expected


def test_an_edited_file_does_not_move_alone_from_a_deleted_folder():
    deleted = {"old/cart.py": "1", "old/bill.py": "2", "old/till.py": "3"}
    assert find_renames(deleted, {"new/cart.py": "11"}) == {}


@pytest.mark.parametrize("name", ["__init__.py", "mod.rs", "index.d.ts"])
def test_an_edited_file_with_a_common_name_does_not_move_alone(name):
    assert find_renames({f"a/{name}": "1"}, {f"b/{name}": "2"}) == {}


def test_a_module_that_becomes_a_package_is_renamed():
    deleted = {"a/json.py": "1", "a/Json.java": "1"}
    added = {"a/json/__init__.py": "2", "a/json/index.java": "3"}
    assert find_renames(deleted, added) == {"a/json.py": "a/json/__init__.py"}


def test_an_edited_file_may_move_alone_below_its_top_folder():
    deleted = {"src/cart.rs": "1", "src/bill.rs": "2", "src/till.rs": "3"}
    assert find_renames(deleted, {"src/shop/cart.rs": "11"}) == {"src/cart.rs": "src/shop/cart.rs"}


def test_files_that_get_a_prefix_are_renamed():
    deleted = {"tests/cart.py": "1", "tests/bill.py": "2"}
    added = {"tests/test_cart.py": "11", "tests/test_bill.py": "22"}
    expected = {"tests/cart.py": "tests/test_cart.py", "tests/bill.py": "tests/test_bill.py"}
    assert find_renames(deleted, added) == expected


def test_a_file_that_changes_its_language_is_renamed():
    assert find_renames({"a/Cart.java": "1"}, {"a/Cart.kt": "2"}) == {"a/Cart.java": "a/Cart.kt"}


def test_other_separators_are_no_other_name():
    assert find_renames({"cart_test.cc": "1"}, {"cart-test.cc": "2"}) == {
        "cart_test.cc": "cart-test.cc"
    }


def test_two_names_that_are_equally_similar_are_no_evidence():
    assert find_renames({"a/cart.py": "1"}, {"a/cart1.py": "2", "a/cart2.py": "3"}) == {}


def test_names_with_little_in_common_are_no_evidence():
    assert find_renames({"a/subject.py": "1"}, {"a/haystack.py": "2"}) == {}


def test_names_are_compared_in_bounded_time():
    deleted = {f"a/old{number}.py": f"1{number}" for number in range(3_000)}
    added = {f"a/new{number}.py": f"2{number}" for number in range(3_000)}
    assert find_renames(deleted, added) == {}


def test_a_large_move_takes_time_linear_in_its_files():
    deleted = {f"pkg{number}/__init__.py": "0" for number in range(20_000)}
    added = {f"src/{path}": blob for path, blob in deleted.items()}
    deleted["pkg/a.py"] = added["src/pkg/a.py"] = "1"
    assert find_renames(deleted, added) == {path: f"src/{path}" for path in deleted}


# Names


@pytest.mark.parametrize(
    ("message", "names"),
    [
        ("Escape names (#4944)", ["#4944"]),
        ("Merge pull request #391 from x/fix-7\n\nEscape names", ["#391"]),
        ("GH-12: escape names", ["#12"]),
        ("PR 123 escapes names, see #7", ["#7", "#123"]),
        ("Fix https://bz.apache.org/bugzilla/show_bug.cgi?id=56663", ["#56663"]),
        ("KAFKA-12: escape names", ["KAFKA-12"]),
        ("Escape names\n\nFixes #5. See also #6", ["#5"]),
        ("Escape names\n\nResolves x/y#5, closes https://github.com/x/y/issues/8", ["#5", "#8"]),
        ("Escape names\n\nSee merge request group/project!45", ["!45"]),
        ("Escape names in 12 files", []),
        ("", []),
    ],
)
def test_names_of_a_commit(message, names):
    assert list(change_names(message)) == names


# In a history


def named_paths(history, commit, files):
    return [history.path_names.names[file] for file in files[history.index[commit]]]


@pytest.fixture
def moved(repository):
    """Return a history of an import, a move of two files with an edit, and two merges."""
    files = {"a/Tree.java": "1", "a/Leaf.java": "2", "a/x.txt": "3"}
    repository.commit(files, "Import")
    move = dict.fromkeys(files) | {"b/Tree.java": "1", "b/Leaf.java": "22", "b/x.txt": "3"}
    second = repository.commit(move, "Move")
    branch = repository.commit({"b/New.java": "5"}, "Add", parents=(second,))
    merge_message = "Merge pull request #12 from x/y"
    merge = repository.commit({"b/New.java": "5"}, merge_message, parents=(second, branch))
    other = repository.commit({"b/Old.java": "6"}, "Add again", parents=(merge,))
    nameless = repository.commit({"b/Old.java": "6"}, "Merge y", parents=(merge, other))
    with Repository(repository.path) as opened:
        yield History.read(opened, "main", JAVA), second, branch, merge, nameless


def test_a_history_tells_renames(moved):
    history, second, *_ = moved
    names = history.path_names.names
    renames = [(names[old], names[new]) for old, new in history.renames[history.index[second]]]
    assert sorted(renames) == [("a/Leaf.java", "b/Leaf.java"), ("a/Tree.java", "b/Tree.java")]
    assert sum(map(len, history.renames)) == 2


def test_a_history_tells_added_files(moved):
    history, second, branch, *_ = moved
    assert named_paths(history, second, history.added) == ["b/Leaf.java", "b/Tree.java"]
    assert named_paths(history, branch, history.added) == ["b/New.java"]


def test_a_merge_with_a_name_is_compared_with_its_first_parent(moved):
    history, _, _, merge, nameless = moved
    assert named_paths(history, merge, history.merged) == ["b/New.java"]
    assert named_paths(history, merge, history.touched) == []
    assert named_paths(history, nameless, history.merged) == []


def test_renames_need_no_blob(repository):
    repository.commit({"d/A.java": "some text\n"})
    repository.commit({"d/A.java": None, "e/A.java": "some text\n"})
    repository.lose("HEAD~1:d/A.java")
    with Repository(repository.path) as opened:
        assert len(History.read(opened, "HEAD", JAVA).renames[1]) == 1
