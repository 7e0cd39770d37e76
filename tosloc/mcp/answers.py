"""What agents read of an answer, for whom each character counts: the same as text and as structured content."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from tosloc.answer import Answer, background_lines, percent
from tosloc.errors import counted
from tosloc.io import printable
from tosloc.localizer import Localizer
from tosloc.rank.functions import telling_lines
from tosloc.session import told

DETAILED: Final = 3
"""Files that have more than a path."""
LINES: Final = 6
"""Lines of source of such a file, at most."""


class _Described(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class Function(_Described):
    """A function, method or class."""

    name: str
    start: int
    end: int
    """Last line, included."""


class File(_Described):
    """A file of the repository."""

    rank: int
    path: str
    share: float
    """How sure the answer is, 0 to 1."""
    functions: list[Function] = []
    """The likeliest first."""
    why: list[str] = []
    source: str = ""
    """The likeliest lines, numbered."""


class Found(_Described):
    """Files that have to be changed, the likeliest first."""

    commit: str
    uncommitted: int = 0
    """Files of the work tree that the commit has otherwise."""
    searched: int
    """Source files."""
    hidden_tests: int = 0
    """Test files beside them."""
    files: list[File]
    left_out: int = 0
    """Files that the budget had no room for."""
    others: list[str] = []
    """Files that are no sources, and may matter, too."""
    background: list[str] = []
    """Tests of the first file, who knows it, and earlier changes like the report."""
    notes: list[str] = []

    @classmethod
    def of(cls, answer: Answer, sources: Mapping[str, str], reasons: int | None = None) -> Found:
        """All that an answer may tell: its first files with ``sources`` and so many reasons, of the rest the paths."""
        files = [File(rank=hit.rank, path=printable(hit.path), share=round(hit.share, 3)) for hit in answer.hits]
        for file, hit in zip(files[:DETAILED], answer.hits, strict=False):
            file.functions = [Function(name=printable(one.name), start=one.start, end=one.end) for one in hit.functions]
            file.why = [printable(reason.text) for reason in hit.why[:reasons]]
            file.source = sources.get(hit.path, "")
        searched = answer.searched
        return cls(
            commit=answer.commit,
            uncommitted=searched.uncommitted,
            searched=searched.files,
            hidden_tests=searched.hidden_tests,
            files=files,
            others=[printable(hit.path) for hit in answer.others],
            background=[printable(told.text) for told in background_lines(answer)],
            notes=list(map(printable, answer.warnings)),
        )

    def within(self, budget: int, size: Callable[[Found], int]) -> Found:
        """What of it has at most that ``size``: the background goes first, then lines, reasons, functions, other files,
        notes and files, and of each kind the last ones. Nothing is cut in two.
        """
        kept = self.model_copy(deep=True)
        files = kept.files[::-1]

        def fit(*parts: list[Any]) -> None:
            for part in parts:
                while part and size(kept) > budget:
                    part.pop()

        fit(kept.background)
        for file in files:
            if size(kept) > budget:
                file.source = ""
        fit(*(file.why for file in files), *(file.functions for file in files), kept.others, kept.notes)
        while kept.files and size(kept) > budget:
            kept.files.pop()
            kept.left_out += 1
        return kept

    def text(self) -> str:
        """A line for each file, its reasons and its source below it."""
        hidden = f", {self.hidden_tests:,} tests left out" if self.hidden_tests else ""
        changed = f" and {counted(self.uncommitted, 'uncommitted change')}" if self.uncommitted else ""
        searched = f"{self.searched:,} files of {self.commit[:10]}{changed}{hidden}"
        lines = [f"{searched}. Rank. File (how sure): functions with lines"]
        for file in self.files:
            named = ", ".join(f"{one.name}:{one.start}-{one.end}" for one in file.functions)
            lines.append(f"{file.rank:,}. {file.path} ({percent(file.share)}){': ' if named else ''}{named}")
            lines += [f"   - {reason}" for reason in file.why]
            lines += [f"   {line}" for line in filter(None, file.source.split("\n"))]
        if self.left_out:
            lines.append(f"({self.left_out} more left out for room; give a larger budget)")
        others = [f"other files: {', '.join(self.others)}"] if self.others else []
        return "\n".join([*lines, *others, *self.background, *(f"note: {note}" for note in self.notes)])

    def plain(self) -> dict[str, Any]:
        """Values of JSON; what is empty is left out."""
        return self.model_dump(exclude_defaults=True)

    def length(self) -> int:
        """Characters of that as JSON."""
        return len(json.dumps(self.plain(), ensure_ascii=False))


def sources(localizer: Localizer, answer: Answer) -> dict[str, str]:
    """Path -> the lines of the likeliest function that say most of the report, numbered, of the first files."""
    beside, found = told(localizer, answer, DETAILED), {}
    for hit, framed, lines in beside.lines:
        likeliest = hit.functions[:1]
        for one in likeliest:  # nothing else of the file is shown
            lines = [line if one.start <= number <= one.end else "" for number, line in enumerate(lines, start=1)]
            # a frame's line is that of the report's version, where the function may have stood elsewhere
            framed = [line for line in framed if one.start <= line <= one.end]
        for places in telling_lines(lines, beside.terms, likeliest, framed, (), 1, LINES):
            numbered = (f"{place + 1}: {printable(lines[place])}".rstrip() for place in places)
            found[hit.path] = "\n".join(numbered)
    return found
