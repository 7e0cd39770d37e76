"""A bug report as stage one sees it: weighted terms, names it mentions, stack frames."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from tosloc.code import text
from tosloc.core.records import BugReport
from tosloc.reports import text as report_text
from tosloc.reports import traces

SUMMARY_WEIGHT = 3.0
"""How many times a term of the summary counts; x3 to x5 was worth +.04 MRR over x1 on four projects."""
LEAD_WORDS = 40  # words of the description that count as its beginning
FIELDED_SUMMARY_WEIGHT = 5.0  # the same for the fielded BM25F feature


def frame_name(frame: traces.Frame) -> str:
    """The outermost class of a stack frame, or its file where the language has no class there."""
    return frame.type or frame.path or frame.file


@dataclass(frozen=True, eq=False)
class Query:
    """One report, analysed once; everything is derived from summary and description alone."""

    report: BugReport

    @property
    def said(self) -> str:
        """Summary and description."""
        return f"{self.report.summary}\n{self.report.description}"

    @cached_property
    def frames(self) -> tuple[traces.Frame, ...]:
        """Stack frames of the description, in order."""
        return tuple(traces.frames(self.report.description))

    @cached_property
    def prose(self) -> str:
        """The description without its stack frames."""
        return (
            traces.without_frames(self.report.description)
            if self.frames
            else self.report.description
        )

    @cached_property
    def parts(self) -> report_text.ReportText:
        """The description without stack frames and addresses, by what its lines are."""
        return report_text.parts(report_text.without_addresses(self.prose))

    @cached_property
    def title(self) -> str:
        """The summary without what only says that it is a bug."""
        return report_text.bare_title(self.report.summary)

    @staticmethod
    def _weights(*parts: tuple[Counter[str], float]) -> dict[str, float]:
        """Term -> 1 + ln(sum over the parts of how often it stands there times what that counts), terms in order."""
        counts: dict[str, float] = {}
        for part, times in parts:
            for term, count in part.items():
                counts[term] = counts.get(term, 0.0) + times * count
        return {term: 1.0 + math.log(count) for term, count in sorted(counts.items())}

    @cached_property
    def names(self) -> list[tuple[report_text.Name, float]]:
        """Names that the report writes as code, each once, with a weight by where it stands."""
        found: dict[tuple[str, str], tuple[report_text.Name, float]] = {}
        parts = self.parts
        for weight, said, code in (
            (3.0, self.title, False),
            (1.0, parts.prose, False),
            (0.5, parts.code, True),
        ):
            for name in report_text.names(said, code):
                found.setdefault((name.key, name.owner), (name, weight))
        return list(found.values())

    @cached_property
    def summary_counts(self) -> Counter[str]:
        """Term counts of the summary."""
        return Counter(text.terms(self.report.summary))

    @cached_property
    def prose_counts(self) -> Counter[str]:
        """Term counts of the description without stack frames."""
        return Counter(text.terms(self.prose))

    @cached_property
    def weights(self) -> dict[str, float]:
        """Term -> 1 + ln(tf in description + 3 tf in summary), terms in order."""
        return self._weights((self.prose_counts, 1.0), (self.summary_counts, SUMMARY_WEIGHT))

    @cached_property
    def fielded_weights(self) -> dict[str, float]:
        """Term -> 1 + ln(tf in description + 5 tf in summary), the same terms in the same order."""
        return self._weights(
            (self.prose_counts, 1.0), (self.summary_counts, FIELDED_SUMMARY_WEIGHT)
        )

    @cached_property
    def plain_weights(self) -> dict[str, float]:
        """Term -> 1 + ln tf over summary and whole description: the paper's report vector before IDF."""
        return self._weights(
            (self.summary_counts, 1.0), (Counter(text.terms(self.report.description)), 1.0)
        )

    @cached_property
    def summary_weights(self) -> dict[str, float]:
        """Term -> 1 + ln tf in the summary."""
        return self._weights((self.summary_counts, 1.0))

    def text_weights(self, said: str, title_weight: float = SUMMARY_WEIGHT) -> dict[str, float]:
        """Term -> 1 + ln(tf in ``said`` + ``title_weight`` x tf in the title), terms in order."""
        title = Counter(text.terms(self.title))
        return self._weights((Counter(text.terms(said)), 1.0), (title, title_weight))

    @cached_property
    def lead_weights(self) -> dict[str, float]:
        """Term -> 1 + ln(tf in the first words of the description + 2 tf in the summary)."""
        words = text.words(self.prose)[:LEAD_WORDS]
        lead = Counter(term for word in words for term in text.identifier_terms(word))
        return self._weights((lead, 1.0), (self.summary_counts, 2.0))

    @cached_property
    def compounds(self) -> frozenset[str]:
        """Whole identifiers (lower case) that the report writes in camel case or with underscores."""
        return frozenset(text.compounds(self.report.summary)) | frozenset(
            text.compounds(self.prose)
        )

    @cached_property
    def mentions(self) -> tuple[str, ...]:
        """Words outside stack frames, as written, each once in order of first appearance."""
        return tuple(dict.fromkeys((*text.words(self.report.summary), *text.words(self.prose))))

    @cached_property
    def qualified_names(self) -> tuple[str, ...]:
        """Qualified class names among the stack traces, in order of first appearance (the paper's trace feature)."""
        return tuple(traces.qualified_names(self.report.description))

    @cached_property
    def locations(self) -> traces.Locations:
        """Files that the report names: in stack frames of any language, as paths, modules and imports."""
        return traces.locations(self.said)
