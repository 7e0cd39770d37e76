"""BugLocator: a vector space model that favours long files, and the files of similar bugs fixed before.

Zhou, Zhang, Lo: Where should the bugs be fixed? ICSE 2012 (docs/method.md, section B.3).

    score(f) = (1 - alpha) mm(rVSM(f)) + alpha mm(Simi(f))
    rVSM(f)  = cos(report, f) / (1 + exp(-L(f)))
    Simi(f)  = sum over the known fixed reports S that changed f of cos(report, S) / number of files S changed

mm is min-max over the files of the version. ``upstream`` follows the public code: L is 6 (x - m) / (high - m) within
three sigma instead of (x - min) / (max - min); stop lists are stemmed and tested as the code does; report vectors weigh
f / sum f x ln(R / r_t) over all reports, later ones too; names of nested types are not appended. It wants a past cut at
the fix (``upstream_cutoff``). Not imitated: the second stemmer over report vectors (Lovins), files lost because their
class name stands in another file too, annotation types left out, dates read with a 12-hour clock.

BRTracer, AmaLgam and BLIA use parts of it: ``Reports.simi`` is their SimiScore.

Shapes: B blobs on the files, F files of a version, R labelled reports, V terms of reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Literal, TypeAlias

import numpy as np

from tosloc.analysis.parsed_source import ParsedSource, PieceKind
from tosloc.config import Share, Words
from tosloc.lab.baselines.context import (
    Baseline,
    BaselineContext,
    BaselineQuery,
    Cutoff,
    FixHistory,
    FixHistoryAsOf,
    ParsedVersion,
)
from tosloc.lab.baselines.settings import Settings
from tosloc.lab.baselines.texts import KEYWORDS, STOP_WORDS, code_words, nl_words, porter, report_text, stemmed, stopped
from tosloc.lab.baselines.vsm import Counts, Space, count, min_max, simi, step_length_score
from tosloc.records import BugReport, FloatArray

Stopping: TypeAlias = Literal["plain", "mixed"]
"""``plain``: words as written against the lists; ``mixed``: as the public code, whose lists are stemmed."""
Weighting: TypeAlias = Literal["published", "wvtool"]
"""Of terms in reports. ``published``: (ln f + 1) ln(N / n) over what is known; ``wvtool``: f / sum f x ln(R / r)."""
Length: TypeAlias = Literal["minmax", "three_sigma", "none"]
"""What rVSM is multiplied by: the paper's length score, the public code's, or nothing."""
ReportTerms: TypeAlias = Callable[[BugReport], list[str]]

_STEMMED_STOPS: Final = frozenset(map(porter, STOP_WORDS))


class TextSettings(Settings):
    """How BugLocator and BRTracer read files and reports, and how they compare reports."""

    UPSTREAM: ClassVar[Mapping[str, Any]] = {
        "stopping": "mixed",
        "code_stops": ("string", "main", "args", "org", "eclipse", "swt"),
        "nested_names": False,
        "weighting": "wvtool",
    }

    stopping: Stopping = "plain"
    code_stops: Words = ("string", "main", "args")
    """Words dropped from code beside Java's keywords and the English stop words."""
    plain_comments: bool = False
    """Whether line and block comments are read too, which the public code's parser loses."""
    nested_names: bool = True
    """Whether names of nested types are appended like those of the top level."""
    weighting: Weighting = "published"


class BugLocatorSettings(TextSettings):
    """Settings of BugLocator."""

    UPSTREAM: ClassVar[Mapping[str, Any]] = {**TextSettings.UPSTREAM, "length": "three_sigma"}

    alpha: Share = 0.2
    """Share of similar reports."""
    length: Length = "minmax"
    scale: float = 1.0
    """Steepness of the length score ``minmax``."""


def report_terms(report: BugReport, stopping: Stopping = "plain") -> list[str]:
    """Stems of summary and description without stop words."""
    words = nl_words(report_text(report))
    if stopping == "mixed":
        return [stem for word in words if (stem := porter(word.lower())) not in _STEMMED_STOPS]
    return stemmed(stopped(words, STOP_WORDS))


def code_terms(source: ParsedSource, settings: TextSettings) -> list[str]:
    """Stems of the parts of a file's words, then its appended names (docs/method.md, section B.3.2)."""
    kinds: tuple[PieceKind, ...] = ("code", "string", "javadoc")
    if settings.plain_comments:
        kinds = (*kinds, "comment")
    stops = KEYWORDS | STOP_WORDS | frozenset(settings.code_stops)
    if settings.stopping == "mixed":
        stops = frozenset(map(porter, stops))
    return stemmed(stopped(code_words(source.text(*kinds)), stops)) + name_terms(source, settings)


def name_terms(source: ParsedSource, settings: TextSettings) -> list[str]:
    """Stems of the names, not cut into parts, of a file's types and methods."""
    types = source.types if settings.nested_names else source.outer
    return [porter(name.lower()) for name in (*types, *source.methods)]


def length_score(lengths: FloatArray, scale: float = 1.0) -> FloatArray:
    """(F,) the paper's length score 1 / (1 + exp(-scale (x - min) / (max - min))), from .5 to .731 with scale 1."""
    score: FloatArray = 1.0 / (1.0 + np.exp(-scale * min_max(lengths)))
    return score


class Reports:
    """The labelled reports of an fix_history as term vectors, and SimiScore over those that were fixed before."""

    def __init__(self, fix_history: FixHistory, terms: ReportTerms, weighting: Weighting = "published") -> None:
        self.fix_history, self.terms, self.weighting = fix_history, terms, weighting
        self.counts: Counts = count(terms(case.report) for case in fix_history.cases)
        # f / sum f: the sum goes when vectors are made 1 long
        self._frequencies = self.counts.matrix if weighting == "wvtool" else self.counts.log_counts
        self._squares = self._frequencies.power(2)

    def similarities(self, report: BugReport, known: FixHistoryAsOf) -> FloatArray:
        """(R,) cosine of a report with each known one; 0 for all others.

        ``published``: N and n_t are over the known reports and this one, so no other report has a say.
        """
        among = np.zeros(len(self.fix_history.cases))
        among[known.reports] = 1.0
        columns, counts = self.counts.query(words := self.terms(report))
        strange = [number for term, number in Counter(words).items() if term not in self.counts.numbers]
        others = among
        if self.weighting == "wvtool":  # all reports, whenever they were opened
            others = np.ones(len(among))
            others[[place for place in [self.fix_history.place.get(report.id)] if place is not None]] = 0.0
        number = others.sum() + 1.0
        holders = self.counts.held_by_term @ others
        holders[columns] += 1.0
        idf = np.where(holders > 0, np.log(number / np.maximum(holders, 1.0)), 0.0)
        query = np.zeros(len(idf))
        query[columns] = self._weigh(counts) * idf[columns]
        # terms of no labelled report: only this one holds them
        beside = self._weigh(np.array(strange, dtype=np.float64)) * np.log(number)
        length = np.sqrt((query**2).sum() + (beside**2).sum())
        product = self._frequencies @ (query * idf)
        scale = np.sqrt(self._squares @ idf**2) * length
        cosine: FloatArray = np.divide(product, scale, out=np.zeros_like(product), where=scale > 0)
        return cosine * among

    def _weigh(self, counts: FloatArray) -> FloatArray:
        return counts if self.weighting == "wvtool" else np.log(counts) + 1.0

    def simi(self, query: BaselineQuery) -> FloatArray:
        """(F,) SimiScore of the version's files; files that a fix changed and that are gone count in its size."""
        similarities = self.similarities(query.report, query.history)
        return query.version.from_paths(simi(similarities, self.fix_history.touched, self.fix_history.sizes))


class BugLocator(Baseline):
    """BugLocator (ICSE 2012)."""

    name: ClassVar[str] = "buglocator"
    Settings: ClassVar = BugLocatorSettings
    upstream_cutoff: ClassVar[Cutoff] = "fix_order"

    def __init__(self, settings: BugLocatorSettings, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(settings, context, seed)
        self.reports = Reports(
            context.fix_history, lambda report: report_terms(report, settings.stopping), settings.weighting
        )
        self.counts = context.files.counts(f"buglocator {text_key(settings)}", lambda one: code_terms(one, settings))

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) (1 - alpha) mm(rVSM) + alpha mm(Simi)."""
        alpha = self.settings.alpha
        fused: FloatArray = (1 - alpha) * min_max(self.rvsm(query)) + alpha * min_max(self.reports.simi(query))
        return fused

    def rvsm(self, query: BaselineQuery) -> FloatArray:
        """(F,) length score times cosine."""
        version = query.version
        space = Space(self.counts, version.multiplicity)
        cosine = version.to_files(space.cosine(report_terms(query.report, self.settings.stopping)))
        return cosine * self.length_scores(version)

    def length_scores(self, version: ParsedVersion) -> FloatArray:
        """(F,) what the length of a file, in terms, is worth."""
        lengths = version.to_files(self.counts.lengths)
        if self.settings.length == "three_sigma":
            return step_length_score(lengths)
        return length_score(lengths, self.settings.scale) if self.settings.length == "minmax" else np.ones(len(version))


def text_key(settings: TextSettings) -> str:
    """What tells apart ways of cutting a file into terms."""
    return repr((settings.stopping, settings.code_stops, settings.plain_comments, settings.nested_names))
