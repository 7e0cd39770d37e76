"""Judging rankings: measures, runs on disk and their evaluation. Imports no model and no data reader."""

from tosloc.evaluate.evaluate import evaluate
from tosloc.evaluate.judgements import Judgement, Qrels, write_judgements
from tosloc.evaluate.measures import Measure
from tosloc.evaluate.run_paths import evaluate_folder, read_scored
from tosloc.evaluate.runs import Run, read_run, write_run

__all__ = [
    "Judgement",
    "Measure",
    "Qrels",
    "Run",
    "evaluate",
    "evaluate_folder",
    "read_run",
    "read_scored",
    "write_judgements",
    "write_run",
]
