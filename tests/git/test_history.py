"""Histories are read as git reads them; messages of fixes are recognised by example."""

import pytest

from tosloc.core.errors import RepositoryError
from tosloc.git.fixes import bug_ids, is_fix_message
from tosloc.git.history import History
from tosloc.git.repository import Repository

JAVA = frozenset({".java"})


def touched_paths(history, commit):
    """Return the paths of the files that a commit touches."""
    return [history.path_names.names[number] for number in history.touched[history.index[commit]]]


def read(repository, tips="main"):
    with Repository(repository.path) as opened:
        return History.read(opened, tips, JAVA)


# A chain of commits


def test_added_changed_and_deleted_files_are_touched(repository):
    first = repository.commit({"A.java": "1", "né b.java": "1", b"\xe9.java": "1", "x.txt": "1"})
    second = repository.commit({"A.java": "2", "x.txt": "2"})
    third = repository.commit({"A.java": None, "U.JAVA": ("100755", "1")})
    history = read(repository)
    assert touched_paths(history, first) == ["A.java", "né b.java", "\udce9.java"]
    assert touched_paths(history, second) == ["A.java"]
    assert touched_paths(history, third) == ["A.java", "U.JAVA"]


def test_a_move_touches_both_paths_in_order(repository):
    repository.commit({"A.java": "1"})
    move = repository.commit({"A.java": None, "d/A.java": "1", ":odd\n.java": "1"})
    assert touched_paths(read(repository), move) == [":odd\n.java", "A.java", "d/A.java"]


def test_links_and_submodules_are_not_touched(repository):
    repository.commit({"U.JAVA": "1"})
    commit = repository.commit(
        {"link.java": ("120000", "U.JAVA"), "sub.java": ("160000", "2" * 40), "y.txt": ""}
    )
    assert touched_paths(read(repository), commit) == []


def test_a_change_of_mode_touches_a_file(repository):
    repository.commit({"U.JAVA": ("100755", "1")})
    commit = repository.commit({"U.JAVA": "1"})
    assert touched_paths(read(repository), commit) == ["U.JAVA"]


def test_a_message_that_looks_like_a_change_is_none(repository):
    message = b"bro\xffken\n:100644 100644 1 2 M\nB.java"
    commit = repository.commit({"A.java": "1"}, message)
    history = read(repository)
    assert touched_paths(history, commit) == ["A.java"]
    assert history.messages == ("bro\ufffdken\n:100644 100644 1 2 M\nB.java",)


def test_messages_keep_their_blanks_but_those_at_the_end(repository):
    repository.commit({"A.java": "1"})
    repository.commit({"A.java": "2"}, "  two\n\nlines\n\n")
    repository.commit({"A.java": "3"}, b"")
    assert read(repository).messages == ("a change", "  two\n\nlines", "")


def test_parents_come_first_whatever_their_times(repository):
    commits = [repository.commit({"A.java": str(when)}, when=when) for when in (100, 50, 300)]
    history = read(repository)
    assert history.ids == tuple(commits)
    assert history.times.tolist() == [100, 50, 300]
    assert history.parents == [[], [0], [1]]


# Merges


@pytest.fixture
def merged(repository):
    """Commit a root, two branches, their merge, and another root; return their ids."""
    root = repository.commit({"A.java": "1"})
    left = repository.commit({"B.java": "1"})
    right = repository.commit({"C.java": "1"}, parents=(root,))
    merge = repository.commit({"B.java": "1"}, parents=(right, left))
    other = repository.commit({"D.java": "1"}, parents=())
    return root, left, right, merge, other


def test_only_commits_behind_the_tip_are_read(repository, merged):
    assert read(repository, merged[3]).ids == merged[:4]


def test_a_merge_touches_nothing(repository, merged):
    history = read(repository, merged[3])
    assert touched_paths(history, merged[3]) == []


def test_the_parents_of_a_merge_come_in_its_order(repository, merged):
    assert read(repository, merged[3]).parents[3] == [2, 1]


def test_ancestors_are_a_commit_and_all_before_it(repository, merged):
    history = read(repository, merged[3])
    assert history.ancestors(merged[1]).tolist() == [True, True, False, False]
    assert history.ancestors(merged[3]).all()


def test_the_order_of_the_tips_does_not_matter(repository, merged):
    _, left, _, merge, other = merged
    assert read(repository, [merge, other, merge, left]).ids == merged
    assert read(repository, [other, left, merge]).ids == merged


def test_without_tips_there_are_no_commits(repository, merged):
    assert len(read(repository, [])) == 0


# Missing objects


def test_a_missing_blob_does_not_matter(repository):
    text = "some text to move about\n" * 9
    repository.commit({"d/A.java": text})
    second = repository.commit({"d/A.java": None, "d/B.java": text})
    repository.lose("HEAD~1:d/A.java")
    assert touched_paths(read(repository), second) == ["d/A.java", "d/B.java"]


def test_a_missing_tree_is_an_error(repository):
    repository.commit({"d/A.java": "1"})
    repository.commit({"d/A.java": "2"})
    repository.lose("HEAD~1:d")
    message = r"git diff-tree failed \(fatal: .*\); run 'git fsck' there"
    with pytest.raises(RepositoryError, match=message):
        read(repository)


# Messages


FIXES = [
    "Fix https://bz.apache.org/bugzilla/show_bug.cgi?id=56663\nImprove available",
    "https://issues.apache.org/bugzilla/show_bug.cgi?id=47774\nEnsure the class loader is set",
    "fixes a race when a session expires",
    "Bug339655 - Program#execute(String) broken for file:/ arguments",
    "BugÊ312365 - Carbon: DnD fails",
    "267466 - [SWT_AWT] Browser.print(GC) should not clip",
    "[42341]",
    "Fix for PR#44809",
    "- Should fix 39699.",
    "Guard against null (resolves GH-7)",
    "Do not lose the tail\n\nFixes: eclipse-jdt/eclipse.jdt.ui#2704",
    "Do not lose the tail\n\nFixes https://github.com/eclipse-jdt/eclipse.jdt.ui/issues/1489",
    "Resolves KAFKA-123: offset",
    "Defect 4711: wrong sum",
    "Add another test case for 6.9\nFix a bug where end of stream was never sent",
    "- Summary:\nfailed to create a design\n\n- Bugzilla Bug (s) Resolved:\n 151662\n",
    "- Summary: fix 189107 [Accessibility] There is no short cut",
]
NOT_FIXES = [
    "",
    "prefix and suffix are kept",
    "Support fixed size pools",
    "Add quick fix for missing import",
    "Fix typo",
    "Fix a few deprecation warnings when compiling with Java 11",
    "Fix failing test",
    'Revert "Bug 543747 - [win32] JVM crash"\n\nThis reverts commit d4322185.',
    "reverted Bug 311212: performance problem",
    "Merge pull request #391 from someone/fix-npe",
    "v3430 for I20080222",
    "Edge: test for opening a new window\n\nSee #1771",
    "Improve performance by 20000 per cent",
    "Update to SHA-256\n\ngit-svn-id: https://svn/fix@1 Bug 12345\nChange-Id: Fix",
    "Debug 12345 objects",
]
BUGS = {
    "Fix https://bz.apache.org/bugzilla/show_bug.cgi?id=56663\nBZ56663: more": "56663",
    "Bug 558339 - [win32] gives 4096 bytes": "558339",
    "bugs 123, 456 and 789; see issue #12": "123 456 789 12",
    "Fix Bugzilla \x96 Bug 286356 Predefined": "286356",
    "fix for BZ 42648\nhttp://issues.apache.org/bugzilla/show_bug.cgi?id=42648": "42648",
    "[3616]": "3616",
    "- Bugzilla Bug (s) Resolved:\n 151662": "151662",
    "Fixes: eclipse-jdt/ui#2704": "2704",
    "Fix GC#12 and C#8 syntax": "",
    "Editor formats record [#1953] (#2137)": "1953",
    "Merge pull request #391 from x/y": "",
    "see https://github.com/x/y/issues/1824": "1824",
    "PROJ-12: use UTF-8 and SHA-256, not ISO-8859": "PROJ-12",
    "2024 copyright, tests 46/145": "",
    "Cleanup\n\ngit-svn-id: https://svn/trunk@1730000 13f79535-47bb": "",
}


@pytest.mark.parametrize("message", FIXES)
def test_messages_of_fixes_are_recognised(message):
    assert is_fix_message(message)


@pytest.mark.parametrize("message", NOT_FIXES)
def test_messages_of_other_changes_are_no_fixes(message):
    assert not is_fix_message(message)


@pytest.mark.parametrize(("message", "bugs"), BUGS.items(), ids=list(BUGS))
def test_bugs_that_a_message_names(message, bugs):
    assert " ".join(bug_ids(message)) == bugs
