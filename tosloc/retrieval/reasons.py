"""What can be said for a file, each thing with what people need to check it: a frame, a name, a commit, words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

import numpy as np

from tosloc.analysis import text
from tosloc.data.fixes import issue_named
from tosloc.index import bm25
from tosloc.index.context import QueryContext
from tosloc.index.documents import DocumentsView
from tosloc.index.query import frame_name
from tosloc.records import FloatArray, Reason

WORDS_SHOWN: Final = 5
"""Words a reason, at most."""
COMMON: Final = 0.1
"""Words that stand in a larger part of the files tell none from another, and are named only where there is nothing
else."""
NAMESAKES: Final = 5
"""A name that more files have says nothing of one of them."""
LEAST_SIMILARITY: Final = 0.1
"""Cosine between the report and a commit message below which they share a word by chance."""
FIX_BEFORE_COMMIT: Final = 1.25
"""A fix is told before a commit that is at most so many times nearer to the report."""
SUBJECT: Final = 100
"""Letters of a commit's subject that are shown."""
_PATH: Final = re.compile(r"(?<![\w$])(?:[\w.\-$]+[/\\])*[\w.\-$]*[\w\-$]\.[A-Za-z][A-Za-z+]{0,7}(?![\w(])")
_MODULE: Final = re.compile(r"(?<![\w./\\])[a-z_]\w*(?:\.[A-Za-z_]\w*){1,8}")


@dataclass(frozen=True)
class Sources:
    """What reasons may read of the repository beside the facts; by default nothing."""

    subjects: Callable[[Sequence[str]], Mapping[str, str]] = field(default=lambda commits: {})
    """Commit ids -> the first lines of their messages, of those that are there."""
    commit_url: Callable[[str], str | None] = field(default=lambda commit: None)
    """Where a commit can be read."""


@dataclass(frozen=True, slots=True)
class PastChange:
    """An earlier commit, or fixed report, that touched a file and speaks like the report."""

    commit: str
    bug: str | None
    """The fixed report, where it is known by a number of its own."""
    at: int
    """Seconds since 1970."""
    fix: bool
    similarity: float
    words: tuple[str, ...]
    """Terms that it shares with the report, rarest first."""


class ReasonsOf:
    """What can be said of the files of one answered query; files are named by their number in the version."""

    def __init__(self, context: QueryContext) -> None:
        self.context = context
        self._written: dict[str, str] = {}
        for source in (context.query.report.summary, context.query.prose):
            for word in text.words(source):
                for part in (*text.split_identifier(word), word):
                    for term in text.identifier_terms(part)[-1:]:
                        self._written.setdefault(term, part)

    def as_written(self, term: str) -> str:
        """A term of the report as it was written there."""
        return self._written.get(term, term)

    def listed(self, terms: Sequence[str]) -> str:
        """The first terms, each as it was written in the report, without parts of those before."""
        shown: list[str] = []
        for word in map(self.as_written, terms):
            if not any(word.lower() in other.lower() for other in shown):
                shown.append(word)
        return ", ".join(shown[:WORDS_SHOWN])

    def _path(self, file: int) -> int:
        """Number of the file's path."""
        return int(self.context.version.paths.path_ids[file])

    # Frames and names

    def frame(self, file: int) -> Reason | None:
        """The first stack frame in the file; its line is that of the report's version."""
        row = self._path(file)
        for name, _, rows in self.context.frame_files:
            if row in rows:
                frame = next(frame for frame in self.context.query.frames if frame_name(frame) == name)
                where = frame.type.rpartition(".")[2] or PurePosixPath(frame.path or frame.file).name
                place = f"{where}{f'.{frame.method}' if frame.method else ''}"
                line = f", line {frame.line} in the report's version" if frame.line else ""
                lines = (frame.line, frame.line) if frame.line else None
                return Reason("frame", f"stack frame {place}{line}{_one_of(len(rows))}", lines=lines)
        return None

    def name(self, file: int) -> Reason | None:
        """That the report writes the file's path, its module, or its name."""
        row = self._path(file)
        spelled = self._spelled.get(row)
        if spelled is not None:
            return Reason("name", f"the report names {spelled}")
        stem = self.context.version.paths.table.stems[row]
        if stem not in self._mentions or not (stem[:1].isupper() or "_" in stem):
            return None
        same = len(self.context.version.paths.rows_of_stem(stem))
        if same > NAMESAKES:
            return None
        if self.context.version.paths.table.compound_stem[row]:
            return Reason("name", f"the report names {stem}{_one_of(same)}")
        return Reason("name", f"the report says {stem}, the file's name{_one_of(same)}")

    @cached_property
    def _mentions(self) -> frozenset[str]:
        return frozenset(self.context.query.mentions)

    @cached_property
    def _spelled(self) -> dict[int, str]:
        """Path row -> how the report spells the file: as a path or a name with its suffix, or as a dotted module."""
        report = self.context.query.report
        paths = self.context.version.paths
        found: dict[int, str] = {}
        for source in (report.summary, self.context.query.prose):
            for spelled in dict.fromkeys(_PATH.findall(source)):
                rows = paths.rows_of_file(spelled)
                if len(rows) == 1:
                    found.setdefault(rows[0], spelled)
            for spelled in dict.fromkeys(_MODULE.findall(source)):
                if (row := self._module(spelled)) is not None:
                    found.setdefault(row, spelled)
        return found

    def _module(self, dotted: str) -> int | None:
        """Row of the one file that a dotted name, or the beginning of one, means, of two folders or names at least."""
        paths = self.context.version.paths
        names = dotted.split(".")
        for length in range(len(names), 1, -1):
            wanted = "/" + "/".join(names[:length])
            for ending, stem in ((wanted, names[length - 1]), (f"{wanted}/__init__", "__init__")):
                rows = [
                    row
                    for row in paths.rows_of_stem(stem)
                    if f"/{paths.table.paths[row]}".rpartition(".")[0].endswith(ending)
                ]
                if len(rows) == 1:
                    return rows[0]
        return None

    # Earlier changes

    def past(self, file: int) -> list[PastChange]:
        """Earlier fixes and commits of the file that speak like the report, the one to tell first first."""
        context, row = self.context, self._path(file)
        fixes = (context.history.reports, context.report_similarities, True)
        commits = (context.history.commits, context.commit_similarities, False)
        found: dict[str, PastChange] = {}
        for view, similarities, fix in (fixes, commits):
            documents = view.documents
            holders = documents.pair_document[documents.files == row]
            near = holders[np.argsort(-similarities[holders], kind="stable")][:3]
            for number in near.tolist():
                change = self._change(view, number, float(similarities[number]), fix)
                if change.similarity >= LEAST_SIMILARITY:
                    found.setdefault(change.commit, change)
        return sorted(found.values(), key=lambda one: -one.similarity * (FIX_BEFORE_COMMIT if one.fix else 1.0))

    def _change(self, view: DocumentsView, number: int, similarity: float, fix: bool) -> PastChange:
        documents = view.documents
        known = self.context.query.weights
        terms = documents.terms[int(documents.starts[number]) : int(documents.starts[number + 1])].tolist()
        shared = sorted((t for t in terms if documents.vocabulary[t] in known), key=lambda t: (-view.idf[t], t))
        commit, identity = documents.commit_ids[number], documents.ids[number]
        return PastChange(
            commit,
            None if identity == commit or not fix else identity.partition("#")[0],
            int(documents.times[number]),
            fix,
            similarity,
            tuple(documents.vocabulary[term] for term in shared),
        )

    def told(self, change: PastChange, subject: str | None, url: str | None = None) -> Reason:
        """An earlier change in words: which, when, and what it says of itself or shares with the report."""
        day = datetime.fromtimestamp(change.at, UTC).date().isoformat()
        bug = f" of bug {change.bug}" if change.bug else ""
        kind = "earlier fix" if change.fix else "commit"
        head = f"{kind} {change.commit[:10]}{bug}, {day}"
        issue = change.bug or (None if subject is None else issue_named(subject))
        shared = self.listed(change.words)
        if subject:
            terms = frozenset(text.terms(subject))
            shared = "" if terms & frozenset(change.words) else shared
            head = f"{head}: {_cut(subject)}"
        tail = f"; it says {shared}" if shared else ""
        return Reason("fix" if change.fix else "commit", head + tail, change.commit, issue, url=url)

    # Words

    def words(self, file: int) -> tuple[list[str], bool]:
        """Terms that the report and the file's text share, those that tell most first; whether they are rare enough."""
        view = self.context.version.text
        row = int(view.rows[file])
        if row < 0:
            return [], False
        terms, weights = self.context.text_terms
        shared, counts = view.corpus.counts_in(row, terms)
        terms, weights = terms[shared], weights[shared]
        if not len(terms):
            return [], False
        rows = np.full(len(terms), row, dtype=np.int32)
        idf = view.idf(terms)
        gain: FloatArray = bm25.whole(view, counts, rows) * idf * weights
        rare = idf >= np.log(1.0 / COMMON)
        chosen = np.flatnonzero(rare) if rare.any() else np.arange(len(terms))
        best = terms[chosen[np.argsort(-gain[chosen], kind="stable")]].tolist()
        return [view.corpus.vocabulary[term] for term in best], bool(rare.any())

    def path_words(self, file: int) -> list[str]:
        """The report's words that the path shares, heaviest first."""
        table, row = self.context.version.paths.table, self._path(file)
        terms = table.terms[int(table.starts[row]) : int(table.starts[row + 1])].tolist()
        known = self.context.query.weights
        held = [table.vocabulary[term] for term in terms if table.vocabulary[term] in known]
        return sorted(held, key=lambda term: (-known[term], term))

    # Related files

    def counterpart(self, file: int, leading: Sequence[int]) -> Reason | None:
        """The file among the ``leading`` ones that this one tests, or that tests this one."""
        table = self.context.version.paths.table
        paths = self.context.version.text.snapshot.paths
        row = self._path(file)
        for place, other in enumerate(leading, start=1):
            there = self._path(other)
            if other != file and table.counterpart_group[there] == table.counterpart_group[row]:
                if table.test[there] == table.test[row]:
                    continue
                says = "its test" if table.test[there] else "what it tests,"
                return Reason("test", f"{says} {paths[other]} is number {place} of all files")
        return None


def _one_of(files: int) -> str:
    return f" (one of {files} files so called)" if files > 1 else ""


def _cut(subject: str) -> str:
    """A commit's subject, no longer than SUBJECT.

    >>> _cut("Fix " + "x" * 200)[-4:]
    'xx …'
    """
    return subject if len(subject) <= SUBJECT else f"{subject[: SUBJECT - 2].rstrip()} …"
