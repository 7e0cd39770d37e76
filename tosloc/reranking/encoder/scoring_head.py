"""The scoring head: chunk vectors of a file become one, and its closeness to the report's vector becomes a score."""

from __future__ import annotations

from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

# B reports, C candidates of a report, N chunks of a file, d width, P component scores

ChunkPoolingKind: TypeAlias = Literal["softmax", "mean", "max", "first"]


class ChunkPooling(nn.Module):
    """One vector of a file from those of its chunks; padding chunks change nothing.

    ``softmax`` is the paper's ``softmax(Linear(Normalize(E)))^T E``: one learned weight for each chunk
    (docs/method.md, section 3).
    """

    def __init__(self, kind: ChunkPoolingKind, width: int) -> None:
        super().__init__()
        self.kind = kind
        self.weight = nn.Linear(width, 1) if kind == "softmax" else None

    def forward(self, chunks_xNd: Tensor, real_xN: Tensor) -> Tensor:
        """(..., d) vectors of files; a file without any real chunk is 0."""
        mask_xN1 = real_xN.unsqueeze(-1)
        if self.kind == "first":
            return chunks_xNd[..., 0, :] * mask_xN1[..., 0, :]
        if self.kind == "max":
            most_xd = chunks_xNd.masked_fill(~mask_xN1, -torch.inf).amax(-2)
            return torch.where(real_xN.any(-1, keepdim=True), most_xd, torch.zeros_like(most_xd))
        if self.weight is None:
            share_xN1 = mask_xN1.to(chunks_xNd.dtype) / mask_xN1.sum(-2, keepdim=True).clamp(min=1)
        else:
            guess_xN1 = self.weight(functional.normalize(chunks_xNd, dim=-1))
            # a file of padding alone would give softmax nothing but infinities
            guess_xN1 = guess_xN1.masked_fill(~mask_xN1, torch.finfo(guess_xN1.dtype).min)
            share_xN1 = guess_xN1.softmax(-2) * mask_xN1
        return (share_xN1 * chunks_xNd).sum(-2)


class Adapter(nn.Module):
    """A residual low-rank layer over a frozen encoder's vectors; it begins as the identity."""

    def __init__(self, width: int, rank: int) -> None:
        super().__init__()
        self.down = nn.Linear(width, rank, bias=False)
        self.up = nn.Linear(rank, width, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, vectors_xd: Tensor) -> Tensor:
        """(..., d) vectors."""
        changed: Tensor = vectors_xd + self.up(self.down(vectors_xd))
        return changed


class ScoringHead(nn.Module):
    """Scores of candidates from vectors: everything of the model but the encoders.

    The paper's is ``report . file``. With ``cosine`` both are normalised and the score has a learned scale; with
    ``best_chunk`` the best chunk's closeness joins the file's.
    """

    def __init__(
        self,
        width: int,
        chunk_pooling: ChunkPoolingKind = "softmax",
        *,
        adapter_rank: int = 0,
        cosine: bool = False,
        best_chunk: bool = False,
    ) -> None:
        super().__init__()
        self.settings = {
            "width": width,
            "chunk_pooling": chunk_pooling,
            "adapter_rank": adapter_rank,
            "cosine": cosine,
            "best_chunk": best_chunk,
        }
        self.cosine, self.best_chunk = cosine, best_chunk
        self.chunk_pooling = ChunkPooling(chunk_pooling, width)
        self.report_adapter: nn.Module = Adapter(width, adapter_rank) if adapter_rank else nn.Identity()
        self.code_adapter: nn.Module = Adapter(width, adapter_rank) if adapter_rank else nn.Identity()
        parts = 2 if best_chunk else 1
        self.scale = nn.Parameter(torch.full((parts,), 10.0 / parts)) if cosine else None

    def forward(self, report_Bd: Tensor, chunks_BCNd: Tensor, real_BCN: Tensor) -> Tensor:
        """(B, C) scores."""
        report_B1d = self.report_adapter(report_Bd).unsqueeze(1)
        chunks_BCNd = self.code_adapter(chunks_BCNd)
        files_BCd = self.chunk_pooling(chunks_BCNd, real_BCN)
        if self.cosine:
            report_B1d = functional.normalize(report_B1d, dim=-1)
            files_BCd = functional.normalize(files_BCd, dim=-1)
        parts_BCP = torch.einsum("bqd,bcd->bcq", report_B1d, files_BCd)
        if self.best_chunk:
            chunks_BCNd = functional.normalize(chunks_BCNd, dim=-1) if self.cosine else chunks_BCNd
            each_BCN1 = torch.einsum("bqd,bcnd->bcnq", report_B1d, chunks_BCNd)
            lowest = torch.finfo(each_BCN1.dtype).min
            best_BC1 = each_BCN1.masked_fill(~real_BCN.unsqueeze(-1), lowest).amax(-2)
            best_BC1 = torch.where(real_BCN.any(-1, keepdim=True), best_BC1, torch.zeros_like(best_BC1))
            parts_BCP = torch.cat((parts_BCP, best_BC1), -1)
        scores_BC: Tensor = parts_BCP.sum(-1) if self.scale is None else parts_BCP @ self.scale
        return scores_BC
