"""What projects teach together, on the tables that training keeps, and the commands over them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from tests import toy
from tosloc import training
from tosloc.cli import main
from tosloc.config import StageOneSettings
from tosloc.errors import ToslocError
from tosloc.lab.multi_project import evenly, feature_ablation, fit_projects, read_alike
from tosloc.retrieval import features
from tosloc.retrieval.feature_tables import FeatureTable, save_block
from tosloc.retrieval.stored_tables import StoredFeatureTables, write_listing

LINEAR = StageOneSettings.model_validate({"ranker": {"enabled": False}})
NAMES = ("good", "noise")


def table(report: str, fixed: int, files: int = 4) -> FeatureTable:
    """A report whose fixed file alone has the first feature; the second tells nothing."""
    rows = np.zeros((files, 2), dtype=np.float32)
    rows[fixed, 0] = 1.0
    rows[:, 1] = 0.5
    truth = np.arange(files) == fixed
    return FeatureTable(report, rows, truth, np.ones(files, dtype=np.float32), np.arange(files, dtype=np.int32))


def keep(folder: Path, train: int = 8) -> StoredFeatureTables:
    """A training folder with tables written by hand."""
    work = folder / "work"
    work.mkdir(parents=True)
    blocks = {"train": [work / "block-a.npz"], "validation": [work / "block-b.npz"], "test": []}
    save_block(blocks["train"][0], [table(f"t{n}", n % 3) for n in range(train)])
    save_block(blocks["validation"][0], [table("v", 2), table("w", 3)])
    write_listing(work, NAMES, blocks)
    return StoredFeatureTables.read(folder)


def test_what_is_kept_is_read_back(tmp_path: Path) -> None:
    kept = keep(tmp_path / "one")
    assert json.loads((tmp_path / "one" / "work" / "blocks.json").read_text()) == {
        "features": ["good", "noise"],
        "blocks": {"train": ["block-a.npz"], "validation": ["block-b.npz"], "test": []},
    }
    assert (kept.name, kept.features) == ("one", NAMES)
    assert [one.report for one in kept.tables("validation")] == ["v", "w"]
    assert list(kept.tables("test")) == []
    assert len(kept.train()) == 8
    assert kept.train().rows.shape == (32, 2)


@pytest.mark.parametrize("content", [None, "{", "[]", '{"features": []}', '{"features": [], "blocks": 3}'])
def test_a_folder_that_keeps_nothing(tmp_path: Path, content: str | None) -> None:
    (tmp_path / "work").mkdir()
    if content is not None:
        (tmp_path / "work/blocks.json").write_text(content)
    with pytest.raises(ToslocError, match="keeps no feature tables; train it with --keep-features"):
        StoredFeatureTables.read(tmp_path)


def test_evenly() -> None:
    assert evenly(10, 4).tolist() == [0, 3, 6, 9]
    assert evenly(3, 900).tolist() == [0, 1, 2]
    assert evenly(5, 1).tolist() == [0]
    assert evenly(0, 9).tolist() == []


def test_projects_learn_what_all_say(tmp_path: Path) -> None:
    one, two = keep(tmp_path / "one"), keep(tmp_path / "two", train=5)
    stage = fit_projects(LINEAR, NAMES, [one.train(), two.train()])
    assert stage.features == NAMES
    assert stage.ranker is None
    good, noise = stage.weights.tolist()
    assert good > 1
    assert noise == pytest.approx(0, abs=1e-3)  # the same for every file
    again = fit_projects(LINEAR, NAMES, [one.train(), two.train()])
    assert again.weights.tolist() == stage.weights.tolist()
    with pytest.raises(ToslocError, match="at least two training folders"):
        fit_projects(LINEAR, NAMES, [])


def test_ablation(tmp_path: Path) -> None:
    rows = feature_ablation(LINEAR, keep(tmp_path / "one"))
    assert list(rows) == ["all", "good", "noise"]
    loss, mrr, map_ = rows["all"]
    assert (mrr, map_) == (1, 1)
    # without it all four files are equal: loss ln 4, and in path order the fixed ones are third and fourth
    assert rows["good"] == pytest.approx(
        (math.log(4) - loss, (1 / 3 + 1 / 4) / 2 - 1, (1 / 3 + 1 / 4) / 2 - 1), abs=1e-6
    )
    assert rows["noise"] == pytest.approx((0, 0, 0), abs=1e-3)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two training folders of the toy project, with their tables and without a version."""
    project = toy.grow(tmp_path_factory.mktemp("toy"), bugs=20, themes=8)
    folders = []
    for name in ("first", "second"):
        config = toy.config(0.6, 0.2, features=["bm25f", "path", "test"])
        folders.append(project.folder / name)
        training.train(
            config, project.git.path, project.reports(), folders[-1], project.store,
            carry=False, keep_features=True, default=None,
        )  # fmt: skip
    return folders


def test_no_carry_and_keep_features(trained: list[Path]) -> None:
    assert not (trained[0] / "checkpoint/version.npz").exists()
    assert (trained[0] / "checkpoint/reports.npz").exists()
    kept = StoredFeatureTables.read(trained[0])
    assert kept.features == ("bm25f", "path", "test")
    assert [len(list(kept.tables(part))) for part in ("train", "validation", "test")] == [12, 4, 4]


def test_the_commands(trained: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [str(folder) for folder in trained]
    assert main(["lab", "feature-ablation", *folders]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| left out | first loss, MRR, MAP | second loss, MRR, MAP | mean MRR, MAP |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| all", "| bm25f", "| path", "| test"]
    whole = lines[2].split(" | ")
    assert whole[1] == whole[2]  # the same project twice
    assert main(["lab", "pool", *folders, "--out", str(tmp_path / "out"), "--leave-one-out"]) == 0
    ranking, shares, bins = capsys.readouterr().out.split("\n\n")
    rows = [line.split(" | ") for line in ranking.splitlines()[2:]]
    assert list(dict.fromkeys(row[0] for row in rows)) == ["| first", "| second"]
    assert {row[1] for row in rows if row[0] == "| first"} == {row[1] for row in rows if row[0] == "| second"}
    assert rows[0][1] == "weights of the others"
    alike = [line.split(" | ")[1:] for line in shares.splitlines()[2:]]
    assert alike[0] == alike[1]
    assert alike[0][0] == "8"  # reports of validation and test
    assert len(bins.splitlines()) == 12
    record = json.loads((tmp_path / "out/weights.json").read_text())
    assert 0 < record["temperature"] < 1  # of a project whose first files are mostly right
    assert list(record["weights"]) == ["bm25f", "path", "test"]
    assert set(record["weights"]) <= set(features.ALL)
    assert record["mix"] == 8.0
    assert (tmp_path / "out/ranker.txt").read_text().startswith("tree")


def test_folders_of_different_features(trained: list[Path], tmp_path: Path) -> None:
    keep(tmp_path / "other")
    with pytest.raises(ToslocError, match="different features"):
        read_alike([trained[0], tmp_path / "other"])
