"""BRTracer: BugLocator over segments of files, with a boost for the files that stack traces name.

Wong, Xiong, Zhang, Hao, Zhang, Mei: Boosting bug-report-oriented fault localization with segmentation and stack-trace
analysis. ICSME 2014 (docs/method.md, section B.4). ``upstream`` does not imitate the end of the program when a version
has one file. Shapes: B blobs, G segments of all blobs, F files of a version.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

import numpy as np
from pydantic import Field

from tosloc.config import Share
from tosloc.index.bm25 import min_max
from tosloc.index.paths import stem_of
from tosloc.lab.baselines.buglocator import SimilarReports, TextSettings, code_terms, name_terms, report_stems
from tosloc.lab.baselines.context import Baseline, BaselineContext, BaselineQuery, Cutoff, ParsedVersion
from tosloc.lab.baselines.vsm import Counts, VectorSpace, count
from tosloc.records import FloatArray, LongArray
from tosloc.reports.traces import frames

Boost: TypeAlias = Literal["rank", "flat"]
"""``rank``: the paper's, by rank in the traces; ``flat``: the public code's, by mention."""
Median: TypeAlias = Literal["true", "upper"]

_LAST_RANK: Final = 10
"""Ranks beyond it are worth as little as an import."""
IMPORT_BOOST: Final = 0.1
FLAT_BOOST: Final = 0.5
FLAT_IMPORT_BOOST: Final = 0.2
EXTRA_PARTS: Final = 2
"""By how many parts a name may be longer than the import that it holds, in the public code."""

_FILE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,250}\.java")


class BRTracerSettings(TextSettings):
    """Settings of BRTracer."""

    UPSTREAM: ClassVar[Mapping[str, Any]] = {**TextSettings.UPSTREAM, "boost": "flat", "median": "upper"}

    alpha: Share = 0.3
    beta: float = 50.0
    segment_terms: Annotated[int, Field(ge=1)] = 800
    median: Median = "true"
    boost: Boost = "rank"


def segments(terms: Sequence[str], names: Sequence[str], size: int) -> list[list[str]]:
    """Consecutive parts of ``size`` terms, at least one part; the names are appended to each.

    >>> segments(["a", "b", "c"], ["n"], 2)
    [['a', 'b', 'n'], ['c', 'n']]
    """
    starts = range(0, max(len(terms), 1), size)
    return [[*terms[start : start + size], *names] for start in starts]


def median_length_score(lengths: FloatArray, beta: float = 50.0, median: Median = "true") -> FloatArray:
    """(F,) 1 / (1 + exp(-beta (x - median) / (max - min))); 0 for an empty file (docs/method.md, section B.4.3)."""
    if not len(lengths):
        return lengths
    if median == "upper":
        ordered = np.sort(lengths)
        half = len(lengths) // 2
        middles = [half + 1] if len(lengths) % 2 else [half, half + 1]
        middle = float(ordered[np.minimum(middles, len(lengths) - 1)].sum() // len(middles))
    else:
        middle = float(np.median(lengths))
    span = float(lengths.max() - lengths.min())
    steps = beta * (lengths - middle) / span if span > 0 else np.zeros(len(lengths))
    # the same as the logistic, without an overflow for large beta
    return np.where(lengths > 0, 0.5 * (1.0 + np.tanh(steps / 2.0)), 0.0)


class BRTracer(Baseline):
    """BRTracer (ICSME 2014)."""

    name: ClassVar[str] = "brtracer"
    Settings: ClassVar = BRTracerSettings
    upstream_cutoff: ClassVar[Cutoff] = "fix_order"

    def __init__(self, settings: BRTracerSettings, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(settings, context, seed)
        self.similar_reports = SimilarReports(
            context.fix_history, lambda report: report_stems(report, settings.stopping), settings.weighting
        )
        lengths: list[int] = []
        parts: list[list[str]] = []
        owners: list[int] = []
        for row, source in enumerate(context.files.sources):
            terms = code_terms(source, settings)
            own = segments(terms, name_terms(source, settings), settings.segment_terms)
            lengths.append(len(terms))
            parts += own
            owners += [row] * len(own)
        self.lengths: FloatArray = np.array(lengths, dtype=np.float64)
        self.blob_of_segment: LongArray = np.array(owners, dtype=np.int64)
        """(G,) rising."""
        self.starts: LongArray = np.searchsorted(self.blob_of_segment, np.arange(len(lengths)))
        """(B,) first segment of each blob."""
        self.counts: Counts = count(parts)

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) the best segment of each file, and what the traces add."""
        alpha = self.settings.alpha
        # all segments of a file have its value: the same extremes
        similar = min_max(self.similar_reports.simi_scores(query))
        base = (1 - alpha) * self.best_segments(query) + alpha * similar
        boost = rank_boost if self.settings.boost == "rank" else flat_boost
        score: FloatArray = base + boost(query.version, query.report.description)
        return score

    def best_segments(self, query: BaselineQuery) -> FloatArray:
        """(F,) the largest v(s) of each file, moved to 0..1 over all segments of the version."""
        version = query.version
        if not len(self.starts) or not len(version):
            return np.zeros(len(version))
        space = VectorSpace(self.counts, version.multiplicity[self.blob_of_segment])
        cosine = space.cosine(report_stems(query.report, self.settings.stopping))
        length = median_length_score(version.to_files(self.lengths), self.settings.beta, self.settings.median)
        best = length * version.to_files(np.maximum.reduceat(cosine, self.starts))
        worst = length * version.to_files(np.minimum.reduceat(cosine, self.starts))
        low, high = float(worst.min()), float(best.max())
        return (best - low) / (high - low) if high > low else np.zeros(len(version))


def files_of_frames(version: ParsedVersion, text: str) -> list[list[int]]:
    """Positions of the files of each class in a text's frames, in their order; each file once, no class without one."""
    found: list[list[int]] = []
    seen: set[int] = set()
    for frame in dict.fromkeys((frame.type, frame.file, frame.path) for frame in frames(text)):
        if new := [position for position in _files_of_frame(version, *frame) if position not in seen]:
            seen.update(new)
            found.append(new)
    return found


def _files_of_frame(version: ParsedVersion, type_name: str, file: str, path: str) -> list[int]:
    if path:  # languages whose frames give one
        return [version.position_of_path[row] for row in version.paths.rows_of_file(path)]
    package, dot, _ = type_name.rpartition(".")
    stem = file.rpartition(".")[0]
    # the file's name first: a class beside the one that a file is called after stands in that file
    found = (version.files_of_class(f"{package}.{stem}") or version.files_of_class(type_name)) if dot else []
    if found:
        return found
    # no path fits: the only class of that simple name; its copies, such as one for each platform, are one
    same_name = _files_of_stem(version, stem)
    packages = {source.package if source else "" for source in map(version.source, same_name)}
    return same_name if len(packages) == 1 else []


def _files_of_stem(version: ParsedVersion, stem: str) -> list[int]:
    return [version.position_of_path[path] for path in version.paths.rows_of_stem(stem)]


def imports_of(version: ParsedVersion, positions: Iterable[int]) -> set[str]:
    """Names that these files import, ``.*`` for all of a package."""
    sources = map(version.source, positions)
    return {name for source in sources if source is not None for name in source.imports}


def imported_files(version: ParsedVersion, positions: Iterable[int]) -> set[int]:
    """Positions of the files that these files import by name; an import of a whole package is no relation."""
    names = (name for name in imports_of(version, positions) if not name.endswith(".*"))
    return {position for name in names for position in version.files_of_class(name)}


def trace_scores(trace: Iterable[Iterable[int]]) -> dict[int, float]:
    """File -> 1 / its first rank among the frames, .1 from the 11th on; ``trace`` holds the files that each one means.

    >>> trace_scores([[7], [8], [7], [], [9]])
    {7: 1.0, 8: 0.5, 9: 0.2}
    """
    boosts: dict[int, float] = {}
    for rank, files in enumerate(trace, start=1):
        for file in files:
            boosts.setdefault(file, 1.0 / rank if rank <= _LAST_RANK else IMPORT_BOOST)
    return boosts


def rank_boost(version: ParsedVersion, text: str) -> FloatArray:
    """(F,) 1 / rank of the classes in a text's frames up to rank 10, then .1; .1 for what their files import."""
    boost = np.zeros(len(version))
    named = trace_scores(files_of_frames(version, text))
    boost[list(imported_files(version, named))] = IMPORT_BOOST
    boost[list(named)] = list(named.values())
    return boost


def flat_boost(version: ParsedVersion, text: str) -> FloatArray:
    """(F,) .5 for each file whose name a text mentions, .2 for files that hold one of their imports in their name."""
    boost = np.zeros(len(version))
    stems = dict.fromkeys(name.removesuffix(".java") for name in _FILE.findall(text))
    named = [position for stem in stems for position in _files_of_stem(version, stem)]
    if not named:
        return boost
    names: list[str] = []  # (F,) package and file name without suffix of every file
    for position, path in enumerate(version.snapshot.path_ids.tolist()):
        source, stem = version.source(position), stem_of(version.paths.table.paths[path])
        names.append(f"{source.package}.{stem}" if source and source.package else stem)
    starts = list(accumulate((len(name) + 1 for name in names), initial=0))
    joined = "\n".join(names)
    for imported in {name.removesuffix(".*") for name in imports_of(version, named)}:
        at = joined.find(imported)
        while at >= 0:
            position = bisect_right(starts, at) - 1
            if names[position].count(".") - imported.count(".") <= EXTRA_PARTS:
                boost[position] = FLAT_IMPORT_BOOST
            at = joined.find(imported, starts[position + 1])
    boost[named] = FLAT_BOOST
    return boost
