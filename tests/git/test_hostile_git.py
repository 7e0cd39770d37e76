"""Repositories made to break a reader give an answer or one error of the input, within bounds."""

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
from tosloc.git.commit_info import MAX_MESSAGE_BYTES
from tosloc.git.history import History
from tosloc.git.repository import Repository, trees
from tosloc.git.repository import changes as git_changes

JAVA = frozenset({".java"})
PERSON = b"Ada <ada@example.org>"
FILE = b"100644"
FOLDER = b"40000"


def write_object(repository, kind, content):
    """Write a loose object with any content, valid or not, and return its id."""
    data = b"%s %d\0%s" % (kind.encode(), len(content), content)
    identity = hashlib.sha1(data).hexdigest()
    path = repository.objects / identity[:2] / identity[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(data, 1))
    return identity


def write_tree(repository, *entries):
    """Write a tree of entries (mode, name, id) in the order given, and return its id."""
    content = b""
    for mode, name, identity in entries:
        content += b"%s %s\0%s" % (mode, name, bytes.fromhex(identity))
    return write_object(repository, "tree", content)


def write_commit(
    repository,
    *,
    tree=None,
    parents=None,
    committer=None,
    extra=b"",
    body=b"\nFix bug 77: the cookie\n",
):
    """Write a commit of these lines as the tip of the branch main, and return its id.

    By default it has the last commit's tree, and the last commit as its parent.
    """
    last = repository.commits[-1]
    if tree is None:
        tree = repository.git("rev-parse", f"{last}^{{tree}}").encode()
    if parents is None:
        parents = [last.encode()]
    if committer is None:
        committer = b"committer %s %d +0000\n" % (PERSON, FIRST_TIME + 9 * HOUR)
    lines = b"tree %s\n" % tree if tree else b""
    for parent in parents:
        lines += b"parent %s\n" % parent
    lines += b"author %s %d +0000\n" % (PERSON, FIRST_TIME)
    commit = write_object(repository, "commit", lines + committer + extra + body)
    # Git itself would refuse to move the branch to a damaged commit.
    (repository.path / "refs/heads/main").write_text(f"{commit}\n")
    return commit


@pytest.fixture
def sound(tmp_path):
    """Build a bare repository of loose objects with two commits and two source files."""
    repository = GitRepository.new(tmp_path / "hostile.git", bare=True)
    repository.git("config", "fastimport.unpackLimit", "1000")
    repository.commit(
        {"src/app/Parser.java": "class Parser { }", "src/app/Cookie.java": "class Cookie { }"}
    )
    repository.commit({"src/app/Cookie.java": "class Cookie { int size; }"})
    return repository


def read_everything(path):
    """Read all that commands read of a repository.

    Return the paths of its source files, or the sentence of the error.
    """
    try:
        with Repository(path) as opened:
            snapshot = opened.snapshot("HEAD", JAVA)
            assert len(list(opened.texts(snapshot.blobs))) == len(snapshot)
            opened.commits(History.read(opened, snapshot.commit, JAVA).ids)
            opened.resolve_many(["main", "v1", "1234567"])
            return snapshot.paths
    except RepositoryError as error:
        return str(error)


# Commits


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        (b"committer %s -5 +0000\n" % PERSON, -5),
        (b"committer %s %s +0000\n" % (PERSON, b"9" * 5000), 0),
        (b"committer %s\n" % (b"> 1" * 100_000), 1),
        (b"", 0),
    ],
    ids=["negative", "too large", "many brackets", "missing"],
)
def test_an_odd_time_of_a_commit_is_a_date(sound, line, seconds):
    commit = write_commit(sound, committer=line)
    with Repository(sound.path) as opened:
        assert opened.snapshot(commit, JAVA).committed_at == seconds
        assert History.read(opened, "HEAD", JAVA).times[-1] == seconds


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        (b"ISO-8859-1", "café"),
        (b"idna", "caf\ufffd"),
        (b"base64", "caf\ufffd"),
        (b"\0", "caf\ufffd"),
        (b"", "caf\ufffd"),
    ],
    ids=["Latin-1", "idna", "base64", "NUL", "none"],
)
def test_a_message_in_no_known_encoding_is_read_as_utf_8(sound, encoding, message):
    commit = write_commit(sound, extra=b"encoding %s\n" % encoding, body=b"\ncaf\xe9")
    with Repository(sound.path) as opened:
        assert opened.commits([commit])[0].message == message


def test_a_huge_message_is_truncated(sound):
    commit = write_commit(sound, body=b"\nfix bug 1\n" + b"a" * 2_000_000)
    with Repository(sound.path) as opened:
        assert len(opened.commits([commit])[0].message) == MAX_MESSAGE_BYTES


def test_a_message_cannot_forge_a_change(sound):
    write_commit(sound, body=b"\nx\0:100644 100644 a b M\0B.java")
    with Repository(sound.path) as opened:
        history = History.read(opened, "HEAD", JAVA)
        assert history.messages[-1] == "x"
        assert history.touched[-1] == []


@pytest.mark.parametrize(
    "lines",
    [{"tree": b"no such thing"}, {"tree": b""}, {"parents": [b"\xe9" * 40]}],
    ids=["no tree", "empty tree", "no parent"],
)
def test_a_commit_with_damaged_lines_is_unknown(sound, lines):
    commit = write_commit(sound, **lines)
    with Repository(sound.path) as opened:
        with pytest.raises(RepositoryError, match="no commit"):
            opened.commits([commit])
        with pytest.raises(RepositoryError, match="no commit"):
            opened.snapshot(commit, JAVA)
        with pytest.raises(RepositoryError, match="no commit"):
            opened.resolve("HEAD")
        assert opened.snapshot(sound.commits[-1], JAVA).paths  # it goes on working


# Trees


def test_a_path_that_a_tree_has_twice_is_one_file(sound):
    first = write_object(sound, "blob", b"one")
    second = write_object(sound, "blob", b"two")
    inner = write_tree(sound, (FILE, b"In.java", first))
    entries = [
        (FILE, b"A.java", first),
        (FILE, b"A.java", second),
        (FOLDER, b"d", inner),
        (FOLDER, b"d", inner),
    ]
    write_commit(sound, tree=write_tree(sound, *entries).encode())
    assert read_everything(sound.path) == ("A.java", "d/In.java")


def test_a_missing_blob_and_an_odd_name_are_files(sound):
    blob = write_object(sound, "blob", b"two")
    entries = [(FILE, b"Gone.java", "3" * 40), (FILE, b"\xff\n.java", blob)]
    write_commit(sound, tree=write_tree(sound, *entries).encode())
    assert read_everything(sound.path) == ("Gone.java", "\udcff\n.java")


def test_a_folder_that_is_a_file_is_an_error(sound):
    blob = write_object(sound, "blob", b"one")
    write_commit(sound, tree=write_tree(sound, (FOLDER, b"f.java", blob)).encode())
    assert read_everything(sound.path).startswith(f"{sound.path}: git ls-tree failed")


def test_a_tree_bomb_is_refused(sound, monkeypatch):
    """Four trees stand for ten thousand files: each level contains the next one ten times."""
    monkeypatch.setattr(trees, "MAX_FILES", 2000)
    monkeypatch.setattr(git_changes, "MAX_CHANGES_OF_LARGE_COMMITS", 2000)
    blob = write_object(sound, "blob", b"x")
    tree = write_tree(sound, *((FILE, b"%d.java" % number, blob) for number in range(10)))
    for _ in range(3):
        tree = write_tree(sound, *((FOLDER, b"d%d" % number, tree) for number in range(10)))
    write_commit(sound, tree=tree.encode())
    with Repository(sound.path) as opened:
        with pytest.raises(RepositoryError, match="has more than 2,000 files"):
            opened.snapshot("HEAD", JAVA)
        assert History.read(opened, "HEAD", JAVA).limits.unlisted == 1
        assert len(opened.snapshot(sound.commits[-1], JAVA)) == 2  # it goes on working


# Large objects


def test_a_blob_that_is_too_large_is_skipped(sound, monkeypatch):
    monkeypatch.setattr(git_process, "MAX_OBJECT_BYTES", 1000)
    large = write_object(sound, "blob", b"x" * 5500)
    small = write_object(sound, "blob", b"x" * 1000)
    blobs = [small, large, large, small, "0" * 40, small]
    with Repository(sound.path) as opened:
        sizes = [len(data or b"") for _, data in opened.texts(blobs)]
    assert sizes == [1000, 0, 0, 1000, 0, 1000]


def test_a_commit_that_is_too_large_is_unknown(sound, monkeypatch):
    monkeypatch.setattr(git_process, "MAX_OBJECT_BYTES", 1000)
    commit = write_commit(sound, body=b"\n" + b"x" * 1000)
    with (
        Repository(sound.path) as opened,
        pytest.raises(RepositoryError, match=f"no commit '{commit}'"),
    ):
        opened.commits([commit])


# Files of the git directory


FILES = (
    "HEAD",
    "config",
    "shallow",
    "commondir",
    "packed-refs",
    "refs/heads/main",
    "objects/info/alternates",
)


def make_room_for(path):
    """Make the folder of a file, and remove the file if it exists."""
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)


def assert_read_or_refused(path):
    """Check that a repository is read as before, or refused in one sentence with its path."""
    result = read_everything(path)
    if len(result) != 2:
        assert str(path) in result
        assert "\n" not in result


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xe9\n", b"[core", b"ref: refs/heads/main\n", b"9" * 5000],
    ids=["empty", "no text", "half a section", "reference", "digits"],
)
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_harmless_or_an_error_of_the_input(sound, name, content):
    make_room_for(sound.path / name)
    (sound.path / name).write_bytes(content)
    assert_read_or_refused(sound.path)


@pytest.mark.parametrize("name", FILES)
def test_a_folder_in_place_of_a_file_is_harmless_or_an_error(sound, name):
    make_room_for(sound.path / name)
    (sound.path / name).mkdir()
    assert_read_or_refused(sound.path)


@pytest.mark.parametrize("name", [*FILES, "refs/tags/v1", "v1", "config.worktree"])
def test_a_named_pipe_in_the_git_directory_is_one_sentence(sound, monkeypatch, name):
    monkeypatch.setattr(git_process, "SECONDS_BEFORE_LOOK", 0.2)
    sound.git("config", "extensions.worktreeConfig", "true")
    file = sound.path / name
    make_room_for(file)
    os.mkfifo(file)
    sentence = read_everything(sound.path)
    assert "named pipe" in sentence
    assert str(file) in sentence


@pytest.mark.parametrize("kind", ["blob", "commit"])
def test_a_named_pipe_in_place_of_an_object_is_one_sentence(sound, monkeypatch, kind):
    monkeypatch.setattr(git_process, "SECONDS_BEFORE_LOOK", 0.2)
    identity = sound.git("rev-parse", "HEAD:src/app/Parser.java" if kind == "blob" else "HEAD")
    file = sound.objects / identity[:2] / identity[2:]
    file.unlink()
    os.mkfifo(file)
    sentence = read_everything(sound.path)
    assert f"{file} is a named pipe or a device" in sentence


@pytest.mark.parametrize("depth", [1, 2])
def test_an_included_named_pipe_is_one_sentence(sound, tmp_path, monkeypatch, depth):
    monkeypatch.setattr(git_process, "SECONDS_BEFORE_LOOK", 0.2)
    files = [sound.path / "config"]
    for number in range(1, depth + 1):
        files.append(tmp_path / f"included{number}")
    for including, included in pairwise(files):
        with including.open("a") as config:
            config.write(f"[include]\n\tpath = {included}\n")
    os.mkfifo(files[-1])
    assert f"{files[-1]} is a named pipe or a device" in read_everything(sound.path)


# Alternates


@pytest.fixture
def root(tmp_path):
    """Build the folder that repositories may not lead out of."""
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def inside(sound, root):
    """Build the sound repository inside the root, with a folder for alternates."""
    repository = sound.path.rename(root / "repo.git")
    (repository / "objects/info").mkdir(exist_ok=True)
    return repository


def test_a_sound_repository_is_inside_its_root(inside, root):
    discovery.check_inside_roots(inside, [root])


def test_an_alternate_is_where_git_looks_for_it(inside, root, tmp_path):
    """Git removes .. before it follows links."""
    (root / "a/b/c/d").mkdir(parents=True)
    (inside / "objects/link").symlink_to(root / "a/b/c/d")
    (inside / "objects/info/alternates").write_text("link/../../../../outside\n")
    message = f"git would read {tmp_path}/outside, which is outside of {root}"
    with pytest.raises(RepositoryError, match=message):
        discovery.check_inside_roots(inside, [root])


def test_an_alternate_in_a_loop_of_links_is_refused(inside, root):
    (inside / "objects/loop").symlink_to("loop")
    (inside / "objects/info/alternates").write_text("loop\n")
    with pytest.raises(RepositoryError, match=f"which is outside of {root}"):
        discovery.check_inside_roots(inside, [root])


# Streams


def test_parts_between_nul_bytes_are_whole_up_to_the_end_of_the_stream():
    long_part = b"x" * (3 << 20)
    stream = io.BytesIO(b"a\0\0" + long_part + b"\0last")
    assert list(git_process.split_at_nul(stream)) == [b"a", long_part, b"last"]
