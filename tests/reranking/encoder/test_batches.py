"""Candidate lists as tensors, the cut for training, and measures of a reordered head."""

import numpy as np
import pytest

from tosloc.reranking.encoder.batches import CandidateList, ChunkTable, Head, batch_of, batches, for_training, values_of

QUERY = (np.array([2, 7, 3], dtype=np.int32),)
LIBRARY = ChunkTable.of_vectors(
    {"a": np.ones((2, 3), np.float16), "b": np.full((1, 3), 2, np.float16), "none": np.zeros((0, 3), np.float16)}, 3
)


def one(report: str, blobs: str, fixed: str, **more) -> CandidateList:
    names = tuple(blobs.split())
    marks = np.array([mark == "1" for mark in fixed])
    return CandidateList(report, QUERY, names, marks, -np.arange(len(names), dtype=float), **more)


def test_a_batch_pads_candidates_and_chunks() -> None:
    batch = batch_of([one("1", "b a", "01"), one("2", "a none gone", "100")], LIBRARY)
    assert batch.real_BC.tolist() == [[True, True, False], [True, True, True]]
    assert batch.real_BCN.tolist() == [
        [[True, False], [True, True], [False, False]],
        [[True, True], [False, False], [False, False]],
    ]
    assert batch.vectors_Ud is not None
    found = batch.vectors_Ud[batch.places_BCN][batch.real_BCN]
    assert found.tolist() == [[2.0] * 3, *[[1.0] * 3] * 4]
    assert len(batch.vectors_Ud) == 3  # each chunk once
    assert batch.fixed_BC.tolist() == [[False, True, False], [True, False, False]]


def test_tokens_in_place_of_vectors() -> None:
    chunk_table = ChunkTable.of_tokens({"a": [np.array([2, 3]), np.array([2, 4, 3])], "b": []})
    batch = batch_of([one("1", "b a", "01")], chunk_table)
    assert [chunk.tolist() for chunk in batch.chunks] == [[2, 3], [2, 4, 3]]
    assert batch.real_BCN.tolist() == [[[False, False], [True, True]]]
    assert batch.vectors_Ud is None


def test_batches_hold_about_so_many_pairs() -> None:
    lists = [one(str(n), "a b", "10") for n in range(5)]
    sizes = [len(batch.fixed_BC) for batch in batches(lists, LIBRARY, 4, range(5))]
    assert sizes == [2, 2, 1]
    assert [len(batch.fixed_BC) for batch in batches(lists, LIBRARY, 1, range(5))] == [1] * 5


def test_training_keeps_the_fixed_and_the_first_wrong_files() -> None:
    whole = one("1", "a b c d e", "00010", features=np.arange(10.0).reshape(5, 2))
    cut = for_training(whole, 2, np.random.default_rng(1), by_rank=False)
    assert cut is not None
    assert cut.blobs == ("a", "b", "d")
    assert cut.fixed.tolist() == [False, False, True]
    assert cut.features is not None
    assert cut.features[:, 0].tolist() == [0, 2, 6]
    assert for_training(one("1", "a b", "00"), 2, np.random.default_rng(1), by_rank=False) is None
    assert for_training(one("1", "a b", "11"), 2, np.random.default_rng(1), by_rank=False) is None


def test_negatives_by_rank_are_more_often_the_first() -> None:
    whole = one("1", "f a b c d e", "100000")
    rng = np.random.default_rng(1)
    drawn = [cut.blobs for _ in range(300) if (cut := for_training(whole, 2, rng, by_rank=True))]
    share = {name: sum(name in blobs for blobs in drawn) / 300 for name in "fae"}
    assert share["f"] == 1
    assert share["a"] > 1.5 * share["e"] > 0


def test_a_reordered_head_is_measured_with_the_rest_in_its_places() -> None:
    head = one("1", "a b c", "001", missed_ranks=(10,), relevant=3)
    assert values_of(head, head.scores) == pytest.approx((1 / 3, (1 / 3 + 2 / 10) / 3))
    assert values_of(head, np.array([0.0, 1.0, 2.0])) == pytest.approx((1, (1 + 2 / 10) / 3))
    assert values_of(head, np.zeros(3)) == values_of(head, head.scores)  # equal scores keep stage one's order
    assert values_of(one("1", "a", "0"), np.zeros(1)) == (0.0, 0.0)


def test_what_a_shorter_head_loses_keeps_its_rank() -> None:
    whole = one("1", "a b c d", "0101", missed_ranks=(10,), relevant=3)
    head = Head.of(whole, 2)
    assert (head.fixed.tolist(), head.scores.tolist(), head.missed_ranks) == ([False, True], [0, -1], (4, 10))
    # the fixed file at place 2 rises to the first place, the others stay
    assert values_of(head, np.array([0.0, 1.0])) == pytest.approx((1, (1 + 2 / 4 + 3 / 10) / 3))
    for depth in (4, 9):
        assert values_of(Head.of(whole, depth), whole.scores) == values_of(whole, whole.scores)
