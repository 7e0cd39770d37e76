"""A bug report as stage one reads it: weighted terms, names and places."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tosloc.code import text as code_text
from tosloc.core.reports import BugReport
from tosloc.reports.text import ReportNames, ReportPlaces, ReportText

SUMMARY_WEIGHT = 3.0
"""Weight of a term's occurrence in the summary; in the description it is 1.

Values from 3 to 5 gained .04 MRR over 1 on four projects.
"""
FIELDED_SUMMARY_WEIGHT = 5.0
"""Weight of a term's occurrence in the summary for BM25F."""
LEAD_SUMMARY_WEIGHT = 2.0
"""Weight of a term's occurrence in the summary relative to the lead."""
LEAD_WORDS = 40
"""Number of words in the lead, which is the beginning of the reporter's text."""
PART_WEIGHTS: Final[Mapping[str, float]] = {
    "prose": 1.0,
    "code": 1.0,
    "errors": 1.0,
    "trace": 1.0,
    "quoted": 0.5,
    "data": 0.5,
    "near_errors": 0.3,
    "log": 0.1,
    "environment": 0.0,
    "form": 0.0,
}
"""Weight of a term's occurrence in each part of the description.

The weights follow a measured difference of two counts. Among 1,000 distinct words of a part, it is
the number of words in the fixed files' names minus the number of words in the names of files that
other reports of the project fixed. In 1,753 GitHub issues the difference is: errors 39, frames 36,
prose 27, code 19, data 10, lines near errors 9, other lines of logs 8, environment 4, form 1. In
233 issues of twelve Python projects the environment has -1.
"""
BUILD_WORDS: Final = frozenset(
    code_text.terms("build built building builds compile compiler compilation make")
    + code_text.terms("error fail failed failure")
)
"""Terms that say that a build failed, but not where."""


@dataclass(frozen=True, eq=False)
class Query:
    """One report as a query; values are computed once, from its text and the project's forms."""

    report: BugReport
    form_lines: frozenset[str] = frozenset()
    """Lines of the project's issue forms, each as ``tosloc.reports.text.template_key`` returns it.

    They come from the project's templates (``IssueTemplates``), and from lines that many earlier
    reports share (``SharedLines``).
    """
    projects: Sequence[str] = ()
    """Paths of the project on the web, such as pallets/flask; empty if they are not known."""
    is_own_term: Callable[[str], bool] | None = None
    """Function that returns whether files of the searched version contain a term, if given."""

    @cached_property
    def text(self) -> ReportText:
        """The parts of the report's text."""
        return ReportText(self.report, self.form_lines, self.projects, self.is_own_term)

    @cached_property
    def names(self) -> ReportNames:
        """The names that the report mentions."""
        return ReportNames(self.text)

    @cached_property
    def places(self) -> ReportPlaces:
        """The places in code that the report mentions."""
        return ReportPlaces(self.text)

    def _counts(self, term: str) -> bool:
        """Return whether a term counts: BUILD_WORDS do not in a report of a failed build."""
        return not self.text.shows_failed_build or term not in BUILD_WORDS

    @cached_property
    def summary_counts(self) -> Counter[str]:
        """Term -> its count in the title."""
        return Counter(filter(self._counts, code_text.terms(self.text.title)))

    @cached_property
    def description_counts(self) -> dict[str, float]:
        """Term -> its count in the description, weighted by the part that it occurs in.

        A command or key also counts in its joined form.
        """
        return self._description_counts(PART_WEIGHTS)

    def _description_counts(self, part_weights: Mapping[str, float]) -> dict[str, float]:
        counts: dict[str, float] = {}
        for name, part in self.text.parts._asdict().items():
            weight = part_weights[name]
            if not weight:
                continue
            for term, count in Counter(filter(self._counts, code_text.terms(part))).items():
                counts[term] = counts.get(term, 0.0) + weight * count
        for command in self.names.commands:
            counts[command.joined] = counts.get(command.joined, 0.0) + 1.0
        return counts

    @cached_property
    def weights(self) -> dict[str, float]:
        """Term -> 1 + ln(weighted tf in description + 3 tf in summary), ordered by term."""
        return _log_weights((self.description_counts, 1.0), (self.summary_counts, SUMMARY_WEIGHT))

    @cached_property
    def weights_without_trace(self) -> dict[str, float]:
        """``weights`` without the words of frames, which name every function of the trace."""
        if not self.text.parts.trace:
            return self.weights
        counts = self._description_counts({**PART_WEIGHTS, "trace": 0.0})
        return _log_weights((counts, 1.0), (self.summary_counts, SUMMARY_WEIGHT))

    @cached_property
    def fielded_weights(self) -> dict[str, float]:
        """Term -> 1 + ln(weighted tf in description + 5 tf in summary), ordered by term.

        The terms are those of ``weights``.
        """
        summary = (self.summary_counts, FIELDED_SUMMARY_WEIGHT)
        return _log_weights((self.description_counts, 1.0), summary)

    @cached_property
    def plain_weights(self) -> dict[str, float]:
        """Term -> 1 + ln tf over summary and whole description: the paper's report vector.

        IDF is not applied yet.
        """
        counts = Counter(code_text.terms(self.report.summary))
        counts.update(code_text.terms(self.report.description))
        return _log_weights((counts, 1.0))

    @cached_property
    def summary_weights(self) -> dict[str, float]:
        """Term -> 1 + ln tf in the summary."""
        return _log_weights((self.summary_counts, 1.0))

    @cached_property
    def lead_weights(self) -> dict[str, float]:
        """Term -> 1 + ln(tf in the lead + 2 tf in the summary)."""
        lead_counts: Counter[str] = Counter()
        for word in code_text.words(self.text.told)[:LEAD_WORDS]:
            lead_counts.update(code_text.identifier_terms(word))
        return _log_weights((lead_counts, 1.0), (self.summary_counts, LEAD_SUMMARY_WEIGHT))

    def text_weights(self, source: str, title_weight: float = SUMMARY_WEIGHT) -> dict[str, float]:
        """Return term -> 1 + ln(tf in ``source`` + ``title_weight`` x tf in the title).

        The result is ordered by term.
        """
        source_counts = Counter(code_text.terms(source))
        title_counts = Counter(code_text.terms(self.text.title))
        return _log_weights((source_counts, 1.0), (title_counts, title_weight))


def _log_weights(*parts: tuple[Mapping[str, float], float]) -> dict[str, float]:
    """Return term -> 1 + ln(sum over the parts of count x factor), ordered by term.

    A sum below 1, which occurs if only parts with a small factor contain the term, is the weight
    itself.
    """
    counts: dict[str, float] = {}
    for part, factor in parts:
        for term, count in part.items():
            counts[term] = counts.get(term, 0.0) + factor * count
    return {
        term: 1.0 + math.log(count) if count >= 1.0 else count
        for term, count in sorted(counts.items())
    }
