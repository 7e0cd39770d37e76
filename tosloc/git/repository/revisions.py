"""Resolve names of revisions to the commits that they name."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import Final

from tosloc.core.errors import RepositoryError, UnknownCommit
from tosloc.git import commit_info
from tosloc.git.commit_info import CommitInfo
from tosloc.git.discovery import read_git_file
from tosloc.git.process import Git
from tosloc.git.repository.layout import Layout

_FULL_ID = re.compile(r"[0-9a-fA-F]{40}|[0-9a-fA-F]{64}")
_BEGINNING: Final = re.compile(r"[0-9a-f]{4,39}")
"""Beginning of an id with which git can list the objects whose ids begin so."""
_MAX_OBJECTS: Final = 20
"""Largest number of objects with the same beginning of their ids that are read."""
_MAX_KEPT: Final = 2_000
"""Largest number of commits that stay in memory."""
_COMMIT_SUFFIX: Final = "^{commit}"
"""Suffix of a name that makes git follow tags, and report any object but a commit as missing."""
_SEARCHING_NAME: Final = re.compile(r"@\{|\^\{/|\A:/")
"""Part of a revision that makes git search a reflog, the settings or messages."""
_AMBIGUOUS: Final = re.compile(r"refname '(.+)' is ambiguous\.")
_NO_REVISION = re.compile(r"-|:(?!/)|\s*\Z|.*[\0\n]", re.DOTALL)
"""Pattern of a text that names no commit: an option, a path of the index, blanks, two lines."""


class Revisions:
    """The commits of a repository, by id and by every name that git understands.

    Git reads the repository itself, with its branches, reflogs and settings, only to resolve names.
    """

    def __init__(self, git: Git, layout: Layout) -> None:
        self._git = git
        self._layout = layout
        self._kept: dict[tuple[str, frozenset[str]], CommitInfo] = {}
        """Commits that were asked for one by one, by id and the clone's shallow commits."""

    @property
    def no_commit(self) -> str:
        """Id that stands for the commit of a branch without commits: zeros, as git writes it."""
        return "0" * (64 if self._layout.hash_name == "sha256" else 40)

    def resolve(self, revision: str) -> str:
        """Return the full id of the commit that a revision names, as git understands it.

        Tags are followed. Raises UnknownCommit if the revision names no commit, or several.
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
        """Return why a revision names no commit, from git's messages; "" if they say nothing."""
        for message in messages:
            kind, _, reason = message.partition(": ")
            ambiguous = _AMBIGUOUS.fullmatch(reason)
            # People who have a branch called HEAD still mean the commit that is checked out.
            if ambiguous and ambiguous[1] != "HEAD":
                name = ambiguous[1]
                return (
                    f"{self._layout.path}: {name!r} names several things, such as a tag and a"
                    f" branch; write refs/tags/{name} or refs/heads/{name}"
                )
            if kind == "fatal" or reason.startswith("log for "):
                return (
                    f"{self._layout.path}: no commit {revision!r}: {reason};"
                    " name a commit, a branch or a tag"
                )
        return ""

    def checked_out(self) -> str:
        """Return the full id of HEAD's commit, or ``no_commit`` if its branch has none yet.

        Raises UnknownCommit for a bare repository without commits, and for a damaged one.
        """
        try:
            return self.resolve("HEAD")
        except UnknownCommit:
            if self._layout.work_tree is not None and self._on_unborn_branch():
                return self.no_commit
            raise

    def _on_unborn_branch(self) -> bool:
        """Return whether HEAD names a branch that does not exist yet."""
        branch = (
            os.fsdecode(read_git_file(self._layout.directory / "HEAD")).removeprefix("ref:").strip()
        )
        if not branch.startswith("refs/heads/"):
            return False
        return not self.list_references(branch, "%(refname)")

    def resolve_many(self, revisions: Iterable[str]) -> dict[str, str | None]:
        """Return revision -> full commit id, with one git process for most revisions.

        The id is None if the revision names no commit, or several.
        """
        commit_ids: dict[str, str | None] = dict.fromkeys(revisions)
        plain = []
        for revision in commit_ids:
            if not _SEARCHING_NAME.search(revision):
                plain.append(revision)
                continue
            # If git has nothing to search, it ends at such a name and ignores all later names.
            with suppress(UnknownCommit):
                commit_ids[revision] = self.resolve(revision)
        return commit_ids | self._resolve_together(plain)

    def resolve_before(self, beginnings: Iterable[str], seconds: float) -> dict[str, str | None]:
        """Return beginning of an id -> full id of the commit before a time whose id begins so.

        ``seconds`` is the time since 1970. Later commits do not count, so they neither are found
        nor make a beginning ambiguous; branches and tags of that name do not count either. The id
        is None if there is no such commit, or more than one.
        """
        commit_ids = self.resolve_many(beginnings)
        unclear = []
        for beginning, commit in commit_ids.items():
            if commit is not None and commit.startswith(beginning):
                if not self._is_before(commit, seconds):
                    commit_ids[beginning] = None
            elif _BEGINNING.fullmatch(beginning):
                unclear.append(beginning)
            else:
                commit_ids[beginning] = None
        for beginning, objects in self._list_objects(unclear).items():
            commits = [name for name in objects if self._is_before(name, seconds)]
            commit_ids[beginning] = commits[0] if len(commits) == 1 else None
        return commit_ids

    def _is_before(self, name: str, seconds: float) -> bool:
        """Return whether an object is a commit that is older than a time."""
        with suppress(UnknownCommit):
            [info] = self.commits([name])
            return info.committed_at < seconds
        return False

    def _list_objects(self, beginnings: Sequence[str]) -> dict[str, list[str]]:
        """Return beginning -> ids of the first objects whose ids begin so, of whatever kind."""
        objects: dict[str, list[str]] = {beginning: [] for beginning in beginnings}
        if not objects:
            return objects
        arguments = [f"--disambiguate={beginning}" for beginning in objects]
        with self._git.stream(["rev-parse", *arguments]) as output:
            names = output.read().decode("ascii").split()
        for beginning, found in objects.items():
            matching = sorted({name for name in names if name.startswith(beginning)})
            found += matching[:_MAX_OBJECTS]
        return objects

    def _resolve_together(
        self, revisions: Collection[str], messages: list[str] | None = None
    ) -> dict[str, str | None]:
        """Return revision -> full commit id, with one git process for all revisions.

        The id is None if the revision names no commit, or several. Git's warnings and errors are
        added to ``messages``. Raises RepositoryError if git ends at a revision.
        """
        commit_ids: dict[str, str | None] = dict.fromkeys(revisions)
        names = [revision for revision in commit_ids if not _NO_REVISION.match(revision)]
        # After :/ the whole name is a pattern, which finds only commits.
        requests = (name if name.startswith(":/") else name + _COMMIT_SUFFIX for name in names)
        command = ["cat-file", "--batch-check=%(objectname)"]
        # Only here git sees branches and settings. If GIT_DIR names the directory, git does not
        # check to whom it belongs.
        directory = str(self._layout.directory)
        with self._git.stream(command, requests, messages, GIT_DIR=directory) as output:
            lines = output.read().decode("utf-8", "replace").split("\n")
        for name, line in zip(names, lines, strict=False):
            commit_ids[name] = line if _FULL_ID.fullmatch(line) else None
        return commit_ids

    def commits(self, commit_ids: Iterable[str]) -> list[CommitInfo]:
        """Return the commits with the given full ids, in the order of the ids.

        Long messages are shortened once they have more than MAX_LONG_MESSAGES_BYTES together.
        Raises UnknownCommit for the first commit that does not exist.
        """
        wanted = list(commit_ids)
        shallow = self._layout.shallow
        if len(wanted) == 1:
            # Answers ask for one commit after the other, and again for the same ones.
            [commit_id] = wanted
            info = self._kept.get((commit_id, shallow))
            if info is None:
                [info] = self._read(wanted, shallow)
                if len(self._kept) == _MAX_KEPT:
                    self._kept.clear()
                self._kept[commit_id, shallow] = info
            return [info]
        return self._read(wanted, shallow)

    def _read(self, commit_ids: Iterable[str], shallow: frozenset[str]) -> list[CommitInfo]:
        """Return the commits as ``commits`` does, read from git."""
        long_bytes_left = commit_info.MAX_LONG_MESSAGES_BYTES
        infos = []
        for commit_id, content in self._git.objects(commit_ids, b"commit"):
            info = None
            if content is not None:
                info = CommitInfo.of(commit_id, content, shallow, long_bytes_left)
            if info is None:
                raise UnknownCommit(self._describe_unknown(commit_id.removesuffix(_COMMIT_SUFFIX)))
            if info.has_long_message and not info.is_shortened:
                long_bytes_left -= info.message_bytes
            infos.append(info)
        return infos

    def commit(self, revision: str) -> CommitInfo:
        """Return the commit that a revision names.

        Raises UnknownCommit if the revision names no commit, or several.
        """
        is_id = _FULL_ID.fullmatch(revision)
        [info] = self.commits([revision + _COMMIT_SUFFIX if is_id else self.resolve(revision)])
        return info

    def list_references(self, pattern: str, line_format: str) -> list[str]:
        """Return a line in ``line_format`` for each reference below a pattern.

        Raises RepositoryError if git fails.
        """
        command = ["for-each-ref", f"--format={line_format}", pattern]
        with self._git.stream(command, GIT_DIR=str(self._layout.directory)) as output:
            lines = output.read().decode("utf-8", "surrogateescape").split("\n")
        return [line for line in lines if line]

    def _describe_unknown(self, revision: str) -> str:
        """Return the sentence for users about a revision that names no commit."""
        if self._layout.shallow:
            return (
                f"{self._layout.path}: no commit {revision!r} in this shallow clone;"
                " run: git fetch --unshallow --tags"
            )
        if revision == "HEAD":
            return (
                f"{self._layout.path}: no commit 'HEAD': its branch is empty;"
                " commit something, or name another branch"
            )
        return (
            f"{self._layout.path}: no commit {revision!r};"
            " check its spelling, or run: git fetch --all --tags"
        )
