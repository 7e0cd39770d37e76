"""What a published technique may look at: a version's files, and the fixes known at a report's opening.

A technique is given a ``BaselineQuery`` and answers with a score for every file. It cannot see a fix that came later,
nor the report's own: ``BaselineQuery.of`` has left them out (docs/method.md, section B.1.1).

Shapes: B blobs of all versions, F files of a version, N paths of the repository, R labelled reports, C commits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import PurePosixPath
from typing import Any, ClassVar, Final

import joblib
import numpy as np
from scipy import sparse

from tosloc.code.languages import language_name
from tosloc.core.errors import ToslocError
from tosloc.core.processes import run_in_parallel
from tosloc.core.records import (
    BoolArray,
    BugReport,
    Case,
    FloatArray,
    IntArray,
    LongArray,
    Progress,
    Ranking,
    Snapshot,
    first_path_by_blob,
    ignore_progress,
)
from tosloc.git.history import History
from tosloc.git.repository import Repository, decode_text
from tosloc.lab.baselines.texts import ParsedSource, parse_source
from tosloc.lab.baselines.vsm import Counts, count
from tosloc.retrieval.paths import PathTable, PathView

_BATCH: Final = 256


class ParsedFiles:
    """The parsed source of every blob of some versions."""

    def __init__(self, sources: Sequence[ParsedSource], row_by_blob: Mapping[str, int]) -> None:
        self.sources, self.row_by_blob = sources, row_by_blob
        self._counts: dict[Callable[[ParsedSource], Sequence[str]], Counts] = {}

    def __len__(self) -> int:
        return len(self.sources)

    @classmethod
    def of(
        cls,
        repo: Repository,
        snapshots: Iterable[Snapshot],
        jobs: int = 1,
        progress: Progress = ignore_progress,
        *,
        complexity: bool = False,
    ) -> ParsedFiles:
        """Read every blob of the versions once; one that the repository lacks is left out."""
        language = {
            blob: language_name(PurePosixPath(path).suffix)
            for blob, path in first_path_by_blob(snapshots).items()
        }
        blobs, row_by_blob, sources = list(language), dict[str, int](), list[ParsedSource]()

        def texts(start: int) -> list[tuple[str, str, str]]:
            found = repo.texts(blobs[start : start + _BATCH])
            return [
                (blob, decode_text(data), language[blob])
                for blob, data in found
                if data is not None
            ]

        calls = (
            joblib.delayed(_parse)(texts(start), complexity)
            for start in range(0, len(blobs), _BATCH)
        )
        with run_in_parallel(calls, jobs, ordered=True) as results:
            for blob, source in chain.from_iterable(results):
                row_by_blob[blob] = len(sources)
                sources.append(source)
                progress("reading files", len(sources), len(blobs))
        return cls(sources, row_by_blob)

    def rows_by_blob(self, chosen: BoolArray) -> list[int]:
        """The rows that are ``chosen`` (B,), sorted by blob id: an order that does not depend on that of reading."""
        return [row for _, row in sorted(self.row_by_blob.items()) if chosen[row]]

    def counts(self, terms: Callable[[ParsedSource], Sequence[str]]) -> Counts:
        """Term counts of all blobs, made once for each function that cuts a file into terms."""
        if terms not in self._counts:
            self._counts[terms] = count(map(terms, self.sources))
        return self._counts[terms]


def _parse(
    batch: Sequence[tuple[str, str, str]], complexity: bool
) -> list[tuple[str, ParsedSource]]:
    return [(blob, parse_source(text, language, complexity)) for blob, text, language in batch]


class ParsedVersion:
    """One version with the parsed sources of its files. A file is named by its position in path order."""

    def __init__(self, files: ParsedFiles, snapshot: Snapshot, table: PathTable) -> None:
        self.files, self.snapshot = files, snapshot
        self.rows: IntArray = np.array(
            [files.row_by_blob.get(blob, -1) for blob in snapshot.blobs], dtype=np.int32
        )
        """(F,) row of each file in ``files``, -1 where the blob could not be read."""
        self.multiplicity: LongArray = np.bincount(
            self.rows[self.rows >= 0], minlength=len(files)
        ).astype(np.int64)
        """(B,) how many files of the version hold each blob."""
        self.paths = PathView(table, snapshot.path_ids)
        self.position_of_path = {
            path: position for position, path in enumerate(snapshot.path_ids.tolist())
        }
        """Number of a path -> position of the file."""

    def __len__(self) -> int:
        return len(self.rows)

    def to_files(self, of_blobs: FloatArray) -> FloatArray:
        """(F,) values of files from (B,) values of blobs; 0 where the blob could not be read."""
        return np.append(of_blobs, 0.0)[self.rows]

    def from_paths(self, of_paths: FloatArray) -> FloatArray:
        """(F,) values of files from (N,) values of all paths."""
        return of_paths[self.snapshot.path_ids]

    def source(self, position: int) -> ParsedSource | None:
        """The parsed source of a file; None if it could not be read."""
        row = int(self.rows[position])
        return None if row < 0 else self.files.sources[row]

    def positions(self, paths: Iterable[int]) -> list[int]:
        """Positions of files by the numbers of their paths."""
        return [self.position_of_path[path] for path in paths]

    def files_of_class(self, qualified: str) -> list[int]:
        """Positions of the files that a qualified class name can mean."""
        return self.positions(self.paths.find_by_class(qualified))


class FixHistory:
    """Every labelled report and every commit of a project, with what they changed."""

    def __init__(
        self, cases: Sequence[Case], history: History, path_ids: Mapping[str, int]
    ) -> None:
        """``path_ids`` numbers the repository's paths; cases stand in the order of their fixes."""
        self.cases, self.history = tuple(cases), history
        for case in self.cases:
            if not case.fix_commit:
                why = "names a version and no fix_commit; the published techniques learn from fixes"
                raise ToslocError(f"report {case.report.id}: {why}")
        self.row_of_report = {case.report.id: row for row, case in enumerate(self.cases)}
        self.opened: FloatArray = np.array([case.report.opened_seconds for case in self.cases])
        self.fixed_at: FloatArray = np.array(
            [case.fixed_at for case in self.cases], dtype=np.float64
        )
        self.commits: LongArray = np.array(
            [history.index[case.fix_commit] for case in self.cases], dtype=np.int64
        )
        self.sizes: FloatArray = np.array(
            [len(case.listed) for case in self.cases], dtype=np.float64
        )
        """(R,) source files of each fix, those that no longer exist too."""
        changes = [
            (row, path_ids[path])
            for row, case in enumerate(self.cases)
            for path in case.listed
            if path in path_ids
        ]
        rows, columns = np.array(changes, dtype=np.int64).reshape(-1, 2).T
        self.touched = sparse.csr_array(
            (np.ones(len(rows)), (rows, columns)), shape=(len(self.cases), len(path_ids))
        )
        """(R, N) 1 where a report's fix changed a path."""


@dataclass(frozen=True, eq=False)
class BaselineQuery:
    """A report, the version that is searched for it, and the fixes and commits that were known when it was opened."""

    report: BugReport
    version: ParsedVersion
    fix_history: FixHistory
    reports: LongArray  # Rows of ``fix_history`` of the reports that were fixed by then, rising
    commits: BoolArray  # (C,) which commits of the history were made by then

    @classmethod
    def of(
        cls, report: BugReport, version: ParsedVersion, fix_history: FixHistory
    ) -> BaselineQuery:
        """With what is contained in the version, too; without the report's own fix."""
        history, opened = fix_history.history, report.opened_seconds
        contained = history.ancestors(version.snapshot.commit)
        known = (fix_history.fixed_at < opened) & contained[fix_history.commits]
        if report.id in fix_history.row_of_report:
            known[fix_history.row_of_report[report.id]] = False
        return cls(
            report,
            version,
            fix_history,
            np.flatnonzero(known),
            contained & (history.times < opened),
        )

    @property
    def known(self) -> FloatArray:
        """(R,) 1 for a report that was fixed by then."""
        known = np.zeros(len(self.fix_history.cases))
        known[self.reports] = 1.0
        return known

    @property
    def fixes(self) -> FloatArray:
        """(N,) how often each path was part of a known fix."""
        return np.asarray(self.fix_history.touched.T @ self.known, dtype=np.float64)

    def latest(self, of_reports: FloatArray) -> FloatArray:
        """(N,) of (R,) values of reports that of the one fixed last in each path; -inf if there is none."""
        latest = np.full(self.fix_history.touched.shape[1], -np.inf)
        order = self.reports[np.argsort(self.fix_history.fixed_at[self.reports], kind="stable")]
        touched = self.fix_history.touched[order]
        # rows come in the order of their fixes, and of several assignments the last one stays
        latest[touched.indices] = np.repeat(of_reports[order], np.diff(touched.indptr))
        return latest


@dataclass(eq=False)
class BaselineContext:
    """Everything that techniques share on one project."""

    repo: Repository
    suffixes: frozenset[str]
    fix_history: FixHistory
    files: ParsedFiles
    table: PathTable
    _version: ParsedVersion | None = field(default=None, init=False, repr=False)

    def version(self, version: str) -> ParsedVersion:
        """A version; the last one that was asked for is kept."""
        if self._version is None or self._version.snapshot.commit != version:
            self._version = ParsedVersion(
                self.files, self.repo.snapshot(version, self.suffixes), self.table
            )
        return self._version

    def query(self, report: BugReport, version: str) -> BaselineQuery:
        """The query that a report is to a version."""
        return BaselineQuery.of(report, self.version(version), self.fix_history)


class Baseline(ABC):
    """One published technique on one project. It ranks every file of the version; ties by path."""

    name: ClassVar[str]
    learned: ClassVar[bool] = False
    needs_complexity: ClassVar[bool] = False
    choice: Mapping[str, Any] | None = (
        None  # What ``fit`` has chosen on validation, where it chooses
    )

    def __init__(self, context: BaselineContext, seed: int = 7) -> None:
        self.context, self.seed = context, seed

    @classmethod
    def training_cases(cls, train: Sequence[Case]) -> Sequence[Case]:
        """The training reports that ``fit`` learns from; ``ParsedFiles`` has to hold the files of their versions."""
        return ()

    def fit(  # noqa: B027  most techniques have nothing to learn
        self,
        train: Sequence[Case],
        validation: Sequence[Case],
        progress: Progress = ignore_progress,
    ) -> None:
        """Learn from train, stop by validation."""

    @abstractmethod
    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) finite scores of the version's files, in path order."""

    def rank(self, report: BugReport, version: Snapshot) -> Ranking:
        """Every file of the version, most suspicious first."""
        query = self.context.query(report, version.commit)
        return Ranking.from_scores(report.id, version.paths, self.scores(query))
