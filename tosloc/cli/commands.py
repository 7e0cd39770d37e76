"""Commands that write facts, checkpoints and runs, and exchange runs with other tools.

Heavy packages are imported inside the commands, so that the command line starts quickly.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

import tosloc
from tosloc.cli.judging import print_split
from tosloc.cli.options import (
    AroundRepositoryOption,
    CheckpointOption,
    CommitOption,
    NamedReportsOption,
    PublishedRepositoryOption,
    RerankOption,
    announced_language_model,
)
from tosloc.core.errors import MissingExtra, ReportError, RunError, ToslocError, pluralize
from tosloc.terminal.options import (
    ClusterOption,
    JsonOption,
    OutOption,
    QrelsOption,
    Split,
    SplitOption,
)
from tosloc.terminal.printing import Table, print_json, print_notes, progress_bars

if TYPE_CHECKING:
    from tosloc.core.config import Config

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        help="TOML file with settings.", show_default="the checkpoint's, else the defaults"
    ),
]
WEAK_TRAINING: Final = (
    "most of these reports are commit messages, which do not show how often an answer to a user's"
    " report is right; the confidence is therefore scaled to the average of the shipped weights"
)
_DATA_LABELS: Final = {
    "reports": "bug reports",
    "listed": "source files listed as fixed",
    "existing": "... in the version before the fix",
    "empty": "reports without any of these files",
    "no description": "reports without a description",
    "opened after fix": "reports opened after their fix",
    "files a version": "source files per version",
    "unresolved": "reports without a known fix, left out",
    "weak": "commit messages in place of reports",
}
"""Label of each count of a data set."""
_INDEX_LABELS: Final = {
    "added": "indexed now",
    "known": "already indexed",
    "missing": "not in the repository, or damaged",
    "fallback": "read word by word, without a parser",
    "large": "too large to read",
}
"""Label of each count of an index."""
ZoneOption = Annotated[str, typer.Option(help="Time zone for opening times without one.")]


def train(
    repo: AroundRepositoryOption,
    reports: NamedReportsOption = None,
    config: Annotated[
        Path | None,
        typer.Argument(
            metavar="CONFIG",
            help="TOML file with settings, or the name of a shipped configuration, such as tomcat.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="Folder to write the results to.",
            show_default="where localize finds them",
        ),
    ] = None,
    embed_version: Annotated[
        bool,
        typer.Option(
            help="Store the newest version in the checkpoint, to localize without a repository."
        ),
    ] = True,
    keep_features: Annotated[
        bool,
        typer.Option(
            "--keep-features", help="Keep the feature tables, for evaluate --html and lab."
        ),
    ] = False,
    stage_two: Annotated[
        bool, typer.Option(help="Also train the second stage, if one is configured.")
    ] = True,
    cluster: ClusterOption = None,
) -> None:
    """Train on a project's fixed bug reports.

    Fits on the oldest 80 % of the reports, ranks the validation and test reports, and writes the
    checkpoint and both runs.
    """
    from tosloc.core.cluster import on_cluster
    from tosloc.git.repository import Repository, resolve_revision
    from tosloc.storage.cache import CacheEntry
    from tosloc.train import training

    settings = _training_settings(config, stage_two)
    reports = reports or _mined_reports(repo)
    is_found_later = out is None
    with Repository(repo) as repository:
        out = out or CacheEntry.of(repository).trained
    with on_cluster(cluster, {repo: ""}, resolve_revision), progress_bars() as callback:
        trained = training.train(
            settings,
            repo,
            reports,
            out,
            callback,
            embed_version=embed_version,
            keep_features=keep_features,
        )
    if trained.choice is not None and trained.choice.sentence:
        print_notes([trained.choice.sentence])
    if trained.reranker is not None and trained.reranker.choice:
        print_notes([trained.reranker.choice])
    if trained.provenance["splits"]["validation"]:
        print_split(out, "validation")
    else:
        print_notes(["no report is left for validation, so the training cannot be evaluated"])
    if trained.weights.weak and trained.weights.kind == "trained":
        print_notes([WEAK_TRAINING])
    if is_found_later:
        use = (
            "localize, serve and mcp now use it in this repository"
            " (use --checkpoint none for the shipped weights)"
        )
        evaluate = "tosloc evaluate"
    else:
        use = f"use it with: --checkpoint {out}"
        evaluate = f"tosloc evaluate {out}"
    print_notes(
        [f"wrote the checkpoint to {out}; {use}", f"to evaluate the test reports, run: {evaluate}"]
    )


def _training_settings(config: Path | None, stage_two: bool) -> Config:
    """Return the settings for a training, without a second stage if its extra is missing."""
    from tosloc.core.config import Config, StageTwoSettings, load_config
    from tosloc.train import training

    settings = Config() if config is None else load_config(config)
    if stage_two:
        try:
            training.configured_reranker(settings)
            return settings
        except MissingExtra as error:
            print_notes([f"{error}; without it only stage one is trained"])
    return settings.model_copy(update={"stage_two": StageTwoSettings()})


def rank(
    out: OutOption,
    repo: AroundRepositoryOption,
    reports: NamedReportsOption = None,
    checkpoint: CheckpointOption = None,
    split: Annotated[
        Split | None,
        typer.Option(help="Part of the reports to rank.", show_default="validation, then test"),
    ] = None,
    functions: Annotated[
        bool,
        typer.Option(
            "--functions", help="Also rank functions, for tosloc evaluate --level function."
        ),
    ] = False,
    config: ConfigOption = None,
    cluster: ClusterOption = None,
    rerank: RerankOption = None,
    reranker: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:CLASS",
            help="Let a reranker of your own order the first files: its module, or FILE.py, and its"
            " class. Compare the run with another one by tosloc compare.",
        ),
    ] = None,
) -> None:
    """Rank labelled reports without training."""
    from tosloc.core.cluster import on_cluster
    from tosloc.core.config import load_config
    from tosloc.evaluate.runs import Judgement
    from tosloc.git.repository import resolve_revision
    from tosloc.localize.localizer import Localizer
    from tosloc.localize.model import Model
    from tosloc.train import experiment

    model = Model() if checkpoint is None else Model.load(checkpoint)
    if config is not None:
        model = replace(model, configuration=load_config(config))
    if reranker is not None:
        model = model.with_reranker(reranker)
    reports = reports or _mined_reports(repo)
    parts = (Split.validation, Split.test) if split is None else (split,)
    language_model = announced_language_model(rerank)
    localizer = Localizer(model, rerank=language_model)
    with on_cluster(cluster, {repo: ""}, resolve_revision), progress_bars() as callback:
        judgements: list[Judgement] = []
        for part in parts:
            counts = experiment.rank_reports(
                localizer, repo, reports, out, part, callback, functions=functions
            )
            judgements += counts.judgements
    print_notes(counts.search_notes)
    print_notes(Judgement.notes_on_truth(judgements))
    if split is None and len(judgements) < counts.total:
        print_notes(
            [
                f"ranked {len(judgements):,} of {counts.total:,} reports, those of the splits"
                " validation and test; to rank all of them, add: --split all"
            ]
        )
    if language_model is not None:
        print_notes([language_model.usage.sentence])
    finished = {file.parent.name for file in out.expanduser().glob("*/qrels.jsonl")}
    earlier = ", ".join(sorted(finished.difference(parts)))
    if earlier:
        print_notes([f"{out} still contains runs that an earlier command wrote: {earlier}"])
    print_notes(
        [f"wrote the rankings to {out}; now run: tosloc evaluate {out} --split {parts[-1]}"]
    )


def index(
    repo: AroundRepositoryOption,
    commit: CommitOption = "HEAD",
    config: ConfigOption = None,
    as_json: JsonOption = False,
    cluster: ClusterOption = None,
) -> None:
    """Index a version before the first question."""
    from tosloc.core.cluster import on_cluster
    from tosloc.core.config import load_config
    from tosloc.git.repository import Repository, resolve_revision
    from tosloc.storage.repository import IndexedRepository

    settings = None if config is None else load_config(config)
    with (
        on_cluster(cluster, {repo: commit}, resolve_revision),
        progress_bars() as callback,
        Repository(repo) as repository,
        closing(IndexedRepository.configured(repository, settings)) as indexed,
    ):
        counts = dataclasses.asdict(
            indexed.build_facts([indexed.source_snapshot(commit)], callback)
        )
    if as_json:
        print_json(counts)
    else:
        _print_rows([{"": "files", **counts}], _INDEX_LABELS)


def data(
    repo: AroundRepositoryOption,
    reports: NamedReportsOption = None,
    zone: ZoneOption = "UTC",
    as_json: JsonOption = False,
) -> None:
    """Count the reports and fixed files of a data set."""
    from tosloc.core.config import Config
    from tosloc.git.repository import Repository
    from tosloc.reports.labelled import Dataset, resolve_suffixes

    reports = reports or _mined_reports(repo)
    with Repository(repo) as repository, progress_bars() as callback:
        settings = resolve_suffixes(Config.of({"data": {"zone": zone}}, "--zone"), reports).data
        suffixes = frozenset(settings.named_suffixes)
        dataset = Dataset.load(repository, reports, zone=zone, suffixes=suffixes, progress=callback)
        rows = dataset.describe()
    if as_json:
        print_json(rows)
    else:
        _print_rows(rows, _DATA_LABELS)
    print_notes(
        [
            f"source files are {', '.join(sorted(suffixes))} files: at least a tenth of the reports"
            " fixed such files"
        ]
    )


def _mined_reports(repo: Path) -> Path:
    """Return the file of reports that ``tosloc mine`` wrote for a repository.

    Raises ToslocError if there is none.
    """
    from tosloc.git.repository import Repository
    from tosloc.storage.cache import CacheEntry

    with Repository(repo) as repository:
        reports = CacheEntry.of(repository).mined_reports
    if not reports.exists():
        raise ToslocError(
            "Missing option '--reports'; name a file of labelled reports, or run tosloc mine first"
        )
    print_notes([f"using the reports that tosloc mine wrote: {reports}"])
    return reports


def import_run(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Run in TREC format, or labelled reports with published ranks."
        ),
    ],
    out: OutOption,
    qrels: Annotated[
        Path | None,
        typer.Option(help="Judgements of a TREC run, in TREC or TosLoc format."),
    ] = None,
    repo: PublishedRepositoryOption = None,
    zone: ZoneOption = "UTC",
    split: Annotated[Split, typer.Option(help="Part of the reports to import.")] = Split.test,
) -> None:
    """Import a run of another tool.

    Without --repo, FILE is a run in TREC format with percent-encoded paths. With --repo, it is a
    file of Ye et al.'s data set, which publishes ranks in its column "result".
    """
    from tosloc.train.experiment import command_folder, refuse_training

    refuse_training(out)
    if repo is None and file.suffix in (".xlsx", ".xml"):
        raise RunError(
            f"{file}: published ranks refer to the files of a repository; name it with --repo"
        )
    if repo is not None and qrels is not None:
        raise RunError(f"{file}: labelled reports contain their judgements; leave out --qrels")
    with command_folder(out, "tosloc import-run"):
        if repo is None:
            _import_trec(file, qrels, out)
        else:
            _import_published(file, repo, zone, split, out)


def export_run(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="Folder that train or rank wrote, the folder of one split, or a run file.",
        ),
    ],
    out: OutOption,
    split: SplitOption = None,
    qrels: QrelsOption = None,
    others: Annotated[
        bool,
        typer.Option(
            "--others",
            help="Also write a judgement of 0 for every other searched file. The file becomes"
            " large, but bpref then agrees with other tools.",
        ),
    ] = False,
) -> None:
    """Export a run and its judgements for other tools.

    Writes run.trec and qrels.trec with percent-encoded paths. Scores count down by one, so that
    every tool ranks the files alike.
    """
    from tosloc.evaluate.run_paths import ScoredRun
    from tosloc.train.experiment import command_folder, refuse_training

    refuse_training(out)
    scored = ScoredRun.read(run, split, qrels)
    with command_folder(out, "tosloc export-run"):
        scored.write_trec(out, others=others)
    print_notes(
        [f"wrote {pluralize(len(scored.qrels), 'ranking')} to {out} as run.trec and qrels.trec"]
    )


def _import_trec(file: Path, qrels: Path | None, out: Path) -> None:
    """Import a run in TREC's format, with its judgements if there are any."""
    from tosloc.evaluate.run_paths import ScoredRun
    from tosloc.train.experiment import file_provenance

    scored = ScoredRun.read_trec(file, qrels)
    header = {
        "method": scored.run.header["tag"],
        "tosloc": tosloc.__version__,
        "imported": {"form": "TREC", **file_provenance(file)},
    }
    scored.write(out, header)
    print_notes(scored.notes)
    hint = "; to evaluate them, name judgements with --qrels" if qrels is None else ""
    print_notes([f"wrote {pluralize(len(scored.run.orders), 'ranking')} to {out}{hint}"])


def _import_published(file: Path, repo: Path, zone: str, split: str, out: Path) -> None:
    """Import the ranks that labelled reports publish, as a run with its judgements."""
    from tosloc.evaluate.runs import RunFolder
    from tosloc.git.repository import Repository
    from tosloc.reports.labelled import Dataset
    from tosloc.train.experiment import file_provenance, judge_cases

    # The projects whose ranks were published are written in Java.
    suffixes = frozenset({".java"})
    with Repository(repo) as repository, progress_bars() as callback:
        dataset = Dataset.load(repository, file, zone=zone, suffixes=suffixes, progress=callback)
        part = dataset.split()[split]
        published = dataset.published_ranks(part)
        if not published:
            number = pluralize(len(part), "report")
            raise ReportError(
                f"{file}: none of the {number} in the split {split} has published ranks"
                " (column result)"
            )
        header = {
            "method": "learning to rank, published ranks",
            "tosloc": tosloc.__version__,
            "reports": file_provenance(file),
            "split": split,
            "search space": ".java files of the before-fix version",
            "left out": {"reports without published ranks": len(part) - len(published)},
            "unresolved": len(dataset.unresolved),
        }
        cases = [case for case in part if case.report.id in published]
        judgements = judge_cases(cases, dataset)
        RunFolder(out / split).write_known_ranks(header, published, judgements)
    left_out = len(part) - len(cases)
    print_notes(
        [
            f"{len(cases)} of {len(part)} reports in the split {split} have published ranks;"
            f" left out of the run and its judgements: {left_out}",
            f"now run: tosloc evaluate {out} --split {split}",
        ]
    )


def _print_rows(rows: Sequence[Mapping[str, str | int | float]], labels: Mapping[str, str]) -> None:
    """Print mappings with the same keys as a table, with a column for each mapping.

    ``labels`` maps keys to the labels that are printed instead.
    """
    lines = []
    for name in rows[0]:
        cells = [_value_cell(row[name]) for row in rows]
        lines.append([labels.get(name, name), *cells])
    Table(lines[0], lines[1:]).print()


def _value_cell(value: str | float) -> str:
    """Return a number as a cell, with at most one decimal, and with commas at thousands."""
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else value
