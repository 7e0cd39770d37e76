"""The commands of ``tosloc lab``: what only a researcher needs. Imported when one of them is asked for."""

from __future__ import annotations

import typer

from tosloc.cli.lab.diagnostics import calibration, reproduce_check, truncation
from tosloc.cli.lab.others import baselines, bm25, peers, restrict
from tosloc.cli.lab.paper import reproduce
from tosloc.cli.lab.pool import feature_ablation, pack, pool, train_encoder
from tosloc.cli.lab.projects import data, rank, train
from tosloc.cli.lab.results import compare, evaluate

app = typer.Typer(rich_markup_mode=None)
for _command in (
    train,
    rank,
    data,
    evaluate,
    compare,
    baselines,
    bm25,
    peers,
    restrict,
    reproduce,
    reproduce_check,
    truncation,
    calibration,
    feature_ablation,
    pool,
    pack,
    train_encoder,
):
    app.command()(_command)
