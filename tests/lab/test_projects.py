"""Many projects: the list of them, and ``tosloc lab evaluate`` and ``compare`` of their runs."""

import json
import shutil

import pytest

from tests.cli.test_judging import GOOD, WORSE, rows, write_space, write_split, write_weak
from tosloc.cli import main
from tosloc.core.errors import ConfigError
from tosloc.lab.projects import read_projects

ENTRY = '[one]\nrepo = "one.git"\nreports = "one.jsonl"\n'


@pytest.fixture
def read_list(tmp_path):
    """Return a function that returns the projects of a list, given as text.

    Beside the list are a repository, or what looks like one, a file of reports and one of settings.
    """
    for name in ("objects", "refs"):
        (tmp_path / "one.git" / name).mkdir(parents=True)
    (tmp_path / "one.git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "one.jsonl").write_text("{}\n")
    (tmp_path / "mine.toml").write_text('[data]\nzone = "Europe/Oslo"\n')

    def read(text):
        (tmp_path / "projects.toml").write_text(text)
        return read_projects(tmp_path / "projects.toml")

    return read


def test_project_has_the_values_of_its_section(read_list, tmp_path):
    settings = 'config = "mine"\npart = "train"\nat_most = 1000\nalone = true\n'
    [project] = read_list(ENTRY + settings)
    assert project.name == "one"
    assert project.repo == tmp_path / "one.git"
    assert project.reports == tmp_path / "one.jsonl"
    assert project.part == "train"
    assert project.judged == "train"
    assert project.at_most == 1000
    assert project.alone
    assert project.config.data.zone == "Europe/Oslo"
    assert project.config.data.train == 0.8


def test_project_without_settings_uses_all_reports(read_list):
    _, project = read_list(ENTRY + ENTRY.replace("[one]", "[two]"))
    assert project.name == "two"
    assert project.part == "all"
    assert project.judged == "all"
    assert project.at_most == 0
    assert not project.alone


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it lists no project"),
        ("one = 1\n", "one must be a section, [one]"),
        (f"{ENTRY}zon = 'UTC'\n", "[one]: zon: unknown key"),
        (f"{ENTRY}config = 'none'\n", "none: cannot read the configuration"),
        (ENTRY.replace("one.git", "two.git"), "two.git: no such folder"),
        (ENTRY.replace("one.jsonl", "two.jsonl"), "two.jsonl: there is no such file of reports"),
        (ENTRY.replace("[one]", '["../one"]'), "cannot be the name of a folder"),
        (ENTRY + ENTRY.replace("[one]", "[One]"), "two projects are called 'One'"),
    ],
    ids=[
        "empty",
        "no section",
        "unknown key",
        "unknown configuration",
        "no repository",
        "no reports",
        "path as a name",
        "same name",
    ],
)
def test_wrong_list_is_refused(read_list, text, message):
    with pytest.raises(ConfigError) as caught:
        read_list(text)
    assert message in str(caught.value)


def run_command(capsys, *arguments):
    """Return the output and the errors of a command that succeeds."""
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr()


def run_refused(capsys, *arguments):
    """Return the error of a command that ends with 2 and one line."""
    assert main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("tosloc: ")
    assert err.count("\n") == 1
    return err


@pytest.fixture
def results(tmp_path):
    """Return folders of three projects: with splits, with another one, and a run without any."""
    write_split(tmp_path / "good/ann+one/test", GOOD)
    write_split(tmp_path / "good/ann+one/validation", WORSE)
    write_split(tmp_path / "good/bob+two/all", {"1": "ABC"})
    write_split(tmp_path / "good/cid+three", {"3": "CBA"})
    shutil.copytree(tmp_path / "good", tmp_path / "worse")
    write_split(tmp_path / "worse/ann+one/test", WORSE)
    write_split(tmp_path / "worse/bob+two/all", {"1": "BAC"})
    return tmp_path


def test_evaluate_shows_each_project_and_means(results, capsys):
    out, _ = run_command(capsys, "lab", "evaluate", results / "worse", "--measures", "P@1")
    table = rows(out)
    assert table[1] == ["project", "reports", "mrr", "map", "top1", "top5", "top10", "P@1"]
    assert table[3][:3] == ["ann+one", "3", ".611"]  # (1/2 + 1 + 1/3) / 3
    assert table[4][:3] == ["bob+two", "1", ".500"]
    assert table[6][:7] == ["macro", "mean", "of", "3", "projects", ".704", "[.500,"]
    assert table[7][:7] == ["micro", "mean", "of", "all", "reports", "5", ".667"]


def test_evaluate_names_projects_without_a_run_of_the_split(results, capsys):
    write_split(results / "worse/dan+four/validation", GOOD)
    _, err = run_command(capsys, "lab", "evaluate", results / "worse")
    assert err == "tosloc: left out 1 project without a finished run: dan+four\n"


def test_evaluate_prints_json(results, capsys):
    out, _ = run_command(capsys, "lab", "evaluate", results / "worse", "--json")
    mean = json.loads(out)["macro"]["mrr"]["mean"]
    assert mean == pytest.approx(((1 / 2 + 1 + 1 / 3) / 3 + 1 / 2 + 1) / 3)


def test_evaluate_without_tests_leaves_one_fixed_file_a_report(results, capsys):
    out, _ = run_command(capsys, "lab", "evaluate", results / "worse", "--no-tests")
    assert rows(out)[3][:4] == ["ann+one", "3", ".611", ".611"]


def test_evaluate_names_equal_folders_by_their_paths(results, capsys):
    runs = [results / "worse/ann+one", results / "good/ann+one", results / "good/cid+three"]
    out, _ = run_command(capsys, "lab", "evaluate", *runs, "--json")
    names = [project["project"] for project in json.loads(out)["projects"]]
    assert names == [str(runs[0]), str(runs[1]), "cid+three"]


def test_evaluate_notes_a_weak_truth_once_for_all_projects(results, capsys):
    write_weak(results / "good/ann+one/test", 2)
    write_weak(results / "good/cid+three", 1)
    _, err = run_command(capsys, "lab", "evaluate", results / "good")
    assert err.startswith("tosloc: 3 of 7 reports are commit messages; ")
    assert err.count("\n") == 1


def test_evaluate_refuses_a_run_that_is_named_twice(results, capsys):
    run = results / "worse/ann+one"
    assert "given twice" in run_refused(capsys, "lab", "evaluate", run, run)


def test_runs_of_many_projects_are_refused_by_the_other_command(results, capsys):
    shutil.rmtree(results / "good/cid+three")
    err = run_refused(capsys, "evaluate", results / "good")
    assert "for runs of many projects, use tosloc lab evaluate" in err


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_run_of_one_project_is_refused(command, results, capsys):
    others = [results / "worse"] if command == "compare" else []
    err = run_refused(capsys, "lab", command, *others, results / "good/ann+one")
    assert "this is not a folder with one run per project" in err


def test_evaluate_names_the_search_space(results, capsys):
    write_space(results / "good/ann+one/test", ".java files")
    write_space(results / "good/bob+two/all", ".java files", {"1": "ABC"})
    out, _ = run_command(capsys, "lab", "evaluate", results / "good")
    assert "ann+one and bob+two searched .java files" in out.splitlines()
    write_space(results / "good/cid+three", ".java files", {"3": "CBA"})
    out, _ = run_command(capsys, "lab", "evaluate", results / "good")
    assert "Searched: .java files" in out.splitlines()
    out, _ = run_command(capsys, "lab", "evaluate", results / "good", "--json")
    assert [row["search_space"] for row in json.loads(out)["projects"]] == 3 * [".java files"]


def test_compare_names_the_search_spaces(results, compare_arguments, capsys):
    for folder, space in (("good", "all source files"), ("worse", ".java files")):
        write_space(results / folder / "ann+one/test", space)
        write_space(results / folder / "bob+two/all", space, {"1": "ABC"})
        write_space(results / folder / "cid+three", space, {"3": "CBA"})
    out, _ = run_command(capsys, *compare_arguments)
    assert (
        "worse/ann+one and 2 others searched .java files;"
        " good/ann+one and 2 others searched all source files"
    ) in out.splitlines()
    out, _ = run_command(capsys, *compare_arguments, "--json")
    assert json.loads(out)["search_spaces"]["good/cid+three"] == "all source files"


@pytest.fixture
def function_runs(results):
    """Return a folder of two projects with runs of functions, ours and BM25's."""
    for project, orders in (("ann+one/test", GOOD), ("bob+two/all", {"1": "BAC"})):
        folder = results / "good" / project
        write_split(folder / "functions", orders)
        write_split(folder / "functions-bm25", {report: WORSE[report] for report in orders})
    shutil.rmtree(results / "good/cid+three")
    return results / "good"


def test_evaluate_compares_functions_with_bm25(function_runs, capsys):
    arguments = ["lab", "evaluate", function_runs, "--level", "function", "--json"]
    values = json.loads(run_command(capsys, *arguments)[0])
    functions = values["functions"]
    assert functions["micro"]["mrr"] == pytest.approx((3 + 1 / 2) / 4)
    assert functions["macro"]["mrr"] == {"mean": 0.75, "interval": [0.5, 1.0]}
    bm25_mean = values["BM25 over functions"]["macro"]["mrr"]["mean"]
    assert bm25_mean == pytest.approx((11 / 18 + 1 / 2) / 2)


def test_evaluate_of_functions_cannot_leave_out_tests(function_runs, capsys):
    arguments = ["lab", "evaluate", function_runs, "--level", "function", "--no-tests"]
    assert "apply only to files; leave out --level function" in run_refused(capsys, *arguments)


@pytest.fixture
def compare_arguments(results):
    return ["lab", "compare", results / "worse", results / "good"]


def test_compare_shows_projects_all_reports_and_project_means(compare_arguments, capsys):
    values = json.loads(run_command(capsys, *compare_arguments, "--json")[0])
    assert values["a"] == "worse"
    assert values["b"] == "good"
    assert list(values["rows"]) == ["ann+one", "bob+two", "cid+three"]
    assert values["all"]["reports"] == 5
    assert values["all"]["measures"]["RR"]["b"] == 1
    assert values["projects"]["number"] == 3


def test_compare_pairs_the_means_of_projects(compare_arguments, capsys):
    values = json.loads(run_command(capsys, *compare_arguments, "--json")[0])
    project_means = values["projects"]["measures"]["RR"]
    assert project_means["a"] == pytest.approx((11 / 18 + 1 / 2 + 1) / 3)
    assert project_means["b"] == 1
    assert project_means["wins"] == 2
    assert project_means["ties"] == 1


@pytest.mark.parametrize(
    ("by", "expected"),
    [("language", {"java": 5}), ("fixed", {"1 fixed file": 4, "2 to 5 fixed files": 1})],
    ids=["language", "fixed"],
)
def test_compare_groups_reports(by, expected, compare_arguments, capsys):
    values = json.loads(run_command(capsys, *compare_arguments, "--json", "--by", by)[0])
    assert {name: row["reports"] for name, row in values["rows"].items()} == expected


def test_compare_leaves_out_projects_of_one_folder(results, compare_arguments, capsys):
    shutil.rmtree(results / "good/bob+two")
    options = ["--markdown", "--by", "language"]
    out, err = run_command(capsys, *compare_arguments, *options)
    assert "| all | 4 | " in out
    assert "left out 1 project found in only one of the folders, such as bob+two" in err


def test_compare_without_a_common_project_is_refused(results, compare_arguments, capsys):
    for folder in ("good/bob+two", "good/ann+one", "worse/cid+three"):
        shutil.rmtree(results / folder)
    assert "no project has a finished run" in run_refused(capsys, *compare_arguments)


def test_compare_says_how_many_reports_are_commit_messages(results, compare_arguments, capsys):
    write_weak(results / "good/ann+one/test", 2)
    write_weak(results / "worse/ann+one/test", 2)
    assert (
        "tosloc: 2 of 5 reports are commit messages; " in run_command(capsys, *compare_arguments)[1]
    )
