"""Table 4: every system on every project, over all files of the version, and TosLoc against each of the others."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from tosloc.evaluate.compare import Difference, compare_all
from tosloc.evaluate.evaluate import Evaluation
from tosloc.evaluate.measures import AP, RR, Measure
from tosloc.lab import baseline_runs
from tosloc.lab.paper.workspace import Cell, PaperTable, Result, Workspace, rows_of

OWN: Final = {"stage-one": "TosLoc, stage one", "both-stages": "TosLoc, both stages"}
TITLES: Final[Mapping[str, str]] = {
    **baseline_runs.SYSTEMS,
    "dnnloc": "DNNLOC",
    "amalgam": "AmaLgam",
    **OWN,
}
_MEASURES: Final[Mapping[str, Measure]] = {"MRR": RR, "MAP": AP}
NOTE: Final = "p: paired t-test over the test reports, by Holm's correction over all pairs of systems on the project"


def title_of(system: str) -> str:
    """What a system is called."""
    return TITLES.get(system, system)


def accuracy(work: Workspace) -> Result:
    """Table 4."""
    techniques = list(baseline_runs.SYSTEMS)
    found: dict[str, dict[str, Evaluation]] = {}
    lacking: list[str] = []
    for project in work.each():
        work.rank(project, techniques)
        folders = {title_of(name): work.run(project, name) for name in (*techniques, *OWN)}
        found[project.name] = {
            title: work.evaluation(project, folder) for title, folder in folders.items() if folder is not None
        }
        lacking += [f"{title} on {project.name}" for title in map(title_of, techniques) if folders[title] is None]
    printed = {key[1] for key in work.published.numbers if len(key) > 1}
    titles = [
        one for one in map(title_of, (*techniques, *OWN)) if one in printed or any(one in of for of in found.values())
    ]
    return Result(
        tables(found, titles, work.published.numbers), [NOTE, *([f"no run of {', '.join(lacking)}"] if lacking else [])]
    )


def tables(
    found: Mapping[str, Mapping[str, Evaluation]], titles: list[str], paper: Mapping[tuple[str, ...], float]
) -> list[PaperTable]:
    """MRR and MAP of every system on every project; what TosLoc, by both stages where there are two, is above each
    other, and p of that.
    """
    ours: dict[str, str] = {}
    against: dict[tuple[str, str, str], Cell] = {}
    changes: dict[tuple[str, str, str], Cell] = {}
    for project, evaluations in found.items():
        own = [title for title in OWN.values() if title in evaluations]
        if not own or len(evaluations) < 2:
            continue
        ours[project] = own[-1]
        for pair in compare_all(evaluations, all_pairs=True, measures=list(_MEASURES.values())):
            if own[-1] in (pair.a, pair.b):
                other, sign = (pair.b, -1) if pair.a == own[-1] else (pair.a, 1)
                for name, one in zip(_MEASURES, pair.differences, strict=True):
                    changes[name, other, project] = Cell(sign * one.difference, "+.3f")
                    against[name, other, project] = Cell(_p(one), "p")

    def mean(name: str, title: str, project: str) -> Cell:
        one = found[project].get(title)
        value = None if one is None else one.mean(_MEASURES[name])
        return Cell(value, paper=paper.get((name, title, project)))

    def kept(cells: Mapping[tuple[str, str, str], Cell], name: str, title: str, project: str) -> Cell:
        return cells.get((name, title, project), Cell(None))

    kinds = {name: partial(mean, name) for name in _MEASURES}
    if ours:
        kinds |= {f"{name}: TosLoc - other": partial(kept, changes, name) for name in _MEASURES}
        kinds |= {f"{name}: p of it": partial(kept, against, name) for name in _MEASURES}
    return [PaperTable([head, *found], rows_of(titles, found, kind)) for head, kind in kinds.items()]


def _p(one: Difference) -> float | None:
    return one.p_t if one.p_t_holm is None else one.p_t_holm
