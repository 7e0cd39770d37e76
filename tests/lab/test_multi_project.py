"""What features are worth, on the tables that training keeps."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from tests import toy
from tosloc import training
from tosloc.cli import main
from tosloc.errors import ToslocError
from tosloc.lab.multi_project import feature_ablation
from tosloc.rank.feature_tables import FeatureTable, StoredFeatureTables, block_bytes, write_listing

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
    work = folder / ".tosloc-work"
    work.mkdir(parents=True)
    blocks = {"train": [work / "block-a.npz"], "validation": [work / "block-b.npz"], "test": []}
    blocks["train"][0].write_bytes(block_bytes([table(f"t{n}", n % 3) for n in range(train)]))
    blocks["validation"][0].write_bytes(block_bytes([table("v", 2), table("w", 3)]))
    write_listing(work, NAMES, blocks)
    return StoredFeatureTables.read(folder)


def test_what_is_kept_is_read_back(tmp_path: Path) -> None:
    kept = keep(tmp_path / "one")
    assert json.loads((tmp_path / "one" / ".tosloc-work" / "blocks.json").read_text()) == {
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
    (tmp_path / ".tosloc-work").mkdir()
    if content is not None:
        (tmp_path / ".tosloc-work/blocks.json").write_text(content)
    with pytest.raises(ToslocError, match="keeps no feature tables; train it with --keep-features"):
        StoredFeatureTables.read(tmp_path)


def test_ablation(tmp_path: Path) -> None:
    rows = feature_ablation(keep(tmp_path / "one"))
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
            carry=False, keep_features=True,
        )  # fmt: skip
    return folders


def test_no_carry_and_keep_features(trained: list[Path]) -> None:
    assert not (trained[0] / "checkpoint/version.npz").exists()
    assert (trained[0] / "checkpoint/reports.npz").exists()
    kept = StoredFeatureTables.read(trained[0])
    assert kept.features == ("bm25f", "path", "test")
    assert [len(list(kept.tables(part))) for part in ("train", "validation", "test")] == [12, 4, 4]


def test_the_command(trained: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    folders = [str(folder) for folder in trained]
    assert main(["lab", "feature-ablation"]) == 2
    assert capsys.readouterr().err == "tosloc: name training folders, or many projects with --projects\n"
    assert main(["lab", "feature-ablation", folders[0], "--projects", "p.toml"]) == 2
    assert "leave out the training folders" in capsys.readouterr().err
    for option in ("--features", "--config", "--repos", "--stores"):  # nothing is left unheard
        assert main(["lab", "feature-ablation", folders[0], option, "path"]) == 2
        assert capsys.readouterr().err.startswith(f"tosloc: {option}: goes with --projects")
    assert main(["lab", "feature-ablation", folders[0], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["first"]) == ["all", "bm25f", "path", "test"]
    assert list(found["first"]["path"]) == ["loss", "mrr", "map"]
    assert main(["lab", "feature-ablation", *folders]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| left out | first loss, MRR, MAP | second loss, MRR, MAP | mean MRR, MAP |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| all", "| bm25f", "| path", "| test"]
    whole = lines[2].split(" | ")
    assert whole[1] == whole[2]  # the same project twice
