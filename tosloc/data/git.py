"""Versions, commits and blobs of a git repository, read from its object store alone.

Nothing is checked out and nothing of the repository is run: git is started on an empty git directory of our own that
borrows the repository's objects, so its hooks, configuration, replacements and remotes are out of reach. Only names of
revisions ("HEAD", "v1.0~3") are resolved in the repository itself.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

import numpy as np

from tosloc.data import git_files
from tosloc.data.git_process import (
    DIED,
    KILLED,
    LARGEST,
    MEMORY,
    MEMORY_PER_BYTE,
    SAFE_OPTIONS,
    GitObject,
    GitRun,
    GitStandsStill,
    ObjectReader,
    clean_environment,
    empty_git_directory,
    git_program,
    running,
    uses_sha256,
)
from tosloc.data.git_trees import Trees
from tosloc.errors import RepositoryError, UnknownCommit
from tosloc.records import Names, Snapshot

_BATCH: Final = 48
"""Requests sent before their answers are read: 48 lines fit the smallest pipe, so neither side can block the other."""

_HEX = re.compile(r"[0-9a-fA-F]{4,64}")
_ID = re.compile(rb"[0-9a-f]{40}|[0-9a-f]{64}")
_IN_INDEX = re.compile(r":(?!/)")
"""Begins what git would look for in the index, which holds no commits."""
_COMMITTED = re.compile(rb"> ?(-?\d+)(?: [-+]?\d+)?$")
_NO_CHARACTER_SETS: Final = frozenset("idna punycode undefined unicode-escape raw-unicode-escape mbcs oem".split())
"""What Python calls encodings beside those of characters."""
LONGEST_MESSAGE: Final = 2**20
"""Bytes of a message that are kept: the longest known one is a squashed merge of some hundred thousand."""
_TIMES: Final = range(
    int(datetime(1, 1, 1, tzinfo=UTC).timestamp()), int(datetime(9999, 12, 31, tzinfo=UTC).timestamp())
)
"""Seconds since 1970 that a date can have."""


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """What a commit object says."""

    id: str
    tree: str
    parents: tuple[str, ...]
    """Full ids, first parent first; parents that the repository lacks (a shallow clone's) are absent."""
    committed_at: int
    """Committer time, seconds since 1970, UTC; 0 when the commit has none, or one that no date has."""
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
        self._program = git_program()
        self._directory = git_files.find(self.path)
        self._common = self._directory.common
        self._id_length = 64 if uses_sha256(self._common / "config") else 40
        self._memory = MEMORY + MEMORY_PER_BYTE * git_files.check_objects(self._common / "objects")
        git_files.shallow_commits(self._directory, self._id_length)
        self._names_checked = False
        self.path_names: Final = Names()
        self.blob_names: Final = Names()
        self.missing: Final[set[str]] = set()
        self._trees: dict[frozenset[str], Trees] = {}
        self._reader: ObjectReader | None = None
        self._ended_with = 0

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
        reader: ObjectReader | None = getattr(self, "_reader", None)
        if reader is not None:
            reader.close()

    def close(self) -> None:
        """End the git process. The repository stays usable: the next question starts another."""
        if self._reader is not None:
            self._ended_with = self._reader.close()
            self._reader = None

    # ---- revisions and commits

    def resolve(self, revision: str) -> str:
        """Full id of the commit that ``revision`` names, as ``git rev-parse`` understands it; tags are followed.

        Raises UnknownCommit when there is no such commit, or several.
        """
        if len(revision) == self._id_length and _HEX.fullmatch(revision):
            [found] = self._objects([revision + "^{commit}"])
            if found is not None:
                return found.id
        elif revision.strip() and not set(revision) & {"\n", "\0"} and not _IN_INDEX.match(revision):
            if not self._names_checked:
                git_files.check_names(self._directory)
                self._names_checked = True
            command = ["rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"]
            with self._named(), self._run(command, self._own_environment()) as run:
                answer = run.output.read(git_files.SMALL)
            if run.status == 0:
                return answer.decode("ascii").strip()
            if run.complaint.startswith("fatal: bad config"):
                raise RepositoryError(f"{self.path}: git cannot read the configuration ({run.complaint}); mend it")
        raise UnknownCommit(self._unknown(revision))

    def resolve_many(self, revisions: Iterable[str]) -> dict[str, str | None]:
        """Full commit id of each revision, None for one that names no commit or several; thousands in one go.

        What looks like an id, whole or shortened, is one, even when a branch has that very name.
        """
        wanted = list(dict.fromkeys(revisions))
        ids = [revision for revision in wanted if _HEX.fullmatch(revision)]
        found = {
            revision: None if item is None else item.id
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
        return [item.id for item in self._objects(ids) if item is not None and item.type == b"commit"]

    def commit(self, commit_id: str) -> CommitInfo:
        """The commit of a full id. Raises UnknownCommit."""
        return self.commits([commit_id])[0]

    def present(self, commit_ids: Iterable[str]) -> set[str]:
        """Those of full ids that are commits of the repository."""
        return {name for name, item in self.objects(commit_ids) if item is not None and item.type == b"commit"}

    def commits(self, commit_ids: Iterable[str]) -> list[CommitInfo]:
        """The commits of full ids, in the order asked. Raises UnknownCommit for the first that is not there."""
        parsed: list[CommitInfo] = []
        for commit_id, item in self.objects(commit_ids):
            if item is None or item.type != b"commit":
                raise UnknownCommit(self._unknown(commit_id))
            parsed.append(self._parsed(item))
        cut, known = self.shallow, {info.id for info in parsed}
        asked = list(dict.fromkeys(parent for info in parsed for parent in info.parents if parent not in known))
        known |= {item.id for _, item in self.objects(asked) if item is not None}
        return [
            replace(info, parents=tuple(parent for parent in info.parents if info.id not in cut and parent in known))
            for info in parsed
        ]

    def subjects(self, commit_ids: Iterable[str]) -> dict[str, str]:
        """First line of the message of each commit that is there and says something."""
        found: dict[str, str] = {}
        for commit_id, item in self.objects(commit_ids):
            if item is not None and item.type == b"commit" and item.content is not None:
                lines = self._parsed(item).message.strip().splitlines()
                if lines:
                    found[commit_id] = lines[0].strip()
        return found

    @property
    def shallow(self) -> frozenset[str]:
        """Ids of the commits at which a shallow clone was cut off; empty in a whole clone."""
        return git_files.shallow_commits(self._directory, self._id_length)

    @property
    def partial(self) -> bool:
        """Whether it is a partial clone, which lacks what nobody has asked for yet."""
        return any((self._common / "objects/pack").glob("*.promisor"))

    def remote_url(self) -> str | None:
        """Address of the remote called origin, as the repository's own configuration has it; None without one."""
        file = self._common / "config"
        if git_files.git_file_size(file, git_files.CONFIG) is None:
            return None
        command = ["config", "--file", str(file), "--no-includes", "--get", "remote.origin.url"]
        with self._named(), self._run(command, self._environment()) as run:
            address = run.output.read(git_files.SMALL)
        return address.decode("utf-8", "replace").strip() or None

    @property
    def work_tree(self) -> Path | None:
        """The folder whose files a reader can open; None of a bare repository."""
        return self.path if os.path.lexists(self.path / ".git") else None

    def _parsed(self, item: GitObject) -> CommitInfo:
        try:
            return _parse_commit(item)
        except RepositoryError as error:
            raise RepositoryError(f"{self.path}: {error}; run 'git fsck' there, or clone it again") from None

    # ---- versions

    def snapshot(self, revision: str, suffixes: Iterable[str]) -> Snapshot:
        """The version's regular files whose path ends with one of ``suffixes`` (in either case), in path order.

        Links, submodules and files below a missing directory are left out. Consecutive versions cost only what changed.
        Raises UnknownCommit.
        """
        kept = frozenset(suffixes)
        name = revision if _HEX.fullmatch(revision) and len(revision) == self._id_length else self.resolve(revision)
        [item] = self._objects([name + "^{commit}"])
        if item is None:
            raise UnknownCommit(self._unknown(revision))
        info = self._parsed(item)
        if kept not in self._trees:
            self._trees[kept] = Trees(self, ends_with(kept), self._id_length)
        path_ids, blob_ids = np.ascontiguousarray(self._trees[kept].files(info.tree).T)
        return Snapshot(info.id, info.committed_at, self.path_names, self.blob_names, path_ids, blob_ids)

    # ---- contents

    def text(self, blob_id: str) -> str:
        """Text of a blob, decoded by ``decode``. Raises RepositoryError when it is missing."""
        [(_, data)] = self.texts([blob_id])
        if data is None:
            raise RepositoryError(f"{self.path}: file content {blob_id} is missing; fetch the repository again, whole")
        return decode(data)

    def texts(self, blob_ids: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Each blob's id and bytes, in the order asked, as a stream; None for one missing, damaged or too large.

        Other questions may be asked while the stream is read, and it may be left half read.
        """
        for blob_id, item in self.objects(blob_ids):
            if item is None or item.type != b"blob" or item.content is None:
                self.missing.add(blob_id)
                yield blob_id, None
            else:
                yield blob_id, item.content

    # ---- git itself

    @contextmanager
    def stream(self, arguments: Sequence[str], stdin: bytes = b"") -> Iterator[IO[bytes]]:
        """Output of a git command that sees the objects only (no names, no configuration), while it runs.

        Raises RepositoryError, with git's own last words, when the command fails and all its output was read.
        """
        with self._named(), self._run(arguments, self._environment(), stdin) as run:
            yield run.output
        if run.finished and run.status:
            raise RepositoryError(
                f"{self.path}: git {arguments[0]} failed ({run.complaint}); run 'git fsck' there, or clone it again"
            )

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name the file that git waits for, where it is one of the repository's own."""
        try:
            yield
        except GitStandsStill:
            git_files.check_everything(self._directory)
            raise

    def _run(
        self, arguments: Sequence[str], environment: Mapping[str, str], stdin: bytes = b""
    ) -> AbstractContextManager[GitRun]:
        command = [self._program, *SAFE_OPTIONS, *arguments]
        return running(command, f"{self.path}: git {arguments[0]}", environment, stdin, self._memory)

    def objects(self, names: Iterable[str]) -> Iterator[tuple[str, GitObject | None]]:
        """Each name with its object, None where there is none, or several; nothing is left pending between batches."""
        rest = iter(names)
        while batch := list(islice(rest, _BATCH)):
            yield from zip(batch, self._batch(batch), strict=True)

    def _objects(self, names: Sequence[str]) -> list[GitObject | None]:
        return [item for _, item in self.objects(names)]

    def _batch(self, names: Sequence[str]) -> list[GitObject | None]:
        """Objects of at most _BATCH names."""
        found: list[GitObject | None] = []
        died_at = -1
        while (known := len(found)) < len(names):
            if self._ask(names[known:], found):
                break
            last = found[-1] if len(found) > known else None
            if last is not None and last.content is None:
                continue  # too large: what follows it is asked of a new process
            if died_at != len(found):
                died_at = len(found)
                continue  # what git died of may not come again
            if self._ended_with != DIED:
                raise RepositoryError(f"{self.path}: git cat-file {KILLED}")
            # git gave up at an object: damaged if git answers at all, which a name that cannot exist shows
            if not self._ask(["-"], []):
                raise RepositoryError(f"{self.path}: git cannot read the objects; run 'git fsck' there")
            found.append(None)
        return found

    def _ask(self, names: Sequence[str], found: list[GitObject | None]) -> bool:
        """Whether git answered all the names; if not, or when interrupted, its process is ended."""
        if self._reader is not None and self._reader.owner != os.getpid():
            self.close()
        if self._reader is None:
            command = [self._program, *SAFE_OPTIONS, "cat-file", "--batch"]
            self._reader = ObjectReader(command, f"{self.path}: git cat-file", self._environment())
        answered = False
        try:
            with self._named():
                answered = self._reader.ask(names, found)
        finally:
            if not answered:
                self.close()
        return answered

    def _environment(self) -> dict[str, str]:
        """Environment in which git has the repository's objects and nothing else of it."""
        return clean_environment() | {
            "GIT_DIR": str(empty_git_directory(self._id_length)),
            "GIT_OBJECT_DIRECTORY": str(self._common / "objects"),
            "GIT_SHALLOW_FILE": str(self._common / "shallow"),
        }

    def _own_environment(self) -> dict[str, str]:
        """Environment in which git has the repository's names too; naming the directory waives the owner's check."""
        return clean_environment() | {"GIT_DIR": str(self._directory.own)}

    def _unknown(self, revision: str) -> str:
        if len(several := self.candidates(revision)) > 1:
            return f"{self.path}: {revision!r} begins {len(several)} commit ids; give more digits, as in {several[0]}"
        if revision == "HEAD" and not self.shallow:
            with self._run(["rev-parse", "--verify", "--quiet", "HEAD"], self._own_environment()) as run:
                run.output.read(git_files.SMALL)
            if run.status:
                return f"{self.path}: no commit 'HEAD': its branch is empty; commit something, or name another branch"
            return f"{self.path}: no commit 'HEAD': its branch names one that is missing; run 'git fsck' there"
        if self.shallow:
            return f"{self.path}: no commit {revision!r} in this shallow clone; run: git fetch --unshallow --tags"
        return f"{self.path}: no commit {revision!r}; check its spelling, or run: git fetch --all --tags"


def seconds_of(digits: bytes) -> int:
    """Seconds since 1970 that a commit states; 0, as git has it, for none and for those beyond the years 1 to 9999.

    >>> seconds_of(b"-5"), seconds_of(b""), seconds_of(b"9" * 5000)
    (-5, 0, 0)
    """
    seconds = int(digits) if 0 < len(digits) < 16 else 0
    return seconds if seconds in _TIMES else 0


def message_of(body: bytes, encoding: str = "utf-8") -> str:
    """Text of a message in the character set that its commit names, in UTF-8 if that is none; never fails."""
    body = body[:LONGEST_MESSAGE]
    try:
        if codecs.lookup(encoding).name not in _NO_CHARACTER_SETS:
            return body.decode(encoding, "replace")
    except (LookupError, ValueError):
        pass
    return body.decode("utf-8", "replace")


def _parse_commit(item: GitObject) -> CommitInfo:
    """The commit as its object has it, with every parent that it names. Raises RepositoryError when it is damaged."""
    if item.content is None:
        raise RepositoryError(f"commit {item.id} has more than {LARGEST >> 20} MB: no message is that long")
    head, _, body = item.content.partition(b"\n\n")
    tree, parents, committed_at, encoding = b"", [], 0, b"utf-8"
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        if key == b"tree":
            tree = value
        elif key == b"parent":
            parents.append(value)
        elif key == b"committer":
            found = _COMMITTED.search(value)
            committed_at = seconds_of(found[1]) if found else 0
        elif key == b"encoding":
            encoding = value
    if not all(map(_ID.fullmatch, (tree, *parents))):
        raise RepositoryError(f"commit {item.id} is damaged: it names no tree, or a parent that is no id")
    ids = [name.decode("ascii") for name in parents]
    message = message_of(body, encoding[:100].decode("ascii", "replace"))
    return CommitInfo(item.id, tree.decode("ascii"), tuple(ids), committed_at, message)
