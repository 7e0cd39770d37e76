"""Figures and the evaluation page.

It imports core and evaluate.

Modules for other packages: figures, page.
"""

from contextlib import chdir
from importlib import import_module
from pathlib import Path

from tosloc.core.errors import require

require("a figure or page", "report", "matplotlib", "jinja2")
with chdir(Path(__file__).parent):  # not where a stranger's repository may keep a matplotlibrc
    import_module("matplotlib")
