"""The commands of experiments: ``index``, ``train``, ``rank`` and ``data``. Heavy imports wait inside."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.judging import print_split
from tosloc.cli.mine import mined_reports
from tosloc.cli.options import (
    AroundRepositoryOption,
    CheckpointOption,
    ClusterOption,
    CommitOption,
    JsonOption,
    NamedReportsOption,
    OutOption,
    Split,
)
from tosloc.cli.printing import print_json, print_notes, print_rows
from tosloc.errors import MissingExtra, ToslocError

if TYPE_CHECKING:
    from tosloc.config import Config

ConfigArgument = Annotated[
    Path | None,
    typer.Argument(metavar="CONFIG", help="TOML file of settings, or the name of one that TosLoc ships, as tomcat."),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(help="TOML file of settings.", show_default="the checkpoint's, or the defaults"),
]
ZoneOption = Annotated[str, typer.Option(help="Time zone of opening times that carry none.")]
EmbedOption = Annotated[
    bool, typer.Option(help="Put the newest version into the checkpoint, to localize without a repository.")
]
KeepFeaturesOption = Annotated[
    bool, typer.Option("--keep-features", help="Leave the feature tables, for evaluate --html and lab.")
]
StageTwoOption = Annotated[bool, typer.Option(help="Learn the second stage too, if one is configured.")]


def train(
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Folder to write.", show_default="where localize finds it"),
    ] = None,
    repo: AroundRepositoryOption = None,
    reports: NamedReportsOption = None,
    config: ConfigArgument = None,
    embed_version: EmbedOption = True,
    keep_features: KeepFeaturesOption = False,
    stage_two: StageTwoOption = True,
    cluster: ClusterOption = None,
) -> None:
    """Learn from fixed reports.

    Fits on the oldest 80 %, ranks validation and test, and saves the checkpoint and both runs.
    """
    from tosloc import training
    from tosloc.cli.progress import shown
    from tosloc.cluster import on_cluster
    from tosloc.git.repository import Repository
    from tosloc.index.cache import trained_folder

    settings = _settings(config, stage_two)
    repo, reports = repository_and_reports(repo, reports)
    found_later = out is None
    with Repository(repo) as repository:
        out = out or trained_folder(repository)
    with on_cluster(cluster, {repo: ""}), shown() as callback:
        learned = training.train(
            settings, repo, reports, out, callback, embed_version=embed_version, keep_features=keep_features
        )
    judged = learned.provenance_["splits"]["validation"]
    if learned.choice_ is not None and learned.choice_.sentence:
        print(f"tosloc: {learned.choice_.sentence}", file=sys.stderr)
    if judged:
        print_split(out, "validation")
    else:
        print("tosloc: no report is left for validation, so nothing was chosen by it", file=sys.stderr)
    used = f"use it with: --checkpoint {out}"
    if found_later:
        used = "localize, serve and mcp use it in this repository from now on (--checkpoint none: shipped weights)"
    print(f"tosloc: the checkpoint is in {out}; {used}", file=sys.stderr)
    print(f"tosloc: for the test reports, run: tosloc evaluate{'' if found_later else f' {out}'}", file=sys.stderr)


def _settings(config: Path | None, stage_two: bool) -> Config:
    """Settings of a training by its options; without a second stage where its extra is missing."""
    from tosloc import training
    from tosloc.config import Config, StageTwoSettings, load_config

    settings = Config() if config is None else load_config(config)
    if stage_two:
        try:
            training.configured_reranker(settings)
        except MissingExtra as error:
            stage_two = False
            print(f"tosloc: {error}; without it stage one is learned alone", file=sys.stderr)
    return settings if stage_two else settings.model_copy(update={"stage_two": StageTwoSettings()})


def rank(
    out: OutOption,
    repo: AroundRepositoryOption = None,
    reports: NamedReportsOption = None,
    checkpoint: CheckpointOption = None,
    split: Annotated[
        Split | None,
        typer.Option(help="Part to rank; all: every report.", show_default="validation, then test"),
    ] = None,
    functions: Annotated[
        bool, typer.Option("--functions", help="Rank functions, too, for: tosloc evaluate --level function.")
    ] = False,
    config: ConfigOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Rank labelled reports without training."""
    from tosloc import experiment
    from tosloc.cli.progress import shown
    from tosloc.cluster import on_cluster
    from tosloc.config import load_config

    settings = None if config is None else load_config(config)
    repo, reports = repository_and_reports(repo, reports)
    parts = (Split.validation, Split.test) if split is None else (split,)
    with on_cluster(cluster, {repo: ""}):
        for part in parts:
            with shown() as callback:
                place = repo, reports, out, part.value, callback
                experiment.rank_reports(checkpoint, *place, config=settings, functions=functions)
    print(f"tosloc: ranked; now run: tosloc evaluate {out} --split {parts[-1].value}", file=sys.stderr)


def index(
    repo: AroundRepositoryOption = None,
    commit: CommitOption = "HEAD",
    config: ConfigOption = None,
    as_json: JsonOption = False,
    cluster: ClusterOption = None,
) -> None:
    """Analyse a version ahead of time."""
    from tosloc import experiment
    from tosloc.cli.progress import shown
    from tosloc.cluster import on_cluster
    from tosloc.config import load_config
    from tosloc.git import discovery

    settings = None if config is None else load_config(config)
    repo = repo or discovery.around(Path.cwd())
    with on_cluster(cluster, {repo: commit}), shown() as callback:
        built = experiment.index(repo_path=repo, revision=commit, config=settings, progress=callback)
    counts = dataclasses.asdict(built)
    if as_json:
        print_json(counts)
    else:
        print_rows([{"": "files", **counts}])


def data(
    repo: AroundRepositoryOption = None,
    reports: NamedReportsOption = None,
    zone: ZoneOption = "UTC",
    as_json: JsonOption = False,
) -> None:
    """Count what labelled reports hold."""
    from tosloc.cli.progress import shown
    from tosloc.config import Config
    from tosloc.git.repository import Repository
    from tosloc.reports.labelled import describe, load_dataset, resolve_suffixes

    repo, reports = repository_and_reports(repo, reports)
    with Repository(repo) as repository, shown() as callback:
        settings = resolve_suffixes(Config.of({"data": {"zone": zone}}, "--zone"), reports).data
        suffixes = frozenset(settings.named_suffixes)
        rows = describe(load_dataset(repository, reports, zone=zone, suffixes=suffixes, progress=callback))
    if as_json:
        print_json(rows)
    else:
        print_rows(rows)


def repository_and_reports(repo: Path | None, reports: Path | None) -> tuple[Path, Path]:
    """The repository and its reports: by default the one around this folder, and what was mined of it.

    Raises ToslocError where one is neither named nor there.
    """
    from tosloc.git import discovery
    from tosloc.git.repository import Repository

    repo = repo or discovery.around(Path.cwd())
    if reports is None:
        with Repository(repo) as repository:
            reports = mined_reports(repository)
        if not reports.exists():
            raise ToslocError("Missing option '--reports'; or run tosloc mine first")
        print_notes([f"the reports are those of tosloc mine, {reports}"])
    return repo, reports
