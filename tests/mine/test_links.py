"""From issues to commits, in real repositories."""

import json
from datetime import UTC, datetime

import pytest

from tests.conftest import FIRST_TIME, HOUR
from tests.trackers import BUGZILLA
from tosloc.core.errors import ReportError
from tosloc.git.repository import Repository
from tosloc.mine.issues import Exports
from tosloc.mine.links import KINDS, mine, mine_messages
from tosloc.mine.mentions import compile_pattern


def when(hours):
    return datetime.fromtimestamp(FIRST_TIME + HOUR * hours, UTC).isoformat()


def issue(number, opened=0, **more):
    return {
        "number": number,
        "title": f"Crash {number}",
        "body": "On save",
        "createdAt": when(opened),
    } | more


def closed_by(number, commit):
    return {"event": "closed", "commit_id": commit, "issue": {"number": number}}


def pull(number, commit, **more):
    return {
        "number": number,
        "title": "B",
        "body": "",
        "mergedAt": when(2),
        "mergeCommit": {"oid": commit},
    } | more


class Miner:
    """A repository, and what is mined of it."""

    def __init__(self, repository):
        self.repository = repository

    def commit(self, message, *more, path="a.py", when=None):
        """Change one file, and others."""
        text = f"{len(self.repository.commits)}\n"
        return self.repository.commit(dict.fromkeys((path, *more), text), message, when=when)

    def mine(self, *records, all_labels=False, **options):
        read = Exports(all_labels)
        read.add(json.dumps(records), "x.json")
        with Repository(self.repository.path) as repo:
            return mine(repo, read, **options)

    def found(self, *records, **options):
        """id -> kind of link, commit; and what is left out."""
        mined = self.mine(*records, **options)
        return {one["id"]: (one["link"], one["fix_commit"]) for one in mined.reports}, dict(
            mined.left_out
        )


@pytest.fixture
def miner(repository):
    made = Miner(repository)
    made.commit("Begin", "b.py", "test_a.py", "README")
    return made


def test_each_kind_of_link_and_the_files_that_a_fix_changed(miner):
    merged = miner.repository.commit(
        {"a.py": "x\n", "new.py": "", "README": "y", "b.py": None}, "Better (#50)"
    )
    messages = {
        "closing commit": "Better yet",
        "closing keyword": "Best\n\nFixes #3",
        "issue named": "Issue #4: best of all",
        "number in the first line": "Good (#5)",
        "number further down": "Good\n\nA story of #6.",
        "pattern": "Good\n\nTask 7!",
        "pull request's text": "Good again (#51)",
    }
    miner.commit("Prepare (#51) well")  # the number at the end is a pull request's own
    fixes = {"closing pull request": merged} | {
        kind: miner.commit(message) for kind, message in messages.items()
    }
    closing = pull(50, merged, closingIssuesReferences=[{"number": 1}])
    says = pull(51, "f" * 40, body="Fixes #8")
    records = (*map(issue, range(1, 10)), closing, says, closed_by(2, fixes["closing commit"]))
    found, left_out = miner.found(*records, patterns=[compile_pattern(r"Task (\d+)!")])
    assert found == {str(number): fix for number, fix in enumerate(fixes.items(), start=1)}
    assert left_out == {"no fix is known": 1}
    result = miner.mine(*records)
    assert result.reports[0]["fixed"] == ["a.py", "b.py"]  # what was there before
    assert (result.read, result.tracker) == (9, "GitHub")
    assert list(result.kinds) == [
        kind for kind in KINDS if kind not in ("pattern", "commit message")
    ]


def test_the_surest_link_then_the_one_nearest_to_the_closing_else_the_first(miner):
    said = "Fixes #1, fixes #2, fixes #3"
    miner.commit(f"A test for it\n\n{said}", path="test_a.py")
    first, second, event = (miner.commit(said) for _ in range(3))
    found, _ = miner.found(issue(1), issue(2, closedAt=when(3.2)), issue(3), closed_by(3, event))
    assert found == {
        "1": ("closing keyword", first),
        "2": ("closing keyword", second),
        "3": ("closing commit", event),
    }


def test_what_came_long_after_the_closing_means_something_else(miner):
    message = "Fixes #1, fixes #2\n\nThe story of #3, #4."
    late = miner.commit(message, when=FIRST_TIME + 400 * 24 * HOUR)
    days = {1: 40, 2: 30, 3: 380, 4: 360, 5: 1}
    records = [issue(number, closedAt=when(24 * day)) for number, day in days.items()]
    found, left_out = miner.found(*records, closed_by(5, late))
    links = {"1": "closing keyword", "3": "number further down", "5": "closing commit"}
    assert found == {number: (link, late) for number, link in links.items()}
    assert left_out == {"what names it came long after it was closed": 2}


def test_what_is_left_out_is_counted(miner):
    miner.commit("\n".join(f"Fixes #{number}" for number in (*range(1, 9), 11)))
    miner.commit("Fixes #9", path="README")
    miner.commit("Fixes #10", *(f"{number}.py" for number in range(40)))
    records = (
        issue(1, url="https://github.com/a/b/pull/1"),
        issue(2, state="OPEN"),
        issue(3, stateReason="NOT_PLANNED"),
        issue(4, labels=[{"name": "enhancement"}]),
        issue(5, title="Bug report", body="### Steps to reproduce"),
        issue(6, opened=1.5),
        *map(issue, range(7, 13)),
        closed_by(12, "f" * 40),
    )
    found, reasons = miner.found(*records)
    assert reasons == dict.fromkeys(
        (
            "a pull request, listed as an issue",
            "still open",
            "closed without a fix (not planned, duplicate, not reproduced)",
            "labelled as something else than a bug",
            "says nothing beside the form",
            "its fix is older than the report",
            "its fix changed no source file that was there before",
            "its fix changed more than 30 source files",
            "its fix is not in this history",
        ),
        1,
    )
    assert found.keys() == {"11", "7", "8"}
    assert "4" in miner.found(*records, all_labels=True)[0]


def test_a_fix_that_was_reverted_is_none_unless_it_came_again(miner):
    gone, back, _ = (miner.commit(f"Fixes #{number}") for number in (1, 2, 3))
    miner.commit(f'Revert "Fixes #1"\n\nThis reverts commit {gone}.')
    revert = miner.commit(f'Revert "Fixes #2"\n\nThis reverts commit {back}.')
    miner.commit(f'Revert "Revert "Fixes #2""\n\nThis reverts commit {revert}.')
    miner.commit('Revert "Fixes #3"')
    again = miner.commit("Take it out again\n\nThis reverts commit 1234567. Fixes #4, fixes #3")
    found, left_out = miner.found(*map(issue, (1, 2, 3, 4)))
    assert found == {
        number: ("closing keyword", fix)
        for number, fix in zip("234", (back, again, again), strict=True)
    }
    assert left_out == {"its fix was reverted": 1}


def test_a_merge_counts_by_all_that_it_brings_a_test_and_a_list_of_many_do_not(miner):
    [root] = miner.repository.commits
    main = miner.commit("Other work")
    side = miner.repository.commit({"b.py": "2\n"}, "Part", parents=[root])
    merge = miner.repository.commit({"b.py": "2\n"}, "Merge of x\n\nFixes #1", parents=[main, side])
    assert miner.mine(issue(1)).reports[0]["fixed"] == ["b.py"]
    miner.commit("Watch over #2", path="test_a.py")
    fix = miner.commit("Fix the test, closes #3", path="test_a.py")
    miner.commit("Release\n\n" + "\n".join(f"- #{number}" for number in range(4, 11)))
    found, left_out = miner.found(*map(issue, range(1, 11)))
    assert found == {"1": ("closing keyword", merge), "3": ("closing keyword", fix)}
    assert left_out == {"what names it changed tests alone": 1, "no fix is known": 7}


def test_the_root_and_the_end_of_a_shallow_clone_are_no_fixes(make_repository, repository):
    for number in (1, 2):
        Miner(repository).commit(f"Fixes #{number}")
    shallow = make_repository("shallow")
    shallow.git("fetch", "-q", "--depth=1", f"file://{repository.path}", "main:other")
    shallow.git("symbolic-ref", "HEAD", "refs/heads/other")
    left_out = {"no fix is known": 1, "nothing is known of the version before its fix": 1}
    assert Miner(shallow).found(issue(1), issue(2)) == ({}, left_out)
    with pytest.raises(ReportError, match="hold no issue"):
        Miner(shallow).mine(closed_by(1, "f" * 40))


def test_a_bare_number_at_the_beginning_names_an_issue_of_bugzilla(miner):
    fix = miner.commit("58522: mind the gap")
    links, _ = miner.found(BUGZILLA | {"severity": "major", "creation_time": when(0)})
    assert links == {"58522": ("issue named", fix)}


def test_a_bare_number_at_the_beginning_names_no_issue_of_github(miner):
    miner.commit("58522: mind the gap")
    links, left_out = miner.found(issue(58522))
    assert links == {}
    assert left_out == {"no fix is known": 1}


def test_git_alone_gives_weak_reports(miner):
    fix = miner.commit("Fix #12: crash on saving twice\n\nIt closed too early.\n\nReviewed-by: B")
    for message in (
        "Fix typo",
        "Fix it",
        "Whitespace fixes for PEP8.",
        "Hotfix: bump version",
        "Fix mypy errors",
    ):
        miner.commit(message)
    miner.commit("Fix a crash of readers", path="README")
    bad = miner.commit("Fix the other crash, too")
    miner.commit(f'Revert "Fix the other crash, too"\n\nThis reverts commit {bad}.')
    with Repository(miner.repository.path) as repo:
        result = mine_messages(repo)
    [report] = result.reports
    said = {
        "id": fix[:12],
        "summary": "crash on saving twice",
        "description": "It closed too early.",
    }
    learned = {
        "opened": when(1),
        "fix_commit": fix,
        "fixed": ["a.py"],
        "link": "commit message",
        "weak": True,
    }
    assert report == said | learned
    assert (result.tracker, result.read) == ("", 7)
    assert result.left_out == {
        "its fix changed no source file that was there before": 1,
        "its fix was reverted": 1,
        "the message says too little": 1,
        "the message speaks of formatting, typing, tests or a version": 3,
    }
