"""The same work for many projects: one process a core, a project a process; what is finished is not done again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import joblib

import tosloc
from tosloc.code.languages import analyser
from tosloc.config import Config, StageTwoSettings
from tosloc.errors import ToslocError, UnknownCommit
from tosloc.experiment import check_own, fingerprint, rank_reports
from tosloc.git.repository import Repository
from tosloc.io import key_of, parse_json, read_plain, write_text
from tosloc.lab.projects import Project
from tosloc.localizer import Localizer
from tosloc.processes import parallel
from tosloc.rank.features import FEATURES_VERSION
from tosloc.records import Progress, silent
from tosloc.reports.labelled import describe, load_dataset, settled
from tosloc.training import train

FINISHED: Final = "finished.json"
"""Written last into the folder of a project's results: what they were made of, as a key."""
_OF_PARTS: Final = ("part", "before train ended")
"""What a row about all reports of a project does not need."""


@dataclass(frozen=True)
class Outcome:
    """What became of one project."""

    project: str
    state: Literal["made", "kept", "failed"]
    """``kept``: it was finished before."""
    value: Any = None
    why: str = ""
    """One sentence, of a project that failed."""


def for_each(
    projects: Sequence[Project],
    work: Callable[[Project], tuple[bool, Any]],
    *,
    jobs: int = -1,
    what: str = "projects",
    progress: Progress = silent,
) -> list[Outcome]:
    """What ``work`` (it can be pickled) became for each project, in order; one that fails does not stop the others."""
    largest_first = sorted(projects, key=lambda one: -one.reports.stat().st_size)  # so that no core waits for the last
    calls = [joblib.delayed(_outcome)(work, project) for project in largest_first]
    workers = max(1, min(joblib.effective_n_jobs(jobs), len(calls)))
    found: dict[str, Outcome] = {}
    progress(what, 0, len(projects))
    try:
        options = {"return_as": "generator_unordered", "pre_dispatch": workers}
        with parallel(calls, workers, **options) as outcomes:
            for outcome in outcomes:
                found[outcome.project] = outcome
                progress(what, len(found), len(projects))
    except BrokenProcessPool:
        left = ", ".join(project.name for project in largest_first if project.name not in found)
        raise ToslocError(
            f"a process was killed, most likely for its memory, at one of {left}; set a lower jobs in [run] and run the"
            " same command again to go on"
        ) from None
    return [found[project.name] for project in projects]


def is_finished(folder: Path, key: str) -> bool:
    """Whether a folder holds finished results that were made of just this."""
    try:
        return bool(parse_json(read_plain(folder / FINISHED))["key"] == key)
    except (OSError, ValueError, TypeError, KeyError):
        return False


def finish(folder: Path, key: str) -> None:
    """Note that the results in a folder are finished, and what they were made of."""
    write_text(folder / FINISHED, json.dumps({"key": key}) + "\n")


def unfinish(folder: Path) -> None:
    """Results in a folder are about to change: until they are finished again they are not."""
    (folder / FINISHED).unlink(missing_ok=True)


def _outcome(work: Callable[[Project], tuple[bool, Any]], project: Project) -> Outcome:
    try:
        made, value = work(project)
        return Outcome(project.name, "made" if made else "kept", value)
    except ToslocError as error:
        why = str(error)
    except MemoryError:
        why = "the memory is not enough for it; set a lower jobs in [run]"
    except OSError as error:
        why = f"{error.filename}: " * bool(error.filename) + (error.strerror or str(error))
    except Exception as error:  # the others are worth having all the same
        why = f"a fault of TosLoc's own, {type(error).__name__}: {error}"
    return Outcome(project.name, "failed", why=why)


# What is done for each


def rank_project(
    project: Project,
    *,
    out: Path,
    checkpoint: Path | None,
    split: str,
    config: Config | None,
    functions: bool,
) -> tuple[bool, None]:
    """Rank the reports of a project into a folder of its name; those that its entry says, unless ``split`` does."""
    localizer = Localizer.load(checkpoint) if checkpoint is not None else Localizer.default()
    settings = _alone(project.configured(config or localizer.config))
    part, folder = split or project.judged, out / project.name
    learned = [localizer.stage_one.weights.tolist(), localizer.provenance_]
    key = _key("rank", project, settings, [part, functions, learned, localizer.temperature])
    place = project.repo, project.reports, folder, part
    return _once(
        folder, folder / part, key, lambda: rank_reports(checkpoint, *place, config=settings, functions=functions)
    )


def train_project(
    project: Project,
    *,
    out: Path,
    config: Config,
    carry: bool,
    keep_features: bool,
    stage_two: bool,
) -> tuple[bool, None]:
    """Learn from the reports of a project into a folder of its name; whether that was still to be done."""
    settings, folder = _alone(project.configured(config)), out / project.name
    if not stage_two:
        settings = settings.model_copy(update={"stage_two": StageTwoSettings()})
    key = _key("train", project, settings, [carry, keep_features])
    place = project.repo, project.reports, folder
    return _once(folder, folder, key, lambda: train(settings, *place, carry=carry, keep_features=keep_features))


def _once(folder: Path, results: Path, key: str, make: Callable[[], object]) -> tuple[bool, None]:
    """Make results in a folder of ours, unless they are finished."""
    if is_finished(results, key):
        return False, None
    check_own(folder)
    unfinish(results)
    make()
    finish(results, key)
    return True, None


def describe_project(project: Project, *, config: Config) -> tuple[bool, dict[str, str | int | float]]:
    """What the labelled reports of a project hold, all of them together. Raises ToslocError."""
    data = settled(project.configured(config), project.reports).data
    with Repository(project.repo) as repo:
        dataset = load_dataset(repo, project.reports, zone=data.zone, suffixes=frozenset(data.named_suffixes))
    row = describe(dataset)[0]
    return True, {"project": project.name} | {name: value for name, value in row.items() if name not in _OF_PARTS}


def _alone(config: Config) -> Config:
    return config.model_copy(update={"run": config.run.model_copy(update={"jobs": 1})})


def _key(command: str, project: Project, config: Config, more: Any) -> str:
    """What results of a project are made of."""
    made_by = [command, tosloc.__version__, FEATURES_VERSION, analyser(config.stage_one.lizard)]
    return key_of(made_by, project.record(), config.as_dict(), fingerprint(project.reports), head_of(project), more)


def head_of(project: Project) -> str:
    """The commit that HEAD of its repository names: another one, and more fixes may be found."""
    with Repository(project.repo) as repo, suppress(UnknownCommit):
        return repo.resolve("HEAD")
    return ""  # a repository without branches may hold every commit that is asked for
