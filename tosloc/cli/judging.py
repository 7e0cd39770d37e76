"""The commands ``evaluate`` and ``compare``.

Heavy packages are imported inside the commands, so that the command line starts quickly.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.tables import comparison_tables, results_table, strata_table
from tosloc.core.errors import RunError, pluralize
from tosloc.terminal.options import (
    CommonOption,
    JsonOption,
    Level,
    LevelOption,
    MarkdownOption,
    MeasuresOption,
    NoTestsOption,
    QrelsOption,
    RunsArgument,
    SplitOption,
    check_drawing,
)
from tosloc.terminal.printing import Form, print_notes

if TYPE_CHECKING:
    from tosloc.evaluate.compare import Comparison
    from tosloc.evaluate.tables import Results


def evaluate(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN",
            help="Folder that train or rank wrote, the folder of one split, or a run file.",
            show_default="the last training for the repository around the current folder",
        ),
    ] = None,
    split: SplitOption = None,
    level: LevelOption = Level.file,
    qrels: QrelsOption = None,
    measures: MeasuresOption = None,
    no_tests: NoTestsOption = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            dir_okay=False,
            help="Also write an HTML page with figures and every report to FILE.",
        ),
    ] = None,
) -> None:
    """Evaluate runs by MRR, MAP, top-k and other measures.

    Prints means over all judged reports with 95 % bootstrap intervals, then means over kinds of
    reports.
    """
    from tosloc.evaluate.measures import Measure
    from tosloc.evaluate.run_paths import ScoredRun
    from tosloc.evaluate.tables import Results

    form = Form.chosen(as_json, as_markdown)
    check_drawing(html)
    functions = level is Level.function
    extra_measures = Measure.parse_all(measures, functions)
    scored_runs = ScoredRun.read_all(runs or [_trained_run()], split, qrels, no_tests, functions)
    if html is not None and functions:
        raise RunError("--html shows only files; leave it out, or leave out --level function")
    if html is not None and len(scored_runs) > 1:
        raise RunError(
            f"--html shows one run, but there are {len(scored_runs)};"
            " compare runs with: tosloc compare"
        )
    results = [Results(scored, extra_measures, level.value) for scored in scored_runs]
    values = [result.values() for result in results]
    if html is not None:
        _write_page(html, results[0])
    tables = [results_table(results), *map(strata_table, results)]
    form.print(values if len(values) > 1 else values[0], tables)
    notes: dict[str, None] = {}
    for result in results:
        notes |= dict.fromkeys(result.notes)
    print_notes(notes)


def _write_page(html: Path, results: Results) -> None:
    """Write the evaluation of a run as a page."""
    from tosloc.core.io import write_text
    from tosloc.plots.page import page

    write_text(html, page(results))


def _trained_run() -> Path:
    """Return the folder of the last training for the repository around the current folder.

    Raises RunError if there is none.
    """
    from tosloc.git import discovery
    from tosloc.git.repository import Repository
    from tosloc.storage.cache import CacheEntry

    with Repository(discovery.current_repository()) as repository:
        folder = CacheEntry.of(repository).trained
    if not folder.exists():
        raise RunError(
            f"{repository.path}: nothing was trained for this repository; name a run, or run:"
            " tosloc train"
        )
    return folder


def compare(
    runs: RunsArgument,
    split: SplitOption = None,
    qrels: QrelsOption = None,
    measures: MeasuresOption = None,
    no_tests: NoTestsOption = False,
    common: CommonOption = False,
    top: Annotated[
        int,
        typer.Option(
            min=0, help="Number of reports to show whose AP rose most, and whose AP fell most."
        ),
    ] = 10,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Compare each run with the first one.

    Prints a paired t-test and a paired bootstrap test for AP and RR on the same reports.
    Differences are the later run minus the first. Binary measures (Acc@k, Hit@k) also get McNemar's
    exact test.
    """
    from tosloc.evaluate.compare import compare_all
    from tosloc.evaluate.measures import Measure
    from tosloc.evaluate.run_paths import ScoredRun
    from tosloc.evaluate.tables import Results

    form = Form.chosen(as_json, as_markdown)
    if len(runs) < 2:
        raise RunError(f"{runs[0]}: there is no second run to compare it with; name two or more")
    scored_runs = ScoredRun.read_all(runs, split, qrels, no_tests)
    results = [Results(scored) for scored in scored_runs]
    evaluations = {result.scored.name: result.evaluation for result in results}
    comparisons = compare_all(evaluations, common, measures=Measure.parse_all(measures))
    search_spaces = {scored.name: scored.search_space for scored in scored_runs}
    pairs = []
    tables = []
    for comparison in comparisons:
        searched = {
            "search_space_a": search_spaces[comparison.a] or None,
            "search_space_b": search_spaces[comparison.b] or None,
        }
        pairs.append(comparison.values(top) | searched)
        tables += comparison_tables(comparison, top, search_spaces)
    form.print({"pairs": pairs}, tables)
    for result in results:
        print_notes(result.caveats)
    notes: dict[str, None] = {}
    for comparison in comparisons:
        notes |= dict.fromkeys(_comparison_notes(comparison))
    print_notes(notes)


def _comparison_notes(comparison: Comparison) -> list[str]:
    """Return sentences about a weak truth, left out reports and different searches."""
    from tosloc.evaluate.runs import Judgement

    a, b = comparison.a, comparison.b
    notes = Judgement.notes_on_truth([pair.judgement for pair in comparison.pairs])
    if comparison.only_a or comparison.only_b:
        notes.append(
            f"left out reports that only one run judges: {comparison.only_a} of {a},"
            f" {comparison.only_b} of {b}"
        )
    reports = comparison.searched_differently
    if reports:
        number = pluralize(len(reports), "report")
        notes.append(
            f"{a} and {b} searched different numbers of files for {number}, such as {reports[0]};"
            " searching more files is harder"
        )
    return notes


def print_split(folder: Path, split: str) -> None:
    """Print the headline of one split in a folder, under the name of the split."""
    from tosloc.evaluate.run_paths import ScoredRun
    from tosloc.evaluate.tables import Results

    scored = replace(ScoredRun.read(folder, split), name=split)
    results_table([Results(scored)]).print()
