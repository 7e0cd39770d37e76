"""Weights of the signs of functions: ranks of changed functions, quality, and the command."""

import json

import numpy as np
import pytest

from tests import toy
from tosloc.cli import main
from tosloc.core.errors import ToslocError
from tosloc.lab.function_weights import FunctionTable, fit_signs, judge_functions
from tosloc.rank.explain.functions import SIGN_WEIGHTS


def make_table(values, changed, name_ids=None, missing=0):
    """Return a table of one sign."""
    number = len(values)
    return FunctionTable(
        np.array(values, dtype=np.float32)[:, None],
        np.arange(number) if name_ids is None else np.array(name_ids),
        np.array(changed, dtype=np.bool_),
        missing,
    )


WEIGHT = np.ones(1)


def test_ranks_are_those_of_the_changed_functions():
    table = make_table([0.1, 0.9, 0.5], [True, False, True])
    assert table.ranks(WEIGHT) == [2, 3]


def test_overloads_count_once_at_the_best_rank():
    table = make_table([0.9, 0.8, 0.7], [False, False, True], name_ids=[0, 0, 1])
    assert table.ranks(WEIGHT) == [2]


def test_accuracy_needs_every_changed_function():
    tables = [
        make_table([0.9, 0.1], [True, False]),
        make_table([0.9, 0.1], [True, False], missing=1),
        make_table([0.9, 0.1], [False, True]),
    ]
    quality = judge_functions(tables, [WEIGHT] * 3)
    assert quality.accuracy == {1: 1 / 3, 5: 2 / 3, 10: 2 / 3}
    assert quality.mrr == pytest.approx((1 + 1 + 0.5) / 3)


def test_report_without_a_found_function_counts_as_missed():
    quality = judge_functions([make_table([0.5], [False], missing=1)], [WEIGHT])
    assert quality.accuracy[10] == 0
    assert quality.mrr == 0


def test_fit_weighs_a_sign_that_changed_functions_have():
    tables = [make_table([1.0, 0.0, 0.0], [True, False, False]) for _ in range(5)]
    assert fit_signs(tables)[0] > 1


def test_nothing_to_learn_from_is_refused():
    with pytest.raises(ToslocError, match="no report is left whose fix changed a function"):
        fit_signs([make_table([1.0], [True])])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of three small projects and of their pretraining.

    Every report of the first two lists the function that an earlier fix wrote into its class.
    """
    folder = tmp_path_factory.mktemp("functions")
    sections = []
    for number, name in enumerate(("one", "two", "three")):
        project = toy.make_project(folder / name, bugs=12, themes=3, seed=number)
        if name != "three":
            first_fix_of_path = {}
            records = []
            for fix, record in enumerate(project.records):
                path = record["fixed"][0]
                first_fix = first_fix_of_path.setdefault(path, fix)
                class_name = path.rpartition("/")[2].removesuffix(".java")
                functions = {path: [f"{class_name}.fix{first_fix}"]}
                records.append(record | {"functions": functions})
            project.write_reports(records=records)
        else:
            project.write_reports(records=project.records)
        section = f'[{name}]\nrepo = "{name}/repo"\nreports = "{name}/reports.jsonl"\n'
        # The run of a project lacks the reports that ``at_most`` leaves out.
        sections.append(section + ("at_most = 8\n" if name == "two" else ""))
    (folder / "projects.toml").write_text("".join(sections))
    (folder / "small.toml").write_text(
        '[stage_one]\nfeatures = ["bm25f", "path", "test"]\nranker = false\n[run]\njobs = 1\n'
    )
    return folder


def command_arguments(folder, command):
    return [
        "lab",
        command,
        "--projects",
        str(folder / "projects.toml"),
        "--config",
        str(folder / "small.toml"),
        "--work",
        str(folder / "work"),
        "--leave-projects-out",
        "2",
        "--json",
    ]


@pytest.mark.slow
def test_command_learns_from_projects_that_list_functions(folder, capsys):
    assert main(command_arguments(folder, "pretrain")) == 0
    capsys.readouterr()
    assert main(command_arguments(folder, "function-weights")) == 0
    learned = json.loads(capsys.readouterr().out)
    assert learned["projects"] == 2
    assert learned["reports"] > 10
    assert learned["weights"].keys() == SIGN_WEIGHTS.keys()
    assert learned["left out"].keys() == {"acc@1", "acc@5", "acc@10", "mrr"}
    assert learned["today"]["acc@10"] > 0.5


def test_folder_without_a_pretraining_is_an_error(folder, capsys):
    assert main([*command_arguments(folder, "function-weights"), "--work", str(folder / "x")]) == 2
    assert "x contains no runs of left-out projects" in capsys.readouterr().err
