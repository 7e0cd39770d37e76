"""DNNLOC's phi1: projections of reports and files, learned by autoencoders, and a network over pairs of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy import sparse

from tosloc.lab.baselines.dnnloc.settings import DnnlocSettings
from tosloc.lab.baselines.dnnloc.terms import TermWeighting
from tosloc.lab.baselines.training import Epoch, in_batches, seeded
from tosloc.lab.baselines.vsm import Counts
from tosloc.records import FloatArray, IntArray, LongArray

if TYPE_CHECKING:
    import torch

ROWS: Final = 4096
"""Files that the network sees together."""


def relevancy_network(seed: int, settings: DnnlocSettings, report_terms: int, code_terms: int) -> Any:
    """Projections of both sides; the first layer over them in its two halves, and the layers above."""
    from torch import nn

    first, second = settings.relevancy_hidden

    def build() -> torch.nn.Module:
        return nn.ModuleDict(
            {
                "report": nn.Linear(report_terms, settings.projection),
                "code": nn.Linear(code_terms, settings.projection),
                "report_half": nn.Linear(settings.projection, first),
                "code_half": nn.Linear(settings.projection, first, bias=False),
                "above": nn.Sequential(nn.Linear(first, second), nn.ReLU(), nn.Linear(second, 1)),
            }
        )

    return seeded(seed, build)


class Relevancy:
    """phi1: both projections and the network above them."""

    def __init__(
        self, seed: int, settings: DnnlocSettings, report: TermWeighting, code: TermWeighting, device: torch.device
    ) -> None:
        self.report, self.code, self.device = report, code, device
        self.network = relevancy_network(seed, settings, report.width, code.width).to(device)
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


def autoencoder(seed: int, layer: torch.nn.Linear) -> torch.nn.Module:
    """A projection with its way back; the layer is shared, so that it learns."""
    from torch import nn

    decoder = seeded(seed, lambda: nn.Linear(layer.out_features, layer.in_features))
    return nn.Sequential(layer, nn.Sigmoid(), decoder.to(layer.weight.device))


def autoencoder_epoch(coder: torch.nn.Module, vectors: sparse.csr_array, size: int) -> Epoch:
    """One pass of an autoencoder over vectors (R or B, V): mean squared error; 1 is that of guessing nothing."""
    import torch

    device = next(coder.parameters()).device

    def loss(batch: LongArray) -> torch.Tensor:
        target = torch.from_numpy(vectors[batch].toarray()).to(device)
        mean: torch.Tensor = (coder(target) - target).square().mean()
        return mean

    return in_batches(vectors.shape[0], size, loss)
