"""Tables of runs, of strata in runs, and of comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tosloc.core.errors import pluralize
from tosloc.terminal.printing import Table, count_cell, differences_table, mean_cell, share_cell

if TYPE_CHECKING:
    from tosloc.evaluate.compare import Comparison, ReportPair
    from tosloc.evaluate.measures import ReportScores
    from tosloc.evaluate.tables import Results

MAX_RANKS_SHOWN: Final = 8
"""Largest number of ranks of a report's fixed files that a cell shows."""


def results_table(results: Sequence[Results]) -> Table:
    """Return the headline over all reports, with a column for each run.

    Rows that are informative for no run are left out.
    """
    rows = []
    meanings: dict[str, str] = {}
    for result in results:
        meanings |= result.informative_counts
    for name, meaning in meanings.items():
        counts = [count_cell(result.evaluation.counts[name]) for result in results]
        rows.append([name, *counts, results[0].name_unit(meaning)])
    informative_names: set[str] = set()
    for result in results:
        informative_names.update(mean.name for mean in result.informative_means)
    for means in zip(*(result.means for result in results), strict=True):
        if means[0].name in informative_names:
            cells = [mean_cell(mean.mean, mean.interval) for mean in means]
            rows.append([means[0].name, *cells, means[0].meaning])
    run_heads = [f"{result.scored.name} [95 %]" for result in results]
    few = ""
    if any(result.is_small for result in results):
        few = "Fewer than 30 reports: the intervals are unreliable."
    table = Table(["all reports", *run_heads, ""], rows, note=few, left=(0, len(results) + 1))
    table = table.with_search_spaces(
        {result.scored.name: result.scored.search_space for result in results}
    )
    return _before_another(table)


def _before_another(table: Table) -> Table:
    """Return a table with a blank line below its note, which separates it from the next table."""
    return replace(table, note=f"{table.note}\n") if table.note else table


def strata_table(results: Results) -> Table:
    """Return the informative strata of a run; strata with few reports are marked with a star."""
    strata = results.informative_strata
    rows = []
    for stratum in strata:
        star = "*" if stratum.is_small else ""
        means = [mean_cell(mean.mean, mean.interval) for mean in stratum.means]
        rows.append([stratum.name, f"{stratum.reports:,}{star}", f"{stratum.relevant:,}", *means])
    heads = ["kind of report", "reports", "fixed files", "MRR [95 %]", "MAP [95 %]"]
    note = ""
    if any(stratum.is_small for stratum in strata):
        note = "* Fewer than 30 reports: the interval is unreliable."
    return Table(heads, rows, f"Kinds of reports in {results.scored.name}", note)


def comparison_tables(
    comparison: Comparison, top: int, search_spaces: Mapping[str, str]
) -> list[Table]:
    """Return tables of how run b differs from run a, and of the reports that rose and fell most.

    There are at most ``top`` reports of each kind. ``search_spaces`` are those of the named runs.
    """
    a, b = comparison.a, comparison.b
    number = pluralize(len(comparison.pairs), "report")
    table = differences_table(comparison.differences, a, b, number, f"\n{b} compared with {a}")
    table = table.with_search_spaces({name: search_spaces[name] for name in (a, b)})
    tables = [_before_another(table)]
    heads = ["report", f"AP in {a}", f"AP in {b}", "change", f"ranks in {a}", f"ranks in {b}"]
    for how, pairs in comparison.largest_changes(top).items():
        if pairs:
            title = f"Reports whose AP has {how} most from {a} to {b}"
            rows = [_pair_row(pair) for pair in pairs]
            tables.append(Table(heads, rows, title, left=(0, 4, 5)))
    return tables


def _pair_row(pair: ReportPair) -> list[str]:
    """Return the cells of a report that two runs ranked."""
    return [
        pair.report,
        share_cell(pair.a.average_precision),
        share_cell(pair.b.average_precision),
        share_cell(pair.difference, sign=True),
        ranks_cell(pair.a),
        ranks_cell(pair.b),
    ]


def ranks_cell(scores: ReportScores) -> str:
    """Return the first ranks of a report's fixed files, and how many others there are.

    Others are ranked further down, or not ranked.
    """
    parts = [str(rank) for rank in scores.ranks[:MAX_RANKS_SHOWN]]
    not_shown = len(scores.ranks) - MAX_RANKS_SHOWN
    if not_shown > 0:
        parts.append(f"{not_shown} more")
    not_ranked = scores.relevant - len(scores.ranks)
    if not_ranked > 0:
        parts.append(f"{not_ranked} not ranked")
    return ", ".join(parts)
