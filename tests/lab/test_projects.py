"""Lists of projects: a TOML file, or a folder of JSON lines beside a folder of repositories."""

from __future__ import annotations

from pathlib import Path

import pytest

from tosloc.config import Config
from tosloc.errors import ConfigError
from tosloc.lab.projects import find_repository, names_in, read_projects


def bare(path: Path) -> Path:
    """What looks like a repository."""
    for name in ("objects", "refs"):
        (path / name).mkdir(parents=True)
    (path / "HEAD").write_text("ref: refs/heads/main\n")
    return path


def lines(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / f"{name}.jsonl").write_text("{}\n")
    return folder


def listed(tmp_path: Path, text: str) -> Path:
    (tmp_path / "projects.toml").write_text(text)
    return tmp_path / "projects.toml"


@pytest.mark.parametrize("place", ["Ann+Shop.git", "Ann+Shop/repo", "ann/SHOP", "shop"])
def test_where_a_repository_may_stand(tmp_path: Path, place: str) -> None:
    wanted = bare(tmp_path / place)
    assert find_repository(names_in(tmp_path), "Ann+Shop") == wanted
    assert find_repository(names_in(tmp_path), "Ann+Other") is None


def test_a_folder_of_reports(tmp_path: Path) -> None:
    reports, repos = lines(tmp_path / "reports", "a+x", "a+y", "b+z"), tmp_path / "repos"
    bare(repos / "a+x/repo")
    bare(repos / "z")
    (reports / "README.md").write_text("not reports")
    found = read_projects(reports, repos)
    assert [(one.name, one.repo, one.reports) for one in found.projects] == [
        ("a+x", repos / "a+x/repo", reports / "a+x.jsonl"),
        ("b+z", repos / "z", reports / "b+z.jsonl"),
    ]
    assert found.missing == ("a+y",)
    assert {(one.part, one.judged, one.at_most) for one in found.projects} == {("all", "all", 0)}


def test_a_list_holds_projects_and_folders(tmp_path: Path) -> None:
    lines(tmp_path / "many", "a+x", "a+y", "a+old")
    for name in ("one.git", "repos/a+x", "repos/a+y", "repos/b+new"):
        bare(tmp_path / name)
    (tmp_path / "one.jsonl").write_text("{}\n")
    (tmp_path / "mine.toml").write_text('[data]\nzone = "Europe/Oslo"\nsuffixes = [".go"]\n')
    found = read_projects(
        listed(
            tmp_path,
            """
            [one]
            repo = "one.git"
            reports = "one.jsonl"
            config = "mine"
            suffixes = [".py"]
            part = "train"
            judged = "test"
            at_most = 1000
            alone = true
            [others]
            reports = "many"
            repos = "repos"
            without = ["A+X"]
            renamed = {"a+old" = "b+new"}
            """,
        )
    )
    one, old, other = found.projects
    assert (one.name, one.part, one.judged, one.at_most, one.alone) == ("one", "train", "test", 1000, True)
    data = one.configured(Config()).data
    assert (data.zone, data.suffixes, data.train) == ("Europe/Oslo", (".py",), 0.8)
    assert (old.name, old.repo) == ("a+old", tmp_path / "repos/b+new")
    assert (other.name, other.part, other.judged) == ("a+y", "all", "all")
    base = Config.of({"data": {"zone": "US/Eastern"}}, "base")
    assert other.configured(base).data.zone == "US/Eastern"
    assert other.record() != old.record()


ENTRY = '[one]\nrepo = "one.git"\nreports = "one.jsonl"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it lists no project"),
        ("one = 1\n", "one is a section, [one]"),
        (f"{ENTRY}zon = 'UTC'\n", "[one]: unknown key 'zon', did you mean 'zone'?"),
        (f"{ENTRY}part = 'most'\n", "part should be 'train', 'validation', 'test' or 'all', not 'most'"),
        (f"{ENTRY}at_most = -1\n", "at_most should be greater than or equal to 0, not -1"),
        (ENTRY.replace("one.git", "two.git"), "two.git: no such folder"),
        (ENTRY.replace("[one]", '["../one"]'), "no name of a folder"),
        (ENTRY + ENTRY.replace("[one]", "[One]"), "two projects are called 'One'"),
        ("a = ", "not valid TOML"),
    ],
)
def test_a_wrong_list_is_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    bare(tmp_path / "one.git")
    (tmp_path / "empty").mkdir()
    lines(tmp_path, "one")
    with pytest.raises(ConfigError) as caught:
        read_projects(listed(tmp_path, text))
    assert says in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_repositories_go_with_a_folder_of_reports(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name the folder of their repositories with --repos"):
        read_projects(lines(tmp_path / "reports", "one"))
    with pytest.raises(ConfigError, match="is no folder of reports"):
        read_projects(listed(tmp_path, ""), tmp_path)
    with pytest.raises(ConfigError, match="cannot read the projects"):
        read_projects(tmp_path / "none.toml")
