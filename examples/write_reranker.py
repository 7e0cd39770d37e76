"""Write a reranker: a second stage that scores the first files of a ranking again.

This one moves up files whose text contains the identifiers that the report writes, letter by
letter. It learns nothing. To train a reranker with `tosloc train`, follow the row "reranker" of the
table in docs/architecture.md.

python examples/write_reranker.py [REPOSITORY]

Evaluate it on labelled reports, and compare it with the shipped order, report by report:

OPTIONS="--reports examples/reports.jsonl --repo .venv/flask.git --split all"
tosloc rank $OPTIONS --out runs/shipped
tosloc rank $OPTIONS --out runs/own --reranker examples/write_reranker.py:IdentifierReranker
tosloc compare runs/shipped runs/own --split all
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from tosloc import Localizer
from tosloc.core.config import Config
from tosloc.core.progress import Progress, ignore_progress
from tosloc.rerank.base import Candidates, Reranked, Reranker, RerankingContext, TrainingSet

REPOSITORY = sys.argv[1] if len(sys.argv) > 1 else ".venv/flask.git"
REPORT = """Wrong folder for an app inside a namespace package

`instance_path` and `_find_package_path` use the first folder of the package.
"""
IDENTIFIER = re.compile(r"\w+_\w+")


class IdentifierReranker(Reranker):
    """Adds ``weight`` to the score of a file for each identifier of the report in its text."""

    name = "identifiers"
    depth = 20
    weight = 1.0

    def score(
        self,
        candidates: Candidates,
        context: RerankingContext,
        progress: Progress = ignore_progress,
    ) -> Reranked:
        """Return the new scores of the candidates."""
        assert context.texts is not None
        report = candidates.report
        identifiers = set(IDENTIFIER.findall(f"{report.summary}\n{report.description}"))
        texts = dict(context.texts(candidates.blobs))
        counts = np.zeros(len(candidates))
        for position, blob in enumerate(candidates.blobs):
            text = texts[blob] or ""
            counts[position] = sum(identifier in text for identifier in identifiers)
        return Reranked(candidates.scores + self.weight * counts)

    def can_score(self, context: RerankingContext) -> bool:
        """Return whether the texts of files are available."""
        return context.texts is not None

    @classmethod
    def from_config(cls, config: Config) -> Self:
        """Return the reranker; it has no settings."""
        return cls()

    def fit(
        self,
        training_set: TrainingSet,
        context: RerankingContext,
        folder: Path,
        seed: int,
        progress: Progress = ignore_progress,
    ) -> Self:
        """Learn nothing."""
        return self

    def save(self, folder: Path) -> None:
        """Refuse to be saved: this reranker is not for checkpoints."""
        raise NotImplementedError

    @classmethod
    def from_record(cls, record: Mapping[str, Any], folder: Path) -> Self:
        """Refuse to be read from a checkpoint."""
        raise NotImplementedError


def main() -> None:
    """Print the first files of an answer without and with the reranker."""
    for reranker in (None, IdentifierReranker()):
        with Localizer.open(REPOSITORY, "none", rerank=reranker) as localizer:
            answer = localizer.localize(REPORT, top=3)
        name = "no reranker" if reranker is None else reranker.name
        print(f"{name}: {', '.join(hit.path for hit in answer.hits)}")


if __name__ == "__main__":
    main()
