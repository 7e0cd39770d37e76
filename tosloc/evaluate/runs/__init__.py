"""Runs and judgements: their types, and the files that they are read from and written to."""

from tosloc.evaluate.runs.folder import RunFolder
from tosloc.evaluate.runs.judgements import Judgement, Qrels
from tosloc.evaluate.runs.run import Run, header_counts

__all__ = [
    "Judgement",
    "Qrels",
    "Run",
    "RunFolder",
    "header_counts",
]
