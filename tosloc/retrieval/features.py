"""The features of stage one: each a small function from a query context to one value a file, and a line in the table.

The paper's four are ``text``, ``trace``, ``history`` and ``complexity``. The others were chosen on training and
validation reports of four projects; docs/features.md lists what each is worth. Shapes: F files of the version, N paths,
D documents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tosloc.index import bm25
from tosloc.index.context import QueryContext
from tosloc.index.postings import leaders, summed
from tosloc.index.rvsm import min_max
from tosloc.records import FloatArray
from tosloc.retrieval import context_features, location_features, text_features

FEATURES_VERSION = "features2"
"""Of the formulas below, in the names of stored feature tables: raise it when one gives other values."""
MONTH_DAYS = 30.0
LEADING_FILES = 20
"""How many files of the first guess lend their score to test counterparts and to files that change with them."""


# The paper's four


def text(context: QueryContext) -> FloatArray:
    """TextSimilarity: rVSM cosine x length score (docs/method.md, section 2, feature 1)."""
    return context.version.revised.similarity(context.query.plain_weights)


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


def history(context: QueryContext) -> FloatArray:
    """norm(#earlier fixes) + 1 / (months since the last fix + 1); 0 if never fixed. norm = min-max over the version."""
    fixes = context.to_files(context.history.fixes(context.all_paths))
    months = context.to_files(context.history.last_touch(context.history.reports, context.all_paths)) / MONTH_DAYS
    score: FloatArray = np.where(fixes > 0, min_max(fixes) + 1.0 / (months + 1.0), 0.0)
    return score


def complexity(context: QueryContext) -> FloatArray:
    """Sum over a file's functions of their cyclomatic complexity (E - N + 2), min-max over the version."""
    view = context.version.text
    return min_max(view.to_files(view.corpus.complexity.astype(np.float64)))


# Words of the report in the files


def bm25f(context: QueryContext) -> FloatArray:
    """BM25F over fields: code 1, comments .5, strings .5, method names 4, type names 40; summary x5."""
    return context.hits.scores(bm25.fielded, context.weights_of_hits(context.query.fielded_weights))


def code(context: QueryContext) -> FloatArray:
    """BM25 of identifiers in code."""
    return context.hits.scores(bm25.code_field, context.text_terms[1])


def methods(context: QueryContext) -> FloatArray:
    """BM25 of declared method names."""
    return context.hits.scores(bm25.method_field, context.text_terms[1])


def chunk(context: QueryContext) -> FloatArray:
    """BM25 of the best 50 lines of the file."""
    return context.chunk_hits.best(context.text_terms[1] * context.hits.idf)


def summary(context: QueryContext) -> FloatArray:
    """BM25 of the whole text for the summary alone."""
    return context.hits.scores(bm25.whole, context.weights_of_hits(context.query.summary_weights))


def lead(context: QueryContext) -> FloatArray:
    """BM25 of the whole text for the summary, counted twice, and the first 40 words of the description."""
    return context.hits.scores(bm25.whole, context.weights_of_hits(context.query.lead_weights))


def coverage(context: QueryContext) -> FloatArray:
    """Sum of the IDF of the summary's words that the file holds at all."""
    words = dict.fromkeys(context.query.summary_weights, 1.0)
    return context.hits.scores(bm25.held, context.weights_of_hits(words))


def identifiers(context: QueryContext) -> FloatArray:
    """BM25 of the whole identifiers that the report writes in camel case."""
    compounds = context.query.compounds
    weights = {term: weight for term, weight in context.query.weights.items() if term in compounds}
    return context.hits.scores(bm25.whole, context.weights_of_hits(weights))


def types(context: QueryContext) -> FloatArray:
    """BM25 of declared type names."""
    return context.hits.scores(bm25.type_field, context.text_terms[1])


# Words of the report in the paths


def path(context: QueryContext) -> FloatArray:
    """BM25 of the path's words, k1 1.2, b .5."""
    return context.version.paths.bm25(context.query.weights)


def folders(context: QueryContext) -> FloatArray:
    """BM25 of the words of the folders alone."""
    return context.version.paths.bm25(context.query.weights, names=False)


def name_coverage(context: QueryContext) -> FloatArray:
    """Share of the IDF of the file name's words that the summary contains."""
    return context.version.paths.name_coverage(frozenset(context.query.summary_counts))


def mention(context: QueryContext) -> FloatArray:
    """1 if the report writes the file's name as it is (outside stack frames), .5 if it is a plain capitalised word."""
    scores = np.zeros(context.all_paths)
    for rows in context.mentioned:
        scores[rows] = _name_weight(context, rows)
    return context.to_files(scores)


def mention_order(context: QueryContext) -> FloatArray:
    """``mention`` divided by the root of the rank among the files' names that the report mentions."""
    scores = np.zeros(context.all_paths)
    for rank, rows in enumerate(context.mentioned, start=1):
        scores[rows] = _name_weight(context, rows) / math.sqrt(rank)
    return context.to_files(scores)


def _name_weight(context: QueryContext, rows: list[int]) -> FloatArray:
    """Of names that could be plain words, half."""
    return np.where(context.version.paths.table.compound_stem[rows], 1.0, 0.5)


# Stack frames


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


# What earlier reports and commit messages say


def file_documents(context: QueryContext) -> FloatArray:
    """BM25 of the file's fixed reports as one text + of its commit messages; k1 1.2, b .5, tf weighted 1/sqrt(k)."""
    return context.to_files(context.reports_bm25 + context.commits_bm25[0])


def commit_summary(context: QueryContext) -> FloatArray:
    """BM25 of the file's commit messages as one text for the summary alone."""
    return context.to_files(context.commits_bm25[1])


def near_commits(context: QueryContext) -> FloatArray:
    """Sum of s/sqrt(k) over the 10 nearest commit messages."""
    view, nearest = context.history.commits, context.near_commits[:10]
    values = context.commit_similarities[nearest] / np.sqrt(view.documents.sizes[nearest])
    return context.to_files(view.spread(nearest, values, context.all_paths))


def near_reports(context: QueryContext) -> FloatArray:
    """Sum of s^2 exp(-age/730 d)/sqrt(k) over the 200 nearest fixed reports."""
    view, nearest = context.history.reports, context.near_reports
    weight = context.history.decayed(view, 730.0)[nearest] / np.sqrt(view.documents.sizes[nearest])
    return context.to_files(view.spread(nearest, context.report_similarities[nearest] ** 2 * weight, context.all_paths))


def referenced(context: QueryContext) -> FloatArray:
    """Sum of 1/sqrt(k) over the known commits and fixed reports that the report mentions by number or name."""
    total = np.zeros(context.all_paths)
    for view, chosen in context.referenced_changes:
        total += view.spread(chosen, 1.0 / np.sqrt(view.documents.sizes[chosen]), context.all_paths)
    return context.to_files(total)


def near_package(context: QueryContext) -> FloatArray:
    """Sum over the file's folder of s/k over the 300 nearest commit messages, by the root of the folder's files."""
    view, nearest = context.history.commits, context.near_commits
    values = context.commit_similarities[nearest] / view.documents.sizes[nearest]
    return context.version.paths.directory_sum(context.to_files(view.spread(nearest, values, context.all_paths)))


def folder_reports(context: QueryContext) -> FloatArray:
    """Sum over the file's folder of s^2/k over the 100 nearest fixed reports, by the root of the folder's files."""
    view, nearest = context.history.reports, context.near_reports[:100]
    values = context.report_similarities[nearest] ** 2 / view.documents.sizes[nearest]
    return context.version.paths.directory_sum(context.to_files(view.spread(nearest, values, context.all_paths)))


def name_documents(context: QueryContext) -> FloatArray:
    """BM25 of the messages of all commits that touched a file whose name shares a word: helps files that have none."""
    index, view, paths = context.history.index, context.history.commits, context.version.paths
    terms, weights = view.known_terms(context.query.summary_weights)
    by_name_term = index.aggregated(view, index.name_incidence(paths.table))
    of_terms = by_name_term.bm25(terms, (weights,), paths.name_terms)[0]
    return context.to_files(paths.name_sum(of_terms) / np.maximum(paths.name_weight, 1e-9) ** 0.7)


# Activity and structure


def recency(context: QueryContext) -> FloatArray:
    """1 / (days since the last commit / 30 + 1)."""
    return context.to_files(1.0 / (context.history.last_touch(context.history.commits, context.all_paths) / 30.0 + 1.0))


def activity(context: QueryContext) -> FloatArray:
    """ln(1 + sum over the file's commits of exp(-age/60 d)/sqrt(k))."""
    return context.to_files(context.history.activity(60.0, context.all_paths))


def year(context: QueryContext) -> FloatArray:
    """ln(1 + sum over the file's commits of exp(-age/365 d)/sqrt(k))."""
    return context.to_files(context.history.activity(365.0, context.all_paths))


def popularity(context: QueryContext) -> FloatArray:
    """ln(1 + sum over all of the file's commits of 1/sqrt(k)); weighs negatively: old files have long documents."""
    return context.to_files(context.history.activity(math.inf, context.all_paths))


def test(context: QueryContext) -> FloatArray:
    """1 for a test, by folder or name."""
    return context.version.paths.table.test[context.version.paths.path_ids].astype(np.float64)


def length(context: QueryContext) -> FloatArray:
    """ln(1 + lines)."""
    view = context.version.text
    return np.log1p(view.to_files(view.corpus.lines.astype(np.float64)))


# Related files: what the first guess puts in front passes on a part of it


def co_change(context: QueryContext, shares: FloatArray) -> FloatArray:
    """Sum over the 20 leading files j of p_j x the decayed share of j's commits that touched this file too."""
    leading = leaders(shares, LEADING_FILES)
    ids = context.version.paths.path_ids[leading].astype(np.int64)
    return context.to_files(context.history.co_change(ids, shares[leading], context.all_paths))


def test_counterpart(context: QueryContext, shares: FloatArray) -> FloatArray:
    """p of the likeliest test counterpart: Foo for FooTest, and the other way round."""
    return location_features.best_of_group(context.version.paths.counterparts, shares, 5 * LEADING_FILES)


def folder_share(context: QueryContext, shares: FloatArray) -> FloatArray:
    """Sum of p over the other files of the folder, by the root of their number."""
    folder = context.version.paths.table.directory[context.version.paths.path_ids]
    number = np.maximum(np.bincount(folder)[folder] - 1, 1) if context.files else np.zeros(0)
    total = summed(folder, shares, context.version.paths.table.directories)
    value: FloatArray = np.maximum(total[folder] - shares, 0.0) / np.sqrt(number)
    return value


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
    history: bool = False
    """Whether it needs a history: without one it is 0 for every file."""


PAPER: tuple[Feature, ...] = (
    Feature("text", text, "words", scaled=False),
    Feature("trace", trace, "frame", scaled=False),
    Feature("history", history, scaled=False, history=True),
    Feature("complexity", complexity, scaled=False),
)
DIRECT: tuple[Feature, ...] = (
    Feature("bm25f", bm25f, "words", prior=0.5),
    Feature("code", code, "words", prior=1.0),
    Feature("methods", methods, "words", prior=0.4),
    Feature("chunk", chunk, "words", prior=2.3),
    Feature("summary", summary, "words", prior=1.0),
    Feature("lead", lead, "words"),
    Feature("coverage", coverage, "words"),
    Feature("identifiers", identifiers, "words", prior=1.0),
    Feature("path", path, "path", prior=0.6),
    Feature("folders", folders, "path", prior=0.8),
    Feature("name_coverage", name_coverage, "path", prior=0.6),
    Feature("mention", mention, "name", prior=1.0, scaled=False),
    Feature("mention_order", mention_order, "name", scaled=False),
    Feature("rare_frame", rare_frame, "frame", prior=1.5, scaled=False),
    Feature("cause_frame", cause_frame, "frame", prior=1.5),
    Feature("file_documents", file_documents, "past", prior=1.0, history=True),
    Feature("commit_summary", commit_summary, "past", prior=0.4, history=True),
    Feature("near_commits", near_commits, "past", prior=0.4, history=True),
    Feature("near_reports", near_reports, "past", prior=1.0, history=True),
    Feature("near_package", near_package, prior=0.8, history=True),
    Feature("folder_reports", folder_reports, history=True),
    Feature("name_documents", name_documents, prior=0.7, history=True),
    Feature("recency", recency, prior=1.0, history=True),
    Feature("activity", activity, prior=1.0, history=True),
    Feature("year", year, history=True),
    Feature("popularity", popularity, prior=-1.8, history=True),
    Feature("length", length),
    Feature("test", test, prior=-0.6, scaled=False),
    Feature("types", types, "words"),
    Feature("referenced", referenced, "past", history=True),
    Feature("own_frame", location_features.own_frame, "frame", scaled=False),
    Feature("linked", location_features.linked, "name", scaled=False),
    Feature("written_path", location_features.written_path, "name", scaled=False),
    Feature("example", location_features.example, scaled=False),
    Feature("vendored", location_features.vendored, scaled=False),
    Feature("setup", location_features.setup, scaled=False),
    Feature("rare_bm25f", text_features.rare_bm25f, "words"),
    Feature("rare_chunk", text_features.rare_chunk, "words"),
    Feature("summary_strings", text_features.summary_strings, "words"),
    Feature("defined_names", text_features.defined_names, "name", scaled=False),
    Feature("message_strings", text_features.message_strings, "words"),
)
RELATED: tuple[Feature, ...] = (
    Feature("co_change", co_change, history=True),
    Feature("twin", test_counterpart, "test"),
    Feature("folder_share", folder_share),
    Feature("namesake", location_features.namesake),
)
CONTEXT: tuple[Feature, ...] = (
    Feature("files", context_features.files, scaled=False),
    Feature("known_reports", context_features.known_reports, scaled=False, history=True),
    Feature("known_commits", context_features.known_commits, scaled=False, history=True),
    Feature("report_terms", context_features.report_terms, scaled=False),
    Feature("language_share", context_features.language_share, scaled=False),
)
"""The same for every file, or nearly: for the learned ranker."""

PAPER_NAMES: tuple[str, ...] = tuple(feature.name for feature in PAPER)
RELATED_NAMES: tuple[str, ...] = tuple(feature.name for feature in RELATED)
CONTEXT_NAMES: tuple[str, ...] = tuple(feature.name for feature in CONTEXT)
NAMES: tuple[str, ...] = (*(feature.name for feature in DIRECT), *RELATED_NAMES, *CONTEXT_NAMES)
"""What stage one uses unless a configuration says otherwise, in the order of its weights."""
FEATURES: Mapping[str, Feature] = {feature.name: feature for feature in (*DIRECT, *RELATED, *CONTEXT, *PAPER)}
ALL: tuple[str, ...] = tuple(FEATURES)
_GUESSED_BY: tuple[Feature, ...] = tuple(feature for feature in DIRECT if feature.prior)
PRIOR_WEIGHTS: Mapping[str, float] = {feature.name: feature.prior for feature in _GUESSED_BY}


def prior(columns: Mapping[str, FloatArray]) -> FloatArray:
    """(F,) softmax of the first guess over the version's files, from scaled columns."""
    guess = sum((weight * columns[name] for name, weight in PRIOR_WEIGHTS.items() if name in columns), np.float64(0.0))
    share = np.exp(guess - np.max(guess))
    value: FloatArray = share / share.sum()
    return value


def scaled(values: FloatArray) -> FloatArray:
    """Values divided by their largest, where that is above 0."""
    largest = float(values.max()) if len(values) else 0.0
    return values / largest if largest > 0 else values


def columns(context: QueryContext, wanted: Sequence[str]) -> dict[str, FloatArray]:
    """The wanted features' values, (F,) each, made comparable between reports. Raises KeyError for an unknown name."""
    chosen = [FEATURES[name] for name in wanted]
    related = [feature for feature in chosen if feature.name in RELATED_NAMES]
    made: dict[str, FloatArray] = {}
    for feature in [*chosen, *(_GUESSED_BY if related else ())]:
        if feature.name not in RELATED_NAMES and feature.name not in made:
            values = feature.values(context)
            made[feature.name] = scaled(values) if feature.scaled else values
    if related:
        shares = prior(made) if context.files else np.zeros(0)
        for feature in related:
            made[feature.name] = scaled(feature.values(context, shares)) if context.files else np.zeros(0)
    return {name: made[name] for name in wanted}
