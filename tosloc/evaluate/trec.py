"""Runs and judgements in TREC's form, the one that evaluation tools share; plain, or read from gzip as well.

A line of a run is ``report Q0 path rank score tag``, one of judgements ``report 0 path relevance``, its columns parted
by white space. Report ids and paths are percent-encoded when written and decoded when read: blanks, other characters
that do not print, ``%`` itself and bytes that are no UTF-8 become ``%`` and two hexadecimal digits. The path ``-``
means that there is none: it keeps a report that would have no line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluate.judgements import Judgement, Qrels
from tosloc.evaluate.runs import Order, Run
from tosloc.evaluate.trec_columns import Block, Numbers, column_blocks, decoded, encoded, readable_cell
from tosloc.io import written_whole
from tosloc.records import FloatArray, IntArray, LongArray

# N lines of a file, L files of a ranking, P different paths

RUN_COLUMNS: Final = ("report", "Q0", "path", "rank", "score", "tag")
QRELS_COLUMNS: Final = ("report", "0", "path", "relevance")
NO_PATH: Final = "-"

_Lines: TypeAlias = list[tuple[IntArray, IntArray, FloatArray, IntArray]]
"""Blocks of (N,) report numbers, path numbers, values and line numbers."""


def read_trec_run(path: str | Path) -> Run:
    """Run of a file whose lines may stand in any order; its header holds the ``tag``.

    Files are ordered by score descending, then by path in git's order, by bytes; the column of ranks is not read.
    Raises RunError naming line and report for a line of another form, a score that is no finite number, and a file
    that a report ranks twice.
    """
    reports, paths, tags = Numbers(), Numbers(), set[bytes]()
    lines: _Lines = []
    for block in column_blocks(Path(path), RUN_COLUMNS):
        of_report, _, of_path, _, of_score, of_tag = block.columns
        scores = _floats(of_score)
        if scores is None:
            raise _wrong_cell(path, block, of_score, math.isfinite, ("the score", "is no number"))
        lines.append((_numbered(reports, of_report), _numbered(paths, of_path), scores, block.lines))
        tags.update(of_tag)
    table = _Table.of(path, reports, paths, lines)
    orders = {}
    for report, rows, _ in table.by_report():
        files, scores, numbers = table.files[rows], table.values[rows], table.lines[rows]
        if len(files) and (np.diff(scores) >= 0).any():
            order = np.lexsort((table.places[files], -scores))
            files, scores, numbers = files[order], scores[order], numbers[order]
        table.check_once(report, files, numbers, "ranks")
        orders[report] = Order(files, scores, where=str(path), lines=numbers)
    header = {"form": "TREC run", "tag": ", ".join(sorted(decoded(tag) for tag in tags))}
    return Run(header, table.names, orders, str(path))


def write_trec_run(path: str | Path, run: Run, tag: str = "tosloc") -> None:
    """Write a run, by report id. The file appears only when it is whole.

    Scores are whole numbers that count down to 1, so that every tool ranks alike, whatever it does with equal scores
    and in single precision, too; a run's own scores are not kept. Raises RunError for a run of known ranks only.
    """
    names = _Encoded(run.names)
    label = encoded(tag)
    with written_whole(Path(path)) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for report in sorted(run.orders):
            order = run.orders[report]
            if order.known_ranks is not None:
                raise RunError(
                    f"{order.where}: of report {report} only {len(order.files)} ranks are known; TREC's form holds"
                    " whole rankings"
                )
            start, size = encoded(report), max(1, len(order.files))
            ranked = names.of(order.files.tolist()) or [NO_PATH]
            file.writelines(
                f"{start} Q0 {name} {rank} {size - rank + 1} {label}\n" for rank, name in enumerate(ranked, start=1)
            )


def read_trec_qrels(path: str | Path) -> Qrels:
    """Judgements of a file whose lines may stand in any order.

    Relevance is 1 or, for a file judged as not fixed, 0; less means not judged. Where no file at all is judged as not
    fixed, these are all others. Raises RunError naming line and report for a line of another form, for another
    relevance, and for a file that is judged twice.
    """
    reports, paths = Numbers(), Numbers()
    lines: _Lines = []
    for block in column_blocks(Path(path), QRELS_COLUMNS):
        of_report, _, of_path, of_relevance = block.columns
        values = _floats(of_relevance)
        if values is None or (values > 1).any() or (values % 1 != 0).any():
            says = ("the relevance", "is not 1 (fixed) or 0")
            raise _wrong_cell(path, block, of_relevance, lambda one: one <= 1 and one.is_integer(), says)
        lines.append((_numbered(reports, of_report), _numbered(paths, of_path), values, block.lines))
    table = _Table.of(path, reports, paths, lines)
    explicit = bool((table.values == 0).any())
    judgements = []
    for report, rows, first in table.by_report():
        files, values, numbers = table.files[rows], table.values[rows], table.lines[rows]
        table.check_once(report, files, numbers, "judges")
        order = np.argsort(table.places[files])
        files, values = files[order], values[order]
        fixed, others = ([table.names[number] for number in files[values == value].tolist()] for value in (1, 0))
        where = f"{path} line {first}"
        judgements.append(
            Judgement(report, tuple(fixed), tuple(fixed), nonrelevant=tuple(others) if explicit else None, where=where)
        )
    return Qrels.of(judgements, where=str(path))


def write_trec_qrels(path: str | Path, qrels: Qrels, *, others: bool = False) -> None:
    """Write judgements, by report id and path. The file appears only when it is whole.

    With ``others`` every other file of the searched version gets the relevance 0, so that bpref is the same in every
    tool; raises RunError when these are not known. Files that are explicitly judged as not fixed are always written.
    A report without any file gets the path ``-`` with relevance 0, so that no tool forgets it in a mean.
    """
    with written_whole(Path(path)) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for report in sorted(qrels.judgements):
            judgement = qrels.judgements[report]
            relevance = dict.fromkeys(judgement.fixed, 1)
            for name in judgement.nonrelevant or (_others(qrels, judgement) if others else ()):
                relevance.setdefault(name, 0)
            start = encoded(report)
            judged = [(encoded(name), relevance[name]) for name in sorted(relevance, key=_bytes)] or [(NO_PATH, 0)]
            file.writelines(f"{start} 0 {name} {value}\n" for name, value in judged)


def _others(qrels: Qrels, judgement: Judgement) -> Iterable[str]:
    if qrels.file_lists is None or judgement.version is None:
        raise RunError(f"{qrels.where}: which files were searched for report {judgement.report} is not known")
    return qrels.file_lists.files(judgement.version)


@dataclass(frozen=True, eq=False)
class _Table:
    """All lines of a file, sorted by report."""

    where: str
    names: Sequence[str]
    """P paths, decoded."""
    places: LongArray
    """(P,) place of each path in git's order."""
    reports: Sequence[str]
    starts: Sequence[int]
    """First line of each report in the arrays, and one past the last."""
    firsts: Sequence[int]
    """Number of each report's first line in the file."""
    files: IntArray
    """(N,) path of each line."""
    values: FloatArray
    """(N,) score or relevance."""
    lines: IntArray
    """(N,) number of each line in the file."""

    @classmethod
    def of(cls, path: str | Path, reports: Numbers, paths: Numbers, blocks: _Lines) -> _Table:
        """The lines of blocks, which are used up. Raises RunError for a file without any line."""
        if not reports:
            raise RunError(f"{path}: empty")
        columns = [np.concatenate(column) for column in zip(*blocks, strict=True)]
        blocks.clear()
        of_report, files, values, lines = columns
        del columns
        ids, same_report = _decoded_names(reports)
        names, same_path = _decoded_names(paths)
        if same_report is not None:
            of_report = same_report[of_report]
        if same_path is not None:
            files = same_path[files]
        if (np.diff(of_report) < 0).any():
            order = np.argsort(of_report, kind="stable")
            of_report, files, values, lines = of_report[order], files[order], values[order], lines[order]
        starts = np.searchsorted(of_report, np.arange(len(ids) + 1))
        firsts = np.minimum.reduceat(lines, starts[:-1])
        places = np.empty(len(names), dtype=np.int64)
        places[sorted(range(len(names)), key=[_bytes(name) for name in names].__getitem__)] = np.arange(len(names))
        none = paths.get(NO_PATH.encode())
        table = cls(str(path), names, places, ids, starts.tolist(), firsts.tolist(), files, values, lines)
        return table if none is None else table._without(none if same_path is None else int(same_path[none]))

    def _without(self, path: int) -> _Table:
        """The same reports without the lines of a path."""
        kept = self.files != path
        starts = np.concatenate(([0], np.cumsum(kept)))[self.starts].tolist()
        files, values, lines = self.files[kept], self.values[kept], self.lines[kept]
        return _Table(self.where, self.names, self.places, self.reports, starts, self.firsts, files, values, lines)

    def by_report(self) -> Iterator[tuple[str, slice, int]]:
        """Each report, its lines in the arrays, and the number of its first line in the file."""
        for number, (report, first) in enumerate(zip(self.reports, self.firsts, strict=True)):
            yield report, slice(self.starts[number], self.starts[number + 1]), first

    def check_once(self, report: str, files: IntArray, lines: IntArray, does: str) -> None:
        """Raise RunError, naming the line, when a path comes twice among a report's files."""
        if not len(files) or np.bincount(files).max() < 2:
            return
        order = np.lexsort((lines, files))
        again = order[1:][np.diff(files[order]) == 0]
        place = again[np.argmin(lines[again])]
        raise RunError(
            f"{self.where} line {lines[place]}: report {report} {does} {self.names[files[place]]} a second time"
        )


class _Encoded:
    """Paths as they are written, each encoded once."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names, self._cells = names, dict[int, str]()

    def of(self, numbers: Sequence[int]) -> list[str]:
        """Cells of some paths."""
        for number in set(numbers) - self._cells.keys():
            self._cells[number] = encoded(self._names[number])
        return [self._cells[number] for number in numbers]


def _numbered(numbers: Numbers, cells: Sequence[bytes]) -> IntArray:
    return np.fromiter(map(numbers.__getitem__, cells), np.int32, len(cells))


def _floats(cells: Sequence[bytes]) -> FloatArray | None:
    """(N,) values; None when one is no finite number."""
    try:
        values = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def _number(cell: bytes) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _wrong_cell(
    path: str | Path, block: Block, values: Sequence[bytes], valid: Callable[[float], bool], says: tuple[str, str]
) -> RunError:
    """The error of the first cell that is not valid; ``says`` is what stands before and after it."""
    row = next(row for row, cell in enumerate(values) if not valid(_number(cell)))
    report, value = readable_cell(block.columns[0][row]), readable_cell(values[row])
    return RunError(f"{path} line {block.lines[row]}: report {report}: {says[0]} {value} {says[1]}")


def _decoded_names(numbers: Numbers) -> tuple[list[str], IntArray | None]:
    """Names in order of number, and the new number of each old one where different cells name the same."""
    names = [decoded(cell) if cell != NO_PATH.encode() else "" for cell in numbers]
    unique = {name: number for number, name in enumerate(dict.fromkeys(names))}
    if len(unique) == len(names):
        return names, None
    return list(unique), np.array([unique[name] for name in names], dtype=np.int32)


def _bytes(name: str) -> bytes:
    """Key of git's order."""
    return name.encode("utf-8", "surrogateescape")
