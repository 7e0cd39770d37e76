"""From issues to commits, in real repositories."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.conftest import FIRST_TIME, HOUR, GitRepository
from tosloc.errors import ReportError
from tosloc.git.repository import Repository
from tosloc.mine import links, weak
from tosloc.mine.issues import Exports
from tosloc.mine.links import Mined, mine
from tosloc.mine.mentions import BODY, CLOSES, NAMES, NUMBER, compiled

A, B = {"a.py": "1\n"}, {"b.py": "1\n"}


def when(hours: float) -> str:
    return datetime.fromtimestamp(FIRST_TIME + HOUR * hours, UTC).isoformat()


def issue(number: int, opened: float = 0, **more: Any) -> dict[str, Any]:
    return {"number": number, "title": f"Crash {number}", "body": "On save", "createdAt": when(opened)} | more


Miner = Callable[..., Mined]


@pytest.fixture
def mined(repository: GitRepository) -> Miner:
    """Function (*records, **options) -> what is mined of them in the repository."""

    def run(*records: Any, **options: Any) -> Mined:
        read = Exports()
        read.add(json.dumps(records), "x.json")
        with Repository(repository.path) as repo:
            return mine(repo, read, **options)

    return run


def found(mined: Mined) -> dict[str, tuple[str, str]]:
    return {report.report.id: (report.link, report.fix_commit) for report in mined.reports}


def test_each_kind_of_link_and_the_files_that_a_fix_changed(repository: GitRepository, mined: Miner) -> None:
    repository.commit(A | B | {"README": "x"}, "Begin")
    pull = repository.commit({"a.py": "2\n", "new.py": "", "README": "y", "b.py": None}, "Better (#50)")
    event = repository.commit({"a.py": "3\n"}, "Better yet")
    keyword = repository.commit({"a.py": "4\n"}, "Best\n\nFixes #3")
    named = repository.commit({"a.py": "5\n"}, "Issue #4: best of all")
    number = repository.commit({"a.py": "6\n"}, "Good (#5)")
    body = repository.commit({"a.py": "7\n"}, "Good\n\nA story of #6.")
    own = repository.commit({"a.py": "8\n"}, "Good\n\nTask 7!")
    text = repository.commit({"a.py": "9\n"}, "Good again (#51)")
    reference = {"number": 50, "title": "B", "body": "", "mergedAt": when(2), "mergeCommit": {"oid": pull}}
    says = {"number": 51, "title": "B", "body": "Fixes #8", "mergedAt": when(9), "mergeCommit": {"oid": "f" * 40}}
    result = mined(
        *map(issue, range(1, 10)),
        reference | {"closingIssuesReferences": [{"number": 1}]},
        says,
        {"event": "closed", "commit_id": event, "issue": {"number": 2}},
        patterns=[compiled(r"Task (\d+)!")],
    )
    assert found(result) == {
        "1": (links.CLOSED_BY_PULL, pull),
        "2": (links.CLOSED_BY_COMMIT, event),
        "3": (CLOSES, keyword),
        "4": (NAMES, named),
        "5": (NUMBER, number),
        "6": (BODY, body),
        "7": (links.PATTERN, own),
        "8": (links.PULL_TEXT, text),
    }
    assert result.reports[0].fixed == ("a.py", "b.py")  # what was there before
    assert (dict(result.left_out), result.read, result.tracker) == ({links.NO_FIX: 1}, 9, "GitHub")
    assert list(result.kinds) == [kind for kind in links.KINDS if kind in result.kinds]


def test_the_surest_link_then_the_one_nearest_to_the_closing_else_the_first(
    repository: GitRepository, mined: Miner
) -> None:
    repository.commit(A | {"test_a.py": "1\n"}, "Begin")
    said = "Fixes #1, fixes #2, fixes #3"
    repository.commit({"test_a.py": "2\n"}, f"A test for it\n\n{said}")
    first = repository.commit({"a.py": "2\n"}, said)
    second = repository.commit({"a.py": "3\n"}, said)
    event = repository.commit({"a.py": "4\n"}, said)
    closed = {"event": "closed", "commit_id": event, "issue": {"number": 3}}
    result = mined(issue(1), issue(2, closedAt=when(3.2)), issue(3), closed)
    assert found(result) == {"1": (CLOSES, first), "2": (CLOSES, second), "3": (links.CLOSED_BY_COMMIT, event)}


def test_what_came_long_after_the_closing_means_something_else(repository: GitRepository, mined: Miner) -> None:
    repository.commit(A, "Begin")
    message = "Fixes #1, fixes #2\n\nThe story of #3, #4."
    late = repository.commit({"a.py": "2\n"}, message, when=FIRST_TIME + 400 * 24 * HOUR)
    closed = {"event": "closed", "commit_id": late, "issue": {"number": 5}}
    days = {1: 40, 2: 30, 3: 380, 4: 360, 5: 1}
    result = mined(*(issue(number, closedAt=when(24 * day)) for number, day in days.items()), closed)
    assert found(result) == {"1": (CLOSES, late), "3": (BODY, late), "5": (links.CLOSED_BY_COMMIT, late)}
    assert dict(result.left_out) == {links.TOO_LATE: 2}


def test_what_is_left_out_is_counted(repository: GitRepository, mined: Miner) -> None:
    repository.commit(A | {"README": "1"}, "Begin")
    numbers = range(1, 13)
    repository.commit({"a.py": "2\n"}, "\n".join(f"Fixes #{number}" for number in numbers if number not in (9, 10, 12)))
    repository.commit({"README": "2"}, "Fixes #9")
    repository.commit({f"{name}.py": "" for name in range(40)} | {"a.py": "3\n"}, "Fixes #10")
    event = {"event": "closed", "commit_id": "f" * 40, "issue": {"number": 12}}
    records = (
        issue(1, url="https://github.com/a/b/pull/1"),
        issue(2, state="OPEN"),
        issue(3, stateReason="NOT_PLANNED"),
        issue(4, labels=[{"name": "enhancement"}]),
        issue(5, title="Bug report", body="### Steps to reproduce"),
        issue(6, opened=1.5),
        *map(issue, range(7, 13)),
        event,
    )
    result = mined(*records)
    reasons = dict(result.left_out)
    assert set(reasons.values()) == {1}
    assert {*reasons} > {links.TOO_EARLY, links.NO_SOURCE, links.TOO_MANY, links.NOT_IN_HISTORY}
    assert {why for why in reasons if "its fix" not in why} == {
        "a pull request, listed as an issue",
        "still open",
        "closed without a fix (not planned, duplicate, not reproduced)",
        "labelled as something else than a bug",
        "says nothing beside the form",
    }
    assert [report.report.id for report in result.reports] == ["11", "7", "8"]
    assert result.read == len(result.reports) + result.left_out.total()
    assert "4" in found(mined(*records, all_labels=True))


def test_a_fix_that_was_reverted_is_none_unless_it_came_again(repository: GitRepository, mined: Miner) -> None:
    repository.commit(A, "Begin")
    gone = repository.commit({"a.py": "2\n"}, "Fixes #1")
    back = repository.commit({"a.py": "3\n"}, "Fixes #2")
    repository.commit({"a.py": "4\n"}, "Fixes #3")
    repository.commit({"a.py": "5\n"}, f'Revert "Fixes #1"\n\nThis reverts commit {gone}.')
    revert = repository.commit({"a.py": "6\n"}, f'Revert "Fixes #2"\n\nThis reverts commit {back}.')
    repository.commit({"a.py": "7\n"}, f'Revert "Revert "Fixes #2""\n\nThis reverts commit {revert}.')
    repository.commit({"a.py": "8\n"}, 'Revert "Fixes #3"')
    again = repository.commit({"a.py": "9\n"}, "Take it out again\n\nThis reverts commit 1234567. Fixes #4, fixes #3")
    result = mined(*map(issue, (1, 2, 3, 4)))
    assert found(result) == {"2": (CLOSES, back), "3": (CLOSES, again), "4": (CLOSES, again)}
    assert dict(result.left_out) == {links.REVERTED: 1}


def test_merges_count_by_all_that_they_bring(repository: GitRepository, mined: Miner) -> None:
    root = repository.commit(A | B, "Begin")
    main = repository.commit({"a.py": "2\n"}, "Other work")
    side = repository.commit({"b.py": "2\n"}, "Part", parents=[root])
    merge = repository.commit({"b.py": "2\n"}, "Merge pull request #50 from x\n\nFixes #1", parents=[main, side])
    result = mined(issue(1))
    assert found(result) == {"1": (CLOSES, merge)}
    assert result.reports[0].fixed == ("b.py",)


def test_a_test_for_an_issue_and_a_list_of_many_are_no_fix(repository: GitRepository, mined: Miner) -> None:
    repository.commit(A | {"test_a.py": "1\n"}, "Begin")
    repository.commit({"test_a.py": "2\n"}, "Watch over #1")
    fix = repository.commit({"test_a.py": "3\n"}, "Fix the test, closes #2")
    repository.commit({"a.py": "2\n"}, "Release\n\n" + "\n".join(f"- #{number}" for number in range(3, 10)))
    result = mined(*map(issue, range(1, 10)))
    assert found(result) == {"2": (CLOSES, fix)}
    assert dict(result.left_out) == {links.ONLY_TESTS: 1, links.NO_FIX: 7}


def test_the_root_and_the_end_of_a_shallow_clone_are_no_fixes(make_repository, repository: GitRepository) -> None:
    repository.commit(A, "Fixes #1")
    repository.commit({"a.py": "2\n"}, "Fixes #2")
    shallow = make_repository("shallow")
    shallow.git("fetch", "-q", "--depth=1", f"file://{repository.path}", "main:other")
    shallow.git("symbolic-ref", "HEAD", "refs/heads/other")
    read = Exports()
    read.add(json.dumps([issue(1), issue(2)]), "x.json")
    with Repository(shallow.path) as repo:
        assert mine(repo, read).left_out == {links.NO_FIX: 1, links.NO_PARENT: 1}
        with pytest.raises(ReportError, match="pull requests or events, and no issue"):
            mine(repo, Exports())


def test_git_alone_gives_weak_reports(repository: GitRepository) -> None:
    repository.commit(A, "Begin")
    fix = repository.commit({"a.py": "2\n"}, "Fix #12: crash on saving twice\n\nIt closed too early.\n\nReviewed-by: B")
    repository.commit({"a.py": "3\n"}, "Fix typo")
    repository.commit({"a.py": "4\n"}, "Fix it")
    for number, message in enumerate(("Whitespace fixes following PEP8.", "Hotfix: bump version", "Fix mypy errors")):
        repository.commit({"a.py": f"form {number}\n"}, message)
    repository.commit({"README": "4\n"}, "Fix a crash of readers")
    bad = repository.commit({"a.py": "5\n"}, "Fix the other crash, too")
    repository.commit({"a.py": "6\n"}, f'Revert "Fix the other crash, too"\n\nThis reverts commit {bad}.')
    with Repository(repository.path) as repo:
        result = weak.mine_messages(repo)
    [report] = result.reports
    assert report.as_dict() == {
        "id": fix[:12],
        "summary": "crash on saving twice",
        "description": "It closed too early.",
        "opened": when(1),
        "fix_commit": fix,
        "fixed": ["a.py"],
        "link": "commit message",
        "weak": True,
    }
    assert (result.tracker, result.read) == ("", 7)
    reasons = {links.NO_SOURCE: 1, links.REVERTED: 1, "the message says too little": 1}
    assert result.left_out == reasons | {"the message speaks of formatting, typing, tests or a version": 3}
