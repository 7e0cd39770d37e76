"""Features computed from words (in files, paths, names and messages) and from the history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np

from tosloc.core.arrays import FloatArray, IntArray
from tosloc.rank.features.query_context import QueryContext
from tosloc.reports.text import Name
from tosloc.retrieval.texts import min_max, top_k
from tosloc.retrieval.version_index import VersionIndex

SINGLE_WORD_WEIGHT: Final = 0.5
"""Weight of a name of one word, because its term may be part of longer names."""
MAX_DEFINED_NAMES: Final = 3.0
"""Largest value of the feature ``defined_names``."""
MONTH_DAYS: Final = 30.0
"""Number of days in a month."""
CO_CHANGE_SOURCES: Final = 20
"""Number of first files by the prior that pass their share to files that change with them."""


def complexity(context: QueryContext) -> FloatArray:
    """Return the summed cyclomatic complexity of each file's functions.

    The complexity of a function is the number of edges of its control-flow graph - the number of
    nodes + 2. Values are min-max scaled over the files of the version.
    """
    view = context.version.text
    return min_max(view.to_files(view.corpus.complexity.astype(np.float64)))


def length(context: QueryContext) -> FloatArray:
    """Return ln(1 + lines) of each file."""
    view = context.version.text
    return np.log1p(view.to_files(view.corpus.lines.astype(np.float64)))


def rarities(version: VersionIndex, terms: Iterable[str]) -> dict[str, float]:
    """Return term -> IDF for the terms that files of the version contain."""
    numbers = version.corpus.terms
    known = [term for term in terms if term in numbers]
    idf = version.text.idf(np.array([numbers[term] for term in known], dtype=np.int64))
    return dict(zip(known, idf.tolist(), strict=True))


def weigh_by_rarity(context: QueryContext, weights: Mapping[str, float]) -> dict[str, float]:
    """Return term of the query -> weight x its rarity among earlier reports and among commits."""
    weighted: dict[str, float] = {}
    for term, weight in weights.items():
        among_reports, among_commits = context.history_rarities[term]
        weighted[term] = weight * among_reports * among_commits
    return weighted


class DefinedName(NamedTuple):
    """A name that a report writes as code, and the files that define it."""

    name: Name
    weight: float
    """Weight of the name: 3 in the summary, 1 in prose, .5 in code; half for a single word."""
    rows: IntArray
    """Rows of the blobs in which the name is that of a function or type."""
    files: int
    """Number of the version's files with these blobs."""


def find_defined_names(context: QueryContext) -> list[DefinedName]:
    """Return the names in the report that a file of the version contains, without repetitions.

    A name that the report contains several times has its largest weight.
    """
    view = context.version.text
    numbers = view.corpus.terms
    heaviest: dict[int, tuple[Name, float]] = {}
    for name, weight in context.query.names.identifiers:
        number = numbers.get(name.key)
        if number is None:
            continue
        if not name.compound:
            weight *= SINGLE_WORD_WEIGHT
        if number not in heaviest or weight > heaviest[number][1]:
            heaviest[number] = name, weight
    names = []
    for number, (name, weight) in heaviest.items():
        rows = view.corpus.defining_rows(number)
        names.append(DefinedName(name, weight, rows, int(view.multiplicity[rows].sum())))
    return names


def defined_names(context: QueryContext) -> FloatArray:
    """Return how many of the names that the report writes as code each file defines.

    The value is the sum over the defined names of w / (number of files that define the name), at
    most 3; w is ``DefinedName.weight``.
    """
    view = context.version.text
    values = np.zeros(len(view.corpus))
    for _, weight, rows, files in find_defined_names(context):
        values[rows] += weight / max(files, 1)
    return np.minimum(view.to_files(values), MAX_DEFINED_NAMES)


def literals(context: QueryContext) -> FloatArray:
    """Return ln(1 + r) of each file, where r is the rarity of the best message in its literals.

    r is the summed IDF of the pairs of words that follow each other in the report and in a string
    literal of the file. Format fields between words are ignored.
    """
    return np.log1p(context.version.text.to_files(context.messages.rarity))


def history(context: QueryContext) -> FloatArray:
    """Return norm(number of earlier fixes) + 1 / (months since the last fix + 1) of each file.

    The value is 0 for a file that was never fixed; norm is min-max scaling over the version's
    files.
    """
    reports = context.history.reports
    fixes = context.to_files(context.history.fixes(context.all_paths))
    days = context.to_files(context.history.last_touch(reports, context.all_paths))
    months = days / MONTH_DAYS
    return np.where(fixes > 0, min_max(fixes) + 1.0 / (months + 1.0), 0.0)


def near_commits(context: QueryContext) -> FloatArray:
    """Return the sum of s/sqrt(k) over similar commits that touched each file.

    Only the 10 commits most similar to the report count. s is the cosine similarity of the commit
    message to the report, k the number of files of the commit.
    """
    view = context.history.commits
    nearest = context.similar_documents.near_commits[:10]
    values = context.similar_documents.commit_similarities[nearest] / np.sqrt(
        view.documents.sizes[nearest]
    )
    return context.to_files(view.scatter_to_files(nearest, values, context.all_paths))


def near_reports(context: QueryContext) -> FloatArray:
    """Return the sum of s^2 exp(-age/730 d)/sqrt(k) over reports about the file.

    Only the 200 fixed reports most similar to the report count. s is the similarity, age the time
    since the fix in days, and k the number of files of the fix.
    """
    view = context.history.reports
    nearest = context.similar_documents.near_reports
    weights = view.decay_weights(context.history.opened, 730.0)[nearest]
    values = context.similar_documents.report_similarities[nearest] ** 2 * weights
    return context.to_files(view.scatter_to_files(nearest, values, context.all_paths))


def near_package(context: QueryContext) -> FloatArray:
    """Return the sum of s/k over commits that touched files of each file's folder.

    Only the 300 commits most similar to the report count. s is the similarity of the message, k the
    number of files of the commit. The sum is divided by the square root of the folder's number of
    files.
    """
    view = context.history.commits
    nearest = context.similar_documents.near_commits
    values = context.similar_documents.commit_similarities[nearest] / view.documents.sizes[nearest]
    by_file = context.to_files(view.scatter_to_files(nearest, values, context.all_paths))
    return context.version.paths.directory_sum(by_file)


def folder_reports(context: QueryContext) -> FloatArray:
    """Return the sum of s^2/k over fixed reports about files of each file's folder.

    Only the 100 fixed reports most similar to the report count. s is the similarity, k the number
    of files of the fix. The sum is divided by the square root of the folder's number of files.
    """
    view = context.history.reports
    nearest = context.similar_documents.near_reports[:100]
    values = (
        context.similar_documents.report_similarities[nearest] ** 2 / view.documents.sizes[nearest]
    )
    by_file = context.to_files(view.scatter_to_files(nearest, values, context.all_paths))
    return context.version.paths.directory_sum(by_file)


def file_documents(context: QueryContext) -> FloatArray:
    """Return BM25 of all fixed reports of a file, as one text, plus BM25 of all its commits."""
    weights = context.query.weights
    reports = context.similar_documents.aggregated_bm25(context.history.reports, weights)
    commits = context.similar_documents.aggregated_bm25(context.history.commits, weights)
    return context.to_files(reports + commits)


def name_documents(context: QueryContext) -> FloatArray:
    """Return BM25 of the commits of all files whose name shares a word with the file's name.

    This helps files without commits of their own.
    """
    paths = context.version.paths
    by_term = context.similar_documents.aggregated_bm25(
        context.history.commits, context.query.summary_weights, by_name=True
    )
    by_path = paths.names.weighted_sum(by_term) / np.maximum(paths.names.weight, 1e-9) ** 0.7
    return context.to_files(by_path)


def recency(context: QueryContext) -> FloatArray:
    """Return 1 / (days since the last commit / 30 + 1) of each file."""
    days = context.history.last_touch(context.history.commits, context.all_paths)
    return context.to_files(1.0 / (days / MONTH_DAYS + 1.0))


def activity(days: float) -> Callable[[QueryContext], FloatArray]:
    """Return a feature: ln(1 + sum over the file's commits of exp(-age/days)/sqrt(k)).

    age is in days before the opening, and k is the number of files of a commit.
    """
    return lambda context: context.to_files(context.history.activity(days, context.all_paths))


def co_change(context: QueryContext, shares: FloatArray) -> FloatArray:
    """Return how often each file changes together with the first files by the prior.

    The value is the sum over the first 20 files j of p_j x the decayed share of the commits on j
    that also touched this file. ``shares`` (F,) are the p of all files, by the prior.
    """
    first = top_k(shares, CO_CHANGE_SOURCES)
    path_ids = context.version.paths.path_ids[first].astype(np.int64)
    values = context.history.co_change(path_ids, shares[first], context.all_paths)
    return context.to_files(values)
