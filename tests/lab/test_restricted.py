"""Rankings cut to the files that were ever fixed."""

from pathlib import Path

import numpy as np
import pytest

from tosloc.errors import RunError
from tosloc.evaluate.file_lists import FileLists
from tosloc.evaluate.judgements import Judgement, Qrels
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.runs import Run
from tosloc.lab.restricted import RESTRICTED, read_paths, restricted
from tosloc.records import Names, Ranking

FILES = ("A.java", "B.java", "C.java", "D.java")


def judged(fixed: str = "D") -> ScoredRun:
    """One report that ranks A, B, C, D, in this order."""
    run = Run.of({"search space": "all"}, [Ranking("1", FILES, np.array([4.0, 3.0, 2.0, 1.0]))])
    names = Names(list(FILES), {name: number for number, name in enumerate(FILES)})
    searched = FileLists(names, {"v": np.arange(4, dtype=np.int32)})
    truth = tuple(f"{one}.java" for one in fixed)
    return ScoredRun("run", run, Qrels.of([Judgement("1", truth, (*truth, "Gone.java"), 4, "v")], searched))


def test_files_that_were_never_fixed_make_way() -> None:
    made = restricted(judged(), frozenset({"B.java", "D.java", "Z.java"}))
    ranking = made.run.ranking("1")
    assert ranking.paths == ("B.java", "D.java")
    assert ranking.scores.tolist() == [3.0, 1.0]
    summary = made.evaluation().summary()
    assert (summary["mrr"], summary["length"]) == (0.5, 1.0)
    assert judged().evaluation().summary()["mrr"] == 0.25
    assert made.run.header["search space"] == RESTRICTED
    assert made.qrels.file_lists is not None
    assert made.qrels.file_lists.files("v") == {"B.java", "D.java"}
    assert made.qrels.judgements["1"].listed == ("D.java", "Gone.java")


def test_a_list_of_another_project_is_refused() -> None:
    with pytest.raises(RunError, match=r"report 1: D\.java is fixed but not among the files to keep"):
        restricted(judged(), frozenset({"A.java"}))


@pytest.mark.parametrize("text", [None, "", "\n"])
def test_a_list_that_is_none(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "kept.txt"
    if text is not None:
        path.write_text(text)
    with pytest.raises(RunError, match=r"kept\.txt: (names no file|cannot read it)"):
        read_paths(path)
