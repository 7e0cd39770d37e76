"""Judging rankings: measures, runs on disk and their evaluation. Imports no model and no data reader."""

from tosloc.evaluation.evaluate import Evaluation, ReportScores, evaluate
from tosloc.evaluation.judgements import Judgement, Qrels, read_judgements, write_judgements
from tosloc.evaluation.measures import Measure
from tosloc.evaluation.places import JUDGEMENTS_FILE, RUN_FILE, Judged, evaluate_folder, read_judged
from tosloc.evaluation.runs import Run, read_run, write_run
from tosloc.evaluation.searched import SEARCHED_FILE, Searched, read_searched, write_searched

__all__ = [
    "JUDGEMENTS_FILE",
    "RUN_FILE",
    "SEARCHED_FILE",
    "Evaluation",
    "Judged",
    "Judgement",
    "Measure",
    "Qrels",
    "ReportScores",
    "Run",
    "Searched",
    "evaluate",
    "evaluate_folder",
    "read_judged",
    "read_judgements",
    "read_run",
    "read_searched",
    "write_judgements",
    "write_run",
    "write_searched",
]
