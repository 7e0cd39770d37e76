"""The function level of a run: which functions its fixes changed, and rankings of functions by the product and by BM25.

A function is called ``path::Class.method`` here; overloads of a name are one function, which has the better rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from tosloc.code.functions import FUNCTION_KINDS, FunctionFacts
from tosloc.code.names import dotted_name
from tosloc.core.records import Case, Progress, Ranking, first_path_by_blob, ignore_progress
from tosloc.evaluate.judgements import Judgement, write_judgements
from tosloc.evaluate.run_paths import BM25_LEVEL, FUNCTION_LEVEL, JUDGEMENTS_FILE, RUN_FILE
from tosloc.evaluate.runs import read_run, write_run
from tosloc.rank.functions import FUNCTION_DEPTH, function_bm25, score_functions
from tosloc.reports.formats import ChangedFunction
from tosloc.reports.labelled import Dataset, attributes_of
from tosloc.retrieval.context import VersionIndex
from tosloc.retrieval.paths import PathTable
from tosloc.retrieval.query import Query
from tosloc.storage.repository import IndexedRepository

MOST_RANKED: Final = (
    1_000  # functions of one written ranking; a changed one further down counts as not found
)
BLOCK_REPORTS: Final = 16  # reports whose versions are read together
_MARK = re.compile(r"(.+)[_:](\d+)")
_ANONYMOUS: Final = "(anonymous)"


def write_function_runs(
    folder: Path,
    header: Mapping[str, Any],
    indexed: IndexedRepository,
    dataset: Dataset,
    cases: Sequence[Case],
    progress: Progress = ignore_progress,
) -> None:
    """Write rankings of functions beside the run of files in ``folder``: ours, of its first ``FUNCTION_DEPTH`` files,
    and BM25's. Test files are left out, and reports none of whose changed functions the version has.
    """
    run = read_run(folder / RUN_FILE)
    ours: list[Ranking] = []
    bm25: list[Ranking] = []
    judgements: list[Judgement] = []
    for number, (case, version, facts) in enumerate(_versions(indexed, cases), start=1):
        progress("ranking functions", number, len(cases))
        report, paths = case.report, version.text.snapshot.paths
        listed, fixed = changed_functions(dataset.labelled[report.id].functions, facts)
        if not fixed:
            continue
        names = [f"{path}::{name}" for path, found in facts.items() for name in found.names]
        attributes = attributes_of(report, case.fixed)
        judgements.append(
            Judgement(report.id, fixed, listed, len(set(names)), case.version, attributes)
        )
        files = run.ranking(report.id)
        of_path = dict(zip(files.paths, files.scores.tolist(), strict=True))
        head = [path for path in files.paths if path in facts][:FUNCTION_DEPTH]
        of_files, rows = (
            np.array([of_path[path] for path in paths]),
            [paths.index(path) for path in head],
        )
        scored = score_functions(
            Query(report), version, rows, of_files, [facts[path] for path in head]
        )
        in_lines = (
            (path, sorted(some, key=lambda one: one.start))
            for path, some in zip(head, scored, strict=True)
        )
        ours.append(
            _ranking(
                report.id,
                ((f"{path}::{one.name}", one.score) for path, some in in_lines for one in some),
            )
        )
        scores = function_bm25(report, list(facts.values())).tolist()
        bm25.append(_ranking(report.id, zip(names, scores, strict=True)))
    said = {
        "reports": len(cases),
        "reports without a changed function": len(cases) - len(judgements),
        "search space": "functions and classes of all source files of the version but tests",
    }
    for name, ranker, rankings in (
        (FUNCTION_LEVEL, f"functions of the first {FUNCTION_DEPTH} files", ours),
        (BM25_LEVEL, "BM25 over the functions of all files", bm25),
    ):
        write_run(folder / name / RUN_FILE, {**header, **said, "ranker": ranker}, rankings)
        write_judgements(folder / name / JUDGEMENTS_FILE, judgements)


def _ranking(report: str, functions: Iterable[tuple[str, float]]) -> Ranking:
    """The first of functions with their scores; overloads once; equal scores in the order given."""
    best: dict[str, float] = {}
    for name, score in sorted(functions, key=lambda function: -function[1]):
        best.setdefault(name, score)
    first = list(best)[:MOST_RANKED]
    return Ranking(report, tuple(first), np.array([best[name] for name in first], dtype=np.float64))


def _versions(
    indexed: IndexedRepository, cases: Sequence[Case]
) -> Iterator[tuple[Case, VersionIndex, dict[str, FunctionFacts]]]:
    """Each case with its version, made ready to be asked, and path -> functions of each of its files but tests."""
    for start in range(0, len(cases), BLOCK_REPORTS):
        block = cases[start : start + BLOCK_REPORTS]
        snapshots = [indexed.snapshot(case.version) for case in block]
        corpus, table = (
            indexed.facts(first_path_by_blob(snapshots)),
            PathTable.of(indexed.repo.path_names.names),
        )
        rows = [np.flatnonzero(~table.test[snapshot.path_ids]).tolist() for snapshot in snapshots]
        files = [
            {one.path(row): one.blob(row) for row in some}
            for one, some in zip(snapshots, rows, strict=True)
        ]
        blobs = {blob: path for some in files for path, blob in some.items()}
        facts = indexed.functions.read(blobs)
        for case, snapshot, some in zip(block, snapshots, files, strict=True):
            yield (
                case,
                VersionIndex(corpus, snapshot, table),
                {path: facts[blob] for path, blob in some.items()},
            )


def changed_functions(
    listed: Sequence[ChangedFunction], facts: Mapping[str, FunctionFacts]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Full names of the listed functions of searched files, and those of them that the version has; both sorted. A
    qualified name is looked for as it is, and then without the number by which tools tell overloads (``name_2``) and
    parts of a class (``Name:5``) apart. A name with a line is the name of a method after the fix: its last part counts,
    and of several functions with that name the one whose other parts agree most, then the outermost, then the nearest.
    What stands outside functions and classes (``imports``) and functions that the fix made are not in the version.
    """
    names: set[str] = set()
    found: set[str] = set()
    for changed in listed:
        if changed.path not in facts or changed.name == _ANONYMOUS:
            continue
        known = facts[changed.path]
        if changed.start:
            *around, last = dotted_name(changed.name).split(".")
            agreeing = []
            for function, kind, start in zip(
                known.names, known.kinds.tolist(), known.starts.tolist(), strict=True
            ):
                *outer, own = function.split(".")
                if FUNCTION_KINDS[kind] != "class" and own == last:
                    agreeing.append(
                        (
                            -len({*outer} & {*around}),
                            len(outer),
                            abs(start - changed.start),
                            function,
                        )
                    )
            name = min(agreeing)[3] if agreeing else None
        else:
            marked = _MARK.fullmatch(changed.name)
            tried = (changed.name, *(marked.groups()[:1] if marked else ()))
            name = next((wanted for wanted in tried if wanted in known.names), None)
        names.add(f"{changed.path}::{name or changed.name}")
        if name is not None:
            found.add(f"{changed.path}::{name}")
    return tuple(sorted(names)), tuple(sorted(found))
