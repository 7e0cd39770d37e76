"""The commands of ``tosloc lab`` for researchers, imported only when one of them is called."""

from __future__ import annotations

from collections.abc import Callable

import typer

from tosloc.lab.commands.bisect import bisect
from tosloc.lab.commands.diagnostics import calibration, reproduce_check, truncation
from tosloc.lab.commands.history import renames
from tosloc.lab.commands.learning import (
    feature_ablation,
    function_weights,
    pack,
    presence,
    pretrain,
    train_encoder,
)
from tosloc.lab.commands.llm import llm_answers, llm_prompts
from tosloc.lab.commands.paper import baselines, bm25, reproduce
from tosloc.lab.commands.reports import evidence, evidence_lines, report_parts
from tosloc.lab.commands.results import compare, evaluate
from tosloc.lab.commands.suspects import suspects

app = typer.Typer(rich_markup_mode=None)
_DATA = "--repo tomcat.git --reports Tomcat.xlsx"
_COMMANDS: list[tuple[Callable[..., None], str]] = [
    (evaluate, "evaluate runs/left-out --markdown"),
    (compare, "compare runs/first runs/second --by language"),
    (baselines, f"baselines buglocator bluir {_DATA} --out runs/baselines"),
    (bm25, f"bm25 {_DATA} --out runs/bm25"),
    (reproduce, "reproduce table-4 --projects projects.toml --out paper"),
    (
        reproduce_check,
        "reproduce-check --baseline a --advanced b --our-baseline c --our-advanced d",
    ),
    (renames, "renames flask.git requests.git --files 200"),
    (report_parts, "report-parts reports.jsonl"),
    (evidence, "evidence --projects projects.toml"),
    (evidence_lines, "evidence-lines --projects projects.toml"),
    (truncation, "truncation runs/tomcat"),
    (calibration, "calibration runs/tomcat --figure calibration"),
    (feature_ablation, "feature-ablation --projects projects.toml"),
    (function_weights, "function-weights --projects projects.toml"),
    (pretrain, "pretrain --projects projects.toml --out weights"),
    (presence, "presence --projects projects.toml --out presence.json"),
    (suspects, "suspects --projects projects.toml --unseen others.toml"),
    (llm_prompts, "llm-prompts --projects projects.toml --out prompts"),
    (llm_answers, "llm-answers prompts answers"),
    (bisect, "bisect --projects projects.toml"),
    (pack, f"pack runs/tomcat {_DATA} --out tomcat.pack"),
    (train_encoder, "train-encoder tomcat.pack encoder.toml --out encoder"),
]
"""Function and example of each command."""
for _command, _example in _COMMANDS:
    app.command(epilog=f"Example: tosloc lab {_example}")(_command)
