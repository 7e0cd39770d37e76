"""Prompts for a language model in files, and the judging of its answers."""

import json

import pytest

from tosloc.cli import main
from tosloc.core.reports import BugReport
from tosloc.lab.llm_tasks import Task, guess_prompt, judge_answers, list_paths, read_tasks

MARK = "a" * 32
LISTING = f"<files-{MARK}>\n1. b.py\n   2: code\n2. c.py\n</files-{MARK}>\n"
RANKING = ["a.py", "b.py", "c.py", "d.py"]


@pytest.fixture
def prompts(tmp_path):
    """Return a folder with the prompts of two tasks."""
    tasks = [
        Task("001", "shop", "1", "c" * 40, ["c.py"], RANKING),
        Task("002", "shop", "2", "c" * 40, ["a.py", "d.py"], RANKING),
    ]
    lines = [json.dumps(vars(task)) for task in tasks]
    (tmp_path / "tasks.jsonl").write_text("\n".join(lines) + "\n")
    for kind in ("prompt", "guess"):
        (tmp_path / kind).mkdir()
    for name in ("001", "002"):
        (tmp_path / "prompt" / f"{name}.txt").write_text(f"1. not.py\n{LISTING}")
        (tmp_path / "guess" / f"{name}.txt").write_text("Which files?\n")
    return tmp_path


@pytest.fixture
def judge(prompts, tmp_path):
    """Return a function that judges two answers of a kind."""

    def run(kind, *answers):
        folder = tmp_path / "answers" / kind
        folder.mkdir(parents=True)
        for number, answer in enumerate(answers, start=1):
            (folder / f"{number:03}.txt").write_text(answer)
        _, [_, result] = judge_answers(prompts, tmp_path / "answers")
        return result

    return run


def test_numbers_of_an_answer_are_those_of_its_prompt(judge):
    result = judge("prompt", '{"order": [2]}', '{"order": ["d.py", "a.py"]}')
    assert result.means == [0.5, 1.0, 1.0, 1.0]
    assert result.unusable == 0


def test_files_that_an_answer_leaves_out_follow_in_the_own_order(judge):
    result = judge("prompt", '{"order": [1]}', '{"order": ["d.py"]}')
    assert result.means == [0.0, 1.0, 1.0, 1.0]


def test_own_order_counts_for_an_unusable_answer(judge):
    result = judge("prompt", "I do not know.", '{"order": ["none.py"]}')
    assert result.unusable == 1
    assert result.means == [0.0, 0.5, 1.0, 1.0]


def test_guess_counts_alone(judge):
    result = judge("guess", '{"order": ["none.py", "c.py"]}', '{"order": ["a.py"]}')
    assert result.means == [0.0, 0.5, 0.5, 0.5]


def test_difference_is_from_the_own_ranking(judge):
    result = judge("prompt", '{"order": [2]}', '{"order": ["d.py", "a.py"]}')
    assert [difference.difference for difference in result.differences] == [0.5, 0.5, 0.0, 0.0]


def test_agreement_counts_how_often_the_first_file_is_right(judge):
    result = judge("prompt", '{"order": [2]}', '{"order": ["a.py"]}')
    assert result.agreement["first"] == (1, 1, 1)
    assert result.agreement["second or third"] == (1, 1, 0)
    assert result.agreement["further down"] == (0, 0, 0)


def test_share_of_right_first_files_has_an_interval(prompts, judge, tmp_path, capsys):
    judge("prompt", '{"order": [2]}', '{"order": ["a.py"]}')
    command = ["lab", "llm-answers", str(prompts), str(tmp_path / "answers"), "--markdown"]
    assert main(command) == 0
    assert "| prompt | first | 1 | 1 | 1.00 | [.207, 1.00] | 1 |" in capsys.readouterr().out


def test_missing_answers_are_refused(prompts, capsys):
    (prompts / "answers").mkdir()
    assert main(["lab", "llm-answers", str(prompts), str(prompts / "answers")]) == 2
    assert "it has no answer" in capsys.readouterr().err


def test_folder_without_tasks_is_refused(tmp_path, capsys):
    assert main(["lab", "llm-answers", str(tmp_path), str(tmp_path)]) == 2
    assert "the tasks cannot be read" in capsys.readouterr().err


def test_only_the_list_of_files_has_numbers():
    assert list_paths(f"1. x.py\n{LISTING}") == ["b.py", "c.py"]


def test_guess_names_no_file():
    prompt = guess_prompt("shop", BugReport("1", "Cart loses items", "Always.", None))
    assert "Cart loses items\n\nAlways." in prompt
    assert list_paths(prompt) == []


def test_commands_write_prompts_and_judge_answers(project, tmp_path, capsys):
    projects = tmp_path / "projects.toml"
    reports = project.write_reports()
    projects.write_text(f'[toy]\nrepo = "{project.git.path}"\nreports = "{reports}"\n')
    out = tmp_path / "prompts"
    command = ["lab", "llm-prompts", "--projects", str(projects), "--out", str(out)]
    assert main([*command, "--tasks", "3"]) == 0
    tasks = read_tasks(out / "tasks.jsonl")
    assert len(tasks) == 3
    answers = tmp_path / "answers" / "prompt"
    answers.mkdir(parents=True)
    for task in tasks:
        text = (out / "prompt" / f"{task.name}.txt").read_text()
        assert list_paths(text)
        assert (out / "guess" / f"{task.name}.txt").exists()
        (answers / f"{task.name}.txt").write_text(json.dumps({"order": task.fixed}))
    capsys.readouterr()
    assert main(["lab", "llm-answers", str(out), str(answers.parent), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["results"][1]["all within 10"]["mean"] == 1.0
