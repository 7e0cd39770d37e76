"""Results tables, for a terminal and in Markdown: runs side by side, their strata, and comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rich.text import Text

from tosloc.cli.cells import (
    UNKNOWN,
    count_cell,
    length_cell,
    of_difference,
    p_value_cell,
    ranks_cell,
    share,
    t_test,
    with_interval,
    within,
)
from tosloc.cli.printing import fits, markdown_table, print_table
from tosloc.errors import counted

if TYPE_CHECKING:
    from tosloc.evaluate.compare import Comparison, Move
    from tosloc.evaluate.function_level import FunctionResults
    from tosloc.evaluate.project_means import ProjectDifference, ProjectMeans
    from tosloc.evaluate.statistics import MeanOfMeans
    from tosloc.evaluate.tables import Results

COUNTS: Final = {
    "reports": "reports judged",
    "relevant": "fixed files in the searched versions",
    "dropped": "fixed files their version lacks, removed",
    "empty": "reports left without any, counted as 0",
}
"""Counts of the summary, with what they count."""
SCORES: Final = {
    "mrr": "mean reciprocal rank, first fixed file",
    "map": "mean average precision, whole ranking",
    "top1": "reports with a fixed file at rank 1",
    "top5": "... within the first 5",
    "top10": "... within the first 10",
    "coverage50": "fixed files within the first 50",
    "coverage100": "... within the first 100",
    "coverage300": "... within the first 300",
    "any50": "reports with a fixed file in the first 50",
    "any100": "... within the first 100",
    "any300": "... within the first 300",
}
"""Means and shares of the summary, with what they are."""
LENGTH: Final = "ranking length over files searched"
WITH_INTERVAL: Final = ("mrr", "map")
"""Scores whose interval a Markdown table shows."""
FUNCTION_INTERVAL: Final = "Acc@5"
"""The measure of functions whose interval a table shows."""
FEW_NOTE: Final = " * fewer than 30 reports: the interval says little\n"


def print_results(results: Sequence[Results]) -> None:
    """Print the headline over all reports, a column for each run; more tables where a terminal is too narrow."""
    start = 0
    while start < len(results):
        stop = len(results)
        while stop > start + 1 and not fits(*_headline(results[start:stop], meanings=False)):
            stop -= 1
        heads, rows = _headline(results[start:stop], meanings=True)
        if fits(heads, rows):
            print_table(heads, rows, left=(0, len(heads) - 1))
        else:
            print_table(*_headline(results[start:stop], meanings=False))
        start = stop


def _headline(results: Sequence[Results], meanings: bool) -> tuple[list[str], list[list[str | Text]]]:
    heads = ["all reports", *(f"{one.name} [95 %]" for one in results), *([""] if meanings else [])]
    rows = [(name, COUNTS[name], [count_cell(one.summary[name]) for one in results]) for name in COUNTS]
    for name, meaning in SCORES.items():
        rows.append((name, meaning, [with_interval(one.summary[name], one.intervals[name]) for one in results]))
    for name in results[0].measures:
        means = [one.measures[name] for one in results]
        rows.append((name, "mean over all reports", [with_interval(one.value, one.interval) for one in means]))
    rows.append(("length", LENGTH, [length_cell(one.summary["length"]) for one in results]))
    return heads, [[name, *of_runs, *([Text(says, style="dim")] if meanings else [])] for name, says, of_runs in rows]


def markdown_results(results: Sequence[Results], chosen: Sequence[str]) -> str:
    """The headline over all reports, a row for each run, with what validation ``chosen`` for it, if anything."""
    measures = list(results[0].measures)
    rows = []
    for one, taken in zip(results, chosen, strict=True):
        scores = [
            with_interval(one.summary[name], one.intervals[name] if name in WITH_INTERVAL else None) for name in SCORES
        ]
        counts = [count_cell(one.summary[name]) for name in COUNTS]
        asked = [with_interval(one.measures[name].value, one.measures[name].interval) for name in measures]
        rows.append([one.name, *counts, length_cell(one.summary["length"]), *scores, *asked, taken])
    heads = ["run", *COUNTS, "length", *SCORES, *measures, "chosen on validation"]
    if not any(chosen):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return markdown_table(heads, rows)


def function_results_table(results: Sequence[FunctionResults]) -> None:
    """Print the function level, a row for each ranker."""
    print_table(*_function_rows(results))


def markdown_function_results(results: Sequence[FunctionResults]) -> str:
    """The same in Markdown."""
    return markdown_table(*_function_rows(results))


def _function_rows(results: Sequence[FunctionResults]) -> tuple[list[str], list[list[str]]]:
    heads = ["functions", "reports", *results[0].means]
    rows = []
    for one in results:
        means = [
            with_interval(mean.value, mean.interval if name == FUNCTION_INTERVAL else None)
            for name, mean in one.means.items()
        ]
        rows.append([one.name, count_cell(len(one.evaluation.per_report)), *means])
    return heads, rows


def print_project_means(means: ProjectMeans, as_markdown: bool = False) -> None:
    """Print the means of each project, and of all of them: each counting the same, and each report."""
    heads = ["project", "reports", *means.names]
    rows = [
        [name, count_cell(reports), *map(share, row)]
        for name, reports, row in zip(means.projects, means.reports, means.means.tolist(), strict=True)
    ]
    macro = [with_interval(mean, one) for mean, one in zip(means.macro.tolist(), means.intervals, strict=True)]
    rows.append([f"macro mean of {len(means.projects)} projects", "", *macro])
    rows.append(["micro mean of all reports", count_cell(sum(means.reports)), *map(share, means.micro.tolist())])
    if as_markdown:
        print(markdown_table(heads, rows), end="")
    else:
        print_table(heads, rows)


def print_project_differences(
    names: Sequence[str],
    a: ProjectMeans,
    b: ProjectMeans,
    differences: Sequence[ProjectDifference],
    top: int,
    as_markdown: bool = False,
) -> None:
    """Print how system b stands against system a over projects, and the ``top`` projects that moved most each way."""
    first, second = names
    columns = [
        [
            share(one.a),
            share(one.b),
            share(one.paired.mean, sign=True),
            UNKNOWN if one.paired.interval is None else within(one.paired.interval, sign=True),
            t_test(one.paired.t_test),
            p_value_cell(one.paired.bootstrap_p),
            count_cell(one.wins),
            count_cell(one.ties),
            count_cell(one.losses),
            share(one.micro_a),
            share(one.micro_b),
        ]
        for one in differences
    ]
    said = (
        *(f"macro mean of {name}" for name in names),
        "difference",
        "... 95 % interval over projects",
        "p, paired t-test over projects",
        "p, paired bootstrap over projects",
        f"projects better in {second}",
        "equal",
        f"better in {first}",
        *(f"micro mean of {name}" for name in names),
    )
    rows = [list(row) for row in zip(said, *columns, strict=True)]
    number = f"{counted(len(a.projects), 'project')}, {counted(sum(a.reports), 'report')}"
    heads = [number, *(one.measure for one in differences)]
    change = (b.means[:, :2] - a.means[:, :2]).mean(axis=1)
    order = change.argsort(kind="stable")[::-1].tolist()
    risen, fallen = (
        [row for row in rows if sign * change[row] > 0][:top] for rows, sign in ((order, 1), (order[::-1], -1))
    )
    moved = [
        [a.projects[row], count_cell(a.reports[row])]
        + [cell for column in (0, 1) for cell in (share(a.means[row, column]), share(b.means[row, column]))]
        for row in (*risen, *fallen[::-1])
    ]
    moved_heads = ["project", "reports", *(f"{name} {side}" for name in a.names[:2] for side in ("from", "to"))]
    if as_markdown:
        print(markdown_table(heads, rows) + (f"\n{markdown_table(moved_heads, moved)}" if moved else ""), end="")
        return
    print_table(heads, rows)
    if moved:
        print_table(moved_heads, moved, title=f" projects that moved most from {first} to {second}")


def print_strata(results: Results) -> None:
    """Print the strata of a run, below its headline."""
    heads = ["stratum", "reports", "relevant", "MRR [95 %]", "MAP [95 %]"]
    few = any(row.few and row.reports for row in results.strata)
    print_table(heads, _strata(results), title=f" strata of {results.name}", note=FEW_NOTE if few else "")


def markdown_strata(results: Results) -> str:
    """The strata of a run."""
    rows = [[cell.replace("*", r"\*") for cell in row] for row in _strata(results)]
    return markdown_table([f"stratum of {results.name}", "reports", "relevant", "MRR", "MAP"], rows)


def _strata(results: Results) -> list[list[str]]:
    """Name, reports, relevant files, MRR and MAP of each stratum; a star says that the reports are few."""
    rows = []
    for row in results.strata:
        reports = count_cell(row.reports) + ("*" if row.few and row.reports else "")
        means = [UNKNOWN if one is None else with_interval(one.value, one.interval) for one in (row.mrr, row.map)]
        rows.append([row.name, reports, count_cell(row.relevant), *means])
    return rows


def print_comparison(comparison: Comparison, top: int) -> None:
    """Print how run b stands against run a, and the ``top`` reports that rose and that fell most."""
    a, b = comparison.a, comparison.b
    title = f"\n {b} against {a}, {counted(len(comparison.moves), 'report')}"
    print_table(["", *_measures(comparison)], _differences(comparison), title=title)
    for moves, word in ((comparison.risen(top), "risen"), (comparison.fallen(top), "fallen")):
        if moves:
            heads = ["report", "AP from", "to", "change", "ranks from", "to"]
            title = f" reports that have {word} most from {a} to {b}"
            print_table(heads, _moves(moves), title=title, left=(0, 4, 5))


def print_whole_comparison(comparison: Comparison, as_markdown: bool) -> None:
    """Print how run b stands against run a, without single reports."""
    heads = [counted(len(comparison.moves), "report"), *_measures(comparison)]
    if as_markdown:
        print(markdown_table(heads, _differences(comparison)))
    else:
        print_table(heads, _differences(comparison))


def markdown_comparison(comparison: Comparison, top: int) -> str:
    """How run b stands against run a, and the reports that moved most."""
    a, b = comparison.a, comparison.b
    text = markdown_table([f"{b} against {a}", *_measures(comparison)], _differences(comparison))
    moves = [*comparison.risen(top), *comparison.fallen(top)[::-1]]
    if moves:
        heads = ["report", f"AP, {a}", f"AP, {b}", "change", f"ranks in {a}", f"ranks in {b}"]
        text += "\n" + markdown_table(heads, _moves(moves))
    return text


def print_gains(gains: Mapping[str, MeanOfMeans], projects: int, as_markdown: bool) -> None:
    """Print the mean gain over some projects in each measure."""
    heads = [f"mean of {counted(projects, 'project')}", "gain", "95 % interval", "p"]
    rows = [
        [name, f"{one.mean:+.4f}", f"[{one.interval.low:+.4f}, {one.interval.high:+.4f}]", f"{one.p:.4f}"]
        for name, one in gains.items()
    ]
    if as_markdown:
        print(markdown_table(heads, rows), end="")
    else:
        print_table(heads, rows)


def _measures(comparison: Comparison) -> list[str]:
    return [repr(one.measure) for one in comparison.differences]


def _differences(comparison: Comparison) -> list[list[str]]:
    """What a comparison says: a row for each value, a column for each measure."""
    columns = [of_difference(one, comparison.a, comparison.b) for one in comparison.differences]
    names = max(columns, key=len)  # a test that is not for every measure has a row all the same
    return [[name, *(column.get(name, UNKNOWN) for column in columns)] for name in names]


def _moves(moves: Iterable[Move]) -> list[list[str]]:
    return [
        [
            move.report,
            share(move.a.average_precision),
            share(move.b.average_precision),
            share(move.difference, sign=True),
            ranks_cell(move.a),
            ranks_cell(move.b),
        ]
        for move in moves
    ]
