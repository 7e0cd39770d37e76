"""Which terms of a report count, by how many files of the version hold them. The tool itself takes all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tosloc.index.corpus import VersionView


@dataclass(frozen=True, slots=True)
class TermBounds:
    """Bounds on the document frequency of a report's terms, both inclusive.

    The index stays whole, so that document frequencies and lengths of files do not change with the bounds.
    """

    least: int = 0
    """Files that hold the term, at least. A term that no file holds may still occur in paths and commit messages."""
    most: float = 1.0
    """Share of the version's files that hold the term, at most."""

    def __call__(self, view: VersionView) -> Callable[[str], bool] | None:
        """Whether a term counts in this version; None where all do."""
        if self == NO_BOUNDS:
            return None
        ids, frequency, bound = view.corpus.term_ids, view.frequency, self.most * view.files

        def counts(term: str) -> bool:
            number = ids.get(term)
            return self.least <= (0 if number is None else int(frequency[number])) <= bound

        return counts


NO_BOUNDS: Final = TermBounds()
"""No bounds."""
