"""Results tables in Markdown, for documents: a row for each run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tosloc.cli.cells import COUNTS, SHARES, count, length, mean, of_difference, ranks, share, stratum_cells
from tosloc.errors import CheckpointError

if TYPE_CHECKING:
    from tosloc.evaluation.compare import Comparison
    from tosloc.evaluation.tables import Results

WITH_INTERVAL = ("mrr", "map")


def markdown_results(rows: Sequence[Results], chosen: Sequence[str]) -> str:
    """The headline over all reports, a row for each run, with what validation ``chosen`` for it, if anything."""
    measures = list(rows[0].measures)
    last = ["chosen on validation"] if any(chosen) else []
    lines = []
    for one, taken in zip(rows, chosen, strict=True):
        lines.append(
            [
                one.name,
                *(count(one.summary[name]) for name in COUNTS),
                length(one.summary["length"]),
                *(mean(one.summary[name], one.intervals[name] if name in WITH_INTERVAL else None) for name in SHARES),
                *(mean(one.measures[name].value, one.measures[name].interval) for name in measures),
                *([taken] if last else []),
            ]
        )
    return table(["run", *COUNTS, "length", *SHARES, *measures, *last], lines)


def markdown_strata(results: Results) -> str:
    """The strata of a run."""
    heads = [f"stratum of {results.name}", "reports", "relevant", "MRR", "MAP"]
    return table(heads, [[cell.replace("*", r"\*") for cell in stratum_cells(row)] for row in results.strata])


def markdown_comparison(comparison: Comparison, top: int) -> str:
    """How run b stands against run a, and the reports that moved most."""
    a, b = comparison.a, comparison.b
    cells = [of_difference(one) for one in comparison.differences]
    rows = [[name.format(a=a, b=b), *(dict(column)[name] for column in cells)] for name, _ in cells[0]]
    text = table([f"{b} against {a}", *(repr(one.measure) for one in comparison.differences)], rows)
    moves = [*comparison.risen(top), *comparison.fallen(top)[::-1]]
    if moves:
        moved = [
            [
                move.report,
                share(move.a.average_precision),
                share(move.b.average_precision),
                share(move.difference, sign=True),
                ranks(move.a),
                ranks(move.b),
            ]
            for move in moves
        ]
        text += "\n" + table(["report", f"AP, {a}", f"AP, {b}", "change", f"ranks in {a}", f"ranks in {b}"], moved)
    return text


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table.

    >>> print(table(["a", "b|c"], [["1", "2"]]), end="")
    | a | b\\|c |
    |---|---|
    | 1 | 2 |
    """
    lines = [heads, *rows]
    text = ["| " + " | ".join(" ".join(cell.split()).replace("|", r"\|") for cell in line) + " |" for line in lines]
    return "\n".join([text[0], "|---" * len(heads) + "|", *text[1:]]) + "\n"


def chosen_on_validation(place: Path) -> str:
    """What validation chose for a training folder; empty for a ranking with a finished checkpoint."""
    path = place / "checkpoint" / "weights.json"
    if not path.is_file():
        return ""
    try:
        chosen = json.loads(path.read_text(encoding="utf-8")).get("validation")
        return str(chosen["taken"]) if chosen else ""
    except (AttributeError, KeyError, TypeError, ValueError):
        raise CheckpointError(f"{path}: damaged: it does not say what validation chose") from None
