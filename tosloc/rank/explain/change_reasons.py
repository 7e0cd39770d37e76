"""Reasons from the history: earlier changes that are similar to the report or named by it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from tosloc.code import text
from tosloc.core.answers import Reason
from tosloc.core.arrays import FloatArray, LongArray
from tosloc.git.fixes import first_issue, is_fix_message
from tosloc.rank.explain.lookups import RepositoryLookups
from tosloc.rank.explain.wording import NOT_WRITTEN, ReportSpelling, shorten
from tosloc.rank.features.query_context import QueryContext
from tosloc.rank.features.word_rarity import EVERYDAY
from tosloc.retrieval.texts import DocumentsView

MIN_SIMILARITY: Final = 0.15
"""Smallest cosine similarity of a report and a commit message whose shared words are no chance."""
MIN_SIMILARITY_ONE_WORD: Final = 0.3
"""Smallest cosine similarity at which one shared word is enough."""
MIN_SHARED_IDF: Final = 8.0
"""Smallest summed IDF of the words that a report and a commit share, if there are several.

The IDF of words of the summary and of identifiers counts twice.
"""
FIX_FACTOR: Final = 1.25
"""Factor of a fix's similarity when fixes and other commits are ordered."""
MAX_CHANGES_OF_FILE: Final = 3
"""Number of a file's fixes, and of its commits, that are examined: the most similar ones."""
MAX_CHANGES_OF_PROJECT: Final = 10
"""Number of the project's fixes, and of its commits, that are examined."""
MAX_RANGE_SHARE: Final = 0.25
"""Largest share of files changed between two releases for which these changes are a reason."""
MIN_RANGE_FILES: Final = 20
"""Number of files whose change between two releases is always a reason, whatever their share."""


@dataclass(frozen=True, slots=True)
class PastChange:
    """An earlier commit, or fixed report, that touched a file and is similar to the report."""

    commit: str
    bug: str | None
    """Number of the fixed report; None if no report is known, or it has no number of its own."""
    at: int
    """Time of the change, in seconds since 1970."""
    fix: bool
    """Whether the change is a fixed report."""
    similarity: float
    """Cosine similarity to the report."""
    words: tuple[str, ...]
    """Terms that the change shares with the report, rarest first."""
    rows: tuple[int, ...]
    """Path rows of the files that the change touched."""


class ChangeReasons:
    """Earlier changes as reasons for the files of one answered query.

    A file is given by its number in the version.
    """

    def __init__(self, context: QueryContext, spelling: ReportSpelling) -> None:
        self._context = context
        self._paths = context.version.paths
        self._spelling = spelling

    def _row(self, file: int) -> int:
        """Return the path row of a file."""
        return int(self._paths.path_ids[file])

    def past(self, file: int | None = None) -> list[PastChange]:
        """Return earlier fixes and commits that are similar to the report, the best first.

        They touched the file, or any file of the project if ``file`` is None.
        """
        context = self._context
        history = context.history
        changes: dict[str, PastChange] = {}
        for change in self._similar_documents(
            history.reports, context.similar_documents.report_similarities, file, is_fix=True
        ):
            changes.setdefault(change.commit, change)
        for change in self._similar_documents(
            history.commits, context.similar_documents.commit_similarities, file, is_fix=False
        ):
            changes.setdefault(change.commit, change)

        def order(change: PastChange) -> float:
            return -change.similarity * (FIX_FACTOR if change.fix else 1.0)

        return sorted(changes.values(), key=order)

    def _similar_documents(
        self, view: DocumentsView, similarities: FloatArray, file: int | None, *, is_fix: bool
    ) -> Iterator[PastChange]:
        """Yield the most similar documents about a file, or about any file if it is None."""
        if file is None:
            numbers: LongArray = np.arange(len(similarities))
            most = MAX_CHANGES_OF_PROJECT
        else:
            numbers = view.documents.find_by_file(self._row(file))
            most = MAX_CHANGES_OF_FILE
        near = numbers[similarities[numbers] >= MIN_SIMILARITY]
        nearest_first = near[np.argsort(-similarities[near], kind="stable")]
        for number in nearest_first[:most].tolist():
            change = self._past_change(view, number, float(similarities[number]), is_fix)
            if change is not None:
                yield change

    def _past_change(
        self, view: DocumentsView, number: int, similarity: float, is_fix: bool
    ) -> PastChange | None:
        """Return a document as a past change; None if its shared words may be chance."""
        documents = view.documents
        start, end = documents.starts[number : number + 2].tolist()
        weights: dict[str, float] = {}
        for term in documents.terms[start:end].tolist():
            word = documents.vocabulary[term]
            if word in self._spelling.by_term and word not in EVERYDAY:
                factor = 2.0 if word in self._spelling.subject_terms else 1.0
                weights[word] = float(view.idf[term]) * factor
        shared = sorted(weights, key=lambda term: (-weights[term], term))
        shares_several = len(shared) > 1 and sum(weights.values()) >= MIN_SHARED_IDF
        shares_subject = bool(self._spelling.subject_terms.intersection(shared))
        is_near = similarity >= MIN_SIMILARITY_ONE_WORD
        if not shares_several and not (is_near and shares_subject):
            return None
        commit = documents.commit_ids[number]
        identity = documents.ids[number]
        # A report that was mined from commits alone is called by the beginning of its commit's id,
        # which is no number of a bug.
        is_commit_id = len(identity) > 6 and commit.startswith(identity)
        bug = identity.partition("#")[0] if is_fix and not is_commit_id else None
        first, last = documents.file_starts[number : number + 2].tolist()
        rows = tuple(documents.files[first:last].tolist())
        at = int(documents.times[number])
        return PastChange(commit, bug, at, is_fix, similarity, tuple(shared), rows)

    def describe_change(self, change: PastChange, lookups: RepositoryLookups) -> Reason:
        """Return an earlier change as a reason, with its commit, date, subject and shared words.

        The reason calls it a fix if a fixed report is known, or if its subject says so.
        """
        subject = lookups.subject(change.commit)
        is_fix = change.fix and (
            subject is None or change.bug is not None or is_fix_message(subject)
        )
        label = "Similar fix" if is_fix else "Similar commit"
        of_bug = f" of bug {change.bug}" if change.bug else ""
        date = lookups.committed(change.commit, change.at).date()
        sentence = f"{label} {change.commit[:10]}{of_bug} ({date})"
        shared = self._spelling.join_words(change.words)
        if subject:
            sentence += f": {shorten(subject)}"
            if change.words[0] in text.terms(NOT_WRITTEN.sub(" ", subject)):
                # The subject already shows the shared words.
                shared = ""
        if shared:
            sentence += f"; shares the words {shared}"
        issue = change.bug
        if not issue and subject is not None:
            issue = first_issue(subject)
        return Reason(
            "fix" if is_fix else "commit",
            sentence,
            change.commit,
            issue or None,
            url=lookups.commit_url(change.commit),
        )

    def named_change(self, file: int, lookups: RepositoryLookups) -> Reason | None:
        """Return the reason that the report blames or names a change of the file; None if not."""
        row = self._row(file)
        named = self._context.named_history
        for change in named.changes:
            if row not in change.rows:
                continue
            commit, at, verb = change.commit, change.at, "names"
            blamed = named.find_blamed(change)
            if blamed is not None and row in named.blamed_rows:
                verb = "blames"
                if change.commit not in blamed.brought:
                    commit, at = blamed.commit, blamed.at
            subject = lookups.subject(commit)
            title = f": {shorten(subject)}" if subject else ""
            date = lookups.committed(commit, at).date()
            return Reason(
                "change",
                f"Changed by {change.written}, which the report {verb} ({date}){title}",
                commit,
                change.name or None,
                url=lookups.commit_url(commit),
            )
        return None

    @cached_property
    def _range_is_narrow(self) -> bool:
        """Whether few of the version's files changed between the ends that the report names.

        Ends are commits in which something works or fails.
        """
        weights = self._context.to_files(self._context.named_history.range_weights)
        most = max(MAX_RANGE_SHARE * len(weights), MIN_RANGE_FILES)
        return int((weights > 0).sum()) <= most

    def changed_in_range(self, file: int, lookups: RepositoryLookups) -> Reason | None:
        """Return the reason that the file changed between the good and bad ends; None if not.

        The reason cites the commit that is most similar to the report. There is none if the report
        blames a commit, because then no other one broke it.
        """
        named = self._context.named_history
        if not named.range or named.blamed or not self._range_is_narrow:
            return None
        bounds = named.bounds
        row = self._row(file)
        history = self._context.history
        similarities = self._context.similar_documents.commit_similarities
        for view in (history.commits, history.merges):
            touching = np.intersect1d(view.documents.find_by_file(row), named.in_range(view))
            if not len(touching):
                continue
            newest_first = touching[::-1]
            if view is history.commits:
                newest_first = newest_first[np.argsort(-similarities[newest_first], kind="stable")]
            number = int(newest_first[0])
            commit = view.documents.commit_ids[number]
            subject = lookups.subject(commit)
            title = f": {shorten(subject)}" if subject else ""
            date = lookups.committed(commit, int(view.documents.times[number])).date()
            change = f"{commit[:10]} ({date}){title}"
            sentence = f"Changed {bounds.when}: {change}"
            return Reason("range", sentence, commit, url=lookups.commit_url(commit))
        return None
