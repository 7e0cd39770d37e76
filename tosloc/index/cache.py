"""The user's cache: a folder for each repository, by where it lies; all but what was mined is made again if needed."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Final

from tosloc.code.languages import FACTS_VERSION, FUNCTIONS_VERSION
from tosloc.errors import ConfigError
from tosloc.git.repository import Repository
from tosloc.index.history_index import COMMITS, HISTORY_VERSION
from tosloc.index.store import FactStore
from tosloc.io import remove, remove_unfinished, write_text

STORE: Final = "facts.sqlite"
PLACE: Final = "place.json"
TRAINED: Final = "trained"
KINDS: Final = {
    "facts": (f"{STORE}*",),
    "versions": ("facts.versions",),
    "vectors": ("facts.vectors.sqlite*",),
    "reports": ("reports.jsonl", "github"),
    "trained": (TRAINED,),
}
"""What is kept of a repository -> its files and folders."""
MADE_AGAIN: Final = ("facts", "versions", "vectors")
"""Kinds that the repository alone suffices to make again; the others are what ``tosloc mine`` has gathered."""
_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,15})?) ?([kmgt]?)(i?)b?", re.IGNORECASE)


def cache_folder() -> Path:
    """Where facts are kept by default: $TOSLOC_CACHE, else the user's cache folder."""
    named = os.environ.get("TOSLOC_CACHE")
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tosloc"


def default_store(repo: Repository) -> Path:
    """The facts store of a repository and all its linked work trees, unless another is named."""
    return cache_folder() / f"{repo.name}-{_digest(repo.home)}" / STORE


def trained_folder(repo: Repository) -> Path:
    """Where ``tosloc train`` leaves what it has learned of a repository, and others look for it."""
    return default_store(repo).with_name(TRAINED)


def _digest(path: Path) -> str:
    return hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _bytes_of(path: Path) -> int:
    """Of a file, or of all in a folder; links count for nothing, and what has just been removed."""
    found = 0
    for inner in (path, *path.rglob("*")):
        with suppress(OSError):
            found += inner.stat().st_size if inner.is_file() and not inner.is_symlink() else 0
    return found


def note_use(repo: Repository, store: Path) -> None:
    """Note in the folder of a repository where that lies, and that it is used now; nothing for a store elsewhere.

    Raises ConfigError for a largest size that is none.
    """
    if store != default_store(repo):
        return
    largest_size()
    with suppress(OSError):  # whoever writes there will say what is wrong
        cache_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        store.parent.mkdir(mode=0o700, exist_ok=True)
        if CacheEntry(store.parent).repository == repo.home.resolve():
            os.utime(store.with_name(PLACE))
        else:
            write_text(store.with_name(PLACE), json.dumps({"repository": str(repo.home.resolve())}) + "\n")


@dataclass(frozen=True)
class CacheEntry:
    """What the cache keeps of one repository, as it was when it was listed."""

    folder: Path

    @property
    def name(self) -> str:
        """The repository's."""
        return self.folder.name.rpartition("-")[0]

    @cached_property
    def repository(self) -> Path | None:
        """Where it lies; None where the folder does not tell."""
        try:
            return Path(json.loads((self.folder / PLACE).read_bytes())["repository"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    @property
    def gone(self) -> bool:
        """Whether nothing is there any more where it lay; False where that is not known."""
        return self.repository is not None and not os.path.lexists(self.repository)

    def files(self, kinds: Iterable[str] = tuple(KINDS)) -> list[Path]:
        """Its files and folders of these kinds."""
        return [path for kind in kinds for pattern in KINDS[kind] for path in self.folder.glob(pattern)]

    @cached_property
    def bytes(self) -> dict[str, int]:
        """Kind -> bytes of its files."""
        return {kind: sum(map(_bytes_of, self.files([kind]))) for kind in KINDS}

    @property
    def total(self) -> int:
        """Bytes of all."""
        return sum(self.bytes.values())

    @cached_property
    def last_used(self) -> datetime:
        """When a command or process last began to use it."""
        place = self.folder / PLACE
        return datetime.fromtimestamp((place if place.exists() else self.folder).stat().st_mtime, UTC)

    def remove(self, kinds: Iterable[str] = tuple(KINDS)) -> int:
        """Remove these kinds, the folder with the last of its files; the bytes of them. Files of others stay."""
        size, ours = sum(self.bytes[kind] for kind in kinds), self.files(kinds)
        for path in ours if {*self.folder.iterdir()} - {*ours, self.folder / PLACE} else [self.folder]:
            remove(path)
        return size

    def remove_former(self) -> int:
        """Remove facts that another version of TosLoc has made; the bytes of them."""
        before = self.bytes["facts"]
        if not (self.folder / STORE).exists():
            return 0
        ours = {f"facts{FACTS_VERSION}", f"functions{FUNCTIONS_VERSION}", f"{COMMITS}{HISTORY_VERSION}"}
        with FactStore(self.folder / STORE) as facts:
            facts.remove_analysers(name for name in facts.analysers() if name.partition("+")[0] not in ours)
        return max(0, before - sum(map(_bytes_of, self.files(["facts"]))))


def entries() -> list[CacheEntry]:
    """All that the cache holds, last used first: folders that are called so and have one of our files in them."""
    folders = [path for path in cache_folder().glob("*-" + 8 * "[0-9a-f]") if path.is_dir() and not path.is_symlink()]
    found = [entry for entry in map(CacheEntry, folders) if entry.files() or (entry.folder / PLACE).exists()]
    return sorted(found, key=lambda entry: (-entry.last_used.timestamp(), entry.folder.name))


def entries_of(text: str) -> list[CacheEntry]:
    """What is kept of the repository that lies at a path, or that is called so, with or without the digest."""
    digest, everything = _digest(Path(text).expanduser().absolute()), entries()
    by_place = [entry for entry in everything if entry.folder.name.endswith(f"-{digest}")]
    return by_place or [entry for entry in everything if text in (entry.name, entry.folder.name)]


def remove_leftovers() -> None:
    """Remove what killed processes had begun to write or to remove."""
    folder = cache_folder()
    for path in (folder, *(entry.folder for entry in entries())):
        remove_unfinished(path)
        remove_unfinished(path / "facts.versions")


# ---- the largest size


def largest_size() -> int | None:
    """Bytes that the cache may take, by $TOSLOC_CACHE_SIZE; None without. Raises ConfigError for what is no size."""
    named = os.environ.get("TOSLOC_CACHE_SIZE", "").strip()
    return bytes_of_size(named, "$TOSLOC_CACHE_SIZE") if named else None


def bytes_of_size(text: str, what: str) -> int:
    """Bytes that a text such as 500M or 20G names; ``what`` it is, for the ConfigError.

    >>> bytes_of_size("1.5G", ""), bytes_of_size("2KiB", ""), bytes_of_size("0", "")
    (1500000000, 2048, 0)
    """
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise ConfigError(f"{what}: {text!r} is no size; write 500M or 20G, say")
    number, unit, binary = found.groups()
    return int(float(number) * (1024 if binary else 1000) ** " kmgt".index(unit.lower() or " "))


def keep_to_size(repo: Repository, store: Path) -> None:
    """Remove the least used, if $TOSLOC_CACHE_SIZE is set and there is more; what fails waits for the next time.

    For whoever has written to the store of a repository, which stays; for one that lies elsewhere it does nothing.
    """
    most = largest_size()
    if most is not None and store == default_store(repo):
        with suppress(OSError):
            for entry in least_used(entries(), most):
                if entry.folder != store.parent:
                    entry.remove(MADE_AGAIN)


def least_used(everything: Sequence[CacheEntry], most: int) -> list[CacheEntry]:
    """Those to remove, of entries that stand last used first, so that at most so many bytes are left."""
    found, total = [], sum(entry.total for entry in everything)
    for entry in reversed(everything):
        size = sum(entry.bytes[kind] for kind in MADE_AGAIN)
        if size and total > most:
            found.append(entry)
            total -= size
    return found
