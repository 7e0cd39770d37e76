"""A run: the rankings of a set of reports, on disk as compressed JSON lines.

The same run has the same bytes. The first line is the header, ``{"format": "tosloc-run/2", ...}``,
with what produced the run. Lines ``{"first", "paths"}`` number paths from ``first`` on. A line
``{"report", "files", "scores"}`` is a ranking, best first, with files as such numbers; a line
``{"report", "files", "ranks"}`` says that only the ranks of these files are known.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as validated_dataclass

from tosloc.core.arrays import FloatArray, IntArray
from tosloc.core.errors import RunError
from tosloc.core.io import atomic_write
from tosloc.core.rankings import Ranking
from tosloc.core.versions import StringTable
from tosloc.evaluate.runs.jsonl import LINE_CONFIG, json_line, json_lines, validate

RUN_FORMAT: Final = "tosloc-run/2"
TRAINED_ON: Final = "reports that the checkpoint was trained on"
"""Key of the header: how many of the ranked reports the checkpoint had learned from."""

WEAK_REPORTS: Final = "weak reports"
"""Key of the header: how many of the ranked reports are commit messages, for lack of a report."""

UNJUDGED_REPORTS: Final = "reports without a changed function"
"""Key of the header of a run of functions: how many reports are left out.

Their version contains none of the functions that the fix changed."""


@dataclass(frozen=True, eq=False, slots=True)
class Order:
    """The ranked files of one report, as numbers of the run's paths.

    The reader of a file checks the numbers, so that an error can name the line.
    """

    files: IntArray
    """(F,) files, best first."""
    scores: FloatArray
    """(F,) scores, never increasing; empty where only ranks are known."""
    known_ranks: IntArray | None = None
    """(F,) ranks where only these are known; None for a ranking, whose ranks are 1 to F."""

    @property
    def ranks(self) -> IntArray:
        """(F,) ranks of the files."""
        if self.known_ranks is not None:
            return self.known_ranks
        return np.arange(1, len(self.files) + 1, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Run:
    """The rankings of one method for a set of reports, with what produced them."""

    header: Mapping[str, Any]
    names: Sequence[str]
    """Paths: a file's number in an order is its position here."""
    orders: Mapping[str, Order]
    where: str = "run"
    """Path of the file, for messages."""

    @cached_property
    def number_by_path(self) -> Mapping[str, int]:
        """Number of each path in the orders."""
        return {name: number for number, name in enumerate(self.names)}

    @property
    def partial(self) -> bool:
        """Whether there is a report of which only the ranks of some files are known."""
        return any(order.known_ranks is not None for order in self.orders.values())

    def paths(self, report: str, most: int | None = None) -> tuple[str, ...]:
        """Return the paths of a report's files, or of the first ``most`` of them."""
        return tuple([self.names[number] for number in self.orders[report].files[:most].tolist()])

    def ranking(self, report: str) -> Ranking:
        """Return the ranking of a report, which must have scores."""
        return Ranking(report, self.paths(report), self.orders[report].scores)

    def rankings(self) -> Iterator[Ranking]:
        """Return every ranking, by report id.

        Raises RunError if only some ranks are known.
        """
        if self.partial:
            raise RunError(
                f"{self.where}: only the ranks of some files are known, not complete rankings"
            )
        return (self.ranking(report) for report in sorted(self.orders))


class _RunLine(NamedTuple):
    """A report, its files' paths, and for each file the score or rank as text."""

    report: str
    paths: Sequence[str]
    values: Sequence[str]


def write_run(path: str | Path, header: Mapping[str, Any], rankings: Iterable[Ranking]) -> None:
    """Write rankings as they come, their scores with six significant digits.

    The file appears only when it is complete.
    """
    _write(Path(path), header, "scores", map(_scores_line, rankings))


def _scores_line(ranking: Ranking) -> _RunLine:
    scores = [format(score, ".6g") for score in ranking.scores.tolist()]
    return _RunLine(ranking.report, ranking.paths, scores)


def write_known_ranks(
    path: str | Path, header: Mapping[str, Any], ranks: Iterable[tuple[str, Mapping[str, int]]]
) -> None:
    """Write a run of which only some files' ranks are known.

    ``ranks`` has for each report its id, and path -> rank, from 1.
    """
    lines = (_ranks_line(report, rank_by_path) for report, rank_by_path in ranks)
    _write(Path(path), header, "ranks", lines)


def _ranks_line(report: str, rank_by_path: Mapping[str, int]) -> _RunLine:
    paths = sorted(rank_by_path, key=lambda path: (rank_by_path[path], path))
    return _RunLine(report, paths, [str(rank_by_path[path]) for path in paths])


def _write(path: Path, header: Mapping[str, Any], key: str, lines: Iterable[_RunLine]) -> None:
    """Write a run whose lines have their values under ``key``; paths get numbers as they come."""
    names = StringTable()
    with (
        atomic_write(path) as temporary,
        temporary.open("wb") as raw,
        # without name and time, so that the same run has the same bytes
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as file,
    ):
        file.write(json_line({**header, "format": RUN_FORMAT}, sort_keys=True))
        for line in lines:
            first_new = len(names)
            files = ",".join([str(names.id(name)) for name in line.paths])
            if len(names) > first_new:
                file.write(json_line({"first": first_new, "paths": names.names[first_new:]}))
            report = json.dumps(line.report)
            values = ",".join(line.values)
            file.write(f'{{"report":{report},"files":[{files}],"{key}":[{values}]}}\n'.encode())


_Number: TypeAlias = Annotated[int, Field(ge=0, le=2**31 - 1)]


@validated_dataclass(config=LINE_CONFIG)
class _OrderLine:
    """The line of one report."""

    report: str
    files: list[_Number]
    scores: list[float] = Field(default_factory=list)
    ranks: list[_Number] | None = None

    def order(self, names: Sequence[str], where: str) -> Order:
        """Return the ranked files of the line, whose numbers are positions in ``names``.

        Raises RunError, which begins with ``where``, if there are not as many scores or ranks as
        files, if a file has no path or is there twice, and if scores increase or ranks do not.
        """
        files = np.array(self.files, dtype=np.int32)
        scores = np.array(self.scores, dtype=np.float64)
        if self.ranks is None:
            ranks = None
            n_values = len(scores)
            is_sorted = not (np.diff(scores) > 0).any()
        else:
            ranks = np.array(self.ranks, dtype=np.int32)
            n_values = len(ranks)
            is_sorted = not (np.diff(ranks, prepend=0) < 1).any()
        if n_values != len(files) or files.max(initial=-1) >= len(names):
            raise RunError(
                f"{where}: damaged: {len(files)} files of {len(names)} paths, "
                f"{n_values} scores or ranks"
            )
        if not is_sorted or len(np.unique(files)) < len(files):
            raise RunError(
                f"{where}: a file is listed twice, scores increase, or ranks do not increase from 1"
            )
        return Order(files, scores, ranks)


def read_run(path: str | Path) -> Run:
    """Read a run of a file.

    Raises RunError with the line's number for a report or a file that is there twice and for scores
    that are not numbers or increase; also for a damaged file and for one of another format.
    """
    header: Mapping[str, Any] = {}
    names: list[str] = []
    orders: dict[str, Order] = {}
    for where, value in json_lines(path):
        if "format" in value:
            header = value
        elif "paths" in value:
            names += validate(list[str], value["paths"], where)
        else:
            line = validate(_OrderLine, value, where)
            if line.report in orders:
                raise RunError(f"{where}: report {line.report} is ranked twice")
            orders[line.report] = line.order(names, f"{where}: report {line.report}")
    if len(set(names)) < len(names):
        raise RunError(f"{path}: damaged: a path is listed twice")
    if header.get("format") != RUN_FORMAT:
        raise RunError(
            f"{path}: this is not a run in the format {RUN_FORMAT}; to import a run of another"
            " tool, use: tosloc import-run"
        )
    header = {key: value for key, value in header.items() if key != "format"}
    return Run(header, names, orders, str(path))
