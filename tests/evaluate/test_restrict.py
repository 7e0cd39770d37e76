"""A judged run in a part of its search space."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tosloc.errors import RunError
from tosloc.evaluate.file_lists import FileLists
from tosloc.evaluate.judgements import Judgement, Qrels
from tosloc.evaluate.measures import Measure
from tosloc.evaluate.restrict import only_some_files
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.runs import Order, Run
from tosloc.records import BoolArray, Names, Ranking

FILES = ("t1", "a", "t2", "b")


def no_t(paths: Sequence[str]) -> BoolArray:
    return np.array([not path.startswith("t") for path in paths], dtype=np.bool_)


def judged(fixed: Sequence[str], searched: int | None = 4, lists: bool = False, ranked: int = 4) -> ScoredRun:
    run = Run.of({"seed": 7}, [Ranking("1", FILES[:ranked], -np.arange(ranked, dtype=np.float64))])
    names = Names(list(FILES), {name: number for number, name in enumerate(FILES)})
    files = FileLists(names, {"v": np.arange(4, dtype=np.int32)}) if lists else None
    listed = (*fixed, "t-gone", "gone")
    return ScoredRun("run", run, Qrels.of([Judgement("1", tuple(fixed), listed, searched, "v")], files))


@pytest.mark.parametrize("lists", [True, False])
def test_ranks_and_truth_are_those_of_what_is_kept(lists: bool) -> None:
    made = only_some_files(judged(["b", "t1"], lists=lists), no_t, "no t")
    [one] = made.evaluation().per_report
    assert (one.ranks, one.outcome.relevant, one.outcome.searched, one.judgement.dropped) == ((2,), 1, 2, 1)
    assert made.run.header == {"seed": 7, "search space": "no t"}
    assert made.run.ranking("1").paths == ("a", "b")
    assert one.judgement.listed == ("b", "gone")
    assert Measure("Acc", 2)(one.outcome) == 1.0
    [none] = only_some_files(judged(["t1"], lists=lists), no_t, "no t").evaluation().per_report
    assert (none.ranks, none.outcome.relevant, none.reciprocal_rank) == ((), 0, 0.0)


def test_of_a_cut_ranking_it_is_not_known_how_many_files_are_left() -> None:
    [one] = only_some_files(judged(["b"], ranked=3), no_t, "no t").evaluation().per_report
    assert one.outcome.searched is None
    [one] = only_some_files(judged(["b"], ranked=3, lists=True), no_t, "no t").evaluation().per_report
    assert one.outcome.searched == 2


def test_known_ranks_alone_are_refused() -> None:
    scored = judged(["b"])
    order = Order(np.array([3], dtype=np.int32), np.zeros(0), np.array([4], dtype=np.int32))
    partial = ScoredRun("run", Run({}, FILES, {"1": order}, "known.jsonl"), scored.qrels)
    with pytest.raises(RunError, match=r"known\.jsonl: only the ranks of some files are known"):
        only_some_files(partial, no_t, "no t")
