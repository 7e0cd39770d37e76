"""A project by hand, without git: commits with their files, reports with their fixes, and the context they make.

Times are days; the root commit stands at day 0. ``context`` gives what techniques share, ``scores`` the answer of one:

>>> bugs = [Bug("1", "apple", opened=1, fixed_at=2, paths=["src/A.java"])]
>>> made = context({"src/A.java": "class A { int apple; }"}, bugs)
>>> case(made, "1").version, case(made, "1").fixed
('root', ('src/A.java',))
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

import numpy as np

from tosloc.code.languages import language_of
from tosloc.git.history import History
from tosloc.git.repository import Repository
from tosloc.index.paths import PathTable
from tosloc.lab.baselines.context import Baseline, BaselineContext, BaselineQuery, FixHistory, ParsedFiles
from tosloc.lab.baselines.texts import parse_source
from tosloc.records import BugReport, Case, Names, Snapshot

DAY = 86_400
START = 1_300_000_000


@dataclass(frozen=True)
class Commit:
    """One commit: what it changes of its first parent's files (None deletes), and what else it is said to touch."""

    id: str
    at: float
    changes: Mapping[str, str | None] = field(default_factory=dict)
    message: str = "a change"
    touched: Sequence[str] = ()
    parents: Sequence[str] | None = None
    """Ids; None for the commit before it in time."""


@dataclass(frozen=True)
class Bug:
    """One labelled report. Its fix is the commit ``fix`` or, without one, a commit ``fix-ID`` that alters no text."""

    id: str
    summary: str
    opened: float
    fixed_at: float = 0.0
    """Of the commit that is made for it."""
    paths: Sequence[str] = ()
    """The files of the fix; without any, those that the commit ``fix`` touches."""
    description: str = ""
    fix: str = ""


class Versions:
    """Stands in for a git repository: every commit's files."""

    def __init__(self, trees: Mapping[str, Mapping[str, str]], times: Mapping[str, int]) -> None:
        self.trees, self.times = trees, times
        self.path_names, self.blob_names = Names(), Names()

    def snapshot(self, commit: str, suffixes: Iterable[str] = ()) -> Snapshot:
        """All files of a commit."""
        version = sorted(self.trees[commit].items())
        paths = np.array([self.path_names.id(path) for path, _ in version], dtype=np.int32)
        blobs = np.array([self.blob_names.id(blob_of(*one)) for one in version], dtype=np.int32)
        return Snapshot(commit, self.times[commit], self.path_names, self.blob_names, paths, blobs)


def blob_of(path: str, text: str) -> str:
    """Name of a text as a blob; equal texts of one suffix share it."""
    return hashlib.sha1(f"{path.rpartition('.')[2]}\0{text}".encode()).hexdigest()


def seconds(day: float) -> int:
    """Seconds since 1970 of a day of the toy."""
    return START + round(day * DAY)


def report(bug: Bug) -> BugReport:
    """What is known of a bug when it is opened."""
    return BugReport(bug.id, bug.summary, bug.description, datetime.fromtimestamp(seconds(bug.opened), UTC))


def context(files: Mapping[str, str], bugs: Sequence[Bug] = (), commits: Sequence[Commit] = ()) -> BaselineContext:
    """The context of a project whose root commit ``root`` holds ``files``; commits are given in any order."""
    made = [
        Commit(f"fix-{bug.id}", bug.fixed_at, message=f"Fix bug {bug.id}", touched=bug.paths)
        for bug in bugs
        if not bug.fix
    ]
    line = [Commit("root", 0.0, dict(files)), *sorted((*commits, *made), key=lambda commit: commit.at)]
    names = [commit.id for commit in line]
    parents = {
        commit.id: tuple(names[:place][-1:] if commit.parents is None else commit.parents)
        for place, commit in enumerate(line)
    }
    trees: dict[str, dict[str, str]] = {}
    for commit in line:
        version = dict(trees[parents[commit.id][0]]) if parents[commit.id] else {}
        for path, text in commit.changes.items():
            if text is None:
                del version[path]
            else:
                version[path] = text
        trees[commit.id] = version
    repo = Versions(trees, {commit.id: seconds(commit.at) for commit in line})
    texts = {blob_of(path, text): (text, path) for tree in trees.values() for path, text in sorted(tree.items())}
    touched = {commit.id: sorted({*commit.changes, *commit.touched}) for commit in line}
    for path in sorted({path for paths in (*trees.values(), *touched.values()) for path in paths}):
        repo.path_names.id(path)
    history = _history(line, parents, touched, repo.path_names)
    cases: list[Case] = []
    for bug in bugs:
        fix = bug.fix or f"fix-{bug.id}"
        version, listed = parents[fix][0], tuple(sorted(bug.paths or touched[fix]))
        fixed = tuple(path for path in listed if path in trees[version])
        cases.append(Case(report(bug), fix, version, repo.times[fix], listed, fixed))
    cases.sort(key=lambda one: (one.fixed_at, one.report.id))
    sources = [parse_source(text, language_of("." + path.rpartition(".")[2])) for text, path in texts.values()]
    files = ParsedFiles(sources, {blob: row for row, blob in enumerate(texts)})
    fix_history = FixHistory(cases, history, repo.path_names.ids)
    table = PathTable.of(repo.path_names.names)
    return BaselineContext(cast(Repository, repo), frozenset({".java"}), fix_history, files, table)


def _history(
    line: Sequence[Commit], parents: Mapping[str, Sequence[str]], touched: Mapping[str, Sequence[str]], paths: Names
) -> History:
    number = {commit.id: place for place, commit in enumerate(line)}
    above = [[number[parent] for parent in parents[commit.id]] for commit in line]
    # a merge touches nothing: its changes are its branches'
    files = [[paths.id(path) for path in touched[commit.id] if len(parents[commit.id]) < 2] for commit in line]
    return History(
        tuple(number),
        np.array([seconds(commit.at) for commit in line], dtype=np.int64),
        tuple(commit.message for commit in line),
        above,
        files,
        paths,
    )


def case(made: BaselineContext, bug: str) -> Case:
    """The labelled report called ``bug``."""
    return made.fix_history.cases[made.fix_history.row_of_report[bug]]


def ask(made: BaselineContext, bug: str, version: str | None = None) -> BaselineQuery:
    """The query of a labelled report to its before-fix version, or to another one."""
    one = case(made, bug)
    return made.query(one.report, version or one.version)


def scores(technique: Baseline, bug: str, version: str | None = None) -> dict[str, float]:
    """Path -> score of a labelled report's files."""
    query = ask(technique.context, bug, version)
    return dict(zip(query.version.snapshot.paths, technique.scores(query).tolist(), strict=True))
