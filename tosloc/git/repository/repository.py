"""Give access to a git repository: the parts that read it, and methods for most callers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Self

from tosloc.core.errors import UnknownCommit
from tosloc.core.versions import Snapshot, StringTable
from tosloc.git.commit_info import CommitInfo
from tosloc.git.process import Git
from tosloc.git.repository.layout import Layout
from tosloc.git.repository.revisions import Revisions
from tosloc.git.repository.trees import Trees
from tosloc.git.repository.work_tree import FilesOnDisk


class Repository:
    """A git repository: a work tree, a bare repository or a git directory, owned by any user.

    All its snapshots share the table ``path_names``. A worker process that receives the same
    repository repeatedly keeps a repository of its own. Do not share a repository among threads or
    with forked processes.

    Raises RepositoryError if ``path`` is not a repository.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        layout = Layout(Path(path).expanduser().absolute())
        self.path: Final = layout.path
        self.layout: Final = layout
        """Its folders and configuration."""
        self.git: Final = Git(layout.path, layout.common, layout.hash_name)
        """The git program, which sees nothing but the objects."""
        self.revisions: Final = Revisions(self.git, layout)
        self.trees: Final = Trees(self.git)
        self.on_disk: Final = FilesOnDisk(self.git, layout)
        """Files of the work tree that are not committed."""
        self.kept_tags: tuple[object, Any] | None = None
        """The state of all tags when they were read last, and the ``Tags``."""

    def __reduce__(self) -> tuple[Callable[..., Repository], tuple[object, ...]]:
        return _open_cached, (self.path, tuple(self.on_disk.path_by_blob.items()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the git process that reads objects; the next use of it starts a new process."""
        self.git.close()

    @property
    def name(self) -> str:
        """Short name: that of the folder, or of its parent if the folder is .git or repo."""
        return self.layout.name

    @property
    def work_tree(self) -> Path | None:
        """Folder whose files the user edits; None for a bare repository.

        It is also None if the files of the repository are in another folder.
        """
        return self.layout.work_tree

    @property
    def path_names(self) -> StringTable:
        """The table of paths whose numbers all snapshots use."""
        return self.trees.path_names

    @property
    def shallow(self) -> frozenset[str]:
        """Ids of the commits at which a shallow clone was cut off; empty in a complete clone."""
        return self.layout.shallow

    def remote_url(self) -> str | None:
        """Return the address of the remote ``origin``; None if there is none."""
        return self.layout.remote_url()

    @property
    def no_commit(self) -> str:
        """Id that stands for the commit of a branch without commits: zeros, as git writes it."""
        return self.revisions.no_commit

    def resolve(self, revision: str) -> str:
        """Return the full id of the commit that a revision names, as git understands it.

        Tags are followed. Raises UnknownCommit if the revision names no commit, or several.
        """
        return self.revisions.resolve(revision)

    def resolve_many(self, revisions: Iterable[str]) -> dict[str, str | None]:
        """Return revision -> full commit id; None if the revision names no commit, or several."""
        return self.revisions.resolve_many(revisions)

    def resolve_before(self, beginnings: Iterable[str], seconds: float) -> dict[str, str | None]:
        """Return beginning of an id -> full id of the only commit before a time that begins so.

        ``seconds`` is the time since 1970. The id is None if there is no such commit, or several.
        """
        return self.revisions.resolve_before(beginnings, seconds)

    def commits(self, commit_ids: Iterable[str]) -> list[CommitInfo]:
        """Return the commits with the given full ids, in the order of the ids.

        Raises UnknownCommit for the first commit that does not exist.
        """
        return self.revisions.commits(commit_ids)

    def subject(self, commit_id: str) -> str | None:
        """Return the first line of a commit's message; None if either is missing."""
        with suppress(UnknownCommit):
            [info] = self.commits([commit_id])
            return info.subject or None
        return None

    def committed(self, commit_id: str, seconds: int) -> datetime:
        """Return ``seconds`` since 1970 as a time in a commit's zone; UTC if it is missing."""
        with suppress(UnknownCommit):
            [info] = self.commits([commit_id])
            return info.committed
        return datetime.fromtimestamp(seconds, UTC)

    def snapshot(self, revision: str, suffixes: Iterable[str]) -> Snapshot:
        """Return a version's regular files whose path ends with one of ``suffixes``.

        Raises UnknownCommit, and RepositoryError under the conditions of ``Trees.snapshot``.
        """
        return self.trees.snapshot(self.revisions.commit(revision), suffixes)

    def texts(self, blob_ids: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Yield the id and bytes of each blob, in the order of ``blob_ids``.

        The bytes are None for a blob that is missing, damaged or too large, and for an uncommitted
        file that has changed since its blob id was computed. The caller may use other methods
        between two blobs, or stop early.
        """
        for blob, content in self.git.objects(blob_ids, b"blob"):
            yield blob, self.on_disk.read(blob) if content is None else content


@lru_cache(maxsize=1)
def _open_cached(path: Path, path_by_blob: tuple[tuple[str, str], ...]) -> Repository:
    repository = Repository(path)
    repository.on_disk.path_by_blob.update(path_by_blob)
    return repository


def resolve_revision(path: Path, revision: str) -> str:
    """Return the full id of the commit that a revision names in the repository at a path.

    Raises RepositoryError if the repository cannot be read, and UnknownCommit if the revision names
    no commit, or several.
    """
    with Repository(path) as repository:
        return repository.resolve(revision)
