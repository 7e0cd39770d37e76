"""Lines that are frames of stack traces, by their shape.

They are those of languages whose frames ``tosloc.reports.traces.parser`` does not take out of a
text.
"""

from __future__ import annotations

import re
from typing import Final

from tosloc.reports.traces.line_shapes import LONGEST_SHAPED_LINE

_TRACED: Final = re.compile(
    r"""(?x) \s{0,40} (?:
      # gdb, address sanitizer, PHP
      \#\d{1,3}\s{1,4}(?: 0x[0-9a-f]{1,16}\b | \S{1,300}\.php\(\d | \{main\}
        | \[internal\ function\] | [^\n]{1,300}\ (?:at|from)\ \S{1,300}(?::\d|\.so\b) )
    | ==\d{1,9}==\s
      # Go
    | \S{1,300}\.go:\d{1,7}(?:\s\+0x[0-9a-f]{1,16})?\s*$
    | [\w./~%\-]{1,200}(?:\(\*?\w{1,80}\))?[\w.]{0,100}\((?:0x|\{0x|\.\.\.\))
    | [\w.~%\-]{1,100}/[\w./~%\-]{1,200}(?:\(\*?\w{1,80}\))?[\w.]{0,100}\(\)\s*$
    | created\ by\ [\w./] | goroutine\ \d{1,9}\ \[ | \[signal\ SIG
      # Ruby
    | \S{1,300}\.rb:\d{1,7}:in\s | from\ \S{1,300}:\d{1,7}:in\s
      # Elixir
    | \(\w{1,60}\ [\d.]{1,20}\)\ \S{1,300}\.exs?:\d
    | \S{1,300}\.exs?:\d{1,7}:\ (?:[A-Z][\w.]{1,100}/\d|anonymous\ fn/)
      # Rust
    | \d{1,3}:\s{1,9}(?:0x[0-9a-f]{1,16}\ -\ )?(?=[\w<][^\s(]{0,300}::[^\s(])[^\s(]++\s*$
      # Rust, Node
    | at\ [^\n]{1,300}:\d{1,7}(?::\d{1,7})?\)?\s*$
      # Swift
    | \d{1,3}\s{1,9}\S{1,60}\s{1,30}0x[0-9a-f]{8,16}\s
    | \d{1,3}\ (?:\[\w{1,20}\]|0x[0-9a-f]{1,16})\ [^\n]{1,300}\ in\ \S{1,100}\ at\ \S{1,300}:\d
      # lldb, Kotlin/Native, Dart
    | (?:\*\ )?frame\ \#\d{1,3}:\ 0x | at\ \d{1,3}\s{1,9}\S{1,60}\s{1,9}0x[0-9a-f]
    | \#\d{1,3}\s{1,9}[^\n]{1,300}\ \((?:package|file|dart):[^\n]{1,300}:\d
      # Lua, Perl, Julia
    | in\ \S[^\n]{0,300}\ at\ \S{1,300}\.jl:\d
    | \S{1,300}\.lua:\d{1,7}:\ in\s | \[C\]:\ in\s
    | [\w:]{1,200}\([^\n]{0,300}\)\ called\ at\ \S{1,300}\ line\ \d
    | @\ (?:[\w.]{1,60}\ )?(?:\S{1,300}\.jl|REPL\[\d{1,5}\]|none):\d
      # Firefox and Safari, whose addresses may have been taken out
    | [\w$.<>/*]{0,100}@(?:\S{1,300}:\d{1,7}:\d{1,7})?\s*$
    )"""
)
"""A line of a stack trace."""
_NUMBERED: Final = re.compile(r"\s{0,9}\[\s?\d{1,4}\]\s{1,4}(?=\S)")
"""What begins a frame of Julia, and a line of a log."""
_JULIA_PLACE: Final = re.compile(r"\ (?:at|@)\ \S{1,300}:\d")
"""The file and line in a frame of Julia."""


def is_traced(line: str) -> bool:
    """Return whether a line is one of a stack trace.

    >>> [is_traced(line) for line in ("x.org/a.(*B).C(0xefe620)", "#1 0x12 in f a.c:3")]
    [True, True]
    >>> [is_traced(line) for line in ("#1 is it", "f(x)")]
    [False, False]
    """
    if len(line) > LONGEST_SHAPED_LINE:
        return False
    return _TRACED.match(line) is not None or is_julia_frame(line)


def is_julia_frame(line: str) -> bool:
    """Return whether a line is the numbered one of a stack frame of Julia.

    >>> [is_julia_frame(line) for line in (" [1] f(x::Int64)", "[2] f at ./a.jl:3", "[3] f()")]
    [True, True, True]
    >>> [is_julia_frame(line) for line in ("[1] started", "[2] a::f(x) at 3", "[3] f(x) failed")]
    [False, False, False]
    """
    number = _NUMBERED.match(line)
    if number is None:
        return False
    call = line[number.end() :].rstrip()
    if call.startswith(("top-level scope", "macro expansion")) or _JULIA_PLACE.search(call):
        return True
    name, bracket, arguments = call.partition("(")
    if not bracket or " " in name:
        return False
    return "::" in arguments or arguments == ")"
