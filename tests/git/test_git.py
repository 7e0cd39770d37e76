"""Repositories are read as git reads them, with every oddity that real ones have."""

import hashlib
import os
import pickle
import re
import shutil
import subprocess
import sys
import threading
import zlib
from itertools import count

import pytest

from tests.conftest import FIRST_TIME
from tosloc.core.errors import RepositoryError, UnknownCommit
from tosloc.git.history import History
from tosloc.git.repository import AuthorNames, Repository, Tags, decode_text, trees

JAVA = frozenset({".java"})
MISSING_ID = "0" * 40
ODD_FILES = {
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
ODD_PATHS = [
    "run.java",
    "src-x/a.java",
    "src.java",
    "src/UPPER.JAVA",
    "src/a b.java",
    "src/new\nline.java",
    "src/né.java",
    "src/\udce9.java",
]
"""Paths of the regular Java files of ODD_FILES, ordered by their bytes."""


def read_bytes(opened, blobs):
    """Return the bytes of each blob, None for one that cannot be read."""
    return [data for _, data in opened.texts(blobs)]


def read_texts(opened, snapshot):
    """Return the texts of a version's files."""
    return [decode_text(data) for data in read_bytes(opened, snapshot.blobs)]


# Opening


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away"
)
def test_a_repository_of_another_account_is_read(repository):
    commit = repository.commit({"A.java": "x"})
    for path in [repository.path, *repository.path.rglob("*")]:
        os.chown(path, 12345, 12345)
    with Repository(repository.path) as opened:
        assert opened.resolve("HEAD") == commit
        assert opened.snapshot("main", JAVA).paths == ("A.java",)


def make_work_tree(make_repository, folder, monkeypatch):
    repository = make_repository("project")
    return repository.commit({"d/A.java": "class A {}"}), repository.path


def make_bare(make_repository, folder, monkeypatch):
    repository = make_repository("project.git", bare=True)
    return repository.commit({"d/A.java": "class A {}"}), repository.path


def make_without_config(make_repository, folder, monkeypatch):
    """Make a bare git directory called repo without a configuration."""
    commit, path = make_work_tree(make_repository, folder, monkeypatch)
    git_directory = (path / ".git").rename(folder / "repo")
    (git_directory / "config").unlink()
    return commit, git_directory


def make_linked(make_repository, folder, monkeypatch):
    repository = make_repository("project")
    commit = repository.commit({"d/A.java": "class A {}"})
    repository.git("worktree", "add", "-q", "--detach", str(folder / "linked"), commit)
    return commit, folder / "linked"


def make_in_home(make_repository, folder, monkeypatch):
    commit, _ = make_work_tree(make_repository, folder, monkeypatch)
    monkeypatch.setenv("HOME", str(folder))
    return commit, "~/project"


def make_sha256(make_repository, folder, monkeypatch):
    repository = make_repository("project")
    shutil.rmtree(repository.path / ".git")
    repository.git("init", "-q", "-b", "main", "--object-format=sha256")
    return repository.commit({"d/A.java": "class A {}"}), repository.path


@pytest.mark.parametrize(
    "make", [make_work_tree, make_bare, make_without_config, make_linked, make_in_home, make_sha256]
)
def test_every_kind_of_repository_opens(make, make_repository, tmp_path, monkeypatch):
    commit, path = make(make_repository, tmp_path, monkeypatch)
    with Repository(path) as opened:
        assert opened.resolve("HEAD") == commit
        assert read_texts(opened, opened.snapshot("HEAD", JAVA)) == ["class A {}"]
        assert opened.name == (tmp_path.name if make is make_without_config else "project")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere", r"nowhere: no such folder; give the path of a git repository"),
        ("", r": not a git repository; name the folder that contains \.git"),
        ("file", "file is a file; name the folder of the git repository"),
    ],
    ids=["missing", "other folder", "file"],
)
def test_what_is_no_repository_is_refused(tmp_path, name, message):
    (tmp_path / "file").write_text("x")
    with pytest.raises(RepositoryError, match=message):
        Repository(tmp_path / name)


def test_a_repository_without_commits_has_no_versions(repository):
    with (
        Repository(repository.path) as opened,
        pytest.raises(UnknownCommit, match="no commit 'HEAD'"),
    ):
        opened.snapshot("HEAD", JAVA)


@pytest.mark.parametrize(
    ("config", "address"),
    [
        (
            '[remote "origin"]\n\turl = "git@example.org:me/shop.git" ; ours\n',
            "git@example.org:me/shop.git",
        ),
        ('[remote "upstream"]\n\turl = git@example.org:me/shop.git\n', None),
        ('[remote "origin"\n\turl = git@example.org:me/shop.git\n', None),
    ],
    ids=["quotes and a comment", "another remote", "malformed"],
)
def test_the_address_of_the_remote_is_read(repository, config, address):
    with (repository.path / ".git/config").open("a") as file:
        file.write(config)
    with Repository(repository.path) as opened:
        assert opened.remote_url() == address


def test_an_included_remote_is_not_read(repository, tmp_path):
    included = tmp_path / "url"
    included.write_text('[remote "origin"]\n\turl = git@example.org:me/shop.git\n')
    repository.git("config", "include.path", str(included))
    with Repository(repository.path) as opened:
        assert opened.remote_url() is None


@pytest.mark.slow  # GitPython looks for git once, when it is imported
def test_a_missing_git_program_is_one_sentence(repository, tmp_path):
    code = "import sys; from tosloc.git.repository import Repository; Repository(sys.argv[1])"
    environment = {**os.environ, "GIT_PYTHON_GIT_EXECUTABLE": str(tmp_path / "no-git")}
    result = subprocess.run(
        [sys.executable, "-c", code, str(repository.path)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert "RepositoryError: git is not installed, " in result.stderr
    assert "not what $GIT_PYTHON_GIT_EXECUTABLE names" in result.stderr


# Contents


@pytest.fixture
def hundred_texts(repository):
    """Commit a hundred small files and a large one; return their texts by path."""
    texts = {f"{number}.java": f"text {number}\n" * (number % 7) for number in range(100)}
    texts["big.java"] = "x" * 3_000_000
    repository.commit(texts)
    return texts


def test_texts_come_in_the_order_of_the_blobs(repository, hundred_texts):
    with Repository(repository.path) as opened:
        snapshot = opened.snapshot("HEAD", JAVA)
        blobs = [*snapshot.blobs, MISSING_ID, snapshot.blobs[0]]
        contents = [hundred_texts[path].encode() for path in snapshot.paths]
        expected = list(zip(blobs, [*contents, None, contents[0]], strict=True))
        assert list(opened.texts(iter(blobs))) == expected


def test_other_texts_can_be_read_in_the_middle_of_a_stream(repository, hundred_texts):
    with Repository(repository.path) as opened:
        blobs = opened.snapshot("HEAD", JAVA).blobs
        expected = list(opened.texts(blobs))
        stream = opened.texts(blobs)
        assert next(stream) == expected[0]
        assert list(opened.texts(blobs[:60])) == expected[:60]
        assert next(stream) == expected[1]


def test_missing_and_damaged_blobs_are_skipped(repository):
    repository.commit({"a/A.java": "a", "b/B.java": "b", "b/C.java": "c", "d/D.java": "d"})
    repository.lose("HEAD:b/B.java")
    damaged = repository.git("rev-parse", "HEAD:b/C.java")
    repository.lose(damaged)
    truncated = zlib.compress(b"blob 1000\0short")[:-4]
    (repository.objects / damaged[:2] / damaged[2:]).write_bytes(truncated)
    with Repository(repository.path) as opened:
        blobs = opened.snapshot("HEAD", JAVA).blobs
        assert read_bytes(opened, blobs) == [b"a", None, None, b"d"]


def test_a_missing_folder_is_an_error(repository):
    repository.commit({"a/A.java": "a"})
    repository.lose("HEAD:a")
    with (
        Repository(repository.path) as opened,
        pytest.raises(RepositoryError, match=r"git ls-tree failed \(.*\); run 'git fsck' there"),
    ):
        opened.snapshot("HEAD", JAVA)


@pytest.mark.parametrize("how", ["kill -9 $$", "exit 3"], ids=["killed", "exits"])
@pytest.mark.parametrize("read", ["resolve", "commits", "texts"])
def test_a_git_that_ends_early_is_an_error(repository, tmp_path, monkeypatch, how, read):
    commit = repository.commit({"A.java": "class A { }"})
    wrapper = tmp_path / "bin/git"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f'#!/bin/sh\ncase " $* " in *" cat-file "*) {how};; esac\nexec {shutil.which("git")} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", str(wrapper.parent), prepend=os.pathsep)
    with Repository(repository.path) as opened:
        argument = commit if read == "resolve" else [commit]
        with pytest.raises(RepositoryError, match="git cat-file failed"):
            list(getattr(opened, read)(argument))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfcaf\xe9", "café"),
        (b"\xff\xfe\x00", "\ufffd"),
        (b"\x80\0", "\x80\0"),
    ],
    ids=["Latin-1 after a UTF-8 mark", "half of a UTF-16 character", "no text"],
)
def test_decoding_never_fails(data, text):
    assert decode_text(data) == text


# Versions


def test_a_version_has_the_regular_files_in_order_of_bytes(repository):
    commit = repository.commit(ODD_FILES, when=1234567890)
    with Repository(repository.path) as opened:
        snapshot = opened.snapshot(commit, JAVA)
        assert list(snapshot.paths) == ODD_PATHS
        assert snapshot.commit == commit
        assert snapshot.committed_at == 1234567890
        assert read_texts(opened, snapshot)[-2:] == ["accent", "Latin-1 name"]
        assert opened.snapshot(commit, {".txt"}).paths == ("notes.txt",)


def test_versions_stay_the_same_after_they_are_forgotten(repository, monkeypatch):
    monkeypatch.setattr(trees, "_MAX_REMEMBERED_FILES", 5)
    first = repository.commit(ODD_FILES)
    second = repository.commit({"src.java": None})
    remaining = [path for path in ODD_PATHS if path != "src.java"]
    with Repository(repository.path) as opened:
        assert list(opened.snapshot(first, JAVA).paths) == ODD_PATHS
        assert list(opened.snapshot(second, JAVA).paths) == remaining
        assert list(opened.snapshot(first, JAVA).paths) == ODD_PATHS


# Revisions and commits


@pytest.fixture
def merged(repository):
    """Commit a root, a side in Latin-1 and a merge with a broken message; return their ids."""
    root = repository.commit({"A.java": "1"}, "grüße\n\nbody\n", when=5)
    message = "caf\xe9".encode("latin-1")
    side = repository.commit({"B.java": "1"}, message, encoding="ISO-8859-1")
    merge = repository.commit({}, b"broken \xff", parents=(root, side))
    return root, side, merge


def test_revisions_name_the_commits_that_git_finds(repository, merged):
    root, side, merge = merged
    repository.git("tag", "-a", "-m", "release", "v1", root)
    repository.git("replace", side, root)  # which is not followed
    tag = repository.git("rev-parse", "v1")
    expected = {"main~1": root, "v1": root, tag: root, side[:9].upper(): side, "main": merge}
    with Repository(repository.path) as opened:
        assert opened.resolve_many(expected) == expected


def test_revisions_without_a_commit_are_none(repository, merged):
    tree = repository.git("rev-parse", f"{merged[0]}^{{tree}}")
    unknown = ["nothing", "", " ", "main\nmain", "--all", MISSING_ID, "a" * 64, "main:A.java", tree]
    with Repository(repository.path) as opened:
        assert opened.resolve_many(["main", *unknown, "main~1"]) == {
            "main": merged[2],
            **dict.fromkeys(unknown),
            "main~1": merged[0],
        }


def test_an_unknown_revision_is_one_sentence(repository, merged):
    message = r"repo: no commit 'nothing'; check its spelling, or run: git fetch"
    with Repository(repository.path) as opened, pytest.raises(UnknownCommit, match=message):
        opened.resolve("nothing")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("HEAD@{99999}", "log for 'HEAD' only has [0-9]+ entries"),
        ("main@{u}", "no upstream configured for branch 'main'"),
        ("HEAD@{2000-01-01}", "log for 'HEAD' only goes back to .*"),
    ],
)
def test_a_name_that_git_cannot_search_for_gets_its_reason(repository, merged, name, reason):
    message = rf"no commit '{re.escape(name)}': {reason}; name a commit, a branch or a tag\Z"
    with Repository(repository.path) as opened, pytest.raises(UnknownCommit, match=message):
        opened.resolve(name)


def test_a_name_that_git_cannot_search_for_spoils_no_other(repository, merged):
    revisions = ["main~1", "HEAD@{99999}", "main@{u}", ":/nothing", "main"]
    with Repository(repository.path) as opened:
        commits = opened.resolve_many(revisions)
    assert list(commits.values()) == [merged[0], None, None, None, merged[2]]


@pytest.mark.parametrize("name", ["v1", "v1~0"])
def test_a_tag_and_a_branch_of_one_name_are_refused(repository, merged, name):
    repository.git("tag", "v1", merged[0])
    repository.git("branch", "v1", merged[2])
    message = r"'v1' names several things, .*; write refs/tags/v1 or refs/heads/v1\Z"
    with Repository(repository.path) as opened:
        with pytest.raises(UnknownCommit, match=message):
            opened.resolve(name)
        assert opened.resolve("refs/heads/v1") == merged[2]


def test_head_is_the_commit_that_is_checked_out_whatever_branches_are_called(repository, merged):
    repository.git("update-ref", "refs/heads/HEAD", merged[0])
    with Repository(repository.path) as opened:
        assert opened.resolve("HEAD") == merged[2]


def test_an_error_shows_the_last_messages_of_git_without_hints(repository, merged):
    """Git says which object is damaged before it says that it gives up."""
    tree = repository.git("rev-parse", "main^{tree}")
    path = repository.objects / tree[:2] / tree[2:]
    path.chmod(0o644)
    path.write_bytes(b"")
    with Repository(repository.path) as opened, pytest.raises(RepositoryError) as error:
        opened.snapshot("main", [".java"])
    message = str(error.value)
    assert "(error: object file " in message
    assert "; fatal: " in message
    assert "hint" not in message


def test_a_clone_without_trees_is_named(repository, merged, tmp_path):
    repository.git("config", "uploadpack.allowFilter", "true")
    clone = str(tmp_path / "clone")
    origin = f"file://{repository.path}"
    repository.git("clone", "-q", "--no-checkout", "--filter=tree:0", origin, clone)
    message = "this is a partial clone, .*: git fetch --refetch --no-filter"
    with Repository(clone) as opened, pytest.raises(RepositoryError, match=message):
        opened.snapshot("HEAD", [".java"])
    repository.git(f"--git-dir={clone}/.git", "fetch", "-q", "--refetch", "--no-filter")
    with Repository(clone) as opened:
        assert opened.snapshot("HEAD", [".java"]).paths


def test_a_commit_has_tree_message_parents_and_time(repository, merged):
    root, _, _ = merged
    with Repository(repository.path) as opened:
        [info] = opened.commits([root])
    assert info.tree == repository.git("rev-parse", f"{root}^{{tree}}")
    assert info.message == "grüße\n\nbody\n"
    assert info.parents == ()
    assert info.committed_at == 5


def test_a_message_is_decoded_as_the_commit_declares(repository, merged):
    with Repository(repository.path) as opened:
        messages = [info.message for info in opened.commits(merged)]
    assert messages == ["grüße\n\nbody\n", "café", "broken \ufffd"]


def test_parents_come_in_the_order_of_the_commit(repository, merged):
    root, side, _ = merged
    with Repository(repository.path) as opened:
        parents = [info.parents for info in opened.commits(merged)]
    assert parents == [(), (root,), (root, side)]


def test_a_subject_is_none_if_there_is_no_commit(repository, merged):
    root, _, _ = merged
    tree = repository.git("rev-parse", f"{root}^{{tree}}")
    with Repository(repository.path) as opened:
        assert opened.subject(root) == "grüße"
        assert opened.subject(MISSING_ID) is None
        assert opened.subject(tree) is None


@pytest.mark.parametrize("kind", ["missing", "tree"])
def test_an_id_of_no_commit_is_unknown(repository, merged, kind):
    tree = repository.git("rev-parse", f"{merged[0]}^{{tree}}")
    identity = tree if kind == "tree" else MISSING_ID
    with Repository(repository.path) as opened:
        with pytest.raises(UnknownCommit):
            opened.commits([identity])
        with pytest.raises(UnknownCommit):
            opened.snapshot(identity, JAVA)


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


# Names of authors

SEPARATORS = ["\u2028", "\u2029", "\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85"]
"""Characters at which Python splits lines and git does not."""


def commit_as_author(repository, message):
    """Commit a file with git's own command, as the author that the environment names."""
    (repository.path / "A.java").write_text("1")
    repository.git("add", "A.java")
    repository.git("commit", "-q", "-m", message)
    return repository.git("rev-parse", "HEAD")


@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_name_with_a_line_separator_is_one_name(repository, separator):
    name = f"Ada{separator}Lovelace"
    repository.environment["GIT_AUTHOR_NAME"] = name
    commit = commit_as_author(repository, f"Open{separator}the door\n\nbody")
    with Repository(repository.path) as opened:
        assert AuthorNames(opened, commit).read([commit]) == {commit: name}
        assert opened.subject(commit) == f"Open{separator}the door"


@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_mailmap_with_a_line_separator_gives_one_name(repository, separator):
    name = f"Ada{separator}Lovelace"
    repository.commit({".mailmap": f"{name} <ada@example.org> <tester@example.org>\n"})
    repository.environment["GIT_AUTHOR_EMAIL"] = "tester@example.org"
    commit = commit_as_author(repository, "x")
    with Repository(repository.path) as opened:
        assert AuthorNames(opened, commit).read([commit]) == {commit: name}


def test_a_name_of_an_author_is_read_once(repository, monkeypatch):
    commit = repository.commit({"A.java": "1"})
    with Repository(repository.path) as opened:
        authors = AuthorNames(opened, commit)
        names = authors.read([commit])
        monkeypatch.setattr(opened.git, "stream", None)
        assert authors.read([commit]) == names != {}


# Clones that lack something


@pytest.fixture
def commits(repository):
    """Commit four versions of A.java beside an unchanged file; return their ids."""
    return [repository.commit({"A.java": str(number), "B.java": "same"}) for number in range(4)]


def clone(repository, folder, option):
    repository.git("config", "uploadpack.allowFilter", "true")
    address = f"file://{repository.path}"
    repository.git("clone", "-q", "--no-checkout", option, address, str(folder))
    return folder


def test_a_shallow_clone_has_no_parents_at_its_edge(repository, commits, tmp_path):
    with Repository(clone(repository, tmp_path / "shallow", "--depth=2")) as opened:
        assert opened.shallow == {commits[2]}
        parents = [info.parents for info in opened.commits(commits[2:])]
        assert parents == [(), (commits[2],)]


def test_a_revision_beyond_a_shallow_clone_has_a_hint(repository, commits, tmp_path):
    message = r"in this shallow clone; run: git fetch --unshallow"
    with (
        Repository(clone(repository, tmp_path / "shallow", "--depth=2")) as opened,
        pytest.raises(UnknownCommit, match=message),
    ):
        opened.resolve("HEAD~2")


def test_the_first_commit_of_a_shallow_clone_touches_nothing(repository, commits, tmp_path):
    with Repository(clone(repository, tmp_path / "shallow", "--depth=2")) as opened:
        history = History.read(opened, "HEAD", JAVA)
        assert history.ids == tuple(commits[2:])
        assert history.touched == [[], [opened.path_names.ids["A.java"]]]


def test_a_partial_clone_is_read_without_fetching(repository, commits, tmp_path):
    with Repository(clone(repository, tmp_path / "partial", "--filter=blob:none")) as opened:
        snapshot = opened.snapshot("HEAD", JAVA)
        assert snapshot.paths == ("A.java", "B.java")
        assert read_bytes(opened, snapshot.blobs) == [None, None]  # git itself would fetch them


# State


def read_state(folder):
    """Return the time and content of each file below a folder."""
    state = {}
    for path in folder.rglob("*"):
        state[path] = (path.lstat().st_mtime_ns, path.is_dir() or path.read_bytes())
    return state


def test_reading_changes_nothing_in_the_folder(repository, tmp_path, monkeypatch):
    root = repository.commit({"A.java": "1", "B.java": "2"})
    repository.commit({"A.java": "3"})
    (repository.path / "A.java").write_text("being edited")
    (repository.path / "B.java").unlink()
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    before = read_state(repository.path)
    with Repository(repository.path) as opened:
        assert opened.commits([opened.resolve("HEAD")])[0].parents == (root,)
        blobs = opened.snapshot("HEAD", JAVA).blobs
        assert read_bytes(opened, blobs) == [b"3", b"2"]
    assert read_state(repository.path) == before


def test_a_pickled_repository_opens_again(repository):
    commit = repository.commit({"A.java": "1"})
    with Repository(repository.path) as opened, pickle.loads(pickle.dumps(opened)) as copy:
        assert copy.path == opened.path
        assert copy.resolve(commit) == commit


def test_a_closed_repository_can_be_read_again(repository):
    commit = repository.commit({"A.java": "1"})
    with Repository(repository.path) as opened:
        opened.resolve(commit)
        opened.close()
        assert opened.resolve(commit) == commit


EVENING = 1_000_072_000
"""21:46 of 9 September 2001, in UTC."""


@pytest.mark.parametrize(
    ("zone", "date"), [("+0900", "2001-09-10"), ("-0500", "2001-09-09"), ("+9999", "2001-09-09")]
)
def test_a_commit_has_its_date_in_the_zone_of_the_committer(repository, zone, date):
    content = repository.git("cat-file", "-p", repository.commit({"a.py": "x = 1\n"}))
    lines = re.sub(r"(?m)^(committer .*> ).*$", rf"\g<1>{EVENING} {zone}", content).encode()
    command = ("hash-object", "-t", "commit", "-w", "--stdin", "--literally")
    commit = repository.git(*command, stdin=lines)
    with Repository(repository.path) as opened:
        assert str(opened.committed(commit, EVENING).date()) == date


def test_a_missing_commit_has_its_date_in_utc(repository):
    repository.commit({"a.py": "x = 1\n"})
    with Repository(repository.path) as opened:
        assert str(opened.committed("0" * 40, EVENING).date()) == "2001-09-09"


def test_a_commit_is_read_once(repository, monkeypatch):
    repository.commit({"a.py": "a"}, "Begin")
    with Repository(repository.path) as opened:
        assert opened.subject(repository.commits[0]) == "Begin"
        monkeypatch.setattr(opened.git, "objects", None)
        assert opened.subject(repository.commits[0]) == "Begin"


def test_tags_are_read_again_once_one_has_moved(repository):
    for name in ("First", "Second"):
        repository.commit({"a.py": name}, name)
    repository.git("tag", "v1", repository.commits[0])
    with Repository(repository.path) as opened:
        first = Tags.read(opened)
        assert Tags.read(opened) is first
        repository.git("tag", "-f", "v1", repository.commits[1])
        assert Tags.read(opened).newest[0].committed_at > first.newest[0].committed_at


def test_tags_that_have_not_changed_start_no_git(repository, monkeypatch):
    repository.commit({"a.py": "a"})
    repository.git("tag", "v1")
    repository.git("pack-refs", "--all")
    repository.git("tag", "v2")
    with Repository(repository.path) as opened:
        tags = Tags.read(opened)
        monkeypatch.setattr(opened.git, "stream", None)
        assert Tags.read(opened) is tags


@pytest.mark.parametrize(
    "commands",
    [
        [["tag", "v2"]],
        [["tag", "-d", "v1"]],
        [["pack-refs", "--all"], ["tag", "-d", "v1"]],
        [["pack-refs", "--all"], ["tag", "v2"], ["pack-refs", "--all"]],
        [["symbolic-ref", "refs/tags/newest", "HEAD"]],
    ],
    ids=["new", "deleted", "packed and deleted", "packed", "symbolic"],
)
def test_a_change_of_tags_is_seen(repository, commands):
    repository.commit({"a.py": "a"})
    repository.git("tag", "v1")
    with Repository(repository.path) as opened:
        before = Tags.read(opened)
        for command in commands:
            repository.git(*command)
            Tags.read(opened)
        assert Tags.read(opened) != before


def test_a_tag_moves_with_the_branch_that_it_names(repository):
    repository.commit({"a.py": "a"}, "First")
    repository.git("symbolic-ref", "refs/tags/newest", "HEAD")
    with Repository(repository.path) as opened:
        before = Tags.read(opened)
        repository.commit({"a.py": "b"}, "Second")
        assert Tags.read(opened).newest[0].committed_at > before.newest[0].committed_at


def test_one_thread_watches_all_requests(repository):
    repository.commit({"a.py": "a"}, "Begin")
    with Repository(repository.path) as opened:
        for _ in range(20):
            list(opened.git.objects(repository.commits, b"commit"))
        watching = [thread for thread in threading.enumerate() if "watchdog" in thread.name]
    assert len(watching) == 1


# Beginnings of ids as of a time


def add_twin(repository, digits, when):
    """Write a commit at a time whose id begins like another one's; return its id."""
    tree = repository.git("rev-parse", "HEAD^{tree}")
    for number in count():
        person = f"A <a@b.c> {when} +0000"
        content = f"tree {tree}\nauthor {person}\ncommitter {person}\n\nTwin {number}\n"
        header = f"commit {len(content)}\0"
        if hashlib.sha1(f"{header}{content}".encode()).hexdigest().startswith(digits):
            file = repository.path / ".git/twin"
            file.write_text(content)
            return repository.git("hash-object", "-t", "commit", "-w", str(file))


@pytest.fixture
def original(repository):
    """Return the id of a commit."""
    return repository.commit({"a.py": "1"}, "Begin", when=FIRST_TIME)


def resolve_before(repository, beginning, seconds):
    with Repository(repository.path) as opened:
        return opened.resolve_before([beginning], seconds)[beginning]


def test_a_later_commit_makes_no_id_ambiguous(repository, original):
    add_twin(repository, original[:4], FIRST_TIME + 100)
    assert resolve_before(repository, original[:4], FIRST_TIME + 100) == original
    assert resolve_before(repository, original[:4], FIRST_TIME + 101) is None


def test_a_later_commit_is_not_known(repository, original):
    assert resolve_before(repository, original[:4], FIRST_TIME) is None
    assert resolve_before(repository, original, FIRST_TIME) is None
    assert resolve_before(repository, original, FIRST_TIME + 1) == original


def test_a_tag_named_like_the_beginning_of_an_id_does_not_count(repository, original):
    other = repository.commit({"a.py": "2"}, "Go on", when=FIRST_TIME + 1)
    repository.git("tag", original[:7], other)
    assert resolve_before(repository, original[:7], FIRST_TIME + 100) == original


@pytest.mark.parametrize("name", ["main", "--all", "12", "g" * 8, "0" * 40])
def test_what_is_no_beginning_of_an_id_is_unknown(repository, original, name):
    assert resolve_before(repository, name, FIRST_TIME + 100) is None
