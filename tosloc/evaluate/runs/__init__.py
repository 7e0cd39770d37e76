"""Runs and judgements: their types, and the files that they are read from and written to."""

from tosloc.evaluate.runs.folder import RunFolder
from tosloc.evaluate.runs.judgements import Judgement, Qrels
from tosloc.evaluate.runs.run import (
    TRAINED_ON,
    UNJUDGED_REPORTS,
    WEAK_REPORTS,
    Run,
)

__all__ = [
    "TRAINED_ON",
    "UNJUDGED_REPORTS",
    "WEAK_REPORTS",
    "Judgement",
    "Qrels",
    "Run",
    "RunFolder",
]
