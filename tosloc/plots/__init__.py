"""Figures and the evaluation page.

It imports core and evaluate.

Modules for other packages: page.
"""

from contextlib import chdir
from importlib import import_module
from pathlib import Path

from tosloc.core.errors import require

require("a figure or page", "report", "matplotlib", "jinja2")
# Matplotlib reads a matplotlibrc of the current folder, which may be a stranger's repository.
with chdir(Path(__file__).parent):
    import_module("matplotlib")
