"""Versions, addresses and tools of the project that several files name are the same everywhere."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

import tosloc
from scripts import check
from tosloc.code.languages import LANGUAGE_BY_SUFFIX, get_language, has_grammar

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SOURCE = PYPROJECT["project"]["urls"]["Source"]
OUR_ADDRESS = re.compile(r"https://github\.com/[\w.-]+/tosloc(?![\w-])")
OUR_ACTION = re.compile(r"uses: ([\w.-]+/tosloc)/action@")
PARSED_LANGUAGES = {name for name in LANGUAGE_BY_SUFFIX.values() if has_grammar(name)}
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def tracked_texts(*patterns):
    """Return the texts of tracked files by their path."""
    command = ["git", "ls-files", "-z", "--", *patterns]
    result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    paths = [ROOT / name for name in result.stdout.split("\0") if name]
    return {path: path.read_text(encoding="utf-8") for path in paths if path.is_file()}


def test_version_is_only_in_the_package():
    assert PYPROJECT["project"]["dynamic"] == ["version"]
    assert PYPROJECT["tool"]["hatch"]["version"]["path"] == "tosloc/__init__.py"
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", tosloc.__version__)


def test_addresses_of_the_project_have_one_owner():
    owners = set()
    for text in tracked_texts("*.md", "*.toml", "*.yml", "*.cff").values():
        owners.update(OUR_ADDRESS.findall(text))
        owners.update(f"https://github.com/{name}" for name in OUR_ACTION.findall(text))
    assert owners == {SOURCE}


def test_addresses_of_the_package_are_those_of_the_source():
    urls = PYPROJECT["project"]["urls"]
    assert {"Source", "Changelog", "Documentation"} <= urls.keys()
    for name in ("Changelog", "Documentation"):
        assert urls[name].startswith(f"{SOURCE}/blob/main/")
        assert (ROOT / urls[name].removeprefix(f"{SOURCE}/blob/main/")).is_file()


def test_every_public_name_has_a_use_whose_types_are_checked():
    """The step "types" of scripts/check.py checks the file of uses as a user's program."""
    tree = ast.parse((ROOT / "tests/public_uses.py").read_text(encoding="utf-8"))
    used_names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            used_names.add(node.id)
        elif isinstance(node, ast.Attribute):
            used_names.add(node.attr)
    assert sorted(set(tosloc.__all__) - used_names) == []


def test_every_grammar_is_a_dependency():
    requirements = " ".join(PYPROJECT["project"]["dependencies"])
    grammars = {get_language(name).grammar.partition(" ")[0] for name in PARSED_LANGUAGES}
    packages = [grammar.replace("_", "-") for grammar in sorted(grammars)]
    assert [name for name in packages if f"{name}>=" not in requirements] == []


def test_pre_commit_uses_the_tested_versions():
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    versions = set()
    for hook in config["repos"][0]["hooks"]:
        versions.update(hook.get("additional_dependencies", ()))
    assert len(versions) == 2
    assert versions <= set(constraints)


@pytest.mark.parametrize(
    ("message", "is_refused"),
    [
        ("Read frames of Julia\n\nUsers report them.\n", False),
        ("Read frames of Julia\n# Please enter the message\n", False),
        (f"{72 * 'a'}\n\n{100 * 'b'}\n", False),
        (f"{73 * 'a'}\n", True),
        ("Read frames\nof Julia\n", True),
    ],
    ids=["with a body", "a subject alone", "72 characters", "73 characters", "no empty line"],
)
def test_pre_commit_refuses_a_subject_that_is_no_short_line(message, is_refused):
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    [hook] = [hook for hook in config["repos"][0]["hooks"] if hook["id"] == "subject"]
    assert bool(re.search(hook["entry"], message)) == is_refused


def test_fragments_of_the_changelog_have_a_known_type():
    types = {kind["directory"] for kind in PYPROJECT["tool"]["towncrier"]["type"]}
    fragments = [path.name for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    known = re.compile(rf"(?:\d+|\+[\w-]+)\.(?:{'|'.join(types)})\.md")
    assert [name for name in fragments if not known.fullmatch(name)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_pin_actions_and_limit_rights_and_time(path):
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert "contents" in workflow["permissions"]
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())
    for action in re.findall(r"uses: (.*)", text):
        assert action == "./action" or re.search(r"@[0-9a-f]{40} # v\d", action)


def test_workflows_run_the_quick_checks():
    text = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    assert "- run: .venv/bin/python scripts/check.py\n" in text


@pytest.mark.parametrize(
    ("arguments", "steps"),
    [
        ([], [step for step in check.STEPS if step != "tests"]),
        (["--all"], list(check.STEPS)),
        (["lint", "tests"], ["lint", "tests"]),
    ],
)
def test_checks_run_the_tests_only_if_they_are_asked_for(monkeypatch, capsys, arguments, steps):
    passed = SimpleNamespace(returncode=0, stdout="")
    monkeypatch.setattr("scripts.check.subprocess.run", lambda command, **options: passed)
    monkeypatch.setattr(sys, "argv", ["check.py", *arguments])
    assert check.main() == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == steps
