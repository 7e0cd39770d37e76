"""The parts of table 6 by hand."""

from collections.abc import Iterator

import pytest
import torch
from torch.nn import functional

from tests.rerank.made import candidates, report
from tosloc.lab.ablation import TOGETHER, CrossedReports, MaxPooling, MeanPooling, bce
from tosloc.rerank.base import Candidates


def test_other_poolings_read_the_real_chunks_alone() -> None:
    chunks = torch.randn((2, 3, 5), generator=torch.Generator().manual_seed(3))
    real = torch.tensor([[1, 1, 0], [0, 0, 0]]).bool()
    for pooling, expected in ((MeanPooling(), chunks[0, :2].mean(0)), (MaxPooling(), chunks[0, :2].amax(0))):
        files = pooling(chunks, real)
        assert torch.allclose(files[0], expected)
        assert files[1].abs().sum() == 0


def test_binary_cross_entropy_is_at_its_best_offset() -> None:
    scores, fixed = torch.tensor([3.0, 2.0, 2.5, 1.0]), torch.tensor([1, 0, 0, 1]).bool()
    at = [
        functional.binary_cross_entropy_with_logits(scores + offset, fixed.float()).item()
        for offset in torch.arange(-9.0, 3.0, 0.001).tolist()
    ]
    moved = (scores + 100).requires_grad_()
    loss = bce(moved, fixed)
    assert loss.item() == pytest.approx(min(at), abs=1e-4)
    loss.backward()
    assert moved.grad is not None
    assert moved.grad.sum().item() == pytest.approx(0, abs=1e-5)  # it asks for an order, not for a height


class Reports:
    def candidates(
        self, part: str, depth: int, *, for_training: bool = False, by_linear_score: bool = False
    ) -> Iterator[Candidates]:
        for number in range(TOGETHER + 2):
            yield candidates(f"w{number} f{number}", "01" if number else "00", of=report(str(number)))


def test_reports_are_asked_of_each_others_fixed_files() -> None:
    whole, asked = list(Reports().candidates("train", 9)), CrossedReports(Reports(), 7)
    assert len(list(asked.candidates("validation", 9))) == len(whole)
    crossed = list(asked.candidates("train", 9, for_training=True))
    assert [one.report.id for one in crossed] == [str(number) for number in range(1, TOGETHER + 2)]
    assert sorted(map(len, crossed)) == [1] + [TOGETHER] * TOGETHER
    for one in crossed:
        assert one.blobs[int(one.fixed.argmax())] == f"f{one.report.id}"
        assert (one.fixed.sum(), one.relevant) == (1, 1)
        assert len(set(one.blobs)) == len(one.blobs)
