"""The commands of ``tosloc lab`` for researchers, imported only when one of them is called."""

from __future__ import annotations

from collections.abc import Callable

import typer

from tosloc.cli.lab.diagnostics import calibration, reproduce_check, truncation
from tosloc.cli.lab.learning import feature_ablation, pack, pretrain, train_encoder
from tosloc.cli.lab.paper import baselines, bm25, reproduce
from tosloc.cli.lab.results import compare, evaluate

app = typer.Typer(rich_markup_mode=None)
_COMMANDS: list[Callable[..., None]] = [
    evaluate,
    compare,
    baselines,
    bm25,
    reproduce,
    reproduce_check,
    truncation,
    calibration,
    feature_ablation,
    pretrain,
    pack,
    train_encoder,
]
for _command in _COMMANDS:
    app.command()(_command)
