"""Many projects: the file that lists them, means of their runs, and comparisons of two runs of each.

Means are over projects that count alike (macro), or over all reports (micro). A folder of many projects holds a run
folder for each, called by its name.
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
from tosloc.core.config import Config, Section, find_config, load_config, read_toml
from tosloc.core.errors import ConfigError, RepositoryError, RunError
from tosloc.evaluate.compare import Comparison, ReportPair, compare_pairs
from tosloc.evaluate.measures import AP, RR, Evaluation, Measure
from tosloc.evaluate.run_paths import JUDGEMENTS_FILE
from tosloc.evaluate.statistics import Difference, difference, mean_interval
from tosloc.git import discovery

Part: TypeAlias = Literal["train", "validation", "test", "all"]
File: TypeAlias = Annotated[Path, Strict(False)]
T = TypeVar("T")
_NAME: Final = re.compile(r"(?!\.)[^/\\\x00-\x1f]{1,200}")

NO_LANGUAGE: Final = "none"  # stands for the language of a report that lists no file
HOW_MANY: Final = ("no fixed file", "1 fixed file", "2 to 5 fixed files", "6 or more fixed files")
"""How many of the searched files a fix changed."""
HEADLINE: Final[Mapping[Measure, str]] = {
    RR: "mrr",
    AP: "map",
    **{Measure("Hit", k): f"top{k}" for k in (1, 5, 10)},
}
"""Measures whose means are told, in this order, with what they are called."""


class Project(Section):
    """A section: where its repository and its labelled reports are, and how they are to be read."""

    name: str  # also of the folder of its results
    repo: File
    reports: File
    config: Config = Config()  # settings of its own; in the file the name of a configuration
    part: Part = "all"  # of the chronological split: what is learned from
    judged: Part = "all"  # in the file: the same part, unless said
    at_most: Annotated[int, Field(ge=0)] = 0
    """Reports of a part that are looked at, spread evenly over it; 0: all."""
    alone: bool = (
        False  # whether it is left out by itself where others are left out several at a time
    )
    weight: Annotated[float, Field(gt=0, le=1)] = (
        1.0  # of its reports: less where they are not what users write
    )


def read_projects(path: Path) -> list[Project]:
    """The projects of a file; paths are seen from it. Raises ConfigError."""
    base, projects = path.absolute().parent, dict[str, Project]()
    for name, values in read_toml(path, "projects").items():
        where = f"{path} [{name}]"
        if not isinstance(values, dict):
            raise ConfigError(
                f'{path}: {name} is a section, [{name}], with repo = "..." and reports = "..."'
            )
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{where}: no name of a folder, which its results are to have")
        values = {"judged": values.get("part", "all")} | values | {"name": name}
        try:
            if isinstance(values.get("config"), str):
                values["config"] = load_config(find_config(values["config"], base))
            found = Project.of(values, where)
            places = {key: base / getattr(found, key).expanduser() for key in ("repo", "reports")}
            places["repo"] = discovery.enclosing_repository(places["repo"])
        except RepositoryError as error:
            raise ConfigError(f"{where}: {error}") from None
        if not places["reports"].is_file():
            raise ConfigError(f"{where}: {places['reports']}: no such file of reports")
        if name.lower() in projects:
            raise ConfigError(
                f"{path}: two projects are called {name!r}; their results would share a folder"
            )
        projects[name.lower()] = found.model_copy(update=places)
    if not projects:
        raise ConfigError(f"{path}: it lists no project")
    return list(projects.values())


def spread(items: Sequence[T], number: int) -> list[T]:
    """So many of the items, evenly from first to last; all for 0.

    >>> spread("abcdefg", 3), spread("ab", 0)
    (['a', 'd', 'g'], ['a', 'b'])
    """
    if not number or number >= len(items):
        return list(items)
    return [
        items[position]
        for position in np.linspace(0, len(items) - 1, number).round().astype(int).tolist()
    ]


def runs_of_projects(folder: Path, split: str) -> tuple[dict[str, Path], list[str]]:
    """Project -> its run of the split, else of all reports; and the projects without. Raises RunError for none."""

    def finished(place: Path) -> Path | None:
        some = (place, place / split, place / "all")
        return next((one for one in some if (one / JUDGEMENTS_FILE).is_file()), None)

    runs: dict[str, Path] = {}
    lacking: list[str] = []
    if folder.is_dir() and finished(folder) is None:
        for place in sorted(one for one in folder.iterdir() if one.is_dir()):
            if (there := finished(place)) is not None:
                runs[place.name] = there
            else:
                lacking.append(place.name)
    if not runs:
        raise RunError(f"{folder}: no folder of runs, one a project")
    return runs, lacking


def project_means(
    evaluations: Mapping[str, Evaluation], measures: Sequence[Measure] = ()
) -> dict[str, Any]:
    """Plain values of evaluations by project, in the headline and ``measures`` beyond it: the mean of each project, the
    macro mean with its 95 % bootstrap interval over projects (None for a single one), and the micro mean.
    """
    asked = tuple(dict.fromkeys((*HEADLINE, *measures)))
    names = [HEADLINE.get(measure) or repr(measure) for measure in asked]
    values = [
        np.column_stack([one.values(measure) for measure in asked]) for one in evaluations.values()
    ]
    means = np.array([one.mean(axis=0) for one in values])  # a row a project
    reports = [len(one) for one in values]

    def row(numbers: Any) -> dict[str, Any]:
        return dict(zip(names, numbers.tolist(), strict=True))

    of_each = zip(evaluations, reports, means, strict=True)
    intervals = [mean_interval(np.ascontiguousarray(column)) for column in means.T]
    macro = zip(row(means.mean(axis=0)).items(), intervals, strict=True)
    return {
        "projects": [
            {"project": name, "reports": number} | row(one) for name, number, one in of_each
        ],
        "macro": {name: {"mean": mean, "interval": interval} for (name, mean), interval in macro},
        "micro": {"reports": sum(reports)} | row(np.concatenate(values).mean(axis=0)),
    }


# Comparisons, one a project


def grouped(projects: Mapping[str, Comparison], by: str = "all") -> dict[str, Comparison]:
    """The comparisons on the reports of each project, of each language, or of each number of fixed files; or on all of
    them, called "all". Each report counts alike.
    """
    groups: defaultdict[str, list[ReportPair]] = defaultdict(list)
    for project, one in projects.items():
        for move in one.pairs:
            number = HOW_MANY[int(np.searchsorted([0, 1, 5], move.a.relevant))]
            language = language_of_report(move.a.judgement.listed)
            groups[
                {"project": project, "language": language, "fixed": number, "all": "all"}[by]
            ].append(move)
    names = (
        sorted(groups, key=lambda name: -len(groups[name])) if by == "language" else list(groups)
    )
    names = [one for one in HOW_MANY if one in groups] if by == "fixed" else names
    first = next(iter(projects.values()))
    return {
        name: compare_pairs(first.a, first.b, groups[name], first.differences) for name in names
    }


def language_of_report(listed: Sequence[str]) -> str:
    """The language of most of the source files that a report lists as fixed; ``NO_LANGUAGE`` where it lists none."""
    counts = Counter(language_name(PurePosixPath(path).suffix) for path in listed)
    return min(counts, key=lambda name: (-counts[name], name)) if counts else NO_LANGUAGE


def over_projects(projects: Mapping[str, Comparison]) -> dict[Measure, Difference]:
    """The differences of the projects' means: each project is one pair, for the t-test as for the bootstrap."""
    found = {}
    for measure in next(iter(projects.values())).differences:
        of_each = [one.differences[measure] for one in projects.values()]
        found[measure] = difference(
            np.array([one.a for one in of_each]), np.array([one.b for one in of_each])
        )
    return found
