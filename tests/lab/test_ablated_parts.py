"""The parts of table 6 by hand."""

import pytest
import torch
from torch.nn import functional

from tests.rerank.by_hand import candidates, report
from tosloc.lab.ablation import TOGETHER, CrossedReports, MaxPooling, MeanPooling, bce


@pytest.mark.parametrize(
    ("pooling", "expected"), [(MeanPooling(), torch.mean), (MaxPooling(), torch.amax)]
)
def test_other_poolings_read_the_real_chunks_alone(pooling, expected):
    chunks = torch.randn((2, 3, 5), generator=torch.Generator().manual_seed(3))
    files = pooling(chunks, torch.tensor([[1, 1, 0], [0, 0, 0]]).bool())
    assert torch.allclose(files[0], expected(chunks[0, :2], 0))
    assert files[1].abs().sum() == 0


def test_binary_cross_entropy_is_at_its_best_offset():
    scores, fixed = torch.tensor([3.0, 2.0, 2.5, 1.0]), torch.tensor([1, 0, 0, 1]).bool()
    offsets = torch.arange(-9.0, 3.0, 0.01).tolist()
    at = [
        functional.binary_cross_entropy_with_logits(scores + offset, fixed.float()).item()
        for offset in offsets
    ]
    moved = (scores + 100).requires_grad_()
    loss = bce(moved, fixed)
    assert loss.item() == pytest.approx(min(at), abs=1e-4)
    loss.backward()
    assert moved.grad.sum().item() == pytest.approx(
        0, abs=1e-5
    )  # it asks for an order, not for a height


class Reports:
    def candidates(self, part, depth, **how):
        for number in range(TOGETHER + 2):
            yield candidates(
                f"w{number} f{number}", "01" if number else "00", of=report(str(number))
            )


def test_reports_are_asked_of_each_others_fixed_files():
    asked = CrossedReports(Reports(), 7)
    assert len(list(asked.candidates("validation", 9))) == TOGETHER + 2
    crossed = list(asked.candidates("train", 9, for_training=True))
    assert [one.report.id for one in crossed] == [str(number) for number in range(1, TOGETHER + 2)]
    assert sorted(map(len, crossed)) == [1] + [TOGETHER] * TOGETHER
    for one in crossed:
        assert one.blobs[int(one.fixed.argmax())] == f"f{one.report.id}"
        assert (one.fixed.sum(), one.relevant) == (1, 1)
        assert len(set(one.blobs)) == len(one.blobs)
