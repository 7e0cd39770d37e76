"""Candidates as tensors, and the cut for training."""

import numpy as np

from tests.reranking.made import candidates
from tosloc.reranking.encoder.batches import ChunkTable, TokenizedCandidates, batch_of, grouped

REPORT = np.array([2, 7, 3], dtype=np.int32)
TABLE = ChunkTable.of_vectors(
    {"a": np.ones((2, 3), np.float16), "b": np.full((1, 3), 2, np.float16), "none": np.zeros((0, 3), np.float16)}, 3
)


def one(blobs: str, fixed: str) -> TokenizedCandidates:
    return TokenizedCandidates(candidates(blobs, fixed), REPORT)


def test_a_batch_pads_candidates_and_chunks() -> None:
    batch = batch_of([one("b a", "01"), one("a none gone", "100")], TABLE)
    assert batch.real_BC.tolist() == [[True, True, False], [True, True, True]]
    assert batch.real_BCN.tolist() == [
        [[True, False], [True, True], [False, False]],
        [[True, True], [False, False], [False, False]],
    ]
    assert batch.vectors_Ud is not None
    found = batch.vectors_Ud[batch.positions_BCN][batch.real_BCN]
    assert found.tolist() == [[2.0] * 3, *[[1.0] * 3] * 4]
    assert len(batch.vectors_Ud) == 3  # each chunk once
    assert batch.fixed_BC.tolist() == [[False, True, False], [True, False, False]]
    assert [tokens.tolist() for tokens in batch.reports] == [[2, 7, 3]] * 2
    assert batch.report_Bd is None


def test_tokens_in_place_of_vectors() -> None:
    table = ChunkTable.of_tokens({"a": [np.array([2, 3]), np.array([2, 4, 3])], "b": []})
    batch = batch_of([one("b a", "01")], table)
    assert [chunk.tolist() for chunk in batch.chunks] == [[2, 3], [2, 4, 3]]
    assert batch.real_BCN.tolist() == [[[False, False], [True, True]]]
    assert batch.vectors_Ud is None


def test_files_that_nobody_knows_are_padding_alone() -> None:
    batch = batch_of([one("gone away", "10")], TABLE)
    assert batch.real_BCN.tolist() == [[[False], [False]]]
    assert batch.real_BC.tolist() == [[True, True]]


def test_each_report_is_asked_of_every_first_fixed_file() -> None:
    batch = batch_of([one("b a", "01"), one("b none a", "101")], TABLE).crossed()
    assert batch.fixed_BC.tolist() == [[True, False], [False, True]]
    assert batch.real_BC.all()
    assert batch.real_BCN.tolist() == [[[True, True], [True, False]]] * 2
    assert batch.vectors_Ud is not None
    assert batch.vectors_Ud[batch.positions_BCN][batch.real_BCN].tolist() == [[1.0] * 3, [1.0] * 3, [2.0] * 3] * 2


def test_groups_hold_about_so_many_pairs() -> None:
    lists = [one("a b", "10") for _ in range(5)]

    def sizes(pairs: int, *, at_most: bool) -> list[int]:
        return [len(group) for group in grouped(lists, pairs, at_most=at_most)]

    assert sizes(4, at_most=True) == [2, 2, 1]
    assert sizes(5, at_most=True) == [2, 2, 1]  # ends before it exceeds the number
    assert sizes(1, at_most=True) == [1] * 5
    assert sizes(4, at_most=False) == [2, 2, 1]
    assert sizes(5, at_most=False) == [3, 2]  # ends as soon as it reaches the number
    assert list(grouped([], 4, at_most=True)) == []


def test_training_keeps_the_fixed_and_the_first_wrong_files() -> None:
    cut = one("a b c d e", "00010").for_training(2)
    assert cut is not None
    assert cut.candidates.blobs == ("a", "b", "d")
    assert cut.candidates.paths == ("src/a.java", "src/b.java", "src/d.java")
    assert cut.candidates.fixed.tolist() == [False, False, True]
    assert cut.candidates.scores.tolist() == [0, -1, -3]
    again = cut.for_training(2)
    assert again is not None
    assert again.candidates.blobs == cut.candidates.blobs
    assert one("a b", "00").for_training(2) is None
    assert one("a b", "11").for_training(2) is None
