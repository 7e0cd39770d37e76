"""Read the file that lists projects, compute means of their runs, and compare two rankings.

Means are taken over projects, each of which counts the same (macro), or over all reports (micro). A
folder of many projects contains a run folder for each project, with the project's name.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

import numpy as np
from pydantic import Field, Strict

from tosloc.code.languages import language_name
from tosloc.core.arrays import FloatArray
from tosloc.core.config import Config, Section, find_config, load_config, read_toml
from tosloc.core.errors import ConfigError, RepositoryError, RunError
from tosloc.evaluate.compare import Comparison, ReportPair
from tosloc.evaluate.measures import AP, RR, Evaluation, Measure
from tosloc.evaluate.runs import RunFolder
from tosloc.evaluate.statistics import Difference, Interval
from tosloc.git import discovery

Part: TypeAlias = Literal["train", "validation", "test", "all"]
File: TypeAlias = Annotated[Path, Strict(False)]
T = TypeVar("T")
_NAME: Final = re.compile(r"(?!\.)[^/\\\x00-\x1f]{1,200}")

NO_LANGUAGE: Final = "none"
"""The language of a report that lists no file."""
FIXED_FILE_GROUPS: Final = (
    "no fixed file",
    "1 fixed file",
    "2 to 5 fixed files",
    "6 or more fixed files",
)
"""Groups of reports by the number of searched files that their fix changed."""
HEADLINE: Final[Mapping[Measure, str]] = {
    RR: "mrr",
    AP: "map",
    Measure("Hit", 1): "top1",
    Measure("Hit", 5): "top5",
    Measure("Hit", 10): "top10",
}
"""Name of the mean of each measure that is always shown, in this order."""


class Project(Section):
    """A section of the file of projects: the location of a project, and how it is read."""

    name: str
    """Name of the project, and of the folder of its results."""
    repo: File
    reports: File
    """File of its labelled reports."""
    config: Config = Config()
    """The project's own settings; in the file, the name of a configuration."""
    part: Part = "all"
    """Part of the chronological split that weights are learned from."""
    judged: Part = "all"
    """Part whose rankings are judged; by default the part that is learned from."""
    at_most: Annotated[int, Field(ge=0)] = 0
    """Number of reports of a part that are used, evenly spread over it; 0 for all."""
    alone: bool = False
    """Whether the project is left out by itself if others are left out several at a time."""
    weight: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Weight of the project's reports; below 1 if they are not what users write."""


def read_projects(path: Path) -> list[Project]:
    """Return the projects in a file; its paths are relative to its folder. Raises ConfigError."""
    base = path.absolute().parent
    projects: dict[str, Project] = {}
    for name, values in read_toml(path, "projects").items():
        if not isinstance(values, dict):
            raise ConfigError(
                f'{path}: {name} must be a section, [{name}], with repo = "..." and reports = "..."'
            )
        project = _parse_project(name, values, base, f"{path} [{name}]")
        if name.lower() in projects:
            raise ConfigError(
                f"{path}: two projects are called {name!r}; their results would share a folder"
            )
        projects[name.lower()] = project
    if not projects:
        raise ConfigError(f"{path}: it lists no project")
    return list(projects.values())


def _parse_project(name: str, values: Mapping[str, Any], base: Path, where: str) -> Project:
    """Return the project of a section. Raises ConfigError, which says ``where`` the section is."""
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{where}: this name cannot be the name of a folder, which its results need"
        )
    settings = {"judged": values.get("part", "all"), **values, "name": name}
    try:
        if isinstance(settings.get("config"), str):
            settings["config"] = load_config(find_config(settings["config"], base))
        project = Project.of(settings, where)
        repo = discovery.enclosing_repository(base / project.repo.expanduser())
    except RepositoryError as error:
        raise ConfigError(f"{where}: {error}") from None
    reports = base / project.reports.expanduser()
    if not reports.is_file():
        raise ConfigError(f"{where}: {reports}: there is no such file of reports")
    return project.model_copy(update={"repo": repo, "reports": reports})


def spread_evenly(items: Sequence[T], number: int) -> list[T]:
    """Return ``number`` items, evenly spread from the first to the last; 0 means all items.

    >>> spread_evenly("abcdefg", 3), spread_evenly("ab", 0)
    (['a', 'd', 'g'], ['a', 'b'])
    """
    if not number or number >= len(items):
        return list(items)
    positions = np.linspace(0, len(items) - 1, number).round().astype(int)
    return [items[position] for position in positions.tolist()]


def find_project_runs(folder: Path, split: str | None) -> tuple[dict[str, Path], list[str]]:
    """Return project -> run of the split, or of all reports; and the projects without a run.

    None stands for the split test.
    Raises RunError if no project has a run.
    """
    runs: dict[str, Path] = {}
    missing: list[str] = []
    if folder.is_dir() and _find_finished_run(folder, split) is None:
        for project_folder in sorted(folder.iterdir()):
            if not project_folder.is_dir():
                continue
            run = _find_finished_run(project_folder, split)
            if run is None:
                missing.append(project_folder.name)
            else:
                runs[project_folder.name] = run
    if not runs:
        raise RunError(f"{folder}: this is not a folder with one run per project")
    return runs, missing


def _find_finished_run(folder: Path, split: str | None) -> Path | None:
    for run in (folder, folder / (split or "test"), folder / "all"):
        if RunFolder(run).is_finished:
            return run
    return None


def project_means(
    evaluations: Mapping[str, Evaluation], measures: Sequence[Measure] = ()
) -> dict[str, Any]:
    """Return means of the evaluations of projects as plain values.

    The measures are those of the headline, then ``measures``. The values are the means of each
    project, the macro means with their 95 % bootstrap intervals over projects (None for a single
    project), and the micro means.
    """
    shown_measures = tuple(dict.fromkeys((*HEADLINE, *measures)))
    names = [HEADLINE.get(measure) or repr(measure) for measure in shown_measures]
    values = [
        np.column_stack([evaluation.values(measure) for measure in shown_measures])
        for evaluation in evaluations.values()
    ]
    means = np.array([project_values.mean(axis=0) for project_values in values])

    def name_values(row: FloatArray) -> dict[str, float]:
        return dict(zip(names, row.tolist(), strict=True))

    project_rows: list[dict[str, Any]] = []
    for project, project_values, row in zip(evaluations, values, means, strict=True):
        project_rows.append(
            {"project": project, "reports": len(project_values), **name_values(row)}
        )
    macro: dict[str, Any] = {}
    for name, mean, column in zip(names, means.mean(axis=0).tolist(), means.T, strict=True):
        interval = Interval.of_mean(np.ascontiguousarray(column))
        macro[name] = {"mean": mean, "interval": interval}
    all_values = np.concatenate(values)
    return {
        "projects": project_rows,
        "macro": macro,
        "micro": {"reports": len(all_values), **name_values(all_values.mean(axis=0))},
    }


# Comparisons, one a project


def group_comparisons(projects: Mapping[str, Comparison], by: str = "all") -> dict[str, Comparison]:
    """Return group -> comparison of its reports, each of which counts the same.

    ``by`` is "project", "language" (languages with most reports first), "fixed" (number of fixed
    files), or "all", which gives a single group of this name.
    """
    groups: defaultdict[str, list[ReportPair]] = defaultdict(list)
    for project, comparison in projects.items():
        for pair in comparison.pairs:
            groups[_group_name(project, pair, by)].append(pair)
    names = list(groups)
    if by == "language":
        names.sort(key=lambda name: -len(groups[name]))
    elif by == "fixed":
        names = [name for name in FIXED_FILE_GROUPS if name in groups]
    first = next(iter(projects.values()))
    return {
        name: Comparison.of_pairs(first.a, first.b, groups[name], first.differences)
        for name in names
    }


def _group_name(project: str, pair: ReportPair, by: str) -> str:
    if by == "project":
        return project
    if by == "language":
        return report_language(pair.a.judgement.listed)
    if by == "fixed":
        return FIXED_FILE_GROUPS[int(np.searchsorted([0, 1, 5], pair.a.relevant))]
    return "all"


def report_language(listed: Sequence[str]) -> str:
    """Return the language of most of the source files that a report lists as fixed.

    Return ``NO_LANGUAGE`` if the report lists none.
    """
    counts = Counter(language_name(PurePosixPath(path).suffix) for path in listed)
    return min(counts, key=lambda name: (-counts[name], name)) if counts else NO_LANGUAGE


def compare_project_means(projects: Mapping[str, Comparison]) -> dict[Measure, Difference]:
    """Return measure -> difference of the projects' means.

    Each project is one pair, for the t-test and for the bootstrap.
    """
    differences: dict[Measure, Difference] = {}
    for measure in next(iter(projects.values())).differences:
        of_projects = [comparison.differences[measure] for comparison in projects.values()]
        differences[measure] = Difference.between(
            np.array([project.a for project in of_projects]),
            np.array([project.b for project in of_projects]),
        )
    return differences
