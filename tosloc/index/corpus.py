"""Facts of many blobs as inverted lists, and one version as a selection of their rows.

Letters in shapes: B blobs, V terms, P postings, C chunks, Q chunk postings, F files of a version.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import InitVar, dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tosloc.analysis.analyser import FIELDS
from tosloc.analysis.languages import language_of
from tosloc.arrays import Array, Arrays, check_numbers, check_starts, checked
from tosloc.index.names import NameNumbers, PackedNames, by_number
from tosloc.index.postings import AT_ONCE, Postings, idf, ranges, splice, starts_of, stretches, summed
from tosloc.mapped_arrays import Scratch, release_pages
from tosloc.records import Float32Array, FloatArray, IntArray, LongArray, Snapshot, first_paths

if TYPE_CHECKING:
    from tosloc.analysis.fact_table import FactTable
    from tosloc.analysis.store import FactStore

TableSource: TypeAlias = "Callable[[Sequence[str]], FactTable]"
"""Blobs -> their facts, in this order."""
CODE, COMMENT, STRING, METHOD, TYPE, FIELD = (FIELDS.index(name) for name in FIELDS)
ALL_TEXT = len(FIELDS)
"""Column of lengths and averages that stands for code + comment + string."""


class Corpus:
    """Inverted lists over the blobs of one or more versions; made once, shared by all their views."""

    def __init__(self, table: FactTable, scratch: Scratch | None = None) -> None:
        self._table: FactTable | TableSource = table
        self._rows: FactTable | None = table
        """The table whose numbers of terms are those of the lists; None where it is not at hand."""
        self.blobs: Sequence[str] = table.blobs
        """(B,)"""
        self.term_ids: Mapping[str, int] = {term: number for number, term in enumerate(table.vocabulary)}
        vocabulary = len(table.vocabulary)
        self.counts: npt.NDArray[np.uint16]
        """(P, 6) counts by ``FIELDS`` of each posting."""
        self.postings, self.counts = Postings.invert_with(table.starts, table.terms, vocabulary, table.counts, scratch)
        self.chunk_counts: npt.NDArray[np.uint8]
        """(Q,)"""
        self.chunk_postings, self.chunk_counts = Postings.invert_with(
            table.chunk_posting_starts, table.chunk_terms, vocabulary, table.chunk_counts, scratch
        )
        self.chunk_starts = table.chunk_starts
        """(B + 1,) the chunks of blob b are ``chunk_starts[b]`` to ``chunk_starts[b + 1]``."""
        self.complexity, self.lines, self.parsed = table.complexity, table.lines, table.parsed
        """(B,)"""
        self._frequency = np.zeros(vocabulary, dtype=np.int64)
        self._multiplicity = np.zeros(len(table.blobs), dtype=np.int64)

    @property
    def table(self) -> FactTable:
        """The facts blob by blob, with a vocabulary of their own; of a kept version they are read from the store."""
        if callable(self._table):
            self._table = self._table(list(self.blobs))
        return self._table

    @cached_property
    def row_of_blob(self) -> Mapping[str, int]:
        """Blob -> its row."""
        return {blob: row for row, blob in enumerate(self.blobs)}

    @cached_property
    def vocabulary(self) -> Sequence[str]:
        """(V,) terms by number."""
        return by_number(self.term_ids)

    # ---- as arrays

    def to_arrays(self) -> Arrays:
        """Plain arrays, for ``from_arrays``."""
        terms = self.term_ids
        numbers = terms if isinstance(terms, NameNumbers) else NameNumbers.of(list(terms))
        arrays: Arrays = {name: getattr(self, name) for name in _ARRAYS}
        for name in ("postings", "chunk_postings"):
            lists = getattr(self, name)
            arrays |= {f"{name}.starts": lists.starts, f"{name}.rows": lists.rows}
        blobs = self.blobs if isinstance(self.blobs, PackedNames) else PackedNames.of(self.blobs)
        return {
            **arrays,
            **blobs.to_arrays("blobs"),
            **numbers.to_arrays("terms"),
            "lengths": self.lengths,
            "frequency": self._frequency,
            "multiplicity": self._multiplicity,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], table: TableSource) -> Corpus:
        """Lists from ``to_arrays``; ``table`` gives the same facts by blob, should they be wanted.

        Raises KeyError or ValueError when the arrays are no lists.
        """
        made = cls.__new__(cls)
        made._table, made._rows = table, None
        made.blobs = PackedNames.read(arrays, "blobs")
        made.term_ids = NameNumbers.read(arrays, "terms")
        B, V = len(made.blobs), len(made.term_ids)
        for name, (dtype, *more) in _ARRAYS.items():
            setattr(made, name, checked(arrays, name, dtype, None, *more))
        check_starts(made.chunk_starts, int(made.chunk_starts[-1]) if len(made.chunk_starts) else -1, "chunk_starts")
        rows_below = {"postings": B, "chunk_postings": int(made.chunk_starts[-1])}
        for name, below in rows_below.items():
            rows: npt.NDArray[np.int32] = checked(arrays, f"{name}.rows", np.int32, None)  # type: ignore[assignment]
            starts: npt.NDArray[np.int64] = checked(arrays, f"{name}.starts", np.int64, V + 1)  # type: ignore[assignment]
            check_starts(starts, len(rows), name)
            for start in range(0, len(rows), AT_ONCE):
                check_numbers(rows[start : start + AT_ONCE], below, name)
                release_pages(rows)
            setattr(made, name, Postings(starts, rows))
        made._frequency = checked(arrays, "frequency", np.int64, V)  # type: ignore[assignment]
        made._multiplicity = checked(arrays, "multiplicity", np.int64, B)  # type: ignore[assignment]
        fits = len(made.counts) == len(made.postings.rows) and len(made.chunk_counts) == len(made.chunk_postings.rows)
        if not fits or {len(made.chunk_starts) - 1, len(made.complexity), len(made.lines), len(made.parsed)} != {B}:
            raise ValueError("blobs are counted wrongly")
        if B and (np.diff(made.chunk_starts) < 1).any():
            raise ValueError("a blob has no chunk")
        check_numbers(made.term_ids.numbers, V, "terms")
        vars(made)["lengths"] = checked(arrays, "lengths", np.float64, B, len(FIELDS) + 1)
        return made

    def with_blobs(
        self, wanted: Sequence[str], new: Corpus, table: TableSource, scratch: Scratch | None = None
    ) -> Corpus:
        """The lists of ``wanted`` blobs, from these and, for those that are not here, from ``new``.

        As if all had been made at once, but for the order of rows and terms.
        """
        own, others = self.row_of_blob, new.row_of_blob
        kept = np.array([own[blob] for blob in wanted if blob in own], dtype=np.int64)
        added = np.array([others[blob] for blob in wanted if blob not in own], dtype=np.int64)
        row_of, row_of_new = np.full(len(self), -1, dtype=np.int32), np.full(len(new), -1, dtype=np.int32)
        kept.sort()  # both: what is looked up in a list stands in the order of rows
        added.sort()
        row_of[kept] = np.arange(len(kept), dtype=np.int32)
        row_of_new[added] = np.arange(len(kept), len(kept) + len(added), dtype=np.int32)
        terms = list(by_number(self.term_ids))
        ids = {term: number for number, term in enumerate(terms)}
        number_of_new = np.zeros(len(new.term_ids), dtype=np.int64)
        for number, term in enumerate(by_number(new.term_ids)):
            number_of_new[number] = ids.setdefault(term, len(ids))
        made = Corpus.__new__(Corpus)
        made._table, made._rows = table, None
        mine, theirs = list(self.blobs), list(new.blobs)
        made.blobs = [mine[row] for row in kept.tolist()] + [theirs[row] for row in added.tolist()]
        for name in ("complexity", "lines", "parsed"):
            setattr(made, name, np.concatenate((getattr(self, name)[kept], getattr(new, name)[added])))
        sizes = np.concatenate((np.diff(self.chunk_starts)[kept], np.diff(new.chunk_starts)[added]))
        made.chunk_starts = starts_of(sizes)
        chunk_of, chunk_of_new = _chunks(self, row_of, made), _chunks(new, row_of_new, made)
        postings, made.counts = _merged(
            (self.postings, self.counts, row_of),
            (new.postings, new.counts, row_of_new),
            number_of_new,
            len(ids),
            scratch or Scratch(),
        )
        chunks, made.chunk_counts = _merged(
            (self.chunk_postings, self.chunk_counts, chunk_of),
            (new.chunk_postings, new.chunk_counts, chunk_of_new),
            number_of_new,
            len(ids),
            scratch or Scratch(),
        )
        # a term that no file holds any more is none of this version's
        used = np.flatnonzero(np.diff(postings.starts) + np.diff(chunks.starts))
        terms = list(ids)
        made.term_ids = {terms[number]: place for place, number in enumerate(used.tolist())}
        made.postings = Postings(np.append(postings.starts[used], postings.starts[-1]), postings.rows)
        made.chunk_postings = Postings(np.append(chunks.starts[used], chunks.starts[-1]), chunks.rows)
        made._frequency = np.zeros(len(used), dtype=np.int64)
        made._multiplicity = np.zeros(len(made), dtype=np.int64)
        vars(made)["lengths"] = np.concatenate((self.lengths[kept], new.lengths[added]))
        return made

    def _count(self, multiplicity: LongArray) -> None:
        """Count document frequencies by term, when blob b stands in multiplicity[b] files."""
        counted = np.zeros(len(self._frequency), dtype=np.int64)
        for first, last, start, end in stretches(self.postings.starts):
            term = np.repeat(np.arange(last - first), np.diff(self.postings.starts[first : last + 1]))
            sums = summed(term, multiplicity[self.postings.rows[start:end]], last - first)
            counted[first:last] = sums.round()
        self._frequency, self._multiplicity = counted, multiplicity

    def __len__(self) -> int:
        return len(self.blobs)

    @cached_property
    def lengths(self) -> FloatArray:
        """(B, 7) terms of each blob by field, then in all of its text."""
        sums = np.zeros((len(self), len(FIELDS) + 1))
        for start in range(0, len(self.counts), AT_ONCE):  # sums of whole numbers, which are exact in any order
            rows, counts = self.postings.rows[start : start + AT_ONCE], self.counts[start : start + AT_ONCE]
            for column in range(len(FIELDS)):
                sums[:, column] += summed(rows, counts[:, column], len(self))
        sums[:, ALL_TEXT] = sums[:, CODE] + sums[:, COMMENT] + sums[:, STRING]
        return sums

    def document_frequency(self, multiplicity: LongArray) -> LongArray:
        """(V,) number of files that hold each term, when blob b stands in multiplicity[b] files.

        Consecutive versions differ in few blobs, so the last answer is updated, not counted again.
        """
        change = multiplicity - self._multiplicity
        rows = np.flatnonzero(change)
        if self._rows is None or 2 * len(rows) > len(self):
            # all of them are counted sooner than the facts are read, and than most of them are looked up
            if len(rows):
                self._count(multiplicity)
        elif len(rows):
            chosen = ranges(self._rows.starts[rows], self._rows.starts[rows + 1])
            amount = np.repeat(change[rows], chosen.sizes)
            terms = chosen.take(self._rows.terms)
            self._frequency = self._frequency + summed(terms, amount, len(self._frequency)).round().astype(np.int64)
            self._multiplicity = multiplicity
        return self._frequency


_ARRAYS: Final[Mapping[str, tuple[Any, ...]]] = {
    "counts": (np.uint16, len(FIELDS)),
    "chunk_counts": (np.uint8,),
    "chunk_starts": (np.int64,),
    "complexity": (np.int32,),
    "lines": (np.int32,),
    "parsed": (np.bool_,),
}
"""Arrays that are kept as they are: the type of the numbers, and the sizes of all dimensions but the first."""


def _chunks(corpus: Corpus, row_of: IntArray, made: Corpus) -> IntArray:
    """New number of each chunk of a corpus, -1 where its blob is left out."""
    sizes = np.diff(corpus.chunk_starts)
    first = np.where(row_of >= 0, made.chunk_starts[np.maximum(row_of, 0)], -1)
    within = np.arange(int(sizes.sum())) - np.repeat(corpus.chunk_starts[:-1], sizes)
    numbers = np.repeat(first, sizes)
    return np.where(numbers < 0, -1, numbers + within).astype(np.int32)


_Lists: TypeAlias = tuple[Postings, npt.NDArray[Any], IntArray]
"""Inverted lists, what is counted of each posting, and the new number of each row, -1 for one that is left out."""


def _merged(
    one: _Lists, other: _Lists, numbers: LongArray, terms: int, scratch: Scratch
) -> tuple[Postings, npt.NDArray[Any]]:
    """Lists of both, by ``terms`` terms; ``numbers`` are those of the other's. Its rows come after all of the first."""
    (own, counts, row_of), (new, new_counts, row_of_new) = one, other
    new_rows = row_of_new[new.rows]
    term = np.repeat(numbers, np.diff(new.starts))
    order = np.flatnonzero(new_rows >= 0)
    order = order[np.argsort(term[order], kind="stable")]
    of_term = term[order]
    added = starts_of(np.bincount(of_term, minlength=terms))
    rows = scratch.zeros(len(own.rows) + len(order), np.int32)
    made = scratch.zeros((len(rows), *counts.shape[1:]), counts.dtype)
    starts = np.zeros(terms + 1, dtype=np.int64)
    done = 0
    for first, last, start, end in stretches(own.starts):
        part = row_of[own.rows[start:end]]
        gone = np.flatnonzero(part < 0)  # few, most of the time
        bounds = own.starts[first : last + 1] - start
        chosen = order[int(added[first]) : int(added[last])]
        places = bounds[of_term[int(added[first]) : int(added[last])] - first + 1]
        size = end - start - len(gone) + len(chosen)
        splice(rows[done : done + size], part, gone, places, new_rows[chosen])
        splice(made[done : done + size], counts[start:end], gone, places, new_counts[chosen])
        bounds = bounds[1:] - np.searchsorted(gone, bounds[1:])
        starts[first + 1 : last + 1] = done + bounds + added[first + 1 : last + 1] - added[first]
        done += size
    known = len(own.starts) - 1
    rest = order[int(added[known]) :]
    end = done + len(rest)
    rows[done:end], made[done:end] = new_rows[rest], new_counts[rest]
    starts[known + 1 :] = done + added[known + 1 :] - added[known]
    return Postings(starts, rows[:end]), made[:end]


@dataclass(eq=False)
class VersionView:
    """One version of a corpus: which blob each file is, and the statistics of exactly these files."""

    corpus: Corpus
    snapshot: Snapshot
    resident: bool = False
    """Many reports will be asked of this version: what does not depend on them is worth computing once."""
    known_rows: InitVar[IntArray | None] = None
    """(F,) ``rows``, where they are known."""

    def __post_init__(self, known_rows: IntArray | None) -> None:
        if known_rows is None:
            rows = self.corpus.row_of_blob
            known_rows = np.array([rows.get(blob, -1) for blob in self.snapshot.blobs], dtype=np.int32)
        self.rows: IntArray = known_rows
        """(F,) corpus row of each file, -1 where the blob could not be read."""
        present = self.rows[self.rows >= 0]
        self.multiplicity: LongArray = np.bincount(present, minlength=len(self.corpus)).astype(np.int64)
        self.frequency = self.corpus.document_frequency(self.multiplicity)
        self.saturations: dict[Hashable, Float32Array] = {}
        """Of a resident version: formula -> (P,) saturated frequencies of all postings."""
        self.chunk_saturations: FloatArray | None = None
        """(Q,) the same of all chunk postings."""
        self.norms: dict[tuple[float, ...], Float32Array] = {}
        """Of formulas: (B,) what the length of a blob does to its frequencies."""
        self.queries = 0
        """How many were asked."""

    @property
    def files(self) -> int:
        """F, the number of files."""
        return len(self.snapshot)

    @cached_property
    def averages(self) -> FloatArray:
        """(7,) mean length of the version's files by field, then of all text; at least 1e-9."""
        total = self.multiplicity @ self.corpus.lengths
        mean: FloatArray = np.maximum(total / max(self.files, 1), 1e-9)
        return mean

    def idf(self, terms: LongArray) -> FloatArray:
        """(T,) BM25's inverse document frequency over the version's files."""
        return idf(self.files, self.frequency[terms])

    def to_files(self, of_rows: FloatArray) -> FloatArray:
        """(F,) values of the files from values of the blobs; 0 for a file whose blob could not be read."""
        if not len(of_rows):
            return np.zeros(self.files)
        values = of_rows[self._readable_rows]
        values[self._unreadable] = 0.0
        return values

    @cached_property
    def _readable_rows(self) -> LongArray:
        return np.maximum(self.rows, 0).astype(np.int64)

    @cached_property
    def _unreadable(self) -> LongArray:
        """Files whose blob could not be read: none, most of the time."""
        return np.flatnonzero(self.rows < 0)


def suffix_of(path: str, suffixes: frozenset[str]) -> str:
    """The suffix by which a path was taken, in lower case.

    >>> suffix_of("a/B.Java", frozenset({".java"}))
    '.java'
    """
    name = path.rpartition("/")[2].lower()
    if name.endswith(_compound(suffixes)):
        tails = (name[start:] for start in range(len(name)))  # longest first
        return next(tail for tail in tails if tail in suffixes)
    return "." + name.rpartition(".")[2]


@lru_cache(maxsize=8)
def _compound(suffixes: frozenset[str]) -> tuple[str, ...]:
    """Those that are more than a dot and what follows it, such as ".d.ts"."""
    return tuple(suffix for suffix in suffixes if suffix.rfind(".") != 0)


def blobs_of(snapshots: Sequence[Snapshot], suffixes: frozenset[str]) -> dict[str, str]:
    """Blob id -> suffix of every file of the versions."""
    return {blob: suffix_of(path, suffixes) for blob, path in first_paths(snapshots).items()}


def corpus_of(store: FactStore, snapshots: Sequence[Snapshot], suffixes: frozenset[str]) -> Corpus:
    """Inverted lists of the versions' files; a file whose blob could not be read has no terms."""
    blobs = blobs_of(snapshots, suffixes)
    table = store.load(list(blobs), [language_of(suffix) for suffix in blobs.values()], allow_missing=True)
    return Corpus(table, Scratch(store.scratch_folder))
