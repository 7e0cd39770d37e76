"""What a project's history says about its files, as of one time: nothing later than the report's opening is seen.

Letters in shapes: D documents, E (document, group) pairs, G groups, N paths, T terms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tosloc.arrays import Array, Arrays, check_numbers, pack_strings, prefixed, under, unpack_strings
from tosloc.index.bm25 import length_norm, saturated
from tosloc.index.documents import DAY, Documents, DocumentsView
from tosloc.index.paths import PathTable
from tosloc.index.postings import K1, B, ranges, row_sums, stable_order, starts_of, summed
from tosloc.records import BoolArray, FloatArray, IntArray, LongArray

_REMEMBERED = 2_000
"""Terms of which it is remembered who holds them."""


@dataclass(frozen=True, eq=False)
class Membership:
    """How much of each of D documents belongs to each of G groups, document by document."""

    groups: int
    """G"""
    starts: LongArray
    """(D+1,) the groups of document d are ``members[starts[d]:starts[d + 1]]``."""
    members: IntArray
    """(E,) numbers of groups."""
    shares: FloatArray
    """(E,)"""

    def totals(self, documents: IntArray, values: FloatArray) -> FloatArray:
        """(G,) sum of the values of some documents, each times its share."""
        chosen = ranges(self.starts[documents], self.starts[documents + 1])
        return summed(chosen.take(self.members), chosen.spread(values) * chosen.take(self.shares), self.groups)


class AggregatedDocuments:
    """Known documents as one long text for each of G groups: of a file, or of all files whose names share a term.

    ``groups`` says how much of a document belongs to each group.
    """

    def __init__(self, view: DocumentsView, groups: Membership) -> None:
        self.view, self.groups = view, groups
        documents = view.documents
        of_documents = row_sums(documents.counts, documents.starts) * view.known
        self.lengths = groups.totals(np.arange(len(documents), dtype=np.int32), of_documents)
        """(G,) terms of each text."""
        self._present: BoolArray | None = None

    def bm25(self, terms: LongArray, weights: Sequence[FloatArray], present: BoolArray) -> list[FloatArray]:
        """(G,) BM25 of the texts, one for each of several weightings (T,) of the same terms: query weight x IDF.

        The average length is taken over the groups that are ``present`` (G,) in the searched version.
        """
        if self._present is not present:
            filled = present & (self.lengths > 0)
            average = float(self.lengths[filled].mean()) if filled.any() else 1.0
            self._present, self._norm = present, length_norm(self.lengths, average, K1, B)
            self._known: dict[int, tuple[LongArray, FloatArray]] = {}
        found = [self._saturated(term) for term in terms.tolist()]
        if not found:
            return [np.zeros(self.groups.groups) for _ in weights]
        held, values = np.concatenate([held for held, _ in found]), np.concatenate([value for _, value in found])
        sizes = [len(held) for held, _ in found]
        return [summed(held, values * np.repeat(weight, sizes), self.groups.groups) for weight in weights]

    def _saturated(self, term: int) -> tuple[LongArray, FloatArray]:
        """Groups whose texts hold a term, and its saturated frequency; remembered, since queries share their terms."""
        if term not in self._known:
            postings = self.view.documents.postings
            part = slice(*postings.starts[term : term + 2].tolist())
            rows = postings.rows[part]
            seen = self.view.known[rows]
            frequency = self.groups.totals(rows[seen], postings.values[part][seen].astype(np.float64))
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
        self._views: dict[int, DocumentsView] = {}
        self._memberships: dict[int, Membership] = {}
        self._aggregated: dict[tuple[int, int], AggregatedDocuments] = {}
        self._last: HistoryAsOf | None = None

    def to_arrays(self, paths: Sequence[str]) -> Arrays:
        """Plain arrays, for ``from_arrays``, with the paths that the numbers of files mean."""
        return {
            **prefixed("paths", pack_strings(paths)),
            **prefixed("commits", self.commits.to_arrays()),
            **prefixed("reports", self.reports.to_arrays()),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> tuple[HistoryIndex, tuple[str, ...]]:
        """History and its paths from ``to_arrays``. Raises KeyError or ValueError when the arrays are no history."""
        commits, reports = (Documents.from_arrays(under(name, arrays)) for name in ("commits", "reports"))
        paths = unpack_strings(arrays, "paths")
        for documents in (commits, reports):
            check_numbers(documents.files, len(paths), "files")
        return cls(commits, reports), paths

    def incidence(self, documents: Documents, paths: int) -> Membership:
        """1/sqrt(k) of a document to each of the N files that it touched."""
        last = self._memberships.get(id(documents))
        if last is None or last.groups != paths:
            shares = 1.0 / np.sqrt(documents.sizes[documents.pair_document])
            last = self._memberships[id(documents)] = Membership(paths, documents.file_starts, documents.files, shares)
        return last

    def name_incidence(self, table: PathTable) -> Membership:
        """1 of a commit to each of the terms that a name of its files holds."""
        if id(table) not in self._memberships:
            commits, terms = self.commits, max(len(table.term_ids), 1)
            rows, name_terms = table.name_terms
            starts = starts_of(np.bincount(rows, minlength=len(table)))
            chosen = ranges(starts[commits.files], starts[commits.files + 1])
            # each term of a commit once, in order
            keys = np.repeat(commits.pair_document, chosen.sizes) * terms + chosen.take(name_terms)
            keys = keys[stable_order(keys, len(commits) * terms)]
            documents, members = np.divmod(keys[np.diff(keys, prepend=-1) > 0], terms)
            numbers = starts_of(np.bincount(documents, minlength=len(commits)))
            made = Membership(len(table.term_ids), numbers, members.astype(np.int32), np.ones(len(members)))
            self._memberships[id(table)] = made
        return self._memberships[id(table)]

    def aggregated(self, view: DocumentsView, groups: Membership) -> AggregatedDocuments:
        """The known documents, aggregated by the groups; the same object as long as the same documents are known."""
        key = (id(view.documents), id(groups))
        last = self._aggregated.get(key)
        if last is None or last.view is not view:
            last = self._aggregated[key] = AggregatedDocuments(view, groups)
        return last

    def as_of(self, opened: float, contained: BoolArray | None = None) -> HistoryAsOf:
        """The history strictly before ``opened`` (seconds since 1970).

        ``contained`` (commits of the history,) tells which commits the searched version contains; None: all of them.
        A report's own fix is never contained in its before-fix version, whatever the clocks say.
        """
        if contained is None and self._last is not None and self._last.opened == opened:
            return self._last

        def view(documents: Documents) -> DocumentsView:
            known: BoolArray = documents.times < opened
            if contained is not None:
                known &= contained[documents.commits]
            last = self._views.get(id(documents))
            if last is None or not np.array_equal(last.known, known):
                last = self._views[id(documents)] = DocumentsView(documents, known)
            return last

        made = HistoryAsOf(self, opened, view(self.commits), view(self.reports))
        self._last = made if contained is None else None
        return made


@dataclass(eq=False)
class HistoryAsOf:
    """The history that was known when a report was opened."""

    index: HistoryIndex
    opened: float
    """Seconds since 1970."""
    commits: DocumentsView
    reports: DocumentsView
    _decayed: dict[tuple[int, float], FloatArray] = field(default_factory=dict)
    _activity: dict[tuple[float, int], FloatArray] = field(default_factory=dict)
    """What depends on no report but by its opening: many are asked as if opened at the same time."""

    def decayed(self, view: DocumentsView, days: float) -> FloatArray:
        """(D,) exp(-age / days), 0 for unknown documents; ages are days before the report's opening."""
        key = (id(view), days)
        if key not in self._decayed:
            ages = np.maximum(self.opened - view.documents.times, 0.0) / DAY
            self._decayed[key] = np.where(view.known, np.exp(-ages / days), 0.0)
        return self._decayed[key]

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
        days: FloatArray = np.maximum(self.opened - latest, 0.0) / DAY
        return days

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
