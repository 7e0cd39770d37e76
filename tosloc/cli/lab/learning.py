"""Commands that learn: ``pretrain``, ``feature-ablation`` from many projects, ``pack``, ``train-encoder`` elsewhere.

tosloc lab pack runs/tomcat --repo tomcat.git --reports Tomcat.xlsx --out tomcat.pack
torchrun --nproc_per_node 2 -m tosloc lab train-encoder tomcat.pack two.toml --out runs/tomcat-two
accelerate launch --multi_gpu -m tosloc lab train-encoder tomcat.pack two.toml --out runs/tomcat-two
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tosloc.cli.judging import MarkdownOption
from tosloc.cli.lab.results import means_table
from tosloc.cli.options import ClusterOption, JsonOption, ReportsOption, RepositoryOption
from tosloc.cli.printing import Form, Table, output_form, print_notes, print_results, progress_bars
from tosloc.core.cluster import on_cluster
from tosloc.core.config import Config, load_config
from tosloc.core.errors import require
from tosloc.git.repository import resolve_revision
from tosloc.lab.feature_ablation import feature_ablation as measure
from tosloc.lab.pretraining import LEFT_OUT_FOLDER, Pretraining
from tosloc.lab.pretraining import pretrain as learn
from tosloc.lab.projects import project_means, read_projects
from tosloc.train.experiment import command_folder, results_folder

ProjectsOption = Annotated[Path, typer.Option("--projects", help="TOML file of projects.")]
WorkOption = Annotated[
    Path,
    typer.Option(
        "--work",
        help="Folder of feature tables and of runs; tables that are in it are not made again.",
    ),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", help="TOML file of settings.", show_default="the defaults"),
]
FoldsOption = Annotated[
    int,
    typer.Option(
        "--leave-projects-out", metavar="K", min=1, help="Parts that are left out in turn."
    ),
]


def settings_of(config: Path | None) -> Config:
    """The settings that a command is given. Raises ConfigError."""
    return Config() if config is None else load_config(config)


def pretrain(
    projects: Annotated[
        Path | None,
        typer.Option(
            "--projects", help="TOML file of projects.", show_default="the tables in WORK"
        ),
    ] = None,
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

    And rank each project by weights that never saw it: those runs stand in WORK/left-out, and their means are printed.
    """
    form = output_form(as_json, as_markdown)
    listed = None if projects is None else read_projects(projects)
    reached = {project.repo: "" for project in listed or ()}
    with (
        results_folder(work),
        on_cluster(cluster, reached, resolve_revision),
        progress_bars() as callback,
    ):
        evaluations, temperature, failed = learn(
            Pretraining(work, settings_of(config)), listed, folds, out, callback
        )
    means = project_means(evaluations)
    print_results(form, means | {"temperature": temperature}, [means_table(means)])
    print_notes(
        [
            f"the runs are in {work / LEFT_OUT_FOLDER}; see: tosloc lab evaluate {work / LEFT_OUT_FOLDER}"
        ]
    )
    if out is not None:
        print_notes([f"wrote {out / 'weights.json'}, temperature {temperature:g}"])
    _tell(failed)


def _tell(failed: Mapping[str, str]) -> None:
    """Say which projects have no tables. Exits with 1 if there are any."""
    print_notes(f"{project} failed: {why}" for project, why in failed.items())
    if failed:
        raise typer.Exit(1)


def feature_ablation(
    projects: ProjectsOption,
    config: ConfigOption = None,
    work: WorkOption = Path("pretraining"),
    folds: FoldsOption = 5,
    features: Annotated[
        str, typer.Option("--features", metavar="NAMES", help="Leave out only these, each alone.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Show what each feature is worth: the change when it alone is left out.

    On projects that the weights never saw.
    """
    listed = read_projects(projects)
    asked = [name.strip() for name in features.split(",") if name.strip()]
    with results_folder(work), progress_bars() as callback:
        rows, failed = measure(
            Pretraining(work, settings_of(config)), listed, folds, asked, callback
        )
    heads = ["left out", "MRR", "95 %", "MAP", "95 %"]
    cells = [[row["left out"], *_cells(row)] for row in rows]
    print_results(Form.json if as_json else Form.markdown, rows, [Table(heads, cells)])
    _tell(failed)


def _cells(row: Mapping[str, Any]) -> Iterator[str]:
    """Means with all features; without one what that changes."""
    for name in ("mrr", "map"):
        change = row.get(f"{name} change")
        yield f"{row[name]:.4f}" if change is None else f"{change['mean']:+.4f}"
        yield "" if change is None else "[{:+.4f}, {:+.4f}]".format(*change["interval"])


def pack(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder that tosloc train --keep-features wrote.")
    ],
    repo: RepositoryOption,
    reports: ReportsOption,
    out: Annotated[Path, typer.Option("--out", dir_okay=False, help="File to write.")],
    candidates: Annotated[int, typer.Option("--candidates", min=1, help="Files of a report.")] = 50,
    train_reports: Annotated[
        int, typer.Option("--train-reports", min=0, help="Only so many, the newest; 0 for all.")
    ] = 0,
) -> None:
    """Write a run's candidates and their texts.

    One small file, from which train-encoder learns on any machine.
    """
    from tosloc.lab.bundle import bundle_training

    with progress_bars() as callback:
        numbers = bundle_training(run, repo, reports, out, candidates, train_reports, callback)
    megabytes = out.stat().st_size / 2**20
    print(
        ", ".join(f"{number:,} {part}" for part, number in numbers.items())
        + f" reports, {megabytes:.1f} MiB"
    )


def train_encoder(
    bundle: Annotated[
        Path, typer.Argument(metavar="PACK", help="File that tosloc lab pack wrote.")
    ],
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="TOML file of settings, with [stage_two].")
    ],
    out: Annotated[Path, typer.Option("--out", file_okay=False, help="Folder to write.")],
) -> None:
    """Train an encoder reranker on a pack.

    On several processes or GPUs: torchrun -m tosloc lab train-encoder, or accelerate launch -m; they learn what one
    would. An interrupted training goes on.
    """
    require("training an encoder", "encoder", "torch", "transformers", "accelerate")
    from tosloc.lab.ablation import train_on_bundle

    with command_folder(out, "tosloc lab train-encoder"), progress_bars() as callback:
        result = train_on_bundle(bundle, load_config(config), out, callback)
    if result is not None:
        print(json.dumps({key: value for key, value in result.items() if key != "curve"}, indent=1))
