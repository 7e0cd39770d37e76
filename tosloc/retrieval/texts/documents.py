"""Texts about files with a time: commit messages and fixed reports, with the files they touched."""

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

from tosloc.core.arrays import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    LongArray,
    unpack_words,
    validate_array,
    validate_starts,
)
from tosloc.core.reports import VALID_TIMES
from tosloc.retrieval.memo import Remembering
from tosloc.retrieval.texts.formulas import idf
from tosloc.retrieval.texts.postings import (
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
"""Number of seconds in a day."""
PSEUDO_DOCS: Final = 10
"""Number of empty documents that are added when estimating how rare a term is.

They keep a short history from being trusted too much.
"""
_MAX_COUNT: Final = 65_535
"""Largest count of a term in a document."""


@dataclass(frozen=True, slots=True)
class Document:
    """One text and the files that it touched."""

    id: str
    at: int
    """Committer time of the commit or fix, in seconds since 1970; from then on it is known."""
    commit: int
    """Number of the document's commit in the history, which shows whether a version contains it."""
    commit_id: str
    terms: Counter[str]
    paths: tuple[int, ...]
    """Path numbers of the files that the document touched."""
    classes: tuple[str, ...] = ()
    """Names in the document.

    For a report they are the classes in its stack frames; for a commit they are "#" and the bugs'
    ids.
    """
    size: int = 0
    """Number of files that the document touched, if ``paths`` does not contain all of them."""


@dataclass(frozen=True, eq=False)
class Documents(Remembering):
    """Documents, which are fixed reports or commit messages, as arrays in order of time."""

    ids: Sequence[str]
    """(D,) ids of the documents."""
    times: LongArray
    """(D,) when each document became known, in seconds since 1970."""
    commits: LongArray
    """(D,) number of each document's commit in the history; -1 if it is not in the history."""
    commit_ids: Sequence[str]
    """(D,) full id of each document's commit."""
    vocabulary: Sequence[str]
    """(V,) terms, sorted."""
    starts: LongArray
    """(D+1,) document d has the terms from starts[d] to starts[d+1]."""
    terms: IntArray
    """(P,) number of each document's terms, ascending within a document."""
    counts: npt.NDArray[np.uint16]
    """(P,) how often the document contains the term, at most 65,535."""
    file_starts: LongArray
    """(D+1,) document d touched the files from file_starts[d] to file_starts[d+1]."""
    files: IntArray
    """(E,) path number of each touched file, ascending within a document."""
    sizes: FloatArray
    """(D,) k, the number of files that each document touched, even if they no longer exist."""
    classes: Sequence[str]
    """Names in the documents; see ``Document``."""
    class_starts: LongArray
    """(D+1,) document d has the names from class_starts[d] to class_starts[d+1]."""

    @classmethod
    def collect(cls, documents: Iterable[Document]) -> Documents:
        """Return those documents that touched a file, ordered by time, then commit, then id."""
        touching = [document for document in documents if document.paths or document.size]
        ordered = sorted(touching, key=lambda document: (document.at, document.commit, document.id))
        vocabulary = sorted(set().union(*(document.terms for document in ordered)))
        numbers = positions_by_name(vocabulary)
        terms: list[int] = []
        counts: list[int] = []
        files: list[int] = []
        classes: list[str] = []
        file_counts: list[int] = []
        sizes: list[int] = []
        for document in ordered:
            for term in sorted(document.terms):
                terms.append(numbers[term])
                counts.append(min(document.terms[term], _MAX_COUNT))
            distinct_files = sorted(set(document.paths))
            files += distinct_files
            file_counts.append(len(distinct_files))
            sizes.append(document.size or len(distinct_files))
            classes += document.classes
        return cls(
            ids=[document.id for document in ordered],
            times=np.array([document.at for document in ordered], dtype=np.int64),
            commits=np.array([document.commit for document in ordered], dtype=np.int64),
            commit_ids=[document.commit_id for document in ordered],
            vocabulary=vocabulary,
            starts=group_starts([len(document.terms) for document in ordered]),
            terms=np.array(terms, dtype=np.int32),
            counts=np.array(counts, dtype=np.uint16),
            file_starts=group_starts(file_counts),
            files=np.array(files, dtype=np.int32),
            sizes=np.array(sizes, dtype=np.float64),
            classes=classes,
            class_starts=group_starts([len(document.classes) for document in ordered]),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def term_ids(self) -> Mapping[str, int]:
        """Term -> its number."""
        return positions_by_name(self.vocabulary)

    @cached_property
    def by_name(self) -> Mapping[str, list[int]]:
        """Id, or name in ``classes`` -> numbers of the documents that have it, in order."""
        documents: defaultdict[str, list[int]] = defaultdict(list)
        for number, identity in enumerate(self.ids):
            documents[identity].append(number)
        numbers = row_ids(self.class_starts).tolist()
        for name, number in zip(self.classes, numbers, strict=True):
            documents[name].append(number)
        return documents

    @cached_property
    def postings(self) -> Postings:
        """Documents of each term, with the number of times that each contains the term."""
        return Postings(self.starts, self.terms, self.counts).invert(len(self.vocabulary))

    @cached_property
    def touched(self) -> Postings:
        """Files that each document touched, with the value 1/sqrt(k) for a document of k files."""
        return Postings(self.file_starts, self.files, 1.0 / np.sqrt(self.sizes[self.pair_document]))

    def find_by_file(self, number: int) -> LongArray:
        """Return the documents that touched the file with this path number, in their order."""
        return self.pair_document.take(np.flatnonzero(self.files == number))

    def scatter_to_files(self, documents: LongArray, values: FloatArray, paths: int) -> FloatArray:
        """Return (N,) for each path the sum of the values of the documents that touched it."""
        selection = self.touched.select(documents)
        return group_sum(selection.rows, selection.expand(values), paths)

    @cached_property
    def pair_document(self) -> LongArray:
        """(E,) document of each pair of a document and a file."""
        return row_ids(self.file_starts)

    @cached_property
    def term_document(self) -> LongArray:
        """(P,) document of each pair of a document and a term."""
        return row_ids(self.starts)

    def renumber_files(self, numbers: IntArray) -> Documents:
        """Return the documents with file f renumbered to numbers[f]; negative ones are left out."""
        new = numbers[self.files]
        kept = new >= 0
        width = int(numbers.max(initial=-1)) + 1
        keys = self.pair_document[kept] * width + new[kept]
        order = stable_order(keys, len(self) * width)
        files = new[kept][order].astype(np.int32)
        file_starts = group_starts(kept)[self.file_starts]
        return dataclasses.replace(self, file_starts=file_starts, files=files)


def check_documents(arrays: Mapping[str, Array], name: str, paths: int) -> None:
    """Raise KeyError or ValueError unless untrusted arrays are a valid ``Documents``.

    The names of the arrays begin with ``name``; ``paths`` is the number of paths.
    """
    documents = len(unpack_words(arrays[f"{name}.ids"]))
    commit_ids = len(unpack_words(arrays[f"{name}.commit_ids"]))
    terms = len(unpack_words(arrays[f"{name}.vocabulary"]))
    classes = len(unpack_words(arrays[f"{name}.classes"]))
    pairs = len(arrays[f"{name}.terms"])
    touched = len(arrays[f"{name}.files"])
    for key, kind, size, least, below in (
        ("times", np.int64, documents, VALID_TIMES.start, VALID_TIMES.stop),
        ("commits", np.int64, documents, -1, np.inf),
        ("sizes", np.float64, documents, 1, np.inf),
        ("terms", np.int32, pairs, 0, terms),
        ("counts", np.uint16, pairs, 1, np.inf),
        ("files", np.int32, touched, 0, paths),
    ):
        validate_array(arrays, f"{name}.{key}", kind, size, least=least, below=below)
    for key, size in (("starts", pairs), ("file_starts", touched), ("class_starts", classes)):
        validate_starts(arrays, f"{name}.{key}", documents, size)
    if commit_ids != documents or (np.diff(arrays[f"{name}.times"]) < 0).any():
        raise ValueError("documents are counted wrongly, or not in order of time")


class DocumentsView(Remembering):
    """The documents known at a time in one version, with statistics of these documents alone."""

    def __init__(self, documents: Documents, known: BoolArray) -> None:
        self.documents = documents
        self.known = known
        """(D,) whether each document is known."""
        self.number = int(known.sum())
        """Number of known documents."""
        known_pairs = known[documents.term_document]
        counts = group_sum(documents.terms, known_pairs, len(documents.vocabulary))
        self.frequency: LongArray = counts.astype(np.int64)
        """(V,) number of known documents that contain each term."""
        self.idf: FloatArray = idf(self.number, self.frequency)
        """(V,) BM25's inverse document frequency over the known documents."""

    def known_terms(self, weights: Mapping[str, float]) -> tuple[LongArray, FloatArray]:
        """Return numbers (T,) of the query terms that any document contains, and weight x IDF (T,).

        Documents that are not known in this view also count.
        """
        terms, query_weights = known_terms(self.documents.term_ids, weights)
        return terms, query_weights * self.idf[terms]

    def rarity(self, term: str) -> float:
        """Return the rarity of a term in the known documents, from 0 to 1.

        It is ln((n + 10) / (df + 1)) / ln(n + 10), where df of the n known documents contain the
        term: 1 for a term in no known document, and near 0 for a term in all of many documents.
        """
        number = self.documents.term_ids.get(term)
        frequency = 0 if number is None else int(self.frequency[number])
        total = self.number + PSEUDO_DOCS
        return math.log(total / (frequency + 1)) / math.log(total)

    @cached_property
    def norms(self) -> FloatArray:
        """(D,) length of each document's vector of (1 + ln tf) x IDF."""
        documents = self.documents
        squares = (1.0 + np.log(documents.counts)) ** 2 * (self.idf**2)[documents.terms]
        sums = group_sum(documents.term_document, squares, len(documents))
        return np.sqrt(np.maximum(sums, 1e-12))

    def similarities(self, weights: Mapping[str, float]) -> FloatArray:
        """Return (D,) the cosine of the report and each known document; 0 for unknown ones.

        Both are (1 + ln tf) IDF vectors.
        """
        terms, query = self.known_terms(weights)
        selection = self.documents.postings.select(terms)
        # Terms of the report that no document has are left out of its length: they would change
        # it alike for every document, and no order.
        length = float(np.sqrt((query**2).sum())) or 1.0
        document_weights = 1.0 + np.log(selection.values.astype(np.float64))
        products = document_weights * selection.expand(query * self.idf[terms])
        dots = group_sum(selection.rows, products, len(self.known))
        return np.where(self.known, dots / (self.norms * length), 0.0)

    def decay_weights(self, opened: float, days: float) -> FloatArray:
        """Return (D,) exp(-age / days) / sqrt(k), where k is the document's number of files.

        The value is 0 for unknown documents. The age is in days before ``opened``, a report's
        opening in seconds since 1970.
        """
        ages = np.maximum(opened - self.documents.times, 0.0) / DAY
        return np.where(self.known, np.exp(-ages / days), 0.0) / np.sqrt(self.documents.sizes)

    def nearest(self, similarities: FloatArray, number: int) -> LongArray:
        """Return the documents with the largest ``similarities`` (D,), at most ``number``.

        Documents with similarity 0 are left out. Of equally similar documents the latest comes
        first.
        """
        nearest: LongArray = len(similarities) - 1 - top_k(similarities[::-1], number)
        return nearest[similarities[nearest] > 0]

    def scatter_to_files(self, documents: LongArray, values: FloatArray, paths: int) -> FloatArray:
        """Return (N,) for each path the sum of the values of the documents that touched it."""
        return self.documents.scatter_to_files(documents, values, paths)
