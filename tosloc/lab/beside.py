"""Two rankings of the same reports of many projects side by side: project by project or language by language, and all.

A folder holds a run folder for each project; the two folders' projects are matched by name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from tosloc.analysis.languages import language_of
from tosloc.errors import RunError
from tosloc.evaluation.compare import COMPARED, Comparison, Move, compare, compared, gain_values, mean_gains
from tosloc.evaluation.measures import Measure
from tosloc.evaluation.run_paths import RUN_FILE, ScoredRun, read_scored

NO_LANGUAGE: Final = "none"
"""Stands for the language of a report that lists no file."""


def compare_projects(
    a: Path,
    b: Path,
    split: str = "all",
    measures: Sequence[Measure] = COMPARED,
    prepared: Callable[[ScoredRun], ScoredRun] = lambda one: one,
) -> dict[str, Comparison]:
    """Project -> its run in folder ``b`` against that in folder ``a``, for the projects that both hold, by name.

    ``prepared`` is what is done with a run before it is judged. Raises RunError where no project is in both, or the two
    runs of a project do not judge the same reports by the same truth.
    """
    names = sorted(_projects(a, split) & _projects(b, split))
    if not names:
        raise RunError(f"{a} and {b}: no project has a finished run of the split {split!r} in both")
    found = {}
    for name in names:
        sides = [(str(place), prepared(read_scored(place / name, split)).evaluation()) for place in (a, b)]
        found[name] = compare(sides[0], sides[1], measures=measures)
    return found


def only_in_one(a: Path, b: Path, split: str) -> list[str]:
    """Names of the projects whose run one of the folders lacks."""
    return sorted(_projects(a, split) ^ _projects(b, split))


def _projects(folder: Path, split: str) -> set[str]:
    if not folder.is_dir():
        raise RunError(f"{folder}: no folder of runs, one a project")
    return {run.parents[1].name for run in folder.glob(f"*/{split}/{RUN_FILE}")}


def by_language(projects: Mapping[str, Comparison], measures: Sequence[Measure] = COMPARED) -> dict[str, Comparison]:
    """Language -> the comparison on its reports of all projects; those of most reports first.

    A report's language is that of most of the source files that it lists as fixed.
    """
    groups: defaultdict[str, list[Move]] = defaultdict(list)
    for one in projects.values():
        for move in one.moves:
            groups[_language(move.a.judgement.listed)].append(move)
    first = next(iter(projects.values()))
    ordered = sorted(groups, key=lambda name: (-len(groups[name]), name))
    return {name: compared(first.a, first.b, groups[name], measures) for name in ordered}


def _language(listed: Sequence[str]) -> str:
    counts = Counter(language_of(PurePosixPath(path).suffix) for path in listed)
    return min(counts, key=lambda name: (-counts[name], name)) if counts else NO_LANGUAGE


def together(parts: Mapping[str, Comparison], measures: Sequence[Measure] = COMPARED) -> Comparison:
    """The comparison on the reports of all parts, each report counting alike."""
    first = next(iter(parts.values()))
    return compared(first.a, first.b, [move for one in parts.values() for move in one.moves], measures)


def beside_values(rows: Mapping[str, Comparison], whole: Comparison, projects: Mapping[str, Comparison]) -> Any:
    """All of it as plain values for JSON."""
    from tosloc.evaluation.compare import comparison_values

    def row(one: Comparison) -> dict[str, Any]:
        values = comparison_values(one, 0)
        return {"reports": values["reports"], "measures": values["measures"]}

    return {
        "a": whole.a,
        "b": whole.b,
        "rows": {name: row(one) for name, one in rows.items()},
        "all": row(whole),
        "projects": {"number": len(projects), "mean gain": gain_values(mean_gains(list(projects.values())))},
    }
