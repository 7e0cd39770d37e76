"""Versions, commits and blobs of a git repository, read from its object store alone, but for files not committed.

Nothing is checked out and nothing of the repository is run: git is started on an empty git directory of our own that
borrows the repository's objects, so its hooks, configuration, replacements and remotes are out of reach. Only names of
revisions ("HEAD", "v1.0~3") are resolved in the repository itself.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from tosloc.core.errors import RepositoryError, UnknownCommit
from tosloc.core.io import read_inside
from tosloc.core.records import IntArray, Snapshot, StringTable
from tosloc.git import process
from tosloc.git.discovery import find_git_directories, read_git_file

MAX_FILES: Final = 2_000_000
"""Files of a version: four times what Chromium has. A few trees that hold each other ten times over stand for any
number."""
_REMEMBERED: Final = 50_000_000  # files of remembered versions together: 400 MB
_FULL_ID = re.compile(r"[0-9a-fA-F]{40}|[0-9a-fA-F]{64}")
_COMMIT: Final = (
    "^{commit}"  # makes a name that of a commit: tags are followed, and what is none is missing
)
_EMPTY_TREE: Final = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""Id of the tree without files, which git knows in every repository."""
_NO_NAME = re.compile(r"-|:(?!/)|\s*\Z|.*[\0\n]", re.DOTALL)
"""Begins or is what names no commit: an option, what git would look for in the index, nothing, two lines."""


class Change(NamedTuple):
    """One file that is not as the commit has it."""

    path: str
    blob: str | None  # the id that its content would have as a blob; None where it is gone


def decode_text(data: bytes) -> str:
    r"""Text of a file: UTF-8, else UTF-16 if it says so, else Latin-1; never fails. A byte order mark is dropped.

    >>> decode_text(b"\xef\xbb\xbfna\xc3\xafve"), decode_text(b"na\xefve"), decode_text("naïve".encode("utf-16"))
    ('naïve', 'naïve', 'naïve')
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")


def suffix_matcher(suffixes: Iterable[str]) -> Callable[[bytes], bool]:
    """Whether a path, in bytes, ends with one of the suffixes; letters of either case are the same.

    >>> [suffix_matcher({".d.ts", ".java"})(path) for path in (b"a.D.ts", b"a.ts", b"A.JAVA", b"a/A.javac")]
    [True, False, True, False]
    """
    endings = {suffix.encode("utf-8", "surrogateescape").lower() for suffix in suffixes}
    plain = frozenset(
        ending for ending in endings if ending.rfind(b".") == 0
    )  # one look-up, however many they are
    others = tuple(sorted(endings - plain))
    return lambda path: path[path.rfind(b".") :].lower() in plain or path.lower().endswith(others)


class Repository(process.Git):
    """A git repository: work tree, bare repository or bare git directory, on whatever account it belongs to.

    Its snapshots share ``path_names`` and ``blob_names``; ``on_disk`` is the path of each blob of the work tree that is
    not committed. Another process that is sent it again and again has one of its own. Not for several threads, nor for
    forked processes.

    Raises RepositoryError when ``path`` is not a repository.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        place = Path(path).expanduser().absolute()
        self._directory, self._common = find_git_directories(place)
        config = BytesIO(read_git_file(self._common / "config"))  # a named pipe would be waited for
        config.name = "config"
        self._config = process.gitpython().GitConfigParser(config, merge_includes=False)
        self._hash = (
            "sha256"
            if self._config.get_value("extensions", "objectformat", "sha1") == "sha256"
            else "sha1"
        )
        super().__init__(place, self._common, self._hash)
        self.path_names: Final = StringTable()
        self.blob_names: Final = StringTable()
        self.on_disk: Final[dict[str, str]] = {}
        self._submodules: dict[str, tuple[str, ...]] = {}  # paths of the submodules of a tree
        self._files: dict[tuple[str, frozenset[str]], IntArray] = {}
        """(F, 2) path and blob numbers of the files with some suffixes, of a tree."""

    @property
    def name(self) -> str:
        """Short name: the folder's, or its parent's when the folder is only called .git or repo."""
        folder = self.home
        name = (
            folder.parent.name
            if folder.name in (".git", "repo", "repository", "git")
            else folder.name
        )
        return name.removesuffix(".git") or "repository"

    @property
    def home(self) -> Path:
        """Where the repository lies of which ``path`` is a linked work tree; of others ``path`` itself."""
        if self._directory == self._common:
            return self.path
        common = self._common.resolve()
        return common.parent if common.name == ".git" else common

    def __reduce__(self) -> tuple[Callable[..., Repository], tuple[object, ...]]:
        return _opened, (self.path, tuple(self.on_disk.items()))

    # ---- revisions and commits

    def resolve(self, revision: str) -> str:
        """Full id of the commit that ``revision`` names, as git understands it; tags are followed.

        Raises UnknownCommit when there is no such commit, or several.
        """
        if (found := self.resolve_many([revision])[revision]) is None:
            raise UnknownCommit(self._unknown(revision))
        return found

    @property
    def no_commit(self) -> str:
        """The id that stands for the commit of a branch without commits: zeros, as in git."""
        return "0" * len(_EMPTY_TREE[self._hash])

    def checked_out(self) -> str:
        """Return the full id of HEAD's commit, or ``no_commit`` if its branch has none yet.

        Raises UnknownCommit for a bare repository without commits, and for a damaged one.
        """
        try:
            return self.resolve("HEAD")
        except UnknownCommit:
            if self.work_tree is not None and self._on_unborn_branch():
                return self.no_commit
            raise

    def _on_unborn_branch(self) -> bool:
        """Return whether HEAD names a branch that does not exist yet."""
        branch = os.fsdecode(read_git_file(self._directory / "HEAD")).removeprefix("ref:").strip()
        command = ["for-each-ref", "--format=%(refname)", branch]
        with self.stream(command, GIT_DIR=str(self._directory)) as output:
            return branch.startswith("refs/heads/") and not output.read()

    def resolve_many(self, revisions: Iterable[str]) -> dict[str, str | None]:
        """Full commit id of each revision, None for one that names no commit or several; thousands in one go."""
        found: dict[str, str | None] = dict.fromkeys(revisions)
        names = [revision for revision in found if not _NO_NAME.match(revision)]
        # after :/ all of the name is a pattern, which finds commits only
        asked = (name if name.startswith(":/") else name + _COMMIT for name in names)
        # here alone git sees branches and settings; naming the directory waives the check whose it is
        with self.stream(
            ["cat-file", "--batch-check=%(objectname)"], asked, GIT_DIR=str(self._directory)
        ) as output:
            for name, line in zip(
                names, output.read().decode("utf-8", "replace").split("\n"), strict=False
            ):
                found[name] = line if _FULL_ID.fullmatch(line) else None
        return found

    def commits(self, commit_ids: Iterable[str]) -> list[process.CommitInfo]:
        """The commits of full ids, in the order asked. Raises UnknownCommit for the first that is not there."""
        cut, found = self.shallow, []
        for commit_id, content in self.objects(commit_ids, b"commit"):
            if content is None or (info := process.CommitInfo.of(commit_id, content, cut)) is None:
                raise UnknownCommit(self._unknown(commit_id.removesuffix(_COMMIT)))
            found.append(info)
        return found

    def subject(self, commit_id: str) -> str | None:
        """Return the first line of a commit's message; None if the commit or its message is missing."""
        with suppress(UnknownCommit):
            [info] = self.commits([commit_id])
            return info.message.strip().partition("\n")[0].strip() or None
        return None

    def authors(self, commit_ids: Sequence[str], version: str) -> dict[str, str]:
        """Return the author's name of each commit that exists, by the ``.mailmap`` of a version."""
        if not commit_ids:  # git would list HEAD
            return {}
        command = [
            "-c",
            f"mailmap.blob={version}:.mailmap",
            "log",
            "--no-walk=unsorted",
            "--ignore-missing",
            "--stdin",
        ]
        with self.stream([*command, "--format=%H %aN"], commit_ids) as output:
            lines = output.read().decode("utf-8", "replace").split("\n")
        names: dict[str, str] = {}
        for line in filter(None, lines):  # a name may contain any other separator of lines
            commit_id, _, name = line.partition(" ")
            names[commit_id] = name
        return names

    def changes(self, commits: Iterable[str]) -> Iterator[tuple[str, tuple[bytes, bytes], bytes]]:
        """What commits change, in their order and that of paths: commit, kinds of a file before and after, its path.

        Each is a full id, or two with a blank: the commit, and the one that it is compared with in place of its only
        parent. A regular file is of kind b"100". A move changes both paths, a root all its files; no blob is read.
        """
        commit, number = "", 0
        with self.stream("diff-tree --stdin --root -r -z --no-renames".split(), commits) as output:
            fields = process.split_at_nul(output)
            for field in fields:
                if not field.startswith(b":"):
                    commit, number = field.decode("ascii"), 0
                    continue
                if (number := number + 1) > MAX_FILES:
                    raise RepositoryError(
                        f"{self.path}: a commit touches more than {MAX_FILES:,} files"
                    )
                yield commit, (field[1:4], field[8:11]), next(fields, b"")

    @property
    def shallow(self) -> frozenset[str]:
        """Ids of the commits at which a shallow clone was cut off; empty in a whole clone."""
        return frozenset(read_git_file(self._common / "shallow").decode("ascii", "replace").split())

    @property
    def work_tree(self) -> Path | None:
        """The folder whose files a reader can open; None of a bare repository."""
        return self.path if os.path.lexists(self.path / ".git") else None

    def remote_url(self) -> str | None:
        """Address of the remote called origin, as the repository's own configuration has it; None without one."""
        return str(self._config.get_value('remote "origin"', "url", "")) or None

    @property
    def is_partial_clone(self) -> bool:
        """Whether objects were left out when the repository was cloned (``--filter``)."""
        return any((self._common / "objects/pack").glob("*.promisor"))

    # ---- versions

    def snapshot(self, revision: str, suffixes: Iterable[str]) -> Snapshot:
        """Return the version's regular files whose path ends with one of ``suffixes``, in path order.

        Upper and lower case are the same. Links and submodules are left out. Raises UnknownCommit,
        and RepositoryError when directories are missing, or there are more than LARGEST_VERSION
        files.
        """
        [info] = self.commits(
            [revision + _COMMIT if _FULL_ID.fullmatch(revision) else self.resolve(revision)]
        )
        key = info.tree, frozenset(suffixes)
        if key not in self._files:
            if sum(map(len, self._files.values())) > _REMEMBERED:
                self._files.clear()
            self._files[key] = self._listed(*key)
        path_ids, blob_ids = np.ascontiguousarray(self._files[key].T)
        return Snapshot(
            info.id, info.committed_at, self.path_names, self.blob_names, path_ids, blob_ids
        )

    def submodules(self, revision: str) -> tuple[str, ...]:
        """Return the paths of a version's submodules. Raises as ``snapshot`` does."""
        [info] = self.commits([revision])
        if info.tree not in self._submodules:
            self._listed(info.tree, frozenset())
        return self._submodules[info.tree]

    def _listed(self, tree: str, suffixes: frozenset[str]) -> IntArray:
        keep = suffix_matcher(suffixes)
        files: dict[bytes, str] = {}
        submodules: list[str] = []
        with self.stream(["ls-tree", "-r", "-z", tree]) as output:
            for number, entry in enumerate(
                process.split_at_nul(output)
            ):  # "100644 blob ID", a tab, the path
                if number == MAX_FILES:
                    raise RepositoryError(
                        f"{self.path}: tree {tree[:12]} has more than {MAX_FILES:,} files"
                    )
                kind, path = entry.split(b"\t", 1)
                if kind.startswith(b"100") and keep(path):
                    files.setdefault(path, kind[12:].decode("ascii"))
                elif kind.startswith(b"160"):
                    submodules.append(path.decode("utf-8", "surrogateescape"))
        self._submodules[tree] = tuple(submodules)
        numbers = [
            (self.path_names.id(path.decode("utf-8", "surrogateescape")), self.blob_names.id(blob))
            for path, blob in files.items()
        ]
        return np.array(numbers, dtype=np.int32).reshape(-1, 2)

    def uncommitted(self, commit: str, suffixes: Iterable[str]) -> frozenset[Change]:
        """Return the files with one of the ``suffixes`` that differ on disk from those of a commit.

        There are none if no work tree is checked out. All files are new if the commit is
        ``no_commit``. ``texts`` knows their blobs from then on.

        Git compares by the repository's index and ignore files, and sees nothing else of it: no
        configuration, so it runs no filter. Only regular files of at most 10 MB that no link leads
        to are read. Raises RepositoryError.
        """
        root, index, ignored = (
            self.work_tree,
            self._directory / "index",
            self._common / "info/exclude",
        )
        unborn = commit == self.no_commit
        begun = index.is_file() and not index.is_symlink()
        if root is None or not (begun or (unborn and not os.path.lexists(index))):
            return frozenset()
        place = {"GIT_WORK_TREE": str(root), "GIT_INDEX_FILE": str(index)}
        wanted, before = suffix_matcher(suffixes), dict[bytes, str]()
        compare = "diff-index --raw -z --no-abbrev --no-renames --ignore-submodules=all".split()
        with self.stream(
            [*compare, _EMPTY_TREE[self._hash] if unborn else commit], **place
        ) as output:
            fields = process.split_at_nul(output)
            for change, path in zip(
                fields, fields, strict=False
            ):  # ":100644 100644 BEFORE AFTER M", then the path
                if wanted(path):
                    before[path] = (
                        change.split()[2].decode("ascii") if change.startswith(b":100") else ""
                    )
        list_new = "ls-files -z --others --full-name --exclude-per-directory=.gitignore".split()
        list_new += [f"--exclude-from={ignored}"] * ignored.is_file()
        with self.stream([*list_new, ":/"], **place) as output:
            before = dict.fromkeys(filter(wanted, process.split_at_nul(output)), "") | before
        found = []
        for path, committed in before.items():
            name = os.fsdecode(path)
            with suppress(OSError):  # too large, or not to be read: as if it were not changed
                content = read_inside(root, name, process.MAX_SOURCE_BYTES)
                if content is None:
                    found += [Change(name, None)] * bool(committed)
                elif committed != (blob := self._blob_id(content)):
                    found.append(Change(name, blob))
                    self.on_disk[blob] = name
        return frozenset(found)

    def count_sparse_files(self, suffixes: Iterable[str]) -> int:
        """Return how many files with one of the suffixes a sparse checkout leaves out."""
        index = self._directory / "index"
        if not (self._directory / "info/sparse-checkout").is_file() or not index.is_file():
            return 0
        is_source = suffix_matcher(suffixes)
        with self.stream(["ls-files", "-t", "-z"], GIT_INDEX_FILE=str(index)) as output:
            return sum(
                entry.startswith(b"S ") and is_source(entry[2:])
                for entry in process.split_at_nul(output)
            )

    # ---- contents

    def texts(self, blob_ids: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Each blob's id and bytes, in the order asked, as a stream; None for one missing, damaged or too large, or one
        ``on_disk`` that has changed since.

        Other questions may be asked while the stream is read, and it may be left half read.
        """
        for blob_id, content in self.objects(blob_ids, b"blob"):
            if content is None and blob_id in self.on_disk:
                with suppress(OSError):
                    content = read_inside(
                        self.path, self.on_disk[blob_id], process.MAX_SOURCE_BYTES
                    )
                if content is not None and self._blob_id(content) != blob_id:
                    content = None
            yield blob_id, content

    def sizes(self, blob_ids: Collection[str]) -> dict[str, int]:
        """Bytes of each blob; 0 of one that is missing."""
        with self.stream(["cat-file", "--batch-check=%(objectsize)"], blob_ids) as sizes:
            return {
                blob: int(size) if size[:-1].isdigit() else 0
                for blob, size in zip(blob_ids, sizes, strict=True)
            }

    def _blob_id(self, content: bytes) -> str:
        return hashlib.new(
            self._hash, b"blob %d\0%b" % (len(content), content), usedforsecurity=False
        ).hexdigest()

    def _unknown(self, revision: str) -> str:
        if self.shallow:
            return f"{self.path}: no commit {revision!r} in this shallow clone; run: git fetch --unshallow --tags"
        if revision == "HEAD":
            return f"{self.path}: no commit 'HEAD': its branch is empty; commit something, or name another branch"
        return f"{self.path}: no commit {revision!r}; check its spelling, or run: git fetch --all --tags"


@lru_cache(maxsize=1)
def _opened(path: Path, on_disk: tuple[tuple[str, str], ...]) -> Repository:
    found = Repository(path)
    found.on_disk.update(on_disk)
    return found


def resolve_revision(path: Path, revision: str) -> str:
    """Return the full id of the commit that a revision names in the repository at a path.

    Raises RepositoryError and UnknownCommit.
    """
    with Repository(path) as repository:
        return repository.resolve(revision)
