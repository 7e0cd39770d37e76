"""Files: plain ones are read, whole ones written or none; arrays in them, without unpickling; text that is safe."""

import io
import os
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tosloc.arrays import load_arrays, pack_words, read_mapped, save_arrays, unpack_words, write_mapped
from tosloc.errors import CheckpointError
from tosloc.io import open_plain, printable, read_plain, remove_unfinished, written_whole


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


def test_what_is_there_stays_after_an_error_or_is_replaced_whole(tmp_path):
    def write(name, then=None):
        with written_whole(tmp_path / "folder") as temporary:
            temporary.mkdir()
            (temporary / name).touch()
            if then is not None:
                raise then

    for name in ("old", "new"):
        write(name)
    with pytest.raises(KeyboardInterrupt):
        write("newer", KeyboardInterrupt)
    assert [path.name for path in tmp_path.rglob("*")] == ["folder", "new"]
    # what cannot be written is named, and not the temporary path
    with pytest.raises(FileNotFoundError) as raised, written_whole(tmp_path / "page.html"):
        pass
    assert raised.value.filename == str(tmp_path / "page.html")


def test_only_our_own_names_are_removed_and_only_old_ones(tmp_path):
    names = {".hidden", "tosloc-unfinished-1", ".tosloc", ".tosloc-unfinished.1"}
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / ".tosloc-unfinished.0").symlink_to(tmp_path / ".hidden")
    remove_unfinished(tmp_path)
    assert len([*tmp_path.iterdir()]) == 5
    for path in tmp_path.iterdir():
        os.utime(path, (time.time() - 7200,) * 2, follow_symlinks=False)
    remove_unfinished(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == names - {".tosloc-unfinished.1"}


ODD = ("", "a/b c.java", "ü/ß.java", b"\xff\xe9/x.java".decode("utf-8", "surrogateescape"), "new\nline.java", "")
ARRAYS = {
    "bools": np.array([True, False]),
    "bytes": np.arange(3, dtype=np.uint8),
    "counts": np.arange(12, dtype=np.uint16).reshape(2, 6),
    "none": np.zeros((0, 6), dtype=np.int32),
    "large": np.arange(5, dtype=np.int64),
    "wholes": np.array([0.1, np.inf]),
}


def test_arrays_come_back(tmp_path):
    save_arrays(tmp_path / "a.npz", ARRAYS)
    save_arrays(tmp_path / "b.npz", dict(reversed(ARRAYS.items())))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    write_mapped(tmp_path / "mapped", ARRAYS)
    mapped = read_mapped(tmp_path / "mapped")
    assert not any(array.flags.writeable for array in mapped.values())
    for arrays in (load_arrays(tmp_path / "a.npz"), mapped):
        assert arrays.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            assert arrays[name].dtype == array.dtype
            np.testing.assert_array_equal(arrays[name], array)


def test_words_come_back():
    for words in (ODD, (), ("",), ("", "")):
        assert unpack_words(pack_words(words)) == list(words)


def npy(array, shape=None):
    """An array's bytes behind a head that says what it is told."""
    buffer = io.BytesIO()
    head = {"descr": array.dtype.str, "fortran_order": False, "shape": shape or array.shape}
    np.lib.format.write_array_header_1_0(buffer, head)
    return buffer.getvalue() + array.tobytes()


def test_what_lies_would_be_unpickled_is_cut_off_or_unpacks_without_measure(tmp_path):
    class Touching:
        """Unpickled, it makes a folder."""

        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "owned"),)

    pickled = io.BytesIO()
    np.save(pickled, np.array([Touching()], dtype=object), allow_pickle=True)
    bomb = npy(np.zeros(300_000_000, dtype=np.uint8))
    for content, why in (
        *((npy(np.arange(4), shape=(2**40,)), ""), (pickled.getvalue(), "pickle"), (b"", "")),
        *((npy(np.array(["text"])), "other things than numbers"), (bomb, "far more than such files hold")),
    ):
        with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
            file.writestr("good.npy", npy(np.arange(4)))
            file.writestr("bad.npy", content)
        with pytest.raises(CheckpointError, match=rf"x\.npz is damaged .*{why}.* train again"):
            load_arrays(tmp_path / "x.npz")
    assert not (tmp_path / "owned").exists()
    (tmp_path / "x.npz").write_bytes((tmp_path / "x.npz").read_bytes()[:-1])
    for name, why in (("x.npz", "damaged"), ("none.npz", "is missing")):
        with pytest.raises(CheckpointError, match=why):
            load_arrays(tmp_path / name)
