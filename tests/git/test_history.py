"""Histories against git's own answers; messages by example."""

import pytest

from tosloc.core.errors import RepositoryError
from tosloc.git.fixes import bug_ids, is_fix_message
from tosloc.git.history import read_history
from tosloc.git.repository import Repository

JAVA = frozenset({".java"})


def touched(history, commit):
    return [history.path_names.names[number] for number in history.touched[history.index[commit]]]


def test_files_that_each_commit_touches(repository):
    odd = ":odd\n.java"
    commits = [
        repository.commit(
            {"A.java": "1", "né b.java": "1", b"\xe9.java": "1", "x.txt": "1"}, when=100
        ),
        repository.commit({"A.java": "2", "x.txt": "2"}, "  two\n\nlines\n\n", when=50),
        repository.commit(
            {"A.java": None, "d/A.java": "2", odd: "1", "U.JAVA": ("100755", "1")}, when=300
        ),
        repository.commit(
            {"link.java": ("120000", "U.JAVA"), "sub.java": ("160000", "2" * 40), "y.txt": ""}
        ),
        repository.commit({"U.JAVA": "1"}, b""),  # of another mode
        repository.commit({"A.java": "back"}, b"bro\xffken\n:100644 100644 1 2 M\nA.java"),
    ]
    with Repository(repository.path) as opened:
        history = read_history(opened, "main", JAVA)
    assert history.ids == tuple(commits)
    assert [touched(history, commit) for commit in commits] == [
        ["A.java", "né b.java", "\udce9.java"],
        ["A.java"],
        [odd, "A.java", "U.JAVA", "d/A.java"],
        *([], ["U.JAVA"], ["A.java"]),
    ]
    assert history.messages[:2] == ("a change", "  two\n\nlines")
    assert history.messages[4:] == ("", "bro\ufffdken\n:100644 100644 1 2 M\nA.java")
    assert (history.times[:3].tolist(), history.parents[:3]) == ([100, 50, 300], [[], [0], [1]])


def test_merges_touch_nothing_and_tips_limit_the_history(repository):
    root = repository.commit({"A.java": "1"})
    left = repository.commit({"B.java": "1"})
    right = repository.commit({"C.java": "1"}, parents=(root,))
    merge = repository.commit({"B.java": "1"}, parents=(right, left))
    other = repository.commit({"D.java": "1"}, parents=())
    with Repository(repository.path) as opened:
        history = read_history(opened, merge, JAVA)
        assert history.ids == (root, left, right, merge)
        assert (touched(history, merge), history.parents[3]) == ([], [2, 1])
        assert history.ancestors(left).tolist() == [True, True, False, False]
        assert history.ancestors(merge).all()
        for tips in ([merge, other, merge, left], [other, left, merge]):
            assert read_history(opened, tips, JAVA).ids == (root, left, right, merge, other)
        assert len(read_history(opened, [], JAVA)) == 0


def test_missing_blobs_do_not_matter_and_missing_trees_are_an_error(repository):
    repository.commit({"d/A.java": "some text to move about\n" * 9})
    second = repository.commit({"d/A.java": None, "d/B.java": "some text to move about\n" * 9})
    repository.lose("HEAD~1:d/A.java")
    with Repository(repository.path) as opened:
        assert touched(read_history(opened, "HEAD", JAVA), second) == ["d/A.java", "d/B.java"]
        repository.lose("HEAD~1:d")
        with pytest.raises(
            RepositoryError, match=r"git diff-tree failed \(fatal: .*\); run 'git fsck' there"
        ):
            read_history(opened, "HEAD", JAVA)


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


def test_messages_that_say_fix_and_the_bugs_that_they_name():
    assert [message for message in FIXES if not is_fix_message(message)] == []
    assert [message for message in NOT_FIXES if is_fix_message(message)] == []
    assert {message: " ".join(bug_ids(message)) for message in BUGS} == BUGS
