"""What a published technique may look at: the files of one version, and of the past what was known at the opening.

A technique is given a ``BaselineQuery`` and answers with a score for every file. It cannot see a fix that came later,
nor the report's own: ``FixHistory.before`` has cut the past before it gets there (docs/method.md, section B.1.1).

Shapes: B blobs on the files, F files of a version, N paths of the repository, R labelled reports, C commits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import joblib
import numpy as np
from scipy import sparse

from tosloc.analysis.languages import language_of
from tosloc.analysis.parsed_source import ParsedSource, parse_source
from tosloc.data.git import Repository, decode
from tosloc.data.history import History
from tosloc.index.paths import PathTable, PathView
from tosloc.lab.baselines.settings import Settings
from tosloc.lab.baselines.vsm import Counts, count, widened
from tosloc.records import (
    BoolArray,
    BugReport,
    Case,
    FloatArray,
    IntArray,
    LongArray,
    Progress,
    Ranking,
    Snapshot,
    first_paths,
    silent,
)

Cutoff: TypeAlias = Literal["fix_before_open", "fix_order"]
"""Which earlier fixes count: those before the report was opened, or (as public code has it) before its own fix."""
PARCEL = 256
"""Blobs that are read from git and parsed together."""


class ParsedFiles:
    """The sources of every blob of some versions."""

    def __init__(self, sources: Sequence[ParsedSource], row_of_blob: Mapping[str, int]) -> None:
        self.sources, self.row_of_blob = sources, row_of_blob
        self._counts: dict[str, Counts] = {}

    def __len__(self) -> int:
        return len(self.sources)

    @classmethod
    def of(
        cls, repo: Repository, snapshots: Iterable[Snapshot], jobs: int = 1, progress: Progress = silent
    ) -> ParsedFiles:
        """Read every blob of the versions once; one that the repository lacks is left out."""
        suffixes = {
            blob: "." + path.rpartition("/")[2].rpartition(".")[2].lower()
            for blob, path in first_paths(snapshots).items()
        }
        wanted = list(suffixes)
        parcels = (wanted[start : start + PARCEL] for start in range(0, len(wanted), PARCEL))
        calls = (
            joblib.delayed(_read)(
                [(blob, suffixes[blob], decode(data)) for blob, data in repo.texts(parcel) if data is not None]
            )
            for parcel in parcels
        )
        sources: list[ParsedSource] = []
        rows: dict[str, int] = {}
        workers = joblib.Parallel(n_jobs=jobs, return_as="generator", pre_dispatch="2*n_jobs")
        for done in workers(calls):
            for blob, source in done:
                rows[blob] = len(sources)
                sources.append(source)
            progress("reading files", len(sources), len(wanted))
        return cls(sources, rows)

    def rows_by_blob(self, wanted: BoolArray) -> list[int]:
        """The rows that are ``wanted`` (B,), by blob id: an order that does not hang on what was read first."""
        return [row for _, row in sorted(self.row_of_blob.items()) if wanted[row]]

    def counts(self, name: str, terms: Callable[[ParsedSource], Sequence[str]]) -> Counts:
        """Term counts of all blobs by one way of cutting words, which ``name`` tells apart; made once."""
        if name not in self._counts:
            self._counts[name] = count(terms(source) for source in self.sources)
        return self._counts[name]

    def fields(self, name: str, terms: Mapping[str, Callable[[ParsedSource], Sequence[str]]]) -> dict[str, Counts]:
        """The same for several fields, which share their vocabulary; every matrix has all of its columns."""
        keys = {each: f"{name}.{each}" for each in terms}
        if any(key not in self._counts for key in keys.values()):
            numbers: dict[str, int] = {}
            made = {each: count((cut(one) for one in self.sources), numbers) for each, cut in terms.items()}
            for each, counts in made.items():
                self._counts[keys[each]] = widened(counts, numbers)
        return {each: self._counts[key] for each, key in keys.items()}


def _read(parcel: Sequence[tuple[str, str, str]]) -> list[tuple[str, ParsedSource]]:
    return [(blob, parse_source(text, language_of(suffix))) for blob, suffix, text in parcel]


class ParsedVersion:
    """One version of the files's files."""

    def __init__(self, files: ParsedFiles, snapshot: Snapshot, table: PathTable) -> None:
        self.files, self.snapshot = files, snapshot
        self.rows: IntArray = np.array([files.row_of_blob.get(blob, -1) for blob in snapshot.blobs], dtype=np.int32)
        """(F,) row of each file on the files, -1 where the blob could not be read."""
        self.multiplicity: LongArray = np.bincount(self.rows[self.rows >= 0], minlength=len(files)).astype(np.int64)
        """(B,) in how many files of the version each blob stands."""
        self.paths = PathView(table, snapshot.path_ids)
        self.spaces: dict[int, Any] = {}
        """What techniques keep for the next report on the same version."""

    def __len__(self) -> int:
        return len(self.rows)

    def to_files(self, of_rows: FloatArray) -> FloatArray:
        """(F,) values of files from (B,) values of blobs; 0 where the blob could not be read."""
        if not len(of_rows):
            return np.zeros(len(self))
        values: FloatArray = np.where(self.rows >= 0, of_rows[np.maximum(self.rows, 0)], 0.0)
        return values

    def from_paths(self, of_paths: FloatArray) -> FloatArray:
        """(F,) values of files from (N,) values of all paths."""
        values: FloatArray = of_paths[self.snapshot.path_ids]
        return values

    @cached_property
    def row_of_path(self) -> dict[int, int]:
        """Number of a path -> place of the file in the version."""
        return {path: place for place, path in enumerate(self.snapshot.path_ids.tolist())}

    def source(self, place: int) -> ParsedSource | None:
        """What stands in the file at a place of the version; None if it could not be read."""
        row = int(self.rows[place])
        return None if row < 0 else self.files.sources[row]

    def files_of_class(self, qualified: str) -> list[int]:
        """Places of the files that a qualified class name can mean."""
        return [self.row_of_path[path] for path in self.paths.rows_of_class(qualified)]

    def files_of_package(self, package: str) -> list[int]:
        """Places of the files that declare a package."""
        return self._packages.get(package, [])

    @cached_property
    def _packages(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for place in range(len(self)):
            source = self.source(place)
            if source is not None:
                found.setdefault(source.package, []).append(place)
        return found


class FixHistory:
    """Every labelled report and every commit of a project, with what they changed."""

    def __init__(self, cases: Sequence[Case], history: History, paths: Mapping[str, int], number: int) -> None:
        """``paths`` numbers the repository's paths, of which there are ``number``; cases stand in the fixes' order."""
        self.cases = tuple(cases)
        self.history = history
        self.place = {case.report.id: place for place, case in enumerate(self.cases)}
        self.opened: FloatArray = np.array([case.report.opened_seconds for case in self.cases])
        """(R,) seconds since 1970."""
        self.fixed_at: FloatArray = np.array([case.fixed_at for case in self.cases], dtype=np.float64)
        """(R,) seconds since 1970."""
        self.commits: LongArray = np.array([history.number(case.fix_commit) for case in self.cases], dtype=np.int64)
        self.sizes: FloatArray = np.array([len(case.listed) for case in self.cases], dtype=np.float64)
        """(R,) source files of each fix, those that no longer exist too."""
        columns = [paths[path] for case in self.cases for path in case.listed if path in paths]
        rows = np.array(
            [row for row, case in enumerate(self.cases) for path in case.listed if path in paths], dtype=np.int64
        )
        shape = (len(self.cases), number)
        self.touched = sparse.csr_array((np.ones(len(rows)), (rows, np.array(columns, dtype=np.int64))), shape=shape)
        """(R, N) 1 where a report's fix changed a path."""
        self.touched_by_path = sparse.csr_array(self.touched.T)
        """(N, R) the same by path."""

    def before(self, report: BugReport, version: str, cutoff: Cutoff = "fix_before_open") -> FixHistoryAsOf:
        """What was known when the report was opened, and is contained in the version that is searched.

        ``fix_order`` counts every fix before the report's own, as public code does: a leak, for the upstream profiles
        only; the report has to be a labelled one. Commits are cut at the opening in any case.
        """
        contained = self.history.ancestors(version)
        moment = report.opened_seconds
        limit = moment
        if cutoff == "fix_order":
            limit = float(self.fixed_at[self.place[report.id]])
        fixed = (self.fixed_at < limit) & contained[self.commits]
        own = self.place.get(report.id)
        if own is not None:
            fixed[own] = False
        return FixHistoryAsOf(self, moment, np.flatnonzero(fixed), contained & (self.history.times < moment))


@dataclass(frozen=True, eq=False)
class FixHistoryAsOf:
    """The past as it was known at one moment."""

    fix_history: FixHistory
    moment: float
    """When the report was opened, seconds since 1970."""
    reports: LongArray
    """Places in the fix_history of the reports that were fixed by then, in the order of their fixes."""
    commits: BoolArray
    """(C,) commits of the history that were made by then."""

    @cached_property
    def fixes(self) -> FloatArray:
        """(N,) how often each path was part of a known fix."""
        mask = np.zeros(len(self.fix_history.cases))
        mask[self.reports] = 1.0
        number: FloatArray = np.asarray(self.fix_history.touched_by_path @ mask, dtype=np.float64)
        return number

    @cached_property
    def last_fix(self) -> FloatArray:
        """(N,) time of the last known fix of each path, seconds since 1970; -inf if there is none."""
        latest = np.full(self.fix_history.touched.shape[1], -np.inf)
        touched = self.fix_history.touched
        for place in self.reports[np.argsort(self.fix_history.fixed_at[self.reports], kind="stable")].tolist():
            latest[touched.indices[touched.indptr[place] : touched.indptr[place + 1]]] = self.fix_history.fixed_at[
                place
            ]
        return latest

    def recent_commits(self, days: float) -> list[tuple[float, str, IntArray]]:
        """(age in days, message, touched paths) of known commits of the last days; merges touch nothing."""
        history = self.fix_history.history
        oldest = self.moment - days * 86_400.0
        numbers = np.flatnonzero(self.commits & (history.times >= oldest))
        return [
            ((self.moment - float(history.times[number])) / 86_400.0, history.messages[number], history.files(number))
            for number in numbers.tolist()
        ]


@dataclass(frozen=True, eq=False)
class BaselineQuery:
    """One query: a report, the version that is searched, and what was known."""

    report: BugReport
    version: ParsedVersion
    history: FixHistoryAsOf


@dataclass(eq=False)
class BaselineContext:
    """Everything that techniques share on one project."""

    repo: Repository
    suffixes: frozenset[str]
    fix_history: FixHistory
    files: ParsedFiles
    table: PathTable
    cutoff: Cutoff = "fix_before_open"
    complexities: Mapping[str, int] = field(default_factory=dict)
    """Blob -> sum of the cyclomatic complexity of its functions; filled for techniques that say they need it."""
    _versions: dict[str, ParsedVersion] = field(default_factory=dict, init=False, repr=False)

    def version(self, version: str) -> ParsedVersion:
        """A version; the last one query for is kept."""
        if version not in self._versions:
            self._versions.clear()
            self._versions[version] = ParsedVersion(self.files, self.repo.snapshot(version, self.suffixes), self.table)
        return self._versions[version]

    def asked(self, report: BugReport, version: str) -> BaselineQuery:
        """The query of a report to a version."""
        return BaselineQuery(report, self.version(version), self.fix_history.before(report, version, self.cutoff))


class Baseline(ABC):
    """One published technique on one project. It ranks every file of the version; ties by path."""

    name: ClassVar[str]
    Settings: ClassVar[type[Settings]] = Settings
    upstream_cutoff: ClassVar[Cutoff] = "fix_before_open"
    """Which fixes the public code counts as earlier, for the upstream profile."""
    learned: ClassVar[bool] = False
    """Whether ``fit`` has to be called first."""
    needs_complexity: ClassVar[bool] = False
    """Whether it reads ``BaselineContext.complexities``."""

    def __init__(self, settings: Any, context: BaselineContext, seed: int = 7) -> None:
        self.settings, self.context, self.seed = settings, context, seed

    @classmethod
    def wanted(cls, settings: Any, train: Sequence[Case]) -> Sequence[Case]:
        """The training reports whose versions ``fit`` will ask for: their files will be on the files."""
        return ()

    @abstractmethod
    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) finite scores of the version's files, in path order."""

    def rank(self, report: BugReport, snapshot: Snapshot) -> Ranking:
        """Every file of the version, most suspicious first."""
        query = self.context.asked(report, snapshot.commit)
        return Ranking.from_scores(report.id, snapshot.paths, self.scores(query))

    def left_out(self, query: BaselineQuery) -> int:
        """How many files the published technique would not have ranked; they follow in path order."""
        return 0

    def fit(  # noqa: B027  most techniques have nothing to learn
        self, train: Sequence[Case], validation: Sequence[Case], folder: Path, progress: Progress = silent
    ) -> None:
        """Learn from train, stop by validation; ``folder`` keeps what an interruption leaves."""
