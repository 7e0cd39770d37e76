"""The feature tables that training keeps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests import toy
from tosloc import training
from tosloc.errors import ToslocError
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
