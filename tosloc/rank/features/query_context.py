"""One query for one version: what the features share, each part computed once when needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from tosloc.code import text
from tosloc.core.arrays import FloatArray, LongArray
from tosloc.git.repository import Repository
from tosloc.rank.features.named_history import NamedHistory
from tosloc.reports.traces import Frame, frame_name
from tosloc.retrieval.history import (
    HistoryAsOf,
    ReportMessages,
    aggregate_by_file,
    aggregate_by_name_term,
)
from tosloc.retrieval.query import CompoundName, Query
from tosloc.retrieval.texts import DocumentsView, Hits, bm25, known_terms
from tosloc.retrieval.version_index import VersionIndex

Rows: TypeAlias = tuple[int, ...]
"""Path rows that a name or location can mean."""

EVERYDAY: Final = frozenset(
    text.terms(
        """add app application bad behavior behaviour broken bug change click code correct crash
        error exception expect fail failure fine fix found good great happen hello help hi
        incorrect instal issue know like love make need new nice nothing now old open please
        problem program project question release report reproduce run say seem show slow software
        someone something sometimes start still stop strange support system thank thing think time
        today try update upgrade use user version want way weird well work wrong yesterday"""
    )
)
"""Words that are polite, or only say that something is wrong.

They were chosen by reading, not by any result."""
_COMMON_SHARE: Final = 0.25
"""A word that a larger share of the files has, and more than ``_MIN_FILES``, is common."""
_HALF: Final = 0.5
"""Two words distinguish files if no larger share of the files has either."""
_MIN_FILES: Final = 3
"""A word that no more files have distinguishes files, however few files there are."""


MAX_FILES_OF_NAME: Final = 3
"""A name of several words that means more files means none of them."""


class FilesOfName(NamedTuple):
    """The files that a name of several words means, in any spelling."""

    name: CompoundName
    rows: Rows
    """Their path rows."""
    share: float
    """Share of the words of their names, by IDF, that the name has; 1 for the whole name."""


@dataclass(eq=False)
class QueryContext:
    """A query, the version that is searched, and the history known when the report was opened.

    Letters in shapes: F files, N paths, T terms of the query, D documents.
    """

    query: Query
    """The report, prepared for retrieval."""
    version: VersionIndex
    """The searched version."""
    history: HistoryAsOf
    """The history that was known when the report was opened."""
    repository: Repository | None = None
    """Where the ancestry of named commits and releases is read; None if there is none."""

    @property
    def files(self) -> int:
        """F, the number of files."""
        return self.version.text.files

    @property
    def all_paths(self) -> int:
        """N, the number of paths of the version and its history."""
        return len(self.version.paths.table)

    def to_files(self, values: FloatArray) -> FloatArray:
        """Return (F,) values of the version's files from values (N,) of all paths."""
        return values[self.version.paths.path_ids]

    @cached_property
    def text_terms(self) -> tuple[LongArray, FloatArray]:
        """Numbers (T,) of the report's terms that occur in files, and their weights (T,)."""
        return known_terms(self.version.text.corpus.terms, self.query.weights)

    @cached_property
    def known_words(self) -> tuple[str, ...]:
        """(T,) ``text_terms`` as words."""
        known = self.version.text.corpus.terms
        return tuple(term for term in self.query.weights if term in known)

    @property
    def shares_words(self) -> bool:
        """Whether any term of the report occurs in a file or a path."""
        file_terms = self.version.text.corpus.terms
        path_terms = self.version.paths.table.term_ids
        return any(term in file_terms or term in path_terms for term in self.query.weights)

    @cached_property
    def common_words(self) -> frozenset[str]:
        """Everyday words, and words of the report that many files have."""
        common = set(EVERYDAY)
        for word, files in self._files_by_word.items():
            if files > self._few_files(_COMMON_SHARE):
                common.add(word)
        return frozenset(common)

    def _few_files(self, share: float) -> float:
        """Return how many files a share of them is, at least ``_MIN_FILES``."""
        return max(share * self.files, _MIN_FILES)

    @cached_property
    def _files_by_word(self) -> dict[str, int]:
        """Number of files with each word of the report, without everyday words and absent ones."""
        numbers, _ = self.text_terms
        counts = self.version.text.frequency[numbers].tolist()
        files_by_word: dict[str, int] = {}
        for word, files in zip(self.known_words, counts, strict=True):
            if files and word not in EVERYDAY:
                files_by_word[word] = files
        return files_by_word

    @property
    def distinguishes_files(self) -> bool:
        """Whether the report has anything that distinguishes files.

        This is a file of the version that it names, a word that few file names have, two words
        that at most half of the files have, or a name written as code that few files have.
        Everyday words do not count. The language of the words does not matter: of a text in
        another language only the names occur in files.
        """
        if self.mentioned_rows or self.project_frames or self.named_history.changes:
            return True
        if self._has_rare_path_word():
            return True
        half = self._few_files(_HALF)
        words = [word for word, files in self._files_by_word.items() if files <= half]
        return len(words) > 1 or self._has_rare_name()

    def _has_rare_path_word(self) -> bool:
        """Return whether a word of the report is in few file names."""
        paths = self.version.paths
        few = self._few_files(_COMMON_SHARE)
        for word in self.query.weights.keys() - EVERYDAY:
            term = paths.table.term_ids.get(word)
            if term is not None and 0 < paths.name_frequency[term] <= few:
                return True
        return False

    def _has_rare_name(self) -> bool:
        """Return whether the report writes a name as code that few files have."""
        rare = self._files_by_word.keys() - self.common_words
        if not rare.isdisjoint(self.query.compounds):
            return True
        for name, _ in self.query.names:
            if not rare.isdisjoint(text.identifier_terms(name.written)):
                return True
        return False

    @cached_property
    def hits(self) -> Hits:
        """Postings of the report's terms."""
        return Hits(self.version.text, self.text_terms[0])

    def score_files(self, formula: bm25.Formula, weights: FloatArray) -> FloatArray:
        """Return (F,) BM25 of the files' texts, from weights (T,) of the terms of ``hits``."""
        return self.version.text.to_files(self.hits.scores(formula, weights))

    @cached_property
    def _chunk_hits(self) -> Hits:
        """Postings of the report's terms among the chunks of files."""
        view = self.version.text
        chunks = int(view.corpus.chunk_starts[-1])
        return Hits(view, self.text_terms[0], view.corpus.chunk_postings, chunks)

    def best_chunk_scores(self, weights: FloatArray) -> FloatArray:
        """Return (F,) BM25 of the best chunk of each file, from weights (T,) of the terms."""
        view = self.version.text
        if not len(view.corpus):
            return np.zeros(view.files)
        scores = self._chunk_hits.scores(bm25.chunk_frequency, weights)
        return view.to_files(np.maximum.reduceat(scores, view.corpus.chunk_starts[:-1]))

    def hit_weights(self, weights: Mapping[str, float]) -> FloatArray:
        """Return (T,) other weights of the terms of ``hits``; a term without a weight has 0."""
        return np.array([weights.get(term, 0.0) for term in self.known_words], dtype=np.float64)

    @cached_property
    def messages(self) -> ReportMessages:
        """Messages of the report that are in string literals of the files."""
        return ReportMessages(self.query.message_lines, self.version.text)

    @cached_property
    def commit_similarities(self) -> FloatArray:
        """(D,) cosine of the report and each known commit message."""
        return self.history.commits.similarities(self.query.weights)

    @cached_property
    def near_commits(self) -> LongArray:
        """The 300 commit messages nearest to the report, nearest first."""
        return self.history.commits.nearest(self.commit_similarities, 300)

    @cached_property
    def report_similarities(self) -> FloatArray:
        """(D,) cosine of the report and each known fixed report."""
        return self.history.reports.similarities(self.query.weights)

    @cached_property
    def near_reports(self) -> LongArray:
        """The 200 nearest known fixed reports, nearest first."""
        return self.history.reports.nearest(self.report_similarities, 200)

    @cached_property
    def named_history(self) -> NamedHistory:
        """Earlier changes and releases that the report names."""
        return NamedHistory(self)

    def aggregated_bm25(
        self, view: DocumentsView, weights: Mapping[str, float], *, by_name: bool = False
    ) -> FloatArray:
        """Return BM25 of known documents of the history, joined to one text for each file (N,).

        With ``by_name`` there is one text for each term of file names, and one value for each term
        of paths.
        """
        aggregate = aggregate_by_name_term if by_name else aggregate_by_file
        aggregated = view.remember(aggregate, self.version.paths)
        terms, term_weights = view.known_terms(weights)
        return aggregated.bm25(terms, term_weights)

    @cached_property
    def frame_files(self) -> tuple[tuple[str, int, Rows], ...]:
        """(class, part of the trace, path rows) of each stack frame that names files, in order."""
        frames = []
        for frame in self.query.frames:
            if frame.type:
                rows = self.version.paths.find_by_class(frame.type)
                if not rows and frame.path:  # the namespaces of .NET need not be its folders
                    rows = self.version.paths.find_by_location(frame.path.replace("\\", "/"))
            else:
                rows = self.version.paths.find_by_frame_path(frame.path or frame.file)
            if rows:
                frames.append((frame_name(frame), frame.cause, tuple(rows)))
        return tuple(frames)

    @cached_property
    def mentioned_rows(self) -> tuple[list[int], ...]:
        """Path rows of each file name that the report writes, in the order of the report.

        A name may be that of several files.
        """
        mentioned = []
        for word in self.query.mentions:
            if self._is_mention(word):
                rows = self.version.paths.find_by_stem(word)
                if rows:
                    mentioned.append(rows)
        return tuple(mentioned)

    @staticmethod
    def _is_mention(word: str) -> bool:
        """Return whether a word may be the name of a file, because it looks like no plain word."""
        return word[:1].isupper() or "_" in word

    def frame_rows(self, frame: Frame) -> Rows:
        """Return the path rows of the project's own files that a frame can mean."""
        return tuple(self.version.paths.find_by_location(frame.place, frame.qualified))

    @cached_property
    def files_by_name(self) -> tuple[FilesOfName, ...]:
        """Few files that names of several words mean in any spelling, in the order of the names.

        ``new-window``, ``new_window`` and ``newWindow`` mean ``cmd-new-window.c``: the words of the
        name follow each other in the name of the file. Of several such files it means those whose
        names have the fewest other words, by IDF. Names that ``mentioned_rows`` has are left out.
        """
        files = []
        for name in self.query.compound_names:
            if self._is_mention(name.written) and self.version.paths.find_by_stem(name.written):
                continue
            shares = self.version.paths.find_by_words(name.words)
            share = max(shares.values(), default=0.0)
            rows = tuple(row for row in shares if shares[row] == share)
            if 0 < len(rows) <= MAX_FILES_OF_NAME:
                files.append(FilesOfName(name, rows, share))
        return tuple(files)

    @cached_property
    def named_files(self) -> list[int]:
        """Files that the report names: by path, link or name, or in a frame unless tests.

        A name of several words counts only if it is the whole name of the file.
        """
        are_tests = self.version.paths.table.test
        rows: set[int] = set()
        for place in (*self.query.locations.links, *self.query.locations.paths):
            rows.update(self.frame_rows(place))
        in_frames = [files for trace in self.project_frames for files in trace]
        by_name = [item.rows for item in self.files_by_name if item.share == 1]
        for files in (*in_frames, *by_name):
            rows.update(row for row in files if not are_tests[row])
        is_named = np.isin(self.version.paths.path_ids, sorted(rows))
        return [int(file) for file in np.flatnonzero(is_named)]

    @cached_property
    def project_frames(self) -> tuple[tuple[Rows, ...], ...]:
        """Path rows of the project's frames of each trace, each file once, innermost first."""
        traces = []
        for trace in self.query.locations.traces:
            rows = map(self.frame_rows, trace)
            frames = tuple(dict.fromkeys(filter(None, rows)))
            if frames:
                traces.append(frames)
        return tuple(traces)
