"""What a table of the paper becomes: tables of cells, beside the paper's numbers and those stored before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, TypeVar

from tosloc.evaluate.statistics import Interval
from tosloc.lab.paper.expected import Expected, Key, worst

N = TypeVar("N")
C = TypeVar("C")
Form: TypeAlias = Literal["share", "change", "count", "one", "ratio", "p"]
"""How a number is written: .674, +.012, 1,536, 2.4, 3.74, <.001."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One number, None where it is not known. With a ``key`` it is compared with the stored one."""

    value: float | None
    form: Form = "share"
    key: Key | None = None
    paper: float | None = None
    """What the paper prints in its place."""
    interval: Interval | None = None
    mark: str = ""
    """Stands behind the number."""


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near the numbers of a row are to the paper's: their differences, or ratios where they are no shares."""

    cells: Sequence[Cell]
    """The numbers of the row in those columns that the paper has any numbers in."""

    @property
    def as_ratio(self) -> bool:
        """Whether it is told by ratios: of counts, lengths and times."""
        return any(cell.form not in ("share", "change") for cell in self.cells)

    @property
    def values(self) -> list[float | None]:
        """Ours less the paper's, or ours over the paper's, of each cell; None where there is no number of both."""
        return [off_published(cell.value, cell.paper, ratio=self.as_ratio) for cell in self.cells]


def off_published(ours: float | None, paper: float | None, *, ratio: bool = False) -> float | None:
    """Ours less the paper's number, or over it; None without both, or for the ratio to 0.

    >>> off_published(0.5, 0.25), off_published(0.5, 0.25, ratio=True), off_published(0.5, None)
    (0.25, 2.0, None)
    """
    if ours is None or paper is None or (ratio and not paper):
        return None
    return ours / paper if ratio else ours - paper


def rows_of(names: Iterable[N], columns: Iterable[C], cell: Callable[[N, C], Cell]) -> list[list[str | Cell]]:
    """A row for each name: the name itself, and a cell for each column."""
    columns = list(columns)
    return [[str(name), *(cell(name, column) for column in columns)] for name in names]


@dataclass(frozen=True)
class PaperTable:
    """One printed table; rows begin with their name."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str | Cell | Nearness]]
    title: str = ""

    def cells(self) -> Iterator[Cell]:
        """All cells that are numbers."""
        return (cell for row in self.rows for cell in numbers_of(row))


def numbers_of(row: Sequence[str | Cell | Nearness]) -> list[Cell]:
    """The cells of a row that are numbers."""
    return [cell for cell in row if isinstance(cell, Cell)]


@dataclass(frozen=True, slots=True)
class WorkStep:
    """One piece of work that a table needs."""

    what: str
    path: Path | None
    state: Literal["finished", "to be made", "missing"]

    @classmethod
    def of(cls, what: str, path: Path, finished: bool) -> Self:
        """Work that is finished, or else can be made."""
        return cls(what, path, "finished" if finished else "to be made")


@dataclass(frozen=True)
class TableResult:
    """A table as it was measured."""

    tables: Sequence[PaperTable]
    notes: Sequence[str] = ()
    figures: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    """Name -> a function that draws it."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """More values, for machines."""

    @property
    def numbers(self) -> dict[Key, float]:
        """Every measured number that is stored."""
        cells = (cell for table in self.tables for cell in table.cells())
        return {cell.key: cell.value for cell in cells if cell.key is not None and cell.value is not None}


def compared(table: PaperTable, expected: Expected) -> PaperTable:
    """The table with two more columns where they apply: how near the paper each row is, and whether it is as stored.

    As stored is the worst verdict of a row's numbers against those that this project stored when it measured them last;
    it says nothing of the paper.
    """
    heads, rows = list(table.heads), [list(row) for row in table.rows]
    published = {
        column
        for row in table.rows
        for column, cell in enumerate(row)
        if isinstance(cell, Cell) and cell.paper is not None
    }
    if published:
        near = [Nearness(numbers_of([row[column] for column in sorted(published)])) for row in table.rows]
        heads.append(f"ours {'/' if any(one.as_ratio for one in near) else '-'} published")
        for row, one in zip(rows, near, strict=True):
            row.append(one)
    if any(cell.key is not None for cell in table.cells()):
        heads.append("as stored")
        for row, whole in zip(rows, table.rows, strict=True):
            verdicts = (
                expected.tolerance.verdict(expected.ours.get(cell.key), cell.value)
                for cell in numbers_of(whole)
                if cell.key is not None and cell.value is not None
            )
            row.append(worst(verdicts) or "")
    return PaperTable(heads, rows, table.title)
