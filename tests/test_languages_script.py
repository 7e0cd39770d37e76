"""The table of docs/languages.md comes out of repositories."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.languages import main
from tests.conftest import GitRepository


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


def test_what_is_no_repository_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
