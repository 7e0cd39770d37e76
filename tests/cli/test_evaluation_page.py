"""The page of an evaluation tells why files stood above fixed ones, where the run kept its features."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests import toy
from tosloc import training
from tosloc.cli import main

pytestmark = pytest.mark.slow


def test_why_files_stand_above_is_told_of_a_run_that_keeps_its_features(tmp_path: Path) -> None:
    project = toy.grow(tmp_path / "toy", bugs=20, themes=8)
    run = tmp_path / "run"
    config = toy.config(0.6, 0.2, features=["complexity", "length"])  # of the files alone, so that others come first
    training.train(
        config, project.git.path, project.reports(), run, project.store,
        carry=False, keep_features=True,
    )  # fmt: skip
    page = tmp_path / "page.html"
    told = r'<span class="why"><abbr title="[^"]+">(?:complexity|length)</abbr> \+\d'
    texts = []
    for place in (run, run / "test"):
        assert main(["evaluate", str(place), "--html", str(page)]) == 0
        texts.append(page.read_text(encoding="utf-8"))
        assert re.search(told, texts[-1])
        assert 'id="features"' in texts[-1]
    shutil.rmtree(run / ".tosloc-work")
    assert main(["evaluate", str(run), "--html", str(page)]) == 0
    assert "--keep-features" in page.read_text(encoding="utf-8")
