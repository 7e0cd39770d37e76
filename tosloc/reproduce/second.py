"""Table 6 and figures 5 and 6: what the parts of the second stage are worth, and how many files it should read.

The models of table 6 and figure 6 are trained by ``scripts/second.py`` (ablate, sweep), away from the repository if
need be; what it printed with ``--json`` is read here from the files ``ablate-PROJECT.json`` and ``sweep-PROJECT.json``.
Figure 5 needs stage one alone, so that it is made of the finished runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tosloc.errors import RunError, ToslocError
from tosloc.evaluation.evaluate import Evaluation
from tosloc.evaluation.measures import Measure
from tosloc.records import Progress, silent
from tosloc.reproduce.accuracy import place_of_run
from tosloc.reproduce.expected import Expected
from tosloc.reproduce.projects import Site
from tosloc.reproduce.sheets import Cell, Outcome, Sheet, Step
from tosloc.reproduce.workplace import Workplace, by_project

ABLATE: Final = "ablate"
SWEEP: Final = "sweep"
MEASURES: Final = {"MRR": "mrr", "MAP": "map"}
ORDERS: Final = {"deep": "deep order alone", "fused": "both stages"}
DEPTHS: Final = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300)
"""Candidates of figure 5."""


def result_path(work: Workplace, kind: str, project: str) -> Path:
    """Where the results of an experiment with the second stage are looked for."""
    return (work.source or work.out / "second") / f"{kind}-{project}.json"


def read_results(path: Path) -> list[dict[str, Any]]:
    """Rows that ``scripts/second.py --json`` printed. Raises RunError for anything else."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        kind, _, project = path.stem.partition("-")
        raise RunError(
            f"{path}: cannot read it ({error.strerror or error}); make it with: python scripts/second.py {kind}"
            f" {project}.pack two.toml --out FOLDER --json > {path}, and name its folder with --from"
        ) from None
    except ValueError:
        raise RunError(f"{path}: not JSON; it is what scripts/second.py prints with --json") from None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and "test" in row for row in rows):
        raise RunError(f"{path}: not a list of results on test; it is what scripts/second.py prints with --json")
    return rows


def _plan(kind: str) -> Callable[[Workplace], list[Step]]:
    def plan(work: Workplace) -> list[Step]:
        places = {site.name: result_path(work, kind, site.name) for site in work.sites}
        return [
            Step(
                f"{name}: scripts/second.py {kind} {name}.pack two.toml --out FOLDER --json > {place}",
                place,
                "finished" if place.exists() else "missing",
            )
            for name, place in places.items()
        ]

    return plan


plan_ablation = _plan(ABLATE)
plan_sweep = _plan(SWEEP)


def ablation(work: Workplace, expected: Expected, progress: Progress = silent) -> Outcome:
    """Table 6."""
    sheets = []
    for site in work.sites:
        rows = read_results(result_path(work, ABLATE, site.name))
        for order, said in ORDERS.items():
            lines: list[list[str | Cell]] = []
            if order == "fused":
                lines.append(_line(rows[0], "stage one", "stage one", (site.name, said), expected))
            for row in rows:
                lines.append(_line(row, str(row.get("name")), order, (site.name, said), expected))
            sheets.append(Sheet([f"{site.name}, {said}", *MEASURES], lines))
    return Outcome(sheets, ["the deep order alone is comparable with the paper's; both stages are mixed by validation"])


def _line(
    row: Mapping[str, Any], name: str, order: str, above: tuple[str, str], expected: Expected
) -> list[str | Cell]:
    line: list[str | Cell] = [name]
    for measure, short in MEASURES.items():
        key = (*above, name, measure)
        line.append(
            Cell(_value(row, "test", order, short), "share", key, expected.paper.get((above[0], name, measure)))
        )
    return line


def sweep(work: Workplace, expected: Expected, progress: Progress = silent) -> Outcome:
    """Figure 6."""
    sheets = []
    drawn: dict[str, tuple[list[int], dict[str, list[float]]]] = {}
    for site in work.sites:
        rows = read_results(result_path(work, SWEEP, site.name))
        lines: list[list[str | Cell]] = []
        series: dict[str, list[float]] = {f"{name}, {said}": [] for name in MEASURES for said in ORDERS.values()}
        for row in rows:
            depth = str(row.get("candidates"))
            line: list[str | Cell] = [depth]
            for order, said in ORDERS.items():
                for name, short in MEASURES.items():
                    value = _value(row, "test", order, short)
                    series[f"{name}, {said}"].append(value)
                    line.append(Cell(value, "share", (site.name, said, depth, name)))
            lines.append(line)
        heads = [f"{name}, {said}" for said in ORDERS.values() for name in MEASURES]
        sheets.append(Sheet([f"{site.name}: files read again", *heads], lines))
        drawn[site.name] = [int(str(row.get("candidates"))) for row in rows], series
    return Outcome(sheets, [], {"figure-6": _figure(drawn, "test reports, mean")})


def plan_coverage(work: Workplace) -> list[Step]:
    """What figure 5 needs."""
    steps = []
    for site in work.sites:
        place = place_of_run(work, site, "stage-one")
        missing: Any = "to be made" if work.make else "missing"
        steps.append(
            Step(f"{site.name}: TosLoc, stage one", place or work.out / site.name, "finished" if place else missing)
        )
    return steps


def coverage(work: Workplace, expected: Expected, progress: Progress = silent) -> Outcome:
    """Figure 5."""
    found: dict[str, Evaluation] = {}
    for site in by_project(work.sites, "projects", progress):
        found[site.name] = _stage_one(work, site, progress)
    rows: list[list[str | Cell]] = []
    shares: dict[str, Callable[[Evaluation, int], float]] = {
        "fixed files": lambda one, depth: one.coverage(depth),
        "reports with any": lambda one, depth: one.mean(Measure("Hit", depth)),
    }
    for depth in DEPTHS:
        line: list[str | Cell] = [str(depth)]
        for project, one in found.items():
            line += [Cell(share(one, depth), "share", (name, str(depth), project)) for name, share in shares.items()]
        rows.append(line)
    heads = [f"{project}: {name}" for project in found for name in shares]
    drawn = {
        project: (list(DEPTHS), {name: [share(one, depth) for depth in DEPTHS] for name, share in shares.items()})
        for project, one in found.items()
    }
    return Outcome([Sheet(["candidates", *heads], rows)], [], {"figure-5": _figure(drawn, "share of the test reports")})


def _stage_one(work: Workplace, site: Site, progress: Progress) -> Evaluation:
    if work.make:
        work.train(site, progress)
    place = place_of_run(work, site, "stage-one")
    if place is None:
        raise ToslocError(f"{site.name}: no finished training; name its folder with --runs, or leave out --finished")
    return work.judged(site, place).evaluation()


def _value(row: Mapping[str, Any], *keys: str) -> float:
    value: Any = row
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, int | float):
        raise RunError(f"results of {row.get('name', row.get('candidates'))!r} hold no number at {'.'.join(keys)}")
    return float(value)


def _figure(drawn: Mapping[str, tuple[Sequence[int], Mapping[str, Sequence[float]]]], said: str) -> Callable[[], Any]:
    def draw() -> Any:
        from tosloc.report.candidates import Panel, candidates_figure

        return candidates_figure([Panel(depths, series, project, said) for project, (depths, series) in drawn.items()])

    return draw
