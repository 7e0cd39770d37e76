"""One evaluation as one HTML page that needs nothing else: no network, no script, no other file."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Iterator
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.figure import Figure

from tosloc.core.io import escape_unprintable
from tosloc.evaluate.measures import MEASURES, RR
from tosloc.evaluate.tables import COUNT_MEANINGS, Results
from tosloc.plots.figures import coverage_figure, first_hit_figure, svg

ABOVE: Final = 3  # files above the first fixed one that are named


def page(results: Results) -> str:
    """The page of a run's results: the same text for the same results."""
    environment = Environment(
        loader=PackageLoader("tosloc.plots"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "printable": lambda value: escape_unprintable(str(value)),
        "number": _number,
        "interval": lambda one: "–" if one is None else f"{one.low:.3f} to {one.high:.3f}",
    }
    header, evaluation = results.scored.run.header, results.evaluation
    return environment.get_template("evaluation.html").render(
        results=results,
        origin=header and json.dumps(header, indent=1, sort_keys=True),
        counts=COUNT_MEANINGS,
        coverage=_data(coverage_figure(evaluation)),
        first=_data(first_hit_figure(evaluation)),
        reports=list(_reports(results)),
        meanings={name: row.meaning for name, row in MEASURES.items()},
    )


def _data(figure: Figure) -> str:
    """A figure as an address that holds it."""
    return f"data:image/svg+xml;base64,{b64encode(svg(figure).encode()).decode()}"


def _reports(results: Results) -> Iterator[dict[str, Any]]:
    """Every report, the worst answered first, with the ranks of its fixed files and with what stands above them."""
    run, worst = (
        results.scored.run,
        lambda one: (one.average_precision, -min(one.ranks, default=0), one.report),
    )
    for one in sorted(results.evaluation.per_report, key=worst):
        order = run.orders[one.report]
        ranks = dict(zip(order.files.tolist(), order.ranks.tolist(), strict=True))
        before = one.ranks[0] - 1 if one.ranks and one.ranked is not None else 0
        yield {
            "scores": one,
            "reciprocal_rank": RR(one),
            "files": sorted(
                (ranks.get(run.number_by_path.get(path, -1), math.inf), path)
                for path in one.judgement.fixed
            ),
            "above": run.paths(one.report, min(before, ABOVE)),
            "before": before,
        }


def _number(value: float | int | None) -> str:
    """A count, or a mean to three digits."""
    if value is None:
        return "not known"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
