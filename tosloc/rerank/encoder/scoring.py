"""The model over a report's candidates: encoders, the head that scores what they read, and the loss that teaches both.

Shapes: C candidates of a report, N chunks of the longest file, U chunks of all its files, d width.
"""

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

from tosloc.core.config import StageTwoSettings
from tosloc.core.errors import CheckpointError
from tosloc.core.records import Float16Array, FloatArray
from tosloc.rerank.base import Candidates
from tosloc.rerank.encoder.encoders import Encoder, Piece

Chunks: TypeAlias = Float16Array | list[Piece]
"""(n, d) vectors of a file's or a report's chunks, or their tokens where the encoder learns."""

ADAPTER_RANK: Final = (
    64  # of the layers learned over the encoders' vectors (docs/results.md, the encoder)
)


@contextmanager
def temporary_seed(seed: int) -> Iterator[None]:
    """Seed torch's random numbers within the block; afterwards they go on as before it."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield


@dataclass(frozen=True, eq=False)
class EncodedQuery:
    """A report as the model reads it, and its candidates."""

    candidates: Candidates
    report: Chunks  # (1, d) what a report encoder that does not learn made of it, or its one piece


class ChunkPooling(nn.Module):
    """One vector of a file: the paper's ``softmax(Linear(Normalize(E)))^T E`` (docs/method.md, section 3)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Linear(width, 1)

    def forward(self, chunks_CNd: Tensor, real_CN: Tensor) -> Tensor:
        """(C, d) vectors of files; a file without any real chunk is 0."""
        guess_CN = self.weight(functional.normalize(chunks_CNd, dim=-1)).squeeze(-1)
        # a file of padding alone would give softmax nothing but infinities
        guess_CN = guess_CN.masked_fill(~real_CN, torch.finfo(guess_CN.dtype).min)
        share_CN1: Tensor = (guess_CN.softmax(-1) * real_CN).unsqueeze(-1)
        return (share_CN1 * chunks_CNd).sum(-2)


def make_adapter(width: int) -> nn.Sequential:
    """A low-rank layer that is added to an encoder's vectors (..., d); it begins as 0."""
    down, up = (
        nn.Linear(width, ADAPTER_RANK, bias=False),
        nn.Linear(ADAPTER_RANK, width, bias=False),
    )
    nn.init.zeros_(up.weight)
    return nn.Sequential(down, up)


class ScoringHead(nn.Module):
    """Scores of candidates from vectors: everything of the model but the encoders. The paper's is ``report . file``.
    With ``cosine`` an adapter stands over each side, both are normalised, the best chunk's closeness joins the file's,
    and each of the two has a learned scale.
    """

    def __init__(self, width: int, *, cosine: bool) -> None:
        super().__init__()
        self.pooling: nn.Module = ChunkPooling(width)
        self.adapters = nn.ModuleList(
            [make_adapter(width), make_adapter(width)] if cosine else []
        )  # of reports, of code
        self.scale = nn.Parameter(torch.full((2,), 5.0)) if cosine else None

    def forward(self, report_d: Tensor, chunks_CNd: Tensor, real_CN: Tensor) -> Tensor:
        """(C,) scores."""
        if self.scale is None:
            return self.pooling(chunks_CNd, real_CN) @ report_d  # type: ignore[no-any-return]
        of_report, of_code = self.adapters
        report_d, chunks_CNd = report_d + of_report(report_d), chunks_CNd + of_code(chunks_CNd)
        report_d = functional.normalize(report_d, dim=-1)
        each_CN = functional.normalize(chunks_CNd, dim=-1) @ report_d
        best_C = each_CN.masked_fill(~real_CN, torch.finfo(each_CN.dtype).min).amax(-1)
        best_C = best_C.where(real_CN.any(-1), torch.zeros_like(best_C))
        files_Cd = functional.normalize(self.pooling(chunks_CNd, real_CN), dim=-1)
        return torch.stack((files_Cd @ report_d, best_C), -1) @ self.scale


class RerankingModel(nn.Module):
    """Encoders of code and of reports, which may be one and the same, and the scoring head over their vectors. With
    ``chunks_at_once`` only so many texts are held in memory for the backward pass: the encoders run again there
    (activation checkpointing). Raises CheckpointError when the encoders do not fit together.
    """

    def __init__(
        self, settings: StageTwoSettings, code: Encoder, report: Encoder, seed: int
    ) -> None:
        super().__init__()
        if report.width != code.width:
            raise CheckpointError(
                f"the encoders do not fit together: {code.name} gives {code.width} numbers, {report.name}"
                f" {report.width}; name two of one width"
            )
        self.settings, self.code, self.report = settings, code, report
        self.learning = self.encoders if settings.training.learns == "both" else {}
        for encoder in self.encoders.values():
            encoder.requires_grad_(bool(self.learning))
        with temporary_seed(seed):
            self.head = ScoringHead(code.width, cosine=settings.scoring == "cosine")

    @property
    def encoders(self) -> dict[str, Encoder]:
        """By what they read: one alone where both are the same."""
        return {"code": self.code} | ({} if self.report is self.code else {"report": self.report})

    @property
    def learned(self) -> dict[str, nn.Parameter]:
        """The parameters that learn, by name."""
        return {name: value for name, value in self.named_parameters() if value.requires_grad}

    def forward(self, question: EncodedQuery, chunks: Mapping[str, Chunks]) -> Tensor:
        """(C,) scores of the candidates, whose chunks are looked up by blob; a blob that is not there has none."""
        files = [chunks.get(blob, []) for blob in question.candidates.blobs]
        report_d = self._read(self.report, [question.report])[0]
        chunks_Ud = self._read(self.code, files)
        sizes_C = torch.tensor([len(file) for file in files], device=chunks_Ud.device)
        longest = max(1, *(len(file) for file in files))
        real_CN = torch.arange(longest, device=chunks_Ud.device) < sizes_C.unsqueeze(-1)
        chunks_CNd = chunks_Ud.new_zeros((*real_CN.shape, self.code.width))
        chunks_CNd[real_CN] = chunks_Ud
        return self.head(report_d, chunks_CNd, real_CN)  # type: ignore[no-any-return]

    def _read(self, encoder: Encoder, texts: Sequence[Chunks]) -> Tensor:
        """(U, d) vectors of the chunks of all texts, one after the other."""
        none = np.zeros((0, encoder.width), dtype=np.float16)
        known = np.concatenate([none, *(text for text in texts if not isinstance(text, list))])
        made = [torch.from_numpy(known.astype(np.float32)).to(encoder.device)]
        pieces = [piece for text in texts if isinstance(text, list) for piece in text]
        at_once = self.settings.training.chunks_at_once
        size = at_once or len(pieces) or 1
        for start in range(0, len(pieces), size):
            part = pieces[start : start + size]
            made.append(
                checkpoint(encoder, part, use_reentrant=False) if at_once else encoder(part)
            )
        return torch.cat(made)

    @torch.inference_mode()
    def scores(
        self, questions: Sequence[EncodedQuery], chunks: Mapping[str, Chunks], trained_until: float
    ) -> Iterator[FloatArray]:
        """(C,) scores of each report's candidates; all 0 for a report opened before ``trained_until``."""
        self.eval()
        for question in questions:
            listed = question.candidates
            known = len(listed) and listed.opened >= trained_until
            yield (
                self(question, chunks).cpu().numpy().astype(np.float64)
                if known
                else np.zeros(len(listed))
            )


def contrastive_loss(scores_C: Tensor, fixed_C: Tensor) -> Tensor:
    """Mean over a report's fixed files of ``-log(e^s+ / (e^s+ + sum of e^s over the wrong))``. The wrong files are the
    report's own candidates (docs/method.md, section 3); another fixed file is no negative.
    """
    right, wrong = scores_C[fixed_C], scores_C[~fixed_C].logsumexp(0)
    return (torch.logaddexp(right, wrong) - right).mean()
