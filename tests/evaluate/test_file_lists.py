import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tosloc.errors import RunError
from tosloc.evaluate import Judgement, read_file_lists, read_scored, write_judgements, write_run
from tosloc.evaluate.file_lists import write_file_lists
from tosloc.records import Ranking

VERSIONS = [("v1", ["A", "caf\udce9 b"]), ("v2", ["A", "C", "caf\udce9 b"]), ("v3", ["C"]), ("v4", [])]


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(4)), st.permutations(range(4)))
def test_versions_come_back_from_any_order_of_lines(
    tmp_path_factory: pytest.TempPathFactory, written: list[int], read: list[int]
) -> None:
    path = tmp_path_factory.mktemp("searched") / "searched.jsonl.gz"
    write_file_lists(path, [VERSIONS[number] for number in (*written, *written)])
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[number] for number in read))
    searched = read_file_lists(path)
    assert {version: searched.files(version) for version in searched.versions} == {v: frozenset(f) for v, f in VERSIONS}
    assert [searched.count(version) for version, _ in VERSIONS] == [2, 3, 1, 0]


def folder_of(tmp_path: Path, files: tuple[str, ...], fixed: tuple[str, ...], version: str = "v2") -> Path:
    write_run(tmp_path / "run.jsonl.gz", {}, [Ranking("1", files, -np.arange(len(files), dtype=np.float64))])
    write_judgements(tmp_path / "qrels.jsonl", [Judgement("1", fixed, fixed, 3, version)])
    write_file_lists(tmp_path / "searched.jsonl.gz", VERSIONS)
    return tmp_path


def test_a_ranking_of_the_version_is_judged(tmp_path: Path) -> None:
    evaluation = read_scored(folder_of(tmp_path, ("C", "A", "caf\udce9 b"), ("A",))).evaluation()
    assert (evaluation.mrr, evaluation.length) == (0.5, 1.0)


@pytest.mark.parametrize(
    ("files", "fixed", "version", "sentence"),
    [
        (("A", "Z"), ("A",), "v2", "run.jsonl.gz line 3: report 1 ranks Z, which version v2 does not have"),
        (("A", "C"), ("A", "Z"), "v2", "qrels.jsonl line 1: report 1 has the fixed file Z, which version v2 lacks"),
        (("A", "C"), ("A",), "v9", "searched.jsonl.gz: no list of the files of version v9"),
    ],
)
def test_a_file_that_was_not_searched_is_refused(
    tmp_path: Path, files: tuple[str, ...], fixed: tuple[str, ...], version: str, sentence: str
) -> None:
    with pytest.raises(RunError) as caught:
        read_scored(folder_of(tmp_path, files, fixed, version)).evaluation()
    assert str(caught.value) == f"{tmp_path}/{sentence}"
