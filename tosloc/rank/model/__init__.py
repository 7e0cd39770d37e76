"""Stage one's weights: the weighted sum, the learned ranker, its fits and its calibration."""

from tosloc.rank.model.calibration import (
    DEFAULT_TEMPERATURE,
    TEMPERATURE_KEY,
    TEMPERATURES,
    JudgedAnswer,
    fit_temperature,
    match_temperature,
    shares,
)
from tosloc.rank.model.presence import (
    PresenceModel,
)
from tosloc.rank.model.stage_one import (
    HeadRanker,
    StageOne,
    StageOneResult,
    Trees,
    fit_trees,
    load_lightgbm,
    weighted_sums,
)

__all__ = [
    "DEFAULT_TEMPERATURE",
    "TEMPERATURES",
    "TEMPERATURE_KEY",
    "HeadRanker",
    "JudgedAnswer",
    "PresenceModel",
    "StageOne",
    "StageOneResult",
    "Trees",
    "fit_temperature",
    "fit_trees",
    "load_lightgbm",
    "match_temperature",
    "shares",
    "weighted_sums",
]
