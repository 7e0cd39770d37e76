"""The commands ``evaluate`` and ``compare``. Heavy imports wait inside."""

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
    from tosloc.evaluate.measures import Measure
    from tosloc.evaluate.run_paths import ScoredRun

RunsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN", help="Folder that train or rank wrote, a split's folder, or a run file."
    ),
]
SplitOption = Annotated[Split, typer.Option(help="Which run of a folder.")]
QrelsOption = Annotated[
    Path | None, typer.Option(help="What is true.", show_default="qrels.jsonl beside the run")
]
MeasuresOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES", help="Further measures, such as nDCG@10,Acc@5.", show_default="none"
    ),
]
NoTestsOption = Annotated[
    bool,
    typer.Option(
        "--no-tests", help="Judge without test files: neither ranked nor counted as fixed."
    ),
]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]
CommonOption = Annotated[
    bool, typer.Option("--common", help="Compare only the reports that both runs judge.")
]
LevelOption = Annotated[
    Level, typer.Option(help="Files, or the functions that rank --functions ranked, beside BM25.")
]


def evaluate(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN",
            help="Folder that train or rank wrote, a split's folder, or a run file.",
            show_default="what train has left for the repository around the current folder",
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
        typer.Option(dir_okay=False, help="File to write: one page with figures and every report."),
    ] = None,
) -> None:
    """Print how good runs are.

    Means over all judged reports, with 95 % bootstrap intervals; below them, kinds of reports.
    """
    from tosloc.evaluate.tables import Results

    form = output_form(as_json, as_markdown)
    check_drawing(html)
    asked = parse_measures(measures, level)
    scored = read_scored_runs(runs or [_trained()], split.value, qrels, no_tests, level)
    if html is not None and level is Level.function:
        raise RunError("--html is not for --level function; leave it out")
    if html is not None and len(scored) > 1:
        raise RunError(
            f"--html: a page tells of one run, not of {len(scored)}; compare runs with: tosloc compare"
        )
    results = [Results(one, asked, level.value) for one in scored]
    values = [one.values() for one in results]
    if html is not None:
        from tosloc.core.io import write_text
        from tosloc.plots.page import page

        write_text(html, page(results[0]))
    tables = [results_table(results), *map(strata_table, results)]
    print_results(form, values if len(values) > 1 else values[0], tables)
    print_notes(dict.fromkeys(note for one in results for note in one.notes))


def _trained() -> Path:
    """What train has left for the repository around this folder. Raises RunError where it has left nothing."""
    from tosloc.git import discovery
    from tosloc.git.repository import Repository
    from tosloc.storage.cache import trained_folder

    with Repository(discovery.current_repository()) as repository:
        folder = trained_folder(repository)
    if not folder.exists():
        raise RunError(
            f"{repository.path}: nothing was trained here; name a run, or run: tosloc train"
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
        int, typer.Option(min=0, help="Reports shown that rose, and that fell, most.")
    ] = 10,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Compare runs with the first one.

    Paired t-test and paired bootstrap on AP and RR of the same reports; differences are later run minus first. Measures
    that are yes or no for a report (Acc@k, Hit@k) have McNemar's exact test beside.
    """
    from tosloc.evaluate.compare import compare_all, comparison_values

    form = output_form(as_json, as_markdown)
    if len(runs) < 2:
        raise RunError(f"{runs[0]}: nothing to compare it with; name two runs or more")
    evaluations = {
        one.name: one.evaluation() for one in read_scored_runs(runs, split.value, qrels, no_tests)
    }
    compared = compare_all(evaluations, common, measures=parse_measures(measures))
    values = {"pairs": [comparison_values(one, top) for one in compared]}
    print_results(
        form, values, [table for one in compared for table in comparison_tables(one, top)]
    )
    for one in compared:
        if one.only_a or one.only_b:
            print_notes(
                [
                    f"left out: {pluralize(one.only_a, 'report')} only of {one.a}, {one.only_b} only of {one.b}"
                ]
            )
        if reports := one.searched_differently:
            number = pluralize(len(reports), "report")
            warning = f"{one.a} and {one.b} searched different numbers of files for {number}, first {reports[0]}"
            print_notes([f"{warning}; the larger search is the harder one"])


def print_split(folder: Path, split: str) -> None:
    """Print the headline of one split of a folder, named by the split."""
    from tosloc.evaluate.run_paths import read_scored_run
    from tosloc.evaluate.tables import Results

    print_table(results_table([Results(replace(read_scored_run(folder, split), name=split))]))


def read_scored_runs(
    paths: Sequence[Path],
    split: str,
    qrels: Path | None = None,
    no_tests: bool = False,
    level: Level = Level.file,
) -> list[ScoredRun]:
    """The runs, each under a name of its own: where two have one name, the path that was asked for. Of the level of
    functions ours of each folder, and BM25's after it.
    """
    from tosloc.evaluate.run_paths import drop_test_files, read_function_runs, read_scored_run

    if twice := [path for path, times in Counter(paths).items() if times > 1]:
        raise RunError(f"{twice[0]}: named twice")
    if level is Level.function:
        if qrels is not None or no_tests:
            raise RunError("--qrels and --no-tests are not for --level function; leave them out")
        return [one for path in paths for one in read_function_runs(path, split)]
    runs = [read_scored_run(path, split, qrels) for path in paths]
    runs = [drop_test_files(one) for one in runs] if no_tests else runs
    named = Counter(one.name for one in runs)
    return [
        replace(one, name=str(path)) if named[one.name] > 1 else one
        for one, path in zip(runs, paths, strict=True)
    ]


def parse_measures(texts: Sequence[str] | None, level: Level = Level.file) -> list[Measure]:
    """Measures of ``--measures A,B --measures C``, each once, after those that a level always has."""
    from tosloc.evaluate.measures import Measure
    from tosloc.evaluate.tables import FUNCTION_MEASURES

    names = [name for text in texts or () for name in text.split(",") if name.strip()]
    always = FUNCTION_MEASURES if level is Level.function else ()
    return list(dict.fromkeys((*always, *map(Measure.parse, names))))
