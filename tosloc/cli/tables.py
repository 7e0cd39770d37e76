"""Tables of runs, of strata in runs, and of comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tosloc.core.errors import pluralize
from tosloc.core.io import escape_unprintable
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
    searched = search_spaces_note(
        {result.scored.name: result.scored.search_space for result in results}
    )
    note = _joined_notes(few, searched)
    return Table(["all reports", *run_heads, ""], rows, note=note, left=(0, len(results) + 1))


def search_spaces_note(search_spaces: Mapping[str, str]) -> str:
    """Return a line on the files that runs searched, by the names of the runs.

    A run whose search space is not known is left out. Equal search spaces are named once.
    """
    known = {name: space for name, space in search_spaces.items() if space}
    if len(known) == len(search_spaces) and len(set(known.values())) == 1:
        line = f"Searched: {next(iter(known.values()))}"
    else:
        line = "; ".join(f"{name} searched {space}" for name, space in known.items())
    return escape_unprintable(line)


def _joined_notes(*notes: str) -> str:
    """Return the notes that are not empty as lines, and a blank line before the next table."""
    lines = [note for note in notes if note]
    return "\n".join([*lines, ""]) if lines else ""


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
    searched = search_spaces_note({name: search_spaces[name] for name in (a, b)})
    tables = [replace(table, note=_joined_notes(table.note, searched))]
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
