"""A stack frame."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_LONGEST_LINE: Final = 400
"""Number of characters before a frame's file that are searched for the name of its function."""
_PREFIX_OF_LINE: Final = re.compile(
    r"[ \t>]*+(?:[\w.\-]{1,60}\s{1,20}\|\s{0,9})?+[ \t>]*+(?:at\s)?+"
)
"""Text before a line of a trace: quotation marks, or the container that printed the line."""
_NAME: Final = re.compile(r"~?[A-Za-z_]\w{0,200}[?!]?")


class Frame(NamedTuple):
    """A stack frame, or the place in source code that an error of a build names."""

    offset: int
    """Offset in the text at which the frame begins."""
    end: int
    """Offset in the text at which the frame ends."""
    line: int = 0
    """Line from 1; 0 if it is not known."""
    method: str = ""
    """Name of the function or method; empty if it is not known."""
    path: str = ""
    """Path of the file as the text spells it; empty if the frame has no path."""
    type: str = ""
    """Qualified name of the outermost class, "org.example.Outer" for a frame in "Outer$1".

    Empty if the frame names no class."""
    file: str = ""
    """Simple file name, such as "Outer.java"; if the frame has none, it is guessed from the class.

    Empty if the frame has neither.
    """
    cause: int = 0
    """Part of the trace: 0 for the first, one more after each "Caused by" or "root cause"."""

    @property
    def qualified(self) -> bool:
        """Whether it names a package, so that the file's folders must end with the package's."""
        return bool(self.type) and not self.path

    @property
    def full_path(self) -> str:
        """The path, with ``/`` between folders.

        If the frame has no path, it consists of package and file: ``org/x/Door.java``.
        """
        return self.path or f"{self.type.rpartition('.')[0].replace('.', '/')}/{self.file}"

    @property
    def class_or_file(self) -> str:
        """The outermost class, or the file if the frame names no class."""
        return self.type or self.path or self.file

    def with_method(self, name: str) -> Frame:
        """Return the frame with ``name`` as its function.

        Return the frame unchanged if it already has a function, or if ``name`` cannot be the name
        of one.
        """
        return self if self.method or not _NAME.fullmatch(name) else self._replace(method=name)


def line_before(text: str, frame: Frame) -> str:
    """Return the line before the line that contains a frame's file.

    Return "" if anything but a prefix or "at" is before the file in its own line.
    """
    beginning = beginning_of_line(text, frame.offset)
    line_break = frame.offset - len(beginning) - 1
    if line_break < 0 or text[line_break] != "\n" or not _PREFIX_OF_LINE.fullmatch(beginning):
        return ""
    return beginning_of_line(text, line_break).strip()


def beginning_of_line(text: str, offset: int) -> str:
    """Return the text before an offset in its line; at most ``_LONGEST_LINE`` characters."""
    earliest = max(0, offset - _LONGEST_LINE)
    return text[max(text.rfind("\n", earliest, offset) + 1, earliest) : offset]
