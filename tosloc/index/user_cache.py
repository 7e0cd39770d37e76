"""The user's cache: a folder for each repository, what lies in it, who uses it, and its largest size.

Whoever uses a folder holds a shared lock on it until the process ends (``hold``); whoever removes something of it needs
the lock alone (``alone``). The folder's ``place.json`` tells where the repository lies, and its time the last use.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Final

from tosloc.data.git import Repository
from tosloc.errors import ConfigError
from tosloc.files import parse_json, read_plain, remove_unfinished, remove_whole, write_text

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed
    fcntl = None  # type: ignore[assignment]

STORE: Final = "facts.sqlite"
PLACE: Final = "place.json"
KINDS: Final = {
    "facts": (STORE, f"{STORE}-wal", f"{STORE}-shm"),
    "versions": ("facts.versions",),
    "vectors": ("facts.vectors.sqlite", "facts.vectors.sqlite-wal", "facts.vectors.sqlite-shm"),
    "reports": ("reports.jsonl", "github"),
}
"""What is kept of a repository -> its files and folders, a database before its log: alone the log is worth nothing."""
MADE_AGAIN: Final = ("facts", "versions", "vectors")
"""Kinds that the repository alone suffices to make again; the others are what ``tosloc mine`` has gathered."""
SIZE_VARIABLE: Final = "TOSLOC_CACHE_SIZE"

_DIGEST: Final = re.compile(r"[0-9a-f]{8}")
_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,15})?) ?([kmgt]?)(i?)b?", re.IGNORECASE)
_LARGEST_PLACE: Final = 1 << 20
_MOST_HELD: Final = 128
"""Folders that one process holds at once: those used last."""

_held: dict[Path, int] = {}
"""Folder -> descriptor that has its shared lock, the longest unused first."""
_mutex: Final = Lock()


def cache_folder() -> Path:
    """Where facts are kept by default: $TOSLOC_CACHE, else the user's cache folder."""
    named = os.environ.get("TOSLOC_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tosloc"


def default_store(repo: Repository) -> Path:
    """The facts store of a repository, unless another is named."""
    return cache_folder() / f"{repo.name}-{_digest(repo.path)}" / STORE


def _digest(path: Path) -> str:
    return hashlib.sha256(str(path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:8]


@dataclass(frozen=True)
class Kept:
    """What the cache keeps of one repository, as it was when it was listed."""

    folder: Path

    @property
    def name(self) -> str:
        """The repository's."""
        name, _, digest = self.folder.name.rpartition("-")
        return name if name and _DIGEST.fullmatch(digest) else self.folder.name

    @cached_property
    def repository(self) -> Path | None:
        """Where it lies; None where an earlier TosLoc made the folder and no later one has used it."""
        try:
            path = Path(parse_json(read_plain(self.folder / PLACE, _LARGEST_PLACE))["repository"])
            return path if self.folder.name.endswith(f"-{_digest(path)}") else None
        except (OSError, ValueError, TypeError, KeyError):
            return None

    @property
    def gone(self) -> bool:
        """Whether nothing is there any more where it lay; False where that is not known."""
        return self.repository is not None and not os.path.lexists(self.repository)

    @cached_property
    def bytes(self) -> dict[str, int]:
        """Kind -> bytes of its files; the others are called "other"."""
        known = {name: kind for kind, names in KINDS.items() for name in names} | {PLACE: "other"}
        found = dict.fromkeys((*KINDS, "other"), 0)
        for path in _listed(self.folder):
            found[known.get(path.name, "other")] += _bytes_of(path)
        return found

    @property
    def total(self) -> int:
        """Bytes of all."""
        return sum(self.bytes.values())

    @cached_property
    def last_used(self) -> datetime:
        """When a command or process last began to use it."""
        # of a folder without a note the files tell: the facts, then the versions that were kept
        times = [_time_of(self.folder / PLACE)]
        if not times[0]:
            versions = self.folder / "facts.versions"
            times = [_time_of(path) for path in (self.folder, self.folder / STORE, versions, *_listed(versions))]
        return datetime.fromtimestamp(max(times), UTC)

    @property
    def in_use(self) -> bool:
        """Whether a process holds it."""
        with alone(self.folder) as mine:
            return not mine

    def remove(self, kinds: Sequence[str] = tuple(KINDS)) -> bool:
        """Remove these kinds, the folder with the last of its files; False, and nothing removed, while it is in use.

        Files that are none of TosLoc's stay. A kill on the way leaves what is not yet removed whole.
        """
        with alone(self.folder) as mine:
            if not mine:
                return False
            names = [name for kind in kinds for name in KINDS[kind]]
            left = {path.name for path in _listed(self.folder)} - {*names, PLACE}
            if left:
                remove_whole([path for path in map(self.folder.joinpath, names) if os.path.lexists(path)], self.folder)
            else:
                remove_whole([self.folder], self.folder.parent)
            return True


def kept_repositories() -> list[Kept]:
    """All that the cache holds, last used first. Raises OSError where it cannot be read."""
    folder = cache_folder()
    if not folder.exists():
        return []
    found = [Kept(path) for path in folder.iterdir() if _is_ours(path)]
    return sorted(found, key=lambda kept: (-kept.last_used.timestamp(), kept.folder.name))


def _is_ours(path: Path) -> bool:
    """Whether a folder of the cache is a repository's: called so, not a link, with one of our files in it."""
    if Kept(path).name == path.name or path.is_symlink() or not path.is_dir():
        return False
    return any((path / name).exists() for name in (PLACE, *(name for names in KINDS.values() for name in names)))


def kept_of(text: str) -> list[Kept]:
    """What is kept of the repository that lies at a path, or that is called so, with or without the digest."""
    digest = _digest(Path(text).expanduser().absolute())
    everything = kept_repositories()
    by_place = [kept for kept in everything if kept.folder.name.endswith(f"-{digest}")]
    return by_place or [kept for kept in everything if text in (kept.name, kept.folder.name)]


# ---- who uses what


def hold(repo: Repository, store: Path) -> None:
    """Keep others from removing what the cache holds of a repository, until this process ends, and note its use.

    For stores that lie elsewhere it does nothing. Raises ConfigError for a largest size that is none.
    """
    if store != default_store(repo):
        return
    largest_size()
    folder = store.parent
    with _mutex, suppress(OSError):  # whoever writes there will say what is wrong
        descriptor = _held.pop(folder, None)
        if descriptor is not None and not _is_at(descriptor, folder):
            os.close(descriptor)
            descriptor = None
        if descriptor is None:
            descriptor = _shared(folder)
        if descriptor is not None:
            _held[folder] = descriptor
        while len(_held) > _MOST_HELD:
            os.close(_held.pop(next(iter(_held))))
        folder.chmod(0o700)  # an earlier version let others in
        place = str(repo.path.resolve())
        if Kept(folder).repository != Path(place):
            write_text(folder / PLACE, json.dumps({"repository": place}) + "\n")
        else:
            os.utime(folder / PLACE)


def let_go() -> None:
    """End what ``hold`` began, for a process that uses none of it any more."""
    with _mutex:
        while _held:
            os.close(_held.popitem()[1])


def _shared(folder: Path) -> int | None:
    """A descriptor with the shared lock of a folder, which is made if it is absent; None on Windows."""
    while True:
        folder.parent.mkdir(0o700, parents=True, exist_ok=True)
        folder.mkdir(0o700, exist_ok=True)
        if fcntl is None:
            return None
        try:
            descriptor = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:  # another process has just removed it
            continue
        try:
            with suppress(OSError):  # no locks here, as on some network disks, and so nobody who removes anything
                fcntl.flock(descriptor, fcntl.LOCK_SH)
            if _is_at(descriptor, folder):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


@contextmanager
def alone(folder: Path) -> Iterator[bool]:
    """Whether no process holds a folder, and none will before the block ends: they wait. False for no such folder."""
    if fcntl is None:
        yield folder.is_dir()
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    try:
        mine = False
        with suppress(OSError):  # held; or there are no locks, as on some network disks
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mine = _is_at(descriptor, folder)
        yield mine
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


# ---- the largest size


def largest_size() -> int | None:
    """Bytes that the cache may take, by $TOSLOC_CACHE_SIZE; None without. Raises ConfigError for what is no size."""
    named = os.environ.get(SIZE_VARIABLE, "").strip()
    return None if not named else bytes_of_size(named, f"${SIZE_VARIABLE}")


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

    For whoever has written to the store of a repository; for one that lies elsewhere it does nothing.
    """
    most = largest_size()
    if most is not None and store == default_store(repo):
        with suppress(OSError):
            evict(kept_repositories(), most)


def evict(everything: Sequence[Kept], most: int, *, dry_run: bool = False) -> list[tuple[Kept, int]]:
    """Remove what can be made again of the least used repositories until ``most`` bytes are left; each with its bytes.

    What a process holds stays, and so does what ``tosloc mine`` has gathered. If another process is at it, nothing is
    removed. ``everything`` is last used first.
    """
    folder = cache_folder().resolve()  # which may be a link to a larger disk
    evicted: list[tuple[Kept, int]] = []
    with alone(folder) as mine:
        if not mine:
            return evicted
        total = sum(kept.total for kept in everything)
        for kept in reversed(everything):
            if total <= most:
                break
            size = sum(kept.bytes[kind] for kind in MADE_AGAIN)
            if size and (not kept.in_use if dry_run else kept.remove(MADE_AGAIN)):
                evicted.append((kept, size))
                total -= size
    return evicted


def remove_leftovers() -> None:
    """Remove what killed processes had begun to write or to remove."""
    folder = cache_folder()
    for path in (folder, *(kept.folder for kept in kept_repositories())):
        remove_unfinished(path)
        remove_unfinished(path / "facts.versions")


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _bytes_of(path: Path) -> int:
    """Of a file, or of all in a folder; links count for nothing."""
    try:
        if path.is_symlink():
            return 0
        return sum(map(_bytes_of, path.iterdir())) if path.is_dir() else path.stat().st_size
    except OSError:  # just removed
        return 0


def _time_of(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
