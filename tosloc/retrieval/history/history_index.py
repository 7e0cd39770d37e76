"""Commits and labelled reports of a repository as documents, and values of its files from them.

Everything is computed as of a time: nothing later than the report's opening is used.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Self

import numpy as np

from tosloc.code import text
from tosloc.core.arrays import BoolArray, FloatArray, IntArray, LongArray, sorted_unique
from tosloc.core.patterns import lazy_pattern
from tosloc.core.reports import BugReport, Case
from tosloc.core.versions import StringTable
from tosloc.git.fixes import change_names, is_fix_message
from tosloc.git.history import History
from tosloc.reports import traces
from tosloc.reports.text import NO_SHARED_LINES, SharedLines, expand_escapes
from tosloc.retrieval.history.releases import NO_RELEASES, Releases
from tosloc.retrieval.history.renames import NO_RENAMES, PathEvent, Renames, follow_renames
from tosloc.retrieval.paths.path_index import PathTable, VersionPaths
from tosloc.retrieval.texts.documents import DAY, Document, Documents, DocumentsView
from tosloc.retrieval.texts.formulas import K1, B, length_norm, saturate_tf
from tosloc.retrieval.texts.payloads import pack, unpack
from tosloc.retrieval.texts.postings import Postings, group_starts, group_sum, row_sums

MAX_FILES: Final = 30
"""Largest number of source files of a commit whose terms are used.

A commit that touches more files says little about any of them. Chosen on the validation reports of
four projects.
"""
MAX_LARGE_FILES: Final = 1_000
"""Largest number of source files of a commit that is used at all.

A larger commit imports or moves a project.
"""
NO_DOCUMENTS: Final = Documents.collect([])
_CACHED_TERMS: Final = 2_000
"""Number of terms whose frequencies in aggregated documents stay in memory for further queries."""
_TRAILER: Final = lazy_pattern(
    r"^(git-svn-id|change-id|signed-off-by|reviewed-(on|by)|tested-by|also-by|co-authored-by"
    r"|acked-by)\b.*$",
    re.IGNORECASE | re.MULTILINE,
)


def file_name_terms(documents: Documents, table: PathTable) -> Postings:
    """Return the terms in the names of the files that each document touched, with value 1."""
    rows, terms = table.name_terms
    terms_by_path = Postings.group_by_term(rows, terms, rows, len(table))
    number = max(len(table.term_ids), 1)
    selection = terms_by_path.select(documents.files)
    pairs = np.repeat(documents.pair_document, selection.sizes) * number + selection.rows
    pair_documents, pair_terms = np.divmod(sorted_unique(pairs), number)
    starts = group_starts(np.bincount(pair_documents, minlength=len(documents)))
    return Postings(starts, pair_terms.astype(np.int32), np.ones(len(pair_terms)))


class AggregatedDocuments:
    """Known documents joined to one long text for each of G groups.

    A group is a file, or all files whose names contain the same term. ``groups`` contains the
    groups of each document, with the document's share in each. The average length of texts is
    computed over the groups that are ``present`` (G,) in the searched version.
    """

    def __init__(self, view: DocumentsView, groups: Postings, present: BoolArray) -> None:
        self.view = view
        self.groups = groups
        self.present = present
        documents = view.documents
        document_lengths = row_sums(documents.counts, documents.starts) * view.known
        all_documents = np.arange(len(document_lengths), dtype=np.int32)
        lengths = self.totals(all_documents, document_lengths)
        filled = present & (lengths > 0)
        average = float(lengths[filled].mean()) if filled.any() else 1.0
        self._norm = length_norm(lengths, average, K1, B)
        self._cached_frequency = lru_cache(maxsize=_CACHED_TERMS)(self._saturated_frequency)

    def totals(self, documents: IntArray, values: FloatArray) -> FloatArray:
        """Return (G,) the sum of the documents' values in each group, times their shares in it."""
        selection = self.groups.select(documents)
        return group_sum(
            selection.rows, selection.expand(values) * selection.values, len(self.present)
        )

    def bm25(self, terms: LongArray, weights: FloatArray) -> FloatArray:
        """Return (G,) BM25 of the groups' texts.

        ``weights`` (T,) are query weight x IDF of ``terms`` (T,).
        """
        frequencies = [self._cached_frequency(term) for term in terms.tolist()]
        if not frequencies:
            return np.zeros(len(self.present))
        groups = np.concatenate([term_groups for term_groups, _ in frequencies])
        values = np.concatenate([frequency for _, frequency in frequencies])
        sizes = [len(term_groups) for term_groups, _ in frequencies]
        return group_sum(groups, values * np.repeat(weights, sizes), len(self.present))

    def _saturated_frequency(self, term: int) -> tuple[LongArray, FloatArray]:
        """Return the groups whose texts contain a term, and its saturated frequency in them."""
        postings = self.view.documents.postings
        part = postings.term_slice(term)
        documents = postings.rows[part]
        known = self.view.known[documents]
        counts = postings.values[part][known].astype(np.float64)
        frequency = self.totals(documents[known], counts)
        groups = np.flatnonzero(frequency)
        return groups, saturate_tf(frequency[groups], self._norm[groups], K1)


def aggregate_by_file(view: DocumentsView, paths: VersionPaths) -> AggregatedDocuments:
    """Return one long text for each file: all known documents that touched the file."""
    return AggregatedDocuments(view, view.documents.touched, paths.present)


def aggregate_by_name_term(view: DocumentsView, paths: VersionPaths) -> AggregatedDocuments:
    """Return one long text for each term of file names.

    It joins the known documents that touched a file whose name contains the term.
    """
    names = view.documents.remember(file_name_terms, paths.table)
    return AggregatedDocuments(view, names, paths.names.frequency > 0)


def view_known(documents: Documents, known: bytes) -> DocumentsView:
    """Return the view of the documents whose byte of ``known`` (D,) is 1.

    Call it with ``documents.remember``, because consecutive reports know nearly the same documents.
    """
    return DocumentsView(documents, np.frombuffer(known, dtype=np.bool_))


@dataclass(frozen=True, eq=False)
class HistoryIndex:
    """Commit messages and fixed reports of a project with the files that they touched."""

    VERSION = 10
    """Version of the stored facts of commits.

    Raise it whenever these facts change: with ``payloads``, or with the code that reads commits
    and analyses texts (``git.history``, ``git.renames``, ``git.change_names``, ``git.fixes``,
    ``code.text``).
    """

    commits: Documents
    """Commits that are not merges; their names are those that ``git.change_names`` returns."""
    reports: Documents
    renames: Renames = NO_RENAMES
    merges: Documents = NO_DOCUMENTS
    """Merges with a name that people use, with the files that differ from the first parent.

    They have no terms, and those of more than ``MAX_FILES`` files have no files.
    """
    releases: Releases = NO_RELEASES
    large: Documents = NO_DOCUMENTS
    """Commits of more than ``MAX_FILES`` files, without terms.

    They have only the paths that the version, another commit or a rename has. They say little about
    any file, but one of them may have introduced a bug, and reports name them. Those of more than
    ``MAX_LARGE_FILES`` files have no files, and are listed if they have a name that people use.
    """
    shared_lines: SharedLines = NO_SHARED_LINES
    """Lines that many labelled reports share; empty if no labelled reports are known."""

    @staticmethod
    def payloads(history: History) -> Iterator[bytes]:
        """Yield the payload of each commit: its terms, files, names and renames.

        The files of a merge are those that differ from its first parent. A commit with more than
        ``MAX_FILES`` source files has no terms, and with more than ``MAX_LARGE_FILES`` no files
        either. A merge with more than ``MAX_FILES`` source files has no files. The payload is empty
        if a commit touches no source file, or too many while it has neither a name nor renames.
        """
        for commit in range(len(history)):
            merged = history.merged[commit]
            touched = merged or history.touched[commit]
            is_too_large = len(touched) > (MAX_FILES if merged else MAX_LARGE_FILES)
            names = change_names(history.messages[commit]) if touched else ()
            renames = history.renames[commit]
            if renames or (names if is_too_large else touched):
                yield _pack_commit(
                    history,
                    commit,
                    [] if is_too_large else touched,
                    names,
                    renames,
                    size=len(touched),
                    is_merge=bool(merged),
                )
            else:
                yield b""

    @classmethod
    def of_commits(
        cls, order: Sequence[str], payloads: Iterable[bytes | None], paths: StringTable
    ) -> Self:
        """Return commit messages as documents; those of fixes take the place of fixed reports.

        ``order`` contains the ids of all commits, by their number in the history. ``payloads``
        contains the payload of each, as ``payloads`` yields it.
        """
        documents = []
        fixes = []
        merges: list[Document] = []
        large: list[Document] = []
        files_of_large: dict[str, Sequence[str]] = {}
        renames = []
        additions = []
        for number, (commit, payload) in enumerate(zip(order, payloads, strict=True)):
            if not payload:
                continue
            terms, files, counts, facts, *names_and_renames = unpack(payload)
            names, old_paths, new_paths = names_and_renames or ((), (), ())
            at, size, is_fix, is_merge, *added = facts.tolist()
            touched: tuple[int, ...] = ()
            if size > MAX_FILES:
                files_of_large[commit] = files
                document = Document(commit, at, number, commit, Counter(), (), tuple(names), size)
                (merges if is_merge else large).append(document)
            else:
                touched = tuple(paths.id(path) for path in files)
            for old_path, new_path in zip(old_paths, new_paths, strict=True):
                event = PathEvent(number, at, paths.id(old_path), paths.id(new_path))
                renames.append(event)
                additions.append(PathEvent(number, at, event.new_path))
            for position in added:
                additions.append(PathEvent(number, at, touched[position]))
            if not touched:
                continue
            # The messages of a long history repeat their terms; each is in memory once.
            term_counts = Counter(dict(zip(map(sys.intern, terms), counts.tolist(), strict=True)))
            document = Document(commit, at, number, commit, term_counts, touched, tuple(names))
            if is_merge:
                merges.append(document)
                continue
            documents.append(document)
            if is_fix:
                fixes.append(document)
        for position, document in enumerate(large):
            # No path is added to ``paths``, because features depend on the number of paths. Later
            # commits may have added paths, so ``paths`` is complete only now.
            files = files_of_large[document.id]
            present = tuple(paths.ids[path] for path in files if path in paths.ids)
            large[position] = replace(document, paths=present)
        return cls(
            Documents.collect(documents),
            Documents.collect(fixes),
            Renames.collect(renames, additions),
            Documents.collect(merges),
            large=Documents.collect(large),
        )

    @classmethod
    def build(cls, history: History, cases: Sequence[Case], paths: StringTable) -> Self:
        """Return commit messages and fixed reports as documents, and lines that reports share.

        If no fix of a report is known, commits that fix bugs take the place of reports.
        """
        index = cls.of_commits(history.ids, cls.payloads(history), paths)
        index = replace(index, shared_lines=SharedLines.collect(case.report for case in cases))
        if cases and not any(case.fix_commit for case in cases):
            return index
        return replace(index, reports=report_documents(cases, history, paths))

    def as_of(self, opened: float, contained: BoolArray | None = None) -> HistoryAsOf:
        """Return the history strictly before ``opened`` (seconds since 1970).

        ``contained`` has one value for each commit of the history: whether the searched version
        contains the commit. By default it contains all. The version before a fix never contains the
        fix of its own report, whatever the clocks say. Files have the paths that they have after
        all known renames.
        """
        known = self.renames.known(opened, contained)
        commits, reports, merges, large = (
            _view_as_of(documents.remember(follow_renames, self.renames, known), opened, contained)
            for documents in (self.commits, self.reports, self.merges, self.large)
        )
        return HistoryAsOf(
            opened,
            commits,
            reports,
            merges,
            large,
            self.releases,
            self.renames.select(known),
            self.shared_lines.as_of(opened),
        )


NO_HISTORY: Final = HistoryIndex(NO_DOCUMENTS, NO_DOCUMENTS)


def _view_as_of(documents: Documents, opened: float, contained: BoolArray | None) -> DocumentsView:
    """Return the documents known before ``opened`` in a version; see ``HistoryIndex.as_of``."""
    known: BoolArray = (documents.times < opened) & (documents.commits >= 0)
    if contained is not None:
        known &= contained[documents.commits]
    return documents.remember(view_known, known.tobytes())


@dataclass(frozen=True, eq=False)
class HistoryAsOf:
    """The history that was known when a report was opened."""

    opened: float
    """Opening of the report, in seconds since 1970."""
    commits: DocumentsView
    reports: DocumentsView
    merges: DocumentsView
    large: DocumentsView
    releases: Releases
    """All releases; ``Releases.find`` uses only those known when the report was opened."""
    renames: Renames
    """The renames that were known when the report was opened."""
    shared_lines: frozenset[str]
    """Keys of the lines that many earlier reports share; see ``SharedLines``."""

    def activity(self, days: float, paths: int) -> FloatArray:
        """Return (N,) for each path ln(1 + sum over its known commits of exp(-age/days)/sqrt(k)).

        k is the number of files that the commit touched, and its age is in days. With infinite
        ``days`` the age does not matter.
        """
        documents = self.commits.documents
        weights = self.commits.decay_weights(self.opened, days)
        return np.log1p(group_sum(documents.files, weights[documents.pair_document], paths))

    def last_touch(self, view: DocumentsView, paths: int) -> FloatArray:
        """Return (N,) the days between the last known document about each path and the opening.

        A document is a commit or a fixed report in ``view``. Without one the value is infinity.
        """
        documents = view.documents
        latest = np.full(paths, -np.inf)
        pairs = np.flatnonzero(view.known[documents.pair_document])
        # Documents are in order of time, and of repeated files the last assignment counts.
        latest[documents.files[pairs]] = documents.times[documents.pair_document[pairs]]
        return np.maximum(self.opened - latest, 0.0) / DAY

    def fixes(self, paths: int) -> FloatArray:
        """Return (N,) the number of known fixed reports whose fixes touched each path."""
        documents = self.reports.documents
        return group_sum(documents.files, self.reports.known[documents.pair_document], paths)

    def frame_rarity(self, qualified: str) -> float:
        """Return the rarity of a class in the stack traces of earlier reports, from 0 to 1.

        It is ln((n + 2) / (df + 1)) / ln(n + 2), where n is the number of known reports, and df the
        number of those whose traces contain the class. It is 1 for a class in no earlier trace, and
        near 0 for a class in all of them.
        """
        known = self.reports.known
        number = self.reports.number
        frequency = 0
        for document in self.reports.documents.by_name.get(qualified, ()):
            frequency += bool(known[document])
        return math.log((number + 2) / (frequency + 1)) / math.log(number + 2)

    def co_change(
        self, files: LongArray, shares: FloatArray, paths: int, days: float = 730.0
    ) -> FloatArray:
        """Return (N,) how often each path changed together with the given files.

        The value is the sum over the given files j of share_j x P(a commit that touches j touches
        the path). In the probability a commit has the weight exp(-age/days)/sqrt(k), where k is the
        number of files that it touched. A file adds nothing to itself.
        """
        documents = self.commits.documents
        weights = self.commits.decay_weights(self.opened, days)
        total = group_sum(documents.files, weights[documents.pair_document], paths)[files]
        path_shares = np.zeros(paths)
        path_shares[files] = shares / np.where(total > 0, total, np.inf)
        pair_shares = path_shares[documents.files]
        commit_shares = group_sum(documents.pair_document, pair_shares, len(documents)) * weights
        values = group_sum(documents.files, commit_shares[documents.pair_document], paths)
        values[files] -= np.where(total > 0, shares, 0.0)
        # Rounding leaves a little of a file's own share. Where nothing changes together, scaling
        # by the largest value would make a full score of it.
        return np.where(values > 1e-12, values, 0.0)


# ---- from commits and labelled reports


def strip_trailers(message: str) -> str:
    """Return a commit message without the lines that tools add to its end.

    >>> strip_trailers("Fix the parser\\n\\nChange-Id: I0f\\nSigned-off-by: A <a@b>").strip()
    'Fix the parser'
    """
    return _TRAILER.sub("", message)


def report_terms(report: BugReport) -> Counter[str]:
    """Return the term counts of a report's summary and description, without stack frames."""
    description = traces.without_frames(report.description)
    return Counter(text.terms(report.summary)) + Counter(text.terms(description))


def _pack_commit(
    history: History,
    commit: int,
    files: Sequence[int],
    names: Sequence[str],
    renames: Sequence[tuple[int, int]],
    *,
    size: int,
    is_merge: bool,
) -> bytes:
    """Return the payload of a commit with source files or renames.

    ``size`` is the number of source files that it touched, of which ``files`` may lack some.
    """
    path_names = history.path_names.names
    message = history.messages[commit]
    terms: Counter[str] = Counter()
    is_fix = False
    positions = []
    if 0 < len(files) <= MAX_FILES:
        positions = [files.index(file) for file in history.added[commit]]
        if not is_merge:
            terms.update(text.terms(strip_trailers(message)))
            is_fix = is_fix_message(message)
    counts = np.array([min(count, 65_535) for count in terms.values()], dtype=np.uint16)
    facts = np.array([history.times[commit], size, is_fix, is_merge, *positions], dtype=np.int64)
    paths = [path_names[file] for file in files]
    if not names and not renames:
        return pack(list(terms), paths, counts, facts)
    old_paths = [path_names[old] for old, _ in renames]
    new_paths = [path_names[new] for _, new in renames]
    return pack(list(terms), paths, counts, facts, names, old_paths, new_paths)


def report_documents(cases: Iterable[Case], history: History, paths: StringTable) -> Documents:
    """Return fixed reports with the files that their fixes changed.

    A report counts as known from the committer time of its fix on. Reports without a known fix are
    left out.
    """
    documents = []
    for case in cases:
        if not case.fix_commit:
            continue
        frames = traces.frames(expand_escapes(case.report.description))
        document = Document(
            case.report.id,
            case.fixed_at,
            history.index[case.fix_commit],
            case.fix_commit,
            report_terms(case.report),
            tuple(paths.id(path) for path in case.listed),
            tuple(dict.fromkeys(frame.class_or_file for frame in frames)),
        )
        documents.append(document)
    return Documents.collect(documents)
