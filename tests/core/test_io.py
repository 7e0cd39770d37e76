"""Files: plain ones are read, whole ones written or none; arrays in them, without unpickling; text that is safe."""

import io
import os
import stat
import subprocess
import sys
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tosloc.core.arrays import (
    load_arrays,
    pack_words,
    read_mapped,
    save_arrays,
    unpack_words,
    write_mapped,
)
from tosloc.core.errors import CheckpointError
from tosloc.core.io import (
    atomic_write,
    escape_unprintable,
    open_regular_file,
    read_regular_file,
    remove_unfinished,
    write_text,
)


def test_only_plain_files_are_opened_and_as_many_bytes_as_allowed_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path, words in (
        *(
            (tmp_path / "pipe", "a named pipe"),
            (tmp_path, "a folder"),
            (tmp_path / "loop", "symbolic links"),
        ),
        *((tmp_path / "no", "No such file"), (Path("/dev/zero"), "a device")),
        *((Path("a\0b"), "the name contains a NUL byte"), (Path("a" * 5000), "too long")),
    ):
        with pytest.raises(OSError, match=words):
            open_regular_file(path)
    (tmp_path / "file").write_bytes(b"abc")
    assert read_regular_file(tmp_path / "file", 3) == b"abc"
    with pytest.raises(OSError, match="more than 2 bytes"):
        read_regular_file(tmp_path / "file", 2)
    assert escape_unprintable("a\ud800b\udce9\udfff\n") == r"a\ud800b\xe9\udfff\n"


def listing(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_what_is_there_stays_after_an_error_or_is_replaced_whole(tmp_path):
    def interrupted(name, inside):
        with atomic_write(tmp_path / name) as temporary:
            (temporary / inside).parent.mkdir(exist_ok=True)
            (temporary / inside).write_text("new")
            raise KeyboardInterrupt

    for content in ("old", "new"):
        with atomic_write(tmp_path / "folder") as temporary:
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
    with pytest.raises(FileNotFoundError) as raised, atomic_write(tmp_path / "page.html"):
        pass
    assert raised.value.filename == str(tmp_path / "page.html")


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    for name in ("there", "missing"):
        (tmp_path / name).symlink_to(f"real/{name}")
    (tmp_path / "real/there").write_text("a longer old text")
    for name in ("there", "missing"):
        write_text(tmp_path / name, "new")
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "real" / name).read_text() == "new"
    assert listing(tmp_path) == ["missing", "real", "real/missing", "real/there", "there"]


def test_a_linked_folder_stays_and_what_it_points_to_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/old").touch()
    (tmp_path / "link").symlink_to("real")
    with atomic_write(tmp_path / "link") as temporary:
        temporary.mkdir()
        (temporary / "new").touch()
    assert (tmp_path / "link").is_symlink()
    assert listing(tmp_path / "real") == ["new"]


def test_a_loop_of_links_is_refused_and_stays(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        write_text(tmp_path / "loop", "new")
    assert (tmp_path / "loop").is_symlink()


def test_a_named_pipe_is_written_into(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        write_text(tmp_path / name, name)
        assert os.read(reader, 100) == name.encode()
        os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
    assert listing(tmp_path) == ["link", "pipe"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_is_written_into(tmp_path):
    with suppress(PermissionError):  # where even root may not, as in some containers
        os.mknod(tmp_path / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    if not (tmp_path / "null").exists():
        pytest.skip("no device can be made")
    write_text(tmp_path / "null", "new")
    assert (tmp_path / "null").is_char_device()
    assert listing(tmp_path) == ["null"]


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_an_open_stream_goes_on_after_what_is_written_into_it(tmp_path, name):
    code = f"""from pathlib import Path
from tosloc.core.io import write_text
write_text(Path("{name}"), "first ")
print("second")"""
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "first second\n"


def test_a_folder_is_not_replaced_by_a_file_nor_a_file_by_a_folder(tmp_path):
    (tmp_path / "folder/inside").mkdir(parents=True)
    (tmp_path / "file").write_text("old")
    with pytest.raises(IsADirectoryError):
        write_text(tmp_path / "folder", "new")
    with pytest.raises(NotADirectoryError), atomic_write(tmp_path / "file") as temporary:
        temporary.mkdir()
    assert listing(tmp_path) == ["file", "folder", "folder/inside"]
    assert (tmp_path / "file").read_text() == "old"


def test_only_our_own_names_are_removed_and_only_old_ones(tmp_path):
    for name in (
        ".file.abcdefgh",
        ".hidden",
        "tosloc-unfinished-1",
        ".tosloc",
        ".tosloc-unfinished.1",
    ):
        (tmp_path / name).write_text("a user's")
    (tmp_path / ".tosloc-unfinished.0").symlink_to(tmp_path / ".hidden")
    before = listing(tmp_path)
    remove_unfinished(tmp_path)
    assert listing(tmp_path) == before
    for path in tmp_path.iterdir():
        os.utime(path, (time.time() - 7200,) * 2, follow_symlinks=False)
    remove_unfinished(tmp_path)
    assert set(before) - set(listing(tmp_path)) == {".tosloc-unfinished.0", ".tosloc-unfinished.1"}


ODD = (
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


def test_the_same_arrays_give_the_same_bytes_and_come_back(tmp_path):
    for words in (ODD, (), ("",), ("", "")):
        assert unpack_words(pack_words(words)) == list(words)
    odd = {"cut": np.ones((2, 3), dtype=np.float32)[:, ::2]}
    for save, held in ((save_arrays, ARRAYS | odd), (write_mapped, ARRAYS)):
        save(tmp_path / "a", held)
        save(tmp_path / "b", dict(reversed(held.items())))
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
        read = (
            [load_arrays(tmp_path / "a")] if save is save_arrays else [read_mapped(tmp_path / "a")]
        )
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
    head = {
        "descr": dtype or array.dtype.str,
        "fortran_order": False,
        "shape": shape or array.shape,
    }
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
    for name, words in (
        ("bomb", "far more than such files hold"),
        ("cut", "damaged"),
        ("none", "is missing"),
    ):
        with pytest.raises(CheckpointError, match=words):
            load_arrays(tmp_path / name)
    for name in ("mapped", "head", "none", ""):
        with pytest.raises(CheckpointError, match="missing or damaged"):
            read_mapped(tmp_path / name)
