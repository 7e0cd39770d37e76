"""Arrays that are mapped: a standard file, whole or not at all."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tosloc.errors import CheckpointError
from tosloc.index.mapped import read_mapped, write_mapped

ARRAYS = {
    "bools": np.array([True, False]),
    "bytes": np.arange(3, dtype=np.uint8),
    "counts": np.arange(12, dtype=np.uint16).reshape(2, 6),
    "none": np.zeros((0, 6), dtype=np.int32),
    "large": np.arange(5, dtype=np.int64),
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


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:7]])
def test_what_is_cut_off_or_of_another_format_is_a_sentence(tmp_path: Path, damage: object) -> None:
    write_mapped(tmp_path / "a", {}, ARRAYS)
    (tmp_path / "b").write_bytes(damage((tmp_path / "a").read_bytes()))  # type: ignore[operator]
    for path in (tmp_path / "b", tmp_path / "none", tmp_path):
        with pytest.raises(CheckpointError, match="missing or damaged"):
            read_mapped(path)
