"""Table 3: what the reports of each project hold. Read once, since every version is looked at for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tosloc.experiment import fingerprint
from tosloc.git.repository import Repository
from tosloc.io import key_of, write_text
from tosloc.lab.paper.workspace import (
    Cell,
    Form,
    PaperTable,
    Published,
    TableResult,
    Workspace,
    by_project,
    named,
    rows_of,
)
from tosloc.lab.projects import Project
from tosloc.records import Progress, silent
from tosloc.reports.labelled import describe, load_dataset, settled

_NAMES: Mapping[str, tuple[str, Form]] = {
    "files a version": ("files a version", "count"),
    "reports": ("reports", "count"),
    "fixed files a report": ("fixed files a report", "one"),
    "listed": ("fixed files listed", "count"),
    "existing": ("... that exist", "count"),
    "empty": ("reports left without any", "count"),
    "test reports": ("reports", "count"),
    "test listed": ("fixed files listed", "count"),
    "test existing": ("... that exist", "count"),
    "test empty": ("reports left without any", "count"),
    "no description": ("reports without a description", "count"),
    "opened after fix": ("opened after their fix", "count"),
    "unresolved": ("reports without a fix in the repository", "count"),
}
"""Quantity -> what it is called, and how it is written."""


@dataclass(frozen=True)
class Contents:
    """What the reports of a project hold."""

    counts: Mapping[str, float]
    opened: tuple[str, str]
    """Month of the first and of the last report."""
    ever_fixed: frozenset[str]
    """Every path that some report's fix changed, as it exists in the before-fix version."""


def contents(project: Project, out: Path, progress: Progress = silent) -> Contents:
    """What the reports hold; kept in ``out``, and read from there while neither reports nor settings change."""
    data = settled(project.configured(), project.reports).data
    path = out / "contents" / f"{project.name}.json"
    key = key_of(fingerprint(project.reports), str(project.repo.resolve()), data.zone, list(data.named_suffixes))
    with suppress(OSError, ValueError, TypeError, KeyError):
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["key"] == key:
            first, last = stored["opened"]
            return Contents(stored["counts"], (first, last), frozenset(stored["ever_fixed"]))
    suffixes, progress = frozenset(data.named_suffixes), named(progress, project)
    with Repository(project.repo) as repo:
        dataset = load_dataset(repo, project.reports, zone=data.zone, suffixes=suffixes, progress=progress)
    rows = {str(row["part"]): row for row in describe(dataset)}
    whole, test = rows["all"], rows["test"]
    counts: dict[str, Any] = {name: value for name, value in whole.items() if name != "part"}
    counts["files a version"] = sum(dataset.files.values()) / len(dataset.files)
    counts["fixed files a report"] = counts["listed"] / counts["reports"]
    counts |= {f"test {name}": test[name] for name in ("reports", "listed", "existing", "empty")}
    opened = sorted(case.report.opened_seconds for case in dataset.cases)
    first, last = (f"{datetime.fromtimestamp(opening, UTC):%Y/%m}" for opening in (opened[0], opened[-1]))
    ever_fixed = frozenset(path for case in dataset.cases for path in case.fixed)
    values = {"key": key, "counts": counts, "opened": [first, last], "ever_fixed": sorted(ever_fixed)}
    write_text(path, json.dumps(values, indent=1) + "\n")
    return Contents(counts, (first, last), ever_fixed)


def measure(work: Workspace, published: Published, progress: Progress = silent) -> TableResult:
    """Table 3."""
    found = {
        project.name: contents(project, work.out, progress)
        for project in by_project(work.projects, "projects", progress)
    }

    def cell(name: str, project: str) -> Cell:
        return Cell(found[project].counts[name], _NAMES[name][1], published.numbers.get((name, project)))

    rows = rows_of(_NAMES, found, cell)
    for row, (name, (title, _)) in zip(rows, _NAMES.items(), strict=True):
        row[0] = f"of them, test: {title}" if name.startswith("test") else title
    rows.insert(3, ["opened", *("-".join(one.opened) for one in found.values())])
    return TableResult([PaperTable(["", *found], rows)])
