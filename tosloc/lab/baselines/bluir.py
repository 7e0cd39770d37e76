"""BLUiR: structured retrieval, Saha, Lease, Khurshid and Perry, ASE 2013 (docs/method.md, section B.5).

Each of two query fields (summary, description) asks each of four fields of a file (class names, method names,
identifiers, comments), with the statistics of that field alone; the eight scores are added.

The upstream profile imitates the version that Bench4BL ships: split forms only in the files, a query frequency that
counts linearly, no place for files without a word of the report. Not imitated: Krovetz's stemmer, which needs a
dictionary of its own (Porter's stands in), Indri's stop list, descriptions cut at their first entity, lost file names.

Shapes: B blobs on the files, F files of a version, V terms of a field, T terms of a report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Literal

import numpy as np
from pydantic import PositiveFloat
from scipy import sparse

from tosloc.analysis.parsed_source import ParsedSource
from tosloc.config import Share
from tosloc.lab.baselines.buglocator import Reports, report_terms
from tosloc.lab.baselines.context import Baseline, BaselineContext, BaselineQuery
from tosloc.lab.baselines.settings import Settings
from tosloc.lab.baselines.texts import KEYWORDS, STOP_WORDS, bluir_raw, bluir_split, stemmed, stopped, without_prefix
from tosloc.lab.baselines.vsm import Counts, min_max
from tosloc.records import BugReport, FloatArray, LongArray

FIELDS: Final = ("class", "method", "identifier", "comments")
_IDENTIFIER = re.compile(r"(?<![\w$])[A-Za-z_$][\w$]*")


class BLUiRSettings(Settings):
    """Settings of BLUiR."""

    UPSTREAM: ClassVar[Mapping[str, Any]] = {
        "whole_names": False,
        "query_frequency": "linear",
        "only_matches": True,
    }

    k1: PositiveFloat = 1.0
    b: Share = 0.3
    """How much the length of a field counts."""
    k3: PositiveFloat = 1000.0
    whole_names: bool = True
    """Whether class, method and identifier fields hold names whole beside their parts."""
    query_frequency: Literal["saturated", "linear"] = "saturated"
    """``linear``: each occurrence of a query word counts as the first does."""
    imports: bool = True
    """Whether names in package and import lines are identifiers, as they are in a syntax version."""
    stemmer: Literal["porter", "none"] = "porter"
    similar_bugs: bool = False
    """Whether BugLocator's SimiScore is mixed in."""
    alpha: Share = 0.2
    """Its share."""
    only_matches: bool = False
    """Whether files without a word of the report count as not ranked."""


def saturated(number: FloatArray, relative_length: FloatArray, k1: float, b: float) -> FloatArray:
    """k1 x / (x + k1 (1 - b + b len / avg)) of counts x in fields of these lengths, docs/method.md, section B.5.4.

    >>> round(float(saturated(np.array(3.0), np.array(20 / 40), 1.0, 0.3)), 6)
    0.779221
    """
    value: FloatArray = k1 * number / (number + k1 * (1.0 - b + b * relative_length))
    return value


def rareness(files: int, frequency: FloatArray) -> FloatArray:
    """idf = ln((N + 1) / (n_t + .5)); above 0 also for a term of all files.

    >>> round(float(rareness(100, np.array(9.0))), 6)
    2.363829
    """
    value: FloatArray = np.log((files + 1.0) / (frequency + 0.5))
    return value


def asked_often(number: FloatArray, k3: float, shape: Literal["saturated", "linear"] = "saturated") -> FloatArray:
    """tf_q = k3 y / (y + k3) of counts y in the query; linear: each occurrence counts as the first does.

    >>> [round(float(asked_often(np.array(2.0), 1000.0, shape)), 6) for shape in ("saturated", "linear")]
    [1.996008, 1.998002]
    """
    value: FloatArray = number * k3 / (number + k3) if shape == "saturated" else number * k3 / (1.0 + k3)
    return value


def names_of(source: ParsedSource, imports: bool) -> list[str]:
    """Every identifier of a file each time it occurs, keywords left out."""
    texts = [text for kind, text in source.pieces if kind == "code"]
    if imports:
        texts += [source.package, *source.imports]
    return [name for text in texts for name in _IDENTIFIER.findall(text) if name not in KEYWORDS]


@dataclass(eq=False)
class _Field:
    """One field of all blobs, by term."""

    counts: Counts

    @cached_property
    def by_term(self) -> sparse.csr_array:
        """(V, B) counts."""
        return sparse.csr_array(self.counts.matrix.T)

    def scores(self, queries: Sequence[Sequence[str]], multiplicity: LongArray, settings: BLUiRSettings) -> FloatArray:
        """(B,) sum over the queries of s(d_f, q); blobs that the version does not hold get values without meaning."""
        files = int(multiplicity.sum())
        weights = np.zeros(self.counts.matrix.shape[1])
        for words in queries:
            columns, numbers = self.counts.query(words)
            weights[columns] += asked_often(numbers, settings.k3, settings.query_frequency)
        terms = np.flatnonzero(weights)
        if not len(terms) or not files:
            return np.zeros(len(multiplicity))
        found = self.by_term[terms]
        held = sparse.csr_array((np.ones_like(found.data), found.indices, found.indptr), shape=found.shape)
        idf = rareness(files, held @ multiplicity.astype(np.float64))
        average = float(self.counts.lengths @ multiplicity) / files
        relative = self.counts.lengths / (average or 1.0)
        found.data = saturated(found.data, relative[found.indices], settings.k1, settings.b)
        score: FloatArray = (weights[terms] * idf**2) @ found
        return score


class BLUiR(Baseline):
    """BLUiR(d, q) = sum over r in {summary, description} and 4 fields f of s(d_f, q_r), docs/method.md, section B.5.4.

    s(d_f, q) = sum of tf_d(x) tf_q(y) idf(t)^2 over the words of the query; with ``similar_bugs``
    (1 - alpha) mm(BLUiR) + alpha mm(Simi).
    """

    name: ClassVar[str] = "bluir"
    Settings: ClassVar = BLUiRSettings

    def __init__(self, settings: BLUiRSettings, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(settings, context, seed)
        self._similar = Reports(context.fix_history, report_terms) if settings.similar_bugs else None
        self._last: tuple[BaselineQuery, FloatArray] | None = None

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) scores; without similar bugs 0 for a file that holds no word of the report."""
        text = self.text(query)
        if self._similar is None:
            return text
        alpha = self.settings.alpha
        fused: FloatArray = (1 - alpha) * min_max(text) + alpha * min_max(self._similar.simi(query))
        return fused

    def left_out(self, query: BaselineQuery) -> int:
        """Files without any word of the report, which Indri does not return."""
        return int((self.text(query) <= 0).sum()) if self.settings.only_matches else 0

    def text(self, query: BaselineQuery) -> FloatArray:
        """(F,) the sum of the eight scores; never below 0."""
        if self._last is None or self._last[0] is not query:
            version = query.version
            total = np.zeros(len(version.files))
            for name in FIELDS:
                total += self._fields[name].scores(
                    self.queries(query.report, name), version.multiplicity, self.settings
                )
            self._last = (query, version.to_files(total))
        return self._last[1]

    def queries(self, report: BugReport, field: str) -> list[list[str]]:
        """Words of the summary and of the description for one field: parts, and but for comments whole words too."""
        return [self._terms(words) for words in self._words(report, field)]

    def query_length(self, report: BugReport) -> int:
        """Words of the whole query, stop words too: Indri divides by it, as every word weighs 1."""
        return sum(len(words) for field in FIELDS for words in self._words(report, field))

    def _words(self, report: BugReport, field: str) -> list[list[str]]:
        texts = (without_prefix(report.summary), report.description)
        return [bluir_split(text) + (bluir_raw(text) if field != "comments" else []) for text in texts]

    def _terms(self, words: list[str]) -> list[str]:
        kept = stopped(words, STOP_WORDS)
        return stemmed(kept) if self.settings.stemmer == "porter" else kept

    @cached_property
    def _fields(self) -> dict[str, _Field]:
        settings = self.settings
        named = (settings.stemmer, settings.whole_names)
        cut: dict[str, tuple[Callable[[ParsedSource], list[str]], tuple[Any, ...]]] = {
            "class": (lambda source: self._named(source.types), named),
            # the public code writes NONE where there is no method; it is a stop word
            "method": (lambda source: self._named(source.methods), named),
            "identifier": (
                lambda source: self._named(names_of(source, settings.imports)),
                (*named, settings.imports),
            ),
            "comments": (
                lambda source: self._terms(bluir_split(source.text("head", "javadoc", "comment"))),
                (settings.stemmer,),
            ),
        }
        files = self.context.files
        return {field: _Field(files.counts(f"bluir {field} {key}", terms)) for field, (terms, key) in cut.items()}

    def _named(self, names: Sequence[str]) -> list[str]:
        known = self._terms_of_name
        found: list[str] = []
        for name in names:
            terms = known.get(name)
            if terms is None:
                parts = bluir_split(name)
                whole = [word for word in bluir_raw(name) if [word] != parts] if self.settings.whole_names else []
                terms = known[name] = self._terms(parts + whole)
            found += terms
        return found

    @cached_property
    def _terms_of_name(self) -> dict[str, list[str]]:
        return {}
