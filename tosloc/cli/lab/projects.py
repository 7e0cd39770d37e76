"""Commands over many projects: ``train``, ``rank``, ``data``, ``evaluate``, ``compare``. Heavy imports wait inside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tosloc.cli.commands import (
    CarryOption,
    ConfigArgument,
    ConfigOption,
    KeepFeaturesOption,
    StageTwoOption,
    SuffixOption,
    ZoneOption,
    suffix_setting,
)
from tosloc.cli.judging import (
    CommonOption,
    LevelOption,
    MarkdownOption,
    MeasuresOption,
    NoTestsOption,
    PerReportOption,
    SplitOption,
    check_distinct,
    check_level,
    function_runs,
    parsed_measures,
    scored_runs,
    write_reports,
)
from tosloc.cli.options import CheckpointOption, ClusterOption, JsonOption, Level, OutOption, ProgressOption, Split
from tosloc.cli.printing import Table, form_of, print_json, print_notes, print_table, show
from tosloc.errors import RunError

if TYPE_CHECKING:
    from tosloc.evaluate.compare import Comparison, Difference
    from tosloc.evaluate.evaluate import Evaluation
    from tosloc.lab.many_projects import Outcome
    from tosloc.lab.project_means import Gain, ProjectMeans
    from tosloc.lab.projects import ProjectList

SOME_FAILED: Final = 1
_NAMED: Final = 10
PROJECTS: Final = typer.Option("--projects", help="TOML file of projects, or a folder of JSON lines (with --repos).")
ReposOption = Annotated[
    Path | None,
    typer.Option("--repos", help="Folder of repositories, for a folder of JSON lines: OWNER+NAME and the like."),
]
StoresOption = Annotated[
    Path | None,
    typer.Option("--stores", help="Folder of files of facts, one a project.", show_default="in the user's cache"),
]
RunsOfProjects = Annotated[
    list[Path],
    typer.Argument(metavar="RUNS...", help="Folder with a run folder for each project; or such run folders, by name."),
]


class Rows(StrEnum):
    """What has a row of its own."""

    project = "project"
    language = "language"
    fixed = "fixed"


def train(
    out: OutOption,
    projects: Annotated[Path, PROJECTS],
    config: ConfigArgument = None,
    repos: ReposOption = None,
    stores: StoresOption = None,
    carry: CarryOption = True,
    keep_features: KeepFeaturesOption = False,
    suffix: SuffixOption = None,
    stage_two: StageTwoOption = True,
    cluster: ClusterOption = None,
    progress: ProgressOption = None,
) -> None:
    """Learn from the fixed reports of each project, as tosloc train does.

    A folder for each in OUT; what is finished is not done again.
    """
    from tosloc.config import Config, load_config
    from tosloc.lab.many_projects import train_project

    settings = Config() if config is None else load_config(config)
    work = partial(
        train_project,
        out=out,
        config=settings,
        suffixes=suffix_setting(suffix).get("suffixes", ()),
        stores=stores,
        carry=carry,
        keep_features=keep_features,
        stage_two=stage_two,
    )
    found, outcomes = for_each_project(projects, repos, work, settings.run.jobs, cluster, progress, out)
    show_outcomes(found, outcomes, f"now run: tosloc lab evaluate {out}")


def rank(
    out: OutOption,
    projects: Annotated[Path, PROJECTS],
    repos: ReposOption = None,
    checkpoint: CheckpointOption = None,
    split: Annotated[
        Split | None,
        typer.Option("--split", help="Part of the reports to rank, by the time of their fix.", show_default="all"),
    ] = None,
    functions: Annotated[bool, typer.Option("--functions", help="Rank functions, too.")] = False,
    config: ConfigOption = None,
    stores: StoresOption = None,
    cluster: ClusterOption = None,
    progress: ProgressOption = None,
) -> None:
    """Rank the labelled reports of each project without training, as tosloc rank does.

    A folder for each in OUT; what is finished is not done again.
    """
    from tosloc.checkpoint import shipped_projects
    from tosloc.config import load_config
    from tosloc.lab.many_projects import rank_project

    settings = None if config is None else load_config(config)
    work = partial(
        rank_project,
        out=out,
        checkpoint=checkpoint,
        split="" if split is None else split.value,
        config=settings,
        functions=functions,
        stores=stores,
    )
    jobs = -1 if settings is None else settings.run.jobs
    found, outcomes = for_each_project(projects, repos, work, jobs, cluster, progress, out)
    taught = sorted({outcome.project for outcome in outcomes} & shipped_projects()) if checkpoint is None else []
    if taught:
        says = "taught the shipped weights, so these numbers flatter them (tosloc lab pool leaves projects out)"
        print_notes([named(taught, says, says)])
    show_outcomes(found, outcomes, f"now run: tosloc lab evaluate {out}")


def data(
    projects: Annotated[Path, PROJECTS],
    repos: ReposOption = None,
    zone: ZoneOption = "UTC",
    suffix: SuffixOption = None,
    as_json: JsonOption = False,
    progress: ProgressOption = None,
) -> None:
    """Count what the labelled reports of each project hold."""
    from tosloc.config import Config
    from tosloc.lab.many_projects import describe_project

    asked = Config.of({"data": {"zone": zone, **suffix_setting(suffix)}}, "the options")
    work = partial(describe_project, config=asked, suffixes=suffix_setting(suffix).get("suffixes", ()))
    found, outcomes = for_each_project(projects, repos, work, -1, None, progress)
    rows = [outcome.value for outcome in outcomes if outcome.state != "failed"]
    if as_json:
        print_json(rows)
    elif rows:
        counts = [name for name, value in rows[0].items() if isinstance(value, int)]
        sums = {"project": f"all {len(rows)}"} | {name: sum(row[name] for row in rows) for name in counts}
        cells = [
            [f"{row[name]:,}" if name in row and name != "project" else row.get(name, "") for name in rows[0]]
            for row in (*rows, sums)
        ]
        print_table(Table(list(rows[0]), cells))
    show_outcomes(found, outcomes)


def for_each_project(
    projects: Path,
    repos: Path | None,
    work: Callable[[Any], tuple[bool, Any]],
    jobs: int,
    cluster: str | None,
    progress: bool | None,
    out: Path | None = None,
) -> tuple[ProjectList, list[Outcome]]:
    """The projects of a list, and what became of the work for each."""
    from tosloc.cli.progress import shown
    from tosloc.cluster import on_cluster
    from tosloc.experiment import results_folder
    from tosloc.lab.many_projects import for_each
    from tosloc.lab.projects import read_projects

    with nullcontext() if out is None else results_folder(out):
        found = read_projects(projects, repos)
        with on_cluster(cluster, {project.repo: "" for project in found.projects}), shown(progress) as callback:
            return found, for_each(found.projects, work, jobs=jobs, progress=callback)


def named(projects: Sequence[str], one: str, many: str) -> str:
    """How many projects, what is said of one or of many, and the first by name.

    >>> named(["a"], "has none", "have none"), named(["a", "b"], "has none", "have none")
    ('1 project has none: a', '2 projects have none: a, b')
    """
    shown = ", ".join(projects[:_NAMED]) + (" ..." if len(projects) > _NAMED else "")
    return f"1 project {one}: {shown}" if len(projects) == 1 else f"{len(projects)} projects {many}: {shown}"


def show_outcomes(found: ProjectList, outcomes: Sequence[Outcome], then: str = "") -> None:
    """Say which projects were made, kept, left out and failed. Exits with 1 if one failed."""
    counts = Counter(outcome.state for outcome in outcomes)
    said = f"{counts['made']} of {len(outcomes)} projects made"
    if counts["kept"]:
        said += f", {counts['kept']} {'was' if counts['kept'] == 1 else 'were'} finished before"
    notes = [said]
    if found.missing:
        why = "no repository and"
        notes.append(named(found.missing, f"has {why} is left out", f"have {why} are left out"))
    notes += [f"{outcome.project} failed: {outcome.why}" for outcome in outcomes if outcome.state == "failed"]
    if then and counts["failed"] < len(outcomes):
        notes.append(then)
    print_notes(notes)
    if counts["failed"]:
        raise typer.Exit(SOME_FAILED)


def evaluate(
    runs: RunsOfProjects,
    split: SplitOption = Split.test,
    level: LevelOption = Level.file,
    measures: MeasuresOption = None,
    no_tests: NoTestsOption = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
    per_report: PerReportOption = None,
) -> None:
    """Print how good the runs of many projects are.

    A row for each project, and their macro mean, with an interval over projects, and their micro mean.
    """
    from tosloc.evaluate.function_level import BM25_NAME, FUNCTION_MEASURES, unjudged_note
    from tosloc.evaluate.tables import taught_note
    from tosloc.lab.project_means import ProjectMeans

    form, asked = form_of(as_json, as_markdown), parsed_measures(measures)
    paths, lacking = _paths(runs, split.value)
    if level is Level.function:
        check_level(no_tests=no_tests)
        pairs = function_runs(list(paths.values()), split.value)
        ours, bm25 = (dict(zip(paths, side, strict=True)) for side in (pairs[::2], pairs[1::2]))
        sides = {"functions": ours, BM25_NAME: bm25}
        asked, notes = list(dict.fromkeys((*FUNCTION_MEASURES, *asked))), unjudged_note(pairs[::2])
    else:
        scored = scored_runs(list(paths.values()), split.value, None, no_tests)
        sides = {"": dict(zip(paths, scored, strict=True))}
        notes = [note for name, one in sides[""].items() if (note := taught_note(one, name)) is not None]
    evaluations = {side: {name: one.evaluation() for name, one in runs.items()} for side, runs in sides.items()}
    judged = {side: {name: one for name, one in found.items() if one.per_report} for side, found in evaluations.items()}
    means = {side: ProjectMeans.of(found, asked) for side, found in judged.items()}
    if per_report is not None:
        first = next(iter(judged.values()))
        write_reports(per_report, ((name, one.per_report) for name, one in first.items()), asked)
    values = {side: one.values() for side, one in means.items()}
    show(form, values.get("", values), [means_table(one, side) for side, one in means.items()])
    print_notes([*notes, *([named(lacking, "has no finished run", "have no finished run")] if lacking else [])])


def _paths(runs: Sequence[Path], split: str) -> tuple[dict[str, Path], list[str]]:
    """Project -> its run: those of one folder, and the projects without any; or runs that are named."""
    from tosloc.lab.project_means import runs_of_projects

    if len(runs) == 1:
        return runs_of_projects(runs[0], split)
    check_distinct(runs)
    names = Counter(path.name for path in runs)
    return {path.name if names[path.name] == 1 else str(path): path for path in runs}, []


def means_table(means: ProjectMeans, title: str = "") -> Table:
    """The means of each project, and of all of them: each counting the same, and each report."""
    from tosloc.cli.tables import count_cell, share, with_interval

    rows = [
        [name, count_cell(reports), *map(share, row)]
        for name, reports, row in zip(means.projects, means.reports, means.means.tolist(), strict=True)
    ]
    macro = [with_interval(mean, one) for mean, one in zip(means.macro.tolist(), means.intervals, strict=True)]
    rows.append([f"macro mean of {len(means.projects)} projects", "", *macro])
    rows.append(["micro mean of all reports", count_cell(sum(means.reports)), *map(share, means.micro.tolist())])
    return Table(["project", "reports", *means.names], rows, title)


def compare(
    runs: RunsOfProjects,
    split: SplitOption = Split.test,
    by: Annotated[Rows, typer.Option("--by", help="What has a row of its own.")] = Rows.project,
    measures: MeasuresOption = None,
    no_tests: NoTestsOption = False,
    common: CommonOption = False,
    only_reachable: Annotated[
        bool, typer.Option("--reachable", help="Only the reports of which some fixed file is searched.")
    ] = False,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Compare two rankings of many projects.

    RUNS are two folders, or an earlier and a later run of each project, in pairs. A row for each project, for each
    language of fixed files, or for each number of them; below, all reports together with intervals and tests, and means
    over projects that count alike, projects resampled; of pairs also the mean gain, reports resampled.
    """
    from tosloc.cli.tables import differences_table
    from tosloc.errors import counted
    from tosloc.evaluate.compare import COMPARED
    from tosloc.evaluate.compare import compare as compare_pair
    from tosloc.lab.project_means import (
        by_fixed_files,
        by_language,
        comparison_values,
        gains,
        over_projects,
        reachable,
        together,
    )

    form, asked = form_of(as_json, as_markdown), tuple(dict.fromkeys((*COMPARED, *parsed_measures(measures))))
    names, pairs, apart = _pairs(runs, split.value)
    projects: dict[str, Comparison] = {}
    for name, pair in pairs.items():
        sides: list[tuple[str, Evaluation]] = [
            (called, one.evaluation())
            for called, path in zip(names, pair, strict=True)
            for one in scored_runs([path], split.value, None, no_tests)
        ]
        projects[name] = compare_pair(sides[0], sides[1], common, asked)
    if only_reachable:
        projects = reachable(projects)
    whole = together(projects)
    rows = {Rows.project: lambda of: of, Rows.language: by_language, Rows.fixed: by_fixed_files}[by](projects)
    found = {} if _are_folders(runs, split.value) else gains(projects)
    number, means = counted(len(projects), "project"), over_projects(projects)
    tables = [
        _rows_table(by.value, rows, whole),
        differences_table(whole.differences, whole.a, whole.b, counted(len(whole.moves), "report")),
        differences_table(means, whole.a, whole.b, number),
        *([_gains_table(found, number)] if found else []),
    ]
    show(form, comparison_values(rows, whole, len(projects), means, found), tables)
    if apart:
        left = "1 project is left out" if len(apart) == 1 else f"{len(apart)} projects are left out"
        print_notes([f"{left}, which only one of the folders holds, first {apart[0]}"])


def _pairs(runs: Sequence[Path], split: str) -> tuple[tuple[str, str], dict[str, tuple[Path, Path]], list[str]]:
    """What the two sides are called, each project's two runs, and the projects that only one side has."""
    from tosloc.lab.project_means import runs_of_projects

    if len(runs) % 2:
        raise RunError(f"{len(runs)} folders are not pairs; name two folders of runs, or two runs of each project")
    if not _are_folders(runs, split):
        of_each = zip(runs[::2], runs[1::2], strict=True)
        return ("earlier", "later"), {str(later): (earlier, later) for earlier, later in of_each}, []
    a, b = (runs_of_projects(folder, split)[0] for folder in runs)
    both = {name: (a[name], b[name]) for name in a if name in b}
    if not both:
        raise RunError(f"{runs[0]} and {runs[1]}: no project has a finished run of the split {split!r} in both")
    named = (runs[0].name, runs[1].name)
    return named if named[0] != named[1] else (str(runs[0]), str(runs[1])), both, sorted(a.keys() ^ b.keys())


def _are_folders(runs: Sequence[Path], split: str) -> bool:
    """Whether these are two folders of runs of projects; else they are runs."""
    from tosloc.lab.project_means import runs_of_projects

    with suppress(RunError):
        return len(runs) == 2 and bool(runs_of_projects(runs[0], split)[0])
    return False


def _rows_table(by: str, rows: Mapping[str, Comparison], whole: Comparison) -> Table:
    from tosloc.cli.tables import UNKNOWN, count_cell, share, within
    from tosloc.evaluate.compare import COMPARED

    def gain(one: Difference) -> str:
        interval = one.paired.interval
        return f"{share(one.paired.mean, sign=True)} {UNKNOWN if interval is None else within(interval, sign=True)}"

    heads = [by, "reports", *(repr(one.measure) for one in whole.differences)]
    heads += [f"{measure!r}: difference [95 %]" for measure in COMPARED]
    cells = [
        [
            name,
            count_cell(len(one.moves)),
            *(f"{share(of.b)} / {share(of.a)}" for of in one.differences),
            *(gain(of) for of in one.differences if of.measure in COMPARED),
        ]
        for name, one in (*rows.items(), ("all", whole))
    ]
    return Table(heads, cells, f" {whole.b} / {whole.a}")


def _gains_table(gains: Mapping[str, Gain], number: str) -> Table:
    rows = [
        [name, f"{one.mean:+.4f}", f"[{one.interval.low:+.4f}, {one.interval.high:+.4f}]", f"{one.p:.4f}"]
        for name, one in gains.items()
    ]
    return Table([f"mean of {number}", "gain", "95 % interval", "p"], rows, " reports resampled within each project")
