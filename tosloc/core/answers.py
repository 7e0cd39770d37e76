"""What an answer consists of: files, functions, lines, reasons and changes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Reason:
    """One piece of evidence for a file, in words that people can check."""

    kind: str
    """Kind of evidence, see docs/formats.md."""
    text: str
    """The evidence in words."""
    commit: str | None = None
    """Full id of the commit that is the evidence."""
    issue: str | None = None
    """Issue that the commit names, as written there: #123, JDK-8001234."""
    lines: tuple[int, int] | None = None
    """First and last line of the file that are the evidence, from 1.

    The line of a stack frame is that of the report.
    """
    url: str | None = None
    """Address of the evidence on the web."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function or class of a file, scored for a report."""

    name: str
    """Name, qualified within its file: ``Class.method``."""
    start: int
    """First line in the searched version, from 1."""
    end: int
    """Last line, included."""
    score: float
    """Score, comparable among the functions of one answer."""


class RoutineNote(str):
    """A note that needs no action from the reader and does not change what the answer means."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of a file that shows why the file is listed."""

    line: int
    """Number of the line in the file, from 1."""
    text: str
    """The line as it is in the file."""
    matches: tuple[tuple[int, int], ...] = ()
    """First character, and the one after the last, of each word that matches the report, from 0."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One file of an answer, with its rank and the evidence for it."""

    rank: int
    """Rank among the files that could be listed, from 1."""
    path: str
    """Path from the root of the repository."""
    score: float
    """Score of the file; only differences between files of one answer have a meaning."""
    confidence: float
    """Confidence from 0 to 1 that the file contains the bug; see tosloc.rank.model.calibration."""
    functions: tuple[Function, ...] = ()
    """The most suspicious functions of the file, most suspicious first."""
    reasons: tuple[Reason, ...] = ()
    """Why the file is listed, the strongest reason first."""
    code: tuple[CodeLine, ...] = ()
    """The file's lines that match the report best; only the first files of an answer have them."""


@dataclass(frozen=True, slots=True)
class EarlierChange:
    """A past change of the project that is about the report, or about something similar."""

    commit: str
    """Full id."""
    committed: datetime
    """Committer time, in the committer's time zone."""
    issue: str | None
    """Report that the change fixed or names, if one is known."""
    subject: str
    """First line of the commit's message; empty if the message cannot be read."""
    files: tuple[str, ...]
    """Source files that the commit changed."""
    url: str | None = None
    """Address of the commit on the web."""


@dataclass(frozen=True, slots=True)
class SuspectChange:
    """A past commit that may have introduced the bug."""

    BLAMED: ClassVar[str] = "the report blames it"
    """The reason that is given for a commit that the report itself blames."""

    commit: str
    """Full id."""
    committed: datetime
    """Committer time, in the committer's time zone."""
    subject: str
    """First line of the commit's message; empty if the message cannot be read."""
    path: str
    """Path, in the searched version, of the file of the answer that the commit changed."""
    function: str = ""
    """Qualified name of the function that the commit changed; empty if it is not listed."""
    reasons: tuple[str, ...] = ()
    """Why the commit is suspect, in words; the strongest reason first."""
    diff: tuple[str, ...] = ()
    """Up to six lines of the most relevant hunk, each with its sign "+", "-" or " "."""
    url: str | None = None
    """Address of the commit on the web."""
    author: str = ""
    """Name of the author; empty if it cannot be read."""
    release: str = ""
    """Tag of the first release that contains the commit; empty if none is known."""
    pull_request: str = ""
    """Pull request of the commit as its message writes it: #123, !45; empty if unknown."""
    lines: tuple[tuple[int, int], ...] = ()
    """First and last lines, from 1, of the parts of the file that this commit wrote last."""
    diff_lines: tuple[int, ...] = ()
    """Line number of each line of ``diff`` in the searched version, from 1; 0 if it is not there.

    Lines that the commit removed, or that were changed later, are not there. All lines of a file
    that is not among the files of the answer have 0.
    """

    @property
    def heading(self) -> str:
        """A line about the change: commit, date, author and subject."""
        details = f"{self.committed:%Y-%m-%d}"
        if self.author:
            details += f", {self.author}"
        text = f"{self.commit[:10]} ({details})"
        return f"{text} {self.subject.rstrip('.')}" if self.subject else text

    @property
    def sentence(self) -> str:
        """Why the change is suspect, which of its lines still exist, and its first release.

        >>> from datetime import UTC
        >>> when = datetime(2024, 5, 6, tzinfo=UTC)
        >>> change = SuspectChange("c0ffee", when, "Add a rebate", "shop/cart.py", release="v1.2")
        >>> change.sentence
        'shop/cart.py; first in v1.2'
        >>> from dataclasses import replace
        >>> replace(change, reasons=("changed `total`",), lines=((3, 3), (8, 9))).sentence
        'shop/cart.py: changed `total`; its lines 3, 8-9 are still there; first in v1.2'
        """
        parts = [": ".join(filter(None, (self.path, ", ".join(self.reasons))))]
        if self.lines:
            numbers = [
                f"{first}-{last}" if last > first else f"{first}" for first, last in self.lines
            ]
            is_single = numbers == [str(self.lines[0][0])]
            what = f"line {numbers[0]} is" if is_single else f"lines {', '.join(numbers)} are"
            parts.append(f"its {what} still there")
        origin = []
        if self.release:
            origin.append(f"first in {self.release}")
        if self.pull_request:
            kind = "merge request" if self.pull_request.startswith("!") else "pull request"
            origin.append(f"{kind} {self.pull_request}")
        parts.append(", ".join(origin))
        return "; ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class Person:
    """Someone who changed a file, and the time of their last change to it."""

    name: str
    """Name of the author."""
    committed: datetime
    """Committer time of the last change, in the committer's time zone."""


@dataclass(frozen=True, slots=True)
class Background:
    """What the project's history adds to an answer.

    Everything except ``earlier`` and ``similar`` is about the first file of the answer.
    """

    earlier: tuple[EarlierChange, ...] = ()
    """Past changes, the most similar first."""
    people: tuple[Person, ...] = ()
    """People who changed the first file last."""
    owners: tuple[str, ...] = ()
    """Owners of the first file by CODEOWNERS."""
    tests: tuple[str, ...] = ()
    """Tests with a name like the first file's, then those that changed together with it."""
    similar: tuple[Reason, ...] = ()
    """Reports of the project's tracker about the same problem, the most similar first."""
