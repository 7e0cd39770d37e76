"""Functions and suspect changes after the answers of a language model in files."""

import json

import pytest

from tests.conftest import FIRST_TIME, HOUR
from tests.toy import labelled_record
from tosloc.cli import main
from tosloc.code.functions import find_functions
from tosloc.git.patches import FilePatch, Hunk
from tosloc.lab.llm_details import functions_of_patches, judge_details
from tosloc.lab.llm_tasks import Task, answer_by_paths
from tosloc.lab.projects import read_projects

CART = """\
class Cart:
    def total(self):
        return sum(item.price for item in self.items)

    def clear(self):
        self.items = []
"""
FIXED = CART.replace("in self.items", "in self.items.values()")
BILL = """\
def print_bill(negative, amount):
    return negative or amount
"""
LISTING = f"<files-{32 * 'a'}>\n1. bill.py\n2. cart.py\n</files-{32 * 'a'}>\n"


@pytest.fixture
def prompts(repository, tmp_path):
    """Return the folder of the prompt of one task, whose project is described in a file."""
    repository.commit({"bill.py": BILL}, "Begin")
    repository.commit({"cart.py": CART}, "Add a cart")
    repository.commit({"bill.py": f"{BILL}# the amount\n"}, "Explain the amount")
    before = repository.commits[-1]
    fix = repository.commit({"cart.py": FIXED}, "Limit it")
    text = "print_bill has a negative amount"
    record = labelled_record("1", text, "", FIRST_TIME + 100 * HOUR, fix, ["cart.py"])
    (tmp_path / "reports.jsonl").write_text(json.dumps(record) + "\n")
    (tmp_path / "projects.toml").write_text(
        f'[shop]\nrepo = "{repository.path}"\nreports = "reports.jsonl"\n'
    )
    folder = tmp_path / "prompts"
    (folder / "prompt").mkdir(parents=True)
    (folder / "prompt" / "001.txt").write_text(LISTING)
    task = Task("001", "shop", "1", before, ["cart.py"], ["bill.py", "cart.py"])
    (folder / "tasks.jsonl").write_text(json.dumps(vars(task)) + "\n")
    return folder


@pytest.fixture
def answers(tmp_path):
    """Return the folder of the answer, which names the second file and its first method."""
    function = {"file": 2, "name": "total", "line": 3, "why": "It is not limited."}
    answer = {"order": [2, 1], "functions": [function]}
    folder = tmp_path / "answers"
    (folder / "prompt").mkdir(parents=True)
    (folder / "prompt" / "001.txt").write_text(json.dumps(answer))
    return folder


def find(prompts, answers):
    """Return the share of each measure, alone and after the answer."""
    projects = read_projects(prompts.parent / "projects.toml")
    results = judge_details(projects, prompts, answers)
    return [
        {finding.measure: finding.mean for finding in results[kind]}
        for kind in ("TosLoc", "prompt")
    ]


def test_function_that_the_model_names_comes_first(prompts, answers):
    own, after = find(prompts, answers)
    assert own["a changed function within 1"] == 0
    assert after["a changed function within 1"] == 1


def test_suspects_follow_the_model_order(prompts, answers):
    own, after = find(prompts, answers)
    assert own["an introducing commit within 1"] == 0
    assert after["an introducing commit within 1"] == 1


def test_unusable_answer_changes_nothing(prompts, answers):
    (answers / "prompt" / "001.txt").write_text("I do not know.")
    own, after = find(prompts, answers)
    assert after == own


def test_command_prints_functions_and_suspects(prompts, answers, capsys):
    projects = str(prompts.parent / "projects.toml")
    command = ["lab", "llm-answers", str(prompts), str(answers), "--projects", projects]
    assert main([*command, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    first, *_ = values["details"]["prompt"]
    assert first["measure"] == "a changed function within 1"
    assert first["difference"]["difference"] == 1


def test_task_of_another_project_is_refused(prompts, answers, capsys):
    projects = prompts.parent / "projects.toml"
    projects.write_text(projects.read_text().replace("[shop]", "[other]"))
    command = ["lab", "llm-answers", str(prompts), str(answers), "--projects", str(projects)]
    assert main(command) == 2
    assert "lacks shop" in capsys.readouterr().err


def test_paths_stand_for_the_numbers_of_the_prompt(prompts, answers):
    text = answer_by_paths(prompts / "prompt" / "001.txt", answers / "prompt" / "001.txt")
    values = json.loads(text)
    assert values["order"] == ["cart.py", "bill.py"]
    assert values["functions"][0]["file"] == "cart.py"


def test_changed_functions_are_the_innermost_ones():
    hunks = (Hunk(2, 2, ("     def total(self):", "-        return 1", "+        return 2")),)
    patch = FilePatch("c" * 40, "cart.py", adds_file=False, hunks=hunks)
    facts = {"cart.py": find_functions(CART, "cart.py")}
    assert set(functions_of_patches([patch], facts)) == {"cart.py::Cart.total"}


def test_line_between_methods_is_of_the_class():
    hunks = (Hunk(3, 3, ("         return 1", "+    size = 3", " ")),)
    patch = FilePatch("c" * 40, "cart.py", adds_file=False, hunks=hunks)
    facts = {"cart.py": find_functions(CART, "cart.py")}
    assert set(functions_of_patches([patch], facts)) == {"cart.py::Cart"}
