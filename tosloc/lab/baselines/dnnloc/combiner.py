"""DNNLOC's combiner: a network over the six features of a pair, scaled by the training pairs; and its loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tosloc.lab.baselines.training import Epoch, in_batches, seeded
from tosloc.records import Float32Array, FloatArray, LongArray

if TYPE_CHECKING:
    import torch

POSITIVE_WEIGHT_LIMIT: Final = 50.0
"""Most that a right pair may weigh against a wrong one."""


@dataclass(eq=False)
class Combiner:
    """The network with the range of each feature."""

    low: FloatArray
    """(6,)"""
    high: FloatArray
    """(6,)"""
    network: torch.nn.Module

    @classmethod
    def build(cls, low: FloatArray, high: FloatArray, hidden: int, seed: int, device: torch.device) -> Combiner:
        """A combiner that has not learned."""
        from torch import nn

        network = seeded(seed, lambda: nn.Sequential(nn.Linear(len(low), hidden), nn.ReLU(), nn.Linear(hidden, 1)))
        return cls(low, high, network.to(device))

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        return next(self.network.parameters()).device

    def scaled(self, features: Float32Array) -> Float32Array:
        """(P, 6) features between 0 and 1; one whose range is a point is 0."""
        span = self.high - self.low
        scaled = np.where(span > 0, (features - self.low) / np.where(span > 0, span, 1.0), 0.0)
        return np.clip(scaled, 0.0, 1.0).astype(np.float32)

    def scores(self, scaled: Float32Array) -> FloatArray:
        """(F,) scores before the sigmoid, rounded so that equal files stay equal wherever they stand in the table."""
        import torch

        with torch.no_grad():
            values = self.network(torch.from_numpy(scaled).to(self.device)).squeeze(-1).cpu().numpy()
        rounded: FloatArray = np.round(values.astype(np.float64), 5)
        return rounded

    def epoch(self, scaled: Float32Array, labels: Float32Array, size: int) -> Epoch:
        """One pass over training pairs (P, 6) with labels (P,)."""
        import torch

        device = self.device
        loss_of = weighted_loss(labels, device)
        values = torch.from_numpy(scaled).to(device)

        def loss(batch: LongArray) -> torch.Tensor:
            return loss_of(self.network(values[torch.from_numpy(batch).to(device)]).squeeze(-1), batch)

        return in_batches(len(scaled), size, loss)


def weighted_loss(labels: Float32Array, device: torch.device) -> Callable[[torch.Tensor, LongArray], torch.Tensor]:
    """Binary cross entropy in which right pairs weigh as much as all wrong ones, within a limit."""
    import torch

    right = float(labels.sum())
    weight = torch.tensor(min((len(labels) - right) / max(right, 1.0), POSITIVE_WEIGHT_LIMIT), device=device)
    targets = torch.from_numpy(labels).to(device)

    def loss(logits: torch.Tensor, batch: LongArray) -> torch.Tensor:
        chosen = targets[torch.from_numpy(batch).to(device)]
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, chosen, pos_weight=weight)

    return loss
