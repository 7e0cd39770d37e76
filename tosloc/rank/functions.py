"""Score the functions of the first files by a few weighted signs, the same for every project.

docs/method.md, section 5, has the formula and what its weights were learned from.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from tosloc.code.functions import FUNCTION_KINDS, FunctionFacts
from tosloc.code.text import terms as terms_of
from tosloc.code.text import words
from tosloc.core.records import BugReport, FloatArray, Function
from tosloc.rank.features import scale_by_largest
from tosloc.rank.text_features import rarities
from tosloc.retrieval.context import VersionIndex
from tosloc.retrieval.formulas import idf, length_norm, saturate_tf
from tosloc.retrieval.postings import top_k
from tosloc.retrieval.query import Query

FUNCTION_DEPTH: Final = 50
"""Files whose functions are scored when a ranking of functions is measured, and whose scores tell how far one leads."""

_COMMENTS: Final = 0.5  # what a word of a comment counts
CLASS: Final = FUNCTION_KINDS.index("class")

_CALLED = re.compile(r"(?<!\w)([^\W\d]\w{0,200})\s?\(")
_QUOTED = re.compile(r"`{1,3}([^`\n]{1,200})`")
_DOTTED = re.compile(r"(?<![\w.])[^\W\d]\w{0,200}(?:(?:\.|::|#|->)[^\W\d]\w{0,200}){1,20}")
_SEPARATOR = re.compile(r"\.|::|#|->")
_CONSTRUCTORS: Final = frozenset({"<init>", "__init__", "constructor", "init"})
_NO_NAMES: Final = frozenset({"<module>", "<anonymous>", "<lambda>"})


SIGN_WEIGHTS: Final = {
    "text": 2.4,  # BM25 of its text, over the highest of its file
    "own": 1.0,  # words of the report in its own name, by rarity, over the highest
    "named": 0.6,  # the report writes its name as code; less for a name that many functions have
    "qualified": 0.6,  # the report writes it after the name of its class: Class.method
    "of_class": 0.6,  # the report writes the name of its class
    "frame": 1.5,  # it stands in a stack frame, or the report links to a line of it
    "size": 2.2,  # its length: ln(1 + terms) / 10
    "is_class": -0.8,  # it is a class
    "among": -3.4,  # how many its file has: ln(1 + functions) / 10
    "gap": 1.0,  # how far its file's score is below the first one's, in standard deviations of the first 50 scores
}
"""What each sign adds to a function's score. All lie within 0 and 1, but gap, which is below."""


def _written(query: Query) -> tuple[frozenset[str], set[str], set[tuple[str, str]]]:
    """Names that a report mentions; those written as code; pairs of names that follow each other with a dot between.
    Code is what is called, quoted, dotted, or written as no word is.
    """
    text = f"{query.report.summary}\n{query.prose}"
    mentioned = frozenset(query.mentions)
    code = {
        name
        for name in mentioned
        if "_" in name.strip("_") or not (name.islower() or name.istitle())
    }
    code.update(_CALLED.findall(text))
    code.update(word for quoted in _QUOTED.findall(text) for word in words(quoted))
    dotted = [_SEPARATOR.split(name) for name in _DOTTED.findall(text)]
    code.update(name for names in dotted for name in names)
    return mentioned, code, {pair for names in dotted for pair in pairwise(names)}


def score_functions(
    query: Query,
    version: VersionIndex,
    files: Sequence[int],
    scores: FloatArray,
    facts: Sequence[FunctionFacts],
    most: int | None = None,
) -> list[tuple[Function, ...]]:
    """The functions and classes of some of the first files, for each file the ``most`` with the highest scores first,
    of overloads the best, and a class where none of its methods is near.
    ``files`` are rows of the version in the order of their ranking, ``facts`` theirs, ``scores`` (F,) those of all its
    files. Scores of functions may be compared between the files of one call. A pure function of what it is given: the
    report, the version and the ranking, which knows no more of the history than what was known at the opening.
    """
    counts = [len(one) for one in facts]
    if not sum(counts):
        return [()] * len(files)
    mentioned, code, pairs = _written(query)
    names = [name for one in facts for name in one.last_names]
    named = np.zeros(len(names))
    if coded := [place for place, (_, name) in enumerate(names) if name in code]:
        # overloads are one name
        shared = Counter(
            name.rpartition(".")[2] for one in facts for name in dict.fromkeys(one.names)
        )
        named[coded] = [1 / (1 + math.log(shared[names[place][1]])) for place in coded]
    is_class = np.concatenate([one.kinds for one in facts]) == CLASS
    # below the first file, in standard deviations of the highest scores
    highest = scores[top_k(scores, FUNCTION_DEPTH)]
    gaps = scores[list(files)] - scores[list(files)].max()
    gaps = gaps / spread if (spread := float(highest.std())) > 0 else np.zeros(len(gaps))
    signs = {
        **_text_signs(query, version, facts),
        "named": named,
        "qualified": np.array([name in pairs for name in names]),
        "of_class": np.array([outer in mentioned for outer, _ in names]) & ~is_class,
        "frame": _in_frames(query, version, files, facts),
        "is_class": is_class,
        "among": np.repeat(np.log1p(counts), counts) / 10,
        "gap": np.repeat(gaps, counts),
    }
    values: FloatArray = sum(weight * signs[sign] for sign, weight in SIGN_WEIGHTS.items())
    found = []
    for one, of_file in zip(facts, np.split(values, np.cumsum(counts)[:-1]), strict=True):
        found.append(_listed(one, of_file, most))
    return found


def _listed(facts: FunctionFacts, scores: FloatArray, most: int | None) -> tuple[Function, ...]:
    """The best functions of a file, of overloads the best; where not all are wanted, no class with a method near it."""
    best: dict[str, int] = {}
    for n in np.argsort(-scores, kind="stable").tolist():
        best.setdefault(facts.names[n], n)
    names = list(best)
    if most is not None:
        near = names[: 2 * most]
        classes = {name for name in names if facts.kinds[best[name]] == CLASS}
        names = [
            name
            for name in names
            if name not in classes or not any(o.startswith(f"{name}.") for o in near)
        ]
    first = (best[name] for name in names[:most])
    return tuple(
        Function(
            facts.names[n], int(facts.starts[n]), int(facts.ends[n]), round(float(scores[n]), 6)
        )
        for n in first
    )


def _text_signs(
    query: Query, version: VersionIndex, facts: Sequence[FunctionFacts]
) -> dict[str, FloatArray]:
    """(N,) what words tell: those of the functions' texts and of their own names, and how many there are."""
    weight = {
        term: query.weights[term] * rarity
        for term, rarity in rarities(version, query.weights).items()
    }
    own = [
        sum(weight.get(term, 0.0) for term in of_name)
        for one in facts
        for of_name in one.name_terms
    ]
    text = map(scale_by_largest, _bm25(facts, weight, k1=1.2, b=0.4, comments=_COMMENTS))
    lengths = np.concatenate([one.lengths for one in facts])
    return {
        "text": np.concatenate([*text]),
        "own": scale_by_largest(np.array(own)),
        "size": np.log1p(lengths) / 10,
    }


def _bm25(
    facts: Sequence[FunctionFacts],
    weight: Mapping[str, float],
    *,
    k1: float,
    b: float,
    comments: float,
) -> list[FloatArray]:
    """BM25 of the texts of each file's functions, from the weight of each term times its IDF."""
    average = max(float(np.concatenate([one.lengths for one in facts]).mean()), 1e-9)
    scores = []
    for one in facts:
        of_pairs = one.of_terms(weight)[one.places]
        found = np.flatnonzero(of_pairs)
        rows = one.rows[found]
        frequency = one.code[found] + comments * one.comments[found]
        values = of_pairs[found] * saturate_tf(
            frequency, length_norm(one.lengths[rows], average, k1, b), k1
        )
        scores.append(np.bincount(rows, weights=values, minlength=len(one)).astype(np.float64))
    return scores


def function_bm25(report: BugReport, facts: Sequence[FunctionFacts]) -> FloatArray:
    """(N,) BM25 of the functions of all files, one after the other: the reference that rankings are judged beside.
    Every function and class is a document; summary and description are the query, each word as often as it stands
    there. Constants are those of bm25s' default, k1 1.5 and b .75 (Lù 2024).
    """
    query = Counter((*terms_of(report.summary), *terms_of(report.description)))
    number = sum(map(len, facts))
    if not number:
        return np.zeros(0)
    holding: Counter[str] = Counter()
    for one in facts:
        holders = np.bincount(one.places, minlength=len(one.terms)).tolist()
        holding.update(
            {term: number for term, number in zip(one.terms, holders, strict=True) if term in query}
        )
    weight = {
        term: count * float(idf(number, np.array(holding[term]))) for term, count in query.items()
    }
    return np.concatenate(_bm25(facts, weight, k1=1.5, b=0.75, comments=1.0))


def _in_frames(
    query: Query, version: VersionIndex, files: Sequence[int], facts: Sequence[FunctionFacts]
) -> FloatArray:
    """(N,) 1 for a function that a frame names in its file, or whose lines hold that of a link or a nameless frame."""
    paths = version.paths
    starts = np.cumsum([0, *map(len, facts)])
    found = np.zeros(int(starts[-1]))
    place_of = {int(paths.path_ids[file]): place for place, file in enumerate(files)}
    named = [
        (paths.find_by_class(frame.type), frame.method, frame.line)
        for frame in query.frames
        if frame.type
    ]
    for trace in (*query.locations.traces, query.locations.links):
        named += [
            (paths.find_by_location(one.place, one.qualified), one.method, one.line)
            for one in trace
        ]
    for rows, method, line in named:
        by_name = method and method not in _NO_NAMES and "lambda" not in method
        for place in (place_of[row] for row in rows if row in place_of):
            one = facts[place]
            for number, (outer, simple) in enumerate(one.last_names):
                if by_name:
                    here = method == simple or (method in _CONSTRUCTORS and simple == outer)
                else:
                    here = method != "<module>" and one.starts[number] <= line <= one.ends[number]
                if here and one.kinds[number] != CLASS:
                    found[starts[place] + number] = 1.0
    return found


def find_best_holder(
    functions: FunctionFacts, words: Sequence[str], listed: Sequence[Function]
) -> tuple[int, frozenset[str]] | None:
    """The one of the ``listed`` functions that holds the most of the words, and those that it holds; None where none
    holds any. Each word counts more than all after it together; a class is no function.
    """
    wanted = {term: 2.0**-place for place, term in enumerate(words)}
    if not len(functions):
        return None
    values = np.bincount(
        functions.rows, functions.of_terms(wanted)[functions.places], len(functions)
    ).astype(float)
    shown = {(one.name, one.start) for one in listed}
    there = [
        place in shown for place in zip(functions.names, functions.starts.tolist(), strict=True)
    ]
    values[~np.array(there) | (functions.kinds == CLASS)] = 0.0
    best = int(np.argmax(values))
    if not values[best]:
        return None
    places = functions.places[functions.rows == best]
    return best, frozenset(functions.terms[place] for place in places.tolist()) & wanted.keys()
