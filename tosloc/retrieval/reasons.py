"""What each feature says of a file that it lifts, in words that people can check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

import numpy as np

from tosloc.analysis import text
from tosloc.index import bm25
from tosloc.index.context import QueryContext
from tosloc.index.documents import DocumentsView
from tosloc.index.query import frame_name
from tosloc.records import FloatArray

LEADING_FILES = 20
"""How many files of the first guess lend their score to test counterparts and to files that change with them."""
WORDS_SHOWN = 6
"""Words a reason, at most."""
SIMILAR_NAMES = "commits like the report in files with similar names"
TEST_COUNTERPART_LEADS = "its test, or what it tests, leads"


class ReasonTexts:
    """What features say of the files of one answered query; ``leading`` gives the first files of the first guess."""

    def __init__(self, context: QueryContext, leading: Callable[[], Sequence[int]]) -> None:
        self.context, self.leading = context, leading
        self._as_written: dict[str, str] = {}
        for source in (context.query.report.summary, context.query.prose):
            for word in text.words(source):
                for term in text.identifier_terms(word):
                    self._as_written.setdefault(term, word)

    def as_written(self, term: str) -> str:
        """A term of the report as it was written there."""
        return self._as_written.get(term, term)

    def listed(self, terms: Iterable[str]) -> str:
        """The first terms, each as it was written in the report."""
        return ", ".join(list(dict.fromkeys(self.as_written(term) for term in terms))[:WORDS_SHOWN])

    def _path(self, file: int) -> int:
        """Number of the file's path."""
        return int(self.context.version.paths.path_ids[file])

    def words(self, file: int) -> str:
        """The report's words that the file's text shares, rarest and most frequent first."""
        view = self.context.version.text
        row = int(view.rows[file])
        if row < 0:
            return "text not readable"
        table = view.corpus.table
        start, end = int(table.starts[row]), int(table.starts[row + 1])
        in_file = table.terms[start:end]
        terms, weights = self.context.text_terms
        shared = np.isin(terms, in_file)
        terms, weights = terms[shared], weights[shared]
        if not len(terms):
            return "words"
        order = np.argsort(in_file)
        positions = start + order[np.searchsorted(in_file, terms, sorter=order)]
        rows = np.full(len(terms), row, dtype=np.int32)
        gain = bm25.whole(view, table.counts[positions], rows) * view.idf(terms) * weights
        best = terms[np.argsort(-gain, kind="stable")].tolist()
        return "words " + self.listed([table.vocabulary[term] for term in best])

    def path_words(self, file: int) -> str:
        """The report's words that the path shares."""
        table, row = self.context.version.paths.table, self._path(file)
        terms = table.terms[int(table.starts[row]) : int(table.starts[row + 1])].tolist()
        known = self.context.query.weights
        held = [table.vocabulary[term] for term in terms if table.vocabulary[term] in known]
        return "path words " + self.listed(sorted(held, key=lambda term: (-known[term], term)))

    def named(self, file: int) -> str:
        """That the report writes the file's name."""
        return f"named in the report: {self.context.version.paths.table.stems[self._path(file)]}"

    def frame(self, file: int) -> str:
        """The first stack frame in the file."""
        row = self._path(file)
        for name, _, rows in self.context.frame_files:
            if row in rows:
                for frame in self.context.query.frames:
                    if frame_name(frame) == name:
                        line = f":{frame.line}" if frame.line else ""
                        return f"stack frame {_short(name)}{f'.{frame.method}' if frame.method else ''}{line}"
        return "stack trace"

    def _nearest(self, view: DocumentsView, similarities: FloatArray, file: int) -> int | None:
        documents = view.documents
        row = self._path(file)
        holders = documents.pair_document[documents.files == row]
        holders = holders[similarities[holders] > 0]
        return int(holders[np.argmax(similarities[holders])]) if len(holders) else None

    def _document(self, view: DocumentsView, number: int) -> str:
        documents = view.documents
        known = self.context.query.weights
        terms = documents.terms[int(documents.starts[number]) : int(documents.starts[number + 1])].tolist()
        shared = sorted((t for t in terms if documents.vocabulary[t] in known), key=lambda t: (-view.idf[t], t))
        day = datetime.fromtimestamp(int(documents.times[number]), UTC).date().isoformat()
        words = self.listed([documents.vocabulary[term] for term in shared])
        return f"{day}: {words}" if words else day

    def nearest_report(self, file: int) -> str:
        """The nearest earlier report that was fixed in the file, else the nearest commit message."""
        view = self.context.history.reports
        number = self._nearest(view, self.context.report_similarities, file)
        if number is None:
            return self.nearest_commit(file)
        identity = view.documents.ids[number]
        kind = "earlier fix" if identity == view.documents.commit_ids[number] else "earlier report"
        return f"{kind} {identity[:12]}, {self._document(view, number)}"

    def nearest_commit(self, file: int) -> str:
        """The nearest earlier commit message of the file."""
        view = self.context.history.commits
        number = self._nearest(view, self.context.commit_similarities, file)
        if number is None:
            return "earlier commits of the file"
        return f"commit {view.documents.ids[number][:12]}, {self._document(view, number)}"

    def package(self, file: int) -> str:
        """The folder whose commits speak like the report."""
        folder = self.context.version.text.snapshot.paths[file].rpartition("/")[0].rpartition("/")[2]
        return f"commits like the report in its folder {folder}/"

    def last_change(self, file: int) -> str:
        """When the file last changed."""
        history, row = self.context.history, self._path(file)
        days = float(history.last_touch(history.commits, self.context.all_paths)[row])
        return f"changed {days:.0f} days before the report" if np.isfinite(days) else "recent changes"

    def changed_together(self, file: int) -> str:
        """The leading file that changes together with this one."""
        documents = self.context.history.commits.documents
        path_ids = self.context.version.paths.path_ids
        row = int(path_ids[file])
        together = documents.pair_document[documents.files == row]
        together = together[self.context.history.commits.known[together]]
        for leader in self.leading():
            other = int(path_ids[leader])
            if other != row and np.isin(documents.pair_document[documents.files == other], together).any():
                return f"changes together with {self.context.version.text.snapshot.paths[leader].rpartition('/')[2]}"
        return "changes together with leading files"

    def lines(self, file: int) -> str:
        """Its lines."""
        view = self.context.version.text
        row = int(view.rows[file])
        return f"{int(view.corpus.table.lines[row]):,} lines" if row >= 0 else "length"

    def complexity(self, file: int) -> str:
        """Its cyclomatic complexity."""
        view = self.context.version.text
        row = int(view.rows[file])
        return f"cyclomatic complexity {int(view.corpus.table.complexity[row])}" if row >= 0 else "complexity"

    def fixes(self, file: int) -> str:
        """How often it was fixed."""
        row = self._path(file)
        times = int(self.context.history.fixes(self.context.all_paths)[row])
        return "fixed once before" if times == 1 else f"fixed {times} times before"


def _short(name: str) -> str:
    """A class without its package, a file without its folders: the path stands above.

    >>> _short("org.x.Outer$Inner"), _short("src/a/util.c")
    ('Outer$Inner', 'util.c')
    """
    return name.rpartition("/")[2] if "/" in name else name.rpartition(".")[2]


ReasonText: TypeAlias = str | Callable[[ReasonTexts, int], str]
"""The same sentence for every file, or one made for a file."""
