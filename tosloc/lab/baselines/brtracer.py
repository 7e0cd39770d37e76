"""BRTracer: BugLocator over segments of files, with a boost for the files that stack traces name.

Wong, Xiong, Zhang, Hao, Zhang, Mei: Boosting bug-report-oriented fault localization with segmentation and stack-trace
analysis. ICSME 2014 (docs/method.md, section B.4). Shapes: B blobs, G segments of all blobs, F files of a version.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

import numpy as np

from tosloc.core.records import FloatArray
from tosloc.lab.baselines.buglocator import SimilarReports, code_terms, name_terms, report_stems
from tosloc.lab.baselines.context import Baseline, BaselineContext, BaselineQuery, ParsedVersion
from tosloc.lab.baselines.vsm import VectorSpace, count
from tosloc.reports.traces import frames
from tosloc.retrieval.bm25 import min_max

ALPHA: Final = 0.3  # share of similar bugs: public code, section B.4.3
BETA: Final = 50.0  # steepness of the length score: paper and public code, section B.4.3
SEGMENT_TERMS: Final = 800  # paper and public code, section B.4.2
LAST_RANK: Final = (
    10  # of a trace; later classes are worth as little as an import: paper, section B.4.4
)
IMPORT_BOOST: Final = 0.1


def segments(terms: Sequence[str], names: Sequence[str], size: int) -> list[list[str]]:
    """Consecutive parts of ``size`` terms, at least one part; the names are appended to each.

    >>> segments(["a", "b", "c"], ["n"], 2)
    [['a', 'b', 'n'], ['c', 'n']]
    """
    starts = range(0, max(len(terms), 1), size)
    return [[*terms[start : start + size], *names] for start in starts]


def median_length_score(lengths: FloatArray) -> FloatArray:
    """(F,) 1 / (1 + exp(-beta (x - median) / (max - min))); 0 for an empty file (docs/method.md, section B.4.3)."""
    span = float(np.ptp(lengths))
    steps = BETA * (lengths - np.median(lengths)) / span if span > 0 else np.zeros(len(lengths))
    # the same as the logistic, without an overflow
    return np.where(lengths > 0, 0.5 * (1.0 + np.tanh(steps / 2.0)), 0.0)


class BRTracer(Baseline):
    """BRTracer (ICSME 2014)."""

    name: ClassVar[str] = "brtracer"

    def __init__(self, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(context, seed)
        self.similar_reports = SimilarReports(context.fix_history)
        terms = list(map(code_terms, context.files.sources))
        parts = [
            segments(own, name_terms(one), SEGMENT_TERMS)
            for own, one in zip(terms, context.files.sources, strict=True)
        ]
        self.lengths: FloatArray = np.array(list(map(len, terms)), dtype=np.float64)
        sizes = np.array(list(map(len, parts)), dtype=np.int64)
        self.blob_of_segment = np.repeat(np.arange(len(parts)), sizes)  # (G,) rising
        self.starts = np.cumsum(sizes) - sizes  # (B,) first segment of each blob
        self.counts = count(segment for own in parts for segment in own)

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) the best segment of each file, and what the traces add."""
        # all segments of a file have its value of similar bugs: the same extremes
        similar = min_max(self.similar_reports.simi_scores(query))
        score: FloatArray = (1 - ALPHA) * self.best_segments(query) + ALPHA * similar
        trace = files_of_frames(query.version, query.report.description)
        return score + trace_boost(query.version, trace)

    def best_segments(self, query: BaselineQuery) -> FloatArray:
        """(F,) the largest v(s) of each file, moved to 0..1 over all segments of the version."""
        version = query.version
        if not len(self.starts) or not len(version):
            return np.zeros(len(version))
        space = VectorSpace.of(self.counts, version.multiplicity[self.blob_of_segment])
        cosine = space.cosine(report_stems(query.report))
        length = median_length_score(version.to_files(self.lengths))
        best = length * version.to_files(np.maximum.reduceat(cosine, self.starts))
        worst = length * version.to_files(np.minimum.reduceat(cosine, self.starts))
        low, high = float(worst.min()), float(best.max())
        return (best - low) / (high - low) if high > low else np.zeros(len(version))


def files_of_frames(version: ParsedVersion, text: str) -> list[list[int]]:
    """Positions of the files of each class in a text's frames, in their order; each file once, no class without one."""
    found: list[list[int]] = []
    seen: set[int] = set()
    for frame in dict.fromkeys((frame.type, frame.file, frame.path) for frame in frames(text)):
        if new := [
            position for position in _files_of_frame(version, *frame) if position not in seen
        ]:
            seen.update(new)
            found.append(new)
    return found


def _files_of_frame(version: ParsedVersion, type_name: str, file: str, path: str) -> list[int]:
    if path:  # languages whose frames give one
        return version.positions(version.paths.find_by_frame_path(path))
    package, dot, _ = type_name.rpartition(".")
    stem = file.rpartition(".")[0]
    # the file's name first: a class beside the one that a file is called after stands in that file
    found = (
        (version.files_of_class(f"{package}.{stem}") or version.files_of_class(type_name))
        if dot
        else []
    )
    if found:
        return found
    # no path fits: the only class of that simple name; its copies, such as one for each platform, are one
    same_name = version.positions(version.paths.find_by_stem(stem))
    packages = {source.package if source else "" for source in map(version.source, same_name)}
    return same_name if len(packages) == 1 else []


def trace_boost(version: ParsedVersion, trace: Iterable[Iterable[int]]) -> FloatArray:
    """(F,) 1 / a file's first rank in a trace, .1 from the 11th on, and .1 for what the trace's files import by name.

    ``trace`` holds the positions of the files that each frame means.
    """
    boosts: dict[int, float] = {}
    for rank, files in enumerate(trace, start=1):
        for file in files:
            boosts.setdefault(file, 1.0 / rank if rank <= LAST_RANK else IMPORT_BOOST)
    boost = np.zeros(len(version))
    sources = filter(None, map(version.source, boosts))
    imported = {name for source in sources for name in source.imports if not name.endswith(".*")}
    for name in imported:
        boost[version.files_of_class(name)] = IMPORT_BOOST
    boost[list(boosts)] = list(boosts.values())
    return boost
