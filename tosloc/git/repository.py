"""Versions, commits and blobs of a git repository, read from its object store alone, but for files not committed.

Nothing is checked out and nothing of the repository is run: git is started on an empty git directory of our own that
borrows the repository's objects, so its hooks, configuration, replacements and remotes are out of reach. Only names of
revisions ("HEAD", "v1.0~3") are resolved in the repository itself.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Final, Self

import numpy as np

from tosloc.answer import Routine
from tosloc.errors import RepositoryError, UnknownCommit, counted
from tosloc.git.discovery import find, read_small
from tosloc.git.process import (
    LARGEST_SOURCE,
    LARGEST_VERSION,
    SETTINGS,
    ObjectReader,
    Trees,
    clean_environment,
    failure,
    gitpython,
    parts,
)
from tosloc.io import read_inside
from tosloc.processes import start
from tosloc.records import TIMES, Names, Snapshot

_HEX = re.compile(r"[0-9a-fA-F]{4,64}")
_FULL_ID = re.compile(r"[0-9a-fA-F]{40}|[0-9a-fA-F]{64}")
_COMMIT: Final = "^{commit}"
"""Makes a name that of a commit: tags are followed, and what is none is missing."""
_STATED = re.compile(rb"tree ([0-9a-f]{40,64})\n((?:parent [0-9a-f]{40,64}\n)*+)author ")
_COMMITTED = re.compile(rb"(?m)^committer .*> ?(-?\d{1,15})(?: [-+]?\d+)?$")
_ENCODING = re.compile(rb"(?mi)^encoding (?!idna|puny|un|raw|mbcs|oem)([\w.:-]{1,40})$")
"""Of what Python calls encodings those of characters."""
_NO_NAME = re.compile(r"-|:(?!/)|\s*\Z|.*[\0\n]", re.DOTALL)
"""Begins or is what names no commit: an option, what git would look for in the index, nothing, two lines."""
LONGEST_MESSAGE: Final = 2**20
"""Bytes of a message that are kept: the longest known one is a squashed merge of some hundred thousand."""


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """What a commit object says."""

    id: str
    tree: str
    parents: tuple[str, ...]
    """Full ids, first parent first; none where a shallow clone was cut off."""
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

    >>> [ends_with({".d.ts", ".java"})(path) for path in (b"a.D.ts", b"a.ts", b"A.JAVA", b"a/A.javac")]
    [True, False, True, False]
    """
    endings = {suffix.encode("utf-8", "surrogateescape").lower() for suffix in suffixes}
    plain = frozenset(ending for ending in endings if ending.rfind(b".") == 0)  # one look-up, however many they are
    others = tuple(sorted(endings - plain))
    return lambda path: path[path.rfind(b".") :].lower() in plain or path.lower().endswith(others)


class Repository:
    """A git repository: work tree, bare repository or bare git directory, on whatever account it belongs to.

    Its snapshots share ``path_names`` and ``blob_names``. ``missing`` holds the ids of trees and blobs that were asked
    for but are absent or damaged, ``on_disk`` the path of each blob of the work tree that is not committed. It keeps
    one git process, ended by ``close`` or by a ``with`` block, and starts a new one when needed. A copy sent to another
    process has a process and tables of its own. Not for several threads, nor for forked processes.

    Raises RepositoryError when ``path`` is not a repository.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Final = Path(path).expanduser().absolute()
        self._directory, self._common = find(self.path)
        self._git = [gitpython().Git.GIT_PYTHON_GIT_EXECUTABLE, *SETTINGS]
        config = BytesIO(read_small(self._common / "config"))  # a named pipe would be waited for
        config.name = "config"
        self._config = gitpython().GitConfigParser(config, merge_includes=False)
        self._hash = "sha256" if self._config.get_value("extensions", "objectformat", "sha1") == "sha256" else "sha1"
        # in which git has the repository's objects and nothing else of it
        self._environment = clean_environment() | {
            "GIT_DIR": str(Path(__file__).parent / f"empty_{self._hash}"),
            "GIT_OBJECT_DIRECTORY": str(self._common / "objects"),
            "GIT_SHALLOW_FILE": str(self._common / "shallow"),
        }
        self._reader = ObjectReader(self._git, self._environment, f"{self.path}: git cat-file")
        self.objects: Final = self._reader.read
        self.path_names: Final = Names()
        self.blob_names: Final = Names()
        self.missing: Final[set[str]] = set()
        self.on_disk: Final[dict[str, str]] = {}
        self._trees: dict[frozenset[str], Trees] = {}

    @property
    def name(self) -> str:
        """Short name: the folder's, or its parent's when the folder is only called .git or repo."""
        folder = self.home
        while folder.name in (".git", "repo", "repository", "git") and folder.parent.name:
            folder = folder.parent
        return folder.name.removesuffix(".git") or "repository"

    @property
    def home(self) -> Path:
        """Where the repository lies of which ``path`` is a linked work tree; of others ``path`` itself."""
        if self._directory == self._common:
            return self.path
        common = self._common.resolve()
        return common.parent if common.name == ".git" else common

    def __reduce__(self) -> tuple[type[Repository], tuple[Path]]:
        return type(self), (self.path,)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_reader"):
            self._reader.close()

    def close(self) -> None:
        """End the git process. The repository stays usable: the next question starts another."""
        self._reader.close()

    # ---- revisions and commits

    def resolve(self, revision: str) -> str:
        """Full id of the commit that ``revision`` names, as git understands it; tags are followed.

        Raises UnknownCommit when there is no such commit, or several.
        """
        if (found := self.resolve_many([revision])[revision]) is None:
            raise UnknownCommit(self._unknown(revision))
        return found

    def resolve_many(self, revisions: Iterable[str]) -> dict[str, str | None]:
        """Full commit id of each revision, None for one that names no commit or several; thousands in one go."""
        found: dict[str, str | None] = dict.fromkeys(revisions)
        names = [revision for revision in found if not _NO_NAME.match(revision)]
        asked = "".join(f"{name}{_COMMIT}\n" for name in names).encode("utf-8", "surrogateescape")
        # here alone git sees branches and settings; naming the directory waives the check whose it is
        with self.stream(["cat-file", "--batch-check=%(objectname)"], asked, GIT_DIR=str(self._directory)) as output:
            for name, line in zip(names, output.read().decode("utf-8", "replace").split("\n"), strict=False):
                found[name] = line if _FULL_ID.fullmatch(line) else None
        return found

    def candidates(self, abbreviation: str) -> list[str]:
        """Full ids, sorted, of every commit whose id starts with ``abbreviation`` (four digits or more)."""
        if not _HEX.fullmatch(abbreviation):
            return []
        with self.stream(["rev-parse", f"--disambiguate={abbreviation}"]) as output:
            ids = sorted(output.read().decode("ascii").split())
        return [commit_id for commit_id, content in self.objects(ids, b"commit") if content is not None]

    def commits(self, commit_ids: Iterable[str]) -> list[CommitInfo]:
        """The commits of full ids, in the order asked. Raises UnknownCommit for the first that is not there."""
        cut = self.shallow
        return [self._commit(commit_id, content, cut) for commit_id, content in self.objects(commit_ids, b"commit")]

    def subjects(self, commit_ids: Iterable[str]) -> dict[str, str]:
        """First line of the message of each commit that is there and says something."""
        there = [one for one in self.objects(commit_ids, b"commit") if one[1] is not None]
        said = {commit_id: self._commit(commit_id, content).message.strip() for commit_id, content in there}
        return {commit_id: message.splitlines()[0].strip() for commit_id, message in said.items() if message}

    def authors(self, commit_ids: Sequence[str], version: str) -> dict[str, str]:
        """Name of the author of each commit that is there, as the ``.mailmap`` of a version has it."""
        if not commit_ids:  # git would tell of HEAD
            return {}
        command = ["-c", f"mailmap.blob={version}:.mailmap", "log", "--no-walk=unsorted", "--ignore-missing", "--stdin"]
        with self.stream([*command, "--format=%H %aN"], "".join(f"{one}\n" for one in commit_ids).encode()) as output:
            return dict(line.split(" ", 1) for line in output.read().decode("utf-8", "replace").splitlines())

    def changes(self, commits: Iterable[str]) -> Iterator[tuple[str, tuple[bytes, bytes], bytes]]:
        """What commits change, in their order and that of paths: commit, kinds of a file before and after, its path.

        Each is a full id, or two with a blank: the commit, and the one that it is compared with in place of its only
        parent. A regular file is of kind b"100". A move changes both paths, a root all its files; no blob is read.
        """
        lines = "".join(f"{commit}\n" for commit in commits).encode()
        commit, number = "", 0
        with self.stream("diff-tree --stdin --root -r -z --no-renames".split(), lines) as output:
            fields = parts(output)
            for field in fields:
                if not field.startswith(b":"):
                    commit, number = field.decode("ascii"), 0
                    continue
                number += 1
                if number > LARGEST_VERSION:
                    raise RepositoryError(f"{self.path}: a commit touches more than {LARGEST_VERSION:,} files")
                yield commit, (field[1:4], field[8:11]), next(fields, b"")

    @property
    def shallow(self) -> frozenset[str]:
        """Ids of the commits at which a shallow clone was cut off; empty in a whole clone."""
        return frozenset(read_small(self._common / "shallow").decode("ascii", "replace").split())

    @property
    def work_tree(self) -> Path | None:
        """The folder whose files a reader can open; None of a bare repository."""
        return self.path if os.path.lexists(self.path / ".git") else None

    @property
    def index_file(self) -> Path:
        """Git's list of the files that are checked out; there is none in a bare repository."""
        return self._directory / "index"

    @property
    def ignore_file(self) -> Path:
        """Which files to ignore, beside those that the project's own ``.gitignore`` files name."""
        return self._common / "info/exclude"

    def remote_url(self) -> str | None:
        """Address of the remote called origin, as the repository's own configuration has it; None without one."""
        return str(self._config.get_value('remote "origin"', "url", "")) or None

    def notes(self, missing: int, fixes: int) -> Iterator[str]:
        """Sentences about a shallow or partial clone, ``missing`` files, and a history without any fix."""
        if missing:
            ranked = "it is ranked by its path" if missing == 1 else "they are ranked by their paths"
            said = f"{counted(missing, 'file')} could not be read from the repository; {ranked} alone"
            partial = any((self._common / "objects/pack").glob("*.promisor"))
            yield said + ("; this is a partial clone, fetch the rest: git fetch --refetch --no-filter" * partial)
        if self.shallow:
            yield (
                "this is a shallow clone: earlier fixes and commits are not known and add nothing to the ranking;"
                " run: git fetch --unshallow (in a workflow of GitHub: fetch-depth: 0)"
            )
        elif not fixes:
            yield Routine("no earlier fix is known in this repository; history adds nothing to the ranking")

    # ---- versions

    def snapshot(self, revision: str, suffixes: Iterable[str]) -> Snapshot:
        """The version's regular files whose path ends with one of ``suffixes`` (in either case), in path order.

        Links, submodules and files below a missing directory are left out. Consecutive versions cost only what changed.
        Raises UnknownCommit.
        """
        kept = frozenset(suffixes)
        [info] = self.commits([revision + _COMMIT if _FULL_ID.fullmatch(revision) else self.resolve(revision)])
        if kept not in self._trees:
            names = self.path_names, self.blob_names
            self._trees[kept] = Trees(self.objects, ends_with(kept), names, self.missing)
        path_ids, blob_ids = np.ascontiguousarray(self._trees[kept].files(info.tree).T)
        return Snapshot(info.id, info.committed_at, self.path_names, self.blob_names, path_ids, blob_ids)

    # ---- contents

    def texts(self, blob_ids: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Each blob's id and bytes, in the order asked, as a stream; None for one missing, damaged or too large, or one
        ``on_disk`` that has changed since.

        Other questions may be asked while the stream is read, and it may be left half read.
        """
        for blob_id, content in self.objects(blob_ids, b"blob"):
            if content is None and self.work_tree is not None and blob_id in self.on_disk:
                with suppress(OSError):
                    content = read_inside(self.work_tree, self.on_disk[blob_id], LARGEST_SOURCE)
                if content is not None and self.blob_id(content) != blob_id:
                    content = None
            if content is None:
                self.missing.add(blob_id)
            yield blob_id, content

    def sizes(self, blob_ids: Collection[str]) -> dict[str, int]:
        """Bytes of each blob; 0 of one that is missing."""
        request = "".join(f"{blob}\n" for blob in blob_ids).encode()
        with self.stream(["cat-file", "--batch-check=%(objectsize)"], request) as answers:
            pairs = zip(blob_ids, answers, strict=True)
            return {blob: int(line) if line[:-1].isdigit() else 0 for blob, line in pairs}

    def blob_id(self, content: bytes) -> str:
        """The id that git gives a content."""
        return hashlib.new(self._hash, b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()

    # ---- git itself

    @contextmanager
    def stream(self, arguments: Sequence[str], stdin: bytes = b"", **environment: str) -> Iterator[IO[bytes]]:
        """Output of a git command that sees the objects only (no names, no configuration), while it runs.

        Raises RepositoryError, with git's own last words, when the command fails and all its output was read.
        """
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as errors:
            source.write(stdin)
            source.seek(0)
            with start([*self._git, *arguments], self._environment | environment, source, errors) as process:
                assert process.stdout is not None
                yield process.stdout
                finished = not process.stdout.read(1)
            if finished and process.returncode:
                errors.seek(0)
                raise failure(f"{self.path}: git {arguments[0]}", errors.read())

    def _unknown(self, revision: str) -> str:
        if len(several := self.candidates(revision)) > 1:
            return f"{self.path}: {revision!r} begins {len(several)} commit ids; give more digits, as in {several[0]}"
        if self.shallow:
            return f"{self.path}: no commit {revision!r} in this shallow clone; run: git fetch --unshallow --tags"
        if revision == "HEAD":
            return f"{self.path}: no commit 'HEAD': its branch is empty; commit something, or name another branch"
        return f"{self.path}: no commit {revision!r}; check its spelling, or run: git fetch --all --tags"

    def _commit(self, commit_id: str, content: bytes | None, cut: Collection[str] = ()) -> CommitInfo:
        """The commit as its object has it. Raises UnknownCommit, or RepositoryError when it is damaged."""
        if content is None:
            raise UnknownCommit(self._unknown(commit_id.removesuffix(_COMMIT)))
        head, _, body = content.partition(b"\n\n")
        stated, committed, encoding = _STATED.match(head), _COMMITTED.search(head), _ENCODING.search(head)
        if stated is None:
            why = "it names no tree, or a parent that is no id"
            raise RepositoryError(f"{self.path}: commit {commit_id} is damaged: {why}; run 'git fsck' there")
        parents = () if commit_id in cut else tuple(stated[2].decode("ascii").split()[1::2])
        seconds = int(committed[1]) if committed else 0
        said = body.partition(b"\0")[0][:LONGEST_MESSAGE]  # git shows nothing after it either
        try:
            message = said.decode(encoding[1].decode("ascii") if encoding else "utf-8", "replace")
        except (LookupError, ValueError):  # no character set, or none that can be read
            message = said.decode("utf-8", "replace")
        return CommitInfo(commit_id, stated[1].decode("ascii"), parents, seconds if seconds in TIMES else 0, message)
