"""What techniques get to see: of the past only what was known when the report was opened."""

import numpy as np

from tests.lab.baselines.by_hand import Bug, Commit, ask, context

A, B, C = "src/a/A.java", "src/b/B.java", "src/c/C.java"
FILES = {A: "package a; class A { }", B: "package b; class B { }", C: "package c; class C { }"}
BUGS = (
    Bug("early", "x", opened=1, fixed_at=2, paths=[A]),
    Bug("at the opening", "x", opened=1, fixed_at=10, paths=[A]),
    Bug("between", "x", opened=3, fixed_at=12, paths=[A, B]),
    Bug("asked", "x", opened=10, fixed_at=14, paths=[B]),
    Bug("later", "x", opened=5, fixed_at=20, paths=[C]),
)


def known(query):
    """Ids of the reports that count as fixed before."""
    return {query.fix_history.cases[row].report.id for row in query.reports.tolist()}


def test_fixes_and_commits_before_the_opening_are_known():
    query = ask(context(FILES, BUGS, [Commit("at it", 10), Commit("before it", 9.9)]), "asked")
    assert known(query) == {"early"}
    ids = query.fix_history.history.ids
    assert [ids[number] for number in np.flatnonzero(query.commits)] == [
        "root",
        "fix-early",
        "before it",
    ]


def test_the_own_fix_is_never_known():
    # dates of the data can be wrong: fixed before it was opened
    bugs = [
        Bug("asked", "x", opened=10, fixed_at=4, paths=[A]),
        Bug("early", "x", opened=1, fixed_at=2, paths=[A]),
    ]
    assert known(ask(context(FILES, bugs, [Commit("last", 11)]), "asked", "last")) == {"early"}
    # nor that of a twin with the same commit
    twins = [Bug("1", "x", opened=1, fix="both"), Bug("2", "x", opened=2, fix="both")]
    made = context(FILES, twins, [Commit("both", 3, {A: "class A { }"})])
    assert known(ask(made, "1")) == known(ask(made, "2")) == set()


def test_a_fix_that_the_version_does_not_contain_is_not_known():
    bugs = [
        Bug("elsewhere", "x", opened=1, fix="branch"),
        Bug("asked", "x", opened=10, fix="fix", paths=[B]),
    ]
    commits = [
        Commit("branch", 2, {A: "class A { }"}),
        Commit("fix", 12, {B: "class B { }"}, parents=("root",)),
    ]
    made = context(FILES, bugs, commits)
    query = ask(made, "asked")
    assert (known(query), query.commits[made.fix_history.history.index["branch"]]) == (set(), False)
    assert known(ask(made, "asked", "branch")) == {"elsewhere"}
