"""Pooling over chunks and scores: shapes, what padding must not do, and that they begin where they should."""

import pytest
import torch

from tosloc.reranking.encoder.scoring_head import Adapter, ChunkPooling, ScoringHead

KINDS = ("softmax", "mean", "max", "first")
# 2 reports, 3 candidates, 4 chunks, width 5
CHUNKS = torch.randn((2, 3, 4, 5), generator=torch.Generator().manual_seed(3))
REAL = torch.tensor([[[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]], [[1, 1, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]]]).bool()
REPORTS = torch.randn((2, 5), generator=torch.Generator().manual_seed(4))


@pytest.mark.parametrize("kind", KINDS)
def test_padding_chunks_change_nothing(kind: str) -> None:
    torch.manual_seed(0)
    pooling = ChunkPooling(kind, 5)
    other = torch.where(REAL.unsqueeze(-1), CHUNKS, torch.full_like(CHUNKS, 1e4))
    assert torch.equal(pooling(CHUNKS, REAL), pooling(other, REAL))
    cut = pooling(CHUNKS[0, 0, :2], REAL[0, 0, :2])
    assert torch.allclose(cut, pooling(CHUNKS, REAL)[0, 0])
    assert pooling(CHUNKS, REAL)[1, 1].abs().sum() == 0  # a file without chunks


def test_kinds_are_what_they_say() -> None:
    two = CHUNKS[0, 0, :2]
    assert torch.allclose(ChunkPooling("mean", 5)(CHUNKS, REAL)[0, 0], two.mean(0))
    assert torch.allclose(ChunkPooling("max", 5)(CHUNKS, REAL)[0, 0], two.amax(0))
    assert torch.allclose(ChunkPooling("first", 5)(CHUNKS, REAL)[0, 0], two[0])
    softmax = ChunkPooling("softmax", 5)
    assert softmax.weight is not None
    share = torch.softmax(softmax.weight(torch.nn.functional.normalize(two, dim=-1)).squeeze(-1), 0)
    assert torch.allclose(softmax(CHUNKS, REAL)[0, 0], share @ two, atol=1e-6)


def test_the_papers_score_is_a_dot_product() -> None:
    torch.manual_seed(0)
    head = ScoringHead(5, "mean")
    scores = head(REPORTS, CHUNKS, REAL)
    assert scores.shape == (2, 3)
    assert torch.allclose(scores[0, 0], REPORTS[0] @ CHUNKS[0, 0, :2].mean(0))


@pytest.mark.parametrize("options", [{}, {"cosine": True}, {"best_chunk": True}, {"cosine": True, "best_chunk": True}])
def test_padding_changes_no_score(options: dict[str, bool]) -> None:
    torch.manual_seed(0)
    head = ScoringHead(5, adapter_rank=3, **options).eval()
    other = torch.where(REAL.unsqueeze(-1), CHUNKS, torch.full_like(CHUNKS, 77.0))
    scores = head(REPORTS, CHUNKS, REAL)
    assert torch.allclose(scores, head(REPORTS, other, REAL))
    longer = torch.nn.functional.pad(CHUNKS, (0, 0, 0, 3, 0, 2), value=9.0)
    more = torch.nn.functional.pad(REAL, (0, 3, 0, 2))
    wide = head(REPORTS, longer, more)
    assert torch.allclose(wide[:, :3], scores, atol=1e-6)
    assert torch.isfinite(scores).all()


def test_adapters_begin_as_the_identity() -> None:
    torch.manual_seed(0)
    assert torch.equal(Adapter(5, 3)(CHUNKS), CHUNKS)
    plain, adapted = ScoringHead(5, "mean", cosine=True), ScoringHead(5, "mean", adapter_rank=3, cosine=True)
    assert torch.allclose(plain(REPORTS, CHUNKS, REAL), adapted(REPORTS, CHUNKS, REAL))


def test_the_best_chunk_is_the_nearest() -> None:
    head = ScoringHead(5, "mean", cosine=True, best_chunk=True)
    with torch.no_grad():
        assert head.scale is not None
        head.scale.copy_(torch.tensor([0.0, 1.0]))
    expected = torch.nn.functional.cosine_similarity(REPORTS[0], CHUNKS[0, 1], dim=-1).max()
    assert torch.allclose(head(REPORTS, CHUNKS, REAL)[0, 1], expected)
