"""Dated texts about files: commit messages and fixed reports, as inverted lists with the files that each touched.

Letters in shapes: D documents, V terms, E (document, file) pairs, N paths.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from tosloc.arrays import Array, Arrays, check_numbers, check_starts, checked, pack_strings, prefixed, unpack_strings
from tosloc.index.bm25 import length_norm, saturated
from tosloc.index.postings import (
    K1,
    B,
    Postings,
    idf,
    known_terms,
    leaders,
    ranges,
    row_sums,
    stable_order,
    starts_of,
    summed,
)
from tosloc.records import TIMES, BoolArray, FloatArray, IntArray, LongArray

DAY = 86_400.0
_REMEMBERED: Final = 1 << 22
"""Groups of remembered terms, all together: 64 MB."""
_DENSE: Final = 10
"""Members are counted group by group where there are more than one in so many groups."""
FEW: Final = 10
"""So many more documents, which hold no term, are thought of where it is asked how rare a term is: few tell little."""


@dataclass(frozen=True, eq=False)
class Membership:
    """How much of each of D documents belongs to each of G groups, document by document."""

    groups: int
    """G"""
    starts: LongArray
    """(D+1,) the groups of document d are ``members[starts[d]:starts[d + 1]]``."""
    members: IntArray
    """(E,) numbers of groups."""
    shares: FloatArray | None = None
    """(E,) None where each is 1."""

    @cached_property
    def document(self) -> LongArray:
        """(E,) document of each member."""
        return np.repeat(np.arange(len(self.starts) - 1, dtype=np.int64), np.diff(self.starts))

    def totals(self, of_documents: FloatArray) -> FloatArray:
        """(G,) sum of the documents' values, each times its share."""
        values = of_documents[self.document]
        return summed(self.members, values if self.shares is None else self.shares * values, self.groups)

    def totals_of(self, documents: IntArray, values: FloatArray) -> tuple[LongArray, FloatArray]:
        """The same of some documents alone, with their values: the groups that have any (n,), rising, and their sums.

        What it takes follows the documents, not the groups.
        """
        chosen = ranges(self.starts[documents], self.starts[documents + 1])
        spread, positions = np.repeat(values, chosen.sizes), chosen.positions
        if self.shares is not None:
            spread *= self.shares[positions]
        members = self.members[positions]
        if len(members) * _DENSE > self.groups:
            sums = summed(members, spread, self.groups)
            held = np.flatnonzero(sums)
            return held, sums[held]
        held, places = np.unique(members, return_inverse=True)
        sums = summed(places, spread, len(held))
        return held[sums != 0].astype(np.int64), sums[sums != 0]


@dataclass(frozen=True, slots=True)
class Document:
    """One text with what it touched."""

    id: str
    at: int
    """When it became known, seconds since 1970: the committer time of the commit or fix."""
    commit: int
    """Number of its commit in the history, which tells whether a version contains it."""
    commit_id: str
    terms: Counter[str]
    paths: tuple[int, ...]
    classes: tuple[str, ...] = ()
    """What it names: of a report the classes of its stack frames, of a commit "#" and the bugs that it mentions."""


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents in order of time, as arrays. A fixed report and a commit message are both documents."""

    ids: Sequence[str]
    times: LongArray
    commits: LongArray
    """(D,) number of each one's commit in the history that they were collected from."""
    commit_ids: Sequence[str]
    vocabulary: Sequence[str]
    starts: LongArray
    terms: IntArray
    counts: npt.NDArray[np.uint16]
    file_starts: LongArray
    files: IntArray
    sizes: FloatArray
    """(D,) k, the number of files that each document touched, whether or not they still exist."""
    classes: Sequence[tuple[str, ...]]

    @classmethod
    def collect(cls, documents: Iterable[Document]) -> Documents:
        """Arrays of the documents that touched a file, ordered by time, then commit, then id."""
        ordered = sorted((d for d in documents if d.paths), key=lambda d: (d.at, d.commit, d.id))
        vocabulary = tuple(sorted({term for document in ordered for term in document.terms}))
        numbers = {term: number for number, term in enumerate(vocabulary)}
        counted = [sorted((numbers[term], count) for term, count in d.terms.items()) for d in ordered]
        files = [sorted(set(d.paths)) for d in ordered]
        return cls(
            ids=tuple(d.id for d in ordered),
            times=np.array([d.at for d in ordered], dtype=np.int64),
            commits=np.array([d.commit for d in ordered], dtype=np.int64),
            commit_ids=tuple(d.commit_id for d in ordered),
            vocabulary=vocabulary,
            starts=starts_of([len(terms) for terms in counted]),
            terms=np.array([number for terms in counted for number, _ in terms], dtype=np.int32),
            counts=np.array([min(count, 65_535) for terms in counted for _, count in terms], dtype=np.uint16),
            file_starts=starts_of([len(paths) for paths in files]),
            files=np.array([path for paths in files for path in paths], dtype=np.int32),
            sizes=np.array([len(paths) for paths in files], dtype=np.float64),
            classes=tuple(d.classes for d in ordered),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def term_ids(self) -> Mapping[str, int]:
        """Term -> number."""
        return {term: number for number, term in enumerate(self.vocabulary)}

    @cached_property
    def by_id(self) -> Mapping[str, list[int]]:
        """Of each id the documents that have it, in order."""
        found: dict[str, list[int]] = {}
        for number, name in enumerate(self.ids):
            found.setdefault(name, []).append(number)
        return found

    @cached_property
    def naming(self) -> Mapping[str, list[int]]:
        """Of each name among ``classes`` the documents that hold it, in order."""
        found: dict[str, list[int]] = {}
        for number, names in enumerate(self.classes):
            for name in names:
                found.setdefault(name, []).append(number)
        return found

    @cached_property
    def postings(self) -> Postings:
        """Documents of each term."""
        return Postings.invert(self.starts, self.terms, len(self.vocabulary))

    @cached_property
    def posting_counts(self) -> FloatArray:
        """(P,) term frequency of each posting."""
        return self.counts[self.postings.origin].astype(np.float64)

    @cached_property
    def posting_weights(self) -> FloatArray:
        """(P,) 1 + ln tf of each posting."""
        weights: FloatArray = 1.0 + np.log(self.posting_counts)
        return weights

    @cached_property
    def of_files(self) -> tuple[LongArray, LongArray]:
        """Positions of the (document, file) pairs by file, in order within each, and where each file's start."""
        order = np.argsort(self.files, kind="stable").astype(np.int64)
        return order, starts_of(np.bincount(self.files))

    def of_file(self, number: int) -> LongArray:
        """The documents that touched the file with this number, in their order."""
        order, starts = self.of_files
        pairs = order[starts[number] : starts[number + 1]] if number + 1 < len(starts) else order[:0]
        holders: LongArray = self.pair_document[pairs]
        return holders

    def take(self, chosen: LongArray) -> Documents:
        """The given documents alone, in their order."""
        pairs = ranges(self.file_starts[chosen], self.file_starts[chosen + 1])
        terms = ranges(self.starts[chosen], self.starts[chosen + 1])
        listed = chosen.tolist()
        ids, commit_ids = list(self.ids), list(self.commit_ids)
        return Documents(
            tuple(ids[d] for d in listed),
            self.times[chosen],
            self.commits[chosen],
            tuple(commit_ids[d] for d in listed),
            self.vocabulary,
            starts_of(terms.sizes),
            self.terms[terms.positions],
            self.counts[terms.positions],
            starts_of(pairs.sizes),
            self.files[pairs.positions],
            self.sizes[chosen],
            tuple(self.classes[d] for d in listed),
        )

    def with_files_in_order(self) -> Documents:
        """The same with the files of each document in the order of their numbers."""
        width = int(self.files.max(initial=0)) + 1
        keys = self.pair_document * width + self.files
        return dataclasses.replace(self, files=self.files[stable_order(keys, len(self) * width)])

    def renumbered(self, numbers: IntArray) -> Documents:
        """The same documents with file f called numbers[f], and pairs with numbers[f] < 0 left out."""
        new = numbers[self.files]
        kept = new >= 0
        return dataclasses.replace(
            self, file_starts=starts_of(kept)[self.file_starts], files=new[kept].astype(np.int32)
        )

    @cached_property
    def pair_document(self) -> LongArray:
        """(E,) document of each (document, file) pair."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.file_starts))

    @cached_property
    def lengths(self) -> FloatArray:
        """(D,) number of terms of each document."""
        return row_sums(self.counts, self.starts)

    @cached_property
    def term_document(self) -> LongArray:
        """(P,) document of each of ``terms``."""
        return np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.starts))

    @cached_property
    def log_counts_squared(self) -> FloatArray:
        """(P,) square of 1 + ln tf of each of ``terms``."""
        squares: FloatArray = (1.0 + np.log(self.counts)) ** 2
        return squares

    def incidence(self, paths: int) -> Membership:
        """Each document's files among ``paths`` (N), with 1/sqrt(k)."""
        return Membership(paths, self.file_starts, self.files, 1.0 / np.sqrt(self.sizes[self.pair_document]))

    def remember(
        self,
        term_ids: Mapping[str, int],
        postings: Postings,
        posting_counts: FloatArray,
        of_files: tuple[LongArray, LongArray],
    ) -> None:
        """Take over what was computed of these very documents before."""
        vars(self).update(term_ids=term_ids, postings=postings, posting_counts=posting_counts, of_files=of_files)

    def to_arrays(self) -> Arrays:
        """Plain arrays, for ``from_arrays``."""
        return {
            **{name: getattr(self, name) for name in PLAIN_FIELDS},
            "class_sizes": np.array([len(names) for names in self.classes], dtype=np.int32),
            **prefixed("ids", pack_strings(self.ids)),
            **prefixed("commit_ids", pack_strings(self.commit_ids)),
            **prefixed("vocabulary", pack_strings(self.vocabulary)),
            **prefixed("classes", pack_strings([name for names in self.classes for name in names])),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Documents:
        """Documents from ``to_arrays``. Raises KeyError or ValueError when the arrays are no documents."""
        names = unpack_strings(arrays, "classes")
        sizes = checked(arrays, "class_sizes", np.int32, None)
        ends = np.cumsum(sizes, dtype=np.int64)
        check_starts(np.concatenate((np.zeros(1, dtype=np.int64), ends)), len(names), "class_sizes")
        made = cls(
            ids=unpack_strings(arrays, "ids"),
            commit_ids=unpack_strings(arrays, "commit_ids"),
            vocabulary=unpack_strings(arrays, "vocabulary"),
            classes=tuple(names[start:end] for start, end in pairwise([0, *ends.tolist()])),
            **{name: checked(arrays, name, dtype, None) for name, dtype in PLAIN_FIELDS.items()},  # type: ignore[arg-type]
        )
        made.check()
        return made

    def check(self) -> None:
        """Raise ValueError unless the arrays are as long as each other says, and no number means nothing."""
        D = len(self)
        if {D} != {len(part) for part in (self.times, self.commits, self.commit_ids, self.sizes, self.classes)}:
            raise ValueError("documents are counted wrongly")
        if {D + 1} != {len(self.starts), len(self.file_starts)} or len(self.counts) != len(self.terms):
            raise ValueError("documents are counted wrongly")
        check_starts(self.starts, len(self.terms), "starts")
        check_starts(self.file_starts, len(self.files), "file_starts")
        check_numbers(self.terms, len(self.vocabulary), "terms")
        check_numbers(self.counts, np.inf, "counts", least=1)
        check_numbers(self.commits, np.inf, "commits")
        check_numbers(self.files, np.inf, "files")
        check_numbers(self.sizes, np.inf, "sizes", least=1)
        check_numbers(self.times, TIMES.stop, "times", least=TIMES.start)
        if (self.times[1:] < self.times[:-1]).any():
            raise ValueError("documents are not in order of time")


PLAIN_FIELDS: Final[Mapping[str, type[np.generic]]] = {
    "times": np.int64,
    "commits": np.int64,
    "starts": np.int64,
    "terms": np.int32,
    "counts": np.uint16,
    "file_starts": np.int64,
    "files": np.int32,
    "sizes": np.float64,
}
"""Fields of documents that are stored as they are, and their types."""


class DocumentsView:
    """The documents known as of one time in one version, with the statistics of these alone.

    Document frequencies are updated from those of ``previous``, another view of the same documents.
    """

    def __init__(self, documents: Documents, known: BoolArray, previous: DocumentsView | None = None) -> None:
        self.documents, self.known = documents, known
        self.number = int(known.sum())
        terms = len(documents.vocabulary)
        was_known = np.zeros(len(documents), dtype=bool) if previous is None else previous.known
        frequency = np.zeros(terms, dtype=np.int64) if previous is None else previous.frequency
        changed = np.flatnonzero(known != was_known)
        chosen = ranges(documents.starts[changed], documents.starts[changed + 1])
        change = summed(chosen.take(documents.terms), chosen.spread(np.where(known[changed], 1.0, -1.0)), terms)
        self.frequency: LongArray = frequency + change.round().astype(np.int64)

    @classmethod
    def of_all(cls, documents: Documents, frequency: LongArray, norms: FloatArray) -> DocumentsView:
        """The view of all documents, from what was computed of it before."""
        made = cls.__new__(cls)
        made.documents, made.known = documents, np.ones(len(documents), dtype=bool)
        made.number, made.frequency = len(documents), frequency
        vars(made)["norms"] = norms
        return made

    @cached_property
    def idf(self) -> FloatArray:
        """(V,) BM25's inverse document frequency over the known documents."""
        return idf(self.number, self.frequency)

    def known_terms(self, weights: Mapping[str, float]) -> tuple[LongArray, FloatArray]:
        """Numbers of the query terms that occur in any document, known or not, and their weights times IDF."""
        terms, weight = known_terms(self.documents.term_ids, weights)
        return terms, weight * self.idf[terms]

    def rarity(self, term: str) -> float:
        """ln((n + 10) / (df + 1)) / ln(n + 10): 1 for a term of no known document, towards 0 for one of all of many."""
        rarity = self._rarities.get(term)
        if rarity is None:
            number = self.documents.term_ids.get(term)
            frequency = 0 if number is None else int(self.frequency[number])
            rarity = math.log((self.number + FEW) / (frequency + 1)) / math.log(self.number + FEW)
            self._rarities[term] = rarity
        return rarity

    @cached_property
    def _rarities(self) -> dict[str, float]:
        return {}

    @cached_property
    def norms(self) -> FloatArray:
        """(D,) lengths of the documents' (1 + ln tf) IDF vectors."""
        documents = self.documents
        squares = documents.log_counts_squared * (self.idf**2)[documents.terms]
        lengths: FloatArray = np.sqrt(np.maximum(summed(documents.term_document, squares, len(documents)), 1e-12))
        return lengths

    def similarities(self, weights: Mapping[str, float]) -> FloatArray:
        """(D,) cosine between the report and each known document, both (1 + ln tf) IDF; 0 for unknown ones."""
        documents = self.documents
        terms, query = self.known_terms(weights)
        chosen = documents.postings.select(terms)
        rows = chosen.take(documents.postings.rows)
        # unknown words of the report lengthen its vector alike for every document: they change no order
        length = float(np.sqrt((query**2).sum())) or 1.0
        values = chosen.take(documents.posting_weights) * chosen.spread(query * self.idf[terms])
        dots = summed(rows, values, len(documents))
        return np.where(self.known, dots / (self.norms * length), 0.0)

    def nearest(self, similarities: FloatArray, number: int) -> LongArray:
        """Documents with the largest similarities above 0, at most ``number``, nearest first; ties: latest first."""
        nearest: LongArray = len(similarities) - 1 - leaders(similarities[::-1], number)
        return nearest[similarities[nearest] > 0]

    @cached_property
    def latest(self) -> FloatArray:
        """When a known document last touched each file, seconds since 1970, up to the last file that any touched."""
        documents = self.documents
        latest = np.full(int(documents.files.max(initial=-1)) + 1, -np.inf)
        pairs = np.flatnonzero(self.known[documents.pair_document])
        # documents are in order of time: of repeated files the last assignment stands
        latest[documents.files[pairs]] = documents.times[documents.pair_document[pairs]]
        return latest

    @cached_property
    def touch_counts(self) -> FloatArray:
        """How many known documents touched each file, up to the last file that any touched."""
        return summed(self.documents.files, self.known[self.documents.pair_document].astype(np.float64), 0)

    @cached_property
    def touch_shares(self) -> FloatArray:
        """The same with 1/sqrt(k) for each."""
        documents = self.documents
        return summed(documents.files, (self.known / np.sqrt(documents.sizes))[documents.pair_document], 0)

    def spread(self, documents: LongArray, values: FloatArray, paths: int) -> FloatArray:
        """(N,) sum of the documents' values over the files that they touched."""
        source = self.documents
        chosen = ranges(source.file_starts[documents], source.file_starts[documents + 1])
        return summed(chosen.take(source.files), chosen.spread(values), paths)


class AggregatedDocuments:
    """Known documents as one long text for each of G groups: of a file, or of all files whose names share a term.

    ``groups`` says how much of a document belongs to each group.
    """

    def __init__(self, view: DocumentsView, groups: Membership) -> None:
        self.view, self.groups = view, groups
        self._known: dict[int, tuple[LongArray, FloatArray]] = {}
        self._known_size = 0
        self._floor: tuple[BoolArray, FloatArray] | None = None

    @cached_property
    def lengths(self) -> FloatArray:
        """(G,) terms of each text."""
        return self.groups.totals(self.view.documents.lengths * self.view.known)

    def bm25(self, terms: LongArray, weights: Sequence[FloatArray], present: BoolArray) -> list[FloatArray]:
        """(G,) BM25 of the texts, one for each of several weightings (T,) of the same terms: query weight x IDF.

        The average length is taken over the groups that are ``present`` (G,) in the searched version.
        """
        if self._floor is None or self._floor[0] is not present:
            filled = present & (self.lengths > 0)
            average = float(self.lengths[filled].mean()) if filled.any() else 1.0
            self._floor = present, length_norm(self.lengths, average, K1, B)
            self._known, self._known_size = {}, 0
        floor = self._floor[1]
        found = [self._saturated(term, floor) for term in terms.tolist()]
        if not found:
            return [np.zeros(self.groups.groups) for _ in weights]
        held, values = np.concatenate([one for one, _ in found]), np.concatenate([value for _, value in found])
        sizes = [len(one) for one, _ in found]
        return [summed(held, values * np.repeat(weight, sizes), self.groups.groups) for weight in weights]

    def _saturated(self, term: int, floor: FloatArray) -> tuple[LongArray, FloatArray]:
        """Groups whose texts hold a term, and its saturated frequency; remembered, since queries share their terms."""
        found = self._known.get(term)
        if found is None:
            documents, postings = self.view.documents, self.view.documents.postings
            start, end = int(postings.starts[term]), int(postings.starts[term + 1])
            rows = postings.rows[start:end]
            seen = self.view.known[rows]
            held, frequency = self.groups.totals_of(rows[seen], documents.posting_counts[start:end][seen])
            found = held, saturated(frequency, floor[held], K1)
            if self._known_size > _REMEMBERED:
                self._known, self._known_size = {}, 0
            self._known[term] = found
            self._known_size += len(held)
        return found
