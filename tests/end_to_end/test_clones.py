"""Repositories that lack something, through the command; and work shared by two processes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests import toy
from tosloc.cli import main
from tosloc.git.repository import Repository
from tosloc.localizer import Localizer
from tosloc.rank import features
from tosloc.rank.extract import Extraction, tasks_of
from tosloc.rank.feature_tables import FeatureTable
from tosloc.rank.stage_one import StageOne


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> toy.Toy:
    return toy.grow(tmp_path_factory.mktemp("toy"), bugs=12, themes=6)


@pytest.fixture
def command(project: toy.Toy, tmp_path: Path) -> list[str]:
    """Localizing with hand-written weights; the repository is still to be named."""
    localizer = Localizer(toy.config())
    weights = [5.0 if name == "mention" else 1.0 for name in features.NAMES]  # a file without text has its name alone
    localizer.stage_one_ = StageOne(features.NAMES, np.array(weights))
    localizer.save(tmp_path / "checkpoint")
    (tmp_path / "bug.md").write_text("Cookie lost\n\nopenCookie loses a click, see CookieService\n")
    named = ["localize", "--checkpoint", str(tmp_path / "checkpoint"), "--report", str(tmp_path / "bug.md")]
    return [*named, "--opened", "2030-01-01", "--store", str(tmp_path / "facts"), "--top", "99", "--json", "--repo"]


def answered(command: list[str], repo: Path, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], str]:
    assert main([*command, str(repo)]) == 0
    printed = capsys.readouterr()
    return [hit["path"] for hit in json.loads(printed.out)["hits"]], printed.err


def test_missing_blobs(
    project: toy.Toy, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--bare", f"file://{project.git.path}", str(clone)], check=True)
    pack = next((clone / "objects/pack").glob("*.pack")).rename(tmp_path / "all.pack")
    for left in (clone / "objects/pack").iterdir():
        left.unlink()
    subprocess.run(["git", "-C", str(clone), "unpack-objects", "-q"], input=pack.read_bytes(), check=True)
    whole, said = answered(command, project.git.path, capsys)
    assert said == ""
    for theme in ("Cookie", "Parser"):
        blob = project.git.git("rev-parse", f"main:{toy.path_of(theme)}")
        (clone / "objects" / blob[:2] / blob[2:]).unlink()
    command[command.index(str(tmp_path / "facts"))] = str(tmp_path / "other")
    paths, said = answered(command, clone, capsys)
    assert said == "tosloc: 2 files could not be read from the repository; they are ranked by their paths alone\n"
    assert sorted(paths) == sorted(whole)
    assert paths[0] == toy.path_of("Cookie")


def test_a_shallow_clone(
    project: toy.Toy, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = tmp_path / "clone"
    url = f"file://{project.git.path}"
    subprocess.run(["git", "clone", "-q", "--depth", "1", "--branch", "main", url, str(clone)], check=True)
    whole, _ = answered(command, project.git.path, capsys)
    paths, said = answered(command, clone, capsys)
    assert sorted(paths) == sorted(whole)
    assert paths[0] == toy.path_of("Cookie")
    assert "Traceback" not in said
    assert all(line.startswith("tosloc: ") for line in said.splitlines())


@pytest.mark.slow
def test_two_processes_extract_what_one_does(project: toy.Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tosloc.rank.extract.BLOCK_REPORTS", 4)
    from tosloc.experiment import ExperimentContext

    config = toy.config()
    with Repository(project.git.path) as repo:
        experiment = ExperimentContext.set_up(config, repo, project.reports(), project.store)
        tasks = tasks_of(experiment.dataset.cases, experiment.history, 3)
        made: list[list[FeatureTable]] = []
        blocks = []
        for jobs in (1, 2):
            extraction: Extraction = experiment.extraction(tmp_path / str(jobs), features.NAMES)
            paths = extraction.run(tasks, jobs=jobs)
            blocks.append([(path.name, path.read_bytes()) for path in paths])
            made.append(list(extraction.tables(paths)))
        experiment.indexed.close()
    assert len(blocks[0]) == 3
    assert blocks[0] == blocks[1]
    assert [table.report for table in made[0]] == [case.report.id for case in experiment.dataset.cases]
