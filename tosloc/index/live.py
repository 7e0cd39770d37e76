"""A repository that is asked again and again: its versions stay ready, and what its branches name is looked up anew.

For several threads. A version that is ready never changes; a new one is made by one thread, and put beside it in one
step. Questions about versions that are ready do not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from threading import Lock, RLock
from typing import Final

from tosloc.errors import ToslocError
from tosloc.git.repository import Repository
from tosloc.index.prepared import PreparedVersion
from tosloc.index.repository import IndexedRepository
from tosloc.records import Progress, Snapshot, silent

OPEN_VERSIONS: Final = 2
"""Versions that stay in memory: the one that is asked, and the one before a branch moved."""


class LiveRepository:
    """Versions of one repository, ready for queries; ``indexed`` says which files count and where facts are kept.

    The repository of ``indexed`` belongs to it from now on.
    """

    def __init__(self, indexed: IndexedRepository) -> None:
        self.indexed = indexed
        self._asked = Repository(indexed.repo.path)
        self._asking, self._updating = Lock(), RLock()
        self._versions: dict[str, PreparedVersion] = {}
        self._open = True

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self.indexed.repo.path

    def close(self) -> None:
        """End its processes, after a version that is being made."""
        self._open = False
        with self._updating, self._asking:
            self._versions = {}
            self.indexed.close()
            self.indexed.repo.close()
            self._asked.close()

    def _check_open(self) -> None:
        if not self._open:
            raise ToslocError(f"{self.path}: this repository was closed; open it again")

    def version(self, revision: str = "HEAD", progress: Progress = silent) -> PreparedVersion:
        """The version that ``revision`` names now. Raises UnknownCommit, and ToslocError when it holds no source file.

        Also ToslocError after ``close``.
        """
        self._check_open()
        found = self._versions.get(revision)
        if found is not None:  # by its full id
            return found
        with self._asking:
            self._check_open()
            commit = self._asked.resolve(revision)
        found = self._versions.get(commit)
        return self._made(commit, progress) if found is None else found

    def _made(self, commit: str, progress: Progress) -> PreparedVersion:
        with self._updating:
            self._check_open()
            found = self._versions.get(commit)  # made by another thread while this one waited
            if found is None:
                try:
                    found = self.indexed.prepared(commit, progress)
                finally:
                    self.indexed.close()  # the next version may be made by another thread, which needs its own store
                self._versions = dict([*self._versions.items(), (commit, found)][-OPEN_VERSIONS:])
            return found

    def files(self, revision: str = "HEAD") -> Snapshot:
        """The source files of a version; nothing is made of them. Raises UnknownCommit, ToslocError."""
        with self._updating:
            self._check_open()
            return self.indexed.sources(revision)

    def texts(self, blob_ids: Iterable[str]) -> list[tuple[str, bytes | None]]:
        """Each blob's id and bytes, as ``Repository.texts`` gives them."""
        with self._asking:
            self._check_open()
            return list(self._asked.texts(blob_ids))

    def subjects(self, commit_ids: Iterable[str]) -> dict[str, str]:
        """First lines of the messages of those commits that are there."""
        with self._asking:
            self._check_open()
            return self._asked.subjects(commit_ids)

    @property
    def work_tree(self) -> Path | None:
        """The folder whose files a reader can open; None of a bare repository."""
        return self._asked.work_tree

    def remote_url(self) -> str | None:
        """Address of the remote called origin, None without one."""
        with self._asking:
            self._check_open()
            return self._asked.remote_url()
