"""Read the tags of commits and the times when they were made."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final, NamedTuple, Self

from tosloc.core.errors import RepositoryError
from tosloc.core.reports import VALID_TIMES
from tosloc.git.commit_info import CommitInfo
from tosloc.git.repository.repository import Repository

MAX_TAGS: Final = 20_000
"""Largest number of tags that are read; these are the newest."""
_SIZES_OF_IDS: Final = (41, 65)
"""Sizes of a file with the id of an object, of SHA-1 or SHA-256, and a line end."""
_TAGGED: Final = re.compile(rb"object ([0-9a-f]{40,64})\ntype commit\n")
_TAGGER_TIME: Final = re.compile(rb"(?m)^tagger .*> ?(-?\d{1,15})(?: [-+]?\d+)?$")


class Tag(NamedTuple):
    """A tag of a commit."""

    name: str
    committed_at: int
    """Committer time of the commit, in seconds since 1970."""
    known_at: int
    """When the tag was made, in seconds since 1970, but not before the time of its commit.

    A tag that records no time has the time of its commit.
    """


class Tags(NamedTuple):
    """The tags of commits in a repository."""

    newest: tuple[Tag, ...] = ()
    """At most MAX_TAGS tags, the newest first."""
    older: int = 0
    """Number of older tags, which were not read."""
    broken: int = 0
    """Number of tags whose object is missing or damaged."""

    @classmethod
    def read(cls, repository: Repository) -> Self:
        """Return the tags of a repository's commits, the newest first.

        A tag whose object is missing or damaged is only counted. Tags that were read before are
        read again only if a tag may have come, gone or moved. Raises RepositoryError.
        """
        state: object = _state_of_files(repository.layout.common)
        if state is None:
            state = repository.revisions.list_references("refs/tags", "%(objectname) %(refname)")
        kept = repository.kept_tags
        if kept is not None and kept[0] == state:
            kept_tags: Self = kept[1]
            return kept_tags
        tags = cls._read_anew(repository)
        if not tags.broken:  # A missing object may be fetched.
            repository.kept_tags = (state, tags)
        return tags

    @classmethod
    def _read_anew(cls, repository: Repository) -> Self:
        """Return the tags as ``read`` does, read from git."""
        try:
            tags = _read_tags(repository)
            broken = 0
        except RepositoryError:
            # Git gives up at the first tag whose object is missing.
            tags, broken = _read_tags_one_by_one(repository)
        tags.sort(key=lambda tag: (-tag.known_at, tag.name))
        return cls(tuple(tags[:MAX_TAGS]), len(tags[MAX_TAGS:]), broken)


class _FileState(NamedTuple):
    """Numbers of a file of references, which change when git replaces the file."""

    path: Path
    size: int
    changed: tuple[int, int]
    """When its content and its status changed, in nanoseconds."""
    inode: int

    @classmethod
    def of(cls, path: Path) -> Self | None:
        """Return the state of a file; None if there is no regular file."""
        try:
            status = path.lstat()
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        changed = (status.st_mtime_ns, status.st_ctime_ns)
        return cls(path, status.st_size, changed, status.st_ino)


def _state_of_files(common: Path) -> list[_FileState | None] | None:
    """Return a value that differs once a tag has come, gone or moved; None if only git can tell.

    ``common`` is the git directory with the files of references. To look at them takes a tenth of
    the time that starting git takes.
    """
    states = [_FileState.of(common / name) for name in ("packed-refs", "reftable/tables.list")]
    for folder, _, names in os.walk(common / "refs/tags"):
        for name in names:
            state = _FileState.of(Path(folder, name))
            # Other files name another reference, which may move, or are being written.
            if state is None or state.size not in _SIZES_OF_IDS:
                return None
            states.append(state)
    return states


def _read_tags(repository: Repository) -> list[Tag]:
    """Return the tags of commits. Raises RepositoryError if the object of any tag is missing."""
    date = "(committerdate:unix)"
    parts = ("%(refname:strip=2)", "%(creatordate:unix)", f"%{date}", f"%(*{date[1:]}")
    tags = []
    for line in repository.revisions.list_references("refs/tags", "%00".join(parts)):
        name, created, own_time, time_of_target = line.split("\0")
        times = [int(time) for time in (created, own_time, time_of_target) if time]
        committed = own_time or time_of_target
        # The tag of a tree or of another tag is no release.
        if committed and all(time in VALID_TIMES for time in times):
            tags.append(Tag(name, int(committed), max(times)))
    return tags


def _read_tags_one_by_one(repository: Repository) -> tuple[list[Tag], int]:
    """Return the tags of commits, and the number of tags whose object cannot be read."""
    id_by_name: dict[str, str] = {}
    for line in repository.revisions.list_references(
        "refs/tags", "%(refname:strip=2)%00%(objectname)"
    ):
        name, object_id = line.split("\0")
        id_by_name[name] = object_id
    tag_objects = dict(repository.git.objects(id_by_name.values(), b"tag"))
    commit_by_id: dict[str, str] = {}
    for object_id, content in tag_objects.items():
        match = _TAGGED.match(content or b"")
        commit_by_id[object_id] = match[1].decode("ascii") if match else object_id
    commits = dict(repository.git.objects(commit_by_id.values(), b"commit"))
    tags = []
    unread = []
    for name, object_id in id_by_name.items():
        commit = commit_by_id[object_id]
        info = CommitInfo.of(commit, commits[commit] or b"")
        if info is None:
            unread.append(commit)
            continue
        header = (tag_objects[object_id] or b"").partition(b"\n\n")[0]
        tagger_time = _TAGGER_TIME.search(header)
        created = int(tagger_time[1]) if tagger_time else info.committed_at
        if created in VALID_TIMES:
            tags.append(Tag(name, info.committed_at, max(created, info.committed_at)))
    # The tag of a tree or of another tag is no release, and not broken.
    sizes = repository.git.sizes(dict.fromkeys(unread))
    return tags, sum(not sizes[commit] for commit in unread)
