"""The lines of code of an answer's files that say most about the report.

``files`` are the numbers of the files that ``hits`` are about, in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from tosloc.code.notebooks import readable_text
from tosloc.core.answers import CodeLine, Function, Hit
from tosloc.git.repository import decode_text
from tosloc.localize.searchable_version import SearchableVersion
from tosloc.rank.explain import (
    FrameLine,
    choose_excerpts,
    choose_lines,
    distinctive_terms,
    find_matches,
    frame_lines,
    pointed_lines,
)
from tosloc.rank.features import QueryContext

FILES_WITH_CODE: Final = 5
"""First files of an answer that have lines of code."""


def add_code_lines(
    version: SearchableVersion, context: QueryContext, files: Sequence[int], hits: Sequence[Hit]
) -> list[Hit]:
    """Return the hits, the first of them with the lines of code that say most."""
    first_files = files[:FILES_WITH_CODE]
    evidence = _Evidence(version, context, first_files)
    result = []
    for file, hit in zip(first_files, hits, strict=False):
        lines = evidence.lines(file)
        spans = [reason.lines for reason in hit.reasons if reason.lines and reason.kind != "frame"]
        pointed = evidence.pointed_lines(file, hit.functions, lines)
        places = choose_lines(lines, evidence.terms, hit.functions, pointed, spans)
        code = tuple(evidence.code_line(lines, place) for place in places)
        result.append(replace(hit, code=code))
    return [*result, *hits[len(first_files) :]]


def choose_card_lines(
    version: SearchableVersion, context: QueryContext, files: Sequence[int], hits: Sequence[Hit]
) -> list[list[tuple[int, str]]]:
    """Return the numbered lines of each file that say most about the report, in excerpts."""
    evidence = _Evidence(version, context, files)
    cards: list[list[tuple[int, str]]] = []
    for file, hit in zip(files, hits, strict=True):
        lines = evidence.lines(file)
        chosen: list[int] = []
        if lines:
            pointed = evidence.pointed_lines(file, hit.functions, lines)
            for excerpt in choose_excerpts(lines, evidence.terms, hit.functions, pointed):
                chosen += excerpt
        cards.append([(place + 1, lines[place]) for place in chosen])
    return cards


class _Evidence:
    """The texts of some files, and what to look for in them."""

    def __init__(
        self, version: SearchableVersion, context: QueryContext, files: Sequence[int]
    ) -> None:
        self.terms: Mapping[str, float] = {}
        self._context = context
        self._framed: Mapping[int, Sequence[FrameLine]] = dict.fromkeys(files, ())
        self._blobs: dict[int, str] = {}
        self._texts: dict[str, bytes | None] = {}
        if version.repository is not None:
            self.terms = distinctive_terms(context.query, version.index)
            self._framed = frame_lines(context.query, version.index, files)
            self._blobs = {file: version.snapshot.blob(file) for file in files}
            blobs = list(dict.fromkeys(self._blobs.values()))
            self._texts = dict(version.repository.repo.texts(blobs))

    def lines(self, file: int) -> list[str]:
        """Return the lines of a file; none if it cannot be read, or without a repository."""
        data = self._texts.get(self._blobs.get(file, ""))
        text = decode_text(data or b"")
        return readable_text(text, self._context.version.text.snapshot.path(file)).splitlines()

    def code_line(self, lines: Sequence[str], place: int) -> CodeLine:
        """Return the line at a position, with the words that match the report."""
        return CodeLine(place + 1, lines[place], tuple(find_matches(lines[place], self.terms)))

    def pointed_lines(
        self, file: int, functions: Sequence[Function], lines: Sequence[str]
    ) -> list[int]:
        """Return the lines, from 1, that frames mean, then the one with a message of the report."""
        row = int(self._context.version.text.rows[file])
        return pointed_lines(self._framed[file], functions, self._context.messages, row, lines)
