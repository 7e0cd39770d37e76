"""The feature tables that training keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import toy
from tosloc import training
from tosloc.errors import ToslocError
from tosloc.rank.feature_tables import StoredFeatureTables


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
