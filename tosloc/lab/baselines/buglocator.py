"""BugLocator: a vector space model that favours long files, and the files of similar bugs fixed before.

Zhou, Zhang, Lo: Where should the bugs be fixed? ICSE 2012 (docs/method.md, section B.3; what the upstream profile does
and leaves: B.3.6). The length score is the public code's, which ranks far better without any leak than the paper's.
``upstream`` does not imitate: the second stemmer over report vectors (Lovins), files lost because their class name
stands in another file too, annotation types left out, dates read with a 12-hour clock.

Shapes: B blobs, F files of a version, R labelled reports, V terms of reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Literal, TypeAlias

import numpy as np

from tosloc.config import Share, Words
from tosloc.index.bm25 import min_max
from tosloc.lab.baselines.context import (
    Baseline,
    BaselineContext,
    BaselineQuery,
    Cutoff,
    FixHistory,
    FixHistoryAsOf,
    Settings,
)
from tosloc.lab.baselines.parsed_source import ParsedSource
from tosloc.lab.baselines.texts import (
    KEYWORDS,
    NL_WORD,
    STOP_WORDS,
    code_words,
    porter,
    stems,
    summary_and_description,
)
from tosloc.lab.baselines.vsm import (
    Counts,
    VectorSpace,
    count,
    plain_length_score,
    simi_score,
    step_length_score,
    textbook_idf,
)
from tosloc.records import BugReport, FloatArray

Stopping: TypeAlias = Literal["plain", "mixed"]
"""``plain``: words as written against the lists; ``mixed``: as the public code, whose lists are stemmed."""
Weighting: TypeAlias = Literal["published", "wvtool"]
"""Of terms in reports. ``published``: (ln f + 1) ln(N / n) over what is known; ``wvtool``: f / sum f x ln(R / r)."""
Length: TypeAlias = Literal["minmax", "three_sigma"]
"""The length score that rVSM is multiplied by: the paper's, .5 to .731, or the public code's, .5 to 1."""
ReportTerms: TypeAlias = Callable[[BugReport], list[str]]

_STEMMED_STOPS: Final = frozenset(map(porter, STOP_WORDS))


class TextSettings(Settings):
    """How BugLocator and BRTracer tokenise files and reports, and how they compare reports."""

    UPSTREAM: ClassVar[Mapping[str, Any]] = {
        "stopping": "mixed",
        "code_stops": ("string", "main", "args", "org", "eclipse", "swt"),
        "nested_names": False,
        "weighting": "wvtool",
    }

    stopping: Stopping = "plain"
    code_stops: Words = ("string", "main", "args")
    """Words dropped from code beside Java's keywords and the English stop words."""
    nested_names: bool = True
    weighting: Weighting = "published"


class BugLocatorSettings(TextSettings):
    """Settings of BugLocator."""

    alpha: Share = 0.2
    length: Length = "three_sigma"


def report_stems(report: BugReport, stopping: Stopping = "plain") -> list[str]:
    """Stems of summary and description without stop words."""
    words = NL_WORD.findall(summary_and_description(report))
    if stopping == "mixed":
        return [stem for word in words if (stem := porter(word.lower())) not in _STEMMED_STOPS]
    return stems(words)


def code_terms(source: ParsedSource, settings: TextSettings) -> list[str]:
    """Stems of the parts of a file's words, then its appended names (docs/method.md, section B.3.2).

    Line and block comments are not read: the public code's parser loses them.
    """
    stops = KEYWORDS | STOP_WORDS | frozenset(settings.code_stops)
    if settings.stopping == "mixed":
        stops = frozenset(map(porter, stops))
    return stems(code_words(source.text("code", "string", "javadoc")), stops) + name_terms(source, settings)


def name_terms(source: ParsedSource, settings: TextSettings) -> list[str]:
    """Stems of the names, not cut into parts, of a file's types and methods."""
    types = source.types if settings.nested_names else source.outer
    return [porter(name.lower()) for name in (*types, *source.methods)]


class SimilarReports:
    """The labelled reports of a project as term vectors, and SimiScore over those that were fixed before."""

    def __init__(self, fix_history: FixHistory, terms: ReportTerms, weighting: Weighting = "published") -> None:
        self.fix_history, self.terms, self.weighting = fix_history, terms, weighting
        self.counts: Counts = count(terms(case.report) for case in fix_history.cases)
        # f / sum f: the sum goes when vectors are made 1 long
        self._tf = self.counts.matrix if weighting == "wvtool" else self.counts.log_tf
        self._squared_tf = self._tf.power(2)

    def similarities(self, report: BugReport, history: FixHistoryAsOf) -> FloatArray:
        """(R,) cosine of a report with each one that is known to be fixed; 0 for all others."""
        known = np.zeros(len(self.fix_history.cases))
        known[history.reports] = 1.0
        terms = self.terms(report)
        columns, counts = self.counts.query_counts(terms)
        # N and n_t count this report, too; ``wvtool``: and all others, whenever they were opened
        corpus = known if self.weighting == "published" else np.ones(len(known))
        row = self.fix_history.row_of_report.get(report.id)
        if row is not None:
            corpus[row] = 0.0
        number = corpus.sum() + 1.0
        frequencies = self.counts.presence.T @ corpus
        frequencies[columns] += 1.0
        term_idf = textbook_idf(number, frequencies)
        query = np.zeros(len(term_idf))
        query[columns] = self._query_tf(counts) * term_idf[columns]
        # terms of no labelled report: only this one holds them
        counted = Counter(term for term in terms if term not in self.counts.vocabulary)
        unseen = self._query_tf(np.array(list(counted.values()), dtype=np.float64)) * np.log(number)
        length = np.sqrt((query**2).sum() + (unseen**2).sum())
        product = self._tf @ (query * term_idf)
        norms = np.sqrt(self._squared_tf @ term_idf**2) * length
        cosine: FloatArray = np.divide(product, norms, out=np.zeros_like(product), where=norms > 0)
        return cosine * known

    def _query_tf(self, counts: FloatArray) -> FloatArray:
        return counts if self.weighting == "wvtool" else np.log(counts) + 1.0

    def simi_scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) SimiScore of the version's files; files that a fix changed and that are gone count in its size."""
        similarities = self.similarities(query.report, query.history)
        return query.version.from_paths(simi_score(similarities, self.fix_history.touched, self.fix_history.sizes))


class BugLocator(Baseline):
    """BugLocator (ICSE 2012)."""

    name: ClassVar[str] = "buglocator"
    Settings: ClassVar = BugLocatorSettings
    upstream_cutoff: ClassVar[Cutoff] = "fix_order"

    def __init__(self, settings: BugLocatorSettings, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(settings, context, seed)
        self.similar_reports = SimilarReports(
            context.fix_history, lambda report: report_stems(report, settings.stopping), settings.weighting
        )
        key = (settings.stopping, settings.code_stops, settings.nested_names)
        self.counts = context.files.counts(f"buglocator {key}", lambda source: code_terms(source, settings))

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) (1 - alpha) mm(rVSM) + alpha mm(Simi)."""
        alpha = self.settings.alpha
        text, similar = min_max(self.rvsm(query)), min_max(self.similar_reports.simi_scores(query))
        score: FloatArray = (1 - alpha) * text + alpha * similar
        return score

    def rvsm(self, query: BaselineQuery) -> FloatArray:
        """(F,) length score times cosine."""
        version = query.version
        space = VectorSpace(self.counts, version.multiplicity)
        cosine = version.to_files(space.cosine(report_stems(query.report, self.settings.stopping)))
        lengths = version.to_files(self.counts.lengths)
        of_length = step_length_score if self.settings.length == "three_sigma" else plain_length_score
        return cosine * of_length(lengths)
