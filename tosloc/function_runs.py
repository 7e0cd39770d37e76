"""The function level of a run: which functions its fixes changed, and rankings of functions by the product and by BM25.

A function is called ``path::Class.method`` here; overloads of a name are one function, which has the better rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from tosloc.code.function_rows import KINDS, FunctionFacts
from tosloc.code.functions import dotted
from tosloc.evaluate.judgements import Judgement, write_judgements
from tosloc.evaluate.run_paths import BM25_LEVEL, FUNCTION_LEVEL, JUDGEMENTS_FILE, RUN_FILE
from tosloc.evaluate.runs import read_run, write_run
from tosloc.index.context import VersionIndex
from tosloc.index.corpus import VersionView, suffix_of
from tosloc.index.function_facts import functions_of_files
from tosloc.index.path_view import PathView
from tosloc.index.paths import PathTable
from tosloc.index.query import Query
from tosloc.index.repository import IndexedRepository
from tosloc.rank.functions import FUNCTION_DEPTH, function_bm25, score_functions
from tosloc.records import Case, FloatArray, LongArray, Progress, Ranking, Snapshot, silent
from tosloc.reports.formats import ChangedFunction
from tosloc.reports.labelled import Dataset, attributes_of
from tosloc.reports.test_paths import which_are_tests

MOST_RANKED: Final = 1_000
"""Functions of one written ranking; a changed one further down counts as not found."""
BLOCK_REPORTS: Final = 16
"""Reports whose versions are read together."""

_MARK = re.compile(r"(.+)[_:](\d+)")
_ANONYMOUS: Final = "(anonymous)"


@dataclass(frozen=True, eq=False)
class _SearchedVersion:
    """A version without its tests: the files whose functions are ranked."""

    snapshot: Snapshot
    files: LongArray
    """Rows of the version."""
    facts: Sequence[FunctionFacts]
    """The functions of these files."""

    @property
    def names(self) -> list[str]:
        """Full names of all functions, file by file."""
        paths = self.snapshot.paths
        return [
            full_name(paths[row], name)
            for row, one in zip(self.files.tolist(), self.facts, strict=True)
            for name in one.names
        ]


def full_name(path: str, name: str) -> str:
    """What a function is called in runs.

    >>> full_name("a/b.py", "C.m")
    'a/b.py::C.m'
    """
    return f"{path}::{name}"


def write_function_runs(
    folder: Path,
    header: Mapping[str, Any],
    indexed: IndexedRepository,
    dataset: Dataset,
    cases: Sequence[Case],
    progress: Progress = silent,
) -> None:
    """Write the function level of the run of files in ``folder``: ours into ``functions``, BM25's beside it.

    Functions of test files are left out of both, and of the truth. Ours are those of the first ``FUNCTION_DEPTH`` files
    of the run. A report none of whose changed functions the version has is not judged.
    """
    run = read_run(folder / RUN_FILE)
    ours: list[Ranking] = []
    bm25: list[Ranking] = []
    judgements: list[Judgement] = []
    for number, (case, searched, version) in enumerate(_versions(indexed, cases), start=1):
        progress("ranking functions", number, len(cases))
        labelled = dataset.labelled[case.report.id]
        by_path = dict(zip(searched.files.tolist(), searched.facts, strict=True))
        rows = {path: row for row, path in enumerate(searched.snapshot.paths) if row in by_path}
        listed, fixed = changed_functions(labelled.functions, {path: by_path[row] for path, row in rows.items()})
        if not fixed:
            continue
        names = searched.names
        judgements.append(
            Judgement(
                case.report.id,
                fixed,
                listed,
                len(set(names)),
                case.version,
                attributes_of(case.report, case.fixed),
            )
        )
        ours.append(_our_ranking(case, run.ranking(case.report.id), rows, by_path, version))
        bm25.append(_ranking(case.report.id, names, function_bm25(case.report, searched.facts)))
    counts = {"reports": len(cases), "reports without a changed function": len(cases) - len(judgements)}
    for name, ranker, rankings in (
        (FUNCTION_LEVEL, f"functions of the first {FUNCTION_DEPTH} files", ours),
        (BM25_LEVEL, "BM25 over the functions of all files", bm25),
    ):
        place = folder / name
        space = "functions and classes of all source files of the version but tests"
        write_run(place / RUN_FILE, {**header, **counts, "ranker": ranker, "search space": space}, rankings)
        write_judgements(place / JUDGEMENTS_FILE, judgements)


def _our_ranking(
    case: Case, files: Ranking, rows: Mapping[str, int], facts: Mapping[int, FunctionFacts], version: VersionIndex
) -> Ranking:
    """Ranking of the functions of the first files of a ranking of files."""
    snapshot = version.text.snapshot
    of_path = dict(zip(files.paths, files.scores.tolist(), strict=True))
    scores = np.array([of_path[path] for path in snapshot.paths])
    head = [rows[path] for path in files.paths if path in rows][:FUNCTION_DEPTH]
    scored = score_functions(Query(case.report), version, head, scores, [facts[row] for row in head])
    functions = [
        (full_name(snapshot.paths[row], function.name), function.score)
        for row, some in zip(head, scored, strict=True)
        for function in sorted(some, key=lambda function: function.start)
    ]
    return _ranking(case.report.id, [name for name, _ in functions], np.array([score for _, score in functions]))


def _ranking(report: str, names: Sequence[str], scores: FloatArray) -> Ranking:
    """The first functions; overloads once; equal scores in the order given."""
    best: dict[str, float] = {}
    for place in np.argsort(-scores, kind="stable").tolist():
        if names[place] not in best:
            best[names[place]] = float(scores[place])
            if len(best) == MOST_RANKED:
                break
    return Ranking(report, tuple(best), np.array(list(best.values()), dtype=np.float64))


def _versions(
    indexed: IndexedRepository, cases: Sequence[Case]
) -> Iterator[tuple[Case, _SearchedVersion, VersionIndex]]:
    """Each case with its version, made ready to be asked."""
    for start in range(0, len(cases), BLOCK_REPORTS):
        block = cases[start : start + BLOCK_REPORTS]
        snapshots = [indexed.snapshot(case.version) for case in block]
        corpus = indexed.corpus(snapshots)
        searched = [np.flatnonzero(~which_are_tests(snapshot.paths)) for snapshot in snapshots]
        suffixes = {
            snapshot.blobs[row]: suffix_of(snapshot.paths[row], indexed.suffixes)
            for snapshot, rows in zip(snapshots, searched, strict=True)
            for row in rows.tolist()
        }
        made = functions_of_files(indexed.repo, indexed.store_path, list(suffixes.items()))
        facts = dict(zip(suffixes, made, strict=True))
        table = PathTable(indexed.repo.path_names.names)
        for case, snapshot, rows in zip(block, snapshots, searched, strict=True):
            version = VersionIndex(VersionView(corpus, snapshot), PathView(table, snapshot.path_ids))
            yield case, _SearchedVersion(snapshot, rows, [facts[snapshot.blobs[row]] for row in rows.tolist()]), version


# What was changed


def changed_functions(
    listed: Sequence[ChangedFunction], facts: Mapping[str, FunctionFacts]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Full names of the listed functions of searched files, and those of them that the version has; both sorted.

    A qualified name is looked for as it is, and then without the number by which tools tell overloads (``name_2``) and
    parts of a class (``Name:5``) apart. A name with a line is the name of a method after the fix: its last part counts,
    and of several functions with that name the one whose other parts agree most, then the outermost, then the nearest.
    What stands outside functions and classes (``imports``) and functions that the fix made are not in the version.
    """
    names: set[str] = set()
    found: set[str] = set()
    for one in listed:
        if one.path not in facts or one.name == _ANONYMOUS:
            continue
        known = facts[one.path]
        name = _by_method(one, known) if one.start else _by_qualified_name(one.name, known)
        names.add(full_name(one.path, name or one.name))
        if name is not None:
            found.add(full_name(one.path, name))
    return tuple(sorted(names)), tuple(sorted(found))


def _by_qualified_name(name: str, facts: FunctionFacts) -> str | None:
    if name in facts.names:
        return name
    marked = _MARK.fullmatch(name)
    return marked[1] if marked is not None and marked[1] in facts.names else None


def _by_method(listed: ChangedFunction, facts: FunctionFacts) -> str | None:
    parts = dotted(listed.name).split(".")
    best: tuple[int, int, int, str] | None = None
    for name, kind, start in zip(facts.names, facts.kinds.tolist(), facts.starts.tolist(), strict=True):
        own = name.split(".")
        if KINDS[kind] == "class" or own[-1] != parts[-1]:
            continue
        agreeing = len(set(own[:-1]) & set(parts[:-1]))
        key = (-agreeing, len(own), abs(start - listed.start), name)
        best = key if best is None else min(best, key)
    return None if best is None else best[3]
