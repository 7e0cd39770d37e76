"""Reasons for a file, each with what people need to check it: a frame, a name, a commit, words.

Each kind of reason is a method that returns the reason or None. It belongs to ``PointerReasons``,
``ChangeReasons`` or ``WordReasons``, depending on what it reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from tosloc.core.answers import Reason
from tosloc.rank.explain.change_reasons import ChangeReasons
from tosloc.rank.explain.pointer_reasons import PointerReasons
from tosloc.rank.explain.word_reasons import WordReasons
from tosloc.rank.explain.wording import ReportSpelling
from tosloc.rank.features.query_context import QueryContext
from tosloc.retrieval.paths import file_stem


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

    def counterpart(self, file: int, leading: Sequence[int]) -> Reason | None:
        """Return the reason that a ``leading`` file is a test of this file, or is tested by it.

        Tests are found by their names. Return None if there is no such file.
        """
        table = self.paths.table
        row = int(self.paths.path_ids[file])
        for other in leading:
            other_row = int(self.paths.path_ids[other])
            is_related = table.counterpart_group[other_row] == table.counterpart_group[row]
            is_pair = is_related and table.test[other_row] != table.test[row]
            other_path = table.paths[other_row]
            if is_pair and file_stem(other_path) != file_stem(table.paths[row]):
                is_test = table.test[other_row]
                if is_test:
                    text = f"Its test {other_path} matches the report, too"
                else:
                    text = f"It tests {other_path}, which matches the report, too"
                return Reason("test", text)
        return None
