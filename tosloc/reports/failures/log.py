"""The text of a log without the times, colours and group markers that its writer adds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from tosloc.core.patterns import lazy_pattern

MAX_LINE_LENGTH: Final = 2_000
"""Largest number of characters of a line that are read."""
_SAMPLE: Final = 2_000
"""Number of lines that are checked to see whether a log has times."""
_ESCAPES: Final = lazy_pattern(
    r"""(?x)
      \x1b\[8mha:[\w+/=]{0,100000}\x1b\[0m    # a note of Jenkins, which a terminal hides
    | \x1b\[[0-?]{0,40}[\x20-/]{0,9}[@-~]     # colours, and other sequences of a terminal
    | \x1b\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)
    | \x1b[()][0-9A-B]
    """
)
_STAMPS: Final = (
    # GitHub Actions. gh run view --log writes the job and the step before the time, and GitLab
    # writes the stream and its number after it.
    lazy_pattern(
        r"(?:[^\t\n]{1,200}\t[^\t\n]{1,200}\t)?\ufeff?"
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z ?(?:[0-9a-f]{2}[OE][ +]?)?"
    ),
    # Jenkins, with the plugin Timestamper, and Travis
    lazy_pattern(r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:?\d\d)\] ?"),
    lazy_pattern(r"\[?\d\d:\d\d:\d\d(?:\.\d{1,6})?\]?(?: {1,2}|$)"),
    # docker build
    lazy_pattern(r"#\d{1,4} \d{1,6}\.\d{1,3} ?"),
)
_GROUP: Final = lazy_pattern(
    r"(?:##\[(?:group|endgroup|section)\]|::(?:group|endgroup)::|\[Pipeline\] |"
    r"section_(?:start|end):\d{1,12}:)"
)
"""Beginning of a line that only divides a log into parts."""
_LEVEL: Final = lazy_pattern(r"##\[(?:error|warning|command|debug|notice)\]")
_EVENT: Final = lazy_pattern(r'\{(?="(?:Time|Action)":)')
"""Beginning of an event of ``go test -json``."""


class Log:
    """A text that may be the output of a run."""

    def __init__(self, text: str, name: str = "the text") -> None:
        """Read a text, with line feeds as line breaks."""
        self.name = name
        """Its name in errors."""
        self.text = text
        """The text as it was given."""

    @cached_property
    def lines(self) -> Sequence[str]:
        """Lines of the text without times, colours, markers and blanks at their ends.

        Each line is cut at ``MAX_LINE_LENGTH``.
        """
        return [line.rstrip() for line in _lines_of_events(self._unstamped[0])]

    @cached_property
    def plain(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)

    @property
    def is_stamped(self) -> bool:
        """Whether a machine wrote times before the lines, or divided the text into parts."""
        return self._unstamped[1]

    @cached_property
    def _unstamped(self) -> tuple[list[str], bool]:
        """Lines without times, colours and markers; whether there were any times or markers."""
        raw_lines = self.text.split("\n")
        lines = [line[:MAX_LINE_LENGTH] for line in raw_lines]
        if "\x1b" in self.text:
            # A note of Jenkins may be longer than what is kept of a line.
            lines = [_ESCAPES.sub("", line)[:MAX_LINE_LENGTH] for line in raw_lines]
        filled = [line for line in lines[:_SAMPLE] if line.strip()]
        is_stamped = False
        for stamp in _STAMPS:
            stamped = sum(stamp.match(line) is not None for line in filled)
            if 2 * stamped > len(filled):
                lines = [stamp.sub("", line, count=1) for line in lines]
                is_stamped = True
                break
        kept = []
        for line in lines:
            if _GROUP.match(line):
                is_stamped = True
            else:
                kept.append(_LEVEL.sub("", line, count=1) if line.startswith("##[") else line)
        return kept, is_stamped


def _lines_of_events(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines; events of ``go test -json`` become the lines that the test printed."""
    for line in lines:
        if not _EVENT.match(line):
            yield line
            continue
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            yield line
            continue
        output = event.get("Output")
        if isinstance(output, str):
            yield from output.rstrip("\n").split("\n")
