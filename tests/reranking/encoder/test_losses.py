"""The losses by hand, and what padding must not do."""

import math

import pytest
import torch

from tosloc.reranking.encoder.losses import bce, contrastive, in_batch


def loss(scores: list[list[float]], fixed: list[list[int]], real: list[list[int]] | None = None) -> float:
    scores_BC, fixed_BC = torch.tensor(scores), torch.tensor(fixed).bool()
    real_BC = torch.ones_like(fixed_BC) if real is None else torch.tensor(real).bool()
    return contrastive(scores_BC, fixed_BC, real_BC).item()


def test_one_fixed_file_is_the_softmax_of_its_list() -> None:
    expected = -math.log(math.exp(2.0) / (math.exp(2.0) + math.exp(1.0) + math.exp(0.5)))
    assert loss([[1.0, 2.0, 0.5]], [[0, 1, 0]]) == pytest.approx(expected)


def test_another_fixed_file_is_no_negative() -> None:
    first = -math.log(math.exp(2.0) / (math.exp(2.0) + math.exp(0.5)))
    second = -math.log(math.exp(1.0) / (math.exp(1.0) + math.exp(0.5)))
    assert loss([[1.0, 2.0, 0.5]], [[1, 1, 0]]) == pytest.approx((first + second) / 2)


def test_reports_count_alike_whatever_their_fixed_files() -> None:
    one, two = loss([[1.0, 2.0, 0.5]], [[1, 1, 0]]), loss([[3.0, 1.0, 0.0]], [[0, 0, 1]])
    assert loss([[1.0, 2.0, 0.5], [3.0, 1.0, 0.0]], [[1, 1, 0], [0, 0, 1]]) == pytest.approx((one + two) / 2)


def test_padding_changes_neither_loss_nor_gradient() -> None:
    plain = torch.tensor([[1.0, 2.0, 0.5]], requires_grad=True)
    padded = torch.tensor([[1.0, 2.0, 0.5, math.inf, 9.0]], requires_grad=True)
    fixed = torch.tensor([[False, True, False, False, True]])
    real = torch.tensor([[True, True, True, False, False]])
    for function in (contrastive, bce):
        short = function(plain, fixed[:, :3], real[:, :3])
        long = function(padded, fixed, real)
        assert short.item() == pytest.approx(long.item())
    contrastive(plain, fixed[:, :3], real[:, :3]).backward()
    contrastive(padded, fixed, real).backward()
    assert plain.grad is not None
    assert padded.grad is not None
    assert torch.allclose(padded.grad[:, :3], plain.grad)
    assert padded.grad[:, 3:].abs().sum() == 0


def test_binary_cross_entropy_is_at_its_best_offset() -> None:
    scores, fixed = torch.tensor([[3.0, 2.0, 2.5], [4.0, 1.0, 0.0]]), torch.tensor([[1, 0, 0], [0, 1, 0]]).bool()
    real = torch.ones_like(fixed)
    at = [
        torch.nn.functional.binary_cross_entropy_with_logits(scores + offset, fixed.float()).item()
        for offset in torch.arange(-9.0, 3.0, 0.001).tolist()
    ]
    assert bce(scores, fixed, real).item() == pytest.approx(min(at), abs=1e-6)
    moved = (scores + 100).requires_grad_()
    loss = bce(moved, fixed, real)
    assert loss.item() == pytest.approx(min(at), abs=1e-4)
    loss.backward()
    assert moved.grad is not None
    assert moved.grad.sum().item() == pytest.approx(0, abs=1e-5)  # it asks for an order, not for a height
    assert (moved.grad[fixed] < 0).all()
    for none in (torch.zeros_like(fixed), torch.ones_like(fixed)):
        assert bce(scores, none, real).item() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("fixed", [[[0, 0, 0]], [[1, 1, 1]]], ids=["nothing fixed", "everything fixed"])
def test_a_list_without_a_choice_teaches_nothing(fixed: list[list[int]]) -> None:
    assert loss([[1.0, 2.0, 0.5]], fixed) == 0


def test_a_better_order_costs_less() -> None:
    assert loss([[3.0, 1.0]], [[1, 0]]) < loss([[1.0, 1.0]], [[1, 0]]) < loss([[1.0, 3.0]], [[1, 0]])


def test_in_batch_takes_the_others_files_as_wrong() -> None:
    scores = torch.tensor([[2.0, 0.0], [1.0, 1.0]])
    expected = (-math.log(math.exp(2) / (math.exp(2) + 1)) - math.log(0.5)) / 2
    assert in_batch(scores).item() == pytest.approx(expected)
