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


@pytest.mark.parametrize("reports", [[], ["report.md"]])
def test_cold_and_warm_questions_have_a_table_each(fixed, capsys, tmp_path, monkeypatch, reports):
    monkeypatch.chdir(tmp_path)
    Path("report.md").write_text("The cart lost items")
    options = [word for report in reports for word in ("--report", report)]
    assert profile_question.main([str(fixed.path), *options]) == 0
    cold, warm = capsys.readouterr().out.split("\n\n")
    assert cold.startswith("| cold, % of processor time |")
    assert warm.startswith("| warm, % of processor time |")
    assert "\n| imports |" in warm
    assert warm.splitlines()[-1].startswith("| peak of memory, MiB |")


def test_a_ranking_of_labelled_reports_is_profiled(fixed, capsys, tmp_path):
    file = tmp_path / "labelled.jsonl"
    report = {
        "id": "7",
        "summary": "The cart lost items",
        "opened": "2001-09-09T02:00:00Z",
        "fix_commit": fixed.commits[1],
        "fixed": ["cart.py"],
    }
    file.write_text(json.dumps(report))
    options = ["--rank", "--report", str(file), "--json"]
    assert profile_question.main([str(fixed.path), *options]) == 0
    tables = json.loads(capsys.readouterr().out)
    assert list(tables) == ["cold", "warm"]
    [cold] = tables["cold"].values()
    assert cold["seconds"][PARSER] > 0.01


def test_a_ranking_needs_a_file_of_reports(fixed, capsys):
    with pytest.raises(SystemExit) as stop:
        profile_question.main([str(fixed.path), "--rank"])
    assert stop.value.code == 2
    assert "--report: name one file for each repository" in capsys.readouterr().err


def test_reports_are_one_for_each_repository(fixed, capsys):
    with pytest.raises(SystemExit) as stop:
        profile_question.main([str(fixed.path), "--report", "a.md", "--report", "b.md"])
    assert stop.value.code == 2
    assert "--report: name one file for each repository" in capsys.readouterr().err


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
    [entered] = json.loads(capsys.readouterr().out)["entered"].values()
    assert "cli/localize.py" in entered["names"]
    assert "cli/bisect.py" not in entered["names"]
    assert any(name.startswith("localize:") for name in entered["names"]["cli/localize.py"])


def test_programs_are_named_by_their_command():
    arguments = ["/usr/bin/git", "-c", "core.hooksPath=/dev/null", "cat-file", "--batch"]
    assert profile_question._command_name(arguments) == "git cat-file"
    assert profile_question._command_name(["/bin/sh", "-c", "read"]) == "program sh"
    assert profile_question._command_name(["python", "-c", f"import {PARSER_MODULE}"]) == PARSER
