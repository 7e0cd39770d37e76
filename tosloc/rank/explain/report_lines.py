"""Choose lines of an answer's files that match a report best, or that the report points to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from tosloc.core.answers import CodeLine, Function
from tosloc.rank.explain.code_bodies import CodeBody, cut_bodies
from tosloc.rank.explain.code_lines import choose_body, choose_lines
from tosloc.rank.explain.matching_terms import distinctive_terms, find_matches
from tosloc.rank.explain.pointed_lines import (
    find_current_line,
    find_message_line,
    frame_lines,
)
from tosloc.retrieval.history import ReportMessages
from tosloc.retrieval.query import Query
from tosloc.retrieval.version_index import VersionIndex


class ReportLines:
    """What to look for in the lines of some files: the report's words, frames and message.

    ``file`` is the number of one of the files, ``lines`` are its lines, and ``functions`` the
    functions of it that the answer lists.
    """

    def __init__(
        self, query: Query, version: VersionIndex, files: Sequence[int], messages: ReportMessages
    ) -> None:
        self._query = query
        self._version = version
        self._framed = frame_lines(query, version, files)
        self._messages = messages

    @cached_property
    def terms(self) -> dict[str, float]:
        """The report's terms that distinguish files, with their weights, the best first."""
        return distinctive_terms(self._query, self._version)

    def pointed(self, file: int, functions: Sequence[Function], lines: Sequence[str]) -> list[int]:
        """Return the lines, from 1, that frames mean, then the one with a message of the report."""
        current = [find_current_line(item, functions, lines) for item in self._framed[file]]
        pointed = list(dict.fromkeys(current))
        message = self._messages.find(int(self._version.text.rows[file]))
        if message is not None and message.is_distinctive:
            line = find_message_line(lines, message.text)
            if line is not None and line not in pointed:
                pointed.append(line)
        return pointed

    def choose(
        self,
        file: int,
        functions: Sequence[Function],
        lines: Sequence[str],
        *,
        body: bool = False,
    ) -> tuple[CodeLine, ...]:
        """Return the lines that match the report best, with the words that match.

        With ``body``, they are those of the first function, if there is one.
        """
        if not lines:
            return ()
        pointed = self.pointed(file, functions, lines)
        if body and functions:
            places = choose_body(lines, self.terms, functions[0], pointed)
        else:
            places = choose_lines(lines, self.terms, functions, pointed)
        chosen = []
        for place in places:
            matches = tuple(find_matches(lines[place], self.terms))
            chosen.append(CodeLine(place + 1, lines[place], matches))
        return tuple(chosen)

    def cut_bodies(
        self, file: int, functions: Sequence[Function], lines: Sequence[str]
    ) -> list[CodeBody]:
        """Return the code that matches the report best, the best first; see ``cut_bodies``."""
        if not lines:
            return []
        return cut_bodies(lines, self.terms, functions, self.pointed(file, functions, lines))
