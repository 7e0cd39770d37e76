"""The model that scores a report's candidates: encoders, a scoring head on them, and the loss."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from tosloc.core.arrays import FloatArray
from tosloc.core.config import StageTwoSettings
from tosloc.core.errors import CheckpointError
from tosloc.rerank.base import Candidates
from tosloc.rerank.encoder.encoders import Encoder, Float16Array, Piece
from tosloc.rerank.encoder.precision import computes_in_float16

Chunks: TypeAlias = Float16Array | list[Piece]
"""(U, d) vectors of the U chunks of a file or report, or their tokens if the encoder is trained."""

ADAPTER_RANK: Final = 64
"""Rank of the trained layers on the encoders' vectors (docs/results.md, the encoder)."""
_INITIAL_SCALE: Final = 5.0


@contextmanager
def temporary_seed(seed: int) -> Iterator[None]:
    """Seed torch's random numbers within the block, and restore their state after it."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield


@dataclass(frozen=True, eq=False)
class EncodedQuery:
    """A report in the form that the model reads, with its candidates.

    ``report`` is one chunk: its (1, d) vector, or its tokens if the report encoder is trained.
    """

    candidates: Candidates
    report: Chunks


class ChunkPooling(nn.Module):
    """A layer that turns the vectors of a file's chunks into one vector.

    It is the paper's ``softmax(Linear(Normalize(E)))^T E``, where E are the chunks' vectors
    (docs/method.md, section 3).
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Linear(width, 1)

    def forward(self, chunks_CLd: Tensor, real_CL: Tensor) -> Tensor:
        """Return (C, d) vectors of files from (C, L, d) chunk vectors.

        ``real_CL`` marks chunks that are not padding. The vector of a file without any real chunk
        is 0.
        """
        logits_CL = self.weight(functional.normalize(chunks_CLd, dim=-1)).squeeze(-1)
        # Minus infinity would make the softmax of a file without chunks undefined.
        logits_CL = logits_CL.masked_fill(~real_CL, torch.finfo(logits_CL.dtype).min)
        share_CL1: Tensor = (logits_CL.softmax(-1) * real_CL).unsqueeze(-1)
        return (share_CL1 * chunks_CLd).sum(-2)


def make_adapter(width: int) -> nn.Sequential:
    """Return a low-rank layer whose output is added to vectors (..., d); untrained, it is 0."""
    down = nn.Linear(width, ADAPTER_RANK, bias=False)
    up = nn.Linear(ADAPTER_RANK, width, bias=False)
    nn.init.zeros_(up.weight)
    return nn.Sequential(down, up)


class ScoringHead(nn.Module):
    """The part of the model that scores candidates by vectors, without the encoders.

    The paper's score is the dot product ``report . file``. With ``cosine`` each side has an adapter
    and unit vectors. The score is then the sum of two cosines, each times a learned scale: of
    report and file, and of report and best chunk.
    """

    def __init__(self, width: int, *, cosine: bool) -> None:
        super().__init__()
        self.pooling: nn.Module = ChunkPooling(width)
        self.adapters = nn.ModuleList()
        if cosine:
            self.adapters.append(make_adapter(width))  # of reports
            self.adapters.append(make_adapter(width))  # of code
        self.scale = nn.Parameter(torch.full((2,), _INITIAL_SCALE)) if cosine else None

    def weigh_chunks_equally(self) -> None:
        """Make a file's vector the mean of its chunks' vectors until something is learned."""
        if isinstance(self.pooling, ChunkPooling):
            nn.init.zeros_(self.pooling.weight.weight)

    def forward(self, report_d: Tensor, chunks_CLd: Tensor, real_CL: Tensor) -> Tensor:
        """Return (C,) scores of C files from the report's vector and (C, L, d) chunk vectors.

        ``real_CL`` marks chunks that are not padding.
        """
        if self.scale is None:
            return self.pooling(chunks_CLd, real_CL) @ report_d  # type: ignore[no-any-return]
        report_adapter, code_adapter = self.adapters
        report_d = report_d + report_adapter(report_d)
        chunks_CLd = chunks_CLd + code_adapter(chunks_CLd)
        report_d = functional.normalize(report_d, dim=-1)
        cosine_CL = functional.normalize(chunks_CLd, dim=-1) @ report_d
        best_C = cosine_CL.masked_fill(~real_CL, torch.finfo(cosine_CL.dtype).min).amax(-1)
        best_C = best_C.where(real_CL.any(-1), torch.zeros_like(best_C))
        files_Cd = functional.normalize(self.pooling(chunks_CLd, real_CL), dim=-1)
        return torch.stack((files_Cd @ report_d, best_C), -1) @ self.scale


class RerankingModel(nn.Module):
    """Encoders of code and of reports, which may be the same, and the scoring head over them.

    The setting ``chunks_at_once`` limits how many texts are kept in memory for the backward pass,
    in which the encoders run again (activation checkpointing). Raises CheckpointError if the
    encoders do not fit together.
    """

    def __init__(
        self, settings: StageTwoSettings, code: Encoder, report: Encoder, seed: int
    ) -> None:
        super().__init__()
        if report.width != code.width:
            raise CheckpointError(
                f"the vectors of the encoders differ in width ({code.name}: {code.width},"
                f" {report.name}: {report.width}); name two encoders of the same width"
            )
        self.settings = settings
        self.code = code
        self.report = report
        self.trainable_encoders: dict[str, Encoder] = {}
        if settings.training.learns == "both":
            self.trainable_encoders = self.encoders
        for encoder in self.encoders.values():
            encoder.requires_grad_(bool(self.trainable_encoders))
        with temporary_seed(seed):
            self.head = ScoringHead(code.width, cosine=settings.scoring == "cosine")

    @property
    def encoders(self) -> dict[str, Encoder]:
        """Side ("code" or "report") -> its encoder; only "code" if both use the same one."""
        if self.report is self.code:
            return {"code": self.code}
        return {"code": self.code, "report": self.report}

    @property
    def trainable_parameters(self) -> dict[str, nn.Parameter]:
        """Name -> parameter, for the parameters that are trained."""
        return {name: value for name, value in self.named_parameters() if value.requires_grad}

    def forward(self, query: EncodedQuery, chunks: Mapping[str, Chunks]) -> Tensor:
        """Return (C,) scores of the candidates.

        ``chunks`` maps blobs to their chunks; a blob that it does not contain has none.
        """
        files = [chunks.get(blob, []) for blob in query.candidates.blobs]
        report_d = self._encode(self.report, [query.report])[0]
        chunks_Ud = self._encode(self.code, files)
        sizes_C = torch.tensor([len(file) for file in files], device=chunks_Ud.device)
        longest = max(1, *(len(file) for file in files))
        real_CL = torch.arange(longest, device=chunks_Ud.device) < sizes_C.unsqueeze(-1)
        chunks_CLd = chunks_Ud.new_zeros((*real_CL.shape, self.code.width))
        chunks_CLd[real_CL] = chunks_Ud
        if computes_in_float16(chunks_CLd.device):
            # A dot product of encoders' vectors can exceed 65,504, the largest float16.
            with torch.autocast(chunks_CLd.device.type, enabled=False):
                return self.head(report_d.float(), chunks_CLd.float(), real_CL)  # type: ignore[no-any-return]
        return self.head(report_d, chunks_CLd, real_CL)  # type: ignore[no-any-return]

    def _encode(self, encoder: Encoder, texts: Sequence[Chunks]) -> Tensor:
        """Return (U, d) vectors of the U chunks of all texts, one text after the other.

        The texts are either all vectors or all tokens; a text without chunks is an empty list.
        """
        vectors = [np.zeros((0, encoder.width), dtype=np.float16)]
        pieces: list[Piece] = []
        for text in texts:
            if isinstance(text, list):
                pieces.extend(text)
            else:
                vectors.append(text)
        known_vectors = np.concatenate(vectors).astype(np.float32)
        parts = [torch.from_numpy(known_vectors).to(encoder.device)]
        at_once = self.settings.training.chunks_at_once
        size = at_once or len(pieces) or 1
        for start in range(0, len(pieces), size):
            batch = pieces[start : start + size]
            if at_once:
                parts.append(checkpoint(encoder, batch, use_reentrant=False))
            else:
                parts.append(encoder(batch))
        return torch.cat(parts)

    @torch.inference_mode()
    def scores(
        self, queries: Sequence[EncodedQuery], chunks: Mapping[str, Chunks], trained_until: float
    ) -> Iterator[FloatArray]:
        """Yield (C,) scores of each report's candidates.

        All scores are 0 for a report that was opened before ``trained_until``.
        """
        self.eval()
        for query in queries:
            candidates = query.candidates
            if len(candidates) == 0 or candidates.opened < trained_until:
                yield np.zeros(len(candidates))
            else:
                yield self(query, chunks).cpu().numpy().astype(np.float64)


def contrastive_loss(scores_C: Tensor, fixed_C: Tensor) -> Tensor:
    """Return the mean over fixed files of ``-log(e^s+ / (e^s+ + sum of e^s over wrong files))``.

    The wrong files are those candidates of the same report that were not fixed (docs/method.md,
    section 3).
    """
    right = scores_C[fixed_C]
    wrong = scores_C[~fixed_C].logsumexp(0)
    return (torch.logaddexp(right, wrong) - right).mean()
