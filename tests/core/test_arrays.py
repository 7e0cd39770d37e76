"""Arrays in files: the same arrays give the same bytes, and damaged files are refused."""

import io
import os
import zipfile

import numpy as np
import pytest

from tosloc.core.arrays import (
    load_arrays,
    pack_words,
    save_arrays,
    unpack_words,
)
from tosloc.core.errors import CheckpointError

ODD_WORDS = (
    "",
    "a/b c.java",
    "ü/ß.java",
    b"\xff\xe9/x.java".decode("utf-8", "surrogateescape"),
    "new\nline.java",
    "",
)
ARRAYS = {
    "bools": np.array([True, False]),
    "bytes": np.arange(3, dtype=np.uint8),
    "counts": np.arange(12, dtype=np.uint16).reshape(2, 6),
    "none": np.zeros((0, 6), dtype=np.int32),
    "large": np.arange(5, dtype=np.int64),
    "wholes": np.array([0.1, np.inf]),
}
NOT_CONTIGUOUS = {"cut": np.ones((2, 3), dtype=np.float32)[:, ::2]}
BOMB_BYTES = 300_000_000


def assert_same_arrays(arrays, expected):
    assert arrays.keys() == expected.keys()
    for name, array in expected.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


@pytest.mark.parametrize(
    "words", [ODD_WORDS, (), ("",), ("", "")], ids=["odd", "none", "one empty", "two empty"]
)
def test_packed_words_are_unpacked_unchanged(words):
    assert unpack_words(pack_words(words)) == list(words)


def test_the_same_arrays_give_the_same_bytes_in_any_order(tmp_path):
    arrays = ARRAYS | NOT_CONTIGUOUS
    save_arrays(tmp_path / "a", arrays)
    save_arrays(tmp_path / "b", dict(reversed(arrays.items())))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_saved_arrays_are_loaded_unchanged(tmp_path):
    save_arrays(tmp_path / "a", ARRAYS | NOT_CONTIGUOUS)
    assert_same_arrays(load_arrays(tmp_path / "a"), ARRAYS | NOT_CONTIGUOUS)


# Damaged files


def npy_bytes(array, shape=None):
    """Return an .npy file of an array, whose header may claim another shape."""
    buffer = io.BytesIO()
    header = {
        "descr": array.dtype.str,
        "fortran_order": False,
        "shape": shape or array.shape,
    }
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + array.tobytes()


def write_npz_with(path, content):
    """Write an .npz of a valid array and a second entry with some content."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("good.npy", npy_bytes(np.arange(4)))
        file.writestr("bad.npy", content)


@pytest.mark.parametrize(
    "content", [npy_bytes(np.arange(4), shape=(2**40,)), b""], ids=["false shape", "empty"]
)
def test_a_damaged_entry_is_refused(tmp_path, content):
    write_npz_with(tmp_path / "x.npz", content)
    with pytest.raises(CheckpointError, match=r"x\.npz is damaged .* train again"):
        load_arrays(tmp_path / "x.npz")


def test_nothing_is_unpickled(tmp_path):
    class MakesFolder:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "unpickled"),)

    pickled = io.BytesIO()
    np.save(pickled, np.array([MakesFolder()], dtype=object), allow_pickle=True)
    write_npz_with(tmp_path / "x.npz", pickled.getvalue())
    with pytest.raises(CheckpointError, match=r"x\.npz is damaged .* train again"):
        load_arrays(tmp_path / "x.npz")
    assert not (tmp_path / "unpickled").exists()


def test_a_file_that_would_unpack_to_far_more_is_refused(tmp_path):
    with (
        zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
        file.open("a.npy", "w", force_zip64=True) as entry,
    ):
        entry.write(npy_bytes(np.zeros(0, dtype=np.uint8), shape=(BOMB_BYTES,)))
        for _ in range(BOMB_BYTES // 1_000_000):
            entry.write(bytes(1_000_000))
    with pytest.raises(CheckpointError, match="its unpacked size is implausible"):
        load_arrays(tmp_path / "bomb")


def test_a_truncated_npz_is_damaged(tmp_path):
    save_arrays(tmp_path / "cut", ARRAYS)
    (tmp_path / "cut").write_bytes((tmp_path / "cut").read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="damaged"):
        load_arrays(tmp_path / "cut")


def test_a_missing_npz_is_reported_as_missing(tmp_path):
    with pytest.raises(CheckpointError, match="is missing"):
        load_arrays(tmp_path / "none")
