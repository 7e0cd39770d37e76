"""Stage one's weights: the weighted sum, the learned ranker, its fits and its calibration."""

from tosloc.rank.model.calibration import (
    CALIBRATED_FILES,
    DEFAULT_TEMPERATURE,
    MAX_TEMPERATURE,
    MIN_TEMPERATURE,
    TEMPERATURE_KEY,
    JudgedAnswer,
    fit_temperature,
    match_temperature,
    shares,
)
from tosloc.rank.model.presence import (
    LOW_PRESENCE,
    SIGNALS,
    PresenceModel,
    fit_presence,
    presence_signals,
    shipped_presence,
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
    "CALIBRATED_FILES",
    "DEFAULT_TEMPERATURE",
    "LOW_PRESENCE",
    "MAX_TEMPERATURE",
    "MIN_TEMPERATURE",
    "SIGNALS",
    "TEMPERATURE_KEY",
    "HeadRanker",
    "JudgedAnswer",
    "PresenceModel",
    "StageOne",
    "StageOneResult",
    "Trees",
    "fit_presence",
    "fit_temperature",
    "fit_trees",
    "load_lightgbm",
    "match_temperature",
    "presence_signals",
    "shares",
    "shipped_presence",
    "weighted_sums",
]
