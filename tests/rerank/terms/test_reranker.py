"""What the term reranker learns, when both stages are taken, and what it is on disk."""

import json

import numpy as np
import pytest
import torch
from scipy import sparse

from tests.rerank.made import candidates, report
from tosloc.errors import CheckpointError
from tosloc.rerank.base import Candidates, RerankingContext
from tosloc.rerank.terms import training
from tosloc.rerank.terms.reranker import TermReranker
from tosloc.rerank.terms.sparse_vectors import FILE_SIDES, SIDES, DualEncoder, VectorCache, Vocabulary
from tosloc.rerank.terms.training import Lessons, fit_dual_encoder


class Fixed(TermReranker):
    """Says what is known beforehand."""

    def __init__(self, *said: float, until: int = 0) -> None:
        super().__init__()
        self._given, self.trained_until = np.array(said), until

    def _reranked(self, one, context):
        assert not one.fixed.any()
        return self._given, lambda position: ()

    def chosen_by(self, one: Candidates) -> float:
        """The weight by one report of validation."""
        self._choose([one], RerankingContext())
        return self.weight


def test_the_weight_is_taken_that_gains_most_on_validation():
    one = candidates("a b c", "010", of=report(opened=5), missed_ranks=(9,))
    assert Fixed(0, 0, 0).chosen_by(one) == 0  # as stage one
    assert Fixed(0, 9, 0).chosen_by(one) == 0.2  # the fixed file rises at any weight: the least
    assert Fixed(0, 1.5, 0).chosen_by(one) == 0.8
    assert Fixed(3, 1, 2).chosen_by(one) == 0  # it falls
    assert Fixed(0, 9, 0, until=6).chosen_by(one) == 0  # opened before what was learned
    # of seven the first fixed file rises, two others fall: a gain in one measure alone is not taken
    many = candidates("a b c d e f g", "0111000", of=report(opened=5))
    assert Fixed(0, 90, 0, 0, 80, 70, 60).chosen_by(many) == 0
    made = Fixed(0, 9, 0)
    made.chosen_by(one)
    assert made.validation_["stage one"] == pytest.approx((1 / 2, (1 / 2 + 2 / 9) / 2))
    assert made.validation_["weight 0.2"] == pytest.approx((1, (1 + 2 / 9) / 2))


@pytest.mark.parametrize(
    ("name", "kept", "content"),
    [
        *(("terms.json", None, changes) for changes in ({"terms": ["a"]}, {"terms": ["a", "a"]}, {"gains": {}})),
        *(("terms.json", None, changes) for changes in ({"weight": None}, {"validation": {"x": 1}})),
        *(("vectors.safetensors", 50, b""), ("terms.json", 0, b"[]")),
    ],
)
def test_what_is_damaged_is_one_sentence(tmp_path, name, kept, content):
    rng = np.random.default_rng(0)
    tables = {side: rng.standard_normal((2, 3)).astype(np.float16) for side in SIDES}
    saved = TermReranker()
    saved._model = (
        Vocabulary(("cooki", "größe"), *rng.random((4, 2))),
        DualEncoder(tables, dict.fromkeys(FILE_SIDES, 1.5)),
    )
    saved.save(tmp_path)
    TermReranker.load(tmp_path)
    whole = (tmp_path / name).read_bytes()
    damaged = json.dumps(json.loads(whole) | content).encode() if kept is None else whole[:kept] + content
    (tmp_path / name).write_bytes(damaged)
    with pytest.raises(CheckpointError, match=r"\A[^\n]*incomplete or damaged[^\n]*\Z"):
        TermReranker.load(tmp_path)


torch.set_num_threads(1)
V, D = 8, 4
START = np.random.default_rng(0).standard_normal((V, D)).astype(np.float32)


def vectors(*rows: tuple[int, ...]) -> sparse.csr_array:
    """Sparse vectors of equal weights."""
    made = np.zeros((len(rows), V), dtype=np.float32)
    for row, some in enumerate(rows):
        made[row, list(some)] = max(len(some), 1) ** -0.5
    return sparse.csr_array(made)


REPORTS = vectors((0,), (1,), (2,), (0, 1))
FILES = {"content": vectors((3,), (4,), (5,), (6,)), "history": vectors((7,), (), (3, 4), (0,))}


def files(*rows: int, history: int | None = None) -> dict[str, sparse.csr_array]:
    past = list(rows) if history is None else [history] * len(rows)
    return {"content": FILES["content"][list(rows)], "history": FILES["history"][past]}


def test_scores_by_hand():
    tables = {side: np.zeros((V, 2), dtype=np.float16) for side in SIDES}
    tables["report"][0] = (2, 0)
    tables["content"][3], tables["content"][4] = (3, 0), (1, 1)
    tables["history"][7] = (-1, 0)
    encoder = DualEncoder(tables, {"content": 1.0, "history": 0.5})
    assert encoder.scores(REPORTS[[0]], FILES) == pytest.approx([1 - 0.5, 0.5**0.5, 0, 0], abs=1e-6)
    assert encoder.matches(REPORTS[[0]], files(1), 3) == [(0, 4)]
    assert encoder.matches(REPORTS[[0]], files(3), 3) == []


def test_learning_brings_the_fixed_file_first_whatever_stage_one_said(monkeypatch):
    """Report r is fixed in file r, which shares no term with it; all files have the first one's history."""
    small = {"_EPOCHS": 40, "_LEARNING_RATE": 0.05, "_REPORTS": 4, "_DROPOUT": 0.0, "_NEGATIVES": 3}
    for name, value in small.items():
        monkeypatch.setattr(training, name, value)
    texts = {side: VectorCache(V) for side in FILE_SIDES}
    for side, cache in texts.items():
        cache.numbers(list(range(4)), lambda new, side=side: FILES[side][new])
    numbers = {"content": np.arange(4), "history": np.zeros(4, dtype=np.int64)}
    lists = [candidates("a b c d", "0" * (r % 3) + "1", scores=np.linspace(1, 0, 4)) for r in range(4)]

    def first(some: DualEncoder) -> int:
        return sum(some.scores(REPORTS[[r]], files(0, 1, 2, 3, history=0)).argmax() == r for r in range(3))

    before = DualEncoder({side: START.astype(np.float16) for side in SIDES}, dict.fromkeys(FILE_SIDES, 1.0))
    encoder = fit_dual_encoder(START, Lessons(REPORTS, lists, [numbers] * 4, texts), seed=1)
    assert first(before) < first(encoder) == 3
    assert encoder.tables["report"].dtype == np.float16
    # only terms of the report and of the file, those that help
    matches = encoder.matches(REPORTS[[3]], files(2), 3)
    assert matches
    assert {asked for asked, _ in matches} <= {0, 1}
    assert {found for _, found in matches} <= {3, 4, 5}
