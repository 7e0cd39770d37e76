"""Accepted ratios: a file of what ``bench.py --quick`` measured when they were accepted, and what got worse since."""

from __future__ import annotations

import json
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

from benchmark.timing import Row
from tosloc.errors import ToslocError
from tosloc.io import parse_json, read_plain, write_text

FILE = Path(__file__).parents[1] / "accepted_ratios.json"
WORSE = 1.5
"""A ratio above so many times the accepted one got worse by half."""
_LARGEST = 1 << 20

Measured: TypeAlias = dict[str, list[Row]]
"""Part -> its rows."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """An accepted ratio: the median of several runs, and how far they lay apart."""

    part: str
    ratio: float
    lowest: float
    highest: float
    runs: int


def read_accepted(path: Path) -> dict[str, Accepted]:
    """Name of a row -> its accepted ratio. Raises ToslocError where that is not what the file holds."""
    try:
        record = parse_json(read_plain(path, _LARGEST))
        found = {name: Accepted(**one) for name, one in record["ratios"].items()}
        if any(not one.ratio > 0 for one in found.values()):
            raise ValueError("a ratio is not above 0")
        return found
    except OSError as error:
        raise ToslocError(f"{path}: no accepted ratios ({error.strerror}); write them with --accept") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ToslocError(f"{path}: no file of accepted ratios ({error}); write it anew with --accept") from error


def write_accepted(path: Path, runs: Sequence[Measured]) -> None:
    """Write the medians of several runs; rows of parts that these have not measured stay."""
    kept = read_accepted(path) if path.exists() else {}
    kept = {name: one for name, one in kept.items() if one.part not in runs[0]}
    for part, rows in runs[0].items():
        for number, row in enumerate(rows):
            ratios = [run[part][number].ratio for run in runs]
            median, lowest, highest = (float(f"{x:.3g}") for x in (statistics.median(ratios), min(ratios), max(ratios)))
            kept[row.name] = Accepted(part, median, lowest, highest, len(ratios))
    record = {
        "made_by": "python scripts/bench.py --quick --accept",
        "python": platform.python_version(),
        "machine": platform.machine(),
        "ratios": {name: asdict(one) for name, one in kept.items()},
    }
    write_text(path, json.dumps(record, indent=2) + "\n")


def worse(rows: Iterable[Row], accepted: Mapping[str, Accepted]) -> list[Row]:
    """Those that got worse by half."""
    return [row for row in rows if row.name in accepted and row.ratio > WORSE * accepted[row.name].ratio]


def better_of(one: Sequence[Row], other: Sequence[Row]) -> list[Row]:
    """Of two measurements of the same rows the lower ratios: what else runs makes them higher."""
    by_name = {row.name: row for row in other}
    return [min(row, by_name.get(row.name, row), key=lambda measured: measured.ratio) for row in one]


def complaints(measured: Measured, accepted: Mapping[str, Accepted]) -> list[str]:
    """A sentence for each row that got worse by half, and for each accepted one that its part has not measured."""
    rows = [row for some in measured.values() for row in some]
    names = {row.name for row in rows}
    return [
        f"{row.name}: {row.ratio:.3g} where {accepted[row.name].ratio:.3g} is accepted,"
        f" {row.ratio / accepted[row.name].ratio:.2f} times as much; mend it, or accept it with --accept"
        for row in worse(rows, accepted)
    ] + [
        f"{name}: is accepted and was not measured; install what it needs, or write the file anew with --accept"
        for name, one in accepted.items()
        if one.part in measured and name not in names
    ]
