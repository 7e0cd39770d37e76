"""Techniques see only the part of the past that was known when the report was opened."""

import numpy as np
import pytest

from tests.lab.baselines.by_hand import Bug, Commit, make_context, make_query

A, B, C = "src/a/A.java", "src/b/B.java", "src/c/C.java"
FILES = {A: "package a; class A { }", B: "package b; class B { }", C: "package c; class C { }"}
BUGS = (
    Bug("early", "x", opened=1, fixed_at=2, paths=[A]),
    Bug("at the opening", "x", opened=1, fixed_at=10, paths=[A]),
    Bug("between", "x", opened=3, fixed_at=12, paths=[A, B]),
    Bug("asked", "x", opened=10, fixed_at=14, paths=[B]),
    Bug("later", "x", opened=5, fixed_at=20, paths=[C]),
)


def known_ids(query):
    """Return the ids of the reports that count as fixed before."""
    return {query.fix_history.cases[row].report.id for row in query.known_reports.tolist()}


@pytest.fixture
def asked_query():
    """Return the query of a report opened on day 10, between commits of other days."""
    commits = [Commit("at it", 10), Commit("before it", 9.9)]
    return make_query(make_context(FILES, BUGS, commits), "asked")


def test_reports_fixed_before_the_opening_are_known(asked_query):
    assert known_ids(asked_query) == {"early"}


def test_commits_before_the_opening_are_known(asked_query):
    ids = asked_query.fix_history.history.ids
    known_commits = [ids[number] for number in np.flatnonzero(asked_query.known_commits)]
    assert known_commits == ["root", "fix-early", "before it"]


def test_own_fix_dated_before_the_opening_is_not_known():
    # Dates of the data can be wrong.
    bugs = [
        Bug("asked", "x", opened=10, fixed_at=4, paths=[A]),
        Bug("early", "x", opened=1, fixed_at=2, paths=[A]),
    ]
    context = make_context(FILES, bugs, [Commit("last", 11)])
    assert known_ids(make_query(context, "asked", "last")) == {"early"}


def test_fix_that_two_reports_share_is_known_to_neither():
    bugs = [Bug("1", "x", opened=1, fix="both"), Bug("2", "x", opened=2, fix="both")]
    context = make_context(FILES, bugs, [Commit("both", 3, {A: "class A { }"})])
    assert known_ids(make_query(context, "1")) == set()
    assert known_ids(make_query(context, "2")) == set()


def test_fix_that_the_version_does_not_contain_is_not_known():
    bugs = [
        Bug("elsewhere", "x", opened=1, fix="branch"),
        Bug("asked", "x", opened=10, fix="fix", paths=[B]),
    ]
    commits = [
        Commit("branch", 2, {A: "class A { }"}),
        Commit("fix", 12, {B: "class B { }"}, parents=("root",)),
    ]
    context = make_context(FILES, bugs, commits)
    query = make_query(context, "asked")
    assert known_ids(query) == set()
    assert not query.known_commits[context.fix_history.history.index["branch"]]
    assert known_ids(make_query(context, "asked", "branch")) == {"elsewhere"}
