"""Read the changed lines of commits as patches from git, without changes of white space."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import IO, Final, NamedTuple

from tosloc.core.errors import RepositoryError
from tosloc.core.patterns import lazy_pattern
from tosloc.git.repository import Repository

MAX_PATCH_BYTES: Final = 8_000_000
"""Largest number of bytes of patches that one call reads; the rest is left out."""
MAX_LINES_OF_PATCH: Final = 4_000
"""Largest number of lines of one file's patch that are kept.

A longer patch adds a whole file or reformats one.
"""
MAX_PROCESSES: Final = 4
"""Largest number of git processes that one call starts.

A new process is needed at each missing blob.
"""
_HUNK: Final = lazy_pattern(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_INDEX: Final = lazy_pattern(rb"index [0-9a-f]+\.\.([0-9a-f]+)")
_COMMIT: Final = lazy_pattern(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?\n")
_ESCAPE: Final = lazy_pattern(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
"""Escape in a path with unusual characters, which git quotes as a string of C."""
_CONTROL_CHARACTERS: Final = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}
"""Letter after a backslash -> control character that the two stand for."""
_COMMAND: Final = (
    *("-c", "core.quotePath=false", "-c", "core.attributesFile=", "--literal-pathspecs"),
    *("diff-tree", "--stdin", "--root", "-r", "-p", "-w", "--no-renames", "--no-ext-diff"),
    *("--no-textconv", "--no-color", "--no-prefix", "--unified=1", "--diff-algorithm=myers"),
)


class Hunk(NamedTuple):
    """Neighbouring changed lines of a file, with a line of context before and after."""

    old_start: int
    """First line before the change, from 1; the line before the hunk if it only adds lines."""
    new_start: int
    """First line after the change, from 1; the line before the hunk if it only removes lines."""
    lines: tuple[str, ...]
    """Lines, each with its sign "+", "-" or " "."""


class FilePatch(NamedTuple):
    """The change of one file by one commit."""

    commit: str
    """Full id."""
    path: str
    """Path after the change; before it for a deleted file."""
    adds_file: bool
    """Whether the file did not exist before."""
    hunks: tuple[Hunk, ...]
    blob: str = ""
    """Abbreviated id of the file's content after the change; zeros for a deleted file."""
    path_then: str = ""
    """Path at the time of the commit, if ``path`` was set to a later one."""
    heirs: tuple[str, ...] = ()
    """Present paths of other files to which later commits moved lines of this file."""


class Patches(NamedTuple):
    """The changes of files by some commits."""

    files: list[FilePatch]
    """Patches in the order of the commits, then of paths."""
    unreadable: int
    """Number of times that git ended early because a blob was missing."""


def read_patches(
    repository: Repository,
    commits: Sequence[str],
    paths: Sequence[str] = (),
    most_bytes: int = MAX_PATCH_BYTES,
) -> Patches:
    """Return the changes of files by commits, which one git process compares with their parents.

    Only the files with one of ``paths`` are compared, by default all. Merges and changes of white
    space are left out. A commit whose blobs are missing is skipped. After ``MAX_PROCESSES`` such
    commits all later commits are skipped as well. At most ``most_bytes`` are read.
    """
    files: list[FilePatch] = []
    budget = _Budget(most_bytes)
    remaining = list(commits)
    unreadable = 0
    while remaining and budget.bytes > 0 and unreadable < MAX_PROCESSES:
        last = ""
        try:
            with repository.git.stream([*_COMMAND, "--", *paths], remaining) as output:
                for patch in _parse_patches(output, budget):
                    last = patch.commit
                    # Git also compares the files of a folder with one of the paths.
                    if not paths or patch.path in paths:
                        files.append(patch)
            break
        except RepositoryError:
            # Git ended at a commit after the last one of its output, or at this one.
            unreadable += 1
            position = remaining.index(last) if last in remaining else 0
            remaining = remaining[position + 1 :]
    return Patches(files, unreadable)


class _Budget:
    """Counter of the bytes that may still be read."""

    def __init__(self, number: int) -> None:
        self.bytes = number

    def read_line(self, output: IO[bytes]) -> bytes:
        """Return the next line; empty at the end of the output or once the budget is used up."""
        if self.bytes <= 0:
            return b""
        line = output.readline(self.bytes)
        self.bytes -= len(line)
        return line


def _parse_patches(output: IO[bytes], budget: _Budget) -> Iterator[FilePatch]:
    """Yield the patches in git's output."""
    commit = ""
    path = b""
    old_path = b""
    adds_file = False
    blob = ""
    hunks: list[Hunk] = []
    lines_of_patch = 0

    def finished() -> Iterator[FilePatch]:
        if hunks:
            yield FilePatch(commit, decode_path(path), adds_file, tuple(hunks), blob)

    while line := budget.read_line(output):
        match = _HUNK.match(line)
        if match is not None:
            old_lines = int(match[2] or 1)
            new_lines = int(match[4] or 1)
            lines = _read_hunk(output, budget, old_lines, new_lines)
            lines_of_patch += len(lines)
            if lines_of_patch <= MAX_LINES_OF_PATCH or not hunks:
                kept = tuple(lines[:MAX_LINES_OF_PATCH])
                hunks.append(Hunk(int(match[1]), int(match[3]), kept))
        elif line.startswith(b"diff --git ") or _COMMIT.fullmatch(line):
            yield from finished()
            hunks = []
            lines_of_patch = 0
            adds_file = False
            if not line.startswith(b"diff"):
                commit = line.decode("ascii").rstrip("\n")
        elif (match := _INDEX.match(line)) is not None:
            blob = match[1].decode("ascii")
        elif line.startswith(b"--- "):
            old_path = _header_path(line)
        elif line.startswith(b"+++ "):
            path = _header_path(line)
            adds_file = old_path == b"/dev/null"
            if path == b"/dev/null":
                path = old_path
    yield from finished()


def _read_hunk(output: IO[bytes], budget: _Budget, old_lines: int, new_lines: int) -> list[str]:
    """Return the lines of a hunk with ``old_lines`` before and ``new_lines`` after the change."""
    lines: list[str] = []
    while old_lines > 0 or new_lines > 0:
        line = budget.read_line(output)
        if not line:
            break
        sign = line[:1]
        if sign == b"\\":  # "\ No newline at end of file"
            continue
        old_lines -= sign != b"+"
        new_lines -= sign != b"-"
        lines.append(line.decode("utf-8", "replace").rstrip("\r\n"))
    return lines


def _header_path(line: bytes) -> bytes:
    """Return the path in a "---" or "+++" line, without the tab that follows a path with blanks."""
    path = line[4:].rstrip(b"\n").removesuffix(b"\t")
    if path.startswith(b'"') and path.endswith(b'"'):
        return _ESCAPE.sub(_unescape, path[1:-1])
    return path


def _unescape(escape: re.Match[bytes]) -> bytes:
    """Return the byte that an escape in a quoted path stands for."""
    character = escape[1]
    if len(character) == 3:
        return bytes([int(character, 8)])
    return _CONTROL_CHARACTERS.get(character, character)


def decode_path(path: bytes) -> str:
    """Return a path as text, in the form that tables of paths contain."""
    return path.decode("utf-8", "surrogateescape")
