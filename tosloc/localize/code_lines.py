"""Choose the code that an answer shows: the lines that match the report best, or a function's body.

``files`` are the numbers of the files that ``hits`` are about, in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from tosloc.code.notebooks import readable_text
from tosloc.core.answers import CodeLine, Hit
from tosloc.git.repository import decode_text
from tosloc.localize.question import Code
from tosloc.localize.searchable_version import SearchableVersion
from tosloc.rank.explain import (
    PointedLines,
    choose_body,
    choose_lines,
    distinctive_terms,
    find_matches,
)
from tosloc.rank.features import QueryContext

Bodies: TypeAlias = Sequence[tuple[str, Sequence[tuple[int, str]], Sequence[float]]]
"""Code of a file, most suspicious first: function, numbered lines and the lines' weights."""
FILES_WITH_CODE: Final = 5
"""Number of files, from the first, that have lines of code."""


def add_code(
    version: SearchableVersion,
    context: QueryContext,
    files: Sequence[int],
    hits: Sequence[Hit],
    code: Code,
) -> list[Hit]:
    """Return the hits; the first of them get code: the lines that match best, or a function's body.

    With ``code`` "body", the first hit has the body of its first function. If it has no function,
    it gets the best matching lines like the other hits.
    """
    first_files = files[:FILES_WITH_CODE]
    evidence = _Evidence(version, context, first_files)
    result: list[Hit] = []
    for file, hit in zip(first_files, hits, strict=False):
        lines = evidence.lines(file)
        pointed = evidence.pointed.find(file, hit.functions, lines)
        if code == "body" and not result and lines and hit.functions:
            places = choose_body(lines, evidence.terms, hit.functions[0], pointed)
        else:
            places = choose_lines(lines, evidence.terms, hit.functions, pointed)
        shown = tuple(evidence.code_line(lines, place) for place in places)
        result.append(replace(hit, code=shown))
    return [*result, *hits[len(first_files) :]]


def choose_bodies(
    version: SearchableVersion, context: QueryContext, files: Sequence[int], hits: Sequence[Hit]
) -> list[Bodies]:
    """Return for each file the code that matches the report best, the best code first."""
    evidence = _Evidence(version, context, files)
    result: list[Bodies] = []
    for file, hit in zip(files, hits, strict=True):
        lines = evidence.lines(file)
        bodies: Bodies = evidence.pointed.cut_bodies(file, hit.functions, lines, evidence.terms)
        result.append(bodies)
    return result


class _Evidence:
    """The texts of some files, with the report's words and frames to look for in them."""

    def __init__(
        self, version: SearchableVersion, context: QueryContext, files: Sequence[int]
    ) -> None:
        self.terms: Mapping[str, float] = {}
        self.pointed = PointedLines(context.query, version.index, files, context.messages)
        self._snapshot = version.snapshot
        self._texts: dict[str, bytes | None] = {}
        if version.repository is not None:
            self.terms = distinctive_terms(context.query, version.index)
            blobs = dict.fromkeys(map(version.snapshot.blob, files))
            self._texts = dict(version.repository.repo.texts(list(blobs)))

    def lines(self, file: int) -> list[str]:
        """Return a file's lines; empty if it cannot be read or there is no repository."""
        text = decode_text(self._texts.get(self._snapshot.blob(file)) or b"")
        return readable_text(text, self._snapshot.path(file)).splitlines()

    def code_line(self, lines: Sequence[str], place: int) -> CodeLine:
        """Return the line at a position, with the positions of the words that match the report."""
        return CodeLine(place + 1, lines[place], tuple(find_matches(lines[place], self.terms)))
