"""Facts of many blobs as arrays; their inverted lists; a version as a selection of them.

Letters in shapes: B blobs, V distinct terms, P (blob, term) postings, C chunks, Q (chunk, term) postings, F files of a
version.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from tosloc.code.languages import FIELDS
from tosloc.core.memo import Remembering
from tosloc.core.records import BoolArray, Float32Array, FloatArray, IntArray, LongArray, Snapshot
from tosloc.retrieval.formulas import idf
from tosloc.retrieval.payloads import pack, unpack
from tosloc.retrieval.postings import Postings, group_starts, positions_by_name, row_sums

if TYPE_CHECKING:
    from tosloc.code.facts import Facts  # not loaded: what only reads rows needs no parser

CODE, COMMENT, STRING, METHOD, TYPE, FIELD = (FIELDS.index(name) for name in FIELDS)
ALL_TEXT = len(FIELDS)  # column of lengths and averages that stands for code + comment + string


def pack_facts(facts: Facts) -> bytes:
    """The facts of one blob as a row's payload."""
    return pack(
        facts.terms,
        facts.counts.T.ravel().astype(np.min_scalar_type(int(facts.counts.max(initial=0)))),
        np.diff(facts.chunk_starts),
        np.diff(facts.chunk_terms, prepend=np.int32(0)),  # packs better
        facts.chunk_counts,
        np.array([facts.lines, facts.complexity, facts.parsed], dtype=np.int32),
    )


_NONE: Final = np.zeros(0, dtype=np.uint8)
NO_FACTS: Final = pack([], _NONE, np.array([0]), _NONE, _NONE, np.zeros(3, dtype=np.int32))
"""The payload of a blob that was not read: no terms and one empty chunk."""


@dataclass(frozen=True, eq=False)
class Corpus(Remembering):
    """Facts of B blobs as inverted lists; made once, shared by all versions of them."""

    blobs: Sequence[str]  # (B,) blob ids, in the order asked
    terms: Mapping[
        str, int
    ]  # number of each of the V distinct terms; sorted, but for those that followed later
    postings: Postings  # blobs of each term, with (P, 6) counts by FIELDS, at most 65,535
    chunk_postings: Postings
    """Chunks of each term, with (Q,) counts of code, comments and strings together, at most 255."""
    chunk_starts: LongArray  # (B + 1,) blob b has chunks chunk_starts[b]:chunk_starts[b + 1]
    complexity: IntArray  # (B,) by lizard; 0 where it was not asked for
    lines: IntArray
    parsed: BoolArray  # (B,) False where the lexer read the blob
    lengths: FloatArray  # (B, 7) terms of each blob by field, then in all of its text

    @classmethod
    def from_rows(cls, blobs: Sequence[str], payloads: Iterable[bytes | None]) -> Corpus:
        """The facts of ``blobs`` from what ``pack_facts`` made of each, read once; None has one empty chunk."""
        numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
        kinds = (np.int32, np.uint16, np.int64, np.int32, np.uint8, np.int32)
        rows = [[np.zeros((0, len(FIELDS)) if kind is np.uint16 else 0, kind)] for kind in kinds]
        for payload in payloads:
            words, counts, sizes, steps, in_chunk, head = unpack(
                NO_FACTS if payload is None else payload
            )
            own = np.fromiter(map(numbers.__getitem__, words), dtype=np.int32, count=len(words))
            columns = (
                own,
                counts.reshape(len(FIELDS), -1).T.astype(np.uint16),
                sizes,
                own[np.cumsum(steps)],
                in_chunk,
                head,
            )
            for column, part in zip(rows, columns, strict=True):
                column.append(part)
        order = sorted(numbers)
        place_of_number = np.zeros(len(order), dtype=np.int32)
        place_of_number[[numbers[term] for term in order]] = np.arange(len(order), dtype=np.int32)
        starts, chunk_starts = (
            group_starts([len(part) for part in rows[place][1:]]) for place in (0, 2)
        )
        # so that the parts of each array go as soon as it is made
        terms, counts, sizes, chunk_terms, chunk_counts, heads = (
            np.concatenate(rows.pop(0)) for _ in kinds
        )
        by_field = [row_sums(column, starts) for column in counts.T]
        return cls(
            blobs=tuple(blobs),
            terms=positions_by_name(order),
            postings=Postings(starts, place_of_number[terms], counts).invert(len(order)),
            chunk_postings=Postings(
                group_starts(sizes), place_of_number[chunk_terms], chunk_counts
            ).invert(len(order)),
            chunk_starts=chunk_starts,
            lines=heads[0::3],
            complexity=heads[1::3],
            parsed=heads[2::3] > 0,
            lengths=np.stack(
                [*by_field, by_field[CODE] + by_field[COMMENT] + by_field[STRING]], axis=1
            ),
        )

    def __len__(self) -> int:
        return len(self.blobs)

    def concatenate(self, other: Corpus) -> Corpus:
        """Lists of these blobs, and of others after them, with their new terms after these."""
        terms, chunks = dict(self.terms), int(self.chunk_starts[-1])
        numbers = np.array(
            [terms.setdefault(term, len(terms)) for term in other.terms], dtype=np.int32
        )
        return Corpus(
            (*self.blobs, *other.blobs),
            terms,
            self.postings.concatenate(other.postings, numbers, len(self)),
            self.chunk_postings.concatenate(other.chunk_postings, numbers, chunks),
            np.concatenate((self.chunk_starts, other.chunk_starts[1:] + chunks)),
            *(
                np.concatenate((getattr(self, name), getattr(other, name)))
                for name in ("complexity", "lines", "parsed", "lengths")
            ),
        )

    @cached_property
    def by_blob(self) -> Postings:
        """Terms of each blob, with (P, 6) counts."""
        return self.postings.invert(len(self))

    @cached_property
    def row_by_blob(self) -> Mapping[str, int]:
        """Blob -> its row."""
        return positions_by_name(self.blobs)


class VersionView:
    """One version of a corpus: which blob each file is, and the statistics of exactly these files."""

    def __init__(self, corpus: Corpus, snapshot: Snapshot) -> None:
        self.corpus, self.snapshot = corpus, snapshot
        rows, lists = corpus.row_by_blob, corpus.postings
        self.rows: IntArray = np.array(
            [rows.get(blob, -1) for blob in snapshot.blobs], dtype=np.int32
        )
        """(F,) corpus row of each file, -1 where the blob could not be read."""
        self.multiplicity: LongArray = np.bincount(
            self.rows[self.rows >= 0], minlength=len(corpus)
        ).astype(np.int64)
        """(B,) in how many files each blob stands."""
        self.frequency = row_sums(self.multiplicity[lists.rows], lists.starts).astype(np.int64)
        """(V,) number of files that hold each term."""
        self.norms: dict[Hashable, Float32Array] = {}
        """Of formulas: (B,) what the length of a blob does to its frequencies."""

    @property
    def files(self) -> int:
        """F, the number of files."""
        return len(self.snapshot)

    @cached_property
    def averages(self) -> FloatArray:
        """(7,) mean length of the version's files by field, then of all text; at least 1e-9."""
        total = self.multiplicity @ self.corpus.lengths
        return np.maximum(total / max(self.files, 1), 1e-9)

    def idf(self, terms: LongArray) -> FloatArray:
        """(T,) BM25's inverse document frequency over the version's files."""
        return idf(self.files, self.frequency[terms])

    def to_files(self, of_rows: FloatArray) -> FloatArray:
        """(F,) values of the files from values of the blobs; 0 for a file whose blob could not be read."""
        return np.append(of_rows, 0.0)[self.rows]  # -1 is the last
