"""The command ``reproduce`` on two projects that grow here, with two of the techniques."""

import json
import shutil

import numpy as np
import pytest

from tests import toy
from tests.lab.baselines.techniques import SMALL_TECHNIQUES
from tests.rerank.encoder.tiny import write_encoder
from tests.toy import WORDS
from tosloc.cli import main
from tosloc.evaluate.run_paths import read_scored_run
from tosloc.git.repository import Repository, decode_text
from tosloc.lab import baseline_runs
from tosloc.lab.paper import data, systems
from tosloc.reports.labelled import describe, load_dataset
from tosloc.train import training

pytestmark = pytest.mark.slow

PUBLISHED = """title = "toys"
source = "nobody's paper"
projects = ["ash", "oak"]
left_out = ["what is not there"]
[paper.MRR]
BugLocator = { ash = 0.31 }
"""


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toys")
    return {
        name: toy.make_project(folder / name, bugs=20, themes=8, seed=seed)
        for name, seed in (("ash", 5), ("oak", 8))
    }


@pytest.fixture(scope="module")
def place(toys):
    """The folder of the file of projects and of the paper's numbers."""
    folder = toys["ash"].folder.parent
    (folder / "small.toml").write_text(toy.SETTINGS)
    (folder / "published").mkdir()
    for table in ("table-2", "table-3", "table-4", "table-5", "table-6", "figure-5", "figure-6"):
        (folder / "published" / f"{table}.toml").write_text(PUBLISHED)
    listed = [
        f'[{name}]\nrepo = "{name}/repo"\nreports = "{name}/reports.jsonl"\nconfig = "small"\n'
        for name in toys
    ]
    (folder / "projects.toml").write_text("".join(listed))
    (folder / "ash.toml").write_text(listed[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tosloc.lab.paper.workspace.FOLDER", folder / "published")
        patch.setattr(
            baseline_runs, "SYSTEMS", {"buglocator": "BugLocator", "dreamloc": "DreamLoc"}
        )
        patch.setattr(baseline_runs, "technique", SMALL_TECHNIQUES.__getitem__)
        yield folder


def runner(place, capsys, *always):
    """Function (table, *options) -> exit code, output and errors, in one folder for all tests."""

    def call(table, *options):
        base = ["--projects", str(place / "projects.toml"), "--out", str(place / "out"), *always]
        return main(["lab", "reproduce", table, *base, *map(str, options)]), *capsys.readouterr()

    return call


@pytest.fixture
def reproduce(place, capsys):
    return runner(place, capsys)


@pytest.fixture(scope="module")
def made(place):
    """All runs of table 4, made once."""
    base = ["--projects", str(place / "projects.toml"), "--out", str(place / "out"), "--json"]
    assert main(["lab", "reproduce", "table-4", *base]) == 0
    return place / "out"


def values_of(printed):
    """(table, row, column) -> our number and the published one."""
    return {
        (table["heads"][0], row[0], head): cell
        for table in json.loads(printed)["tables"]
        for row in table["rows"]
        for head, cell in zip(table["heads"][1:], row[1:], strict=True)
        if isinstance(cell, dict)
    }


def ours(printed):
    """(row, column) -> our number."""
    return {key[1:]: cell["ours"] for key, cell in values_of(printed).items()}


def refuse(*_, **__):
    raise AssertionError("made again")


def test_table_4_is_of_the_runs_that_it_made(made, reproduce, monkeypatch):
    monkeypatch.setattr(training, "train", refuse)
    monkeypatch.setattr(baseline_runs, "rank_with", refuse)
    code, out, err = reproduce("table-4", "--json")
    assert (code, "left out: what is not there" in err) == (0, True)
    numbers = values_of(out)
    for system, folder in (
        ("TosLoc, stage one", "ash"),
        ("BugLocator", "baselines/ash/buglocator"),
    ):
        run = read_scored_run(made / folder, "test").evaluation()
        assert (numbers["MRR", system, "ash"]["ours"], numbers["MAP", system, "ash"]["ours"]) == (
            run.mrr,
            run.map,
        )
    assert numbers["MRR", "BugLocator", "ash"]["published"] == 0.31
    assert numbers["MRR", "BugLocator", "oak"]["published"] is None
    stage, other = (
        numbers["MRR", system, "oak"]["ours"] for system in ("TosLoc, stage one", "BugLocator")
    )
    assert numbers["MRR: TosLoc - other", "BugLocator", "oak"]["ours"] == pytest.approx(
        stage - other
    )
    code, out, err = reproduce("table-4", "--markdown", "--projects", made.parent / "ash.toml")
    assert (code, out.startswith("## Table 4: toys\n\n- In brackets: nobody's paper\n")) == (
        0,
        True,
    )
    assert "| MRR | ash |" in out
    assert " (.31) |" in out
    assert f"oak is not in {made.parent / 'ash.toml'}" in err


def test_what_is_missing_is_one_sentence(made, reproduce, place, tmp_path, toys):
    (place / "other.toml").write_text((place / "ash.toml").read_text().replace("[ash]", "[elm]"))
    (place / "changed.toml").write_text(
        (place / "ash.toml").read_text().replace("reports.jsonl", "other.jsonl")
    )
    toys["ash"].write_reports(
        "other.jsonl", [record | {"summary": "another"} for record in toys["ash"].records]
    )
    for options, said in (
        (["table-7"], "there are table-2"),
        (
            ["table-4", "--projects", place / "other.toml"],
            "none of ash, oak (published at https://figshare.com",
        ),
        (["table-6"], "ash: no results in"),
        (
            ["figure-6"],
            "name an encoder to train on, a folder or a name on the hub, with --encoder",
        ),
        (["table-6", "--encoder", place / "none"], "no encoder can be loaded from there"),
        (["figure-5", "--finished", "--out", tmp_path / "empty"], "no finished training"),
        (
            ["figure-5", "--projects", place / "changed.toml"],
            "a run on other reports (reports.jsonl)",
        ),
    ):
        code, out, err = reproduce(*options)
        assert (code, out, err.count("\n")) == (2, "", 1), options
        assert said in err


def test_without_making_what_is_there_is_read(made, reproduce, tmp_path):
    shutil.copytree(made / "baselines/ash/dreamloc", tmp_path / "some/baselines/ash/dreamloc")
    code, out, err = reproduce(
        "table-4", "--finished", "--runs", tmp_path / "some", "--out", tmp_path / "new"
    )
    assert (code, "TosLoc" in out) == (0, False)
    assert sum(line.split()[:1] == ["DreamLoc"] for line in out.splitlines()) == 2
    assert "no run of BugLocator on ash, BugLocator on oak, DreamLoc on oak" in err


def test_table_3_counts_the_reports(reproduce, toys):
    code, out, _ = reproduce("table-3", "--json")
    numbers = ours(out)
    with Repository(toys["ash"].git.path) as repo:
        whole, *_, test = describe(load_dataset(repo, toys["ash"].write_reports()))
    assert code == 0
    assert numbers["reports", "ash"] == whole["reports"] == 20
    assert numbers["files a version", "ash"] == pytest.approx(whole["files a version"], abs=0.05)
    assert numbers["of them, test: fixed files listed", "ash"] == test["listed"]


def test_table_2_counts_words_and_tokens(reproduce, toys, place, tmp_path):
    code, out, _ = reproduce("table-2", "--json")
    numbers, sizes = ours(out), []
    with Repository(toys["ash"].git.path) as repo:
        cases = load_dataset(repo, toys["ash"].write_reports()).cases
        for case in cases:
            texts = repo.texts(repo.snapshot(case.version, [".java"]).blobs)
            sizes.append([len(data.WORD.findall(decode_text(text))) for _, text in texts])
    assert code == 0
    assert numbers["file, longest", "ash"] == pytest.approx(np.mean(list(map(max, sizes))))
    said = [
        len(data.WORD.findall(f"{case.report.summary} {case.report.description}")) for case in cases
    ]
    assert numbers["report, mean", "ash"] == pytest.approx(np.mean(said))
    assert numbers["report without stack traces, mean", "ash"] < np.mean(said)
    encoder = write_encoder(tmp_path / "tiny")
    code, out, _ = reproduce("table-2", "--encoder", encoder, "--projects", place / "ash.toml")
    assert (code, "length in tiny" in out) == (0, True)


def test_table_5_times_every_system_and_an_interruption_loses_nothing(
    made, reproduce, place, monkeypatch
):
    real, calls = systems.time_answers, []

    def killed(*given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(systems, "VERSIONS", 2)
    monkeypatch.setattr(systems, "time_answers", killed)
    options = ["table-5", "--projects", place / "ash.toml", "--json"]
    assert reproduce(*options)[0] == 130
    code, out, err = reproduce(*options)
    assert (code, "shared machine" in err, len(calls)) == (0, True, 3)
    assert reproduce(*options)[1] == out
    assert len(calls) == 3
    times = [
        json.loads(path.read_text())["seconds"] for path in (made / "speed/ash").glob("*/*.json")
    ]
    each = {"buglocator": 4, "dreamloc": 4, "stage-one": 4}
    assert [{name: len(some) for name, some in one.items()} for one in times] == [each] * 2
    of_versions = [np.median(one["buglocator"]) / np.median(one["stage-one"]) for one in times]
    assert values_of(out)["ratio to stage one, median", "BugLocator", "ash"]["ours"] == np.median(
        of_versions
    )


def test_both_stages_are_timed_and_scored(reproduce, place, tmp_path, monkeypatch):
    # whatever validation says
    monkeypatch.setattr("tosloc.rerank.encoder.reranker.choose_weight", lambda *_: (1000.0, {}))
    monkeypatch.setattr(baseline_runs, "SYSTEMS", {})
    monkeypatch.setattr(systems, "VERSIONS", 1)
    encoder = write_encoder(tmp_path / "encoder", words=WORDS)
    (place / "two.toml").write_text(
        f'extends = "small.toml"\n[stage_two]\ncode_encoder = "{encoder}"\nchunks = 2\nchunk_tokens = 16\n'
        "report_tokens = 16\ncandidates = 8\n[stage_two.training]\nepochs = 0\n"
    )
    projects = place / "two-stages.toml"
    projects.write_text((place / "ash.toml").read_text().replace("small", "two"))
    options = ["--projects", projects, "--out", tmp_path / "out", "--json"]
    code, out, _ = reproduce("table-5", *options)
    assert (
        code,
        values_of(out)["ratio to stage one, median", "TosLoc, both stages", "ash"]["ours"] > 1,
    ) == (0, True)
    numbers = {
        key[1]: one["ours"]
        for key, one in values_of(reproduce("table-4", *options)[1]).items()
        if key[0] == "MRR"
    }
    one, both = (
        read_scored_run(tmp_path / "out/ash" / name, "test").evaluation().mrr
        for name in ("stage_one", "")
    )
    assert numbers == {"TosLoc, stage one": one, "TosLoc, both stages": both}
    assert one != both


def test_figure_5_is_of_stage_one(made, reproduce, tmp_path):
    code, out, _ = reproduce("figure-5", "--json", "--figures", tmp_path)
    run, numbers = read_scored_run(made / "oak", "test").evaluation(), ours(out)
    assert code == 0
    assert numbers["5", "oak: fixed files"] == run.coverage(5)
    assert numbers["1", "oak: reports with any"] == np.mean(
        [1 in one.ranks for one in run.per_report]
    )
    assert (tmp_path / "figure-5.svg").read_text().startswith("<?xml")
