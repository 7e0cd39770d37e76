"""Links from issues to commits, in real repositories."""

import json
from datetime import UTC, datetime

import pytest

from tests.conftest import FIRST_TIME, HOUR
from tests.trackers import BUGZILLA
from tosloc.core.errors import ReportError
from tosloc.git.repository import Repository
from tosloc.mine.issues import Exports
from tosloc.mine.links import KINDS, mine, mine_messages
from tosloc.mine.mining import compile_pattern


def hours_after_first(hours):
    """Return the time this many hours after the first commit."""
    return datetime.fromtimestamp(FIRST_TIME + HOUR * hours, UTC).isoformat()


def make_issue(number, opened=0, **fields):
    """Return an issue of GitHub that was opened ``opened`` hours after the first commit."""
    issue = {
        "number": number,
        "title": f"Crash {number}",
        "body": "On save",
        "createdAt": hours_after_first(opened),
    }
    return issue | fields


def make_closing_event(number, commit):
    return {"event": "closed", "commit_id": commit, "issue": {"number": number}}


def make_pull(number, commit, **fields):
    """Return a merged pull request."""
    pull = {
        "number": number,
        "title": "B",
        "body": "",
        "mergedAt": hours_after_first(2),
        "mergeCommit": {"oid": commit},
    }
    return pull | fields


class Miner:
    """A repository from which reports are mined."""

    def __init__(self, repository):
        self.repository = repository

    def commit(self, message, *paths, path="a.py", when=None):
        """Commit a change of ``path`` and of further ``paths``."""
        text = f"{len(self.repository.commits)}\n"
        return self.repository.commit(dict.fromkeys((path, *paths), text), message, when=when)

    def mine(self, *records, all_labels=False, **options):
        """Return the result of mining an export with these records."""
        exports = Exports(all_labels)
        exports.add(json.dumps(records), "x.json")
        with Repository(self.repository.path) as repository:
            return mine(repository, exports, **options)

    def links(self, *records, **options):
        """Return id -> kind of link and commit; and the number of issues left out by reason."""
        result = self.mine(*records, **options)
        links = {report["id"]: (report["link"], report["fix_commit"]) for report in result.reports}
        return links, dict(result.left_out)


@pytest.fixture
def miner(repository):
    """Return a miner whose first commit has two source files, a test and a README."""
    miner = Miner(repository)
    miner.commit("Begin", "b.py", "test_a.py", "README")
    return miner


@pytest.fixture
def all_kinds(miner):
    """Return records of nine issues, and kind of link -> the commit that is linked so.

    Issues 1 to 8 have the kinds in this order; issue 9 has no link.
    """
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
    # only the number at the end of a first line is that of a pull request
    miner.commit("Prepare (#51) well")
    fixes = {"closing pull request": merged}
    for kind, message in messages.items():
        fixes[kind] = miner.commit(message)
    records = [
        *[make_issue(number) for number in range(1, 10)],
        make_pull(50, merged, closingIssuesReferences=[{"number": 1}]),
        make_pull(51, "f" * 40, body="Fixes #8"),
        make_closing_event(2, fixes["closing commit"]),
    ]
    return records, fixes


def test_each_kind_of_link_is_found(miner, all_kinds):
    records, fixes = all_kinds
    links, left_out = miner.links(*records, patterns=[compile_pattern(r"Task (\d+)!")])
    assert links == {str(number): fix for number, fix in enumerate(fixes.items(), start=1)}
    assert left_out == {"no fix is known": 1}


def test_fixed_files_are_the_source_files_that_were_there_before(miner, all_kinds):
    records, _ = all_kinds
    assert miner.mine(*records).reports[0]["fixed"] == ["a.py", "b.py"]


def test_a_result_counts_issues_and_kinds_surest_first(miner, all_kinds):
    records, _ = all_kinds
    result = miner.mine(*records)
    assert result.read == 9
    assert result.tracker == "GitHub"
    without_pattern = [kind for kind in KINDS if kind not in ("pattern", "commit message")]
    assert list(result.kinds) == without_pattern


def test_the_surest_link_is_chosen_then_the_nearest_to_the_closing(miner):
    closes_three = "Fixes #1, fixes #2, fixes #3"
    miner.commit(f"A test for it\n\n{closes_three}", path="test_a.py")
    first = miner.commit(closes_three)
    second = miner.commit(closes_three)
    third = miner.commit(closes_three)
    links, _ = miner.links(
        make_issue(1),
        make_issue(2, closedAt=hours_after_first(3.2)),
        make_issue(3),
        make_closing_event(3, third),
    )
    assert links == {
        "1": ("closing keyword", first),
        "2": ("closing keyword", second),
        "3": ("closing commit", third),
    }


@pytest.mark.parametrize(
    ("number", "days", "kind"),
    [
        (1, 40, "closing keyword"),
        (2, 30, None),
        (3, 380, "number further down"),
        (4, 360, None),
        (5, 1, "closing commit"),
    ],
    ids=[
        "a keyword less than a year after it",
        "a keyword more than a year after it",
        "a number less than a month after it",
        "a number more than a month after it",
        "the tracker says so, at any time",
    ],
)
def test_a_commit_long_after_the_closing_means_something_else(miner, number, days, kind):
    message = "Fixes #1, fixes #2\n\nThe story of #3, #4."
    late = miner.commit(message, when=FIRST_TIME + 400 * 24 * HOUR)
    links, left_out = miner.links(
        make_issue(number, closedAt=hours_after_first(24 * days)), make_closing_event(5, late)
    )
    if kind is None:
        assert links == {}
        assert left_out == {"the commit that names it is much later than its closing": 1}
    else:
        assert links == {str(number): (kind, late)}


@pytest.fixture
def issues_to_leave_out(miner):
    """Return records of nine issues that are left out for nine reasons, and of three others."""
    miner.commit("\n".join(f"Fixes #{number}" for number in (*range(1, 9), 11)))
    miner.commit("Fixes #9", path="README")
    miner.commit("Fixes #10", *(f"{number}.py" for number in range(40)))
    return [
        make_issue(1, url="https://github.com/a/b/pull/1"),
        make_issue(2, state="OPEN"),
        make_issue(3, stateReason="NOT_PLANNED"),
        make_issue(4, labels=[{"name": "enhancement"}]),
        make_issue(5, title="Bug report", body="### Steps to reproduce"),
        make_issue(6, opened=1.5),
        *[make_issue(number) for number in range(7, 13)],
        make_closing_event(12, "f" * 40),
    ]


def test_each_reason_for_leaving_out_is_counted(miner, issues_to_leave_out):
    links, left_out = miner.links(*issues_to_leave_out)
    assert left_out == {
        "it is a pull request": 1,
        "it is still open": 1,
        "it was closed without a fix (not planned, duplicate, not reproduced)": 1,
        "its labels say that it is not a bug": 1,
        "it is an empty template": 1,
        "its fix is older than the report": 1,
        "its fix changed no existing source file": 1,
        "its fix changed more than 30 source files": 1,
        "its fix is not in this history": 1,
    }
    assert links.keys() == {"11", "7", "8"}


def test_labels_can_be_ignored(miner, issues_to_leave_out):
    links, _ = miner.links(*issues_to_leave_out, all_labels=True)
    assert "4" in links


def revert(subject, commit):
    return f'Revert "{subject}"\n\nThis reverts commit {commit}.'


def test_a_reverted_fix_is_left_out(miner):
    fix = miner.commit("Fixes #1")
    miner.commit(revert("Fixes #1", fix))
    assert miner.links(make_issue(1)) == ({}, {"its fix was reverted": 1})


def test_a_fix_whose_revert_is_reverted_counts(miner):
    fix = miner.commit("Fixes #2")
    first_revert = miner.commit(revert("Fixes #2", fix))
    miner.commit(revert('Revert "Fixes #2"', first_revert))
    links, _ = miner.links(make_issue(2))
    assert links == {"2": ("closing keyword", fix)}


def test_a_fix_that_is_reverted_by_its_subject_and_made_again_counts(miner):
    miner.commit("Fixes #3")
    miner.commit('Revert "Fixes #3"')
    again = miner.commit("Take it out again\n\nThis reverts commit 1234567. Fixes #4, fixes #3")
    links, left_out = miner.links(make_issue(3), make_issue(4))
    assert links == {"3": ("closing keyword", again), "4": ("closing keyword", again)}
    assert left_out == {}


def test_a_merge_counts_by_all_that_it_brings(miner):
    [root] = miner.repository.commits
    main = miner.commit("Other work")
    side = miner.repository.commit({"b.py": "2\n"}, "Part", parents=[root])
    message = "Merge of x\n\nFixes #1"
    merge = miner.repository.commit({"b.py": "2\n"}, message, parents=[main, side])
    [report] = miner.mine(make_issue(1)).reports
    assert report["fix_commit"] == merge
    assert report["fixed"] == ["b.py"]


def test_a_change_of_tests_counts_only_if_it_closes_the_issue(miner):
    miner.commit("Watch over #2", path="test_a.py")
    fix = miner.commit("Fix the test, closes #3", path="test_a.py")
    links, left_out = miner.links(make_issue(2), make_issue(3))
    assert links == {"3": ("closing keyword", fix)}
    assert left_out == {"the commit that names it changed only tests": 1}


def test_a_commit_that_names_many_issues_is_no_link(miner):
    miner.commit("Release\n\n" + "\n".join(f"- #{number}" for number in range(4, 11)))
    links, left_out = miner.links(*[make_issue(number) for number in range(4, 11)])
    assert links == {}
    assert left_out == {"no fix is known": 7}


@pytest.fixture
def shallow_miner(make_repository, repository):
    """Return a miner of a shallow clone that contains the last of two fixes."""
    for number in (1, 2):
        Miner(repository).commit(f"Fixes #{number}")
    shallow = make_repository("shallow")
    shallow.git("fetch", "-q", "--depth=1", f"file://{repository.path}", "main:other")
    shallow.git("symbolic-ref", "HEAD", "refs/heads/other")
    return Miner(shallow)


def test_the_end_of_a_shallow_clone_is_no_fix(shallow_miner):
    links, left_out = shallow_miner.links(make_issue(1), make_issue(2))
    assert links == {}
    assert left_out == {
        "no fix is known": 1,
        "the version before its fix is unknown": 1,
    }


def test_exports_without_issues_are_refused(miner):
    with pytest.raises(ReportError, match="contain no issue"):
        miner.mine(make_closing_event(1, "f" * 40))


def test_a_bare_number_at_the_beginning_names_an_issue_of_bugzilla(miner):
    fix = miner.commit("58522: mind the gap")
    links, _ = miner.links(BUGZILLA | {"severity": "major", "creation_time": hours_after_first(0)})
    assert links == {"58522": ("issue named", fix)}


def test_a_bare_number_at_the_beginning_names_no_issue_of_github(miner):
    miner.commit("58522: mind the gap")
    links, left_out = miner.links(make_issue(58522))
    assert links == {}
    assert left_out == {"no fix is known": 1}


# Weak reports, from git alone


def mine_repository(repository):
    with Repository(repository.path) as opened:
        return mine_messages(opened)


NO_FIX = "the message does not say that the commit fixes a bug"


def fixes_left_out(repository):
    """Return why messages that speak of a fix are left out, with their numbers."""
    left_out = mine_repository(repository).left_out
    return {reason: number for reason, number in left_out.items() if reason != NO_FIX}


def test_every_commit_is_a_report_or_counted_with_a_reason(miner):
    miner.commit("Fix the crash of readers")
    side = miner.commit("Add a reader")
    parents = [miner.commit("Add a writer"), side]
    miner.repository.commit({}, "Fix the crash of writers", parents=parents)
    result = mine_repository(miner.repository)
    assert result.read == 5
    assert result.kinds == {"commit message": 1}
    assert result.left_out == {NO_FIX: 3, "it is a merge": 1}


def test_a_message_is_a_weak_report_without_number_and_trailers(miner):
    fix = miner.commit("Fix #12: crash on saving twice\n\nIt closed too early.\n\nReviewed-by: B")
    [report] = mine_repository(miner.repository).reports
    assert report == {
        "id": fix[:12],
        "summary": "crash on saving twice",
        "description": "It closed too early.",
        "opened": hours_after_first(1),
        "fix_commit": fix,
        "fixed": ["a.py"],
        "link": "commit message",
        "weak": True,
    }


@pytest.mark.parametrize(
    "declaration",
    [
        'Fixes: {commit} ("Add a cart")',
        "Introduced-by: {commit}",
        "This is a regression from {commit}.",
        "It was introduced in commit\n{commit} (Add a cart, 2001-09-09).",
        "Commit {commit} (Add a cart) broke it.",
    ],
)
def test_declared_commit_introduced_the_bug(miner, declaration):
    culprit = miner.commit("Add a cart")
    miner.commit(f"Fix crash on saving twice\n\n{declaration.format(commit=culprit[:10])}")
    [report] = mine_repository(miner.repository).reports
    assert report["introduced_by"] == [culprit]


def test_weak_report_does_not_name_the_commit_that_introduced_it(miner):
    culprit = miner.commit("Add a cart")
    miner.commit(f"Fix crash on saving twice\n\nIt fails since {culprit[:9]} (Add a cart).")
    [report] = mine_repository(miner.repository).reports
    assert report["description"] == "It fails since ."


def test_commit_of_another_history_introduced_nothing(miner):
    miner.commit("Fix crash on saving twice\n\nFixes: 1234abcd5678")
    [report] = mine_repository(miner.repository).reports
    assert "introduced_by" not in report


def test_number_that_is_fixed_is_no_commit(miner):
    miner.commit("Fix crash on saving twice\n\nFixes: #1234567")
    [report] = mine_repository(miner.repository).reports
    assert "introduced_by" not in report


def test_reported_change_is_a_weak_report(miner):
    miner.commit("Count each item of a cart\n\nReported-by: B <b@example.org>")
    mined = mine_repository(miner.repository)
    assert len(mined.reports) == 1


def test_fix_of_an_issue_declares_what_introduced_it(miner):
    culprit = miner.commit("Add a cart")
    miner.commit(f"Fix #12: crash on saving twice\n\nFixes: {culprit[:12]}")
    exports = Exports()
    exports.add(json.dumps([make_issue(12)]), "issues.json")
    with Repository(miner.repository.path) as repository:
        [report] = mine(repository, exports).reports
    assert report["introduced_by"] == [culprit]


@pytest.mark.parametrize(
    ("message", "left_out"),
    [
        ("Fix it", "the message does not describe the bug"),
        (
            "Whitespace fixes for PEP8.",
            "the message is about formatting, typing, tests or a version",
        ),
        ("Hotfix: bump version", "the message is about formatting, typing, tests or a version"),
        ("Fix mypy errors", "the message is about formatting, typing, tests or a version"),
    ],
)
def test_a_message_that_is_about_no_fault_is_left_out(miner, message, left_out):
    miner.commit(message)
    assert fixes_left_out(miner.repository) == {left_out: 1}


def test_a_message_about_a_typo_is_no_fix(miner):
    miner.commit("Fix typo")
    assert mine_repository(miner.repository).left_out == {NO_FIX: 2}


def test_a_message_of_a_fix_without_source_files_is_left_out(miner):
    miner.commit("Fix a crash of readers", path="README")
    left_out = {"its fix changed no existing source file": 1}
    assert fixes_left_out(miner.repository) == left_out


def test_a_message_of_a_reverted_fix_is_left_out(miner):
    fix = miner.commit("Fix the other crash, too")
    miner.commit(revert("Fix the other crash, too", fix))
    assert fixes_left_out(miner.repository) == {"its fix was reverted": 1}
    assert mine_repository(miner.repository).tracker == ""
