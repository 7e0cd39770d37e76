"""Score the functions of the first files by a few weighted signs, the same for every project.

docs/method.md, section 5, explains the formula and how its weights were learned.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from tosloc.code.functions import FUNCTION_KINDS, FunctionFacts
from tosloc.code.text import terms as terms_of
from tosloc.code.text import words
from tosloc.core.answers import Function
from tosloc.core.arrays import BoolArray, FloatArray, LongArray
from tosloc.core.reports import BugReport
from tosloc.rank.features.registry import scale_by_largest
from tosloc.rank.features.text_features import rarities
from tosloc.retrieval.query import Query
from tosloc.retrieval.texts import idf, length_norm, saturate_tf, top_k
from tosloc.retrieval.version_index import VersionIndex

FUNCTION_DEPTH: Final = 50
"""Number of first files whose functions evaluations rank; their scores scale the sign ``gap``."""
CLASS_KIND: Final = FUNCTION_KINDS.index("class")
"""Kind of a class in ``FunctionFacts.kinds``."""
_COMMENT_WEIGHT: Final = 0.5
"""Weight of a word in a comment, relative to a word in code."""

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
    "frame": 1.5,  # a stack frame names it, or the report links to a line of it
    "size": 2.2,  # its length: ln(1 + terms) / 10
    "is_class": -0.8,  # it is a class
    "among": -3.4,  # number of functions in its file: ln(1 + functions) / 10
    "gap": 1.0,  # its file's score minus the first one's, in deviations of the first 50 scores
}
"""Weight of each sign in a function's score.

Signs are between 0 and 1, except ``gap``, which is at most 0.
"""


class _WrittenNames(NamedTuple):
    """The names that a report contains."""

    mentioned: frozenset[str]
    """All words of the report."""
    code: set[str]
    """Names written as code: called, quoted, dotted, or spelled like no English word."""
    pairs: set[tuple[str, str]]
    """Pairs of names with a dot between them."""


def _find_written_names(query: Query) -> _WrittenNames:
    """Return the names that a report contains."""
    text = f"{query.text.title}\n{query.text.told}"
    mentioned = frozenset(query.names.mentions)
    code: set[str] = set()
    for name in mentioned:
        if "_" in name.strip("_") or not (name.islower() or name.istitle()):
            code.add(name)
    code.update(_CALLED.findall(text))
    for quoted in _QUOTED.findall(text):
        code.update(words(quoted))
    pairs: set[tuple[str, str]] = set()
    for dotted in _DOTTED.findall(text):
        names = _SEPARATOR.split(dotted)
        code.update(names)
        pairs.update(pairwise(names))
    return _WrittenNames(mentioned, code, pairs)


def score_functions(
    query: Query,
    version: VersionIndex,
    files: Sequence[int],
    scores: FloatArray,
    facts: Sequence[FunctionFacts],
    most: int | None = None,
) -> list[tuple[Function, ...]]:
    """Return the functions and classes of each of the first files, highest score first.

    ``files`` are rows of the version in the order of their ranking, ``facts`` their functions, and
    ``scores`` (F,) the scores of all files. For each file the ``most`` best functions are returned,
    by default all. Functions that a stack frame or a link names come first, starting with the
    innermost frame. Of several overloads only the best is returned. With ``most``, a class is left
    out if one of its methods ranks near it. Scores are comparable between the files of one call.

    The result depends on the arguments alone. The ranking uses no history after the report's
    opening.
    """
    counts = [len(file_facts) for file_facts in facts]
    if not sum(counts):
        return [()] * len(files)
    signs = function_signs(query, version, files, scores, facts)
    values: FloatArray = np.zeros(sum(counts))
    for sign, weight in SIGN_WEIGHTS.items():
        values += weight * signs[sign]
    ends = np.cumsum(counts)[:-1]
    by_file = []
    for file_values, frame in zip(
        np.split(values, ends), np.split(signs["frame"], ends), strict=True
    ):
        by_file.append(_raise_frames(file_values, frame))
    return [_best_functions(*pair, most) for pair in zip(facts, by_file, strict=True)]


def function_signs(
    query: Query,
    version: VersionIndex,
    files: Sequence[int],
    scores: FloatArray,
    facts: Sequence[FunctionFacts],
) -> dict[str, FloatArray]:
    """Return sign -> its values (J,) for the functions of some files, file after file.

    ``score_functions`` explains the arguments. The files must have at least one function.
    """
    counts = [len(file_facts) for file_facts in facts]
    written = _find_written_names(query)
    names: list[tuple[str, ...]] = []
    for file_facts in facts:
        names += file_facts.last_names
    is_class = np.concatenate([file_facts.kinds for file_facts in facts]) == CLASS_KIND
    in_mentioned_class = np.array([outer in written.mentioned for outer, _ in names])
    return {
        **_text_signs(query, version, facts),
        "named": _named_sign(facts, names, written.code),
        "qualified": np.array([name in written.pairs for name in names]).astype(np.float64),
        "of_class": (in_mentioned_class & ~is_class).astype(np.float64),
        "frame": _frame_sign(query, version, files, facts),
        "is_class": is_class.astype(np.float64),
        "among": np.repeat(np.log1p(counts), counts) / 10,
        "gap": np.repeat(_score_gaps(files, scores), counts),
    }


def _raise_frames(values: FloatArray, frame: FloatArray) -> FloatArray:
    """Return the values of a file's functions, with functions in stack frames above all others.

    ``frame`` is the sign ``frame`` of the functions. Its largest value belongs to the innermost
    frame, whose function comes first.
    """
    in_frame = frame > 0
    if not in_frame.any():
        return values
    best_other = values[~in_frame].max(initial=float(values.min()))
    return np.where(in_frame, best_other + frame, values)


def _named_sign(
    facts: Sequence[FunctionFacts], names: Sequence[tuple[str, ...]], code: set[str]
) -> FloatArray:
    """Return (J,) 1 / (1 + ln(functions with the same name)) for names written as code, else 0."""
    values = np.zeros(len(names))
    if not any(name in code for _, name in names):
        return values
    namesakes: Counter[str] = Counter()
    for file_facts in facts:
        # Overloads are one name.
        for qualified in dict.fromkeys(file_facts.names):
            namesakes[qualified.rpartition(".")[2]] += 1
    for number, (_, name) in enumerate(names):
        if name in code:
            values[number] = 1 / (1 + math.log(namesakes[name]))
    return values


def _score_gaps(files: Sequence[int], scores: FloatArray) -> FloatArray:
    """Return each file's score minus the best score, divided by a standard deviation.

    This is the deviation of the first FUNCTION_DEPTH scores.
    """
    gaps = scores[list(files)] - scores[list(files)].max()
    deviation = float(scores[top_k(scores, FUNCTION_DEPTH)].std())
    return gaps / deviation if deviation > 0 else np.zeros(len(gaps))


def _best_functions(
    facts: FunctionFacts, scores: FloatArray, most: int | None
) -> tuple[Function, ...]:
    """Return the best functions of a file; see ``score_functions``."""
    best: dict[str, int] = {}
    for number in np.argsort(-scores, kind="stable").tolist():
        best.setdefault(facts.names[number], number)
    names = list(best)
    if most is not None:
        near = names[: 2 * most]
        names = [name for name in names if not _is_class_with_method(facts, best[name], near)]
    functions = []
    for name in names[:most]:
        number = best[name]
        start = int(facts.starts[number])
        end = int(facts.ends[number])
        functions.append(Function(name, start, end, round(float(scores[number]), 6)))
    return tuple(functions)


def _is_class_with_method(facts: FunctionFacts, number: int, names: Sequence[str]) -> bool:
    """Return whether a function is a class, and some of ``names`` are its methods."""
    if facts.kinds[number] != CLASS_KIND:
        return False
    prefix = f"{facts.names[number]}."
    return any(name.startswith(prefix) for name in names)


def _text_signs(
    query: Query, version: VersionIndex, facts: Sequence[FunctionFacts]
) -> dict[str, FloatArray]:
    """Return the signs (J,) that depend on words: ``text``, ``own`` and ``size``."""
    weights: dict[str, float] = {}
    # A trace names all functions that it passes.
    query_weights = query.weights_without_trace
    for term, rarity in rarities(version, query_weights).items():
        weights[term] = query_weights[term] * rarity
    name_weights = []
    for file_facts in facts:
        for name_terms in file_facts.name_terms:
            name_weights.append(sum(weights.get(term, 0.0) for term in name_terms))
    text = _bm25(facts, weights, k1=1.2, b=0.4, comment_weight=_COMMENT_WEIGHT)
    lengths = np.concatenate([file_facts.lengths for file_facts in facts])
    return {
        "text": np.concatenate([scale_by_largest(values) for values in text]),
        "own": scale_by_largest(np.array(name_weights)),
        "size": np.log1p(lengths) / 10,
    }


def _bm25(
    facts: Sequence[FunctionFacts],
    weights: Mapping[str, float],
    *,
    k1: float,
    b: float,
    comment_weight: float,
) -> list[FloatArray]:
    """Return BM25 of the functions of each file, from ``weights``: term -> weight x IDF."""
    lengths = np.concatenate([file_facts.lengths for file_facts in facts])
    average = max(float(lengths.mean()), 1e-9)
    scores = []
    for file_facts in facts:
        pair_weights = file_facts.of_terms(weights)[file_facts.places]
        pairs = np.flatnonzero(pair_weights)
        rows = file_facts.rows[pairs]
        frequency = file_facts.code[pairs] + comment_weight * file_facts.comments[pairs]
        norm = length_norm(file_facts.lengths[rows], average, k1, b)
        values = pair_weights[pairs] * saturate_tf(frequency, norm, k1)
        by_function = np.bincount(rows, weights=values, minlength=len(file_facts))
        scores.append(by_function.astype(np.float64))
    return scores


def function_bm25(report: BugReport, facts: Sequence[FunctionFacts]) -> FloatArray:
    """Return BM25 (J,) of the functions of all files, which is a baseline in evaluations.

    Every function and class is a document. The query consists of all words of summary and
    description, with repetitions. The constants are the defaults of bm25s: k1 = 1.5 and b = .75 (Lù
    2024).
    """
    query = Counter((*terms_of(report.summary), *terms_of(report.description)))
    functions = sum(map(len, facts))
    if not functions:
        return np.zeros(0)
    document_frequency: Counter[str] = Counter()
    for file_facts in facts:
        counts = np.bincount(file_facts.places, minlength=len(file_facts.terms)).tolist()
        for term, count in zip(file_facts.terms, counts, strict=True):
            if term in query:
                document_frequency[term] += count
    weights: dict[str, float] = {}
    for term, count in query.items():
        weights[term] = count * float(idf(functions, np.array(document_frequency[term])))
    return np.concatenate(_bm25(facts, weights, k1=1.5, b=0.75, comment_weight=1.0))


class _NamedPlace(NamedTuple):
    """A stack frame or link in a report, with the files that it can mean."""

    rows: Sequence[int]
    """Path rows of these files."""
    method: str
    line: int

    @property
    def names_function(self) -> bool:
        """Whether ``method`` is the name of a function."""
        has_name = self.method != "" and self.method not in _NO_NAMES
        return has_name and "lambda" not in self.method


def _named_traces(query: Query, version: VersionIndex) -> Iterator[list[_NamedPlace]]:
    """Yield the places of each stack trace, innermost first, and then the places of the links."""
    paths = version.paths
    by_cause: defaultdict[int, list[_NamedPlace]] = defaultdict(list)
    for frame in query.text.frames:
        if frame.type:
            place = _NamedPlace(paths.find_by_class(frame.type), frame.method, frame.line)
            by_cause[frame.cause].append(place)
    yield from by_cause.values()
    for trace in query.places.locations.traces:
        yield [_NamedPlace(paths.find_by_place(frame), frame.method, frame.line) for frame in trace]
    links = query.places.locations.links
    yield [_NamedPlace(paths.find_by_place(link), "", link.line) for link in links]


def _frame_sign(
    query: Query, version: VersionIndex, files: Sequence[int], facts: Sequence[FunctionFacts]
) -> FloatArray:
    """Return (J,) 1 / sqrt(rank) for a function that a frame names or points into, otherwise 0.

    The rank counts the frames of a trace, innermost first, that are in a function of the files. The
    line decides for links, and for frames without the name of a function.
    """
    starts = np.cumsum([0, *map(len, facts)])
    values = np.zeros(int(starts[-1]))
    position_by_row: dict[int, int] = {}
    for position, file in enumerate(files):
        position_by_row[int(version.paths.path_ids[file])] = position
    for trace in _named_traces(query, version):
        rank = 0
        for place in trace:
            numbers = []
            for row in place.rows:
                if row in position_by_row:
                    position = position_by_row[row]
                    numbers.extend(starts[position] + _functions_at(facts[position], place))
            if numbers:
                rank += 1
                values[numbers] = np.maximum(values[numbers], 1 / math.sqrt(rank))
    return values


def _functions_at(facts: FunctionFacts, place: _NamedPlace) -> LongArray:
    """Return the numbers of the functions, but not classes, that a place names or is inside."""
    if place.names_function:
        matches = np.array([_has_name(names, place.method) for names in facts.last_names], bool)
    elif place.method == "<module>":
        matches = np.zeros(len(facts), dtype=np.bool_)
    else:
        matches = (facts.starts <= place.line) & (place.line <= facts.ends)
    return np.flatnonzero(matches & (np.asarray(facts.kinds) != CLASS_KIND))


def _has_name(names: tuple[str, ...], method: str) -> bool:
    """Return whether a function is the method of a frame.

    ``names`` are the names of the function's class and of the function itself.
    """
    outer, name = names
    return method == name or (method in _CONSTRUCTORS and name == outer)


def find_best_holder(
    functions: FunctionFacts, words: Sequence[str], listed: Sequence[Function]
) -> tuple[int, frozenset[str]] | None:
    """Return the ``listed`` function that contains most of the words, and the words it contains.

    Each word counts more than all later words together. Classes do not count. Return None if no
    listed function contains a word.
    """
    if not len(functions):
        return None
    values = np.zeros(len(functions))
    for position, word in enumerate(words):
        place = bisect_left(functions.terms, word)
        if place < len(functions.terms) and functions.terms[place] == word:
            values[functions.rows[functions.places == place]] += 2.0**-position
    values[~_is_listed(functions, listed) | (functions.kinds == CLASS_KIND)] = 0.0
    best = int(np.argmax(values))
    if not values[best]:
        return None
    places = functions.places[functions.rows == best].tolist()
    contained = frozenset(functions.terms[place] for place in places)
    return best, contained.intersection(words)


def _is_listed(functions: FunctionFacts, listed: Sequence[Function]) -> BoolArray:
    """Return (J,) whether each function of a file is among those that an answer lists."""
    keys = {(function.name, function.start) for function in listed}
    pairs = zip(functions.names, functions.starts.tolist(), strict=True)
    return np.array([pair in keys for pair in pairs], dtype=np.bool_)
