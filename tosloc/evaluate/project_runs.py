"""Runs of many projects: a folder that holds a folder a project, as commands over many projects write it."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tosloc.evaluate.run_paths import JUDGEMENTS_FILE, RUN_FILE

SPLITS: Final = ("train", "validation", "test", "all")


@dataclass(frozen=True)
class ProjectRuns:
    """The finished runs of a folder of projects."""

    runs: dict[str, Path]
    """Project -> the folder of its run, by name."""
    lacking: tuple[str, ...]
    """Projects without a finished run of the split, nor of just one other."""
    split: str = "test"


def project_runs(folder: Path, split: str, only: Container[str] | None = None) -> ProjectRuns | None:
    """The runs of a folder of projects; None where the folder is of one run, or of one run's splits.

    Of a project whose run has several splits it is the ``split`` asked for, of one that has a single split that one.
    ``only`` are the projects looked at.
    """
    if not folder.is_dir() or (folder / RUN_FILE).is_file():
        return None
    if any((folder / name / RUN_FILE).is_file() for name in SPLITS):
        return None
    runs: dict[str, Path] = {}
    lacking: list[str] = []
    for place in sorted(folder.iterdir()):
        if place.is_dir() and (only is None or place.name in only):
            found = _finished(place, split)
            if found is None:
                lacking.append(place.name)
            else:
                runs[place.name] = found
    return ProjectRuns(runs, tuple(lacking), split) if runs else None


def _finished(place: Path, split: str) -> Path | None:
    there = [one for one in (place, *(place / name for name in SPLITS)) if _is_finished(one)]
    asked = [one for one in there if one in (place, place / split)]
    if asked:
        return asked[0]
    return there[0] if len(there) == 1 else None


def _is_finished(place: Path) -> bool:
    return (place / RUN_FILE).is_file() and (place / JUDGEMENTS_FILE).is_file()
