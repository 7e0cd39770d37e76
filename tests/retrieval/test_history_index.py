"""What is known as of a time in a version, and documents of commits and labelled reports."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from tosloc.core.arrays import to_arrays
from tosloc.core.reports import BugReport, Case
from tosloc.core.versions import StringTable
from tosloc.git.history import History
from tosloc.git.repository import Repository
from tosloc.retrieval.history.history_index import (
    MAX_FILES,
    MAX_LARGE_FILES,
    HistoryIndex,
    strip_trailers,
)
from tosloc.retrieval.texts.documents import DAY, Document, Documents

NOW = 1000 * DAY


def make_commit(days_ago, files, number=0, words="a"):
    """Return a commit as document; the letters of ``words`` are its terms."""
    return Document(
        id=f"at {days_ago} {number}",
        at=int(NOW - days_ago * DAY),
        commit=number,
        commit_id=f"c{number}",
        terms=Counter(words),
        paths=files,
    )


def make_history(commits, reports=()):
    return HistoryIndex(Documents.collect(commits), Documents.collect(reports))


# What is known


@pytest.fixture
def growing():
    """Return a history with a commit yesterday, and a commit and a fixed report now."""
    commits = [make_commit(1, (0,), 0, "ab"), make_commit(0, (1,), 0, "bc")]
    return make_history(commits, [make_commit(0, (2,))])


def test_what_happens_at_the_opening_is_not_known(growing):
    at_opening = growing.as_of(NOW)
    assert at_opening.commits.known.tolist() == [True, False]
    assert at_opening.reports.known.tolist() == [False]
    assert at_opening.commits.frequency.tolist() == [1, 1, 0]


def test_what_happened_before_the_opening_is_known(growing):
    later = growing.as_of(NOW + 0.5)
    assert later.commits.known.tolist() == [True, True]
    assert later.reports.known.tolist() == [True]
    assert later.commits.frequency.tolist() == [1, 2, 1]


def test_looking_back_again_forgets_what_came_later(growing):
    growing.as_of(NOW + 0.5)
    back = growing.as_of(NOW)
    assert back.commits.known.tolist() == [True, False]
    assert back.commits.frequency.tolist() == [1, 1, 0]


def test_what_the_version_does_not_contain_is_not_known():
    """Commit 2 is the oldest by its clock, but the version does not contain it.

    The mask comes from packed bits, so that it is longer than the history.
    """
    commits = [make_commit(9, (0,), 2), make_commit(5, (0,), 0), make_commit(3, (1,), 1)]
    history = make_history(commits, [make_commit(2, (1,), 2)])
    contained = np.unpackbits(np.packbits([True, True, False])).astype(bool)
    known = history.as_of(NOW, contained)
    assert known.commits.known.tolist() == [False, True, True]
    assert known.reports.known.tolist() == [False]
    assert known.fixes(2).tolist() == [0.0, 0.0]


def test_what_rounding_leaves_of_a_share_is_no_co_change():
    """Every commit touches one file, so that no two files change together."""
    ages = np.random.default_rng(3).uniform(1, 900, 40).tolist()
    commits = [make_commit(age, (number % 3,), number) for number, age in enumerate(ages)]
    shares = np.array([0.31, 0.23, 0.46])
    values = make_history(commits).as_of(NOW).co_change(np.arange(3), shares, 4)
    assert values.tolist() == [0.0] * 4


# Documents of commits and labelled reports

JAVA = frozenset({".java"})


def contents(documents, names):
    """Return the term counts of each document, and the paths that it touched."""
    result = []
    for document in range(len(documents)):
        terms = slice(*documents.starts[document : document + 2])
        words = [documents.vocabulary[term] for term in documents.terms[terms]]
        counts = dict(zip(words, documents.counts[terms].tolist(), strict=True))
        files = slice(*documents.file_starts[document : document + 2])
        paths = {names.names[file] for file in documents.files[files]}
        result.append((counts, paths))
    return result


class Project:
    """A repository with a labelled report: four commits, the last of which fixes the report."""

    def __init__(self, repository):
        files = {"a/Tree.java": "1", "a/Leaf.java": "1", "x.txt": "1"}
        message = "Grow trees\n\nChange-Id: Iabc"
        self.root = repository.commit(files, message, when=100)
        repository.commit({"x.txt": "2"}, "Only text", when=200)
        many_files = {f"many/F{number}.java": "1" for number in range(31)}
        self.before = repository.commit(many_files, "Import", when=300)
        fixed = {"a/Tree.java": "2", "a/New.java": "1"}
        self.fix = repository.commit(fixed, "Fix tree bug 7", when=400)
        frames = "at a.Tree.grow(Tree.java:1) at a.Tree.x(Tree.java:2) node"
        opened = datetime.fromtimestamp(350, UTC)
        self.case = Case(
            report=BugReport("7", "Tree tree breaks", frames, opened),
            fix_commit=self.fix,
            before_commit=self.before,
            fixed_at=400,
            listed=("a/New.java", "a/Tree.java"),
            fixed=("a/Tree.java",),
        )
        with Repository(repository.path) as opened_repository:
            self.names = opened_repository.path_names
            self.history = History.read(opened_repository, self.fix, JAVA)

    def index(self, cases):
        return HistoryIndex.build(self.history, cases, self.names)


@pytest.fixture
def project(repository):
    return Project(repository)


FIX_TERMS = {"bug": 1, "fix": 1, "tree": 1}


def test_commits_of_one_to_thirty_source_files_are_documents(project):
    """Neither the commit of a text alone nor the one of 31 files is."""
    commits = project.index([project.case]).commits
    assert commits.ids == [project.root, project.fix]
    assert commits.times.tolist() == [100, 400]
    assert contents(commits, project.names) == [
        ({"grow": 1, "tree": 1}, {"a/Leaf.java", "a/Tree.java"}),
        (FIX_TERMS, {"a/New.java", "a/Tree.java"}),
    ]


def test_a_labelled_report_is_known_from_its_fix_on(project):
    reports = project.index([project.case]).reports
    assert reports.ids == ["7"]
    assert reports.commit_ids == [project.fix]
    assert reports.times.tolist() == [400]


def test_a_labelled_report_touches_all_files_that_its_fix_changed(project):
    """Also the file that the fix added. Stack frames are no terms, but name a class."""
    reports = project.index([project.case]).reports
    expected = ({"tree": 2, "break": 1, "node": 1}, {"a/New.java", "a/Tree.java"})
    assert contents(reports, project.names) == [expected]
    assert reports.classes == ["a.Tree"]


def test_a_fix_is_not_known_in_the_version_before_it(project):
    """Even if the report was opened later by the clock."""
    contained = project.history.ancestors(project.before)
    late = project.index([project.case]).as_of(9999, contained)
    assert late.reports.known.tolist() == [False]
    assert late.commits.known.tolist() == [True, False]


def test_without_known_fixes_commits_that_fix_stand_in_for_reports(project):
    case = replace(project.case, fix_commit="", before_commit=project.fix)
    reports = project.index([case]).reports
    assert reports.ids == [project.fix]
    assert reports.commit_ids == [project.fix]
    [(terms, _)] = contents(reports, project.names)
    assert terms == FIX_TERMS


def test_labels_without_a_fix_change_nothing_but_the_reports(project):
    case = replace(project.case, fix_commit="", before_commit=project.before)
    with_fix = to_arrays({"history": project.index([project.case])})
    with_version = to_arrays({"history": project.index([case])})
    different = {
        name for name in with_fix if not np.array_equal(with_fix[name], with_version[name])
    }
    assert {name.split(".")[1] for name in different} == {"reports"}


def test_without_labelled_reports_there_are_no_reports(project):
    assert project.index([]).reports.ids == []


def test_stored_documents_are_those_of_this_history_version(repository):
    """Stored histories are found by HistoryIndex.VERSION.

    If this test has to change, raise the version, and write it here.
    """
    message = (
        "Fix crash of XMLParser in parse_all\n\n"
        "The buffer's size was read twice, see Größe.\n\nChange-Id: I1"
    )
    repository.commit({f"src/F{n}.java": "1" for n in range(30)}, message)
    with Repository(repository.path) as opened:
        history = History.read(opened, "main", JAVA)
    index = HistoryIndex.of_commits(history.ids, HistoryIndex.payloads(history), history.path_names)
    terms = "buffer crash fix größe pars parseall parser read size twice xml xmlparser".split()
    assert HistoryIndex.VERSION == 10
    assert index.commits.vocabulary == terms
    assert index.commits.counts.tolist() == [1] * len(terms)
    [commit] = contents(index.commits, history.path_names)
    [report] = contents(index.reports, history.path_names)
    assert commit == report


@pytest.mark.parametrize(
    "trailer",
    [
        "Signed-off-by: A <a@b>",
        "git-svn-id: https://x@1",
        "Co-Authored-By: B",
        "Reviewed-on: http://x",
    ],
)
def test_trailers_are_lines_of_their_own(trailer):
    assert strip_trailers(f"Fix it\n\n{trailer}\n").strip() == "Fix it"
    assert trailer in strip_trailers(f"Fix it: {trailer}")


def test_large_commits_keep_the_files_that_other_paths_have(repository):
    repository.commit({"src/Cart.java": "1"}, "Begin")
    large = repository.commit(
        {f"src/F{n}.java": "1" for n in range(MAX_FILES)} | {"src/Cart.java": "2"}
    )
    with Repository(repository.path) as opened:
        history = History.read(opened, "main", JAVA)
    paths = StringTable()
    index = HistoryIndex.of_commits(history.ids, HistoryIndex.payloads(history), paths)
    assert index.commits.ids == [repository.commits[0]]
    assert index.large.ids == [large]
    assert index.large.files.tolist() == [paths.ids["src/Cart.java"]]
    assert index.large.sizes.tolist() == [MAX_FILES + 1]
    assert len(paths) == 1


def test_large_commits_keep_the_files_that_later_commits_change(repository):
    large = repository.commit({f"src/F{n}.java": "1" for n in range(MAX_FILES + 1)}, "Import")
    repository.commit({"src/F3.java": "2"}, "Change one")
    with Repository(repository.path) as opened:
        history = History.read(opened, "main", JAVA)
    paths = StringTable()
    index = HistoryIndex.of_commits(history.ids, HistoryIndex.payloads(history), paths)
    assert index.large.ids == [large]
    assert index.large.files.tolist() == [paths.ids["src/F3.java"]]


def test_large_commits_are_known_as_of_a_time():
    documents = Documents.collect([make_commit(3, (0,)), make_commit(1, (0,), number=1)])
    history = replace(make_history([]), large=documents)
    assert history.as_of(NOW - 2 * DAY).large.known.tolist() == [True, False]


def read_index(repository):
    """Return the history index of a repository of Java."""
    with Repository(repository.path) as opened:
        history = History.read(opened, "main", JAVA)
    return HistoryIndex.of_commits(history.ids, HistoryIndex.payloads(history), StringTable())


@pytest.mark.parametrize("size", [MAX_FILES + 1, MAX_LARGE_FILES + 1])
def test_large_commits_are_found_by_their_number(repository, size):
    large = repository.commit({f"src/F{n}.java": "1" for n in range(size)}, "Import it (#123)")
    index = read_index(repository)
    [number] = index.large.by_name["#123"]
    assert index.large.ids[number] == large
    assert index.large.sizes[number] == size


def test_large_merges_are_found_by_their_number_and_have_no_files(repository):
    begin = repository.commit({"src/Cart.java": "1"}, "Begin")
    files = {f"src/F{n}.java": "1" for n in range(MAX_FILES + 1)}
    side = repository.commit(files, "Add files", parents=[begin])
    message = "Merge pull request #123 from a/files"
    merge = repository.commit(files, message, parents=[begin, side])
    index = read_index(repository)
    [number] = index.merges.by_name["#123"]
    assert index.merges.ids[number] == merge
    assert index.merges.sizes[number] == MAX_FILES + 1
    assert not len(index.merges.files)


def test_huge_commits_without_a_name_are_left_out(repository):
    repository.commit({f"src/F{n}.java": "1" for n in range(MAX_LARGE_FILES + 1)})
    with Repository(repository.path) as opened:
        history = History.read(opened, "main", JAVA)
    assert list(HistoryIndex.payloads(history)) == [b""]
