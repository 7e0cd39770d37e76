"""One query asked of one version: what the features share, each part computed when first wanted and once only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from tosloc.code import text
from tosloc.core.records import FloatArray, LongArray, Snapshot
from tosloc.reports.traces import Frame
from tosloc.retrieval import bm25
from tosloc.retrieval.bm25 import Hits, RevisedVectors
from tosloc.retrieval.corpus import Corpus, VersionView
from tosloc.retrieval.documents import DocumentsView
from tosloc.retrieval.history_index import HistoryAsOf, aggregate_by_file, aggregate_by_name_term
from tosloc.retrieval.paths import PathTable, PathView
from tosloc.retrieval.postings import known_terms
from tosloc.retrieval.query import Query, frame_name

EVERYDAY: Final = frozenset(
    text.terms(
        """add app application bad behavior behaviour broken bug change click code correct crash error exception expect
        fail failure fine fix found good great happen hello help hi incorrect instal issue know like love make need new
        nice nothing now old open please problem program project question release report reproduce run say seem show
        slow software someone something sometimes start still stop strange support system thank thing think time today
        try update upgrade use user version want way weird well work wrong yesterday"""
    )
)
"""Words that say no more than that something is wrong, or are polite; chosen by reading, not by any result."""
_RARE: Final = (
    0.25  # a word in more of the files than this part, and in more than three, is a common one
)
_HALF: Final = 0.5  # two words tell the files apart where each is in no more of them than this part


class VersionIndex:
    """A version made ready for queries: its texts and its paths, which the table numbers."""

    def __init__(self, corpus: Corpus, snapshot: Snapshot, table: PathTable) -> None:
        self.text, self.paths = VersionView(corpus, snapshot), PathView(table, snapshot.path_ids)

    @cached_property
    def revised(self) -> RevisedVectors:
        """rVSM vectors of the version."""
        return RevisedVectors.of(self.text, self.paths.table)


@dataclass(eq=False)
class QueryContext:
    """A query, the version it is asked of, and the history known when the report was opened. F files, N paths."""

    query: Query
    version: VersionIndex
    history: HistoryAsOf

    @property
    def files(self) -> int:
        """F, the number of files."""
        return self.version.text.files

    @property
    def all_paths(self) -> int:
        """N, the number of paths that the history can name, those of the version among them."""
        return len(self.version.paths.table)

    def to_files(self, of_paths: FloatArray) -> FloatArray:
        """(F,) values of the version's files from values of all paths."""
        return of_paths[self.version.paths.path_ids]

    @cached_property
    def text_terms(self) -> tuple[LongArray, FloatArray]:
        """The report's terms that occur in files, and their weights."""
        return known_terms(self.version.text.corpus.terms, self.query.weights)

    @cached_property
    def known_words(self) -> tuple[str, ...]:
        """(T,) ``text_terms`` as words."""
        known = self.version.text.corpus.terms
        return tuple(term for term in self.query.weights if term in known)

    @property
    def shares_words(self) -> bool:
        """Whether any term of the report occurs in a file or a path."""
        in_files, in_paths = self.version.text.corpus.terms, self.version.paths.table.term_ids
        return any(term in in_files or term in in_paths for term in self.query.weights)

    @cached_property
    def common_words(self) -> frozenset[str]:
        """Everyday words, and those of the report that many files have."""
        return EVERYDAY | {
            word for word, number in self._frequency.items() if number > max(_RARE * self.files, 3)
        }

    @cached_property
    def _frequency(self) -> dict[str, int]:
        """Words of the report that the version's files have, everyday ones aside, and in how many of them each is."""
        numbers = zip(
            self.known_words, self.version.text.frequency[self.text_terms[0]].tolist(), strict=True
        )
        return {word: number for word, number in numbers if number and word not in EVERYDAY}

    @property
    def distinguishes_files(self) -> bool:
        """Whether the report names a file of the version, has a word that few file names have, a name written as code
        that few files have, or two other words that half of the files lack; everyday words aside.

        The language of the words does not matter: of a text in another one only the names occur in files.
        """
        if self.mentioned_rows or self.project_frames:
            return True
        paths, few, report = self.version.paths, max(_RARE * self.files, 3), self.query.report
        asked = (paths.table.term_ids.get(word) for word in self.query.weights.keys() - EVERYDAY)
        if any(term is not None and 0 < paths.name_frequency[term] <= few for term in asked):
            return True
        if sum(number <= max(_HALF * self.files, 3) for number in self._frequency.values()) > 1:
            return True
        rare = self._frequency.keys() - self.common_words
        if not rare.isdisjoint(text.compounds(f"{report.summary}\n{report.description}")):
            return True
        return any(
            not rare.isdisjoint(text.identifier_terms(name.written)) for name, _ in self.query.names
        )

    @cached_property
    def hits(self) -> Hits:
        """Postings of the report's terms."""
        return Hits(self.version.text, self.text_terms[0])

    def score_files(self, formula: bm25.Formula, weights: FloatArray) -> FloatArray:
        """(F,) BM25 of the files' texts, from weights (T,) of the terms of ``hits``."""
        return self.version.text.to_files(self.hits.scores(formula, weights))

    @cached_property
    def _chunk_hits(self) -> Hits:
        """Postings of the report's terms among the chunks of files."""
        view = self.version.text
        return Hits(
            view, self.text_terms[0], view.corpus.chunk_postings, int(view.corpus.chunk_starts[-1])
        )

    def best_chunk_scores(self, weights: FloatArray) -> FloatArray:
        """(F,) BM25 of the best chunk of each file, from such weights."""
        view = self.version.text
        if not len(view.corpus):
            return np.zeros(view.files)
        of_chunks = self._chunk_hits.scores(bm25.chunk_frequency, weights)
        return view.to_files(np.maximum.reduceat(of_chunks, view.corpus.chunk_starts[:-1]))

    def hit_weights(self, weights: Mapping[str, float]) -> FloatArray:
        """(T,) another weighting of the terms of ``hits``: 0 for those that it lacks."""
        return np.array([weights.get(term, 0.0) for term in self.known_words], dtype=np.float64)

    @cached_property
    def commit_similarities(self) -> FloatArray:
        """(D,) cosine between the report and each known commit message."""
        return self.history.commits.similarities(self.query.weights)

    @cached_property
    def near_commits(self) -> LongArray:
        """The 300 commit messages nearest to the report, nearest first."""
        return self.history.commits.nearest(self.commit_similarities, 300)

    @cached_property
    def report_similarities(self) -> FloatArray:
        """(D,) cosine between the report and each known fixed report."""
        return self.history.reports.similarities(self.query.weights)

    @cached_property
    def near_reports(self) -> LongArray:
        """The 200 nearest known fixed reports, nearest first."""
        return self.history.reports.nearest(self.report_similarities, 200)

    def aggregated_bm25(
        self, view: DocumentsView, weights: Mapping[str, float], *, by_name: bool = False
    ) -> FloatArray:
        """(N,) BM25 of known documents of the history as one text a file, or (terms,) as one a term of file names."""
        join = aggregate_by_name_term if by_name else aggregate_by_file
        return view.remember(join, self.version.paths).bm25(*view.known_terms(weights))

    @cached_property
    def frame_files(self) -> tuple[tuple[str, int, tuple[int, ...]], ...]:
        """(class, part of the trace, path rows) of each stack frame that names files of the version, in order."""
        paths, found = self.version.paths, []
        for frame in self.query.frames:
            rows = (
                paths.find_by_class(frame.type)
                if frame.type
                else paths.find_by_frame_path(frame.path or frame.file)
            )
            if rows:
                found.append((frame_name(frame), frame.cause, tuple(rows)))
        return tuple(found)

    @cached_property
    def mentioned_rows(self) -> tuple[list[int], ...]:
        """Path rows of each file name that the report writes, in its order; a name may be that of several files."""
        names = (word for word in self.query.mentions if word[:1].isupper() or "_" in word)
        return tuple(rows for name in names if (rows := self.version.paths.find_by_stem(name)))

    def frame_rows(self, frame: Frame) -> tuple[int, ...]:
        """Path rows of the project's own files that a frame can mean."""
        return tuple(self.version.paths.find_by_location(frame.place, frame.qualified))

    @cached_property
    def project_frames(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """Path rows of each file of the project among the frames of a trace, each file once, innermost first."""
        traces = (map(self.frame_rows, trace) for trace in self.query.locations.traces)
        own = (tuple(dict.fromkeys(filter(None, rows))) for rows in traces)
        return tuple(filter(None, own))
