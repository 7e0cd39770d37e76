"""``import tosloc`` and ``--help`` stay light: what is heavy loads only when a command needs it."""

import subprocess
import sys

import pytest

HEAVY = "torch transformers scipy sklearn lightgbm pandas tree_sitter lizard git openpyxl matplotlib jinja2".split()

HELP = """
from tosloc.cli import main
assert main(["--help"]) == 0
assert main(["localize", "--help"]) == 0
"""


ANALYSE = """
import sys
from tosloc.analysis.facts import analyse
assert analyse("class A { int f() { return a ? 1 : 2; } }", ".java").complexity == 2
print(*sorted(name for name in sys.modules if name.partition("_")[0] in ("lizard", "tree") and "." not in name))
"""


def test_facts_need_no_lizard_and_no_other_grammar() -> None:
    done = subprocess.run([sys.executable, "-c", ANALYSE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tree_sitter", "tree_sitter_java"]


@pytest.mark.parametrize("code", ["import tosloc", HELP], ids=["import", "help"])
def test_nothing_heavy_is_loaded(code: str) -> None:
    program = f"{code}\nimport sys\nprint(*sorted(set(sys.modules) & set({HEAVY!r})), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []
