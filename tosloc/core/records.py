"""The nouns of TosLoc: small immutable records, checked when they are built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Final, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

IntArray: TypeAlias = npt.NDArray[np.int32]
LongArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
Float32Array: TypeAlias = npt.NDArray[np.float32]
Float16Array: TypeAlias = npt.NDArray[np.float16]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

T = TypeVar("T")

VALID_TIMES: Final = range(-62_135_596_800, 253_402_214_400)
"""Seconds since 1970 that a date can have, of the years 1 to 9999."""

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called as ``progress(what, done, total)`` by long work; total 0 means that it is not known."""


def ignore_progress(what: str, done: int, total: int) -> None:
    """Ignore progress: the default of every function that reports it."""


def track(items: Sequence[T], what: str, progress: Progress) -> Iterator[T]:
    """The items one after the other, with progress."""
    for number, item in enumerate(items):
        progress(what, number, len(items))
        yield item
    progress(what, len(items), len(items))


@dataclass(frozen=True, slots=True)
class BugReport:
    """All that is known of a bug when it is reported; nothing of its fix. Raises ValueError when ``opened`` carries no
    time zone.
    """

    id: str
    summary: str
    description: str
    opened: (
        datetime | None
    )  # None where the report does not say: whoever asks it of a version decides

    def __post_init__(self) -> None:
        if self.opened is not None and self.opened.tzinfo is None:
            raise ValueError(f"report {self.id}: the opening time needs a time zone")

    @property
    def opened_seconds(self) -> float:
        """Opening time in seconds since 1970, UTC. Raises ValueError when it is not known."""
        if self.opened is None:
            raise ValueError(f"report {self.id}: its opening time is not known; state one")
        return self.opened.timestamp()


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled bug: a report, the commit that fixed it and the files it changed. Only experiments hold it."""

    report: BugReport
    fix_commit: str  # full id of the fixing commit; "" where the data names the version alone
    version: (
        str  # full id of the before-fix version: the fix's first parent, unless the data names it
    )
    fixed_at: int  # committer time of the fix, seconds since 1970, UTC; of the version where the fix is not known
    listed: tuple[str, ...]  # source files that the data lists as fixed, sorted
    fixed: tuple[str, ...]  # those of listed that exist in version: the ground truth


@dataclass(frozen=True, slots=True)
class ReportAttributes:
    """What kind of report it is, for strata of results. Never seen by a ranker."""

    description: bool
    stack_trace: bool
    named: int  # how many of its fixed files' classes its text names ("already localized" if any; Kochhar et al. 2014)


@dataclass(slots=True)
class StringTable:
    """Numbers strings in order of first appearance, so that versions can be arrays of numbers."""

    names: list[str] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)

    def id(self, name: str) -> int:
        """Number of ``name``, given now if it has none."""
        if name not in self.ids:
            self.ids[name] = len(self.names)
            self.names.append(name)
        return self.ids[name]

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One version: its source files as numbers into tables that many versions share. Files are in path order."""

    commit: str
    committed_at: int  # committer time, seconds since 1970, UTC
    path_names: StringTable
    blob_names: StringTable
    path_ids: (
        IntArray  # (F,) number of each file's path in path_names, in path order (git's: by bytes)
    )
    blob_ids: IntArray  # (F,) number of each file's blob in blob_names

    def path(self, file: int) -> str:
        """The path of one file; ``paths`` makes those of all."""
        return self.path_names.names[int(self.path_ids[file])]

    def blob(self, file: int) -> str:
        """The blob id of one file; ``blobs`` makes those of all."""
        return self.blob_names.names[int(self.blob_ids[file])]

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """(F,) paths, in path order."""
        return tuple(map(self.path_names.names.__getitem__, self.path_ids.tolist()))

    @cached_property
    def blobs(self) -> tuple[str, ...]:
        """(F,) blob ids (hex), in path order."""
        return tuple(map(self.blob_names.names.__getitem__, self.blob_ids.tolist()))

    def __len__(self) -> int:
        return len(self.path_ids)

    @classmethod
    def of(
        cls, commit: str, committed_at: int, files: Mapping[str, str], numbered: Sequence[str] = ()
    ) -> Self:
        """Version from path -> blob id (hex); paths that are ``numbered`` have these numbers, others the next ones."""
        paths, blobs = (
            StringTable(list(numbered), {path: number for number, path in enumerate(numbered)}),
            StringTable(),
        )
        ordered = sorted(files, key=lambda path: path.encode("utf-8", "surrogateescape"))
        path_ids = np.array([paths.id(path) for path in ordered], dtype=np.int32)
        blob_ids = np.array([blobs.id(files[path]) for path in ordered], dtype=np.int32)
        return cls(commit, committed_at, paths, blobs, path_ids, blob_ids)


def first_path_by_blob(snapshots: Iterable[Snapshot]) -> dict[str, str]:
    """Blob id -> the path at which it stands first, of every file of the versions; a blob of many stands there once.

    >>> first_path_by_blob([Snapshot.of("v", 0, {"a.py": "12", "b.py": "12"}), Snapshot.of("w", 0, {"a.py": "34"})])
    {'12': 'a.py', '34': 'a.py'}
    """
    found: dict[str, str] = {}
    for snapshot in snapshots:
        for place in np.unique(snapshot.blob_ids, return_index=True)[1].tolist():
            found.setdefault(snapshot.blob(place), snapshot.path(place))
    return found


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that speaks for a file, in words that people can check."""

    kind: str  # what sort of thing: see docs/formats.md
    text: str
    commit: str | None = None  # full id of the commit that it speaks of
    issue: str | None = (
        None  # the issue that the commit names, as it is written there: #123, JDK-8001234
    )
    lines: tuple[int, int] | None = None
    """First and last line of the file that it speaks of, from 1; those of a stack frame are the report's."""
    url: str | None = None  # where it can be read


@dataclass(frozen=True, slots=True)
class Function:
    """A function or class of a file, scored for a report."""

    name: str  # qualified within its file: Class.method
    start: int  # first line in the searched version, from 1
    end: int  # last line, included
    score: float


class RoutineNote(str):
    """A note that needs no action from the reader and does not change what the answer means."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of a file that shows why the file is listed."""

    line: int
    """Its number, from 1."""
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One place of a ranking."""

    rank: int
    path: str
    score: float
    share: float  # how sure the answer is, from 0 to 1; see tosloc.rank.calibration
    functions: tuple[Function, ...] = ()
    why: tuple[Reason, ...] = ()
    code: tuple[CodeLine, ...] = ()
    """Lines that say most about the report, of the first files."""


@dataclass(frozen=True, slots=True)
class EarlierChange:
    """A fixed report or a commit of the project that speaks like the report."""

    commit: str
    date: str  # of the commit, in UTC: 2021-05-21
    issue: str | None  # the report that it fixed or names, where one is known
    title: str  # first line of the commit's message; empty where that cannot be read
    files: tuple[str, ...]  # source files that it changed
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Person:
    """Who changed a file, and when last."""

    name: str
    date: str


@dataclass(frozen=True, slots=True)
class Background:
    """What a project's past says beside an answer; of people, owners and tests that of its first file."""

    earlier: tuple[EarlierChange, ...] = ()  # those nearest to the report first
    people: tuple[Person, ...] = ()  # who changed the first file last
    owners: tuple[str, ...] = ()  # whom CODEOWNERS names for it
    tests: tuple[str, ...] = ()  # tests that are named like it, then those that changed with it


@dataclass(frozen=True, eq=False)
class Ranking:
    """Every file of one version once, most suspicious first; ties by path."""

    report: str
    paths: tuple[str, ...]
    scores: FloatArray  # (F,) scores, never increasing

    def __post_init__(self) -> None:
        if len(self.paths) != len(self.scores):
            raise ValueError(
                f"report {self.report}: {len(self.paths)} paths but {len(self.scores)} scores"
            )
        if not np.isfinite(self.scores).all():
            raise ValueError(f"report {self.report}: a score is not a number")
        if (np.diff(self.scores) > 0).any():
            raise ValueError(f"report {self.report}: scores increase down the ranking")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ranking):
            return NotImplemented
        same = (self.report, self.paths) == (other.report, other.paths)
        return same and bool(np.array_equal(self.scores, other.scores))

    __hash__ = None  # type: ignore[assignment]  # holds an array

    def __len__(self) -> int:
        return len(self.paths)

    @classmethod
    def from_scores(cls, report: str, paths: Sequence[str], scores: npt.ArrayLike) -> Self:
        """Ranking of ``paths``, which stand in path order, by ``scores`` descending; equal scores keep path order."""
        values = np.asarray(scores, dtype=np.float64)
        order = np.argsort(-values, kind="stable")
        return cls(report, tuple(map(paths.__getitem__, order.tolist())), values[order])
