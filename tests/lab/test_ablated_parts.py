"""The exchanged parts of table 6 by hand."""

import pytest
import torch
from torch.nn import functional

from tests.rerank.by_hand import candidates, report
from tosloc.lab.ablation import BATCH_REPORTS, CrossedReports, MaxPooling, MeanPooling, bce


@pytest.mark.parametrize(
    ("pooling", "expected"),
    [(MeanPooling(), torch.mean), (MaxPooling(), torch.amax)],
    ids=["mean", "max"],
)
def test_pooling_ignores_padding_chunks(pooling, expected):
    chunks = torch.randn((2, 3, 5), generator=torch.Generator().manual_seed(3))
    files = pooling(chunks, torch.tensor([[1, 1, 0], [0, 0, 0]]).bool())
    assert torch.allclose(files[0], expected(chunks[0, :2], 0))
    assert files[1].abs().sum() == 0


def test_binary_cross_entropy_is_at_its_best_offset():
    scores = torch.tensor([3.0, 2.0, 2.5, 1.0])
    fixed = torch.tensor([1, 0, 0, 1]).bool()
    losses = []
    for offset in torch.arange(-9.0, 3.0, 0.01).tolist():
        loss = functional.binary_cross_entropy_with_logits(scores + offset, fixed.float())
        losses.append(loss.item())
    assert bce(scores + 100, fixed).item() == pytest.approx(min(losses), abs=1e-4)


def test_binary_cross_entropy_does_not_move_all_scores_together():
    scores = torch.tensor([103.0, 102.0, 102.5, 101.0], requires_grad=True)
    bce(scores, torch.tensor([1, 0, 0, 1]).bool()).backward()
    assert scores.grad.sum().item() == pytest.approx(0, abs=1e-5)


class ReportsWithOneFixedFile:
    """A training set whose report 0 has no fixed file, and every other report one of its own."""

    def candidates(self, part, depth, **options):
        for number in range(BATCH_REPORTS + 2):
            fixed = "01" if number else "00"
            yield candidates(f"w{number} f{number}", fixed, of=report(str(number)))


@pytest.fixture
def crossed_reports():
    return CrossedReports(ReportsWithOneFixedFile(), 7)


def test_validation_reports_are_not_crossed(crossed_reports):
    assert len(list(crossed_reports.candidates("validation", 9))) == BATCH_REPORTS + 2


def test_crossed_reports_have_the_fixed_files_of_their_batch(crossed_reports):
    crossed = list(crossed_reports.candidates("train", 9, for_training=True))
    ids = [one_report.report.id for one_report in crossed]
    assert ids == [str(number) for number in range(1, BATCH_REPORTS + 2)]
    assert sorted(map(len, crossed)) == [1] + [BATCH_REPORTS] * BATCH_REPORTS


def test_crossed_report_has_its_own_file_as_the_fixed_one(crossed_reports):
    for crossed in crossed_reports.candidates("train", 9, for_training=True):
        assert crossed.blobs[int(crossed.fixed.argmax())] == f"f{crossed.report.id}"
        assert crossed.fixed.sum() == 1
        assert crossed.relevant == 1
        assert len(set(crossed.blobs)) == len(crossed.blobs)
