"""What table 6 of the paper puts in the place of the encoder reranker's parts: poolings, losses and wrong files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tosloc.records import LongArray
from tosloc.rerank.base import Candidates, TrainingSet

# C candidates of a report, N chunks of the longest file, d width

TOGETHER = 8
"""Reports of a batch: a step of 400 pairs holds so many lists of 50 candidates."""


class MeanPooling(nn.Module):
    """A file's vector is the mean of its chunks'."""

    def forward(self, chunks_CNd: Tensor, real_CN: Tensor) -> Tensor:
        """(C, d) vectors of files; a file without any real chunk is 0."""
        real_CN1 = real_CN.unsqueeze(-1).to(chunks_CNd.dtype)
        return (chunks_CNd * real_CN1).sum(-2) / real_CN1.sum(-2).clamp(min=1)


class MaxPooling(nn.Module):
    """A file's vector has the largest of its chunks' numbers."""

    def forward(self, chunks_CNd: Tensor, real_CN: Tensor) -> Tensor:
        """(C, d) vectors of files; a file without any real chunk is 0."""
        most_Cd = chunks_CNd.masked_fill(~real_CN.unsqueeze(-1), -torch.inf).amax(-2)
        return most_Cd.where(real_CN.any(-1, keepdim=True), torch.zeros_like(most_Cd))


def bce(scores_C: Tensor, fixed_C: Tensor) -> Tensor:
    """Binary cross-entropy of every candidate, at the offset of all scores that makes it least.

    Closeness has no zero of its own: without an offset, most of what is learned would be that few files are fixed.
    """
    fixed = fixed_C.to(scores_C.dtype)
    return functional.binary_cross_entropy_with_logits(scores_C + _offset(scores_C.detach(), fixed), fixed)


def _offset(scores_C: Tensor, fixed_C: Tensor) -> Tensor:
    """What to add to the scores for their shares to sum to the number of fixed files, where the loss is least."""
    low, high = -scores_C.max() - 20, -scores_C.min() + 20
    for _ in range(40):
        middle = (low + high) / 2
        over = (scores_C + middle).sigmoid().sum() > fixed_C.sum()
        low, high = torch.where(over, low, middle), torch.where(over, middle, high)
    return (low + high) / 2


class CrossedReports:
    """A training set whose reports are asked of their own first fixed file and of other reports' first fixed files.

    The contrastive loss over these is the cross-entropy within a batch of ``TOGETHER`` reports, drawn once.
    """

    def __init__(self, training_set: TrainingSet, seed: int) -> None:
        self.training_set, self.seed = training_set, seed

    def candidates(
        self, part: str, depth: int, *, for_training: bool = False, by_linear_score: bool = False
    ) -> Iterator[Candidates]:
        """The training reports with such candidates; those of other parts as they are."""
        found = self.training_set.candidates(part, depth, for_training=for_training, by_linear_score=by_linear_score)
        if not for_training:
            yield from found
            return
        reports = [one for one in found if one.fixed.any()]
        order = np.random.default_rng(self.seed).permutation(len(reports))
        crossed = dict[int, Candidates]()
        for start in range(0, len(order), TOGETHER):
            batch = order[start : start + TOGETHER]
            firsts = [reports[number].take(np.flatnonzero(reports[number].fixed)[:1]) for number in batch]
            crossed |= {number: _asked_of(reports[number], firsts, place) for place, number in enumerate(batch)}
        yield from (crossed[number] for number in range(len(reports)))


def _asked_of(report: Candidates, files: list[Candidates], own: int) -> Candidates:
    """A report with these files as its candidates, of which one is its own."""
    numbers: LongArray = np.arange(len(files), dtype=np.int64)
    return replace(
        report,
        paths=tuple(one.paths[0] for one in files),
        blobs=tuple(one.blobs[0] for one in files),
        path_ids=np.concatenate([one.path_ids for one in files]),
        scores=np.zeros(len(files)),
        fixed=numbers == own,
        relevant=1,
    )
