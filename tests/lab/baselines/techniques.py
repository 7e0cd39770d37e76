"""Every published technique by its name, with small settings where it learns.

>>> [name for name, technique_class in SMALL_TECHNIQUES.items() if technique_class.learned]
['dnnloc', 'dreamloc']
"""

from dataclasses import replace
from typing import Any

from tests.lab.baselines.by_hand import find_case
from tosloc.lab.baseline_runs import SYSTEMS, technique

_DNNLOC = {
    "negatives": 3,
    "projection": 4,
    "projection_epochs": 2,
    "relevancy_hidden": (4, 3),
    "relevancy_epochs": 3,
    "combiner_hidden": 5,
    "combiner_epochs": 4,
}
_DREAMLOC = {
    "embedding": 6,
    "word2vec_epochs": 1,
    "report_length": 8,
    "snippet_length": 4,
    "snippets": 4,
    "batch": 4,
    "match_hidden": 6,
    "best_snippets": 2,
    "wide_hidden": 4,
    "fusion_hidden": 6,
    "negatives": 3,
    "epochs": 3,
}
SMALL_SETTINGS: dict[str, dict[str, Any]] = {"dnnloc": _DNNLOC, "dreamloc": _DREAMLOC}
"""Settings with which a technique learns in a moment."""


def small_technique(name, **values):
    """Return the class of a technique with small settings, some of them replaced by ``values``."""
    technique_class: Any = technique(name)
    if not technique_class.learned:
        return technique_class
    settings = replace(technique_class.settings, **{**SMALL_SETTINGS[name], **values})
    return type(technique_class.__name__, (technique_class,), {"settings": settings})


SMALL_TECHNIQUES = {name: small_technique(name) for name in SYSTEMS}


def fit_technique(name, context, **values):
    """Return a technique that has learned from two reports of the leaks' project.

    A third report stops its training.
    """
    fitted = small_technique(name, **values)(context)
    train = [find_case(context, "1"), find_case(context, "6")]
    fitted.fit(train, [find_case(context, "2")])
    return fitted
