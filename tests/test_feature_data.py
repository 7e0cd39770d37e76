"""``scripts/feature_data.py``: reports on which a feature is measured."""

import json
import subprocess

import pytest

from conftest import make_shop
from scripts import feature_data
from tosloc.cli.guard import run_guarded
from tosloc.lab.projects import read_projects


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """Return the paths of two projects that are at no host; nobody is logged in at GitHub."""
    monkeypatch.setattr(feature_data, "read_token", lambda: "")
    return [str(make_shop(tmp_path / name)) for name in ("one", "two")]


def make_data(sources, folder, *options):
    """Make the data of the sources; return the projects in the list."""
    assert feature_data.main([*sources, "--out", str(folder), *options]) == 0
    return read_projects(folder / "projects.toml")


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_messages_of_commits_stand_in_for_reports(sources, tmp_path):
    projects = make_data(sources, tmp_path / "data")
    assert [project.name for project in projects] == ["one", "two"]
    [report] = read_lines(tmp_path / "data/one-stand-ins.jsonl")
    assert report["summary"] == "Fix #7: the cart takes an item twice"
    assert report["weak"]


def test_reports_of_a_folder_are_used_as_they_are(sources, tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "Two.jsonl").write_text("")
    projects = make_data(sources, tmp_path / "data", "--reports", str(folder))
    assert projects[1].reports == folder / "Two.jsonl"
    assert projects[0].reports.name == "one-stand-ins.jsonl"


def test_issues_of_github_are_preferred_to_stand_ins(tmp_path, monkeypatch):
    address = "https://github.com/ann/shop"
    repository = make_shop(tmp_path / "shop")
    issue = {
        "number": 7,
        "title": "My item is there twice",
        "body": "",
        "createdAt": "2020-01-01T00:00:00Z",
        "state": "CLOSED",
    }
    monkeypatch.setattr(feature_data, "read_token", lambda: "secret")
    monkeypatch.setattr(feature_data, "fetch_issues", lambda project, token: [issue])
    reports, tracker = feature_data.mine_reports(address, repository)
    assert tracker == "GitHub"
    assert [report["summary"] for report in reports] == ["My item is there twice"]


def test_finished_clones_and_reports_are_kept(sources, tmp_path, capsys):
    make_data(sources, tmp_path / "data")
    capsys.readouterr()
    make_data(sources, tmp_path / "data")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("{one}", "one project is not enough"),
        ("{one} {two} --reports {one}/none", "there is no such folder of reports"),
        ("{one} {one}/none", "git could not clone it"),
    ],
    ids=["one project", "missing folder", "no repository"],
)
def test_bad_input_is_refused_in_one_sentence(words, sentence, sources, tmp_path, capfd):
    words = words.format(one=sources[0], two=sources[1]).split()
    out = str(tmp_path / "data")
    assert run_guarded(lambda: feature_data.main([*words, "--out", out])) == 2
    assert sentence in capfd.readouterr().err


def test_the_comparison_without_data_names_the_script_that_makes_it(tmp_path):
    command = ["bash", feature_data.__file__.replace("feature_data.py", "compare_features.sh")]
    result = subprocess.run([*command, "HEAD", tmp_path], capture_output=True, text=True)
    assert result.returncode == 2
    assert "Run: python scripts/feature_data.py" in result.stderr
