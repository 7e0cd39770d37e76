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

from tosloc.errors import CheckpointError
from tosloc.mapped_arrays import read_mapped, write_mapped

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
