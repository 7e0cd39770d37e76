"""Files of projects, and what is said of a project that lacks something."""

from __future__ import annotations

from pathlib import Path

import pytest

from tosloc.errors import ToslocError
from tosloc.lab.paper.projects import chosen, lacking, missing_file, read_projects


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "swt.git").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "SWT.xlsx").touch()
    path = tmp_path / "projects.toml"
    path.write_text('[swt]\nrepo = "swt.git"\nreports = "data/SWT.xlsx"\nstore = "/far/facts.sqlite"\n')
    return path


def test_paths_are_relative_to_the_file(file, monkeypatch, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    [project] = read_projects(Path("..") / file.name).values()
    assert project.repo.resolve() == tmp_path / "swt.git"
    assert project.reports.is_file()
    assert (project.config, project.store) == (None, Path("/far/facts.sqlite"))
    assert project.lacks == ""
    assert project.settings.data.zone == "UTC"


def test_a_project_that_lacks_is_named_with_its_source(file):
    projects = read_projects(file)
    with pytest.raises(ToslocError) as error:
        chosen(projects, ["birt", "swt", "jdt"])
    said = str(error.value)
    assert said.startswith("birt: not in the file of projects")
    assert "https://github.com/eclipse-birt/birt" in said
    assert "figshare.com" in said
    assert "(and 1 more)" in said
    assert said.endswith("without it: --only swt")
    assert [project.name for project in chosen(projects, ["birt", "swt"], ["swt"])] == ["swt"]
    with pytest.raises(ToslocError, match="tomcat: not in the file") as error:
        chosen(projects, ["swt"], ["tomcat", "swt"])
    assert "--only" not in str(error.value)


def test_files_that_are_not_there(file):
    (file.parent / "data" / "SWT.xlsx").unlink()
    assert "no file of reports" in lacking(read_projects(file), ["swt"])["swt"]
    (file.parent / "swt.git").rmdir()
    said = lacking(read_projects(file), ["swt"])["swt"]
    assert "git clone https://github.com/eclipse-platform/eclipse.platform.swt" in said


def test_without_a_file_it_says_what_one_holds():
    assert "--projects FILE" in str(missing_file(["tomcat"]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("swt = 1", "swt is a section"),
        ('[swt]\nrepo = "a"', "[swt]: reports lacks"),
        ('[swt]\nrepo = "a"\nreport = "b"', "unknown key 'report', did you mean 'reports'?"),
        ('[swt]\nrepo = 1\nreports = "b"', "repo should be a text in quotes, not 1"),
        ("[swt", "not valid TOML"),
    ],
)
def test_a_wrong_file_is_one_sentence(file, text, said):
    file.write_text(text)
    with pytest.raises(ToslocError) as error:
        read_projects(file)
    assert said in str(error.value)
