"""BLIA: four parts of a file, similar bugs, stack traces and commits, Youm, Ahn, Kim and Lee, APSEC 2015 and IST 2017.

Docs/method.md, section B.7; what the upstream profile does and leaves: B.7.7. Not imitated: comments of reports
(the data has none), the last word of a text left whole, the second stemmer of report vectors (Lovins), a commit log
that ends at the first odd date. In both profiles methods are those of nested types, too.

Shapes: B blobs, F files of a version, V terms, T terms of a report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, TypeAlias

import numpy as np
from pydantic import NonNegativeFloat, PositiveFloat
from scipy import sparse

from tosloc.config import Share, Words
from tosloc.index.bm25 import min_max
from tosloc.lab.baselines.amalgam import FixCommits
from tosloc.lab.baselines.brtracer import imported_files, trace_scores
from tosloc.lab.baselines.buglocator import SimilarReports, Weighting
from tosloc.lab.baselines.context import (
    Baseline,
    BaselineContext,
    BaselineQuery,
    Cutoff,
    ParsedFiles,
    ParsedVersion,
    Settings,
)
from tosloc.lab.baselines.parsed_source import ParsedSource, PieceKind
from tosloc.lab.baselines.texts import KEYWORDS, STOP_WORDS, blia_words, stems, without_doc_tags, without_prefix
from tosloc.lab.baselines.vsm import Counts, VectorSpace, count, step_length_score
from tosloc.records import BoolArray, BugReport, FloatArray
from tosloc.reports.traces import Frame, frames

SourceWeight: TypeAlias = Literal["tf_idf", "idf_idf"]
"""Of terms in a part. ``idf_idf``: idf squared for each time the part repeats the term, as the public code has it."""

PARTS: Final = ("class", "method", "variable", "comment")
COMMENTS: Final[tuple[PieceKind, ...]] = ("head", "javadoc", "comment")
_RUN = re.compile(r"[A-Za-z0-9]+")
_PLATFORM: Final = ("java.", "javax.", "sun.", "com.sun.", "jdk.")


class BLIASettings(Settings):
    """Settings of BLIA."""

    UPSTREAM: ClassVar[Mapping[str, Any]] = {
        "source_weight": "idf_idf",
        "candidate_rate": 0.1,
        "lose_similar": True,
        "import_boost": 0.0,
        "guess_files": False,
        "weighting": "wvtool",
        "stops": tuple("args method main param aspectj swt eclipse zxing string java org javadoc".split()),
    }

    alpha: Share = 0.2
    beta: Share = 0.2
    days: PositiveFloat = 15.0
    comment_weight: NonNegativeFloat = 0.5
    """w of the comments; the other parts weigh 1."""
    source_weight: SourceWeight = "tf_idf"
    candidate_rate: Share = 1.0
    """Share of the files, by text, that are ranked at all."""
    lose_similar: bool = False
    """Whether similar bugs are dropped when there are more different scores than candidates."""
    import_boost: Share = 0.1
    """What a class counts that a file of the trace imports."""
    guess_files: bool = True
    """Whether a frame whose class is not found means the file of that name, if there is but one."""
    weighting: Weighting = "published"
    stops: Words = ("args", "main", "string")
    """Stop words beside English ones; in files beside Java's keywords, too."""


class BLIATokenizer:
    """How BLIA tokenises names, comments and reports."""

    def __init__(self, stops: Iterable[str]) -> None:
        self.report_stops = STOP_WORDS | frozenset(stops)
        self.source_stops = self.report_stops | KEYWORDS
        self._known: dict[tuple[str, bool], list[str]] = {}

    def report(self, text: str) -> list[str]:
        """Terms of a text of a report; Java's keywords stay."""
        return stems(blia_words(text), self.report_stops)

    def names(self, names: Iterable[str], whole: bool = True) -> list[str]:
        """Terms of names: those of types and methods whole and in parts, those of variables in parts only."""
        found: list[str] = []
        for name in names:
            if (name, whole) not in self._known:
                words: list[str] = []
                for run in _RUN.findall(name):
                    forms = blia_words(run)
                    words += forms if whole or len(forms) == 1 else forms[1:]
                self._known[name, whole] = stems(words, self.source_stops)
            found += self._known[name, whole]
        return found

    def comments(self, source: ParsedSource) -> list[str]:
        """Terms of the comments but for those that speak of a copyright."""
        texts = [text for kind, text in source.pieces if kind in COMMENTS and "copyright" not in text.lower()]
        return [term for text in texts for term in stems(blia_words(without_doc_tags(text)), self.source_stops)]


class Parts:
    """The four parts of every blob; weights come from whole files (docs/method.md, section B.7.3)."""

    def __init__(self, files: ParsedFiles, tokenizer: BLIATokenizer, weight: SourceWeight) -> None:
        terms: dict[str, Callable[[ParsedSource], Sequence[str]]] = {
            "class": lambda source: tokenizer.names(source.outer),
            "method": lambda source: tokenizer.names(source.methods),
            "variable": lambda source: tokenizer.names(source.variables, whole=False),
            "comment": tokenizer.comments,
        }
        vocabulary: dict[str, int] = {}
        fields = {part: count(map(of_file, files.sources), vocabulary) for part, of_file in terms.items()}
        for counts in fields.values():  # a column for every term that any part has
            matrix: Any = counts.matrix
            matrix.resize(len(files), len(vocabulary))
        total = sum((fields[part].matrix for part in PARTS[1:]), start=fields["class"].matrix)
        self.whole = Counts(sparse.csr_array(total), vocabulary)
        self.squares: dict[str, sparse.csr_array] = {}
        """Part -> (B, V) squared tf of the whole file where the part holds the term."""
        self.by_term: dict[str, sparse.csr_array] = {}
        """Part -> (V, B) what the part gives to a product with a report, to be multiplied by the weights."""
        for part, counts in fields.items():
            tf = sparse.csr_array(self.whole.log_tf.multiply(counts.presence))
            self.squares[part] = tf.power(2)
            self.by_term[part] = sparse.csr_array((tf if weight == "tf_idf" else counts.matrix).T)
        self.weight = weight

    def cosines(self, space: VectorSpace, summary: Sequence[str], description: Sequence[str]) -> dict[str, FloatArray]:
        """Part -> (B,) sum of its cosines with the summary and with the description; 0/0 is 0."""
        # the weight of a term is that of the whole report, in whichever of its texts it stands
        columns, weights = space.query_weights([*summary, *description])
        shares = np.zeros(len(columns))
        for text in (summary, description):
            inside = np.isin(columns, self.whole.query_counts(text)[0])
            norm = float(np.sqrt((weights[inside] ** 2).sum()))
            if norm > 0:
                shares += inside * weights / norm
        squared_idf = space.idf**2
        source = squared_idf[columns] if self.weight == "idf_idf" else space.idf[columns]
        found: dict[str, FloatArray] = {}
        for part in PARTS:
            product = (shares * source) @ self.by_term[part][columns]
            norms = np.sqrt(self.squares[part] @ squared_idf)
            found[part] = np.divide(product, norms, out=np.zeros_like(product), where=norms > 0)
        return found


def files_of_frame(version: ParsedVersion, frame: Frame, guess: bool) -> list[int]:
    """Positions of the files that a frame can mean: by class, then by package and file, then by file name alone."""
    found = version.files_of_class(frame.type)
    package, _, _ = frame.type.rpartition(".")
    stem = frame.file.rpartition(".")[0]
    if not found and package and stem:
        found = version.files_of_class(f"{package}.{stem}")
    if not found and guess and stem and not frame.type.startswith(_PLATFORM):
        named = version.files_of_class(stem)
        found = named if len(named) == 1 else []
    return found


def listed_by_text(text: FloatArray, rate: float) -> BoolArray:
    """(F,) which files the public code ranks by text: those whose score is among the highest distinct ones.

    ``rate`` x F of them, rounded down, at least one; all that are above 0 if there are fewer; with rate 1 all files.

    >>> listed_by_text(np.array([0.0, 3.0, 1.0, 3.0, 2.0]), 0.4).tolist()
    [False, True, False, True, True]
    """
    if rate >= 1.0:
        return np.ones(len(text), dtype=np.bool_)
    values = np.unique(text[text > 0])[::-1]
    limit = max(int(rate * len(text)), 1)
    least = values[limit - 1] if len(values) > limit else 0.0
    return (text > 0) & (text >= least)


class BLIA(Baseline):
    """BLIA (APSEC 2015), files only."""

    name: ClassVar[str] = "blia"
    Settings: ClassVar = BLIASettings
    upstream_cutoff: ClassVar[Cutoff] = "fix_order"

    def __init__(self, settings: BLIASettings, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(settings, context, seed)
        self.tokenizer = BLIATokenizer(settings.stops)
        self.parts = Parts(context.files, self.tokenizer, settings.source_weight)
        self.similar_reports = SimilarReports(
            context.fix_history, lambda report: [*self._summary(report), *self._description(report)], settings.weighting
        )
        self.commits = FixCommits(context.fix_history)

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) scores, 0 or more; -1 for files that are not ranked."""
        settings = self.settings
        text, similar = self.text(query), self.similar_reports.simi_scores(query)
        chosen = listed_by_text(text, settings.candidate_rate)
        # the public code compares the wrong column with its limit, and so loses all similar bugs
        limit = int(settings.candidate_rate * len(text))
        if settings.lose_similar and len(np.unique(similar[similar > 0])) > limit:
            similar = np.zeros_like(similar)
        # files of similar bugs come in as new rows, without a score by text
        text, ranked = np.where(chosen, text, 0.0), chosen | (similar > 0)
        base = np.zeros(len(text))
        base[ranked] = (1 - settings.alpha) * min_max(text[ranked]) + settings.alpha * min_max(similar[ranked])
        base += self.trace(query)
        commits = self.commits.scores(query, settings.days)
        score = np.where(base > 0, (1 - settings.beta) * base + settings.beta * commits, 0.0)
        return np.where(ranked, score, -1.0)

    def left_out(self, scores: FloatArray) -> int:
        """Files that are neither among the first by text nor fixed with a similar bug."""
        return int((scores < 0).sum())

    def text(self, query: BaselineQuery) -> FloatArray:
        """(F,) VSM."""
        version, report = query.version, query.report
        space = VectorSpace(self.parts.whole, version.multiplicity)
        cosines = self.parts.cosines(space, self._summary(report), self._description(report))
        total = np.zeros(len(version.files))
        for part in PARTS:
            total += (self.settings.comment_weight if part == "comment" else 1.0) * cosines[part]
        return step_length_score(version.to_files(self.parts.whole.lengths)) * version.to_files(total)

    def trace(self, query: BaselineQuery) -> FloatArray:
        """(F,) Trace."""
        version, settings, report = query.version, self.settings, query.report
        trace = [frame for frame in frames(f"{report.summary}\n{report.description}") if frame.type]
        named = trace_scores(files_of_frame(version, frame, settings.guess_files) for frame in trace)
        boost = np.zeros(len(version))
        boost[list(imported_files(version, named))] = settings.import_boost
        boost[list(named)] = list(named.values())
        return boost

    def _summary(self, report: BugReport) -> list[str]:
        return self.tokenizer.report(without_prefix(report.summary))

    def _description(self, report: BugReport) -> list[str]:
        return self.tokenizer.report(report.description)
