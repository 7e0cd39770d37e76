"""Features of what a report on GitHub says: names of code, messages, and words that few reports use.

Shapes: F files of the version, B blobs of its corpus, T terms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tosloc.index import bm25
from tosloc.index.bm25 import TextHits
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


class Holders:
    """Who holds each of some terms in some fields: blobs of the corpus, of those that stand in the version."""

    def __init__(self, view: VersionView, terms: Sequence[int], fields: tuple[int, ...]) -> None:
        self.view, lists = view, view.corpus.postings
        self.rows: list[IntArray] = []
        """(T,) for each term the numbers of its blobs."""
        for stretch in lists.select(np.array(terms, dtype=np.int64)).stretches:
            rows, counts = lists.rows[stretch], view.corpus.counts[stretch]
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
    return context.hits.scores(bm25.fielded, context.weights_of_hits(_rare(context, context.query.fielded_weights)))


def rare_chunk(context: QueryContext) -> FloatArray:
    """``chunk`` with each word weighed in the same way."""
    weights = context.weights_of_hits(_rare(context, context.query.weights))
    return context.chunk_hits.best(weights * context.hits.idf)


def summary_strings(context: QueryContext) -> FloatArray:
    """BM25 of string literals for the summary alone, words weighed in the same way."""
    weights = _rare(context, context.query.weights_of("", 1.0))
    terms, values = known_terms(context.version.text.corpus.term_ids, weights)
    return TextHits(context.version.text, terms).scores(bm25.string_field, values)


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
