"""A repository's commits and labelled reports as documents, and what they say about its files as of one time.

Nothing later than the report's opening is seen. Letters in shapes: D documents, E (document, group) pairs, G groups,
N paths, T terms.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from tosloc.arrays import Array, Arrays, from_arrays, to_arrays, unpack_words
from tosloc.code import text
from tosloc.git.fixes import references, says_fix
from tosloc.git.history import History
from tosloc.index.bm25 import length_norm, saturated
from tosloc.index.documents import DAY, Document, Documents, DocumentsView
from tosloc.index.paths import PathTable, PathView
from tosloc.index.postings import K1, B, Postings, ranges, row_sums, stable_order, starts_of, summed
from tosloc.index.query import frame_name
from tosloc.index.store import pack, unpack
from tosloc.records import BoolArray, BugReport, Case, FloatArray, IntArray, LongArray, Names
from tosloc.reports import traces

COMMITS: Final = "commits"  # how the analyser of commit facts begins
HISTORY_VERSION: Final = 3
"""Of what is kept of commits. Raise it with whatever changes that: ``commit_payloads``, or those that read commits and
take texts apart (``git.history``, ``git.fixes``, ``code.text``)."""
MAX_FILES: Final = 30
"""Commits that touch more source files say little about any of them and are ignored; chosen on the validation
reports of four projects."""
_TRAILER: Final = re.compile(
    r"^(git-svn-id|change-id|signed-off-by|reviewed-(on|by)|tested-by|also-by|co-authored-by|acked-by)\b.*$",
    re.IGNORECASE | re.MULTILINE,
)
_REMEMBERED = 2_000  # terms of which it is remembered who holds them


def in_files(documents: Documents) -> Postings:
    """Of each document the files that it touched, with 1/sqrt(k)."""
    return Postings(documents.file_starts, documents.files, 1.0 / np.sqrt(documents.sizes[documents.pair_document]))


def in_names(documents: Documents, table: PathTable) -> Postings:
    """Of each document the terms that a name of its files holds, with 1."""
    rows, name_terms = table.name_terms
    terms, starts = max(len(table.term_ids), 1), starts_of(np.bincount(rows, minlength=len(table)))
    chosen = ranges(starts[documents.files], starts[documents.files + 1])
    # each term of a document once, in order
    keys = np.repeat(documents.pair_document, chosen.sizes) * terms
    keys += chosen.take(name_terms[stable_order(rows, len(table))])
    keys = keys[stable_order(keys, len(documents) * terms)]
    held, members = np.divmod(keys[np.diff(keys, prepend=-1) > 0], terms)
    starts = starts_of(np.bincount(held, minlength=len(documents)))
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
        self._norm = length_norm(lengths, float(lengths[filled].mean()) if filled.any() else 1.0, K1, B)
        self._known: dict[int, tuple[LongArray, FloatArray]] = {}

    def totals(self, documents: IntArray, values: FloatArray) -> FloatArray:
        """(G,) sum of the values of some documents, each times its share."""
        chosen = self.groups.select(documents)
        shares = chosen.spread(values) * chosen.take(self.groups.values)
        return summed(chosen.take(self.groups.rows), shares, len(self.present))

    def bm25(self, terms: LongArray, weights: Sequence[FloatArray]) -> list[FloatArray]:
        """(G,) BM25 of the texts, one for each of several weightings (T,) of the same terms: query weight x IDF."""
        found = [self._saturated(term) for term in terms.tolist()]
        if not found:
            return [np.zeros(len(self.present)) for _ in weights]
        held, values = np.concatenate([held for held, _ in found]), np.concatenate([value for _, value in found])
        sizes = [len(held) for held, _ in found]
        return [summed(held, values * np.repeat(weight, sizes), len(self.present)) for weight in weights]

    def _saturated(self, term: int) -> tuple[LongArray, FloatArray]:
        """Groups whose texts hold a term, and its saturated frequency; remembered, since queries share their terms."""
        if term not in self._known:
            postings = self.view.documents.postings
            part = slice(*postings.starts[term : term + 2].tolist())
            rows = postings.rows[part]
            seen = self.view.known[rows]
            frequency = self.totals(rows[seen], postings.values[part][seen].astype(np.float64))
            held = np.flatnonzero(frequency)
            if len(self._known) == _REMEMBERED:
                self._known.clear()
            self._known[term] = held, saturated(frequency[held], self._norm[held], K1)
        return self._known[term]


class HistoryIndex:
    """Commit messages and fixed reports of a project with the files that they touched.

    What was computed last is kept: reports that are asked about one after the other know much the same documents.
    """

    def __init__(self, commits: Documents, reports: Documents) -> None:
        self.commits, self.reports = commits, reports
        self._joined: dict[tuple[int, int, bool], AggregatedDocuments] = {}
        self._last: HistoryAsOf | None = None

    def to_arrays(self, paths: Sequence[str]) -> Arrays:
        """Plain arrays, for ``from_arrays``, with the paths that the numbers of files mean."""
        return to_arrays({"paths": paths, "commits": self.commits, "reports": self.reports})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> tuple[HistoryIndex, list[str]]:
        """History and its paths from ``to_arrays``. Raises KeyError or ValueError when the arrays are no history."""
        commits, reports = (from_arrays(Documents, arrays, name) for name in ("commits", "reports"))
        return cls(commits, reports), unpack_words(arrays["paths"])

    def joined(self, view: DocumentsView, paths: PathView, *, by_name: bool = False) -> AggregatedDocuments:
        """The known documents as one text a file, or one a term of file names."""
        documents, table, present = view.documents, paths.table, paths.name_terms if by_name else paths.present
        key = id(documents), id(table), by_name
        last = self._joined.get(key)
        if last is None or last.view is not view or last.present is not present:
            made = last.groups if last else in_names(documents, table) if by_name else in_files(documents)
            last = self._joined[key] = AggregatedDocuments(view, made, present)
        return last

    def as_of(self, opened: float, contained: BoolArray | None = None) -> HistoryAsOf:
        """The history strictly before ``opened`` (seconds since 1970).

        ``contained`` (commits of the history,) tells which commits the searched version contains; None: all of them.
        A report's own fix is never contained in its before-fix version, whatever the clocks say.
        """

        def view(documents: Documents, last: DocumentsView | None) -> DocumentsView:
            known: BoolArray = documents.times < opened
            if contained is not None:
                known &= contained[documents.commits]
            return last if last and np.array_equal(last.known, known) else DocumentsView(documents, known)

        last = self._last
        before = (last.commits, last.reports) if last else (None, None)
        commits, reports = map(view, (self.commits, self.reports), before)
        if last is None or last.opened != opened or (commits, reports) != before:
            last = self._last = HistoryAsOf(self, opened, commits, reports)
        return last


@dataclass(eq=False)
class HistoryAsOf:
    """The history that was known when a report was opened."""

    index: HistoryIndex
    opened: float  # seconds since 1970
    commits: DocumentsView
    reports: DocumentsView
    _activity: dict[tuple[float, int], FloatArray] = field(default_factory=dict)
    """Depends on no report but by its opening: many are asked as if opened at the same time."""

    def decayed(self, view: DocumentsView, days: float) -> FloatArray:
        """(D,) exp(-age / days), 0 for unknown documents; ages are days before the report's opening."""
        ages = np.maximum(self.opened - view.documents.times, 0.0) / DAY
        return np.where(view.known, np.exp(-ages / days), 0.0)

    def activity(self, days: float, paths: int) -> FloatArray:
        """(N,) ln(1 + sum over a file's commits of exp(-age/days)/sqrt(k)); infinite ``days`` counts all alike."""
        if (days, paths) not in self._activity:
            values = self.decayed(self.commits, days) / np.sqrt(self.commits.documents.sizes)
            self._activity[days, paths] = np.log1p(self.commits.by_file(values, paths))
        return self._activity[days, paths]

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
        return self.reports.by_file(np.ones(len(self.reports.known)), paths)

    def frame_rarity(self, qualified: str) -> float:
        """ln((n + 2) / (df + 1)) / ln(n + 2): 1 for a class in no earlier trace, towards 0 for one in all.

        n known reports, df of whose traces hold the class.
        """
        number, known = self.reports.number, self.reports.known
        frequency = sum(bool(known[d]) for d in self.reports.documents.naming.get(qualified, ()))
        return math.log((number + 2) / (frequency + 1)) / math.log(number + 2)

    def co_change(self, files: LongArray, shares: FloatArray, paths: int, days: float = 730.0) -> FloatArray:
        """(N,) sum over the given files j of share_j x P(a commit that touches j touches the file).

        The probability weighs a commit by exp(-age/days)/sqrt(k); a file gives nothing to itself.
        """
        view, documents = self.commits, self.commits.documents
        weight = self.decayed(view, days) / np.sqrt(documents.sizes)
        # only commits that touch a given file count: far fewer than all, and summed in the same order
        touching = documents.by_file
        last = len(touching.starts) - 1
        pairs = np.sort(touching.select(files[files < last]).take(touching.values))
        commits = documents.pair_document[pairs]
        total = summed(documents.files[pairs], weight[commits], paths)[files]
        of_path = np.zeros(paths)
        of_path[files] = shares / np.where(total > 0, total, np.inf)
        given = summed(commits, of_path[documents.files[pairs]], len(documents)) * weight
        distinct = np.unique(commits)
        spread = view.spread(distinct, given[distinct], paths)
        spread[files] -= np.where(total > 0, shares, 0.0)
        # what rounding leaves of a file's own share would be scaled up to a full score where nothing changes together
        return np.where(spread > 1e-12, spread, 0.0)


# ---- from commits and labelled reports


def without_trailers(message: str) -> str:
    """A commit message without the lines that tools add to its end.

    >>> without_trailers("Fix the parser\\n\\nChange-Id: I0f\\nSigned-off-by: A <a@b>").strip()
    'Fix the parser'
    """
    return _TRAILER.sub("", message)


def report_terms(report: BugReport) -> Counter[str]:
    """Term counts of summary and description without stack frames."""
    return Counter(text.terms(report.summary)) + Counter(text.terms(traces.without_frames(report.description)))


def commit_payloads(history: History) -> Iterator[tuple[str, bytes]]:
    """(commit id, payload) of all commits: what each says and which source files it touched, 1 to ``MAX_FILES``.

    Those that touched none, or more, have an empty payload.
    """
    names = history.path_names.names
    for commit, at, whole, files in zip(history.ids, history.times, history.messages, history.touched, strict=True):
        if not 0 < len(files) <= MAX_FILES:
            yield commit, b""
            continue
        message = without_trailers(whole)
        terms = Counter(text.terms(message))
        paths = [names[file] for file in files]
        counts = np.minimum(np.fromiter(terms.values(), np.int64, len(terms)), 65_535).astype(np.uint16)
        told = np.array([at, says_fix(whole)], dtype=np.int64)
        yield commit, pack([list(terms), references(message), paths], [counts, told])


def history_of_commits(order: Sequence[str], payloads: Mapping[str, bytes], paths: Names) -> HistoryIndex:
    """Commit messages as documents; the commits that say that they fix a bug stand in for fixed reports.

    ``order`` are the ids of all commits, by their number in the history. Raises ValueError for a payload that is none.
    """
    documents, fixes = [], []
    for number, commit in enumerate(order):
        if not (payload := payloads.get(commit)):
            continue
        (terms, named, files), (counts, (at, fix)) = unpack(payload, 3)
        touched = tuple(paths.id(path) for path in files)
        said = Counter(dict(zip(terms, counts.tolist(), strict=True)))
        document = Document(commit, int(at), number, commit, said, touched, tuple(f"#{name}" for name in named))
        documents.append(document)
        if fix:
            fixes.append(document)
    return HistoryIndex(Documents.collect(documents), Documents.collect(fixes))


def report_documents(cases: Iterable[Case], history: History, paths: Names) -> Documents:
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
            tuple(dict.fromkeys(frame_name(frame) for frame in traces.frames(case.report.description))),
        )
        for case in cases
        if case.fix_commit
    )


def build_history(history: History, cases: Sequence[Case], paths: Names) -> HistoryIndex:
    """Commit messages and fixed reports; without known fixes the commits that fix bugs stand in for reports."""
    made = history_of_commits(history.ids, dict(commit_payloads(history)), paths)
    if cases and not any(case.fix_commit for case in cases):
        return made
    return HistoryIndex(made.commits, report_documents(cases, history, paths))
