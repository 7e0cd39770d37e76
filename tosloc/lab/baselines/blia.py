"""BLIA: four parts of a file, similar bugs, stack traces and commits, Youm, Ahn, Kim and Lee, APSEC 2015 and IST 2017.

Docs/method.md, section B.7. Methods are those of nested types, too; comments of reports are not read, as the data has
none. Shapes: B blobs, F files of a version, V terms, T terms of a report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import chain
from typing import Any, ClassVar, Final

import numpy as np
from scipy import sparse

from tosloc.core.records import BugReport, FloatArray
from tosloc.lab.baselines.amalgam import FixCommits
from tosloc.lab.baselines.brtracer import trace_boost
from tosloc.lab.baselines.buglocator import SimilarReports
from tosloc.lab.baselines.context import (
    Baseline,
    BaselineContext,
    BaselineQuery,
    ParsedFiles,
    ParsedVersion,
)
from tosloc.lab.baselines.texts import (
    KEYWORDS,
    STOP_WORDS,
    ParsedSource,
    blia_words,
    stems,
    without_prefix,
)
from tosloc.lab.baselines.vsm import Counts, VectorSpace, count, ratio, step_length_score
from tosloc.reports.traces import Frame, frames
from tosloc.retrieval.bm25 import min_max

ALPHA: Final = 0.2  # share of similar bugs: Bench4BL's launcher (the authors tuned it on test reports), section B.7.5
BETA: Final = 0.2  # share of commits: Bench4BL's launcher
WEIGHTS: Final = {
    "class": 1.0,
    "method": 1.0,
    "variable": 1.0,
    "comment": 0.5,
}  # of parts: public code, section B.7.3
_STOPS: Final = STOP_WORDS | {"args", "main", "string"}
_RUN = re.compile(r"[A-Za-z0-9]+")
_DOC_TAG = re.compile(r"\{?@\w+")
_DOC_LINE = re.compile(r"^[\s*]{0,200}@(?:author|version|since)\b.*$", re.M)
_PLATFORM: Final = ("java.", "javax.", "sun.", "com.sun.", "jdk.")


def report_terms(text: str) -> list[str]:
    """Terms of a text of a report; Java's keywords stay.

    >>> report_terms("new Eclipse main loop's the")
    ['new', 'eclips', 'loop']
    """
    return stems(blia_words(text), _STOPS)


@cache
def _terms_of_name(name: str, whole: bool) -> list[str]:
    forms = map(blia_words, _RUN.findall(name))
    words = [word for form in forms for word in (form if whole or len(form) == 1 else form[1:])]
    return stems(words, _STOPS | KEYWORDS)


def name_terms(names: Iterable[str], whole: bool = True) -> list[str]:
    """Terms of names: those of types and methods whole and in parts, those of variables in parts only.

    >>> name_terms(["newLoop_old$3", "main"])
    ['newloop', 'loop', 'old', '3']
    """
    return [term for name in names for term in _terms_of_name(name, whole)]


def comment_terms(source: ParsedSource) -> list[str]:
    """Terms of the comments but for those that speak of a copyright, lines of authors and versions, names of tags."""
    texts = [text for kind, text in source.pieces if kind in ("head", "javadoc", "comment")]
    kept = (
        _DOC_TAG.sub(" ", _DOC_LINE.sub(" ", text))
        for text in texts
        if "copyright" not in text.lower()
    )
    return [term for text in kept for term in stems(blia_words(text), _STOPS | KEYWORDS)]


PARTS: Final[dict[str, Callable[[ParsedSource], Sequence[str]]]] = {
    "class": lambda source: name_terms(source.outer),
    "method": lambda source: name_terms(source.methods),
    "variable": lambda source: name_terms(source.variables, whole=False),
    "comment": comment_terms,
}


class Parts:
    """The four parts of every blob; weights come from whole files (docs/method.md, section B.7.3)."""

    def __init__(self, files: ParsedFiles) -> None:
        vocabulary: dict[str, int] = {}
        fields: dict[str, Any] = {
            part: count(map(terms, files.sources), vocabulary).matrix
            for part, terms in PARTS.items()
        }
        for matrix in fields.values():  # a column for every term that any part has
            matrix.resize(len(files), len(vocabulary))
        first, *others = fields.values()
        self.whole = Counts(sparse.csr_array(sum(others, start=first)), vocabulary)
        self.tf = {
            part: sparse.csr_array(self.whole.log_tf.multiply(one.sign()))
            for part, one in fields.items()
        }
        """Part -> (B, V) tf of the whole file where the part holds the term."""
        self.squares = {part: tf.power(2) for part, tf in self.tf.items()}

    def cosines(
        self, space: VectorSpace, summary: Sequence[str], description: Sequence[str]
    ) -> FloatArray:
        """(B,) weighted sum over parts of their cosines with the summary and with the description; 0/0 is 0."""
        # the weight of a term is that of the whole report, in whichever of its texts it stands
        columns, weights = space.query_weights([*summary, *description])
        asked = np.zeros(len(space.idf))
        for text in (summary, description):
            inside = np.isin(columns, self.whole.query_counts(text)[0])
            norm = float(np.sqrt((weights[inside] ** 2).sum()))
            asked[columns[inside]] += weights[inside] / (norm or 1.0)
        total = np.zeros(len(space.norms))
        for part, weight in WEIGHTS.items():
            total += weight * ratio(
                self.tf[part] @ (asked * space.idf), np.sqrt(self.squares[part] @ space.idf**2)
            )
        return total


def files_of_frame(version: ParsedVersion, frame: Frame) -> list[int]:
    """Positions of the files that a frame can mean: by class, then by package and file, then by a unique file name."""
    found = version.files_of_class(frame.type)
    package, _, _ = frame.type.rpartition(".")
    stem = frame.file.rpartition(".")[0]
    if not found and package and stem:
        found = version.files_of_class(f"{package}.{stem}")
    if not found and stem and not frame.type.startswith(_PLATFORM):
        named = version.files_of_class(stem)
        found = named if len(named) == 1 else []
    return found


class BLIA(Baseline):
    """BLIA (APSEC 2015), files only."""

    name: ClassVar[str] = "blia"

    def __init__(self, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(context, seed)
        self.parts = Parts(context.files)
        self.similar_reports = SimilarReports(
            context.fix_history, lambda report: [*chain(*_terms(report))]
        )
        self.commits = FixCommits(context.fix_history)

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) scores, 0 or more."""
        similar = min_max(self.similar_reports.simi_scores(query))
        base = (1 - ALPHA) * min_max(self.text(query)) + ALPHA * similar + self.trace(query)
        return np.where(base > 0, (1 - BETA) * base + BETA * self.commits.scores(query), 0.0)

    def text(self, query: BaselineQuery) -> FloatArray:
        """(F,) VSM."""
        version, whole = query.version, self.parts.whole
        cosines = self.parts.cosines(
            VectorSpace.of(whole, version.multiplicity), *_terms(query.report)
        )
        return step_length_score(version.to_files(whole.lengths)) * version.to_files(cosines)

    def trace(self, query: BaselineQuery) -> FloatArray:
        """(F,) Trace: ranks count repeats and frames of other projects."""
        report = query.report
        trace = (frame for frame in frames(f"{report.summary}\n{report.description}") if frame.type)
        return trace_boost(query.version, (files_of_frame(query.version, frame) for frame in trace))


def _terms(report: BugReport) -> tuple[list[str], list[str]]:
    """Of summary and description."""
    return report_terms(without_prefix(report.summary)), report_terms(report.description)
