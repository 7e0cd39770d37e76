"""Files are read within bounds and written atomically; unprintable text is escaped."""

import os
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tosloc.core.io import (
    atomic_write,
    escape_unprintable,
    open_regular_file,
    read_regular_file,
    remove_unfinished,
    write_text,
)


def list_below(folder):
    """Return the sorted paths below a folder, relative to it."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# Reading


def make_pipe(folder):
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def make_link_loop(folder):
    (folder / "loop").symlink_to(folder / "loop")
    return folder / "loop"


@pytest.mark.parametrize(
    ("make_path", "message"),
    [
        (make_pipe, "a named pipe"),
        (lambda folder: folder, "a folder"),
        (make_link_loop, "symbolic links"),
        (lambda folder: folder / "missing", "No such file"),
        (lambda folder: Path("/dev/zero"), "a device"),
        (lambda folder: Path("a\0b"), "the name contains a NUL byte"),
        (lambda folder: Path("a" * 5000), "too long"),
    ],
    ids=["pipe", "folder", "loop of links", "missing", "device", "NUL byte", "long name"],
)
def test_only_a_regular_file_is_opened(tmp_path, make_path, message):
    with pytest.raises(OSError, match=message):
        open_regular_file(make_path(tmp_path))


def test_a_file_of_the_allowed_size_is_read(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    assert read_regular_file(tmp_path / "file", 3) == b"abc"


def test_a_file_above_the_allowed_size_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    with pytest.raises(OSError, match="more than 2 bytes"):
        read_regular_file(tmp_path / "file", 2)


def test_surrogates_and_control_characters_are_escaped():
    assert escape_unprintable("a\ud800b\udce9\udfff\n") == r"a\ud800b\xe9\udfff\n"


# Writing


def interrupt_write_of_file(path):
    with atomic_write(path) as temporary:
        temporary.write_text("new")
        raise KeyboardInterrupt


def interrupt_write_of_folder(path):
    with atomic_write(path) as temporary:
        temporary.mkdir()
        (temporary / "content").write_text("new")
        raise KeyboardInterrupt


def test_a_file_stays_after_an_interrupted_write(tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        interrupt_write_of_file(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "old"
    assert list_below(tmp_path) == ["file"]


def test_a_folder_stays_after_an_interrupted_write(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/content").write_text("old")
    with pytest.raises(KeyboardInterrupt):
        interrupt_write_of_folder(tmp_path / "folder")
    assert (tmp_path / "folder/content").read_text() == "old"
    assert list_below(tmp_path) == ["folder", "folder/content"]


def test_a_file_stays_if_the_text_cannot_be_encoded(tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "file", "\ud800")
    assert (tmp_path / "file").read_text() == "old"
    assert list_below(tmp_path) == ["file"]


def test_a_folder_is_replaced_as_a_whole(tmp_path):
    for content in ("first", "second"):
        with atomic_write(tmp_path / "folder") as temporary:
            temporary.mkdir()
            (temporary / content).write_text("text")
    assert list_below(tmp_path) == ["folder", "folder/second"]


def test_an_error_names_the_path_of_the_user(tmp_path):
    with pytest.raises(FileNotFoundError) as raised, atomic_write(tmp_path / "page.html"):
        pass
    assert raised.value.filename == str(tmp_path / "page.html")


@pytest.mark.parametrize("old_text", ["a longer old text", None], ids=["exists", "dangling"])
def test_a_link_stays_and_its_target_is_replaced(tmp_path, old_text):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real/target")
    if old_text is not None:
        (tmp_path / "real/target").write_text(old_text)
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real/target").read_text() == "new"
    assert list_below(tmp_path) == ["link", "real", "real/target"]


def test_a_link_to_a_folder_stays_and_the_folder_is_replaced(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/old").touch()
    (tmp_path / "link").symlink_to("real")
    with atomic_write(tmp_path / "link") as temporary:
        temporary.mkdir()
        (temporary / "new").touch()
    assert (tmp_path / "link").is_symlink()
    assert list_below(tmp_path / "real") == ["new"]


def test_a_loop_of_links_is_refused_and_stays(tmp_path):
    path = make_link_loop(tmp_path)
    with pytest.raises(OSError, match="symbolic links"):
        write_text(path, "new")
    assert path.is_symlink()


@pytest.mark.parametrize("name", ["pipe", "link"])
def test_text_is_written_into_a_named_pipe(tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_text(tmp_path / name, "text")
    assert os.read(reader, 100) == b"text"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
    assert list_below(tmp_path) == ["link", "pipe"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_text_is_written_into_a_device(tmp_path):
    with suppress(PermissionError):  # some containers forbid it even to root
        os.mknod(tmp_path / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    if not (tmp_path / "null").exists():
        pytest.skip("no device can be made")
    write_text(tmp_path / "null", "new")
    assert (tmp_path / "null").is_char_device()
    assert list_below(tmp_path) == ["null"]


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_later_output_follows_what_is_written_to_an_open_stream(tmp_path, name):
    code = f"""from pathlib import Path
from tosloc.core.io import write_text
write_text(Path("{name}"), "first ")
print("second")"""
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "first second\n"


def test_a_folder_is_not_replaced_by_a_file(tmp_path):
    (tmp_path / "folder/inside").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        write_text(tmp_path / "folder", "new")
    assert list_below(tmp_path) == ["folder", "folder/inside"]


def test_a_file_is_not_replaced_by_a_folder(tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(NotADirectoryError), atomic_write(tmp_path / "file") as temporary:
        temporary.mkdir()
    assert list_below(tmp_path) == ["file"]
    assert (tmp_path / "file").read_text() == "old"


@pytest.fixture
def folder_with_unfinished_files(tmp_path):
    """Build a folder with files of a user, an unfinished file and an unfinished link."""
    users_names = (".file.abcdefgh", ".hidden", "tosloc-unfinished-1", ".tosloc")
    for name in (*users_names, ".tosloc-unfinished.1"):
        (tmp_path / name).write_text("text")
    (tmp_path / ".tosloc-unfinished.0").symlink_to(tmp_path / ".hidden")
    return tmp_path


def test_new_unfinished_files_are_kept(folder_with_unfinished_files):
    before = list_below(folder_with_unfinished_files)
    remove_unfinished(folder_with_unfinished_files)
    assert list_below(folder_with_unfinished_files) == before


def test_old_unfinished_files_are_removed_and_nothing_else(folder_with_unfinished_files):
    before = list_below(folder_with_unfinished_files)
    two_hours_ago = time.time() - 7200
    for path in folder_with_unfinished_files.iterdir():
        os.utime(path, (two_hours_ago, two_hours_ago), follow_symlinks=False)
    remove_unfinished(folder_with_unfinished_files)
    removed = set(before) - set(list_below(folder_with_unfinished_files))
    assert removed == {".tosloc-unfinished.0", ".tosloc-unfinished.1"}
