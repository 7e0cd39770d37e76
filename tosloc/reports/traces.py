"""Stack traces in bug reports, and the other places in source code that they name; the text without the frames.

Reports come as people paste them: line breaks folded into blanks, several traces, log lines in between.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from typing import Final, NamedTuple

from tosloc.code.languages import SOURCE_SUFFIXES

TRACE_GAP: Final = 600
"""Characters between two frames of one trace, at most: source lines and messages may stand between them."""


class Frame(NamedTuple):
    """One stack frame, or another place in source code that a text names, from ``offset`` to ``end`` of the text."""

    offset: int
    end: int
    line: int = 0  # from 1; 0 if it is not known
    method: str = ""
    path: str = ""  # file as the text spells it, where it gives a path
    type: str = ""
    """Qualified name of the outermost class, "org.example.Outer" for a frame in "Outer$1"; "" if it names none."""
    file: str = ""
    """Simple file name, such as "Outer.java"; guessed from the class if the frame has none; "" if there is neither."""
    cause: int = (
        0  # part of the trace: 0 for the first, one more after each "Caused by" or "root cause"
    )

    @property
    def qualified(self) -> bool:
        """Whether it names a package, with whose folders the file's have to end."""
        return bool(self.type) and not self.path

    @property
    def place(self) -> str:
        """The path, with ``/`` between folders; of a frame that has none its package and file, ``org/x/Door.java``."""
        return self.path or f"{self.type.rpartition('.')[0].replace('.', '/')}/{self.file}"


class Locations(NamedTuple):
    """All places that a text names, in its order; frames by trace, innermost first."""

    traces: tuple[tuple[Frame, ...], ...]
    """A place that stands alone, as in a compiler's error, is a trace of one frame."""
    links: tuple[Frame, ...]
    """Files in a repository on the web: links to them, and lines of them that GitHub shows in an issue."""
    paths: tuple[
        Frame, ...
    ]  # paths and names of files without a line, but for those that a command runs


_SOURCE: Final = r"""(?:Native\s+Method|Unknown\s+Source|(?:Inlined\s+)?Compiled\s+Code|<generated>|<eval>
    # a blank may stand anywhere: mail programs broke long lines, and the breaks became blanks
    |(?P<ja_file>(?:[\w$.\-]\s?){1,200}\.\s?(?:j\s?a\s?v\s?a|k\s?t\s?s?|s\s?c\s?a\s?l\s?a|groovy|clj|aj|j\s?s\s?p\s?x?|tag))
     (?:\s*:\s*(?P<ja_line>-?(?:\d\s?){1,9}))?)"""
_JAVA: Final = rf"""
    (?<![\w$.]) at \s+ (?=[^\s()]{{1,400}}\.) (?P<ja_where>[^\s()]{{1,400}}) \s? \( \s* {_SOURCE} \s* \)
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
    (?<![\w$.]) at \s+ (?: (?P<js_name>(?:async\s+|new\s+)?[\w$.<>\[\]#]{1,200}(?:\s\[as\ [\w$.]{1,100}\])?) \s+ \( )?
    (?P<js_path>(?:[\w\-]{1,20}:/{1,3})?[^\s():,]{1,300}\.(?:[cm]?[jt]sx?|vue|svelte)) (?:\?[^\s():]{0,100})?
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
_RUN: Final = re.compile(r"[\w./\\~+@$%\-]++")
_LOCATED: Final = re.compile(
    r"""(?x) ["']?,? (?: :line\s{1,3} | \s{1,3}(?:on\s)?line\s{1,3} | :\[? | \( ) (?P<line>\d{1,7}) (?!\w|\.\d)
      (?: (?::\d{1,7})? [:,]? \s{0,3} in\s [`'"]? (?P<named>[\w.<>\#]{1,100}) )?
    | \ in\s (?P<called>[\w.<>]{0,100}) \("""
)
"""What follows the file in a frame or an error: ``:12``, ``(12``, ``", line 12``, ``:12: in f``, and `` in f(``."""
_BLOB: Final = re.compile(r"/(?:blob|tree|raw|blame|edit)/[^/]{1,100}/")
_LINKED: Final = re.compile(r"\#L(?P<line>\d{1,7})")
_SHOWN: Final = re.compile(
    r"\s{1,40}Lines?\s(?P<line>\d{1,7})(?:\s+to\s+\d{1,7})?\s{1,20}in\s{1,20}[0-9a-f]{7}"
)
_COMMAND: Final = re.compile(r"(?:python[\d.]{0,4}|bash|sh|node|run)\s+(?:-\w{1,20}\s+){0,5}\Z")
_NEW_TRACE: Final = re.compile(
    r"most recent call |exception was the direct cause|the above exception|\bgoroutine \d"
)


def frames(text: str) -> list[Frame]:
    """All stack frames of ``text``, in order: Java's, a Java debugger's, .NET's, JavaScript's and Python's.

    >>> [frame] = frames("at java.base/a.b.Pool$Worker.run(Pool.java:7)")
    >>> frame.type, frame.file, frame.method, frame.line, frame.place
    ('a.b.Pool', 'Pool.java', 'run', 7, 'a/b/Pool.java')
    """
    found: list[Frame] = []
    causes = [match.start() for match in _CAUSE.finditer(text)]
    for match in _FRAME.finditer(text):
        said = defaultdict(
            str, {name[3:]: part for name, part in match.groupdict("").items() if part}
        )
        path, file, method, class_name = (
            said["path"],
            "".join(said["file"].split()),
            said["method"],
            "",
        )
        if said["where"]:
            class_name, _, method = said["where"].rpartition(".")
            # module and loader, "java.base/" or "app//", before the class; a hidden class's number, "/0x0012", after it
            class_name = _outer(re.sub(r"/(?:0x)?[0-9a-f]+$", "", class_name).rpartition("/")[2])
        elif said["runtime"]:
            class_name = _outer(said["declaring"] or said["runtime"])
        elif said["member"]:
            class_name, _, method = said["member"].rpartition(".")
            class_name, path = re.split(r"[`+<\[]", class_name)[0].rstrip("."), path.strip()
        elif said["name"]:
            method = re.sub(r"^(?:async|new)\s+|\s\[as [\w$.]++\]\Z", "", said["name"]).rpartition(
                "."
            )[2]
        simple = class_name.rpartition(".")[2]
        if path:
            file = re.split(r"[/\\]", path)[-1]
        elif not file and simple and not simple.startswith("$"):
            file = f"{simple}.java"
        number = max(
            int("".join(said["line"].split()) or 0), 0
        )  # a blank may stand among the digits
        first = (
            found[0].offset if found else match.start()
        )  # no cause counts before the first frame
        cause = bisect(causes, match.start()) - bisect(causes, first)
        found.append(
            Frame(match.start(), match.end(), number, method, path, class_name, file, cause)
        )
    return found


def without_frames(text: str) -> str:
    """``text`` with every frame replaced by a blank; messages, log lines and everything else stay.

    >>> without_frames("It fails: a.b.MyException: no at a.b.C.d(C.java:1) at a.b.C.e(C.java:2) Help!")
    'It fails: a.b.MyException: no     Help!'
    """
    return _FRAME.sub(" ", text)


def qualified_names(text: str) -> list[str]:
    """Qualified names of the outermost classes that traces and log headers name, each once, by first appearance.

    A log header is a class after a time or a level, or before a method and a level; exceptions before a message or a
    frame count too. A class that is only mentioned in a sentence does not.

    >>> qualified_names("15:34:04 a.b.Shop open SEVERE: a.b.ShopError: shut at a.b.Door$1.push(Door.java:5)")
    ['a.b.Shop', 'a.b.ShopError', 'a.b.Door']
    """
    found = [(frame.offset, frame.type) for frame in frames(text) if "." in frame.type]
    for match in (*_HEADER.finditer(text), *_THROWN.finditer(text)):
        name = match.lastgroup or ""
        found.append((match.start(name), _outer(match[name])))
    return list(dict.fromkeys(name for _, name in sorted(found)))


def _outer(name: str) -> str:
    """Qualified name without its inner classes; a leading ``$``, as of proxies, stays."""
    package, dot, simple = name.rpartition(".")
    head = simple[:1] + simple[1:].partition("$")[0]
    return f"{package}{dot}{head}"


def locations(text: str) -> Locations:
    """The places that a text names.

    >>> found = locations('File "a/b.py", line 3, in f\\nFile "a/c.py", line 4, in g\\nsee d.h')
    >>> [[frame.place for frame in trace] for trace in found.traces], [place.path for place in found.paths]
    ([['a/c.py', 'a/b.py']], ['d.h'])
    """
    known = frames(text)
    found = [frame for frame in known if frame.qualified]
    links: list[Frame] = []
    paths: list[Frame] = []
    known.append(Frame(len(text) + 1, len(text) + 1))
    ends = [frame.end for frame in known]
    for run in _RUN.finditer(text):
        start = run.start()
        frame = known[bisect(ends, start)]
        inside = frame.offset <= start
        spelled = run.group().rstrip(".").replace("\\", "/")
        end = start + len(spelled)
        link = _BLOB.search(spelled)
        path = spelled[link.end() :] if link else spelled
        if (inside and frame.qualified) or path[path.rfind(".") :].lower() not in SOURCE_SUFFIXES:
            continue
        if (shown := _SHOWN.match(text, end)) or link:
            shown = shown or _LINKED.match(text, end)
            links.append(Frame(start, end, int(shown["line"]) if shown else 0, path=path))
        elif inside:
            found.append(Frame(start, end, frame.line, frame.method, path))
        elif located := _LOCATED.match(text, end):
            method = re.split(r"[.#]", located["named"] or located["called"] or "")[-1]
            found.append(Frame(start, end, int(located["line"] or 0), method, path))
        elif not _COMMAND.search(text, max(0, start - 40), start):
            paths.append(Frame(start, end, path=path))
    traces: list[list[Frame]] = []
    for frame in sorted(found, key=lambda frame: frame.offset):
        last = traces[-1][-1] if traces else None
        if (
            last is None
            or frame.offset - last.end > TRACE_GAP
            or _of_python(frame) != _of_python(last)
            or _NEW_TRACE.search(text, last.end, frame.offset)
        ):
            traces.append([])
        traces[-1].append(frame)
    # Python alone lists the innermost frame last
    ordered = (tuple(trace[::-1] if _of_python(trace[0]) else trace) for trace in traces)
    return Locations(tuple(ordered), tuple(links), tuple(paths))


def _of_python(frame: Frame) -> bool:
    return frame.place.lower().endswith((".py", ".pyx", ".pyi"))
