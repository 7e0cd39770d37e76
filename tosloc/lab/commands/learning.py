"""Commands that learn, such as ``pretrain``, ``function-weights``, ``presence`` and ``pack``.

The first three, and ``feature-ablation``, learn from many projects. The other commands train an
encoder on another machine:

tosloc lab pack runs/tomcat --repo tomcat.git --reports Tomcat.xlsx --out tomcat.pack torchrun
--nproc_per_node 2 -m tosloc lab train-encoder tomcat.pack two.toml --out runs/tomcat-two accelerate
launch --multi_gpu -m tosloc lab train-encoder tomcat.pack two.toml --out runs/tomcat-two
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tosloc.core.cluster import on_cluster
from tosloc.core.config import load_config
from tosloc.core.errors import pluralize, require
from tosloc.git.repository import resolve_revision
from tosloc.lab.commands.options import (
    ConfigOption,
    FoldsOption,
    ProjectsOption,
    ReportsOption,
    RepositoryOption,
    UnseenOption,
    WorkOption,
    read_settings,
)
from tosloc.lab.commands.results import means_table
from tosloc.lab.feature_ablation import feature_ablation as ablate_features
from tosloc.lab.function_weights import learn_function_weights
from tosloc.lab.presence import learn_presence
from tosloc.lab.pretraining import LEFT_OUT_FOLDER, Pretraining
from tosloc.lab.pretraining import pretrain as run_pretraining
from tosloc.lab.projects import project_means, read_projects
from tosloc.rank.explain import SIGN_WEIGHTS
from tosloc.terminal.options import ClusterOption, JsonOption, MarkdownOption
from tosloc.terminal.printing import Form, Table, print_notes, progress_bars
from tosloc.train.experiment import command_folder, results_folder


def pretrain(
    projects: Annotated[
        Path | None,
        typer.Option(
            "--projects", help="TOML file of projects.", show_default="the tables in WORK"
        ),
    ] = None,
    unseen: UnseenOption = None,
    config: ConfigOption = None,
    work: WorkOption = Path("pretraining"),
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", file_okay=False, help="Folder to write weights.json and ranker.npz to."
        ),
    ] = None,
    folds: FoldsOption = 5,
    cluster: ClusterOption = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Learn the shipped weights from many projects.

    Also ranks each project with weights that were trained without it, writes these runs to
    WORK/left-out and prints their means.
    """
    form = Form.chosen(as_json, as_markdown)
    project_list = None if projects is None else read_projects(projects)
    unseen_list = [] if unseen is None else read_projects(unseen)
    repositories = {project.repo: "" for project in (*(project_list or ()), *unseen_list)}
    with (
        results_folder(work),
        on_cluster(cluster, repositories, resolve_revision),
        progress_bars() as callback,
    ):
        evaluations, temperature, failed = run_pretraining(
            Pretraining(work, read_settings(config)),
            project_list,
            folds,
            unseen=unseen_list,
            out=out,
            progress=callback,
        )
    means = project_means(evaluations)
    form.print(means | {"temperature": temperature}, [means_table(means)])
    runs = work / LEFT_OUT_FOLDER
    print_notes([f"wrote the runs to {runs}; to evaluate them, run: tosloc lab evaluate {runs}"])
    if out is not None:
        print_notes([f"wrote {out / 'weights.json'}, temperature {temperature:g}"])
    _report_failures(failed)


def _report_failures(failed: Mapping[str, str]) -> None:
    """Print the projects that have no tables and why, and exit with 1 if there are any."""
    print_notes(f"{project} failed: {message}" for project, message in failed.items())
    if failed:
        raise typer.Exit(1)


def feature_ablation(
    projects: ProjectsOption,
    config: ConfigOption = None,
    work: WorkOption = Path("pretraining"),
    folds: FoldsOption = 5,
    features: Annotated[
        str,
        typer.Option(
            "--features",
            metavar="NAMES",
            help="Features to leave out, one at a time, separated by commas.",
        ),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Measure the change when one feature at a time is left out.

    Each change is measured on projects that were left out of the training.
    """
    project_list = read_projects(projects)
    names = [name.strip() for name in features.split(",") if name.strip()]
    with results_folder(work), progress_bars() as callback:
        rows, failed = ablate_features(
            Pretraining(work, read_settings(config)), project_list, folds, names, callback
        )
    heads = ["left out", "MRR", "95 %", "MAP", "95 %"]
    cells = [[row["left out"], *_ablation_cells(row)] for row in rows]
    form = Form.json if as_json else Form.markdown
    form.print(rows, [Table(heads, cells)])
    _report_failures(failed)


def _ablation_cells(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the means in the row of all features, or the changes in the row without a feature."""
    for name in ("mrr", "map"):
        change = row.get(f"{name} change")
        if change is None:
            yield f"{row[name]:.4f}"
            yield ""
        else:
            low, high = change["interval"]
            yield f"{change['mean']:+.4f}"
            yield f"[{low:+.4f}, {high:+.4f}]"


def function_weights(
    projects: ProjectsOption,
    config: ConfigOption = None,
    work: WorkOption = Path("pretraining"),
    folds: FoldsOption = 5,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Learn the weights that order the functions of a file.

    WORK contains the runs that tosloc lab pretrain wrote for these projects. Prints the
    weights, and results on left-out projects with these weights and with the current ones.
    """
    form = Form.chosen(as_json, as_markdown)
    project_list = read_projects(projects)
    with progress_bars() as callback:
        learned, failed = learn_function_weights(
            project_list, work, read_settings(config), folds, callback
        )
    heads = ["sign", "current", "learned"]
    rows = [
        [sign, f"{SIGN_WEIGHTS[sign]:.1f}", f"{weight:.2f}"]
        for sign, weight in learned["weights"].items()
    ]
    measures = list(learned["today"])
    quality_rows = [
        [name, *(f"{learned[key][measure]:.3f}" for measure in measures)]
        for name, key in (("current weights", "today"), ("learned, left out", "left out"))
    ]
    tables = [Table(heads, rows), Table(["weights", *measures], quality_rows)]
    form.print(learned, tables)
    reports = pluralize(learned["reports"], "report")
    print_notes([f"learned from {reports} of {pluralize(learned['projects'], 'project')}"])
    print_notes(f"{project} is left out: {message}" for project, message in failed.items())


def presence(
    projects: ProjectsOption,
    config: ConfigOption = None,
    work: WorkOption = Path("presence"),
    every: Annotated[
        int,
        typer.Option("--every", min=1, help="Ask every N-th report in another project, too."),
    ] = 10,
    left_out: Annotated[
        list[Path] | None,
        typer.Option(
            "--left-out",
            file_okay=False,
            exists=True,
            help="Folder left-out of tosloc lab pretrain, with weights that never saw a project."
            " Projects that are not in it are ranked by the shipped weights. Repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", dir_okay=False, help="JSON file to write the model to."),
    ] = None,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Learn how likely a report is about the searched project.

    Asks reports in their own repository and in others of the same language and of like size.
    Prints how well the confidence of the first file tells them apart, without the model and with
    it, on projects left out. WORK keeps the answers.
    """
    form = Form.chosen(as_json, as_markdown)
    project_list = read_projects(projects)
    with results_folder(work), progress_bars() as callback:
        result = learn_presence(
            project_list, work, read_settings(config), every, left_out or (), callback
        )
    columns = {
        "without the model": result.before,
        "with it, left out": result.after,
        "with it, names unknown": result.nameless,
        "with the shipped model": result.shipped,
    }
    rows = [
        [measure, *(f"{values[measure]:.3f}" for values in columns.values())]
        for measure in result.before
    ]
    form.print(dataclasses.asdict(result), [Table(["measure", *columns], rows)])
    if out is not None:
        result.model.write(out)
        print_notes([f"wrote {out}"])


def pack(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder that tosloc train --keep-features wrote.")
    ],
    repo: RepositoryOption,
    reports: ReportsOption,
    out: Annotated[Path, typer.Option("--out", dir_okay=False, help="File to write the pack to.")],
    candidates: Annotated[
        int, typer.Option("--candidates", min=1, help="Number of candidate files per report.")
    ] = 50,
    train_reports: Annotated[
        int,
        typer.Option(
            "--train-reports", min=0, help="Number of newest training reports to pack; 0 packs all."
        ),
    ] = 0,
) -> None:
    """Write a run's candidates and their texts to one file.

    tosloc lab train-encoder trains on this file, which can be copied to another machine.
    """
    from tosloc.lab.bundle import bundle_training

    with progress_bars() as callback:
        numbers = bundle_training(run, repo, reports, out, candidates, train_reports, callback)
    mebibytes = out.stat().st_size / 2**20
    reports_by_part = ", ".join(f"{number:,} {part}" for part, number in numbers.items())
    print(f"{reports_by_part} reports, {mebibytes:.1f} MiB")


def train_encoder(
    bundle: Annotated[
        Path, typer.Argument(metavar="PACK", help="File that tosloc lab pack wrote.")
    ],
    config: Annotated[
        Path,
        typer.Argument(
            metavar="CONFIG", help="TOML file with settings, with the section [stage_two]."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", file_okay=False, help="Folder to write the results to.")
    ],
) -> None:
    """Train an encoder reranker on a pack.

    To use several processes or GPUs, start it with torchrun -m tosloc lab train-encoder or with
    accelerate launch -m. The result is that of one process. An interrupted training resumes.
    """
    require("training an encoder", "encoder", "torch", "transformers", "accelerate")
    from tosloc.lab.ablation import train_on_bundle

    with command_folder(out, "tosloc lab train-encoder"), progress_bars() as callback:
        result = train_on_bundle(bundle, load_config(config), out, callback)
    if result is not None:
        print(json.dumps({key: value for key, value in result.items() if key != "curve"}, indent=1))
