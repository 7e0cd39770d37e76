"""Scores and the loss by hand, where they begin, and what padding must not do."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

from tests.rerank.made import candidates, report
from tosloc.config import StageTwoSettings
from tosloc.rerank.encoder.encoders import Encoder
from tosloc.rerank.encoder.scoring import Adapter, ChunkPooling, Question, RerankingModel, ScoringHead, contrastive

# 3 candidates, 4 chunks, width 5
CHUNKS = torch.randn((3, 4, 5), generator=torch.Generator().manual_seed(3))
REAL = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]).bool()
REPORT = torch.randn(5, generator=torch.Generator().manual_seed(4))


def test_pooling_is_a_softmax_over_the_real_chunks() -> None:
    torch.manual_seed(0)
    pooling = ChunkPooling(5)
    two = CHUNKS[0, :2]
    share = torch.softmax(pooling.weight(functional.normalize(two, dim=-1)).squeeze(-1), 0)
    files = pooling(CHUNKS, REAL)
    assert torch.allclose(files[0], share @ two, atol=1e-6)
    assert files[2].abs().sum() == 0  # a file without chunks


@pytest.mark.parametrize("cosine", [False, True])
def test_padding_changes_no_score(cosine: bool) -> None:
    torch.manual_seed(0)
    head = ScoringHead(5, cosine=cosine).eval()
    other = torch.where(REAL.unsqueeze(-1), CHUNKS, torch.full_like(CHUNKS, 77.0))
    scores = head(REPORT, CHUNKS, REAL)
    assert scores.shape == (3,)
    assert torch.isfinite(scores).all()
    assert torch.allclose(scores, head(REPORT, other, REAL))
    assert torch.allclose(scores[:1], head(REPORT, CHUNKS[:1, :2], REAL[:1, :2]), atol=1e-6)


def test_the_papers_score_is_a_dot_product() -> None:
    head = ScoringHead(5, cosine=False)
    assert sorted(head.state_dict()) == ["pooling.weight.bias", "pooling.weight.weight"]
    assert torch.allclose(head(REPORT, CHUNKS, REAL), head.pooling(CHUNKS, REAL) @ REPORT)


def test_the_cosine_score_begins_as_the_files_and_the_nearest_chunks_cosine() -> None:
    assert torch.equal(Adapter(5)(CHUNKS), CHUNKS)
    head = ScoringHead(5, cosine=True)
    near = functional.cosine_similarity(REPORT, CHUNKS[1], dim=-1).max()
    file = functional.cosine_similarity(REPORT, head.pooling(CHUNKS, REAL)[1], dim=-1)
    assert torch.allclose(head(REPORT, CHUNKS, REAL)[1], 5 * (near + file))


@pytest.mark.parametrize(("fixed", "right", "wrong"), [([0, 1, 0], [2.0], [1.0, 0.5]), ([1, 1, 0], [2.0, 1.0], [0.5])])
def test_the_loss_is_a_softmax_in_which_another_fixed_file_is_no_negative(
    fixed: list[int], right: list[float], wrong: list[float]
) -> None:
    loss = contrastive(torch.tensor([1.0, 2.0, 0.5]), torch.tensor(fixed).bool()).item()
    rest = sum(map(math.exp, wrong))
    assert loss == pytest.approx(-sum(math.log(math.exp(one) / (math.exp(one) + rest)) for one in right) / len(right))


def question(blobs: str, fixed: str = "", opened: float = 0) -> Question:
    return Question(candidates(blobs, fixed, of=report("r", opened)), [[2, 7, 8, 3]])


def test_encoding_in_parts_changes_neither_scores_nor_gradients(encoder_folder: Path) -> None:
    chunks = {"a": [[2, 7, 3], [2, 8, 9, 3]], "b": [[2, 5, 3]]}
    found = []
    for at_once in (0, 1):
        settings = StageTwoSettings.model_validate({"training": {"learns": "both", "chunks_at_once": at_once}})
        encoder = Encoder.load(str(encoder_folder), "mean")
        model = RerankingModel(settings, encoder, encoder, seed=1).eval()
        scores = model(question("a gone b"), chunks)
        (scores[0] - scores[2]).backward()
        found.append((scores.detach(), encoder.model.get_input_embeddings().weight.grad))
    assert torch.allclose(found[0][0], found[1][0], atol=1e-6)
    assert torch.allclose(found[0][1], found[1][1], atol=1e-6)
    assert found[0][0][1] == 0  # a blob that nobody knows


def test_scores_from_vectors_and_from_tokens_are_the_same(encoder_folder: Path) -> None:
    encoder = Encoder.load(str(encoder_folder), "mean")
    model = RerankingModel(StageTwoSettings(), encoder, encoder, seed=1)
    chunks = {"a": [[2, 7, 3], [2, 8, 9, 3]], "b": [[2, 5, 3]]}
    vectors = {blob: encoder.vectors(pieces) for blob, pieces in chunks.items()}
    asked = [question("a b", opened=9), question("", opened=9), question("b a", opened=8)]
    known = [Question(one.candidates, encoder.vectors(one.report)) for one in asked]
    by_tokens, by_vectors = list(model.scores(asked, chunks, 9)), list(model.scores(known, vectors, 9))
    assert np.allclose(by_tokens[0], by_vectors[0], atol=1e-2)
    assert [row.tolist() for row in by_tokens[1:]] == [[], [0, 0]]  # no candidates; opened before what was learned
    assert not model.learning
    assert {name.partition(".")[0] for name in model.learned} == {"head"}
