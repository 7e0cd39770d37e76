"""Arrays that are mapped: a standard file, whole or not at all; buffers that spill leave nothing behind."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tosloc.errors import CheckpointError
from tosloc.index import mapped as module
from tosloc.index.mapped import SpillBuffer, read_mapped, spilled_zeros, write_mapped

ARRAYS = {
    "bools": np.array([True, False]),
    "bytes": np.arange(3, dtype=np.uint8),
    "counts": np.arange(12, dtype=np.uint16).reshape(2, 6),
    "none": np.zeros((0, 6), dtype=np.int32),
    "large": np.arange(5, dtype=np.int64),
    "parts": np.linspace(0, 1, 3, dtype=np.float32),
    "wholes": np.array([0.1, np.inf]),
}


def test_what_was_written_is_read_here_and_by_the_library(tmp_path: Path) -> None:
    write_mapped(tmp_path / "a", {"name": "ü"}, ARRAYS)
    record, arrays = read_mapped(tmp_path / "a")
    assert record == {"name": "ü"}
    theirs = load_file(tmp_path / "a")
    assert arrays.keys() == theirs.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        for read in (arrays[name], theirs[name]):
            assert read.dtype == array.dtype
            np.testing.assert_array_equal(read, array)
        assert not arrays[name].flags.writeable
    write_mapped(tmp_path / "b", {"name": "ü"}, dict(reversed(ARRAYS.items())))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data + b"0", lambda data: data[:7]])
def test_what_is_cut_off_or_of_another_format_is_a_sentence(tmp_path: Path, damage: object) -> None:
    write_mapped(tmp_path / "a", {}, ARRAYS)
    (tmp_path / "b").write_bytes(damage((tmp_path / "a").read_bytes()))  # type: ignore[operator]
    for path in (tmp_path / "b", tmp_path / "none", tmp_path):
        with pytest.raises(CheckpointError, match="missing or damaged"):
            read_mapped(path)


def test_a_spill_buffer_is_all_that_was_added() -> None:
    buffer = SpillBuffer(np.uint16, 2)
    buffer.add(np.array([[1, 2]]))
    buffer.add(np.array([[3, 4], [5, 6]]))
    made = buffer.array()
    assert made.tolist() == [[1, 2], [3, 4], [5, 6]]
    made[0] = 7
    assert SpillBuffer(np.int32).array().shape == (0,)


@pytest.mark.parametrize("room", [True, False])
def test_large_zeros_lie_on_the_disk_where_there_is_room(monkeypatch: pytest.MonkeyPatch, room: bool) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_IN_MEMORY", 16)
    if not room:
        monkeypatch.setattr(module.os, "posix_fallocate", full)
    made = spilled_zeros((4, 3), np.int64)
    made[1] = 1
    assert made.sum() == 3
