"""The command ``compare``. Heavy imports wait inside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.judging import (
    CommonOption,
    MarkdownOption,
    MeasuresOption,
    NoTestsOption,
    QrelsOption,
    RunsArgument,
    SplitOption,
    parsed_measures,
    scored_runs,
)
from tosloc.cli.options import JsonOption, Split
from tosloc.cli.printing import form_of, print_json, print_notes, show
from tosloc.errors import RunError, counted

if TYPE_CHECKING:
    from tosloc.evaluate.compare import Comparison

_DIFFERS = 1


def compare(
    runs: RunsArgument,
    split: SplitOption = Split.test,
    qrels: QrelsOption = None,
    measures: MeasuresOption = None,
    no_tests: NoTestsOption = False,
    common: CommonOption = False,
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="Compare each with each, not only with the first.")
    ] = False,
    top: Annotated[int, typer.Option("--top", min=0, help="Reports shown that rose, and that fell, most.")] = 10,
    same: Annotated[
        bool, typer.Option("--same", help="Say only whether every ranking is the same; if not, exit with 1.")
    ] = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Compare runs with the first one.

    Paired t-test and paired bootstrap on AP and RR of the same reports; differences are later run minus first. Measures
    that are yes or no for a report (Acc@k, Hit@k) have McNemar's exact test beside.
    """
    from tosloc.cli.tables import comparison_tables
    from tosloc.evaluate.compare import COMPARED, compare_all, comparison_values

    form = form_of(as_json, as_markdown)
    asked = parsed_measures(measures)
    if len(runs) < 2:
        raise RunError(f"{runs[0]}: nothing to compare it with; name two runs or more")
    if same:
        if asked or no_tests:
            raise RunError(f"--same: leave out {'--measures' if asked else '--no-tests'}")
        _check_same(runs, split.value, as_json)
        return
    evaluations = {one.name: one.evaluation() for one in scored_runs(runs, split.value, qrels, no_tests)}
    compared = compare_all(evaluations, common, all_pairs, tuple(dict.fromkeys((*COMPARED, *asked))))
    values = {"pairs": [comparison_values(one, top) for one in compared]}
    show(form, values, [table for one in compared for table in comparison_tables(one, top)])
    print_notes([note for one in compared for note in _notes(one)])


def _notes(comparison: Comparison) -> list[str]:
    a, b = comparison.a, comparison.b
    notes = []
    if comparison.only_a or comparison.only_b:
        notes.append(f"left out: {counted(comparison.only_a, 'report')} only of {a}, {comparison.only_b} only of {b}")
    if comparison.other_searched:
        reports = comparison.other_searched
        notes.append(
            f"{a} and {b} searched different numbers of files for {counted(len(reports), 'report')}, first"
            f" {reports[0]}; the larger search is the harder one"
        )
    return notes


def _check_same(paths: Sequence[Path], split: str, as_json: bool) -> None:
    """Say whether all runs rank as the first does. Exits with 1 if one does not."""
    from tosloc.evaluate.compare import first_difference
    from tosloc.evaluate.run_paths import read_run_at
    from tosloc.io import printable

    first, *others = (read_run_at(path, split) for path in paths)
    differences = [(path, first_difference(first, other)) for path, other in zip(paths[1:], others, strict=True)]
    same = all(says is None for _, says in differences)
    if as_json:
        runs = [{"run": str(path), "first_difference": says} for path, says in differences]
        print_json({"same": same, "reports": len(first.orders), "runs": runs})
    elif same:
        print(f"the same ranking for all {len(first.orders):,} reports")
    else:
        for path, says in differences:
            if says is not None:
                print(printable(f"{paths[0]} and {path}: {says}"))
    if not same:
        raise typer.Exit(_DIFFERS)
