"""Write rankings of functions beside a run of files, and the functions that the fixes changed.

A function is called ``path::Class.method`` here. Overloads with one name count as one function,
which has the better of their ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np

from tosloc.code.functions import FUNCTION_KINDS, FunctionFacts, dotted_name
from tosloc.core.arrays import FloatArray
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.rankings import Ranking
from tosloc.core.reports import Case
from tosloc.core.versions import first_path_by_blob
from tosloc.evaluate.runs import Judgement, RunFolder, header_counts
from tosloc.rank.explain import FUNCTION_DEPTH, function_bm25, score_functions
from tosloc.reports.formats import ChangedFunction
from tosloc.reports.labelled import Dataset, attributes_of
from tosloc.reports.text import IssueTemplates, SharedLines
from tosloc.retrieval.history import Releases
from tosloc.retrieval.paths import PathTable
from tosloc.retrieval.query import Query
from tosloc.retrieval.version_index import VersionIndex
from tosloc.storage.repository import IndexedRepository

MAX_RANKED: Final = 1_000
"""Largest number of functions in a written ranking; functions below it count as not found."""
BLOCK_REPORTS: Final = 16
"""Number of reports whose versions are read together."""
_MARK = re.compile(r"(.+)[_:](\d+)")
_ANONYMOUS: Final = "(anonymous)"


def write_function_runs(
    folder: Path,
    header: Mapping[str, Any],
    indexed: IndexedRepository,
    dataset: Dataset,
    cases: Sequence[Case],
    shared_lines: SharedLines,
    progress: Progress = ignore_progress,
) -> None:
    """Write two rankings of functions beside the run of files in ``folder``: ours and BM25's.

    Ours ranks the functions of the first ``FUNCTION_DEPTH`` files. Test files are left out, and so
    are reports whose changed functions do not exist in the version. ``shared_lines`` are the lines
    that many of the project's reports share.
    """
    files_folder = RunFolder(folder)
    run = files_folder.read()
    ours: list[Ranking] = []
    bm25: list[Ranking] = []
    judgements: list[Judgement] = []
    for judged in read_judged(indexed, dataset, cases, shared_lines, progress):
        report = judged.case.report
        facts = judged.facts
        names: list[str] = []
        for path, functions in facts.items():
            names += [f"{path}::{name}" for name in functions.names]
        judgements.append(
            Judgement(
                report.id,
                judged.changed.in_version,
                judged.changed.listed,
                len(set(names)),
                judged.case.before_commit,
                attributes_of(report, judged.case.fixed, dataset.labelled[report.id].weak),
            )
        )
        ours.append(_our_ranking(judged, run.ranking(report.id)))
        scores = function_bm25(report, list(facts.values())).tolist()
        bm25.append(_ranking(report.id, zip(names, scores, strict=True)))
    more = {
        "reports": len(cases),
        **header_counts(unjudged=len(cases) - len(judgements)),
        "search space": f"functions and classes of {header['search space']} but tests",
    }
    for run_folder, ranker, rankings in (
        (files_folder.functions, f"functions of the first {FUNCTION_DEPTH} files", ours),
        (files_folder.functions_bm25, "BM25 over the functions of all files", bm25),
    ):
        run_folder.write({**header, **more, "ranker": ranker}, rankings, judgements)


def _our_ranking(judged: JudgedVersion, files: Ranking) -> Ranking:
    """Return the ranking of the functions of the first files in a ranking of files."""
    head = FirstFiles.of(files, judged.version, judged.facts)
    scored = score_functions(judged.query, judged.version, head.rows, head.scores, head.facts)
    named_scores: list[tuple[str, float]] = []
    for path, functions in zip(head.paths, scored, strict=True):
        # Equal scores are ranked in the order of lines.
        for function in sorted(functions, key=lambda function: function.start):
            named_scores.append((f"{path}::{function.name}", function.score))
    return _ranking(judged.case.report.id, named_scores)


class FirstFiles(NamedTuple):
    """The first files of a ranking that may have functions."""

    paths: list[str]
    rows: list[int]
    """Rows of the files in the version."""
    scores: FloatArray
    """(F,) scores of all files of the version."""
    facts: list[FunctionFacts]

    @classmethod
    def of(cls, files: Ranking, version: VersionIndex, facts: Mapping[str, FunctionFacts]) -> Self:
        """Return the first ``FUNCTION_DEPTH`` files of a ranking.

        ``facts`` maps the paths of the searched files to their functions.
        """
        paths = version.snapshot.paths
        score_of_path = dict(zip(files.paths, files.scores.tolist(), strict=True))
        head = [path for path in files.paths if path in facts][:FUNCTION_DEPTH]
        return cls(
            head,
            [paths.index(path) for path in head],
            np.array([score_of_path[path] for path in paths]),
            [facts[path] for path in head],
        )


def _ranking(report: str, functions: Iterable[tuple[str, float]]) -> Ranking:
    """Return the ranking of functions with their scores; equal scores keep the given order.

    A name that occurs several times gets its best score.
    """
    best: dict[str, float] = {}
    for name, score in sorted(functions, key=lambda function: -function[1]):
        best.setdefault(name, score)
    first = list(best)[:MAX_RANKED]
    return Ranking(report, tuple(first), np.array([best[name] for name in first], dtype=np.float64))


def read_versions(
    indexed: IndexedRepository, cases: Sequence[Case]
) -> Iterator[tuple[Case, VersionIndex, dict[str, FunctionFacts]]]:
    """Yield each case with the index of its version, and path -> functions, without tests."""
    for start in range(0, len(cases), BLOCK_REPORTS):
        block = cases[start : start + BLOCK_REPORTS]
        snapshots = [indexed.snapshot(case.before_commit) for case in block]
        corpus = indexed.load_facts(first_path_by_blob(snapshots))
        table = PathTable.of(indexed.repo.path_names.names)
        blobs_by_path: list[dict[str, str]] = []
        path_of_blob: dict[str, str] = {}
        for snapshot in snapshots:
            rows = np.flatnonzero(~table.test[snapshot.path_ids]).tolist()
            blobs = {snapshot.path(row): snapshot.blob(row) for row in rows}
            blobs_by_path.append(blobs)
            path_of_blob |= {blob: path for path, blob in blobs.items()}
        facts = indexed.functions.read(path_of_blob)
        for case, snapshot, blobs in zip(block, snapshots, blobs_by_path, strict=True):
            functions = {path: facts[blob] for path, blob in blobs.items()}
            yield case, VersionIndex(corpus, snapshot, table), functions


class ChangedFunctions(NamedTuple):
    """The functions that a fix changed, by their full names, sorted."""

    listed: tuple[str, ...]
    """Changed functions in searched files, as the report lists them."""
    in_version: tuple[str, ...]
    """Changed functions that the version contains."""


def changed_functions(
    listed: Sequence[ChangedFunction], facts: Mapping[str, FunctionFacts]
) -> ChangedFunctions:
    """Match the changed functions that a report lists with the functions of its version.

    A qualified name is looked up as it is, and then without the number by which tools distinguish
    overloads (``name_2``) and parts of a class (``Name:5``). A name with a line is that of a method
    after the fix: only its last part has to match. Of several matching functions, the function is
    taken whose other parts agree most, then the outermost one, then the nearest one. Code outside
    functions and classes (``imports``), and functions that the fix added, are not in the version.
    """
    names: set[str] = set()
    in_version: set[str] = set()
    for changed in listed:
        if changed.path not in facts or changed.name == _ANONYMOUS:
            continue
        if changed.start:
            name = _match_method(changed, facts[changed.path])
        else:
            name = _match_name(changed.name, facts[changed.path])
        names.add(f"{changed.path}::{name or changed.name}")
        if name is not None:
            in_version.add(f"{changed.path}::{name}")
    return ChangedFunctions(tuple(sorted(names)), tuple(sorted(in_version)))


class JudgedVersion(NamedTuple):
    """The version of a case, with the functions that its fix changed and the report's query."""

    case: Case
    version: VersionIndex
    facts: dict[str, FunctionFacts]
    """Path -> functions, for the files that are no tests."""
    changed: ChangedFunctions
    query: Query


def read_judged(
    indexed: IndexedRepository,
    dataset: Dataset,
    cases: Sequence[Case],
    shared_lines: SharedLines,
    progress: Progress = ignore_progress,
) -> Iterator[JudgedVersion]:
    """Yield the versions of the cases whose changed functions exist in their version.

    ``shared_lines`` are the lines that many of the project's reports share.
    """
    templates = IssueTemplates(indexed.repo)
    projects = Releases.read(indexed.repo).projects
    for number, (case, version, facts) in enumerate(read_versions(indexed, cases), start=1):
        progress("ranking functions", number, len(cases))
        report = case.report
        changed = changed_functions(dataset.labelled[report.id].functions, facts)
        if changed.in_version:
            template = templates.of_commit(case.before_commit)
            form_lines = template | shared_lines.as_of(report.opened_seconds)
            query = Query(report, form_lines, projects, version.has_term)
            yield JudgedVersion(case, version, facts, changed, query)


def _match_name(name: str, functions: FunctionFacts) -> str | None:
    """Return the function with a qualified name, with or without an overload's number, or None."""
    if name in functions.names:
        return name
    marked = _MARK.fullmatch(name)
    if marked is not None and marked[1] in functions.names:
        return marked[1]
    return None


def _match_method(changed: ChangedFunction, functions: FunctionFacts) -> str | None:
    """Return the method that a name with a line refers to; None if no method matches."""
    *outer_parts, last_part = dotted_name(changed.name).split(".")
    matches = []
    for name, kind, start in zip(
        functions.names, functions.kinds.tolist(), functions.starts.tolist(), strict=True
    ):
        *outer, last = name.split(".")
        if FUNCTION_KINDS[kind] == "class" or last != last_part:
            continue
        agreeing = len(set(outer) & set(outer_parts))
        distance = abs(start - changed.start)
        matches.append((-agreeing, len(outer), distance, name))
    return min(matches)[3] if matches else None
