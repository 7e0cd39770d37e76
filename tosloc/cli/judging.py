"""The commands ``evaluate`` and ``compare``.

Heavy packages are imported inside the commands, so that the command line starts quickly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.options import JsonOption, Level, Split, check_drawing
from tosloc.cli.printing import (
    comparison_tables,
    output_form,
    print_notes,
    print_results,
    print_table,
    results_table,
    strata_table,
)
from tosloc.core.errors import RunError, pluralize

if TYPE_CHECKING:
    from tosloc.evaluate.compare import Comparison
    from tosloc.evaluate.measures import Measure
    from tosloc.evaluate.run_paths import ScoredRun
    from tosloc.evaluate.tables import Results

RunsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN",
        help="Folder that train or rank wrote, the folder of one split, or a run file.",
    ),
]
SplitOption = Annotated[
    Split, typer.Option(help="Part of the reports whose run is read from a folder.")
]
QrelsOption = Annotated[
    Path | None,
    typer.Option(help="File with judgements.", show_default="qrels.jsonl beside the run"),
]
MeasuresOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES", help="Additional measures, such as nDCG@10,Acc@5.", show_default="none"
    ),
]
NoTestsOption = Annotated[
    bool,
    typer.Option("--no-tests", help="Leave test files out of rankings and judgements."),
]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print the result as Markdown.")]
CommonOption = Annotated[
    bool, typer.Option("--common", help="Compare only the reports that are judged in both runs.")
]
LevelOption = Annotated[
    Level,
    typer.Option(
        help="Evaluate rankings of files, or the rankings of functions that rank --functions"
        " wrote, together with those of BM25."
    ),
]


def evaluate(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN",
            help="Folder that train or rank wrote, the folder of one split, or a run file.",
            show_default="the last training for the repository around the current folder",
        ),
    ] = None,
    split: SplitOption = Split.test,
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
    from tosloc.evaluate.tables import Results

    form = output_form(as_json, as_markdown)
    check_drawing(html)
    extra_measures = parse_measures(measures, level)
    scored_runs = read_scored_runs(runs or [_trained_run()], split.value, qrels, no_tests, level)
    if html is not None and level is Level.function:
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
    print_results(form, values if len(values) > 1 else values[0], tables)
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
    """Return the folder of the training for the repository around the current folder.

    Raises RunError if there is none.
    """
    from tosloc.git import discovery
    from tosloc.git.repository import Repository
    from tosloc.storage.cache import trained_folder

    with Repository(discovery.current_repository()) as repository:
        folder = trained_folder(repository)
    if not folder.exists():
        raise RunError(
            f"{repository.path}: nothing was trained for this repository; name a run, or run:"
            " tosloc train"
        )
    return folder


def compare(
    runs: RunsArgument,
    split: SplitOption = Split.test,
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
    from tosloc.evaluate.compare import compare_all, comparison_values

    form = output_form(as_json, as_markdown)
    if len(runs) < 2:
        raise RunError(f"{runs[0]}: there is no second run to compare it with; name two or more")
    scored_runs = read_scored_runs(runs, split.value, qrels, no_tests)
    evaluations = {scored.name: scored.evaluation() for scored in scored_runs}
    comparisons = compare_all(evaluations, common, measures=parse_measures(measures))
    values = {"pairs": [comparison_values(comparison, top) for comparison in comparisons]}
    tables = []
    for comparison in comparisons:
        tables += comparison_tables(comparison, top)
    print_results(form, values, tables)
    for comparison in comparisons:
        print_notes(_comparison_notes(comparison))


def _comparison_notes(comparison: Comparison) -> list[str]:
    """Return sentences about reports that one run lacks, or searched differently."""
    a, b = comparison.a, comparison.b
    notes = []
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
    """Print the headline of one split of a folder, named by the split."""
    from tosloc.evaluate.run_paths import read_scored_run
    from tosloc.evaluate.tables import Results

    scored = replace(read_scored_run(folder, split), name=split)
    print_table(results_table([Results(scored)]))


def read_scored_runs(
    paths: Sequence[Path],
    split: str,
    qrels: Path | None = None,
    no_tests: bool = False,
    level: Level = Level.file,
) -> list[ScoredRun]:
    """Read runs with their judgements, each under a name of its own.

    Runs that have the same name are called by their paths. At the level of functions, each folder
    gives TosLoc's run and after it BM25's. Raises RunError for a path that is given twice, and for
    options that are not for the level.
    """
    from tosloc.evaluate.run_paths import drop_test_files, read_function_runs, read_scored_run

    for path, times in Counter(paths).items():
        if times > 1:
            raise RunError(f"{path} is given twice")
    if level is Level.function:
        if qrels is not None or no_tests:
            raise RunError("--qrels and --no-tests apply only to files; leave out --level function")
        function_runs: list[ScoredRun] = []
        for path in paths:
            function_runs += read_function_runs(path, split)
        return function_runs
    runs = [read_scored_run(path, split, qrels) for path in paths]
    if no_tests:
        runs = [drop_test_files(run) for run in runs]
    name_counts = Counter(run.name for run in runs)
    return [
        replace(run, name=str(path)) if name_counts[run.name] > 1 else run
        for run, path in zip(runs, paths, strict=True)
    ]


def parse_measures(texts: Sequence[str] | None, level: Level = Level.file) -> list[Measure]:
    """Parse the values of ``--measures``, which are names with commas between them.

    Each measure is returned once, after the measures that a level always has.
    """
    from tosloc.evaluate.measures import Measure
    from tosloc.evaluate.tables import FUNCTION_MEASURES

    measures = list(FUNCTION_MEASURES) if level is Level.function else []
    for text in texts or ():
        names = [name for name in text.split(",") if name.strip()]
        measures += map(Measure.parse, names)
    return list(dict.fromkeys(measures))
