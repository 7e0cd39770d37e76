"""Judging rankings: measures, runs on disk and their evaluation. Imports no model and no data reader."""

from tosloc.evaluate.evaluate import Evaluation, ReportScores, evaluate
from tosloc.evaluate.judgements import (
    FILE_LISTS_FILE,
    FileLists,
    Judgement,
    Qrels,
    read_file_lists,
    read_judgements,
    write_file_lists,
    write_judgements,
)
from tosloc.evaluate.measures import Measure
from tosloc.evaluate.run_paths import JUDGEMENTS_FILE, RUN_FILE, ScoredRun, evaluate_folder, read_scored
from tosloc.evaluate.runs import Run, read_run, write_run

__all__ = [
    "FILE_LISTS_FILE",
    "JUDGEMENTS_FILE",
    "RUN_FILE",
    "Evaluation",
    "FileLists",
    "Judgement",
    "Measure",
    "Qrels",
    "ReportScores",
    "Run",
    "ScoredRun",
    "evaluate",
    "evaluate_folder",
    "read_file_lists",
    "read_judgements",
    "read_run",
    "read_scored",
    "write_file_lists",
    "write_judgements",
    "write_run",
]
