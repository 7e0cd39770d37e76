"""The command ``reproduce`` on two projects that grow here, with techniques made for it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

from tests import toy
from tests.rankers import WORDS
from tests.rerank.encoder.tiny import write_encoder
from tosloc import training
from tosloc.cli import main
from tosloc.evaluate.run_paths import read_scored
from tosloc.git.repository import Repository, decode
from tosloc.lab import baseline_runs as systems
from tosloc.lab.baselines.context import Baseline, BaselineQuery
from tosloc.lab.paper import data, speed
from tosloc.records import FloatArray
from tosloc.reports.labelled import describe, load_dataset

pytestmark = pytest.mark.slow

PUBLISHED = """title = "toys"
source = "nobody's paper"
projects = ["ash", "oak"]
left_out = ["what is not there"]
[paper.MRR]
longest = { ash = 0.31 }
"""
TABLES = ("table-2", "table-3", "table-4", "table-5", "table-6", "figure-5", "figure-6")


class Longest(Baseline):
    """Files with the longest path first, which puts tests, never fixed, before all others."""

    name: ClassVar[str] = "longest"

    def scores(self, asked: BaselineQuery) -> FloatArray:
        return np.array([float(len(path)) for path in asked.version.snapshot.paths])


class Learner(Baseline):
    """Files that training saw fixed first; it must be fitted, on the reports of the version itself."""

    name: ClassVar[str] = "learner"
    learned: ClassVar[bool] = True

    @classmethod
    def training_cases(cls, train):
        return train

    def fit(self, train, validation, progress=None) -> None:
        for case in (*train, *validation):
            self.context.query(case.report, case.version)  # the files are on the files
            assert (self.context.version(case.version).rows >= 0).all()
        self.seen_ = {path for case in train for path in case.fixed}

    def scores(self, asked: BaselineQuery) -> FloatArray:
        return np.array([float(path in self.seen_) for path in asked.version.snapshot.paths])


@pytest.fixture(scope="module", autouse=True)
def techniques() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, kind in (("longest", Longest), ("learner", Learner)):
            module = ModuleType(f"tosloc.lab.baselines.{name}")
            setattr(module, kind.__name__, kind)
            patch.setitem(sys.modules, module.__name__, module)
        patch.setattr(systems, "SYSTEMS", {"longest": "Longest", "learner": "Learner"})
        yield


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, toy.Toy]:
    folder = tmp_path_factory.mktemp("toys")
    return {name: toy.grow(folder / name, bugs=20, themes=8, seed=seed) for name, seed in (("ash", 5), ("oak", 8))}


@pytest.fixture(scope="module")
def place(toys: dict[str, toy.Toy]) -> Iterator[Path]:
    """The folder of the file of projects and of the paper's numbers."""
    folder = next(iter(toys.values())).folder.parent
    (folder / "small.toml").write_text(toy.SETTINGS)
    (folder / "projects.toml").write_text(
        "".join(
            f'[{name}]\nrepo = "{name}/repo"\nreports = "{name}/reports.jsonl"\nconfig = "small.toml"\n'
            for name in toys
        )
    )
    (folder / "ash.toml").write_text((folder / "projects.toml").read_text().partition("[oak]")[0])
    (folder / "published").mkdir()
    for table in TABLES:
        (folder / "published" / f"{table}.toml").write_text(PUBLISHED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tosloc.lab.paper.workspace.FOLDER", folder / "published")
        yield folder


Run = Callable[..., tuple[int, str, str]]


def runner(place: Path, capsys: pytest.CaptureFixture[str], *always: str) -> Run:
    """Function (table, *options) -> exit code, output and errors, in one folder for all tests."""

    def call(table: str, *options: str) -> tuple[int, str, str]:
        capsys.readouterr()
        base = ["--projects", str(place / "projects.toml"), "--out", str(place / "out"), *always]
        code = main(["lab", "reproduce", table, *base, *options])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture
def reproduce(place: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(place, capsys)


@pytest.fixture(scope="module")
def made(place: Path) -> Path:
    """All runs of table 4, made once."""
    base = ["--projects", str(place / "projects.toml"), "--out", str(place / "out"), "--json"]
    assert main(["lab", "reproduce", "table-4", *base]) == 0
    return place / "out"


def values_of(printed: str) -> dict[tuple[str, ...], dict[str, Any]]:
    """(table, row, column) -> our number and the published one."""
    return {
        (table["heads"][0], row[0], head): cell
        for table in json.loads(printed)["tables"]
        for row in table["rows"]
        for head, cell in zip(table["heads"][1:], row[1:], strict=True)
        if isinstance(cell, dict)
    }


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("made again")


def test_table_4_is_of_the_runs_that_it_made(made, reproduce, monkeypatch):
    monkeypatch.setattr(training, "train", refuse)
    monkeypatch.setattr(systems, "rank_with", refuse)
    code, out, err = reproduce("table-4", "--json")
    assert (code, "left out: what is not there" in err) == (0, True)
    numbers = values_of(out)
    for system, folder in (("TosLoc, stage one", "ash"), ("longest", "baselines/ash/longest")):
        run = read_scored(made / folder, "test").evaluation()
        for measure, mean in (("MRR", run.mrr), ("MAP", run.map)):
            assert numbers[measure, system, "ash"]["ours"] == mean
    assert numbers["MRR", "longest", "ash"]["published"] == 0.31
    assert numbers["MRR", "longest", "oak"]["published"] is None
    above = numbers["MRR: TosLoc - other", "longest", "oak"]["ours"]
    assert above == pytest.approx(
        numbers["MRR", "TosLoc, stage one", "oak"]["ours"] - numbers["MRR", "longest", "oak"]["ours"]
    )
    code, out, err = reproduce("table-4", "--markdown", "--projects", str(made.parent / "ash.toml"))
    assert (code, out.startswith("## Table 4: toys\n\n- In brackets: nobody's paper\n")) == (0, True)
    assert "| MRR | ash |" in out
    assert " (.31) |" in out
    assert f"oak is not in {made.parent / 'ash.toml'}" in err


def test_what_is_missing_is_one_sentence(made, reproduce, place, tmp_path):
    (place / "other.toml").write_text((place / "ash.toml").read_text().replace("[ash]", "[elm]"))
    for options, said in (
        (["table-7"], "there are table-2"),
        (["table-4", "--projects", str(place / "other.toml")], "none of ash, oak (published at https://figshare.com"),
        (["table-4", "--runs", str(tmp_path / "none")], "does not exist"),
        (["table-4", "--projects", str(tmp_path / "none.toml")], "cannot read the projects"),
        (["table-4", "--out", str(place / "small.toml")], "is a file"),
        (["table-4", "--json", "--markdown"], "choose one"),
        (["table-6"], "ash: no results in"),
        (["figure-6"], "name an encoder to train on, a folder or a name on the hub, with --encoder"),
        (["table-6", "--encoder", str(place / "none")], "no encoder can be loaded from there"),
        (["figure-5", "--finished", "--out", str(tmp_path / "empty")], "no finished training"),
    ):
        code, out, err = reproduce(*options)
        assert (code, out, err.count("\n")) == (2, "", 1), options
        assert said in err


def test_a_run_on_other_reports_is_refused(made, reproduce, place, toys):
    records = [record | {"summary": "another"} for record in toys["ash"].records]
    toys["ash"].reports("other.jsonl", records)
    projects = place / "changed.toml"
    projects.write_text((place / "ash.toml").read_text().replace("reports.jsonl", "other.jsonl"))
    code, _, err = reproduce("figure-5", "--projects", str(projects))
    assert code == 2
    assert "a run on other reports (reports.jsonl)" in err


def test_without_making_what_is_there_is_read(made, reproduce, tmp_path):
    (tmp_path / "some" / "baselines" / "ash").mkdir(parents=True)
    shutil.copytree(made / "baselines" / "ash" / "learner", tmp_path / "some" / "baselines" / "ash" / "learner")
    options = ["--finished", "--runs", str(tmp_path / "some"), "--out", str(tmp_path / "new")]
    code, out, err = reproduce("table-4", *options)
    assert code == 0
    assert "TosLoc" not in out
    assert sum(line.split()[:1] == ["learner"] for line in out.splitlines()) == 2
    assert "no run of longest on ash, longest on oak, learner on oak" in err


def test_table_3_counts_the_reports(reproduce, toys):
    code, out, _ = reproduce("table-3", "--json")
    numbers = {key[1:]: one["ours"] for key, one in values_of(out).items()}
    with Repository(toys["ash"].git.path) as repo:
        whole, *_, test = describe(load_dataset(repo, toys["ash"].reports()))
    assert code == 0
    assert numbers["reports", "ash"] == whole["reports"] == 20
    assert numbers["files a version", "ash"] == pytest.approx(whole["files a version"], abs=0.05)
    assert numbers["of them, test: fixed files listed", "ash"] == test["listed"]
    assert numbers["fixed files a report", "oak"] == 1


def test_table_2_counts_words_and_tokens(reproduce, toys, place, tmp_path):
    code, out, _ = reproduce("table-2", "--json")
    assert code == 0
    numbers = {key[1:]: one["ours"] for key, one in values_of(out).items()}
    with Repository(toys["ash"].git.path) as repo:
        cases = load_dataset(repo, toys["ash"].reports()).cases
        means, longest = [], []
        for case in cases:
            snapshot = repo.snapshot(case.version, [".java"])
            sizes = [len(data.WORD.findall(decode(text or b""))) for _, text in repo.texts(snapshot.blobs)]
            means.append(np.mean(sizes))
            longest.append(max(sizes))
    assert numbers["file, mean", "ash"] == pytest.approx(np.mean(means))
    assert numbers["file, longest", "ash"] == pytest.approx(np.mean(longest))
    said = [len(data.WORD.findall(f"{case.report.summary} {case.report.description}")) for case in cases]
    assert numbers["report, mean", "ash"] == pytest.approx(np.mean(said))
    assert numbers["report without stack traces, mean", "ash"] < np.mean(said)
    encoder = write_encoder(tmp_path / "tiny")
    code, out, _ = reproduce("table-2", "--encoder", str(encoder), "--projects", str(place / "ash.toml"))
    assert (code, "length in tiny" in out) == (0, True)


def test_table_5_times_every_system_and_an_interruption_loses_nothing(made, reproduce, place, monkeypatch):
    real, calls = speed.time_version, list[str]()

    def killed(answers, context, version, *more):
        calls.append(version)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(answers, context, version, *more)

    monkeypatch.setattr(speed, "VERSIONS", 2)
    monkeypatch.setattr(speed, "time_version", killed)
    options = ["table-5", "--projects", str(place / "ash.toml"), "--json"]
    assert reproduce(*options)[0] == 130
    code, out, err = reproduce(*options)
    assert (code, "shared machine" in err) == (0, True)
    assert (len(calls), calls[1]) == (3, calls[2])
    assert reproduce(*options)[1] == out
    assert len(calls) == 3
    times = [json.loads(path.read_text())["seconds"] for path in (made / "speed/ash").glob("*/*.json")]
    assert [{name: len(some) for name, some in one.items()} for one in times] == [
        {"longest": 4, "learner": 4, "stage-one": 4}
    ] * 2
    ratio = values_of(out)["ratio to stage one, median", "longest", "ash"]["ours"]
    assert ratio < 1  # sorting by the length of paths against thirty features
    assert ratio == pytest.approx(np.median([np.median(one["longest"]) / np.median(one["stage-one"]) for one in times]))


def test_both_stages_are_timed_and_scored(reproduce, place, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "tosloc.rerank.encoder.reranker.choose_weight", lambda *_: (1000.0, {})
    )  # whatever validation says
    monkeypatch.setattr(systems, "SYSTEMS", {})
    monkeypatch.setattr(speed, "VERSIONS", 1)
    encoder = write_encoder(tmp_path / "encoder", words=WORDS)
    (place / "two.toml").write_text(
        f'extends = "small.toml"\n[stage_two]\ncode_encoder = "{encoder}"\nchunks = 2\nchunk_tokens = 16\n'
        "report_tokens = 16\ncandidates = 8\n"
        "[stage_two.training]\nepochs = 0\n"
    )
    projects = place / "two-stages.toml"
    projects.write_text((place / "ash.toml").read_text().replace("small.toml", "two.toml"))
    options = ["--projects", str(projects), "--out", str(tmp_path / "out"), "--json"]
    code, out, _ = reproduce("table-5", *options)
    assert code == 0
    assert values_of(out)["ratio to stage one, median", "TosLoc, both stages", "ash"]["ours"] > 1
    numbers = {
        key[1]: one["ours"] for key, one in values_of(reproduce("table-4", *options)[1]).items() if key[0] == "MRR"
    }
    assert numbers == {
        "TosLoc, stage one": read_scored(tmp_path / "out" / "ash" / "stage_one", "test").evaluation().mrr,
        "TosLoc, both stages": read_scored(tmp_path / "out" / "ash", "test").evaluation().mrr,
    }
    assert len(set(numbers.values())) == 2


def test_figure_5_is_of_stage_one(made, reproduce, tmp_path):
    code, out, _ = reproduce("figure-5", "--json", "--figures", str(tmp_path / "figures"))
    assert code == 0
    run = read_scored(made / "oak", "test").evaluation()
    numbers = values_of(out)
    assert numbers["candidates", "5", "oak: fixed files"]["ours"] == run.coverage(5)
    assert numbers["candidates", "1", "oak: reports with any"]["ours"] == run.summary()["top1"]
    assert (tmp_path / "figures" / "figure-5.svg").read_text().startswith("<?xml")
