"""BM25 over functions: the reference that rankings of functions are judged beside.

Every function and class of the searched files is a document, its text as ``analysis.functions`` has it, words split and
stemmed; the report's summary and description are the query, each word as often as it stands there. The formula and its
constants are those of Lucene and of bm25s' default, k1 1.5 and b .75 (Kamphuis et al. 2020; Lù 2024):
``ln(1 + (N - n + .5) / (n + .5)) tf / (tf + k1 (1 - b + b length / average))``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from tosloc.analysis.function_rows import FunctionFacts
from tosloc.analysis.text import terms
from tosloc.records import BugReport, FloatArray, LongArray

K1: Final = 1.5
B: Final = 0.75


def function_bm25(report: BugReport, facts: Sequence[FunctionFacts]) -> FloatArray:
    """(N,) scores of the functions of all files, one after the other."""
    query = Counter((*terms(report.summary), *terms(report.description)))
    numbers = {term: number for number, term in enumerate(query)}
    N = sum(map(len, facts))
    lengths = np.zeros(N)
    rows: list[LongArray] = [np.zeros(0, np.int64)]
    columns: list[LongArray] = [np.zeros(0, np.int64)]
    frequencies: list[FloatArray] = [np.zeros(0)]
    first = 0
    for one in facts:
        counts: FloatArray = one.code.astype(np.float64) + one.comments
        held = np.repeat(np.arange(first, first + len(one)), np.diff(one.offsets))
        lengths[first : first + len(one)] = np.bincount(held - first, weights=counts, minlength=len(one))
        first += len(one)
        of_terms = np.array([numbers.get(term, -1) for term in one.terms], dtype=np.int64)
        if not len(of_terms) or of_terms.max() < 0:
            continue
        of_pairs = of_terms[one.places]
        met = np.flatnonzero(of_pairs >= 0)
        rows.append(held[met])
        columns.append(of_pairs[met])
        frequencies.append(counts[met])
    row, column, tf = np.concatenate(rows), np.concatenate(columns), np.concatenate(frequencies)
    holding = np.bincount(column, minlength=len(query))
    weights = np.log1p((N - holding + 0.5) / (holding + 0.5)) * np.array(list(query.values()), dtype=np.float64)
    average = max(float(lengths.mean()), 1e-9) if N else 1.0
    values = weights[column] * tf / (tf + K1 * (1 - B + B * lengths[row] / average))
    return np.bincount(row, weights=values, minlength=N).astype(np.float64)
