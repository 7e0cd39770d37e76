"""Versions, commits and blobs of a git repository, and files of its work tree not yet committed.

Committed content is read from the object store alone: nothing is checked out, and nothing of the
repository is run. Git is started on an empty git directory of our own that borrows the repository's
objects, so that its hooks, configuration, replacements and remotes are out of reach. Only names of
revisions ("HEAD", "v1.0~3") are resolved in the repository itself.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from tosloc.core.arrays import IntArray
from tosloc.core.errors import RepositoryError, UnknownCommit
from tosloc.core.io import read_inside
from tosloc.core.reports import VALID_TIMES
from tosloc.core.versions import Snapshot, StringTable
from tosloc.git import process
from tosloc.git.discovery import find_git_directories, read_git_file

MAX_FILES: Final = 2_000_000
"""Number of files of the largest version that is read: four times what Chromium has.

A few trees that contain each other ten times can stand for any number of files.
"""
MANY_CHANGES: Final = 2_000
"""Number of changed files from which a commit counts as large."""
MAX_CHANGES_OF_LARGE_COMMITS: Final = 2_000_000
"""Number of changed files that large commits may have together, beyond the first ones of each.

A few commits whose trees share their folders can stand for any number of changes.
"""
_COMPARED_TOGETHER: Final = 1_000
"""Number of commits that one git process compares with their parents."""
_MAX_REMEMBERED_FILES: Final = 50_000_000
"""Number of files of all remembered versions together; they take 400 MB."""
MAX_TAGS: Final = 20_000
"""Most tags that are read: the newest."""
_FULL_ID = re.compile(r"[0-9a-fA-F]{40}|[0-9a-fA-F]{64}")
_COMMIT_SUFFIX: Final = "^{commit}"
"""Suffix of a name that makes git follow tags and report anything but a commit as missing."""
_EMPTY_TREE: Final = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""Id of the tree without files, which git knows in every repository."""
_FLAGGED: Final = re.compile(rb"(?:\A|(?<=\0))([a-zS]) 100\d{3} ([0-9a-f]{40,64}) 0\t([^\0]+)")
"""An entry of the index that git does not compare with the disk, as ``ls-files -v -s -z`` shows it.

A small letter means ``assume-unchanged``, and S or s ``skip-worktree``."""
_TAGGED: Final = re.compile(rb"object ([0-9a-f]{40,64})\ntype commit\n")
_TAGGER_TIME: Final = re.compile(rb"(?m)^tagger .*> ?(-?\d{1,15})(?: [-+]?\d+)?$")
_SEARCHING_NAME: Final = re.compile(r"@\{|\^\{/|\A:/")
"""Part of a revision that git searches a reflog, settings or messages for."""
_AMBIGUOUS: Final = re.compile(r"refname '(.+)' is ambiguous\.")
_NO_REVISION = re.compile(r"-|:(?!/)|\s*\Z|.*[\0\n]", re.DOTALL)
"""Beginning of a text that names no commit: an option, a path of the index, blanks, two lines."""


class Change(NamedTuple):
    """A file of the work tree that differs from the commit."""

    path: str
    blob: str | None  # id that its content would have as a blob; None for a deleted file


class WorkTreeState(NamedTuple):
    """How the files on disk differ from a commit, and what of them is not searched."""

    changes: frozenset[Change] = frozenset()
    left_out: tuple[str, ...] = ()
    """Paths of tracked files that are not checked out, as outside of a sparse checkout."""
    unread: tuple[str, ...] = ()
    """Paths of changed files that cannot be read or are too large."""
    repositories: tuple[str, ...] = ()
    """Folders of repositories that are not tracked; their files are no changes."""


class _Candidates(NamedTuple):
    """Files of a work tree that may differ from a commit."""

    committed: dict[bytes, str]
    """Path -> id of its blob in the commit; "" for a path that is no regular file there."""
    optional: frozenset[bytes]
    """Paths that are not deleted if they are not on disk, because they need no checkout."""
    repositories: tuple[str, ...]
    """As in ``WorkTreeState``."""


class Tag(NamedTuple):
    """A tag of a commit."""

    name: str
    committed_at: int
    """Committer time of the commit, in seconds since 1970."""
    known_at: int
    """When the tag was made, as far as it says, but not before its commit."""


class Tags(NamedTuple):
    """The tags of commits in a repository."""

    newest: tuple[Tag, ...] = ()
    """At most MAX_TAGS, the newest first."""
    older: int = 0
    """Number of further tags, which are older."""
    broken: int = 0
    """Number of tags whose object is missing or damaged."""


def decode_text(data: bytes) -> str:
    r"""Return the text of a file without its byte order mark; never fails.

    It is decoded as UTF-8, else as UTF-16 if it has the mark of that, else as Latin-1.

    >>> decode_text(b"\xef\xbb\xbfna\xc3\xafve"), decode_text(b"na\xefve")
    ('naïve', 'naïve')
    >>> decode_text("naïve".encode("utf-16"))
    'naïve'
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")


def suffix_matcher(suffixes: Iterable[str]) -> Callable[[bytes], bool]:
    """Return a function that says whether a path, in bytes, ends with one of the suffixes.

    Upper and lower case are the same.

    >>> is_source = suffix_matcher({".d.ts", ".java"})
    >>> is_source(b"a.D.ts"), is_source(b"A.JAVA")
    (True, True)
    >>> is_source(b"a.ts"), is_source(b"a/A.javac")
    (False, False)
    """
    endings = {suffix.encode("utf-8", "surrogateescape").lower() for suffix in suffixes}
    # Suffixes with their only dot at the start are found in one look-up, however many there are.
    plain = frozenset(ending for ending in endings if ending.rfind(b".") == 0)
    others = tuple(sorted(endings - plain))
    return lambda path: path[path.rfind(b".") :].lower() in plain or path.lower().endswith(others)


class TreeEntry(NamedTuple):
    """A file or folder in a tree."""

    name: str
    id: str
    """Id of its blob or tree."""
    is_folder: bool


class Repository(process.Git):
    """A git repository: a work tree, a bare repository or a git directory, of any account.

    Its snapshots share the tables ``path_names`` and ``blob_names``. ``on_disk`` has the path of
    each blob of the work tree that is not committed. A worker process that receives a repository
    again and again keeps one of its own. A repository is neither for several threads nor for forked
    processes.

    Raises RepositoryError if ``path`` is not a repository.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        folder = Path(path).expanduser().absolute()
        self._directory, self._common = find_git_directories(folder)
        object_format = self._setting("extensions", "objectformat")
        self._hash = "sha256" if object_format == "sha256" else "sha1"
        super().__init__(folder, self._common, self._hash)
        self.path_names: Final = StringTable()
        self.blob_names: Final = StringTable()
        self.on_disk: Final[dict[str, str]] = {}
        self._submodules: dict[str, tuple[str, ...]] = {}
        """Id of a tree -> paths of its submodules."""
        self._files: dict[tuple[str, frozenset[str]], IntArray] = {}
        """Id of a tree, suffixes -> (F, 2) path and blob numbers of its files."""

    @property
    def name(self) -> str:
        """Short name: the folder's, or its parent's if the folder is only called .git or repo."""
        folder = self.home
        if folder.name in (".git", "repo", "repository", "git"):
            folder = folder.parent
        return folder.name.removesuffix(".git") or "repository"

    @property
    def home(self) -> Path:
        """Folder of the repository itself if ``path`` is a linked work tree, else ``path``."""
        if self._directory == self._common:
            return self.path
        common = self._common.resolve()
        return common.parent if common.name == ".git" else common

    def __reduce__(self) -> tuple[Callable[..., Repository], tuple[object, ...]]:
        return _open_cached, (self.path, tuple(self.on_disk.items()))

    def _setting(self, section: str, name: str) -> str:
        """Return a value of the repository's own configuration as it is now; "" if it has none."""
        # GitPython would wait for a named pipe, so the file is read here.
        content = BytesIO(read_git_file(self._common / "config"))
        content.name = "config"
        config = process.gitpython().GitConfigParser(content, merge_includes=False)
        return str(config.get_value(section, name, ""))

    # ---- revisions and commits

    def resolve(self, revision: str) -> str:
        """Return the full id of the commit that a revision names, as git understands it.

        Tags are followed. Raises UnknownCommit if there is no such commit, or more than one.
        """
        messages: list[str] = []
        commit_id = None
        try:
            commit_id = self._resolve_together([revision], messages)[revision]
        except RepositoryError:
            if not _SEARCHING_NAME.search(revision):
                raise
        reason = self._describe_messages(revision, messages)
        if commit_id is None or reason:
            raise UnknownCommit(reason or self._describe_unknown(revision))
        return commit_id

    def _describe_messages(self, revision: str, messages: Iterable[str]) -> str:
        """Return why git's messages do not let a revision name a commit; "" if they do."""
        for message in messages:
            kind, _, reason = message.partition(": ")
            ambiguous = _AMBIGUOUS.fullmatch(reason)
            # People who have a branch called HEAD still mean the commit that is checked out.
            if ambiguous and ambiguous[1] != "HEAD":
                name = ambiguous[1]
                return (
                    f"{self.path}: {name!r} names several things, such as a tag and a branch;"
                    f" write refs/tags/{name} or refs/heads/{name}"
                )
            if kind == "fatal" or reason.startswith("log for "):
                return (
                    f"{self.path}: no commit {revision!r}: {reason};"
                    " name a commit, a branch or a tag"
                )
        return ""

    @property
    def no_commit(self) -> str:
        """Id that stands for the commit of a branch without commits: zeros, as in git."""
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
        if not branch.startswith("refs/heads/"):
            return False
        return not self._list_references(branch, "%(refname)")

    def resolve_many(self, revisions: Iterable[str]) -> dict[str, str | None]:
        """Return the full commit id of each revision, with one git process for most of them.

        It is None for a revision that names no commit, or more than one.
        """
        commit_ids: dict[str, str | None] = dict.fromkeys(revisions)
        plain = []
        for revision in commit_ids:
            if not _SEARCHING_NAME.search(revision):
                plain.append(revision)
                continue
            # Git ends at such a name if there is nothing to search, without those after it.
            with suppress(UnknownCommit):
                commit_ids[revision] = self.resolve(revision)
        return commit_ids | self._resolve_together(plain)

    def _resolve_together(
        self, revisions: Collection[str], messages: list[str] | None = None
    ) -> dict[str, str | None]:
        """Return the full commit id of each revision with one git process for all of them.

        It is None for a revision that names no commit, or more than one. Git's warnings and errors
        are added to ``messages``. Raises RepositoryError if git ends at one of them.
        """
        commit_ids: dict[str, str | None] = dict.fromkeys(revisions)
        names = [revision for revision in commit_ids if not _NO_REVISION.match(revision)]
        # After :/ the whole name is a pattern, which finds only commits.
        requests = (name if name.startswith(":/") else name + _COMMIT_SUFFIX for name in names)
        command = ["cat-file", "--batch-check=%(objectname)"]
        # Only here git sees branches and settings. If GIT_DIR names the directory, git does not
        # check to whom it belongs.
        directory = str(self._directory)
        with self.stream(command, requests, messages, GIT_DIR=directory) as output:
            lines = output.read().decode("utf-8", "replace").split("\n")
        for name, line in zip(names, lines, strict=False):
            commit_ids[name] = line if _FULL_ID.fullmatch(line) else None
        return commit_ids

    def commits(self, commit_ids: Iterable[str]) -> list[process.CommitInfo]:
        """Return the commits with some full ids, in the order of the ids.

        Long messages are shortened once they have more than MAX_LONG_MESSAGES_BYTES together.
        Raises UnknownCommit for the first commit that does not exist.
        """
        shallow = self.shallow
        long_bytes_left = process.MAX_LONG_MESSAGES_BYTES
        infos = []
        for commit_id, content in self.objects(commit_ids, b"commit"):
            info = None
            if content is not None:
                info = process.CommitInfo.of(commit_id, content, shallow, long_bytes_left)
            if info is None:
                raise UnknownCommit(self._describe_unknown(commit_id.removesuffix(_COMMIT_SUFFIX)))
            if info.has_long_message and not info.is_shortened:
                long_bytes_left -= info.message_bytes
            infos.append(info)
        return infos

    def subject(self, commit_id: str) -> str | None:
        """Return the first line of a commit's message; None if commit or message are missing."""
        with suppress(UnknownCommit):
            [info] = self.commits([commit_id])
            return info.message.strip().partition("\n")[0].strip() or None
        return None

    def tags(self) -> Tags:
        """Return the tags of commits, those that were made last first.

        A tag whose object is missing or damaged is only counted. Raises RepositoryError.
        """
        try:
            tags = self._read_tags()
            broken = 0
        except RepositoryError:
            # Git gives up at the first tag whose object is missing.
            tags, broken = self._read_tags_one_by_one()
        tags.sort(key=lambda tag: (-tag.known_at, tag.name))
        return Tags(tuple(tags[:MAX_TAGS]), len(tags[MAX_TAGS:]), broken)

    def _read_tags(self) -> list[Tag]:
        """Return the tags of commits. Raises RepositoryError if an object of any is missing."""
        date = "(committerdate:unix)"
        parts = ("%(refname:strip=2)", "%(creatordate:unix)", f"%{date}", f"%(*{date[1:]}")
        tags = []
        for line in self._list_references("refs/tags", "%00".join(parts)):
            name, created, own_time, time_of_target = line.split("\0")
            times = [int(time) for time in (created, own_time, time_of_target) if time]
            committed = own_time or time_of_target
            # The tag of a tree or of another tag is no release.
            if committed and all(time in VALID_TIMES for time in times):
                tags.append(Tag(name, int(committed), max(times)))
        return tags

    def _read_tags_one_by_one(self) -> tuple[list[Tag], int]:
        """Return the tags of commits, and how many tags have no object that can be read."""
        id_by_name: dict[str, str] = {}
        for line in self._list_references("refs/tags", "%(refname:strip=2)%00%(objectname)"):
            name, object_id = line.split("\0")
            id_by_name[name] = object_id
        tag_objects = dict(self.objects(id_by_name.values(), b"tag"))
        commit_by_id: dict[str, str] = {}
        for object_id, content in tag_objects.items():
            match = _TAGGED.match(content or b"")
            commit_by_id[object_id] = match[1].decode("ascii") if match else object_id
        commits = dict(self.objects(commit_by_id.values(), b"commit"))
        tags = []
        unread = []
        for name, object_id in id_by_name.items():
            commit = commit_by_id[object_id]
            info = process.CommitInfo.of(commit, commits[commit] or b"")
            if info is None:
                unread.append(commit)
                continue
            header = (tag_objects[object_id] or b"").partition(b"\n\n")[0]
            tagger_time = _TAGGER_TIME.search(header)
            created = int(tagger_time[1]) if tagger_time else info.committed_at
            if created in VALID_TIMES:
                tags.append(Tag(name, info.committed_at, max(created, info.committed_at)))
        # The tag of a tree or of another tag is no release, and not broken.
        sizes = self.sizes(dict.fromkeys(unread))
        return tags, sum(not sizes[commit] for commit in unread)

    def _list_references(self, pattern: str, line_format: str) -> list[str]:
        """Return a line for each reference below a pattern. Raises RepositoryError."""
        command = ["for-each-ref", f"--format={line_format}", pattern]
        with self.stream(command, GIT_DIR=str(self._directory)) as output:
            lines = output.read().decode("utf-8", "surrogateescape").split("\n")
        return [line for line in lines if line]

    def authors(self, commit_ids: Sequence[str], commit: str) -> dict[str, str]:
        """Return the author's name of each commit that exists, by ``.mailmap`` at ``commit``."""
        if not commit_ids:  # git would list HEAD
            return {}
        mailmap = ("-c", f"mailmap.blob={commit}:.mailmap")
        command = "log --no-walk=unsorted --ignore-missing --stdin".split()
        with self.stream([*mailmap, *command, "--format=%H %aN"], commit_ids) as output:
            lines = output.read().decode("utf-8", "replace").split("\n")
        names: dict[str, str] = {}
        for line in filter(None, lines):  # a name may contain other line separators
            commit_id, _, name = line.partition(" ")
            names[commit_id] = name
        return names

    def changes(
        self, commits: Iterable[str]
    ) -> Iterator[tuple[str, Sequence[tuple[bytes, bytes]] | None]]:
        """Yield each of some commits that changes files, and git's line and the path of each file.

        They are in the order of the commits and of paths. A commit is a full id, or two ids with a
        blank between: the commit, and the one to compare it with instead of its only parent. A move
        changes both paths, and a root commit changes all its files. No blob is read.

        The line is ":100644 100644 BEFORE AFTER M": modes and ids of the blobs before and after,
        and A for an added file or D for a deleted one. It is None instead of the files for a large
        commit, if the changes beyond the first MANY_CHANGES of each commit up to it are more than
        MAX_CHANGES_OF_LARGE_COMMITS together.
        """
        changes_left = MAX_CHANGES_OF_LARGE_COMMITS
        remaining = iter(commits)
        pending: list[str] = []
        while pending := pending or list(islice(remaining, _COMPARED_TOGETHER)):
            commit = ""
            changes: list[tuple[bytes, bytes]] = []
            command = "diff-tree --stdin --root -r -z --no-renames".split()
            with self.stream(command, pending) as output:
                fields = process.split_at_nul(output)
                for field in fields:
                    if field.startswith(b":"):
                        changes.append((field, next(fields, b"")))
                        changes_left -= len(changes) > MANY_CHANGES
                        if changes_left < 0:
                            break
                        continue
                    if commit:
                        yield commit, changes
                    commit = field.decode("ascii")
                    changes = []
            if changes_left >= 0:
                if commit:
                    yield commit, changes
                pending = []
                continue
            # Git would list the rest of its changes, so it is started again with the next commit.
            yield commit, None
            changes_left = 0
            ids = [line.partition(" ")[0] for line in pending]
            pending = pending[ids.index(commit) + 1 :]

    @property
    def shallow(self) -> frozenset[str]:
        """Ids of the commits at which a shallow clone was cut off; empty in a complete clone."""
        return frozenset(read_git_file(self._common / "shallow").decode("ascii", "replace").split())

    @property
    def work_tree(self) -> Path | None:
        """Folder whose files the user edits; None for a bare repository.

        It is also None if the files of the repository are in another folder.
        """
        has_files = os.path.lexists(self.path / ".git") and self.other_work_tree is None
        return self.path if has_files else None

    @property
    def other_work_tree(self) -> Path | None:
        """Folder that ``core.worktree`` names in place of this one; None if it names none.

        Its files are not read: whoever wrote the configuration could name any folder.
        """
        folder = self._setting("core", "worktree")
        # Git does not apply the setting to linked work trees.
        if not folder or self._directory != self._common:
            return None
        named = self._directory / folder
        return None if os.path.realpath(named) == os.path.realpath(self.path) else named

    def remote_url(self) -> str | None:
        """Return the address of the remote ``origin`` in the repository's own configuration.

        Return None if there is none.
        """
        return self._setting('remote "origin"', "url") or None

    # ---- versions

    def snapshot(self, revision: str, suffixes: Iterable[str]) -> Snapshot:
        """Return a version's regular files whose path ends with one of ``suffixes``.

        They are in path order. Upper and lower case are the same. Links and submodules are left
        out. Raises UnknownCommit, and RepositoryError if directories are missing, or if there are
        more than MAX_FILES files.
        """
        if _FULL_ID.fullmatch(revision):
            commit = revision + _COMMIT_SUFFIX
        else:
            commit = self.resolve(revision)
        [info] = self.commits([commit])
        key = info.tree, frozenset(suffixes)
        if key not in self._files:
            if sum(map(len, self._files.values())) > _MAX_REMEMBERED_FILES:
                self._files.clear()
            self._files[key] = self._list_files(*key)
        path_ids, blob_ids = np.ascontiguousarray(self._files[key].T)
        return Snapshot(
            info.id, info.committed_at, self.path_names, self.blob_names, path_ids, blob_ids
        )

    def submodules(self, revision: str) -> tuple[str, ...]:
        """Return the paths of a version's submodules. Raises as ``snapshot`` does."""
        [info] = self.commits([revision])
        if info.tree not in self._submodules:
            self._list_files(info.tree, frozenset())
        return self._submodules[info.tree]

    def _list_files(self, tree: str, suffixes: frozenset[str]) -> IntArray:
        """Return the (F, 2) path and blob numbers of a tree's files; remember its submodules."""
        is_source = suffix_matcher(suffixes)
        files: dict[bytes, str] = {}
        submodules: list[str] = []
        with self.stream(["ls-tree", "-r", "-z", tree]) as output:
            for number, entry in enumerate(process.split_at_nul(output)):
                if number == MAX_FILES:
                    raise RepositoryError(
                        f"{self.path}: tree {tree[:12]} has more than {MAX_FILES:,} files"
                    )
                description, path = entry.split(b"\t", 1)  # the first is "100644 blob ID"
                if description.startswith(b"100") and is_source(path):
                    files.setdefault(path, description[12:].decode("ascii"))
                elif description.startswith(b"160"):
                    submodules.append(path.decode("utf-8", "surrogateescape"))
        self._submodules[tree] = tuple(submodules)
        numbers = []
        for path, blob in files.items():
            path_id = self.path_names.id(path.decode("utf-8", "surrogateescape"))
            numbers.append((path_id, self.blob_names.id(blob)))
        return np.array(numbers, dtype=np.int32).reshape(-1, 2)

    def tree_entries(self, tree: str) -> list[TreeEntry]:
        """Return the files and folders of one tree, without those below; none if it is missing.

        ``tree`` is an id, or any name that git resolves to a tree's. Links and submodules are left
        out.
        """
        [(_, content)] = self.objects([tree], b"tree")
        entries: list[TreeEntry] = []
        id_bytes = 32 if self._hash == "sha256" else 20
        position = 0
        while content is not None and position < len(content):
            space = content.index(b" ", position)
            end = content.index(b"\0", space)
            mode = content[position:space]
            name = content[space + 1 : end].decode("utf-8", "surrogateescape")
            position = end + 1 + id_bytes
            if mode == b"40000" or mode.startswith(b"100"):
                entry_id = content[end + 1 : position].hex()
                entries.append(TreeEntry(name, entry_id, mode == b"40000"))
        return entries

    def work_tree_state(self, commit: str, suffixes: Iterable[str]) -> WorkTreeState:
        """Return how the files with one of the ``suffixes`` differ on disk from those of a commit.

        Nothing differs if there is no work tree. All files are new if the commit is ``no_commit``.
        ``texts`` can read the blobs of changed files afterwards.

        Git compares by the repository's index and ignore files, and sees nothing else of it: no
        configuration, so it runs no filter. Files that the index excepts from the comparison are
        compared here, and without an index all files are. Only regular files of at most 10 MB,
        without a link on the way to them, are read. Raises RepositoryError.
        """
        root = self.work_tree
        if root is None:
            return WorkTreeState()
        tree = _EMPTY_TREE[self._hash] if commit == self.no_commit else commit
        candidates = self._list_candidates(root, tree, suffixes)
        changes = []
        left_out = []
        unread = []
        is_folder = cache(os.path.isdir)
        for path, committed in candidates.committed.items():
            name = os.fsdecode(path)
            content = None
            try:
                # A sparse checkout may leave out hundreds of thousands of files.
                if path not in candidates.optional or is_folder(os.path.dirname(root / name)):
                    content = read_inside(root, name, process.MAX_SOURCE_BYTES)
            except OSError:
                unread.append(name)
                continue
            if content is None:
                if path in candidates.optional:
                    left_out.append(name)
                elif committed:
                    changes.append(Change(name, None))
                continue
            if committed and committed in self._blob_ids(content):
                continue
            blob = self._blob_id(content)
            changes.append(Change(name, blob))
            self.on_disk[blob] = name
        return WorkTreeState(
            frozenset(changes), tuple(left_out), tuple(unread), candidates.repositories
        )

    def _blob_ids(self, content: bytes) -> Iterator[str]:
        """Yield the ids that a file on disk may have as a blob: as it is, and as git converts it.

        Git converts line ends when it checks files out, and back when they are added.
        """
        yield self._blob_id(content)
        if b"\r\n" in content:
            yield self._blob_id(content.replace(b"\r\n", b"\n"))

    def _list_candidates(self, root: Path, tree: str, suffixes: Iterable[str]) -> _Candidates:
        """Return the files with one of the ``suffixes`` that may differ on disk from a tree."""
        is_source = suffix_matcher(suffixes)
        environment: dict[str, Any] = {"GIT_WORK_TREE": str(root)}
        index = self._directory / "index"
        # Without an index of its own, git looks for one in our empty directory.
        has_index = index.is_file() and not index.is_symlink()
        if has_index:
            environment["GIT_INDEX_FILE"] = str(index)
        committed: dict[bytes, str] = {}
        compare = "diff-index --raw -z --no-abbrev --no-renames --ignore-submodules=all".split()
        with self.stream([*compare, tree], **environment) as output:
            fields = process.split_at_nul(output)
            for description in fields:  # ":100644 100644 BEFORE AFTER M"
                path = next(fields, None)
                if path is None:
                    break
                if is_source(path):
                    is_regular = description.startswith(b":100")
                    blob = description.split()[2].decode("ascii") if is_regular else ""
                    committed[path] = blob
        # Without an index nobody knows which files were deleted, and which never checked out.
        optional = set() if has_index else {path for path, blob in committed.items() if blob}
        with self.stream(["ls-files", "-v", "-s", "-z"], **environment) as output:
            for match in _FLAGGED.finditer(output.read()):
                flag, blob_id, path = match.groups()
                if is_source(path):
                    committed.setdefault(path, blob_id.decode("ascii"))
                    if flag in b"sS":
                        optional.add(path)
        list_new = "ls-files -z --others --full-name --exclude-per-directory=.gitignore".split()
        ignored = self._common / "info/exclude"
        if ignored.is_file():
            list_new.append(f"--exclude-from={ignored}")
        repositories = []
        with self.stream([*list_new, ":/"], **environment) as output:
            for path in process.split_at_nul(output):
                if path.endswith(b"/"):
                    repositories.append(os.fsdecode(path[:-1]))
                elif is_source(path):
                    committed.setdefault(path, "")
        return _Candidates(committed, frozenset(optional), tuple(repositories))

    # ---- contents

    def texts(self, blob_ids: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Yield the id and bytes of each blob, in the order of ``blob_ids``.

        The bytes are None for a blob that is missing, damaged or too large, and for one ``on_disk``
        that has changed since. The caller may use other methods before the last blob, or stop
        early.
        """
        for blob_id, content in self.objects(blob_ids, b"blob"):
            if content is None and blob_id in self.on_disk:
                content = self._read_from_disk(blob_id)
            yield blob_id, content

    def _read_from_disk(self, blob_id: str) -> bytes | None:
        """Return the content of a file that is not committed; None if it has changed."""
        try:
            content = read_inside(self.path, self.on_disk[blob_id], process.MAX_SOURCE_BYTES)
        except OSError:
            return None
        if content is None or self._blob_id(content) != blob_id:
            return None
        return content

    def sizes(self, blob_ids: Collection[str]) -> dict[str, int]:
        """Return the number of bytes of each blob; 0 for a blob that is missing."""
        sizes = {}
        with self.stream(["cat-file", "--batch-check=%(objectsize)"], blob_ids) as output:
            for blob, line in zip(blob_ids, output, strict=True):
                sizes[blob] = int(line) if line[:-1].isdigit() else 0
        return sizes

    def _blob_id(self, content: bytes) -> str:
        header = b"blob %d\0" % len(content)
        return hashlib.new(self._hash, header + content, usedforsecurity=False).hexdigest()

    def _describe_unknown(self, revision: str) -> str:
        """Return the sentence about a revision that names no commit."""
        if self.shallow:
            return (
                f"{self.path}: no commit {revision!r} in this shallow clone;"
                " run: git fetch --unshallow --tags"
            )
        if revision == "HEAD":
            return (
                f"{self.path}: no commit 'HEAD': its branch is empty;"
                " commit something, or name another branch"
            )
        return (
            f"{self.path}: no commit {revision!r};"
            " check its spelling, or run: git fetch --all --tags"
        )


@lru_cache(maxsize=1)
def _open_cached(path: Path, on_disk: tuple[tuple[str, str], ...]) -> Repository:
    repository = Repository(path)
    repository.on_disk.update(on_disk)
    return repository


def resolve_revision(path: Path, revision: str) -> str:
    """Return the full id of the commit that a revision names in the repository at a path.

    Raises RepositoryError and UnknownCommit.
    """
    with Repository(path) as repository:
        return repository.resolve(revision)
