"""Choose the lines of a file that show a reader why the file matches the report."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from tosloc.code.literals import find_words
from tosloc.code.text import identifier_terms, is_comment
from tosloc.code.text import terms as terms_of
from tosloc.core.answers import Function
from tosloc.core.arrays import BoolArray, FloatArray
from tosloc.rank.features.text_features import rarities
from tosloc.reports.traces import Frame, Place
from tosloc.retrieval.history import ReportMessages
from tosloc.retrieval.query import Query
from tosloc.retrieval.version_index import VersionIndex

EXCERPTS: Final = 3
"""Largest number of excerpts of a file."""
LINES: Final = 9
"""Number of lines of an excerpt; excerpts that touch become one."""
LINES_BEFORE_FRAME: Final = 3
"""Number of lines shown before, and after, a line that a stack frame names."""
FRAMES: Final = 2
"""Largest number of a file's lines that are shown because stack frames name them."""
MIN_GAIN: Final = 0.35
"""Smallest worth of an excerpt, as a share of the best excerpt's worth."""
REPEATED_WORD: Final = 0.3
"""Weight of a word that an earlier excerpt already shows."""
IN_FUNCTION: Final = 1.5
"""Weight of a line within a function that the answer lists."""
IN_REASON: Final = 3.0
"""Weight of a line within the function that a reason names; readers can then check the reason."""
IN_IMPORT: Final = 0.3
"""Weight of a line with an import, because it names other files."""
BODY_LINES: Final = 20
"""Largest number of lines that are shown as a function's body."""
FADING: Final = 0.8
"""Factor of a line's worth for each line of distance, in ``weigh_lines``."""
MAX_BODIES: Final = 2
"""Largest number of a file's functions whose bodies are cut out."""
MAX_TERMS: Final = 16
"""Largest number of words of a report that are marked."""
MAX_FREQUENCY: Final = 0.25
"""Largest share of files that contain a word that is marked."""
MAX_FREQUENCY_OF_SUMMARY: Final = 0.5
"""Largest share of files that contain a word of the summary that is marked."""
EVIDENCE_LINES: Final = 3
"""Largest number of single lines that are shown as evidence for a file."""
MIN_GAIN_OF_LINE: Final = 0.6
"""Smallest worth of a single line, as a share of the best line's worth."""
MIN_GAIN_IN_FUNCTION: Final = 0.3
"""Smallest worth of a line within one function, as a share of its best line's worth."""
IN_NAME: Final = 0.1
"""Weight of a line with the name of a listed function."""
MIN_DISTANCE: Final = 15
"""Number of lines between two single lines that are shown for their words, at least."""
_BLOCK: Final = re.compile(r"[rRuU]?(\"\"\"|'''|/\*)")
"""Beginning of a comment, or of documentation, that may span several lines."""
_BLOCK_ENDS: Final = {'"""': '"""', "'''": "'''", "/*": "*/"}
_LINE_END: Final = re.compile("\n")
_QUOTE: Final = re.compile("[\"'`]")
_WORD: Final = re.compile(r"\w")
_IDENTIFIER: Final = re.compile(r"[\w$]+")
_IMPORT: Final = re.compile(
    r"""(?x) \s*+ (?:
      (?:import\s|@import\s|\#\s?include\s?)["'<\w.{*] | from\s[\w.]{1,200}\simport\s
    | package\s[\w.]{1,200};?$ | (?:using|use|extern\scrate)\s[^;]{1,200};$
    | (?:(?:const|let|var)\s[^=]{1,200}=\s?)?require(?:_relative|_once)?[\s(]{1,2}["']
    | (?:local\s[\w,\ ]{1,200}=\s?)require[\s(]{1,2}["']
    | (?:pub\s)?const\s\w{1,200}\s=\s@import\( | (?:alias|require)\s[A-Z][\w.{}, ]{1,200}$
    | (?:source|\.)\s\S{1,200}$ | load\("[^"]{1,200}" | library\(\w{1,100}\)$
    | (?:[\w.]{1,60}\s)?"[\w.\-]{1,100}(?:/[\w.\-]{1,100}){1,20}"$
    )"""
)
"""A line with an import; in Go it may also be one line of a list of paths."""
MAX_LINES: Final = 50_000
"""Largest number of lines of a file that are searched. A longer file was written by a program."""


def distinctive_terms(query: Query, version: VersionIndex) -> dict[str, float]:
    """Return the report's terms that distinguish files, with their weights, the best first.

    If no term distinguishes files, all of the report's terms are used.
    """
    weights = query.text_weights(query.text.told)
    rarity_of = rarities(version, weights)
    rare: list[str] = []
    for term, rarity in rarity_of.items():
        in_summary = term in query.summary_counts
        bound = MAX_FREQUENCY_OF_SUMMARY if in_summary else MAX_FREQUENCY
        if rarity >= np.log(1 / bound):
            rare.append(term)
    gains = {term: weights[term] * rarity_of[term] for term in rare or rarity_of}
    # Reasons prefer words of the summary and compound names, too.
    strong = query.summary_counts.keys() | query.names.compounds
    best = sorted(gains, key=lambda term: (term not in strong, -gains[term], term))
    return {term: gains[term] for term in best[:MAX_TERMS]}


class FrameLine(NamedTuple):
    """A line that a stack frame or a link names."""

    line: int
    """Number of the line, from 1, in the version that the report is about."""
    method: str
    """Name of the frame's function without its class; "" if it is not known."""


def frame_lines(
    query: Query, version: VersionIndex, files: Sequence[int]
) -> dict[int, tuple[FrameLine, ...]]:
    """Return file -> lines that stack frames and links name, the innermost frame first."""
    lines: defaultdict[int, dict[int, FrameLine]] = defaultdict(dict)
    locations = query.places.locations
    places: Iterable[Frame | Place] = chain(*locations.traces, locations.links)
    for place in places:
        if place.line <= 0:
            continue
        method = place.method if isinstance(place, Frame) else ""
        for path_id in version.paths.find_by_place(place):
            lines[path_id].setdefault(place.line, FrameLine(place.line, method))
    path_ids = version.paths.path_ids
    return {file: tuple(lines[int(path_ids[file])].values()) for file in files}


def find_current_line(
    frame_line: FrameLine, functions: Iterable[Function], lines: Sequence[str]
) -> int:
    """Return the line that a frame means in the searched version.

    This is the frame's own line, unless its function is among the listed ``functions`` and does not
    contain that line. Then it is the first line of the function that contains the function's name.

    >>> code = ["", "@Override", "void open() {", "  turn();", "}"]
    >>> function = Function("Door.open", 2, 5, 1.0)
    >>> find_current_line(FrameLine(4, "open"), [function], code)
    4
    >>> find_current_line(FrameLine(12, "open"), [function], code)
    3
    >>> find_current_line(FrameLine(12, "shut"), [function], code)
    12
    """
    line = frame_line.line
    namesakes = [item for item in functions if item.name.rpartition(".")[2] == frame_line.method]
    if not namesakes or any(item.start <= line <= item.end for item in namesakes):
        return line
    return _find_name(namesakes[0], lines)


def _find_name(function: Function, lines: Sequence[str]) -> int:
    """Return the first line of a function that contains its name, or its first line; from 1."""
    name = function.name.rpartition(".")[2]
    for number, text in enumerate(lines[function.start - 1 : function.end], start=function.start):
        if name in text:
            return number
    return function.start


def find_message_line(lines: Sequence[str], message: str) -> int | None:
    """Return the line, from 1, with most neighbouring words of a message; None if none has any.

    Of equally good lines, the first one with a quotation mark is returned.

    >>> find_message_line(["# no file", "x = 1", "fail('no such file')"], "No such file")
    3
    """
    words = [re.escape(match[0].lower()) for match in find_words(message)]
    if len(words) < 2:
        return None
    pairs = [rf"{word}(?=[^\w\n]+{after}\b)" for word, after in pairwise(words)]
    pattern = re.compile(rf"\b(?:{'|'.join(pairs)})")
    text = "\n".join(lines[:MAX_LINES]).lower()
    line_ends = [match.start() for match in _LINE_END.finditer(text)]
    matches: Counter[int] = Counter()
    for match in pattern.finditer(text):
        matches[bisect_left(line_ends, match.start())] += 1
    if not matches:
        return None

    def worth(line: int) -> tuple[int, bool, int]:
        return matches[line], _QUOTE.search(lines[line]) is not None, -line

    return max(matches, key=worth) + 1


class PointedLines:
    """The lines of some files that a report points to, by frames, links and a message."""

    def __init__(
        self, query: Query, version: VersionIndex, files: Sequence[int], messages: ReportMessages
    ) -> None:
        self._framed = frame_lines(query, version, files)
        self._rows = version.text.rows
        self._messages = messages

    def find(self, file: int, functions: Sequence[Function], lines: Sequence[str]) -> list[int]:
        """Return the lines, from 1, that frames mean, then the line with a message of the report.

        ``functions`` are the file's functions that the answer lists.
        """
        current = [find_current_line(item, functions, lines) for item in self._framed[file]]
        pointed = list(dict.fromkeys(current))
        message = self._messages.find(int(self._rows[file]))
        if message is not None and message.is_distinctive:
            line = find_message_line(lines, message.text)
            if line is not None and line not in pointed:
                pointed.append(line)
        return pointed

    def cut_bodies(
        self,
        file: int,
        functions: Sequence[Function],
        lines: Sequence[str],
        terms: Mapping[str, float],
    ) -> list[CodeBody]:
        """Return the code of a file that matches the report best; see ``cut_bodies``."""
        return cut_bodies(lines, terms, functions, self.find(file, functions, lines))


def choose_excerpts(
    lines: Sequence[str],
    terms: Mapping[str, float],
    functions: Sequence[Function] = (),
    framed: Sequence[int] = (),
    spans: Sequence[tuple[int, int]] = (),
    excerpts: int = EXCERPTS,
    length: int = LINES,
) -> Iterator[list[int]]:
    """Yield the excerpts of a file that match a report best, in the order of the file.

    An excerpt is a list of positions in ``lines``, from 0. ``terms`` are the report's terms with
    their weights, and ``functions`` the file's functions that the answer lists. ``framed`` are the
    lines that stack frames name, and ``spans`` the first and last lines that reasons are about.

    >>> code = ["a", "b", "def f():", "    return cookie"]
    >>> list(choose_excerpts(code, {"cooki": 1.0}, [Function("f", 3, 4, 1.0)]))
    [[2, 3]]
    """
    lines = lines[:MAX_LINES]
    contained = contained_terms(lines, terms)
    shown = np.zeros(len(lines), dtype=np.bool_)
    in_file = [number for number in framed[:FRAMES] if 1 <= number <= len(lines)]
    frames = in_file[:excerpts]
    for number in frames:
        start = max(0, number - 1 - LINES_BEFORE_FRAME)
        shown[start : start + min(2 * LINES_BEFORE_FRAME + 1, length)] = True
    weighted = contained * _line_weights(lines, contained, functions, spans)
    gains = np.array([*terms.values()])
    _add_best_excerpts(shown, contained, weighted, gains, excerpts - len(frames), length)
    if functions and not shown.any():
        shown[functions[0].start - 1 : functions[0].end][:length] = True
    # A single line between two excerpts is shown, too.
    shown[1:-1] |= shown[:-2] & shown[2:]
    positions = np.flatnonzero(shown)
    for run in np.split(positions, np.flatnonzero(np.diff(positions) > 1) + 1):
        written = [position for position in run.tolist() if lines[position].strip()]
        if written:
            yield list(range(written[0], written[-1] + 1))


def choose_lines(
    lines: Sequence[str],
    terms: Mapping[str, float],
    functions: Sequence[Function] = (),
    framed: Sequence[int] = (),
    number: int = EVIDENCE_LINES,
) -> list[int]:
    """Return the positions of up to ``number`` lines that match a report best, in file order.

    ``choose_excerpts`` explains the arguments. Lines that stack frames name are chosen first,
    unless they contain no word. Then come the first function's lines with the report's rarest
    words, in any spelling, and one line of each further function. A line with the function's name
    counts little, because answers name the function anyway. But it is chosen for the first function
    if no other line there contains a word of the report. Chosen lines are some lines apart, to show
    different parts of a long function. Without functions, lines are chosen from the whole file.
    Comments and imports are chosen only if there are no other lines.

    >>> code = ["import http", "def health_headers(self):", "    return self.headers"]
    >>> choose_lines(code, {"health": 2.0, "header": 1.5})
    [1]
    """
    lines = lines[:MAX_LINES]
    names = [_find_name(function, lines) - 1 for function in functions]
    choice = _LineChoice(lines, terms, names, number)
    for line in framed:
        if 1 <= line <= len(lines) and _WORD.search(lines[line - 1]):
            choice.add(line - 1)
    if not functions:
        choice.add_best(0, len(lines), number, MIN_GAIN_OF_LINE)
        return sorted(choice.places)
    for rank, function in enumerate(functions):
        start = function.start - 1
        choice.add_best(start, function.end, 1 if rank else number, MIN_GAIN_IN_FUNCTION)
        if not rank and not any(start <= place < function.end for place in choice.places):
            choice.add(names[0])
    return sorted(choice.places)


class _LineChoice:
    """Lines of a file, up to a number, that are chosen one after the other."""

    def __init__(
        self, lines: Sequence[str], terms: Mapping[str, float], names: Sequence[int], number: int
    ) -> None:
        """Start without lines; ``names`` are the positions of lines with names of functions."""
        self.places: list[int] = []
        """Positions of the chosen lines."""
        self._number = number
        self._contained = contained_terms(lines, terms)
        self._worth = self._contained * np.array([*terms.values()])
        """(L, T) what each term is worth in each line."""
        says_nothing = are_prose(lines)
        if self._worth[~says_nothing].any():
            self._worth[says_nothing] = 0.0
        self._worth[names] *= IN_NAME
        self._is_free = np.ones(len(lines), dtype=np.bool_)
        """(L,) whether no chosen line is near."""

    def add(self, place: int) -> None:
        """Add a line, unless there are enough lines or the line was added before."""
        if len(self.places) < self._number and place not in self.places:
            self.places.append(place)
            self._is_free[max(place - MIN_DISTANCE, 0) : place + MIN_DISTANCE + 1] = False
            self._worth[:, self._contained[place]] *= REPEATED_WORD

    def add_best(self, start: int, end: int, number: int, min_gain: float) -> None:
        """Add lines until ``number`` lines of a range are chosen, rarest words first.

        Lines that are worth less than ``min_gain`` times the first added line are left out.
        """
        most = 0.0
        for _ in range(number - sum(start <= place < end for place in self.places)):
            worth = self._worth[start:end].sum(axis=1) * self._is_free[start:end]
            worth = worth.round(9)  # of equal lines the first wins
            if not worth.any() or worth.max() < min_gain * most:
                break
            most = most or float(worth.max())
            self.add(start + int(worth.argmax()))


def are_prose(lines: Sequence[str]) -> BoolArray:
    """Return (L,) whether each line is a comment, documentation in quotes, or an import.

    >>> are_prose(["import os", "def f():", "    # see g", "    return g()"]).tolist()
    [True, False, True, False]
    """
    result = np.zeros(len(lines), dtype=np.bool_)
    end = ""
    for position, line in enumerate(lines):
        text = line.strip()
        if end:
            result[position] = True
        elif opening := _BLOCK.match(text):
            result[position] = True
            end = _BLOCK_ENDS[opening[1]]
            text = text[opening.end() :]
        else:
            result[position] = is_comment("".join(text.split())) or bool(_IMPORT.match(line))
        if end and end in text:
            end = ""
    return result


def choose_body(
    lines: Sequence[str],
    terms: Mapping[str, float],
    function: Function,
    framed: Sequence[int] = (),
    length: int = BODY_LINES,
) -> list[int]:
    """Return the positions of up to ``length`` lines of a function; comment blocks are left out.

    They are the function's first lines. If the best matching line of a longer function is further
    down, they are the lines around that line. ``choose_lines`` explains the arguments.

    >>> choose_body(["x = 1", "", "def f():", "    return x"], {}, Function("f", 3, 4, 1.0))
    [2, 3]
    """
    start = function.start - 1
    end = min(function.end, len(lines))
    within = [line for line in framed if start < line <= end]
    [place] = choose_lines(lines, terms, [function], within, number=1)
    says_nothing = are_prose(lines[start:end])
    in_block = np.zeros(end - start, dtype=np.bool_)
    in_block[1:] = says_nothing[1:] & says_nothing[:-1]
    in_block[:-1] |= in_block[1:]
    body = [start + offset for offset in np.flatnonzero(~in_block).tolist()]
    before = bisect_left(body, place)
    first = 0
    if before >= length:
        first = min(before - length // 2, len(body) - length)
    shown = body[first : first + length]
    while shown and not lines[shown[-1]].strip():
        shown.pop()
    return shown


def weigh_lines(
    lines: Sequence[str], terms: Mapping[str, float], pointed: Sequence[int] = ()
) -> FloatArray:
    """Return (L,) how well each line, with the lines near it, matches a report.

    ``terms`` are the report's terms with their weights. ``pointed`` are the lines, from 1, that
    frames and messages mean; these are worth most. A line adds its worth to lines near it, a fifth
    less with each line of distance.

    >>> weigh_lines(["a", "b", "return cookie"], {"cooki": 1.0}).round(2).tolist()
    [0.64, 0.8, 1.0]
    """
    worth: FloatArray = np.zeros(len(lines))
    head = lines[:MAX_LINES]
    contained = contained_terms(head, terms)
    gains = np.array([*terms.values()])
    worth[: len(head)] = (contained * _line_weights(head, contained, (), ())) @ gains
    most = max(float(worth.max(initial=0.0)), 1.0)
    for line in pointed:
        if 1 <= line <= len(lines):
            worth[line - 1] += most
    distances = np.abs(np.arange(-LINES, LINES + 1))
    summed: FloatArray = np.convolve(worth, FADING**distances)
    return summed[LINES : LINES + len(lines)]


class CodeBody(NamedTuple):
    """Code of a file that matches the report well."""

    function: str
    """Name of the function with this body; "" for lines outside the other bodies."""
    lines: list[tuple[int, str]]
    """Numbers and texts of the lines, without blank lines."""
    weights: list[float]
    """How well each line, with the lines near it, matches the report."""


def cut_bodies(
    lines: Sequence[str],
    terms: Mapping[str, float],
    functions: Sequence[Function],
    pointed: Sequence[int] = (),
) -> list[CodeBody]:
    """Return the code of a file that matches a report best, the best code first.

    It consists of the bodies of up to ``MAX_BODIES`` of the ``functions`` that do not overlap,
    followed by excerpts of the other lines. The first line of a function weighs most, because it
    contains the name. ``weigh_lines`` explains the other arguments.
    """
    if not lines:
        return []
    weights = weigh_lines(lines, terms, pointed)
    bodies: list[CodeBody] = []
    free = set(range(len(lines)))
    for function in functions:
        places = range(function.start - 1, min(function.end, len(lines)))
        if len(bodies) == MAX_BODIES or not places or not free.issuperset(places):
            continue
        free.difference_update(places)
        bodies.append(_body(function.name, places, lines, weights))
        bodies[-1].weights[0] = math.inf
    others: list[int] = []
    for excerpt in choose_excerpts(lines, terms, functions, pointed):
        others += [place for place in excerpt if place in free]
    if others:
        bodies.append(_body("", others, lines, weights))
    return bodies


def _body(
    function: str, places: Sequence[int], lines: Sequence[str], weights: FloatArray
) -> CodeBody:
    """Return the lines of a file at some positions, from 0."""
    written = [place for place in places if lines[place].strip()]
    numbered = [(place + 1, lines[place]) for place in written]
    return CodeBody(function, numbered, weights[written].tolist())


def contained_terms(lines: Sequence[str], terms: Mapping[str, float]) -> Any:
    """Return (L, T) whether each line contains each term.

    Most lines contain no term, so a line is split into terms only if it contains the beginning of a
    term. A stem may differ from its words in its last letter, and a compound has no separators.
    """
    contained = np.zeros((len(lines), len(terms)), dtype=np.bool_)
    if not terms or not lines:
        return contained
    beginnings = re.compile("|".join(re.escape(term[:-1]) for term in terms))
    text = "\n".join(lines).lower().replace("_", "").replace("$", "")
    line_ends = [match.start() for match in _LINE_END.finditer(text)]
    numbers = {bisect_left(line_ends, match.start()) for match in beginnings.finditer(text)}
    for number in numbers:
        in_line = frozenset(terms_of(lines[number]))
        contained[number] = [term in in_line for term in terms]
    return contained


def find_matches(text: str, terms: Container[str]) -> Iterator[tuple[int, int]]:
    """Yield the first character, and the one after the last, of each word with one of the terms.

    >>> list(find_matches("return self.cookie_path", {"cooki"}))
    [(12, 23)]
    """
    for word in _IDENTIFIER.finditer(text):
        if any(term in terms for term in identifier_terms(word[0])):
            yield word.span()


def _line_weights(
    lines: Sequence[str],
    contained: Any,
    functions: Sequence[Function],
    spans: Sequence[tuple[int, int]],
) -> npt.NDArray[np.float64]:
    """Return (L, 1) the weight of each line.

    Only lines that contain a term, according to ``contained`` (L, T), are checked for imports.
    """
    weights = np.ones((len(lines), 1))
    for function in functions:
        weights[function.start - 1 : function.end] = IN_FUNCTION
    for start, end in spans:
        weights[start - 1 : end] = IN_REASON
    for position in np.flatnonzero(contained.any(axis=1)).tolist():
        if _IMPORT.match(lines[position]):
            weights[position] = IN_IMPORT
    return weights


def _add_best_excerpts(
    shown: BoolArray, contained: Any, weighted: Any, gains: Any, number: int, length: int
) -> None:
    """Mark up to ``number`` excerpts in ``shown`` (L,), each time the one that adds most.

    ``contained`` and ``weighted`` are (L, T): whether a line contains a term, and the line's weight
    if it does. ``gains`` (T,) are the weights of the terms.
    """
    best_of_excerpt = _highest_ahead(weighted, length)
    # An excerpt begins one line before a line that contains a word.
    begins = np.append(contained.any(axis=1)[1:], False)
    begins[0] |= contained[0].any()
    seen = np.zeros(len(gains), dtype=np.bool_)
    most = 0.0
    for _ in range(number):
        allowed = begins & ~_highest_ahead(shown, length)
        worth = best_of_excerpt @ (gains * np.where(seen, REPEATED_WORD, 1.0)) * allowed
        worth = worth.round(9)  # so that of equal excerpts the first wins, however sums round
        start = int(worth.argmax())
        if not worth[start] or worth[start] < MIN_GAIN * most:
            break
        most = most or float(worth[start])
        shown[start : start + length] = True
        seen |= contained[start : start + length].any(axis=0)


def _highest_ahead(values: npt.NDArray[Any], length: int) -> Any:
    """Return (L, ...) the largest value within ``length`` lines from each line on."""
    padding = np.zeros((length - 1, *values.shape[1:]), values.dtype)
    padded = np.concatenate((values, padding))
    return sliding_window_view(padded, length, axis=0).max(axis=-1)
