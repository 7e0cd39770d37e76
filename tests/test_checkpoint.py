"""The checkpoints that are shipped, made by earlier versions and still understood; and those that are damaged."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import toy
from tosloc.arrays import load_arrays, save_arrays
from tosloc.errors import CheckpointError, ToslocError
from tosloc.git.repository import Repository
from tosloc.index.documents import Document, Documents
from tosloc.index.repository import IndexedRepository
from tosloc.localizer import Localizer
from tosloc.rank import features
from tosloc.rank.stage_one import StageOne
from tosloc.records import BugReport

SHIPPED = sorted(path.parent for path in (Path(__file__).parents[1] / "checkpoints").glob("*/weights.json"))
RECORDS = ("config.json", "provenance.json", "weights.json")
REPORT = BugReport("r", "Cookie is lost", "The table flickers when it is painted", datetime(2026, 1, 1, tzinfo=UTC))


@pytest.fixture(scope="module")
def made(project: toy.Toy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of hand-written weights with a version and known reports."""
    localizer = Localizer(toy.config())
    localizer.stage_one = StageOne(features.NAMES, np.ones(len(features.NAMES)))
    document = Document("1", 5, 0, "c" * 40, Counter({"cooki": 2}), (0, 2), ("a.B",))
    localizer.reports_ = Documents.collect([document]), ("a.java", "b.java", "c.java")
    with Repository(project.git.path) as repo:
        opened = IndexedRepository(repo, None, (".java",), 1)
        localizer.open_version(opened)
        opened.close()
    folder = tmp_path_factory.mktemp("made")
    localizer.save(folder)
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(made, tmp_path / "copy"))


def test_saving_over_an_earlier_one_leaves_nothing_of_it(copy: Path) -> None:
    localizer = Localizer.load(copy)
    localizer.provenance_, localizer.reports_, localizer.version_ = {"again": True}, None, None
    localizer.save(copy)
    again = Localizer.load(copy)
    assert again.provenance_ == {"again": True}
    assert (again.reports_, again.version_) == (None, None)


def test_one_that_is_shipped_carries_a_version_and_answers_from_it() -> None:
    assert sum(path.stat().st_size for folder in SHIPPED for path in folder.rglob("*")) < 5_000_000
    localizer = next(one for one in map(Localizer.load, SHIPPED) if one.version_ is not None)
    assert localizer.version_ is not None
    answer = localizer.localization(REPORT)
    assert len(answer.ranking) == len(localizer.version_.snapshot)
    assert len(toy.top(answer, 3)) == 3


@pytest.mark.parametrize(
    ("file", "name", "change", "words"),
    [
        ("version.npz", "text.postings.rows", lambda a: a + 10**6, "rows are out of bounds"),
        ("version.npz", "commit", lambda a: a[:0], "not enough values"),
        ("version.npz", "text.postings.starts", lambda a: a[::-1].copy(), "starts do not go from 0"),
        ("version.npz", "text.postings.values", lambda a: a.astype(np.float64), "values is of another type"),
        ("version.npz", "text.terms", lambda a: a[:-9], "frequency is of another type or length"),
        ("version.npz", "commits.files", lambda a: a + 999, "files are out of bounds"),
        ("version.npz", "committed_at", lambda a: a - 10**15, "committed_at are out of bounds"),
        ("reports.npz", "reports.times", lambda a: a - 10**15, "times are out of bounds"),
    ],
)
def test_hostile_arrays_are_one_sentence(copy: Path, file: str, name: str, change: Any, words: str) -> None:
    arrays = load_arrays(copy / file)
    save_arrays(copy / file, arrays | {name: change(arrays[name])})
    with pytest.raises(CheckpointError, match=f"{file} is damaged or of another version .*{words}") as caught:
        Localizer.load(copy)
    assert "\n" not in str(caught.value)


DEEP = '{"a": ' * 100_000 + "1" + "}" * 100_000
NUMBERS = ["1e308", "1e999", "NaN", "-Infinity", "1" * 4_000, "1" * 5_000, "[[1]]", "true"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("weights.json", "{}", "no weights"),
        ("weights.json", '{"weights": {"magic": 1.0}}', "does not know"),
        *(("weights.json", f'{{"weights": {{"bm25f": {number}}}}}', "") for number in NUMBERS),
        *(
            (
                "weights.json",
                f'{{"weights": {{"bm25f": 1}}, "temperature": {value}}}',
                "a temperature that is no number",
            )
            for value in ("0", "-1.0", "1e9", '"1"', "true", "[1.0]")
        ),
        ("version.npz", "PK", "damaged"),
        ("reports.npz", "", "damaged"),
        ("provenance.json", "[]", "not a JSON object"),
        *((name, "{", "cannot be read") for name in RECORDS),
        *((name, DEEP, r"cannot be read \(nested too deeply\)") for name in RECORDS),
        *((name, None, "cannot be read .*more than 67,108,864 bytes") for name in RECORDS),
        *((name, "pipe", "a named pipe, not a file") for name in (*RECORDS, "version.npz")),
    ],
)
def test_other_content_is_one_sentence(copy: Path, name: str, content: str | None, words: str) -> None:
    if content == "pipe":
        (copy / name).unlink()
        os.mkfifo(copy / name)
    elif content is None:
        os.truncate(copy / name, (1 << 26) + 1)
    else:
        (copy / name).write_text(content)
    with pytest.raises(CheckpointError, match=rf"{re.escape(name)}.*{words}") as caught:
        Localizer.load(copy)
    assert "\n" not in str(caught.value)


def test_a_folder_without_one_and_more_processes_than_cores(copy: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint"):
        Localizer.load(tmp_path)
    record = json.loads((copy / "config.json").read_text())
    record["run"]["jobs"] = 1_000
    (copy / "config.json").write_text(json.dumps(record))
    assert Localizer.load(copy).config.run.jobs == -1


@given(
    st.sampled_from((*RECORDS, "version.npz", "reports.npz")),
    st.floats(0, 0.999),
    st.sampled_from((1, 4, 64, 512)),
    st.sampled_from(("turned", "blanked", "doubled", "lost", "a number")),
    st.integers(1, 255),
    st.booleans(),
)
def test_no_damage_of_any_file_is_more_than_a_sentence(
    made: Path, name: str, place: float, length: int, how: str, mask: int, cut: bool
) -> None:
    """A stretch of a file is damaged, or its end is cut off, too."""
    data = (made / name).read_bytes()
    start = int(place * len(data))
    part, rest = data[start : start + length], data[start + length :]
    turned = bytes(byte ^ mask for byte in part)
    middle = {"turned": turned, "blanked": bytes(length), "doubled": part * 2, "lost": b"", "a number": b"9" * 20}[how]
    (made / name).write_bytes(data[:start] + middle + (b"" if cut else rest))
    try:
        with suppress(ToslocError):
            toy.top(Localizer.load(made).localization(REPORT), 5)
    finally:
        (made / name).write_bytes(data)
