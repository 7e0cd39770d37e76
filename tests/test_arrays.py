"""Arrays in files and strings in arrays, byte for byte, without unpickling."""

from __future__ import annotations

import io
import pickle
import zipfile

import numpy as np
import pytest
from safetensors.numpy import load_file

from tosloc.arrays import (
    load_arrays,
    pack_words,
    read_mapped,
    save_arrays,
    unpack_words,
    write_mapped,
)
from tosloc.errors import CheckpointError

ODD = ("", "a/b c.java", "ü/ß.java", b"\xff\xe9/x.java".decode("utf-8", "surrogateescape"), "new\nline.java", "")


@pytest.mark.parametrize("words", [ODD, (), ("",), ("", "")])
def test_words(words):
    assert unpack_words(pack_words(words)) == list(words)


def test_the_same_arrays_give_the_same_bytes(tmp_path):
    held = {"b": np.arange(5), "a": np.ones((2, 3), dtype=np.float32)[:, ::2]}
    save_arrays(tmp_path / "one.npz", held)
    save_arrays(tmp_path / "two.npz", dict(reversed(held.items())))
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    read = load_arrays(tmp_path / "one.npz")
    assert read["a"].tolist() == [[1, 1], [1, 1]]
    assert read["b"].dtype == np.arange(5).dtype


def test_what_cannot_be_read(tmp_path):
    path = tmp_path / "x.npz"
    with pytest.raises(CheckpointError, match="missing"):
        load_arrays(path)
    path.write_bytes(b"not an archive")
    with pytest.raises(CheckpointError, match="damaged"):
        load_arrays(path)
    save_arrays(path, {"a": np.arange(1000)})
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(CheckpointError, match="damaged"):
        load_arrays(path)


def test_nothing_is_unpickled(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, a=np.array([{"anything": 1}], dtype=object))
    with pytest.raises(CheckpointError, match="damaged"):
        load_arrays(path)


def archive(path, **content: bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in content.items():
            file.writestr(f"{name}.npy", data)


def npy(array, shape=None, dtype=None) -> bytes:
    """An array's bytes behind a head that says what it is told."""
    buffer = io.BytesIO()
    head = {"descr": dtype or array.dtype.str, "fortran_order": False, "shape": shape or array.shape}
    np.lib.format.write_array_header_1_0(buffer, head)
    return buffer.getvalue() + array.tobytes()


@pytest.mark.parametrize(
    "content",
    [
        npy(np.arange(4), shape=(2**40,)),
        npy(np.arange(4), shape=(-4,)),
        npy(np.arange(4), dtype="|O"),
        npy(np.arange(4), dtype=[("a", "<i8")]),
        b"\x93NUMPY\x01\x00\xff\xff{",
        pickle.dumps([1]),
        b"",
    ],
)
def test_heads_that_lie_are_said(tmp_path, content):
    archive(tmp_path / "x.npz", good=npy(np.arange(4)), bad=content)
    with pytest.raises(CheckpointError, match=r"x\.npz is damaged .* train again"):
        load_arrays(tmp_path / "x.npz")


def test_what_would_unpack_without_measure_is_refused(tmp_path):
    size = 300_000_000
    with (
        zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
        file.open("a.npy", "w", force_zip64=True) as bomb,
    ):
        bomb.write(npy(np.zeros(0, dtype=np.uint8), shape=(size,)))
        for _ in range(size // 1_000_000):
            bomb.write(bytes(1_000_000))
    with pytest.raises(CheckpointError, match="far more than such files hold"):
        load_arrays(tmp_path / "x.npz")


ARRAYS = {
    "bools": np.array([True, False]),
    "bytes": np.arange(3, dtype=np.uint8),
    "counts": np.arange(12, dtype=np.uint16).reshape(2, 6),
    "none": np.zeros((0, 6), dtype=np.int32),
    "large": np.arange(5, dtype=np.int64),
    "wholes": np.array([0.1, np.inf]),
}


def test_what_is_mapped_is_read_here_and_by_the_library(tmp_path):
    write_mapped(tmp_path / "a", ARRAYS)
    arrays = read_mapped(tmp_path / "a")
    theirs = load_file(tmp_path / "a")
    assert arrays.keys() == theirs.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        for read in (arrays[name], theirs[name]):
            assert read.dtype == array.dtype
            np.testing.assert_array_equal(read, array)
        assert not arrays[name].flags.writeable
    write_mapped(tmp_path / "b", dict(reversed(ARRAYS.items())))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:7]])
def test_what_is_cut_off_or_of_another_format_is_a_sentence(tmp_path, damage):
    write_mapped(tmp_path / "a", ARRAYS)
    (tmp_path / "b").write_bytes(damage((tmp_path / "a").read_bytes()))
    for path in (tmp_path / "b", tmp_path / "none", tmp_path):
        with pytest.raises(CheckpointError, match="missing or damaged"):
            read_mapped(path)
