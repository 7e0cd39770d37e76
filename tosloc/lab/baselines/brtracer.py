"""BRTracer: BugLocator over segments of files, with a boost for the files that stack traces name.

Wong, Xiong, Zhang, Hao, Zhang, Mei: Boosting bug-report-oriented fault localization with
segmentation and stack-trace analysis. ICSME 2014 (docs/method.md, section B.4).

Shapes: B blobs, G segments of all blobs, F files of a version.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

import numpy as np

from tosloc.core.arrays import FloatArray
from tosloc.lab.baselines.buglocator import SimilarReports, code_terms, name_terms, report_stems
from tosloc.lab.baselines.context import Baseline, BaselineContext, BaselineQuery, ParsedVersion
from tosloc.lab.baselines.vsm import VectorSpace, count_terms
from tosloc.reports.traces import frames
from tosloc.retrieval.texts import min_max

SIMILAR_SHARE: Final = 0.3
"""Share of similar bugs in the score, alpha: public code, section B.4.3."""
LENGTH_STEEPNESS: Final = 50.0
"""Steepness of the length score, beta: paper and public code, section B.4.3."""
SEGMENT_TERMS: Final = 800
"""Terms of a segment: paper and public code, section B.4.2."""
MAX_TRACE_RANK: Final = 10
"""Last rank in a trace for which the rank counts: paper, section B.4.4.

Later classes get the same boost as an import.
"""
IMPORT_BOOST: Final = 0.1
"""Boost of a file that is imported by a file of the trace: section B.4.4."""


def split_segments(terms: Sequence[str], names: Sequence[str], size: int) -> list[list[str]]:
    """Return segments of ``size`` terms, with the names appended to each segment.

    A file without terms has one segment.

    >>> split_segments(["a", "b", "c"], ["n"], 2)
    [['a', 'b', 'n'], ['c', 'n']]
    """
    starts = range(0, max(len(terms), 1), size)
    return [[*terms[start : start + size], *names] for start in starts]


def median_length_score(lengths: FloatArray) -> FloatArray:
    """Return (F,) 1 / (1 + exp(-beta (x - median) / (max - min))) of each length x.

    beta is ``LENGTH_STEEPNESS`` (docs/method.md, section B.4.3). An empty file gets 0.
    """
    span = float(np.ptp(lengths))
    if span > 0:
        steps = LENGTH_STEEPNESS * (lengths - np.median(lengths)) / span
    else:
        steps = np.zeros(len(lengths))
    # This is the logistic function, without an overflow.
    return np.where(lengths > 0, 0.5 * (1.0 + np.tanh(steps / 2.0)), 0.0)


class BRTracer(Baseline):
    """BRTracer (ICSME 2014)."""

    name: ClassVar[str] = "brtracer"

    def __init__(self, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(context, seed)
        self.similar_reports = SimilarReports(context.fix_history)
        segments: list[list[str]] = []
        lengths: list[int] = []
        segment_counts: list[int] = []
        for source in context.files.sources:
            terms = code_terms(source)
            file_segments = split_segments(terms, name_terms(source), SEGMENT_TERMS)
            segments += file_segments
            lengths.append(len(terms))
            segment_counts.append(len(file_segments))
        self.lengths: FloatArray = np.array(lengths, dtype=np.float64)
        """(B,) terms of each blob."""
        sizes = np.array(segment_counts, dtype=np.int64)
        self.blob_of_segment = np.repeat(np.arange(len(sizes)), sizes)
        """(G,) row of each segment's blob, ascending."""
        self.starts = np.cumsum(sizes) - sizes
        """(B,) first segment of each blob."""
        self.counts = count_terms(segments)

    def scores(self, query: BaselineQuery) -> FloatArray:
        """Return (F,) the score of the best segment of each file plus the boost of the traces."""
        # All segments of a file have the file's value of similar bugs, so that min-max over files
        # and over segments is the same.
        similar = min_max(self.similar_reports.simi_scores(query))
        text = self.best_segments(query)
        score: FloatArray = (1 - SIMILAR_SHARE) * text + SIMILAR_SHARE * similar
        trace = locate_trace(query.version, query.report.description)
        return score + trace_boost(query.version, trace)

    def best_segments(self, query: BaselineQuery) -> FloatArray:
        """Return (F,) the largest score of each file's segments.

        Scores are scaled to 0..1 over all segments of the version.
        """
        version = query.version
        if not len(self.starts) or not len(version):
            return np.zeros(len(version))
        space = VectorSpace.of_version(self.counts, version.multiplicity[self.blob_of_segment])
        cosine = space.cosine(report_stems(query.report))
        length = median_length_score(version.from_blobs(self.lengths))
        best = length * version.from_blobs(np.maximum.reduceat(cosine, self.starts))
        worst = length * version.from_blobs(np.minimum.reduceat(cosine, self.starts))
        low = float(worst.min())
        high = float(best.max())
        return (best - low) / (high - low) if high > low else np.zeros(len(version))


def locate_trace(version: ParsedVersion, text: str) -> list[list[int]]:
    """Return the positions of the files of each class in a text's stack frames, in frame order.

    Each file is listed once, and classes without a file are left out.
    """
    trace: list[list[int]] = []
    seen: set[int] = set()
    distinct_frames = dict.fromkeys((frame.type, frame.file, frame.path) for frame in frames(text))
    for type_name, file, path in distinct_frames:
        positions = _locate_frame(version, type_name, file, path)
        new_positions = [position for position in positions if position not in seen]
        if new_positions:
            seen.update(new_positions)
            trace.append(new_positions)
    return trace


def _locate_frame(version: ParsedVersion, type_name: str, file: str, path: str) -> list[int]:
    """Return the positions of the files that a frame can mean."""
    if path:  # only the frames of some languages have one
        return version.positions(version.paths.find_by_frame_path(path))
    package, dot, _ = type_name.rpartition(".")
    stem = file.rpartition(".")[0]
    if dot:
        # The file's name comes first: a second top-level class is in the file of another class.
        positions = version.find_class(f"{package}.{stem}") or version.find_class(type_name)
        if positions:
            return positions
    # No path fits. A simple name counts if only one package has it; several files of that package
    # are copies, such as one for each platform.
    same_name = version.positions(version.paths.find_by_stem(stem))
    packages = {source.package if source else "" for source in map(version.source, same_name)}
    return same_name if len(packages) == 1 else []


def trace_boost(version: ParsedVersion, trace: Iterable[Iterable[int]]) -> FloatArray:
    """Return (F,) the boost of each file by a trace, given as the file positions of each frame.

    A file of the trace gets 1 / its first rank, or .1 from the 11th rank on. A file that is
    imported by name in a file of the trace gets .1.
    """
    boost_by_position: dict[int, float] = {}
    for rank, positions in enumerate(trace, start=1):
        rank_boost = 1.0 / rank if rank <= MAX_TRACE_RANK else IMPORT_BOOST
        for position in positions:
            boost_by_position.setdefault(position, rank_boost)
    boost = np.zeros(len(version))
    for position in boost_by_position:
        source = version.source(position)
        for name in source.imports if source else ():
            if not name.endswith(".*"):
                boost[version.find_class(name)] = IMPORT_BOOST
    for position, rank_boost in boost_by_position.items():
        boost[position] = rank_boost
    return boost
