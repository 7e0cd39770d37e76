"""When both stages are taken, and what the term reranker has learned, on disk."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tosloc.config import TermsSettings
from tosloc.errors import CheckpointError
from tosloc.learning.lambdamart import HeadRanker, fit_trees
from tosloc.learning.ranking_lists import RankingLists
from tosloc.reranking.terms.combiner import combiner_rows
from tosloc.reranking.terms.dual_encoder import DualEncoder
from tosloc.reranking.terms.fitting import _MARGIN, BOTH, STAGE_ONE, gains
from tosloc.reranking.terms.model import RECORD, TermModel
from tosloc.reranking.terms.vocabulary import TermVocabulary


def combiner() -> HeadRanker:
    """Trees over one feature, which go by the dual encoder's contents."""
    rng = np.random.default_rng(1)
    scores = rng.standard_normal((2000, 2))
    heads = RankingLists.of([(combiner_rows(np.zeros((2000, 1), dtype=np.float32), scores), scores[:, 0] > 1)])
    return HeadRanker((), fit_trees(heads, 7, rounds=3), 0.5)


@pytest.fixture
def model() -> TermModel:
    rng = np.random.default_rng(0)
    tables = {side: rng.standard_normal((3, 2)).astype(np.float16) for side in ("report", "content", "history")}
    vocabulary = TermVocabulary(("", "cooki", "größe"), *rng.random((4, 3)))
    return TermModel(
        TermsSettings(width=2),
        vocabulary,
        DualEncoder(tables, {"content": 1.5, "history": 0.5}),
        0.3,
        combiner(),
        {STAGE_ONE: (0.5, 0.25)},
        ("train", "validation"),
        1234,
    )


def test_both_stages_are_taken_where_they_gain_by_a_margin_and_lose_in_neither_measure():
    def taken(mrr: float, map_: float) -> bool:
        return gains({STAGE_ONE: (0.5, 0.25), BOTH: (mrr, map_), "vectors x 0.4": (0.9, 0.9)})

    assert not gains(None)
    assert not taken(0.5, 0.25)
    assert not taken(0.5 + _MARGIN, 0.25)
    assert taken(0.5 + _MARGIN + 1e-6, 0.25)
    assert not taken(0.499, 0.3)
    assert not taken(0.6, 0.249)


def test_what_is_added_comes_from_the_dual_encoder_and_from_the_combiner(model):
    scores, features = np.array([[1.0, 0.5], [0.0, -1.0]]), np.zeros((2, 1), dtype=np.float32)
    alone = replace(model, combiner=None).added(scores, features)
    assert alone == pytest.approx([0.45, -0.3])
    learned = model.combiner.trees.scores(combiner_rows(features, scores))
    assert learned[0] != learned[1]
    assert model.added(scores, features) == pytest.approx(alone + 0.5 * learned)


def test_what_is_kept_comes_back(model, tmp_path):
    model.save(tmp_path)
    model.save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
    back = TermModel.load(tmp_path)
    assert back.settings == model.settings
    assert back.vocabulary.terms == model.vocabulary.terms
    assert np.array_equal(back.vocabulary.in_commits, model.vocabulary.in_commits)
    assert back.encoder.digest == model.encoder.digest
    assert back.encoder.gains == model.encoder.gains
    assert back.combiner.weight == model.combiner.weight
    kept = [(one.weight, one.validation, one.learned_on, one.trained_until) for one in (back, model)]
    assert kept[0] == kept[1]


def test_what_the_last_one_alone_needed_goes(model, tmp_path):
    model.save(tmp_path)
    other = replace(model, combiner=None, encoder=replace(model.encoder, tables={**model.encoder.tables}))
    other.encoder.tables["report"] = other.encoder.tables["report"] + np.float16(1)
    other.save(tmp_path)
    assert sorted(path.name.partition("-")[0] for path in tmp_path.iterdir()) == [RECORD, "vectors"]
    assert TermModel.load(tmp_path).combiner is None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"schema": 2}, "newer TosLoc"),
        ({"schema": "x"}, "incomplete or damaged"),
        ({"terms": ["", "one"]}, "incomplete or damaged"),
        ({"weights": "gone.safetensors"}, "incomplete or damaged"),
        ({"gains": {}}, "incomplete or damaged"),
        ({"settings": {"width": 0}}, "incomplete or damaged"),
        ({"mix": None}, "incomplete or damaged"),
        ({"last": {"trees": "gone.txt", "mix": 1}}, "is missing"),
        ({"validation": {"x": 1}}, "incomplete or damaged"),
    ],
)
def test_a_damaged_record_is_one_sentence(model, tmp_path, changes, sentence):
    model.save(tmp_path)
    record = json.loads((tmp_path / RECORD).read_text())
    (tmp_path / RECORD).write_text(json.dumps(record | changes))
    with pytest.raises(CheckpointError, match=sentence) as caught:
        TermModel.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_damaged_files_are_one_sentence(model, tmp_path):
    with pytest.raises(CheckpointError, match="incomplete or damaged"):
        TermModel.load(tmp_path / "gone")
    model.save(tmp_path)
    [weights] = tmp_path.glob("vectors-*")
    whole = weights.read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"x" * len(whole)):
        weights.write_bytes(content)
        with pytest.raises(CheckpointError, match="incomplete or damaged"):
            TermModel.load(tmp_path)
    weights.write_bytes(whole)
    (tmp_path / RECORD).write_text("[]")
    with pytest.raises(CheckpointError, match="incomplete or damaged"):
        TermModel.load(tmp_path)
