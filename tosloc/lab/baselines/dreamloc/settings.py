"""Settings of DreamLoc; their sources stand in configs/baselines/dreamloc.toml."""

from __future__ import annotations

from typing import Annotated, ClassVar, Self

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from tosloc.lab.baselines.training import LearningSettings


class DreamLocSettings(LearningSettings):
    """Settings of DreamLoc beside those that every learned technique has; the defaults suit a processor."""

    NO_UPSTREAM: ClassVar[str] = (
        "DreamLoc has no upstream profile: the features of its public code tell the label; use it with the profile"
        " 'clean'"
    )

    validation_reports: PositiveInt = 60
    embedding: PositiveInt = 100
    """Width of a word vector."""
    word2vec_epochs: PositiveInt = 5
    word2vec_window: PositiveInt = 5
    word2vec_negatives: PositiveInt = 5
    word2vec_words: NonNegativeInt = 2_000
    """First words of each file that vectors are learned from; 0 for all."""
    report_length: PositiveInt = 300
    snippet_length: PositiveInt = 100
    snippets: PositiveInt = 20
    match_hidden: Annotated[int, Field(ge=2)] = 100
    best_snippets: PositiveInt = 3
    wide_hidden: PositiveInt = 20
    fusion_hidden: Annotated[int, Field(ge=2)] = 100
    negatives: PositiveInt = 50
    """Sampled wrong files of each report."""
    epochs: PositiveInt = 10
    batch: PositiveInt = 64
    margin: PositiveFloat = 1.0
    cache_mb: NonNegativeInt = 512
    """Memory for what report words gave files."""

    @model_validator(mode="after")
    def _enough_snippets(self) -> Self:
        if self.best_snippets > self.snippets:
            raise ValueError("best_snippets cannot be more than snippets")
        return self
