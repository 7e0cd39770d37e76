"""The function of a stack frame, in languages that write it before the file or after the line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

_LONGEST_LINE: Final = 400
"""Characters before and after a file in which the name of its function is looked for."""
_GO_CREATOR: Final = "created by "
_GO_FUNCTION: Final = re.compile(r"[\w./~%\-]{1,300}\.(?:\(\*?\w{1,100}\)\.)?\w[\w.]{0,100}")
"""A qualified name: example.com/shop.(*Door).Open."""
_GO_CLOSURE: Final = re.compile(r"func\d{1,4}|\d{1,4}|gowrap\d{1,4}")
"""A part of a name that Go makes up for a function without one."""
_PREFIX_OF_LINE: Final = re.compile(
    r"[ \t>]*+(?:[\w.\-]{1,60}\s{1,20}\|\s{0,9})?+[ \t>]*+(?:at\s)?+"
)
"""What may precede a line of a trace: quotation marks, or the container that printed it."""
_NATIVE_FRAME: Final = re.compile(r"\s{0,20}#\d{1,4}\s{1,9}(?:0x[0-9a-f]{1,16}\s)?(?:in\s)?")
"""How a frame of gdb or of a sanitizer begins."""
_RUST_FRAME: Final = re.compile(r"\b\d{1,4}:\s{1,9}(?:0x[0-9a-f]{1,16}\s-\s)?")
_RUST_CLOSURE: Final = re.compile(r"h[0-9a-f]{16}|\{\{?[\w.#]{1,60}\}?\}")
"""A part of a name that Rust adds: a hash, or that it is a closure."""
_TEMPLATE: Final = re.compile(r"<[^<>]{0,200}>")
_SWIFT_FRAME: Final = re.compile(r"0x[0-9a-f]{4,16}\s{1,9}")
"""The address before the function in a frame of Swift."""
_SWIFT_ACCESSORS: Final = frozenset({"getter", "setter", "modify", "read"})
"""What Swift adds to the name of a property."""
_ELIXIR_FUNCTION: Final = re.compile(r":\d{1,7}: (?:\w{1,100}\.){0,9}(\w{1,100}[?!]?)/\d")
_NAME: Final = re.compile(r"~?[A-Za-z_]\w{0,200}[?!]?")


def find_function(text: str, start: int, end: int) -> str:
    """Return the name of the function to which a frame's file belongs; "" if none is beside it.

    The file is ``text[start:end]``. Names come without classes, packages and arguments.

    >>> trace = "main.(*Shop).Open(0xc0)\\n\\t/go/src/shop/door.go:12 +0x9f"
    >>> find_function(trace, trace.index("/go"), trace.index(":12"))
    'Open'
    """
    suffix = text[text.rfind(".", start, end) + 1 : end].lower()
    find = _BY_SUFFIX.get(suffix)
    name = find(text, start, end) if find else ""
    return name if _NAME.fullmatch(name) else ""


def _in_go(text: str, start: int, _: int) -> str:
    """Go writes the call in one line, and the file in the next; some loggers without arguments."""
    line = _line_before(text, start)
    creator = line.find(_GO_CREATOR)
    if creator >= 0:
        call = line[creator + len(_GO_CREATOR) :].partition(" in goroutine ")[0]
    elif line.endswith(")"):
        call = line.rpartition("(")[0]
    elif _GO_FUNCTION.fullmatch(line):
        call = line
    else:
        return ""
    parts = call.rpartition("/")[2].replace("[...]", "").split(".")
    while len(parts) > 1 and _GO_CLOSURE.fullmatch(parts[-1]):
        parts.pop()
    return parts[-1] if len(parts) > 1 else ""


def _in_rust(text: str, start: int, _: int) -> str:
    """Rust writes ``4: shop::door::open`` in one line, and ``at door.rs:12`` in the next."""
    line = _line_before(text, start)
    frame = _RUST_FRAME.search(line)
    if frame is None:
        return ""
    parts = _TEMPLATE.sub("", line[frame.end() :]).split("::")
    while len(parts) > 1 and _RUST_CLOSURE.fullmatch(parts[-1]):
        parts.pop()
    return parts[-1]


def _in_native_code(text: str, start: int, _: int) -> str:
    """Debuggers and sanitizers write ``#1 0x12 in shop::open(int) door.cpp:12``."""
    line = _beginning_of_line(text, start)
    frame = _NATIVE_FRAME.match(line)
    if frame is None:
        return ""
    signature = line[frame.end() :].replace("(anonymous namespace)::", "")
    words = _TEMPLATE.sub("", signature).partition("(")[0].split()
    return words[0].rpartition("::")[2] if words else ""


def _in_swift(text: str, start: int, _: int) -> str:
    """Swift writes ``1 Shop 0x0102 Door.open() + 132 (Door.swift:12)``."""
    line = _beginning_of_line(text, start)
    addresses = list(_SWIFT_FRAME.finditer(line))
    if not addresses or not line.endswith("("):
        return ""
    signature = line[addresses[-1].end() :].rpartition(" + ")[0].partition("(")[0]
    parts = signature.split(".")
    while len(parts) > 1 and parts[-1] in _SWIFT_ACCESSORS:
        parts.pop()
    return parts[-1]


def _in_elixir(text: str, _: int, end: int) -> str:
    """Elixir writes ``door.ex:12: Shop.Door.open/2``."""
    function = _ELIXIR_FUNCTION.match(text, end, end + _LONGEST_LINE)
    return function[1] if function else ""


def _line_before(text: str, start: int) -> str:
    """Return the line before that of a file, if nothing but a prefix or "at" precedes the file."""
    beginning = _beginning_of_line(text, start)
    line_break = start - len(beginning) - 1
    if line_break < 0 or text[line_break] != "\n" or not _PREFIX_OF_LINE.fullmatch(beginning):
        return ""
    return _beginning_of_line(text, line_break).strip()


def _beginning_of_line(text: str, start: int) -> str:
    """Return what precedes a file in its line; at most ``_LONGEST_LINE`` characters."""
    earliest = max(0, start - _LONGEST_LINE)
    return text[max(text.rfind("\n", earliest, start) + 1, earliest) : start]


_BY_SUFFIX: Final[Mapping[str, Callable[[str, int, int], str]]] = {
    "go": _in_go,
    "rs": _in_rust,
    "swift": _in_swift,
    "ex": _in_elixir,
    "exs": _in_elixir,
    **dict.fromkeys("c cc cpp cxx h hpp hh m mm".split(), _in_native_code),
}
