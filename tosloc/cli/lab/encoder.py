"""The commands ``pack`` and ``train-encoder``: train an encoder reranker away from the repository.

tosloc lab pack runs/tomcat --repo tomcat.git --reports Tomcat.xlsx --out tomcat.pack
tosloc lab train-encoder tomcat.pack two.toml --out runs/tomcat-two
torchrun --nproc_per_node 2 -m tosloc lab train-encoder tomcat.pack two.toml --out runs/tomcat-two    # two
accelerate launch --multi_gpu -m tosloc lab train-encoder tomcat.pack two.toml --out runs/tomcat-two  # GPUs
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.options import ProgressOption, ReportsOption, RepositoryOption


def pack(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder that tosloc train --keep-features wrote.")],
    repo: RepositoryOption,
    reports: ReportsOption,
    out: Annotated[Path, typer.Option("--out", help="File to write.")],
    candidates: Annotated[int, typer.Option("--candidates", min=1, help="Files of a report.")] = 50,
    train_reports: Annotated[
        int, typer.Option("--train-reports", min=0, help="Only so many, the newest; 0 for all.")
    ] = 0,
    scored_reports: Annotated[
        int, typer.Option("--judged-reports", min=0, help="The same for validation and for test.")
    ] = 0,
    letters: Annotated[int, typer.Option("--letters", min=1, help="Letters kept of each file.")] = 40_000,
    progress: ProgressOption = None,
) -> None:
    """Write a run's candidates and their texts.

    One small file, from which train-encoder learns on any machine.
    """
    from tosloc.cli.progress import shown
    from tosloc.lab.bundle import BundleSettings, bundle_training

    settings = BundleSettings(candidates, train_reports, scored_reports, letters)
    with shown(progress) as callback:
        numbers = bundle_training(run, repo, reports, out, settings, callback)
    megabytes = out.stat().st_size / 2**20
    print(", ".join(f"{number:,} {part}" for part, number in numbers.items()) + f" reports, {megabytes:.1f} MiB")


def train_encoder(
    bundle: Annotated[Path, typer.Argument(metavar="PACK", help="File that tosloc lab pack wrote.")],
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="TOML file of settings, with [stage_two].")],
    out: Annotated[Path, typer.Option("--out", help="Folder to write.")],
    progress: ProgressOption = None,
) -> None:
    """Train an encoder reranker on a pack.

    On several processes or GPUs: torchrun -m tosloc lab train-encoder, or accelerate launch -m; they learn what one
    would. An interrupted training goes on.
    """
    from tosloc.cli.progress import shown
    from tosloc.config import load_config
    from tosloc.errors import require

    require("training an encoder", "encoder", "torch", "transformers", "accelerate")
    from tosloc.lab.ablation import train_on_bundle as train

    with shown(progress) as callback:
        result = train(bundle, load_config(config), out, callback)
    if result is not None:
        print(json.dumps({key: value for key, value in result.items() if key != "curve"}, indent=1))
