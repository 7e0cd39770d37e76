"""Files: plain ones are read, whole ones written or none; arrays in them, without unpickling; text that is safe."""

import io
import os
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tosloc.arrays import load_arrays, pack_words, read_mapped, save_arrays, unpack_words, write_mapped
from tosloc.errors import CheckpointError
from tosloc.io import open_plain, printable, read_plain, remove_unfinished, write_text, written_whole


def test_only_plain_files_are_opened_and_as_many_bytes_as_allowed_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path, words in (
        *((tmp_path / "pipe", "a named pipe"), (tmp_path, "a folder"), (tmp_path / "loop", "symbolic links")),
        *((tmp_path / "no", "No such file"), (Path("/dev/zero"), "a device")),
        *((Path("a\0b"), "null byte"), (Path("a" * 5000), "too long")),
    ):
        with pytest.raises(OSError, match=words):
            open_plain(path)
    (tmp_path / "file").write_bytes(b"abc")
    assert read_plain(tmp_path / "file", 3) == b"abc"
    with pytest.raises(OSError, match="more than 2 bytes"):
        read_plain(tmp_path / "file", 2)
    assert printable("a\ud800b\udce9\udfff\n") == r"a\ud800b\xe9\udfff\n"


def listing(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_what_is_there_stays_after_an_error_or_is_replaced_whole(tmp_path):
    def interrupted(name, inside):
        with written_whole(tmp_path / name) as temporary:
            (temporary / inside).parent.mkdir(exist_ok=True)
            (temporary / inside).write_text("new")
            raise KeyboardInterrupt

    for content in ("old", "new"):
        with written_whole(tmp_path / "folder") as temporary:
            temporary.mkdir()
            (temporary / content).write_text("old")
    (tmp_path / "file").write_text("old")
    for name, inside in (("file", ""), ("folder", "new")):
        with pytest.raises(KeyboardInterrupt):
            interrupted(name, inside)
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "file", "\ud800")
    assert listing(tmp_path) == ["file", "folder", "folder/new"]
    assert (tmp_path / "file").read_text() == (tmp_path / "folder/new").read_text() == "old"
    # what cannot be written is named, and not the temporary path
    with pytest.raises(FileNotFoundError) as raised, written_whole(tmp_path / "page.html"):
        pass
    assert raised.value.filename == str(tmp_path / "page.html")


def test_only_our_own_names_are_removed_and_only_old_ones(tmp_path):
    for name in (".file.abcdefgh", ".hidden", "tosloc-unfinished-1", ".tosloc", ".tosloc-unfinished.1"):
        (tmp_path / name).write_text("a user's")
    (tmp_path / ".tosloc-unfinished.0").symlink_to(tmp_path / ".hidden")
    before = listing(tmp_path)
    remove_unfinished(tmp_path)
    assert listing(tmp_path) == before
    for path in tmp_path.iterdir():
        os.utime(path, (time.time() - 7200,) * 2, follow_symlinks=False)
    remove_unfinished(tmp_path)
    assert set(before) - set(listing(tmp_path)) == {".tosloc-unfinished.0", ".tosloc-unfinished.1"}


ODD = ("", "a/b c.java", "ü/ß.java", b"\xff\xe9/x.java".decode("utf-8", "surrogateescape"), "new\nline.java", "")
ARRAYS = {
    "bools": np.array([True, False]),
    "bytes": np.arange(3, dtype=np.uint8),
    "counts": np.arange(12, dtype=np.uint16).reshape(2, 6),
    "none": np.zeros((0, 6), dtype=np.int32),
    "large": np.arange(5, dtype=np.int64),
    "wholes": np.array([0.1, np.inf]),
}


def test_the_same_arrays_give_the_same_bytes_and_come_back(tmp_path):
    for words in (ODD, (), ("",), ("", "")):
        assert unpack_words(pack_words(words)) == list(words)
    odd = {"cut": np.ones((2, 3), dtype=np.float32)[:, ::2]}
    for save, held in ((save_arrays, ARRAYS | odd), (write_mapped, ARRAYS)):
        save(tmp_path / "a", held)
        save(tmp_path / "b", dict(reversed(held.items())))
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
        read = [load_arrays(tmp_path / "a")] if save is save_arrays else [read_mapped(tmp_path / "a")]
        read += [load_file(tmp_path / "a")] if save is write_mapped else []  # the library's
        for arrays in read:
            assert arrays.keys() == held.keys()
            for name, array in held.items():
                assert arrays[name].dtype == array.dtype
                np.testing.assert_array_equal(arrays[name], array)
    assert not any(array.flags.writeable for array in read[0].values())


def npy(array, shape=None, dtype=None):
    """An array's bytes behind a head that says what it is told."""
    buffer = io.BytesIO()
    head = {"descr": dtype or array.dtype.str, "fortran_order": False, "shape": shape or array.shape}
    np.lib.format.write_array_header_1_0(buffer, head)
    return buffer.getvalue() + array.tobytes()


def test_what_lies_is_cut_off_missing_or_would_unpack_without_measure(tmp_path):
    class Touching:
        """Unpickled, it makes a folder."""

        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "owned"),)

    pickled = io.BytesIO()
    np.save(pickled, np.array([Touching()], dtype=object), allow_pickle=True)
    for content in (npy(np.arange(4), shape=(2**40,)), pickled.getvalue(), b""):
        with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("good.npy", npy(np.arange(4)))
            file.writestr("bad.npy", content)
        with pytest.raises(CheckpointError, match=r"x\.npz is damaged .* train again"):
            load_arrays(tmp_path / "x.npz")
    assert not (tmp_path / "owned").exists()
    size = 300_000_000
    with (
        zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
        file.open("a.npy", "w", force_zip64=True) as bomb,
    ):
        bomb.write(npy(np.zeros(0, dtype=np.uint8), shape=(size,)))
        for _ in range(size // 1_000_000):
            bomb.write(bytes(1_000_000))
    for name, save in (("cut", save_arrays), ("mapped", write_mapped)):
        save(tmp_path / name, ARRAYS)
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-1])
    (tmp_path / "head").write_bytes(b"1234567")
    for name, words in (("bomb", "far more than such files hold"), ("cut", "damaged"), ("none", "is missing")):
        with pytest.raises(CheckpointError, match=words):
            load_arrays(tmp_path / name)
    for name in ("mapped", "head", "none", ""):
        with pytest.raises(CheckpointError, match="missing or damaged"):
            read_mapped(tmp_path / name)
