"""The command ``compare``. Heavy imports wait inside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.judging import (
    MarkdownOption,
    MeasuresOption,
    NoTestsOption,
    QrelsOption,
    RunsArgument,
    SplitOption,
    check_one_form,
    parsed_measures,
    scored_run,
    scored_runs,
)
from tosloc.cli.options import JsonOption, Split
from tosloc.errors import RunError, counted

if TYPE_CHECKING:
    from tosloc.evaluate.compare import Comparison
    from tosloc.evaluate.measures import Measure
    from tosloc.evaluate.project_means import ProjectRuns
    from tosloc.evaluate.run_paths import ScoredRun

_DIFFERS = 1


def compare(
    runs: RunsArgument,
    split: SplitOption = Split.test,
    qrels: QrelsOption = None,
    measures: MeasuresOption = None,
    no_tests: NoTestsOption = False,
    common: Annotated[bool, typer.Option("--common", help="Compare only the reports that both runs judge.")] = False,
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="Compare each with each, not only with the first.")
    ] = False,
    top: Annotated[int, typer.Option("--top", min=0, help="Reports shown that rose, and that fell, most.")] = 10,
    same: Annotated[
        bool, typer.Option("--same", help="Say only whether every ranking is the same; if not, exit with 1.")
    ] = False,
    mean: Annotated[
        bool,
        typer.Option("--mean", help="Mean gain over projects: name an earlier and a later run of each, in pairs."),
    ] = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Compare runs with the first one.

    Paired t-test and paired bootstrap on AP and RR of the same reports; differences are later run minus first. Measures
    that are yes or no for a report (Acc@k, Hit@k) have McNemar's exact test beside.
    Of two folders of many projects: of the means of the same projects.
    """
    from tosloc.cli.printing import print_json, print_notes
    from tosloc.cli.tables import markdown_comparison, print_comparison
    from tosloc.evaluate.compare import COMPARED, compare_all, comparison_values

    asked = parsed_measures(measures)
    check_one_form(as_json, as_markdown)
    if len(runs) < 2:
        raise RunError(f"{runs[0]}: nothing to compare it with; name two runs or more")
    if mean and (same or all_pairs):
        raise RunError("--mean: it compares pairs of runs; leave out --same and --all-pairs")
    for option, given in (("--same", same), ("--mean", mean)):
        if given and (asked or (no_tests and same)):
            raise RunError(f"{option}: leave out {'--measures' if asked else '--no-tests'}")
    if not mean and not same and (many := _many_of_each(runs, split.value)) is not None:
        for option, value in (("--qrels", qrels is not None), ("--all-pairs", all_pairs)):
            if value:
                raise RunError(f"{option}: is not for many projects; leave it out")
        _compare_projects(runs, many, asked, no_tests, common, top, as_json, as_markdown)
        return
    if same:
        _check_same(runs, split.value, as_json)
        return
    if mean:
        _print_mean_gain(scored_runs(runs, split.value, qrels, no_tests), common, as_json, as_markdown)
        return
    evaluations = {one.name: one.evaluation() for one in scored_runs(runs, split.value, qrels, no_tests)}
    compared = compare_all(evaluations, common, all_pairs, tuple(dict.fromkeys((*COMPARED, *asked))))
    if as_json:
        print_json({"pairs": [comparison_values(one, top) for one in compared]})
    elif as_markdown:
        print("\n".join(markdown_comparison(one, top) for one in compared), end="")
    else:
        for one in compared:
            print_comparison(one, top)
    print_notes([note for one in compared for note in _notes(one)])


def _many_of_each(paths: Sequence[Path], split: str) -> list[ProjectRuns] | None:
    """The runs of folders of projects; None where the first is of one project."""
    from tosloc.evaluate.project_means import project_runs

    found = [project_runs(path, split) for path in paths]
    if found[0] is None:
        return None
    if len(paths) > 2:
        raise RunError(f"{paths[0]}: a folder of many projects is compared with one other, not with {len(paths) - 1}")
    many = [one for one in found if one is not None]
    if len(many) < len(paths):
        raise RunError(f"{paths[0]} holds many projects, {paths[1]} does not; name two folders of the same projects")
    return many


def _compare_projects(
    paths: Sequence[Path],
    many: Sequence[ProjectRuns],
    measures: Sequence[Measure],
    no_tests: bool,
    common: bool,
    top: int,
    as_json: bool,
    as_markdown: bool,
) -> None:
    """Print how the means of projects in one folder stand against those in another."""
    from tosloc.cli.printing import print_json, print_notes
    from tosloc.cli.tables import print_project_differences
    from tosloc.evaluate.compare import compare as compare_pair
    from tosloc.evaluate.evaluate import Evaluation
    from tosloc.evaluate.project_means import ProjectMeans, compare_projects, project_difference_values

    both = [name for name in many[0].runs if name in many[1].runs]
    alone = len(many[0].runs) + len(many[1].runs) - 2 * len(both)
    if not both or (alone and not common):
        raise RunError(
            f"{paths[0]} and {paths[1]} have {len(both)} projects together and {alone} alone"
            + ("; compare those that both have with --common" if both else "")
        )
    sides: list[dict[str, Evaluation]] = [{}, {}]
    for name in both:
        pair = [scored_run(one.runs[name], one.split, no_tests).evaluation() for one in many]
        # which refuses what is not comparable, and finds the reports that both judge
        moves = compare_pair((f"{paths[0]}/{name}", pair[0]), (f"{paths[1]}/{name}", pair[1]), common, ()).moves
        for side, scores in zip(sides, zip(*((move.a, move.b) for move in moves), strict=True), strict=True):
            side[name] = Evaluation(scores)
    a, b = (ProjectMeans.of(side, measures) for side in sides)
    differences = compare_projects(a, b)
    if as_json:
        print_json(
            {
                "a": str(paths[0]),
                "b": str(paths[1]),
                "projects": len(both),
                "reports": sum(a.reports),
                "measures": {one.measure: project_difference_values(one) for one in differences},
                "of projects": [
                    {"project": name, "reports": reports}
                    | {measure: [x, y] for measure, x, y in zip(a.names, *rows, strict=True)}
                    for name, reports, *rows in zip(both, a.reports, a.means.tolist(), b.means.tolist(), strict=True)
                ],
            }
        )
    else:
        names = [path.name or str(path) for path in paths]
        if names[0] == names[1]:
            names = [str(path) for path in paths]
        print_project_differences(names, a, b, differences, top, as_markdown)
    if alone:
        print_notes([f"left out: {counted(alone, 'project')} that only one of them has"])


def _print_mean_gain(scored: Sequence[ScoredRun], common: bool, as_json: bool, as_markdown: bool) -> None:
    from tosloc.cli.printing import print_json
    from tosloc.cli.tables import print_gains
    from tosloc.evaluate.compare import compare as compare_pair
    from tosloc.evaluate.compare import gain_values, mean_gains

    if len(scored) % 2:
        raise RunError(f"--mean: {len(scored)} runs are not pairs; name an earlier and a later run of each project")
    named = [(one.name, one.evaluation()) for one in scored]
    pairs = [compare_pair(a, b, common, ()) for a, b in zip(named[::2], named[1::2], strict=True)]
    gains = mean_gains(pairs)
    if as_json:
        print_json({"projects": len(pairs), "gains": gain_values(gains)})
    else:
        print_gains(gains, len(pairs), as_markdown)


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
    from tosloc.cli.printing import print_json
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
