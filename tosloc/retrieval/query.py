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
"""How many times a term of the summary counts.

Values from 3 to 5 gained .04 MRR over 1 on four projects."""
FIELDED_SUMMARY_WEIGHT = 5.0
"""How many times a term of the summary counts for BM25F."""
LEAD_SUMMARY_WEIGHT = 2.0
"""How many times a term of the summary counts beside the lead."""
LEAD_WORDS = 40
"""Words of the lead, the beginning of what the reporter tells."""
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
"""How many times a term of each part of the description counts.

They follow how many more of 1,000 distinct words of a part are words of the fixed files' names than
of the names of files that other reports of the project fixed. In 1,753 GitHub issues these are:
errors 39, frames 36, prose 27, code 19, data 10, lines near errors 9, other lines of logs 8,
environment 4, form 1. In 233 issues of twelve Python projects the environment has -1."""
BUILD_WORDS: Final = frozenset(
    code_text.terms("build built building builds compile compiler compilation make")
    + code_text.terms("error fail failed failure")
)
"""Words that say that a build failed, and not where."""


@dataclass(frozen=True, eq=False)
class Query:
    """One report, analysed once; everything is derived from its text and the project's forms."""

    report: BugReport
    form_lines: frozenset[str] = frozenset()
    """Lines of the project's issue forms, each as ``tosloc.reports.text.template_key`` returns it.

    They are those of its templates (``IssueTemplates``), and those that earlier reports share
    (``SharedLines``)."""
    projects: Sequence[str] = ()
    """Paths of the project on the web, such as pallets/flask; none if they are not known."""
    is_own_term: Callable[[str], bool] | None = None
    """Return whether files of the searched version contain a term; None if there is none."""

    @cached_property
    def text(self) -> ReportText:
        """The parts of the report's text."""
        return ReportText(self.report, self.form_lines, self.projects, self.is_own_term)

    @cached_property
    def names(self) -> ReportNames:
        """What the report names."""
        return ReportNames(self.text)

    @cached_property
    def places(self) -> ReportPlaces:
        """The places in code that the report names."""
        return ReportPlaces(self.text)

    def _counts(self, term: str) -> bool:
        """Return whether a term counts. Of a failed build, that it failed is no news."""
        return not self.text.shows_failed_build or term not in BUILD_WORDS

    @cached_property
    def summary_counts(self) -> Counter[str]:
        """Term counts of the title."""
        return Counter(filter(self._counts, code_text.terms(self.text.title)))

    @cached_property
    def description_counts(self) -> dict[str, float]:
        """Term counts of the parts of the description, each times the weight of the part.

        A command or key counts once more as its joined form.
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
        """Term -> 1 + ln(weighted tf in description + 3 tf in summary), terms in order."""
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
        """Term -> 1 + ln(weighted tf in description + 5 tf in summary), the same terms in order."""
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

        Terms are in order.
        """
        source_counts = Counter(code_text.terms(source))
        title_counts = Counter(code_text.terms(self.text.title))
        return _log_weights((source_counts, 1.0), (title_counts, title_weight))


def _log_weights(*parts: tuple[Mapping[str, float], float]) -> dict[str, float]:
    """Return term -> 1 + ln(sum over the parts of count x factor), terms in order.

    Where the sum is below 1, because only parts that count less have the term, it is the weight.
    """
    counts: dict[str, float] = {}
    for part, factor in parts:
        for term, count in part.items():
            counts[term] = counts.get(term, 0.0) + factor * count
    return {
        term: 1.0 + math.log(count) if count >= 1.0 else count
        for term, count in sorted(counts.items())
    }
