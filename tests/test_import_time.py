"""``import tosloc`` and ``--help`` stay light: what is heavy loads only when a command needs it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import GitRepository
from tosloc import Localizer

HEAVY = "torch transformers scipy sklearn lightgbm pandas tree_sitter lizard git openpyxl matplotlib jinja2".split()

HELP = """
from tosloc.cli import main
assert main(["--help"]) == 0
assert main(["localize", "--help"]) == 0
"""
ANALYSE = """
import sys
from tosloc.code.facts import analyse
assert "method" in str(analyse("class A { int methods() { return a ? 1 : 2; } }", ".java").terms)
print(*sorted(name for name in sys.modules if name.partition("_")[0] in ("lizard", "tree") and "." not in name))
"""


def test_facts_need_no_lizard_and_no_other_grammar() -> None:
    done = subprocess.run([sys.executable, "-c", ANALYSE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tree_sitter", "tree_sitter_java"]


SECOND = """
import sys
from tosloc.cli import main
assert main(sys.argv[1:]) == 0
print(*sorted(sys.modules), file=sys.stderr)
"""
NOT_ASKED = "config experiment training index.build code.facts code.parse code.functions rank.fitting"


def test_a_second_question_loads_no_more_than_it_needs(repository: GitRepository, tmp_path: Path) -> None:
    """The version is ready, the functions of its files are known: neither parsers nor what learns have a part."""
    repository.commit(
        {"src/Door.java": "class Door { void open() { } }", "src/Key.java": "class Key { }"}, "Fix #3: key"
    )
    (tmp_path / "bug.md").write_text("Door does not open")
    with Localizer.open(repository.path, store=tmp_path / "facts.sqlite") as localizer:
        assert localizer.localize("Door does not open").hits[0].functions
    arguments = ["localize", str(tmp_path / "bug.md"), "--repo", str(repository.path)]
    command = [sys.executable, "-c", SECOND, *arguments, "--store", str(tmp_path / "facts.sqlite")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Door.open:1-1" in done.stdout
    loaded = set(done.stderr.split()) - {"git"}  # which finds the repository
    assert sorted(loaded & {*HEAVY, "joblib", *(f"tosloc.{name}" for name in NOT_ASKED.split())}) == []


@pytest.mark.parametrize("code", ["import tosloc", HELP], ids=["import", "help"])
def test_nothing_heavy_is_loaded(code: str) -> None:
    program = f"{code}\nimport sys\nprint(*sorted(set(sys.modules) & set({HEAVY!r})), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []
