"""Why a file stands where it stands, in words that people can check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import numpy as np

from tosloc.analysis import text
from tosloc.index import bm25
from tosloc.index.context import QueryContext
from tosloc.index.documents import DocumentsView
from tosloc.index.query import frame_name
from tosloc.records import FloatArray, Reason
from tosloc.retrieval import features

SHOWN = 4
"""Reasons a file, at most."""
WORDS = 6
"""Words a reason, at most."""


class Explainer:
    """Reasons for the files of one answered query."""

    def __init__(self, context: QueryContext, columns: Mapping[str, FloatArray], weights: Mapping[str, float]) -> None:
        self.context, self.columns, self.weights = context, columns, weights
        self._surface: dict[str, str] = {}
        for source in (context.query.report.summary, context.query.prose):
            for word in text.words(source):
                for term in text.identifier_terms(word):
                    self._surface.setdefault(term, word)
        self._leaders: list[int] | None = None

    def why(self, file: int) -> tuple[Reason, ...]:
        """The features that lift the file most, largest first, features that say the same thing joined."""
        groups: dict[Callable[[Explainer, int], str], tuple[str, float]] = {}
        for name, weight in self.weights.items():
            share = weight * float(self.columns[name][file])
            if share <= 0 or name not in SPEAKERS:
                continue
            speaker = SPEAKERS[name]
            first, total = groups.get(speaker, (name, 0.0))
            groups[speaker] = (first, total + share)
        largest = sorted(groups.items(), key=lambda item: (-item[1][1], item[1][0]))[:SHOWN]
        return tuple(Reason(name, round(share, 4), speaker(self, file)) for speaker, (name, share) in largest)

    def as_answered(self, asked: str, found: str) -> str:
        """A term of the report as it was written, and the term of a file that answers it, where that is another."""
        return self._surface.get(asked, asked) + ("" if asked == found else f" ~ {found}")

    # What each group of features says

    def words(self, file: int) -> str:
        """The report's words that the file's text shares, rarest and most frequent first."""
        view = self.context.version.text
        row = int(view.rows[file])
        if row < 0:
            return "text not readable"
        table = view.corpus.table
        start, end = int(table.starts[row]), int(table.starts[row + 1])
        held = {int(term): place for place, term in enumerate(table.terms[start:end].tolist(), start=start)}
        terms, weights = self.context.text_terms
        common = [
            (int(term), float(weight))
            for term, weight in zip(terms.tolist(), weights.tolist(), strict=True)
            if term in held
        ]
        if not common:
            return "words"
        places = np.array([held[term] for term, _ in common])
        rows = np.full(len(places), row, dtype=np.int32)
        gain = bm25.whole(view, table.counts[places], rows) * view.idf(np.array([term for term, _ in common]))
        gain = gain * np.array([weight for _, weight in common])
        best = [common[place][0] for place in np.argsort(-gain, kind="stable").tolist()]
        return "words " + self._as_written([table.vocabulary[term] for term in best])

    def _as_written(self, terms: list[str]) -> str:
        return ", ".join(list(dict.fromkeys(self._surface.get(term, term) for term in terms))[:WORDS])

    def path_words(self, file: int) -> str:
        """The report's words that the path shares."""
        table, row = self.context.version.paths.table, int(self.context.version.paths.path_ids[file])
        terms = table.terms[int(table.starts[row]) : int(table.starts[row + 1])].tolist()
        known = self.context.query.weights
        held = [table.vocabulary[term] for term in terms if table.vocabulary[term] in known]
        return "path words " + self._as_written(sorted(held, key=lambda term: (-known[term], term)))

    def named(self, file: int) -> str:
        """That the report writes the file's name."""
        paths = self.context.version.paths
        return f"named in the report: {paths.table.stems[int(paths.path_ids[file])]}"

    def frame(self, file: int) -> str:
        """The first stack frame in the file."""
        row = int(self.context.version.paths.path_ids[file])
        for name, _, rows in self.context.frame_files:
            if row in rows:
                for frame in self.context.query.frames:
                    if frame_name(frame) == name:
                        line = f":{frame.line}" if frame.line else ""
                        return f"stack frame {_short(name)}{f'.{frame.method}' if frame.method else ''}{line}"
        return "stack trace"

    def _nearest(self, view: DocumentsView, similarities: FloatArray, file: int) -> int | None:
        documents = view.documents
        row = int(self.context.version.paths.path_ids[file])
        holders = documents.pair_document[documents.files == row]
        holders = holders[similarities[holders] > 0]
        return int(holders[np.argmax(similarities[holders])]) if len(holders) else None

    def _document(self, view: DocumentsView, number: int) -> str:
        documents = view.documents
        known = self.context.query.weights
        terms = documents.terms[int(documents.starts[number]) : int(documents.starts[number + 1])].tolist()
        shared = sorted((t for t in terms if documents.vocabulary[t] in known), key=lambda t: (-view.idf[t], t))
        day = datetime.fromtimestamp(int(documents.times[number]), UTC).date().isoformat()
        words = self._as_written([documents.vocabulary[term] for term in shared])
        return f"{day}: {words}" if words else day

    def reports(self, file: int) -> str:
        """The nearest earlier report that was fixed in the file, else the nearest commit message."""
        view = self.context.history.reports
        number = self._nearest(view, self.context.report_similarities, file)
        if number is None:
            return self.commits(file)
        identity = view.documents.ids[number]
        kind = "earlier fix" if identity == view.documents.commit_ids[number] else "earlier report"
        return f"{kind} {identity[:12]}, {self._document(view, number)}"

    def commits(self, file: int) -> str:
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

    def similar_name(self, file: int) -> str:
        """That commits to files of similar names speak like the report."""
        return "commits like the report in files with similar names"

    def active(self, file: int) -> str:
        """When the file last changed."""
        moment, row = self.context.history, int(self.context.version.paths.path_ids[file])
        days = float(moment.last_touch(moment.commits, self.context.all_paths)[row])
        return f"changed {days:.0f} days before the report" if np.isfinite(days) else "recent changes"

    def partner(self, file: int) -> str:
        """The leading file that changes together with this one."""
        documents = self.context.history.commits.documents
        path_ids = self.context.version.paths.path_ids
        row = int(path_ids[file])
        together = documents.pair_document[documents.files == row]
        together = together[self.context.history.commits.known[together]]
        for leader in self.leaders():
            other = int(path_ids[leader])
            if other != row and np.isin(documents.pair_document[documents.files == other], together).any():
                return f"changes together with {self.context.version.text.snapshot.paths[leader].rpartition('/')[2]}"
        return "changes together with leading files"

    def test_counterpart(self, file: int) -> str:
        """That its test, or what it tests, leads."""
        return "its test, or what it tests, leads"

    def size(self, file: int) -> str:
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
        row = int(self.context.version.paths.path_ids[file])
        times = int(self.context.history.fixes(self.context.all_paths)[row])
        return "fixed once before" if times == 1 else f"fixed {times} times before"

    def leaders(self) -> list[int]:
        """The first files of the first guess, in order."""
        if self._leaders is None:
            guess = features.prior(self.columns)
            self._leaders = np.argsort(-guess, kind="stable")[: features.CANDIDATE_SEEDS].tolist()
        return self._leaders


def _short(name: str) -> str:
    """A class without its package, a file without its folders: the path stands above.

    >>> _short("org.x.Outer$Inner"), _short("src/a/util.c")
    ('Outer$Inner', 'util.c')
    """
    return name.rpartition("/")[2] if "/" in name else name.rpartition(".")[2]


SPEAKERS: Mapping[str, Callable[[Explainer, int], str]] = {
    "text": Explainer.words,
    "bm25f": Explainer.words,
    "code": Explainer.words,
    "methods": Explainer.words,
    "chunk": Explainer.words,
    "summary": Explainer.words,
    "lead": Explainer.words,
    "coverage": Explainer.words,
    "identifiers": Explainer.words,
    "path": Explainer.path_words,
    "folders": Explainer.path_words,
    "name_coverage": Explainer.path_words,
    "mention": Explainer.named,
    "mention_order": Explainer.named,
    "trace": Explainer.frame,
    "rare_frame": Explainer.frame,
    "cause_frame": Explainer.frame,
    "file_documents": Explainer.reports,
    "near_reports": Explainer.reports,
    "commit_summary": Explainer.commits,
    "near_commits": Explainer.commits,
    "near_package": Explainer.package,
    "folder_reports": Explainer.package,
    "folder_share": Explainer.package,
    "name_documents": Explainer.similar_name,
    "length": Explainer.size,
    "recency": Explainer.active,
    "activity": Explainer.active,
    "year": Explainer.active,
    "co_change": Explainer.partner,
    "twin": Explainer.test_counterpart,
    "history": Explainer.fixes,
    "complexity": Explainer.complexity,
}
