"""How far a training with early stopping has come: kept after every epoch, so that a killed one goes on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class EarlyStopping:
    """How far training has come."""

    epoch: int = 0
    """Epochs that are finished."""
    best: float = -math.inf
    """Best value of what stops it: a measure on validation, or the loss below 0 where there is no validation."""
    best_epoch: int = 0
    curve: list[dict[str, Any]] = field(default_factory=list)
    """One entry an epoch: loss on train, measures on validation; of an encoder also the seconds of the pass over train
    and the loss of each step."""

    @property
    def epochs_since_best(self) -> int:
        """Epochs since the best one."""
        return self.epoch - self.best_epoch
