"""Plain files, and text that is safe to print."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tosloc.io import open_plain, printable, read_plain


def test_only_plain_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, words in (("pipe", "a named pipe"), ("", "a folder"), ("loop", "symbolic links"), ("no", "No such file")):
        with pytest.raises(OSError, match=words):
            open_plain(tmp_path / name)
    for path, words in ((Path("/dev/zero"), "a device"), (Path("a\0b"), "null byte"), (Path("a" * 5000), "too long")):
        with pytest.raises(OSError, match=words):
            open_plain(path)


def test_as_many_bytes_as_allowed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    assert read_plain(tmp_path / "file", 3) == b"abc"
    with pytest.raises(OSError, match="more than 2 bytes"):
        read_plain(tmp_path / "file", 2)


def test_halves_of_characters_are_printable() -> None:
    assert printable("a\ud800b\udce9\udfff\n") == r"a\ud800b\xe9\udfff\n"
