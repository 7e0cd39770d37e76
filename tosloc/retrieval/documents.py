"""Dated texts about files: commit messages and fixed reports, as inverted lists with the files that each touched.

Letters in shapes: D documents, V terms, P (document, term) pairs, E (document, file) pairs, N paths.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from tosloc.core.arrays import Array, unpack_words, validate_array, validate_starts
from tosloc.core.memo import Remembering
from tosloc.core.records import VALID_TIMES, BoolArray, FloatArray, IntArray, LongArray
from tosloc.retrieval.formulas import idf
from tosloc.retrieval.postings import (
    Postings,
    group_starts,
    group_sum,
    known_terms,
    positions_by_name,
    row_ids,
    stable_order,
    top_k,
)

DAY = 86_400.0
PSEUDO_DOCS: Final = 10
"""So many more documents, which hold no term, are thought of where it is asked how rare a term is: few tell little."""


@dataclass(frozen=True, slots=True)
class Document:
    """One text with what it touched."""

    id: str
    at: int  # when it became known, seconds since 1970: the committer time of the commit or fix
    commit: int  # number of its commit in the history, which tells whether a version contains it
    commit_id: str
    terms: Counter[str]
    paths: tuple[int, ...]
    classes: tuple[str, ...] = ()
    """What it names: of a report the classes of its stack frames, of a commit "#" and the bugs that it mentions."""


@dataclass(frozen=True, eq=False)
class Documents(Remembering):
    """Documents in order of time, as arrays. A fixed report and a commit message are both documents."""

    ids: Sequence[str]
    times: LongArray
    commits: (
        LongArray  # (D,) number of each one's commit in the history, -1 of one that is not in it
    )
    commit_ids: Sequence[str]
    vocabulary: Sequence[str]
    starts: LongArray
    terms: IntArray
    counts: npt.NDArray[np.uint16]
    file_starts: LongArray
    files: IntArray
    sizes: FloatArray  # (D,) k, the number of files that each document touched, whether or not they still exist
    classes: Sequence[str]
    class_starts: LongArray

    @classmethod
    def collect(cls, documents: Iterable[Document]) -> Documents:
        """Arrays of the documents that touched a file, ordered by time, then commit, then id."""
        ordered = sorted((d for d in documents if d.paths), key=lambda d: (d.at, d.commit, d.id))
        vocabulary = sorted({term for d in ordered for term in d.terms})
        numbers = positions_by_name(vocabulary)
        counted = [
            sorted((numbers[term], min(count, 65_535)) for term, count in d.terms.items())
            for d in ordered
        ]
        files = [sorted({*d.paths}) for d in ordered]
        return cls(
            ids=[d.id for d in ordered],
            times=np.array([d.at for d in ordered], dtype=np.int64),
            commits=np.array([d.commit for d in ordered], dtype=np.int64),
            commit_ids=[d.commit_id for d in ordered],
            vocabulary=vocabulary,
            starts=group_starts([len(terms) for terms in counted]),
            terms=np.array([number for terms in counted for number, _ in terms], dtype=np.int32),
            counts=np.array([count for terms in counted for _, count in terms], dtype=np.uint16),
            file_starts=group_starts([len(paths) for paths in files]),
            files=np.array([path for paths in files for path in paths], dtype=np.int32),
            sizes=np.array([len(paths) for paths in files], dtype=np.float64),
            classes=[name for d in ordered for name in d.classes],
            class_starts=group_starts([len(d.classes) for d in ordered]),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def term_ids(self) -> Mapping[str, int]:
        """Term -> number."""
        return positions_by_name(self.vocabulary)

    @cached_property
    def by_name(self) -> Mapping[str, list[int]]:
        """Of each id, and of each name among ``classes``, the documents that have it, in order."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        numbers = [*range(len(self)), *row_ids(self.class_starts).tolist()]
        for name, number in zip((*self.ids, *self.classes), numbers, strict=True):
            found[name].append(number)
        return found

    @cached_property
    def postings(self) -> Postings:
        """Documents of each term, with how often each holds it."""
        return Postings(self.starts, self.terms, self.counts).invert(len(self.vocabulary))

    @cached_property
    def touched(self) -> Postings:
        """Files that each document touched, with 1/sqrt(k)."""
        return Postings(self.file_starts, self.files, 1.0 / np.sqrt(self.sizes[self.pair_document]))

    def find_by_file(self, number: int) -> LongArray:
        """The documents that touched the file with this number, in their order."""
        return self.pair_document.take(np.flatnonzero(self.files == number))

    @cached_property
    def pair_document(self) -> LongArray:
        """(E,) document of each (document, file) pair."""
        return row_ids(self.file_starts)

    @cached_property
    def term_document(self) -> LongArray:
        """(P,) document of each of ``terms``."""
        return row_ids(self.starts)

    def renumber_files(self, numbers: IntArray) -> Documents:
        """The same documents with file f called numbers[f], in this order; pairs with numbers[f] < 0 are left out."""
        new = numbers[self.files]
        kept = new >= 0
        width = int(numbers.max(initial=-1)) + 1
        order = stable_order(self.pair_document[kept] * width + new[kept], len(self) * width)
        files = new[kept][order].astype(np.int32)
        return dataclasses.replace(
            self, file_starts=group_starts(kept)[self.file_starts], files=files
        )


def check_documents(arrays: Mapping[str, Array], name: str, paths: int) -> None:
    """Raise KeyError or ValueError unless arrays that anyone may have made are ``Documents`` about so many paths."""
    D, commits, terms, classes = (
        len(unpack_words(arrays[f"{name}.{key}"]))
        for key in ("ids", "commit_ids", "vocabulary", "classes")
    )
    pairs, touched = len(arrays[f"{name}.terms"]), len(arrays[f"{name}.files"])
    for key, kind, size, least, below in (
        ("times", np.int64, D, VALID_TIMES.start, VALID_TIMES.stop),
        ("commits", np.int64, D, -1, np.inf),
        ("sizes", np.float64, D, 1, np.inf),
        ("terms", np.int32, pairs, 0, terms),
        ("counts", np.uint16, pairs, 1, np.inf),
        ("files", np.int32, touched, 0, paths),
    ):
        validate_array(arrays, f"{name}.{key}", kind, size, least=least, below=below)
    for key, size in (("starts", pairs), ("file_starts", touched), ("class_starts", classes)):
        validate_starts(arrays, f"{name}.{key}", D, size)
    if commits != D or (np.diff(arrays[f"{name}.times"]) < 0).any():
        raise ValueError("documents are counted wrongly, or not in order of time")


class DocumentsView(Remembering):
    """The documents known as of one time in one version, with the statistics of these alone."""

    def __init__(self, documents: Documents, known: BoolArray) -> None:
        self.documents, self.known = documents, known
        self.number = int(known.sum())
        held = group_sum(documents.terms, known[documents.term_document], len(documents.vocabulary))
        self.frequency: LongArray = held.astype(np.int64)
        self.idf: FloatArray = idf(self.number, self.frequency)
        """(V,) BM25's inverse document frequency over the known documents."""

    def known_terms(self, weights: Mapping[str, float]) -> tuple[LongArray, FloatArray]:
        """Numbers of the query terms that occur in any document, known or not, and their weights times IDF."""
        terms, weight = known_terms(self.documents.term_ids, weights)
        return terms, weight * self.idf[terms]

    def rarity(self, term: str) -> float:
        """ln((n + 10) / (df + 1)) / ln(n + 10): 1 for a term of no known document, towards 0 for one of all of many."""
        number = self.documents.term_ids.get(term)
        frequency = 0 if number is None else int(self.frequency[number])
        return math.log((self.number + PSEUDO_DOCS) / (frequency + 1)) / math.log(
            self.number + PSEUDO_DOCS
        )

    @cached_property
    def norms(self) -> FloatArray:
        """(D,) lengths of the documents' (1 + ln tf) IDF vectors."""
        documents = self.documents
        squares = (1.0 + np.log(documents.counts)) ** 2 * (self.idf**2)[documents.terms]
        return np.sqrt(
            np.maximum(group_sum(documents.term_document, squares, len(documents)), 1e-12)
        )

    def similarities(self, weights: Mapping[str, float]) -> FloatArray:
        """(D,) cosine between the report and each known document, both (1 + ln tf) IDF; 0 for unknown ones."""
        terms, query = self.known_terms(weights)
        chosen = self.documents.postings.select(terms)
        # unknown words of the report lengthen its vector alike for every document: they change no order
        length = float(np.sqrt((query**2).sum())) or 1.0
        weight = 1.0 + np.log(chosen.values.astype(np.float64))
        dots = group_sum(
            chosen.rows, weight * chosen.expand(query * self.idf[terms]), len(self.known)
        )
        return np.where(self.known, dots / (self.norms * length), 0.0)

    def decay_weights(self, opened: float, days: float) -> FloatArray:
        """(D,) exp(-age / days) / sqrt(k), 0 for unknown documents; ages are days before a report's opening."""
        ages = np.maximum(opened - self.documents.times, 0.0) / DAY
        return np.where(self.known, np.exp(-ages / days), 0.0) / np.sqrt(self.documents.sizes)

    def nearest(self, similarities: FloatArray, number: int) -> LongArray:
        """Documents with the largest similarities above 0, at most ``number``, nearest first; ties: latest first."""
        nearest: LongArray = len(similarities) - 1 - top_k(similarities[::-1], number)
        return nearest[similarities[nearest] > 0]

    def scatter_to_files(self, documents: LongArray, values: FloatArray, paths: int) -> FloatArray:
        """(N,) sum of some documents' values over the files that they touched."""
        chosen = self.documents.touched.select(documents)
        return group_sum(chosen.rows, chosen.expand(values), paths)
