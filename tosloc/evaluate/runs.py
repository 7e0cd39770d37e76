"""A run: every ranking of a set of reports. On disk compressed JSON lines, the same byte for byte.

The first line is the header, ``{"format": "tosloc-run/2", ...}``, with what produced the run. Lines ``{"first",
"paths"}`` number paths from ``first`` on. A line ``{"report", "files", "scores"}`` is a ranking, best first, its files
as such numbers; a line ``{"report", "files", "ranks"}`` says that only these files' ranks are known.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from tosloc.core.errors import RunError
from tosloc.core.io import atomic_write
from tosloc.core.records import FloatArray, IntArray, Ranking, StringTable
from tosloc.evaluate.jsonl import LINE, checked, json_line, json_lines

# L files of a ranking

RUN_FORMAT: Final = "tosloc-run/2"
TRAINED_ON: Final = "reports that the checkpoint was trained on"
"""Header's key: how many of the ranked reports the checkpoint that ranked them had learned from."""

WEAK_REPORTS: Final = "weak reports"
"""Key of the header: how many of the ranked reports are commit messages that stand in for a report."""


@dataclass(frozen=True, eq=False, slots=True)
class Order:
    """One report's answer, as numbers into the run's names. Checked where it is read, so that the line can be named."""

    files: IntArray  # (L,) files, best first
    scores: FloatArray  # (L,) scores, never increasing; empty where only ranks are known
    known_ranks: IntArray | None = None
    """(L,) ranks of the files, where only these are known; None for a ranking, whose files have the ranks 1 to L."""

    @property
    def ranks(self) -> IntArray:
        """(L,) ranks of the files."""
        return (
            np.arange(1, len(self.files) + 1, dtype=np.int32)
            if self.known_ranks is None
            else self.known_ranks
        )


@dataclass(frozen=True, eq=False)
class Run:
    """The rankings of one method for a set of reports, with what produced them."""

    header: Mapping[str, Any]
    names: Sequence[str]  # paths, which the orders' numbers mean
    orders: Mapping[str, Order]
    where: str = "run"  # the file, for messages

    @cached_property
    def number_by_path(self) -> Mapping[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    @property
    def partial(self) -> bool:
        """Whether only some ranks are known of any report."""
        return any(order.known_ranks is not None for order in self.orders.values())

    def paths(self, report: str, most: int | None = None) -> tuple[str, ...]:
        """Paths of a report's files, the first ``most`` of them."""
        return tuple([self.names[number] for number in self.orders[report].files[:most].tolist()])

    def ranking(self, report: str) -> Ranking:
        """The whole ranking of a report, which has scores."""
        return Ranking(report, self.paths(report), self.orders[report].scores)

    def rankings(self) -> Iterator[Ranking]:
        """Every ranking, by report id. Raises RunError when only some ranks are known."""
        if self.partial:
            raise RunError(
                f"{self.where}: only the ranks of some files are known, not whole rankings"
            )
        return (self.ranking(report) for report in sorted(self.orders))


def write_run(path: str | Path, header: Mapping[str, Any], rankings: Iterable[Ranking]) -> None:
    """Write rankings as they come; scores keep six significant digits. The file appears only when it is whole."""
    lines = (
        (one.report, one.paths, [format(score, ".6g") for score in one.scores.tolist()])
        for one in rankings
    )
    _write(Path(path), header, "scores", lines)


def write_known_ranks(
    path: str | Path, header: Mapping[str, Any], ranks: Iterable[tuple[str, Mapping[str, int]]]
) -> None:
    """Write a run of which only some files' ranks are known: report id and path -> rank, from 1."""
    ordered = (
        (report, sorted((rank, path) for path, rank in known.items())) for report, known in ranks
    )
    lines = (
        (report, [path for _, path in known], [str(rank) for rank, _ in known])
        for report, known in ordered
    )
    _write(Path(path), header, "ranks", lines)


def _write(
    path: Path,
    header: Mapping[str, Any],
    key: str,
    lines: Iterable[tuple[str, Sequence[str], Sequence[str]]],
) -> None:
    names = StringTable()
    with (
        atomic_write(path) as temporary,
        temporary.open("wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as file,  # without its time
    ):
        file.write(json_line({**header, "format": RUN_FORMAT}, sort_keys=True))
        for report, paths, values in lines:
            known = len(names)
            files = ",".join([str(names.id(name)) for name in paths])
            if len(names) > known:
                file.write(json_line({"first": known, "paths": names.names[known:]}))
            file.write(
                f'{{"report":{json.dumps(report)},"files":[{files}],"{key}":[{",".join(values)}]}}\n'.encode()
            )


_Number: TypeAlias = Annotated[int, Field(ge=0, le=2**31 - 1)]


@checked_dataclass(config=LINE)
class _Order:
    """A line of a ranking."""

    report: str
    files: list[_Number]
    scores: list[float] = Field(default_factory=list)
    ranks: list[_Number] | None = None

    def order(self, names: Sequence[str], where: str) -> Order:
        """The order. Raises RunError that says ``where`` for one that no ranking can have."""
        files, scores = (
            np.array(self.files, dtype=np.int32),
            np.array(self.scores, dtype=np.float64),
        )
        ranks = None if self.ranks is None else np.array(self.ranks, dtype=np.int32)
        values, steps = (
            (scores, np.diff(-scores)) if ranks is None else (ranks, np.diff(ranks, prepend=0) - 1)
        )
        if len(values) != len(files) or files.max(initial=-1) >= len(names):
            raise RunError(
                f"{where}: damaged: {len(files)} files of {len(names)} paths, {len(values)} scores or ranks"
            )
        if (steps < 0).any() or len(np.unique(files)) < len(files):
            raise RunError(
                f"{where}: a file stands there twice, scores increase, or ranks do not, from 1"
            )
        return Order(files, scores, ranks)


def read_run(path: str | Path) -> Run:
    """Run of a file. Raises RunError naming the line for a report or a file that comes twice, for scores that are no
    numbers or increase, and for a damaged file.
    """
    header: Mapping[str, Any] = {}
    names: list[str] = []
    orders: dict[str, Order] = {}
    for where, value in json_lines(path):
        if "format" in value:
            header = value
        elif "paths" in value:
            names += checked(list[str], value["paths"], where)
        else:
            one = checked(_Order, value, where)
            if one.report in orders:
                raise RunError(f"{where}: report {one.report} is ranked twice")
            orders[one.report] = one.order(names, f"{where}: report {one.report}")
    if len(set(names)) < len(names):
        raise RunError(f"{path}: damaged: a path stands there twice")
    if header.get("format") != RUN_FORMAT:
        raise RunError(
            f"{path}: not a run of the form {RUN_FORMAT}; for another tool's, use: tosloc import-run"
        )
    return Run(
        {key: value for key, value in header.items() if key != "format"}, names, orders, str(path)
    )
