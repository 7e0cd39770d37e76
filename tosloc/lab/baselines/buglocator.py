"""BugLocator: a vector space model that favours long files, and the files of similar bugs fixed before.

Zhou, Zhang, Lo: Where should the bugs be fixed? ICSE 2012 (docs/method.md, section B.3). The length score is the public
code's, which ranks far better without any leak than the paper's.

Shapes: B blobs, F files of a version, R labelled reports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

import numpy as np

from tosloc.core.records import BugReport, FloatArray
from tosloc.lab.baselines.context import Baseline, BaselineContext, BaselineQuery, FixHistory
from tosloc.lab.baselines.texts import (
    KEYWORDS,
    NL_WORD,
    STOP_WORDS,
    ParsedSource,
    code_words,
    porter,
    stems,
    summary_and_description,
)
from tosloc.lab.baselines.vsm import VectorSpace, count, ratio, step_length_score, textbook_idf
from tosloc.retrieval.bm25 import min_max

ALPHA: Final = (
    0.2  # share of similar bugs: paper (.3 for AspectJ) and Bench4BL's scripts, section B.3.5
)
_CODE_STOPS: Final = KEYWORDS | STOP_WORDS | {"string", "main", "args"}


def report_stems(report: BugReport) -> list[str]:
    """Stems of summary and description without stop words."""
    return stems(NL_WORD.findall(summary_and_description(report)))


def code_terms(source: ParsedSource) -> list[str]:
    """Stems of the parts of a file's words, then its appended names (docs/method.md, section B.3.2).

    Line and block comments are not read: the public code's parser loses them.
    """
    return stems(code_words(source.text("code", "string", "javadoc")), _CODE_STOPS) + name_terms(
        source
    )


def name_terms(source: ParsedSource) -> list[str]:
    """Stems of the names, not cut into parts, of a file's types and methods."""
    return [porter(name.lower()) for name in (*source.types, *source.methods)]


class SimilarReports:
    """The labelled reports of a project as term vectors, and SimiScore over those that were fixed before."""

    def __init__(
        self, fix_history: FixHistory, terms: Callable[[BugReport], list[str]] = report_stems
    ) -> None:
        self.fix_history, self.terms = fix_history, terms
        self.counts = count(terms(case.report) for case in fix_history.cases)

    def similarities(self, query: BaselineQuery) -> FloatArray:
        """(R,) cosine of the report with each one that is known to be fixed; 0 for all others.

        Terms of no labelled report, which only one without a label has, would divide all of them by the same number.
        """
        known, terms = query.known, self.terms(query.report)
        frequencies = self.counts.frequencies(known)
        frequencies[self.counts.query_counts(terms)[0]] += 1.0  # N and n_t count this report, too
        return (
            VectorSpace(self.counts, textbook_idf(known.sum() + 1.0, frequencies)).cosine(terms)
            * known
        )

    def simi_scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) SimiScore: the similarity of each earlier report, shared among all files of its fix, gone ones too."""
        share = ratio(self.similarities(query), self.fix_history.sizes)
        return query.version.from_paths(np.asarray(self.fix_history.touched.T @ share))


class BugLocator(Baseline):
    """BugLocator (ICSE 2012)."""

    name: ClassVar[str] = "buglocator"

    def __init__(self, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(context, seed)
        self.similar_reports = SimilarReports(context.fix_history)
        self.counts = context.files.counts(code_terms)

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) (1 - alpha) mm(rVSM) + alpha mm(Simi)."""
        similar = min_max(self.similar_reports.simi_scores(query))
        return (1 - ALPHA) * min_max(self.rvsm(query)) + ALPHA * similar

    def rvsm(self, query: BaselineQuery) -> FloatArray:
        """(F,) length score times cosine."""
        version = query.version
        cosine = VectorSpace.of(self.counts, version.multiplicity).cosine(
            report_stems(query.report)
        )
        return version.to_files(cosine) * step_length_score(version.to_files(self.counts.lengths))
