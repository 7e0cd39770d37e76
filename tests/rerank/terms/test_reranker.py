"""When both stages are taken, and what the term reranker has learned, on disk."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.rerank.made import candidates, report
from tosloc.errors import CheckpointError
from tosloc.rerank.base import Candidates, RerankingContext
from tosloc.rerank.terms.reranker import TermReranker
from tosloc.rerank.terms.sparse_vectors import FILE_SIDES, SIDES, DualEncoder, Vocabulary


@pytest.fixture
def reranker() -> TermReranker:
    rng = np.random.default_rng(0)
    tables = {side: rng.standard_normal((2, 3)).astype(np.float16) for side in SIDES}
    made = TermReranker()
    made._model = (
        Vocabulary(("cooki", "größe"), *rng.random((4, 2))),
        DualEncoder(tables, dict.fromkeys(FILE_SIDES, 1.5)),
    )
    made.weight, made.trained_until, made.validation_ = 0.3, 1234, {"stage one": (0.5, 0.25)}
    return made


class Fixed(TermReranker):
    """Says what is known beforehand."""

    def __init__(self, *said: float) -> None:
        super().__init__()
        self._given = np.array(said)

    def _reranked(self, one, context):
        assert not one.fixed.any()
        return self._given, lambda position: ()


def chosen(one: Candidates, *said: float, until: int = 0) -> float:
    """The weight by one report of validation."""
    made = Fixed(*said)
    made.trained_until = until
    made._choose([one], RerankingContext())
    return made.weight


def test_the_weight_is_taken_that_gains_most_on_validation():
    one = candidates("a b c", "010", of=report(opened=5), missed_ranks=(9,))
    assert chosen(one, 0, 0, 0) == 0  # as stage one
    assert chosen(one, 0, 9, 0) == 0.2  # the fixed file rises at any weight: the least
    assert chosen(one, 0, 1.5, 0) == 0.8
    assert chosen(one, 3, 1, 2) == 0  # it falls
    assert chosen(one, 0, 9, 0, until=6) == 0  # opened before what was learned
    # of seven the first fixed file rises, two others fall: a gain in one measure alone is not taken
    assert chosen(candidates("a b c d e f g", "0111000", of=report(opened=5)), 0, 90, 0, 0, 80, 70, 60) == 0
    made = Fixed(0, 9, 0)
    made._choose([one], RerankingContext())
    assert made.validation_["stage one"] == pytest.approx((1 / 2, (1 / 2 + 2 / 9) / 2))
    assert made.validation_["weight 0.2"] == pytest.approx((1, (1 + 2 / 9) / 2))


@pytest.mark.parametrize(
    ("name", "kept", "content"),
    [
        *(("terms.json", None, changes) for changes in ({"terms": ["a"]}, {"terms": ["a", "a"]}, {"gains": {}})),
        *(("terms.json", None, changes) for changes in ({"weight": None}, {"validation": {"x": 1}}, {"terms": 5})),
        *(("vectors.safetensors", 50, b""), ("vectors.safetensors", 0, b"x" * 999), ("terms.json", 0, b"[]")),
    ],
)
def test_what_is_damaged_is_one_sentence(reranker, tmp_path, name, kept, content):
    reranker.save(tmp_path)
    whole = (tmp_path / name).read_bytes()
    damaged = json.dumps(json.loads(whole) | content).encode() if kept is None else whole[:kept] + content
    (tmp_path / name).write_bytes(damaged)
    with pytest.raises(CheckpointError, match="incomplete or damaged") as caught:
        TermReranker.load(tmp_path)
    assert "\n" not in str(caught.value)
