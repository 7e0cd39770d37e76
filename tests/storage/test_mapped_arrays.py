"""Mapped arrays: the same arrays give the same bytes, and damaged files are refused."""

import numpy as np
import pytest
from safetensors.numpy import load_file

from tosloc.core.errors import CheckpointError
from tosloc.storage.mapped_arrays import read_mapped, write_mapped

ARRAYS = {
    "bools": np.array([True, False]),
    "bytes": np.arange(3, dtype=np.uint8),
    "counts": np.arange(12, dtype=np.uint16).reshape(2, 6),
    "none": np.zeros((0, 6), dtype=np.int32),
    "large": np.arange(5, dtype=np.int64),
    "wholes": np.array([0.1, np.inf]),
}


def assert_same_arrays(arrays, expected):
    assert arrays.keys() == expected.keys()
    for name, array in expected.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def test_the_same_arrays_give_the_same_bytes_in_any_order(tmp_path):
    write_mapped(tmp_path / "a", ARRAYS)
    write_mapped(tmp_path / "b", dict(reversed(ARRAYS.items())))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_mapped_arrays_are_read_unchanged(tmp_path):
    write_mapped(tmp_path / "a", ARRAYS)
    assert_same_arrays(read_mapped(tmp_path / "a"), ARRAYS)


def test_mapped_arrays_cannot_be_written_to(tmp_path):
    write_mapped(tmp_path / "a", ARRAYS)
    for array in read_mapped(tmp_path / "a").values():
        assert not array.flags.writeable


def test_mapped_arrays_are_a_valid_safetensors_file(tmp_path):
    write_mapped(tmp_path / "a", ARRAYS)
    assert_same_arrays(load_file(tmp_path / "a"), ARRAYS)


def test_a_truncated_mapped_file_is_damaged(tmp_path):
    write_mapped(tmp_path / "mapped", ARRAYS)
    (tmp_path / "mapped").write_bytes((tmp_path / "mapped").read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="missing or damaged"):
        read_mapped(tmp_path / "mapped")


def test_a_mapped_file_shorter_than_its_length_field_is_damaged(tmp_path):
    (tmp_path / "head").write_bytes(b"1234567")
    with pytest.raises(CheckpointError, match="missing or damaged"):
        read_mapped(tmp_path / "head")


@pytest.mark.parametrize("name", ["none", ""], ids=["missing file", "folder"])
def test_what_is_no_mapped_file_is_refused(tmp_path, name):
    with pytest.raises(CheckpointError, match="missing or damaged"):
        read_mapped(tmp_path / name)
