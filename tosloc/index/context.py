"""One query asked of one version: what the features share, each part computed when first wanted and once only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tosloc.index.bm25 import TextHits
from tosloc.index.corpus import VersionView
from tosloc.index.history_index import HistoryAsOf
from tosloc.index.paths import PathView
from tosloc.index.query import Query, frame_name
from tosloc.index.rvsm import RevisedVectors, StructuredText
from tosloc.records import FloatArray, LongArray


@dataclass(eq=False)
class VersionIndex:
    """A version made ready for questions: its texts and its paths."""

    text: VersionView
    paths: PathView
    structured: StructuredText | None = None

    @cached_property
    def revised(self) -> RevisedVectors:
        """rVSM vectors of the version."""
        structured = self.structured or StructuredText(self.text.corpus, self.paths.table)
        return structured.version(self.text)


@dataclass(eq=False)
class QueryContext:
    """A query, the version it is asked of, and the evidence known when the report was opened. F files, N paths."""

    query: Query
    version: VersionIndex
    history: HistoryAsOf

    @property
    def files(self) -> int:
        """F, the number of files."""
        return self.version.text.files

    @property
    def all_paths(self) -> int:
        """N, the number of paths that evidence can speak of."""
        return len(self.version.paths.table)

    def to_files(self, of_paths: FloatArray) -> FloatArray:
        """(F,) values of the version's files from values of all paths."""
        return of_paths[self.version.paths.path_ids]

    @cached_property
    def text_terms(self) -> tuple[LongArray, FloatArray]:
        """The report's terms that occur in files, and their weights."""
        return self.version.text.corpus.known(self.query.weights)

    @cached_property
    def hits(self) -> TextHits:
        """Postings of the report's terms."""
        return TextHits(self.version.text, self.text_terms[0])

    def weights_of_hits(self, weights: dict[str, float]) -> FloatArray:
        """(T,) another weighting of the terms of ``hits``: 0 for those that it lacks."""
        known = self.version.text.corpus.term_ids
        return np.array([weights.get(term, 0.0) for term in self.query.weights if term in known], dtype=np.float64)

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

    @cached_property
    def commit_documents(self) -> tuple[FloatArray, FloatArray]:
        """(N,) twice: BM25 of each file's joined commit messages for the whole report, and for its summary."""
        view = self.history.commits
        documents = view.documents
        terms, weights = documents.known(self.query.weights)
        summary = self.query.summary_weights
        numbers = {documents.term_ids[t]: w for t, w in summary.items() if t in documents.term_ids}
        of_summary = np.array([numbers.get(term, 0.0) for term in terms.tolist()], dtype=np.float64)
        idf = view.idf[terms]
        joined = self.history.aggregated(view, self.history.index.incidence(documents, self.all_paths))
        whole, short = joined.bm25(terms, (weights * idf, of_summary * idf), self.version.paths.present)
        return whole, short

    @cached_property
    def report_documents(self) -> FloatArray:
        """(N,) BM25 of each file's joined fixed reports."""
        view = self.history.reports
        documents = view.documents
        terms, weights = documents.known(self.query.weights)
        joined = self.history.aggregated(view, self.history.index.incidence(documents, self.all_paths))
        return joined.bm25(terms, (weights * view.idf[terms],), self.version.paths.present)[0]

    @cached_property
    def frame_files(self) -> tuple[tuple[str, int, tuple[int, ...]], ...]:
        """(class, part of the trace, path rows) of each stack frame that names files of the version, in order."""
        paths = self.version.paths
        found: dict[str, tuple[int, ...]] = {}
        frames = []
        for frame in self.query.frames:
            name = frame_name(frame)
            if name not in found:
                rows = paths.rows_of_class(frame.type) if frame.type else paths.rows_of_file(frame.path or frame.file)
                found[name] = tuple(rows)
            if found[name]:
                frames.append((name, frame.cause, found[name]))
        return tuple(frames)
