"""The command ``reproduce`` on two small projects, with two of the techniques."""

import json
import shutil

import numpy as np
import pytest

from tests import toy
from tests.lab.baselines.techniques import SMALL_TECHNIQUES
from tests.rerank.encoder.tiny import write_encoder
from tests.toy import WORDS
from tosloc.cli import main
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.git.repository import Repository, decode_text
from tosloc.lab import baseline_runs
from tosloc.lab.paper import data, systems
from tosloc.reports.labelled import Dataset
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
def folder(toys):
    """Return the folder of the files of projects and of the paper's numbers."""
    folder = toys["ash"].folder.parent
    (folder / "small.toml").write_text(toy.SETTINGS)
    (folder / "published").mkdir()
    for table in ("table-2", "table-3", "table-4", "table-5", "table-6", "figure-5", "figure-6"):
        (folder / "published" / f"{table}.toml").write_text(PUBLISHED)
    sections = [
        f'[{name}]\nrepo = "{name}/repo"\nreports = "{name}/reports.jsonl"\nconfig = "small"\n'
        for name in toys
    ]
    (folder / "projects.toml").write_text("".join(sections))
    (folder / "ash.toml").write_text(sections[0])
    techniques = {"buglocator": "BugLocator", "dreamloc": "DreamLoc"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tosloc.lab.paper.workspace.PUBLISHED_FOLDER", folder / "published")
        patch.setattr(baseline_runs, "SYSTEMS", techniques)
        patch.setattr(baseline_runs, "technique", SMALL_TECHNIQUES.__getitem__)
        yield folder


def make_runner(folder, capsys, *extra_options):
    """Return a function that runs ``reproduce`` with one output folder for all tests.

    It takes the table and options, and returns the exit code, the output and the errors.
    """

    def run(table, *options):
        arguments = ["lab", "reproduce", table]
        arguments += ["--projects", str(folder / "projects.toml"), "--out", str(folder / "out")]
        code = main([*arguments, *extra_options, *map(str, options)])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def reproduce(folder, capsys):
    return make_runner(folder, capsys)


@pytest.fixture(scope="module")
def finished_runs(folder):
    """Return the folder of all runs of table 4, made once."""
    options = ["--projects", str(folder / "projects.toml"), "--out", str(folder / "out"), "--json"]
    assert main(["lab", "reproduce", "table-4", *options]) == 0
    return folder / "out"


def cells_by_key(printed):
    """Return the cell with our number and the published one by (table, row, column)."""
    cells = {}
    for table in json.loads(printed)["tables"]:
        first_head, *columns = table["heads"]
        for name, *row in table["rows"]:
            for column, cell in zip(columns, row, strict=True):
                if isinstance(cell, dict):
                    cells[first_head, name, column] = cell
    return cells


def our_numbers(printed):
    """Return our number by (row, column)."""
    return {key[1:]: cell["ours"] for key, cell in cells_by_key(printed).items()}


def refuse(*_, **__):
    raise AssertionError("made again")


@pytest.mark.parametrize(
    ("system", "run_folder"),
    [("TosLoc, stage one", "ash"), ("BugLocator", "baselines/ash/buglocator")],
    ids=["stage one", "BugLocator"],
)
def test_table_4_shows_the_means_of_finished_runs(
    system, run_folder, finished_runs, reproduce, monkeypatch
):
    monkeypatch.setattr(training, "train", refuse)
    monkeypatch.setattr(baseline_runs, "rank_with", refuse)
    code, out, err = reproduce("table-4", "--json")
    assert code == 0
    assert "left out: what is not there" in err
    cells = cells_by_key(out)
    evaluation = ScoredRun.read(finished_runs / run_folder, "test").evaluation()
    assert cells["MRR", system, "ash"]["ours"] == evaluation.mrr
    assert cells["MAP", system, "ash"]["ours"] == evaluation.map


def test_table_4_shows_published_numbers_and_differences(finished_runs, reproduce):
    cells = cells_by_key(reproduce("table-4", "--json")[1])
    assert cells["MRR", "BugLocator", "ash"]["published"] == 0.31
    assert cells["MRR", "BugLocator", "oak"]["published"] is None
    own = cells["MRR", "TosLoc, stage one", "oak"]["ours"]
    other = cells["MRR", "BugLocator", "oak"]["ours"]
    difference = cells["MRR: TosLoc - other", "BugLocator", "oak"]["ours"]
    assert difference == pytest.approx(own - other)


def test_table_4_as_markdown_has_a_heading_and_names_missing_projects(finished_runs, reproduce):
    projects = finished_runs.parent / "ash.toml"
    code, out, err = reproduce("table-4", "--markdown", "--projects", projects)
    assert code == 0
    assert out.startswith("## Table 4: toys\n\n- In parentheses: nobody's paper\n")
    assert "| MRR | ash |" in out
    assert " (.31) |" in out
    assert f"oak is not in {projects}" in err


@pytest.fixture(scope="module")
def wrong_projects(folder, toys):
    """Write files of projects with another name, and with other reports of the same name."""
    projects = (folder / "ash.toml").read_text()
    (folder / "other.toml").write_text(projects.replace("[ash]", "[elm]"))
    (folder / "changed.toml").write_text(projects.replace("reports.jsonl", "other.jsonl"))
    records = [record | {"summary": "another"} for record in toys["ash"].records]
    toys["ash"].write_reports("other.jsonl", records)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["table-7"], "choose from table-2"),
        (
            ["table-4", "--projects", "{folder}/other.toml"],
            "none of the projects ash, oak (their data are published at https://figshare.com",
        ),
        (["table-6"], "ash: no results in"),
        (
            ["figure-6"],
            "name an encoder to train, a folder or a name on the hub, with --encoder",
        ),
        (["table-6", "--encoder", "{folder}/none"], "no encoder can be loaded from this"),
        (["figure-5", "--finished", "--out", "{folder}/empty"], "no finished training"),
        (
            ["figure-5", "--projects", "{folder}/changed.toml"],
            "the run in it is for other reports (reports.jsonl)",
        ),
    ],
    ids=[
        "unknown table",
        "no project of the table",
        "no results of table 6",
        "no encoder",
        "unknown encoder",
        "no training",
        "other reports",
    ],
)
def test_missing_input_is_reported_in_one_line(
    options, message, finished_runs, wrong_projects, reproduce, folder
):
    code, out, err = reproduce(*(option.format(folder=folder) for option in options))
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert message in err


def test_finished_option_reads_runs_and_lists_missing_ones(finished_runs, reproduce, tmp_path):
    run_folder = "baselines/ash/dreamloc"
    shutil.copytree(finished_runs / run_folder, tmp_path / "runs" / run_folder)
    code, out, err = reproduce(
        "table-4", "--finished", "--runs", tmp_path / "runs", "--out", tmp_path / "new"
    )
    assert code == 0
    assert "TosLoc" not in out
    first_words = [line.split()[:1] for line in out.splitlines()]
    assert first_words.count(["DreamLoc"]) == 2
    assert "no run of BugLocator on ash, BugLocator on oak, DreamLoc on oak" in err


def test_table_3_counts_the_reports(reproduce, toys):
    code, out, _ = reproduce("table-3", "--json")
    numbers = our_numbers(out)
    with Repository(toys["ash"].git.path) as repo:
        whole, *_, test = Dataset.load(repo, toys["ash"].write_reports()).describe()
    assert code == 0
    assert whole["reports"] == 20
    assert numbers["reports", "ash"] == whole["reports"]
    assert numbers["files per version", "ash"] == pytest.approx(whole["files a version"], abs=0.05)
    assert numbers["test part: fixed files listed", "ash"] == test["listed"]


def count_words(text):
    return len(data.WORD.findall(text))


def test_table_2_counts_words(reproduce, toys):
    code, out, _ = reproduce("table-2", "--json")
    assert code == 0
    numbers = our_numbers(out)
    longest_files = []
    report_lengths = []
    with Repository(toys["ash"].git.path) as repo:
        for case in Dataset.load(repo, toys["ash"].write_reports()).cases:
            texts = repo.texts(repo.snapshot(case.before_commit, [".java"]).blobs)
            longest_files.append(max(count_words(decode_text(text)) for _, text in texts))
            report_lengths.append(count_words(f"{case.report.summary} {case.report.description}"))
    assert numbers["longest file", "ash"] == pytest.approx(np.mean(longest_files))
    assert numbers["mean length of reports", "ash"] == pytest.approx(np.mean(report_lengths))
    assert numbers["mean length of reports without stack traces", "ash"] < np.mean(report_lengths)


def test_table_2_counts_tokens_of_an_encoder(reproduce, folder, tmp_path):
    encoder = write_encoder(tmp_path / "tiny")
    code, out, _ = reproduce("table-2", "--encoder", encoder, "--projects", folder / "ash.toml")
    assert code == 0
    assert "length in tiny" in out


def test_table_5_times_every_system_and_resumes_after_an_interruption(
    finished_runs, reproduce, folder, monkeypatch
):
    time_answers = systems.time_answers
    calls = []

    def interrupt_second_call(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return time_answers(*arguments)

    monkeypatch.setattr(systems, "VERSIONS", 2)
    monkeypatch.setattr(systems, "time_answers", interrupt_second_call)
    options = ["table-5", "--projects", folder / "ash.toml", "--json"]
    assert reproduce(*options)[0] == 130
    code, out, err = reproduce(*options)
    assert code == 0
    assert "shared machine" in err
    assert len(calls) == 3
    assert reproduce(*options)[1] == out
    assert len(calls) == 3
    time_files = (finished_runs / "speed/ash").glob("*/*.json")
    times = [json.loads(path.read_text())["seconds"] for path in time_files]
    assert len(times) == 2
    for seconds in times:
        reports_by_system = {system: len(values) for system, values in seconds.items()}
        assert reports_by_system == {"buglocator": 4, "dreamloc": 4, "stage-one": 4}
    ratios = [
        np.median(seconds["buglocator"]) / np.median(seconds["stage-one"]) for seconds in times
    ]
    ratio = cells_by_key(out)["ratio to stage one, median", "BugLocator", "ash"]["ours"]
    assert ratio == np.median(ratios)


@pytest.fixture
def two_stage_options(folder, tmp_path, monkeypatch):
    """Return the options for a project with two stages, and without published techniques."""
    # Validation would not choose the reranker of such a small project.
    monkeypatch.setattr("tosloc.rerank.encoder.reranker.choose_weight", lambda *_: (1000.0, {}))
    monkeypatch.setattr(baseline_runs, "SYSTEMS", {})
    monkeypatch.setattr(systems, "VERSIONS", 1)
    encoder = write_encoder(tmp_path / "encoder", words=WORDS)
    (folder / "two.toml").write_text(
        f"""extends = "small.toml"
[stage_two]
code_encoder = "{encoder}"
chunks = 2
chunk_tokens = 16
report_tokens = 16
candidates = 8
[stage_two.training]
epochs = 0
"""
    )
    projects = folder / "two-stages.toml"
    projects.write_text((folder / "ash.toml").read_text().replace("small", "two"))
    return ["--projects", projects, "--out", tmp_path / "out", "--json"]


def test_both_stages_are_timed_and_scored(reproduce, two_stage_options, tmp_path):
    code, out, _ = reproduce("table-5", *two_stage_options)
    assert code == 0
    ratio = cells_by_key(out)["ratio to stage one, median", "TosLoc, both stages", "ash"]["ours"]
    assert ratio > 1
    cells = cells_by_key(reproduce("table-4", *two_stage_options)[1])
    mrr_by_system = {key[1]: cell["ours"] for key, cell in cells.items() if key[0] == "MRR"}
    training_folder = tmp_path / "out/ash"
    stage_one = ScoredRun.read(training_folder / "stage_one", "test").evaluation().mrr
    both_stages = ScoredRun.read(training_folder, "test").evaluation().mrr
    assert mrr_by_system == {"TosLoc, stage one": stage_one, "TosLoc, both stages": both_stages}
    assert stage_one != both_stages


def test_figure_5_is_the_coverage_of_stage_one(finished_runs, reproduce, tmp_path):
    code, out, _ = reproduce("figure-5", "--json", "--figures", tmp_path)
    assert code == 0
    numbers = our_numbers(out)
    evaluation = ScoredRun.read(finished_runs / "oak", "test").evaluation()
    assert numbers["5", "oak: fixed files"] == evaluation.coverage(5)
    found_first = np.mean([1 in scores.ranks for scores in evaluation.per_report])
    assert numbers["1", "oak: reports with any fixed file"] == found_first
    assert (tmp_path / "figure-5.svg").read_text().startswith("<?xml")
