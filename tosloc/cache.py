"""Keeping house in the user's cache: what is damaged, what to remove, and the room that free pages take.

Where things lie and who uses them is in ``tosloc.index.user_cache``; nothing here touches a store that lies elsewhere.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from tosloc.analysis.fact_table import FactTable
from tosloc.analysis.store import FactStore, present_analysers
from tosloc.data.report_file import LARGEST_FILE
from tosloc.errors import CheckpointError, ConfigError, StoreError, ToslocError, counted
from tosloc.files import parse_json, read_plain
from tosloc.index.prepared import PreparedVersion
from tosloc.index.user_cache import MADE_AGAIN, PLACE, STORE, Kept, alone, evict, kept_of, kept_repositories
from tosloc.mapped_arrays import read_mapped
from tosloc.records import Progress, silent

_AGE: Final = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) ?([hdwy])", re.IGNORECASE)
_HOURS: Final = {"h": 1, "d": 24, "w": 7 * 24, "y": 365 * 24}
_AGAIN: Final = "the next command that asks for them makes them again"
_IN_USE: Final = "a process uses it, so it stays"
_VACUUM_SECONDS: Final = 120.0
"""How long a vacuum waits for whoever writes."""


@dataclass(frozen=True, slots=True)
class Removed:
    """What was removed of one repository, or would be."""

    kept: Kept
    what: str
    """Everything, its facts and versions, or rows and versions, in words."""
    bytes: int
    """Room that it made; of rows, without a removal, what they hold is not known: 0."""
    left: str = ""
    """Why nothing was removed: a process uses it, or it is damaged; empty where it was."""

    @property
    def done(self) -> bool:
        """Whether it was removed, or would be."""
        return not self.left


@dataclass(slots=True)
class Findings:
    """What a check found of one repository."""

    kept: Kept
    counted: dict[str, int] = field(default_factory=dict)
    """Kind of content -> how much of it was read: facts, functions and vectors in rows, versions and reports."""
    damaged: list[str] = field(default_factory=list)
    """What is damaged and what becomes of it, a sentence each."""


def age(text: str, what: str) -> timedelta:
    """The time that a text such as 90d names (h, d, w or y); ``what`` it is, for the ConfigError.

    >>> age("90d", "").days, age("1.5h", "").seconds
    (90, 5400)
    """
    found = _AGE.fullmatch(text.strip())
    if not found:
        raise ConfigError(f"{what}: {text!r} is no age; write 36h, 90d, 12w or 1y, say")
    hours = float(found.group(1)) * _HOURS[found.group(2).lower()]
    if hours > 24 * 365 * 1000:
        raise ConfigError(f"{what}: {text!r} is longer ago than there are computers")
    return timedelta(hours=hours)


def chosen(repositories: Sequence[str] = (), older_than: timedelta | None = None, *, gone: bool = False) -> list[Kept]:
    """What is kept of the repositories that are named, all unless some are, of those the unused and the gone ones.

    Raises ToslocError for a name of which nothing is kept, or of several repositories.
    """
    found = kept_repositories()
    if repositories:
        named = {kept.folder for name in repositories for kept in _of_one(name)}
        found = [kept for kept in found if kept.folder in named]
    if older_than is not None:
        before = datetime.now(UTC) - older_than
        found = [kept for kept in found if kept.last_used < before]
    return [kept for kept in found if kept.gone] if gone else found


def _of_one(name: str) -> list[Kept]:
    found = kept_of(name)
    if not found:
        raise ToslocError(f"{name}: nothing is kept of such a repository; see: tosloc cache list")
    if len(found) > 1:
        several = ", ".join(kept.folder.name for kept in found)
        raise ToslocError(f"{name}: several repositories are called so; name one by its path, or as one of {several}")
    return found


# ---- removing


def remove(found: Iterable[Kept], *, dry_run: bool = False) -> list[Removed]:
    """Remove all that is kept of repositories; what a process uses stays."""
    removed = []
    for kept in found:
        size = kept.total
        done = not kept.in_use if dry_run else kept.remove()
        removed.append(Removed(kept, "everything", size if done else 0, "" if done else _IN_USE))
    return removed


def remove_least_used(found: Sequence[Kept], most: int, *, dry_run: bool = False) -> list[Removed]:
    """Remove facts, versions and vectors of the least used until ``most`` bytes are left."""
    return [Removed(kept, ", ".join(MADE_AGAIN), size) for kept, size in evict(found, most, dry_run=dry_run)]


def remove_rows(
    found: Iterable[Kept], *, former_analysers: bool, former_files: bool, dry_run: bool = False
) -> list[Removed]:
    """Remove facts that no question reads any more, and give their room back; what a process uses stays.

    With ``former_analysers`` facts that another version of TosLoc made, and kept versions that this one does not read;
    with ``former_files`` facts of files that stand in none of the versions that are kept ready, where there are any.
    A store that is damaged is passed over.
    """
    removed = []
    for kept in found:
        with alone(kept.folder) as mine:
            if not mine:
                removed.append(Removed(kept, "rows", 0, _IN_USE))
                continue
            before = Kept(kept.folder).total
            former = [path for path, version in _versions(kept) if version is None] if former_analysers else []
            try:
                rows = _remove_rows(kept, former_analysers, former_files, dry_run)
            except StoreError as error:
                removed.append(Removed(kept, "rows", 0, str(error)))
                continue
            room = sum(path.stat().st_size for path in former)
            if not dry_run:
                for path in former:
                    path.unlink()
                room = before - Kept(kept.folder).total
            parts = [_counted(rows, "row"), _counted(len(former), "version")]
            if rows or former:
                removed.append(Removed(kept, " and ".join(filter(None, parts)), max(0, room)))
    return removed


def _remove_rows(kept: Kept, former_analysers: bool, former_files: bool, dry_run: bool) -> int:
    path = kept.folder / STORE
    if not path.exists():
        return 0
    rows = 0
    with FactStore(path) as store:
        if former_analysers:
            rows += store.remove_former(dry_run=dry_run)
        wanted = {blob for _, version in _versions(kept) if version for blob in version.snapshot.blobs}
        if former_files and wanted:
            rows += store.remove_other_blobs(wanted, dry_run=dry_run)
    if rows and not dry_run:
        _vacuum(path)
    return rows


def _versions(kept: Kept) -> Iterator[tuple[Path, PreparedVersion | None]]:
    """Files of kept versions, each with its version; None for one that is read no more: damaged, or a former one's."""
    for path in sorted((kept.folder / "facts.versions").glob("*.arrays")):
        try:
            record, arrays = read_mapped(path)
            if any(analyser not in present_analysers(language) for language, analyser in record["analysers"].items()):
                raise ValueError("another analyser's")
            yield path, PreparedVersion.from_arrays(record["commit"], record["committed_at"], arrays, _no_facts)
        except (CheckpointError, KeyError, ValueError, TypeError, AttributeError):
            yield path, None


def _no_facts(blobs: Sequence[str]) -> FactTable:
    raise StoreError("facts are not asked here")


# ---- looking for damage


def check(found: Sequence[Kept], progress: Progress = silent) -> list[Findings]:
    """Read all that is kept of repositories, and compare it with its checksums."""
    findings = []
    for number, kept in enumerate(found):
        progress("checking", number, len(found))
        findings.append(_check(kept))
    progress("checking", len(found), len(found))
    return findings


def _check(kept: Kept) -> Findings:
    found = Findings(kept)
    _check_place(found)
    _check_facts(found)
    _check_versions(found)
    _check_vectors(found)
    _check_reports(found)
    return found


def _check_place(found: Findings) -> None:
    path = found.kept.folder / PLACE
    if path.exists() and found.kept.repository is None:
        found.damaged.append(f"{path}: does not tell where the repository lies; the next command there writes it anew")


def _check_facts(found: Findings) -> None:
    path = found.kept.folder / STORE
    if not path.exists():
        return
    try:
        with FactStore(path) as store:
            audit = store.audit()
    except StoreError as error:
        found.damaged.append(str(error))
        return
    for kind, (rows, damaged) in audit.items():
        found.counted[kind] = rows
        if damaged:
            found.damaged.append(f"{path}: {kind} of {_counted(damaged, 'file')} are damaged; {_AGAIN}")


def _check_versions(found: Findings) -> None:
    paths = sorted((found.kept.folder / "facts.versions").glob("*.arrays"))
    found.counted["versions"] = len(paths)
    for path in paths:
        try:
            record, _ = read_mapped(path)
            if record.get("name") != path.name:
                raise CheckpointError("another version's content")
        except CheckpointError:
            found.damaged.append(f"{path}: is damaged; the next question of that version makes it again")


def _check_vectors(found: Findings) -> None:
    path = found.kept.folder / "facts.vectors.sqlite"
    if not path.exists():
        return
    from tosloc.reranking.encoder.vectors import VectorStore

    try:
        found.counted["vectors"] = VectorStore(path).count()
    except StoreError as error:
        found.damaged.append(str(error))


def _check_reports(found: Findings) -> None:
    path = found.kept.folder / "reports.jsonl"
    if not path.exists():
        return
    number = 0
    try:
        for line in read_plain(path, LARGEST_FILE).splitlines():
            number += 1
            parse_json(line)
    except (OSError, ValueError):
        found.damaged.append(f"{path}: line {number} is no report; run tosloc mine again")
    found.counted["reports"] = number


# ---- room


def vacuum(found: Sequence[Kept], progress: Progress = silent) -> list[tuple[Kept, int]]:
    """Give back the room of free pages of all databases; each repository with the bytes that it made.

    Other processes may read meanwhile, and those that write wait. A database that something reads all the while
    shrinks when the next command closes it. Raises StoreError where one is damaged, is kept by a writer for too long,
    or where the disk has no room for the copy that is made on the way.
    """
    made = []
    for number, kept in enumerate(found):
        progress("vacuuming", number, len(found))
        before = Kept(kept.folder).total
        for name in (STORE, "facts.vectors.sqlite"):
            if (kept.folder / name).exists():
                _vacuum(kept.folder / name)
        made.append((kept, max(0, before - Kept(kept.folder).total)))
    progress("vacuuming", len(found), len(found))
    return made


def _vacuum(path: Path) -> None:
    try:
        with closing(sqlite3.connect(path, timeout=_VACUUM_SECONDS, isolation_level=None)) as database:
            database.execute("VACUUM")
            database.execute("PRAGMA busy_timeout = 0")  # to wait here for a reader would keep writers waiting, too
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        if "full" in str(error):
            advice = "make room for a copy of it and run it again"
        elif "locked" in str(error):
            advice = "another process writes to it; wait for it to end"
        else:
            advice = "see: tosloc cache check"
        raise StoreError(f"{path}: cannot be vacuumed ({error}); {advice}") from error


def _counted(number: int, what: str) -> str:
    """A number of things in words, nothing for none."""
    return counted(number, what) if number else ""
