"""One sentence is one line, whatever the input or the command line put into it."""

from __future__ import annotations

from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from tosloc.cli import main
from tosloc.cli.guard import guarded
from tosloc.config import load_config
from tosloc.errors import ConfigError, ToslocError


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["localize", "--top", "x"], "Invalid value for '--top'"),
        (["index", "--stor", "x"], "No such option: --stor"),
        (["nope"], "No such command 'nope'; see: tosloc --help"),
        (["evaluate"], "Missing argument 'RUN'; see: tosloc evaluate --help"),
        (["lab", "reproduce-check", "--depth", "9" * 5000], "Invalid value for '--depth'"),
    ],
)
def test_options_that_do_not_fit(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    [line] = printed.err.splitlines()
    assert line.startswith(f"tosloc: {says}")
    assert len(line) < 2_100


@pytest.mark.parametrize("text", ["a\x1b[31mb", "a\r\nb\x0bc\u2028d", "half \ud800"])
def test_what_stands_in_a_sentence_cannot_leave_it(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    def run() -> int:
        raise ToslocError(text)

    assert guarded(run) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.isprintable()
    assert len(line) < 2_100


def test_a_worker_that_was_killed_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def run() -> int:
        raise BrokenProcessPool

    assert guarded(run) == 2
    assert capsys.readouterr().err.startswith("tosloc: a worker process was killed, most likely for its memory; set")


def test_too_little_memory_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    def run() -> int:
        raise MemoryError

    assert guarded(run) == 2
    assert capsys.readouterr().err.startswith("tosloc: the memory is not enough")


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000,
        "seed = " + "9" * 5_000,
        "[stage_one]\nfeatures = [" + "'x'," * 10_000 + "1]",
        'extends = "\\u0000"',
        "#" * 2_000_000,
    ],
)
def test_settings_that_are_made_to_hurt(tmp_path: Path, text: str) -> None:
    (tmp_path / "my.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "my.toml")
    assert len(str(caught.value)) < 7_000


def test_settings_that_are_no_file(tmp_path: Path) -> None:
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    (tmp_path / "loop.toml").symlink_to(tmp_path / "loop.toml")
    for name in ("zero", "loop"):
        with pytest.raises(ConfigError, match="cannot read the configuration"):
            load_config(tmp_path / f"{name}.toml")
