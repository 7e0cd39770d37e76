"""Settings of DNNLOC; their sources stand in configs/baselines/dnnloc.toml."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, Strict

from tosloc.lab.baselines.training import LearningSettings

WrongFiles: TypeAlias = Literal["hardest", "random"]
"""Which other files of a report's version the networks learn from: the most similar by phi2, or any."""
Calibration: TypeAlias = Literal["pairs", "versions"]
"""What gives the range of each feature: the training pairs, or all files of the validation reports' versions."""


class DnnlocSettings(LearningSettings):
    """Settings of DNNLOC beside those that every learned technique has."""

    NO_UPSTREAM: ClassVar[str] = "DNNLOC has no public code of its authors to follow: use it with the profile 'clean'"

    train_reports: NonNegativeInt = 0
    validation_reports: NonNegativeInt = 0
    negatives: PositiveInt = 300
    wrong_files: WrongFiles | Literal["chosen"] = "chosen"
    calibration: Calibration | Literal["chosen"] = "chosen"
    report_terms: PositiveInt = 5_000
    code_terms: PositiveInt = 10_000
    projection: PositiveInt = 600
    """Width of a projection."""
    projection_epochs: PositiveInt = 10
    projection_batch: PositiveInt = 256
    relevancy_share: Annotated[float, Field(gt=0, lt=1)] = 0.6
    """Older part of the training reports, from which phi1 is learned."""
    relevancy_hidden: Annotated[tuple[int, int], Strict(False)] = (600, 300)
    relevancy_epochs: PositiveInt = 20
    relevancy_batch: PositiveInt = 512
    combiner_hidden: PositiveInt = 300
    combiner_epochs: PositiveInt = 50
    combiner_batch: PositiveInt = 1024
    weight_decay: NonNegativeFloat = 1e-5
    """Of the combiner."""
