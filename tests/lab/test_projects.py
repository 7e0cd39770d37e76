"""Lists of projects."""

from __future__ import annotations

from pathlib import Path

import pytest

from tosloc.errors import ConfigError
from tosloc.lab.projects import Project, read_projects

ENTRY = '[one]\nrepo = "one.git"\nreports = "one.jsonl"\n'


def listed(tmp_path: Path, text: str) -> list[Project]:
    """The projects of a list beside what looks like a repository, a file of reports and one of settings."""
    for name in ("objects", "refs"):
        (tmp_path / "one.git" / name).mkdir(parents=True)
    (tmp_path / "one.git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "one.jsonl").write_text("{}\n")
    (tmp_path / "mine.toml").write_text('[data]\nzone = "Europe/Oslo"\nsuffixes = [".go"]\n')
    (tmp_path / "projects.toml").write_text(text)
    return read_projects(tmp_path / "projects.toml")


def test_a_list(tmp_path: Path) -> None:
    more = 'config = "mine"\npart = "train"\nat_most = 1000\nalone = true\n'
    one, two = listed(tmp_path, ENTRY + more + ENTRY.replace("[one]", "[two]"))
    assert (one.name, one.repo, one.reports) == ("one", tmp_path / "one.git", tmp_path / "one.jsonl")
    assert (one.part, one.judged, one.at_most, one.alone) == ("train", "train", 1000, True)
    assert (one.config.data.zone, one.config.data.suffixes, one.config.data.train) == ("Europe/Oslo", (".go",), 0.8)
    assert (two.name, two.part, two.judged, two.at_most, two.alone) == ("two", "all", "all", 0, False)
    assert one.record() != two.record()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it lists no project"),
        ("one = 1\n", "one is a section, [one]"),
        (f"{ENTRY}zon = 'UTC'\n", "[one]: zon: unknown key"),
        (f"{ENTRY}part = 'most'\n", "[one]: part: Input should be 'train', 'validation', 'test' or 'all'"),
        (f"{ENTRY}at_most = -1\n", "[one]: at_most: Input should be greater than or equal to 0"),
        (f"{ENTRY}config = 'none'\n", "none: cannot read the configuration"),
        (ENTRY.replace("one.git", "two.git"), "two.git: no such folder"),
        (ENTRY.replace("one.jsonl", "two.jsonl"), "two.jsonl: no such file of reports"),
        (ENTRY.replace("[one]", '["../one"]'), "no name of a folder"),
        (ENTRY + ENTRY.replace("[one]", "[One]"), "two projects are called 'One'"),
        ("a = ", "not valid TOML"),
    ],
)
def test_a_wrong_list_is_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        listed(tmp_path, text)
    assert says in str(caught.value)
    assert str(tmp_path) in str(caught.value)
