"""Repositories made to break a reader: an answer or one error of the input, within bounds of time and memory."""

import hashlib
import io
import os
import zlib
from itertools import pairwise

import pytest

from tests.conftest import FIRST_TIME, HOUR, GitRepository
from tosloc.core.errors import RepositoryError
from tosloc.git import discovery
from tosloc.git import process as git_process
from tosloc.git import repository as git_repository
from tosloc.git.history import read_history
from tosloc.git.process import MAX_MESSAGE_BYTES
from tosloc.git.repository import Repository

JAVA = frozenset({".java"})
PERSON = b"Ada <ada@example.org>"


def raw(repository, kind, content):
    """Id of an object with this content, written loose whatever is wrong with it."""
    data = b"%s %d\0%s" % (kind.encode(), len(content), content)
    identity = hashlib.sha1(data).hexdigest()
    place = repository.objects / identity[:2] / identity[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(zlib.compress(data, 1))
    return identity


def raw_tree(repository, *entries):
    """Id of a tree of these (mode, name, id), in this order."""
    return raw(
        repository,
        "tree",
        b"".join(b"%s %s\0%s" % (m, name, bytes.fromhex(i)) for m, name, i in entries),
    )


def raw_commit(
    repository,
    *,
    tree=None,
    parents=None,
    committer=None,
    extra=b"",
    body=b"\nFix bug 77: the cookie\n",
):
    """Id of a commit of these lines: by default the last commit's tree, with the last commit as its parent."""
    last = repository.commits[-1]
    named = repository.git("rev-parse", f"{last}^{{tree}}").encode() if tree is None else tree
    lines = b"tree %s\n" % named if named else b""
    lines += b"".join(
        b"parent %s\n" % parent for parent in ([last.encode()] if parents is None else parents)
    )
    lines += b"author %s %d +0000\n" % (PERSON, FIRST_TIME)
    lines += (
        b"committer %s %d +0000\n" % (PERSON, FIRST_TIME + 9 * HOUR)
        if committer is None
        else committer
    )
    return point(repository, raw(repository, "commit", lines + extra + body))


def point(repository, commit):
    """The commit, of which the branch's file says that it is its tip, without git's opinion."""
    (repository.path / "refs/heads/main").write_text(f"{commit}\n")
    return commit


@pytest.fixture
def sound(tmp_path):
    """A small sound repository, bare, every object loose: two commits, two source files."""
    repository = GitRepository.new(tmp_path / "hostile.git", bare=True)
    repository.git("config", "fastimport.unpackLimit", "1000")
    repository.commit(
        {"src/app/Parser.java": "class Parser { }", "src/app/Cookie.java": "class Cookie { }"}
    )
    repository.commit({"src/app/Cookie.java": "class Cookie { int size; }"})
    return repository


def outcome(path):
    """The source files of everything that the commands read of a repository, or the sentence of the error."""
    try:
        with Repository(path) as opened:
            snapshot = opened.snapshot("HEAD", JAVA)
            assert len(list(opened.texts(snapshot.blobs))) == len(snapshot)
            opened.commits(read_history(opened, snapshot.commit, JAVA).ids)
            opened.resolve_many(["main", "v1", "1234567"])
            return snapshot.paths
    except RepositoryError as error:
        return str(error)


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        (b"committer %s -5 +0000\n" % PERSON, -5),
        (b"committer %s %s +0000\n" % (PERSON, b"9" * 5000), 0),
        (b"committer %s\n" % (b"> 1" * 100_000), 1),
        (b"", 0),
    ],
)
def test_times_of_commits(sound, line, seconds):
    commit = raw_commit(sound, committer=line)
    with Repository(sound.path) as opened:
        assert opened.snapshot(commit, JAVA).committed_at == seconds
        assert read_history(opened, "HEAD", JAVA).times[-1] == seconds


def test_messages_of_commits(sound):
    for encoding in (b"ISO-8859-1", b"idna", b"base64", b"\0", b""):
        commit = raw_commit(sound, extra=b"encoding %s\n" % encoding, body=b"\ncaf\xe9")
        with Repository(sound.path) as opened:
            assert opened.commits([commit])[0].message == (
                "café" if encoding == b"ISO-8859-1" else "caf\ufffd"
            )
    large = raw_commit(sound, body=b"\nfix bug 1\n" + b"a" * 2_000_000)
    forged = raw_commit(sound, body=b"\nx\0:100644 100644 a b M\0B.java", parents=[large.encode()])
    with Repository(sound.path) as opened:
        assert len(opened.commits([large])[0].message) == MAX_MESSAGE_BYTES
        history = read_history(opened, forged, JAVA)
        assert (history.messages[-1], history.touched[-1]) == ("x", [])


@pytest.mark.parametrize(
    "lines", [{"tree": b"no such thing"}, {"tree": b""}, {"parents": [b"\xe9" * 40]}]
)
def test_commits_that_name_nothing(sound, lines):
    commit = raw_commit(sound, **lines)
    with Repository(sound.path) as opened:
        for ask in (
            lambda: opened.commits([commit]),
            lambda: opened.snapshot(commit, JAVA),
            lambda: opened.resolve("HEAD"),
        ):
            with pytest.raises(RepositoryError, match="no commit"):  # git does not take it for one
                ask()
        assert opened.snapshot(sound.commits[-1], JAVA).paths  # it goes on working


def test_damaged_trees(sound):
    one, two = raw(sound, "blob", b"one"), raw(sound, "blob", b"two")
    inner, file, folder = raw_tree(sound, (b"100644", b"In.java", one)), b"100644", b"40000"
    twice = [
        (file, b"A.java", one),
        (file, b"A.java", two),
        (folder, b"d", inner),
        (folder, b"d", inner),
    ]
    for entries, paths in (
        (twice, ("A.java", "d/In.java")),
        (
            [(file, b"Gone.java", "3" * 40), (file, b"\xff\n.java", two)],
            ("Gone.java", "\udcff\n.java"),
        ),
        (
            [(folder, b"f.java", one)],
            f"{sound.path}: git ls-tree failed",
        ),  # a folder that is a file
    ):
        raw_commit(sound, tree=raw_tree(sound, *entries).encode())
        assert outcome(sound.path)[: len(paths)] == paths


def test_a_tree_bomb_is_refused(sound, monkeypatch):
    """Four trees that stand for ten thousand files: each level holds the next one ten times."""
    monkeypatch.setattr(git_repository, "MAX_FILES", 2000)
    tree = raw_tree(
        sound, *((b"100644", b"%d.java" % place, raw(sound, "blob", b"x")) for place in range(10))
    )
    for _ in range(3):
        tree = raw_tree(sound, *((b"40000", b"d%d" % place, tree) for place in range(10)))
    raw_commit(sound, tree=tree.encode())
    with Repository(sound.path) as opened:
        with pytest.raises(RepositoryError, match="has more than 2,000 files"):
            opened.snapshot("HEAD", JAVA)
        with pytest.raises(RepositoryError, match="a commit touches more than 2,000 files"):
            read_history(opened, "HEAD", JAVA)
        assert len(opened.snapshot(sound.commits[-1], JAVA)) == 2


def test_objects_that_are_too_large(sound, monkeypatch):
    monkeypatch.setattr(git_process, "MAX_OBJECT_BYTES", 1000)
    large, small = raw(sound, "blob", b"x" * 5500), raw(sound, "blob", b"x" * 1000)
    commit = raw_commit(sound, body=b"\n" + b"x" * 1000)
    with Repository(sound.path) as opened:
        sizes = [
            len(data or b"")
            for _, data in opened.texts([small, large, large, small, "0" * 40, small])
        ]
        assert sizes == [1000, 0, 0, 1000, 0, 1000]
        with pytest.raises(RepositoryError, match=f"no commit '{commit}'"):
            opened.commits([commit])


FILES = (
    "HEAD",
    "config",
    "shallow",
    "commondir",
    "packed-refs",
    "refs/heads/main",
    "objects/info/alternates",
)


@pytest.mark.parametrize("place", FILES)
def test_a_damaged_file_is_an_answer_or_an_error_of_the_input(sound, place):
    file = sound.path / place
    file.parent.mkdir(exist_ok=True)
    for content in (b"", b"\xff\xe9\n", b"[core", b"ref: refs/heads/main\n", b"9" * 5000, None):
        file.unlink(missing_ok=True)
        file.mkdir() if content is None else file.write_bytes(content)
        found = outcome(sound.path)
        assert len(found) == 2 or (str(sound.path) in found and "\n" not in found)


@pytest.mark.parametrize("place", [*FILES, "refs/tags/v1", "v1", "config.worktree"])
def test_a_named_pipe_in_the_git_directory_is_one_sentence(sound, monkeypatch, place):
    monkeypatch.setattr(git_process, "SECONDS_BEFORE_LOOK", 0.2)
    sound.git("config", "extensions.worktreeConfig", "true")
    file = sound.path / place
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    os.mkfifo(file)
    sentence = outcome(sound.path)
    assert "named pipe" in sentence
    assert str(file) in sentence


@pytest.mark.parametrize("kind", ["blob", "commit"])
def test_a_named_pipe_in_place_of_an_object_is_one_sentence(sound, monkeypatch, kind):
    monkeypatch.setattr(git_process, "SECONDS_BEFORE_LOOK", 0.2)
    identity = sound.git("rev-parse", "HEAD:src/app/Parser.java" if kind == "blob" else "HEAD")
    file = sound.objects / identity[:2] / identity[2:]
    file.unlink()
    os.mkfifo(file)
    sentence = outcome(sound.path)
    assert f"{file} is a named pipe or a device" in sentence


@pytest.mark.parametrize("depth", [1, 2])
def test_a_named_pipe_that_the_configuration_includes_is_one_sentence(
    sound, tmp_path, monkeypatch, depth
):
    monkeypatch.setattr(git_process, "SECONDS_BEFORE_LOOK", 0.2)
    files = [
        sound.path / "config",
        *(tmp_path / f"included{number}" for number in range(1, depth + 1)),
    ]
    for including, included in pairwise(files):
        with including.open("a") as config:
            config.write(f"[include]\n\tpath = {included}\n")
    os.mkfifo(files[-1])
    assert f"{files[-1]} is a named pipe or a device" in outcome(sound.path)


def test_an_alternate_is_where_git_takes_it_to_be(sound, tmp_path):
    """Git takes .. away before it follows links."""
    root = tmp_path / "root"
    (root / "a/b/c/d").mkdir(parents=True)
    repository = sound.path.rename(root / "repo.git")
    discovery.check_inside_roots(repository, [root])
    (repository / "objects/link").symlink_to(root / "a/b/c/d")
    (repository / "objects/info").mkdir(exist_ok=True)
    (repository / "objects/info/alternates").write_text("link/../../../../outside\n")
    with pytest.raises(
        RepositoryError, match=f"git would read {tmp_path}/outside, which lies outside {root}"
    ):
        discovery.check_inside_roots(repository, [root])


def test_an_alternate_in_a_loop_of_links_is_refused(sound, tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    repository = sound.path.rename(root / "repo.git")
    (repository / "objects/loop").symlink_to("loop")
    (repository / "objects/info").mkdir(exist_ok=True)
    (repository / "objects/info/alternates").write_text("loop\n")
    with pytest.raises(RepositoryError, match=f"which lies outside {root}"):
        discovery.check_inside_roots(repository, [root])


def test_parts_between_nul_bytes_are_read_whole_up_to_the_end_of_the_stream():
    long = b"x" * (3 << 20)
    stream = io.BytesIO(b"a\0\0" + long + b"\0last")
    assert list(git_process.split_at_nul(stream)) == [b"a", long, b"last"]
