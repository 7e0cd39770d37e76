"""Repository against git's own answers, on repositories with every oddity that real ones have."""

import os
import pickle
import shutil
import subprocess
import sys
import zlib

import pytest

from tosloc.core.errors import RepositoryError, UnknownCommit
from tosloc.git import repository as git_repository
from tosloc.git.history import read_history
from tosloc.git.repository import Repository, decode_text

JAVA = frozenset({".java"})
ODD = {
    "src/a b.java": "blank",
    "src/né.java": "accent",
    "src/UPPER.JAVA": "upper case",
    "src/new\nline.java": "line feed",
    "src-x/a.java": "'-' sorts before '/'",
    "src.java": "'.' too, and it is a file",
    "run.java": ("100755", "executable"),
    "link.java": ("120000", "src.java"),
    "module.java": ("160000", "1" * 40),
    "notes.txt": "not source",
    b"src/\xe9.java": "Latin-1 name",
}


def text_of(opened, blob):
    [(_, data)] = opened.texts([blob])
    return None if data is None else decode_text(data)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away"
)
def test_repository_of_another_account(repository):
    commit = repository.commit({"A.java": "x"})
    for place in [repository.path, *repository.path.rglob("*")]:
        os.chown(place, 12345, 12345)
    with Repository(repository.path) as opened:
        assert opened.resolve("HEAD") == commit
        assert opened.snapshot("main", JAVA).paths == ("A.java",)


def test_texts_stream_in_order_and_survive_being_left(repository):
    contents = {f"{number}.java": f"text {number}\n" * (number % 7) for number in range(100)}
    contents["big.java"] = "x" * 3_000_000
    repository.commit(contents)
    with Repository(repository.path) as opened:
        snapshot = opened.snapshot("HEAD", JAVA)
        asked = [*snapshot.blobs, "0" * 40, snapshot.blobs[0]]
        answers = list(opened.texts(iter(asked)))
        expected = [contents[path].encode() for path in snapshot.paths]
        assert answers == list(zip(asked, [*expected, None, expected[0]], strict=True))
        left = opened.texts(asked)
        assert next(left) == answers[0]
        assert list(opened.texts(asked[:60])) == answers[:60]
        assert next(left) == answers[1]


def test_missing_and_damaged_blobs_are_skipped_and_a_missing_folder_is_an_error(repository):
    repository.commit({"a/A.java": "a", "b/B.java": "b", "b/C.java": "c", "d/D.java": "d"})
    repository.lose("HEAD:b/B.java")
    damaged = repository.git("rev-parse", "HEAD:b/C.java")
    repository.lose(damaged)
    (repository.objects / damaged[:2] / damaged[2:]).write_bytes(
        zlib.compress(b"blob 1000\0short")[:-4]
    )
    with Repository(repository.path) as opened:
        blobs = opened.snapshot("HEAD", JAVA).blobs
        assert [data for _, data in opened.texts(blobs)] == [b"a", None, None, b"d"]
        repository.lose("HEAD:a")
        with pytest.raises(
            RepositoryError, match=r"git ls-tree failed \(.*\); run 'git fsck' there"
        ):
            opened.snapshot("HEAD", {".jav", ".java"})


@pytest.mark.parametrize("how", ["kill -9 $$", "exit 3"])
def test_a_git_that_is_killed_is_no_answer(repository, tmp_path, monkeypatch, how):
    commit = repository.commit({"A.java": "class A { }"})
    wrapper = tmp_path / "bin/git"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f'#!/bin/sh\ncase " $* " in *" cat-file "*) {how};; esac\nexec {shutil.which("git")} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", str(wrapper.parent), prepend=os.pathsep)
    with Repository(repository.path) as opened:
        for ask in (
            opened.resolve,
            lambda name: opened.commits([name]),
            lambda name: text_of(opened, name),
        ):
            with pytest.raises(RepositoryError, match="git cat-file failed"):
                ask(commit)


@pytest.mark.slow  # GitPython looks once, when it is imported
def test_a_git_that_is_not_there_is_one_sentence(repository, tmp_path):
    code = "import sys; from tosloc.git.repository import Repository; Repository(sys.argv[1])"
    environment = {**os.environ, "GIT_PYTHON_GIT_EXECUTABLE": str(tmp_path / "no-git")}
    done = subprocess.run(
        [sys.executable, "-c", code, str(repository.path)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert "RepositoryError: git is not installed, " in done.stderr
    assert "not what $GIT_PYTHON_GIT_EXECUTABLE names" in done.stderr


def test_versions_have_the_regular_files_in_order_of_bytes(repository, monkeypatch):
    monkeypatch.setattr(git_repository, "_MAX_REMEMBERED_FILES", 5)
    first = repository.commit(ODD, when=1234567890)
    second = repository.commit({"src.java": None})
    paths = ["run.java", "src-x/a.java", "src.java", "src/UPPER.JAVA", "src/a b.java"]
    paths += ["src/new\nline.java", "src/né.java", "src/\udce9.java"]
    with Repository(repository.path) as opened:
        for commit, expected in (
            (first, paths),
            (second, [*paths[:2], *paths[3:]]),
            (first, paths),
        ):
            found = opened.snapshot(commit, JAVA)
            assert list(found.paths) == expected
        assert (found.commit, found.committed_at) == (first, 1234567890)
        assert [text_of(opened, blob) for blob in found.blobs[-2:]] == ["accent", "Latin-1 name"]
        assert opened.snapshot(first, {".txt"}).paths == ("notes.txt",)


@pytest.mark.parametrize("kind", ["work tree", "bare", "no config", "git file", "home", "sha256"])
def test_every_kind_of_repository_opens(make_repository, tmp_path, monkeypatch, kind):
    repository = make_repository(
        "project.git" if kind == "bare" else "project", bare=kind == "bare"
    )
    if kind == "sha256":
        shutil.rmtree(repository.path / ".git")
        repository.git("init", "-q", "-b", "main", "--object-format=sha256")
    commit, path = repository.commit({"d/A.java": "class A {}"}), repository.path
    if kind == "no config":
        path = (repository.path / ".git").rename(tmp_path / "repo")
        (path / "config").unlink()
    elif kind == "git file":
        path = tmp_path / "linked"
        repository.git("worktree", "add", "-q", "--detach", str(path), commit)
    elif kind == "home":
        monkeypatch.setenv("HOME", str(tmp_path))
        path = "~/project"
    with Repository(path) as opened:
        assert opened.resolve("HEAD") == commit
        assert [text_of(opened, blob) for blob in opened.snapshot("HEAD", JAVA).blobs] == [
            "class A {}"
        ]
        assert opened.name == ("project" if kind != "no config" else tmp_path.name)


def test_not_a_repository_or_an_empty_one(tmp_path, repository):
    (tmp_path / "file").write_text("x")
    for name, words in (
        ("nowhere", r"nowhere: no such folder; give the path of a git repository"),
        ("", r": not a git repository; give the folder that has \.git in it"),
        ("file", "file is a file; name the folder of the git repository"),
    ):
        with pytest.raises(RepositoryError, match=words):
            Repository(tmp_path / name)
    with (
        Repository(repository.path) as opened,
        pytest.raises(UnknownCommit, match="no commit 'HEAD'"),
    ):
        opened.snapshot("HEAD", JAVA)


def test_revisions_and_commits(repository):
    root = repository.commit({"A.java": "1"}, "grüße\n\nbody\n", when=5)
    side = repository.commit({"B.java": "1"}, "caf\xe9".encode("latin-1"), encoding="ISO-8859-1")
    merge = repository.commit({}, b"broken \xff", parents=(root, side))
    repository.git("tag", "-a", "-m", "release", "v1", root)
    repository.git("replace", side, root)  # which is not followed
    tag, tree = repository.git("rev-parse", "v1", f"{root}^{{tree}}").split()
    with Repository(repository.path) as opened:
        named = {"main~1": root, "v1": root, tag: root, side[:9].upper(): side, "main": merge}
        unknown = (
            "nothing",
            "",
            " ",
            "main\nmain",
            "--all",
            "0" * 40,
            "a" * 64,
            "main:A.java",
            tree,
        )
        assert opened.resolve_many([*named, *unknown]) == named | dict.fromkeys(unknown)
        with pytest.raises(
            UnknownCommit, match=r"repo: no commit 'nothing'; check its spelling, or run: git fetch"
        ):
            opened.resolve("nothing")
        first, second, third = opened.commits([root, side, merge])
        assert (first.tree, first.message, first.parents, first.committed_at) == (
            tree,
            "grüße\n\nbody\n",
            (),
            5,
        )
        assert (second.message, second.parents) == ("café", (root,))
        assert (third.message, third.parents) == ("broken \ufffd", (root, side))
        assert [opened.subject(name) for name in (root, "0" * 40, tree)] == ["grüße", None, None]
        for none in ("0" * 40, tree):
            for ask in (
                lambda name: opened.commits([name]),
                lambda name: opened.snapshot(name, JAVA),
            ):
                with pytest.raises(UnknownCommit):
                    ask(none)


@pytest.mark.parametrize("name", [":/Fixed", ":/^Fixed the", "HEAD^{/Fixed}", ":/!-Start"])
def test_a_commit_is_found_by_its_message(repository, name):
    repository.commit({"A.java": "1"}, "Start")
    fixed = repository.commit({"A.java": "2"}, "Fixed the door")
    with Repository(repository.path) as opened:
        assert opened.resolve(name) == fixed


def test_a_pattern_that_no_message_matches_is_one_sentence(repository):
    repository.commit({"A.java": "1"}, "Start")
    with (
        Repository(repository.path) as opened,
        pytest.raises(UnknownCommit, match="no commit ':/Fixed'"),
    ):
        opened.resolve(":/Fixed")


SEPARATORS = ["\u2028", "\u2029", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85"]


@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_name_with_a_separator_of_lines_is_one_name(repository, separator):
    name = f"Ada{separator}Lovelace"
    repository.environment["GIT_AUTHOR_NAME"] = name
    (repository.path / "A.java").write_text("1")
    repository.git("add", "A.java")
    repository.git("commit", "-q", "-m", f"Open{separator}the door\n\nbody")
    commit = repository.git("rev-parse", "HEAD")
    with Repository(repository.path) as opened:
        assert opened.authors([commit], commit) == {commit: name}
        assert opened.subject(commit) == f"Open{separator}the door"


@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_mailmap_with_a_separator_of_lines_gives_one_name(repository, separator):
    name = f"Ada{separator}Lovelace"
    commit = repository.commit({".mailmap": f"{name} <ada@example.org> <tester@example.org>\n"})
    repository.environment["GIT_AUTHOR_EMAIL"] = "tester@example.org"
    (repository.path / "A.java").write_text("1")
    repository.git("add", "A.java")
    repository.git("commit", "-q", "-m", "x")
    commit = repository.git("rev-parse", "HEAD")
    with Repository(repository.path) as opened:
        assert opened.authors([commit], commit) == {commit: name}


def test_shallow_and_partial_clones_are_read_without_fetching(repository, tmp_path):
    commits = [repository.commit({"A.java": str(number), "B.java": "same"}) for number in range(4)]
    repository.git("config", "uploadpack.allowFilter", "true")
    for name, option in (("shallow", "--depth=2"), ("partial", "--filter=blob:none")):
        repository.git(
            "clone",
            "-q",
            "--no-checkout",
            option,
            f"file://{repository.path}",
            str(tmp_path / name),
        )
    with Repository(tmp_path / "shallow") as opened:
        assert opened.shallow == {commits[2]}
        assert [info.parents for info in opened.commits(commits[2:])] == [(), (commits[2],)]
        with pytest.raises(
            UnknownCommit, match=r"in this shallow clone; run: git fetch --unshallow"
        ):
            opened.resolve("HEAD~2")
        history = read_history(opened, "HEAD", JAVA)
        assert history.ids == tuple(commits[2:])
        assert history.touched == [
            [],
            [opened.path_names.ids["A.java"]],
        ]  # what the first one touches is not known
    with Repository(tmp_path / "partial") as opened:
        snapshot = opened.snapshot("HEAD", JAVA)
        assert snapshot.paths == ("A.java", "B.java")
        assert [data for _, data in opened.texts(snapshot.blobs)] == [
            None,
            None,
        ]  # git left to itself fetches them


def test_nothing_of_the_folder_changes_and_copies_are_of_their_own(
    repository, tmp_path, monkeypatch
):
    commit = repository.commit({"A.java": "1", "B.java": "2"})
    repository.commit({"A.java": "3"})
    (repository.path / "A.java").write_text("being edited")
    (repository.path / "B.java").unlink()
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))

    def state():
        files = repository.path.rglob("*")
        return {
            path: (path.lstat().st_mtime_ns, path.is_dir() or path.read_bytes()) for path in files
        }

    before = state()
    with Repository(repository.path) as opened:
        assert opened.commits([opened.resolve("HEAD")])[0].parents == (commit,)
        assert [data for _, data in opened.texts(opened.snapshot("HEAD", JAVA).blobs)] == [
            b"3",
            b"2",
        ]
        with pickle.loads(pickle.dumps(opened)) as copy:
            assert (copy.path, copy.resolve(commit)) == (opened.path, commit)
        opened.close()
        assert opened.resolve(commit) == commit  # a closed repository starts again
    assert state() == before


def test_decode_never_fails():
    for data, text in (
        (b"\xef\xbb\xbfcaf\xe9", "café"),
        (b"\xff\xfe\x00", "\ufffd"),
        (b"\x80\0", "\x80\0"),
    ):
        assert decode_text(data) == text
