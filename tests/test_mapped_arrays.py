"""Arrays that are read where they lie: what was written, or a sentence."""

from __future__ import annotations

import json
import os
import random
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tosloc import mapped_arrays
from tosloc.errors import CheckpointError
from tosloc.mapped_arrays import Scratch, read_mapped, release_pages, write_mapped

ARRAYS = {
    "numbers": np.arange(-3, 700, dtype=np.int64),
    "table": np.arange(12, dtype=np.uint16).reshape(2, 6),
    "nothing": np.zeros((0, 6), dtype=np.float64),
    "truth": np.array([True, False]),
    "single": np.linspace(0, 1, 5, dtype=np.float32),
}
HEAD = 36
"""Bytes before the JSON object."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_mapped(tmp_path / "x", {"a": [1, "ä"]}, ARRAYS)
    return tmp_path / "x"


def test_what_was_written(path: Path) -> None:
    record, arrays = read_mapped(path)
    assert record == {"a": [1, "ä"]}
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        assert arrays[name].tolist() == array.tolist()
        assert arrays[name].ctypes.data % 64 == 0 or not array.size
    with pytest.raises(ValueError, match="read-only"):
        arrays["numbers"][0] = 1
    again = path.with_name("y")
    write_mapped(again, record, dict(reversed(arrays.items())))
    assert again.read_bytes() == path.read_bytes()


def test_no_byte_may_differ(path: Path) -> None:
    data, rng = path.read_bytes(), random.Random(3)
    for place in [*range(HEAD + 20), *(rng.randrange(len(data)) for _ in range(200))]:
        changed = bytearray(data)
        changed[place] ^= 1 << rng.randrange(8)
        path.unlink()
        path.write_bytes(changed)
        with pytest.raises(CheckpointError, match="is missing or damaged"):
            read_mapped(path)


@pytest.mark.parametrize("end", [0, 5, HEAD, 200, -1])
def test_no_byte_may_lack(path: Path, end: int) -> None:
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[:end])
    with pytest.raises(CheckpointError, match="is missing or damaged"):
        read_mapped(path)


@pytest.mark.parametrize(
    "place",
    [
        ["<i8", [10**9], 0],
        ["<i8", [-1], 0],
        ["<i8", [0, 10**30], 0],
        ["<i8", [2.5], 0],
        ["<i8", [1], 64_000],
        ["<i8", [1], -64],
        ["<i8", [1], 3],
        ["|O", [1], 0],
        ["<M8[s]", [1], 0],
        ["<i8", 1, 0],
        ["<i8"],
        None,
    ],
)
def test_places_that_are_none_are_a_sentence(path: Path, place: Any) -> None:
    """With a sum that fits: nothing is believed for that."""
    body = json.dumps({"record": {}, "arrays": {"a": place}}).encode()
    body += b" " * (-(HEAD + len(body)) % 64) + bytes(640)
    length = len(body) - 640
    lengths = (HEAD + len(body)).to_bytes(8, "little"), length.to_bytes(8, "little")
    checksum = zlib.crc32(body, zlib.crc32(b"".join(lengths)))
    head = b"tosloc arrays 1\n" + lengths[0] + checksum.to_bytes(4, "little") + lengths[1]
    path.unlink()
    path.write_bytes(head + body)
    with pytest.raises(CheckpointError, match="is missing or damaged"):
        read_mapped(path)


def test_pipes_and_folders_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", ".", "absent"):
        with pytest.raises(CheckpointError, match="is missing or damaged"):
            read_mapped(tmp_path / name)


def test_large_scratch_arrays_lie_in_files_without_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped_arrays, "IN_MEMORY", 100)
    scratch = Scratch(tmp_path)
    for shape in (7, (50, 6)):
        array = scratch.zeros(shape, np.uint16)
        assert array.dtype == np.uint16
        assert not array.any()
        array += 3
        assert (array == 3).all()
        assert (array.base is None) == (array.nbytes <= 100)  # the larger one is a view of its file
    growing = scratch.growing(np.int32, 2)
    parts = [np.arange(2 * n, dtype=np.int32).reshape(-1, 2) + n for n in (0, 3, 40, 1, 17)]
    for part in parts:
        growing.add(part)
    whole = growing.array()
    assert whole.tolist() == np.concatenate(parts).tolist()
    whole += 1
    assert whole.tolist() == (np.concatenate(parts) + 1).tolist()
    assert scratch.growing(np.int64).array().shape == (0,)
    assert not list(tmp_path.iterdir())


def test_scratch_without_room_is_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any, **more: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(mapped_arrays, "IN_MEMORY", 100)
    begun = Scratch(tmp_path).growing(np.int32)
    begun.add(np.arange(60, dtype=np.int32))  # in a file
    monkeypatch.setattr(mapped_arrays.os, "posix_fallocate", full, raising=False)
    monkeypatch.setattr(mapped_arrays.tempfile, "TemporaryFile", full)
    monkeypatch.setattr(begun, "_file", Full(begun._file))
    begun.add(np.arange(60, 120, dtype=np.int32))
    begun.add(np.arange(120, 130, dtype=np.int32))
    growing = Scratch(tmp_path / "not there").growing(np.int32)
    growing.add(np.arange(70, dtype=np.int32))
    growing.add(np.arange(70, 130, dtype=np.int32))
    for found in (begun.array(), growing.array()):
        assert found.tolist() == list(range(130))
    assert Scratch(tmp_path).zeros((30, 6), np.uint16).shape == (30, 6)


class Full:
    """A file on a disk that has become full."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def write(self, data: Any) -> None:
        raise OSError(28, "No space left on device")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __enter__(self) -> Any:
        return self.file

    def __exit__(self, *error: object) -> None:
        self.file.close()


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="the system does not tell")
def test_what_was_looked_at_once_does_not_stay(tmp_path: Path) -> None:
    write_mapped(tmp_path / "x", {}, {"large": np.arange(8 << 20, dtype=np.int64)})

    def resident() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssFile"))

    before = resident()
    large: Any = read_mapped(tmp_path / "x")[1]["large"]
    assert resident() - before < 40 << 20
    assert large.max() == len(large) - 1
    assert resident() - before > 50 << 20
    release_pages(large[5:])
    assert resident() - before < 10 << 20
    assert large[-1] == len(large) - 1
    release_pages(np.zeros(3))  # of no file: nothing happens
