"""BLUiR: structured retrieval, Saha, Lease, Khurshid and Perry, ASE 2013.

Docs/method.md, section B.5:

    BLUiR(d, q) = sum over r in {summary, description} and 4 fields f of s(d_f, q_r)

Shapes: B blobs, F files of a version, V terms of a field, T terms of a report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import ClassVar, Final

import numpy as np
from scipy import sparse

from tosloc.code.parsed_source import ParsedSource
from tosloc.core.arrays import FloatArray, LongArray
from tosloc.core.reports import BugReport
from tosloc.lab.baselines.context import Baseline, BaselineContext, BaselineQuery
from tosloc.lab.baselines.texts import (
    KEYWORDS,
    bluir_whole_words,
    bluir_word_parts,
    stems,
    strip_bug_prefix,
)
from tosloc.lab.baselines.vsm import TermCounts

K1: Final = 1.0
"""Saturation of the term frequency: public code, section B.5.4."""
B: Final = 0.3
"""Strength of the length normalization of a field: public code, section B.5.4."""
K3: Final = 1000.0
"""Saturation of the query frequency: Indri, paper, section B.5.4."""
_IDENTIFIER = re.compile(r"(?<![\w$])[A-Za-z_$][\w$]*")


@cache
def _stem_name(name: str) -> list[str]:
    """Return the stems of the parts of a name and, if it has several, of the unsplit name."""
    parts = bluir_word_parts(name)
    whole_words = [word for word in bluir_whole_words(name) if [word] != parts]
    return stems(parts + whole_words)


def _name_terms(names: Iterable[str]) -> list[str]:
    terms: list[str] = []
    for name in names:
        terms += _stem_name(name)
    return terms


def type_terms(source: ParsedSource) -> list[str]:
    """Return the terms of the declared types."""
    return _name_terms(source.types)


def method_terms(source: ParsedSource) -> list[str]:
    """Return the terms of the declared methods."""
    return _name_terms(source.methods)


def identifier_terms(source: ParsedSource) -> list[str]:
    """Return the terms of every occurrence of every identifier, without keywords.

    Identifiers in the package and import lines also count.
    """
    names = _IDENTIFIER.findall("\n".join((source.text("code"), source.package, *source.imports)))
    return _name_terms(name for name in names if name not in KEYWORDS)


def comment_terms(source: ParsedSource) -> list[str]:
    """Return the terms of all comments: parts of words, but no unsplit words."""
    return stems(bluir_word_parts(source.text("head", "javadoc", "comment")))


def query_terms(report: BugReport, *, whole_words: bool) -> list[list[str]]:
    """Return the terms of the summary, and the terms of the description.

    They are parts of words and, with ``whole_words``, also unsplit words. Fields of names are
    queried with unsplit words, comments without.
    """
    queries: list[list[str]] = []
    for text in (strip_bug_prefix(report.summary), report.description):
        words = bluir_word_parts(text)
        if whole_words:
            words += bluir_whole_words(text)
        queries.append(stems(words))
    return queries


class Field:
    """One field of every blob.

    A term that occurs x times in the field and y times in the query, in N files of which n_t
    contain it, has

        tf_d = k1 x / (x + k1 (1 - b + b len / avg)), tf_q = k3 y / (y + k3),
        idf = ln((N + 1) / (n_t + .5)), and s(d, q) = sum_t tf_d tf_q idf^2.

    The IDF is above 0 even for a term that all files contain.
    """

    def __init__(self, counts: TermCounts) -> None:
        self.counts = counts
        self.by_term = sparse.csr_array(counts.matrix.T)
        """(V, B) term frequencies."""

    def scores(self, queries: Sequence[Sequence[str]], multiplicity: LongArray) -> FloatArray:
        """Return (B,) the sum of s(d_f, q) over the queries, each a sequence of terms.

        ``multiplicity`` (B,) is the number of times that the version contains each blob. The scores
        of blobs outside the version have no meaning.
        """
        files = int(multiplicity.sum())
        lengths = self.counts.lengths
        weights = np.zeros(len(self.counts.vocabulary))
        for terms in queries:
            columns, counts = self.counts.query_counts(terms)
            weights[columns] += counts * K3 / (counts + K3)
        query_columns = np.flatnonzero(weights)
        if not len(query_columns) or not files:
            return np.zeros(len(multiplicity))
        tf = self.by_term[query_columns]
        presence = sparse.csr_array((np.ones_like(tf.data), tf.indices, tf.indptr), shape=tf.shape)
        idf = np.log((files + 1.0) / (presence @ multiplicity.astype(np.float64) + 0.5))
        # A field that is empty in every file has no average length; its lengths are all 0.
        average_length = float(lengths @ multiplicity) / files or 1.0
        length_norms = 1.0 - B + B * (lengths / average_length)
        tf.data = K1 * tf.data / (tf.data + K1 * length_norms[tf.indices])
        total: FloatArray = (weights[query_columns] * idf**2) @ tf
        return total


class BLUiR(Baseline):
    """BLUiR (ASE 2013)."""

    name: ClassVar[str] = "bluir"

    def __init__(self, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(context, seed)
        self.name_fields = [
            Field(context.files.counts(terms))
            for terms in (type_terms, method_terms, identifier_terms)
        ]
        self.comment_field = Field(context.files.counts(comment_terms))

    def scores(self, query: BaselineQuery) -> FloatArray:
        """Return (F,) the sum of the eight scores, never below 0.

        A file that contains no word of the report gets 0.
        """
        multiplicity = query.version.multiplicity
        name_queries = query_terms(query.report, whole_words=True)
        comment_queries = query_terms(query.report, whole_words=False)
        total = sum(field.scores(name_queries, multiplicity) for field in self.name_fields)
        total += self.comment_field.scores(comment_queries, multiplicity)
        return query.version.from_blobs(total)
