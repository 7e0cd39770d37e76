"""BLUiR: structured retrieval, Saha, Lease, Khurshid and Perry, ASE 2013 (docs/method.md, section B.5).

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

from tosloc.core.records import BugReport, FloatArray, LongArray
from tosloc.lab.baselines.context import Baseline, BaselineContext, BaselineQuery
from tosloc.lab.baselines.texts import (
    KEYWORDS,
    ParsedSource,
    bluir_raw,
    bluir_split,
    stems,
    without_prefix,
)
from tosloc.lab.baselines.vsm import Counts

K1: Final = 1.0  # saturation of term frequency: public code, section B.5.4
B: Final = 0.3  # how much the length of a field counts: public code
K3: Final = 1000.0  # saturation of query frequency: Indri, paper
_IDENTIFIER = re.compile(r"(?<![\w$])[A-Za-z_$][\w$]*")


@cache
def _terms_of_name(name: str) -> list[str]:
    """Stems of the parts of a name and, if it has several, of the whole."""
    parts = bluir_split(name)
    return stems(parts + [word for word in bluir_raw(name) if [word] != parts])


def _name_terms(names: Iterable[str]) -> list[str]:
    return [term for name in names for term in _terms_of_name(name)]


def types(source: ParsedSource) -> list[str]:
    """Terms of the declared types."""
    return _name_terms(source.types)


def methods(source: ParsedSource) -> list[str]:
    """Terms of the declared methods."""
    return _name_terms(source.methods)


def identifiers(source: ParsedSource) -> list[str]:
    """Terms of every identifier each time it occurs, those of package and imports too; no keywords."""
    names = _IDENTIFIER.findall("\n".join((source.text("code"), source.package, *source.imports)))
    return _name_terms(name for name in names if name not in KEYWORDS)


def comments(source: ParsedSource) -> list[str]:
    """Terms of all comments: parts of words only."""
    return stems(bluir_split(source.text("head", "javadoc", "comment")))


def queries(report: BugReport, *, whole: bool) -> list[list[str]]:
    """Terms of the summary and of the description: parts of words and, for names, ``whole`` words too."""
    texts = (without_prefix(report.summary), report.description)
    return [stems(bluir_split(text) + (bluir_raw(text) if whole else [])) for text in texts]


class Field:
    """One field of every blob.

    s(d, q) = sum_t tf_d tf_q idf^2 with tf_d = k1 x / (x + k1 (1 - b + b len / avg)), tf_q = k3 y / (y + k3) of terms
    that stand x times in the field and y times in the query, and idf = ln((N + 1) / (n_t + .5)), which is above 0 also
    for a term of all files.
    """

    def __init__(self, counts: Counts) -> None:
        self.counts, self.by_term = counts, sparse.csr_array(counts.matrix.T)

    def scores(self, asked: Sequence[Sequence[str]], multiplicity: LongArray) -> FloatArray:
        """(B,) sum over queries of s(d_f, q); blobs that the version does not hold get values without meaning."""
        files, lengths = int(multiplicity.sum()), self.counts.lengths
        weights = np.zeros(len(self.counts.vocabulary))
        for words in asked:
            columns, counts = self.counts.query_counts(words)
            weights[columns] += counts * K3 / (counts + K3)
        terms = np.flatnonzero(weights)
        if not len(terms) or not files:
            return np.zeros(len(multiplicity))
        tf = self.by_term[terms]
        presence = sparse.csr_array((np.ones_like(tf.data), tf.indices, tf.indptr), shape=tf.shape)
        idf = np.log((files + 1.0) / (presence @ multiplicity.astype(np.float64) + 0.5))
        relative = lengths / (float(lengths @ multiplicity) / files or 1.0)
        tf.data = K1 * tf.data / (tf.data + K1 * (1.0 - B + B * relative)[tf.indices])
        total: FloatArray = (weights[terms] * idf**2) @ tf
        return total


class BLUiR(Baseline):
    """BLUiR (ASE 2013)."""

    name: ClassVar[str] = "bluir"

    def __init__(self, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(context, seed)
        self.of_names = [
            Field(context.files.counts(terms)) for terms in (types, methods, identifiers)
        ]
        self.of_comments = Field(context.files.counts(comments))

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) the sum of the eight scores; 0 for a file that holds no word of the report, never below."""
        multiplicity, words = query.version.multiplicity, queries(query.report, whole=True)
        total = sum(field.scores(words, multiplicity) for field in self.of_names)
        total += self.of_comments.scores(queries(query.report, whole=False), multiplicity)
        return query.version.to_files(total)
