"""The commands that make facts, checkpoints and runs, also of other tools' results. Heavy imports wait inside."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

import tosloc
from tosloc.cli.judging import QrelsOption, SplitOption, print_split
from tosloc.cli.mine import mined_reports_path
from tosloc.cli.options import (
    AroundRepositoryOption,
    CheckpointOption,
    ClusterOption,
    CommitOption,
    JsonOption,
    NamedReportsOption,
    OutOption,
    PublishedRepositoryOption,
    Split,
)
from tosloc.cli.printing import print_json, print_notes, print_rows, progress_bars
from tosloc.core.errors import MissingExtra, ReportError, RunError, ToslocError, pluralize

if TYPE_CHECKING:
    from tosloc.core.config import Config

ConfigOption = Annotated[
    Path | None,
    typer.Option(help="TOML file of settings.", show_default="the checkpoint's, or the defaults"),
]
WEAK_TRAINING: Final = (
    "most reports are commit messages, which say little about how often an answer to a user's report is right; so the"
    " percentages stay as sure as those of the shipped weights, on average"
)
ZoneOption = Annotated[str, typer.Option(help="Time zone of opening times that carry none.")]


def train(
    repo: AroundRepositoryOption,
    reports: NamedReportsOption = None,
    config: Annotated[
        Path | None,
        typer.Argument(
            metavar="CONFIG",
            help="TOML file of settings, or the name of one that TosLoc ships, as tomcat.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False, help="Folder to write.", show_default="where localize finds it"
        ),
    ] = None,
    embed_version: Annotated[
        bool,
        typer.Option(
            help="Put the newest version into the checkpoint, to localize without a repository."
        ),
    ] = True,
    keep_features: Annotated[
        bool,
        typer.Option(
            "--keep-features", help="Leave the feature tables, for evaluate --html and lab."
        ),
    ] = False,
    stage_two: Annotated[
        bool, typer.Option(help="Learn the second stage too, if one is configured.")
    ] = True,
    cluster: ClusterOption = None,
) -> None:
    """Learn from fixed reports.

    Fits on the oldest 80 %, ranks validation and test, and saves the checkpoint and both runs.
    """
    from tosloc.core.cluster import on_cluster
    from tosloc.git.repository import Repository, resolve_revision
    from tosloc.storage.cache import trained_folder
    from tosloc.train import training

    settings = _settings(config, stage_two)
    reports, found_later = reports or _mined(repo), out is None
    with Repository(repo) as repository:
        out = out or trained_folder(repository)
    with on_cluster(cluster, {repo: ""}, resolve_revision), progress_bars() as callback:
        learned = training.train(
            settings,
            repo,
            reports,
            out,
            callback,
            embed_version=embed_version,
            keep_features=keep_features,
        )
    judged = learned.provenance["splits"]["validation"]
    if learned.choice is not None and learned.choice.sentence:
        print_notes([learned.choice.sentence])
    if judged:
        print_split(out, "validation")
    else:
        print_notes(["no report is left for validation, so there is nothing to judge by"])
    if learned.weights.weak and learned.weights.kind == "trained":
        print_notes([WEAK_TRAINING])
    used, named = f"use it with: --checkpoint {out}", f" {out}"
    if found_later:
        used = "localize, serve and mcp use it in this repository from now on (--checkpoint none: shipped weights)"
        named = ""
    print_notes(
        [
            f"the checkpoint is in {out}; {used}",
            f"for the test reports, run: tosloc evaluate{named}",
        ]
    )


def _settings(config: Path | None, stage_two: bool) -> Config:
    """Settings of a training by its options; without a second stage where its extra is missing."""
    from tosloc.core.config import Config, StageTwoSettings, load_config
    from tosloc.train import training

    settings = Config() if config is None else load_config(config)
    if stage_two:
        try:
            training.configured_reranker(settings)
            return settings
        except MissingExtra as error:
            print_notes([f"{error}; without it stage one is learned alone"])
    return settings.model_copy(update={"stage_two": StageTwoSettings()})


def rank(
    out: OutOption,
    repo: AroundRepositoryOption,
    reports: NamedReportsOption = None,
    checkpoint: CheckpointOption = None,
    split: Annotated[
        Split | None,
        typer.Option(help="Part to rank; all: every report.", show_default="validation, then test"),
    ] = None,
    functions: Annotated[
        bool,
        typer.Option(
            "--functions", help="Rank functions, too, for: tosloc evaluate --level function."
        ),
    ] = False,
    config: ConfigOption = None,
    cluster: ClusterOption = None,
) -> None:
    """Rank labelled reports without training."""
    from tosloc.core.cluster import on_cluster
    from tosloc.core.config import load_config
    from tosloc.git.repository import resolve_revision
    from tosloc.train import experiment

    settings = None if config is None else load_config(config)
    reports = reports or _mined(repo)
    parts = (Split.validation, Split.test) if split is None else (split,)
    with on_cluster(cluster, {repo: ""}, resolve_revision), progress_bars() as callback:
        for part in parts:
            experiment.rank_reports(
                checkpoint, repo, reports, out, part, callback, config=settings, functions=functions
            )
    print_notes([f"ranked; now run: tosloc evaluate {out} --split {parts[-1]}"])


def index(
    repo: AroundRepositoryOption,
    commit: CommitOption = "HEAD",
    config: ConfigOption = None,
    as_json: JsonOption = False,
    cluster: ClusterOption = None,
) -> None:
    """Analyse a version ahead of time."""
    from tosloc.core.cluster import on_cluster
    from tosloc.core.config import load_config
    from tosloc.git.repository import resolve_revision
    from tosloc.train import experiment

    settings = None if config is None else load_config(config)
    with on_cluster(cluster, {repo: commit}, resolve_revision), progress_bars() as callback:
        counts = dataclasses.asdict(experiment.index(repo, commit, settings, callback))
    if as_json:
        print_json(counts)
    else:
        print_rows([{"": "files", **counts}])


def data(
    repo: AroundRepositoryOption,
    reports: NamedReportsOption = None,
    zone: ZoneOption = "UTC",
    as_json: JsonOption = False,
) -> None:
    """Count what labelled reports hold."""
    from tosloc.core.config import Config
    from tosloc.git.repository import Repository
    from tosloc.reports.labelled import describe, load_dataset, resolve_suffixes

    reports = reports or _mined(repo)
    with Repository(repo) as repository, progress_bars() as callback:
        settings = resolve_suffixes(Config.of({"data": {"zone": zone}}, "--zone"), reports).data
        suffixes = frozenset(settings.named_suffixes)
        rows = describe(
            load_dataset(repository, reports, zone=zone, suffixes=suffixes, progress=callback)
        )
    if as_json:
        print_json(rows)
    else:
        print_rows(rows)


def _mined(repo: Path) -> Path:
    """What was mined of a repository, where no reports are named. Raises ToslocError where there is nothing."""
    from tosloc.git.repository import Repository

    with Repository(repo) as repository:
        reports = mined_reports_path(repository)
    if not reports.exists():
        raise ToslocError("Missing option '--reports'; or run tosloc mine first")
    print_notes([f"the reports are those of tosloc mine, {reports}"])
    return reports


def import_run(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A run in TREC's form, or labelled reports with published ranks."
        ),
    ],
    out: OutOption,
    qrels: Annotated[
        Path | None,
        typer.Option(help="What is true of a TREC run: TREC's form or ours."),
    ] = None,
    repo: PublishedRepositoryOption = None,
    zone: ZoneOption = "UTC",
    split: Annotated[Split, typer.Option(help="Which published ranks.")] = Split.test,
) -> None:
    """Make a run of another tool's results.

    From a run in TREC's form, paths percent-encoded; or, with --repo, from the ranks that the data of Ye et al.
    publish in their column "result".
    """
    from tosloc.train.experiment import command_folder, refuse_training

    refuse_training(out)
    if repo is None and file.suffix in (".xlsx", ".xml"):
        raise RunError(
            f"{file}: the ranks of labelled reports are of the files of a repository; name it with --repo"
        )
    if repo is not None and qrels is not None:
        raise RunError(f"{file}: labelled reports say themselves what is true; leave out --qrels")
    with command_folder(out, "tosloc import-run"):
        if repo is None:
            _import_trec(file, qrels, out)
        else:
            _import_published(file, repo, zone, split, out)


def export_run(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN", help="Folder that train or rank wrote, a split's folder, or a run file."
        ),
    ],
    out: OutOption,
    split: SplitOption = Split.test,
    qrels: QrelsOption = None,
    others: Annotated[
        bool,
        typer.Option(
            "--others", help="Judge every other searched file as 0: large, but bpref agrees."
        ),
    ] = False,
) -> None:
    """Write a run and its judgements for other tools.

    As run.trec and qrels.trec: paths percent-encoded, scores counting down so that every tool ranks alike.
    """
    from tosloc.evaluate.run_paths import read_scored_run
    from tosloc.evaluate.trec import write_trec_qrels, write_trec_run
    from tosloc.train.experiment import command_folder, refuse_training

    refuse_training(out)
    scored = read_scored_run(run, split, qrels)
    if (
        scored.evaluation().length != 1 and others
    ):  # which also refuses what other tools would not see
        raise RunError(
            f"{run}: not every ranking is known to hold all files that were searched; leave out --others"
        )
    with command_folder(out, "tosloc export-run"):
        write_trec_run(out / "run.trec", scored.run, scored.name)
        write_trec_qrels(out / "qrels.trec", scored.qrels, scored.run if others else None)
    print_notes([f"{len(scored.qrels)} rankings are in {out}, as run.trec and qrels.trec"])


def _import_trec(file: Path, qrels: Path | None, out: Path) -> None:
    from tosloc.evaluate.judgements import write_judgements
    from tosloc.evaluate.measures import evaluate
    from tosloc.evaluate.run_paths import JUDGEMENTS_FILE, RUN_FILE, read_any_judgements
    from tosloc.evaluate.runs import write_run
    from tosloc.evaluate.trec import read_trec_run
    from tosloc.train.experiment import file_provenance

    run = read_trec_run(file)
    header = {
        "method": run.header["tag"],
        "tosloc": tosloc.__version__,
        "imported": {"form": "TREC", **file_provenance(file)},
    }
    truth = {} if qrels is None else read_any_judgements(qrels)
    if truth:
        evaluate(run, truth)
    (out / JUDGEMENTS_FILE).unlink(
        missing_ok=True
    )  # last, since a folder with judgements is a finished run
    write_run(out / RUN_FILE, header, run.rankings())
    if truth:
        write_judgements(out / JUDGEMENTS_FILE, truth.values())
    to_judge = "; to judge them, name --qrels" if qrels is None else ""
    print_notes([f"{len(run.orders)} rankings are in {out}{to_judge}"])


def _import_published(file: Path, repo: Path, zone: str, split: str, out: Path) -> None:
    from tosloc.evaluate.run_paths import RUN_FILE
    from tosloc.evaluate.runs import write_known_ranks
    from tosloc.git.repository import Repository
    from tosloc.reports.labelled import chronological, load_dataset, published_ranks
    from tosloc.train.experiment import file_provenance, write_truth

    with Repository(repo) as repository, progress_bars() as callback:
        suffixes = frozenset({".java"})  # of the projects whose ranks were published
        dataset = load_dataset(repository, file, zone=zone, suffixes=suffixes, progress=callback)
        part = chronological(dataset.cases)[split]
        published = published_ranks(dataset, part)
        if not published:
            number = pluralize(len(part), "report")
            raise ReportError(
                f"{file}: split {split}: none of {number} has published ranks (the column result)"
            )
        header = {
            "method": "learning to rank, published ranks",
            "tosloc": tosloc.__version__,
            "reports": file_provenance(file),
            "split": split,
            "search space": "all source files of the before-fix version",
            "left out": {"reports without published ranks": len(part) - len(published)},
            "unresolved": len(dataset.unresolved),
        }
        folder, cases = out / split, [case for case in part if case.report.id in published]
        write_known_ranks(folder / RUN_FILE, header, published.items())
        write_truth(folder, cases, dataset)
    print_notes(
        [
            f"{len(cases)} of {len(part)} {split} reports have published ranks; left out of the run and of its"
            f" judgements: {len(part) - len(cases)}",
            f"now run: tosloc evaluate {out} --split {split}",
        ]
    )
