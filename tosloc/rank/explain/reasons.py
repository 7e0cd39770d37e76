"""Reasons for a file, each with what people need to check it: a frame, a name, a commit, words.

Each kind of reason is a method that returns the reason or None. It belongs to ``PointerReasons``,
``ChangeReasons`` or ``WordReasons``, depending on what it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tosloc.core.answers import Reason
from tosloc.rank.explain.change_reasons import ChangeReasons
from tosloc.rank.explain.pointer_reasons import PointerReasons
from tosloc.rank.explain.related_tests import find_tests
from tosloc.rank.explain.word_reasons import WordReasons
from tosloc.rank.explain.wording import ReportSpelling
from tosloc.rank.features.query_context import QueryContext

MAX_TESTS: Final = 3
"""Largest number of tests of a file that an answer names."""


class FileReasons:
    """Reasons for the files of one answered query; a file is given by its number in the version."""

    def __init__(self, context: QueryContext) -> None:
        self.context = context
        self.paths = context.version.paths
        self.spelling: ReportSpelling = ReportSpelling(context.query)
        """How the report spells its terms."""
        self.pointers: PointerReasons = PointerReasons(context)
        """Reasons that the report itself points to a file."""
        self.changes: ChangeReasons = ChangeReasons(context, self.spelling)
        """Reasons from the history."""
        self.words: WordReasons = WordReasons(context, self.spelling)
        """Words that the report shares with a file."""
        self._tests_by_row: dict[int, list[int]] = {}

    def counterpart(self, file: int, leading: Sequence[int]) -> Reason | None:
        """Return the reason that a ``leading`` file is a test of this file, or is tested by it.

        Return None if there is no such file.
        """
        row = int(self.paths.path_ids[file])
        for other in leading:
            other_row = int(self.paths.path_ids[other])
            other_path = self.paths.table.paths[other_row]
            if other_row in self.tests_named_like(row):
                return Reason("test", f"Its test {other_path} matches the report, too")
            if row in self.tests_named_like(other_row):
                text = f"It tests {other_path}, which matches the report, too"
                return Reason("test", text)
        return None

    def tests_named_like(self, row: int) -> list[int]:
        """Return the path rows of a file's tests by name, the nearest ``MAX_TESTS``."""
        if row not in self._tests_by_row:
            self._tests_by_row[row] = find_tests(self.paths, row)[:MAX_TESTS]
        return self._tests_by_row[row]
