"""Files and folders appear whole or not at all, and what a killed process leaves goes at the next writing."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tosloc import io as files
from tosloc.io import folder_written_whole, remove_unfinished, write_text, written_whole

KILLED = """
import os, sys
from pathlib import Path
from tosloc.io import folder_written_whole, written_whole
with written_whole(Path(sys.argv[1]) / "file") as file, folder_written_whole(Path(sys.argv[1]) / "folder") as folder:
    file.write_text("half")
    (folder / "inner").write_text("half")
    print("now", flush=True)
    sys.stdin.read()
    os.kill(os.getpid(), 9)
"""


def interrupted_writing(path: Path) -> None:
    path.write_text("new")
    raise KeyboardInterrupt


def listing(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_what_a_killed_process_leaves_goes_at_the_next_writing(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"now\n"
        began = listing(tmp_path)
        assert len(began) == 3
        write_text(tmp_path / "other", "whole")  # the process lives, and what it writes is left alone
        assert listing(tmp_path) == sorted([*began, "other"])
        process.stdin.close()
        process.wait()
    assert listing(tmp_path) == sorted([*began, "other"])
    write_text(tmp_path / "other", "whole again")
    assert listing(tmp_path) == ["other"]


def test_what_is_there_stays_as_it_is_after_an_error(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/inner").write_text("old")
    (tmp_path / "file").write_text("old")
    with pytest.raises(KeyboardInterrupt), written_whole(tmp_path / "file") as temporary:
        interrupted_writing(temporary)
    with pytest.raises(KeyboardInterrupt), folder_written_whole(tmp_path / "folder") as temporary:
        interrupted_writing(temporary / "inner")
    assert listing(tmp_path) == ["file", "folder", "folder/inner"]
    assert (tmp_path / "file").read_text() == (tmp_path / "folder/inner").read_text() == "old"


def test_a_folder_takes_the_place_of_another(tmp_path: Path) -> None:
    for content in ("old", "new"):
        with folder_written_whole(tmp_path / "folder") as temporary:
            (temporary / content).write_text(content)
    assert listing(tmp_path) == ["folder", "folder/new"]


@pytest.mark.parametrize("write", [written_whole, folder_written_whole])
def test_what_cannot_be_written_is_named_and_not_the_temporary_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], AbstractContextManager[Path]]
) -> None:
    def refused(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(files, "_make_file", refused)
    monkeypatch.setattr(files, "_make_folder", refused)
    with pytest.raises(PermissionError) as raised, write(tmp_path / "page.html"):
        pass
    assert raised.value.filename == str(tmp_path / "page.html")
    monkeypatch.undo()
    with pytest.raises(FileNotFoundError) as other, write(tmp_path / "page.html"):
        open(tmp_path / "another")
    assert other.value.filename == str(tmp_path / "another")


def test_only_our_own_names_are_removed(tmp_path: Path) -> None:
    for name in (".file.abcdefgh", ".hidden", "tosloc-unfinished-1", ".tosloc"):
        (tmp_path / name).write_text("a user's")
    (tmp_path / ".tosloc-unfinished.0").symlink_to(tmp_path / ".hidden")
    os.mkfifo(tmp_path / ".tosloc-unfinished.1")
    before = listing(tmp_path)
    remove_unfinished(tmp_path)
    assert set(before) - set(listing(tmp_path)) <= {".tosloc-unfinished.1"}
    remove_unfinished(tmp_path / "absent")


@pytest.mark.parametrize("step", ["_make_file", "_locked"])
def test_one_that_is_removed_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    removed: list[Path] = []
    real = {"_make_file": files._make_file, "_locked": os.open}[step]

    def removing(path: Path, *more: int) -> object:
        answer = real(path, *more)
        if len(removed) < 3 and "unfinished" in str(path) and (step == "_make_file" or more == (os.O_RDWR,)):
            removed.append(path)
            path.unlink()
        return answer

    monkeypatch.setattr(*((files, "_make_file") if step == "_make_file" else (os, "open")), removing)
    write_text(tmp_path / "file", "whole")
    assert len(removed) == 3
    assert listing(tmp_path) == ["file"]


def test_where_there_are_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "fcntl", None)
    write_text(tmp_path / "file", "whole")
    assert listing(tmp_path) == ["file"]
