"""Build a project by hand, without git: commits with their files, and reports with their fixes.

Times are days; the root commit is made on day 0. ``make_context`` builds what techniques share, and
``score_files`` asks a technique.

>>> bugs = [Bug("1", "apple", opened=1, fixed_at=2, paths=["src/A.java"])]
>>> context = make_context({"src/A.java": "class A { int apple; }"}, bugs)
>>> find_case(context, "1").before_commit, find_case(context, "1").fixed
('root', ('src/A.java',))
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any

import numpy as np

from tosloc.code.languages import language_name
from tosloc.code.parsed_source import parse_source
from tosloc.core.reports import BugReport, Case
from tosloc.core.versions import Snapshot, StringTable
from tosloc.git.history import History
from tosloc.lab.baselines.context import BaselineContext, FixHistory, ParsedFiles
from tosloc.retrieval.paths.path_index import PathTable


@dataclass(frozen=True)
class Commit:
    """A commit: its changes to the files of its first parent, and further paths that it touches."""

    id: str
    at: float
    changes: Mapping[str, str] = field(default_factory=dict)
    message: str = "a change"
    touched: Sequence[str] = ()
    parents: Sequence[str] | None = None
    """Ids of the parents; None for the commit before it in time."""


@dataclass(frozen=True)
class Bug:
    """A labelled report.

    Its fix is the commit ``fix``, or without one a commit ``fix-ID`` that changes no text.
    """

    id: str
    summary: str
    opened: float
    fixed_at: float = 0.0
    """Day of the commit that is made for it."""
    paths: Sequence[str] = ()
    """The files of the fix; without any, those that the commit ``fix`` changes."""
    description: str = ""
    fix: str = ""


def blob_name(path, text):
    """Return the name of a text as a blob; equal texts with the same suffix share it."""
    return f"{PurePosixPath(path).suffix} {text}"


def day_seconds(day):
    """Return a day of the project in seconds since 1970."""
    return 1_300_000_000 + round(day * 86_400)


def bug_report(bug):
    """Return what is known of a bug when it is opened."""
    opened = datetime.fromtimestamp(day_seconds(bug.opened), UTC)
    return BugReport(bug.id, bug.summary, bug.description, opened)


def make_context(files, bugs=(), commits=()):
    """Return the context of a project whose root commit ``root`` has ``files``.

    The commits can be given in any order.
    """
    line = _commits_in_order(files, bugs, commits)
    number_of_commit = {commit.id: number for number, commit in enumerate(line)}
    parents = _parent_numbers(line, number_of_commit)
    trees = _trees(line, parents)
    touched = [sorted({*commit.changes, *commit.touched}) for commit in line]
    path_names = StringTable()
    for path in sorted(set().union(*trees, *touched)):
        path_names.id(path)
    blob_names = StringTable()
    times = [day_seconds(commit.at) for commit in line]

    def snapshot(commit, suffixes=()):
        number = number_of_commit[commit]
        tree = sorted(trees[number].items())
        path_ids = [path_names.id(path) for path, _ in tree]
        blob_ids = [blob_names.id(blob_name(path, text)) for path, text in tree]
        return Snapshot(
            commit,
            times[number],
            path_names,
            blob_names,
            np.array(path_ids, dtype=np.int32),
            np.array(blob_ids, dtype=np.int32),
        )

    # A merge touches nothing: its changes are those of its branches.
    touched_ids = [
        [path_names.id(path) for path in paths] if len(numbers) < 2 else []
        for paths, numbers in zip(touched, parents, strict=True)
    ]
    history = History(
        tuple(number_of_commit),
        np.array(times),
        tuple(commit.message for commit in line),
        parents,
        touched_ids,
        path_names,
    )
    cases = []
    for bug in bugs:
        fix = number_of_commit[bug.fix or f"fix-{bug.id}"]
        before = parents[fix][0]
        listed = tuple(sorted(bug.paths or touched[fix]))
        fixed = tuple(path for path in listed if path in trees[before])
        case = Case(bug_report(bug), line[fix].id, line[before].id, times[fix], listed, fixed)
        cases.append(case)
    cases.sort(key=lambda case: (case.fixed_at, case.report.id))
    repository: Any = SimpleNamespace(snapshot=snapshot)
    return BaselineContext(
        repository,
        frozenset({".java"}),
        FixHistory(cases, history, path_names.ids),
        _parse_files(trees),
        PathTable.of(path_names.names),
    )


def _commits_in_order(files, bugs, commits):
    """Return the root, the commits and those that are made for fixes, by time."""
    fixes = [
        Commit(f"fix-{bug.id}", bug.fixed_at, message=f"Fix bug {bug.id}", touched=bug.paths)
        for bug in bugs
        if not bug.fix
    ]
    later = sorted((*commits, *fixes), key=lambda commit: commit.at)
    return [Commit("root", 0.0, files, parents=()), *later]


def _parent_numbers(line, number_of_commit):
    parents = []
    for number, commit in enumerate(line):
        if commit.parents is None:
            parents.append([number - 1])
        else:
            parents.append([number_of_commit[parent] for parent in commit.parents])
    return parents


def _trees(line, parents):
    """Return the files of each commit, path -> text."""
    trees = []
    for commit, numbers in zip(line, parents, strict=True):
        before = trees[numbers[0]] if numbers else {}
        trees.append({**before, **commit.changes})
    return trees


def _parse_files(trees):
    sources = []
    row_by_blob = {}
    for tree in trees:
        for path, text in sorted(tree.items()):
            blob = blob_name(path, text)
            if blob not in row_by_blob:
                row_by_blob[blob] = len(sources)
                sources.append(parse_source(text, language_name(PurePosixPath(path).suffix)))
    return ParsedFiles(sources, row_by_blob)


def find_case(context, bug):
    """Return the labelled report with the id ``bug``."""
    return context.fix_history.cases[context.fix_history.row_of_report[bug]]


def make_query(context, bug, version=None):
    """Return the query of a labelled report to its before-fix version, or to another one."""
    case = find_case(context, bug)
    return context.query(case.report, version or case.before_commit)


def values_by_path(query, values):
    """Return the value of each path of the version."""
    return dict(zip(query.version.snapshot.paths, values.tolist(), strict=True))


def score_files(technique, bug):
    """Return the score of each path of a labelled report's version."""
    query = make_query(technique.context, bug)
    return values_by_path(query, technique.scores(query))
