"""DNNLOC's settings (sources: configs/baselines/dnnloc.toml) and networks: the combiner, projections and phi1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, TypeAlias

import numpy as np
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt, Strict
from scipy import sparse

from tosloc.lab.baselines.dnnloc.features import TermWeighting
from tosloc.lab.baselines.training import Epoch, LearningSettings, in_batches, seeded
from tosloc.lab.baselines.vsm import Counts
from tosloc.records import Float32Array, FloatArray, IntArray, LongArray

if TYPE_CHECKING:
    import torch

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


POSITIVE_WEIGHT_LIMIT: Final = 50.0
"""Most that a right pair may weigh against a wrong one."""


@dataclass(eq=False)
class Combiner:
    """The network with the range of each feature."""

    low: FloatArray
    high: FloatArray
    network: torch.nn.Module

    @classmethod
    def build(cls, low: FloatArray, high: FloatArray, hidden: int, seed: int, device: torch.device) -> Combiner:
        """A combiner that has not learned."""
        from torch import nn

        network = seeded(seed, lambda: nn.Sequential(nn.Linear(len(low), hidden), nn.ReLU(), nn.Linear(hidden, 1)))
        return cls(low, high, network.to(device))

    def scaled(self, features: Float32Array) -> Float32Array:
        """(P, 6) features between 0 and 1; one whose range is a point is 0."""
        span = self.high - self.low
        scaled = np.where(span > 0, (features - self.low) / np.where(span > 0, span, 1.0), 0.0)
        return np.clip(scaled, 0.0, 1.0).astype(np.float32)

    def scores(self, scaled: Float32Array) -> FloatArray:
        """(F,) scores before the sigmoid, rounded so that equal files stay equal wherever they stand in the table."""
        import torch

        with torch.no_grad():
            device = next(self.network.parameters()).device
            values = self.network(torch.from_numpy(scaled).to(device)).squeeze(-1).cpu().numpy()
        rounded: FloatArray = np.round(values.astype(np.float64), 5)
        return rounded


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


ROWS: Final = 4096


class Relevancy:
    """phi1: both projections and the network above them."""

    def __init__(
        self, seed: int, settings: DnnlocSettings, report: TermWeighting, code: TermWeighting, device: torch.device
    ) -> None:
        from torch import nn

        self.report, self.code, self.device = report, code, device
        (first, second), projection = settings.relevancy_hidden, settings.projection

        def build() -> torch.nn.Module:
            return nn.ModuleDict(
                {
                    "report": nn.Linear(report.width, projection),
                    "code": nn.Linear(code.width, projection),
                    "report_half": nn.Linear(projection, first),
                    "code_half": nn.Linear(projection, first, bias=False),
                    "above": nn.Sequential(nn.Linear(first, second), nn.ReLU(), nn.Linear(second, 1)),
                }
            )

        self.network: Any = seeded(seed, build).to(device)
        """Projections of both sides; the first layer over them in its two halves, and the layers above."""
        self._code_halves: torch.Tensor | None = None
        self._projected: torch.Tensor | None = None

    @property
    def above_projections(self) -> torch.nn.Module:
        """What learns once the projections are learned."""
        from torch import nn

        return nn.ModuleDict({name: self.network[name] for name in ("report_half", "code_half", "above")})

    def project_files(self, counts: Counts) -> torch.Tensor:
        """(B, H) projections of all blobs, made once."""
        import torch

        if self._projected is None:
            layer = self.network["code"]
            vectors = self.code.matrix(counts)
            weight = layer.weight.detach().cpu().numpy().T
            made = np.empty((vectors.shape[0], weight.shape[1]), dtype=np.float32)
            for start in range(0, len(made), ROWS):
                made[start : start + ROWS] = vectors[start : start + ROWS] @ weight
            with torch.no_grad():
                self._projected = torch.sigmoid(torch.from_numpy(made).to(self.device) + layer.bias)
        return self._projected

    def project_reports(self, texts: Sequence[Sequence[str]]) -> torch.Tensor:
        """(R, H) projections of reports given as terms."""
        import torch

        vectors = np.array([self.report.vector(terms) for terms in texts], dtype=np.float32)
        with torch.no_grad():
            projected: torch.Tensor = torch.sigmoid(
                self.network["report"](torch.from_numpy(vectors.reshape(-1, self.report.width)).to(self.device))
            )
        return projected

    def logits(self, reports_PH: torch.Tensor, code_PH: torch.Tensor) -> torch.Tensor:
        """(P,) logits of pairs, to learn from."""
        import torch

        network = self.network
        hidden = torch.relu(network["report_half"](reports_PH) + network["code_half"](code_PH))
        logits: torch.Tensor = network["above"](hidden).squeeze(-1)
        return logits

    def forget(self) -> None:
        """The network has learned: what it gave files is no longer right."""
        self._code_halves = None

    def of_rows(self, report_H: torch.Tensor, rows: IntArray, counts: Counts) -> FloatArray:
        """(F,) phi1 of one report and files, given as rows of blobs; 0 for -1, a file that could not be read."""
        import torch

        with torch.no_grad():
            if self._code_halves is None:
                self._code_halves = self.network["code_half"](self.project_files(counts))
            report_half = self.network["report_half"](report_H)
            distinct, back = np.unique(rows, return_inverse=True)
            values = np.empty(len(distinct))
            for start in range(0, len(distinct), ROWS):
                part = torch.from_numpy(distinct[start : start + ROWS].astype(np.int64)).to(self.device)
                hidden = torch.relu(self._code_halves[part.clamp(min=0)] + report_half)
                logits = self.network["above"](hidden).squeeze(-1)
                values[start : start + ROWS] = torch.sigmoid(logits).cpu().numpy()
        values[distinct < 0] = 0.0
        return values[back]


def autoencoder(
    seed: int, layer: torch.nn.Linear, vectors: sparse.csr_array, size: int
) -> tuple[torch.nn.Module, Epoch]:
    """A projection with its way back, and one pass of it over vectors (R or B, V): mean squared error; 1 is that of
    guessing nothing. The layer is shared, so that it learns.
    """
    import torch
    from torch import nn

    device = layer.weight.device
    decoder = seeded(seed, lambda: nn.Linear(layer.out_features, layer.in_features)).to(device)
    coder = nn.Sequential(layer, nn.Sigmoid(), decoder)

    def loss(batch: LongArray) -> torch.Tensor:
        target = torch.from_numpy(vectors[batch].toarray()).to(device)
        mean: torch.Tensor = (coder(target) - target).square().mean()
        return mean

    return coder, in_batches(vectors.shape[0], size, loss)
