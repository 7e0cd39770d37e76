"""Projects that are made of other files than programs."""

import json

import pytest

from tosloc import Localizer


@pytest.fixture
def answer_to(repository, monkeypatch, tmp_path):
    """Return a function that commits files and answers a report about them."""
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))

    def answer(files, report, **options):
        repository.commit(files)
        with Localizer.open(repository.path) as localizer:
            return localizer.localize(report, **options)

    return answer


def paths(answer):
    return [hit.path for hit in answer.hits]


def notes_about_scope(answer):
    return [note for note in answer.notes if note.startswith("most text")]


SCRIPT = {"run.sh": "echo bucket logs prefix\n"}
MODULES = {
    f"modules/{name}/main.tf": f'resource "aws_{name}" "this" {{\n  size = var.{name}\n}}\n'
    for name in ("logs", "vpc", "queue", "table", "role")
}
PLAYS = {
    f"roles/{name}/tasks/main.yml": f"- name: Install {name}\n  package: {name}\n"
    for name in ("nginx", "redis", "etcd", "calico", "docker", "haproxy", "vault", "minio")
} | {f"roles/{name}/defaults/main.yml": f"{name}_port: 80\n" for name in ("nginx", "redis", "etcd")}
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "source": ["# Prices"]},
            {"cell_type": "code", "source": ["def regress(prices):\n", "    return fit(prices)"]},
        ]
    },
    indent=1,
)


def test_error_of_terraform_in_its_copy_of_a_module_points_into_the_module(answer_to):
    report = (
        "# Plan fails\nError: Unsupported argument\n\n"
        '  on .terraform/modules/logs/main.tf line 2, in resource "aws_logs" "this":\n'
    )
    answer = answer_to(SCRIPT | MODULES, report, functions=1)
    assert paths(answer)[0] == "modules/logs/main.tf"
    assert answer.hits[0].functions[0].name == "aws_logs.this"


def test_code_of_a_notebook_is_found_and_shown(answer_to):
    files = {"settings.py": "seed = 3\n", "a.ipynb": NOTEBOOK, "b.py": "def plot(): pass\n"}
    answer = answer_to(files, "# regress returns nothing\nregress(prices) is empty\n", code="lines")
    assert paths(answer)[0] == "a.ipynb"
    assert answer.hits[0].code[0].text == "def regress(prices):"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("site.scss", ".drawer { overflow: hidden }\n"),
        ("base.html.twig", '<div class="drawer">{{ overflow }}</div>\n'),
        ("pane.ui", '<ui><widget name="drawer" overflow="1"/></ui>\n'),
        ("flake.nix", "{ drawer = { overflow = true; }; }\n"),
    ],
)
def test_templates_and_styles_are_ranked(answer_to, path, text):
    files = {path: text, "a.py": "def load(): pass\n", "b.py": "def save(): pass\n"}
    assert paths(answer_to(files, "# The drawer has an overflow\nSee the drawer\n"))[0] == path


def test_project_that_is_made_of_yaml_is_ranked(answer_to):
    answer = answer_to(SCRIPT | PLAYS, "# calico is not installed\nInstall calico fails\n")
    assert paths(answer)[0] == "roles/calico/tasks/main.yml"
    assert not notes_about_scope(answer)


def test_yaml_beside_programs_stays_apart(answer_to):
    programs = {f"app{number}.py": f"def f{number}(): pass\n" for number in range(20)}
    answer = answer_to(programs | PLAYS, "# calico is not installed\nInstall calico fails\n")
    assert not any(path.endswith(".yml") for path in paths(answer))


def test_uncommitted_change_of_yaml_is_ranked_where_the_project_is_made_of_it(
    answer_to, repository
):
    answer_to(SCRIPT | PLAYS, "# calico\n")
    repository.git("reset", "-q", "--hard")
    (repository.path / "roles/nginx/tasks/main.yml").write_text("- name: Rotate the zebra log\n")
    with Localizer.open(repository.path) as localizer:
        answer = localizer.localize("# zebra log is not rotated\nzebra\n")
    assert paths(answer)[0] == "roles/nginx/tasks/main.yml"


def test_answer_says_if_most_text_is_not_searched(answer_to):
    schemas = {f"schemas/s{number}.json": '{"title": "bucket"}\n' for number in range(19)}
    report = "# echo fails for the bucket\nprefix of logs\n"
    sources = SCRIPT | {"stop.sh": "halt\n"}
    few = answer_to(sources, report)
    answer = answer_to(sources | schemas, report)
    assert notes_about_scope(answer) == [
        "most text of this version is not searched: 19 of 21 text files are JSON, so the"
        " confidence is lower"
    ]
    assert answer.hits[0].confidence < few.hits[0].confidence / 5


def test_files_of_tools_are_no_text_of_the_version(answer_to):
    tools = (
        *("package.json", "package-lock.json", "jasmine.json", "pages/package.json"),
        *(".travis.yml", ".github/workflows/test.yml", ".github/workflows/lint.yml"),
    )
    sources = SCRIPT | {"stop.sh": "halt\n"}
    answer = answer_to(sources | dict.fromkeys(tools, "bucket: 1\n"), "# echo fails\nprefix\n")
    assert notes_about_scope(answer) == []


def test_the_only_file_has_no_confidence(answer_to):
    answer = answer_to(SCRIPT, "# echo fails for the bucket\nprefix of logs\n")
    assert answer.hits[0].confidence == 0


PROGRAMS = {f"app{number}.py": f"def f{number}(): pass\n" for number in range(3)}


@pytest.mark.parametrize(
    "report", ["# values.yaml sets no port\nf1 fails\n", "# No port\nf1 reads deploy/values.yaml\n"]
)
def test_file_to_look_at_first_is_said_although_its_kind_is_not_ranked(answer_to, report):
    answer = answer_to(PROGRAMS | {"deploy/values.yaml": "port: 1\n"}, report)
    assert answer.statements == (
        "Look first at deploy/values.yaml, which the report names; YAML is not ranked here",
    )


def test_file_that_a_report_mentions_further_down_stays_among_the_others(answer_to):
    files = PROGRAMS | {"deploy/values.yaml": "port: 1\n"}
    answer = answer_to(files, "# No port\nf1 fails, whatever values.yaml has\n")
    assert not answer.statements
    assert answer.others[0].path == "deploy/values.yaml"
