"""Measure how often the files that reports state were fixed, and the effect of raising them.

docs/method.md shows the tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

import numpy as np

from tosloc.code.languages import language_name
from tosloc.core.arrays import BoolArray
from tosloc.core.metrics import fixed_ranks, rr_and_ap
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import Case
from tosloc.core.versions import first_path_by_blob
from tosloc.git.repository import Repository
from tosloc.lab.projects import Project, spread_evenly
from tosloc.localize.checkpoint import shipped
from tosloc.rank.features import KINDS, QueryContext, find_statements, own_frames
from tosloc.rank.model import StageOneResult
from tosloc.reports.text import IssueTemplates
from tosloc.retrieval.paths import PathTable
from tosloc.retrieval.query import Query
from tosloc.retrieval.version_index import VersionIndex
from tosloc.train.experiment import ExperimentContext

ALL_REPORTS = "all reports"
BLOCK_REPORTS: Final = 48
"""Number of reports whose versions are loaded together."""
FRAMES_SHOWN = 5
"""Number of own frames of a stack trace that are counted, from the innermost frame on."""


class StatedReport(NamedTuple):
    """Statements of one report, and its ranks without and with these statements."""

    stated: dict[str, list[bool]]
    """Kind of statement -> for each file that such a statement names, whether it was fixed."""
    frames: list[tuple[str, bool]]
    """For each own frame, innermost first: language of its file, and whether the file was fixed."""
    learned: tuple[float, float]
    """RR and AP by the weights and the ranker alone."""
    final: tuple[float, float]
    """RR and AP after the statements were applied."""


class KindRow(NamedTuple):
    """A kind of statement, counted over reports."""

    kind: str
    reports: int
    files: int
    right: float
    """Share of the files that were fixed."""
    mrr_learned: float
    map_learned: float
    mrr: float
    map: float


class FrameRow(NamedTuple):
    """Counts for one language: how often the innermost own frames are in fixed files.

    The first count is for the innermost frame, the second for the next frame, and so on.
    """

    language: str
    counts: list[int]
    right: list[float]


def measure_evidence(
    projects: Sequence[Project], progress: Progress = ignore_progress
) -> tuple[list[KindRow], list[FrameRow]]:
    """Return counts of the statements in projects' reports, ranked by the shipped weights.

    Reports without a fixed file in their version are left out.
    """
    reports: list[StatedReport] = []
    for project in projects:
        with (
            Repository(project.repo) as repo,
            ExperimentContext(project.config, repo, project.reports, progress) as experiment,
        ):
            cases = spread_evenly(experiment.parts[project.judged], project.at_most)
            for number, context in enumerate(_contexts(experiment, cases)):
                reports.extend(_read_report(context, cases[number].fixed))
                progress(f"counting statements of {project.name}", number + 1, len(cases))
    return count_kinds(reports), count_frames(reports)


def _contexts(experiment: ExperimentContext, cases: Sequence[Case]) -> Iterator[QueryContext]:
    """Yield the query context of each case, with the history known at its opening."""
    templates = IssueTemplates(experiment.repo)
    for start in range(0, len(cases), BLOCK_REPORTS):
        block = cases[start : start + BLOCK_REPORTS]
        snapshots = [experiment.indexed.snapshot(case.before_commit) for case in block]
        corpus = experiment.indexed.load_facts(first_path_by_blob(snapshots))
        table = PathTable.of(experiment.repo.path_names.names)
        for case, snapshot in zip(block, snapshots, strict=True):
            contained = experiment.history.ancestors(case.before_commit)
            known = experiment.history_index.as_of(case.report.opened_seconds, contained)
            form_lines = templates.of_commit(case.before_commit) | known.shared_lines
            query = Query(case.report, form_lines, known.releases.projects)
            yield QueryContext(query, VersionIndex(corpus, snapshot, table), known)


def _read_report(context: QueryContext, fixed_paths: Sequence[str]) -> Iterator[StatedReport]:
    """Yield a report's statements and ranks, if the version has a file that the fix changed."""
    paths = context.version.paths
    names = paths.table.paths
    fixed_rows = {row for row, path in enumerate(names) if path in set(fixed_paths)}
    fixed: BoolArray = np.isin(paths.path_ids, sorted(fixed_rows))
    if not fixed.any():
        return
    stage, _ = shipped(context.version.snapshot.paths)
    result = StageOneResult.of(context, stage)
    stated: defaultdict[str, dict[int, bool]] = defaultdict(dict)
    for statement in find_statements(context):
        stated[statement.kind][statement.row] = statement.row in fixed_rows
    frames: list[tuple[str, bool]] = []
    for rows in own_frames(context.query, paths)[:FRAMES_SHOWN]:
        language = language_name(PurePosixPath(names[rows[0]]).suffix)
        frames.append((language, not fixed_rows.isdisjoint(rows)))
    yield StatedReport(
        {kind: list(right.values()) for kind, right in stated.items()},
        frames,
        rr_and_ap(fixed_ranks(result.learned_scores, fixed).tolist()),
        rr_and_ap(fixed_ranks(result.scores, fixed).tolist()),
    )


def count_kinds(reports: Sequence[StatedReport]) -> list[KindRow]:
    """Return a row for all reports, and one for each kind of statement that occurs."""
    rows = [_count(ALL_REPORTS, reports)]
    for kind in KINDS:
        stating = [report for report in reports if kind in report.stated]
        if stating:
            rows.append(_count(kind, stating))
    return rows


def _count(kind: str, reports: Sequence[StatedReport]) -> KindRow:
    """Return the row of a kind, counted over the reports with such a statement."""
    right: list[bool] = []
    for report in reports:
        right += report.stated.get(kind, [])
    learned = np.mean([report.learned for report in reports], axis=0).tolist()
    final = np.mean([report.final for report in reports], axis=0).tolist()
    share = float(np.mean(right)) if right else 0.0
    return KindRow(kind, len(reports), len(right), share, *learned, *final)


def count_frames(reports: Sequence[StatedReport]) -> list[FrameRow]:
    """Return a row for each language; the language with most stack traces comes first."""
    by_language: defaultdict[str, list[list[bool]]] = defaultdict(list)
    for report in reports:
        if report.frames:
            by_language[report.frames[0][0]].append([right for _, right in report.frames])
    rows: list[FrameRow] = []
    for language, traces in by_language.items():
        at_distance: list[list[bool]] = []
        for distance in range(FRAMES_SHOWN):
            at_distance.append([trace[distance] for trace in traces if len(trace) > distance])
        counts = [len(right) for right in at_distance]
        shares = [float(np.mean(right)) if right else 0.0 for right in at_distance]
        rows.append(FrameRow(language, counts, shares))
    return sorted(rows, key=lambda row: (-row.counts[0], row.language))
