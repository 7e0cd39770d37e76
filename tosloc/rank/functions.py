"""Which functions of the first files a report is about: a few weighted signs, the same for every project. And which
lines of a file a reader of an answer should see: the few excerpts that say most of the report.

docs/method.md, section 5, has the formula and what its weights were learned from.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from tosloc.code.functions import KINDS, FunctionFacts
from tosloc.code.text import terms as terms_of
from tosloc.code.text import words
from tosloc.index.context import VersionIndex
from tosloc.index.formulas import idf, length_norm, saturate_tf
from tosloc.index.postings import leaders
from tosloc.index.query import Query
from tosloc.rank.features import scaled
from tosloc.rank.text_features import rarities
from tosloc.records import BugReport, FloatArray, Function
from tosloc.reports.text import without_addresses

FUNCTION_DEPTH: Final = 50
"""Files whose functions are scored when a ranking of functions is measured, and whose scores tell how far one leads."""

_COMMENTS: Final = 0.5  # what a word of a comment counts
CLASS: Final = KINDS.index("class")

_CALLED = re.compile(r"(?<!\w)([^\W\d]\w{0,200})\s?\(")
_QUOTED = re.compile(r"`{1,3}([^`\n]{1,200})`")
_DOTTED = re.compile(r"(?<![\w.])[^\W\d]\w{0,200}(?:(?:\.|::|#|->)[^\W\d]\w{0,200}){1,20}")
_SEPARATOR = re.compile(r"\.|::|#|->")
_CONSTRUCTORS: Final = frozenset({"<init>", "__init__", "constructor", "init"})
_NO_NAMES: Final = frozenset({"<module>", "<anonymous>", "<lambda>"})


WEIGHTS: Final = {
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
    code = {name for name in mentioned if "_" in name.strip("_") or not (name.islower() or name.istitle())}
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
        shared = Counter(name.rpartition(".")[2] for one in facts for name in dict.fromkeys(one.names))
        named[coded] = [1 / (1 + math.log(shared[names[place][1]])) for place in coded]
    is_class = np.concatenate([one.kinds for one in facts]) == CLASS
    # below the first file, in standard deviations of the highest scores
    highest = scores[leaders(scores, FUNCTION_DEPTH)]
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
    values: FloatArray = sum(weight * signs[sign] for sign, weight in WEIGHTS.items())
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
        names = [name for name in names if name not in classes or not any(o.startswith(f"{name}.") for o in near)]
    first = (best[name] for name in names[:most])
    return tuple(
        Function(facts.names[n], int(facts.starts[n]), int(facts.ends[n]), round(float(scores[n]), 6)) for n in first
    )


def _text_signs(query: Query, version: VersionIndex, facts: Sequence[FunctionFacts]) -> dict[str, FloatArray]:
    """(N,) what words tell: those of the functions' texts and of their own names, and how many there are."""
    weight = {term: query.weights[term] * rarity for term, rarity in rarities(version, query.weights).items()}
    own = [sum(weight.get(term, 0.0) for term in of_name) for one in facts for of_name in one.name_terms]
    text = map(scaled, _bm25(facts, weight, k1=1.2, b=0.4, comments=_COMMENTS))
    lengths = np.concatenate([one.lengths for one in facts])
    return {"text": np.concatenate([*text]), "own": scaled(np.array(own)), "size": np.log1p(lengths) / 10}


def _bm25(
    facts: Sequence[FunctionFacts], weight: Mapping[str, float], *, k1: float, b: float, comments: float
) -> list[FloatArray]:
    """BM25 of the texts of each file's functions, from the weight of each term times its IDF."""
    average = max(float(np.concatenate([one.lengths for one in facts]).mean()), 1e-9)
    scores = []
    for one in facts:
        of_pairs = one.of_terms(weight)[one.places]
        found = np.flatnonzero(of_pairs)
        rows = one.rows[found]
        frequency = one.code[found] + comments * one.comments[found]
        values = of_pairs[found] * saturate_tf(frequency, length_norm(one.lengths[rows], average, k1, b), k1)
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
        holding.update({term: number for term, number in zip(one.terms, holders, strict=True) if term in query})
    weight = {term: count * float(idf(number, np.array(holding[term]))) for term, count in query.items()}
    return np.concatenate(_bm25(facts, weight, k1=1.5, b=0.75, comments=1.0))


def _in_frames(query: Query, version: VersionIndex, files: Sequence[int], facts: Sequence[FunctionFacts]) -> FloatArray:
    """(N,) 1 for a function that a frame names in its file, or whose lines hold that of a link or a nameless frame."""
    paths = version.paths
    starts = np.cumsum([0, *map(len, facts)])
    found = np.zeros(int(starts[-1]))
    place_of = {int(paths.path_ids[file]): place for place, file in enumerate(files)}
    named = [(paths.rows_of_class(frame.type), frame.method, frame.line) for frame in query.frames if frame.type]
    for trace in (*query.locations.traces, query.locations.links):
        named += [(paths.rows_of_location(one.place, one.qualified), one.method, one.line) for one in trace]
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


def holder_of(
    functions: FunctionFacts, words: Sequence[str], listed: Sequence[Function]
) -> tuple[int, frozenset[str]] | None:
    """The one of the ``listed`` functions that holds the most of the words, and those that it holds; None where none
    holds any. Each word counts more than all after it together; a class is no function.
    """
    wanted = {term: 2.0**-place for place, term in enumerate(words)}
    if not len(functions):
        return None
    values = np.bincount(functions.rows, functions.of_terms(wanted)[functions.places], len(functions)).astype(float)
    shown = {(one.name, one.start) for one in listed}
    there = [place in shown for place in zip(functions.names, functions.starts.tolist(), strict=True)]
    values[~np.array(there) | (functions.kinds == CLASS)] = 0.0
    best = int(np.argmax(values))
    if not values[best]:
        return None
    places = functions.places[functions.rows == best]
    return best, frozenset(functions.terms[place] for place in places.tolist()) & wanted.keys()


# Lines


EXCERPTS: Final = 3  # of a file, at most
LINES: Final = 9  # of an excerpt; where two meet they become one
BEFORE: Final = 3  # lines before one that a frame names
FRAMES: Final = 2  # lines that frames name and that are shown of a file, at most
LEAST_GAIN: Final = 0.35  # an excerpt that says less than this part of what the best one says is left out
AGAIN: Final = 0.3  # what a word counts that another excerpt has shown already
IN_FUNCTION: Final = 1.5  # how much more a line counts within one of the functions that the answer names
TERMS: Final = 16  # words of a report that are marked, at most
COMMON, EVERYWHERE = 0.25, 0.5
"""Words are marked where at most so large a part of the files has them; those of the summary by the second bound."""
IN_REASON: Final = 3.0  # the same within the function that a reason names: what it says should be seen
MOST_LINES: Final = 50_000  # lines of a file that are looked at; what is longer was made by a program


def telling_terms(query: Query, version: VersionIndex) -> dict[str, float]:
    """The report's words that tell files from another, as terms, with what they count; all where none does."""
    weights = query.weights_of(without_addresses(query.prose))
    rare, common = rarities(version, weights), {True: np.log(1 / EVERYWHERE), False: np.log(1 / COMMON)}
    telling = [term for term, rarity in rare.items() if rarity >= common[term in query.summary_counts]] or rare
    gains = {term: weights[term] * rare[term] for term in telling}
    strong = query.summary_counts.keys() | query.compounds  # what the report is about, as reasons have it
    first = sorted(gains, key=lambda term: (term not in strong, -gains[term], term))[:TERMS]
    return {term: gains[term] for term in first}


def framed_lines(query: Query, version: VersionIndex, files: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """File -> lines of it that the report's frames and links name, the innermost first."""
    found: defaultdict[int, dict[int, None]] = defaultdict(dict)
    for place in chain(*query.locations.traces, query.locations.links):
        for row in version.paths.rows_of_location(place.path, place.qualified) if place.line > 0 else ():
            found[row][place.line] = None
    return {file: tuple(found[int(version.paths.path_ids[file])]) for file in files}


def telling_lines(
    lines: Sequence[str],
    terms: Mapping[str, float],
    functions: Sequence[Function] = (),
    framed: Sequence[int] = (),
    spans: Sequence[tuple[int, int]] = (),
    excerpts: int = EXCERPTS,
    length: int = LINES,
) -> Iterator[list[int]]:
    """The excerpts of a file's lines that say most of a report, in the order of the file: places, from 0.

    ``terms`` are the report's with what they count, ``functions`` those of the file that the answer names, ``framed``
    the lines that frames name, ``spans`` the first and last lines that reasons speak of.

    >>> list(telling_lines(["a", "b", "def f():", "    return cookie"], {"cooki": 1.0}, [Function("f", 3, 4, 1.0)]))
    [[2, 3]]
    """
    lines = lines[:MOST_LINES]
    held: Any = np.array([[term in found for term in terms] for found in map(frozenset, map(terms_of, lines))])
    shown, inside = np.zeros(len(lines), dtype=np.bool_), np.ones((len(lines), 1))
    for function in functions:
        inside[function.start - 1 : function.end] = IN_FUNCTION
    for start, end in spans:
        inside[start - 1 : end] = IN_REASON
    named = [number for number in framed[:FRAMES] if 1 <= number <= len(lines)][:excerpts]
    for number in named:
        start = max(0, number - 1 - BEFORE)
        shown[start : start + min(2 * BEFORE + 1, length)] = True
    gains, most, of_excerpt = np.array([*terms.values()]), 0.0, _highest(held * inside, length)
    begins = np.append(held.any(axis=1)[1:], False)  # an excerpt begins a line before one that has a word
    begins[0] |= held[0].any()
    seen = np.zeros(len(terms), dtype=np.bool_)
    for _ in range(excerpts - len(named)):
        worth = of_excerpt @ (gains * np.where(seen, AGAIN, 1.0)) * (begins & ~_highest(shown, length))
        worth = worth.round(9)  # of equal ones the first, however they were added
        start = int(worth.argmax())
        if not worth[start] or worth[start] < LEAST_GAIN * most:
            break
        most = most or float(worth[start])
        shown[start : start + length] = True
        seen |= held[start : start + length].any(axis=0)
    if functions and not shown.any():
        shown[functions[0].start - 1 : functions[0].end][:length] = True
    shown[1:-1] |= shown[:-2] & shown[2:]  # a single line between two
    places = np.flatnonzero(shown)
    for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
        written = [place for place in run.tolist() if lines[place].strip()]
        if written:
            yield list(range(written[0], written[-1] + 1))


def _highest(values: npt.NDArray[Any], length: int) -> Any:
    """(n, ...) of each place the largest value of so many from it on."""
    padded = np.concatenate((values, np.zeros((length - 1, *values.shape[1:]), values.dtype)))
    return sliding_window_view(padded, length, axis=0).max(axis=-1)
