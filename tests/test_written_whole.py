"""Files and folders appear whole or not at all, and what a killed process left goes when it is old."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tosloc.io import remove_unfinished, written_whole


def interrupted_writing(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("new")
    raise KeyboardInterrupt


def listing(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_what_is_there_stays_as_it_is_after_an_error(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/inner").write_text("old")
    (tmp_path / "file").write_text("old")
    with pytest.raises(KeyboardInterrupt), written_whole(tmp_path / "file") as temporary:
        interrupted_writing(temporary)
    with pytest.raises(KeyboardInterrupt), written_whole(tmp_path / "folder") as temporary:
        interrupted_writing(temporary / "inner")
    assert listing(tmp_path) == ["file", "folder", "folder/inner"]
    assert (tmp_path / "file").read_text() == (tmp_path / "folder/inner").read_text() == "old"


def test_a_folder_takes_the_place_of_another(tmp_path: Path) -> None:
    for content in ("old", "new"):
        with written_whole(tmp_path / "folder") as temporary:
            temporary.mkdir()
            (temporary / content).write_text(content)
    assert listing(tmp_path) == ["folder", "folder/new"]


def test_what_cannot_be_written_is_named_and_not_the_temporary_path(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised, written_whole(tmp_path / "page.html"):
        pass
    assert raised.value.filename == str(tmp_path / "page.html")
    with pytest.raises(FileNotFoundError) as other, written_whole(tmp_path / "page.html"):
        open(tmp_path / "another")
    assert other.value.filename == str(tmp_path / "another")


def test_only_our_own_names_are_removed_and_only_old_ones(tmp_path: Path) -> None:
    for name in (".file.abcdefgh", ".hidden", "tosloc-unfinished-1", ".tosloc", ".tosloc-unfinished.1"):
        (tmp_path / name).write_text("a user's")
    (tmp_path / ".tosloc-unfinished.0").symlink_to(tmp_path / ".hidden")
    before = listing(tmp_path)
    remove_unfinished(tmp_path)
    assert listing(tmp_path) == before
    for path in tmp_path.iterdir():
        os.utime(path, (time.time() - 7200,) * 2, follow_symlinks=False)
    remove_unfinished(tmp_path)
    assert set(before) - set(listing(tmp_path)) == {".tosloc-unfinished.0", ".tosloc-unfinished.1"}
    remove_unfinished(tmp_path / "absent")
