"""BugLocator: a vector space model that favours long files, and files of similar fixed bugs.

Zhou, Zhang, Lo: Where should the bugs be fixed? ICSE 2012 (docs/method.md, section B.3). The length
score is that of the public code, because without any leak it ranks far better than the paper's.

Shapes: B blobs, F files of a version, R labelled reports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

import numpy as np

from tosloc.code.parsed_source import ParsedSource
from tosloc.core.arrays import FloatArray
from tosloc.core.reports import BugReport
from tosloc.lab.baselines.context import Baseline, BaselineContext, BaselineQuery, FixHistory
from tosloc.lab.baselines.texts import (
    KEYWORDS,
    REPORT_WORD,
    STOP_WORDS,
    code_words,
    porter_stem,
    stems,
    summary_and_description,
)
from tosloc.lab.baselines.vsm import (
    VectorSpace,
    count_terms,
    divide_or_zero,
    step_length_score,
    textbook_idf,
)
from tosloc.retrieval.texts import min_max

SIMILAR_SHARE: Final = 0.2
"""Share of similar bugs in the score, alpha: paper (.3 for AspectJ) and Bench4BL's scripts,
section B.3.5."""
_CODE_STOP_WORDS: Final = KEYWORDS | STOP_WORDS | {"string", "main", "args"}


def report_stems(report: BugReport) -> list[str]:
    """Return the stems of a report's summary and description, without stop words."""
    return stems(REPORT_WORD.findall(summary_and_description(report)))


def code_terms(source: ParsedSource) -> list[str]:
    """Return the stems of the word parts of a file, then its names (docs/method.md, section B.3.2).

    Line and block comments are left out, because the public code's parser loses them.
    """
    words = code_words(source.text("code", "string", "javadoc"))
    return stems(words, _CODE_STOP_WORDS) + name_terms(source)


def name_terms(source: ParsedSource) -> list[str]:
    """Return the stems of the unsplit names of a file's types and methods."""
    return [porter_stem(name.lower()) for name in (*source.types, *source.methods)]


class SimilarReports:
    """The labelled reports of a project as term vectors, and SimiScore over the fixed ones."""

    def __init__(
        self, fix_history: FixHistory, report_terms: Callable[[BugReport], list[str]] = report_stems
    ) -> None:
        self.fix_history = fix_history
        self.report_terms = report_terms
        self.counts = count_terms(report_terms(case.report) for case in fix_history.cases)

    def similarities(self, query: BaselineQuery) -> FloatArray:
        """Return (R,) the cosine with each report that is known to be fixed; 0 for other reports.

        Terms of the report that occur in no labelled report are ignored: they would divide all
        cosines by the same number.
        """
        fixed = query.fixed_indicator
        terms = self.report_terms(query.report)
        frequencies = self.counts.document_frequencies(fixed)
        # N and n_t count the new report, too.
        columns, _ = self.counts.query_counts(terms)
        frequencies[columns] += 1.0
        idf = textbook_idf(fixed.sum() + 1.0, frequencies)
        return VectorSpace(self.counts, idf).cosine(terms) * fixed

    def simi_scores(self, query: BaselineQuery) -> FloatArray:
        """Return (F,) SimiScore, the score of each file by similar fixed reports.

        The similarity of each fixed report is divided equally among all files of its fix, including
        files that no longer exist.
        """
        shares = divide_or_zero(self.similarities(query), self.fix_history.sizes)
        return query.version.from_paths(np.asarray(self.fix_history.touched.T @ shares))


class BugLocator(Baseline):
    """BugLocator (ICSE 2012)."""

    name: ClassVar[str] = "buglocator"

    def __init__(self, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(context, seed)
        self.similar_reports = SimilarReports(context.fix_history)
        self.counts = context.files.counts(code_terms)

    def scores(self, query: BaselineQuery) -> FloatArray:
        """Return (F,) (1 - alpha) min-max(rVSM) + alpha min-max(SimiScore).

        alpha is ``SIMILAR_SHARE``; the methods ``rvsm`` and ``SimilarReports.simi_scores`` return
        the scores.
        """
        similar = min_max(self.similar_reports.simi_scores(query))
        return (1 - SIMILAR_SHARE) * min_max(self.rvsm(query)) + SIMILAR_SHARE * similar

    def rvsm(self, query: BaselineQuery) -> FloatArray:
        """Return (F,) rVSM, the cosine times the length score."""
        version = query.version
        space = VectorSpace.of_version(self.counts, version.multiplicity)
        cosines = version.from_blobs(space.cosine(report_stems(query.report)))
        return cosines * step_length_score(version.from_blobs(self.counts.lengths))
