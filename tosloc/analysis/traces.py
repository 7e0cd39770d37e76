"""Stack traces in bug reports: their frames, the text without them, and the classes they name.

Reports come as people paste them: line breaks folded into blanks, several traces, log lines in between.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Frame:
    """One stack frame, in the order of the text."""

    type: str
    """Qualified name of the outermost class, "org.example.Outer" for a frame in "Outer$1"; "" if it names none."""
    file: str
    """Simple file name, such as "Outer.java"; guessed from the class if the frame has none; "" if there is neither."""
    method: str
    line: int
    """From 1; 0 if it is not known."""
    cause: int
    """Part of the trace: 0 for the first, one more after each "Caused by" or "root cause"."""
    offset: int
    """Where the frame begins in the text."""
    end: int
    """Where it ends in the text, exclusive."""
    path: str = ""
    """File as the frame spells it, for languages that give a path."""


_SOURCE: Final = r"""(?:Native\s+Method|Unknown\s+Source|(?:Inlined\s+)?Compiled\s+Code|<generated>|<eval>
    # a blank may stand anywhere: mail programs broke long lines, and the breaks became blanks
    |(?P<file>(?:[\w$.\-]\s?){1,200}\.\s?(?:j\s?a\s?v\s?a|k\s?t\s?s?|s\s?c\s?a\s?l\s?a|groovy|clj|aj|j\s?s\s?p\s?x?|tag))
     (?:\s*:\s*(?P<line>-?(?:\d\s?){1,9}))?)"""
_JAVA: Final = rf"""
    (?<![\w$.]) at \s+ (?P<where>[^\s()]{{1,400}}) \s? \( \s* {_SOURCE} \s* \)
    (?: \s* ~? \[ [^\]\s]{{1,100}} \] )?"""
_DEBUGGER: Final = r"""
    (?<![\w$.]) (?P<runtime>[\w$.]{1,200}) (?: \( (?P<declaring>[\w$.]{1,200}) \) )? \. (?P<called>[\w$<>]{1,100})
    \( [^()\n]{0,200} \) \s+ line: \s* (?P<stopped>\d{1,9}) (?: \s* \[ [^\]\n]{0,40} \] )?"""
_PYTHON: Final = r"""
    File \s+ "(?P<pyfile>[^"\n]{1,300})" ,\s+ line \s+ (?P<pyline>\d{1,9})
    (?: ,\s+ in \s+ (?P<pyname>[\w.<>]{1,100}) )?"""
_DOTNET: Final = r"""
    (?<![\w$.]) at \s+ (?P<member>[\w.`+<>\[\],$]{1,300}) \s? \( [^()\n]{0,300} \) \s+ in \s+
    (?P<csfile>(?:[A-Za-z]:)?[^:\n]{1,300}?) :line \s+ (?P<csline>\d{1,9})"""
_SCRIPT: Final = r"""
    (?<![\w$.]) at \s+ (?: (?P<jsname>(?:async\s+|new\s+)?[\w$.<>\[\]#]{1,200}(?:\s\[as\ [\w$.]{1,100}\])?) \s+ \( )?
    (?P<jsfile>(?:[\w\-]{1,20}:/{1,3})?[^\s():,]{1,300}\.(?:[cm]?[jt]sx?|vue|svelte)) (?:\?[^\s():]{0,100})?
    : (?P<jsline>\d{1,9}) (?: : \d{1,9} )? \)?"""

_FRAME: Final = re.compile("|".join((_JAVA, _DOTNET, _SCRIPT, _PYTHON, _DEBUGGER)), re.VERBOSE)
_CAUSE: Final = re.compile(r"\bcaused by\b|\broot cause\b", re.I)

_CLASS: Final = r"(?<![\w$./@])(?:[a-z_][\w$]{0,100}\.){1,20}[A-Z][\w$]{0,200}"
_LEVELS: Final = (
    "SEVERE WARNING WARN INFO INFORMATION ERROR FATAL DEBUG TRACE CONFIG FINE FINER FINEST SCHWERWIEGEND WARNUNG GRAVE"
)
_LEVEL: Final = f"(?:{_LEVELS.replace(' ', '|')})"
_HEADER: Final = re.compile(
    rf"(?:\d{{1,2}}:\d{{2}}:\d{{2}}(?:[.,]\d{{1,6}})?(?:\s?[AaPp]\.?[Mm]\b\.?)?(?:\s[A-Z]{{3,4}}(?=\s))?|\b{_LEVEL}\b:?)"
    rf"(?:\s+(?:{_LEVEL}\b:?|\[[^\]\n]{{0,100}}\]|\([^)\n]{{0,100}}\)|-)){{0,8}}"
    rf"\s+\[?(?P<timed>{_CLASS})"
    rf"|(?P<levelled>{_CLASS})\s+[\w$<>]{{1,100}}\s+{_LEVEL}\b"
)
_THROWN: Final = re.compile(
    rf"(?P<thrown>{_CLASS}(?:Exception|Error|Throwable|Failure)(?![\w$]))(?=\s*(?::|$|at\s|\n))"
)


def frames(text: str) -> list[Frame]:
    """All stack frames of ``text``, in order: Java's, a Java debugger's, .NET's, JavaScript's and Python's.

    >>> [frame] = frames("at java.base/a.b.Pool$Worker.run(Pool.java:7)")
    >>> frame.type, frame.file, frame.method, frame.line, frame.cause
    ('a.b.Pool', 'Pool.java', 'run', 7, 0)
    """
    found: list[Frame] = []
    causes = 0
    since = 0  # causes since the frame before
    end = -1  # how far they are counted; none counts before the first frame
    for match in _FRAME.finditer(text):
        if end >= 0:
            since += sum(1 for _ in _CAUSE.finditer(text, end, match.start()))
            end = match.start()
            causes += since
        frame = _frame(match, causes)
        if frame is not None:
            since, end = 0, match.end()
            found.append(frame)
    return found


def without_frames(text: str) -> str:
    """``text`` with every frame replaced by a blank; messages, log lines and everything else stay.

    >>> without_frames("It fails: a.b.MyException: no at a.b.C.d(C.java:1) at a.b.C.e(C.java:2) Help!")
    'It fails: a.b.MyException: no     Help!'
    """
    parts: list[str] = []
    end = 0
    for frame in frames(text):
        parts.append(text[end : frame.offset])
        end = frame.end
    return " ".join((*parts, text[end:]))


def qualified_names(text: str) -> list[str]:
    """Qualified names of the outermost classes that traces and log headers name, each once, by first appearance.

    A log header is a class after a time or a level, or before a method and a level; exceptions before a message or a
    frame count too. A class that is only mentioned in a sentence does not.

    >>> qualified_names("15:34:04 a.b.Shop open SEVERE: a.b.ShopError: shut at a.b.Door$1.push(Door.java:5)")
    ['a.b.Shop', 'a.b.ShopError', 'a.b.Door']
    """
    found: list[tuple[int, str]] = [(frame.offset, frame.type) for frame in frames(text) if "." in frame.type]
    for pattern in (_HEADER, _THROWN):
        for match in pattern.finditer(text):
            name = match.lastgroup or ""
            found.append((match.start(name), _outer(match.group(name))))
    return list(dict.fromkeys(name for _, name in sorted(found)))


def _frame(match: re.Match[str], cause: int) -> Frame | None:
    part = match.groupdict()
    start, end = match.span()
    if part["where"] is not None:
        class_name, _, method = part["where"].rpartition(".")
        if not class_name:
            return None
        # module and loader, "java.base/" or "app//", before the class; a hidden class's number, "/0x0012", after it
        class_name = re.sub(r"/(?:0x)?[0-9a-f]+$", "", class_name).rpartition("/")[2]
        class_name = _outer(class_name)
        file = "".join((part["file"] or "").split()) or _guess(class_name)
        line = int("".join((part["line"] or "0").split()))
        return Frame(class_name, file, method, max(line, 0), cause, start, end)
    if part["runtime"] is not None:
        class_name = _outer(part["declaring"] or part["runtime"])
        return Frame(class_name, _guess(class_name), part["called"], int(part["stopped"]), cause, start, end)
    if part["member"] is not None:
        class_name, _, method = part["member"].rpartition(".")
        class_name = re.split(r"[`+<\[]", class_name)[0].rstrip(".")
        path = part["csfile"].strip()
        return Frame(class_name, _base(path), method, int(part["csline"]), cause, start, end, path)
    if part["jsfile"] is not None:
        name = re.sub(r"^(?:async|new)\s+|\s\[as .*$", "", part["jsname"] or "")
        path = part["jsfile"]
        return Frame("", _base(path), name.rpartition(".")[2], int(part["jsline"]), cause, start, end, path)
    path = part["pyfile"]
    return Frame("", _base(path), part["pyname"] or "", int(part["pyline"]), cause, start, end, path)


def _outer(name: str) -> str:
    """Qualified name without its inner classes; a leading ``$``, as of proxies, stays."""
    package, dot, simple = name.rpartition(".")
    head = simple[:1] + simple[1:].partition("$")[0]
    return f"{package}{dot}{head}"


def _guess(class_name: str) -> str:
    simple = class_name.rpartition(".")[2]
    return f"{simple}.java" if simple and not simple.startswith("$") else ""


def _base(path: str) -> str:
    return re.split(r"[/\\]", path)[-1]
