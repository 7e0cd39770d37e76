"""The tables of docs/languages.md come out of repositories and runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from scripts.languages import language_of_fix, main
from tests.conftest import GitRepository
from tosloc.evaluation import Judgement, write_judgements, write_run
from tosloc.records import Ranking


@pytest.fixture
def project(repository: GitRepository) -> GitRepository:
    repository.commit(
        {
            "a.py": "def f(): pass\ndef g(): pass\n",
            "b.py": "def h(): pass\n",
            "c.vue": "<script>function f() {}</script>",
            "d.lua": "x = 1",
            "e.md": "no source",
        },
        "Begin",
    )
    return repository


def test_what_repositories_hold(project: GitRepository, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(project.path)]) == 0
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()]
    found = {row[0]: row[3:] for row in rows if len(row) == 7}
    assert found["python"] == ["1", "2", "1.000", "1.5"]
    assert found["vue"] == ["1", "1", "1.000", "1.0"]
    assert found["lua"] == ["1", "1", "", "none"]
    assert "text" not in found


def test_runs_are_compared_by_the_language_of_the_fix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = [Judgement("1", ("a.py",), ("a.py",)), Judgement("2", ("b.ts",), ("b.ts",)), Judgement("3", (), ("c.py",))]
    for folder, order in (("ours", ("a.py", "b.ts")), ("bm25", ("b.ts", "a.py"))):
        place = tmp_path / folder / "toy" / "all"
        place.mkdir(parents=True)
        write_judgements(place / "qrels.jsonl", truth)
        write_run(place / "run.jsonl.gz", {}, [Ranking(one.report, order, np.array([1.0, 0.5])) for one in truth])
    (tmp_path / "ours" / "alone").mkdir()
    assert main(["--runs", str(tmp_path / "ours"), str(tmp_path / "bm25")]) == 0
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines()]
    assert ["python", "1", "1", "1.000", "0.500", "1.000", "0.500"] in rows
    assert ["typescript", "1", "1", "0.500", "1.000", "0.500", "1.000"] in rows


@pytest.mark.parametrize(
    ("fixed", "language"),
    [([], None), (["a.md"], None), (["a.jsx", "b.js", "c.py"], "javascript"), (["a.py", "b.c"], "python")],
)
def test_the_language_of_a_fix(fixed: list[str], language: str | None) -> None:
    assert language_of_fix(fixed) == language


def test_what_is_no_repository_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
