"""Every technique, ready to be asked: by its name, with small settings where it learns.

>>> [name for name, kind in KINDS.items() if kind.learned]
['dnnloc', 'dreamloc']
"""

from dataclasses import replace

from tests.lab.baselines.by_hand import case
from tosloc.lab.baseline_runs import SYSTEMS, technique

_DNNLOC = {
    "negatives": 3,
    "projection": 4,
    "projection_epochs": 2,
    "relevancy_hidden": (4, 3),
    "relevancy_epochs": 3,
}
_DREAMLOC = {
    "embedding": 6,
    "word2vec_epochs": 1,
    "report_length": 8,
    "snippet_length": 4,
    "snippets": 4,
    "batch": 4,
}
_DREAMLOC |= {
    "match_hidden": 6,
    "best_snippets": 2,
    "wide_hidden": 4,
    "fusion_hidden": 6,
    "negatives": 3,
    "epochs": 3,
}
SMALL = {"dnnloc": _DNNLOC | {"combiner_hidden": 5, "combiner_epochs": 4}, "dreamloc": _DREAMLOC}
"""Settings with which a technique learns in a moment."""


def small(name, **values):
    """The class of a technique, set to learn in a moment, or to other values."""
    kind = technique(name)
    if not kind.learned:
        return kind
    return type(
        kind.__name__, (kind,), {"settings": replace(kind.settings, **{**SMALL[name], **values})}
    )


KINDS = {name: small(name) for name in SYSTEMS}


def fitted(name, made, **values):
    """A technique that has learned from two reports of the leaks' project, stopped by a third."""
    kind = small(name, **values)(made)
    kind.fit([case(made, "1"), case(made, "6")], [case(made, "2")])
    return kind
