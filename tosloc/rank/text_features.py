"""Features of the words of a report: in the files, in their paths, in names of code and in messages.

Shapes: F files of the version, B blobs of its corpus, T terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tosloc.index import bm25
from tosloc.index.bm25 import Hits, min_max
from tosloc.index.context import QueryContext
from tosloc.index.corpus import METHOD, STRING, TYPE, VersionView
from tosloc.index.postings import idf, known_terms
from tosloc.records import FloatArray, IntArray
from tosloc.reports.text import Name

MOST_MESSAGES = 40
"""Messages of a report that are looked for, the first ones."""
SINGLE_WORD = 0.5
"""What a name of one word counts: its term may also be a part of longer names."""
ENOUGH = 3.0
"""More than so much that speaks for a file adds nothing."""


# Words of the report in the files


def text(context: QueryContext) -> FloatArray:
    """TextSimilarity: rVSM cosine x length score (docs/method.md, section 2, feature 1)."""
    return context.version.revised.similarity(context.query.plain_weights)


def complexity(context: QueryContext) -> FloatArray:
    """Sum over a file's functions of their cyclomatic complexity (E - N + 2), min-max over the version."""
    view = context.version.text
    return min_max(view.to_files(view.corpus.complexity.astype(np.float64)))


def length(context: QueryContext) -> FloatArray:
    """ln(1 + lines)."""
    view = context.version.text
    return np.log1p(view.to_files(view.corpus.lines.astype(np.float64)))


def bm25f(context: QueryContext) -> FloatArray:
    """BM25F over fields: code 1, comments .5, strings .5, method names 4, type names 40; summary x5."""
    return context.in_files(bm25.fielded, context.weights_of_hits(context.query.fielded_weights))


def code(context: QueryContext) -> FloatArray:
    """BM25 of identifiers in code."""
    return context.in_files(bm25.CODE_FIELD, context.text_terms[1])


def methods(context: QueryContext) -> FloatArray:
    """BM25 of declared method names."""
    return context.in_files(bm25.METHOD_FIELD, context.text_terms[1])


def types(context: QueryContext) -> FloatArray:
    """BM25 of declared type names."""
    return context.in_files(bm25.TYPE_FIELD, context.text_terms[1])


def chunk(context: QueryContext) -> FloatArray:
    """BM25 of the best 50 lines of the file."""
    return context.best_chunk(context.text_terms[1])


def summary(context: QueryContext) -> FloatArray:
    """BM25 of the whole text for the summary alone."""
    return context.in_files(bm25.WHOLE, context.weights_of_hits(context.query.summary_weights))


def lead(context: QueryContext) -> FloatArray:
    """BM25 of the whole text for the summary, counted twice, and the first 40 words of the description."""
    return context.in_files(bm25.WHOLE, context.weights_of_hits(context.query.lead_weights))


def coverage(context: QueryContext) -> FloatArray:
    """Sum of the IDF of the summary's words that the file holds at all."""
    words = dict.fromkeys(context.query.summary_weights, 1.0)
    return context.in_files(bm25.held, context.weights_of_hits(words))


def identifiers(context: QueryContext) -> FloatArray:
    """BM25 of the whole identifiers that the report writes in camel case."""
    compounds = context.query.compounds
    weights = {term: weight for term, weight in context.query.weights.items() if term in compounds}
    return context.in_files(bm25.WHOLE, context.weights_of_hits(weights))


# Words of the report in the paths


def path(context: QueryContext) -> FloatArray:
    """BM25 of the path's words, k1 1.2, b .5."""
    return context.version.paths.bm25(context.query.weights)


def folders(context: QueryContext) -> FloatArray:
    """BM25 of the words of the folders alone."""
    return context.version.paths.bm25(context.query.weights, names=False)


def name_coverage(context: QueryContext) -> FloatArray:
    """Share of the IDF of the file name's words that the summary contains."""
    return context.version.paths.name_coverage(frozenset(context.query.summary_counts))


class Holders:
    """Who holds each of some terms in some fields: blobs of the corpus, of those that stand in the version."""

    def __init__(self, view: VersionView, terms: Sequence[int], fields: tuple[int, ...]) -> None:
        self.view, lists = view, view.corpus.postings
        self.rows: list[IntArray] = []
        """(T,) for each term the numbers of its blobs."""
        for part in lists.select(np.array(terms, dtype=np.int64)).parts:
            rows, counts = lists.rows[part], lists.values[part]
            self.rows.append(rows[counts[:, fields].any(axis=1) & (view.multiplicity[rows] > 0)])
        self.files = np.array([int(view.multiplicity[rows].sum()) for rows in self.rows], dtype=np.int64)
        """(T,) for each term how many files of the version those are."""

    def shared(self, weights: Sequence[float]) -> FloatArray:
        """(F,) sum over the terms that a file holds of their weight divided by the number of files that do."""
        values = np.zeros(len(self.view.corpus))
        for rows, files, weight in zip(self.rows, self.files.tolist(), weights, strict=True):
            if files:
                values[rows] += weight / files
        return self.view.to_files(values)


# Words by how rare they are in reports


def _rare(context: QueryContext, weights: Mapping[str, float]) -> dict[str, float]:
    """The weights of terms times how rare each is among earlier reports, and among commit messages."""
    reports, commits = context.history.reports, context.history.commits
    return {term: weight * reports.rarity(term) * commits.rarity(term) for term, weight in weights.items()}


def rare_bm25f(context: QueryContext) -> FloatArray:
    """``bm25f`` with each word weighed by how rare it is in earlier reports and in commit messages."""
    return context.in_files(bm25.fielded, context.weights_of_hits(_rare(context, context.query.fielded_weights)))


def rare_chunk(context: QueryContext) -> FloatArray:
    """``chunk`` with each word weighed in the same way."""
    weights = context.weights_of_hits(_rare(context, context.query.weights))
    return context.best_chunk(weights)


def summary_strings(context: QueryContext) -> FloatArray:
    """BM25 of string literals for the summary alone, words weighed in the same way."""
    weights = _rare(context, context.query.weights_of("", 1.0))
    terms, values = known_terms(context.version.text.corpus.term_ids, weights)
    view = context.version.text
    return view.to_files(Hits.of_text(view, terms).scores(bm25.STRING_FIELD, values))


# Names of code


@dataclass(frozen=True, slots=True)
class DefinedNames:
    """Names that a report writes as code, and who defines them. T names."""

    names: Sequence[Name]
    weights: Sequence[float]
    """(T,) 3 in the summary, 1 in prose, .5 in code; half of it for a name of one word."""
    holders: Holders
    """Who defines each, as a function or a type."""

    @classmethod
    def of(cls, context: QueryContext) -> DefinedNames:
        """Those that any file of the version holds, each once, with its largest weight."""
        numbers = context.version.text.corpus.term_ids
        found: dict[int, tuple[Name, float]] = {}
        for name, said in context.query.names:
            number = numbers.get(name.key)
            weight = said * (1.0 if name.compound else SINGLE_WORD)
            if number is not None and weight > found.get(number, (name, 0.0))[1]:
                found[number] = name, weight
        names = [name for name, _ in found.values()]
        holders = Holders(context.version.text, list(found), (METHOD, TYPE))
        return cls(names, [weight for _, weight in found.values()], holders)


def defined_names(context: QueryContext) -> FloatArray:
    """Functions and types that the file defines and the report names as code, each by how few files define it.

    Sum over names of w / files that define it, at most 3; w is 3 in the summary, 1 in prose, .5 in code, half of it for
    a name of one word.
    """
    defined = DefinedNames.of(context)
    return np.minimum(defined.holders.shared(defined.weights), ENOUGH)


# Messages


def message_strings(context: QueryContext) -> FloatArray:
    """Messages that the report quotes, in the file's string literals: largest s x (s / all)^2 of any message.

    ``s`` is the IDF (over files that have the word in a string) of the message's words that the file's strings hold,
    ``all`` that of all its words that any does.
    """
    view = context.version.text
    numbers = view.corpus.term_ids
    messages = [[numbers[term] for term in terms if term in numbers] for terms in context.query.messages]
    messages = [terms for terms in messages if len(terms) > 1][:MOST_MESSAGES]
    distinct = list(dict.fromkeys(term for terms in messages for term in terms))
    place = {term: number for number, term in enumerate(distinct)}
    holders = Holders(view, distinct, (STRING,))
    weights = np.where(holders.files > 0, idf(view.files, holders.files), 0.0)
    best = np.zeros(len(view.corpus))
    for terms in messages:
        held = np.zeros(len(view.corpus))
        for term in terms:
            held[holders.rows[place[term]]] += weights[place[term]]
        total = float(weights[[place[term] for term in terms]].sum())
        if total > 0:
            np.maximum(best, held * (held / total) ** 2, out=best)
    return view.to_files(best)
