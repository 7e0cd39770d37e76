"""Choice of the mix, and a second stage of term vectors on disk."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tosloc.config import TermsSettings
from tosloc.errors import CheckpointError
from tosloc.pipeline.fitting import MARGIN
from tosloc.pipeline.wording import MIXES, RECORD, Wording, chosen_mix
from tosloc.reranking.terms import Lexicon
from tosloc.reranking.towers import Towers


@pytest.fixture
def wording() -> Wording:
    rng = np.random.default_rng(0)
    tables = {side: rng.standard_normal((3, 2)).astype(np.float16) for side in ("report", "content", "history")}
    lexicon = Lexicon(("", "cooki", "größe"), *rng.random((4, 3)))
    return Wording(
        TermsSettings(width=2), lexicon, Towers(tables, {"content": 1.5, "history": 0.5}), 0.3, {0.0: (0.5, 0.25)}
    )


def test_the_mix_is_taken_where_it_gains_by_a_margin_and_lowers_neither_measure():
    tried = dict.fromkeys(MIXES, (0.5, 0.25)) | {0.6: (0.9, 0.9)}
    assert chosen_mix(tried, 0.4) == 0
    assert chosen_mix(tried | {0.4: (0.5 + MARGIN, 0.25)}, 0.4) == 0
    assert chosen_mix(tried | {0.4: (0.5 + MARGIN + 1e-6, 0.25)}, 0.4) == 0.4
    assert chosen_mix(tried | {0.4: (0.499, 0.3)}, 0.4) == chosen_mix(tried | {0.4: (0.6, 0.249)}, 0.4) == 0


def test_only_the_head_moves(wording):
    scores = np.array([0.1, 0.9, 0.5, 0.7])
    final = wording.final(scores, np.array([0.0, 2.0]))
    # file 3 by .7 + .3 x 2 before file 1; the others below, in their order
    assert np.argsort(-final, kind="stable").tolist() == [3, 1, 2, 0]
    assert final[1] == pytest.approx(0.9)
    assert final[3] == pytest.approx(1.3)
    sunk = wording.final(scores, np.array([-9.0, 0.0]))
    assert np.argsort(-sunk, kind="stable").tolist() == [3, 1, 2, 0]


def test_what_is_kept_comes_back(wording, tmp_path):
    wording.save(tmp_path)
    wording.save(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    back = Wording.load(tmp_path)
    assert back.settings == wording.settings
    assert back.lexicon.terms == wording.lexicon.terms
    assert np.array_equal(back.lexicon.in_commits, wording.lexicon.in_commits)
    assert back.towers.digest == wording.towers.digest
    assert back.towers.gains == wording.towers.gains
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
