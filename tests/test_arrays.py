"""Arrays in files and strings in arrays, byte for byte, without unpickling."""

from __future__ import annotations

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
