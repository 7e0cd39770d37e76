"""One evaluation as one HTML page that needs nothing else: no network, no script, no other file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from tosloc.errors import RunError
from tosloc.evaluate.evaluate import ReportScores
from tosloc.evaluate.measures import MEASURE_MEANINGS, Measure
from tosloc.evaluate.runs import Run
from tosloc.evaluate.statistics import Interval
from tosloc.evaluate.tables import COUNTS, LENGTH, MEANS, Results
from tosloc.evaluate.truncation import COLUMNS, truncation
from tosloc.io import printable
from tosloc.plots.drawing import svg
from tosloc.plots.figures import coverage_figure, first_hit_figure, precision_recall_figure, truncation_figure

ABOVE: Final = 3  # files above the first fixed one that are named

WhyAbove: TypeAlias = Mapping[tuple[str, str], Sequence[tuple[str, float]]]
"""(report, path above) -> features, with how much each raised the score above the fixed file's; none where stage one
set it below, and the second stage raised it."""

_NARROW, _WIDE = 16.5, 11.3
"""Points of a figure to a rem of the page, at least and at most: letters of 9 points are 8.7 to 12.7 pixels high."""

_SVG_SIZE: Final = re.compile(r'\s(?:width="(?P<points>[\d.]+)pt"|height="[^"]*")')
_SVG_ID: Final = re.compile(r'(\bid="|href="#|url\(#)')


def named_above(results: Results) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Report -> its first fixed file, and the files above it that the page names; of reports that have such."""
    found = {}
    for one in results.evaluation.per_report:
        if above := _above(results.scored.run, one):
            [first] = results.scored.run.paths(one.report, one.ranks[0])[-1:]
            found[one.report] = (first, above)
    return found


def page(results: Sequence[Results], why: WhyAbove | None = None) -> str:
    """The page of one run's results, or with those of a second beside them: the same text for the same results. ``why``
    is what set files above the fixed ones; without it the page says how to have it told.
    """
    environment = Environment(
        loader=PackageLoader("tosloc.plots"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "printable": lambda value: printable(str(value)),
        "number": _number,
        "interval": lambda one: "–" if one is None else f"{one.low:.3f} to {one.high:.3f}",
    }
    first, other = results[0], results[1] if len(results) > 1 else None
    header, runs = first.scored.run.header, {one.name: one.evaluation for one in results}
    figures = {
        "coverage": inline(coverage_figure(runs), "coverage", "coverage at k and any at k"),
        "first": inline(first_hit_figure(runs), "first", "rank of the first fixed file"),
        "recall": inline(precision_recall_figure(runs), "recall", "precision at recall"),
    }
    try:
        cut, unknown = truncation(first.evaluation), ""
        label = "mean average precision of cut rankings"
        figures["truncation"] = inline(truncation_figure(cut), "truncation", label)
    except RunError as error:
        cut, unknown = None, str(error)
    return environment.get_template("evaluation.html").render(
        results=first,
        other=other and other.name,
        provenance=dict(_flat({key: value for key, value in header.items() if key != "config"})),
        config=dict(_flat(header.get("config") or {})),
        counts=COUNTS | {"length": LENGTH},
        scores=list(_scores(first)),
        other_scores={name: (value, interval) for name, value, interval, _ in _scores(other)} if other else {},
        figures=figures,
        cut=cut,
        columns=COLUMNS,
        unknown=unknown,
        reports=list(_reports(first, None if other is None else other.scored.run, why)),
        why=why is not None,
        meanings=MEASURE_MEANINGS,
    )


def inline(figure: Figure, name: str, label: str) -> Markup:
    """A figure as an element of a page: as wide as its place, its ids apart from those of other figures."""
    text = re.sub(r"<metadata>.*?</metadata>", "", svg(figure), flags=re.DOTALL)
    head, rest = text.split(">", 1)
    points = max(float(found["points"] or 0) for found in _SVG_SIZE.finditer(head))
    body = _SVG_ID.sub(rf"\g<1>{name}-", rest)
    return Markup('{} role="img" aria-label="{}" style="min-width: {:.1f}rem; max-width: {:.1f}rem">{}').format(
        Markup(_SVG_SIZE.sub("", head)), label, points / _NARROW, points / _WIDE, Markup(body.strip())
    )


def _scores(results: Results) -> Iterator[tuple[str, float | int | None, Interval | None, str]]:
    """Name, value, interval and definition of each mean and share, the ones asked for besides at the end."""
    for key, (name, meaning) in MEANS.items():
        yield name, results.summary[key], results.intervals[key], meaning
    for name, mean in results.measures.items():
        yield name, *mean, MEASURE_MEANINGS[Measure.parse(name).name]


def _reports(results: Results, other: Run | None, why: WhyAbove | None) -> Iterator[dict[str, Any]]:
    """Every report, the worst answered first, with the ranks of its fixed files and with what stands above them."""
    run, worst = results.scored.run, lambda one: (one.average_precision, -min(one.ranks, default=0), one.report)
    for one in sorted(results.evaluation.per_report, key=worst):
        files = [
            (_rank_in(run, one.report, path), _rank_in(other, one.report, path), path) for path in one.judgement.fixed
        ]
        above = _above(run, one)
        yield {
            "scores": one,
            "files": sorted(files, key=lambda file: (file[0] is None, file[0] or 0, file[2])),
            "above": [(path, None if why is None else why.get((one.report, path))) for path in above],
            "more_above": one.ranks[0] - 1 - len(above) if above else 0,
        }


def _rank_in(run: Run | None, report: str, path: str) -> int | None:
    """Rank of a file; None where it has none, or none that is known."""
    if run is None or report not in run.orders or path not in run.numbers:
        return None
    return next(iter(run.orders[report].ranks_of([run.numbers[path]])), None)


def _above(run: Run, one: ReportScores) -> tuple[str, ...]:
    """The first of the files that stand above the first fixed one; none where only some ranks are known."""
    if run.orders[one.report].known_ranks is not None or not one.ranks:
        return ()
    return run.paths(one.report, min(one.ranks[0] - 1, ABOVE))


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Nested values as dotted names with their text, by name."""
    for key, value in sorted(values.items()):
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{before}{key}.")
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple | Mapping) else str(value)
            yield f"{before}{key}", text or "none"


def _number(value: float | int | None) -> str:
    """A count, or a mean to three digits."""
    if value is None:
        return "not known"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
