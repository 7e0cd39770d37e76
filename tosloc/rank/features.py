"""The features of stage one: each a small function from a query context to one value a file, and a line in the table.

The paper's four are ``text``, ``trace``, ``history`` and ``complexity``. The others were chosen on training and
validation reports of four projects; docs/features.md lists what each is worth. Those of words and of the history stand
in ``text_features.py``, here are those of the files that a report locates, and of what files and repository are like.

A value that is the same for every file moves no weighted sum. Trees ask it before they ask a feature whose worth
depends on it: in a repository of 30 files its size and folders say little, without fixed reports the history says less.
Shapes: F files of the version, N paths.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tosloc.index.context import QueryContext
from tosloc.index.postings import leaders, summed
from tosloc.rank import text_features
from tosloc.records import FloatArray, IntArray

FEATURES_VERSION = "features2"
"""Of the formulas, in the names of stored feature tables: raise it when one gives other values."""
LEADING_NAMES: Final = 100
"""How many files of the first guess lend their score to test counterparts and to files of the same name."""


# What the report names


def trace(context: QueryContext) -> FloatArray:
    """1 / rank, rank = order of first appearance of the file among the qualified names of the traces; else 0."""
    scores = np.zeros(context.all_paths)
    rank = 0
    for name in context.query.qualified_names:
        rows = [row for row in context.version.paths.rows_of_class(name) if scores[row] == 0]
        if rows:
            rank += 1
            scores[rows] = 1.0 / rank
    return context.to_files(scores)


def mention(context: QueryContext) -> FloatArray:
    """1 if the report writes the file's name as it is (outside stack frames), .5 if it is a plain capitalised word."""
    weights, scores = np.where(context.version.paths.table.compound_stem, 1.0, 0.5), np.zeros(context.all_paths)
    for rows in context.mentioned:
        scores[rows] = weights[rows]
    return context.to_files(scores)


def mention_order(context: QueryContext) -> FloatArray:
    """``mention`` divided by the root of the rank among the files' names that the report mentions."""
    weights, scores = np.where(context.version.paths.table.compound_stem, 1.0, 0.5), np.zeros(context.all_paths)
    for rank, rows in enumerate(context.mentioned, start=1):
        scores[rows] = weights[rows] / math.sqrt(rank)
    return context.to_files(scores)


def _frames(context: QueryContext, frames: Sequence[tuple[str, int, tuple[int, ...]]]) -> FloatArray:
    scores = np.zeros(context.all_paths)
    seen: set[str] = set()
    for name, _, rows in frames:
        if name not in seen:
            seen.add(name)
            value = context.history.frame_rarity(name) / math.sqrt(len(seen))
            for row in rows:
                scores[row] = max(scores[row], value)
    return context.to_files(scores)


def rare_frame(context: QueryContext) -> FloatArray:
    """1/sqrt(rank of the frame's class) x how rare the class is in the traces of earlier reports."""
    return _frames(context, context.frame_files)


def cause_frame(context: QueryContext) -> FloatArray:
    """The same with the rank counted from the last "Caused by" on."""
    last = max((frame.cause for frame in context.query.frames), default=0)
    return _frames(context, [frame for frame in context.frame_files if frame[1] == last])


def own_frame(context: QueryContext) -> FloatArray:
    """1/rank among the project's own files of a trace, innermost first, by the root of the trace's number."""
    scores = np.zeros(context.all_paths)
    for number, trace in enumerate(context.own_frames, start=1):
        for rank, rows in enumerate(trace, start=1):
            _raise(scores, rows, 1 / (rank * math.sqrt(number)))
    return context.to_files(scores)


def linked(context: QueryContext) -> FloatArray:
    """1/sqrt(rank) among the files to whose lines on the web the report links, or that it shows from there."""
    links = (place.path for place in context.query.locations.links)
    return _in_order(context, map(context.version.paths.rows_of_location, links), 0.5)


def written_path(context: QueryContext) -> FloatArray:
    """1/rank among the files that the report names by path or name, but for those that it only runs."""
    paths = (place.path for place in context.query.locations.paths)
    return _in_order(context, map(context.version.paths.rows_of_location, paths), 1.0)


def _in_order(context: QueryContext, located: Iterable[Sequence[int]], power: float) -> FloatArray:
    """(F,) 1/rank^power among the locations that are the project's own, divided among the files that each can mean."""
    scores = np.zeros(context.all_paths)
    own = dict.fromkeys(tuple(rows) for rows in located if rows)
    for rank, rows in enumerate(own, start=1):
        _raise(scores, rows, 1 / rank**power)
    return context.to_files(scores)


def _raise(scores: FloatArray, rows: Sequence[int], value: float) -> None:
    """Give each of some files its part of a value, where it has no more yet."""
    for row in rows:
        scores[row] = max(scores[row], value / len(rows))


# What kind of file it is


def test(context: QueryContext) -> FloatArray:
    """1 for a test, by folder or name."""
    return context.version.paths.table.test[context.version.paths.path_ids].astype(np.float64)


def example(context: QueryContext) -> FloatArray:
    """1 for a file among examples, documentation or benchmarks."""
    return context.version.paths.table.examples[context.version.paths.path_ids].astype(np.float64)


def vendored(context: QueryContext) -> FloatArray:
    """1 for a file that was taken over from another project, by its folder."""
    return context.version.paths.table.vendored[context.version.paths.path_ids].astype(np.float64)


def setup(context: QueryContext) -> FloatArray:
    """1 for a file that installs, builds or configures: ``setup.py``, ``conftest.py``, ``webpack.config.js``."""
    return context.version.paths.table.setup[context.version.paths.path_ids].astype(np.float64)


# Related files: what the first guess puts in front passes on a part of it


def test_counterpart(context: QueryContext, shares: FloatArray) -> FloatArray:
    """p of the likeliest test counterpart: Foo for FooTest, and the other way round."""
    return _best_of_group(context, context.version.paths.table.counterpart_group, shares)


def folder_share(context: QueryContext, shares: FloatArray) -> FloatArray:
    """Sum of p over the other files of the folder, by the root of their number."""
    folder = context.version.paths.table.directory[context.version.paths.path_ids]
    number = np.maximum(np.bincount(folder)[folder] - 1, 1) if context.files else np.zeros(0)
    total = summed(folder, shares, 0)
    return np.asarray(np.maximum(total[folder] - shares, 0.0) / np.sqrt(number))


def namesake(context: QueryContext, shares: FloatArray) -> FloatArray:
    """p of the likeliest other file of the same name in another folder; weighs negatively: only one is meant."""
    return _best_of_group(context, context.version.paths.table.name_group, shares)


def _best_of_group(context: QueryContext, of_paths: IntArray, shares: FloatArray) -> FloatArray:
    """(F,) for each file the largest share among the other files of its group that are of the leading ones."""
    groups, leading = of_paths[context.version.paths.path_ids], leaders(shares, LEADING_NAMES)
    best: dict[int, list[tuple[float, int]]] = {}
    for group, share, file in zip(groups[leading].tolist(), shares[leading].tolist(), leading.tolist(), strict=True):
        best.setdefault(group, []).append((share, file))
    scores = np.zeros(len(shares))
    for file in np.flatnonzero(np.isin(groups, groups[leading])).tolist():
        scores[file] = max((share for share, other in best[int(groups[file])] if other != file), default=0.0)
    return scores


# The same for every file, or nearly


def _alike(context: QueryContext, number: float) -> FloatArray:
    return np.full(context.files, math.log1p(number))


def files(context: QueryContext) -> FloatArray:
    """ln(1 + files of the version), for every file."""
    return _alike(context, context.files)


def known_reports(context: QueryContext) -> FloatArray:
    """ln(1 + fixed reports that are known), for every file."""
    return _alike(context, context.history.reports.number)


def known_commits(context: QueryContext) -> FloatArray:
    """ln(1 + commits that are known), for every file."""
    return _alike(context, context.history.commits.number)


def report_terms(context: QueryContext) -> FloatArray:
    """ln(1 + distinct terms of the report), for every file."""
    return _alike(context, len(context.query.weights))


def language_share(context: QueryContext) -> FloatArray:
    """Share of the version's files that are in the file's language."""
    of_file = context.version.paths.table.language[context.version.paths.path_ids]
    return (np.bincount(of_file)[of_file] if context.files else np.zeros(0)) / max(context.files, 1)


# The table


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature: its name, its formula, what it says to people, and how its values are made comparable."""

    name: str
    """Also its key in weights.json and in printed reasons."""
    values: Callable[..., FloatArray]
    """From a query context, and for a related feature from the prior (F,) too, to (F,) values."""
    reason: str | None = None
    """Of what kind the reasons are that can be given for a file that it lifts; None where people could check none."""
    prior: float = 0.0
    """Fixed weight in the first guess, never fitted."""
    scaled: bool = True
    """Whether values are divided by the largest one among the version's files."""


PAPER: tuple[Feature, ...] = (
    Feature("text", text_features.text, "words", scaled=False),
    Feature("trace", trace, "frame", scaled=False),
    Feature("history", text_features.history, scaled=False),
    Feature("complexity", text_features.complexity, scaled=False),
)
DIRECT: tuple[Feature, ...] = (
    Feature("bm25f", text_features.bm25f, "words", prior=0.5),
    Feature("code", text_features.code, "words", prior=1.0),
    Feature("methods", text_features.methods, "words", prior=0.4),
    Feature("chunk", text_features.chunk, "words", prior=2.3),
    Feature("summary", text_features.summary, "words", prior=1.0),
    Feature("lead", text_features.lead, "words"),
    Feature("coverage", text_features.coverage, "words"),
    Feature("identifiers", text_features.identifiers, "words", prior=1.0),
    Feature("path", text_features.path, "path", prior=0.6),
    Feature("folders", text_features.folders, "path", prior=0.8),
    Feature("name_coverage", text_features.name_coverage, "path", prior=0.6),
    Feature("mention", mention, "name", prior=1.0, scaled=False),
    Feature("mention_order", mention_order, "name", scaled=False),
    Feature("rare_frame", rare_frame, "frame", prior=1.5, scaled=False),
    Feature("cause_frame", cause_frame, "frame", prior=1.5),
    Feature("file_documents", text_features.file_documents, "past", prior=1.0),
    Feature("commit_summary", text_features.commit_summary, "past", prior=0.4),
    Feature("near_commits", text_features.near_commits, "past", prior=0.4),
    Feature("near_reports", text_features.near_reports, "past", prior=1.0),
    Feature("near_package", text_features.near_package, prior=0.8),
    Feature("folder_reports", text_features.folder_reports),
    Feature("name_documents", text_features.name_documents, prior=0.7),
    Feature("recency", text_features.recency, prior=1.0),
    Feature("activity", text_features.activity, prior=1.0),
    Feature("year", text_features.year),
    Feature("popularity", text_features.popularity, prior=-1.8),
    Feature("length", text_features.length),
    Feature("test", test, prior=-0.6, scaled=False),
    Feature("types", text_features.types, "words"),
    Feature("referenced", text_features.referenced, "past"),
    Feature("own_frame", own_frame, "frame", scaled=False),
    Feature("linked", linked, "name", scaled=False),
    Feature("written_path", written_path, "name", scaled=False),
    Feature("example", example, scaled=False),
    Feature("vendored", vendored, scaled=False),
    Feature("setup", setup, scaled=False),
    Feature("rare_bm25f", text_features.rare_bm25f, "words"),
    Feature("rare_chunk", text_features.rare_chunk, "words"),
    Feature("summary_strings", text_features.summary_strings, "words"),
    Feature("defined_names", text_features.defined_names, "name", scaled=False),
    Feature("message_strings", text_features.message_strings, "words"),
)
RELATED: tuple[Feature, ...] = (
    Feature("co_change", text_features.co_change),
    Feature("twin", test_counterpart, "test"),
    Feature("folder_share", folder_share),
    Feature("namesake", namesake),
)
CONTEXT: tuple[Feature, ...] = (
    Feature("files", files, scaled=False),
    Feature("known_reports", known_reports, scaled=False),
    Feature("known_commits", known_commits, scaled=False),
    Feature("report_terms", report_terms, scaled=False),
    Feature("language_share", language_share, scaled=False),
)
"""The same for every file, or nearly: for the learned ranker."""

PAPER_NAMES: tuple[str, ...] = tuple(feature.name for feature in PAPER)
RELATED_NAMES: tuple[str, ...] = tuple(feature.name for feature in RELATED)
NAMES: tuple[str, ...] = tuple(feature.name for feature in (*DIRECT, *RELATED, *CONTEXT))
"""What stage one uses unless a configuration says otherwise, in the order of its weights."""
FEATURES: Mapping[str, Feature] = {feature.name: feature for feature in (*DIRECT, *RELATED, *CONTEXT, *PAPER)}
ALL: tuple[str, ...] = tuple(FEATURES)
_GUESSED_BY: tuple[Feature, ...] = tuple(feature for feature in DIRECT if feature.prior)
PRIOR_WEIGHTS: Mapping[str, float] = {feature.name: feature.prior for feature in _GUESSED_BY}


def prior(columns: Mapping[str, FloatArray]) -> FloatArray:
    """(F,) softmax of the first guess over the version's files, from scaled columns."""
    guess = sum((weight * columns[name] for name, weight in PRIOR_WEIGHTS.items() if name in columns), np.float64(0.0))
    share = np.exp(guess - np.max(guess))
    return np.asarray(share / share.sum())


def scaled(values: FloatArray) -> FloatArray:
    """Values divided by their largest, where that is above 0."""
    largest = float(values.max()) if len(values) else 0.0
    return values / largest if largest > 0 else values


def columns(context: QueryContext, wanted: Sequence[str]) -> dict[str, FloatArray]:
    """The wanted features' values, (F,) each, made comparable between reports. Raises KeyError for an unknown name."""
    chosen = [FEATURES[name] for name in wanted]
    related = [feature for feature in chosen if feature in RELATED]
    made: dict[str, FloatArray] = {}
    for feature in dict.fromkeys([*chosen, *(_GUESSED_BY if related else ())]):
        if feature not in RELATED:
            values = feature.values(context)
            made[feature.name] = scaled(values) if feature.scaled else values
    if related:
        shares = prior(made) if context.files else np.zeros(0)
        for feature in related:
            made[feature.name] = scaled(feature.values(context, shares)) if context.files else np.zeros(0)
    return {name: made[name] for name in wanted}
