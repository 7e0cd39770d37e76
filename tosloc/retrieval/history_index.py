"""A repository's commits and labelled reports as documents, and what they say about its files as of one time.

Nothing later than the report's opening is seen. Letters in shapes: D documents, E (document, group) pairs, G groups,
N paths, T terms.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from tosloc.code import text
from tosloc.core.records import (
    BoolArray,
    BugReport,
    Case,
    FloatArray,
    IntArray,
    LongArray,
    StringTable,
)
from tosloc.git.fixes import is_fix_message
from tosloc.git.history import History
from tosloc.reports import traces
from tosloc.retrieval.documents import DAY, Document, Documents, DocumentsView
from tosloc.retrieval.formulas import K1, B, length_norm, saturate_tf
from tosloc.retrieval.paths import PathTable, PathView
from tosloc.retrieval.payloads import pack, unpack
from tosloc.retrieval.postings import Postings, group_starts, group_sum, row_sums
from tosloc.retrieval.query import frame_name

COMMITS: Final = "commits"  # how the analyser of commit facts begins
HISTORY_VERSION: Final = 4
"""Of what is kept of commits. Raise it with whatever changes that: ``commit_payloads``, or those that read commits and
take texts apart (``git.history``, ``git.fixes``, ``code.text``)."""
MAX_FILES: Final = 30
"""Commits that touch more source files say little about any of them and are ignored; chosen on the validation
reports of four projects."""
_TRAILER: Final = re.compile(
    r"^(git-svn-id|change-id|signed-off-by|reviewed-(on|by)|tested-by|also-by|co-authored-by|acked-by)\b.*$",
    re.IGNORECASE | re.MULTILINE,
)


def in_names(documents: Documents, table: PathTable) -> Postings:
    """Of each document the terms that a name of its files holds, with 1."""
    rows, terms = table.name_terms
    of_paths, number = (
        Postings.group_by_term(rows, terms, rows, len(table)),
        max(len(table.term_ids), 1),
    )
    chosen = of_paths.select(documents.files)
    held = np.repeat(documents.pair_document, chosen.sizes) * number + chosen.rows
    holders, members = np.divmod(np.unique(held), number)
    starts = group_starts(np.bincount(holders, minlength=len(documents)))
    return Postings(starts, members.astype(np.int32), np.ones(len(members)))


class AggregatedDocuments:
    """Known documents as one long text for each of G groups: of a file, or of all files whose names share a term.

    ``groups`` are those of each document, with how much of it belongs to each; the average length is taken over those
    that are ``present`` (G,) in the searched version.
    """

    def __init__(self, view: DocumentsView, groups: Postings, present: BoolArray) -> None:
        self.view, self.groups, self.present = view, groups, present
        terms = row_sums(view.documents.counts, view.documents.starts) * view.known
        lengths = self.totals(np.arange(len(terms), dtype=np.int32), terms)
        filled = present & (lengths > 0)
        self._norm = length_norm(
            lengths, float(lengths[filled].mean()) if filled.any() else 1.0, K1, B
        )
        self._remembered = lru_cache(maxsize=2_000)(self._saturated)  # queries share their terms

    def totals(self, documents: IntArray, values: FloatArray) -> FloatArray:
        """(G,) sum of the values of some documents, each times its share."""
        chosen = self.groups.select(documents)
        return group_sum(chosen.rows, chosen.expand(values) * chosen.values, len(self.present))

    def bm25(self, terms: LongArray, weights: FloatArray) -> FloatArray:
        """(G,) BM25 of the texts, from query weight x IDF (T,) of terms."""
        found = [self._remembered(term) for term in terms.tolist()]
        if not found:
            return np.zeros(len(self.present))
        held, values = map(np.concatenate, zip(*found, strict=True))
        return group_sum(
            held,
            values * np.repeat(weights, [len(groups) for groups, _ in found]),
            len(self.present),
        )

    def _saturated(self, term: int) -> tuple[LongArray, FloatArray]:
        """Groups whose texts hold a term, and its saturated frequency."""
        postings = self.view.documents.postings
        part = postings.term_slice(term)
        rows = postings.rows[part]
        seen = self.view.known[rows]
        frequency = self.totals(rows[seen], postings.values[part][seen].astype(np.float64))
        held = np.flatnonzero(frequency)
        return held, saturate_tf(frequency[held], self._norm[held], K1)


def aggregate_by_file(view: DocumentsView, paths: PathView) -> AggregatedDocuments:
    """Return the known documents as one text for each file."""
    return AggregatedDocuments(view, view.documents.touched, paths.present)


def aggregate_by_name_term(view: DocumentsView, paths: PathView) -> AggregatedDocuments:
    """Return the known documents as one text for each term of file names."""
    names = view.documents.remember(in_names, paths.table)
    return AggregatedDocuments(view, names, paths.name_frequency > 0)


def view_of_known(documents: Documents, known: bytes) -> DocumentsView:
    """Return the view of the documents whose byte of ``known`` (D,) is 1.

    It is remembered by the documents, since consecutive reports know nearly the same ones.
    """
    return DocumentsView(documents, np.frombuffer(known, dtype=np.bool_))


@dataclass(frozen=True, eq=False)
class HistoryIndex:
    """Commit messages and fixed reports of a project with the files that they touched."""

    commits: Documents
    reports: Documents

    def as_of(self, opened: float, contained: BoolArray | None = None) -> HistoryAsOf:
        """The history strictly before ``opened`` (seconds since 1970).

        ``contained`` (commits of the history,) tells which commits the searched version contains; None: all of them.
        A report's own fix is never contained in its before-fix version, whatever the clocks say.
        """
        views = []
        for documents in (self.commits, self.reports):
            known: BoolArray = (documents.times < opened) & (documents.commits >= 0)
            if contained is not None:
                known &= contained[documents.commits]
            views.append(documents.remember(view_of_known, known.tobytes()))
        return HistoryAsOf(opened, *views)


@dataclass(frozen=True, eq=False)
class HistoryAsOf:
    """The history that was known when a report was opened."""

    opened: float  # seconds since 1970
    commits: DocumentsView
    reports: DocumentsView

    def activity(self, days: float, paths: int) -> FloatArray:
        """(N,) ln(1 + sum over a file's commits of exp(-age/days)/sqrt(k)); infinite ``days`` counts all alike."""
        documents = self.commits.documents
        weight = self.commits.decay_weights(self.opened, days)
        return np.log1p(group_sum(documents.files, weight[documents.pair_document], paths))

    def last_touch(self, view: DocumentsView, paths: int) -> FloatArray:
        """(N,) days since the last known document that touched each file; infinite if none did."""
        documents = view.documents
        latest = np.full(paths, -np.inf)
        pairs = np.flatnonzero(view.known[documents.pair_document])
        # documents are in order of time: of repeated files the last assignment stands
        latest[documents.files[pairs]] = documents.times[documents.pair_document[pairs]]
        return np.maximum(self.opened - latest, 0.0) / DAY

    def fixes(self, paths: int) -> FloatArray:
        """(N,) number of known fixed reports that each file was part of."""
        documents = self.reports.documents
        return group_sum(documents.files, self.reports.known[documents.pair_document], paths)

    def frame_rarity(self, qualified: str) -> float:
        """ln((n + 2) / (df + 1)) / ln(n + 2): 1 for a class in no earlier trace, towards 0 for one in all.

        n known reports, df of whose traces hold the class.
        """
        number, known = self.reports.number, self.reports.known
        frequency = sum(bool(known[d]) for d in self.reports.documents.by_name.get(qualified, ()))
        return math.log((number + 2) / (frequency + 1)) / math.log(number + 2)

    def co_change(
        self, files: LongArray, shares: FloatArray, paths: int, days: float = 730.0
    ) -> FloatArray:
        """(N,) sum over the given files j of share_j x P(a commit that touches j touches the file).

        The probability weighs a commit by exp(-age/days)/sqrt(k); a file gives nothing to itself.
        """
        documents, weight = self.commits.documents, self.commits.decay_weights(self.opened, days)
        total = group_sum(documents.files, weight[documents.pair_document], paths)[files]
        of_path = np.zeros(paths)
        of_path[files] = shares / np.where(total > 0, total, np.inf)
        given = (
            group_sum(documents.pair_document, of_path[documents.files], len(documents)) * weight
        )
        spread = group_sum(documents.files, given[documents.pair_document], paths)
        spread[files] -= np.where(total > 0, shares, 0.0)
        # what rounding leaves of a file's own share would be scaled up to a full score where nothing changes together
        return np.where(spread > 1e-12, spread, 0.0)


# ---- from commits and labelled reports


def strip_trailers(message: str) -> str:
    """A commit message without the lines that tools add to its end.

    >>> strip_trailers("Fix the parser\\n\\nChange-Id: I0f\\nSigned-off-by: A <a@b>").strip()
    'Fix the parser'
    """
    return _TRAILER.sub("", message)


def report_terms(report: BugReport) -> Counter[str]:
    """Term counts of summary and description without stack frames."""
    return Counter(text.terms(report.summary)) + Counter(
        text.terms(traces.without_frames(report.description))
    )


def commit_payloads(history: History) -> Iterator[bytes]:
    """What each commit says and which source files it touched, 1 to ``MAX_FILES``: of others an empty payload."""
    names = history.path_names.names
    for at, whole, files in zip(history.times, history.messages, history.touched, strict=True):
        if not 0 < len(files) <= MAX_FILES:
            yield b""
            continue
        message = strip_trailers(whole)
        terms = Counter(text.terms(message))
        paths = [names[file] for file in files]
        counts = np.array([min(count, 65_535) for count in terms.values()], dtype=np.uint16)
        facts = np.array([at, is_fix_message(whole)], dtype=np.int64)
        yield pack(list(terms), paths, counts, facts)


def index_commits(
    order: Sequence[str], payloads: Iterable[bytes | None], paths: StringTable
) -> HistoryIndex:
    """Commit messages as documents; the commits that say that they fix a bug stand in for fixed reports.

    ``order`` are the ids of all commits, by their number in the history, each with what ``commit_payloads`` made of it.
    """
    documents, fixes = [], []
    for number, (commit, payload) in enumerate(zip(order, payloads, strict=True)):
        if not payload:
            continue
        terms, files, counts, (at, fix) = unpack(payload)
        touched = tuple(paths.id(path) for path in files)
        said = Counter(dict(zip(terms, counts.tolist(), strict=True)))
        document = Document(commit, int(at), number, commit, said, touched, ())
        documents.append(document)
        if fix:
            fixes.append(document)
    return HistoryIndex(Documents.collect(documents), Documents.collect(fixes))


def report_documents(cases: Iterable[Case], history: History, paths: StringTable) -> Documents:
    """Fixed reports with the files that their fixes changed, known from the committer time of the fix on.

    Reports whose fix is not known are no documents.
    """
    return Documents.collect(
        Document(
            case.report.id,
            case.fixed_at,
            history.index[case.fix_commit],
            case.fix_commit,
            report_terms(case.report),
            tuple(paths.id(path) for path in case.listed),
            tuple(
                dict.fromkeys(frame_name(frame) for frame in traces.frames(case.report.description))
            ),
        )
        for case in cases
        if case.fix_commit
    )


def build_history(history: History, cases: Sequence[Case], paths: StringTable) -> HistoryIndex:
    """Commit messages and fixed reports; without known fixes the commits that fix bugs stand in for reports."""
    made = index_commits(history.ids, commit_payloads(history), paths)
    if cases and not any(case.fix_commit for case in cases):
        return made
    return HistoryIndex(made.commits, report_documents(cases, history, paths))
