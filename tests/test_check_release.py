"""``scripts/check_release.py``: what a release lacks."""

import os
import subprocess
import sys

import pytest

from scripts import check_release
from scripts.check_release import PLACEHOLDER, find_problems

FILES = {
    "tosloc/__init__.py": '"""Rank."""\n\n__version__ = "1.2.0"\n',
    "CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-01-31\n",
    "CITATION.cff": "cff-version: 1.2.0\nversion: 1.2.0\ndate-released: 2026-01-31\n",
    "README.md": "git clone https://github.com/ann/tosloc\n",
    "docs/releasing.md": f"Replace {PLACEHOLDER}.\n",
}


@pytest.fixture
def check(tmp_path):
    """Return a function (tag, changed files) that returns the problems of a release."""

    def find(tag="v1.2.0", changes=()):
        files = {**FILES, **dict(changes)}
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return find_problems(tmp_path, tag, list(files))

    return find


def test_a_complete_release_has_no_problem(check):
    assert check() == []


def test_a_tag_of_another_version_is_a_problem(check):
    assert check("v1.3.0") == ["tosloc/__init__.py: the version is 1.2.0, the tag is v1.3.0"]


def test_a_missing_section_of_the_changelog_is_a_problem(check):
    changelog = "# Changelog\n\n## [Unreleased]\n"
    problems = check(changes={"CHANGELOG.md": changelog})
    assert problems == ["CHANGELOG.md: there is no section ## [1.2.0] - YYYY-MM-DD"]


def test_a_citation_of_another_version_is_a_problem(check):
    problems = check(changes={"CITATION.cff": "version: 1.1.0\ndate-released: 2026-01-31\n"})
    assert problems == ["CITATION.cff: there is no line version: 1.2.0"]


def test_a_citation_without_the_day_of_the_release_is_a_problem(check):
    problems = check(changes={"CITATION.cff": "version: 1.2.0\n"})
    assert problems == ["CITATION.cff: there is no line date-released: YYYY-MM-DD"]


def test_a_fragment_that_is_not_in_the_changelog_is_a_problem(check):
    problems = check(changes={"changelog.d/+julia.added.md": "Frames of Julia are read.\n"})
    assert problems == [
        "changelog.d/+julia.added.md: is not in CHANGELOG.md; see docs/releasing.md"
    ]


def test_a_placeholder_is_a_problem_except_where_it_is_explained(check):
    problems = check(changes={"README.md": f"git clone https://github.com/{PLACEHOLDER}\n"})
    assert problems == [f"README.md: contains {PLACEHOLDER}; see docs/releasing.md"]


def test_a_reader_that_stops_early_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, check_release.__file__, "v0.0.0"]
    result = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, text=True)
    os.close(writing)
    assert result.stderr == ""
