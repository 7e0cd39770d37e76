"""The features of stage one: a table of formulas from a query context to one value a file, longer ones as functions.

The paper's four are ``text``, ``trace``, ``history`` and ``complexity``. docs/features.md says what each of the others
is, and what it is worth, docs/method.md on which reports they were chosen. Functions of words and of
the history stand in ``text_features.py``, here are those of the files that a report locates, and of their kinds.

A value that is the same for every file moves no weighted sum. Trees ask it before they ask a feature whose worth
depends on it: in a repository of 30 files its size and folders say little, without fixed reports the history says less.
Shapes: F files of the version, N paths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from tosloc.core.records import FloatArray
from tosloc.rank import text_features
from tosloc.rank.text_features import weigh_by_rarity
from tosloc.reports.traces import Frame
from tosloc.retrieval import bm25
from tosloc.retrieval.context import QueryContext
from tosloc.retrieval.postings import group_sum, top_k
from tosloc.retrieval.query import Query

Formula: TypeAlias = Callable[[QueryContext], FloatArray]
FEATURES_VERSION = "features2"
"""Of the formulas, in the names of stored feature tables: raise it when one gives other values."""
LEADING_NAMES: Final = 100
"""How many files of the first guess lend their score to test counterparts."""


def trace(context: QueryContext) -> FloatArray:
    """1 / rank, rank = order of first appearance of the file among the qualified names of the traces; else 0."""
    scores = np.zeros(context.all_paths)
    rank = 0
    for name in context.query.qualified_names:
        rows = [row for row in context.version.paths.find_by_class(name) if scores[row] == 0]
        if rows:
            rank += 1
            scores[rows] = 1.0 / rank
    return context.to_files(scores)


def _mention(context: QueryContext) -> FloatArray:
    """(F,) 1 for a name that the report writes, .5 for a plain capitalised word."""
    scores = np.zeros(context.all_paths)
    for rows in context.mentioned_rows:
        scores[rows] = np.where(context.version.paths.table.compound_stem[rows], 1.0, 0.5)
    return context.to_files(scores)


def _frames(
    context: QueryContext, frames: Sequence[tuple[str, int, tuple[int, ...]]]
) -> FloatArray:
    scores = np.zeros(context.all_paths)
    seen: set[str] = set()
    for name, _, rows in frames:
        if name not in seen:
            seen.add(name)
            value = context.history.frame_rarity(name) / math.sqrt(len(seen))
            for row in rows:
                scores[row] = max(scores[row], value)
    return context.to_files(scores)


def cause_frame(context: QueryContext) -> FloatArray:
    """The same with the rank counted from the last "Caused by" on."""
    last = max((frame.cause for frame in context.query.frames), default=0)
    return _frames(context, [frame for frame in context.frame_files if frame[1] == last])


def _in_order(
    context: QueryContext, traces: Iterable[Iterable[tuple[int, ...]]], power: float
) -> FloatArray:
    """(F,) 1/rank^power among the project's own files of a trace, by the root of the trace's number; divided among the
    files that a place of it can mean.
    """
    scores = np.zeros(context.all_paths)
    for number, trace in enumerate(traces, start=1):
        for rank, rows in enumerate(trace, start=1):
            value = 1 / (rank**power * math.sqrt(number)) / len(rows)
            scores[[*rows]] = np.maximum(scores[[*rows]], value)
    return context.to_files(scores)


def _named(context: QueryContext, places: Iterable[Frame], power: float) -> FloatArray:
    """(F,) the same of places that are no frames."""
    return _in_order(context, [dict.fromkeys(filter(None, map(context.frame_rows, places)))], power)


def folder_share(context: QueryContext, shares: FloatArray) -> FloatArray:
    """Sum of p over the other files of the folder, by the root of their number."""
    folder = context.version.paths.table.directory[context.version.paths.path_ids]
    number = np.maximum(np.bincount(folder)[folder] - 1, 1)
    total = group_sum(folder, shares, 0)
    return np.asarray(np.maximum(total[folder] - shares, 0.0) / np.sqrt(number))


def _best_counterpart(context: QueryContext, shares: FloatArray) -> FloatArray:
    """(F,) for each file the largest share among its tests, or what it tests, that are of the leading files."""
    groups = context.version.paths.table.counterpart_group[context.version.paths.path_ids]
    leading, scores = top_k(shares, LEADING_NAMES), np.zeros(len(shares))
    found: dict[int, list[int]] = {}
    for file in leading.tolist():  # the largest first
        found.setdefault(groups[file], []).append(file)
    for file in np.flatnonzero(np.isin(groups, groups[leading])).tolist():
        scores[file] = next((shares[other] for other in found[groups[file]] if other != file), 0.0)
    return scores


def language_share(context: QueryContext) -> FloatArray:
    """Share of the version's files that are in the file's language."""
    of_file = context.version.paths.table.language[context.version.paths.path_ids]
    return np.bincount(of_file)[of_file] / context.files


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature: its name, its formula, what it says to people, and how its values are made comparable."""

    name: str  # also its key in weights.json and in printed reasons
    values: Callable[..., FloatArray]
    """From a query context, and for a related feature from the prior (F,) too, to (F,) values."""
    reason: str | None = None
    """Of what kind the reasons are that can be given for a file that it lifts; None where people could check none."""
    prior: float = 0.0  # fixed weight in the first guess, never fitted
    scaled: bool = True  # whether values are divided by the largest one among the version's files


def _words(formula: bm25.Formula, weights: Callable[[Query], Mapping[str, float]]) -> Formula:
    """BM25 of the text by other weights of the report's terms."""
    return lambda c: c.score_files(formula, c.hit_weights(weights(c.query)))


def _field(formula: bm25.Formula) -> Formula:
    """BM25 of one field of the text."""
    return lambda c: c.score_files(formula, c.text_terms[1])


def _kind(name: str) -> Formula:
    """1 for files of a kind that their path tells."""
    return lambda c: getattr(c.version.paths.table, name)[c.version.paths.path_ids].astype(
        np.float64
    )


def _same(number: Callable[[QueryContext], int]) -> Formula:
    """ln(1 + a number), for every file."""
    return lambda c: np.full(c.files, math.log1p(number(c)))


PAPER: tuple[Feature, ...] = (
    Feature(
        "text", lambda c: c.version.revised.similarity(c.query.plain_weights), "words", scaled=False
    ),
    Feature("trace", trace, "frame", scaled=False),
    Feature("history", text_features.history, scaled=False),
    Feature("complexity", text_features.complexity, scaled=False),
)
"""Those of the paper (docs/method.md, section 2)."""
DIRECT: tuple[Feature, ...] = (
    Feature("bm25f", _words(bm25.bm25f, lambda q: q.fielded_weights), "words", prior=0.5),
    Feature("code", _field(bm25.CODE_FIELD), "words", prior=1.0),
    Feature("methods", _field(bm25.METHOD_FIELD), "words", prior=0.4),
    Feature("chunk", lambda c: c.best_chunk_scores(c.text_terms[1]), "words", prior=2.3),
    Feature("summary", _words(bm25.WHOLE, lambda q: q.summary_weights), "words", prior=1.0),
    Feature("lead", _words(bm25.WHOLE, lambda q: q.lead_weights), "words"),
    Feature(
        "coverage",
        _words(bm25.term_coverage, lambda q: dict.fromkeys(q.summary_weights, 1.0)),
        "words",
    ),
    Feature(
        "identifiers",
        _words(bm25.WHOLE, lambda q: {t: q.weights[t] for t in q.weights.keys() & q.compounds}),
        "words",
        prior=1.0,
    ),
    Feature("path", lambda c: c.version.paths.bm25(c.query.weights), "path", prior=0.6),
    Feature(
        "folders", lambda c: c.version.paths.bm25(c.query.weights, names=False), "path", prior=0.8
    ),
    Feature(
        "name_coverage",
        lambda c: c.version.paths.name_coverage(frozenset(c.query.summary_counts)),
        "path",
        prior=0.6,
    ),
    Feature("mention", _mention, "name", prior=1.0, scaled=False),
    Feature("rare_frame", lambda c: _frames(c, c.frame_files), "frame", prior=1.5, scaled=False),
    Feature("cause_frame", cause_frame, "frame", prior=1.5),
    Feature("file_documents", text_features.file_documents, "past", prior=1.0),
    Feature(
        "commit_summary",
        lambda c: c.to_files(c.aggregated_bm25(c.history.commits, c.query.summary_weights)),
        "past",
        prior=0.4,
    ),
    Feature("near_commits", text_features.near_commits, "past", prior=0.4),
    Feature("near_reports", text_features.near_reports, "past", prior=1.0),
    Feature("near_package", text_features.near_package, prior=0.8),
    Feature("folder_reports", text_features.folder_reports),
    Feature("name_documents", text_features.name_documents, prior=0.7),
    Feature("recency", text_features.recency, prior=1.0),
    Feature("activity", text_features.activity(60.0), prior=1.0),
    Feature("popularity", text_features.activity(math.inf), prior=-1.8),
    Feature("length", text_features.length),
    Feature("test", _kind("test"), prior=-0.6, scaled=False),
    Feature("types", _field(bm25.TYPE_FIELD), "words"),
    Feature("own_frame", lambda c: _in_order(c, c.project_frames, 1.0), "frame", scaled=False),
    Feature("linked", lambda c: _named(c, c.query.locations.links, 0.5), "name", scaled=False),
    Feature(
        "written_path", lambda c: _named(c, c.query.locations.paths, 1.0), "name", scaled=False
    ),
    Feature("example", _kind("examples"), scaled=False),
    Feature("vendored", _kind("vendored"), scaled=False),
    Feature("setup", _kind("setup"), scaled=False),
    Feature(
        "rare_bm25f",
        lambda c: c.score_files(
            bm25.bm25f, c.hit_weights(weigh_by_rarity(c, c.query.fielded_weights))
        ),
        "words",
    ),
    Feature(
        "rare_chunk",
        lambda c: c.best_chunk_scores(c.hit_weights(weigh_by_rarity(c, c.query.weights))),
        "words",
    ),
    Feature("defined_names", text_features.defined_names, "name", scaled=False),
)
RELATED: tuple[Feature, ...] = (
    Feature("co_change", text_features.co_change),
    Feature("test_counterpart", _best_counterpart, "test"),
    Feature("folder_share", folder_share),
)
CONTEXT: tuple[Feature, ...] = (
    Feature("files", _same(lambda c: c.files), scaled=False),
    Feature("known_reports", _same(lambda c: c.history.reports.number), scaled=False),
    Feature("known_commits", _same(lambda c: c.history.commits.number), scaled=False),
    Feature("report_terms", _same(lambda c: len(c.query.weights)), scaled=False),
    Feature("language_share", language_share, scaled=False),
)
"""The same for every file, or nearly: for the learned ranker."""

FEATURES: Mapping[str, Feature] = {
    feature.name: feature for feature in (*DIRECT, *RELATED, *CONTEXT, *PAPER)
}
ALL: tuple[str, ...] = tuple(FEATURES)
NAMES, PAPER_NAMES = ALL[: -len(PAPER)], ALL[-len(PAPER) :]
"""What stage one uses unless a configuration says otherwise, in the order of its weights; what the paper uses."""
PRIOR_WEIGHTS: Mapping[str, float] = {
    feature.name: feature.prior for feature in DIRECT if feature.prior
}


def prior(columns: Mapping[str, FloatArray]) -> FloatArray:
    """(F,) softmax of the first guess over the version's files, from scaled columns."""
    guess = sum(
        (weight * columns[name] for name, weight in PRIOR_WEIGHTS.items() if name in columns),
        np.float64(0.0),
    )
    share = np.exp(guess - np.max(guess))
    return np.asarray(share / share.sum())


def scale_by_largest(values: FloatArray) -> FloatArray:
    """Values divided by their largest, where that is above 0."""
    largest = float(values.max(initial=0.0))
    return values / largest if largest > 0 else values


def columns(context: QueryContext, wanted: Sequence[str]) -> dict[str, FloatArray]:
    """The wanted features' values, (F,) each, made comparable between reports. Raises KeyError for an unknown name."""
    related = [name for name in wanted if FEATURES[name] in RELATED]
    if not context.files:
        return dict.fromkeys(wanted, np.zeros(0))
    made: dict[str, FloatArray] = {}
    for name in dict.fromkeys([*wanted, *(PRIOR_WEIGHTS if related else ())]):
        feature = FEATURES[name]
        if name not in related:
            values = feature.values(context)
            made[name] = scale_by_largest(values) if feature.scaled else values
    shares = prior(made)
    made |= {name: scale_by_largest(FEATURES[name].values(context, shares)) for name in related}
    return {name: made[name] for name in wanted}
