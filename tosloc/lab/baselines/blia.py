"""BLIA: a score from four parts of a file, similar bugs, stack traces and commits.

Youm, Ahn, Kim and Lee, APSEC 2015 and IST 2017 (docs/method.md, section B.7). Methods of nested
types also count. Comments of reports are not read, because the data contain none.

Shapes: B blobs, F files of a version, V terms, T terms of a report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, ClassVar, Final

import numpy as np
from scipy import sparse

from tosloc.code.parsed_source import ParsedSource
from tosloc.core.arrays import FloatArray
from tosloc.core.reports import BugReport
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
    blia_words,
    stems,
    strip_bug_prefix,
)
from tosloc.lab.baselines.vsm import (
    TermCounts,
    VectorSpace,
    count_terms,
    divide_or_zero,
    step_length_score,
)
from tosloc.reports.traces import Frame, frames
from tosloc.retrieval.texts import min_max

SIMILAR_SHARE: Final = 0.2
"""Share of similar bugs, alpha: Bench4BL's launcher, section B.7.5. The authors tuned it on test
reports."""
COMMIT_SHARE: Final = 0.2
"""Share of commits, beta: Bench4BL's launcher, section B.7.5."""
PART_WEIGHTS: Final = {"class": 1.0, "method": 1.0, "variable": 1.0, "comment": 0.5}
"""Weight of each part of a file: public code, section B.7.3."""
_STOP_WORDS: Final = STOP_WORDS | {"args", "main", "string"}
_ALPHANUMERIC = re.compile(r"[A-Za-z0-9]+")
_DOC_TAG = re.compile(r"\{?@\w+")
_DOC_LINE = re.compile(r"^[\s*]{0,200}@(?:author|version|since)\b.*$", re.M)
_PLATFORM_PREFIXES: Final = ("java.", "javax.", "sun.", "com.sun.", "jdk.")


def report_terms(text: str) -> list[str]:
    """Return the terms of a report's text; Java's keywords are kept.

    >>> report_terms("new Eclipse main loop's the")
    ['new', 'eclips', 'loop']
    """
    return stems(blia_words(text), _STOP_WORDS)


@cache
def _stem_name(name: str, with_whole: bool) -> list[str]:
    """Return the stems of a name's parts and, with ``with_whole``, also of its unsplit words."""
    words: list[str] = []
    for raw_word in _ALPHANUMERIC.findall(name):
        forms = blia_words(raw_word)  # the word, followed by its parts if it has several
        words += forms if with_whole or len(forms) == 1 else forms[1:]
    return stems(words, _STOP_WORDS | KEYWORDS)


def name_terms(names: Iterable[str], with_whole: bool = True) -> list[str]:
    """Return the terms of declared names.

    Types and methods count with their unsplit names and their parts. Variables count with their
    parts only (``with_whole`` is False).

    >>> name_terms(["newLoop_old$3", "main"])
    ['newloop', 'loop', 'old', '3']
    """
    terms: list[str] = []
    for name in names:
        terms += _stem_name(name, with_whole)
    return terms


def comment_terms(source: ParsedSource) -> list[str]:
    """Return the terms of a file's comments.

    Comments that contain "copyright", lines of authors, versions and "since", and the names of
    tags are left out.
    """
    terms: list[str] = []
    for kind, text in source.pieces:
        if kind in ("head", "javadoc", "comment") and "copyright" not in text.lower():
            words = blia_words(_DOC_TAG.sub(" ", _DOC_LINE.sub(" ", text)))
            terms += stems(words, _STOP_WORDS | KEYWORDS)
    return terms


PART_TERMS: Final[dict[str, Callable[[ParsedSource], Sequence[str]]]] = {
    "class": lambda source: name_terms(source.outer_types),
    "method": lambda source: name_terms(source.methods),
    "variable": lambda source: name_terms(source.variables, with_whole=False),
    "comment": comment_terms,
}
"""Part of a file -> function that returns its terms."""


class FileParts:
    """The four parts of every blob, weighted by statistics of all parts together.

    Docs/method.md, section B.7.3.
    """

    def __init__(self, files: ParsedFiles) -> None:
        vocabulary: dict[str, int] = {}
        frequencies: dict[str, Any] = {
            part: count_terms(map(terms, files.sources), vocabulary).matrix
            for part, terms in PART_TERMS.items()
        }
        for matrix in frequencies.values():
            # The vocabulary grew from part to part: give all parts a column for every term.
            matrix.resize(len(files), len(vocabulary))
        first, *others = frequencies.values()
        self.all_parts = TermCounts(sparse.csr_array(sum(others, start=first)), vocabulary)
        """Counts of the terms of all parts together."""
        self.tf: dict[str, sparse.csr_array] = {}
        """For each part, (B, V) ln(f) + 1 of the blob, where the part has the term."""
        self.squared_tf: dict[str, sparse.csr_array] = {}
        for part, matrix in frequencies.items():
            tf = sparse.csr_array(self.all_parts.log_tf.multiply(matrix.sign()))
            self.tf[part] = tf
            self.squared_tf[part] = tf.power(2)

    def cosines(
        self, space: VectorSpace, summary: Sequence[str], description: Sequence[str]
    ) -> FloatArray:
        """Return (B,) the weighted sum of the parts' cosines with the summary and the description.

        Summary and description are sequences of terms; 0/0 is 0.
        """
        # The weight of a term counts its occurrences in the whole report, for both of its texts.
        columns, weights = space.query_weights([*summary, *description])
        query = np.zeros(len(space.idf))
        for terms in (summary, description):
            in_text = np.isin(columns, self.all_parts.query_counts(terms)[0])
            norm = float(np.sqrt((weights[in_text] ** 2).sum()))
            query[columns[in_text]] += weights[in_text] / (norm or 1.0)
        total = np.zeros(len(space.norms))
        for part, part_weight in PART_WEIGHTS.items():
            products = self.tf[part] @ (query * space.idf)
            part_norms = np.sqrt(self.squared_tf[part] @ space.idf**2)
            total += part_weight * divide_or_zero(products, part_norms)
        return total


def locate_frame(version: ParsedVersion, frame: Frame) -> list[int]:
    """Return the positions of the files that a stack frame can mean.

    They are found by class, or else by package and file name, or else by a file name that occurs
    only once in the version.
    """
    positions = version.find_class(frame.type)
    package, _, _ = frame.type.rpartition(".")
    stem = frame.file.rpartition(".")[0]
    if not positions and package and stem:
        positions = version.find_class(f"{package}.{stem}")
    if not positions and stem and not frame.type.startswith(_PLATFORM_PREFIXES):
        same_name = version.find_class(stem)
        positions = same_name if len(same_name) == 1 else []
    return positions


class BLIA(Baseline):
    """BLIA (APSEC 2015), which ranks files only."""

    name: ClassVar[str] = "blia"

    def __init__(self, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(context, seed)
        self.parts = FileParts(context.files)
        self.similar_reports = SimilarReports(context.fix_history, _all_terms)
        self.commits = FixCommits(context.fix_history)

    def scores(self, query: BaselineQuery) -> FloatArray:
        """Return (F,) (1 - beta) base + beta H if base is above 0, else 0.

        base is (1 - alpha) min-max(VSM) + alpha min-max(SimiScore) + Trace. H is the commit score
        of AmaLgam, VSM the score of ``text``, and Trace that of ``trace``.
        """
        similar = min_max(self.similar_reports.simi_scores(query))
        text = min_max(self.text(query))
        base = (1 - SIMILAR_SHARE) * text + SIMILAR_SHARE * similar + self.trace(query)
        score = (1 - COMMIT_SHARE) * base + COMMIT_SHARE * self.commits.scores(query)
        return np.where(base > 0, score, 0.0)

    def text(self, query: BaselineQuery) -> FloatArray:
        """Return (F,) VSM, the similarity of each file's text to the report.

        It is the weighted sum of the cosines of the parts of the file, times the score of the
        file's length.
        """
        version = query.version
        space = VectorSpace.of_version(self.parts.all_parts, version.multiplicity)
        cosines = self.parts.cosines(
            space, _summary_terms(query.report), report_terms(query.report.description)
        )
        lengths = version.from_blobs(self.parts.all_parts.lengths)
        return step_length_score(lengths) * version.from_blobs(cosines)

    def trace(self, query: BaselineQuery) -> FloatArray:
        """Return (F,) BLIA's score of stack traces, by the rank of a frame among all frames."""
        return trace_boost(query.version, _locate_frames(query.version, query.report))


def _locate_frames(version: ParsedVersion, report: BugReport) -> Iterator[list[int]]:
    for frame in frames(f"{report.summary}\n{report.description}"):
        if frame.type:
            yield locate_frame(version, frame)


def _summary_terms(report: BugReport) -> list[str]:
    return report_terms(strip_bug_prefix(report.summary))


def _all_terms(report: BugReport) -> list[str]:
    return [*_summary_terms(report), *report_terms(report.description)]
