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


@pytest.mark.parametrize("code", ["import tosloc", HELP], ids=["import", "help"])
def test_nothing_heavy_is_loaded(code: str) -> None:
    program = f"{code}\nimport sys\nprint(*sorted(set(sys.modules) & set({HEAVY!r})), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []
