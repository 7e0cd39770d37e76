"""The user's cache: one folder for each repository.

Everything in it can be rebuilt from the repository, except what was mined or trained. Only its
owner may read it: whoever creates or finds a folder of it withdraws the rights of other users.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tosloc.core.errors import ConfigError
from tosloc.core.io import remove, remove_unfinished, write_text
from tosloc.git.repository import Repository

STORE_FILE: Final = "facts.sqlite"
"""File of the facts store."""
PLACE_FILE: Final = "place.json"
"""File with the path of the repository; its time is that of the last use."""
TRAINED_FOLDER: Final = "trained"
"""Folder with the trained checkpoint."""
KEPT_ANSWERS: Final = "model-answers"
"""Folder with the answers of language models."""
REBUILDABLE_FILES: Final = (f"{STORE_FILE}*", "facts.versions", "facts.vectors.sqlite*")
"""Patterns of files and folders that can be rebuilt from the repository alone."""
ENTRY_FILES: Final = (*REBUILDABLE_FILES, "reports.jsonl", "github", TRAINED_FOLDER, KEPT_ANSWERS)
"""Patterns of all files and folders: also what ``tosloc mine`` and ``tosloc train`` have kept."""
_ENTRY: Final = re.compile(r".*-[0-9a-f]{8}", re.DOTALL)
"""Names of the folders of repositories."""
_RIGHTS_OF_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,15})?) ?([kmgt]?)(i?)b?", re.IGNORECASE)


def cache_folder() -> Path:
    """Return $TOSLOC_CACHE, else TosLoc's folder in the user's cache folder."""
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
    """Return whether a folder exists and contains nothing that is not of the cache.

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
    """Create a folder with its parents, if they are missing.

    Other users get no rights to those of the cache. Raises OSError.
    """
    cache = cache_folder()
    for path in (*reversed(folder.parents), folder):
        path.mkdir(mode=0o700 if path.is_relative_to(cache) else 0o777, exist_ok=True)


def default_store(repo: Repository) -> Path:
    """Return the path of the facts store of a repository and all its linked work trees."""
    folder = cache_folder() / f"{repo.name}-{_path_digest(repo.home)}"
    _withdraw_rights(folder)
    return folder / STORE_FILE


def trained_folder(repo: Repository) -> Path:
    """Return the folder of the checkpoint that ``tosloc train`` writes for a repository."""
    return default_store(repo).with_name(TRAINED_FOLDER)


def _path_digest(path: Path) -> str:
    """Return the digest of a path that ends the name of a repository's folder."""
    return hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:8]


def note_use(repo: Repository, store: Path) -> None:
    """Note in the cache that a repository is used now, and limit the size of the cache.

    If $TOSLOC_CACHE_SIZE is set, data of the repositories that were not used for longest is removed
    until the cache is no larger. Nothing is done for a store outside the cache. Raises ConfigError
    if $TOSLOC_CACHE_SIZE is no size.
    """
    if store != default_store(repo):
        return
    size_text = os.environ.get("TOSLOC_CACHE_SIZE", "").strip()
    most = parse_size(size_text, "$TOSLOC_CACHE_SIZE") if size_text else None
    # Whoever writes to the store will report what is wrong, and what is not removed waits for the
    # next time.
    with suppress(OSError):
        create_folder(store.parent)
        place = store.with_name(PLACE_FILE)
        if not place.is_file():
            # Writing to a pipe would wait for a reader.
            remove(place)
        write_text(place, json.dumps({"repository": str(repo.home.resolve())}) + "\n")
        if most is not None:
            for entry in choose_least_used(list_entries(), most):
                if entry.folder != store.parent:
                    entry.remove(REBUILDABLE_FILES)


@dataclass(frozen=True)
class CacheEntry:
    """The cache's data of one repository."""

    folder: Path

    @property
    def repository(self) -> Path | None:
        """Path of the repository; None if the folder does not contain it."""
        try:
            return Path(json.loads((self.folder / PLACE_FILE).read_bytes())["repository"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    @property
    def repository_is_gone(self) -> bool:
        """Whether nothing is at the repository's path any more; False if the path is unknown."""
        return self.repository is not None and not os.path.lexists(self.repository)

    def files(self, patterns: Sequence[str] = ENTRY_FILES) -> list[Path]:
        """Return the files and folders that match the patterns."""
        matches: list[Path] = []
        for pattern in patterns:
            matches += self.folder.glob(pattern)
        return matches

    def disk_usage(self, patterns: Sequence[str] = ENTRY_FILES) -> int:
        """Return the bytes of files and folders that match the patterns, with all in them."""
        total = 0
        for path in self.files(patterns):
            for inner in (path, *path.rglob("*")):
                # Another process may just have removed it.
                with suppress(OSError):
                    total += inner.lstat().st_size
        return total

    @property
    def last_used(self) -> datetime:
        """When a command or process last began to use it."""
        place = self.folder / PLACE_FILE
        dated = place if place.exists() else self.folder
        return datetime.fromtimestamp(dated.stat().st_mtime, UTC)

    def remove(self, patterns: Sequence[str] = ENTRY_FILES) -> int:
        """Remove files and folders that match the patterns; return their bytes.

        The folder is removed with the last of its files. Files of others stay.
        """
        size = self.disk_usage(patterns)
        files = self.files(patterns)
        others = {*self.folder.iterdir()} - {*files, self.folder / PLACE_FILE}
        for path in files if others else [self.folder]:
            remove(path)
        return size


def list_entries() -> list[CacheEntry]:
    """Return all entries of the cache, last used first.

    An entry is a folder with a name of the cache and one of its files.
    """
    entries = []
    for path in cache_folder().glob("*"):
        if not _ENTRY.fullmatch(path.name) or not path.is_dir() or path.is_symlink():
            continue
        entry = CacheEntry(path)
        if entry.files() or (path / PLACE_FILE).exists():
            _withdraw_rights(path)
            entries.append(entry)
    return sorted(entries, key=lambda entry: (-entry.last_used.timestamp(), entry.folder.name))


def find_entries(text: str) -> list[CacheEntry]:
    """Return the entries of a repository, given by its path or else by its name.

    The name may contain the digest. All repositories of a name are returned.
    """
    digest = _path_digest(Path(text).expanduser().absolute())
    entries = list_entries()
    by_path = [entry for entry in entries if entry.folder.name.endswith(f"-{digest}")]
    if by_path:
        return by_path
    by_name = []
    for entry in entries:
        name = entry.folder.name
        if text in (name, name.rpartition("-")[0]):
            by_name.append(entry)
    return by_name


def remove_leftovers() -> None:
    """Remove what killed processes had begun to write or to remove."""
    folder = cache_folder()
    for path in (folder, *(entry.folder for entry in list_entries())):
        remove_unfinished(path)
        remove_unfinished(path / "facts.versions")


# ---- the largest size


def parse_size(text: str, what: str) -> int:
    """Return the bytes of a size such as 500M or 20G.

    Raises ConfigError, which names the setting ``what``, if the text is no size.

    >>> parse_size("1.5G", ""), parse_size("2KiB", ""), parse_size("0", "")
    (1500000000, 2048, 0)
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ConfigError(f"{what}: {text!r} is not a size; write it like 500M or 20G")
    number, unit, binary = match.groups()
    base = 1024 if binary else 1000
    return int(float(number) * base ** " kmgt".index(unit.lower() or " "))


def choose_least_used(entries: Sequence[CacheEntry], most: int) -> list[CacheEntry]:
    """Return the entries to remove so that at most ``most`` bytes are left.

    ``entries`` are in the order of their last use, the newest first. Only rebuildable files count
    as removable.
    """
    chosen = []
    total = sum(entry.disk_usage() for entry in entries)
    for entry in reversed(entries):
        size = entry.disk_usage(REBUILDABLE_FILES)
        if size and total > most:
            chosen.append(entry)
            total -= size
    return chosen
