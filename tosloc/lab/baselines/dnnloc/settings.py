"""Settings of DNNLOC; their sources stand in configs/baselines/dnnloc.toml."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, PositiveInt, Strict

from tosloc.lab.baselines.training import LearningSettings


class DnnlocSettings(LearningSettings):
    """Settings of DNNLOC beside those that every learned technique has."""

    NO_UPSTREAM: ClassVar[str] = "DNNLOC has no public code of its authors to follow: use it with the profile 'clean'"

    negatives: PositiveInt = 300
    wrong_files: Literal["hardest", "random"] = "hardest"
    """Which other files of a report's version the networks learn from."""
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
