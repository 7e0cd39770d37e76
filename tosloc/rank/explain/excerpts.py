"""Choose the excerpts of a file that match a report best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from tosloc.core.answers import Function
from tosloc.core.arrays import BoolArray
from tosloc.core.patterns import lazy_pattern
from tosloc.rank.explain.matching_terms import MAX_LINES, contained_terms

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
IMPORT: Final = lazy_pattern(
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
    weighted = contained * weigh_by_place(lines, contained, functions, spans)
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


def weigh_by_place(
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
        if IMPORT.match(lines[position]):
            weights[position] = IN_IMPORT
    return weights


def _add_best_excerpts(
    shown: BoolArray, contained: Any, weighted: Any, gains: Any, number: int, length: int
) -> None:
    """Mark up to ``number`` excerpts in ``shown`` (L,), each time the best further one.

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
