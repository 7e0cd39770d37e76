"""The formats of stack traces, with the patterns and readers of their frames."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from tosloc.reports.traces import (
    dotnet,
    elixir,
    go,
    hcl,
    javascript,
    julia,
    jvm,
    native,
    python,
    rust,
    swift,
)
from tosloc.reports.traces.frame import Frame


class TraceFormat(NamedTuple):
    """A format of stack traces.

    Formats whose frames can be distinguished from prose have a ``frame`` pattern with its reader.
    Frames of other formats are found by the path and line of a file; the file's suffix decides
    which format completes them.
    """

    name: str
    frame: str = ""
    """Verbose pattern of a frame, which begins at a word. Groups have names of their own."""
    read: Callable[[re.Match[str]], Frame] | None = None
    """Function that returns the frame for a match of ``frame``."""
    line: str = ""
    """Verbose pattern of the beginning of a line of a trace, after blanks."""
    suffixes: tuple[str, ...] = ()
    """Suffixes of the files whose frames ``complete`` can read."""
    complete: Callable[[str, Frame], Frame] | None = None
    """Function that adds to a frame what a text says beside its path and line."""
    new_trace: str = ""
    """Verbose pattern of the text that separates two traces."""


FORMATS: Final = (
    TraceFormat("Java, Kotlin, Scala", jvm.JAVA, jvm.read_java),
    TraceFormat(".NET", dotnet.FRAME, dotnet.read_frame),
    TraceFormat(
        "JavaScript (Node, Chrome)",
        javascript.FRAME,
        javascript.read_frame,
        line=r"at\ [^\n]{1,300}:\d{1,7}(?::\d{1,7})?\)?\s*$",
    ),
    TraceFormat(
        "JavaScript (Firefox, Safari)",
        # Addresses may have been taken out.
        line=r"[\w$.<>/*]{0,100}@(?:\S{1,300}:\d{1,7}:\d{1,7})?\s*$",
    ),
    TraceFormat(
        "Python",
        python.FRAME,
        python.read_frame,
        new_trace=r"most\ recent\ call\ |exception\ was\ the\ direct\ cause|the\ above\ exception",
    ),
    TraceFormat("Java debugger", jvm.DEBUGGER, jvm.read_debugger),
    TraceFormat(
        "Go",
        line=r"""
            \S{1,300}\.go:\d{1,7}(?:\s\+0x[0-9a-f]{1,16})?\s*$
          | [\w./~%\-]{1,200}(?:\(\*?\w{1,80}\))?[\w.]{0,100}\((?:0x|\{0x|\.\.\.\)|…\))
          | [\w.~%\-]{1,100}/[\w./~%\-]{1,200}(?:\(\*?\w{1,80}\))?[\w.]{0,100}\(\)\s*$
          | created\ by\ [\w./] | goroutine\ \d{1,9}\ \[ | \[signal\ SIG""",
        suffixes=(".go",),
        complete=go.complete,
        new_trace=r"\bgoroutine\ \d",
    ),
    TraceFormat(
        "Rust",
        # The line of the file, which follows that of the function, begins as in JavaScript.
        line=r"""\d{1,3}:\s{1,9}(?:0x[0-9a-f]{1,16}\ -\ )?
            (?=[\w<][^\s(]{0,300}::[^\s(])[^\s(]++\s*$""",
        suffixes=(".rs",),
        complete=rust.complete,
    ),
    TraceFormat(
        "gdb, sanitizers, valgrind",
        line=r"""
            \#\d{1,3}\s{1,4}(?:0x[0-9a-f]{1,16}\b
              | [^\n]{1,300}\ (?:at|from)\ \S{1,300}(?::\d|\.so\b))
          | ==\d{1,9}==\s""",
        suffixes=(".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".hh", ".m", ".mm"),
        complete=native.complete,
    ),
    TraceFormat("lldb", line=r"(?:\*\ )?frame\ \#\d{1,3}:\ 0x"),
    TraceFormat("Kotlin/Native", line=r"at\ \d{1,3}\s{1,9}\S{1,60}\s{1,9}0x[0-9a-f]"),
    TraceFormat(
        "Swift",
        line=r"""
            \d{1,3}\s{1,9}\S{1,60}\s{1,30}0x[0-9a-f]{8,16}\s
          | \d{1,3}\ (?:\[\w{1,20}\]|0x[0-9a-f]{1,16})\ [^\n]{1,300}\ in\ \S{1,100}
            \ at\ \S{1,300}:\d""",
        suffixes=(".swift",),
        complete=swift.complete,
    ),
    TraceFormat(
        "PHP",
        line=r"\#\d{1,3}\s{1,4}(?:\S{1,300}\.php\(\d|\{main\}|\[internal\ function\])",
    ),
    TraceFormat("Ruby", line=r"\S{1,300}\.rb:\d{1,7}:in\s | from\ \S{1,300}:\d{1,7}:in\s"),
    TraceFormat(
        "Elixir",
        line=r"""
            \(\w{1,60}\ [\d.]{1,20}\)\ \S{1,300}\.exs?:\d
          | \S{1,300}\.exs?:\d{1,7}:\ (?:[A-Z][\w.]{1,100}/\d|anonymous\ fn/)""",
        suffixes=(".ex", ".exs"),
        complete=elixir.complete,
    ),
    TraceFormat(
        "Terraform",
        line=r"on\ \S{1,300}\.(?:tf|tofu)\ line\ \d",
        suffixes=(".tf", ".tofu"),
        complete=hcl.complete,
    ),
    TraceFormat(
        "Dart", line=r"\#\d{1,3}\s{1,9}[^\n]{1,300}\ \((?:package|file|dart):[^\n]{1,300}:\d"
    ),
    TraceFormat(
        "Julia",
        line=rf"""
            {julia.NUMBERED_LINE}
          | in\ \S[^\n]{{0,300}}\ at\ \S{{1,300}}\.jl:\d
          | @\ (?:[\w.]{{1,60}}\ )?(?:\S{{1,300}}\.jl|REPL\[\d{{1,5}}\]|none):\d""",
        suffixes=(".jl",),
        complete=julia.complete,
    ),
    TraceFormat("Lua", line=r"\S{1,300}\.lua:\d{1,7}:\ in\s | \[C\]:\ in\s"),
    TraceFormat("Perl", line=r"[\w:]{1,200}\([^\n]{0,300}\)\ called\ at\ \S{1,300}\ line\ \d"),
)
"""All formats. If the patterns of two formats match at one offset, the first reads the frame."""
