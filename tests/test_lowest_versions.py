"""The constraints of a run with the lowest promised versions come from pyproject.toml alone."""

import os
import subprocess
import sys

import pytest

from scripts import lowest_versions
from scripts.lowest_versions import ROOT, floors, user_requirements

PYPROJECT = """
[project]
name = "shop"
dependencies = ["numpy>=1.26,<3", "PyStemmer!=2.3,>=2.2.0.2"]
[project.optional-dependencies]
encoder = ["dask[distributed]>=2026.1.1", "numpy>=2.0"]
all = ["shop[encoder]"]
dev = ["pytest>=8", "scipy-stubs"]
docs = ["zensical>=0.0.73"]
"""


def make_constraints(pyproject):
    """Return the constraints for a pyproject.toml, as name -> version."""
    lowest_versions = floors(user_requirements(pyproject))
    return {name: str(version) for name, version in lowest_versions.items()}


def test_the_version_after_at_least_is_pinned():
    assert make_constraints(PYPROJECT)["PyStemmer"] == "2.2.0.2"


def test_an_extra_of_a_dependency_is_left_out():
    assert make_constraints(PYPROJECT)["dask"] == "2026.1.1"


def test_the_highest_of_several_lowest_versions_is_pinned():
    assert make_constraints(PYPROJECT)["numpy"] == "2.0"


def test_tools_and_the_project_itself_are_not_pinned():
    assert make_constraints(PYPROJECT).keys() == {"dask", "numpy", "PyStemmer"}


def test_a_dependency_without_a_lowest_version_is_named():
    with pytest.raises(ValueError, match="numpy<3 names no lowest version; write numpy>=VERSION"):
        make_constraints(PYPROJECT.replace(">=1.26,<3", "<3"))


def test_every_dependency_of_this_project_has_a_lowest_version():
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert {"numpy", "torch", "mcp"} <= make_constraints(pyproject).keys()


def test_without_packaging_the_command_that_installs_it_is_printed(monkeypatch, capsys):
    monkeypatch.setattr(lowest_versions, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "executable", "python")
    with pytest.raises(SystemExit, match="2"):
        lowest_versions.main([])
    assert capsys.readouterr().err.endswith(
        "needs packaging; run: python -m pip install packaging\n"
    )


def test_the_script_is_imported_without_packaging():
    hide = "import sys; sys.modules['packaging'] = None; import scripts.lowest_versions"
    subprocess.run([sys.executable, "-c", hide], cwd=lowest_versions.ROOT, check=True)


def test_a_reader_that_stops_early_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, lowest_versions.__file__]
    result = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, text=True)
    os.close(writing)
    assert result.stderr == ""
