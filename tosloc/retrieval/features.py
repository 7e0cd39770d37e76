"""The features of stage one: each a small function from a context to one value a file.

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
from tosloc.retrieval.chunks import best_chunk

MONTH_DAYS = 30.0
CANDIDATE_SEEDS = 20
"""How many leading files lend their score to test counterparts and to files that change with them."""


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
    return min_max(view.to_files(view.corpus.table.complexity.astype(np.float64)))


# Words of the report in the files


def bm25f(context: QueryContext) -> FloatArray:
    """BM25F over fields: code 1, comments .5, strings .5, method names 4, type names 40; summary x5."""
    return context.hits.scores(bm25.fielded, context.weights_of_hits(context.query.fielded_weights))


def code(context: QueryContext) -> FloatArray:
    """BM25 of identifiers in code."""
    return context.hits.scores(bm25.code, context.text_terms[1])


def methods(context: QueryContext) -> FloatArray:
    """BM25 of declared method names."""
    return context.hits.scores(bm25.methods, context.text_terms[1])


def chunk(context: QueryContext) -> FloatArray:
    """BM25 of the best 50 lines of the file."""
    terms, weights = context.text_terms
    return best_chunk(context.version.text, terms, weights * context.hits.idf)


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
    table = context.version.paths.table
    scores = np.zeros(context.all_paths)
    for word in context.query.mentions:
        if word[:1].isupper() or "_" in word:
            for row in table.rows_of_stem.get(word, ()):
                scores[row] = 1.0 if table.compound_stem[row] else 0.5
    return context.to_files(scores)


def mention_order(context: QueryContext) -> FloatArray:
    """``mention`` divided by the root of the place among the files' names that the report mentions."""
    table, present = context.version.paths.table, context.version.paths.present
    scores = np.zeros(context.all_paths)
    place = 0
    for word in context.query.mentions:
        if word[:1].isupper() or "_" in word:
            rows = [row for row in table.rows_of_stem.get(word, ()) if present[row]]
            place += bool(rows)
            for row in rows:
                scores[row] = (1.0 if table.compound_stem[row] else 0.5) / math.sqrt(place)
    return context.to_files(scores)


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
    """BM25 of the file's joined fixed reports + of its joined commit messages; k1 1.2, b .5, tf weighted 1/sqrt(k)."""
    return context.to_files(context.reports_bm25 + context.commits_bm25[0])


def commit_summary(context: QueryContext) -> FloatArray:
    """BM25 of the file's joined commit messages for the summary alone."""
    return context.to_files(context.commits_bm25[1])


def near_commits(context: QueryContext) -> FloatArray:
    """Sum of s/sqrt(k) over the 10 nearest commit messages."""
    view, similarities = context.history.commits, context.commit_similarities
    nearest = context.near_commits[:10]
    return context.to_files(
        view.spread(nearest, similarities[nearest] / np.sqrt(view.documents.sizes[nearest]), context.all_paths)
    )


def near_reports(context: QueryContext) -> FloatArray:
    """Sum of s^2 exp(-age/730 d)/sqrt(k) over the 200 nearest fixed reports."""
    view, similarities = context.history.reports, context.report_similarities
    nearest = context.near_reports
    weight = context.history.decayed(view, 730.0)[nearest] / np.sqrt(view.documents.sizes[nearest])
    return context.to_files(view.spread(nearest, similarities[nearest] ** 2 * weight, context.all_paths))


def near_package(context: QueryContext) -> FloatArray:
    """Sum over the file's folder of s/k over the 300 nearest commit messages, by the root of the folder's files."""
    view, similarities = context.history.commits, context.commit_similarities
    nearest = context.near_commits
    touched = view.spread(nearest, similarities[nearest] / view.documents.sizes[nearest], context.all_paths)
    return context.version.paths.directory_sum(context.to_files(touched))


def folder_reports(context: QueryContext) -> FloatArray:
    """Sum over the file's folder of s^2/k over the 100 nearest fixed reports, by the root of the folder's files."""
    view, similarities = context.history.reports, context.report_similarities
    nearest = context.near_reports[:100]
    fixed = view.spread(nearest, similarities[nearest] ** 2 / view.documents.sizes[nearest], context.all_paths)
    return context.version.paths.directory_sum(context.to_files(fixed))


def name_documents(context: QueryContext) -> FloatArray:
    """BM25 of the messages of all commits that touched a file whose name shares a word: helps files without a past."""
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
    return context.to_files(context.version.paths.table.test.astype(np.float64))


def length(context: QueryContext) -> FloatArray:
    """ln(1 + lines)."""
    view = context.version.text
    return np.log1p(view.to_files(view.corpus.table.lines.astype(np.float64)))


@dataclass(frozen=True, slots=True)
class Feature:
    """A formula and how its values are made comparable between reports."""

    of: Callable[[QueryContext], FloatArray]
    scaled: bool = True
    """Divide by the largest value among the version's files."""


PAPER: Mapping[str, Feature] = {
    "text": Feature(text, scaled=False),
    "trace": Feature(trace, scaled=False),
    "history": Feature(history, scaled=False),
    "complexity": Feature(complexity, scaled=False),
}

DIRECT: Mapping[str, Feature] = {
    "bm25f": Feature(bm25f),
    "code": Feature(code),
    "methods": Feature(methods),
    "chunk": Feature(chunk),
    "summary": Feature(summary),
    "lead": Feature(lead),
    "coverage": Feature(coverage),
    "identifiers": Feature(identifiers),
    "path": Feature(path),
    "folders": Feature(folders),
    "name_coverage": Feature(name_coverage),
    "mention": Feature(mention, scaled=False),
    "mention_order": Feature(mention_order, scaled=False),
    "rare_frame": Feature(rare_frame, scaled=False),
    "cause_frame": Feature(cause_frame),
    "file_documents": Feature(file_documents),
    "commit_summary": Feature(commit_summary),
    "near_commits": Feature(near_commits),
    "near_reports": Feature(near_reports),
    "near_package": Feature(near_package),
    "folder_reports": Feature(folder_reports),
    "name_documents": Feature(name_documents),
    "recency": Feature(recency),
    "activity": Feature(activity),
    "year": Feature(year),
    "popularity": Feature(popularity),
    "length": Feature(length),
    "test": Feature(test, scaled=False),
}

PRIOR_WEIGHTS: Mapping[str, float] = {
    "bm25f": 0.5, "code": 1.0, "methods": 0.4, "chunk": 2.3, "summary": 1.0, "identifiers": 1.0, "path": 0.6,
    "folders": 0.8, "name_coverage": 0.6, "mention": 1.0, "rare_frame": 1.5, "cause_frame": 1.5, "file_documents": 1.0,
    "commit_summary": 0.4, "near_commits": 0.4, "near_reports": 1.0, "near_package": 0.8, "name_documents": 0.7,
    "recency": 1.0, "activity": 1.0, "popularity": -1.8, "test": -0.6,
}  # fmt: skip
"""Fixed weights of a first guess, which the two features below pass on to related files; never fitted."""

RELATED = ("co_change", "twin", "folder_share")


def prior(columns: Mapping[str, FloatArray]) -> FloatArray:
    """(F,) softmax of the first guess over the version's files, from scaled columns."""
    guess = sum((weight * columns[name] for name, weight in PRIOR_WEIGHTS.items() if name in columns), np.float64(0.0))
    share = np.exp(guess - np.max(guess))
    value: FloatArray = share / share.sum()
    return value


def co_change(context: QueryContext, shares: FloatArray) -> FloatArray:
    """Sum over the 20 leading files j of p_j x the decayed share of j's commits that touched this file too."""
    seeds = leaders(shares, CANDIDATE_SEEDS)
    ids = context.version.paths.path_ids[seeds].astype(np.int64)
    return context.to_files(context.history.co_change(ids, shares[seeds], context.all_paths))


def test_counterpart(context: QueryContext, shares: FloatArray) -> FloatArray:
    """p of the largest test_counterpart: Foo for FooTest, and the other way round."""
    groups = context.version.paths.table.counterpart_group[context.version.paths.path_ids]
    best: dict[int, list[tuple[float, int]]] = {}
    for file in leaders(shares, 5 * CANDIDATE_SEEDS).tolist():
        best.setdefault(int(groups[file]), []).append((float(shares[file]), file))
    scores = np.zeros(context.files)
    wanted = np.zeros(int(groups.max(initial=-1)) + 1, dtype=bool)
    wanted[list(best)] = True
    for file in np.flatnonzero(wanted[groups]).tolist():
        scores[file] = max((share for share, other in best[int(groups[file])] if other != file), default=0.0)
    return scores


def folder_share(context: QueryContext, shares: FloatArray) -> FloatArray:
    """Sum of p over the other files of the folder, by the root of their number."""
    folder = context.version.paths.table.directory[context.version.paths.path_ids]
    number = np.maximum(np.bincount(folder)[folder] - 1, 1) if context.files else np.zeros(0)
    total = summed(folder, shares, context.version.paths.table.directories)
    value: FloatArray = np.maximum(total[folder] - shares, 0.0) / np.sqrt(number)
    return value


def scaled(values: FloatArray) -> FloatArray:
    """Values divided by their largest, where that is above 0."""
    largest = float(values.max()) if len(values) else 0.0
    return values / largest if largest > 0 else values


NAMES: tuple[str, ...] = (*DIRECT, *RELATED)
ALL: tuple[str, ...] = (*NAMES, *PAPER)


def columns(context: QueryContext, wanted: Sequence[str]) -> dict[str, FloatArray]:
    """The wanted features' values, (F,) each, made comparable between reports. Raises KeyError for an unknown name."""
    related = [name for name in wanted if name in RELATED]
    needed = [*wanted, *(name for name in DIRECT if related and name not in wanted)]
    made: dict[str, FloatArray] = {}
    for name in needed:
        if name in RELATED:
            continue
        feature = DIRECT[name] if name in DIRECT else PAPER[name]
        values = feature.of(context)
        made[name] = scaled(values) if feature.scaled else values
    if related and context.files:
        shares = prior(made)
        makers = {"co_change": co_change, "twin": test_counterpart, "folder_share": folder_share}
        for name in related:
            made[name] = scaled(makers[name](context, shares))
    elif related:
        made |= {name: np.zeros(0) for name in related}
    return {name: made[name] for name in wanted}


def table(context: QueryContext, wanted: Sequence[str]) -> FloatArray:
    """(F, features) the wanted columns side by side."""
    made = columns(context, wanted)
    return np.column_stack([made[name] for name in wanted]) if wanted else np.zeros((context.files, 0))
