"""The commands of experiments: ``index``, ``train``, ``rank`` and ``data``. Heavy imports wait inside."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from tosloc.cli.judging import print_split
from tosloc.cli.many import not_with_projects, not_without
from tosloc.cli.options import (
    AroundRepositoryOption,
    ClusterOption,
    CommitOption,
    JsonOption,
    NamedReportsOption,
    OutOption,
    ProgressOption,
    ProjectsOption,
    ReposOption,
    Split,
    StoreOption,
    StoresOption,
)
from tosloc.errors import MissingExtra, ToslocError

ConfigArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="CONFIG",
        help="TOML file of settings, or the name of one that TosLoc ships, such as tomcat.",
        show_default="the defaults",
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", help="TOML file of settings.", show_default="the checkpoint's, or the defaults"),
]


SuffixOption = Annotated[
    list[str] | None,
    typer.Option(
        "--suffix",
        help="Suffix of source files, such as .py; may be given several times.",
        show_default="the configuration's, or of the languages of the fixed files",
    ),
]

_INDEXED: Final = {
    "added": "contents of files that were analysed now",
    "known": "were analysed before",
    "missing": "are not in the repository, or damaged there",
    "fallback": "of those added: no grammar could parse them; read word by word",
    "large": "of those added: more than 10 MB; known by their paths alone",
}
"""What ``index`` counts."""
_COUNTED: Final = {
    "reports": "with a fix, or a version to search, in the repository",
    "listed": "source files that they list as fixed",
    "existing": "... that the version before the fix has",
    "empty": "reports left without any",
    "no description": "reports without one",
    "opened after fix": "reports dated after the fix",
    "before train ended": "reports opened before the last fix of train",
    "files a version": "source files, on average",
    "unresolved": "reports without such a fix or version, left out",
}
"""What ``data`` counts."""


def train(
    out: OutOption,
    repo: AroundRepositoryOption = None,
    reports: NamedReportsOption = None,
    config: ConfigArgument = None,
    store: StoreOption = None,
    carry: Annotated[
        bool, typer.Option(help="Put the newest version into the checkpoint, to localize without a repository.")
    ] = True,
    keep_features: Annotated[
        bool,
        typer.Option("--keep-features", help="Leave the feature tables, in DIR/.tosloc-work, for --stage-one and lab."),
    ] = False,
    suffix: SuffixOption = None,
    stage_two: Annotated[
        bool, typer.Option("--stage-two/--no-stage-two", help="Learn the second stage too, if one is configured.")
    ] = True,
    stage_one: Annotated[
        Path | None,
        typer.Option(
            "--stage-one",
            metavar="RUN",
            help="Training folder that keeps its features: learn the second stage alone, on top of it.",
            show_default="learn both",
        ),
    ] = None,
    projects: ProjectsOption = None,
    repos: ReposOption = None,
    stores: StoresOption = None,
    cluster: ClusterOption = None,
    progress: ProgressOption = None,
) -> None:
    """Learn from fixed reports.

    Fits on the oldest 80 %, ranks validation and test, and saves the checkpoint and both runs. With --projects a folder
    for each project; what is finished is not done again.
    """
    from tosloc import training
    from tosloc.cli.progress import shown
    from tosloc.cluster import on_cluster
    from tosloc.config import Config, StageTwoSettings, load_config
    from tosloc.evaluate.tables import FEW_REPORTS

    _check_folder(out)
    settings = Config() if config is None else load_config(config)
    if stage_two and stage_one is None:
        try:
            training.configured_reranker(settings)
        except MissingExtra as error:
            stage_two = False
            print(f"tosloc: {error}; without it stage one is learned alone", file=sys.stderr)
    if projects is not None:
        from tosloc.experiment import results_folder
        from tosloc.lab.many_projects import train_project

        not_with_projects(repo=repo, reports=reports, store=store, stage_one=stage_one)
        work = partial(
            train_project,
            out=out,
            config=settings,
            suffixes=_suffixes(suffix).get("suffixes", ()),
            stores=stores,
            carry=carry,
            keep_features=keep_features,
            stage_two=stage_two,
        )
        with results_folder(out):
            _of_many(
                projects,
                repos,
                work,
                settings.run.jobs,
                f"now run: tosloc evaluate {out}",
                progress,
                place=partial(on_cluster, cluster),
            )
        return
    repo, reports = not_without(repo, reports, repos=repos, stores=stores)
    if suffix:
        settings = Config.of(settings.as_dict() | {"data": settings.data.model_dump() | _suffixes(suffix)}, "--suffix")
    if not stage_two:
        settings = settings.model_copy(update={"stage_two": StageTwoSettings()})
    if stage_one is not None and not settings.stage_two.enabled:
        raise ToslocError('--stage-one: no second stage is configured; set [stage_two] reranker = "terms", say')
    if stage_one is not None and suffix:
        raise ToslocError("--suffix: the second stage learns on the files that the run of --stage-one has searched")
    with on_cluster(cluster, {repo: ""}), shown(progress) as callback:
        if stage_one is not None:
            learned = training.train_reranker(settings, stage_one, repo, reports, out, store, callback)
        else:
            learned = training.train(
                settings, repo, reports, out, store, callback, carry=carry, keep_features=keep_features
            )
    judged = learned.provenance_["splits"]["validation"]
    if learned.choice_ is not None and judged and stage_one is None and learned.choice_.sentence:
        few = f"; of few reports ({judged}), so that chance decides, too" if judged < FEW_REPORTS else ""
        print(f"tosloc: {learned.choice_.sentence}{few}", file=sys.stderr)
    if settings.data.suffixes == "auto" and stage_one is None:
        found = " ".join(learned.config.data.named_suffixes)
        print(f"tosloc: the files searched are {found}, as the reports' fixed files are", file=sys.stderr)
    if judged:
        print_split(out, "validation")
    else:
        print("tosloc: no report is left for validation, so nothing was chosen by it", file=sys.stderr)
    print(f"tosloc: for the test reports, run: tosloc evaluate {out} --split test", file=sys.stderr)


def rank(
    out: OutOption,
    repo: AroundRepositoryOption = None,
    reports: NamedReportsOption = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", help="Folder of a trained checkpoint.", show_default="shipped weights"),
    ] = None,
    split: Annotated[
        Split | None,
        typer.Option(
            "--split",
            help="Part of the reports to rank, by the time of their fix; all: every report, in one run.",
            show_default="validation, then test; of many projects: all",
        ),
    ] = None,
    functions: Annotated[
        bool, typer.Option("--functions", help="Rank functions, too, for: tosloc evaluate --level function.")
    ] = False,
    config: ConfigOption = None,
    store: StoreOption = None,
    projects: ProjectsOption = None,
    repos: ReposOption = None,
    stores: StoresOption = None,
    cluster: ClusterOption = None,
    progress: ProgressOption = None,
) -> None:
    """Rank labelled reports without training.

    With --projects a folder for each project; what is finished is not done again.
    """
    from tosloc import experiment
    from tosloc.cli.progress import shown
    from tosloc.cluster import on_cluster
    from tosloc.config import load_config

    _check_folder(out)
    settings = None if config is None else load_config(config)
    if projects is not None:
        from tosloc.lab.many_projects import rank_project

        not_with_projects(repo=repo, reports=reports, store=store)
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
        with experiment.results_folder(out):
            _of_many(
                projects,
                repos,
                work,
                jobs,
                f"now run: tosloc evaluate {out}",
                progress,
                _note_teachers if checkpoint is None else None,
                partial(on_cluster, cluster),
            )
        return
    repo, reports = not_without(repo, reports, repos=repos, stores=stores)
    parts = (Split.validation, Split.test) if split is None else (split,)
    with on_cluster(cluster, {repo: ""}):
        for part in parts:
            with shown(progress) as callback:
                experiment.rank_reports(
                    checkpoint=checkpoint,
                    repo_path=repo,
                    reports_path=reports,
                    out=out,
                    split=part.value,
                    store_path=store,
                    progress=callback,
                    config=settings,
                    functions=functions,
                )
    print(f"tosloc: ranked; now run: tosloc evaluate {out} --split {parts[-1].value}", file=sys.stderr)


def index(
    repo: AroundRepositoryOption = None,
    commit: CommitOption = "HEAD",
    config: ConfigOption = None,
    as_json: JsonOption = False,
    store: StoreOption = None,
    cluster: ClusterOption = None,
    progress: ProgressOption = None,
) -> None:
    """Analyse a version ahead of time."""
    from tosloc import experiment
    from tosloc.cli.printing import print_counts, print_json
    from tosloc.cli.progress import shown
    from tosloc.cluster import on_cluster
    from tosloc.config import load_config
    from tosloc.git import discovery

    settings = None if config is None else load_config(config)
    repo = repo or discovery.around(Path.cwd())
    with on_cluster(cluster, {repo: commit}), shown(progress) as callback:
        built = experiment.index(repo_path=repo, revision=commit, config=settings, store_path=store, progress=callback)
    counts = dataclasses.asdict(built)
    if as_json:
        print_json(counts)
    else:
        print_counts(counts, _INDEXED)


def data(
    repo: AroundRepositoryOption = None,
    reports: NamedReportsOption = None,
    zone: Annotated[str, typer.Option("--zone", help="Time zone of opening times that carry none.")] = "UTC",
    suffix: SuffixOption = None,
    as_json: JsonOption = False,
    ever_fixed: Annotated[
        Path | None,
        typer.Option("--ever-fixed", help="File to write: every path that some report fixed, for tosloc lab restrict."),
    ] = None,
    projects: ProjectsOption = None,
    repos: ReposOption = None,
    progress: ProgressOption = None,
) -> None:
    """Count what labelled reports hold. With --projects a row for each project."""
    from tosloc.cli.printing import print_json, print_rows
    from tosloc.cli.progress import shown
    from tosloc.config import Config
    from tosloc.git.repository import Repository
    from tosloc.io import write_text
    from tosloc.reports.labelled import describe, load_dataset, settled

    asked = Config.of({"data": {"zone": zone, **_suffixes(suffix)}}, "the options")
    if projects is not None:
        from tosloc.lab.many_projects import describe_project

        not_with_projects(repo=repo, reports=reports, ever_fixed=ever_fixed)
        work = partial(describe_project, config=asked, suffixes=_suffixes(suffix).get("suffixes", ()))
        _of_many(projects, repos, work, -1, "", progress, partial(_print_data, as_json=as_json))
        return
    repo, reports = not_without(repo, reports, repos=repos)
    with Repository(repo) as repository, shown(progress) as callback:
        settings = settled(asked, reports).data
        dataset = load_dataset(
            repository, reports, zone=zone, suffixes=frozenset(settings.named_suffixes), progress=callback
        )
    if ever_fixed is not None:
        paths = sorted({path for case in dataset.cases for path in case.fixed})
        write_text(ever_fixed, "".join(f"{path}\n" for path in paths))
    rows = describe(dataset)
    if as_json:
        print_json(rows)
    else:
        print_rows(rows, _COUNTED)


def _of_many(
    projects: Path,
    repos: Path | None,
    work: Callable[[Any], tuple[bool, Any]],
    jobs: int,
    then: str,
    progress: bool | None,
    show: Callable[[Sequence[Any]], None] | None = None,
    place: Callable[[Mapping[Path, str]], AbstractContextManager[None]] = lambda _: nullcontext(),
) -> None:
    """Do the work for each project of a list, and say what became of it. Exits with 1 if one failed."""
    from tosloc.cli.many import show_outcomes
    from tosloc.cli.progress import shown
    from tosloc.lab.many_projects import for_each
    from tosloc.lab.projects import read_projects

    found = read_projects(projects, repos)
    with place({project.repo: "" for project in found.projects}), shown(progress) as callback:
        outcomes = for_each(found.projects, work, jobs=jobs, progress=callback)
    if show is not None:
        show(outcomes)
    show_outcomes(found, outcomes, then)


def _note_teachers(outcomes: Sequence[Any]) -> None:
    """Say which of the projects taught the shipped weights: on these they are better than on others."""
    from tosloc.checkpoint import shipped_projects
    from tosloc.cli.many import named
    from tosloc.cli.printing import print_notes

    taught = sorted({outcome.project for outcome in outcomes} & shipped_projects())
    if taught:
        says = "taught the shipped weights, so these numbers flatter them (tosloc lab pool leaves projects out)"
        print_notes([named(taught, says, says)])


def _print_data(outcomes: Sequence[Any], as_json: bool) -> None:
    """Print a row for each project, and their sums."""
    from tosloc.cli.printing import print_json, print_table

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
        print_table(list(rows[0]), cells)


def _suffixes(named: list[str] | None) -> dict[str, list[str]]:
    """The setting that the option makes; with the dot, where it was left out."""
    return {"suffixes": [name if name.startswith(".") else f".{name}" for name in named]} if named else {}


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise ToslocError(f"{out} is a file; name a folder")
