"""Measure how near the lines and functions in an answer are to the lines that the fix changed.

Only answers whose first file was fixed are judged. The changed lines are those of the version
before the fix; where the fix adds lines, they are the two lines around the addition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from tosloc.code.functions import FUNCTION_KINDS, FunctionFacts
from tosloc.code.languages import SOURCE_SUFFIXES
from tosloc.core.answers import Hit
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import Case
from tosloc.git.patches import FilePatch, read_patches
from tosloc.git.repository import Repository
from tosloc.lab.projects import Project, spread_evenly
from tosloc.lab.tracking import track
from tosloc.localize.localizer import Localizer
from tosloc.localize.question import Code, Question
from tosloc.reports.labelled import Dataset

NEAR: Final = 15
"""Largest number of lines between a shown line and a changed line that counts as near."""
ALL_PROJECTS: Final = "all"
_CLASS: Final = FUNCTION_KINDS.index("class")


class JudgedFile(NamedTuple):
    """What an answer shows of its first file, compared with the fix that changed this file."""

    shown: int
    """Number of shown lines."""
    distance: int | None
    """Number of lines from the nearest shown line to a changed line; None without a shown line."""
    changes_function: bool
    """Whether the fix changed a function of the version."""
    function_rank: int | None
    """Rank of the first listed function that the fix changed, from 1; None if none is listed."""


class EvidenceRow(NamedTuple):
    """Counts of the judged answers of a project, or of all; shares are None if there are none."""

    project: str
    reports: int
    """Number of answered reports."""
    files: int
    """Number of reports whose first file was fixed."""
    lines: float | None
    """Mean number of lines that are shown from such a file."""
    near: float | None
    """Share of the files with a shown line near a changed one."""
    with_functions: int
    """Number of these files in which the fix changed a function."""
    listed: float | None
    """Share of the files in ``with_functions`` for which the answer lists such a function."""
    first: float | None
    """Share of the files in ``with_functions`` for which the answer lists such a function first."""


def measure_evidence_lines(
    projects: Sequence[Project],
    code: Code = "lines",
    functions: int = Question.functions,
    progress: Progress = ignore_progress,
) -> list[EvidenceRow]:
    """Return a row for each project and one for all, from answers by the shipped weights.

    ``code`` and ``functions`` are options of the questions. Reports are left out if the lines that
    the fix changed are unknown, or if the version contains no fixed file.
    """
    rows: list[EvidenceRow] = []
    all_files: list[JudgedFile] = []
    reports = 0
    for project in projects:
        judged = list(_judge_project(project, code, functions, progress))
        files = [file for file in judged if file is not None]
        rows.append(count_files(project.name, len(judged), files))
        all_files += files
        reports += len(judged)
    return [*rows, count_files(ALL_PROJECTS, reports, all_files)]


def count_files(project: str, reports: int, files: Sequence[JudgedFile]) -> EvidenceRow:
    """Return the row of some judged files."""
    near = [file.distance is not None and file.distance <= NEAR for file in files]
    with_functions = [file for file in files if file.changes_function]
    return EvidenceRow(
        project,
        reports,
        len(files),
        _mean([file.shown for file in files]),
        _mean(near),
        len(with_functions),
        _mean([file.function_rank is not None for file in with_functions]),
        _mean([file.function_rank == 1 for file in with_functions]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _judge_project(
    project: Project, code: Code, functions: int, progress: Progress
) -> Iterator[JudgedFile | None]:
    """Yield the judged first file of each report's answer; None if the file was not fixed."""
    with Repository(project.repo) as repository:
        dataset = Dataset.load(
            repository, project.reports, suffixes=frozenset(SOURCE_SUFFIXES), progress=progress
        )
        cases: list[Case] = []
        for case in dataset.cases:
            listed = dataset.labelled[case.report.id].changed_lines
            if case.fixed and (case.fix_commit or listed):
                cases.append(case)
        cases = spread_evenly(cases, project.at_most)
        with Localizer.open(project.repo, checkpoint="none", ready=False) as localizer:
            for case in track(cases, f"{project.name}: answering reports", progress):
                question = Question(
                    case.report,
                    commit=case.before_commit,
                    top=1,
                    functions=functions,
                    background=False,
                    suspects=False,
                    code=code,
                )
                hits = localizer.answer(question).hits
                listed = dataset.labelled[case.report.id].changed_lines
                spans = find_changed_spans(repository, case, listed)
                if not hits or not spans.get(hits[0].path):
                    yield None
                    continue
                version = localizer.prepare(case.before_commit)
                [facts] = version.functions_of([version.find_file(hits[0].path)])
                yield judge_file(hits[0], facts, spans[hits[0].path])


def find_changed_spans(
    repository: Repository, case: Case, listed: Sequence[tuple[str, int, int]]
) -> dict[str, list[tuple[int, int]]]:
    """Return path -> first and last line of each change by a fix, in the version before it.

    They are read from git; if the fix is not known, the lines that the data list are returned.
    """
    spans: dict[str, list[tuple[int, int]]] = {}
    if not case.fix_commit:
        for path, first, last in listed:
            for line in range(first, last + 1):
                spans.setdefault(path, []).append((line, line))
        return spans
    pair = f"{case.fix_commit} {case.before_commit}"
    for patch in read_patches(repository, [pair], case.fixed).files:
        spans[patch.path] = list(_spans_of_patch(patch))
    return spans


def _spans_of_patch(patch: FilePatch) -> Iterator[tuple[int, int]]:
    """Yield the lines, before the change, of each changed line that is not empty."""
    for hunk in patch.hunks:
        number = hunk.old_start
        for line in hunk.lines:
            has_text = line[1:].strip() != ""
            if line.startswith("-") and has_text:
                yield number, number
            elif line.startswith("+") and has_text:
                yield number - 1, number
            number += not line.startswith("+")


def judge_file(hit: Hit, facts: FunctionFacts, spans: Sequence[tuple[int, int]]) -> JudgedFile:
    """Return the comparison of a file's shown lines and functions with the changed ``spans``.

    A fix counts as changing the smallest function around each of its changes.
    """
    distances: list[int] = []
    for line in hit.code:
        distances += [max(first - line.line, line.line - last, 0) for first, last in spans]
    changed = find_changed_functions(facts, spans)
    rank = None
    for number, function in enumerate(hit.functions, start=1):
        if function.name in changed:
            rank = number
            break
    return JudgedFile(len(hit.code), min(distances, default=None), bool(changed), rank)


def find_changed_functions(facts: FunctionFacts, spans: Sequence[tuple[int, int]]) -> set[str]:
    """Return the names of the smallest functions, but not classes, around the spans of lines."""
    names: set[str] = set()
    for first, last in spans:
        around = (facts.starts <= first) & (facts.ends >= last) & (facts.kinds != _CLASS)
        numbers = np.flatnonzero(around)
        if len(numbers):
            sizes = facts.ends[numbers] - facts.starts[numbers]
            names.add(facts.names[int(numbers[np.argmin(sizes)])])
    return names
