"""Commands over many projects: ``train``, ``rank``, ``data``. Heavy imports wait inside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
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
    ZoneOption,
)
from tosloc.cli.options import CheckpointOption, ClusterOption, JsonOption, OutOption, Split
from tosloc.cli.printing import Table, print_json, print_notes, print_table

if TYPE_CHECKING:
    from tosloc.lab.many_projects import Outcome
    from tosloc.lab.projects import ProjectList

SOME_FAILED: Final = 1
_NAMED: Final = 10
PROJECTS: Final = typer.Option("--projects", help="TOML file of projects, or a folder of JSON lines (with --repos).")
ReposOption = Annotated[
    Path | None,
    typer.Option("--repos", help="Folder of repositories, for a folder of JSON lines: OWNER+NAME and the like."),
]


def train(
    out: OutOption,
    projects: Annotated[Path, PROJECTS],
    config: ConfigArgument = None,
    repos: ReposOption = None,
    carry: CarryOption = True,
    keep_features: KeepFeaturesOption = False,
    stage_two: StageTwoOption = True,
    cluster: ClusterOption = None,
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
        carry=carry,
        keep_features=keep_features,
        stage_two=stage_two,
    )
    found, outcomes = for_each_project(projects, repos, work, settings.run.jobs, cluster, out)
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
    cluster: ClusterOption = None,
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
    )
    jobs = -1 if settings is None else settings.run.jobs
    found, outcomes = for_each_project(projects, repos, work, jobs, cluster, out)
    taught = sorted({outcome.project for outcome in outcomes} & shipped_projects()) if checkpoint is None else []
    if taught:
        says = "taught the shipped weights, so these numbers flatter them (tosloc lab pool leaves projects out)"
        print_notes([named(taught, says, says)])
    show_outcomes(found, outcomes, f"now run: tosloc lab evaluate {out}")


def data(
    projects: Annotated[Path, PROJECTS],
    repos: ReposOption = None,
    zone: ZoneOption = "UTC",
    as_json: JsonOption = False,
) -> None:
    """Count what the labelled reports of each project hold."""
    from tosloc.config import Config
    from tosloc.lab.many_projects import describe_project

    asked = Config.of({"data": {"zone": zone}}, "--zone")
    work = partial(describe_project, config=asked)
    found, outcomes = for_each_project(projects, repos, work, -1, None)
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
        with on_cluster(cluster, {project.repo: "" for project in found.projects}), shown() as callback:
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
