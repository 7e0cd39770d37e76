"""Runs and judgements: their types, and the files that they are read from and written to."""

from tosloc.evaluate.runs.judgements import Judgement, Qrels, to_qrels, write_judgements
from tosloc.evaluate.runs.run import (
    TRAINED_ON,
    UNJUDGED_REPORTS,
    WEAK_REPORTS,
    Run,
    read_run,
    write_known_ranks,
    write_run,
)

__all__ = [
    "TRAINED_ON",
    "UNJUDGED_REPORTS",
    "WEAK_REPORTS",
    "Judgement",
    "Qrels",
    "Run",
    "read_run",
    "to_qrels",
    "write_judgements",
    "write_known_ranks",
    "write_run",
]
