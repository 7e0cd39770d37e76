"""Stack traces in bug reports, other places in source code that they name, and named changes.

Reports come as people paste them: line breaks folded into blanks, several traces, log lines in
between.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from tosloc.code.languages import SOURCE_SUFFIXES
from tosloc.reports.traces.functions import find_function

TRACE_GAP: Final = 600
"""Most characters between two frames of one trace; source lines and messages may be there."""


class Frame(NamedTuple):
    """A stack frame, or another place in source code that a text names."""

    offset: int
    """Offset in the text at which it begins."""
    end: int
    """Offset in the text at which it ends."""
    line: int = 0
    """Line from 1; 0 if it is not known."""
    method: str = ""
    """Name of the function or method; empty if it is not known."""
    path: str = ""
    """File as the text spells it, if it gives a path."""
    type: str = ""
    """Qualified name of the outermost class, "org.example.Outer" for a frame in "Outer$1".

    Empty if the frame names no class."""
    file: str = ""
    """Simple file name, such as "Outer.java", guessed from the class if the frame has none.

    Empty if there is neither."""
    cause: int = 0
    """Part of the trace: 0 for the first, one more after each "Caused by" or "root cause"."""
    project: str = ""
    """Path of the project on the web in a link, "pallets/flask"; empty if it is not known."""

    @property
    def qualified(self) -> bool:
        """Whether it names a package, so that the file's folders must end with the package's."""
        return bool(self.type) and not self.path

    @property
    def place(self) -> str:
        """The path, with ``/`` between folders.

        If the frame has none, it is made of package and file: ``org/x/Door.java``.
        """
        return self.path or f"{self.type.rpartition('.')[0].replace('.', '/')}/{self.file}"


def frame_name(frame: Frame) -> str:
    """Return the outermost class of a stack frame, or its file if it has no class."""
    return frame.type or frame.path or frame.file


class Locations(NamedTuple):
    """All places that a text names, in its order; frames by trace, innermost first."""

    traces: tuple[tuple[Frame, ...], ...]
    """A place that stands alone, as in a compiler's error, is a trace of one frame."""
    links: tuple[Frame, ...]
    """Files in a repository on the web: links, and lines that GitHub shows in an issue."""
    paths: tuple[Frame, ...]
    """Paths and names of files without a line, but for those that a command runs."""

    def shift(self, offset: Callable[[int], int]) -> Locations:
        """Return the same places with other offsets."""

        def shift_all(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
            return tuple(
                frame._replace(offset=offset(frame.offset), end=offset(frame.end))
                for frame in frames
            )

        return Locations(
            tuple(map(shift_all, self.traces)), shift_all(self.links), shift_all(self.paths)
        )


_SOURCE: Final = r"""(?:Native\s+Method|Unknown\s+Source|(?:Inlined\s+)?Compiled\s+Code
    |<generated>|<eval>
    # a blank may stand anywhere: mail programs broke long lines, and the breaks became blanks
    |(?P<ja_file>(?:[\w$.\-]\s?){1,200}\.\s?(?:j\s?a\s?v\s?a|k\s?t\s?s?|s\s?c\s?a\s?l\s?a|groovy|clj|aj|j\s?s\s?p\s?x?|tag))
     (?:\s*:\s*(?P<ja_line>-?(?:\d\s?){1,9}))?)"""
_JAVA: Final = rf"""
    (?<![\w$.]) [Aa]t \s+ (?=[^\s()]{{1,400}}\.) (?P<ja_where>[^\s()]{{1,400}}) \s?
    \( \s* {_SOURCE} \s* \)
    (?: \s* ~? \[ [^\]\s]{{1,100}} \] )?"""
_DEBUGGER: Final = r"""
    (?<![\w$.]) (?P<db_runtime>[\w$.]{1,200}) (?: \( (?P<db_declaring>[\w$.]{1,200}) \) )?
    \. (?P<db_method>[\w$<>]{1,100}) \( [^()\n]{0,200} \) \s+ line: \s* (?P<db_line>\d{1,9})
    (?: \s* \[ [^\]\n]{0,40} \] )?"""
_PYTHON: Final = r"""
    File \s+ "(?P<py_path>[^"\n]{1,300})" ,\s+ line \s+ (?P<py_line>\d{1,9})
    (?: ,\s+ in \s+ (?P<py_method>[\w.<>]{1,100}) )?"""
_DOTNET: Final = r"""
    (?<![\w$.]) at \s+ (?P<cs_member>[\w.`+<>\[\],$]{1,300}) \s? \( [^()\n]{0,300} \) \s++ in \s++
    (?P<cs_path>(?:[A-Za-z]:)?[^:\n]{1,300}?) :line \s+ (?P<cs_line>\d{1,9})"""
_SCRIPT: Final = r"""
    (?<![\w$.]) at \s+
    (?: (?P<js_name>(?:async\s+|new\s+)?[\w$.<>\[\]#]{1,200}(?:\s\[as\ [\w$.]{1,100}\])?) \s+ \( )?
    (?P<js_path>(?:[\w\-]{1,20}:/{1,3})?[^\s():,]{1,300}\.(?:[cm]?[jt]sx?|vue|svelte))
    (?:\?[^\s():]{0,100})?
    : (?P<js_line>\d{1,9}) (?: : \d{1,9} )? \)?"""

_FRAME: Final = re.compile("|".join((_JAVA, _DOTNET, _SCRIPT, _PYTHON, _DEBUGGER)), re.VERBOSE)
_CAUSE: Final = re.compile(r"\bcaused by\b|\broot cause\b", re.I)

_CLASS: Final = r"(?<![\w$./@])(?:[a-z_][\w$]{0,100}\.){1,20}[A-Z][\w$]{0,200}"
_LEVEL: Final = (
    "(?:SEVERE|WARNING|WARN|INFO|INFORMATION|ERROR|FATAL|DEBUG|TRACE|CONFIG|FINE|FINER|FINEST"
    "|SCHWERWIEGEND|WARNUNG|GRAVE)"
)
_HEADER: Final = re.compile(
    rf"(?:\d{{1,2}}:\d{{2}}:\d{{2}}(?:[.,]\d{{1,6}})?(?:\s?[AaPp]\.?[Mm]\b\.?)?(?:\s[A-Z]{{3,4}}(?=\s))?|\b{_LEVEL}\b:?)"
    rf"(?:\s+(?:{_LEVEL}\b:?|\[[^\]\n]{{0,100}}\]|\([^)\n]{{0,100}}\)|-)){{0,8}}"
    rf"\s+\[?(?P<timed>{_CLASS})"
    rf"|(?P<levelled>{_CLASS})\s+[\w$<>]{{1,100}}\s+{_LEVEL}\b"
)
_THROWN: Final = re.compile(
    rf"(?P<thrown>{_CLASS}(?:Exception|Error|Throwable|Failure)(?![\w$]))(?=\s*(?::|$|at\s|\n))"
)
_RUN: Final = re.compile(r"[A-Za-z0-9_\u00c0-\u024f\u0370-\u052f./\\~+@$%\-]++")
"""What may be a path.

Chinese, Japanese and Korean letters are left out, because no blank divides them from paths."""
_OBJECT: Final = re.compile(r"\.(?:o|obj|lo)\Z")
_BUILD_FOLDER: Final = re.compile(r"(?:CMakeFiles/)?[\w.+\-]{1,100}\.(?:dir|p)/")
"""Folders in which CMake and Meson put objects: CMakeFiles/app.dir/, app.p/."""
_FAILED: Final = re.compile(r"(?:FAILED:\s{1,3}|\*\*\*\s\[(?:[^\s\]]{1,100}\s){0,2})\Z")
"""What stands before the object that a build could not make."""
_COMPILED: Final = re.compile(r"\s-[coI]\s{0,3}\Z")
_COMPILED_SCRIPT: Final = re.compile(r"/(?:dist|cjs|esm)/\S{1,300}\.[cm]?jsx?$")
"""A file that JavaScript was compiled into; its lines are not those of its source."""
_LOCATED: Final = re.compile(
    r"""(?x) ["']?,? (?: :line\s{1,3} | \s{1,3}(?:on\s)?line\s{1,3} | :\[? | :\ \( | \(
        | (?<=[jt]s|sx|ue|te)\ (?=\d{1,7}:\d{1,5}(?:[-\s]|\Z)) )
      (?P<line>\d{1,7}) (?![A-Za-z0-9_]|\.\d)
      (?: (?::\d{1,7})? [:,]? \s{0,3} in\s (?!main\ chunk)
          [`'"]? (?:(?:block|rescue|ensure)\ (?:\([^)\n]{1,20}\)\ )?in\ | function\ [`'"<]?)?
          (?P<named>[\w.<>\#~]{1,100}+(?:::[\w<>~]{1,100}+){0,8}+)(?!-) )?
    | \ in\s (?P<called>[\w.<>]{0,100}) \("""
)
"""What follows the file in a frame or an error.

``:12``, ``(12``, ``: (12``, ``", line 12``, `` 12:3``, ``:12: in f``, and `` in f(``."""
_PROJECT: Final = "[^/]{1,100}/[^/]{1,100}"
_BLOB: Final = re.compile(
    rf"""(?x) /(?:blob|tree|raw|blame|edit)/[^/]{{1,100}}/
      | \A//raw\.githubusercontent\.com/(?P<github>{_PROJECT})/(?:refs/(?:heads|tags)/)?
        [^/]{{1,100}}/
      | \A//bitbucket\.org/(?P<bitbucket>{_PROJECT})/src/[^/]{{1,100}}/
      | \A//[^/]{{1,100}}/(?P<gitea>{_PROJECT})/src/(?:branch|commit|tag)/[^/]{{1,100}}/"""
)
"""What precedes the path of a file in its address on the web."""
_JULIA_HEAD: Final = re.compile(r"(?m)\[\s?\d{1,4}\]\s{1,4}|^\s{0,9}in\s")
"""What begins a frame of Julia: its number, or "in" before version 0.6."""
_JULIA_PLACE: Final = re.compile(r"\s(?:at|@(?:\s(?P<module>[\w.]{1,100}))?)\s\Z")
"""What precedes the file in a frame of Julia."""
_JULIA_FUNCTION: Final = re.compile(
    r"#?(?:[\w!]{1,100}\.){0,9}([\w!]{1,100})(?:#\d{1,9})?(?=[({]|\Z)"
)
_JULIA_FRAME_LENGTH: Final = 1_000
"""Characters before the file of a Julia frame in which the name of its function is looked for."""
_LINKED: Final = re.compile(r"\#L(?P<line>\d{1,7})")
_SHOWN: Final = re.compile(
    r"\s{1,40}Lines?\s(?P<line>\d{1,7})(?:\s+to\s+\d{1,7})?\s{1,20}in\s{1,20}[0-9a-f]{7}"
)
_COMMAND: Final = re.compile(r"(?:python[\d.]{0,4}|bash|sh|node|run)\s+(?:-\w{1,20}\s+){0,5}\Z")
_NEW_TRACE: Final = re.compile(
    r"most recent call |exception was the direct cause|the above exception|\bgoroutine \d"
)


def frames(text: str) -> list[Frame]:
    """Return all stack frames of ``text``, in order.

    They are those of Java, a Java debugger, .NET, JavaScript and Python.

    >>> [frame] = frames("at java.base/a.b.Pool$Worker.run(Pool.java:7)")
    >>> frame.type, frame.file, frame.method, frame.line, frame.place
    ('a.b.Pool', 'Pool.java', 'run', 7, 'a/b/Pool.java')
    """
    causes = [match.start() for match in _CAUSE.finditer(text)]
    found: list[Frame] = []
    for match in _FRAME.finditer(text):
        frame = _read_frame(match)
        # No cause counts before the first frame.
        first = found[0].offset if found else frame.offset
        cause = bisect(causes, frame.offset) - bisect(causes, first)
        found.append(frame._replace(cause=cause))
    return found


def _read_frame(match: re.Match[str]) -> Frame:
    """Return the frame of a match of ``_FRAME``; its cause is not known yet."""
    # The names of groups begin with two letters for the language.
    groups = {name[3:]: value for name, value in match.groupdict("").items() if value}
    path = groups.get("path", "")
    file = "".join(groups.get("file", "").split())
    method = groups.get("method", "")
    class_name = ""
    if "where" in groups:
        class_name, _, method = groups["where"].rpartition(".")
        # "java.base/" or "app//" before the class are module and loader, "/0x0012" after it is
        # the number of a hidden class.
        without_number = re.sub(r"/(?:0x)?[0-9a-f]+$", "", class_name)
        class_name = _outer(without_number.rpartition("/")[2])
    elif "runtime" in groups:
        class_name = _outer(groups.get("declaring") or groups["runtime"])
    elif "member" in groups:
        class_name, _, method = groups["member"].rpartition(".")
        class_name = re.split(r"[`+<\[]", class_name)[0].rstrip(".")
        path = path.strip()
    elif "name" in groups:
        bare = re.sub(r"^(?:async|new)\s+|\s\[as [\w$.]++\]\Z", "", groups["name"])
        method = bare.rpartition(".")[2]
    simple = class_name.rpartition(".")[2]
    if path:
        file = re.split(r"[/\\]", path)[-1]
    elif not file and simple and not simple.startswith("$"):
        file = f"{simple}.java"
    digits = "".join(groups.get("line", "").split())  # a blank may be among them
    line = max(int(digits or 0), 0)
    return Frame(match.start(), match.end(), line, method, path, class_name, file)


def without_frames(text: str) -> str:
    """Return ``text`` with every frame replaced by a blank; everything else stays.

    >>> without_frames("It fails: a.MyException: no at a.C.d(C.java:1) at a.C.e(C.java:2) Help!")
    'It fails: a.MyException: no     Help!'
    """
    return _FRAME.sub(" ", text)


def qualified_names(text: str) -> list[str]:
    """Return the qualified names of the outermost classes in traces and log headers.

    Each is there once, in order of first appearance.

    A log header is a class after a time or a level, or before a method and a level; exceptions
    before a message or a frame count too. A class that is only mentioned in a sentence does not.

    >>> text = "15:34:04 a.b.Shop open SEVERE: a.b.ShopError: shut at a.b.Door$1.push(Door.java:5)"
    >>> qualified_names(text)
    ['a.b.Shop', 'a.b.ShopError', 'a.b.Door']
    """
    found = [(frame.offset, frame.type) for frame in frames(text) if "." in frame.type]
    for match in (*_HEADER.finditer(text), *_THROWN.finditer(text)):
        name = match.lastgroup or ""
        found.append((match.start(name), _outer(match[name])))
    return list(dict.fromkeys(name for _, name in sorted(found)))


def _outer(name: str) -> str:
    """Return a qualified name without its inner classes; a leading ``$``, as of proxies, stays."""
    package, dot, simple = name.rpartition(".")
    head = simple[:1] + simple[1:].partition("$")[0]
    return f"{package}{dot}{head}"


def locations(text: str) -> Locations:
    """Return the places that a text names.

    >>> places = locations('File "a/b.py", line 3, in f\\nFile "a/c.py", line 4, in g\\nsee d.h')
    >>> [[frame.place for frame in trace] for trace in places.traces]
    [['a/c.py', 'a/b.py']]
    >>> [place.path for place in places.paths]
    ['d.h']
    """
    parsed_frames = frames(text)
    trace_frames = [frame for frame in parsed_frames if frame.qualified]
    links: list[Frame] = []
    paths: list[Frame] = []
    parsed_frames.append(Frame(len(text) + 1, len(text) + 1))
    ends = [frame.end for frame in parsed_frames]
    for run in _RUN.finditer(text):
        start = run.start()
        frame = parsed_frames[bisect(ends, start)]
        is_in_frame = frame.offset <= start
        spelling = run.group().rstrip(".").replace("\\", "/")
        end = start + len(spelling)
        link = _BLOB.search(spelling)
        path = spelling[link.end() :] if link else spelling
        if _OBJECT.search(path):
            if not _FAILED.search(text, max(0, start - 240), start):
                continue  # Logs of builds name all objects; only those that failed tell something.
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
            links.append(Frame(start, end, line, path=path, project=project))
        elif is_in_frame:
            line = 0 if _COMPILED_SCRIPT.search(path) else frame.line
            trace_frames.append(Frame(start, end, line, frame.method, path))
        elif line_match := _LOCATED.match(text, end):
            trace_frames.append(_located_frame(text, start, end, path, line_match))
        elif not (
            _COMMAND.search(text, max(0, start - 40), start)
            or _COMPILED.search(text, max(0, start - 10), start)
        ):
            paths.append(Frame(start, end, path=path))
    return Locations(_group_traces(text, trace_frames), tuple(links), tuple(paths))


def _located_frame(text: str, start: int, end: int, path: str, line_match: re.Match[str]) -> Frame:
    """Return the frame of a path, ``text[start:end]``, with what follows it, see ``_LOCATED``."""
    method = re.split(r"[.#]|::", line_match["named"] or line_match["called"] or "")[-1]
    if not method:
        method = find_function(text, start, end)
    line = 0 if _COMPILED_SCRIPT.search(path) else int(line_match["line"] or 0)
    frame = Frame(start, end, line, method, path)
    return _complete_julia_frame(frame, text) if path.endswith(".jl") else frame


def _group_traces(text: str, trace_frames: Iterable[Frame]) -> tuple[tuple[Frame, ...], ...]:
    """Return the frames by trace, the innermost frame of each first.

    A trace ends at a gap, at another language, or where a text says that a new one begins. Node
    writes the place of an error before the stack, in which it has a method: both get the method.
    """
    traces: list[list[Frame]] = []
    for frame in sorted(trace_frames, key=lambda frame: frame.offset):
        last = traces[-1][-1] if traces else None
        if (
            last is None
            or frame.offset - last.end > TRACE_GAP
            or _of_python(frame) != _of_python(last)
            or _NEW_TRACE.search(text, last.end, frame.offset)
        ):
            traces.append([])
        traces[-1].append(frame)
    # Python alone lists the innermost frame last.
    ordered = [trace[::-1] if _of_python(trace[0]) else trace for trace in traces]
    return tuple(map(_share_methods, ordered))


def _share_methods(trace: Sequence[Frame]) -> tuple[Frame, ...]:
    """Return the frames of a trace; those without a method have that of another at their line."""
    methods: dict[tuple[str, int], str] = {}
    for frame in trace:
        if frame.method and frame.line:
            methods.setdefault((frame.place, frame.line), frame.method)
    return tuple(
        frame._replace(method=frame.method or methods.get((frame.place, frame.line), ""))
        for frame in trace
    )


def _complete_julia_frame(frame: Frame, text: str) -> Frame:
    """Return a frame of Julia with the function and the folder that precede and follow its number.

    Julia writes ``[1] f(x::Int64) at ./a.jl:12``, and since version 1.6 ``[1] f(x::Int64)`` with
    ``@ Main ./a.jl:12`` in the next line. Files of its module Base are written without their
    folder. A place that is no frame comes back as it is.
    """
    before = text[max(0, frame.offset - _JULIA_FRAME_LENGTH) : frame.offset]
    place = _JULIA_PLACE.search(before)
    if place is None:
        return frame
    heads = list(_JULIA_HEAD.finditer(before, 0, place.start()))
    call = before[heads[-1].end() : place.start()].strip() if heads else ""
    if not call or "\n" in call:
        return frame
    function = _JULIA_FUNCTION.match(call)
    path = frame.path
    if (place["module"] or "").partition(".")[0] == "Base" and path.startswith("./"):
        path = f"base/{path[2:]}"
    return frame._replace(method=function[1] if function else "", path=path)


def _linked_project(link: re.Match[str]) -> str:
    """Return the path of the project of a match of ``_BLOB``; empty without the name of a host."""
    if link.lastgroup:
        return link[link.lastgroup]
    address = link.string[: link.start()].removesuffix("/-")
    host, _, path = address.lstrip("/").partition("/")
    return path if "." in host or address.startswith("//") else ""


def source_of_object(path: str) -> str:
    """Return the path of the source that an object file was made of, as CMake and Meson name it.

    >>> source_of_object("src/base/CMakeFiles/app_base.dir/utils/number.cpp.o")
    'src/base/utils/number.cpp'
    """
    return _BUILD_FOLDER.sub("", _OBJECT.sub("", path))


def _of_python(frame: Frame) -> bool:
    """Return whether a frame is in a file of Python or Cython."""
    return frame.place.lower().endswith((".py", ".pyx", ".pyi"))
