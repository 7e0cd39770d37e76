"""Choice of the mix, and a second stage of term vectors on disk."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tosloc.config import RankerSettings, TermsSettings
from tosloc.errors import CheckpointError
from tosloc.learning.lambdamart import HeadRanker
from tosloc.learning.ranking_lists import RankingLists
from tosloc.reranking.terms.combiner import last_rows
from tosloc.reranking.terms.dual_encoder import DualEncoder
from tosloc.reranking.terms.reranker import BOTH, RECORD, STAGE_ONE, Wording, final_scores, gains
from tosloc.reranking.terms.vocabulary import TermVocabulary
from tosloc.retrieval.fitting import _MARGIN


def trees() -> HeadRanker:
    """A last layer over one feature, which goes by the encoder' contents."""
    rng = np.random.default_rng(1)
    parts = rng.standard_normal((40, 2))
    heads = RankingLists.of([(last_rows(np.zeros((40, 1), dtype=np.float32), parts), parts[:, 0] > 1)])
    return HeadRanker(RankerSettings(rounds=3, min_leaf=2), weight=0.5).fit(heads)


@pytest.fixture
def wording() -> Wording:
    rng = np.random.default_rng(0)
    tables = {side: rng.standard_normal((3, 2)).astype(np.float16) for side in ("report", "content", "history")}
    vocabulary = TermVocabulary(("", "cooki", "größe"), *rng.random((4, 3)))
    return Wording(
        TermsSettings(width=2),
        vocabulary,
        DualEncoder(tables, {"content": 1.5, "history": 0.5}),
        0.3,
        trees(),
        {STAGE_ONE: (0.5, 0.25)},
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


def test_points_are_of_the_towers_and_of_the_trees(wording):
    parts, features = np.array([[1.0, 0.5], [0.0, -1.0]]), np.zeros((2, 1), dtype=np.float32)
    alone = replace(wording, last=None).points(parts, features)
    assert alone == pytest.approx([0.45, -0.3])
    points = wording.last.scores(last_rows(features, parts))
    assert points[0] != points[1]
    assert wording.points(parts, features) == pytest.approx(alone + 0.5 * points)


def test_only_the_head_moves():
    scores = np.array([0.1, 0.9, 0.5, 0.7])
    final = final_scores(scores, np.array([0.0, 0.6]))
    # file 3 by .7 + .6 before file 1; the others below, in their order
    assert np.argsort(-final, kind="stable").tolist() == [3, 1, 2, 0]
    assert final[1] == pytest.approx(0.9)
    assert final[3] == pytest.approx(1.3)
    sunk = final_scores(scores, np.array([-2.7, 0.0]))
    assert np.argsort(-sunk, kind="stable").tolist() == [3, 1, 2, 0]


def test_what_is_kept_comes_back(wording, tmp_path):
    wording.save(tmp_path)
    wording.save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
    back = Wording.load(tmp_path)
    assert back.settings == wording.settings
    assert back.vocabulary.terms == wording.vocabulary.terms
    assert np.array_equal(back.vocabulary.in_commits, wording.vocabulary.in_commits)
    assert back.encoder.digest == wording.encoder.digest
    assert back.encoder.gains == wording.encoder.gains
    assert (back.last.weight_, back.last.text()) == (wording.last.weight_, wording.last.text())
    assert (back.mix, back.tried, back.learned_on) == (wording.mix, wording.tried, wording.learned_on)


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
        ({"validation": {"x": 1}}, "incomplete or damaged"),
    ],
)
def test_a_damaged_record_is_one_sentence(wording, tmp_path, changes, sentence):
    wording.save(tmp_path)
    record = json.loads((tmp_path / RECORD).read_text())
    (tmp_path / RECORD).write_text(json.dumps(record | changes))
    with pytest.raises(CheckpointError, match=sentence) as caught:
        Wording.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_damaged_files_are_one_sentence(wording, tmp_path):
    with pytest.raises(CheckpointError, match="incomplete or damaged"):
        Wording.load(tmp_path / "gone")
    wording.save(tmp_path)
    [weights] = tmp_path.glob("vectors-*")
    whole = weights.read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"x" * len(whole)):
        weights.write_bytes(content)
        with pytest.raises(CheckpointError, match="incomplete or damaged"):
            Wording.load(tmp_path)
    weights.write_bytes(whole)
    (tmp_path / RECORD).write_text("[]")
    with pytest.raises(CheckpointError, match="incomplete or damaged"):
        Wording.load(tmp_path)
