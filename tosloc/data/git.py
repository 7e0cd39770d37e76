"""Versions, commits and blobs of a git repository, read from its object store alone.

Nothing is checked out and nothing of the repository is run: git is started on an empty git directory of our own that
borrows the repository's objects, so its hooks, configuration, replacements and remotes are out of reach. Only names of
revisions ("HEAD", "v1.0~3") are resolved in the repository itself.
"""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing.util import Finalize
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self, TypeAlias

import numpy as np

from tosloc.errors import RepositoryError, UnknownCommit
from tosloc.records import IntArray, Names, Snapshot

# E entries of a directory, F files of a version

BATCH: Final = 48
"""Requests sent before their answers are read: 48 lines fit the smallest pipe, so neither side can block the other."""
MERGED: Final = 512
"""Neighbouring runs of files are merged up to this length, so that a version is joined from few pieces."""
MEMORY: Final = 192 * 2**20
"""Bytes of remembered directories, for each set of suffixes."""

_HEX = re.compile(r"[0-9a-fA-F]{4,64}")
_COMMITTED = re.compile(rb"> ?(-?\d+)(?: [-+]?\d+)?$")
_NAME = "core.fsmonitor=false core.hooksPath=/dev/null diff.external= core.pager=cat log.showSignature=false".split()
_SAFE = [part for setting in _NAME for part in ("-c", setting)]

_Object: TypeAlias = tuple[str, bytes, bytes]
"""Full id, type, content."""


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """What a commit object says."""

    id: str
    tree: str
    parents: tuple[str, ...]
    """Full ids, first parent first; parents that the repository lacks (a shallow clone's) are absent."""
    committed_at: int
    """Committer time, seconds since 1970, UTC; 0 when the commit has none."""
    message: str


def decode(data: bytes) -> str:
    r"""Text of a file: UTF-8, else UTF-16 if it says so, else Latin-1; never fails. A byte order mark is dropped.

    >>> decode(b"\xef\xbb\xbfna\xc3\xafve"), decode(b"na\xefve"), decode("naïve".encode("utf-16"))
    ('naïve', 'naïve', 'naïve')
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")


def ends_with(suffixes: Iterable[str]) -> Callable[[bytes], bool]:
    """Whether a path, in bytes, ends with one of the suffixes; letters of either case are the same.

    >>> is_java = ends_with({".java"})
    >>> is_java(b"a/B.java"), is_java(b"a/B.JAVA"), is_java(b"a/B.javac")
    (True, True, False)
    >>> [ends_with({".d.ts", "test.java"})(path) for path in (b"a.D.ts", b"a.ts", b"ATest.java", b"A.java")]
    [True, False, True, False]
    """
    endings = {suffix.encode("utf-8", "surrogateescape").lower() for suffix in suffixes}
    plain = frozenset(ending for ending in endings if ending.rfind(b".") == 0)  # one look-up, however many they are
    others = tuple(sorted(endings - plain))
    return lambda path: path[path.rfind(b".") :].lower() in plain or path.lower().endswith(others)


class Repository:
    """A git repository: work tree, bare repository or bare git directory, on whatever account it belongs to.

    Its snapshots share ``path_names`` and ``blob_names``. ``missing`` holds the ids of trees and blobs that were asked
    for but are absent or damaged. It keeps one git process, ended by ``close`` or by a ``with`` block, and starts a
    new one when needed. A copy sent to another process has a process and tables of its own. Not for several threads.

    Raises RepositoryError when ``path`` is not a repository.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Final = Path(path).expanduser().absolute()
        self._program, self.git_dir = _find(self.path)
        common = self.git_dir / "commondir"
        self._common = (self.git_dir / os.fsdecode(common.read_bytes()).rstrip()) if common.is_file() else self.git_dir
        self._id_length = 64 if _uses_sha256(self._common / "config") else 40
        self._entry = re.compile(rb"([0-7]+) ([^\0]+)\0(.{%d})" % (self._id_length // 2), re.DOTALL)
        self.path_names: Final = Names()
        self.blob_names: Final = Names()
        self.missing: Final[set[str]] = set()
        self._directories: dict[frozenset[str], _Directories] = {}
        self._reader: _Reader | None = None

    @property
    def name(self) -> str:
        """Short name: the folder's, or its parent's when the folder is only called .git or repo."""
        folder = self.path
        while folder.name in (".git", "repo", "repository", "git") and folder.parent.name:
            folder = folder.parent
        return folder.name.removesuffix(".git") or "repository"

    def __repr__(self) -> str:
        return f"Repository({str(self.path)!r})"

    def __reduce__(self) -> tuple[type[Repository], tuple[Path]]:
        return type(self), (self.path,)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        reader: _Reader | None = getattr(self, "_reader", None)
        if reader is not None:
            reader.close()

    def close(self) -> None:
        """End the git process. The repository stays usable: the next question starts another."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    # ---- revisions and commits

    def resolve(self, revision: str) -> str:
        """Full id of the commit that ``revision`` names, as ``git rev-parse`` understands it; tags are followed.

        Raises UnknownCommit when there is no such commit, or several.
        """
        if len(revision) == self._id_length and _HEX.fullmatch(revision):
            [found] = self._objects([revision + "^{commit}"])
            if found is not None:
                return found[0]
        elif revision.strip() and not set(revision) & {"\n", "\0"}:
            command = ["rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"]
            done = subprocess.run(
                [self._program, *_SAFE, *command], env=self._own_environment(), capture_output=True, check=False
            )
            if done.returncode == 0:
                return done.stdout.decode("ascii").strip()
        raise UnknownCommit(self._unknown(revision))

    def resolve_many(self, revisions: Iterable[str]) -> dict[str, str | None]:
        """Full commit id of each revision, None for one that names no commit or several; thousands in one go.

        What looks like an id, whole or shortened, is one, even when a branch has that very name.
        """
        wanted = list(dict.fromkeys(revisions))
        ids = [revision for revision in wanted if _HEX.fullmatch(revision)]
        found = {
            revision: None if item is None else item[0]
            for revision, item in zip(ids, self._objects([f"{name}^{{commit}}" for name in ids]), strict=True)
        }
        for revision in wanted:
            if revision not in found:
                try:
                    found[revision] = self.resolve(revision)
                except UnknownCommit:
                    found[revision] = None
        return {revision: found[revision] for revision in wanted}

    def candidates(self, abbreviation: str) -> list[str]:
        """Full ids, sorted, of every commit whose id starts with ``abbreviation`` (four digits or more)."""
        if not _HEX.fullmatch(abbreviation):
            return []
        with self.stream(["rev-parse", f"--disambiguate={abbreviation}"]) as output:
            ids = sorted(output.read().decode("ascii").split())
        return [item[0] for item in self._objects(ids) if item is not None and item[1] == b"commit"]

    def commit(self, commit_id: str) -> CommitInfo:
        """The commit of a full id. Raises UnknownCommit."""
        return self.commits([commit_id])[0]

    def commits(self, commit_ids: Iterable[str]) -> list[CommitInfo]:
        """The commits of full ids, in the order asked. Raises UnknownCommit for the first that is not there."""
        wanted = list(commit_ids)
        parsed: list[CommitInfo] = []
        for commit_id, item in zip(wanted, self._objects(wanted), strict=True):
            if item is None or item[1] != b"commit":
                raise UnknownCommit(self._unknown(commit_id))
            parsed.append(_parse_commit(item[0], item[2]))
        cut, known = self.shallow, {info.id for info in parsed}
        asked = list(dict.fromkeys(parent for info in parsed for parent in info.parents if parent not in known))
        known |= {item[0] for item in self._objects(asked) if item is not None}
        return [_with_parents(info, known if info.id not in cut else frozenset()) for info in parsed]

    @property
    def shallow(self) -> frozenset[str]:
        """Ids of the commits at which a shallow clone was cut off; empty in a whole clone."""
        try:
            return frozenset((self._common / "shallow").read_text("ascii").split())
        except OSError:
            return frozenset()

    # ---- versions

    def snapshot(self, revision: str, suffixes: Iterable[str]) -> Snapshot:
        """The version's regular files whose path ends with one of ``suffixes`` (in either case), in path order.

        Links, submodules and files below a missing directory are left out. Consecutive versions cost only what changed.
        Raises UnknownCommit.
        """
        kept = suffixes if isinstance(suffixes, frozenset) else frozenset(suffixes)
        name = revision if _HEX.fullmatch(revision) and len(revision) == self._id_length else self.resolve(revision)
        [item] = self._objects([name + "^{commit}"])
        if item is None:
            raise UnknownCommit(self._unknown(revision))
        info = _parse_commit(item[0], item[2])
        directories = self._directories.get(kept)
        if directories is None:
            directories = self._directories[kept] = _Directories(self, ends_with(kept), self._entry)
        files_E2 = directories.files(info.tree)
        path_ids, blob_ids = np.ascontiguousarray(files_E2.T)
        return Snapshot(info.id, info.committed_at, self.path_names, self.blob_names, path_ids, blob_ids)

    # ---- contents

    def text(self, blob_id: str) -> str:
        """Text of a blob, decoded by ``decode``. Raises RepositoryError when it is missing."""
        [(_, data)] = self.texts([blob_id])
        if data is None:
            raise RepositoryError(f"{self.path}: file content {blob_id} is missing; fetch the repository again, whole")
        return decode(data)

    def texts(self, blob_ids: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Each blob's id and bytes, in the order asked, as a stream; None for one that is missing or damaged.

        Other questions may be asked while the stream is read, and it may be left half read.
        """
        for blob_id, item in zip_objects(self, blob_ids):
            if item is None or item[1] != b"blob":
                self.missing.add(blob_id)
                yield blob_id, None
            else:
                yield blob_id, item[2]

    # ---- git itself

    @contextmanager
    def stream(self, arguments: Sequence[str], stdin: bytes = b"") -> Iterator[IO[bytes]]:
        """Output of a git command that sees the objects only (no names, no configuration), while it runs.

        Raises RepositoryError, with git's own last words, when the command fails and all its output was read.
        """
        with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as source:
            source.write(stdin)
            source.seek(0)
            command = [self._program, *_SAFE, *arguments]
            process = subprocess.Popen(
                command, stdin=source, stdout=subprocess.PIPE, stderr=errors, env=self._environment()
            )
            assert process.stdout is not None
            try:
                yield process.stdout
                finished = not process.stdout.read(1)
            except BaseException:
                process.kill()
                raise
            finally:
                process.stdout.close()
                status = process.wait()
            if finished and status:
                errors.seek(0)
                words = errors.read().decode("utf-8", "replace").strip().splitlines() or ["no message"]
                raise RepositoryError(
                    f"{self.path}: git {arguments[0]} failed ({words[-1]}); run 'git fsck' there, or clone it again"
                )

    def _objects(self, names: Sequence[str]) -> list[_Object | None]:
        return [item for _, item in zip_objects(self, names)]

    def _batch(self, names: Sequence[str]) -> list[_Object | None]:
        """Objects of at most BATCH names."""
        found: list[_Object | None] = []
        while len(found) < len(names):
            if not self._ask(names[len(found) :], found):
                # git died at an object: damaged if git answers at all, which a name that cannot exist shows
                if not self._ask(["-"], []):
                    raise RepositoryError(f"{self.path}: git cannot read the objects; run 'git fsck' there")
                found.append(None)
        return found

    def _ask(self, names: Sequence[str], found: list[_Object | None]) -> bool:
        """Whether git answered all the names; if not, or when interrupted, its process is ended."""
        if self._reader is not None and self._reader.owner != os.getpid():
            self.close()
        if self._reader is None:
            self._reader = _Reader([self._program, *_SAFE, "cat-file", "--batch"], self._environment())
        answered = False
        try:
            answered = self._reader.ask(names, found)
        finally:
            if not answered:
                self.close()
        return answered

    def _environment(self) -> dict[str, str]:
        """Environment in which git has the repository's objects and nothing else of it."""
        return _environment() | {
            "GIT_DIR": str(_empty_git_directory(self._id_length)),
            "GIT_OBJECT_DIRECTORY": str(self._common / "objects"),
            "GIT_SHALLOW_FILE": str(self._common / "shallow"),
        }

    def _own_environment(self) -> dict[str, str]:
        """Environment in which git has the repository's names too; naming the directory waives the owner's check."""
        return _environment() | {"GIT_DIR": str(self.git_dir)}

    def _unknown(self, revision: str) -> str:
        if len(several := self.candidates(revision)) > 1:
            return f"{self.path}: {revision!r} begins {len(several)} commit ids; give more digits, as in {several[0]}"
        if self.shallow:
            return f"{self.path}: no commit {revision!r} in this shallow clone; run: git fetch --unshallow --tags"
        return f"{self.path}: no commit {revision!r}; check its spelling, or run: git fetch --all --tags"


def zip_objects(repository: Repository, names: Iterable[str]) -> Iterator[tuple[str, _Object | None]]:
    """Each name with its object (full id, type, content), read in batches with nothing left pending between them."""
    rest = iter(names)
    while batch := list(islice(rest, BATCH)):
        yield from zip(batch, repository._batch(batch), strict=True)


class _Reader:
    """A running ``git cat-file --batch``."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.owner = os.getpid()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )

    def ask(self, names: Sequence[str], found: list[_Object | None]) -> bool:
        """Whether git answered all; answers are appended to ``found`` (None: no such object, or several)."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        try:
            requests.write("".join(f"{name}\n" for name in names).encode("utf-8", "surrogateescape"))
            requests.flush()
        except OSError:
            return False
        for _ in names:
            words = answers.readline().split()
            if len(words) == 2:
                found.append(None)
                continue
            if len(words) != 3:
                return False
            size = int(words[2])
            content = answers.read(size + 1)
            if len(content) != size + 1:
                return False
            found.append((words[0].decode("ascii"), words[1], content[:-1]))
        return True

    def close(self) -> None:
        process = self._process
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    pass
        if self.owner == os.getpid():
            process.wait()
        else:  # a forked child: the process is its parent's
            process.returncode = 0


@dataclass(frozen=True, slots=True)
class _Directory:
    """Kept files of a directory and all below it."""

    runs: tuple[IntArray, ...]
    """Of (path number, blob number), in path order; shared with the directories above."""
    size: int
    """Bytes of the runs, about."""

    @classmethod
    def of(cls, *runs: IntArray) -> Self:
        """The directory of these runs."""
        return cls(runs, 400 + sum([run.nbytes + 120 for run in runs]))


_NONE: Final = _Directory.of()


class _Directories:
    """Remembers directories by (tree id, path), least recently used forgotten first."""

    def __init__(self, repository: Repository, keep: Callable[[bytes], bool], entry: re.Pattern[bytes]) -> None:
        self._repository, self._keep, self._entry = repository, keep, entry
        self._known: dict[tuple[str, bytes], _Directory] = {}
        self._size = 0

    def files(self, tree: str) -> IntArray:
        """(F, 2) path and blob numbers of the kept files of a root tree, in path order."""
        if not self._known:
            self._list(tree)
        runs = self._directory(tree).runs
        return np.concatenate(runs) if runs else np.empty((0, 2), dtype=np.int32)

    def _list(self, tree: str) -> None:
        """Remember all directories of a root tree from one listing by git, much faster than reading each; or none."""
        try:
            with self._repository.stream(["ls-tree", "-r", "-t", "-z", tree]) as output:
                entries = output.read().split(b"\0")
        except RepositoryError:
            return  # something is missing: reading directory by directory finds what, and the rest
        path_number, blob_number = self._repository.path_names.id, self._repository.blob_names.id
        files: list[tuple[int, int]] = []
        opened, inside = [((tree, b""), 0)], b""
        closed: list[tuple[tuple[str, bytes], int, int]] = []
        for entry in entries:
            is_file = entry.startswith(b"100")
            if is_file or entry.startswith(b"040000"):
                head, _, path = entry.partition(b"\t")
                while not path.startswith(inside):
                    closed.append((*opened.pop(), len(files)))
                    inside = opened[-1][0][1]
                if not is_file:
                    inside = path + b"/"
                    opened.append(((head[12:].decode("ascii"), inside), len(files)))
                elif self._keep(path):
                    number = path_number(path.decode("utf-8", "surrogateescape"))
                    files.append((number, blob_number(head[12:].decode("ascii"))))
        closed.extend((*directory, len(files)) for directory in reversed(opened))
        files_F2 = np.array(files, dtype=np.int32).reshape(-1, 2)
        for key, start, end in closed:  # children before their parents
            self._remember(key, _Directory.of(files_F2[start:end]) if end > start else _NONE)

    def _remember(self, key: tuple[str, bytes], directory: _Directory) -> None:
        self._known[key] = directory
        self._size += directory.size

    def _directory(self, tree: str) -> _Directory:
        root = (tree, b"")
        read: dict[tuple[str, bytes], list[tuple[bytes, bytes, str]]] = {}
        ready: dict[tuple[str, bytes], _Directory] = {}
        wanted = [root]
        while wanted:  # one level of the tree at a time, so that its reads go in batches
            absent: list[tuple[str, bytes]] = []
            for key in wanted:
                directory = self._known.pop(key, None)
                if directory is None:
                    absent.append(key)
                else:
                    ready[key] = self._known[key] = directory
            wanted = []
            for key, (_, item) in zip(absent, zip_objects(self._repository, [key[0] for key in absent]), strict=True):
                if item is None or item[1] != b"tree":
                    self._repository.missing.add(key[0])
                    ready[key] = _NONE
                    continue
                entries = [
                    (mode.lstrip(b"0"), key[1] + name, identity.hex())
                    for mode, name, identity in self._entry.findall(item[2])
                ]
                read[key] = entries
                wanted.extend((identity, path + b"/") for mode, path, identity in entries if mode == _TREE)
        for key, entries in reversed(read.items()):  # children were read after their parents
            ready[key] = self._build(entries, ready)
            self._remember(key, ready[key])
        while self._size > MEMORY and len(self._known) > 1:
            oldest = next(iter(self._known))
            self._size -= self._known.pop(oldest).size
        return ready[root]

    def _build(
        self, entries: list[tuple[bytes, bytes, str]], ready: Mapping[tuple[str, bytes], _Directory]
    ) -> _Directory:
        path_number, blob_number = self._repository.path_names.id, self._repository.blob_names.id
        runs: list[IntArray] = []
        run: list[IntArray] = []
        own: list[tuple[int, int]] = []
        length = 0

        def end_own() -> None:
            if own:
                run.append(np.array(own, dtype=np.int32))
                own.clear()

        def end_run() -> None:
            nonlocal length
            end_own()
            if run:
                runs.append(run[0] if len(run) == 1 else np.concatenate(run))
                run.clear()
            length = 0

        for mode, path, identity in entries:
            if mode == _TREE:
                for part in ready[identity, path + b"/"].runs:
                    if length + len(part) > MERGED:
                        end_run()
                    end_own()
                    run.append(part)
                    length += len(part)
            elif mode.startswith(b"100") and self._keep(path):
                own.append((path_number(path.decode("utf-8", "surrogateescape")), blob_number(identity)))
                length += 1
        end_run()
        return _Directory.of(*runs)


_TREE: Final = b"40000"


def _parse_commit(identity: str, content: bytes) -> CommitInfo:
    """The commit as its object has it, with every parent that it names."""
    head, _, body = content.partition(b"\n\n")
    tree, parents, committed_at, encoding = "", [], 0, "utf-8"
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        if key == b"tree":
            tree = value.decode("ascii")
        elif key == b"parent":
            parents.append(value.decode("ascii"))
        elif key == b"committer":
            found = _COMMITTED.search(value)
            committed_at = int(found[1]) if found else 0
        elif key == b"encoding":
            encoding = value.decode("ascii", "replace")
    try:
        message = body.decode(encoding, "replace")
    except LookupError:
        message = body.decode("utf-8", "replace")
    return CommitInfo(identity, tree, tuple(parents), committed_at, message)


def _with_parents(info: CommitInfo, known: frozenset[str] | set[str]) -> CommitInfo:
    parents = tuple(parent for parent in info.parents if parent in known)
    return CommitInfo(info.id, info.tree, parents, info.committed_at, info.message)


def _find(path: Path) -> tuple[str, Path]:
    """The git program and the git directory of the repository at ``path``. Raises RepositoryError."""
    try:
        import git  # here, since it fails where git is not installed
    except ImportError as error:
        raise RepositoryError("git is not installed, or not on the search path; install it and try again") from error
    if not path.exists():
        raise RepositoryError(f"{path}: no such folder; give the path of a git repository")
    try:
        repository = git.Repo(path, expand_vars=False)
    except Exception as error:  # GitPython raises many kinds, down to those of its configuration parser
        if path.is_dir() and not os.access(path, os.R_OK | os.X_OK):
            raise RepositoryError(f"{path}: this folder may not be read; ask its owner, or copy it") from error
        raise RepositoryError(
            f"{path}: not a git repository; give the folder that has .git in it, or a bare repository"
        ) from error
    return str(git.Git.GIT_PYTHON_GIT_EXECUTABLE), Path(repository.git_dir).absolute()


def _uses_sha256(config: Path) -> bool:
    try:
        return re.search(r"(?im)^\s*objectformat\s*=\s*\"?sha256", config.read_text("utf-8", "replace")) is not None
    except OSError:
        return False


def _environment() -> dict[str, str]:
    """The environment without any setting of git but ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name == "GIT_EXEC_PATH"}
    return kept | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",  # for versions of git that do not know the line above
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": os.devnull,
        "LC_ALL": "C",
    }


@functools.cache
def _scratch() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tosloc-git-"))
    remove = functools.partial(shutil.rmtree, folder, ignore_errors=True)
    Finalize(None, remove, exitpriority=0)  # the way a worker process ends, which knows nothing of atexit
    atexit.register(remove)
    return folder


def _empty_git_directory(id_length: int) -> Path:
    """A git directory without objects, names or configuration, made once for the whole program."""
    folder = _scratch() / ("sha256.git" if id_length == 64 else "sha1.git")
    if not (folder / "HEAD").is_file():
        (folder / "refs").mkdir(parents=True, exist_ok=True)
        if id_length == 64:
            (folder / "config").write_text("[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = sha256\n")
        (folder / "HEAD").write_text("ref: refs/heads/none\n")
    return folder
