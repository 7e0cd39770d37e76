"""What a hostile case is, and the table of all kinds of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.faults.processes import Place
from tests.faults.world import World


@dataclass(frozen=True)
class Case:
    """One command with its hostile input, which lies in the case's place."""

    arguments: list[str]
    stdin: Path | None = None
    codes: frozenset[int] = frozenset({0, 2})
    """Exit codes that are an answer."""
    expected: str | None = None
    """What must stand on standard output if there is an answer; None where any answer will do."""


Maker = Callable[[random.Random, World, Place], Case]


@dataclass(frozen=True)
class Kind:
    """One kind of hostile input."""

    make: Maker
    share: int
    """How often it comes, beside the others."""


def kinds() -> Mapping[str, Kind]:
    """Every kind by its name."""
    from tests.faults import folders, options, reports, repositories, tables

    return {
        "report: text": Kind(reports.text, 8),
        "report: JSON": Kind(reports.issue, 8),
        "report: special file": Kind(reports.special, 1),
        "labelled: JSON lines": Kind(reports.lines, 7),
        "labelled: spreadsheet": Kind(reports.spreadsheet, 8),
        "labelled: phpMyAdmin XML": Kind(reports.export, 7),
        "labelled: BugLocator XML": Kind(reports.buglocator, 7),
        "labelled: special file": Kind(reports.special_labelled, 1),
        "run: ours": Kind(tables.ours, 10),
        "run: TREC": Kind(tables.trec, 8),
        "configuration": Kind(tables.configuration, 8),
        "options": Kind(options.options, 6),
        "checkpoint": Kind(folders.checkpoint, 14),
        "facts store": Kind(folders.store, 7),
        "repository: damaged": Kind(repositories.damaged, 5),
        "repository: objects": Kind(repositories.objects, 5),
        "repository: sources": Kind(repositories.sources, 4),
        "repository: would run": Kind(repositories.would_run, 2),
    }


def kind_of(seed: int) -> tuple[str, random.Random]:
    """The kind of the case of a seed, and the random that makes it."""
    rng = random.Random(f"hostile {seed}")
    table = kinds()
    [name] = rng.choices(list(table), [one.share for one in table.values()])
    return name, rng
