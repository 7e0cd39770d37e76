"""Recognize lines of logs and the errors in them, and shorten long logs."""

from __future__ import annotations

from bisect import bisect
from typing import Final, NamedTuple

from tosloc.core.patterns import lazy_pattern
from tosloc.reports.text.line_shapes import LONGEST_SHAPED_LINE
from tosloc.reports.traces.julia import is_numbered_frame

MAX_QUIET_LINES: Final = 100
"""Largest number of different lines without an error that are read from the logs in a text."""
MAX_ERROR_LINES: Final = 500
"""Largest number of different lines with an error that are read from the logs in a text."""
_LOG: Final = lazy_pattern(
    r"""(?x) \s* (?:
      [\[(<]?\d{4}[-/.]\d{2}[-/.]\d{2}[T\ ]\d{1,2}:\d{2} | \d{2}/\d{2}/\d{2}\ \d{2}:\d{2}:\d{2}
    | [\[(]?\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,6})?[\])]?\s |
      [A-Z][a-z]{2}\ {1,2}\d{1,2}\ \d{2}:\d{2}:\d{2}
    | [IWEF]\d{4}\ \d{2}:\d{2}:\d{2} | \[\s?\d{1,8}(?:\.\d{1,9})?\]\s | (?:time|ts
      |level)="?[\w:\-+.]+"?\s
    | [\[(]?(?:DEBUG|INFO|WARN|WARNING|TRACE|NOTICE|VERBOSE|info|debug|warn)[\])]?\s?[:|\-\[\]]
    | \[(?:ERROR|FATAL|error)\]\s
    | \[\s?\d{1,3}%\] | \d{1,3}%\| | (?:Epoch|Iteration)\s\d | Step\s\d+/\d+
    | (?:Collecting|Downloading|Requirement\ already|Installing\ collected|Processing
      |Building\ wheel|Using\ cached
        |Successfully)\s
    )"""
)
"""Beginnings of lines of logs."""
_QUIET: Final = lazy_pattern(
    r"\b(?:INFO|INF|DEBUG|DBG|TRACE|TRC|VERBOSE|NOTICE|FINE|FINER|FINEST|CONFIG)\b|\blevel=\"?(?:info|debug|trace)"
    r"|\"level\":\s?\"(?:info|debug|trace)|[\[(](?:info|debug|trace|verbose)[\])]|\A\s*(?:I|D)\d{4}\s"
)
"""Log level which says that all is well."""
_SEVERE: Final = lazy_pattern(
    r"\b(?:ERROR|ERR|FATAL|FTL|SEVERE|CRITICAL|CRIT|PANIC|EMERG|ALERT)\b|\blevel=\"?(?:error|fatal|panic)"
    r"|\"level\":\s?\"(?:error|fatal)|[\[(](?:error|err|fatal|crit)[\])]|\A\s*(?:E|F)\d{4}\s"
)
"""Log level which says that something failed."""
_FAILURE: Final = lazy_pattern(
    r"[Ee]rror\b|Exception\b|\b[Pp]anic|\b[Ff]ail(?:ed|ure|s)?\b|\b[Ff]atal\b|Traceback|\bWARN(?:ING)?\b"
)
"""Words about failures, for lines without a level."""
_LEVEL_WITHIN: Final = 120
"""Number of characters at a line's beginning that are searched for its level."""
_ESCAPED_FRAME: Final = lazy_pattern(
    r"""(?x) \\n (?:
      (?: (?:\\t){1,2} | [ ]{2,8} ) (?: at\s | File\s\\?" | (?:[A-Za-z]:)?/[\w.] )
    | \#\d{1,3}\s{1,3}/
    )"""
)
"""The beginning of a stack frame after an escaped line break."""
_ESCAPED: Final = {r"\n": " \n", r"\r": "  ", r"\t": " \t", r"\"": ' "'}
_ESCAPE: Final = lazy_pattern(r"\\[nrt\"]")
_ALL_ZEROS: Final = str.maketrans("123456789", "000000000")


class CondensedText(NamedTuple):
    """A text without most quiet lines of its logs, and the original positions of the kept lines."""

    text: str
    starts: tuple[int, ...] = (0,)
    """Offsets in ``text`` at which runs of kept lines begin, ascending."""
    original_starts: tuple[int, ...] = (0,)
    """Offsets of the same runs in the original text."""

    def original_offset(self, offset: int) -> int:
        """Return the offset in the original text that corresponds to ``offset`` in this text."""
        run = bisect(self.starts, offset) - 1
        return self.original_starts[run] + offset - self.starts[run]


def expand_escapes(text: str) -> str:
    """Return a text with real line breaks in stack traces that a logger wrote into one line.

    Loggers of JSON write a trace as a string with escaped line breaks. Every character keeps its
    offset.

    >>> expand_escapes(r'{"error":"x\\n\\tat a.B.c(B.java:1)"}').splitlines()
    ['{"error":"x ', ' \\tat a.B.c(B.java:1)"}']
    """
    if not _ESCAPED_FRAME.search(text):
        return text
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if _ESCAPED_FRAME.search(line):
            lines[number] = _ESCAPE.sub(lambda escape: _ESCAPED[escape[0]], line)
    return "\n".join(lines)


def condense_logs(text: str) -> CondensedText:
    """Return a text without repeated lines of long logs, and with few quiet lines.

    Lines count as the same if only digits differ. Only the first ``MAX_QUIET_LINES`` quiet lines
    are kept, and lines beside errors. The time for reading a log then depends on its content, not
    on its length.
    """
    if text.count("\n") < MAX_QUIET_LINES:
        return CondensedText(text)
    lines = text.splitlines(keepends=True)
    kept = _kept_lines(lines)
    starts: list[int] = []
    original_starts: list[int] = []
    size = 0
    offset = 0
    was_kept = False
    for line, is_kept in zip(lines, kept, strict=True):
        if is_kept and not was_kept:
            starts.append(size)
            original_starts.append(offset)
        if is_kept:
            size += len(line)
        offset += len(line)
        was_kept = is_kept
    condensed = "".join(line for line, is_kept in zip(lines, kept, strict=True) if is_kept)
    return CondensedText(condensed, tuple(starts) or (0,), tuple(original_starts) or (0,))


def _kept_lines(lines: list[str]) -> list[bool]:
    """Return for each line whether ``condense_logs`` keeps it."""
    kept = [True] * len(lines)
    shapes: set[str] = set()
    quiet = 0
    errors = 0
    after_error = False
    for number, line in enumerate(lines):
        if not is_logged(line):
            after_error = False
            continue
        shape = without_digits(line)
        is_new = shape not in shapes
        shapes.add(shape)
        if log_level(line) == "error":
            errors += is_new
            kept[number] = is_new and errors <= MAX_ERROR_LINES
            if kept[number] and number:
                kept[number - 1] = True
            after_error = kept[number]
            continue
        quiet += is_new
        kept[number] = after_error or (is_new and quiet <= MAX_QUIET_LINES)
        after_error = False
    return kept


def without_digits(line: str) -> str:
    """Return a line with each digit replaced by 0, so that repeated lines of a log are equal."""
    return line.translate(_ALL_ZEROS)


def is_logged(line: str) -> bool:
    """Return whether a line belongs to a log, by its time, its level or its program."""
    if len(line) > LONGEST_SHAPED_LINE or _LOG.match(line) is None:
        return False
    return not is_numbered_frame(line)


def log_level(line: str) -> str:
    """Return "error" if a line of a log says that something failed, otherwise "quiet".

    >>> [log_level(line) for line in ("[INF] it failed", "1:00 ERROR no")]
    ['quiet', 'error']
    >>> [log_level(line) for line in ("1:00 it failed", "1:00 up")]
    ['error', 'quiet']
    """
    beginning = line[:_LEVEL_WITHIN]
    if _SEVERE.search(beginning):
        return "error"
    if _QUIET.search(beginning):
        return "quiet"
    return "error" if names_failure(line) else "quiet"


def names_failure(line: str) -> bool:
    """Return whether a line contains a word about failures, such as Error or failed."""
    return _FAILURE.search(line) is not None
