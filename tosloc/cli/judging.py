"""The commands ``evaluate`` and ``compare``. Heavy imports wait inside."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tosloc.cli.options import JsonOption, Level, Split, check_drawing
from tosloc.cli.printing import form_of, print_json, print_notes, show
from tosloc.errors import RunError, counted

if TYPE_CHECKING:
    from tosloc.evaluate.evaluate import ReportScores
    from tosloc.evaluate.measures import Measure
    from tosloc.evaluate.run_paths import ScoredRun
    from tosloc.evaluate.tables import Results
    from tosloc.plots.page import WhyAbove

RunsArgument = Annotated[
    list[Path],
    typer.Argument(metavar="RUN", help="Folder that train or rank wrote, a split's folder, or a run file."),
]
SplitOption = Annotated[Split, typer.Option("--split", help="Which run of a folder.")]
QrelsOption = Annotated[
    Path | None, typer.Option("--qrels", help="What is true.", show_default="qrels.jsonl beside the run")
]
MeasuresOption = Annotated[
    list[str] | None,
    typer.Option("--measures", metavar="NAMES", help="Further measures, such as nDCG@10,Acc@5.", show_default="none"),
]
NoTestsOption = Annotated[
    bool, typer.Option("--no-tests", help="Judge without test files: neither ranked nor counted as fixed.")
]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]
CommonOption = Annotated[bool, typer.Option("--common", help="Compare only the reports that both runs judge.")]
PerReportOption = Annotated[
    Path | None, typer.Option("--per-report", dir_okay=False, help="File to write: a JSON line for every report.")
]
LevelOption = Annotated[
    Level, typer.Option("--level", help="Files, or the functions that rank --functions ranked, beside BM25.")
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
    strata: Annotated[bool, typer.Option(help="Print results by kind of report.")] = True,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
    per_report: PerReportOption = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", dir_okay=False, help="File to write: one page with figures and every report."),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures", file_okay=False, help="Folder to write figures to, as SVG and PNG: all runs in each of them."
        ),
    ] = None,
) -> None:
    """Print how good runs are.

    Means over all judged reports, with 95 % bootstrap intervals; below them, kinds of reports.
    """
    from tosloc.cli.tables import functions_table, results_table, strata_table
    from tosloc.evaluate.function_level import FUNCTION_MEASURES, function_values, unjudged_note
    from tosloc.evaluate.tables import results_of, results_values

    form = form_of(as_json, as_markdown)
    check_drawing(html, figures)
    asked, runs = parsed_measures(measures), runs or [_trained()]
    if level is Level.function:
        check_level(qrels=qrels, no_tests=no_tests, html=html, figures=figures)
        asked = list(dict.fromkeys((*FUNCTION_MEASURES, *asked)))
        results = [results_of(one, asked, strata=False) for one in function_runs(runs, split.value)]
        values: Any = [function_values(one) for one in results]
        tables, notes = [functions_table(results)], unjudged_note([one.scored for one in results[::2]])
    else:
        if html is not None and len(runs) > 2:
            raise RunError(f"--html: a page tells of one run, or of two, not of {len(runs)}; name them")
        results = [results_of(one, asked, strata) for one in scored_runs(runs, split.value, qrels, no_tests)]
        each = [results_values(one, name=len(results) > 1) for one in results]
        values = each if len(each) > 1 else each[0]
        tables = [results_table(results), *(strata_table(one) for one in results if one.strata)]
        notes = [note for one in results for note in one.notes]
    if per_report is not None:
        named = len(results) > 1
        write_reports(per_report, ((named * one.name, one.evaluation.per_report) for one in results), asked)
    if html is not None:
        from tosloc.io import write_text
        from tosloc.plots.page import page

        other = results[1] if len(results) > 1 else None
        write_text(html, page(results[0], other, _why_above(runs[0], results[0])))
    if figures is not None:
        _write_figures(figures, results)
    show(form, values, tables)
    print_notes(notes)


def _trained() -> Path:
    """What train has left for the repository around this folder. Raises RunError where it has left nothing."""
    from tosloc.git import discovery
    from tosloc.git.repository import Repository
    from tosloc.index.cache import trained_folder

    with Repository(discovery.around(Path.cwd())) as repository:
        folder = trained_folder(repository)
    if not folder.exists():
        raise RunError(f"{repository.path}: nothing was trained here; name a run, or run: tosloc train")
    return folder


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
    for one in compared:
        if one.only_a or one.only_b:
            print_notes([f"left out: {counted(one.only_a, 'report')} only of {one.a}, {one.only_b} only of {one.b}"])
        if reports := one.other_searched:
            number = counted(len(reports), "report")
            told = f"{one.a} and {one.b} searched different numbers of files for {number}, first {reports[0]}"
            print_notes([f"{told}; the larger search is the harder one"])


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
        raise typer.Exit(1)


def check_level(**unfit: object) -> None:
    """Raise RunError for an option that is not for functions."""
    for name, value in unfit.items():
        if value:
            raise RunError(f"--{name.replace('_', '-')}: is not for --level function; leave it out")


def function_runs(paths: Sequence[Path], split: str) -> list[ScoredRun]:
    """Our run of functions of each folder, and BM25's after it, called by the folder's name."""
    from tosloc.evaluate.function_level import read_function_runs

    check_distinct(paths)
    return [
        ours_or_bm25
        for ours, bm25 in (read_function_runs(path, split) for path in paths)
        for ours_or_bm25 in (ours, replace(bm25, name=f"{ours.name}: {bm25.name}"))
    ]


def print_split(folder: Path, split: str) -> None:
    """Print the headline of one split of a folder, named by the split."""
    from tosloc.cli.printing import print_table
    from tosloc.cli.tables import results_table
    from tosloc.evaluate.run_paths import read_scored
    from tosloc.evaluate.tables import results_of

    print_table(results_table([results_of(replace(read_scored(folder, split), name=split), strata=False)]))


def scored_runs(paths: Sequence[Path], split: str, qrels: Path | None, no_tests: bool = False) -> list[ScoredRun]:
    """The runs, each under a name of its own: where two have one name, the path that was asked for."""
    from tosloc.evaluate.restrict import only_some_files
    from tosloc.evaluate.run_paths import read_scored
    from tosloc.reports.test_paths import which_are_tests

    check_distinct(paths)
    runs = [read_scored(path, split, qrels) for path in paths]
    if no_tests:
        space = "all source files but tests"
        runs = [only_some_files(one, lambda files: ~which_are_tests(files), space) for one in runs]
    named = Counter(one.name for one in runs)
    return [replace(one, name=str(path)) if named[one.name] > 1 else one for one, path in zip(runs, paths, strict=True)]


def check_distinct(paths: Sequence[Path]) -> None:
    """Raise RunError for a path that is named twice."""
    for path, times in Counter(paths).items():
        if times > 1:
            raise RunError(f"{path}: named twice")


def parsed_measures(texts: Sequence[str] | None) -> list[Measure]:
    """Measures of ``--measures A,B --measures C``, each once."""
    from tosloc.evaluate.measures import Measure

    names = [name for text in texts or () for name in text.split(",") if name.strip()]
    return list(dict.fromkeys(Measure.parse(name) for name in names))


def write_reports(
    path: Path, results: Iterable[tuple[str, Sequence[ReportScores]]], measures: Sequence[Measure]
) -> None:
    """Write a line for each report, with the name of its run if it has one."""
    from tosloc.evaluate.tables import report_values
    from tosloc.io import written_whole

    with written_whole(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for name, reports in results:
            run = {"run": name} if name else {}
            for report in reports:
                file.write(json.dumps({**run, **report_values(report, measures)}) + "\n")


def _write_figures(folder: Path, results: Sequence[Results]) -> None:
    """Draw all runs together: precision-recall, coverage, and ranks of first hits."""
    from tosloc.plots.drawing import save_figure
    from tosloc.plots.figures import coverage_figure, first_hit_figure, precision_recall_figure

    evaluations = {one.name: one.evaluation for one in results}
    for name, draw in (
        ("precision-recall", precision_recall_figure),
        ("coverage", coverage_figure),
        ("first-hit", first_hit_figure),
    ):
        save_figure(draw(evaluations), folder / name)


def _why_above(run: Path, results: Results) -> WhyAbove | None:
    """What set files above the fixed ones, where the folder of the run, or one around it, keeps its features."""
    from tosloc.localizer import Localizer
    from tosloc.plots.page import named_above
    from tosloc.rank.feature_tables import StoredFeatureTables, keeps_tables
    from tosloc.rank.stage_one import why_above

    place = next((one for one in (run, *run.absolute().parents[:2]) if keeps_tables(one)), None)
    if place is None:
        return None
    stored = StoredFeatureTables.read(place)
    tables = (table for part in ("validation", "test") for table in stored.tables(part))
    return why_above(Localizer.load(place).stage_one, tables, stored.paths, named_above(results))
