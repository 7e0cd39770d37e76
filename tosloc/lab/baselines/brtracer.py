"""BRTracer: BugLocator over segments of files, with a boost for the files that stack traces name.

Wong, Xiong, Zhang, Hao, Zhang, Mei: Boosting bug-report-oriented fault localization with segmentation and stack-trace
analysis. ICSME 2014 (docs/method.md, section B.4).

    score(f) = max over f's segments s of [(1 - alpha) mm(v(s)) + alpha mm(Simi(f))] + boost(f)
    v(s)     = cos(report, s) / (1 + exp(-beta (length(f) - median) / (max - min)))

Segments are 800 terms, each with the names of its file's types and methods; mm is min-max over all segments of the
version. boost is 1 / rank of a class in the stack traces, .1 from rank 11 on and for what the named files import.
``upstream`` follows the public code: a median one place too high, .5 for every file whose name stands in the
description, .2 for files whose qualified name holds one of their imports; and what BugLocator's has. Not imitated: what
is not of BugLocator, and the end of the program when a version has one file.

Shapes: B blobs on the files, G segments of all blobs, F files of a version.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

import numpy as np
from pydantic import Field

from tosloc.analysis.parsed_source import ParsedSource
from tosloc.analysis.traces import frames
from tosloc.config import Share
from tosloc.lab.baselines.buglocator import Reports, TextSettings, code_terms, name_terms, report_terms
from tosloc.lab.baselines.context import Baseline, BaselineContext, BaselineQuery, Cutoff, ParsedVersion
from tosloc.lab.baselines.vsm import Counts, Space, count, min_max
from tosloc.records import FloatArray, LongArray

Boost: TypeAlias = Literal["rank", "flat", "none"]
"""``rank``: the paper's, by place in the traces; ``flat``: the public code's, by mention."""
Namesakes: TypeAlias = Literal["unique", "all", "never"]
"""What a frame whose class no path fits means: the only class of its simple name, all such classes, or nothing."""
Median: TypeAlias = Literal["true", "upper"]

LAST_RANK: Final = 10
"""Ranks beyond it are worth as little as an import."""
IMPORTED: Final = 0.1
NAMED_FLAT: Final = 0.5
IMPORTED_FLAT: Final = 0.2
DEEPER: Final = 2
"""By how many parts a name may be longer than the import that it holds, in the public code."""

_FILE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\.java")


class BRTracerSettings(TextSettings):
    """Settings of BRTracer."""

    UPSTREAM: ClassVar[Mapping[str, Any]] = {**TextSettings.UPSTREAM, "boost": "flat", "median": "upper"}

    alpha: Share = 0.3
    """Share of similar reports."""
    beta: float = 50.0
    """Steepness of the length score."""
    segment_terms: Annotated[int, Field(ge=1)] = 800
    median: Median = "true"
    boost: Boost = "rank"
    namesakes: Namesakes = "unique"
    wildcards: bool = False
    """Whether ``import a.b.*`` stands for all files of the package a.b."""


def segments(terms: Sequence[str], names: Sequence[str], size: int) -> list[list[str]]:
    """Consecutive parts of ``size`` terms, at least one part; the names are appended to each.

    >>> segments(["a", "b", "c"], ["n"], 2)
    [['a', 'b', 'n'], ['c', 'n']]
    """
    starts = range(0, max(len(terms), 1), size)
    return [[*terms[start : start + size], *names] for start in starts]


def median_length_score(lengths: FloatArray, beta: float = 50.0, median: Median = "true") -> FloatArray:
    """(F,) 1 / (1 + exp(-beta (x - median) / (max - min))); 0 for an empty file (docs/method.md, section B.4.3).

    ``upper`` takes the place after the middle, as the public code does.
    """
    if not len(lengths):
        return lengths
    if median == "upper":
        ordered = np.sort(lengths)
        places = [len(lengths) // 2 + 1] if len(lengths) % 2 else [len(lengths) // 2, len(lengths) // 2 + 1]
        middle = float(ordered[np.minimum(places, len(lengths) - 1)].sum() // len(places))
    else:
        middle = float(np.median(lengths))
    span = float(lengths.max() - lengths.min())
    steps = beta * (lengths - middle) / span if span > 0 else np.zeros(len(lengths))
    # the same as the logistic, without an overflow for large beta
    score: FloatArray = np.where(lengths > 0, 0.5 * (1.0 + np.tanh(steps / 2.0)), 0.0)
    return score


class BRTracer(Baseline):
    """BRTracer (ICSME 2014)."""

    name: ClassVar[str] = "brtracer"
    Settings: ClassVar = BRTracerSettings
    upstream_cutoff: ClassVar[Cutoff] = "fix_order"

    def __init__(self, settings: BRTracerSettings, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(settings, context, seed)
        self.reports = Reports(
            context.fix_history, lambda report: report_terms(report, settings.stopping), settings.weighting
        )
        self.lengths: FloatArray = np.zeros(len(context.files))
        """(B,) terms of each blob."""
        starts: list[int] = []
        parts: list[list[str]] = []
        for row, source in enumerate(context.files.sources):
            terms = code_terms(source, settings)
            self.lengths[row] = len(terms)
            starts.append(len(parts))
            parts += segments(terms, name_terms(source, settings), settings.segment_terms)
        self.starts: LongArray = np.array(starts, dtype=np.int64)
        """(B,) first segment of each blob."""
        self.blob_of_segment: LongArray = np.repeat(
            np.arange(len(starts), dtype=np.int64), np.diff([*starts, len(parts)])
        )
        """(G,)"""
        self.counts: Counts = count(parts)

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) the best segment of each file, and what the traces add."""
        alpha = self.settings.alpha
        similar = min_max(self.reports.simi(query))  # all segments of a file have its value: the same extremes
        base = (1 - alpha) * self.best_segments(query) + alpha * similar
        score: FloatArray = base + self.boost(query)
        return score

    def best_segments(self, query: BaselineQuery) -> FloatArray:
        """(F,) the largest v(s) of each file, moved to 0..1 over all segments of the version."""
        version = query.version
        if not len(self.starts) or not len(version):
            return np.zeros(len(version))
        space = Space(self.counts, version.multiplicity[self.blob_of_segment])
        cosine = space.cosine(report_terms(query.report, self.settings.stopping))
        length = median_length_score(version.to_files(self.lengths), self.settings.beta, self.settings.median)
        best = length * version.to_files(np.maximum.reduceat(cosine, self.starts))
        worst = length * version.to_files(np.minimum.reduceat(cosine, self.starts))
        low, high = float(worst.min()), float(best.max())
        return (best - low) / (high - low) if high > low else np.zeros(len(version))

    def boost(self, query: BaselineQuery) -> FloatArray:
        """(F,) what the stack traces of the report add."""
        settings: BRTracerSettings = self.settings
        description = query.report.description
        if settings.boost == "rank":
            return rank_boost(query.version, description, settings.namesakes, settings.wildcards)
        return flat_boost(query.version, description) if settings.boost == "flat" else np.zeros(len(query.version))


def traced(version: ParsedVersion, text: str, namesakes: Namesakes = "unique") -> list[list[int]]:
    """Places of the files of each class in a text's frames, in their order; a class stands once, and has some file.

    One class can stand in several files, such as one for each platform.
    """
    found: list[list[int]] = []
    seen: set[int] = set()
    for name in dict.fromkeys((frame.type, frame.file, frame.path) for frame in frames(text)):
        if fresh := [place for place in _files_of_frame(version, *name, namesakes) if place not in seen]:
            seen.update(fresh)
            found.append(fresh)
    return found


def _files_of_frame(version: ParsedVersion, kind: str, file: str, path: str, namesakes: Namesakes) -> list[int]:
    if path:  # languages whose frames give one
        return [version.row_of_path[row] for row in version.paths.rows_of_file(path)]
    package, dot, _ = kind.rpartition(".")
    stem = file.rpartition(".")[0]
    # the file's name first: a class beside the one that a file is called after stands in that file
    places = (version.files_of_class(f"{package}.{stem}") or version.files_of_class(kind)) if dot else []
    if places or namesakes == "never":
        return places
    same = [version.row_of_path[row] for row in version.paths.rows_of_stem(stem)]
    # copies of one class, such as one for each platform, are one name
    packages = {source.package if source else "" for source in map(version.source, same)}
    return same if namesakes == "all" or len(packages) == 1 else []


def imported(version: ParsedVersion, places: Sequence[int], wildcards: bool = False) -> set[int]:
    """Places of the files that these files import."""
    names: set[str] = set()
    for place in places:
        source = version.source(place)
        names.update(() if source is None else source.imports)
    found: set[int] = set()
    for name in names:
        if not name.endswith(".*"):
            found.update(version.files_of_class(name))
        elif wildcards:
            found.update(version.files_of_package(name.removesuffix(".*")))
    return found


def rank_boost(
    version: ParsedVersion, text: str, namesakes: Namesakes = "unique", wildcards: bool = False
) -> FloatArray:
    """(F,) 1 / rank of the classes in a text's frames up to rank 10, then .1; .1 for what their files import."""
    boost = np.zeros(len(version))
    named = traced(version, text, namesakes)
    boost[list(imported(version, [place for places in named for place in places], wildcards))] = IMPORTED
    for rank, places in enumerate(named, start=1):
        boost[places] = 1.0 / rank if rank <= LAST_RANK else IMPORTED
    return boost


def flat_boost(version: ParsedVersion, text: str) -> FloatArray:
    """(F,) .5 for each file whose name a text mentions, .2 for files that hold one of their imports in their name.

    As in the public code an import counts for every qualified name that it is a part of, at most two parts longer.
    """
    boost = np.zeros(len(version))
    stems = dict.fromkeys(name.removesuffix(".java") for name in _FILE.findall(text))
    named = [version.row_of_path[path] for stem in stems for path in version.paths.rows_of_stem(stem)]
    if not named:
        return boost
    names = qualified_names(version)
    starts = list(accumulate((len(name) + 1 for name in names), initial=0))
    joined = "\n".join(names)
    imports: set[str] = set()
    for place in named:
        source = version.source(place)
        imports.update(() if source is None else (name.removesuffix(".*") for name in source.imports))
    for name in imports:
        at = joined.find(name)
        while at >= 0:
            place = bisect_right(starts, at) - 1
            if names[place].count(".") - name.count(".") <= DEEPER:
                boost[place] = IMPORTED_FLAT
            at = joined.find(name, starts[place + 1])
    boost[named] = NAMED_FLAT
    return boost


def qualified_names(version: ParsedVersion) -> list[str]:
    """(F,) package and file name without suffix of every file."""
    sources: list[ParsedSource | None] = [version.source(place) for place in range(len(version))]
    stems = [version.paths.table.stems[path] for path in version.snapshot.path_ids.tolist()]
    return [f"{one.package}.{stem}" if one and one.package else stem for one, stem in zip(sources, stems, strict=True)]
