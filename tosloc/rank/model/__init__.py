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
    load_lightgbm,
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
    "load_lightgbm",
    "match_temperature",
    "shares",
]
