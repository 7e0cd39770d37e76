"""A project by hand, without git: commits with their files, reports with their fixes, and the context they make.

Times are days; the root commit stands at day 0. ``context`` gives what techniques share, ``scores`` the answer of one:

>>> bugs = [Bug("1", "apple", opened=1, fixed_at=2, paths=["src/A.java"])]
>>> made = context({"src/A.java": "class A { int apple; }"}, bugs)
>>> case(made, "1").version, case(made, "1").fixed
('root', ('src/A.java',))
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath
from types import SimpleNamespace

import numpy as np

from tosloc.code.languages import language_name
from tosloc.core.records import BugReport, Case, Snapshot, StringTable
from tosloc.git.history import History
from tosloc.lab.baselines.context import BaselineContext, FixHistory, ParsedFiles
from tosloc.lab.baselines.texts import parse_source
from tosloc.retrieval.paths import PathTable


@dataclass(frozen=True)
class Commit:
    """One commit: what it changes of its first parent's files, and what else it is said to touch."""

    id: str
    at: float
    changes: Mapping[str, str] = field(default_factory=dict)
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
    """The files of the fix; without any, those that the commit ``fix`` changes."""
    description: str = ""
    fix: str = ""


def blob_of(path, text):
    """Name of a text as a blob; equal texts of one suffix share it."""
    return f"{PurePosixPath(path).suffix} {text}"


def seconds(day):
    """Seconds since 1970 of a day of the toy."""
    return 1_300_000_000 + round(day * 86_400)


def report(bug):
    """What is known of a bug when it is opened."""
    return BugReport(
        bug.id, bug.summary, bug.description, datetime.fromtimestamp(seconds(bug.opened), UTC)
    )


def context(files, bugs=(), commits=()):
    """The context of a project whose root commit ``root`` holds ``files``; commits are given in any order."""
    made = [
        Commit(f"fix-{bug.id}", bug.fixed_at, message=f"Fix bug {bug.id}", touched=bug.paths)
        for bug in bugs
        if not bug.fix
    ]
    line = [
        Commit("root", 0.0, files, parents=()),
        *sorted((*commits, *made), key=lambda commit: commit.at),
    ]
    number = {commit.id: place for place, commit in enumerate(line)}
    parents = [
        [place - 1] if one.parents is None else [number[parent] for parent in one.parents]
        for place, one in enumerate(line)
    ]
    trees = []
    for commit, above in zip(line, parents, strict=True):
        trees.append({**(trees[above[0]] if above else {}), **commit.changes})
    times, names, blobs = [seconds(commit.at) for commit in line], StringTable(), StringTable()
    touched = [sorted({*commit.changes, *commit.touched}) for commit in line]
    for path in sorted({path for paths in (*trees, *touched) for path in paths}):
        names.id(path)

    def snapshot(commit, suffixes=()):
        files = sorted(trees[number[commit]].items())
        numbers = [names.id(path) for path, _ in files], [blobs.id(blob_of(*one)) for one in files]
        arrays = (np.array(some, dtype=np.int32) for some in numbers)
        return Snapshot(commit, times[number[commit]], names, blobs, *arrays)

    # a merge touches nothing: its changes are its branches'
    changed = [
        [names.id(path) for path in own if len(above) < 2]
        for own, above in zip(touched, parents, strict=True)
    ]
    messages = tuple(commit.message for commit in line)
    history = History(tuple(number), np.array(times), messages, parents, changed, names)
    cases = []
    for bug in bugs:
        fix = number[bug.fix or f"fix-{bug.id}"]
        before, listed = parents[fix][0], tuple(sorted(bug.paths or touched[fix]))
        fixed = tuple(path for path in listed if path in trees[before])
        cases.append(Case(report(bug), line[fix].id, line[before].id, times[fix], listed, fixed))
    cases.sort(key=lambda one: (one.fixed_at, one.report.id))
    texts = {blob_of(*one): one for tree in trees for one in sorted(tree.items())}
    sources = [
        parse_source(text, language_name(PurePosixPath(path).suffix))
        for path, text in texts.values()
    ]
    parsed = ParsedFiles(sources, {blob: row for row, blob in enumerate(texts)})
    fix_history = FixHistory(cases, history, names.ids)
    repo = SimpleNamespace(snapshot=snapshot)
    table = PathTable.of(names.names)
    return BaselineContext(repo, frozenset({".java"}), fix_history, parsed, table)


def case(made, bug):
    """The labelled report called ``bug``."""
    return made.fix_history.cases[made.fix_history.row_of_report[bug]]


def ask(made, bug, version=None):
    """The query of a labelled report to its before-fix version, or to another one."""
    one = case(made, bug)
    return made.query(one.report, version or one.version)


def by_path(query, values):
    """Path -> value of the version's files."""
    return dict(zip(query.version.snapshot.paths, values.tolist(), strict=True))


def scores(technique, bug):
    """Path -> score of a labelled report's files."""
    query = ask(technique.context, bug)
    return by_path(query, technique.scores(query))
