"""Features of what earlier reports and commits say of files. Shapes: F files of the version, N paths, D documents."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from tosloc.index.bm25 import min_max
from tosloc.index.context import QueryContext
from tosloc.index.postings import leaders
from tosloc.records import FloatArray

MONTH_DAYS: Final = 30.0
LEADING_FILES: Final = 20
"""How many files of the first guess lend their score to files that change with them."""


def history(context: QueryContext) -> FloatArray:
    """norm(#earlier fixes) + 1 / (months since the last fix + 1); 0 if never fixed. norm = min-max over the version."""
    fixes = context.to_files(context.history.fixes(context.all_paths))
    months = context.to_files(context.history.last_touch(context.history.reports, context.all_paths)) / MONTH_DAYS
    score: FloatArray = np.where(fixes > 0, min_max(fixes) + 1.0 / (months + 1.0), 0.0)
    return score


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
    of_terms = index.joined(view, paths, by_name=True).bm25(terms, (weights,))[0]
    return context.to_files(paths.name_sum(of_terms) / np.maximum(paths.name_weight, 1e-9) ** 0.7)


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


def co_change(context: QueryContext, shares: FloatArray) -> FloatArray:
    """Sum over the 20 leading files j of p_j x the decayed share of j's commits that touched this file too."""
    leading = leaders(shares, LEADING_FILES)
    ids = context.version.paths.path_ids[leading].astype(np.int64)
    return context.to_files(context.history.co_change(ids, shares[leading], context.all_paths))


def known_reports(context: QueryContext) -> FloatArray:
    """ln(1 + fixed reports that are known), for every file."""
    return np.full(context.files, math.log1p(context.history.reports.number))


def known_commits(context: QueryContext) -> FloatArray:
    """ln(1 + commits that are known), for every file."""
    return np.full(context.files, math.log1p(context.history.commits.number))
