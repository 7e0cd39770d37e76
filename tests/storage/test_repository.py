"""A version is made ready once and kept beside the facts; a kept file is never trusted blindly."""

import os
import shutil
from collections import Counter
from contextlib import closing

import numpy as np
import pytest

from tests.conftest import HOUR, GitRepository, git_environment
from tosloc.core.records import BugReport
from tosloc.git.process import Git
from tosloc.git.repository import Repository
from tosloc.rank import features
from tosloc.rank.stage_one import StageOne, StageOneAnswer
from tosloc.retrieval.context import QueryContext
from tosloc.retrieval.documents import Document, Documents
from tosloc.retrieval.query import Query
from tosloc.storage import repository as module
from tosloc.storage.cache import PLACE_FILE, default_store, note_use
from tosloc.storage.repository import IndexedRepository

WORDS = "parser socket ledger reader writer widget cookie planet rocket violin first byte loses open close".split()
STAGE = StageOne(features.ALL, np.linspace(0.5, 1.5, len(features.ALL)))
REPORT = BugReport(
    "r",
    "Parser loses the first byte of a socket",
    "ParserService fails with a ledger since #4003. at org.app.core.ParserService.open(ParserService.java:3)",
    None,
)


def source(seed, name="X"):
    """A class of some of the words."""
    rng = np.random.default_rng(seed)
    lines = [
        f"    void {word}{name}() {{ {rng.choice(WORDS)}(); }}" for word in rng.choice(WORDS, 4)
    ]
    return "\n".join([f"/** The {rng.choice(WORDS)}. */", f"class {name} {{", *lines, "}"]) + "\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Fourteen commits, some of one second, some that fix."""
    folder = tmp_path_factory.mktemp("grown")
    git = GitRepository.new(folder / "repo", bare=True)
    git.git("config", "fastimport.unpackLimit", "1000")
    files = {
        f"src/org/app/p{n % 3}/{word.title()}Service.java": source(n, word.title())
        for n, word in enumerate(WORDS)
    }
    commits = [(files, "Start", 1_000_000_000)]
    for number in range(13):
        path = list(files)[(5 * number) % len(files)]
        said = f"Fix bug {4000 + number}: " if number % 3 == 0 else ""
        when = 1_000_000_000 + HOUR * (number // 2)
        commits.append(
            ({path: source(100 + number)}, f"{said}{WORDS[number]} {WORDS[number - 3]}", when)
        )
    git.commit_all(commits)
    return git


@pytest.fixture
def grown(made, tmp_path):
    """A copy of it, to which commits can be added."""
    path = shutil.copytree(made.path, tmp_path / "repo")
    return GitRepository(path, True, git_environment(tmp_path), list(made.commits))


@pytest.fixture
def project(grown, tmp_path):
    with Repository(grown.path) as repo:
        opened = IndexedRepository(repo, tmp_path / "cache" / "facts.sqlite", {".java"}, jobs=1)
        yield opened
        opened.close()


def kept(project):
    return sorted((project.store_path.parent / "facts.versions").glob("*"))


def same(one, other):
    left, right = one.to_arrays(), other.to_arrays()
    return all(np.array_equal(left[name], right[name]) for name in left | right)


def not_again(*_, **__):
    raise AssertionError("read or made again")


def test_a_version_is_made_once(project, grown, monkeypatch):
    grown.commit({b"src/caf\xe9.java": "class C { }"}, "A name that is no UTF-8")
    first = project.prepare("HEAD")
    assert first.snapshot.commit == project.repo.resolve("HEAD")
    assert [len(first.history.commits), len(first.history.reports), len(first.commit_ids)] == [
        15,
        5,
        15,
    ]
    assert "src/caf\udce9.java" in first.snapshot.paths
    for name in ("build_facts", "snapshot", "load_facts"):
        monkeypatch.setattr(IndexedRepository, name, not_again)
    monkeypatch.setattr(Git, "objects", not_again)
    again = project.prepare("HEAD")
    assert same(first, again)
    assert (again.snapshot.paths, again.snapshot.blobs) == (
        first.snapshot.paths,
        first.snapshot.blobs,
    )
    assert again.snapshot.path_names.ids == first.snapshot.path_names.ids


@pytest.mark.parametrize("what", ["version", "suffixes", "code", "shallow", "analyser"])
def test_another_query_has_another_version(project, monkeypatch, what):
    project.prepare("HEAD")
    if what == "suffixes":
        project.suffixes = frozenset({".java", ".py"})
    elif what == "code":
        monkeypatch.setattr(module, "HISTORY_VERSION", 0)
    elif what == "shallow":
        monkeypatch.setattr(Repository, "shallow", frozenset({project.repo.resolve("HEAD")}))
    elif what == "analyser":
        monkeypatch.setattr(
            module, "with_grammar_release", lambda language, lizard: f"{language} of another time"
        )
    project.prepare("HEAD~1" if what == "version" else "HEAD")
    assert len(kept(project)) == 2


@pytest.mark.parametrize("damage", ["cut", "no arrays", "pipe"])
def test_a_damaged_file_is_made_again(project, damage):
    first = project.prepare("HEAD")
    [path] = kept(project)
    whole = path.read_bytes()
    path.unlink()  # what is mapped is not written to
    if damage == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(whole[: len(whole) // 2] if damage == "cut" else b"no archive")
    assert same(first, project.prepare("HEAD"))
    assert path.read_bytes() == whole


def test_a_pipe_in_the_cache_is_replaced(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    repository.commit({"a.py": "x = 1"})
    with Repository(repository.path) as repo:
        store = default_store(repo)
        store.parent.mkdir(parents=True)
        os.mkfifo(store.with_name(PLACE_FILE))
        note_use(repo, store)
    assert store.with_name(PLACE_FILE).is_file()


def test_only_the_last_used_are_kept(project, grown, monkeypatch):
    monkeypatch.setattr(module, "MAX_KEPT_FILES", 3)
    for number in range(5):
        grown.commit({"src/Reader.java": f"class Reader {{ int c{number}; }}"}, "One more")
        project.prepare(grown.commits[-1])
        project.prepare(grown.commits[0])  # used all the time
    assert len(kept(project)) == 3
    assert any(grown.commits[0] in path.name for path in kept(project))


@pytest.mark.parametrize(("most", "left"), [(0, 2), (10**9, 5)])
def test_kept_versions_are_bounded_by_their_size(project, grown, monkeypatch, most, left):
    monkeypatch.setattr(module, "MIN_KEPT_FILES", 2)
    monkeypatch.setattr(module, "MAX_KEPT_BYTES", most)
    for number in range(5):
        project.prepare(f"HEAD~{number}")
    assert len(kept(project)) == left


def test_eight_work_trees_keep_their_versions_at_once(make_repository, tmp_path, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    repository = make_repository()
    trees = []
    for number in range(8):
        repository.commit(
            {"src/Reader.java": f"class Reader {{ int c{number}; }}", "a.xml": f"<a>{number}</a>"}
        )
        repository.git("worktree", "add", "-q", "--detach", str(tmp_path / f"tree{number}"))
        trees.append(tmp_path / f"tree{number}")

    def ask():
        for tree in trees:
            with Repository(tree) as repo, closing(IndexedRepository(repo, jobs=1)) as indexed:
                commit = repo.resolve("HEAD")
                indexed.prepare(commit)
                indexed.prepare_other_files(commit)

    ask()
    monkeypatch.setattr(IndexedRepository, "snapshot", not_again)
    monkeypatch.setattr(Repository, "snapshot", not_again)
    ask()


def test_without_room_a_version_is_only_not_kept(project, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_mapped", full)
    assert len(project.prepare("HEAD").history.commits) == 14
    assert kept(project) == []


def test_a_version_with_files_that_cannot_be_read_is_not_kept(project, grown):
    grown.lose("HEAD:src/org/app/p1/WriterService.java")
    made = project.prepare("HEAD")
    assert (len(made.snapshot), made.notes) == (15, ())
    assert kept(project) == []


def answers(version):
    """Features and scores of every file, at several times."""
    found = []
    first = version.snapshot.committed_at
    for at in (first + 1.0, first - 1.5 * HOUR, first - 4.0 * HOUR):
        context = QueryContext(Query(REPORT), version.index, version.history.as_of(at))
        answer = StageOneAnswer.of(context, STAGE)
        found += [
            answer.scores.tobytes(),
            *(values.tobytes() for values in answer.columns.values()),
        ]
        assert context.shares_words
    return found


@pytest.mark.parametrize(
    ("before", "after"), [("HEAD~3", "HEAD"), ("HEAD", "HEAD~2"), ("HEAD", "moved")]
)
def test_a_version_made_where_another_is_known_read_and_made_from_nothing(
    project, grown, tmp_path, before, after
):
    gone = "src/org/app/p0/ParserService.java"
    if moved := after == "moved":
        files = {gone: None, "src/org/app/p1/SocketService.java": None}
        after = grown.commit(files | {"a/Socket.java": source(1), "z.java": source(1)}, "Move")
    project.prepare(before)
    made, read = project.prepare(after), project.prepare(after)
    with closing(
        IndexedRepository(project.repo, tmp_path / "cold.sqlite", {".java"}, jobs=1)
    ) as cold:
        whole = cold.prepare(after)
    for one in (made, read):
        assert (one.snapshot.paths, one.snapshot.blobs) == (
            whole.snapshot.paths,
            whole.snapshot.blobs,
        )
        assert list(one.index.paths.table.paths) == list(whole.index.paths.table.paths)
    assert answers(made) == answers(read) == answers(whole)
    assert gone in made.index.paths.table.paths
    assert (gone in made.snapshot.paths) != moved


def test_only_what_is_new_is_read(project, grown, monkeypatch):
    project.prepare("HEAD")
    grown.commit({"src/New.java": source(77, "New")}, "One more")
    asked, read = [], module.read_commits
    monkeypatch.setattr(
        module, "read_commits", lambda repo, ids, *rest: asked.extend(ids) or read(repo, ids, *rest)
    )
    assert len(project.prepare("HEAD").commit_ids) == 15
    assert asked == grown.commits[-1:]
    project.suffixes |= {".py"}
    project.prepare("HEAD")
    assert asked[1:] == grown.commits


def test_what_was_cut_off_is_read_once_the_clone_is_whole(grown, tmp_path):
    grown.git("clone", "-q", "--bare", "--depth=1", f"file://{grown.path}", str(tmp_path / "clone"))
    with (
        Repository(tmp_path / "clone") as repo,
        closing(IndexedRepository(repo, tmp_path / "facts.sqlite", {".java"}, jobs=1)) as shallow,
    ):
        assert len(shallow.prepare("HEAD").history.commits) == 0
        grown.git(f"--git-dir={tmp_path}/clone", "fetch", "-q", "--unshallow")
        assert len(shallow.prepare("HEAD").history.commits) == 14


def test_reports_whose_fix_a_version_lacks_are_not_known_there(project, grown):
    fixed = enumerate(grown.commits[-4:])
    reports = Documents.collect(
        Document(str(n), n, n, commit, Counter(a=1), (0, 1)) for n, commit in fixed
    )
    found = project.prepare("HEAD~2").with_reports(
        reports, ["gone.java", "src/org/app/p0/ParserService.java"]
    )
    assert found.as_of(9.0).reports.known.tolist() == [True, True, False, False]
    assert (found.reports.sizes.tolist(), len(found.reports.files)) == ([2.0] * 4, 4)


@pytest.mark.parametrize(
    ("paths", "note"),
    [
        (["libs/a"], "1 submodule is not searched: libs/a"),
        (["libs/a", "libs/b"], "2 submodules are not searched: libs/a, libs/b"),
        (
            [f"s{n}" for n in range(7)],
            "7 submodules are not searched: s0, s1, s2, s3, s4 and 2 more",
        ),
    ],
)
def test_submodules_are_counted_in_a_note(project, grown, paths, note):
    grown.commit({path: ("160000", b"1" * 40) for path in paths}, "Add submodules")
    assert note in project.prepare("HEAD").notes
    assert note in project.prepare("HEAD").notes, "also of a version that is kept"
