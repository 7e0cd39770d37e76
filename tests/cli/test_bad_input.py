"""Input that is at fault, through the real commands: exit code 2, one sentence, and nothing half-written."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests import toy
from tosloc.cli import main
from tosloc.git.repository import Repository
from tosloc.index import store as store_module
from tosloc.index.repository import IndexedRepository
from tosloc.localizer import Localizer
from tosloc.rank import features
from tosloc.rank.stage_one import StageOne

Fails = Callable[..., str]


@pytest.fixture(scope="module")
def checkpoint(project: toy.Toy) -> Path:
    """A checkpoint of hand-written weights with a version."""
    localizer = Localizer(toy.config())
    localizer.stage_one_ = StageOne(features.NAMES, np.ones(len(features.NAMES)))
    with Repository(project.git.path) as repo:
        opened = IndexedRepository(repo, None, (".java",), 1)
        localizer.open_version(opened)
        opened.close()
    localizer.save(project.folder / "checkpoint")
    return project.folder / "checkpoint"


@pytest.fixture(autouse=True)
def place(plain_folder: Path) -> Path:
    """An empty folder to stand in."""
    return plain_folder


@pytest.fixture
def localizing(project: toy.Toy, checkpoint: Path) -> list[str]:
    """A localizing command that lacks its report."""
    common = ["localize", "--repo", str(project.git.path), "--checkpoint", str(checkpoint)]
    return common


@pytest.fixture
def bug(place: Path) -> Path:
    (place / "bug.md").write_text("Cookie lost\n\nThe cookie is lost after a click.\n")
    return place / "bug.md"


# Repositories, commits, and one report


def test_repositories(fails: Fails, checkpoint: Path, bug: Path, place: Path, project: toy.Toy) -> None:
    (place / "plain").mkdir()
    labelled = ["--reports", project.reports()]
    out = [*labelled, "--out", place / "out"]
    for command, name, words in (
        (["localize", "--checkpoint", checkpoint, bug], "plain", "git"),
        (["localize", "--checkpoint", checkpoint, bug], "nowhere", "no such"),
        (["index"], "bug.md", "git"),
        (["data", *labelled], "plain", "git"),
        (["train", *out], "nowhere", "no such"),
        (["rank", "--checkpoint", checkpoint, *out], "bug.md", "git"),
    ):
        said = fails(*command, "--repo", place / name)
        assert str(place / name) in said
        assert words in said


def test_commits(fails: Fails, localizing: list[str], bug: Path) -> None:
    for name in ("v99", "0" * 40, "--all", "", "main:src"):
        said = fails(*localizing, bug, f"--commit={name}")
        assert f"no commit {name!r}" in said
        assert "git fetch" in said


def test_reports(fails: Fails, localizing: list[str], place: Path) -> None:
    (place / "folder").mkdir()
    (place / "binary").write_bytes(b"\x7fELF\0\0\1")
    for name, words in (
        ("binary", "binary"),
        ("folder", "is a folder; give a file"),
        ("nowhere.md", "o such file"),
        ("https://gitlab.com/ann/one/-/issues/7", "only issues at github.com are read from the web"),
        ("", "is empty; a report was expected"),
    ):
        said = fails(*localizing, name)
        assert said.startswith(f"{name or 'the report'}: ")
        assert words in said


# Labelled reports

LINE = {"id": "1", "summary": "s", "description": "d", "opened": "2001-01-01T00:00:00Z", "fixed": ["A.java"]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (json.dumps(LINE).encode() + b"\n\n{oh}\n", "line 3"),
        (json.dumps(LINE | {"fix_commit": "f" * 40}).encode(), "is it the right one?"),
        (json.dumps(LINE | {"fixed": ["A.md"]}).encode(), "name its source suffixes"),
    ],
)
def test_files_of_reports(
    fails: Fails, checkpoint: Path, project: toy.Toy, place: Path, content: bytes, words: str
) -> None:
    path = place / "bugs"
    path.write_bytes(content)
    common = ["--repo", project.git.path, "--reports", path]
    for command in (["data"], ["train", "--out", "out"], ["rank", "--checkpoint", checkpoint, "--out", "out"]):
        said = fails(*command, *common)
        assert str(path) in said
        assert words in said


# Settings


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 100_000, "seed = " + "9" * 5_000, "[stage_one]\nfeatures = [" + "'x'," * 10_000 + "1]", "", None],
)
def test_settings(fails: Fails, place: Path, text: str | None) -> None:
    path = place / "my.toml"
    if text:
        path.write_text(text)
    else:  # endless, or a circle
        path.symlink_to("/dev/zero" if text is None else path)
    assert "my.toml" in fails("train", path, "--out", "out")


# The facts store


def test_a_place_that_can_hold_no_facts(
    fails: Fails, localizing: list[str], project: toy.Toy, bug: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "file").write_text("no folder")
    monkeypatch.setenv("TOSLOC_CACHE", str(place / "file"))
    sentence = fails("index", "--repo", project.git.path)
    assert "name another folder for the cache with $TOSLOC_CACHE" in sentence
    assert fails(*localizing, bug) == sentence


# A full disk


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def training(project: toy.Toy, place: Path, *more: str) -> list[str]:
    (place.parent / "small.toml").write_text(
        "[data]\ntrain = 0.6\nvalidation = 0.2\n[run]\njobs = 1\n"
        "[stage_one]\nfit = 'listwise'\nfeatures = ['bm25f', 'path', 'recency']\nranker = false\n"
    )
    common = ["--repo", str(project.git.path), "--reports", str(project.reports())]
    return ["train", str(place.parent / "small.toml"), *common, "--out", str(place / "out"), *more]


def half_written(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.name.startswith(".tosloc-unfinished.")]


@pytest.mark.parametrize("writes", [5, *(pytest.param(writes, marks=pytest.mark.slow) for writes in (0, 11))])
def test_a_full_disk_at_any_write(
    project: toy.Toy, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], writes: int
) -> None:
    """So many files are written, then the disk is full; with room again the same command ends."""
    real, made = Path.replace, []

    def replace(self: Path, target: Path) -> Path:
        if len(made) == writes:
            full()
        made.append(target)
        return real(self, target)

    command = training(project, place)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", replace)
        assert main(command) == 2
    said = capsys.readouterr()
    assert said.err == "tosloc: no room left on the disk; make room and run the same command again to go on\n"
    assert half_written(place) == []
    assert not (place / "out/checkpoint/weights.json").exists()
    for split in ("validation", "test"):
        run = place / "out" / split
        assert (run / "run.jsonl.gz").exists() or not (run / "qrels.jsonl").exists()
    assert main(command) == 0
    assert not (place / "out/.tosloc-work").exists()
    assert Localizer.load(place / "out").stage_one.features == ("bm25f", "path", "recency")


def test_a_full_disk_under_the_facts(
    fails: Fails, project: toy.Toy, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["index", "--repo", project.git.path]
    assert main([str(part) for part in [*command, "--commit", project.git.made[3]]]) == 0
    opened = store_module.FactStore._open

    def full(self: store_module.FactStore, unchanging: bool) -> None:
        opened(self, unchanging)
        refused = "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
        self._database.execute(f"CREATE TEMP TRIGGER full BEFORE INSERT ON facts {refused}")

    with monkeypatch.context() as patched:
        patched.setattr(store_module.FactStore, "_open", full)
        assert "database or disk is full); see that the disk is not full" in fails(*command)
    assert main([str(part) for part in command]) == 0


# Checkpoints


def test_what_is_no_checkpoint_and_one_without_a_version(
    fails: Fails, checkpoint: Path, bug: Path, place: Path, project: toy.Toy
) -> None:
    (place / "empty").mkdir()
    shutil.copytree(checkpoint, place / "broken", ignore=shutil.ignore_patterns("provenance.json"))
    ranking = ["rank", "--repo", project.git.path, "--reports", project.reports(), "--out", "out"]
    for name, words in (("empty", "no checkpoint"), ("nowhere", "no checkpoint"), ("broken", "copy the whole folder")):
        said = fails("localize", "--checkpoint", place / name, bug)
        assert words in said
        assert fails(*ranking, "--checkpoint", place / name) == said
    shutil.copytree(checkpoint, place / "lean", ignore=shutil.ignore_patterns("version.npz"))
    assert "--repo" in fails("localize", "--checkpoint", place / "lean", bug)


def test_a_commit_is_one_of_a_repository_and_not_what_a_checkpoint_carries(
    fails: Fails, checkpoint: Path, bug: Path, project: toy.Toy, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = ["localize", bug, "--checkpoint", checkpoint]
    assert main([str(part) for part in asking]) == 0
    assert "not in a git repository; go to one, or name it with --repo" in fails(*asking, "--commit", "HEAD")
    monkeypatch.chdir(project.git.path)
    assert main([str(part) for part in [*asking, "--commit", "HEAD~1"]]) == 0


# Too few reports


def few(project: toy.Toy, number: int) -> Path:
    return project.reports(f"few{number}.jsonl", project.records[:number])


def test_one_report_cannot_be_split(fails: Fails, project: toy.Toy, checkpoint: Path, place: Path) -> None:
    common = ["--repo", project.git.path, "--reports", few(project, 1)]
    common += ["--out", place / "out"]
    said = fails("train", *common)
    assert "1 report" in said
    assert "none to train on" in said
    said = fails("rank", *common, "--checkpoint", checkpoint)
    assert "--split all" in said
    assert main([str(part) for part in ["rank", *common, "--checkpoint", checkpoint, "--split", "all"]]) == 0
    assert main(["evaluate", str(place / "out"), "--split", "all"]) == 0


def test_no_validation_report(project: toy.Toy, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = training(project, place)
    command[command.index("--reports") + 1] = str(few(project, 2))
    settings = place.parent / "small.toml"
    settings.write_text(settings.read_text().replace("0.6", "0.8").replace("0.2", "0.1"))
    assert main(command) == 0
    printed = capsys.readouterr()
    assert "no report is left for validation" in printed.err
    assert main(["evaluate", str(place / "out")]) == 0
    assert main(["evaluate", str(place / "out"), "--split", "validation"]) == 2


def test_a_split_without_any_fixed_file(project: toy.Toy, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Validation and test reports name files that their versions lack: they count 0, training goes on."""
    records = [record | ({"fixed": ["Gone.java"]} if n >= 8 else {}) for n, record in enumerate(project.records)]
    command = training(project, place)
    command[command.index("--reports") + 1] = str(project.reports("gone.jsonl", records))
    assert main(command) == 0
    capsys.readouterr()
    assert main(["evaluate", str(place / "out"), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["reports"], summary["relevant"], summary["dropped"], summary["empty"]) == (3, 0, 3, 3)
    assert (summary["mrr"], summary["map"]) == (0, 0)
