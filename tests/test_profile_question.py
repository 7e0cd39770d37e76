"""``scripts/profile_question.py``: the parts of a question, and the code that it enters."""

import json
from pathlib import Path

import pytest

from scripts import profile_question
from scripts.profile_question import PARSER, PARSER_MODULE
from scripts.timing import children_time

FILES = {"cart.py": "def add(item):\n    return item\n", "bill.py": "def total():\n    return 1\n"}


@pytest.fixture
def fixed(repository):
    """Return a repository whose last commit fixes a bug."""
    repository.commit(FILES, "Begin")
    repository.commit({"cart.py": "def add(item):\n    return [item]\n"}, "Fix #7: cart lost items")
    return repository


def test_report_is_the_newest_fix_about_its_parent(fixed, tmp_path):
    file, commit = profile_question.write_report(fixed.path, "HEAD", tmp_path)
    assert "cart lost items" in file.read_text()
    assert commit == fixed.commits[0]


def test_cold_and_warm_questions_have_a_column_each(fixed, capsys):
    assert profile_question.main([str(fixed.path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].count(", cold |") == 1
    assert lines[0].count(", warm |") == 1
    assert any(line.startswith("| imports |") for line in lines)
    assert lines[-1].startswith("| peak of memory, MiB |")


def test_parts_add_up_to_the_time_of_all_processes(fixed, tmp_path):
    report, commit = profile_question.write_report(fixed.path, "HEAD", tmp_path)
    command = profile_question.question(fixed.path, commit, report)
    before = children_time()
    seconds = profile_question.ask("profile", tmp_path / "cache", command)["seconds"]
    total = children_time() - before
    assert sum(seconds.values()) == pytest.approx(total, rel=0.01)
    assert 0 <= seconds[profile_question.END] < 0.2 * total


def test_the_process_that_parses_is_a_part(fixed, tmp_path):
    report, commit = profile_question.write_report(fixed.path, "HEAD", tmp_path)
    command = profile_question.question(fixed.path, commit, report)
    cold = profile_question.ask("profile", tmp_path / "cache", command)
    assert cold["seconds"][PARSER] > 0.01


@pytest.mark.parametrize("beginning", profile_question.PARTS)
def test_parts_begin_paths_of_modules(beginning):
    assert list(Path(profile_question.PACKAGE).glob(f"{beginning}*"))


def test_code_that_is_not_entered_is_not_counted(fixed, capsys):
    assert profile_question.main([str(fixed.path), "--entered", "--json"]) == 0
    [entered] = json.loads(capsys.readouterr().out).values()
    assert "cli/localize.py" in entered["names"]
    assert "cli/bisect.py" not in entered["names"]
    assert any(name.startswith("localize:") for name in entered["names"]["cli/localize.py"])


def test_programs_are_named_by_their_command():
    arguments = ["/usr/bin/git", "-c", "core.hooksPath=/dev/null", "cat-file", "--batch"]
    assert profile_question._command_name(arguments) == "git cat-file"
    assert profile_question._command_name(["/bin/sh", "-c", "read"]) == "program sh"
    assert profile_question._command_name(["python", "-c", f"import {PARSER_MODULE}"]) == PARSER
