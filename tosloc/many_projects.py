"""The same work for many projects: one process a core, a project a process; what is finished is not done again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import joblib

from tosloc.data.projects import Project
from tosloc.errors import ToslocError
from tosloc.files import parse_json, read_plain, write_text
from tosloc.processes import parallel
from tosloc.records import Progress, silent

FINISHED: Final = "finished.json"
"""Written last into the folder of a project's results: what they were made of, as a key."""


@dataclass(frozen=True)
class Outcome:
    """What became of one project."""

    project: str
    state: Literal["made", "kept", "failed"]
    """``kept``: it was finished before."""
    value: Any = None
    """What the work gave."""
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
    """What became of each project, in their order.

    ``work`` can be pickled; it gives whether anything had to be made, and a value. A project that fails does not stop
    the others.
    """
    largest_first = sorted(projects, key=lambda one: -one.reports.stat().st_size)  # so that no core waits for the last
    calls = [joblib.delayed(_outcome)(work, project) for project in largest_first]
    workers = max(1, min(joblib.effective_n_jobs(jobs), len(calls)))
    found: dict[str, Outcome] = {}
    progress(what, 0, len(projects))
    try:
        with parallel(calls, workers, return_as="generator_unordered", pre_dispatch=workers) as outcomes:
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
        record = parse_json(read_plain(folder / FINISHED))
    except (OSError, ValueError):
        return False
    return isinstance(record, dict) and record.get("key") == key


def finish(folder: Path, key: str) -> None:
    """Note that the results in a folder are finished, and what they were made of."""
    write_text(folder / FINISHED, json.dumps({"key": key}) + "\n")


def unfinish(folder: Path) -> None:
    """Results in a folder are about to change: until they are finished again they are not."""
    (folder / FINISHED).unlink(missing_ok=True)


def _outcome(work: Callable[[Project], tuple[bool, Any]], project: Project) -> Outcome:
    try:
        made, value = work(project)
    except ToslocError as error:
        return Outcome(project.name, "failed", why=str(error))
    except MemoryError:
        return Outcome(project.name, "failed", why="the memory is not enough for it; set a lower jobs in [run]")
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return Outcome(project.name, "failed", why=f"{where}{error.strerror or error}")
    except Exception as error:  # the others are worth having all the same
        return Outcome(project.name, "failed", why=f"a fault of TosLoc's own, {type(error).__name__}: {error}")
    return Outcome(project.name, "made" if made else "kept", value)
