"""Repositories that lack something, through the command; and work shared by two processes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests import toy
from tosloc.cli import main
from tosloc.localizer import Localizer
from tosloc.rank import features
from tosloc.rank.stage_one import StageOne

Capture = pytest.CaptureFixture[str]


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


def answered(command: list[str], repo: Path, capsys: Capture) -> tuple[list[str], str]:
    assert main([*command, str(repo)]) == 0
    printed = capsys.readouterr()
    return [hit["path"] for hit in json.loads(printed.out)["hits"]], printed.err


def test_missing_blobs(project: toy.Toy, command: list[str], tmp_path: Path, capsys: Capture) -> None:
    clone = cloned(project, tmp_path, "--bare")
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
    assert (paths[0], sorted(paths)) == (toy.path_of("Cookie"), sorted(whole))


def test_a_shallow_clone(project: toy.Toy, command: list[str], tmp_path: Path, capsys: Capture) -> None:
    whole, _ = answered(command, project.git.path, capsys)
    paths, said = answered(command, cloned(project, tmp_path, "--depth", "1"), capsys)
    assert (paths[0], sorted(paths)) == (toy.path_of("Cookie"), sorted(whole))
    assert all(line.startswith("tosloc: ") for line in said.splitlines())


def cloned(project: toy.Toy, folder: Path, *options: str) -> Path:
    url = f"file://{project.git.path}"
    subprocess.run(["git", "clone", "-q", "--branch", "main", *options, url, str(folder / "clone")], check=True)
    return folder / "clone"
