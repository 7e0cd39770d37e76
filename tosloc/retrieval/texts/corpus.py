"""Facts of many blobs as arrays and inverted lists, and versions that select some of the blobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from tosloc.code.languages import FIELDS
from tosloc.code.literals import PairKeys
from tosloc.core.arrays import BoolArray, Float32Array, FloatArray, IntArray, LongArray
from tosloc.core.versions import Snapshot
from tosloc.paths.classify import ClassArray, FileClass
from tosloc.retrieval.memo import Remembering
from tosloc.retrieval.texts.formulas import idf
from tosloc.retrieval.texts.payloads import pack, unpack
from tosloc.retrieval.texts.postings import Postings, group_starts, positions_by_name, row_sums

if TYPE_CHECKING:
    # Not imported at run time, because reading rows needs no parser.
    from tosloc.code.facts import Facts

CODE, COMMENT, STRING, METHOD, TYPE, FIELD = (FIELDS.index(name) for name in FIELDS)
ALL_TEXT = len(FIELDS)
"""Column of lengths and averages that is the sum of code, comments and strings."""


def pack_facts(facts: Facts, file_class: FileClass = FileClass.SOURCE) -> bytes:
    """Return the facts of one blob, with the class that its text shows, as the payload of a row."""
    counts = facts.counts.T.ravel()
    return pack(
        facts.terms,
        counts.astype(np.min_scalar_type(int(facts.counts.max(initial=0)))),
        np.diff(facts.chunk_starts),
        np.diff(facts.chunk_terms, prepend=np.int32(0)),  # Differences compress better.
        facts.chunk_counts,
        np.array([facts.lines, facts.complexity, facts.parsed, file_class], dtype=np.int32),
        facts.literal_pairs,
    )


_NONE: Final = np.zeros(0, dtype=np.uint8)
NO_FACTS: Final = pack(
    [], _NONE, np.array([0]), _NONE, _NONE, np.zeros(4, dtype=np.int32), np.zeros(0, np.uint64)
)
"""Payload of a blob that was not read: no terms and one empty chunk."""


@dataclass(frozen=True, eq=False)
class Corpus(Remembering):
    """Facts of B blobs as inverted lists, shared by all versions that contain the blobs."""

    blobs: Sequence[str]
    """(B,) blob ids, in the order in which they were requested."""
    terms: Mapping[str, int]
    """Term -> its number; terms are sorted, except for those that ``concatenate`` added."""
    postings: Postings
    """Blobs of each term, with (P, 6) counts by the fields of ``FIELDS``, at most 65,535."""
    chunk_postings: Postings
    """Chunks of each term, with (Q,) counts in code, comments and strings, at most 255."""
    chunk_starts: LongArray
    """(B + 1,) blob b has the chunks from chunk_starts[b] to chunk_starts[b + 1]."""
    complexity: IntArray
    """(B,) cyclomatic complexity by lizard; 0 if it was not measured."""
    lines: IntArray
    """(B,) number of lines."""
    parsed: BoolArray
    """(B,) whether a parser, rather than the lexer, read each blob."""
    file_class: ClassArray
    """(B,) class that the text of each blob shows, see ``classify_content``."""
    literal_pairs: PairKeys
    """(X,) keys of pairs of words in string literals, ascending; see ``tosloc.code.literals``."""
    literal_rows: IntArray
    """(X,) row of the blob with each pair, ascending within a key."""
    lengths: FloatArray
    """(B, 7) number of terms of each blob by field, followed by the number in all of its text."""

    @classmethod
    def from_rows(cls, blobs: Sequence[str], payloads: Iterable[bytes | None]) -> Corpus:
        """Return the facts of ``blobs`` from their payloads, which ``pack_facts`` made.

        Payloads are iterated over once. A blob whose payload is None has one empty chunk.
        """
        numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
        # Each column starts with an empty part, so that a corpus without blobs has its types.
        terms: list[npt.NDArray[Any]] = [np.zeros(0, np.int32)]
        counts: list[npt.NDArray[Any]] = [np.zeros((0, len(FIELDS)), np.uint16)]
        chunk_sizes: list[npt.NDArray[Any]] = [np.zeros(0, np.int64)]
        chunk_terms: list[npt.NDArray[Any]] = [np.zeros(0, np.int32)]
        chunk_counts: list[npt.NDArray[Any]] = [np.zeros(0, np.uint8)]
        heads: list[npt.NDArray[Any]] = [np.zeros(0, np.int32)]
        pairs: list[npt.NDArray[Any]] = [np.zeros(0, np.uint64)]
        for payload in payloads:
            facts = unpack(NO_FACTS if payload is None else payload)
            words, packed_counts, sizes, steps, in_chunks, head, blob_pairs = facts
            numbered = map(numbers.__getitem__, words)
            blob_terms = np.fromiter(numbered, dtype=np.int32, count=len(words))
            terms.append(blob_terms)
            counts.append(packed_counts.reshape(len(FIELDS), -1).T.astype(np.uint16))
            chunk_sizes.append(sizes)
            chunk_terms.append(blob_terms[np.cumsum(steps)])
            chunk_counts.append(in_chunks)
            heads.append(head)
            pairs.append(blob_pairs)
        vocabulary = sorted(numbers)
        sorted_numbers = np.zeros(len(vocabulary), dtype=np.int32)
        first_numbers = [numbers[term] for term in vocabulary]
        sorted_numbers[first_numbers] = np.arange(len(vocabulary), dtype=np.int32)
        starts = group_starts([len(blob_terms) for blob_terms in terms[1:]])
        chunk_starts = group_starts([len(sizes) for sizes in chunk_sizes[1:]])
        all_counts = _join_and_clear(counts)
        all_heads = _join_and_clear(heads)
        pair_sizes = [len(blob_pairs) for blob_pairs in pairs[1:]]
        rows_of_pairs = np.repeat(np.arange(len(pair_sizes), dtype=np.int32), pair_sizes)
        literal_pairs, literal_rows = _sort_pairs(_join_and_clear(pairs), rows_of_pairs)
        rows = Postings(starts, sorted_numbers[_join_and_clear(terms)], all_counts)
        chunk_rows = Postings(
            group_starts(_join_and_clear(chunk_sizes)),
            sorted_numbers[_join_and_clear(chunk_terms)],
            _join_and_clear(chunk_counts),
        )
        by_field = [row_sums(column, starts) for column in all_counts.T]
        all_text = by_field[CODE] + by_field[COMMENT] + by_field[STRING]
        return cls(
            blobs=tuple(blobs),
            terms=positions_by_name(vocabulary),
            postings=rows.invert(len(vocabulary)),
            chunk_postings=chunk_rows.invert(len(vocabulary)),
            chunk_starts=chunk_starts,
            lines=all_heads[0::4],
            complexity=all_heads[1::4],
            parsed=all_heads[2::4] > 0,
            file_class=all_heads[3::4].astype(np.uint8),
            literal_pairs=literal_pairs,
            literal_rows=literal_rows,
            lengths=np.stack([*by_field, all_text], axis=1),
        )

    def __len__(self) -> int:
        return len(self.blobs)

    def concatenate(self, other: Corpus) -> Corpus:
        """Return the facts of these blobs followed by those of ``other``; new terms come last."""
        terms = dict(self.terms)
        for term in other.terms:
            terms.setdefault(term, len(terms))
        numbers = np.array([terms[term] for term in other.terms], dtype=np.int32)
        chunks = int(self.chunk_starts[-1])
        literal_pairs, literal_rows = _sort_pairs(
            np.concatenate((self.literal_pairs, other.literal_pairs)),
            np.concatenate((self.literal_rows, other.literal_rows + np.int32(len(self)))),
        )
        return Corpus(
            blobs=(*self.blobs, *other.blobs),
            terms=terms,
            postings=self.postings.concatenate(other.postings, numbers, len(self)),
            chunk_postings=self.chunk_postings.concatenate(other.chunk_postings, numbers, chunks),
            chunk_starts=np.concatenate((self.chunk_starts, other.chunk_starts[1:] + chunks)),
            complexity=np.concatenate((self.complexity, other.complexity)),
            lines=np.concatenate((self.lines, other.lines)),
            parsed=np.concatenate((self.parsed, other.parsed)),
            file_class=np.concatenate((self.file_class, other.file_class)),
            literal_pairs=literal_pairs,
            literal_rows=literal_rows,
            lengths=np.concatenate((self.lengths, other.lengths)),
        )

    @cached_property
    def by_blob(self) -> Postings:
        """Terms of each blob, with (P, 6) counts."""
        return self.postings.invert(len(self))

    def defining_rows(self, term: int) -> IntArray:
        """Return the rows of the blobs in which a term is the name of a function or a type."""
        part = self.postings.term_slice(term)
        counts = self.postings.values[part]
        rows: IntArray = self.postings.rows[part][(counts[:, METHOD] | counts[:, TYPE]) > 0]
        return rows

    @cached_property
    def row_by_blob(self) -> Mapping[str, int]:
        """Blob id -> its row."""
        return positions_by_name(self.blobs)


def _sort_pairs(keys: PairKeys, rows: IntArray) -> tuple[PairKeys, IntArray]:
    """Return keys (X,) in ascending order with their rows; equal keys keep their order."""
    order = np.argsort(keys, kind="stable")
    return keys[order], rows[order]


def _join_and_clear(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the parts of a column as one array, and clear the list of parts.

    Otherwise the parts of all columns, which take as much memory as the joined arrays, would exist
    at the same time as these.
    """
    joined = np.concatenate(parts)
    parts.clear()
    return joined


class VersionTexts:
    """One version as a selection from a corpus: each file's blob, and statistics of its files."""

    def __init__(self, corpus: Corpus, snapshot: Snapshot) -> None:
        self.corpus = corpus
        self.snapshot = snapshot
        rows = [corpus.row_by_blob.get(blob, -1) for blob in snapshot.blobs]
        self.rows: IntArray = np.array(rows, dtype=np.int32)
        """(F,) corpus row of each file, -1 if the blob could not be read."""
        # NumPy converts indexes of other types at each use.
        self._row_ids: LongArray = self.rows.astype(np.int64)
        counts = np.bincount(self.rows[self.rows >= 0], minlength=len(corpus))
        self.multiplicity: LongArray = counts.astype(np.int64)
        """(B,) number of files with each blob."""
        postings = corpus.postings
        file_counts = row_sums(self.multiplicity[postings.rows], postings.starts)
        self.frequency = file_counts.astype(np.int64)
        """(V,) number of files that contain each term."""
        self.norms: dict[Hashable, Float32Array] = {}
        """Formula -> (B,) length normalisation of each blob."""

    @property
    def files(self) -> int:
        """F, the number of files."""
        return len(self.snapshot)

    @cached_property
    def averages(self) -> FloatArray:
        """(7,) mean length of the version's files by field, followed by all text; at least 1e-9."""
        total = self.multiplicity @ self.corpus.lengths
        return np.maximum(total / max(self.files, 1), 1e-9)

    def idf(self, terms: LongArray) -> FloatArray:
        """Return (T,) BM25's inverse document frequency over the version's files."""
        return idf(self.files, self.frequency[terms])

    def to_files(self, values: FloatArray) -> FloatArray:
        """Return (F,) the value of each file from ``values`` (B,) of the blobs.

        A file whose blob could not be read has the value 0.
        """
        # Row -1 of such a file is the appended last one.
        return np.append(values, 0.0).take(self._row_ids)
