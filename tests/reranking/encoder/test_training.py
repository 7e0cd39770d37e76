"""The training loop: it learns what can be learned, and what was interrupted ends the same."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.reranking.encoder.epochs import Epochs
from tests.reranking.made import candidates, report
from tosloc.config import TrainingSettings
from tosloc.errors import ToslocError
from tosloc.records import Progress, silent
from tosloc.reranking.encoder.batches import ChunkTable, TokenizedCandidates, batch_of
from tosloc.reranking.encoder.encoders import Encoder
from tosloc.reranking.encoder.model import RerankingModel
from tosloc.reranking.encoder.scoring_head import ScoringHead
from tosloc.reranking.encoder.training import STATE, Trainer, score_lists

WIDTH, FILES = 8, 12
NO_TOKENS = np.zeros(0, dtype=np.int32)
SETTINGS = TrainingSettings(epochs=30, patience=30, pairs=24, pairs_at_once=12, learning_rate=0.02, device="cpu")


def world(reports: int, seed: int) -> tuple[ChunkTable, list[TokenizedCandidates]]:
    """Files whose vectors a hidden rotation turns into those of the reports that mean them."""
    rng = np.random.default_rng(seed)
    files = {f"f{n}": rng.normal(size=(1 + n % 3, WIDTH)).astype(np.float16) for n in range(FILES)}
    turn = np.linalg.qr(np.random.default_rng(99).normal(size=(WIDTH, WIDTH)))[0]
    lists = []
    for number in range(reports):
        blobs = tuple(f"f{n}" for n in rng.permutation(FILES)[:6])
        right = int(rng.integers(6))
        asked = files[blobs[right]].mean(0).astype(np.float64) @ turn + rng.normal(size=WIDTH) * 0.05
        fixed = "".join("1" if n == right else "0" for n in range(6))
        one = candidates(" ".join(blobs), fixed, of=report(str(number), 1000))
        lists.append(TokenizedCandidates(one, NO_TOKENS, asked))
    return ChunkTable.of_vectors(files, WIDTH), lists


def model(**options) -> RerankingModel:
    torch.manual_seed(5)
    return RerankingModel(None, None, ScoringHead(WIDTH, "mean", adapter_rank=WIDTH, cosine=True, **options))


def trained(
    folder: Path, settings: TrainingSettings = SETTINGS, key: str = "k", progress: Progress = silent
) -> tuple[RerankingModel, Trainer, list[float]]:
    chunk_table, lists = world(60, 1)
    made = model()
    trainer = Trainer(made, chunk_table, settings, folder, seed=3, key=key)
    state = trainer.fit(lists[:45], lists[45:], progress)
    return made, trainer, [entry["loss"] for entry in state.curve]


@pytest.mark.slow
def test_it_learns(tmp_path: Path) -> None:
    chunk_table, lists = world(60, 1)
    before = Trainer(model(), chunk_table, SETTINGS, tmp_path / "none", seed=3).validate(lists[45:])
    made, trainer, losses = trained(tmp_path)
    assert losses[-1] < 0.1 < losses[0]
    assert trainer.validate(lists[45:])[0] > max(0.9, before[0] + 0.2)
    with torch.inference_mode():
        batch = batch_of(lists[:2], chunk_table)
        assert (made(batch).argmax(-1) == batch.fixed_BC.to(int).argmax(-1)).all()


def test_a_curve_has_the_loss_of_every_step(tmp_path: Path) -> None:
    chunk_table, lists = world(60, 1)
    settings = SETTINGS.model_copy(update={"epochs": 2, "pairs": 60, "pairs_at_once": 18})
    state = Trainer(model(), chunk_table, settings, tmp_path, seed=3).fit(lists[:45], lists[45:])
    sizes = [10, 10, 10, 10, 5]  # reports of six candidates
    for entry in state.curve:
        assert np.average(entry["losses"], weights=sizes) == pytest.approx(entry["loss"])
        assert 0 <= entry["seconds"] < 600  # rounded, and short
    assert state.curve[1]["losses"] != state.curve[0]["losses"]


def test_validation_keeps_stage_ones_order_of_a_report_opened_before_what_was_learned(tmp_path: Path) -> None:
    chunk_table, lists = world(60, 1)
    made, trainer, _ = trained(tmp_path)
    early = [
        replace(one, candidates=replace(one.candidates, report=report("r", 99 if number % 2 else 100)))
        for number, one in enumerate(lists[45:])
    ]
    both, knowing, first = (
        Trainer(made, chunk_table, SETTINGS, tmp_path, seed=3, trained_until=until).validate(early)
        for until in (100, 99, 101)
    )
    assert knowing == trainer.validate(lists[45:])
    by_stage_one = [1 / (1 + int(one.candidates.fixed.argmax())) for one in early]
    assert first == pytest.approx((np.mean(by_stage_one), np.mean(by_stage_one)))
    read = [1.0 if place % 2 == 0 else value for place, value in enumerate(by_stage_one)]
    assert first[0] < both[0] < knowing[0]
    assert both[0] == pytest.approx(np.mean(read), abs=0.05)


def test_without_gain_the_first_parameters_stay(tmp_path: Path) -> None:
    chunk_table, lists = world(60, 1)
    upside_down = [replace(one, candidates=replace(one.candidates, fixed=~one.candidates.fixed)) for one in lists[45:]]
    made = model()
    first = {name: value.clone() for name, value in made.state_dict().items()}
    settings = SETTINGS.model_copy(update={"patience": 3})
    state = Trainer(made, chunk_table, settings, tmp_path, seed=3).fit(lists[:45], upside_down)
    assert state.epoch == state.best_epoch + 3
    if state.best_epoch == 0:
        assert all(torch.equal(value, first[name]) for name, value in made.state_dict().items())


def test_an_interrupted_training_ends_the_same(tmp_path: Path) -> None:
    six = SETTINGS.model_copy(update={"epochs": 6})
    whole, *_ = trained(tmp_path / "whole", six)
    cut, rest = Epochs(interrupted=3), Epochs()
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "cut", six, progress=cut)
    again, *_ = trained(tmp_path / "cut", six, progress=rest)
    assert (cut.begun, rest.begun) == ([0, 1, 2, 3], [3, 4, 5])
    for name, value in whole.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name


def test_a_state_of_another_training_or_half_a_state_is_not_gone_on_with(tmp_path: Path) -> None:
    short = SETTINGS.model_copy(update={"epochs": 2})
    _, _, first = trained(tmp_path, short, key="one")
    _, _, other = trained(tmp_path, short, key="two")
    assert first == other  # begun anew: two epochs, the same numbers
    (tmp_path / STATE).write_bytes((tmp_path / STATE).read_bytes()[:100])
    assert trained(tmp_path, short, key="two")[2] == first


def test_scores_do_not_depend_on_what_stands_beside(tmp_path: Path) -> None:
    chunk_table, lists = world(10, 2)
    made = model(best_chunk=True).eval()
    alone = list(score_lists(made, chunk_table, lists))
    with torch.inference_mode():
        together = made(batch_of(lists, chunk_table)).numpy()
    for scores, row in zip(alone, together, strict=True):
        assert np.allclose(scores, row, atol=1e-5)
    empty = replace(lists[0], candidates=candidates(""))
    assert [len(scores) for scores in score_lists(made, chunk_table, [empty])] == [0]


def test_encoding_in_parts_changes_neither_scores_nor_gradients(encoder_folder: Path) -> None:
    chunks = {"a": [np.array([2, 7, 3]), np.array([2, 8, 9, 3])], "b": [np.array([2, 5, 3])]}
    one = TokenizedCandidates(candidates("a b", "10"), np.array([2, 7, 8, 3]))
    found = []
    for at_once in (0, 1):
        encoder = Encoder.load(str(encoder_folder), "mean").eval()
        torch.manual_seed(1)
        made = RerankingModel(encoder, encoder, ScoringHead(encoder.width, cosine=True), at_once)
        scores = made(batch_of([one], ChunkTable.of_tokens(chunks)))
        (scores[0, 0] - scores[0, 1]).backward()
        found.append((scores.detach(), encoder.model.get_input_embeddings().weight.grad))
    assert torch.allclose(found[0][0], found[1][0], atol=1e-6)
    assert torch.allclose(found[0][1], found[1][1], atol=1e-6)


def test_nothing_to_learn_is_one_sentence(tmp_path: Path) -> None:
    chunk_table, lists = world(4, 1)
    with pytest.raises(ToslocError, match="nothing to learn"):
        Trainer(model(), chunk_table, SETTINGS, tmp_path, seed=3).fit([], lists)
    with pytest.raises(ToslocError, match="nothing to learn"):
        Trainer(RerankingModel(None, None, ScoringHead(WIDTH, "mean")), chunk_table, SETTINGS, tmp_path, seed=3).fit(
            lists, lists
        )
