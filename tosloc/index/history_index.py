"""What a project's history says about its files, as of one time: nothing later than the report's opening is seen.

Letters in shapes: D documents, E (document, file) pairs, N paths, U file-name terms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tosloc.arrays import Array, Arrays, check_numbers, pack_strings, prefixed, under, unpack_strings
from tosloc.index.documents import DAY, AggregatedDocuments, Documents, DocumentsView, Membership
from tosloc.index.paths import PathTable
from tosloc.index.postings import ranges, stable_order, starts_of, summed
from tosloc.records import BoolArray, FloatArray, LongArray


class HistoryIndex:
    """Commit messages and fixed reports of a project with the files that they touched.

    What was computed last is kept: reports that are asked about one after the other know much the same documents.
    """

    def __init__(self, commits: Documents, reports: Documents) -> None:
        self.commits, self.reports = commits, reports
        self._views: dict[int, DocumentsView] = {}
        self._incidence: dict[tuple[int, int], Membership] = {}
        self._name_incidence: tuple[int, Membership] | None = None
        self._aggregated: dict[tuple[int, int], AggregatedDocuments] = {}
        self._last: HistoryAsOf | None = None

    def remember(self, commits: DocumentsView, reports: DocumentsView) -> None:
        """Take over views that were computed of these documents before."""
        self._views = {id(self.commits): commits, id(self.reports): reports}

    def remember_names(self, table: PathTable, names: Membership) -> None:
        """Take over the ``name_incidence`` of a table."""
        self._name_incidence = (id(table), names)

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
        key = (id(documents), paths)
        if key not in self._incidence:
            self._incidence[key] = documents.incidence(paths)
        return self._incidence[key]

    def name_incidence(self, table: PathTable) -> Membership:
        """1 of a commit to each of the U terms that a name of its files holds."""
        if self._name_incidence is None or self._name_incidence[0] != id(table):
            commits, terms = self.commits, len(table.term_ids)
            starts = starts_of(np.bincount(table.name_rows, minlength=len(table)))
            chosen = ranges(starts[commits.files], starts[commits.files + 1])
            names = chosen.take(table.name_term_list).astype(np.int64)
            # each term of a commit once, in order
            keys = np.repeat(commits.pair_document, chosen.sizes) * max(terms, 1) + names
            keys = keys[stable_order(keys, len(commits) * max(terms, 1))]
            found = keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys
            documents, members = np.divmod(found, max(terms, 1))
            numbers = starts_of(np.bincount(documents, minlength=len(commits)))
            self._name_incidence = (id(table), Membership(terms, numbers, members.astype(np.int32)))
        return self._name_incidence[1]

    def view(self, documents: Documents, known: BoolArray) -> DocumentsView:
        """Statistics of the known documents, updated from those last asked for."""
        last = self._views.get(id(documents))
        if last is None or not np.array_equal(last.known, known):
            last = self._views[id(documents)] = DocumentsView(documents, known, last)
        return last

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

        last = self._last
        if last is not None and last.opened == opened and contained is None and last.of_all:
            return last

        def view(documents: Documents) -> DocumentsView:
            known: BoolArray = documents.times < opened
            if contained is not None:
                known &= contained[documents.commits]
            return self.view(documents, known)

        made = HistoryAsOf(self, opened, view(self.commits), view(self.reports), contained is None)
        self._last = made
        return made


@dataclass(eq=False)
class HistoryAsOf:
    """The history that was known when a report was opened."""

    index: HistoryIndex
    opened: float
    """Seconds since 1970."""
    commits: DocumentsView
    reports: DocumentsView
    of_all: bool = False
    """Whether all documents before the opening are known, whatever the searched version contains."""
    _decayed: dict[tuple[int, float], FloatArray] = field(default_factory=dict)
    _of_paths: dict[tuple[str, float, int], FloatArray] = field(default_factory=dict)
    """What depends on no report but by its opening: many are asked as if opened at the same time."""

    def ages(self, view: DocumentsView) -> FloatArray:
        """(D,) days between each document and the report's opening, never negative."""
        days: FloatArray = np.maximum(self.opened - view.documents.times, 0.0) / DAY
        return days

    def decayed(self, view: DocumentsView, days: float) -> FloatArray:
        """(D,) exp(-age / days), 0 for unknown documents."""
        key = (id(view), days)
        weight = self._decayed.get(key)
        if weight is None:
            weight = self._decayed[key] = np.where(view.known, np.exp(-self.ages(view) / days), 0.0)
        return weight

    def activity(self, days: float, paths: int) -> FloatArray:
        """(N,) ln(1 + sum over a file's commits of exp(-age/days)/sqrt(k)); infinite ``days`` counts all alike."""
        key = ("activity", days, paths)
        found = self._of_paths.get(key)
        if found is None:
            view, documents = self.commits, self.commits.documents
            total = np.zeros(paths)
            if math.isinf(days):
                total[: len(view.touch_shares)] = view.touch_shares
            else:
                values = self.decayed(view, days) / np.sqrt(documents.sizes)
                total += summed(documents.files, values[documents.pair_document], paths)
            found = self._of_paths[key] = np.log1p(total, out=total)
        return found

    def last_touch(self, view: DocumentsView, paths: int) -> FloatArray:
        """(N,) days since the last known document that touched each file; infinite if none did."""
        latest = np.full(paths, -np.inf)
        latest[: len(view.latest)] = view.latest
        days: FloatArray = np.maximum(self.opened - latest, 0.0) / DAY
        return days

    def fixes(self, paths: int) -> FloatArray:
        """(N,) number of known fixed reports that each file was part of."""
        number = np.zeros(paths)
        number[: len(self.reports.touch_counts)] = self.reports.touch_counts
        return number

    def frame_rarity(self, qualified: str) -> float:
        """ln((n + 2) / (df + 1)) / ln(n + 2): 1 for a class in no earlier trace, towards 0 for one in all.

        n known reports, df of whose traces hold the class.
        """
        number, known = self.reports.number, self.reports.known
        frequency = sum(bool(known[one]) for one in self.reports.documents.naming.get(qualified, ()))
        return math.log((number + 2) / (frequency + 1)) / math.log(number + 2)

    def co_change(self, files: LongArray, shares: FloatArray, paths: int, days: float = 730.0) -> FloatArray:
        """(N,) sum over the given files j of share_j x P(a commit that touches j touches the file).

        The probability weighs a commit by exp(-age/days)/sqrt(k); a file gives nothing to itself.
        """
        view = self.commits
        documents = view.documents
        weight = self.decayed(view, days) / np.sqrt(documents.sizes)
        # only commits that touch a given file count: far fewer than all, and summed in the same order
        order, starts = documents.of_files
        last = len(starts) - 1
        touching = ranges(starts[np.minimum(files, last)], starts[np.minimum(files + 1, last)])
        pairs = np.sort(touching.take(order))
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
