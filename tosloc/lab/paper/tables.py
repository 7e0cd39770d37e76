"""What a table of the paper becomes: tables of cells, of which some are numbers to be checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, TypeVar

from tosloc.evaluation.statistics import Interval
from tosloc.lab.paper.expected import Expected, Key, worst

N = TypeVar("N")
C = TypeVar("C")
Form: TypeAlias = Literal["share", "change", "count", "one", "ratio", "p"]
"""How a number is written: .674, +.012, 1,536, 2.4, 3.74, <.001."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One number, None where it is not known. With a ``key`` it is checked."""

    value: float | None
    form: Form = "share"
    key: Key | None = None
    paper: float | None = None
    """What the paper prints in its place."""
    interval: Interval | None = None
    mark: str = ""
    """Stands behind the number."""


def rows_of(names: Iterable[N], columns: Iterable[C], cell: Callable[[N, C], Cell]) -> list[list[str | Cell]]:
    """A row for each name: the name itself, and a cell for each column."""
    columns = list(columns)
    return [[str(name), *(cell(name, column) for column in columns)] for name in names]


@dataclass(frozen=True)
class PaperTable:
    """One printed table; rows begin with their name."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str | Cell]]
    title: str = ""

    def cells(self) -> Iterator[Cell]:
        """All cells that are numbers."""
        return (cell for row in self.rows for cell in row if isinstance(cell, Cell))


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
        """Every measured number that is checked."""
        cells = (cell for table in self.tables for cell in table.cells())
        return {cell.key: cell.value for cell in cells if cell.key is not None and cell.value is not None}


def checked(table: PaperTable, expected: Expected) -> PaperTable:
    """The table with a last column, the worst verdict of the numbers of each row, if it has any that are checked."""
    if not any(cell.key is not None for cell in table.cells()):
        return table
    rows = []
    for row in table.rows:
        verdicts = (
            expected.tolerance.verdict(expected.ours.get(cell.key), cell.value)
            for cell in row
            if isinstance(cell, Cell) and cell.key is not None and cell.value is not None
        )
        rows.append([*row, worst(verdicts) or ""])
    return PaperTable([*table.heads, "check"], rows, table.title)
