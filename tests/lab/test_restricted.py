"""Rankings cut to the files that were ever fixed."""

from pathlib import Path

import pytest

from tests.evaluate.test_evaluate import judged
from tosloc.errors import RunError
from tosloc.lab.restricted import RESTRICTED, read_paths, restricted


def test_files_that_were_never_fixed_make_way() -> None:
    made = restricted(judged(["b"], lists=True), frozenset({"a", "b", "z"}))
    ranking = made.run.ranking("1")
    assert ranking.paths == ("a", "b")
    assert ranking.scores.tolist() == [-1.0, -3.0]
    summary = made.evaluation().summary()
    assert (summary["mrr"], summary["length"]) == (0.5, 1.0)
    assert made.run.header["search space"] == RESTRICTED
    assert made.qrels.file_lists is not None
    assert made.qrels.file_lists.files("v") == {"a", "b"}
    assert made.qrels.judgements["1"].listed == ("b", "t-gone", "gone")


def test_a_list_of_another_project_is_refused() -> None:
    with pytest.raises(RunError, match=r"report 1: b is fixed but not among the files to keep"):
        restricted(judged(["b"], lists=True), frozenset({"a"}))


@pytest.mark.parametrize("text", [None, "", "\n"])
def test_a_list_that_is_none(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "kept.txt"
    if text is not None:
        path.write_text(text)
    with pytest.raises(RunError, match=r"kept\.txt: (names no file|cannot read it)"):
        read_paths(path)
