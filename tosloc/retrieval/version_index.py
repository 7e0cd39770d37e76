"""An indexed version: the texts and the paths of its files."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tosloc.core.versions import Snapshot
from tosloc.paths.classify import ClassArray
from tosloc.retrieval.paths.path_index import PathTable, VersionPaths
from tosloc.retrieval.texts.bm25 import RevisedVectors
from tosloc.retrieval.texts.corpus import Corpus, VersionTexts


class VersionIndex:
    """A version ready for queries: its texts and its paths, which the table numbers."""

    def __init__(self, corpus: Corpus, snapshot: Snapshot, table: PathTable) -> None:
        self.text: VersionTexts = VersionTexts(corpus, snapshot)
        """Postings and statistics of the texts of the files."""
        self.paths: VersionPaths = VersionPaths(table, snapshot.path_ids)
        """Words of the paths."""

    def has_term(self, term: str) -> bool:
        """Return whether any file contains a term."""
        number = self.text.corpus.terms.get(term)
        return number is not None and bool(self.text.frequency[number])

    @cached_property
    def file_class(self) -> ClassArray:
        """(F,) the class of each file: what its text shows, else what its path says."""
        by_text = np.append(self.text.corpus.file_class, 0)[self.text.rows].astype(np.uint8)
        by_path = self.paths.table.file_class[self.paths.path_ids]
        return np.where(by_text > 0, by_text, by_path)

    @cached_property
    def revised(self) -> RevisedVectors:
        """rVSM vectors of the version."""
        return RevisedVectors.of(self.text, self.paths.table)
