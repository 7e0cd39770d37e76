"""The features of stage one: functions from a query context to one value for each file.

The lists ``DIRECT``, ``RELATED``, ``CONTEXT`` and ``PAPER`` contain every feature once, with its
function and its meaning. docs/features.md shows them as tables, and says how much each feature
contributes.

The functions about the files that a report names, and about the kinds of files, are in this module.
The functions about words and about the history are in ``text_features.py``.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from tosloc.core.arrays import BoolArray, FloatArray
from tosloc.paths.classify import FileClass
from tosloc.rank.features import text_features
from tosloc.rank.features.query_context import QueryContext
from tosloc.rank.features.text_features import weigh_by_rarity
from tosloc.reports.traces import Place
from tosloc.retrieval.query import Query
from tosloc.retrieval.text_matches import TextMatches
from tosloc.retrieval.texts import group_sum, top_k

Formula: TypeAlias = Callable[[QueryContext], FloatArray]
"""Function from a query context to values (F,)."""
_Score: TypeAlias = Callable[[TextMatches, FloatArray], FloatArray]
"""Function from the matches of a report's terms, and weights (T,) of the terms, to values (F,)."""
FEATURES_VERSION = "features23"
"""Version of the formulas in the names of stored tables.

Raise it when a value of an existing feature changes. A new feature needs no new version, because
the names of tables depend on the names of their features."""
BODY_NAME_WEIGHT: Final = 0.5
"""Weight of a name of several words that is not in the title.

A file whose whole name is in the report's title was fixed in 50 % of the cases. If the name is
elsewhere in the report, the file was fixed in 20 % (20 projects).
"""
NAME_SHARE_POWER: Final = 6
"""Exponent of the share of a file name's words that a name contains.

If a report contains the whole name of a file, the file was fixed in 24 % of the cases; if it
contains a part of the name, in 5 % (20 projects).
"""
COUNTERPART_SOURCES: Final = 100
"""Number of first files by the prior that pass their share to their tests, or to tested files."""


def trace(context: QueryContext) -> FloatArray:
    """Return 1 / rank of each file among the qualified class names of the stack traces.

    The rank is the order of first appearance; other files have 0.
    """
    scores = np.zeros(context.all_paths)
    rank = 0
    for name in context.query.places.qualified_names:
        rows = [row for row in context.version.paths.find_by_class(name) if scores[row] == 0]
        if rows:
            rank += 1
            scores[rows] = 1.0 / rank
    return context.to_files(scores)


def mention(context: QueryContext) -> FloatArray:
    """Return 1 for a file whose name the report contains, .5 if it is a plain capitalised word.

    If a command, option or key of the report is part of a file's name, the value is the share of
    the name's words that it contains.
    """
    scores = np.zeros(context.all_paths)
    for rows in context.named_files.mentioned_rows:
        scores[rows] = np.where(context.version.table.compound_stem[rows], 1.0, 0.5)
    for name, command_rows, share in context.named_files.by_compound_name:
        if name.is_command:
            scores[[*command_rows]] = np.maximum(scores[[*command_rows]], share)
    return context.to_files(scores)


def rare_frame(context: QueryContext) -> FloatArray:
    """Return the rarity of each file's class in earlier traces, for files in the report's traces.

    It is divided by the square root of the class's rank in the report's traces.
    """
    return _frame_rarity(context, context.named_files.in_frames)


def cause_frame(context: QueryContext) -> FloatArray:
    """Return ``rare_frame`` with ranks counted from the last "Caused by" of a trace."""
    last = max((frame.cause for frame in context.query.text.frames), default=0)
    frames = [frame for frame in context.named_files.in_frames if frame[1] == last]
    return _frame_rarity(context, frames)


def _frame_rarity(
    context: QueryContext, frames: Sequence[tuple[str, int, tuple[int, ...]]]
) -> FloatArray:
    """Return (F,) the largest rarity / sqrt(rank) among the frames of each file."""
    scores = np.zeros(context.all_paths)
    seen: set[str] = set()
    for name, _, rows in frames:
        if name in seen:
            continue
        seen.add(name)
        value = context.history.frame_rarity(name) / math.sqrt(len(seen))
        for row in rows:
            scores[row] = max(scores[row], value)
    return context.to_files(scores)


def own_frame(context: QueryContext) -> FloatArray:
    """Return 1 / rank of each file among a trace's frames in the project, innermost first."""
    return _rank_scores(context, context.named_files.project_frames, 1.0)


def named_change(context: QueryContext, *, certain: bool = False) -> FloatArray:
    """Return (F,) 1/sqrt(k) for each file that an earlier change named by the report has touched.

    k is the number of files of the change; of several changes the one with the fewest files counts.
    With ``certain`` only names of commits and pull requests count, not those of issues.
    """
    scores = np.zeros(context.all_paths)
    for change in context.named_history.changes:
        if certain and not change.is_change:
            continue
        value = 1 / math.sqrt(len(change.rows))
        rows = [*change.rows]
        scores[rows] = np.maximum(scores[rows], value)
    return context.to_files(scores)


def linked(context: QueryContext) -> FloatArray:
    """Return 1 / sqrt(rank) of each file among the files that the report links to.

    If the report names a commit or pull request with k files, each of them has at least 1 /
    sqrt(k).
    """
    links = _location_scores(context, context.query.places.locations.links, 0.5)
    return np.maximum(links, named_change(context, certain=True))


def written_path(context: QueryContext) -> FloatArray:
    """Return 1 / rank of each file among the paths in the report.

    A file that a name of several words means has at least the value of ``_named_file_scores``.
    """
    paths = _location_scores(context, context.query.places.locations.paths, 1.0)
    return np.maximum(paths, _named_file_scores(context))


def _named_file_scores(context: QueryContext) -> FloatArray:
    """Return (F,) the value of each file that a name of several words means.

    If the name means k files, the value is s / sqrt(k) for a command, and w s^6 / sqrt(k) for
    another name. s is the share of the words of the file's name that the name contains. w is 1 for
    a name in the title, and .5 elsewhere.
    """
    scores = np.zeros(context.all_paths)
    for name, rows, share in context.named_files.by_compound_name:
        if name.is_command:
            value = share / math.sqrt(len(rows))
        else:
            weight = 1.0 if name.in_title else BODY_NAME_WEIGHT
            value = weight * share**NAME_SHARE_POWER / math.sqrt(len(rows))
        scores[[*rows]] = np.maximum(scores[[*rows]], value)
    return context.to_files(scores)


def _rank_scores(
    context: QueryContext, traces: Iterable[Iterable[tuple[int, ...]]], power: float
) -> FloatArray:
    """Return (F,) the best 1 / rank^power of each file in the traces.

    A trace is a sequence of locations. A location consists of the rows of the paths that it can
    mean, and its value is divided by their number. Values are also divided by the square root of
    the trace's number, from 1.
    """
    scores = np.zeros(context.all_paths)
    for number, locations in enumerate(traces, start=1):
        for rank, rows in enumerate(locations, start=1):
            value = 1 / (rank**power * math.sqrt(number)) / len(rows)
            scores[[*rows]] = np.maximum(scores[[*rows]], value)
    return context.to_files(scores)


def _location_scores(context: QueryContext, places: Iterable[Place], power: float) -> FloatArray:
    """Return ``_rank_scores`` of places that are not stack frames; a file counts once."""
    rows = [context.named_files.find_rows(place) for place in places]
    return _rank_scores(context, [dict.fromkeys(filter(None, rows))], power)


def folder_share(context: QueryContext, shares: FloatArray) -> FloatArray:
    """Return the sum of the shares of the other files in each file's folder.

    The sum is divided by the square root of their number. ``shares`` (F,) are the shares by the
    prior.
    """
    folder = context.version.table.directory[context.version.paths.path_ids]
    others = np.maximum(np.bincount(folder)[folder] - 1, 1)
    total = group_sum(folder, shares, 0)
    return np.asarray(np.maximum(total[folder] - shares, 0.0) / np.sqrt(others))


def best_counterpart(context: QueryContext, shares: FloatArray) -> FloatArray:
    """Return the largest share among each file's tests, or among the files that it tests.

    ``shares`` (F,) are the shares by the prior; only the first files by these count.
    """
    groups = context.version.table.counterpart_group[context.version.paths.path_ids]
    first = top_k(shares, COUNTERPART_SOURCES)
    best_of_group: defaultdict[int, list[int]] = defaultdict(list)
    for file in first.tolist():
        best_of_group[groups[file]].append(file)
    scores = np.zeros(len(shares))
    for file in np.flatnonzero(np.isin(groups, groups[first])).tolist():
        for other in best_of_group[groups[file]]:
            if other != file:
                scores[file] = shares[other]
                break
    return scores


def language_share(context: QueryContext) -> FloatArray:
    """Return the share of the version's files that are in the same language as each file.

    A build script gets the largest share, because its language says nothing.
    """
    language = context.version.table.language[context.version.paths.path_ids]
    shares = np.bincount(language)[language] / context.files
    return np.where(context.version.file_class == FileClass.BUILD, shares.max(), shares)


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature: its formula, its reasons, its weight in the prior and its scaling."""

    name: str
    """Name of the feature, which is also its key in weights.json."""
    values: Callable[..., FloatArray]
    """Function from a query context to values (F,); for related features also from the prior."""
    meaning: str
    """A sentence that says what the value is, and when it is high; docs/features.md shows it."""
    reason: str | None = None
    """Kind of the reasons for a file that the feature lifts; None if nobody could check it."""
    prior: float = 0.0
    """Weight in the prior, which is never fitted.

    Features that start from the prior depend on this weight. A new feature therefore has 0 until
    the shipped weights are learned again.
    """
    scaled: bool = True
    """Whether values are divided by the largest value among files that people wrote.

    A sum such as BM25 needs this, because its size depends on the report and the version. A value
    with the same meaning in every version does not: 0 or 1, 1 / rank, a rarity.
    """


def _words(score: _Score, weights: Callable[[Query], Mapping[str, float]]) -> Formula:
    """Return the formula for BM25 of report terms with the weights that ``weights`` returns."""
    return lambda c: score(c.matches, c.matches.align(weights(c.query)))


def _field(score: _Score) -> Formula:
    """Return the formula for BM25 of one field of the text."""
    return lambda c: score(c.matches, c.matches.weights)


def _file_class(*classes: FileClass) -> Formula:
    """Return the formula that is 1 for files of some classes, by their path and text."""
    values = np.zeros(1 << 8)  # A class is a byte.
    values[[*classes]] = 1.0
    return lambda c: values.take(c.version.file_class)


def _constant(number: Callable[[QueryContext], int]) -> Formula:
    """Return the formula ln(1 + number), which has the same value for every file."""
    return lambda c: np.full(c.files, math.log1p(number(c)))


def _compound_weights(query: Query) -> dict[str, float]:
    """Return term -> weight for the report's compound names."""
    return {term: query.weights[term] for term in query.weights.keys() & query.names.compounds}


def _summary_words(query: Query) -> dict[str, float]:
    """Return 1 as the weight of each word of the summary."""
    return dict.fromkeys(query.summary_weights, 1.0)


def _text(context: QueryContext) -> FloatArray:
    """Return the paper's text similarity (revised vector space model)."""
    return context.version.revised.similarity(context.query.plain_weights)


def _chunk(context: QueryContext) -> FloatArray:
    """Return BM25 of the best chunk of each file."""
    return context.matches.best_chunk_scores(context.matches.weights)


def _rare_bm25f(context: QueryContext) -> FloatArray:
    """Return BM25F with weights by the rarity of terms in the history."""
    weights = weigh_by_rarity(context, context.query.fielded_weights)
    return context.matches.score_fields(context.matches.align(weights))


def _rare_chunk(context: QueryContext) -> FloatArray:
    """Return BM25 of each file's best chunk, with weights by the rarity of terms in the history."""
    weights = weigh_by_rarity(context, context.query.weights)
    return context.matches.best_chunk_scores(context.matches.align(weights))


def _path(context: QueryContext) -> FloatArray:
    """Return BM25 of the words in each file's path."""
    return context.path_scores[1]


def _test(context: QueryContext) -> FloatArray:
    """Return 1 for each test, including generated tests."""
    return context.to_files(context.version.table.test.astype(np.float64))


def _folders(context: QueryContext) -> FloatArray:
    """Return BM25 of the words in each file's folders."""
    return context.path_scores[0]


def _name_coverage(context: QueryContext) -> FloatArray:
    """Return the share of the summed IDF of each file name's words that the summary contains."""
    return context.version.paths.names.coverage(frozenset(context.query.summary_counts))


def _commit_summary(context: QueryContext) -> FloatArray:
    """Return BM25 of all commit messages of each file, as one text, for the summary's words."""
    values = context.similar_documents.aggregated_bm25(
        context.history.commits, context.query.summary_weights
    )
    return context.to_files(values)


PAPER: tuple[Feature, ...] = (
    Feature(
        "text",
        _text,
        "Cosine of the TF-IDF vectors of report and file, times a score that grows with the"
        " file's number of terms (rVSM): high for a long file that shares the report's rare words.",
        "words",
        scaled=False,
    ),
    Feature(
        "trace",
        trace,
        "1 / rank of the file among the classes of the stack traces, in order of first"
        " appearance: 1 for the first.",
        "frame",
        scaled=False,
    ),
    Feature(
        "history",
        text_features.history,
        "Number of earlier fixes, scaled from 0 to 1, plus 1 / (months since the last fix + 1); 0"
        " for a file that was never fixed: high if it was fixed often and lately.",
        scaled=False,
    ),
    Feature(
        "complexity",
        text_features.complexity,
        "Summed cyclomatic complexity of the file's functions, scaled from 0 to 1: 1 for the most"
        " complex file.",
        scaled=False,
    ),
)
"""The paper's features (docs/method.md, section 2)."""
DIRECT: tuple[Feature, ...] = (
    Feature(
        "bm25f",
        _words(TextMatches.score_fields, lambda q: q.fielded_weights),
        "BM25F of the file's text (code 1, comments and strings .5, method names 4, type names"
        " 40; words of the summary count five times): high if the file declares what the report is"
        " about.",
        "words",
        prior=0.5,
    ),
    Feature(
        "code",
        _field(TextMatches.score_code),
        "BM25 of the identifiers in the file's code: high if the code uses the report's words"
        " often.",
        "words",
        prior=1.0,
    ),
    Feature(
        "methods",
        _field(TextMatches.score_methods),
        "BM25 of the names of the file's methods: high if the file declares methods that are"
        " named like words of the report.",
        "words",
        prior=0.4,
    ),
    Feature(
        "chunk",
        _chunk,
        "BM25 of the best 50 lines of the file: high if many of the report's words are close"
        " together in it.",
        "words",
        prior=2.3,
    ),
    Feature(
        "summary",
        _words(TextMatches.score_whole, lambda q: q.summary_weights),
        "BM25 of the whole text for the summary alone: high if the file contains the summary's"
        " words often.",
        "words",
        prior=1.0,
    ),
    Feature(
        "lead",
        _words(TextMatches.score_whole, lambda q: q.lead_weights),
        "BM25 of the whole text for the summary, which counts twice, and the first 40 words of"
        " the description: high if the file contains the words with which the report begins.",
        "words",
    ),
    Feature(
        "coverage",
        _words(TextMatches.coverage, _summary_words),
        "Summed IDF of the summary's words that the file contains, each once: high if it contains"
        " nearly all of them.",
        "words",
    ),
    Feature(
        "identifiers",
        _words(TextMatches.score_whole, _compound_weights),
        "BM25 of whole names that the report writes in camel case, with underscores or with"
        " hyphens: high if the file uses exactly these names.",
        "words",
        prior=1.0,
    ),
    Feature(
        "path",
        _path,
        "BM25 of the words of folders and file name: high if the path consists of the report's"
        " words.",
        "path",
        prior=0.6,
    ),
    Feature(
        "folders",
        _folders,
        "BM25 of the words of the folders alone: high if the file is in folders that are named"
        " like words of the report.",
        "path",
        prior=0.8,
    ),
    Feature(
        "name_coverage",
        _name_coverage,
        "Share of the file name's words, by IDF, that the summary contains: high if it contains"
        " the whole name.",
        "path",
        prior=0.6,
    ),
    Feature(
        "mention",
        mention,
        "1 if the report writes the file's name, .5 if that is one plain word, and for a command,"
        " an option or a key the share of the words of the file's name that it has.",
        "name",
        prior=1.0,
        scaled=False,
    ),
    Feature(
        "rare_frame",
        rare_frame,
        "Rarity of the file's class in earlier stack traces, by the root of its rank in the"
        " report's trace: high for an early frame of a class that few traces contain.",
        "frame",
        prior=1.5,
        scaled=False,
    ),
    Feature(
        "cause_frame",
        cause_frame,
        '`rare_frame` with ranks from the last "Caused by" on: high for the first frames of what'
        " failed first.",
        "frame",
        prior=1.5,
    ),
    Feature(
        "file_documents",
        text_features.file_documents,
        "BM25 of the file's earlier reports plus BM25 of its commit messages, each joined into"
        " one text: high if earlier work on the file used the report's words.",
        "past",
        prior=1.0,
    ),
    Feature(
        "commit_summary",
        _commit_summary,
        "BM25 of the file's commit messages, joined into one text, for the summary: high if"
        " commits on the file used the summary's words.",
        "past",
        prior=0.4,
    ),
    Feature(
        "near_commits",
        text_features.near_commits,
        "Sum of s / sqrt(k) over the file's commits among the 10 whose messages are nearest to"
        " the report (similarity s, k files): high if similar commits changed it and little else.",
        "past",
        prior=0.4,
    ),
    Feature(
        "near_reports",
        text_features.near_reports,
        "Sum of s^2 / sqrt(k) over the file's fixed reports among the nearest 200, with a decay"
        " of 730 days: high if fixes of similar, recent reports changed it and little else.",
        "past",
        prior=1.0,
    ),
    Feature(
        "near_package",
        text_features.near_package,
        "Sum of s / k over the folder's commits among the nearest 300, by the root of its number"
        " of files: high if similar commits changed files of the same folder.",
        prior=0.8,
    ),
    Feature(
        "folder_reports",
        text_features.folder_reports,
        "Sum of s^2 / k over the folder's fixed reports among the nearest 100, by the root of its"
        " number of files: high if fixes of similar reports changed files of the same folder.",
    ),
    Feature(
        "name_documents",
        text_features.name_documents,
        "BM25 of the commit messages of all files whose names share a word with the file's name:"
        " high, also for a new file, if commits on its namesakes used the summary's words.",
        prior=0.7,
    ),
    Feature(
        "recency",
        text_features.recency,
        "1 / (months since the file's last commit + 1): high if it changed lately.",
        prior=1.0,
    ),
    Feature(
        "activity",
        text_features.activity(60.0),
        "ln(1 + the file's commits with a decay of 60 days, each by the root of its number of"
        " files): high if it changes often at present.",
        prior=1.0,
    ),
    Feature(
        "popularity",
        text_features.activity(math.inf),
        "ln(1 + all commits of the file, each by the root of its number of files): high if it"
        " always changed often, which its texts of the history must make up for.",
        prior=-1.8,
    ),
    Feature(
        "length",
        text_features.length,
        "ln(1 + lines): high for a long file.",
    ),
    Feature(
        "test",
        _test,
        "1 for a test, by its folder or name.",
        prior=-0.6,
        scaled=False,
    ),
    Feature(
        "types",
        _field(TextMatches.score_types),
        "BM25 of the names of the file's types: high if the file declares types that are named"
        " like words of the report.",
        "words",
    ),
    Feature(
        "own_frame",
        own_frame,
        "1 / rank of the file among the project's own frames of a stack trace of any language: 1"
        " for the innermost one.",
        "frame",
        scaled=False,
    ),
    Feature(
        "linked",
        linked,
        "1 / sqrt(rank) among the files that the report links to, or 1 / sqrt(k) if it names a"
        " commit or pull request that changed this file and k - 1 others: 1 for the first link.",
        "name",
        scaled=False,
    ),
    Feature(
        "written_path",
        written_path,
        "1 / rank among the files whose paths the report writes, and less for one of few files"
        " whose name a command, an option or an identifier has in any spelling: 1 for the first"
        " path.",
        "name",
        scaled=False,
    ),
    Feature(
        "example",
        _file_class(FileClass.EXAMPLE, FileClass.DOCUMENTATION, FileClass.BENCHMARK),
        "1 for an example, a file of the documentation or a benchmark, by the path.",
        scaled=False,
    ),
    Feature(
        "vendored",
        _file_class(FileClass.VENDORED),
        "1 for code of another project, by the path.",
        scaled=False,
    ),
    Feature(
        "setup",
        _file_class(FileClass.BUILD),
        "1 for a script that builds, installs or configures the project, by the path.",
        scaled=False,
    ),
    Feature(
        "rare_bm25f",
        _rare_bm25f,
        "`bm25f` with each word weighted by how rare it is in earlier reports and in commit"
        " messages: high if the file declares what few reports before were about.",
        "words",
    ),
    Feature(
        "rare_chunk",
        _rare_chunk,
        "`chunk` with each word weighted by how rare it is in earlier reports and in commit"
        " messages: high if words that few reports before contained are close together in the"
        " file.",
        "words",
    ),
    Feature(
        "defined_names",
        text_features.defined_names,
        "Sum over the names that the report writes as code and the file defines, each by the"
        " number of files that define it, at most 3: high if only this file defines what the"
        " report names.",
        "name",
        scaled=False,
    ),
    Feature(
        "named_change",
        named_change,
        "1 / sqrt(k) if the report blames or names a commit, a pull request or an issue whose"
        " change touched this file and k - 1 others: 1 if it touched no other.",
        "change",
        scaled=False,
    ),
    Feature(
        "literals",
        text_features.literals,
        "ln(1 + r), r being the IDF of the rarest message that the report shares with the file's"
        " string literals: high if the file prints what the report quotes.",
        "message",
        scaled=False,
    ),
    Feature(
        "generated",
        _file_class(FileClass.GENERATED),
        "1 for a file that a program wrote, by its path or its text.",
        scaled=False,
    ),
    Feature(
        "minified",
        _file_class(FileClass.MINIFIED),
        "1 for minified or bundled code, by its path or its text.",
        scaled=False,
    ),
)
"""Features that are computed from a query context alone."""
RELATED: tuple[Feature, ...] = (
    Feature(
        "co_change",
        text_features.co_change,
        "Decayed share of the commits on the first 20 files of the prior that touched this file,"
        " too, each share times the prior: high if it changes together with them.",
    ),
    Feature(
        "test_counterpart",
        best_counterpart,
        "Largest prior of the file's tests, or of the files that it tests: high if its"
        " counterpart is a first file.",
        "test",
    ),
    Feature(
        "folder_share",
        folder_share,
        "Summed prior of the other files of the folder, by the root of their number: high if the"
        " first files are its neighbours.",
    ),
)
"""Features that are also computed from the prior, which they pass on to related files."""
CONTEXT: tuple[Feature, ...] = (
    Feature(
        "files",
        _constant(lambda c: c.files),
        "ln(1 + number of files of the version): high in a large project.",
        scaled=False,
    ),
    Feature(
        "known_reports",
        _constant(lambda c: c.history.reports.number),
        "ln(1 + number of known fixed reports): high if much can be learned from earlier reports.",
        scaled=False,
    ),
    Feature(
        "known_commits",
        _constant(lambda c: c.history.commits.number),
        "ln(1 + number of known commits): high if the history is long.",
        scaled=False,
    ),
    Feature(
        "report_terms",
        _constant(lambda c: len(c.query.weights)),
        "ln(1 + number of the report's terms): high for a long report.",
        scaled=False,
    ),
    Feature(
        "language_share",
        language_share,
        "Share of the version's files that are in the file's language, where C and C++ are one:"
        " high for the main language, and for a build script, whose language says nothing.",
        scaled=False,
    ),
)
"""Features that have about the same value for every file, so that they change no weighted sum.

The trees of the learned ranker use them to decide how much another feature counts: in a repository
of 30 files size and folders mean little, and without fixed reports the history means less.
"""

FEATURES: Mapping[str, Feature] = {
    feature.name: feature for feature in (*DIRECT, *RELATED, *CONTEXT, *PAPER)
}
"""All features by name."""
ALL: tuple[str, ...] = tuple(FEATURES)
"""Names of all features."""
NAMES: tuple[str, ...] = ALL[: -len(PAPER)]
"""Names of the features of stage one in the order of its weights, by default."""
PAPER_NAMES: tuple[str, ...] = ALL[-len(PAPER) :]
"""Names of the paper's features."""
PRIOR_WEIGHTS: Mapping[str, float] = {
    feature.name: feature.prior for feature in DIRECT if feature.prior
}
"""Weights of the prior by feature."""


def prior(columns: Mapping[str, FloatArray]) -> FloatArray:
    """Return the prior (F,): the softmax over the files of a weighted sum of scaled columns.

    Features of the prior that ``columns`` does not contain are left out.
    """
    total: Any = np.float64(0.0)
    for name, weight in PRIOR_WEIGHTS.items():
        if name in columns:
            total = total + weight * columns[name]
    powers = np.exp(total - np.max(total))
    return np.asarray(powers / powers.sum())


def scale_by_largest(values: FloatArray, of: BoolArray | None = None) -> FloatArray:
    """Return values divided by the largest one, if that is above 0.

    The largest value is taken over the files ``of`` (F,), by default over all files. Values above
    it become 1.
    """
    if of is None or of.all():
        largest = float(values.max(initial=0.0))
        return values / largest if largest > 0 else values
    largest = float(values[of].max(initial=0.0))
    return np.minimum(values / largest, 1.0) if largest > 0 else scale_by_largest(values)


def columns(context: QueryContext, wanted: Sequence[str]) -> dict[str, FloatArray]:
    """Return the values (F,) of the wanted features, scaled to be comparable between reports.

    Raises KeyError for an unknown name, and ValueError for a feature that does not return one
    finite number for each file.
    """
    related = [name for name in wanted if FEATURES[name] in RELATED]
    if not context.files:
        return dict.fromkeys(wanted, np.zeros(0))
    direct = [name for name in wanted if name not in related]
    if related:
        direct.extend(PRIOR_WEIGHTS)
    by_people = context.version.written_by_people
    computed: dict[str, FloatArray] = {}
    for name in dict.fromkeys(direct):
        feature = FEATURES[name]
        values = _checked(name, feature.values(context), context.files)
        computed[name] = scale_by_largest(values, by_people) if feature.scaled else values
    shares = prior(computed)
    for name in related:
        values = _checked(name, FEATURES[name].values(context, shares), context.files)
        computed[name] = scale_by_largest(values, by_people)
    return {name: computed[name] for name in wanted}


def _checked(name: str, values: FloatArray, files: int) -> FloatArray:
    """Return the values of a feature; raise ValueError unless they are a finite number a file."""
    if values.shape != (files,):
        raise ValueError(f"the feature {name} has the shape {values.shape} for {files} files")
    if not math.isfinite(values.sum()):  # one pass without another array
        raise ValueError(f"the feature {name} has a value that is not a finite number")
    return values
