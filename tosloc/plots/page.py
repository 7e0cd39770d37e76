"""One evaluation as one HTML page that needs nothing else: no network, no script, no other file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from tosloc.errors import RunError
from tosloc.evaluate.evaluate import Evaluation, ReportScores
from tosloc.evaluate.measures import MEASURE_MEANINGS, Measure
from tosloc.evaluate.runs import Run
from tosloc.evaluate.statistics import Interval
from tosloc.evaluate.tables import COUNTS, LENGTH, MEANS, Mean, Results
from tosloc.evaluate.truncation import COLUMNS as CUT_COLUMNS
from tosloc.evaluate.truncation import truncation
from tosloc.io import printable
from tosloc.plots.drawing import svg
from tosloc.plots.figures import coverage_figure, first_hit_figure, precision_recall_figure, truncation_figure

DEFINITIONS: Final = {
    "AP": MEASURE_MEANINGS["AP"],
    "RR": MEASURE_MEANINGS["RR"],
    "Hit@k": f"{MEASURE_MEANINGS['Hit']}; its mean is printed as top k and any@k",
    "coverage@k": "fixed files within the first k over all fixed files, of all reports together",
    "95 % interval": "the middle 95 % of the values over reports drawn anew, with replacement, from these reports",
    "precision at recall, uninterpolated": "a report with R fixed files needs its j-th for a recall above (j - 1) / R, "
    "up to j / R, and has there the precision j / rank of the j-th, 0 if that is not ranked; mean over all reports; "
    "the area under the curve is MAP",
    "precision at recall, interpolated": "the best precision at that recall or any higher one, at recall 0, 0.1 to 1; "
    "mean over all reports (Manning et al. 2008, section 8.4)",
    "seen-relevant": MEASURE_MEANINGS["AP_found"],
}
"""What the page's other names mean."""

ABOVE: Final = 3
"""Files above the first fixed one that are named."""

WhyAbove: TypeAlias = Mapping[tuple[str, str], Sequence[tuple[str, float]]]
"""(report, path above) -> features, with how much each raised the score above the fixed file's; none where stage one
set it below, and the second stage raised it."""

_NARROW: Final = 16.5
_WIDE: Final = 11.3
"""Points of a figure to a rem of the page, at least and at most: letters of 9 points are 8.7 to 12.7 pixels high."""

_SVG_SIZE: Final = re.compile(r'\s(?:width="(?P<points>[\d.]+)pt"|height="[^"]*")')
_SVG_ID: Final = re.compile(r'(\bid="|href="#|url\(#)')


def named_above(results: Results) -> dict[str, tuple[str, list[str]]]:
    """Report -> its first fixed file, and the files above it that the page names; of reports that have such."""
    run, found = results.scored.run, {}
    for one in results.evaluation.per_report:
        above = _above(run, one)[0]
        if above:
            found[one.report] = (run.names[run.orders[one.report].files[min(one.ranks) - 1]], above)
    return found


def page(results: Results, other: Results | None = None, why: WhyAbove | None = None) -> str:
    """The page of one run's results, with those of another beside them: the same text for the same results.

    ``why`` is what set files above the fixed ones; without it the page says how to have it told.
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
    return environment.get_template("evaluation.html").render(
        name=results.name,
        notes=results.notes,
        provenance=dict(_flat({key: value for key, value in results.scored.run.header.items() if key != "config"})),
        config=dict(_flat(results.scored.run.header.get("config") or {})),
        counts=[(name, results.summary[name], meaning) for name, meaning in [*COUNTS.items(), ("length", LENGTH)]],
        scores=list(_scores(results)),
        other=None if other is None else other.name,
        other_scores={} if other is None else {name: (value, interval) for name, value, interval, _ in _scores(other)},
        strata=results.strata,
        figures=_figures(results.evaluation),
        truncated=_truncated(results.evaluation),
        reports=_reports(results.scored.run, results.evaluation, None if other is None else other.scored.run, why),
        why=why is not None,
        definitions=DEFINITIONS,
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


def _figures(evaluation: Evaluation) -> list[tuple[Markup, str]]:
    """Each figure with what stands below it."""
    runs = {"": evaluation}
    return [
        (
            inline(coverage_figure(runs), "coverage", "coverage at k and any at k"),
            "Left: the share of all fixed files that stand within the first k (coverage@k). Right: the share of the "
            "reports with any fixed file there (any@k).",
        ),
        (
            inline(first_hit_figure(runs), "first", "rank of the first fixed file"),
            "Reports by the rank of their first fixed file. Not ranked: none of its fixed files is in the ranking, "
            "or the version has none.",
        ),
        (
            inline(precision_recall_figure(runs), "recall", "precision at recall"),
            "Mean precision over the reports at each recall. Left, uninterpolated: the precision where a report first "
            "reaches that recall; the area below is MAP. Right, interpolated at 11 points: the best precision at that "
            "recall or any higher one (Manning et al. 2008, 8.4). A recall that a ranking never reaches counts 0.",
        ),
    ]


def _truncated(evaluation: Evaluation) -> dict[str, Any]:
    try:
        result = truncation(evaluation)
    except RunError as error:
        return {"missing": str(error)}
    return {
        "missing": None,
        "figure": inline(truncation_figure(result), "truncation", "mean average precision of cut rankings"),
        "columns": CUT_COLUMNS,
        "tables": result.tables(),
        "meanings": result.notes,
    }


def _scores(results: Results) -> Iterator[tuple[str, float | int | None, Interval | None, str]]:
    """Name, value, interval and definition of each mean and share, the ones asked for besides at the end."""
    for key, (name, meaning) in MEANS.items():
        yield name, results.summary[key], results.intervals[key], meaning
    for name, mean in results.measures.items():
        yield name, mean.value, mean.interval, MEASURE_MEANINGS[Measure.parse(name).name]


def _reports(run: Run, evaluation: Evaluation, other: Run | None, why: WhyAbove | None) -> list[dict[str, Any]]:
    """Every report, the worst answered first."""
    order = sorted(
        evaluation.per_report, key=lambda one: (one.average_precision, -min(one.ranks, default=0), one.report)
    )
    return [
        {
            "report": one.report,
            "summary": one.judgement.summary,
            "ap": one.average_precision,
            "rr": one.reciprocal_rank,
            "searched": one.outcome.searched,
            "files": sorted(  # rank, rank in the other run, path; the ones without a rank last
                (
                    (_rank_in(run, one.report, path), _rank_in(other, one.report, path), path)
                    for path in one.judgement.fixed
                ),
                key=lambda file: (file[0] is None, file[0] or 0, file[2]),
            ),
            "above": [(path, None if why is None else why.get((one.report, path))) for path in above],
            "more_above": more,
            "missing": [path for path in one.judgement.listed if path not in set(one.judgement.fixed)],
            "traits": one.judgement.attributes,
        }
        for one in order
        for above, more in [_above(run, one)]
    ]


def _rank_in(run: Run | None, report: str, path: str) -> int | None:
    """Rank of a file; None where it has none, or none that is known."""
    if run is None or report not in run.orders or path not in run.numbers:
        return None
    return next(iter(run.orders[report].ranks_of([run.numbers[path]])), None)


def _above(run: Run, one: ReportScores) -> tuple[list[str], int]:
    """The files that stand above the first fixed one, the first of them by name, and how many more there are."""
    order = run.orders[one.report]
    if order.known_ranks is not None or not one.ranks:
        return [], 0
    before = min(one.ranks) - 1
    return [run.names[number] for number in order.files[: min(before, ABOVE)].tolist()], max(0, before - ABOVE)


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Nested values as dotted names with their text, by name."""
    for key in sorted(values):
        value = values[key]
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{before}{key}.")
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            yield f"{before}{key}", text if text and value != {} else "none"


def _number(value: float | int | Mean | None) -> str:
    """A count, or a mean to three digits."""
    if isinstance(value, Mean):
        value = value.value
    if value is None:
        return "not known"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
