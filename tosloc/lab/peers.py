"""Published hits of other systems, report by report, against our rankings of the same reports.

A line for each report: ``project``, ``bug_id`` and columns of 0 and 1 called ``SYSTEM_hitK`` (whether a fixed file is
within the first K) or ``SYSTEM_tN_hitK`` for the Nth of several runs, each tested by itself: the largest p stands.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from tosloc.errors import RunError
from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.statistics import holm, mcnemar
from tosloc.io import read_plain
from tosloc.metrics import found_at

_LARGEST: Final = 100_000_000
ALL: Final = "all"


Hits: TypeAlias = Mapping[tuple[str, int], Sequence[Mapping[str, bool]]]
"""Of one project: (system, k) -> for each of the system's runs, report id -> whether a fixed file is within the first
k."""


@dataclass(frozen=True)
class PeerRow:
    """Our hits within the first k against those of a system."""

    project: str
    system: str
    k: int
    reports: int
    theirs: float
    """Share of the reports with a hit, mean of the system's runs."""
    ours: float
    won: tuple[int, ...]
    lost: tuple[int, ...]
    p: float
    """Two-sided, of McNemar's exact test; of several runs the largest."""
    holm: float | None = None
    """The same, adjusted for all rows of the project."""


def read_hits(path: Path) -> dict[str, Hits]:
    """Project -> its hits. Raises RunError for a file that cannot be read or is no such table."""
    try:
        text = read_plain(path, _LARGEST).decode("utf-8-sig")
    except OSError as error:
        raise RunError(f"{path}: cannot read it: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise RunError(f"{path}: not a text in UTF-8") from None
    lines = csv.DictReader(io.StringIO(text, newline=""))
    heads = list(lines.fieldnames or ())
    columns = {head: found for head in heads if (found := _system_and_k(head))}
    if not columns or not {"project", "bug_id"} <= set(heads):
        raise RunError(f"{path}: not a table of hits: it needs the columns project, bug_id and such as NAME_hit10")
    projects: defaultdict[str, dict[str, dict[str, bool]]] = defaultdict(dict)
    try:
        for line in lines:
            where = f"{path} line {lines.line_num}"
            hits = {head: line[head] for head in columns}
            wrong = next((head for head, value in hits.items() if value not in ("0", "1")), None)
            if wrong is not None:
                raise RunError(f"{where}: {wrong} is {hits[wrong]!r}; a hit is 0 or 1")
            if line["bug_id"] in projects[line["project"]]:
                raise RunError(f"{where}: report {line['bug_id']} of {line['project']} comes twice")
            projects[line["project"]][line["bug_id"]] = {head: value == "1" for head, value in hits.items()}
    except csv.Error as error:
        raise RunError(f"{path} line {lines.line_num}: {error}") from None
    if not projects:
        raise RunError(f"{path}: a table without lines")
    systems: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    for head, key in columns.items():
        systems[key].append(head)
    return {
        project: {
            key: [{report: hits[head] for report, hits in reports.items()} for head in heads]
            for key, heads in systems.items()
        }
        for project, reports in projects.items()
    }


def _system_and_k(head: str) -> tuple[str, int] | None:
    """What the head of a column of hits names; None for another column.

    >>> _system_and_k("agent_t2_hit10"), _system_and_k("tool_hit5"), _system_and_k("label")
    (('agent', 10), ('tool', 5), None)
    """
    system, _, k = head.rpartition("_hit")
    if not system or not re.fullmatch("[0-9]{1,6}", k):
        return None
    name, _, run = system.rpartition("_t")
    return (name if name and run.isdecimal() else system), int(k)


def against_peers(
    table: Mapping[str, Hits], runs: Iterable[ScoredRun], described: bool = False
) -> tuple[list[PeerRow], list[str]]:
    """A row for each project, system and k, and those of all; and sentences about reports left out. Raises RunError."""
    of_table = {project: frozenset(next(iter(hits.values()))[0]) for project, hits in table.items()}
    judged: dict[str, tuple[Hits, Evaluation, list[str]]] = {}
    notes = []
    for run in runs:
        evaluation = run.evaluation()
        ids = evaluation.by_report.keys()
        project = max(table, key=lambda name: len(of_table[name] & ids))
        reports = sorted(of_table[project] & ids)
        if not reports:
            raise RunError(f"{run.run.where}: none of its reports is in the table")
        if project in judged:
            raise RunError(f"{run.run.where}: a second run of {project}; name one of each project")
        apart = len(of_table[project] ^ ids)
        if apart:
            notes.append(f"{project}: {apart} reports are only in the run or only in the table, and left out")
        if described:
            known = {report: evaluation.by_report[report].judgement.attributes for report in reports}
            reports = [report for report, one in known.items() if one is not None and one.description]
        judged[project] = (table[project], evaluation, reports)
    rows = []
    for project, one in judged.items():
        rows += _rows(project, [one])
    if len(judged) > 1:
        rows += _rows(ALL, list(judged.values()))
    return rows, notes


def _rows(project: str, parts: Sequence[tuple[Hits, Evaluation, Sequence[str]]]) -> list[PeerRow]:
    made = []
    for (system, k), runs in parts[0][0].items():
        pairs = [
            [
                (found_at(evaluation.by_report[report].ranks, k) > 0, theirs[report])
                for hits, evaluation, reports in parts
                for theirs in [hits[system, k][number]]
                for report in reports
            ]
            for number in range(len(runs))
        ]
        reports = len(pairs[0])
        if not reports:
            continue
        won = tuple(sum(ours and not theirs for ours, theirs in run) for run in pairs)
        lost = tuple(sum(theirs and not ours for ours, theirs in run) for run in pairs)
        hits_of_theirs = sum(theirs for run in pairs for _, theirs in run)
        p = max(mcnemar(w, lo) for w, lo in zip(won, lost, strict=True))
        ours = sum(ours for ours, _ in pairs[0]) / reports
        made.append(PeerRow(project, system, k, reports, hits_of_theirs / reports / len(pairs), ours, won, lost, p))
    adjusted = holm([row.p for row in made])
    return [replace(row, holm=p) for row, p in zip(made, adjusted, strict=True)]
