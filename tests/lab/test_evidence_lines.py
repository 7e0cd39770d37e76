"""How near shown lines and functions are to what a fix changed, and the command."""

import json

import pytest

from tests import toy
from tosloc.cli import main
from tosloc.code.functions import find_functions
from tosloc.core.answers import CodeLine, Function, Hit
from tosloc.core.reports import BugReport, Case
from tosloc.git.repository import Repository
from tosloc.lab.evidence_lines import (
    JudgedFile,
    count_files,
    find_changed_functions,
    find_changed_spans,
    judge_file,
)

TEXT = """class Cart:
    def add(self):
        keep()

    def drop(self):
        lose()
"""
FACTS = find_functions(TEXT, "cart.py")


def make_hit(lines=(), functions=()):
    code = tuple(CodeLine(line, "x") for line in lines)
    listed = tuple(Function(name, 1, 1, 1.0) for name in functions)
    return Hit(1, "cart.py", 1.0, 1.0, listed, code=code)


def test_fix_changes_the_smallest_function_around_a_line():
    assert find_changed_functions(FACTS, [(3, 3)]) == {"Cart.add"}


def test_addition_between_functions_changes_none():
    assert find_changed_functions(FACTS, [(4, 5)]) == set()


def test_distance_is_that_of_the_nearest_shown_line():
    assert judge_file(make_hit([1, 30]), FACTS, [(20, 21)]).distance == 9


def test_shown_line_within_a_change_has_no_distance():
    assert judge_file(make_hit([20]), FACTS, [(20, 21)]).distance == 0


def test_file_without_shown_lines_has_unknown_distance():
    assert judge_file(make_hit(), FACTS, [(20, 21)]).distance is None


def test_rank_is_that_of_the_first_changed_function():
    hit = make_hit(functions=["Cart.drop", "Cart.add"])
    assert judge_file(hit, FACTS, [(3, 3)]).function_rank == 2


def test_shares_of_functions_count_files_whose_function_changed():
    files = [
        JudgedFile(1, 3, True, 1),
        JudgedFile(3, 16, True, None),
        JudgedFile(0, None, False, None),
    ]
    row = count_files("toy", 5, files)
    assert row.files == 3
    assert row.near == pytest.approx(1 / 3)
    assert row.with_functions == 2
    assert row.listed == 0.5
    assert row.first == 0.5


def test_changed_lines_are_those_before_the_fix(repository):
    before = repository.commit({"a.py": "one\ntwo\nthree\n"}, "Add a")
    fix = repository.commit({"a.py": "zero\none\nTWO\nthree\n"}, "Fix a")
    case = Case(BugReport("1", "a fails", "", None), fix, before, 0, ("a.py",), ("a.py",))
    with Repository(repository.path) as opened:
        assert find_changed_spans(opened, case, []) == {"a.py": [(0, 1), (2, 2), (2, 3)]}


def test_changed_lines_of_a_version_are_those_that_the_data_list(repository):
    version = repository.commit({"a.py": "one\n"}, "Add a")
    case = Case(BugReport("1", "a fails", "", None), "", version, 0, ("a.py",), ("a.py",))
    with Repository(repository.path) as opened:
        spans = find_changed_spans(opened, case, [("a.py", 3, 4)])
    assert spans == {"a.py": [(3, 3), (4, 4)]}


def test_command_judges_the_answers_of_projects(tmp_path, capsys):
    project = toy.make_project(tmp_path, bugs=4, themes=4)
    reports = project.write_reports("reports.jsonl", project.records)
    projects = tmp_path / "projects.toml"
    projects.write_text(f'[toy]\nrepo = "{project.git.path}"\nreports = "{reports}"\n')
    assert main(["lab", "evidence-lines", "--projects", str(projects), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["project"] for row in rows] == ["toy", "all"]
    assert rows[0]["reports"] == 4
    assert rows[0]["files"] >= 1
    assert rows[0]["near"] == 1.0
