"""Every table and figure that can be made again, by the name that the command takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tosloc.errors import ToslocError
from tosloc.lab.paper import accuracy, contents, lengths, speed
from tosloc.lab.paper import reranking as second
from tosloc.lab.paper.expected import Expected
from tosloc.lab.paper.tables import Outcome, Step
from tosloc.lab.paper.workspace import Workspace
from tosloc.records import Progress


@dataclass(frozen=True)
class Reproduction:
    """How a table is made: what it needs, and the measuring, which makes what is missing."""

    plan: Callable[[Workspace], Sequence[Step]]
    measure: Callable[[Workspace, Expected, Progress], Outcome]


TABLES: Final[Mapping[str, Reproduction]] = {
    "table-2": Reproduction(lengths.plan, lengths.measure),
    "table-3": Reproduction(contents.plan, contents.measure),
    "table-4": Reproduction(accuracy.plan, accuracy.measure),
    "table-5": Reproduction(speed.plan, speed.measure),
    "table-6": Reproduction(second.plan_ablation, second.ablation),
    "figure-5": Reproduction(second.plan_coverage, second.coverage),
    "figure-6": Reproduction(second.plan_sweep, second.sweep),
}


def reproduction(name: str) -> Reproduction:
    """The table of a name. Raises ToslocError for a name that is none."""
    if name not in TABLES:
        raise ToslocError(f"no table of the paper is called {name!r} here; there are {', '.join(TABLES)}")
    return TABLES[name]
