"""The commands of experiments: ``index``, ``train``, ``rank`` and ``data``. Heavy imports wait inside."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.judging import print_split
from tosloc.cli.options import (
    CommitOption,
    JsonOption,
    OutOption,
    ProgressOption,
    ReportsOption,
    RepositoryOption,
    Split,
    StoreOption,
)
from tosloc.errors import LearnedError, ToslocError

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


def train(
    repo: RepositoryOption,
    reports: ReportsOption,
    out: OutOption,
    config: ConfigArgument = None,
    store: StoreOption = None,
    carry: Annotated[
        bool, typer.Option(help="Put the newest version into the checkpoint, to localize without a repository.")
    ] = True,
    keep_features: Annotated[
        bool,
        typer.Option("--keep-features", help="Leave the feature tables under DIR/work, for tosloc lab pool."),
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
    progress: ProgressOption = None,
) -> None:
    """Learn from fixed reports.

    Fits on the oldest 80 %, ranks validation and test, and saves the checkpoint and both runs.
    """
    from tosloc import training
    from tosloc.cli.progress import shown
    from tosloc.config import Config, StageTwoSettings, load_config

    _check_folder(out)
    settings = Config() if config is None else load_config(config)
    if suffix:
        settings = Config.of(settings.as_dict() | {"data": settings.data.model_dump() | _suffixes(suffix)}, "--suffix")
    if not stage_two:
        settings = settings.model_copy(update={"stage_two": StageTwoSettings()})
    if stage_one is not None and not settings.stage_two.enabled:
        raise ToslocError('--stage-one: no second stage is configured; set [stage_two] reranker = "terms", say')
    if stage_one is not None and suffix:
        raise ToslocError("--suffix: the second stage learns on the files that the run of --stage-one has searched")
    with shown(progress) as callback:
        if stage_one is not None:
            learned = training.train_reranker(settings, stage_one, repo, reports, out, store, callback)
        else:
            learned = training.train(
                settings, repo, reports, out, store, callback, carry=carry, keep_features=keep_features
            )
    if learned.choice_ is not None and learned.choice_.note:
        print(f"tosloc: {learned.choice_.note}", file=sys.stderr)
    if settings.data.suffixes == "auto" and stage_one is None:
        found = " ".join(learned.config.data.named_suffixes)
        print(f"tosloc: the files searched are {found}, as the reports' fixed files are", file=sys.stderr)
    if learned.provenance_["splits"]["validation"]:
        print_split(out, "validation")
    else:
        print("tosloc: no report is left for validation, so nothing was chosen by it", file=sys.stderr)
    print(f"tosloc: for the test reports, run: tosloc evaluate {out} --split test", file=sys.stderr)


def rank(
    repo: RepositoryOption,
    reports: ReportsOption,
    out: OutOption,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", help="Folder of a trained checkpoint.", show_default="shipped weights"),
    ] = None,
    split: Annotated[
        Split | None,
        typer.Option("--split", help="Reports to rank; all of them as one.", show_default="validation, then test"),
    ] = None,
    functions: Annotated[
        bool, typer.Option("--functions", help="Rank functions, too, for: tosloc evaluate --level function.")
    ] = False,
    config: ConfigOption = None,
    store: StoreOption = None,
    progress: ProgressOption = None,
) -> None:
    """Rank labelled reports without training."""
    from tosloc import experiment
    from tosloc.cli.progress import shown
    from tosloc.config import load_config

    _check_folder(out)
    settings = None if config is None else load_config(config)
    parts = (Split.validation, Split.test) if split is None else (split,)
    for part in parts:
        try:
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
        except LearnedError as error:
            if split is not None:  # asked for by name
                raise
            print(f"tosloc: {part.value} is left out: {error}", file=sys.stderr)
    print(f"tosloc: ranked; now run: tosloc evaluate {out} --split {parts[-1].value}", file=sys.stderr)


def index(
    repo: RepositoryOption,
    commit: CommitOption = "HEAD",
    config: ConfigOption = None,
    as_json: JsonOption = False,
    store: StoreOption = None,
    progress: ProgressOption = None,
) -> None:
    """Analyse a version ahead of time."""
    from tosloc import experiment
    from tosloc.cli.printing import print_counts, print_json
    from tosloc.cli.progress import shown
    from tosloc.config import load_config

    settings = None if config is None else load_config(config)
    with shown(progress) as callback:
        built = experiment.index(repo_path=repo, revision=commit, config=settings, store_path=store, progress=callback)
    counts = dataclasses.asdict(built)
    if as_json:
        print_json(counts)
    else:
        print_counts(counts)


def data(
    repo: RepositoryOption,
    reports: ReportsOption,
    zone: Annotated[str, typer.Option("--zone", help="Time zone of opening times that carry none.")] = "UTC",
    suffix: SuffixOption = None,
    as_json: JsonOption = False,
    ever_fixed: Annotated[
        Path | None,
        typer.Option("--ever-fixed", help="File to write: every path that some report fixed, for tosloc lab restrict."),
    ] = None,
    progress: ProgressOption = None,
) -> None:
    """Count what labelled reports hold."""
    from tosloc.analysis.report_languages import settled
    from tosloc.cli.printing import print_json, print_rows
    from tosloc.cli.progress import shown
    from tosloc.config import Config
    from tosloc.data.datasets import describe, load_dataset
    from tosloc.data.git import Repository
    from tosloc.files import write_text

    asked = Config.of({"data": {"zone": zone, **_suffixes(suffix)}}, "the options")
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
        print_rows(rows)


def _suffixes(named: list[str] | None) -> dict[str, list[str]]:
    """The setting that the option makes; with the dot, where it was left out."""
    return {"suffixes": [name if name.startswith(".") else f".{name}" for name in named]} if named else {}


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise ToslocError(f"{out} is a file; name a folder")
