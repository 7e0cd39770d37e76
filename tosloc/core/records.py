"""Immutable records that every package shares: reports, versions, rankings, answers."""

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
"""Seconds since 1970 for which there is a date, of the years 1 to 9999."""

Progress: TypeAlias = Callable[[str, int, int], None]
"""Callback of long work: ``progress(what, done, total)``; total 0 means that it is not known.

With the total ``ANNOUNCEMENT``, ``what`` is a sentence about finished work (see ``announce``)."""
ANNOUNCEMENT: Final = -1
"""Total of a call that announces a sentence."""


def ignore_progress(what: str, done: int, total: int) -> None:
    """Ignore progress: the default of every function that reports it."""


def announce(progress: Progress, sentence: str) -> None:
    """Report a sentence about finished work, which is printed on a line of its own."""
    progress(sentence, 0, ANNOUNCEMENT)


def track(items: Sequence[T], what: str, progress: Progress) -> Iterator[T]:
    """Yield items one after the other and report progress."""
    for number, item in enumerate(items):
        progress(what, number, len(items))
        yield item
    progress(what, len(items), len(items))


@dataclass(frozen=True, slots=True)
class BugReport:
    """All that is known of a bug when it is reported; nothing of its fix.

    Raises ValueError if ``opened`` has no time zone.
    """

    id: str
    """Number or name of the report in its tracker."""
    summary: str
    """The title, one line."""
    description: str
    """The text below the title; may be empty."""
    opened: datetime | None
    """Time of opening; None if the report has none, then the caller decides on one."""
    notes: tuple[str, ...] = ()
    """Sentences for the user about how the report was read; no ranker sees them."""

    def __post_init__(self) -> None:
        if self.opened is not None and self.opened.tzinfo is None:
            raise ValueError(f"report {self.id}: the opening time needs a time zone")

    @property
    def opened_seconds(self) -> float:
        """Time of opening in seconds since 1970, UTC. Raises ValueError if it is not known."""
        if self.opened is None:
            raise ValueError(f"report {self.id}: its opening time is unknown; add one")
        return self.opened.timestamp()


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled bug report, with the commit that fixed it and the files that the fix changed.

    Only training, evaluation and the laboratory use cases.
    """

    report: BugReport
    """The report, which is all that a ranker sees of the case."""
    fix_commit: str
    """Full id of the fixing commit; "" if the data names only the version."""
    version: str
    """Full id of the before-fix version: the fix's first parent, unless the data names another."""
    fixed_at: int
    """Committer time of the fix (of the version if the fix is not known): seconds since 1970."""
    listed: tuple[str, ...]
    """Source files that the data lists as fixed, sorted."""
    fixed: tuple[str, ...]
    """The listed files that exist in the version: the ground truth."""


@dataclass(frozen=True, slots=True)
class ReportAttributes:
    """Properties of a report that results are broken down by. A ranker never sees them."""

    description: bool
    stack_trace: bool
    named: int
    """Number of fixed files whose class the text mentions.

    A report with any is "already localized" (Kochhar et al. 2014).
    """


@dataclass(slots=True)
class StringTable:
    """Strings numbered in order of first appearance, so that versions can be arrays of numbers."""

    names: list[str] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=dict)

    def id(self, name: str) -> int:
        """Return the number of ``name``; a new name gets the next number."""
        if name not in self.ids:
            self.ids[name] = len(self.names)
            self.names.append(name)
        return self.ids[name]

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The F source files of one version, in path order.

    Paths and blobs are numbers into tables that many versions share.
    """

    commit: str
    """Full id of the commit."""
    committed_at: int
    """Committer time: seconds since 1970, UTC."""
    path_names: StringTable
    """The paths that ``path_ids`` number."""
    blob_names: StringTable
    """The blob ids (hex) that ``blob_ids`` number."""
    path_ids: IntArray
    """(F,) number of each file's path in ``path_names``, in path order (git's, by bytes)."""
    blob_ids: IntArray
    """(F,) number of each file's blob in ``blob_names``."""

    def path(self, file: int) -> str:
        """Return the path of one file, without making those of all as ``paths`` does."""
        return self.path_names.names[int(self.path_ids[file])]

    def blob(self, file: int) -> str:
        """Return the blob id of one file, without making those of all as ``blobs`` does."""
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
        """Return the version of a commit that contains ``files``: path -> blob id (hex).

        The paths in ``numbered`` have their positions there as numbers; other paths are numbered
        after them.
        """
        ids = {path: number for number, path in enumerate(numbered)}
        path_names = StringTable(list(numbered), ids)
        blob_names = StringTable()
        paths = sorted(files, key=lambda path: path.encode("utf-8", "surrogateescape"))
        path_ids = np.array([path_names.id(path) for path in paths], dtype=np.int32)
        blob_ids = np.array([blob_names.id(files[path]) for path in paths], dtype=np.int32)
        return cls(commit, committed_at, path_names, blob_names, path_ids, blob_ids)


def first_path_by_blob(snapshots: Iterable[Snapshot]) -> dict[str, str]:
    """Return each blob id of some versions with the first path at which it is found.

    >>> versions = [
    ...     Snapshot.of("v", 0, {"a.py": "12", "b.py": "12"}),
    ...     Snapshot.of("w", 0, {"a.py": "34"}),
    ... ]
    >>> first_path_by_blob(versions)
    {'12': 'a.py', '34': 'a.py'}
    """
    path_by_blob: dict[str, str] = {}
    for snapshot in snapshots:
        _, first_files = np.unique(snapshot.blob_ids, return_index=True)
        for file in first_files.tolist():
            path_by_blob.setdefault(snapshot.blob(file), snapshot.path(file))
    return path_by_blob


@dataclass(frozen=True, slots=True)
class Reason:
    """One piece of evidence for a file, in words that people can check."""

    kind: str
    """Kind of evidence, see docs/formats.md."""
    text: str
    """The evidence in words."""
    commit: str | None = None
    """Full id of the commit that is the evidence."""
    issue: str | None = None
    """Issue that the commit names, as written there: #123, JDK-8001234."""
    lines: tuple[int, int] | None = None
    """First and last line of the file that are the evidence, from 1.

    The line of a stack frame is that of the report.
    """
    url: str | None = None
    """Address of the evidence on the web."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function or class of a file, scored for a report."""

    name: str
    """Name, qualified within its file: ``Class.method``."""
    start: int
    """First line in the searched version, from 1."""
    end: int
    """Last line, included."""
    score: float
    """Score, comparable among the functions of one answer."""


class RoutineNote(str):
    """A note that needs no action from the reader and does not change what the answer means."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of a file that shows why the file is listed."""

    line: int
    """Its number, from 1."""
    text: str
    """The line as it is in the file."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One file of an answer, with its rank and the evidence for it."""

    rank: int
    """Rank among the files that could be listed, from 1."""
    path: str
    """Path from the root of the repository."""
    score: float
    """Score of the file; only differences between files of one answer have a meaning."""
    share: float
    """Confidence from 0 to 1 that the file contains the bug; see tosloc.rank.calibration."""
    functions: tuple[Function, ...] = ()
    """The most suspicious functions of the file, most suspicious first."""
    why: tuple[Reason, ...] = ()
    """Why the file is listed, the strongest reason first."""
    code: tuple[CodeLine, ...] = ()
    """Lines that say most about the report; only the first files have them."""


@dataclass(frozen=True, slots=True)
class EarlierChange:
    """A past change of the project that is about the report, or about something similar."""

    commit: str
    """Full id."""
    date: str
    """Date of the commit, in UTC: ``2021-05-21``."""
    issue: str | None
    """Report that the change fixed or names, if one is known."""
    title: str
    """First line of the commit's message; empty if that cannot be read."""
    files: tuple[str, ...]
    """Source files that the commit changed."""
    url: str | None = None
    """Address of the commit on the web."""


@dataclass(frozen=True, slots=True)
class SuspectChange:
    """A past commit that may have introduced the fault."""

    commit: str
    """Full id."""
    committed: datetime
    """Committer time, in UTC."""
    subject: str
    """First line of the commit's message; empty if that cannot be read."""
    path: str
    """File of the answer that the commit changed, where it stands in the searched version."""
    function: str = ""
    """Qualified name of the function that it changed; empty if it changed none that is listed."""
    reasons: tuple[str, ...] = ()
    """Why it is suspect, in words; the strongest reason first."""
    diff: tuple[str, ...] = ()
    """Up to six lines of the hunk that says most, each with its sign "+", "-" or " "."""
    url: str | None = None
    """Address of the commit on the web."""


@dataclass(frozen=True, slots=True)
class Person:
    """Someone who changed a file, and the date of their last change to it."""

    name: str
    """Name of the author."""
    date: str
    """Date of the last change, in UTC: ``2021-05-21``."""


@dataclass(frozen=True, slots=True)
class Background:
    """What the project's history adds to an answer. All but ``earlier`` is about its first file."""

    earlier: tuple[EarlierChange, ...] = ()
    """Past changes, the most similar first."""
    people: tuple[Person, ...] = ()
    """People who changed the first file last."""
    owners: tuple[str, ...] = ()
    """Owners of the first file by CODEOWNERS."""
    tests: tuple[str, ...] = ()
    """Tests with a name like the first file's, then those that changed together with it."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """Every file of one version once, most suspicious first; ties by path.

    Raises ValueError unless paths and scores match, and scores are finite and never increase.
    """

    report: str
    """Id of the report."""
    paths: tuple[str, ...]
    """(F,) paths, most suspicious first."""
    scores: FloatArray
    """(F,) scores, never increasing."""

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
        return (
            self.report == other.report
            and self.paths == other.paths
            and bool(np.array_equal(self.scores, other.scores))
        )

    __hash__ = None  # type: ignore[assignment]  # an array has no hash

    def __len__(self) -> int:
        return len(self.paths)

    @classmethod
    def from_scores(cls, report: str, paths: Sequence[str], scores: npt.ArrayLike) -> Self:
        """Return the ranking of files in path order by their scores, highest first.

        Equal scores keep path order.
        """
        values = np.asarray(scores, dtype=np.float64)
        order = np.argsort(-values, kind="stable")
        return cls(report, tuple(map(paths.__getitem__, order.tolist())), values[order])
