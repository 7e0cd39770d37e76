"""Collect the background that an answer shows beside its ranking.

It consists of earlier changes that are similar to the report, people who changed the first file,
the file's owners and tests, and files other than source code that match the report. The background
does not change the ranking, and does not use anything later than the report's opening.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

import numpy as np

from tosloc.core.answers import Background, EarlierChange, Hit, Person, Reason
from tosloc.core.arrays import BoolArray, FloatArray
from tosloc.git.fixes import first_issue
from tosloc.paths.classify import is_hidden_class
from tosloc.rank.explain.change_reasons import PastChange
from tosloc.rank.explain.lookups import RepositoryLookups
from tosloc.rank.explain.reasons import MAX_TESTS, FileReasons
from tosloc.rank.features.query_context import QueryContext
from tosloc.reports.text import is_issue_template, without_addresses
from tosloc.retrieval.texts import top_k
from tosloc.retrieval.version_index import VersionIndex

MAX_ITEMS: Final = 3
"""Largest number of earlier changes, and of files other than source code."""
MAX_PEOPLE: Final = 2
"""Largest number of people who changed the first file."""
_MAX_CHANGES: Final = 50
"""Number of changes of the first file, the newest, whose authors are read."""
_WORD_CANDIDATES: Final = 10
"""Number of files, the best by words, that are searched for a word that distinguishes files."""
_MAX_NAMESAKES: Final = 3
"""Largest number of files that a written name may match; a name of more files is ignored."""
_WRITTEN_PATH: Final = re.compile(r"[\w@+.-]+(?:/[\w@+.-]+)*")


def collect_background(
    reasons: FileReasons, first: int | None, lookups: RepositoryLookups
) -> Background:
    """Return the background of an answered query.

    ``first`` is the answer's first file, whose people, owners and tests are included. If it is
    None, only earlier changes are included.
    """
    earlier = []
    for change in reasons.changes.past():
        # One shared word is chance.
        if len(change.words) > 1:
            earlier.append(change)
    changes = tuple(_earlier_change(reasons, change, lookups) for change in earlier[:MAX_ITEMS])
    if first is None:
        return Background(changes)
    row = int(reasons.paths.path_ids[first])
    return Background(
        changes,
        _recent_authors(reasons, row, lookups),
        tuple(lookups.owners(reasons.paths.table.paths[row])),
        _related_tests(reasons, row),
    )


def _earlier_change(
    reasons: FileReasons, change: PastChange, lookups: RepositoryLookups
) -> EarlierChange:
    """Return a past change in the form that answers contain."""
    subject = lookups.subject(change.commit) or ""
    paths = reasons.paths.table.paths
    # Deleted files are named only if all files of the change are deleted.
    rows = [row for row in change.rows if reasons.paths.present[row]] or change.rows
    return EarlierChange(
        change.commit,
        lookups.committed(change.commit, change.at),
        change.bug or first_issue(subject),
        subject,
        tuple(paths[row] for row in rows),
        lookups.commit_url(change.commit),
    )


def _recent_authors(
    reasons: FileReasons, row: int, lookups: RepositoryLookups
) -> tuple[Person, ...]:
    """Return the people who last changed the file with a path row; bots are left out."""
    view = reasons.context.history.commits
    documents = view.documents
    touching = documents.find_by_file(row)
    newest_first = touching[view.known[touching]][::-1]
    times: dict[str, int] = {}
    for number in newest_first[:_MAX_CHANGES].tolist():
        times[documents.commit_ids[number]] = int(documents.times[number])
    names = lookups.authors(list(times))
    newest: dict[str, str] = {}
    for commit in times:
        name = names.get(commit, "")
        if name and not name.endswith("[bot]"):
            newest.setdefault(name, commit)
    return tuple(
        Person(name, lookups.committed(commit, times[commit]))
        for name, commit in list(newest.items())[:MAX_PEOPLE]
    )


def _related_tests(reasons: FileReasons, row: int) -> tuple[str, ...]:
    """Return the tests of a file: those with a similar name, then those that changed with it."""
    table = reasons.paths.table
    view = reasons.context.history.commits
    if table.test[row]:
        return ()
    named_alike = reasons.tests_named_like(row)
    touching = view.documents.find_by_file(row)
    commits = touching[view.known[touching]]
    commit_weights = 1 / view.documents.sizes[commits]
    # A folder of tests also contains files of packages, which change often.
    packages = table.rows_by_stem.get("__init__", [])
    tests = reasons.paths.present & table.test
    tests[packages] = False
    weights = view.scatter_to_files(commits, commit_weights, len(table)) * tests
    rows = dict.fromkeys(named_alike)
    for test in top_k(weights, len(named_alike) + MAX_TESTS).tolist():
        if weights[test]:
            rows[test] = None
    return tuple(table.paths[test] for test in rows)[:MAX_TESTS]


def find_other_files(
    context: QueryContext,
    common: frozenset[str] = frozenset(),
    kept: BoolArray | None = None,
    first: str | None = None,
) -> list[Hit]:
    """Return the files that a report names or shares words with, each with a reason.

    Call it with a context whose version contains the files other than source code. Named files come
    first. Then come files beside the ``first`` source file that have its name and another suffix,
    such as a component's template. Last come files that match by words: they share two words that
    are not ``common`` in the source files, or one such word if their name also contains one. Only
    files that are ``kept`` (F,) are returned, by default all.
    """
    paths = context.version.snapshot.paths
    if not len(paths):
        return []
    if kept is None:
        kept = np.ones(len(paths), dtype=np.bool_)
    by_text = context.matches.score_whole(context.matches.weights)
    scores = by_text + context.path_scores[1]
    reasons: dict[int, Reason] = {}
    for file, written in mentioned_files(context).items():
        if kept[file]:
            reasons[file] = Reason("name", f"The report names {written}")
    for file in _siblings(paths, first):
        if kept[file]:
            name = PurePosixPath(str(first)).name
            reasons.setdefault(
                file, Reason("path", f"In the same folder as {name}, with the same name")
            )
    for file, reason in _matches_by_words(context, scores, common, kept):
        reasons.setdefault(file, reason)
    hits = []
    for rank, (file, reason) in enumerate(list(reasons.items())[:MAX_ITEMS], start=1):
        hits.append(Hit(rank, paths[file], round(float(scores[file]), 6), 0.0, reasons=(reason,)))
    return hits


def _siblings(paths: Sequence[str], first: str | None) -> list[int]:
    """Return the files beside ``first`` whose names differ from its name in the suffix alone."""
    if first is None:
        return []
    folder, _, name = first.rpartition("/")
    start = f"{folder}/" if folder else ""
    stem = name.partition(".")[0]
    siblings = []
    for file, path in enumerate(paths):
        rest = path[len(start) :] if path.startswith(start) else ""
        if "/" not in rest and rest.partition(".")[0] == stem and stem:
            siblings.append(file)
    return siblings


def _matches_by_words(
    context: QueryContext, scores: FloatArray, common: frozenset[str], kept: BoolArray
) -> Iterator[tuple[int, Reason]]:
    """Yield the best files that share enough words with the report, each with a reason."""
    reasons = FileReasons(context)
    kept = kept & context.version.remember(_may_match_by_words)
    best = top_k(np.where(kept, scores, -np.inf), _WORD_CANDIDATES)
    for file in best[kept[best]].tolist():
        words, _ = reasons.words.shared(file)
        rare = [word for word in words if word not in common]
        if len(rare) > 1 or (rare and reasons.words.in_name(file)):
            matching = reasons.spelling.join_words([*rare, *words])
            yield file, Reason("words", f"Matching words: {matching}")


def _may_match_by_words(version: VersionIndex) -> BoolArray:
    """Return (F,) whether each file is neither of a hidden class nor an issue template."""
    paths = version.snapshot.paths
    are_templates = np.fromiter(map(is_issue_template, paths), dtype=np.bool_, count=len(paths))
    return ~is_hidden_class(version.file_class) & ~are_templates


def mentioned_files(context: QueryContext) -> dict[int, str]:
    """Return file -> how the report writes its name, for each file that a report mentions.

    Files are in the report's order. Lines of the project's issue form do not count. A file is
    mentioned by the end of its path, or by its whole name if at most three files match or a file at
    the root matches. A name in capitals (README) may lack its suffix.
    """
    paths = context.version.snapshot.paths
    files_by_name = context.version.remember(_files_by_name)
    mentions: dict[int, str] = {}
    text = without_addresses(context.query.text.own_text)
    for match in _WRITTEN_PATH.findall(text):
        written = match.removeprefix("./").rstrip(".")
        folder, _, name = written.rpartition("/")
        is_file_name = folder or "." in name or name[:1].isupper()
        if not is_file_name:
            continue
        files = files_by_name.get(name, [])
        if folder:
            files = [file for file in files if f"/{paths[file]}".endswith(f"/{written}")]
        in_folder = [file for file in files if paths[file].rpartition("/")[0] == folder]
        files = in_folder or files
        if len(files) <= _MAX_NAMESAKES:
            for file in files:
                mentions.setdefault(file, written)
    return mentions


def _files_by_name(version: VersionIndex) -> dict[str, list[int]]:
    """Return file name -> files; a name in capitals is also listed without its suffix."""
    files_by_name: defaultdict[str, list[int]] = defaultdict(list)
    for file, path in enumerate(version.snapshot.paths):
        name = path.rpartition("/")[2]
        stem = name.partition(".")[0]
        files_by_name[name].append(file)
        if stem != name and len(stem) > 3 and stem.isupper():
            files_by_name[stem].append(file)
    return files_by_name
