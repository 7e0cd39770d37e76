"""Store the issues of a project's tracker, and find the issues that are similar to a report.

Letters in shapes: D issues, V terms of the vocabulary, P pairs of a term and an issue.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tosloc.code import text
from tosloc.core.arrays import (
    FloatArray,
    LongArray,
    from_arrays,
    open_arrays,
    save_arrays,
    to_arrays,
)
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import BugReport
from tosloc.reports.text import SharedLines
from tosloc.retrieval.memo import Remembering
from tosloc.retrieval.query import SUMMARY_WEIGHT, Query
from tosloc.retrieval.texts.documents import DAY
from tosloc.retrieval.texts.formulas import idf
from tosloc.retrieval.texts.postings import Postings, group_sum, known_terms, top_k

MAX_SIMILAR: Final = 3
"""Largest number of issues that are returned for a report."""
MIN_CONFIDENCE: Final = 0.65
"""Least confidence of an issue that is returned.

For issues of Go .55 is the least at which eight of ten shown issues are right, and .65 leaves a
margin; see docs/results.md."""
BIAS: Final = -8.877
WEIGHTS: Final = (1.604, 0.707, 0.873, 0.640, 3.621)
"""Weights of a logistic regression, learned on reports of Go, for these values of a candidate:

- cosine of the texts, and cosine of the titles,
- ln(1 + summed IDF of the shared terms) of the texts, and of the titles,
- cosine of the texts less the largest one of any other candidate."""
MAX_SAME_TITLES: Final = 2
"""Largest number of earlier issues with a report's title; a more frequent title is ignored."""
MIN_ALIKE_TITLES: Final = 0.5
"""Smallest cosine of two titles at which different numbers in them mean different problems."""
CANDIDATES: Final = 5
"""Number of nearest issues by text, by title, and by both, that are candidates."""
_UNKNOWN: Final = -1
"""Number that stands for an unknown state of an issue."""
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)*")
_ISSUES_BETWEEN_PROGRESS: Final = 200


class SimilarIssue(NamedTuple):
    """An issue that is probably about the same problem as a report."""

    id: str
    summary: str
    """The title, in one line."""
    opened: datetime
    """Time of opening, in UTC."""
    is_open: bool | None
    """Whether it was open when the issues were collected; None if that is not known."""
    url: str
    """Address of the issue; "" if it is not known."""
    confidence: float
    """Confidence that people would relate the issue to the report; at least ``MIN_CONFIDENCE``."""

    @property
    def name(self) -> str:
        """The id as people write it: #12, or KEY-12 of Jira."""
        return f"#{self.id}" if self.id.isdecimal() else self.id

    @property
    def heading(self) -> str:
        """The issue in a line: its name, the day of its opening, its state if known, its title."""
        facts = [f"{self.opened:%Y-%m-%d}"]
        if self.is_open is not None:
            facts.append("open" if self.is_open else "closed")
        return f"{self.name} ({', '.join(facts)}) {self.summary}"

    @property
    def text(self) -> str:
        """The issue in words, for the background of an answer."""
        return f"Similar report: {self.heading}"

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        values = self._asdict()
        values["opened"] = f"{self.opened:%Y-%m-%dT%H:%M:%SZ}"
        values["confidence"] = round(self.confidence, 3)
        return values


@dataclass(frozen=True, eq=False)
class TrackerIssues(Remembering):
    """Issues in order of their opening, with the terms of their titles and texts."""

    ids: Sequence[str]
    """(D,) ids."""
    summaries: Sequence[str]
    """(D,) titles, each in one line."""
    urls: Sequence[str]
    """(D,) addresses; "" where none is known."""
    opened: FloatArray
    """(D,) times of opening in seconds since 1970, ascending."""
    are_open: npt.NDArray[np.int8]
    """(D,) 1 if an issue was open when the issues were collected, 0 if not, -1 if unknown."""
    vocabulary: Mapping[str, int]
    """Term -> its number."""
    titles: Postings
    """Issues of each term of a title, with 1 + ln tf."""
    texts: Postings
    """Issues of each term of title and description, with 1 + ln of its weighted frequency."""
    shared_lines: SharedLines
    """Lines that many issues share, because they come from the tracker's forms."""

    @classmethod
    def collect(
        cls,
        reports: Sequence[BugReport],
        urls: Sequence[str],
        are_open: Sequence[bool | None],
        progress: Progress = ignore_progress,
    ) -> Self:
        """Return the issues with these reports, addresses and states, which are None if unknown.

        Reports without an opening time are left out.
        """
        rows = []
        for report, url, is_open in zip(reports, urls, are_open, strict=True):
            if report.opened is not None:
                rows.append((report.opened_seconds, report.id, report, url, is_open))
        rows.sort(key=lambda row: row[:2])
        shared_lines = SharedLines.collect(report for _, _, report, _, _ in rows)
        titles = []
        texts = []
        for number, (opened, _, report, _, _) in enumerate(rows):
            if number % _ISSUES_BETWEEN_PROGRESS == 0:
                progress("reading the texts of issues", number, len(rows))
            weights = ReportWeights.of(Query(report, shared_lines.as_of(opened)))
            titles.append(weights.title)
            texts.append(weights.text)
        # The terms of a title are among those of the text.
        terms = sorted({term for weights in texts for term in weights})
        vocabulary = {term: number for number, term in enumerate(terms)}
        return cls(
            ids=[report.id for _, _, report, _, _ in rows],
            summaries=[" ".join(report.summary.split()) for _, _, report, _, _ in rows],
            urls=[url for _, _, _, url, _ in rows],
            opened=np.array([opened for opened, _, _, _, _ in rows], dtype=np.float64),
            are_open=np.array([_UNKNOWN if row[4] is None else row[4] for row in rows], np.int8),
            vocabulary=vocabulary,
            titles=_to_postings(titles, vocabulary),
            texts=_to_postings(texts, vocabulary),
            shared_lines=shared_lines,
        )

    @classmethod
    def load(cls, path: Path) -> Self:
        """Return the issues that ``save`` wrote. Raises CheckpointError for a damaged file."""
        with open_arrays(path, "run tosloc mine again") as arrays:
            return from_arrays(cls, arrays, "issues")

    def save(self, path: Path) -> None:
        """Write the issues to an .npz file atomically."""
        save_arrays(path, to_arrays({"issues": self}), level=1)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def issues_by_title(self) -> Mapping[str, list[int]]:
        """Words of a title in lower case -> numbers of the issues with this title, ascending."""
        issues: defaultdict[str, list[int]] = defaultdict(list)
        for number, summary in enumerate(self.summaries):
            issues[_title_key(summary)].append(number)
        return issues

    @cached_property
    def issues_by_id(self) -> Mapping[str, list[int]]:
        """Id -> numbers of the issues with this id, ascending."""
        issues: defaultdict[str, list[int]] = defaultdict(list)
        for number, identity in enumerate(self.ids):
            issues[identity].append(number)
        return issues

    def find_similar(self, report: BugReport) -> list[SimilarIssue]:
        """Return earlier issues that are probably about the same problem, the likeliest first.

        At most ``MAX_SIMILAR`` issues are returned, and none with less than ``MIN_CONFIDENCE``.
        Only issues that were opened before the report are known, or all of them if its opening time
        is unknown.
        """
        known = len(self)
        if report.opened is not None:
            known = int(np.searchsorted(self.opened, report.opened_seconds, side="left"))
        similar = []
        for issue, confidence in self._candidates(report, known):
            if confidence >= MIN_CONFIDENCE:
                similar.append(self._similar_issue(issue, confidence))
        similar.sort(key=lambda issue: -issue.confidence)
        return similar[:MAX_SIMILAR]

    def _similar_issue(self, issue: int, confidence: float) -> SimilarIssue:
        """Return the issue with a number as it is shown."""
        state = int(self.are_open[issue])
        return SimilarIssue(
            self.ids[issue],
            self.summaries[issue],
            datetime.fromtimestamp(float(self.opened[issue]), UTC),
            None if state == _UNKNOWN else bool(state),
            self.urls[issue],
            confidence,
        )

    def _candidates(self, report: BugReport, known: int) -> list[tuple[int, float]]:
        """Return candidates among the first ``known`` issues, each with its confidence."""
        if not known:
            return []
        opened = math.inf if report.opened is None else report.opened_seconds
        weights = ReportWeights.of(Query(report, self.shared_lines.as_of(opened)))
        same_title = _below(self.issues_by_title.get(_title_key(report.summary), []), known)
        if len(same_title) > MAX_SAME_TITLES:
            weights = weights._replace(title={})
        title_norms, text_norms = self.remember(_norms, known)
        cosines, shared = _compare(self.texts, text_norms, self.vocabulary, weights.text)
        title_cosines, title_shared = _compare(
            self.titles, title_norms, self.vocabulary, weights.title
        )
        is_itself = _below(self.issues_by_id.get(report.id, []), known)
        cosines[is_itself] = 0.0
        title_cosines[is_itself] = 0.0
        nearest = [
            top_k(cosines, CANDIDATES),
            top_k(title_cosines, CANDIDATES),
            top_k(cosines + title_cosines, CANDIDATES),
        ]
        issues = np.unique(np.concatenate(nearest))
        issues = issues[cosines[issues] > 0]
        values = (
            cosines[issues],
            title_cosines[issues],
            np.log1p(shared[issues]),
            np.log1p(title_shared[issues]),
            _leads(cosines, issues),
        )
        logits = BIAS + np.sum(
            [weight * value for weight, value in zip(WEIGHTS, values, strict=True)], axis=0
        )
        confidence = 1.0 / (1.0 + np.exp(-logits))
        candidates = []
        for issue, probability in zip(issues.tolist(), confidence.tolist(), strict=True):
            is_recent = opened - self.opened[issue] < DAY
            numbers = frozenset(_NUMBER.findall(self.summaries[issue]))
            differs = title_cosines[issue] > MIN_ALIKE_TITLES and numbers != weights.numbers
            # One reporter often opens several issues at a time, of which each names another thing.
            if not differs and (issue in same_title or not is_recent):
                candidates.append((issue, probability))
        return candidates


class ReportWeights(NamedTuple):
    """The weighted terms by which a report is compared with the issues of its tracker."""

    title: Mapping[str, float]
    """Term of the title -> 1 + ln tf."""
    text: Mapping[str, float]
    """Term of title and description -> 1 + ln of its weighted frequency."""
    numbers: frozenset[str]
    """Numbers and versions in the title."""

    @classmethod
    def of(cls, query: Query) -> Self:
        """Return the weights of a report.

        The numbers and addresses of its title count, although they do not help to find code.
        """
        summary = query.report.summary
        numbers = _NUMBER.findall(summary)
        title_counts = Counter(text.terms(summary)) + Counter(numbers)
        counts = dict(query.description_counts)
        for term, count in title_counts.items():
            counts[term] = counts.get(term, 0.0) + SUMMARY_WEIGHT * count
        return cls(_log_weights(title_counts), _log_weights(counts), frozenset(numbers))


def _log_weights(counts: Mapping[str, float]) -> dict[str, float]:
    """Return term -> 1 + ln of its count, or the count itself if it is below 1."""
    weights = {}
    for term, count in counts.items():
        weights[term] = 1.0 + math.log(count) if count >= 1.0 else count
    return weights


def _title_key(summary: str) -> str:
    """Return the words of a title in lower case, by which equal titles are found.

    >>> _title_key("[Bug]: It hangs!") == _title_key("bug -  it hangs")
    True
    """
    return " ".join(text.words(summary.lower()))


def _to_postings(issues: Sequence[Mapping[str, float]], vocabulary: Mapping[str, int]) -> Postings:
    """Return the postings of the weighted terms of each issue."""
    terms: list[int] = []
    rows: list[int] = []
    values: list[float] = []
    for row, weights in enumerate(issues):
        terms += [vocabulary[term] for term in weights]
        rows += [row] * len(weights)
        values += weights.values()
    return Postings.group_by_term(
        np.array(terms, dtype=np.int64),
        np.array(rows, dtype=np.int32),
        np.array(values, dtype=np.float32),
        len(vocabulary),
    )


def _below(numbers: Sequence[int], limit: int) -> list[int]:
    """Return the numbers below a limit."""
    return [number for number in numbers if number < limit]


def _norms(issues: TrackerIssues, known: int) -> tuple[FloatArray, FloatArray]:
    """Return (known,) lengths of the vectors of the titles and of the texts of the known issues.

    The IDF of terms is that of the first ``known`` issues, so that a report is compared only with
    what was known when it was opened. This reads all postings, whatever the report.
    """
    norms = []
    for postings in (issues.titles, issues.texts):
        is_known = postings.rows < known
        rows = postings.rows[is_known].astype(np.int64)
        terms = postings.terms[is_known]
        frequency = np.bincount(terms, minlength=len(issues.vocabulary))
        squares = (postings.values[is_known] * idf(known, frequency)[terms]) ** 2
        norms.append(np.sqrt(np.maximum(group_sum(rows, squares, known), 1e-12)))
    title_norms, text_norms = norms
    return title_norms, text_norms


def _compare(
    postings: Postings,
    norms: FloatArray,
    vocabulary: Mapping[str, int],
    weights: Mapping[str, float],
) -> tuple[FloatArray, FloatArray]:
    """Return (known,) cosines of a report and each known issue, and the IDF of their shared terms.

    ``norms`` (known,) are the lengths of the issues' vectors. IDF is that of the known issues. Only
    the postings of the report's terms are read.
    """
    known = len(norms)
    numbers, query = known_terms(vocabulary, weights)
    selection = postings.select(numbers)
    is_known = selection.rows < known
    rows = selection.rows[is_known].astype(np.int64)
    terms = np.repeat(np.arange(len(numbers)), selection.sizes)[is_known]
    rarity = idf(known, np.bincount(terms, minlength=len(numbers)))
    query = query * rarity
    length = float(np.sqrt((query**2).sum())) or 1.0
    products = selection.values[is_known] * (query * rarity)[terms]
    cosines = group_sum(rows, products, known) / (norms * length)
    shared = group_sum(rows, rarity[terms], known)
    return cosines, shared


def _leads(cosines: FloatArray, issues: LongArray) -> FloatArray:
    """Return (n,) how much nearer each of some issues is than the nearest of all other issues."""
    first, *others = top_k(cosines, 2).tolist()
    best = np.full(len(issues), cosines[first])
    best[issues == first] = cosines[others[0]] if others else 0.0
    leads: FloatArray = cosines[issues] - best
    return leads
