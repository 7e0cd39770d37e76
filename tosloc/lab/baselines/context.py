"""Data that a published technique may read: a version's files and fixes known at the opening.

A technique gets a ``BaselineQuery`` and returns a score for every file. It cannot read later fixes
or the fix of the report itself, because ``BaselineQuery.as_of_opening`` leaves them out
(docs/method.md, section B.1.1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import PurePosixPath
from typing import Any, ClassVar, Final

import numpy as np
from scipy import sparse

from tosloc.code.languages import language_name
from tosloc.code.parsed_source import ParsedSource, parse_source
from tosloc.core.arrays import BoolArray, FloatArray, IntArray, LongArray
from tosloc.core.errors import ToslocError
from tosloc.core.processes import run_in_parallel
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.rankings import Ranking
from tosloc.core.reports import BugReport, Case
from tosloc.core.versions import Snapshot, first_path_by_blob
from tosloc.git.history import History
from tosloc.git.repository import Repository, decode_text
from tosloc.lab.baselines.vsm import TermCounts, count_terms
from tosloc.retrieval.paths import PathTable, VersionPaths

_BLOBS_PER_TASK: Final = 256


class ParsedFiles:
    """The parsed source of every blob of some versions."""

    def __init__(self, sources: Sequence[ParsedSource], row_by_blob: Mapping[str, int]) -> None:
        self.sources = sources
        self.row_by_blob = row_by_blob
        self._counts: dict[Callable[[ParsedSource], Sequence[str]], TermCounts] = {}

    def __len__(self) -> int:
        return len(self.sources)

    @classmethod
    def read(
        cls,
        repo: Repository,
        snapshots: Iterable[Snapshot],
        jobs: int = 1,
        progress: Progress = ignore_progress,
        *,
        complexity: bool = False,
    ) -> ParsedFiles:
        """Return the parsed blobs of the versions, each read once, in ``jobs`` processes.

        A blob that is not in the repository is left out. The cyclomatic complexity of each file is
        computed only with ``complexity``.
        """
        language_by_blob = {
            blob: language_name(PurePosixPath(path).suffix)
            for blob, path in first_path_by_blob(snapshots).items()
        }
        calls = (
            partial(_parse_texts, batch, complexity)
            for batch in _read_batches(repo, language_by_blob)
        )
        row_by_blob: dict[str, int] = {}
        sources: list[ParsedSource] = []
        with run_in_parallel(calls, jobs, ordered=True) as results:
            for blob, source in chain.from_iterable(results):
                row_by_blob[blob] = len(sources)
                sources.append(source)
                progress("reading files", len(sources), len(language_by_blob))
        return cls(sources, row_by_blob)

    def rows_in_blob_order(self, mask: BoolArray) -> list[int]:
        """Return the rows where the ``mask`` (B,) is true, sorted by blob id.

        This order does not depend on the order in which blobs were read.
        """
        return [row for _, row in sorted(self.row_by_blob.items()) if mask[row]]

    def counts(self, terms: Callable[[ParsedSource], Sequence[str]]) -> TermCounts:
        """Return the term counts of all blobs, computed once for each function ``terms``."""
        if terms not in self._counts:
            self._counts[terms] = count_terms(map(terms, self.sources))
        return self._counts[terms]


def _read_batches(
    repo: Repository, language_by_blob: Mapping[str, str]
) -> Iterator[list[tuple[str, str, str]]]:
    """Yield batches of blobs that the repository has: id, text and language of each."""
    blobs = list(language_by_blob)
    for start in range(0, len(blobs), _BLOBS_PER_TASK):
        batch: list[tuple[str, str, str]] = []
        for blob, data in repo.texts(blobs[start : start + _BLOBS_PER_TASK]):
            if data is not None:
                batch.append((blob, decode_text(data), language_by_blob[blob]))
        yield batch


def _parse_texts(
    batch: Sequence[tuple[str, str, str]], complexity: bool
) -> list[tuple[str, ParsedSource]]:
    return [(blob, parse_source(text, language, complexity)) for blob, text, language in batch]


class ParsedVersion:
    """One version with the parsed sources of its files.

    A file is given by its position in path order.
    """

    def __init__(self, files: ParsedFiles, snapshot: Snapshot, table: PathTable) -> None:
        self.files = files
        self.snapshot = snapshot
        self.rows: IntArray = np.array(
            [files.row_by_blob.get(blob, -1) for blob in snapshot.blobs], dtype=np.int32
        )
        """(F,) row of each file's blob in ``files``, -1 where the blob could not be read."""
        self.multiplicity: LongArray = np.bincount(
            self.rows[self.rows >= 0], minlength=len(files)
        ).astype(np.int64)
        """(B,) number of files of the version that have each blob."""
        self.paths = VersionPaths(table, snapshot.path_ids)
        self.position_of_path = {
            path: position for position, path in enumerate(snapshot.path_ids.tolist())
        }
        """Position of the file of each path number."""

    def __len__(self) -> int:
        return len(self.rows)

    def from_blobs(self, blob_values: FloatArray) -> FloatArray:
        """Return (F,) the values of the files, from the values (B,) of all blobs.

        A file whose blob could not be read gets 0.
        """
        return np.append(blob_values, 0.0)[self.rows]

    def from_paths(self, path_values: FloatArray) -> FloatArray:
        """Return (F,) the values of the files, from the values (N,) of all paths."""
        return path_values[self.snapshot.path_ids]

    def source(self, position: int) -> ParsedSource | None:
        """Return the parsed source of a file; None if the file could not be read."""
        row = int(self.rows[position])
        return None if row < 0 else self.files.sources[row]

    def positions(self, paths: Iterable[int]) -> list[int]:
        """Return the positions of the files with these path numbers."""
        return [self.position_of_path[path] for path in paths]

    def find_class(self, qualified_name: str) -> list[int]:
        """Return the positions of the files that a qualified class name can mean."""
        return self.positions(self.paths.find_by_class(qualified_name))


class FixHistory:
    """Every labelled report and every commit of a project, and the paths that they changed."""

    def __init__(
        self, cases: Sequence[Case], history: History, path_ids: Mapping[str, int]
    ) -> None:
        """Build the history from cases, in the order of their fixes, and from the paths' numbers.

        Raises ToslocError if a case has no fix commit.
        """
        self.cases = tuple(cases)
        self.history = history
        for case in self.cases:
            if not case.fix_commit:
                raise ToslocError(
                    f"report {case.report.id}: names a version but no fix_commit; the published"
                    " techniques learn from fixes"
                )
        self.row_of_report = {case.report.id: row for row, case in enumerate(self.cases)}
        self.opened: FloatArray = np.array([case.report.opened_seconds for case in self.cases])
        """(R,) time of opening, in seconds since 1970."""
        fix_times = [case.fixed_at for case in self.cases]
        self.fixed_at: FloatArray = np.array(fix_times, dtype=np.float64)
        """(R,) time of the fix, in seconds since 1970."""
        fix_numbers = [history.index[case.fix_commit] for case in self.cases]
        self.commits: LongArray = np.array(fix_numbers, dtype=np.int64)
        """(R,) number of the fixing commit in the history."""
        sizes = [len(case.listed) for case in self.cases]
        self.sizes: FloatArray = np.array(sizes, dtype=np.float64)
        """(R,) source files of each fix, those that no longer exist included."""
        rows: list[int] = []
        columns: list[int] = []
        for row, case in enumerate(self.cases):
            for path in case.listed:
                if path in path_ids:
                    rows.append(row)
                    columns.append(path_ids[path])
        indices = (np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64))
        self.touched = sparse.csr_array(
            (np.ones(len(rows)), indices), shape=(len(self.cases), len(path_ids))
        )
        """(R, N) 1 where a report's fix changed a path."""


@dataclass(frozen=True, eq=False)
class BaselineQuery:
    """A report, the version to search, and the fixes and commits known when it was opened."""

    report: BugReport
    version: ParsedVersion
    fix_history: FixHistory
    known_reports: LongArray
    """Rows of ``fix_history``, ascending, of the reports that were fixed before the opening."""
    known_commits: BoolArray
    """(D,) whether each commit of the history was made before the opening of the report."""

    @classmethod
    def as_of_opening(
        cls, report: BugReport, version: ParsedVersion, fix_history: FixHistory
    ) -> BaselineQuery:
        """Return the query with the fixes and commits that were known when the report was opened.

        They were made before the report's opening, and the version contains them. The report's own
        fix is left out.
        """
        history = fix_history.history
        opened = report.opened_seconds
        contained = history.ancestors(version.snapshot.commit)
        fixed_before = (fix_history.fixed_at < opened) & contained[fix_history.commits]
        if report.id in fix_history.row_of_report:
            fixed_before[fix_history.row_of_report[report.id]] = False
        return cls(
            report=report,
            version=version,
            fix_history=fix_history,
            known_reports=np.flatnonzero(fixed_before),
            known_commits=contained & (history.times < opened),
        )

    @property
    def fixed_indicator(self) -> FloatArray:
        """(R,) 1 for a report that was fixed before the opening, 0 for all others."""
        indicator = np.zeros(len(self.fix_history.cases))
        indicator[self.known_reports] = 1.0
        return indicator

    @property
    def fix_counts(self) -> FloatArray:
        """(N,) number of known fixes that changed each path."""
        return np.asarray(self.fix_history.touched.T @ self.fixed_indicator, dtype=np.float64)

    def latest_by_path(self, report_values: FloatArray) -> FloatArray:
        """Return (N,) for each path the value of the known report whose fix changed it last.

        ``report_values`` (R,) has a value for each labelled report. A path without a known fix gets
        -inf.
        """
        latest = np.full(self.fix_history.touched.shape[1], -np.inf)
        fix_times = self.fix_history.fixed_at[self.known_reports]
        in_fix_order = self.known_reports[np.argsort(fix_times, kind="stable")]
        touched = self.fix_history.touched[in_fix_order]
        # Of several assignments to one path the last one stays, which is the latest fix.
        latest[touched.indices] = np.repeat(report_values[in_fix_order], np.diff(touched.indptr))
        return latest


@dataclass(eq=False)
class BaselineContext:
    """Everything that the techniques share on one project."""

    repo: Repository
    suffixes: frozenset[str]
    fix_history: FixHistory
    files: ParsedFiles
    table: PathTable
    _version: ParsedVersion | None = field(default=None, init=False, repr=False)

    def version(self, commit: str) -> ParsedVersion:
        """Return the version of a commit; the last requested version is cached."""
        if self._version is None or self._version.snapshot.commit != commit:
            snapshot = self.repo.snapshot(commit, self.suffixes)
            self._version = ParsedVersion(self.files, snapshot, self.table)
        return self._version

    def query(self, report: BugReport, commit: str) -> BaselineQuery:
        """Return the query for a report and the version of a commit."""
        return BaselineQuery.as_of_opening(report, self.version(commit), self.fix_history)


class Baseline(ABC):
    """A published technique on one project.

    It ranks every file of the version; equal scores are ordered by path.
    """

    name: ClassVar[str]
    learned: ClassVar[bool] = False
    """Whether the technique has to learn from training reports."""
    needs_complexity: ClassVar[bool] = False
    """Whether the technique reads the cyclomatic complexity of files."""
    choice: Mapping[str, Any] | None = None
    """The choice that ``fit`` made by validation; None if it makes none."""

    def __init__(self, context: BaselineContext, seed: int = 7) -> None:
        self.context = context
        self.seed = seed

    @classmethod
    def select_training_cases(cls, train: Sequence[Case]) -> Sequence[Case]:
        """Return the training reports that ``fit`` learns from.

        Before ``fit`` is called, ``ParsedFiles`` must contain the files of these reports' versions.
        """
        return ()

    def fit(  # noqa: B027  most techniques have nothing to learn
        self,
        train: Sequence[Case],
        validation: Sequence[Case],
        progress: Progress = ignore_progress,
    ) -> None:
        """Learn from the training reports; the validation reports decide when training stops."""

    @abstractmethod
    def scores(self, query: BaselineQuery) -> FloatArray:
        """Return (F,) finite scores of the version's files, in path order."""

    def rank(self, report: BugReport, version: Snapshot) -> Ranking:
        """Rank every file of the version, highest score first."""
        query = self.context.query(report, version.commit)
        return Ranking.from_scores(report.id, version.paths, self.scores(query))
