"""What a table of the paper becomes: tables of cells, with the paper's numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from tosloc.evaluate.statistics import Interval

N = TypeVar("N")
C = TypeVar("C")
Form: TypeAlias = Literal["share", "change", "count", "one", "ratio", "p"]
"""How a number is written: .674, +.012, 1,536, 2.4, 3.74, <.001."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One number, None where it is not known."""

    value: float | None
    form: Form = "share"
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


@dataclass(frozen=True)
class TableResult:
    """A table as it was measured."""

    tables: Sequence[PaperTable]
    notes: Sequence[str] = ()
    figures: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    """Name -> a function that draws it."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """More values, for machines."""
