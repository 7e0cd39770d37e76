"""Many projects: the list of them, and ``tosloc lab evaluate`` and ``compare`` of their runs."""

import json
import shutil

import pytest

from tests.cli.test_judging import GOOD, WORSE, rows, write_split
from tosloc.cli import main
from tosloc.core.errors import ConfigError
from tosloc.lab.projects import read_projects

ENTRY = '[one]\nrepo = "one.git"\nreports = "one.jsonl"\n'


@pytest.fixture
def listed(tmp_path):
    """Function (text) -> projects of a list beside what looks like a repository, and files of reports and settings."""
    for name in ("objects", "refs"):
        (tmp_path / "one.git" / name).mkdir(parents=True)
    (tmp_path / "one.git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "one.jsonl").write_text("{}\n")
    (tmp_path / "mine.toml").write_text('[data]\nzone = "Europe/Oslo"\n')

    def read(text):
        (tmp_path / "projects.toml").write_text(text)
        return read_projects(tmp_path / "projects.toml")

    return read


def test_a_list(listed, tmp_path):
    more = 'config = "mine"\npart = "train"\nat_most = 1000\nalone = true\n'
    one, two = listed(ENTRY + more + ENTRY.replace("[one]", "[two]"))
    assert (one.name, one.repo, one.reports) == (
        "one",
        tmp_path / "one.git",
        tmp_path / "one.jsonl",
    )
    assert (one.part, one.judged, one.at_most, one.alone) == ("train", "train", 1000, True)
    assert (one.config.data.zone, one.config.data.train) == ("Europe/Oslo", 0.8)
    assert (two.name, two.part, two.judged, two.at_most, two.alone) == (
        "two",
        "all",
        "all",
        0,
        False,
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it lists no project"),
        ("one = 1\n", "one is a section, [one]"),
        (f"{ENTRY}zon = 'UTC'\n", "[one]: zon: unknown key"),
        (f"{ENTRY}config = 'none'\n", "none: cannot read the configuration"),
        (ENTRY.replace("one.git", "two.git"), "two.git: no such folder"),
        (ENTRY.replace("one.jsonl", "two.jsonl"), "two.jsonl: no such file of reports"),
        (ENTRY.replace("[one]", '["../one"]'), "no name of a folder"),
        (ENTRY + ENTRY.replace("[one]", "[One]"), "two projects are called 'One'"),
    ],
)
def test_a_wrong_list_is_one_sentence(listed, text, says):
    with pytest.raises(ConfigError) as caught:
        listed(text)
    assert says in str(caught.value)


def said(capsys, *arguments, code=0):
    assert main([str(argument) for argument in arguments]) == code
    return capsys.readouterr()


def refused(capsys, *arguments):
    """The one sentence of a command that must end with 2."""
    out, err = said(capsys, *arguments, code=2)
    assert (out, err[:8], err.count("\n")) == ("", "tosloc: ", 1)
    return err


@pytest.fixture
def results(tmp_path):
    """Results of three projects: with splits, with a single other one, and a run without any."""
    write_split(tmp_path / "good/ann+one/test", GOOD)
    write_split(tmp_path / "good/ann+one/validation", WORSE)
    write_split(tmp_path / "good/bob+two/all", {"1": "ABC"})
    write_split(tmp_path / "good/cid+three", {"3": "CBA"})
    shutil.copytree(tmp_path / "good", tmp_path / "worse")
    write_split(tmp_path / "worse/ann+one/test", WORSE)
    write_split(tmp_path / "worse/bob+two/all", {"1": "BAC"})
    return tmp_path


def test_evaluate(results, capsys):
    write_split(results / "worse/dan+four/validation", GOOD)  # another split's
    command = "lab", "evaluate", results / "worse"
    out, err = said(capsys, *command, "--measures", "P@1")
    table = rows(out)
    assert table[1] == ["project", "reports", "mrr", "map", "top1", "top5", "top10", "P@1"]
    assert table[3][:3] == ["ann+one", "3", ".611"]  # (1/2 + 1 + 1/3) / 3
    assert table[4][:3] == ["bob+two", "1", ".500"]
    assert table[6][:7] == ["macro", "mean", "of", "3", "projects", ".704", "[.500,"]
    assert table[7][:7] == ["micro", "mean", "of", "all", "reports", "5", ".667"]
    assert err == "tosloc: 1 project without a finished run: dan+four\n"
    values = json.loads(said(capsys, *command, "--json")[0])
    assert values["macro"]["mrr"]["mean"] == pytest.approx(
        ((1 / 2 + 1 + 1 / 3) / 3 + 1 / 2 + 1) / 3
    )
    without = rows(said(capsys, *command, "--no-tests")[0])
    assert without[3][:4] == ["ann+one", "3", ".611", ".611"]  # but for tests one fixed file each


def test_runs_that_are_named(results, capsys):
    named = [results / "worse/ann+one", results / "good/ann+one", results / "good/cid+three"]
    out = json.loads(said(capsys, "lab", "evaluate", *named, "--json")[0])
    assert [one["project"] for one in out["projects"]] == [
        str(named[0]),
        str(named[1]),
        "cid+three",
    ]
    assert "named twice" in refused(capsys, "lab", "evaluate", named[0], named[0])


def test_a_folder_of_one_project_is_for_the_other_command(results, capsys):
    shutil.rmtree(results / "good/cid+three")
    assert "runs of many projects are for tosloc lab evaluate" in refused(
        capsys, "evaluate", results / "good"
    )
    for command in (("evaluate",), ("compare", results / "worse")):
        assert "no folder of runs, one a project" in refused(
            capsys, "lab", *command, results / "good/ann+one"
        )


def test_the_level_of_functions(results, capsys):
    for project, of_ours in (("ann+one/test", GOOD), ("bob+two/all", {"1": "BAC"})):
        for level, orders in (("functions", of_ours), ("functions-bm25", WORSE)):
            write_split(
                results / "good" / project / level, {report: orders[report] for report in of_ours}
            )
    shutil.rmtree(results / "good/cid+three")
    command = "lab", "evaluate", results / "good", "--level", "function"
    found = json.loads(said(capsys, *command, "--json")[0])
    ours, bm25 = found["functions"], found["BM25 over functions"]
    assert ours["micro"]["mrr"] == pytest.approx((3 + 1 / 2) / 4)
    assert ours["macro"]["mrr"] == {"mean": 0.75, "interval": [0.5, 1.0]}
    assert bm25["macro"]["mrr"]["mean"] == pytest.approx((11 / 18 + 1 / 2) / 2)
    assert "not for --level function" in refused(capsys, *command, "--no-tests")


def test_compare(results, capsys):
    command = ("lab", "compare", results / "worse", results / "good", "--json")
    found = json.loads(said(capsys, *command)[0])
    assert (found["a"], found["b"], list(found["rows"])) == (
        "worse",
        "good",
        ["ann+one", "bob+two", "cid+three"],
    )
    assert (
        found["all"]["reports"],
        found["all"]["measures"]["RR"]["b"],
        found["projects"]["number"],
    ) == (5, 1, 3)
    over_projects = found["projects"]["measures"]["RR"]
    assert (over_projects["b"], over_projects["wins"], over_projects["ties"]) == (1, 2, 1)
    assert over_projects["a"] == pytest.approx((11 / 18 + 1 / 2 + 1) / 3)
    for by, numbers in (
        ("language", {"java": 5}),
        ("fixed", {"1 fixed file": 4, "2 to 5 fixed files": 1}),
    ):
        rows_by = json.loads(said(capsys, *command, "--by", by)[0])["rows"]
        assert {name: row["reports"] for name, row in rows_by.items()} == numbers
    shutil.rmtree(results / "good/bob+two")
    out, err = said(capsys, *command[:-1], "--markdown", "--by", "language")
    assert "| all | 4 | " in out
    assert "1 project only in one of the folders, left out: first bob+two" in err
    for place in ("good/ann+one", "worse/cid+three"):
        shutil.rmtree(results / place)
    assert "no project has a finished run" in refused(capsys, *command)
