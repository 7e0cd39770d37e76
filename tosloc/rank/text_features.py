"""Features of the words of a report, in files, paths, names of code and messages, and of what the history says.

Shapes: F files of the version, B blobs of its corpus, T terms, N paths, D documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np

from tosloc.core.records import FloatArray, IntArray
from tosloc.reports.text import Name
from tosloc.retrieval.bm25 import min_max
from tosloc.retrieval.context import QueryContext, VersionIndex
from tosloc.retrieval.corpus import METHOD, TYPE
from tosloc.retrieval.postings import top_k

MOST_MESSAGES: Final = 40  # messages of a report that are looked for, the first ones
SINGLE_WORD: Final = (
    0.5  # what a name of one word counts: its term may also be a part of longer names
)
ENOUGH: Final = 3.0  # more than so much that speaks for a file adds nothing
MONTH_DAYS: Final = 30.0
LEADING_FILES: Final = (
    20  # how many files of the first guess lend their score to files that change with them
)


def complexity(context: QueryContext) -> FloatArray:
    """Sum over a file's functions of their cyclomatic complexity (E - N + 2), min-max over the version."""
    view = context.version.text
    return min_max(view.to_files(view.corpus.complexity.astype(np.float64)))


def length(context: QueryContext) -> FloatArray:
    """ln(1 + lines)."""
    view = context.version.text
    return np.log1p(view.to_files(view.corpus.lines.astype(np.float64)))


def rarities(version: VersionIndex, terms: Iterable[str]) -> dict[str, float]:
    """Term -> its inverse document frequency, of those terms that files of the version hold."""
    numbers = version.text.corpus.terms
    known = [term for term in terms if term in numbers]
    found = version.text.idf(np.array([numbers[term] for term in known], dtype=np.int64))
    return dict(zip(known, found.tolist(), strict=True))


def weigh_by_rarity(context: QueryContext, weights: Mapping[str, float]) -> dict[str, float]:
    """The weights of terms times how rare each is among earlier reports, and among commit messages."""
    reports, commits = context.history.reports, context.history.commits
    return {
        term: weight * reports.rarity(term) * commits.rarity(term)
        for term, weight in weights.items()
    }


class DefinedName(NamedTuple):
    """A name that a report writes as code, and who defines it."""

    name: Name
    weight: float  # 3 in the summary, 1 in prose, .5 in code; half of it for a name of one word
    rows: IntArray  # the blobs that define it, as a function or a type
    files: int  # how many files of the version those are


def find_defined_names(context: QueryContext) -> list[DefinedName]:
    """Those that any file of the version holds, each once, with its largest weight."""
    view, numbers = context.version.text, context.version.text.corpus.terms
    found: dict[int, tuple[Name, float]] = {}
    for name, said in context.query.names:
        number = numbers.get(name.key)
        weight = said * (1.0 if name.compound else SINGLE_WORD)
        if number is not None and weight > found.get(number, (name, 0.0))[1]:
            found[number] = name, weight
    lists, names = view.corpus.postings, []
    for number, (name, weight) in found.items():
        part = lists.term_slice(number)
        rows = lists.rows[part][lists.values[part][:, (METHOD, TYPE)].any(axis=1)]
        names.append(DefinedName(name, weight, rows, int(view.multiplicity[rows].sum())))
    return names


def defined_names(context: QueryContext) -> FloatArray:
    """Functions and types that the file defines and the report names as code, each by how few files define it.

    Sum over names of w / files that define it, at most 3; w is 3 in the summary, 1 in prose, .5 in code, half of it for
    a name of one word.
    """
    view = context.version.text
    values = np.zeros(len(view.corpus))
    for _, weight, rows, files in find_defined_names(context):
        values[rows] += weight / max(files, 1)
    return np.minimum(view.to_files(values), ENOUGH)


def history(context: QueryContext) -> FloatArray:
    """norm(#earlier fixes) + 1 / (months since the last fix + 1); 0 if never fixed. norm = min-max over the version."""
    fixes = context.to_files(context.history.fixes(context.all_paths))
    months = (
        context.to_files(context.history.last_touch(context.history.reports, context.all_paths))
        / MONTH_DAYS
    )
    return np.where(fixes > 0, min_max(fixes) + 1.0 / (months + 1.0), 0.0)


def near_commits(context: QueryContext) -> FloatArray:
    """Sum of s/sqrt(k) over the 10 nearest commit messages."""
    view, nearest = context.history.commits, context.near_commits[:10]
    values = context.commit_similarities[nearest] / np.sqrt(view.documents.sizes[nearest])
    return context.to_files(view.scatter_to_files(nearest, values, context.all_paths))


def near_reports(context: QueryContext) -> FloatArray:
    """Sum of s^2 exp(-age/730 d)/sqrt(k) over the 200 nearest fixed reports."""
    view, nearest = context.history.reports, context.near_reports
    weight = view.decay_weights(context.history.opened, 730.0)[nearest]
    return context.to_files(
        view.scatter_to_files(
            nearest, context.report_similarities[nearest] ** 2 * weight, context.all_paths
        )
    )


def near_package(context: QueryContext) -> FloatArray:
    """Sum over the file's folder of s/k over the 300 nearest commit messages, by the root of the folder's files."""
    view, nearest = context.history.commits, context.near_commits
    values = context.commit_similarities[nearest] / view.documents.sizes[nearest]
    return context.version.paths.directory_sum(
        context.to_files(view.scatter_to_files(nearest, values, context.all_paths))
    )


def folder_reports(context: QueryContext) -> FloatArray:
    """Sum over the file's folder of s^2/k over the 100 nearest fixed reports, by the root of the folder's files."""
    view, nearest = context.history.reports, context.near_reports[:100]
    values = context.report_similarities[nearest] ** 2 / view.documents.sizes[nearest]
    return context.version.paths.directory_sum(
        context.to_files(view.scatter_to_files(nearest, values, context.all_paths))
    )


def file_documents(context: QueryContext) -> FloatArray:
    """BM25 of each file's fixed reports, and of its commit messages, as one text each."""
    reports, commits = (
        context.aggregated_bm25(view, context.query.weights)
        for view in (context.history.reports, context.history.commits)
    )
    return context.to_files(reports + commits)


def name_documents(context: QueryContext) -> FloatArray:
    """BM25 of the messages of all commits that touched a file whose name shares a word: helps files that have none."""
    paths = context.version.paths
    of_terms = context.aggregated_bm25(
        context.history.commits, context.query.summary_weights, by_name=True
    )
    return context.to_files(paths.name_sum(of_terms) / np.maximum(paths.name_weight, 1e-9) ** 0.7)


def recency(context: QueryContext) -> FloatArray:
    """1 / (days since the last commit / 30 + 1)."""
    months = context.history.last_touch(context.history.commits, context.all_paths) / MONTH_DAYS
    return context.to_files(1.0 / (months + 1.0))


def activity(days: float) -> Callable[[QueryContext], FloatArray]:
    """ln(1 + sum over the file's commits of exp(-age/days)/sqrt(k))."""
    return lambda context: context.to_files(context.history.activity(days, context.all_paths))


def co_change(context: QueryContext, shares: FloatArray) -> FloatArray:
    """Sum over the 20 leading files j of p_j x the decayed share of j's commits that touched this file too."""
    leading = top_k(shares, LEADING_FILES)
    ids = context.version.paths.path_ids[leading].astype(np.int64)
    return context.to_files(context.history.co_change(ids, shares[leading], context.all_paths))
