"""Losses over a report's own candidates; they take scores, so they are tested without a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional

# B reports of a batch, C candidates of a report (padded), P real pairs

Loss: TypeAlias = Literal["contrastive", "bce", "in_batch"]


def contrastive(score_BC: Tensor, fixed_BC: Tensor, real_BC: Tensor) -> Tensor:
    """Mean over reports, and in a report over its fixed files, of ``-log(e^s+ / (e^s+ + sum of e^s over the wrong))``.

    The wrong files are the report's own candidates (docs/method.md, section 3); another fixed file is no negative.
    Reports without a fixed or without a wrong candidate teach nothing.
    """
    # masked first: what an infinite padded score gave would be no number, and so would its gradient
    score_BC = score_BC.masked_fill(~real_BC, 0.0)
    wrong_BC = real_BC & ~fixed_BC
    wrong_B1 = score_BC.masked_fill(~wrong_BC, -torch.inf).logsumexp(dim=-1, keepdim=True)
    each_BC = torch.logaddexp(score_BC, wrong_B1) - score_BC
    counts_BC = (fixed_BC & real_BC & wrong_BC.any(-1, keepdim=True)).to(score_BC.dtype)
    # where() rather than a product: without any wrong file a value is infinite
    sum_B = torch.where(counts_BC > 0, each_BC, torch.zeros_like(each_BC)).sum(-1)
    number_B = counts_BC.sum(-1)
    taught_B = number_B > 0
    if not taught_B.any():
        return score_BC.sum() * 0.0
    return (sum_B[taught_B] / number_B[taught_B]).mean()


def bce(score_BC: Tensor, fixed_BC: Tensor, real_BC: Tensor) -> Tensor:
    """Binary cross-entropy of every real pair of report and candidate, at the offset of all scores that makes it least.

    Closeness has no zero of its own: without an offset, most of what is learned would be that few files are fixed.
    """
    score_P, fixed_P = score_BC[real_BC], fixed_BC[real_BC].to(score_BC.dtype)
    return functional.binary_cross_entropy_with_logits(score_P + _offset(score_P.detach(), fixed_P), fixed_P)


def _offset(score_P: Tensor, fixed_P: Tensor) -> Tensor:
    """What to add to the scores for their shares to sum to the number of fixed files, where the loss is least."""
    low, high = -score_P.max() - 20, -score_P.min() + 20
    for _ in range(40):
        middle = (low + high) / 2
        over = (score_P + middle).sigmoid().sum() > fixed_P.sum()
        low, high = torch.where(over, low, middle), torch.where(over, middle, high)
    return (low + high) / 2


def in_batch(score_BB: Tensor) -> Tensor:
    """Cross-entropy of each report's fixed file against the other reports' fixed files; ``score_BB[i, j]`` is report i
    with the file of report j."""
    return functional.cross_entropy(score_BB, torch.arange(len(score_BB), device=score_BB.device))


LISTWISE: Final[dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]]] = {"contrastive": contrastive, "bce": bce}
"""Losses over candidate lists; ``in_batch`` needs the scores of one report with another's file."""
