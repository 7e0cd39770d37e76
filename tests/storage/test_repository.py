"""A version is indexed once and kept beside the facts; a kept file is never trusted blindly."""

import os
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import fields, is_dataclass
from functools import cached_property

import numpy as np
import pytest

from tests.conftest import HOUR, GitRepository, git_environment
from tosloc.core.reports import BugReport
from tosloc.git import commit_info, history
from tosloc.git.history import History, HistoryLimits
from tosloc.git.process import Git
from tosloc.git.repository import Repository
from tosloc.git.repository import changes as git_changes
from tosloc.localize.repository_notes import describe_version
from tosloc.rank.features import registry
from tosloc.rank.features.query_context import QueryContext
from tosloc.rank.model.stage_one import StageOne, StageOneResult
from tosloc.reports.text.shared_lines import SharedLines
from tosloc.retrieval.history import HistoryIndex
from tosloc.retrieval.query import Query
from tosloc.retrieval.texts.documents import Document, Documents
from tosloc.retrieval.version_index import KnownReports
from tosloc.storage import repository as module
from tosloc.storage.cache import PLACE_FILE, CacheEntry
from tosloc.storage.repository import IndexedRepository

WORDS = (
    "parser socket ledger reader writer widget cookie planet rocket violin"
    " first byte loses open close"
).split()
STAGE = StageOne(registry.ALL, np.linspace(0.5, 1.5, len(registry.ALL)))
REPORT = BugReport(
    "r",
    "Parser loses the first byte of a socket",
    "ParserService fails with a ledger since #4003."
    " at org.app.core.ParserService.open(ParserService.java:3)",
    None,
)
PARSER = "src/org/app/p0/ParserService.java"


def make_source(seed, name="X"):
    """Return a class of some of the words."""
    rng = np.random.default_rng(seed)
    methods = []
    for word in rng.choice(WORDS, 4):
        methods.append(f"    void {word}{name}() {{ {rng.choice(WORDS)}(); }}")
    lines = [f"/** The {rng.choice(WORDS)}. */", f"class {name} {{", *methods, "}"]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def grown_once(tmp_path_factory):
    """Return a repository of 14 commits, some of the same second, 5 of which fix a bug."""
    folder = tmp_path_factory.mktemp("grown")
    repository = GitRepository.new(folder / "repo", bare=True)
    repository.git("config", "fastimport.unpackLimit", "1000")
    files = {}
    for number, word in enumerate(WORDS):
        path = f"src/org/app/p{number % 3}/{word.title()}Service.java"
        files[path] = make_source(number, word.title())
    commits = [(files, "Start", 1_000_000_000)]
    for number in range(13):
        path = list(files)[(5 * number) % len(files)]
        fix = f"Fix bug {4000 + number}: " if number % 3 == 0 else ""
        message = f"{fix}{WORDS[number]} {WORDS[number - 3]}"
        when = 1_000_000_000 + HOUR * (number // 2)
        commits.append(({path: make_source(100 + number)}, message, when))
    repository.commit_all(commits)
    return repository


@pytest.fixture
def grown(grown_once, tmp_path):
    """Return a copy of the repository, to which commits can be added."""
    path = shutil.copytree(grown_once.path, tmp_path / "repo")
    return GitRepository(path, True, git_environment(tmp_path), list(grown_once.commits))


@pytest.fixture
def project(grown, tmp_path):
    """Yield the repository with its facts in a folder of the test."""
    with Repository(grown.path) as repo:
        store_path = tmp_path / "cache" / "facts.sqlite"
        with closing(IndexedRepository(repo, store_path, {".java"}, jobs=1)) as opened:
            yield opened


def kept_files(project):
    return sorted((project.store_path.parent / "facts.versions").glob("*"))


def is_same(version, other):
    left = version.to_arrays()
    right = other.to_arrays()
    return all(np.array_equal(left[name], right[name]) for name in left | right)


def fail(*_, **__):
    raise AssertionError("read or built again")


# A version is indexed once


def test_a_version_has_the_files_and_history_of_its_commit(project, grown):
    """The fifteenth commit has a file whose name is no UTF-8."""
    grown.commit({b"src/caf\xe9.java": "class C { }"}, "A name that is no UTF-8")
    version = project.index_version("HEAD")
    assert version.snapshot.commit == project.repo.resolve("HEAD")
    assert len(version.history.commits) == 15
    assert len(version.history.reports) == 5
    assert len(version.commit_ids) == 15
    assert "src/caf\udce9.java" in version.snapshot.paths


def test_a_version_is_indexed_once(project, grown, monkeypatch):
    grown.commit({b"src/caf\xe9.java": "class C { }"}, "A name that is no UTF-8")
    first = project.index_version("HEAD")
    for name in ("build_facts", "snapshot", "load_facts"):
        monkeypatch.setattr(IndexedRepository, name, fail)
    monkeypatch.setattr(Git, "objects", fail)
    again = project.index_version("HEAD")
    assert is_same(first, again)
    assert again.snapshot.paths == first.snapshot.paths
    assert again.snapshot.blobs == first.snapshot.blobs
    assert again.snapshot.path_names.ids == first.snapshot.path_names.ids


@pytest.mark.parametrize("difference", ["version", "suffixes", "code", "shallow", "analyser"])
def test_what_a_version_is_made_of_is_part_of_its_name(project, monkeypatch, difference):
    project.index_version("HEAD")
    revision = "HEAD"
    if difference == "version":
        revision = "HEAD~1"
    elif difference == "suffixes":
        project.suffixes = frozenset({".java", ".py"})
    elif difference == "code":
        monkeypatch.setattr(HistoryIndex, "VERSION", 0)
    elif difference == "shallow":
        monkeypatch.setattr(Repository, "shallow", frozenset({project.repo.resolve("HEAD")}))
    else:
        release = "of another release"
        monkeypatch.setattr(module, "with_grammar_release", lambda language, _: language + release)
    project.index_version(revision)
    assert len(kept_files(project)) == 2


@pytest.mark.parametrize("damage", ["cut", "no arrays", "pipe"])
def test_a_damaged_file_is_replaced(project, damage):
    first = project.index_version("HEAD")
    [path] = kept_files(project)
    content = path.read_bytes()
    path.unlink()  # Writing would change the arrays, which are mapped.
    if damage == "pipe":
        os.mkfifo(path)
    elif damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    else:
        path.write_bytes(b"no archive")
    assert is_same(first, project.index_version("HEAD"))
    assert path.read_bytes() == content


def test_a_pipe_in_the_cache_is_replaced(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    repository.commit({"a.py": "x = 1"})
    with Repository(repository.path) as repo:
        entry = CacheEntry.of(repo)
        entry.folder.mkdir(parents=True)
        os.mkfifo(entry.folder / PLACE_FILE)
        entry.note_use(repo)
    assert (entry.folder / PLACE_FILE).is_file()


# How many versions are kept


def test_only_the_last_used_versions_are_kept(project, grown, monkeypatch):
    """The first commit is used again after each new one."""
    monkeypatch.setattr(module, "MAX_KEPT_FILES", 3)
    for number in range(5):
        grown.commit({"src/Reader.java": f"class Reader {{ int c{number}; }}"}, "One more")
        project.index_version(grown.commits[-1])
        project.index_version(grown.commits[0])
    assert len(kept_files(project)) == 3
    assert any(grown.commits[0] in path.name for path in kept_files(project))


@pytest.mark.parametrize(("most", "left"), [(0, 2), (10**9, 5)])
def test_kept_versions_are_bounded_by_their_size(project, monkeypatch, most, left):
    monkeypatch.setattr(module, "MIN_KEPT_FILES", 2)
    monkeypatch.setattr(module, "MAX_KEPT_BYTES", most)
    for number in range(5):
        project.index_version(f"HEAD~{number}")
    assert len(kept_files(project)) == left


def test_eight_work_trees_keep_their_versions_at_once(make_repository, tmp_path, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    repository = make_repository()
    trees = []
    for number in range(8):
        source = f"class Reader {{ int c{number}; }}"
        repository.commit({"src/Reader.java": source, "a.xml": f"<a>{number}</a>"})
        tree = tmp_path / f"tree{number}"
        repository.git("worktree", "add", "-q", "--detach", str(tree))
        trees.append(tree)

    def prepare_all():
        for tree in trees:
            with Repository(tree) as repo, closing(IndexedRepository(repo, jobs=1)) as indexed:
                commit = repo.resolve("HEAD")
                indexed.index_version(commit)
                indexed.index_other_files(commit)

    prepare_all()
    monkeypatch.setattr(IndexedRepository, "snapshot", fail)
    monkeypatch.setattr(Repository, "snapshot", fail)
    prepare_all()


def test_a_full_disk_only_keeps_a_version_from_being_kept(project, monkeypatch):
    def fail_full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_mapped", fail_full)
    assert len(project.index_version("HEAD").history.commits) == 14
    assert kept_files(project) == []


def test_a_version_with_files_that_cannot_be_read_is_not_kept(project, grown):
    grown.lose("HEAD:src/org/app/p1/WriterService.java")
    version = project.index_version("HEAD")
    assert len(version.snapshot) == 15
    assert list(describe_version(version)) == []
    assert kept_files(project) == []


# What a version is indexed from does not matter


def features_and_scores(version):
    """Return the bytes of scores and features of every file, at several times."""
    values = []
    committed_at = version.snapshot.committed_at
    for opened in (committed_at + 1.0, committed_at - 1.5 * HOUR, committed_at - 4.0 * HOUR):
        context = QueryContext(Query(REPORT), version, version.history.as_of(opened))
        assert context.shares_words
        answer = StageOneResult.of(context, STAGE)
        values.append(answer.scores.tobytes())
        values += [column.tobytes() for column in answer.columns.values()]
    return values


def prepare_in_new_store(project, revision, store_path):
    """Return a version that is built without any fact or other version."""
    with closing(IndexedRepository(project.repo, store_path, {".java"}, jobs=1)) as indexed:
        return indexed.index_version(revision)


def check_equal_everywhere(project, before, after, tmp_path):
    """Check a version that is built after another one, read, and built from nothing."""
    project.index_version(before)
    built = project.index_version(after)
    read = project.index_version(after)
    from_nothing = prepare_in_new_store(project, after, tmp_path / "cold.sqlite")
    for version in (built, read):
        assert version.snapshot.paths == from_nothing.snapshot.paths
        assert version.snapshot.blobs == from_nothing.snapshot.blobs
        paths = list(version.table.paths)
        assert paths == list(from_nothing.table.paths)
    expected = features_and_scores(from_nothing)
    assert features_and_scores(built) == expected
    assert features_and_scores(read) == expected
    return built


@pytest.mark.parametrize(("before", "after"), [("HEAD~3", "HEAD"), ("HEAD", "HEAD~2")])
def test_a_version_is_the_same_however_it_is_indexed(project, tmp_path, before, after):
    version = check_equal_everywhere(project, before, after, tmp_path)
    assert PARSER in version.snapshot.paths


def test_a_version_with_moved_files_is_the_same(project, grown, tmp_path):
    """A path that is gone stays in the table of paths, for the sake of the history."""
    removed = {PARSER: None, "src/org/app/p1/SocketService.java": None}
    new = {"a/Socket.java": make_source(1), "z.java": make_source(1)}
    moved = grown.commit(removed | new, "Move")
    version = check_equal_everywhere(project, "HEAD~1", moved, tmp_path)
    assert PARSER in version.table.paths
    assert PARSER not in version.snapshot.paths


def test_a_version_with_large_commits_is_the_same(project, grown, tmp_path, monkeypatch):
    """The limit on large commits is one for the version, whatever was read before."""
    monkeypatch.setattr(history, "MANY_CHANGES", 2)
    monkeypatch.setattr(git_changes, "MANY_CHANGES", 2)
    monkeypatch.setattr(git_changes, "MAX_CHANGES_OF_LARGE_COMMITS", 17)
    for number in (3, 4):
        files = {f"new/{number}{position}.java": make_source(position) for position in range(5)}
        grown.commit(files, f"Fix the parser {number}")
    version = check_equal_everywhere(project, "HEAD~1", "HEAD", tmp_path)
    assert version.limits == HistoryLimits(unlisted=1)


def test_a_note_says_that_large_commits_were_not_read_in_full(project, monkeypatch):
    """Also of a version that is read from its file."""
    monkeypatch.setattr(git_changes, "MANY_CHANGES", 2)
    monkeypatch.setattr(git_changes, "MAX_CHANGES_OF_LARGE_COMMITS", 10)
    note = (
        "the files that 1 large commit changed are not used, because the large commits of this"
        " history change more than 2,000,000 files together"
    )
    assert note in list(describe_version(project.index_version("HEAD")))
    assert note in list(describe_version(project.index_version("HEAD")))


def test_a_note_says_that_messages_were_not_read_in_full(project, monkeypatch):
    """Also of a version that is read from its file."""
    monkeypatch.setattr(commit_info, "LONG_MESSAGE_BYTES", 20)
    monkeypatch.setattr(commit_info, "MAX_LONG_MESSAGES_BYTES", 60)
    note = (
        "only the beginning of 3 commit messages is used, because the long messages of this"
        " history have more than 32 MiB together"
    )
    assert note in list(describe_version(project.index_version("HEAD")))
    assert note in list(describe_version(project.index_version("HEAD")))


# Which commits are read


@pytest.fixture
def read_commits(monkeypatch):
    """Return the list of the commits that are read from now on."""
    commits = []
    read = History.of_commits

    def record(repo, ids, *rest):
        commits.extend(ids)
        return read(repo, ids, *rest)

    monkeypatch.setattr(History, "of_commits", record)
    return commits


def test_only_new_commits_are_read(project, grown, read_commits):
    project.index_version("HEAD")
    read_commits.clear()
    grown.commit({"src/New.java": make_source(77, "New")}, "One more")
    assert len(project.index_version("HEAD").commit_ids) == 15
    assert read_commits == grown.commits[-1:]


def test_all_commits_are_read_for_other_suffixes(project, grown, read_commits):
    project.index_version("HEAD")
    read_commits.clear()
    project.suffixes |= {".py"}
    project.index_version("HEAD")
    assert read_commits == grown.commits


MADE_OF_EVERYTHING = {
    "src/app/Reader.java": 'class Reader { String read() { return "first byte"; } }',
    "src/app/Copy.java": 'class Reader { String read() { return "first byte"; } }',
    "src/app/Empty.java": "",
    "src/app/Écrivain.java": "class Writer { }",
    ".github/ISSUE_TEMPLATE.md": "Which planet?\n",
    ".github/ISSUE_TEMPLATE/bug.md": "Which rocket?\n",
    "README.md": "A reader of planets.\n",
    "page.html": "<p>ledger</p>\n",
    "copy.html": "<p>ledger</p>\n",
    "logo.png": b"\x89PNG\r\n\0",
    "test/page.html": "<p>a test</p>\n",
    "vendor/lib": ("160000", b"1" * 40),
    "link.java": ("120000", "src/app/Reader.java"),
}
"""Files of all kinds: without facts, with the same content, empty, forms, submodules, links."""


def describe_value(value):
    """Return a value as plain dictionaries and lists: all of its fields, whatever they are.

    What is only computed when it is needed is left out.
    """
    if isinstance(value, np.ndarray):
        return [str(value.dtype), value.tolist()]
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, Mapping):
        return {key: describe_value(item) for key, item in value.items()}
    if isinstance(value, Sequence | frozenset):
        return [describe_value(item) for item in value]
    if is_dataclass(value):
        return {field.name: describe_value(getattr(value, field.name)) for field in fields(value)}
    described = {}
    for name, item in vars(value).items():
        if not isinstance(getattr(type(value), name, None), cached_property):
            described[name] = describe_value(item)
    return described


@pytest.mark.parametrize("method", ["index_version", "index_other_files"])
def test_a_version_that_is_read_has_every_field_of_the_one_that_was_built(
    repository, tmp_path, method
):
    repository.git("remote", "add", "origin", "https://github.com/depot/reader")
    repository.commit({"src/app/Old.java": "class Reader { int one; int two; int three; }"})
    repository.commit({"src/app/Old.java": None, **MADE_OF_EVERYTHING}, "Fix #7: rename")
    repository.git("tag", "v1.0")
    store_path = tmp_path / "cache" / "facts.sqlite"
    with (
        Repository(repository.path) as repo,
        closing(IndexedRepository(repo, store_path, {".java"}, jobs=1)) as indexed,
    ):
        commit = repo.resolve("HEAD")
        built = getattr(indexed, method)(commit)
        read = getattr(indexed, method)(commit)
    assert read is not built
    assert len(kept_files(indexed)) == 1
    assert describe_value(read) == describe_value(built)


def test_what_a_shallow_clone_lacked_is_read_once_it_is_complete(grown, tmp_path):
    clone = tmp_path / "clone"
    grown.git("clone", "-q", "--bare", "--depth=1", f"file://{grown.path}", str(clone))
    store_path = tmp_path / "facts.sqlite"
    with (
        Repository(clone) as repo,
        closing(IndexedRepository(repo, store_path, {".java"}, jobs=1)) as indexed,
    ):
        assert len(indexed.index_version("HEAD").history.commits) == 0
        grown.git(f"--git-dir={clone}", "fetch", "-q", "--unshallow")
        assert len(indexed.index_version("HEAD").history.commits) == 14


def test_reports_whose_fix_a_version_lacks_are_not_known_there(project, grown):
    """The version contains the first two of the last four commits, and one of the two files."""
    documents = []
    for number, commit in enumerate(grown.commits[-4:]):
        document = Document(str(number), number, number, commit, Counter(a=1), (0, 1))
        documents.append(document)
    reports = Documents.collect(documents)
    known = KnownReports(reports, ["gone.java", PARSER])
    history = project.index_version("HEAD~2").with_reports(known)
    assert history.as_of(9.0).reports.known.tolist() == [True, True, False, False]
    assert history.reports.sizes.tolist() == [2.0] * 4
    assert len(history.reports.files) == 4


def test_commits_stand_in_for_reports_if_no_fix_is_known(project, grown):
    version = project.index_version("HEAD")
    shared_lines = SharedLines(["which depot"], np.array([5.0]))
    history = version.with_reports(KnownReports(Documents.collect([]), (), shared_lines))
    assert history.reports is version.history.reports
    assert history.shared_lines is shared_lines


@pytest.mark.parametrize(
    ("paths", "note"),
    [
        (["libs/a"], "1 submodule is not searched: libs/a"),
        (["libs/a", "libs/b"], "2 submodules are not searched: libs/a, libs/b"),
        (
            [f"s{number}" for number in range(7)],
            "7 submodules are not searched: s0, s1, s2, s3, s4 and 2 more",
        ),
    ],
    ids=["one", "two", "seven"],
)
def test_submodules_are_counted_in_a_note(project, grown, paths, note):
    """Also of a version that is read from its file."""
    grown.commit({path: ("160000", b"1" * 40) for path in paths}, "Add submodules")
    built = project.index_version("HEAD")
    read = project.index_version("HEAD")
    assert note in list(describe_version(built))
    assert note in list(describe_version(read))
