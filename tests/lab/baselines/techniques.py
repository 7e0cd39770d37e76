"""Every technique, ready to be query: by its name, with small settings where it learns.

>>> [name for name, kind in KINDS.items() if kind.learned]
['dnnloc', 'dreamloc']
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.lab.baselines import leaks
from tests.lab.baselines.by_hand import case, context
from tosloc.lab.baseline_runs import SYSTEMS
from tosloc.lab.baseline_runs import technique as kind_of
from tosloc.lab.baselines.context import Baseline, BaselineContext

KINDS: Final = {name: kind_of(name) for name in SYSTEMS}
CONFIGS: Final = Path(__file__).parents[3] / "configs" / "baselines"

SMALL: Final[Mapping[str, Mapping[str, Any]]] = {
    "dnnloc": {
        "negatives": 3,
        "projection": 4,
        "projection_epochs": 2,
        "relevancy_hidden": (4, 3),
        "relevancy_epochs": 3,
        "combiner_hidden": 5,
        "combiner_epochs": 4,
        "patience": 0,
        "device": "cpu",
        "threads": 1,
    },
    "dreamloc": {
        "embedding": 6,
        "word2vec_epochs": 1,
        "report_length": 8,
        "snippet_length": 4,
        "snippets": 4,
        "match_hidden": 6,
        "best_snippets": 2,
        "wide_hidden": 4,
        "fusion_hidden": 6,
        "negatives": 3,
        "epochs": 3,
        "batch": 4,
        "patience": 0,
        "device": "cpu",
        "threads": 1,
    },
}
"""Settings with which a technique learns in a moment."""


def project() -> BaselineContext:
    """The context of the leaks' project."""
    return context(leaks.FILES, (*leaks.OLD, leaks.ASKED), leaks.COMMITS)


def build(name: str, made: BaselineContext, seed: int = 7, **values: object) -> Baseline:
    """A technique by its name with some settings, not fitted."""
    kind = KINDS[name]
    return kind(kind.Settings.of({**SMALL.get(name, {}), **values}, "test"), made, seed)


def parts(made: BaselineContext) -> tuple[list[Any], list[Any]]:
    """Two reports of the leaks' project to learn from, and one to stop by."""
    return [case(made, "1"), case(made, "6")], [case(made, "2")]


def fitted(name: str, made: BaselineContext, folder: Path, **values: object) -> Baseline:
    """A technique that has learned from the first two reports of the leaks' project, stopped by the third."""
    technique = build(name, made, **values)
    technique.fit(*parts(made), folder)
    return technique


def maker(name: str, folder: Path, **values: object) -> leaks.Maker:
    """What makes a fitted technique on a context, in a new folder each time."""
    folders = iter(range(1000))
    return lambda made: fitted(name, made, folder / str(next(folders)), **values)
