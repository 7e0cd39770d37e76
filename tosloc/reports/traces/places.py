"""Find places in source code that a text names: stack frames, links to files, and written paths."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from tosloc.code.languages import SOURCE_SUFFIXES
from tosloc.core.patterns import lazy_pattern
from tosloc.reports.traces.frame import Frame
from tosloc.reports.traces.parser import complete_frame, frames, separates_traces
from tosloc.reports.traces.python import is_python

TRACE_GAP: Final = 600
"""Largest number of characters between two frames of one trace: source lines and messages."""
_RUN: Final = lazy_pattern(r"[A-Za-z0-9_\u00c0-\u024f\u0370-\u052f./\\~+@$%\-]++")
"""Text that may be a path.

Chinese, Japanese and Korean letters are left out, because no blank separates them from paths.
"""
_OBJECT: Final = lazy_pattern(r"\.(?:o|obj|lo)\Z")
_BUILD_FOLDER: Final = lazy_pattern(r"(?:CMakeFiles/)?[\w.+\-]{1,100}\.(?:dir|p)/")
"""Folders in which CMake and Meson put objects: CMakeFiles/app.dir/, app.p/."""
_FAILED: Final = lazy_pattern(r"(?:FAILED:\s{1,3}|\*\*\*\s\[(?:[^\s\]]{1,100}\s){0,2})\Z")
"""Text before the object that a build could not make."""
_COMPILED: Final = lazy_pattern(r"\s-[coI]\s{0,3}\Z")
_COMPILED_SCRIPT: Final = lazy_pattern(r"/(?:dist|cjs|esm)/\S{1,300}\.[cm]?jsx?$")
"""A compiled JavaScript file; its lines are not those of its source."""
_LOCATED: Final = lazy_pattern(
    r"""(?x) ["'”“’‘»«]?,? (?: :line\s{1,3} | \s{1,3}(?:on\s)?line\s{1,3} | :\[? | :\ \( | \(
        | (?<=[jt]s|sx|ue|te)\ (?=\d{1,7}:\d{1,5}(?:[-\s]|\Z)) )
      (?P<line>\d{1,7}) (?![A-Za-z0-9_]|\.\d)
      (?: (?::\d{1,7})? [:,]? \s{0,3} in\s (?!main\ chunk|\w{1,30}\ ")
          [`'"‘’“«]?
          (?:(?:block|rescue|ensure)\ (?:\([^)\n]{1,20}\)\ )?in\ | function\ [`'"‘’“«<]?)?
          (?P<named>[\w.<>\#~]{1,100}+(?:::[\w<>~]{1,100}+){0,8}+(?:[?!=](?=['’”`"]))?)(?!-) )?
    | \ in\s (?P<called>[\w.<>]{0,100}) \("""
)
"""Text after the file in a frame or an error.

``:12``, ``(12``, ``: (12``, ``", line 12``, `` 12:3``, ``:12: in f``, and `` in f(``.
"""
_PROJECT: Final = "[^/]{1,100}/[^/]{1,100}"
_BLOB: Final = lazy_pattern(
    rf"""(?x) /(?:blob|tree|raw|blame|edit)/[^/]{{1,100}}/
      | \A//raw\.githubusercontent\.com/(?P<github>{_PROJECT})/(?:refs/(?:heads|tags)/)?
        [^/]{{1,100}}/
      | \A//bitbucket\.org/(?P<bitbucket>{_PROJECT})/src/[^/]{{1,100}}/
      | \A//[^/]{{1,100}}/(?P<gitea>{_PROJECT})/src/(?:branch|commit|tag)/[^/]{{1,100}}/"""
)
"""Text before the path of a file in its web address."""
_LINKED: Final = lazy_pattern(r"\#L(?P<line>\d{1,7})")
_SHOWN: Final = lazy_pattern(
    r"\s{1,40}Lines?\s(?P<line>\d{1,7})(?:\s+to\s+\d{1,7})?\s{1,20}in\s{1,20}[0-9a-f]{7}"
)
_DIAGNOSED: Final = lazy_pattern(
    r"[:(\[]\d{1,7}(?:[:,.-]\d{1,7}){0,3}[)\]]? ?[:-]? {0,2}"
    r"(?:fatal )?(?P<kind>error|warning|note)\b"
)
"""Text after the file in a compiler's message: ``:12:5: error``, ``(12,5): warning``."""
_DIAGNOSED_BEFORE: Final = lazy_pattern(
    r"(?P<kind>error|warning|note)(?:\[\w{1,40}\])?:\s[^\n]{0,200}\n\s{0,9}-->\s{1,3}\Z"
    r"|(?:\A|\n)\s{0,9}(?P<letter>[ew]):\s(?:file:/{0,2})?\Z"
)
"""Text before the file in a compiler's message of Rust or Kotlin."""
_COMMAND: Final = lazy_pattern(r"(?:python[\d.]{0,4}|bash|sh|node|run)\s+(?:-\w{1,20}\s+){0,5}\Z")


class Place(NamedTuple):
    """A file that a text names outside stack frames: by a link, or by its path or name."""

    offset: int
    """Offset in the text at which the place begins."""
    end: int
    """Offset in the text at which the place ends."""
    path: str
    """Path of the file as the text spells it."""
    line: int = 0
    """Line from 1; 0 if the text does not name one."""
    project: str = ""
    """Web path of the project in a link, such as "pallets/flask"; empty if it is not known."""


_T = TypeVar("_T", Frame, Place)


class Locations(NamedTuple):
    """All places that a text names, in its order; frames are grouped by trace, innermost first."""

    traces: tuple[tuple[Frame, ...], ...]
    """Traces; a single place with a line, as in a compiler's error, is a trace of one frame."""
    links: tuple[Place, ...]
    """Files in a repository on the web: links, and lines that GitHub shows in an issue."""
    paths: tuple[Place, ...]
    """Paths and names of files without a line, except those that a command runs."""

    def places(self) -> Iterator[Frame | Place]:
        """Yield every stack frame, then the links, then the paths."""
        for trace in self.traces:
            yield from trace
        yield from self.links
        yield from self.paths

    def shift(self, offset: Callable[[int], int]) -> Locations:
        """Return the same places with other offsets; ``offset`` maps old offsets to new ones."""

        def shift(item: _T) -> _T:
            return item._replace(offset=offset(item.offset), end=offset(item.end))

        return Locations(
            tuple(tuple(map(shift, trace)) for trace in self.traces),
            tuple(map(shift, self.links)),
            tuple(map(shift, self.paths)),
        )


def locations(text: str) -> Locations:
    """Return the places that a text names.

    >>> places = locations('File "a/b.py", line 3, in f\\nFile "a/c.py", line 4, in g\\nsee d.h')
    >>> [[frame.full_path for frame in trace] for trace in places.traces]
    [['a/c.py', 'a/b.py']]
    >>> [place.path for place in places.paths]
    ['d.h']
    """
    parsed_frames = frames(text)
    trace_frames = [frame for frame in parsed_frames if frame.qualified]
    links: list[Place] = []
    paths: list[Place] = []
    parsed_frames.append(Frame(len(text) + 1, len(text) + 1))
    ends = [frame.end for frame in parsed_frames]
    for run in _RUN.finditer(text):
        if "." not in run[0]:
            continue  # Files have suffixes.
        start = run.start()
        frame = parsed_frames[bisect(ends, start)]
        is_in_frame = frame.offset <= start
        spelling = run.group().rstrip(".").replace("\\", "/")
        end = start + len(spelling)
        link = _BLOB.search(spelling)
        path = spelling[link.end() :] if link else spelling
        if _OBJECT.search(path):
            if not _FAILED.search(text, max(0, start - 240), start):
                continue  # Build logs name all object files; only those that failed matter.
            source = source_of_object(path)
            source_suffix = source[source.rfind(".") :].lower()
            if source_suffix in SOURCE_SUFFIXES:
                trace_frames.append(Frame(start, end, path=source))
            continue
        suffix = path[path.rfind(".") :].lower()
        if suffix not in SOURCE_SUFFIXES or (is_in_frame and frame.qualified):
            continue
        if (line_match := _SHOWN.match(text, end)) or link:
            line_match = line_match or _LINKED.match(text, end)
            line = int(line_match["line"]) if line_match else 0
            project = _linked_project(link) if link else ""
            links.append(Place(start, end, path, line, project))
        elif is_in_frame:
            line = 0 if _COMPILED_SCRIPT.search(path) else frame.line
            trace_frames.append(Frame(start, end, line, frame.method, path))
        elif line_match := _LOCATED.match(text, end):
            trace_frames.append(_located_frame(text, start, end, path, line_match))
        elif not (
            _COMMAND.search(text, max(0, start - 40), start)
            or _COMPILED.search(text, max(0, start - 10), start)
        ):
            paths.append(Place(start, end, path))
    return Locations(_group_traces(text, trace_frames), tuple(links), tuple(paths))


def _located_frame(text: str, start: int, end: int, path: str, line_match: re.Match[str]) -> Frame:
    """Return the frame of the path ``text[start:end]``, with the text after it (``_LOCATED``)."""
    method = re.split(r"[.#]|::", line_match["named"] or line_match["called"] or "")[-1]
    line = 0 if _COMPILED_SCRIPT.search(path) else int(line_match["line"] or 0)
    return complete_frame(text, Frame(start, end, line, method, path))


def _group_traces(text: str, trace_frames: Iterable[Frame]) -> tuple[tuple[Frame, ...], ...]:
    """Return the frames by trace, the innermost frame of each first.

    A trace ends at a gap, at another language, or where the text says that a new trace begins. Node
    writes the place of an error before the stack, and again with its method in the stack: both
    frames get the method.
    """
    traces: list[list[Frame]] = []
    for frame in sorted(trace_frames, key=lambda frame: frame.offset):
        last = traces[-1][-1] if traces else None
        if (
            last is None
            or frame.offset - last.end > TRACE_GAP
            or is_python(frame) != is_python(last)
            or separates_traces(text, last.end, frame.offset)
        ):
            traces.append([])
        traces[-1].append(frame)
    # Python alone lists the innermost frame last.
    ordered = [trace[::-1] if is_python(trace[0]) else trace for trace in traces]
    return tuple(map(_share_methods, _errors_first(text, ordered)))


def _errors_first(text: str, traces: Sequence[Sequence[Frame]]) -> list[Sequence[Frame]]:
    """Return traces with a compiler's warnings and notes after its errors, if it printed errors.

    A build prints warnings about files that compile before the error that stops it.
    """
    if "warning" not in text and "w: " not in text:
        return list(traces)
    kinds = {frame: _kind_of_diagnostic(text, frame) for trace in traces for frame in trace}
    if not {"error", "warning"}.issubset(kinds.values()):
        return list(traces)

    def is_remark(frame: Frame) -> bool:
        return kinds[frame] in ("warning", "note")

    ordered = [sorted(trace, key=is_remark) for trace in traces]
    return sorted(ordered, key=lambda trace: is_remark(trace[0]))


def _kind_of_diagnostic(text: str, frame: Frame) -> str:
    """Return "error", "warning" or "note" for a compiler's message about a place, else ""."""
    match = _DIAGNOSED.match(text, frame.end)
    if match is None:
        match = _DIAGNOSED_BEFORE.search(text, max(0, frame.offset - 240), frame.offset)
    kind = match[match.lastgroup or 0] if match else ""
    return {"e": "error", "w": "warning"}.get(kind, kind)


def _share_methods(trace: Sequence[Frame]) -> tuple[Frame, ...]:
    """Return a trace in which frames without a method have the method of a frame at their line."""
    methods: dict[tuple[str, int], str] = {}
    for frame in trace:
        if frame.method and frame.line:
            methods.setdefault((frame.full_path, frame.line), frame.method)
    return tuple(
        frame._replace(method=frame.method or methods.get((frame.full_path, frame.line), ""))
        for frame in trace
    )


def _linked_project(link: re.Match[str]) -> str:
    """Return the web path of the project in a match of ``_BLOB``; empty without a host name."""
    if link.lastgroup:
        return link[link.lastgroup]
    address = link.string[: link.start()].removesuffix("/-")
    host, _, path = address.lstrip("/").partition("/")
    return path if "." in host or address.startswith("//") else ""


def source_of_object(path: str) -> str:
    """Return the path of the source from which an object file was compiled, by CMake or Meson.

    >>> source_of_object("src/base/CMakeFiles/app_base.dir/utils/number.cpp.o")
    'src/base/utils/number.cpp'
    """
    return _BUILD_FOLDER.sub("", _OBJECT.sub("", path))
