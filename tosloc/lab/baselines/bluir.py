"""BLUiR: structured retrieval, Saha, Lease, Khurshid and Perry, ASE 2013 (docs/method.md, section B.5).

    BLUiR(d, q) = sum over r in {summary, description} and 4 fields f of s(d_f, q_r)

The upstream profile imitates the version that Bench4BL ships (B.5.6), but for Krovetz's stemmer
(Porter's stands in), Indri's stop list, descriptions cut at their first entity, and lost file names.

Shapes: B blobs, F files of a version, V terms of a field, T terms of a report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, TypeAlias

import numpy as np
from pydantic import PositiveFloat
from scipy import sparse

from tosloc.config import Share
from tosloc.lab.baselines.context import Baseline, BaselineContext, BaselineQuery, Settings
from tosloc.lab.baselines.parsed_source import ParsedSource
from tosloc.lab.baselines.texts import KEYWORDS, bluir_raw, bluir_split, stems, without_prefix
from tosloc.lab.baselines.vsm import Counts
from tosloc.records import BugReport, FloatArray, LongArray

_FIELDS: Final = ("class", "method", "identifier", "comments")
QueryFrequency: TypeAlias = Literal["saturated", "linear"]
"""``linear``: each occurrence of a query word counts as the first does."""
_IDENTIFIER = re.compile(r"(?<![\w$])[A-Za-z_$][\w$]*")


class BLUiRSettings(Settings):
    """Settings of BLUiR."""

    UPSTREAM: ClassVar[Mapping[str, Any]] = {"whole_names": False, "query_frequency": "linear", "only_matches": True}

    k1: PositiveFloat = 1.0
    b: Share = 0.3
    k3: PositiveFloat = 1000.0
    whole_names: bool = True
    """Whether class, method and identifier fields hold names whole beside their parts."""
    query_frequency: QueryFrequency = "saturated"
    only_matches: bool = False


def saturated_tf(counts: FloatArray, relative_length: FloatArray, k1: float, b: float) -> FloatArray:
    """tf_d = k1 x / (x + k1 (1 - b + b len / avg)) of counts x in fields of these lengths.

    >>> round(float(saturated_tf(np.array(3.0), np.array(20 / 40), 1.0, 0.3)), 6)
    0.779221
    """
    return k1 * counts / (counts + k1 * (1.0 - b + b * relative_length))


def bluir_idf(files: int, frequencies: FloatArray) -> FloatArray:
    """idf = ln((N + 1) / (n_t + .5)); above 0 also for a term of all files.

    >>> round(float(bluir_idf(100, np.array(9.0))), 6)
    2.363829
    """
    return np.log((files + 1.0) / (frequencies + 0.5))


def query_tf(counts: FloatArray, k3: float, shape: QueryFrequency = "saturated") -> FloatArray:
    """tf_q = k3 y / (y + k3) of counts y in the query; linear: each occurrence counts as the first does.

    >>> [round(float(query_tf(np.array(2.0), 1000.0, shape)), 6) for shape in ("saturated", "linear")]
    [1.996008, 1.998002]
    """
    return counts * k3 / (counts + k3) if shape == "saturated" else counts * k3 / (1.0 + k3)


def identifier_names(source: ParsedSource) -> list[str]:
    """Every identifier of a file each time it occurs, those of package and imports too; no keywords."""
    texts = [text for kind, text in source.pieces if kind == "code"]
    texts += [source.package, *source.imports]
    return [name for text in texts for name in _IDENTIFIER.findall(text) if name not in KEYWORDS]


def field_scores(
    field: Counts, queries: Sequence[Sequence[str]], multiplicity: LongArray, settings: BLUiRSettings
) -> FloatArray:
    """(B,) sum over the queries of s(d_f, q); blobs that the version does not hold get values without meaning."""
    files = int(multiplicity.sum())
    weights = np.zeros(field.matrix.shape[1])
    for words in queries:
        columns, counts = field.query_counts(words)
        weights[columns] += query_tf(counts, settings.k3, settings.query_frequency)
    terms = np.flatnonzero(weights)
    if not len(terms) or not files:
        return np.zeros(len(multiplicity))
    tf = field.by_term[terms]
    presence = sparse.csr_array((np.ones_like(tf.data), tf.indices, tf.indptr), shape=tf.shape)
    idf = bluir_idf(files, presence @ multiplicity.astype(np.float64))
    average = float(field.lengths @ multiplicity) / files
    tf.data = saturated_tf(tf.data, (field.lengths / (average or 1.0))[tf.indices], settings.k1, settings.b)
    return (weights[terms] * idf**2) @ tf


class BLUiR(Baseline):
    """BLUiR (ASE 2013)."""

    name: ClassVar[str] = "bluir"
    Settings: ClassVar = BLUiRSettings

    def __init__(self, settings: BLUiRSettings, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(settings, context, seed)
        self._terms_of_name: dict[str, list[str]] = {}

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) the sum of the eight scores; 0 for a file that holds no word of the report, never below."""
        version = query.version
        total = np.zeros(len(version.files))
        for name, counts in self._fields.items():
            total += field_scores(counts, self.queries(query.report, name), version.multiplicity, self.settings)
        return version.to_files(total)

    def left_out(self, scores: FloatArray) -> int:
        """Files without any word of the report, which Indri does not return."""
        return int((scores <= 0).sum()) if self.settings.only_matches else 0

    def queries(self, report: BugReport, field: str) -> list[list[str]]:
        """Words of the summary and of the description for one field: parts, and but for comments whole words too."""
        return [stems(words) for words in _query_words(report, field)]

    def query_length(self, report: BugReport) -> int:
        """Words of the whole query, stop words too: Indri divides by it, as every word weighs 1."""
        return sum(len(words) for field in _FIELDS for words in _query_words(report, field))

    @cached_property
    def _fields(self) -> dict[str, Counts]:
        tokenisers: dict[str, Callable[[ParsedSource], list[str]]] = {
            "class": lambda source: self._name_terms(source.types),
            # the public code writes NONE where there is no method; it is a stop word
            "method": lambda source: self._name_terms(source.methods),
            "identifier": lambda source: self._name_terms(identifier_names(source)),
            "comments": lambda source: stems(bluir_split(source.text("head", "javadoc", "comment"))),
        }
        files, whole = self.context.files, self.settings.whole_names
        return {name: files.counts(f"bluir {name} {whole}", terms) for name, terms in tokenisers.items()}

    def _name_terms(self, names: Sequence[str]) -> list[str]:
        known = self._terms_of_name
        found: list[str] = []
        for name in names:
            if name not in known:
                parts = bluir_split(name)
                whole = [word for word in bluir_raw(name) if [word] != parts] if self.settings.whole_names else []
                known[name] = stems(parts + whole)
            found += known[name]
        return found


def _query_words(report: BugReport, field: str) -> list[list[str]]:
    texts = (without_prefix(report.summary), report.description)
    return [bluir_split(text) + (bluir_raw(text) if field != "comments" else []) for text in texts]
