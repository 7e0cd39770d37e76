"""Repositories made to break a reader: an answer or one error of the input, soon, and within bounds of memory."""

from __future__ import annotations

import hashlib
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.data import hostile_git as hostile
from tosloc.cli import main
from tosloc.data import git_files, git_process, git_trees, history
from tosloc.data.git import LONGEST_MESSAGE, Repository
from tosloc.data.history import read_history
from tosloc.errors import RepositoryError

JAVA = frozenset({".java"})
SECONDS = 300


@pytest.fixture(autouse=True)
def soon() -> Iterator[None]:
    """Nothing here may wait: a test that does fails instead of going on for ever."""

    def late(*_: object) -> None:
        raise AssertionError("still not done")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def impatient(monkeypatch):
    """Git is given up after half a second."""
    monkeypatch.setattr(git_process, "IDLE", 0.5)
    monkeypatch.setattr(git_process, "_LOOK", 0.1)


@pytest.fixture
def sound(tmp_path):
    return hostile.sound(tmp_path / "hostile.git")


# ---- commits

PERSON = hostile.PERSON


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        (b"committer %s 1234567890 +0000\n" % PERSON, 1234567890),
        (b"committer %s -5 +0000\n" % PERSON, -5),
        (b"committer %s 253402300800 +0000\n" % PERSON, 0),
        (b"committer %s 9223372036854775808 +0000\n" % PERSON, 0),
        (b"committer %s -99999999999999999999999 +0000\n" % PERSON, 0),
        (b"committer %s %s +0000\n" % (PERSON, b"9" * 5000), 0),
        (b"committer %s\n" % PERSON, 0),
        (b"committer %s yesterday\n" % PERSON, 0),
        (b"committer Ada <ada@example.org 1000000000 +0000\n", 0),
        (b"committer >%s1\n" % (b" " * 100_000), 0),
        (b"committer %s\n" % (b"> 1" * 100_000), 1),
        (b"committer\n", 0),
        (b"", 0),
    ],
)
def test_times_of_commits(sound, line, seconds):
    commit = hostile.raw_commit(sound, committer=line)
    hostile.point(sound, hostile.raw_commit(sound, parents=[commit.encode()]))
    with Repository(sound.path) as opened:
        assert opened.commit(commit).committed_at == seconds
        assert opened.snapshot(commit, JAVA).committed_at == seconds
        read = read_history(opened, "HEAD", JAVA)
        assert read.times[read.number(commit)] in (seconds, 0)  # git shows none for those that it cannot parse


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        (b"ISO-8859-1", "café"),
        (b"latin1", "café"),
        *((name, "caf\ufffd") for name in (b"idna", b"undefined", b"punycode", b"unicode_escape", b"base64", b"rot13")),
        *((name, "caf\ufffd") for name in (b"UTF-8\0", b"\0", b"", b"\xff", b"x" * 100_000, b"../aliases", b"utf-8")),
    ],
)
def test_encodings_of_messages(sound, encoding, message):
    commit = hostile.raw_commit(sound, extra=b"encoding %s\n" % encoding, body=b"\ncaf\xe9")
    hostile.point(sound, commit)
    with Repository(sound.path) as opened:
        assert opened.commit(commit).message == message
        if b"\0" not in encoding:  # there git's message ends
            assert read_history(opened, "HEAD", JAVA).messages[-1].startswith("caf")


def test_long_messages_are_cut(sound):
    commit = hostile.raw_commit(sound, body=b"\nfix bug 1\n" + b"a" * 2_000_000)
    hostile.point(sound, commit)
    with Repository(sound.path) as opened:
        assert len(opened.commit(commit).message) == LONGEST_MESSAGE
        assert read_history(opened, "HEAD", JAVA).messages[-1] == opened.commit(commit).message


@pytest.mark.parametrize(
    "lines",
    [
        {"tree": b"\xff\xfe" + b"a" * 38},
        {"tree": b"no such thing"},
        {"tree": b"--batch-all-objects"},
        {"tree": b""},
        {"parents": [b"\xe9" * 40]},
        {"parents": [b"a b c"]},
    ],
)
def test_commits_that_name_nothing(sound, lines):
    commit = hostile.raw_commit(sound, **lines)
    hostile.point(sound, commit)
    with Repository(sound.path) as opened:
        with pytest.raises(RepositoryError, match=f"{commit} is damaged: it names no tree"):
            opened.commit(commit)
        with pytest.raises(RepositoryError, match="no commit"):  # git does not take it for one
            opened.snapshot(commit, JAVA)
        with pytest.raises(RepositoryError, match="no commit"):
            opened.resolve("HEAD")
        with pytest.raises(RepositoryError):
            read_history(opened, "HEAD", JAVA)
        assert opened.snapshot(sound.made[-1], JAVA).paths  # it goes on working


@pytest.mark.slow
def test_a_sentence_for_each_command(sound, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    (tmp_path / "r.md").write_text("The cookie is lost\n")
    repo = ["--repo", str(sound.path)]
    hostile.point(sound, hostile.raw_commit(sound, committer=b"committer %s %s +0000\n" % (PERSON, b"9" * 5000)))
    assert main(["localize", *repo, "--report", str(tmp_path / "r.md")]) == 0
    hostile.make_special(sound.path / "shallow", "pipe")
    capsys.readouterr()
    (tmp_path / "labelled.jsonl").write_text("")
    for command in (
        ["localize", *repo, "--report", str(tmp_path / "r.md")],
        ["index", *repo],
        ["data", *repo, "--reports", str(tmp_path / "labelled.jsonl")],
    ):
        assert main(command) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith(f"tosloc: {sound.path}/shallow is a named pipe where git keeps a plain file;")
        assert said.err.count("\n") == 1


# ---- trees


@pytest.mark.parametrize(
    "name", [name for name in hostile.CASES if name.startswith("tree: ") and not re.search("bomb|deep|wide|mega", name)]
)
def test_damaged_trees_are_read_alike_by_listing_and_by_folder(sound, monkeypatch, name):
    hostile.CASES[name].spoil(sound)
    with Repository(sound.path) as opened:
        commit = opened.resolve("HEAD")
        listed = opened.snapshot(commit, JAVA)
        assert len(set(listed.paths)) == len(listed.paths)
        read_history_or_refuse(opened)
    monkeypatch.setattr(git_trees.Trees, "_list", lambda *_: None)
    with Repository(sound.path) as opened:
        assert opened.snapshot(commit, JAVA).paths == listed.paths


def read_history_or_refuse(opened):
    with suppress(RepositoryError):
        assert len(read_history(opened, "HEAD", JAVA)) >= 1


def test_a_tree_of_digits_takes_no_square_of_time(sound):
    hostile.CASES["tree: of sevens"].spoil(sound)
    with Repository(sound.path) as opened:
        start = time.process_time()
        assert opened.snapshot("HEAD", JAVA).paths == ()
        assert opened.missing
        assert time.process_time() - start < 5


@pytest.mark.parametrize("listing", [True, False])
def test_a_tree_bomb_is_refused(sound, monkeypatch, listing):
    monkeypatch.setattr(git_trees, "LARGEST_VERSION", 2**18)
    monkeypatch.setattr(history, "LARGEST_CHANGE", 2_000)
    hostile.bomb(sound, levels=4)
    if not listing:
        monkeypatch.setattr(git_trees.Trees, "_list", lambda *_: None)
    with Repository(sound.path) as opened:
        with pytest.raises(RepositoryError, match="are too many: their paths take more than"):
            opened.snapshot("HEAD", JAVA)
        with pytest.raises(RepositoryError, match="touch more files than any known"):
            read_history(opened, "HEAD", JAVA)
        assert len(opened.snapshot(sound.made[-1], JAVA)) == 2


def test_paths_that_no_system_could_check_out_are_left_out(sound):
    hostile.deep(sound, 30, b"n" * 200)
    with Repository(sound.path) as opened:
        assert opened.snapshot("HEAD", JAVA).paths == ()
        assert len(read_history(opened, "HEAD", JAVA)) == 4


# ---- special files


@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "socket", "folder", "endless", "1 GB"])
@pytest.mark.parametrize(
    "place", ["HEAD", "config", "config.worktree", "shallow", "commondir", "packed-refs", "objects/info/alternates"]
)
def test_special_files_are_refused_by_name(sound, place, kind):
    hostile.make_special(sound.path / place, kind)
    with pytest.raises(RepositoryError) as raised, Repository(sound.path) as opened:
        opened.resolve("HEAD")
    assert re.match(rf".*/{place} (is a (named pipe|socket|folder|device) where|has 1,024 MB, more)", str(raised.value))


@pytest.mark.parametrize("kind", ["pipe", "socket", "endless"])
@pytest.mark.parametrize(
    "place",
    [
        "refs/heads/main",
        "refs/remotes/x/y",
        "objects/pack/pack-1.idx",
        "objects/pack/multi-pack-index",
        "objects/info/commit-graph",
        "objects/info/commit-graphs/commit-graph-chain",
    ],
)
def test_special_files_further_down_too(sound, place, kind):
    hostile.make_special(sound.path / place, kind)
    with (
        pytest.raises(RepositoryError, match=rf"{place} is a .* where git keeps a plain file"),
        Repository(sound.path) as opened,
    ):
        opened.resolve("HEAD")


@pytest.mark.parametrize(
    "name",
    [
        "file: .git is pipe",
        "file: .git is endless",
        "file: .git is 1 GB",
        "file: the alternate's alternates is pipe",
        "file: the common folder's config is pipe",
        "file: the common folder's shallow is endless",
        "file: an included configuration is pipe",
        "file: an included configuration is endless",
    ],
)
def test_special_files_elsewhere(sound, name):
    hostile.CASES[name].spoil(sound)
    with (
        pytest.raises(RepositoryError, match=r"where git keeps a plain file|more than the"),
        Repository(sound.path) as opened,
    ):
        opened.resolve("HEAD")


def test_links_to_sound_files_are_followed(sound):
    for place in ("config", "refs/heads/main"):
        moved = (sound.path / place).rename(sound.path / (place.replace("/", "-") + ".real"))
        (sound.path / place).symlink_to(moved)
    (sound.path / "objects").rename(sound.path / "others")
    (sound.path / "objects").symlink_to("others")
    with Repository(sound.path) as opened:
        assert opened.resolve("HEAD") == sound.made[-1]


def test_borrowed_objects(sound, tmp_path):
    borrower = hostile.sound(tmp_path / "borrower.git")
    for folder in borrower.objects.glob("??"):
        hostile.remove(folder)
    for line in (
        f"{sound.objects}\n",
        f'# x\n\n"{sound.objects}"\n',
        f'"{str(sound.objects).replace("h", chr(92) + "150")}"\n',
    ):
        (borrower.objects / "info/alternates").write_text(line)
        with Repository(borrower.path) as opened:
            assert len(opened.snapshot("HEAD", JAVA)) == 2
    hostile.make_special(sound.objects / "info/alternates", "pipe")
    with pytest.raises(RepositoryError, match=f"{sound.objects}/info/alternates is a named pipe"):
        Repository(borrower.path)


@pytest.mark.parametrize("name", ["alternates in a circle", "alternates ten deep", "alternates to itself"])
def test_borrowing_in_a_circle_ends(sound, name):
    hostile.CASES[name].spoil(sound)
    with Repository(sound.path) as opened:
        assert len(opened.snapshot("HEAD", JAVA)) == 2


@pytest.mark.parametrize("content", [b"\xff\xe9\n", b"hello\n", b"\n\n", b"9" * 39 + b"\n", b"9" * 40 + b"\n\xff"])
def test_a_damaged_list_of_cuts_is_named(sound, content):
    (sound.path / "shallow").write_bytes(content)
    with pytest.raises(RepositoryError, match=r"shallow: line [12] is no commit id: it is damaged"):
        Repository(sound.path)


def test_a_configuration_that_git_cannot_read_is_named(sound):
    (sound.path / "config").write_bytes(b"[core")
    with Repository(sound.path) as opened:
        with pytest.raises(RepositoryError, match=r"cannot read the configuration .*bad config line"):
            opened.resolve("HEAD")
        assert len(opened.snapshot(sound.made[-1], JAVA)) == 2  # a full id needs no configuration


def test_a_long_configuration_is_read_in_little_time(sound):
    (sound.path / "config").write_bytes(b"\n" * 500_000 + b" " * 500_000)
    start = time.process_time()
    with Repository(sound.path) as opened:
        assert opened.resolve("HEAD") == sound.made[-1]
    assert time.process_time() - start < 3


# ---- git that stands still, and what is too large


@pytest.mark.slow
def test_an_object_that_is_a_pipe_is_named(sound, impatient):
    tree = hostile.tree_of(sound, sound.made[-1])
    hostile.make_special(sound.objects / tree[:2] / tree[2:], "pipe")
    with Repository(sound.path) as opened:
        with pytest.raises(RepositoryError, match=f"{tree[2:]} is a named pipe"):
            opened.snapshot("HEAD", JAVA)
        with pytest.raises(RepositoryError, match=f"{tree[2:]} is a named pipe"):
            opened.text(tree)
        with pytest.raises(RepositoryError, match=f"{tree[2:]} is a named pipe"):
            read_history(opened, "HEAD", JAVA)


def output_of(script):
    """What a shell script says, read as git's output is."""
    with git_process.running(["sh", "-c", script], "a script", {}) as run:
        return run.output.read()


@pytest.mark.slow
def test_only_what_neither_speaks_nor_works_is_given_up(impatient, monkeypatch):
    assert output_of("for i in 1 2 3 4 5; do sleep .2; echo $i; done").split() == [b"1", b"2", b"3", b"4", b"5"]
    work = f"exec {sys.executable} -c 'import time; end = time.time() + 1.5\nwhile time.time() < end: pass\nprint(1)'"
    assert output_of(work) == b"1\n"
    with pytest.raises(git_process.GitStandsStill, match="waits for something that does not come"):
        output_of("exec sleep 100")
    monkeypatch.setattr(git_process, "SILENT", 0.6)
    with pytest.raises(git_process.GitStandsStill, match="said nothing"):
        output_of("while :; do :; done")


@pytest.mark.slow
def test_memory_of_git_is_bounded(sound):
    if sys.platform != "linux":
        pytest.skip("git's memory is bounded on Linux alone")
    script = f"{sys.executable} -c 'len(bytearray(300 << 20)); print(1)'"
    for memory, said in ((1 << 30, b"1\n"), (100 << 20, b"")):
        with git_process.running(["sh", "-c", script], "a script", {}, memory=memory) as run:
            assert run.output.read() == said
    assert "MemoryError" in run.complaint


def test_objects_that_are_too_large(sound, monkeypatch):
    monkeypatch.setattr(git_process, "LARGEST", 1000)
    large, small = hostile.blob(sound, "x" * 1001), hostile.blob(sound, "x" * 1000)
    commit = hostile.raw_commit(sound, body=b"\n" + b"x" * 1000)
    with Repository(sound.path) as opened:
        asked = [small, large, large, small, "0" * 40, small, large]
        lengths = [None if data is None else len(data) for _, data in opened.texts(asked)]
        assert lengths == [1000, None, None, 1000, None, 1000, None]
        assert opened.missing == {large, "0" * 40}
        with pytest.raises(RepositoryError, match=f"commit {commit} has more than"):
            opened.commit(commit)
        assert opened.commit(sound.made[-1]).message.startswith("Words")


def test_parts_of_a_stream():
    class Blocks:
        def __init__(self, data: bytes, size: int) -> None:
            self.rest, self.size = data, size

        def read(self, _: int) -> bytes:
            block, self.rest = self.rest[: self.size], self.rest[self.size :]
            return block

    data = b"\0a\0\0bc\0" + b"d" * 50 + b"\0e"
    for size in range(1, len(data) + 1):
        assert list(git_process.parts(Blocks(data, size), 1000)) == [b"a", b"bc", b"d" * 50, b"e"]
    [*rest, cut, last] = git_process.parts(Blocks(data, 8), 10)
    assert (rest, last) == ([b"a", b"bc"], b"e")
    assert 10 <= len(cut) <= 18


def test_every_place_of_the_object_store_is_looked_at_once(sound):
    assert git_files.check_objects(sound.objects) == 0
    (sound.objects / "pack/pack-1.pack").write_bytes(b"x" * 1000)
    (sound.objects / "info/alternates").write_text(".\n" * 10)
    assert git_files.check_objects(sound.objects) == 1020


# ---- all cases


@pytest.mark.slow
@pytest.mark.parametrize("group", ["commit", "tree", "tag", "ref", "HEAD", "store", "file", "alternates", "config", ""])
def test_each_case_is_an_answer_or_an_error_of_the_input(tmp_path, monkeypatch, group):
    monkeypatch.setattr(git_process, "IDLE", 2.0)
    groups = ["commit", "tree", "tag", "ref", "HEAD", "store", "file", "alternates", "config"]
    for number, (name, case) in enumerate(hostile.CASES.items()):
        first = next((one for one in groups if name.startswith(one)), "")
        if case.slow or first != group:
            continue
        signal.alarm(SECONDS)
        built = hostile.build(name, tmp_path / str(number))
        try:
            with suppress(RepositoryError):
                look_at(built)
        except Exception as error:
            raise AssertionError(name) from error
        hostile.remove(built.path)


def look_at(built):
    """Everything that the commands read of a repository."""
    with Repository(built.path) as opened:
        snapshot = opened.snapshot("HEAD", JAVA)
        assert len(set(snapshot.paths)) == len(snapshot)
        for _ in opened.texts(snapshot.blobs[:100]):
            pass
        read = read_history(opened, snapshot.commit, JAVA)
        opened.commits(read.ids[-100:])
        opened.resolve_many([*built.made, "main", "v1"])


SLOW = [name for name, case in hostile.CASES.items() if case.slow and "100,000" not in name]


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_large_cases_take_less_than_a_gigabyte(tmp_path, name):
    built = hostile.build(name, tmp_path / hashlib.sha1(name.encode()).hexdigest())
    script = (
        "import sys, resource, types\nfrom tests.data.test_hostile_git import look_at\n"
        "from tosloc.errors import RepositoryError\nfrom pathlib import Path\n"
        "built = types.SimpleNamespace(path=Path(sys.argv[1]), made=sys.argv[2:])\n"
        "try: look_at(built)\nexcept RepositoryError as error: print(error)\n"
        # not ru_maxrss of its own: that begins with what the process had that started it
        "own = next(line for line in Path('/proc/self/status').read_text().splitlines() if line.startswith('VmHWM'))\n"
        "print(max(int(own.split()[1]), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))\n"
    )
    signal.alarm(300)
    done = subprocess.run(
        [sys.executable, "-c", script, str(built.path), *built.made],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert int(done.stdout.splitlines()[-1]) < 2**20 * 1.1, done.stdout  # kilobytes


@pytest.mark.slow
def test_a_history_of_100000_commits_takes_linear_time(tmp_path):
    seconds = []
    for number, commits in enumerate((25_000, 100_000)):
        signal.alarm(300)
        built = hostile.sound(tmp_path / str(number))
        hostile.long_history(built, commits)
        before = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        with Repository(built.path) as opened:
            assert len(read_history(opened, "HEAD", JAVA)) == commits + 3
        after = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(sum(new.ru_utime - old.ru_utime for new, old in zip(after, before, strict=True)))
    assert seconds[1] < 8 * seconds[0]
