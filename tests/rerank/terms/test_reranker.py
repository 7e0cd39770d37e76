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
    made = Fixed(0, 9, 0)
    made._choose([one], RerankingContext())
    assert made.validation_["stage one"] == pytest.approx((1 / 2, (1 / 2 + 2 / 9) / 2))
    assert made.validation_["weight 0.2"] == pytest.approx((1, (1 + 2 / 9) / 2))


def test_a_gain_in_one_measure_alone_is_not_taken():
    # the first fixed file rises, two others fall
    one = candidates("a b c d e f g", "0111000", of=report(opened=5))
    assert chosen(one, 0, 90, 0, 0, 80, 70, 60) == 0


@pytest.mark.parametrize(
    "changes",
    [{"terms": ["a"]}, {"terms": ["a", "a"]}, {"gains": {}}, {"weight": None}, {"validation": {"x": 1}}, {"terms": 5}],
)
def test_a_damaged_record_is_one_sentence(reranker, tmp_path, changes):
    reranker.save(tmp_path)
    record = tmp_path / "terms.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | changes))
    with pytest.raises(CheckpointError, match="incomplete or damaged") as caught:
        TermReranker.load(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "kept", "more"),
    [("vectors.safetensors", 50, b""), ("vectors.safetensors", 0, b"x" * 999), ("terms.json", 0, b"[]")],
)
def test_damaged_files_are_one_sentence(reranker, tmp_path, name, kept, more):
    reranker.save(tmp_path)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:kept] + more)
    with pytest.raises(CheckpointError, match="incomplete or damaged"):
        TermReranker.load(tmp_path)
