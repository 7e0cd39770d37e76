"""The user's cache: a folder for each repository, by where it lies; all but what was mined is made again if needed."""

from __future__ import annotations

import hashlib
import json
import os
import re
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
PLACE_FILE: Final = "place.json"
TRAINED_FOLDER: Final = "trained"
KEPT_ANSWERS: Final = "model-answers"
"""Folder with the answers of language models."""
REBUILDABLE_FILES: Final = (f"{STORE_FILE}*", "facts.versions", "facts.vectors.sqlite*")
"""Files and folders that the repository alone suffices to make again."""
ENTRY_FILES: Final = (*REBUILDABLE_FILES, "reports.jsonl", "github", TRAINED_FOLDER, KEPT_ANSWERS)
"""These, what ``tosloc mine`` has gathered, and what ``tosloc train`` has learned."""
_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,15})?) ?([kmgt]?)(i?)b?", re.IGNORECASE)


def cache_folder() -> Path:
    """Where facts are kept by default: $TOSLOC_CACHE, else the user's cache folder."""
    named = os.environ.get("TOSLOC_CACHE")
    return (
        Path(named)
        if named
        else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tosloc"
    )


def default_store(repo: Repository) -> Path:
    """The facts store of a repository and all its linked work trees, unless another is named."""
    return cache_folder() / f"{repo.name}-{_digest(repo.home)}" / STORE_FILE


def trained_folder(repo: Repository) -> Path:
    """Where ``tosloc train`` leaves what it has learned of a repository, and others look for it."""
    return default_store(repo).with_name(TRAINED_FOLDER)


def _digest(path: Path) -> str:
    return hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:8]


def note_use(repo: Repository, store: Path) -> None:
    """Note in the folder of a repository where that lies, and that it is used now, and remove the least used of others
    if $TOSLOC_CACHE_SIZE is set and there is more; nothing for a store elsewhere. Raises ConfigError for what is no
    size.
    """
    if store != default_store(repo):
        return
    named = os.environ.get("TOSLOC_CACHE_SIZE", "").strip()
    most = parse_size(named, "$TOSLOC_CACHE_SIZE") if named else None
    with suppress(
        OSError
    ):  # whoever writes there will say what is wrong; what is not removed waits for the next time
        cache_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        store.parent.mkdir(mode=0o700, exist_ok=True)
        place = store.with_name(PLACE_FILE)
        if not place.is_file():
            remove(place)  # a pipe that nobody reads would be waited for
        write_text(place, json.dumps({"repository": str(repo.home.resolve())}) + "\n")
        if most is not None:
            for entry in choose_least_used(list_entries(), most):
                if entry.folder != store.parent:
                    entry.remove(REBUILDABLE_FILES)


@dataclass(frozen=True)
class CacheEntry:
    """What the cache keeps of one repository."""

    folder: Path

    @property
    def repository(self) -> Path | None:
        """Where it lies; None where the folder does not tell."""
        try:
            return Path(json.loads((self.folder / PLACE_FILE).read_bytes())["repository"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    @property
    def repository_is_gone(self) -> bool:
        """Whether nothing is there any more where it lay; False where that is not known."""
        return self.repository is not None and not os.path.lexists(self.repository)

    def files(self, patterns: Sequence[str] = ENTRY_FILES) -> list[Path]:
        """Its files and folders of these names."""
        return [path for pattern in patterns for path in self.folder.glob(pattern)]

    def disk_usage(self, patterns: Sequence[str] = ENTRY_FILES) -> int:
        """Of these, and of all in them."""
        found = 0
        for path in self.files(patterns):
            for inner in (path, *path.rglob("*")):
                with suppress(OSError):  # it has just been removed
                    found += inner.lstat().st_size
        return found

    @property
    def last_used(self) -> datetime:
        """When a command or process last began to use it."""
        place = self.folder / PLACE_FILE
        return datetime.fromtimestamp(
            (place if place.exists() else self.folder).stat().st_mtime, UTC
        )

    def remove(self, patterns: Sequence[str] = ENTRY_FILES) -> int:
        """Remove these, the folder with the last of its files; the bytes of them. Files of others stay."""
        size, ours = self.disk_usage(patterns), self.files(patterns)
        for path in (
            ours if {*self.folder.iterdir()} - {*ours, self.folder / PLACE_FILE} else [self.folder]
        ):
            remove(path)
        return size


def list_entries() -> list[CacheEntry]:
    """All that the cache holds, last used first: folders that are called so and have one of our files in them."""
    folders = [
        path
        for path in cache_folder().glob("*-" + 8 * "[0-9a-f]")
        if path.is_dir() and not path.is_symlink()
    ]
    found = [
        entry
        for entry in map(CacheEntry, folders)
        if entry.files() or (entry.folder / PLACE_FILE).exists()
    ]
    return sorted(found, key=lambda entry: (-entry.last_used.timestamp(), entry.folder.name))


def find_entries(text: str) -> list[CacheEntry]:
    """What is kept of the repository that lies at a path, or that is called so, with or without the digest."""
    digest, everything = _digest(Path(text).expanduser().absolute()), list_entries()
    by_place = [entry for entry in everything if entry.folder.name.endswith(f"-{digest}")]
    return by_place or [
        e for e in everything if text in (e.folder.name, e.folder.name.rpartition("-")[0])
    ]


def remove_leftovers() -> None:
    """Remove what killed processes had begun to write or to remove."""
    folder = cache_folder()
    for path in (folder, *(entry.folder for entry in list_entries())):
        remove_unfinished(path)
        remove_unfinished(path / "facts.versions")


# ---- the largest size


def parse_size(text: str, what: str) -> int:
    """Bytes that a text such as 500M or 20G names; ``what`` it is, for the ConfigError.

    >>> parse_size("1.5G", ""), parse_size("2KiB", ""), parse_size("0", "")
    (1500000000, 2048, 0)
    """
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise ConfigError(f"{what}: {text!r} is no size; write 500M or 20G, say")
    number, unit, binary = found.groups()
    return int(float(number) * (1024 if binary else 1000) ** " kmgt".index(unit.lower() or " "))


def choose_least_used(everything: Sequence[CacheEntry], most: int) -> list[CacheEntry]:
    """Those to remove, of entries that stand last used first, so that at most so many bytes are left."""
    found, total = [], sum(entry.disk_usage() for entry in everything)
    for entry in reversed(everything):
        size = entry.disk_usage(REBUILDABLE_FILES)
        if size and total > most:
            found.append(entry)
            total -= size
    return found
