"""The study on the toy project: all constellations, from the commits to the tables and the figure."""

from __future__ import annotations

import pytest

from tests import toy
from tosloc import training
from tosloc.cli import main
from tosloc.lab.agreement import study
from tosloc.lab.agreement.term_bounds import TermBounds

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> toy.Toy:
    return toy.grow(tmp_path_factory.mktemp("toy"), bugs=20, themes=8)


@pytest.fixture(scope="module")
def folder(project, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "toy"
    training.train(toy.config(0.5, 0.1), project.git.path, project.reports(), out, project.store, keep_features=True)
    return out


@pytest.fixture
def few(monkeypatch):
    """Two steps where there are five; a baseline that is not perfect on a project as easy as this."""
    monkeypatch.setattr(study, "BASELINE", "recency")
    monkeypatch.setattr(study, "VOCABULARIES", {"least": [TermBounds(least=2)], "most": [TermBounds(most=0.4)]})
    for name in ("TOLERANCES", "NOISES", "ROUNDINGS"):
        monkeypatch.setattr(study, name, getattr(study, name)[::4])


def test_every_constellation(project, folder, few, tmp_path, capsys):
    command = ["lab", "study", str(folder), "--repo", str(project.git.path), "--reports", str(project.reports())]
    command += ["--store", str(project.store), "--work", str(tmp_path / "work"), "--keep", str(tmp_path / "kept")]
    assert main([*command, "--figure", str(tmp_path / "figure")]) == 0
    printed = capsys.readouterr().out
    names = [line.split(" | ")[0].strip("| ") for line in printed.splitlines() if line.startswith("| ")]
    steps = [f"{name}_{number}" for name in ("tolerance", "noise", "rounding") for number in (1, 2)]
    expected = ["original", "least_1", "most_1", *steps]
    assert names[1:10] == expected
    assert names[10:13] == ["original, baseline", "least_1, baseline", "most_1, baseline"]
    assert names[14:19] == ["least", "most", "tolerance", "noise", "rounding"]
    assert (tmp_path / "figure.svg").is_file()
    original = next(line for line in printed.splitlines() if line.startswith("| original |"))
    assert original.endswith(" | 1.000 | 1.000 | 0.000 | 1.000 | 1.000 | 0.000 | 4 |")
    blocks = sorted(path.stat().st_mtime_ns for path in (tmp_path / "work").glob("block-*"))
    assert main(command) == 0
    assert capsys.readouterr().out == printed
    assert sorted(path.stat().st_mtime_ns for path in (tmp_path / "work").glob("block-*")) == blocks
    kept = [str(tmp_path / "kept" / name) for name in ("original-baseline", "original-advanced")]
    ours = [str(tmp_path / "kept" / name) for name in ("least_1-baseline", "least_1-advanced")]
    options = ["--baseline", "--advanced", "--our-baseline", "--our-advanced"]
    pairs = [word for pair in zip(options, [*kept, *ours], strict=True) for word in pair]
    assert main(["lab", "reproduce-check", *pairs, "--measures", "nDCG@10"]) == 0


def test_weights_alone_need_no_repository(folder, few, capsys):
    assert main(["lab", "study", str(folder)]) == 0
    assert "least" not in capsys.readouterr().out


def test_the_original_pair_alone(folder, few, tmp_path, capsys):
    assert main(["lab", "study", str(folder), "--pair-only", "--keep", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["original-advanced", "original-baseline"]
    assert capsys.readouterr().out == ""


def test_wrong_input(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "BASELINE", "nothing")
    assert main(["lab", "study", str(folder)]) == 2
    assert main(["lab", "study", str(folder), "--repo", str(tmp_path)]) == 2
    assert main(["lab", "study", str(tmp_path)]) == 2
    assert main(["lab", "study", str(folder), "--pair-only"]) == 2
