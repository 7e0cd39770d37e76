"""What is known as of one time in one version, and what it says about files; every number worked by hand."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime

import numpy as np
import pytest

from tosloc.git.history import read_history
from tosloc.git.repository import Repository
from tosloc.index.documents import DAY, Document, Documents
from tosloc.index.history_index import (
    HISTORY_VERSION,
    HistoryIndex,
    build_history,
    commit_payloads,
    history_of_commits,
    without_trailers,
)
from tosloc.records import BugReport, Case

NOW = 1000 * DAY


def commit(days_ago, files, number=0, words="a", classes=()):
    return Document(
        f"at {days_ago} {number}", int(NOW - days_ago * DAY), number, f"c{number}", Counter(words), files, classes
    )


def history_of(commits, reports=()):
    return HistoryIndex(Documents.collect(commits), Documents.collect(reports))


def test_as_of_is_strict():
    history = history_of([commit(1, (0,)), commit(0, (1,))], [commit(0, (2,))])
    at = history.as_of(NOW)
    assert at.commits.known.tolist() == [True, False]
    assert at.reports.known.tolist() == [False]
    after = history.as_of(NOW + 0.5)
    assert after.commits.known.tolist() == [True, True]
    assert after.reports.known.tolist() == [True]


def test_only_what_the_version_contains():
    # commit 2 is oldest by its clock, but the version does not hold it
    history = history_of([commit(9, (0,), 2), commit(5, (0,), 0), commit(3, (1,), 1)], [commit(2, (1,), 2)])
    at = history.as_of(NOW, np.array([True, True, False]))
    assert at.commits.documents.commits.tolist() == [2, 0, 1]
    assert at.commits.known.tolist() == [False, True, True]
    assert at.reports.known.tolist() == [False]
    assert at.fixes(2).tolist() == [0.0, 0.0]
    # a mask from packed bits is longer than the history
    padded = np.unpackbits(np.packbits(np.array([True, True, False]))).astype(bool)
    assert history.as_of(NOW, padded).commits.known.tolist() == [False, True, True]


def test_looking_back_again_forgets_what_came_later():
    history = history_of([commit(9, (0,), 0, "ab"), commit(3, (1,), 1, "bc")])
    early = history.as_of(NOW - 5 * DAY).commits.frequency.tolist()
    assert early == [1, 1, 0]
    assert history.as_of(NOW).commits.frequency.tolist() == [1, 2, 1]
    assert history.as_of(NOW - 5 * DAY).commits.frequency.tolist() == early


def test_co_change():
    """File 0 alone (weight 1), with 1 (k = 2) and with 1, 2, 3 (k = 4), all today: 1 + .7071 + .5 = 2.2071.

    Given p = .6 for file 0 and .4 for file 2 (only the last commit): file 1 gets .6 x 1.2071/2.2071 + .4; file 3
    .6 x .5/2.2071 + .4; file 0 gets .4 from file 2, file 2 gets .6 x .5/2.2071 from file 0, file 4 nothing.
    """
    at = history_of([commit(0.0, (0,), 0), commit(0.0, (0, 1), 1), commit(0.0, (0, 1, 2, 3), 2)]).as_of(NOW + 1e-3)
    got = at.co_change(np.array([0, 2]), np.array([0.6, 0.4]), 5)
    two, four = math.sqrt(0.5), 0.5
    total = 1 + two + four
    expected = [0.4, 0.6 * (two + four) / total + 0.4, 0.6 * four / total, 0.6 * four / total + 0.4, 0.0]
    assert got == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("files", [1, 3, 7])
def test_nothing_changes_together(files):
    """Commits of one file each: what is left of rounding must not pass for co-change."""
    rng = np.random.default_rng(3)
    commits = [commit(float(age), (n % files,), n) for n, age in enumerate(rng.uniform(1, 900, 40))]
    shares = rng.dirichlet(np.ones(files))
    at = history_of(commits).as_of(NOW)
    assert at.co_change(np.arange(files), shares, files + 1).tolist() == [0.0] * (files + 1)


# ---- from commits and labelled reports

JAVA = frozenset({".java"})


def words(documents, number):
    start, end = documents.starts[number], documents.starts[number + 1]
    counts = documents.counts[start:end].tolist()
    return {documents.vocabulary[t]: n for t, n in zip(documents.terms[start:end].tolist(), counts, strict=True)}


def paths(documents, number, names):
    start, end = documents.file_starts[number], documents.file_starts[number + 1]
    return [names.names[f] for f in documents.files[start:end].tolist()]


def test_commits_and_labelled_reports(repository):
    repository.commit({"a/Tree.java": "1", "a/Leaf.java": "1", "x.txt": "1"}, "Grow trees\n\nChange-Id: Iabc", when=100)
    repository.commit({"x.txt": "2"}, "Only text", when=200)
    before = repository.commit({f"many/F{n}.java": "1" for n in range(31)}, "Import", when=300)
    fix = repository.commit({"a/Tree.java": "2", "a/New.java": "1"}, "Fix tree bug 7", when=400)
    opened = datetime.fromtimestamp(350, UTC)
    report = BugReport("7", "Tree tree breaks", "at a.Tree.grow(Tree.java:1) at a.Tree.x(Tree.java:2) node", opened)
    case = Case(report, fix, before, 400, ("a/New.java", "a/Tree.java"), ("a/Tree.java",))
    with Repository(repository.path) as opened_repository:
        names = opened_repository.path_names
        history = read_history(opened_repository, fix, JAVA)
        index = build_history(history, [case], names)
        commits, reports = index.commits, index.reports
        # neither the commit without a source file nor the one of more than three
        assert commits.times.tolist() == [100, 400]
        assert commits.ids == (repository.made[0], fix)
        assert words(commits, 0) == {"grow": 1, "tree": 1}
        assert sorted(paths(commits, 0, names)) == ["a/Leaf.java", "a/Tree.java"]
        assert reports.ids == ("7",)
        assert reports.commit_ids == (fix,)
        assert reports.times.tolist() == [400]
        assert words(reports, 0) == {"tree": 2, "break": 1, "node": 1}
        # all listed files: the fix was also about the one that it added
        assert sorted(paths(reports, 0, names)) == ["a/New.java", "a/Tree.java"]
        assert reports.classes == (("a.Tree",),)
        # its own fix is never in the history of the version, even when the report was opened later by the clock
        late = index.as_of(9999, history.ancestors(before))
        assert late.reports.known.tolist() == [False]
        assert late.commits.known.tolist() == [True, False]


def test_commits_that_fix_stand_in_for_reports(repository):
    repository.commit({"A.java": "1"}, "Start", when=100)
    fix = repository.commit({"A.java": "2"}, "Fix crash in parser", when=200)
    repository.commit({f"F{n}.java": "1" for n in range(31)}, "Fix everything", when=300)
    with Repository(repository.path) as opened:
        history = read_history(opened, "main", JAVA)
        reports = history_of_commits(history.ids, dict(commit_payloads(history)), opened.path_names).reports
    assert reports.ids == reports.commit_ids == (fix,)
    assert words(reports, 0) == {"fix": 1, "crash": 1, "parser": 1}
    assert np.array_equal(reports.sizes, [1.0])


@pytest.mark.parametrize(
    "trailer", ["Signed-off-by: A <a@b>", "git-svn-id: https://x@1", "Co-Authored-By: B", "Reviewed-on: http://x"]
)
def test_trailers_are_no_words(trailer):
    assert without_trailers(f"Fix it\n\n{trailer}\n").strip() == "Fix it"
    assert trailer in without_trailers(f"Fix it: {trailer}")


def test_what_this_version_of_history_documents_is(repository):
    """Kept histories are found by HISTORY_VERSION: raise it, and write it here, when this test has to change."""
    message = "Fix crash of XMLParser in parse_all\n\nThe buffer's size was read twice, see Größe.\n\nChange-Id: I1"
    repository.commit({"src/XMLParser.java": "1"}, "Initial import", when=100)
    repository.commit({"src/XMLParser.java": "2", "src/Buffer.java": "1"}, message, when=200)
    with Repository(repository.path) as opened:
        history = read_history(opened, "main", JAVA)
        made = history_of_commits(history.ids, dict(commit_payloads(history)), opened.path_names)
    assert HISTORY_VERSION == 3
    assert words(made.commits, 0) == {"import": 1, "initi": 1}
    said = "buffer crash fix größe pars parseall parser read size twice xml xmlparser"
    assert words(made.commits, 1) == words(made.reports, 0) == dict.fromkeys(said.split(), 1)


def test_reports_without_a_known_fix_are_no_documents(repository):
    repository.commit({"a/Tree.java": "1"}, "Grow trees", when=100)
    fix = repository.commit({"a/Tree.java": "2"}, "Fix bug 7: tree", when=200)
    report = BugReport("9", "Leaf breaks", "", datetime.fromtimestamp(350, UTC))
    searched = Case(report, "", fix, 200, ("a/Tree.java",), ("a/Tree.java",))
    with Repository(repository.path) as opened_repository:
        history = read_history(opened_repository, fix, JAVA)
        # commits that fix bugs stand in for reports, as where nothing is labelled
        index = build_history(history, [searched], opened_repository.path_names)
        assert index.reports.ids == (fix,)
        assert build_history(history, [], opened_repository.path_names).reports.ids == ()
