"""Read and write runs: the rankings of a set of reports, as compressed JSON lines.

Equal runs have equal bytes. The first line is the header, ``{"format": "tosloc-run/2", ...}``,
which says what produced the run. A line ``{"first", "paths"}`` gives its paths the numbers from
``first`` on. A line ``{"report", "files", "scores"}`` is a ranking, best first, whose files are
such numbers. A line ``{"report", "files", "ranks"}`` has the ranks of these files; the ranks of
other files are not known.
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

from tosloc.core.arrays import FloatArray, IntArray, sorted_unique
from tosloc.core.errors import RunError
from tosloc.core.io import atomic_write
from tosloc.core.rankings import Ranking
from tosloc.core.versions import StringTable
from tosloc.evaluate.runs.jsonl import LINE_CONFIG, json_line, json_lines, validate

RUN_FORMAT: Final = "tosloc-run/2"
TRAINED_ON: Final = "reports that the checkpoint was trained on"
"""Key of the header: number of ranked reports that the checkpoint was trained on."""

UNJUDGED_REPORTS: Final = "reports without a changed function"
"""Key of the header of a run of functions: number of reports that are left out.

The version of such a report contains none of the functions that the fix changed.
"""


CONTRADICTED_REPORTS: Final = "reports whose ranks contradict their scores"
"""Key of the header of a run in TREC's format: number of such reports."""


def header_counts(
    *,
    trained_on: int | None = None,
    unjudged: int | None = None,
    contradicted: int | None = None,
) -> dict[str, int]:
    """Return the counts in a run's header that the notes on its results are made of.

    ``trained_on`` is the number of ranked reports that the checkpoint had learned from,
    ``unjudged`` that of reports that are left out because their version contains none of the
    functions that the fix changed, and ``contradicted`` that of reports in a TREC run whose ranks
    contradict their scores. None leaves a count out.
    """
    counts = {
        TRAINED_ON: trained_on,
        UNJUDGED_REPORTS: unjudged,
        CONTRADICTED_REPORTS: contradicted,
    }
    return {key: count for key, count in counts.items() if count is not None}


@dataclass(frozen=True, eq=False, slots=True)
class Order:
    """The ranked files of one report, as positions in ``Run.names``.

    ``read_run`` checks these numbers, so that an error can name the line.
    """

    files: IntArray
    """(F,) numbers of the files, best first."""
    scores: FloatArray
    """(F,) scores, never increasing; empty if only ranks are known."""
    known_ranks: IntArray | None = None
    """(F,) ranks of the files if only these are known; None for a ranking, which has 1 to F."""

    @property
    def ranks(self) -> IntArray:
        """(F,) ranks of the files."""
        if self.known_ranks is not None:
            return self.known_ranks
        return np.arange(1, len(self.files) + 1, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Run:
    """The rankings of one method for a set of reports, and a header about their origin."""

    header: Mapping[str, Any]
    names: Sequence[str]
    """Paths of all files; ``Order.files`` contains positions in this sequence."""
    orders: Mapping[str, Order]
    where: str = "run"
    """Path of the file, for messages."""

    @cached_property
    def number_by_path(self) -> Mapping[str, int]:
        """Path -> its position in ``names``."""
        return {name: number for number, name in enumerate(self.names)}

    @property
    def partial(self) -> bool:
        """Whether only the ranks of some files are known for any report."""
        return any(order.known_ranks is not None for order in self.orders.values())

    def paths(self, report: str, most: int | None = None) -> tuple[str, ...]:
        """Return the paths of a report's ranked files, or of the first ``most`` of them."""
        return tuple([self.names[number] for number in self.orders[report].files[:most].tolist()])

    def ranking(self, report: str) -> Ranking:
        """Return the ranking of a report. The report's order must contain scores."""
        return Ranking(report, self.paths(report), self.orders[report].scores)

    def rankings(self) -> Iterator[Ranking]:
        """Yield every ranking, by report id. Raises RunError if only some ranks are known."""
        if self.partial:
            raise RunError(
                f"{self.where}: only the ranks of some files are known, not complete rankings"
            )
        return (self.ranking(report) for report in sorted(self.orders))


class _RunLine(NamedTuple):
    """A report, the paths of its files, and the score or rank of each file as text."""

    report: str
    paths: Sequence[str]
    values: Sequence[str]


def write_run(path: str | Path, header: Mapping[str, Any], rankings: Iterable[Ranking]) -> None:
    """Write rankings one after the other, with six significant digits of their scores.

    The file is written atomically: readers never see an unfinished file.
    """
    _write(Path(path), header, "scores", map(_scores_line, rankings))


def _scores_line(ranking: Ranking) -> _RunLine:
    scores = [format(score, ".6g") for score in ranking.scores.tolist()]
    return _RunLine(ranking.report, ranking.paths, scores)


def write_known_ranks(
    path: str | Path, header: Mapping[str, Any], ranks: Iterable[tuple[str, Mapping[str, int]]]
) -> None:
    """Write a run of which only the ranks of some files are known.

    ``ranks`` contains pairs of a report's id and a mapping from paths to ranks, from 1.
    """
    lines = (_ranks_line(report, rank_by_path) for report, rank_by_path in ranks)
    _write(Path(path), header, "ranks", lines)


def _ranks_line(report: str, rank_by_path: Mapping[str, int]) -> _RunLine:
    paths = sorted(rank_by_path, key=lambda path: (rank_by_path[path], path))
    return _RunLine(report, paths, [str(rank_by_path[path]) for path in paths])


def _write(path: Path, header: Mapping[str, Any], key: str, lines: Iterable[_RunLine]) -> None:
    """Write a run whose lines have their values under ``key``, numbering paths as they appear."""
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

        Raises RunError, whose message begins with ``where``, in these cases: the numbers of files
        and of scores or ranks differ, a file has no path or is repeated, scores increase, or ranks
        do not increase.
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
        if not is_sorted or len(sorted_unique(files)) < len(files):
            raise RunError(
                f"{where}: a file is listed twice, scores increase, or ranks do not increase from 1"
            )
        return Order(files, scores, ranks)


def read_run(path: str | Path) -> Run:
    """Read the run in a file.

    Raises RunError with the line's number if a report or a file is repeated, or if scores increase
    or are not numbers. Also raises RunError for a damaged file and for a file of another format.
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
