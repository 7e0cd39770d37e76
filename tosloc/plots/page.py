"""One evaluation as an HTML page that needs no network, no script and no other file."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from tosloc.core.io import escape_unprintable
from tosloc.evaluate.measures import MEASURES, RR, ReportScores
from tosloc.evaluate.runs import Run
from tosloc.evaluate.statistics import Interval
from tosloc.evaluate.tables import Results
from tosloc.plots.figures import coverage_figure, first_hit_figure, svg

MAX_FILES_ABOVE: Final = 3
"""Largest number of files above the first fixed file that the page names."""


def page(results: Results) -> str:
    """Return the page of a run's results; equal results give equal text."""
    environment = Environment(
        loader=PackageLoader("tosloc.plots"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["printable"] = lambda value: escape_unprintable(str(value))
    environment.filters["number"] = _format_number
    environment.filters["interval"] = _format_interval
    header = results.scored.run.header
    reports = sorted(results.evaluation.per_report, key=_worst_first)
    return environment.get_template("evaluation.html").render(
        results=results,
        origin=json.dumps(header, indent=1, sort_keys=True) if header else "",
        counts=results.informative_counts,
        coverage=_data_address(coverage_figure(results.evaluation)),
        first=_data_address(first_hit_figure(results.evaluation)),
        reports=[_report_row(results.scored.run, scores) for scores in reports],
        meanings={name: row.meaning for name, row in MEASURES.items()},
    )


def _data_address(figure: Figure) -> str:
    """Return a data address that contains the figure."""
    return f"data:image/svg+xml;base64,{b64encode(svg(figure).encode()).decode()}"


def _worst_first(scores: ReportScores) -> tuple[float, int, str]:
    """Return a key that sorts by average precision, then rank of the first fixed file, then id.

    The worst report comes first.
    """
    return scores.average_precision, -min(scores.ranks, default=0), scores.report


def _report_row(run: Run, scores: ReportScores) -> dict[str, Any]:
    """Return the values that the page shows about one report.

    ``files`` contains rank and path of each fixed file; the rank is infinite if the file is not
    ranked. ``before`` is the number of files ranked above all fixed files, and ``above`` contains
    the first of them.
    """
    order = run.orders[scores.report]
    rank_by_number = dict(zip(order.files.tolist(), order.ranks.tolist(), strict=True))
    files = []
    for path in scores.judgement.fixed:
        number = run.number_by_path.get(path, -1)
        files.append((rank_by_number.get(number, math.inf), path))
    before = 0
    if scores.ranks and scores.ranked is not None:
        before = scores.ranks[0] - 1
    return {
        "scores": scores,
        "reciprocal_rank": RR(scores),
        "files": sorted(files),
        "above": run.paths(scores.report, min(before, MAX_FILES_ABOVE)),
        "before": before,
    }


def _format_number(value: float | int | None) -> str:
    """Return a count with thousands separated, or a mean with three digits."""
    if value is None:
        return "unknown"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def _format_interval(interval: Interval | None) -> str:
    return "–" if interval is None else f"{interval.low:.3f} to {interval.high:.3f}"
