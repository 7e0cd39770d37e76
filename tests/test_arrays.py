"""Arrays in files and strings in arrays, byte for byte, without unpickling."""

from __future__ import annotations

import io
import pickle
import zipfile

import numpy as np
import pytest

from tosloc.arrays import (
    load_arrays,
    pack_strings,
    pack_words,
    prefixed,
    save_arrays,
    under,
    unpack_strings,
    unpack_words,
)
from tosloc.errors import CheckpointError

ODD = ("", "a/b c.java", "ü/ß.java", b"\xff\xe9/x.java".decode("utf-8", "surrogateescape"), "new\nline.java", "")


@pytest.mark.parametrize("strings", [ODD, (), ("",), ("", "")])
def test_strings(strings):
    assert unpack_strings(prefixed("x", pack_strings(strings)), "x") == strings


@pytest.mark.parametrize(("words", "stored"), [((), b""), (("a",), b"a"), (("a", "ü", "c"), "a ü c".encode())])
def test_words(words, stored):
    assert pack_words(words).tobytes() == stored
    assert unpack_words(pack_words(words)) == list(words)
    assert unpack_words(pack_words(words, "\n"), "\n") == list(words)


def test_names_of_arrays():
    held = {"a": np.zeros(1), "b.c": np.ones(1)}
    named = prefixed("x", held)
    assert set(named) == {"x.a", "x.b.c"}
    assert set(under("x", named | {"xa.b": np.zeros(1)})) == {"a", "b.c"}


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
        npy(np.arange(4), shape=(0, 2**70)),
        npy(np.arange(4), shape=(-4,)),
        npy(np.arange(4), dtype="|O"),
        npy(np.arange(4), dtype="<U2"),
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


@pytest.mark.parametrize("ends", [[1, 9], [3, 2], [-1, 4], [], [2**62, 4]])
def test_strings_whose_ends_lie(ends):
    packed = {"x.bytes": np.frombuffer(b"abcd", dtype=np.uint8), "x.ends": np.array(ends, dtype=np.int64)}
    with pytest.raises(ValueError, match=r"x\.ends do not go from 0 to 4"):
        unpack_strings(packed, "x")
