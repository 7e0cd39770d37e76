"""What is known as of one time in one version, and what it says about files; every number worked by hand."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from tosloc.core.records import BugReport, Case
from tosloc.git.history import read_history
from tosloc.git.repository import Repository
from tosloc.retrieval.documents import DAY, Document, Documents
from tosloc.retrieval.history_index import (
    HISTORY_VERSION,
    HistoryIndex,
    build_history,
    commit_payloads,
    index_commits,
    strip_trailers,
)

NOW = 1000 * DAY


def commit(days_ago, files, number=0, words="a", classes=()):
    return Document(
        f"at {days_ago} {number}",
        int(NOW - days_ago * DAY),
        number,
        f"c{number}",
        Counter(words),
        files,
        classes,
    )


def history_of(commits, reports=()):
    return HistoryIndex(Documents.collect(commits), Documents.collect(reports))


def test_what_is_known_as_of_a_time_in_a_version():
    history = history_of([commit(1, (0,), 0, "ab"), commit(0, (1,), 0, "bc")], [commit(0, (2,))])
    for at, commits, reports, frequency in (
        (NOW, [True, False], [False], [1, 1, 0]),
        (NOW + 0.5, [True, True], [True], [1, 2, 1]),
        (NOW, [True, False], [False], [1, 1, 0]),  # looking back again forgets what came later
    ):
        found = history.as_of(at)
        assert (found.commits.known.tolist(), found.reports.known.tolist()) == (commits, reports)
        assert found.commits.frequency.tolist() == frequency
    # commit 2 is oldest by its clock, but the version does not hold it; a mask from packed bits is longer
    history = history_of(
        [commit(9, (0,), 2), commit(5, (0,), 0), commit(3, (1,), 1)], [commit(2, (1,), 2)]
    )
    at = history.as_of(NOW, np.unpackbits(np.packbits([True, True, False])).astype(bool))
    assert (at.commits.known.tolist(), at.reports.known.tolist()) == ([False, True, True], [False])
    assert at.fixes(2).tolist() == [0.0, 0.0]


def test_what_rounding_leaves_of_a_share_does_not_pass_for_co_change():
    ages = np.random.default_rng(3).uniform(1, 900, 40).tolist()
    at = history_of([commit(age, (n % 3,), n) for n, age in enumerate(ages)]).as_of(
        NOW
    )  # of one file each
    assert at.co_change(np.arange(3), np.array([0.31, 0.23, 0.46]), 4).tolist() == [0.0] * 4


JAVA = frozenset({".java"})


def told(documents, names):
    """Of each document its words with their counts, and the paths that it touched."""
    words, files = documents.starts, documents.file_starts
    pairs = zip(documents.terms.tolist(), documents.counts.tolist(), strict=True)
    counts = [(documents.vocabulary[term], count) for term, count in pairs]
    paths = [names.names[file] for file in documents.files]
    each = range(len(documents))
    return [
        (dict(counts[words[d] : words[d + 1]]), {*paths[files[d] : files[d + 1]]}) for d in each
    ]


def test_commits_and_labelled_reports(repository):
    root = repository.commit(
        {"a/Tree.java": "1", "a/Leaf.java": "1", "x.txt": "1"},
        "Grow trees\n\nChange-Id: Iabc",
        when=100,
    )
    repository.commit({"x.txt": "2"}, "Only text", when=200)
    before = repository.commit({f"many/F{n}.java": "1" for n in range(31)}, "Import", when=300)
    fix = repository.commit({"a/Tree.java": "2", "a/New.java": "1"}, "Fix tree bug 7", when=400)
    traces = "at a.Tree.grow(Tree.java:1) at a.Tree.x(Tree.java:2) node"
    report = BugReport("7", "Tree tree breaks", traces, datetime.fromtimestamp(350, UTC))
    case = Case(report, fix, before, 400, ("a/New.java", "a/Tree.java"), ("a/Tree.java",))
    with Repository(repository.path) as opened:
        names, history = opened.path_names, read_history(opened, fix, JAVA)
    index = build_history(history, [case], names)
    said = {"bug": 1, "fix": 1, "tree": 1}
    # neither the commit without a source file nor the one of more than thirty
    assert (index.commits.ids, index.commits.times.tolist()) == ([root, fix], [100, 400])
    assert told(index.commits, names) == [
        ({"grow": 1, "tree": 1}, {"a/Leaf.java", "a/Tree.java"}),
        (said, {"a/New.java", "a/Tree.java"}),
    ]
    reports = index.reports
    assert (reports.ids, reports.commit_ids, reports.times.tolist()) == (["7"], [fix], [400])
    # all listed files: the fix was also about the one that it added
    assert told(reports, names) == [
        ({"tree": 2, "break": 1, "node": 1}, {"a/New.java", "a/Tree.java"})
    ]
    assert reports.classes == ["a.Tree"]
    # its own fix is never in the history of the version, even when the report was opened later by the clock
    late = index.as_of(9999, history.ancestors(before))
    assert (late.reports.known.tolist(), late.commits.known.tolist()) == ([False], [True, False])
    # where no fix is known commits that fix bugs stand in for reports
    searched = build_history(history, [replace(case, fix_commit="", version=fix)], names).reports
    assert searched.ids == searched.commit_ids == [fix]
    assert told(searched, names)[0][0] == said
    assert build_history(history, [], names).reports.ids == []


def test_what_this_version_of_history_documents_is(repository):
    """Kept histories are found by HISTORY_VERSION: raise it, and write it here, when this test has to change."""
    message = "Fix crash of XMLParser in parse_all\n\nThe buffer's size was read twice, see Größe.\n\nChange-Id: I1"
    repository.commit(
        {f"src/F{n}.java": "1" for n in range(30)}, message
    )  # of more nothing is kept
    with Repository(repository.path) as opened:
        history = read_history(opened, "main", JAVA)
    made = index_commits(history.ids, commit_payloads(history), history.path_names)
    said = "buffer crash fix größe pars parseall parser read size twice xml xmlparser".split()
    assert HISTORY_VERSION == 4
    assert (
        told(made.commits, history.path_names)[0][0] == told(made.reports, history.path_names)[0][0]
    )
    assert (made.commits.vocabulary, made.commits.counts.tolist()) == (said, [1] * len(said))
    for trailer in (
        "Signed-off-by: A <a@b>",
        "git-svn-id: https://x@1",
        "Co-Authored-By: B",
        "Reviewed-on: http://x",
    ):
        assert strip_trailers(f"Fix it\n\n{trailer}\n").strip() == "Fix it"
        assert trailer in strip_trailers(f"Fix it: {trailer}")
