"""The whole model: two encoders, or the vectors that one of them made before, and the scoring head on top."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tosloc.records import IntArray
from tosloc.reranking.encoder.batches import Batch
from tosloc.reranking.encoder.encoders import Encoder
from tosloc.reranking.encoder.scoring_head import ScoringHead

# B reports, U chunks of a batch, S sequences, L tokens of the longest, d width


class RerankingModel(nn.Module):
    """Scores of candidate lists.

    ``report`` and ``code`` read reports and chunks where a batch brings tokens; they may be one and the same. Where it
    brings vectors, the encoder is not asked.
    With ``at_once`` only so many sequences are held in memory for the backward pass: the encoders run again there
    (activation checkpointing), so that a batch's memory is one part's, whatever its length.
    """

    def __init__(self, report: Encoder | None, code: Encoder | None, head: ScoringHead, at_once: int = 0) -> None:
        super().__init__()
        self.report, self.code, self.head, self.at_once = report, code, head, at_once

    def forward(self, batch: Batch) -> Tensor:
        """(B, C) scores; those of padded candidates mean nothing."""
        device = batch.positions_BCN.device
        report_Bd = batch.report_Bd if batch.report_Bd is not None else self._read(self.report, batch.reports, device)
        chunks_Ud = batch.vectors_Ud if batch.vectors_Ud is not None else self._read(self.code, batch.chunks, device)
        if not len(chunks_Ud):
            chunks_Ud = report_Bd.new_zeros((1, report_Bd.shape[-1]))
        chunks_BCNd = chunks_Ud.to(report_Bd.dtype)[batch.positions_BCN]
        scores: Tensor = self.head(report_Bd, chunks_BCNd, batch.real_BCN)
        return scores

    def _read(self, encoder: Encoder | None, sequences: Sequence[IntArray], device: torch.device) -> Tensor:
        if encoder is None:
            raise ValueError("the batch brings tokens, but no encoder reads them")
        at_once = self.at_once or len(sequences) or 1
        made = []
        for start in range(0, len(sequences), at_once):
            tokens_SL, real_SL = encoder.padded(sequences[start : start + at_once], device)
            if self.at_once and torch.is_grad_enabled():
                made.append(checkpoint(encoder, tokens_SL, real_SL, use_reentrant=False))
            else:
                made.append(encoder(tokens_SL, real_SL))
        return torch.cat(made) if made else torch.zeros((0, encoder.width), device=device)
