"""Every technique, ready to be query: by its name, with small settings where it learns.

>>> [name for name, kind in KINDS.items() if kind.learned]
['dnnloc', 'dreamloc']
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from tests.lab.baselines import leaks
from tests.lab.baselines.by_hand import case, context
from tosloc.lab.baseline_runs import SYSTEMS, technique
from tosloc.lab.baselines.context import Baseline, BaselineContext

_DNNLOC = {"negatives": 3, "projection": 4, "projection_epochs": 2, "relevancy_hidden": (4, 3), "relevancy_epochs": 3}
_DREAMLOC = {"embedding": 6, "word2vec_epochs": 1, "report_length": 8, "snippet_length": 4, "snippets": 4, "batch": 4}
_DREAMLOC |= {"match_hidden": 6, "best_snippets": 2, "wide_hidden": 4, "fusion_hidden": 6, "negatives": 3, "epochs": 3}
SMALL: Final[Mapping[str, Mapping[str, Any]]] = {
    "dnnloc": _DNNLOC | {"combiner_hidden": 5, "combiner_epochs": 4},
    "dreamloc": _DREAMLOC,
}
"""Settings with which a technique learns in a moment."""


def small(name: str, **values: object) -> Any:
    """The class of a technique, set to learn in a moment, or to other values."""
    kind: Any = technique(name)
    values = {**SMALL.get(name, {}), **values}
    return type(kind.__name__, (kind,), {"settings": replace(kind.settings, **values)}) if kind.learned else kind


KINDS: Final[Mapping[str, type[Baseline]]] = {name: small(name) for name in SYSTEMS}


def project() -> BaselineContext:
    """The context of the leaks' project."""
    return context(leaks.FILES, (*leaks.OLD, leaks.ASKED), leaks.COMMITS)


def parts(made: BaselineContext) -> tuple[list[Any], list[Any]]:
    """Two reports of the leaks' project to learn from, and one to stop by."""
    return [case(made, "1"), case(made, "6")], [case(made, "2")]


def fitted(name: str, made: BaselineContext, **values: object) -> Baseline:
    """A technique that has learned from the first two reports of the leaks' project, stopped by the third."""
    technique: Baseline = small(name, **values)(made)
    technique.fit(*parts(made))
    return technique
