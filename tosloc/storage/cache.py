"""The user's cache, which contains one folder for each repository.

Everything in it can be rebuilt from the repository, except mined reports, trained checkpoints and
answers of language models. Only its owner may read it: code that creates or finds a folder of the
cache withdraws the rights of other users.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tosloc.core.errors import ConfigError, ToslocError
from tosloc.core.io import remove, remove_unfinished, write_text
from tosloc.git.repository import Repository

STORE_FILE: Final = "facts.sqlite"
"""Name of the file of the facts store."""
PLACE_FILE: Final = "place.json"
"""Name of the file with the path of the repository; its time is that of the last use."""
TRAINED_FOLDER: Final = "trained"
"""Name of the folder with the trained checkpoint."""
MINED_FILE: Final = "reports.jsonl"
"""Name of the file with the mined reports."""
ISSUES_FILE: Final = "issues.npz"
"""File with the issues of the project's tracker."""
KEPT_ANSWERS: Final = "model-answers"
"""Name of the folder with stored answers of language models."""
REBUILDABLE_FILES: Final = (f"{STORE_FILE}*", "facts.versions", "facts.vectors.sqlite*")
"""Patterns of files and folders that can be rebuilt from the repository alone."""
ENTRY_FILES: Final = (
    *REBUILDABLE_FILES,
    MINED_FILE,
    ISSUES_FILE,
    "github",
    TRAINED_FOLDER,
    KEPT_ANSWERS,
)
"""Patterns of all files and folders in an entry, including results of training and mining."""
_ENTRY: Final = re.compile(r".*-[0-9a-f]{8}", re.DOTALL)
"""Pattern of the names of the folders of repositories."""
_RIGHTS_OF_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,15})?) ?([kmgt]?)(i?)b?", re.IGNORECASE)


def cache_folder() -> Path:
    """Return $TOSLOC_CACHE if it is set, otherwise TosLoc's folder in the user's cache folder."""
    own_folder = os.environ.get("TOSLOC_CACHE")
    if own_folder:
        folder = Path(own_folder)
        is_ours = _contains_only_entries(folder)
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tosloc"
        is_ours = True
    if is_ours:
        _withdraw_rights(folder)
    return folder


def _contains_only_entries(folder: Path) -> bool:
    """Return whether a folder exists and contains nothing but entries of the cache.

    $TOSLOC_CACHE may name a folder that other programs use as well, such as a home folder.
    """
    try:
        return all(_ENTRY.fullmatch(path.name) for path in folder.iterdir())
    except OSError:
        return False


def _withdraw_rights(folder: Path) -> None:
    """Withdraw the rights of other users to a folder, if it exists and is the user's own."""
    with suppress(OSError):
        mode = folder.lstat().st_mode
        # Links are not followed, and a sticky folder, such as /tmp, is meant for all users.
        if stat.S_ISDIR(mode) and mode & _RIGHTS_OF_OTHERS and not mode & stat.S_ISVTX:
            folder.chmod(stat.S_IMODE(mode) & ~_RIGHTS_OF_OTHERS)


def create_folder(folder: Path) -> None:
    """Create a folder, and its missing parents.

    Other users get no rights to folders of the cache. Raises OSError.
    """
    cache = cache_folder()
    for path in (*reversed(folder.parents), folder):
        path.mkdir(mode=0o700 if path.is_relative_to(cache) else 0o777, exist_ok=True)


def _path_digest(path: Path) -> str:
    """Return the digest of a path, which ends the name of the repository's folder in the cache."""
    return hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:8]


@dataclass(frozen=True)
class CacheEntry:
    """The cache's data about one repository, including all its linked work trees."""

    folder: Path

    @classmethod
    def of(cls, repo: Repository) -> CacheEntry:
        """Return the entry of a repository; the entry's folder may not exist yet."""
        folder = cache_folder() / f"{repo.name}-{_path_digest(repo.layout.home)}"
        _withdraw_rights(folder)
        return cls(folder)

    @property
    def store(self) -> Path:
        """Path of the facts store."""
        return self.folder / STORE_FILE

    @property
    def trained(self) -> Path:
        """Folder of the checkpoint that ``tosloc train`` writes."""
        return self.folder / TRAINED_FOLDER

    @property
    def mined_reports(self) -> Path:
        """File of the reports that ``tosloc mine`` writes."""
        return self.folder / MINED_FILE

    @property
    def tracker_issues(self) -> Path:
        """File of the tracker's issues that ``tosloc mine`` writes."""
        return self.folder / ISSUES_FILE

    def note_use(self, repo: Repository) -> None:
        """Record that the repository is used now, and limit the size of the cache.

        If the cache is larger than $TOSLOC_CACHE_SIZE, data of the least recently used repositories
        is removed. Raises ConfigError if $TOSLOC_CACHE_SIZE is not a size.
        """
        size_text = os.environ.get("TOSLOC_CACHE_SIZE", "").strip()
        max_bytes = _parse_size(size_text, "$TOSLOC_CACHE_SIZE: ") if size_text else None
        # Writing to the store reports such errors. Data that cannot be removed now is removed the
        # next time.
        with suppress(OSError):
            create_folder(self.folder)
            place = self.folder / PLACE_FILE
            if not place.is_file():
                # Writing to a pipe would wait for a reader.
                remove(place)
            write_text(place, json.dumps({"repository": str(repo.layout.home.resolve())}) + "\n")
            if max_bytes is not None:
                for entry in _choose_least_used(Cache().entries(), max_bytes):
                    if entry.folder != self.folder:
                        entry.remove(REBUILDABLE_FILES)

    @property
    def repository(self) -> Path | None:
        """Path of the repository; None if the entry does not record it."""
        try:
            return Path(json.loads((self.folder / PLACE_FILE).read_bytes())["repository"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    @property
    def repository_is_gone(self) -> bool:
        """Whether the repository's path no longer exists; False if the path is unknown."""
        return self.repository is not None and not os.path.lexists(self.repository)

    def files(self, patterns: Sequence[str] = ENTRY_FILES) -> list[Path]:
        """Return the entry's files and folders that match the patterns."""
        matches: list[Path] = []
        for pattern in patterns:
            matches += self.folder.glob(pattern)
        return matches

    def disk_usage(self, patterns: Sequence[str] = ENTRY_FILES) -> int:
        """Return the number of bytes of the entry's files and folders that match the patterns."""
        total = 0
        for path in self.files(patterns):
            for inner in (path, *path.rglob("*")):
                # Another process may just have removed it.
                with suppress(OSError):
                    total += inner.lstat().st_size
        return total

    @property
    def last_used(self) -> datetime:
        """Time at which a command or process last began to use the repository."""
        place = self.folder / PLACE_FILE
        dated = place if place.exists() else self.folder
        return datetime.fromtimestamp(dated.stat().st_mtime, UTC)

    def remove(self, patterns: Sequence[str] = ENTRY_FILES) -> int:
        """Remove the entry's files and folders that match the patterns; return their bytes.

        The folder is removed with its last file. Files that match no pattern stay.
        """
        size = self.disk_usage(patterns)
        files = self.files(patterns)
        others = {*self.folder.iterdir()} - {*files, self.folder / PLACE_FILE}
        for path in files if others else [self.folder]:
            remove(path)
        return size


class Cache:
    """The cache of the user, with the data of all repositories."""

    def __init__(self) -> None:
        self.folder: Final = cache_folder()

    @staticmethod
    def replace_unwritable() -> list[str]:
        """Use a temporary cache in this process and its children if the user's is not writable.

        Return sentences about this for the user; empty if the user's cache is writable. The
        temporary folder is removed when the process ends.
        """
        folder = cache_folder()
        try:
            create_folder(folder)
            with tempfile.TemporaryFile(dir=folder):
                return []
        except OSError as error:
            temporary_folder = tempfile.mkdtemp(prefix="tosloc-")
            atexit.register(shutil.rmtree, temporary_folder, ignore_errors=True)
            os.environ["TOSLOC_CACHE"] = temporary_folder
            return [
                f"the cache {folder} cannot be written ({error.strerror}), so a temporary one is"
                " used, without what was trained or mined; choose another with $TOSLOC_CACHE"
            ]

    def entries(self) -> list[CacheEntry]:
        """Return all entries of the cache, the last used first.

        An entry is a folder whose name has the form of the cache's, with at least one of its files.
        """
        entries = []
        for path in self.folder.glob("*"):
            if not _ENTRY.fullmatch(path.name) or not path.is_dir() or path.is_symlink():
                continue
            entry = CacheEntry(path)
            if entry.files() or (path / PLACE_FILE).exists():
                _withdraw_rights(path)
                entries.append(entry)
        return sorted(entries, key=lambda entry: (-entry.last_used.timestamp(), entry.folder.name))

    def find(self, repositories: Iterable[str]) -> list[CacheEntry]:
        """Return the entries of repositories, each given by its path or its name.

        The name may contain the digest. If several repositories have a name, all are returned.
        Raises ToslocError if a repository has no entry.
        """
        all_matches = []
        for repository in repositories:
            matches = self._find_repository(repository)
            if not matches:
                raise ToslocError(
                    f"{repository}: the cache has no data of this repository; see: tosloc cache"
                    " list"
                )
            all_matches += matches
        return all_matches

    def _find_repository(self, text: str) -> list[CacheEntry]:
        """Return the entries of the repository at a path, or else the entries with this name."""
        digest = _path_digest(Path(text).expanduser().absolute())
        entries = self.entries()
        by_path = [entry for entry in entries if entry.folder.name.endswith(f"-{digest}")]
        if by_path:
            return by_path
        by_name = []
        for entry in entries:
            name = entry.folder.name
            if text in (name, name.rpartition("-")[0]):
                by_name.append(entry)
        return by_name

    def prune(
        self,
        repositories: Sequence[str] = (),
        max_size: str | None = None,
        *,
        dry_run: bool = False,
    ) -> Iterator[tuple[CacheEntry, int]]:
        """Remove entries and leftovers of killed processes; yield each entry with its bytes.

        Without ``max_size``, the entries of the given repositories are removed, or by default those
        of repositories that no longer exist. With ``max_size``, a size such as 20G, the least
        recently used entries are removed until the given entries, or by default the whole cache,
        have at most this size; then only rebuildable files are removed. With ``dry_run``, nothing
        is removed. Raises ToslocError for a repository without an entry, and for a text that is not
        a size.
        """
        entries = self.find(repositories)
        if not dry_run:
            self._remove_leftovers()
        patterns: Sequence[str] = ENTRY_FILES
        if max_size is not None:
            patterns = REBUILDABLE_FILES
            max_bytes = _parse_size(max_size, about="max_size")
            entries = _choose_least_used(entries or self.entries(), max_bytes)
        elif not repositories:
            entries = [entry for entry in self.entries() if entry.repository_is_gone]
        for entry in entries:
            yield entry, entry.disk_usage(patterns) if dry_run else entry.remove(patterns)

    def _remove_leftovers(self) -> None:
        """Remove unfinished files and folders that killed processes left in the cache."""
        for path in (self.folder, *(entry.folder for entry in self.entries())):
            remove_unfinished(path)
            remove_unfinished(path / "facts.versions")


# ---- the largest size


def _parse_size(text: str, prefix: str = "", about: str = "") -> int:
    """Return the bytes of a size such as 500M or 20G.

    Raises ConfigError if the text is not a size; ``prefix`` or ``about`` say where it was given.

    >>> _parse_size("1.5G"), _parse_size("2KiB"), _parse_size("0")
    (1500000000, 2048, 0)
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ConfigError(
            f"{prefix}{text!r} is not a size", hint="write it like 500M or 20G", about=about
        )
    number, unit, binary = match.groups()
    base = 1024 if binary else 1000
    return int(float(number) * base ** " kmgt".index(unit.lower() or " "))


def _choose_least_used(entries: Sequence[CacheEntry], max_bytes: int) -> list[CacheEntry]:
    """Return the entries to remove so that at most ``max_bytes`` are left.

    ``entries`` are in the order of their last use, the newest first. Only rebuildable files count
    as removable.
    """
    chosen = []
    total = sum(entry.disk_usage() for entry in entries)
    for entry in reversed(entries):
        size = entry.disk_usage(REBUILDABLE_FILES)
        if size and total > max_bytes:
            chosen.append(entry)
            total -= size
    return chosen
