"""The command ``evaluate``, and what judging and comparing runs share. Heavy imports wait inside."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.options import JsonOption, Level, ProjectsOption, ReposOption, Split, check_drawing
from tosloc.errors import CheckpointError, RunError

if TYPE_CHECKING:
    from tosloc.evaluate.evaluate import Evaluation, ReportScores
    from tosloc.evaluate.measures import Measure
    from tosloc.evaluate.project_means import ProjectRuns
    from tosloc.evaluate.run_paths import ScoredRun
    from tosloc.evaluate.tables import Results
    from tosloc.plots.page import WhyAbove

RunsArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN",
        help="Folder that train or rank wrote, of one project or of many, a split's folder, or a run file.",
    ),
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


def evaluate(
    runs: RunsArgument,
    split: SplitOption = Split.test,
    level: Annotated[
        Level, typer.Option("--level", help="Files, or the functions that rank --functions ranked, beside BM25.")
    ] = Level.file,
    qrels: QrelsOption = None,
    measures: MeasuresOption = None,
    no_tests: NoTestsOption = False,
    strata: Annotated[bool, typer.Option(help="Print results by kind of report.")] = True,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
    per_report: Annotated[
        Path | None, typer.Option("--per-report", help="File to write: a JSON line for every report.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="File to write: one page with figures and every report.")
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option("--figures", help="Folder to write figures to, as SVG and PNG: all runs in each of them."),
    ] = None,
    mean: Annotated[
        bool, typer.Option("--mean", help="Means over projects: each run is one project's.", show_default="of many")
    ] = False,
    projects: ProjectsOption = None,
    repos: ReposOption = None,
) -> None:
    """Print how good runs are.

    Means over all judged reports, with 95 % bootstrap intervals; below them, kinds of reports. Of a folder of many
    projects: a row for each, and their macro mean, with an interval over projects.
    """
    from tosloc.cli.printing import print_json, print_notes
    from tosloc.cli.tables import markdown_results, markdown_strata, print_results, print_strata
    from tosloc.evaluate.tables import results_of, results_values

    check_one_form(as_json, as_markdown)
    if html is not None and len(runs) > 2:
        raise RunError(f"--html: a page tells of one run, or of two beside each other, not of {len(runs)}; name them")
    check_drawing(html, figures)
    asked = parsed_measures(measures)
    many = _many_runs(runs, split.value, mean, projects, repos)
    if many is not None:
        for option, given in (("--qrels", qrels), ("--html", html), ("--figures", figures)):
            if given is not None:
                raise RunError(f"{option}: is not for many projects; name the folder of one")
        if level is Level.function and no_tests:
            raise RunError("--no-tests: is not for --level function; leave it out")
        if level is Level.function:
            _evaluate_functions(
                list(many.runs.values()), split.value, asked, as_json, as_markdown, per_report, list(many.runs)
            )
        else:
            _evaluate_projects(many, asked, no_tests, as_json, as_markdown, per_report)
        _note_lacking(many)
        return
    if level is Level.function:
        unfit = (("--qrels", qrels), ("--no-tests", no_tests), ("--html", html), ("--figures", figures))
        for option, value in unfit:
            if value:
                raise RunError(f"{option}: is not for --level function; leave it out")
        _evaluate_functions(runs, split.value, asked, as_json, as_markdown, per_report)
        return
    results = [results_of(run, asked, strata) for run in scored_runs(runs, split.value, qrels, no_tests)]
    if per_report is not None:
        _write_reports(per_report, results, asked)
    if html is not None:
        _write_page(html, runs[0], *results)
    if figures is not None:
        _write_figures(figures, results)
    if as_json:
        values = [results_values(one, name=len(results) > 1) for one in results]
        print_json(values if len(values) > 1 else values[0])
    elif as_markdown:
        tables = [markdown_results(results, [_chosen_on_validation(path) for path in runs])]
        print("\n".join([*tables, *(markdown_strata(one) for one in results if one.strata)]), end="")
    else:
        print_results(results)
        for one in results:
            if one.strata:
                print_strata(one)
    print_notes([note for one in results for note in one.notes])


def _many_runs(
    runs: Sequence[Path], split: str, mean: bool, projects: Path | None, repos: Path | None
) -> ProjectRuns | None:
    """The runs of a folder of projects, or where their mean is asked for the runs that are named; else None."""
    from tosloc.evaluate.project_means import ProjectRuns, project_runs

    only = None
    if projects is not None:
        from tosloc.lab.projects import read_projects

        only = [project.name for project in read_projects(projects, repos).projects]
    found = project_runs(runs[0], split, only) if len(runs) == 1 else None
    if only is not None:
        if found is None:
            raise RunError(f"{runs[0]}: --projects: no folder of results of these projects; name the one folder of all")
        absent = [name for name in only if name not in found.runs]
        return ProjectRuns({name: found.runs[name] for name in only if name in found.runs}, tuple(absent), split)
    if found is not None or not mean:
        return found
    _check_distinct(runs)
    named = Counter(path.name for path in runs)
    return ProjectRuns({path.name if named[path.name] == 1 else str(path): path for path in runs}, (), split)


def _evaluate_projects(
    many: ProjectRuns,
    measures: Sequence[Measure],
    no_tests: bool,
    as_json: bool,
    as_markdown: bool,
    per_report: Path | None,
) -> None:
    """Print the means of each project and of all."""
    from tosloc.cli.printing import print_json, print_notes
    from tosloc.cli.tables import print_project_means
    from tosloc.evaluate.project_means import ProjectMeans
    from tosloc.evaluate.tables import taught_note

    evaluations: dict[str, Evaluation] = {}
    notes: list[str | None] = []
    for name, path in many.runs.items():
        scored = scored_run(path, many.split, no_tests)
        evaluations[name] = scored.evaluation()
        notes.append(taught_note(scored, name))
    if per_report is not None:
        _write_lines(per_report, ((name, one.per_report) for name, one in evaluations.items()), measures)
    means = ProjectMeans.of(evaluations, measures)
    if as_json:
        print_json(means.values())
    else:
        print_project_means(means, as_markdown)
    print_notes(note for note in notes if note is not None)


def scored_run(path: Path, split: str, no_tests: bool) -> ScoredRun:
    """One run, with or without test files."""
    from tosloc.evaluate.run_paths import read_scored

    scored = read_scored(path, split)
    return without_tests(scored) if no_tests else scored


def _note_lacking(many: ProjectRuns) -> None:
    from tosloc.cli.many import named
    from tosloc.cli.printing import print_notes

    if many.lacking:
        print_notes([named(many.lacking, "has no finished run", "have no finished run")])


def _evaluate_functions(
    paths: Sequence[Path],
    split: str,
    measures: Sequence[Measure],
    as_json: bool,
    as_markdown: bool,
    per_report: Path | None,
    projects: Sequence[str] = (),
) -> None:
    """Print the function level of runs, each beside BM25 over functions, and of all of them together.

    Where the runs are of ``projects``, each is called so, and their macro means stand below.
    """
    from tosloc.cli.printing import print_json, print_notes
    from tosloc.cli.tables import function_results_table, markdown_function_results
    from tosloc.evaluate.function_level import BM25_NAME, function_results, macro_results, read_function_runs

    _check_distinct(paths)
    pairs = [read_function_runs(path, split) for path in paths]
    if projects:
        pairs = [(replace(ours, name=name), bm25) for name, (ours, bm25) in zip(projects, pairs, strict=True)]
        pairs = [pair for pair in pairs if len(pair[0].qrels)] or pairs
    results = [
        function_results(run.name if run is ours else f"{ours.name}: {run.name}", [run], measures)
        for ours, bm25 in pairs
        for run in (ours, bm25)
    ]
    if len(pairs) > 1:
        results.append(function_results("all runs", [ours for ours, _ in pairs], measures))
        results.append(function_results(f"all runs: {BM25_NAME}", [bm25 for _, bm25 in pairs], measures))
    if projects:
        macro = f"macro mean of {len(pairs)} projects"
        results.append(macro_results(macro, results[: 2 * len(pairs) : 2]))
        results.append(macro_results(f"{macro}: {BM25_NAME}", results[1 : 2 * len(pairs) : 2]))
    if per_report is not None:
        _write_lines(per_report, ((one.name, one.evaluation.per_report) for one in results[: 2 * len(pairs)]), measures)
    if as_json:
        print_json([one.as_dict() for one in results])
    elif as_markdown:
        print(markdown_function_results(results), end="")
    else:
        function_results_table(results)
    unjudged = sum(one.unjudged for one in results[: 2 * len(pairs) : 2])
    if unjudged:
        reports = "1 report is" if unjudged == 1 else f"{unjudged} reports are"
        print_notes([f"{reports} not judged: their version has none of the functions that the fix changed"])


def print_split(folder: Path, split: str) -> None:
    """Print the headline of one split of a folder, named by the split."""
    from tosloc.cli.tables import print_results
    from tosloc.evaluate.run_paths import read_scored
    from tosloc.evaluate.tables import results_of

    print_results([results_of(replace(read_scored(folder, split), name=split), strata=False)])


def scored_runs(paths: Sequence[Path], split: str, qrels: Path | None, no_tests: bool = False) -> list[ScoredRun]:
    """The runs, each under a name of its own: where two have one name, the path that was asked for."""
    from tosloc.evaluate.run_paths import read_scored

    _check_distinct(paths)
    runs = [read_scored(path, split, qrels) for path in paths]
    if no_tests:
        runs = [without_tests(one) for one in runs]
    named = Counter(one.name for one in runs)
    return [replace(one, name=str(path)) if named[one.name] > 1 else one for one, path in zip(runs, paths, strict=True)]


def without_tests(scored: ScoredRun) -> ScoredRun:
    """The run in the space of all files but tests. Raises RunError where only some ranks are known."""
    from tosloc.evaluate.restrict import only_some_files
    from tosloc.reports.test_paths import which_are_tests

    return only_some_files(scored, lambda paths: ~which_are_tests(paths), "all source files but tests")


def _check_distinct(paths: Sequence[Path]) -> None:
    for path, times in Counter(paths).items():
        if times > 1:
            raise RunError(f"{path}: named twice")


def check_one_form(as_json: bool, as_markdown: bool) -> None:
    if as_json and as_markdown:
        raise RunError("--json and --markdown: choose one of them")


def parsed_measures(texts: Sequence[str] | None) -> list[Measure]:
    """Measures of ``--measures A,B --measures C``, each once."""
    from tosloc.evaluate.measures import Measure

    names = [name for text in texts or () for name in text.split(",") if name.strip()]
    return list(dict.fromkeys(Measure.parse(name) for name in names))


def _write_reports(path: Path, results: Sequence[Results], measures: Sequence[Measure]) -> None:
    named = [(one.name if len(results) > 1 else "", one.evaluation.per_report) for one in results]
    _write_lines(path, named, measures)


def _write_lines(
    path: Path, results: Iterable[tuple[str, Sequence[ReportScores]]], measures: Sequence[Measure]
) -> None:
    """Write a line for each report, with the name of its run if it has one."""
    from tosloc.evaluate.tables import report_values
    from tosloc.io import written_whole

    if path.is_dir():
        raise RunError(f"{path} is a folder; name a file")
    with written_whole(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for name, reports in results:
            run = {"run": name} if name else {}
            for report in reports:
                file.write(json.dumps({**run, **report_values(report, measures)}) + "\n")


def _write_figures(folder: Path, results: Sequence[Results]) -> None:
    """Draw all runs together: precision-recall, coverage, and ranks of first hits."""
    from tosloc.plots.drawing import save_figure
    from tosloc.plots.figures import coverage_figure, first_hit_figure, precision_recall_figure

    if folder.is_file():
        raise RunError(f"{folder} is a file; name a folder for the figures")
    evaluations = {one.name: one.evaluation for one in results}
    for name, draw in (
        ("precision-recall", precision_recall_figure),
        ("coverage", coverage_figure),
        ("first-hit", first_hit_figure),
    ):
        save_figure(draw(evaluations), folder / name)


def _write_page(path: Path, run: Path, results: Results, other: Results | None = None) -> None:
    from tosloc.io import write_text
    from tosloc.plots.page import page

    if path.is_dir():
        raise RunError(f"{path} is a folder; name a file")
    write_text(path, page(results, other, _why_above(run, results)))


def _why_above(run: Path, results: Results) -> WhyAbove | None:
    """What set files above the fixed ones, where the folder of the run, or one around it, keeps its features."""
    from tosloc.localizer import Localizer
    from tosloc.plots.page import WhyAbove, named_above
    from tosloc.rank.error_analysis import meaning, telling, why_above
    from tosloc.rank.feature_tables import StoredFeatureTables, keeps_tables

    place = next((one for one in (run, *run.absolute().parents[:2]) if keeps_tables(one)), None)
    if place is None:
        return None
    stored = StoredFeatureTables.read(place)
    paths = stored.history()[1]
    tables = (table for part in ("validation", "test") for table in stored.tables(part, len(paths)))
    parts = why_above(Localizer.load(place).stage_one, tables, paths, named_above(results))
    told = {place: telling(one) for place, one in parts.items()}
    return WhyAbove(told, {name: meaning(name) for name in sorted({name for one in told.values() for name, _ in one})})


def _chosen_on_validation(folder: Path) -> str:
    """What validation chose for a training folder; empty for a ranking with a finished checkpoint."""
    path = folder / "checkpoint" / "weights.json"
    if not path.is_file():
        return ""
    try:
        chosen = json.loads(path.read_text(encoding="utf-8")).get("validation")
        return str(chosen["taken"]) if chosen else ""
    except (AttributeError, KeyError, TypeError, ValueError):
        raise CheckpointError(f"{path}: damaged: it does not say what validation chose") from None
