"""The checkpoints that are shipped, made by earlier versions and still understood; and those that are damaged."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import toy
from tests.mutations import binary_damage, in_child, kinds, text_damage
from tosloc.arrays import load_arrays, save_arrays
from tosloc.errors import CheckpointError
from tosloc.git.repository import Repository
from tosloc.index.documents import Document, Documents
from tosloc.index.repository import IndexedRepository
from tosloc.localizer import Localizer
from tosloc.rank import features
from tosloc.rank.stage_one import StageOne
from tosloc.records import BugReport

SHIPPED = sorted(path.parent for path in (Path(__file__).parents[1] / "checkpoints").glob("*/weights.json"))
REPORT = BugReport("r", "Cookie is lost", "The table flickers when it is painted", datetime(2026, 1, 1, tzinfo=UTC))


def test_they_are_small() -> None:
    assert sum(path.stat().st_size for folder in SHIPPED for path in folder.rglob("*")) < 5_000_000


def test_one_carries_a_version_and_answers_from_it() -> None:
    localizer = next(one for one in map(Localizer.load, SHIPPED) if one.version_ is not None)
    assert localizer.version_ is not None
    answer = localizer.localization(REPORT)
    assert len(answer.ranking) == len(localizer.version_.snapshot)
    assert len(answer.top(3)) == 3


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of hand-written weights with a version and known reports."""
    project = toy.grow(tmp_path_factory.mktemp("toy"), bugs=6, themes=6)
    localizer = Localizer(toy.config())
    localizer.stage_one_ = StageOne(features.NAMES, np.ones(len(features.NAMES)))
    document = Document("1", 5, 0, "c" * 40, Counter({"cooki": 2}), (0, 2), ("a.B",))
    localizer.reports_ = Documents.collect([document]), ("a.java", "b.java", "c.java")
    with Repository(project.git.path) as repo:
        opened = IndexedRepository(repo, project.store, (".java",), 1)
        localizer.open_version(opened)
        opened.close()
    localizer.save(project.folder / "made")
    return project.folder / "made"


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    return Path(shutil.copytree(made, tmp_path / "copy"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
@pytest.mark.parametrize("name", ["config.json", "weights.json", "version.npz"])
def test_special_files_are_refused(copy: Path, name: str) -> None:
    (copy / name).unlink(missing_ok=True)
    os.mkfifo(copy / name)
    with pytest.raises(CheckpointError, match=rf"{name}.*a named pipe, not a file"):
        Localizer.load(copy)


def test_saving_over_an_earlier_one_leaves_nothing_of_it(copy: Path) -> None:
    localizer = Localizer.load(copy)
    localizer.provenance_, localizer.reports_, localizer.version_ = {"again": True}, None, None
    localizer.save(copy)
    again = Localizer.load(copy)
    assert again.provenance_ == {"again": True}
    assert (again.reports_, again.version_) == (None, None)


# Hostile content


def with_arrays(path: Path, **changes: Callable[[np.ndarray], np.ndarray]) -> None:
    arrays = load_arrays(path)
    for name, change in changes.items():
        arrays[name.replace("__", ".")] = change(arrays[name.replace("__", ".")])
    save_arrays(path, arrays)


@pytest.mark.parametrize(
    ("file", "changes", "words"),
    [
        ("version.npz", {"text__postings__rows": lambda a: a + 10**6}, "rows are out of bounds"),
        ("version.npz", {"commit": lambda a: a[:0]}, "not enough values"),
        ("version.npz", {"commit": lambda a: a // 2}, "no name that git gives"),
        ("version.npz", {"text__postings__starts": lambda a: a[::-1].copy()}, "starts do not go from 0"),
        ("version.npz", {"text__chunk_starts": lambda a: a * 0}, "counted wrongly"),
        ("version.npz", {"text__postings__values": lambda a: a.astype(np.float64)}, "values is of another type"),
        ("version.npz", {"text__terms": lambda a: a[:-9]}, "frequency is of another type or length"),
        ("version.npz", {"text__lengths": lambda a: a * np.nan}, "lengths are out of bounds"),
        ("version.npz", {"commits__files": lambda a: a + 999}, "files are out of bounds"),
        ("version.npz", {"commits__times": lambda a: a[::-1].copy()}, "not in order of time"),
        ("version.npz", {"committed_at": lambda a: a - 10**15}, "committed_at are out of bounds"),
        ("reports.npz", {"reports__times": lambda a: a - 10**15}, "times are out of bounds"),
        ("reports.npz", {"reports__class_starts": lambda a: a - 1}, "class_starts do not go"),
    ],
)
def test_hostile_arrays_are_one_sentence(copy: Path, file: str, changes: Mapping[str, Any], words: str) -> None:
    with_arrays(copy / file, **changes)
    with pytest.raises(CheckpointError, match=f"{file} is damaged or of another version .*{words}") as caught:
        Localizer.load(copy)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("weight", ["1e308", "1e999", "NaN", "-Infinity", "1" * 4_000, "1" * 5_000, "[[1]]", "true"])
def test_weights_that_are_no_numbers_are_one_sentence(copy: Path, weight: str) -> None:
    text = (copy / "weights.json").read_text()
    (copy / "weights.json").write_text(text.replace('"bm25f": 1.0', f'"bm25f": {weight}'))
    with pytest.raises(CheckpointError, match=r"weights\.json"):
        Localizer.load(copy)


@pytest.mark.parametrize("name", ["config.json", "provenance.json", "weights.json"])
def test_texts_without_measure_are_one_sentence(tmp_path: Path, name: str) -> None:
    copy = Path(shutil.copytree(SHIPPED[0], tmp_path / "copy"))
    os.truncate(copy / name, (1 << 26) + 1)
    with pytest.raises(CheckpointError, match=rf"{name} cannot be read .*more than 67,108,864 bytes"):
        Localizer.load(copy)


@pytest.mark.parametrize("name", ["config.json", "provenance.json", "weights.json"])
def test_records_nested_too_deeply_are_one_sentence(copy: Path, name: str) -> None:
    (copy / name).write_text('{"a": ' * 100_000 + "1" + "}" * 100_000)
    with pytest.raises(CheckpointError, match=rf"{name} cannot be read \(nested too deeply\)"):
        Localizer.load(copy)


def test_more_processes_than_cores_are_not_asked_for(copy: Path) -> None:
    record = json.loads((copy / "config.json").read_text())
    record["run"]["jobs"] = 1_000
    (copy / "config.json").write_text(json.dumps(record))
    assert Localizer.load(copy).config.run.jobs == -1


@pytest.mark.slow
def test_no_damage_of_any_file_is_more_than_a_sentence(made: Path, tmp_path: Path) -> None:
    def use(folder: Path) -> str:
        answer = Localizer.load(folder).localization(REPORT)
        answer.top(5)
        return "answered"

    outcomes = []
    for source, number in ((made, 12), (SHIPPED[0], 2)):
        names = [path.relative_to(source) for path in sorted(source.rglob("*")) if path.is_file()]
        for seed in range(number):
            for name in names:
                folder = tmp_path / f"{source.name}-{seed}-{name.name}"
                shutil.copytree(source, folder, copy_function=os.link)
                data = (folder / name).read_bytes()
                (folder / name).unlink()
                text = name.suffix in (".json", ".txt", ".md")
                (folder / name).write_bytes((text_damage if text else binary_damage)(data, seed))
                outcomes.append(in_child(lambda folder=folder: use(folder)))
                shutil.rmtree(folder)
    assert set(kinds(outcomes, "answered")) <= {"right", "sentence"}, [o for o in outcomes if o[:5] == "trace"][:3]
