"""A run: every ranking of a set of reports. On disk compressed JSON lines, the same byte for byte, in any line order.

One line is the header, ``{"format": "tosloc-run/2", ...}``, with what produced the run. Lines ``{"first", "paths"}``
number paths from ``first`` on. A line ``{"report", "files", "scores"}`` is a ranking, best first, its files as such
numbers; a line ``{"report", "files", "ranks"}`` says that only these files' ranks are known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Self, TypeAlias

import numpy as np
from pydantic import Field

from tosloc.errors import RunError
from tosloc.evaluate.jsonl import Line, json_line, json_lines, packed_file
from tosloc.records import FloatArray, IntArray, Names, Ranking

# L files of a ranking

RUN_FORMAT = "tosloc-run/2"
TAUGHT: Final = "reports that taught the checkpoint"
"""Header's key: how many of the ranked reports the checkpoint that ranked them had learned from."""


@dataclass(frozen=True, eq=False, slots=True)
class Order:
    """One report's answer, as numbers into the run's names. Checked where it is read, so that the line can be named."""

    files: IntArray
    """(L,) files, best first."""
    scores: FloatArray
    """(L,) scores, never increasing; empty where only ranks are known."""
    known_ranks: IntArray | None = None
    """(L,) ranks of the files, where only these are known; None for a ranking, whose files have the ranks 1 to L."""
    where: str = ""
    """File, and line if the order has one of its own, for messages."""
    lines: IntArray | None = None
    """(L,) line of each file, where each has its own."""

    def at(self, place: int = 0) -> str:
        """File and line of the file at a place, from 0, for messages."""
        lines = self.lines
        return self.where if lines is None or place >= len(lines) else f"{self.where} line {lines[place]}"

    @property
    def length(self) -> int | None:
        """Length of the ranking; None where only some ranks are known."""
        return len(self.files) if self.known_ranks is None else None

    def ranks_of(self, wanted: Sequence[int]) -> list[int]:
        """Ranks, ascending, of those of the ``wanted`` files that are ranked."""
        places = np.flatnonzero(np.isin(self.files, wanted))
        return sorted((places + 1 if self.known_ranks is None else self.known_ranks[places]).tolist())

    def above(self, others: Sequence[int], ranks: Sequence[int]) -> tuple[list[int], int]:
        """How many of the ``others`` stand above each of the ``ranks`` of this ranking, and how many it holds."""
        held = np.isin(self.files, others)
        counts = np.cumsum(held)
        return counts[np.array(ranks, dtype=np.int64) - 1].tolist(), int(held.sum())


@dataclass(frozen=True, eq=False)
class Run:
    """The rankings of one method for a set of reports, with what produced them."""

    header: Mapping[str, Any]
    names: Sequence[str]
    """Paths, which the orders' numbers mean."""
    orders: Mapping[str, Order]
    """Report id -> its files in order."""
    where: str = "run"
    """The file, for messages."""

    @classmethod
    def of(cls, header: Mapping[str, Any], rankings: Iterable[Ranking], where: str = "run") -> Self:
        """A run of rankings at hand. Raises ValueError when two are of one report, or one holds a file twice."""
        names, orders = Names(), dict[str, Order]()
        for ranking in rankings:
            if ranking.report in orders:
                raise ValueError(f"report {ranking.report}: ranked twice")
            files = np.array([names.id(path) for path in ranking.paths], dtype=np.int32)
            if len(np.unique(files)) < len(files):
                raise ValueError(f"report {ranking.report}: a file is ranked twice")
            orders[ranking.report] = Order(files, ranking.scores, where=where)
        return cls(header, names.names, orders, where)

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Path -> its number."""
        return {name: number for number, name in enumerate(self.names)}

    @property
    def partial(self) -> bool:
        """Whether only some ranks are known of any report."""
        return any(order.known_ranks is not None for order in self.orders.values())

    def ranking(self, report: str) -> Ranking:
        """The whole ranking of a report. Raises RunError when only some ranks are known."""
        order = self.orders[report]
        if order.known_ranks is not None:
            raise RunError(
                f"{order.where}: of report {report} only {len(order.files)} ranks are known, not the ranking"
            )
        return Ranking(report, tuple([self.names[number] for number in order.files.tolist()]), order.scores)

    def rankings(self) -> Iterator[Ranking]:
        """Every ranking, by report id. Raises RunError when only some ranks are known."""
        return (self.ranking(report) for report in sorted(self.orders))


def write_run(path: str | Path, header: Mapping[str, Any], rankings: Iterable[Ranking]) -> None:
    """Write rankings as they come; scores keep six significant digits. The file appears only when it is whole.

    Raises ValueError when two rankings are of one report.
    """
    lines = (
        (
            ranking.report,
            ranking.paths,
            '"scores":[' + ",".join([format(score, ".6g") for score in ranking.scores.tolist()]) + "]",
        )
        for ranking in rankings
    )
    _write(Path(path), header, lines)


def write_known_ranks(
    path: str | Path, header: Mapping[str, Any], ranks: Iterable[tuple[str, Mapping[str, int]]]
) -> None:
    """Write a run of which only some files' ranks are known: report id and path -> rank, from 1.

    Raises ValueError when a report comes twice.
    """
    lines = (
        (
            report,
            sorted(known, key=lambda path: (known[path], path)),
            f'"ranks":{sorted(known.values())}'.replace(" ", ""),
        )
        for report, known in ranks
    )
    _write(Path(path), header, lines)


def _write(path: Path, header: Mapping[str, Any], lines: Iterable[tuple[str, Sequence[str], str]]) -> None:
    names = Names()
    seen: set[str] = set()
    with packed_file(path) as file:
        file.write(json_line({**header, "format": RUN_FORMAT}, sort_keys=True))
        for report, paths, values in lines:
            if report in seen:
                raise ValueError(f"report {report}: ranked twice")
            seen.add(report)
            known = len(names)
            numbers = [names.id(name) for name in paths]
            if len(names) > known:
                file.write(json_line({"first": known, "paths": names.names[known:]}, sort_keys=True))
            files = ",".join(map(str, numbers))
            file.write(f'{{"report":{json.dumps(report)},"files":[{files}],{values}}}\n'.encode())


def read_run(path: str | Path) -> Run:
    """Run of a file; its lines may stand in any order.

    Raises RunError naming report and line for a report or a path that comes twice, for scores that are no
    numbers or increase, and for a damaged file.
    """
    header: Mapping[str, Any] | None = None
    names: dict[int, str] = {}
    orders: dict[str, Order] = {}
    for where, value in json_lines(path):
        if "format" in value:
            header = value
        elif "paths" in value:
            line = _Paths.of(value, where)
            numbered = dict(enumerate(line.paths, start=line.first))
            if not numbered.keys().isdisjoint(names):
                raise RunError(f"{where}: damaged: paths that are numbered twice")
            names |= numbered
        else:
            one = _Order.of(value, where)
            if str(one.report) in orders:
                raise RunError(f"{where}: report {one.report} is ranked twice")
            known = None if one.ranks is None else np.array(one.ranks, dtype=np.int32)
            scores = np.array(one.scores if known is None else [], dtype=np.float64)
            orders[str(one.report)] = Order(np.array(one.files, dtype=np.int32), scores, known, where)
    if header is None or header["format"] != RUN_FORMAT:
        raise RunError(f"{path}: not a run of the form {RUN_FORMAT}; for another tool's, use: tosloc import-run")
    ordered = [names.get(number, "") for number in range(len(names))]
    run = Run({key: value for key, value in header.items() if key != "format"}, ordered, orders, str(path))
    for report, order in orders.items():
        _check_order(run, report, order)
    return run


def _check_order(run: Run, report: str, order: Order) -> None:
    """Raise RunError, naming line and report, for an order that no ranking can have."""
    files, where = order.files, order.where
    if len(files) and not 0 <= files.min() <= files.max() < len(run.names):
        raise RunError(f"{where}: report {report} is damaged: a file's number means no path")
    if len(np.unique(files)) < len(files):
        numbers, counts = np.unique(files, return_counts=True)
        raise RunError(f"{where}: report {report} ranks {run.names[numbers[counts > 1][0]]} twice")
    if order.known_ranks is not None:
        if len(order.known_ranks) != len(files):
            raise RunError(f"{where}: report {report}: {len(files)} paths but {len(order.known_ranks)} ranks")
        if (np.diff(order.known_ranks, prepend=0) < 1).any():
            raise RunError(f"{where}: report {report}: ranks are whole numbers from 1 that increase")
        return
    if len(order.scores) != len(files):
        raise RunError(f"{where}: report {report}: {len(files)} paths but {len(order.scores)} scores")
    if (np.diff(order.scores) > 0).any():
        raise RunError(f"{where}: report {report}: scores increase down the ranking")


_Number: TypeAlias = Annotated[int, Field(ge=0, le=2**31 - 1)]


class _Paths(Line):
    first: _Number
    paths: list[str]


class _Order(Line):
    report: str | int
    files: list[_Number]
    scores: list[float] = Field(default_factory=list)
    ranks: list[_Number] | None = None
