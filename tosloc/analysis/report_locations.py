"""Locations in the source code that a bug report names: stack frames of any language, links, written paths.

Frames are given as they count: those of one trace innermost first, whatever the order of its language is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tosloc.analysis import traces
from tosloc.analysis.languages import SOURCE_SUFFIXES

TRACE_GAP: Final = 600
"""Characters between two frames of one trace, at most: source lines and messages may stand between them."""


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A file that a report names."""

    path: str
    """As written, with ``/`` between folders; of a JVM's frame its package and its file, ``org/x/Door.java``."""
    line: int
    """From 1; 0 if none is given."""
    offset: int
    """Where it begins in the text."""
    end: int
    """Where it ends, exclusive."""
    function: str = ""
    """The function that a frame names, simple; "" if it names none."""
    qualified: bool = False
    """Whether the folders are a package, all of which the file's folders must end with."""


@dataclass(frozen=True, slots=True)
class ReportLocations:
    """All locations that a report names, in the order of its text; frames by trace."""

    traces: tuple[tuple[SourceLocation, ...], ...]
    """Frames innermost first. A location that stands alone, as in a compiler's error, is a trace of one frame."""
    links: tuple[SourceLocation, ...]
    """Files in a repository on the web: links to them, and lines of them that GitHub shows in an issue."""
    paths: tuple[SourceLocation, ...]
    """Paths and names of files without a line, but for those that a command runs."""


_RUN: Final = re.compile(r"[\w./\\~+@$%\-]++")
_LOCATED: Final = re.compile(
    r"""(?x) ["']?,? (?: :line\s{1,3} | \s{1,3}(?:on\s)?line\s{1,3} | :\[? | \( ) (?P<line>\d{1,7}) (?!\w|\.\d)
      (?: (?::\d{1,7})? [:,]? \s{0,3} in\s [`'"]? (?P<named>[\w.<>\#]{1,100}) )?
    | \ in\s (?P<called>[\w.<>]{0,100}) \("""
)
"""What follows the file in a frame or an error: ``:12``, ``(12``, ``", line 12``, ``:12: in f``, and `` in f(``."""
_BLOB: Final = re.compile(r"/(?:blob|tree|raw|blame|edit)/[^/]{1,100}/")
_LINKED: Final = re.compile(r"\#L(?P<line>\d{1,7})")
_SHOWN: Final = re.compile(r"\s{1,40}Lines?\s(?P<line>\d{1,7})(?:\s+to\s+\d{1,7})?\s{1,20}in\s{1,20}[0-9a-f]{7}")
_COMMAND: Final = re.compile(r"(?:python[\d.]{0,4}|bash|sh|node|run)\s+(?:-\w{1,20}\s+){0,5}\Z")
_NEW_TRACE: Final = re.compile(r"most recent call |exception was the direct cause|the above exception|\bgoroutine \d")
_INNERMOST_LAST: Final = frozenset((".py", ".pyx", ".pyi"))


def report_locations(text: str) -> ReportLocations:
    """The locations that a text names.

    >>> locations = report_locations('File "a/b.py", line 3, in f\\nFile "a/c.py", line 4, in g\\nsee d.h')
    >>> [[frame.path for frame in trace] for trace in locations.traces], [one.path for one in locations.paths]
    ([['a/c.py', 'a/b.py']], ['d.h'])
    """
    known = traces.frames(text)
    frames = [
        SourceLocation(f"{frame.type.rpartition('.')[0].replace('.', '/')}/{frame.file}", *_rest(frame), qualified=True)
        for frame in known
        if not frame.path and frame.type
    ]
    links: list[SourceLocation] = []
    paths: list[SourceLocation] = []
    number = 0
    for run in _RUN.finditer(text):
        while number < len(known) and known[number].end <= run.start():
            number += 1
        inside = known[number] if number < len(known) and known[number].offset <= run.start() else None
        if inside is not None and inside.type and not inside.path:
            continue
        spelled = run.group().rstrip(".").replace("\\", "/")
        end = run.start() + len(spelled)
        link = _BLOB.search(spelled)
        path = spelled[link.end() :] if link else spelled
        if path[path.rfind(".") :].lower() not in SOURCE_SUFFIXES:
            continue
        if (shown := _SHOWN.match(text, end)) or link:
            shown = shown or _LINKED.match(text, end)
            links.append(SourceLocation(path, int(shown["line"]) if shown else 0, run.start(), end))
        elif (located := _LOCATED.match(text, end)) or inside is not None:
            frames.append(SourceLocation(path, *_line_and_function(located, inside, run.start(), end)))
        elif not _COMMAND.search(text, max(0, run.start() - 40), run.start()):
            paths.append(SourceLocation(path, 0, run.start(), end))
    frames.sort(key=lambda frame: frame.offset)
    return ReportLocations(tuple(_traces(text, frames)), tuple(links), tuple(paths))


def _line_and_function(
    located: re.Match[str] | None, frame: traces.Frame | None, offset: int, end: int
) -> tuple[int, int, int, str]:
    if frame is not None:
        return frame.line, offset, end, frame.method
    assert located is not None
    named = re.split(r"[.#]", located["named"] or located["called"] or "")[-1]
    return int(located["line"] or 0), offset, end, named


def _rest(frame: traces.Frame) -> tuple[int, int, int, str]:
    return frame.line, frame.offset, frame.end, frame.method


def _traces(text: str, frames: list[SourceLocation]) -> Iterator[tuple[SourceLocation, ...]]:
    """Frames in the text's order, by trace, innermost first: Python alone lists the innermost last."""
    trace: list[SourceLocation] = []
    for frame in frames:
        if trace and _parted(text, trace[-1], frame):
            yield _innermost_first(trace)
            trace = []
        trace.append(frame)
    if trace:
        yield _innermost_first(trace)


def _parted(text: str, last: SourceLocation, frame: SourceLocation) -> bool:
    return (
        frame.offset - last.end > TRACE_GAP
        or _innermost_last(frame) != _innermost_last(last)
        or _NEW_TRACE.search(text, last.end, frame.offset) is not None
    )


def _innermost_first(trace: list[SourceLocation]) -> tuple[SourceLocation, ...]:
    return tuple(reversed(trace) if _innermost_last(trace[0]) else trace)


def _innermost_last(frame: SourceLocation) -> bool:
    return frame.path[frame.path.rfind(".") :].lower() in _INNERMOST_LAST
