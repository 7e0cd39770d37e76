"""Judging rankings: measures, runs on disk and their evaluation. Imports no model and no data reader."""

from tosloc.evaluation.evaluate import JUDGEMENTS_FILE, RUN_FILE, Evaluation, ReportScores, evaluate, evaluate_folder
from tosloc.evaluation.judgements import Judgement, read_judgements, write_judgements
from tosloc.evaluation.runs import Run, read_run, write_run

__all__ = [
    "JUDGEMENTS_FILE",
    "RUN_FILE",
    "Evaluation",
    "Judgement",
    "ReportScores",
    "Run",
    "evaluate",
    "evaluate_folder",
    "read_judgements",
    "read_run",
    "write_judgements",
    "write_run",
]
