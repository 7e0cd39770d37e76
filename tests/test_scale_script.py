"""``scripts/scale.py``: each part in a process of its own, with what it took."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.scale import PARTS, main
from tests.conftest import GitRepository
from tosloc.cli.guard import guarded


@pytest.mark.slow
def test_what_a_repository_costs(repository: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repository.commit({f"a/B{n}.java": f"class B{n} {{ int c{n}; }}\n" for n in range(5)}, "Begin")
    repository.commit({"a/B1.java": "class B1 { int other; }\n"}, "Change")
    (tmp_path / "work").mkdir()
    assert main([str(repository.path), "--work", str(tmp_path / "work"), "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert found["files"] == 5
    assert [row["part"] for row in found["parts"]] == list(PARTS)
    for row in found["parts"]:
        assert 0.05 < row["processor_s"] < 60
        assert 10 * 2**20 < row["own_bytes"] < row["whole_bytes"] < 2**30
    assert found["kept_bytes"] > 1000
    assert found["store_bytes"] > 1000


@pytest.mark.parametrize(
    ("arguments", "said"), [(["--parts", "version,others"], "'others'"), (["--work", "nowhere"], "no such folder")]
)
def test_bad_input_is_one_sentence(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guarded(lambda: main([str(tmp_path), "--work", str(tmp_path), *arguments])) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert (len(printed.err.splitlines()), printed.out) == (1, "")
