"""Find commands, options and keys of settings in a report."""

from __future__ import annotations

import re
from bisect import bisect
from typing import Final, NamedTuple

from tosloc.reports.text.names import CODE_SPAN, FILE_ENDINGS

_HYPHENATED: Final = re.compile(
    r"(?<![\w/.\-])(?P<mark>`|--)?-{0,2}"
    r"(?P<name>[A-Za-z][A-Za-z0-9_]{0,40}+(?:-[A-Za-z][A-Za-z0-9_]{0,40}+){1,5})(?![\w/\-]|\.[a-z])"
)
_DOTTED_KEY: Final = re.compile(
    r"(?<![\w/.\-])[a-z][a-z0-9_\-]{1,40}+(?:\.[a-z][a-z0-9_\-]{1,40}+){1,4}(?=\s?[=:`])"
)


class Command(NamedTuple):
    """A command, option or key with hyphens or dots: ``new-window``, ``server.port``."""

    parts: tuple[str, ...]
    """Words of the command in lower case."""
    is_certain: bool
    """Whether it is quoted as code or written as an option.

    Otherwise it may be a hyphenated word of a sentence.
    """

    @property
    def joined(self) -> str:
        """The words as one term, which is the term of ``new_window`` and ``newWindow`` in code."""
        return "".join(self.parts)


def find_commands(source: str) -> list[Command]:
    """Return the commands, options and keys of a text in order.

    >>> text = "`new-window -k` or --ffmpeg-location; `server.port`, a.py: no"
    >>> [command.parts for command in find_commands(text)]
    [('new', 'window'), ('ffmpeg', 'location'), ('server', 'port')]
    >>> [command.is_certain for command in find_commands("`new-window -k` is well-known")]
    [True, False]
    """
    spans = list(CODE_SPAN.finditer(source))
    span_starts = [span.start() for span in spans]
    commands = []
    for match in _HYPHENATED.finditer(source):
        parts = match["name"].lower().replace("_", "-").split("-")
        span = bisect(span_starts, match.start("name")) - 1
        in_span = span >= 0 and match.start("name") < spans[span].end()
        is_certain = in_span or match["mark"] is not None
        commands.append(Command(tuple(filter(None, parts)), is_certain))
    for match in _DOTTED_KEY.finditer(source):
        parts = re.split(r"[._\-]", match[0])
        if parts[-1] not in FILE_ENDINGS:
            commands.append(Command(tuple(filter(None, parts)), is_certain=True))
    return [command for command in commands if len(command.parts) > 1]
