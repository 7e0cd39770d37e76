"""Runs of the published techniques, as ``train`` makes ours; finished ones are kept."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tosloc.core.config import Config
from tosloc.core.errors import ToslocError
from tosloc.core.io import write_text
from tosloc.core.records import Case, Progress, Ranking, ignore_progress, track
from tosloc.evaluate.run_paths import JUDGEMENTS_FILE
from tosloc.git.repository import Repository
from tosloc.lab.baselines.context import Baseline, BaselineContext, FixHistory, ParsedFiles
from tosloc.retrieval.paths import PathTable
from tosloc.train.experiment import ExperimentContext, command_folder, results_folder

SYSTEMS: Final[Mapping[str, str]] = {
    "buglocator": "BugLocator",
    "brtracer": "BRTracer",
    "bluir": "BLUiR",
    "amalgam": "AmaLgam",
    "blia": "BLIA",
    "dnnloc": "Dnnloc",
    "dreamloc": "DreamLoc",
}
"""Module under ``tosloc.lab.baselines`` of each technique, and its class; in the order of their publication."""
SPLITS = ("validation", "test")


def technique(name: str) -> type[Baseline]:
    """The class of a technique. Raises ToslocError for an unknown name."""
    if name not in SYSTEMS:
        raise ToslocError(f"no technique is called {name!r}; there are {', '.join(SYSTEMS)}")
    found: type[Baseline] = getattr(
        importlib.import_module(f"tosloc.lab.baselines.{name}"), SYSTEMS[name]
    )
    return found


def rank_with(
    techniques: Sequence[type[Baseline]],
    config: Config,
    repo_path: str | Path,
    reports_path: str | Path,
    out: str | Path,
    splits: Sequence[str] = SPLITS,
    progress: Progress = ignore_progress,
) -> list[Path]:
    """Rank the splits' reports with each technique; the runs stand under ``out/NAME/SPLIT``. Returns ``out/NAME``."""
    folder = Path(out).expanduser()
    missing = [
        one for one in techniques if not all(finished(folder / one.name, split) for split in splits)
    ]
    if missing:
        with (
            results_folder(folder),
            Repository(repo_path) as repo,
            ExperimentContext(
                config, repo, Path(reports_path), progress, facts=False
            ) as experiment,
            ExitStack() as folders,
        ):
            for one in missing:
                folders.enter_context(command_folder(folder / one.name, "tosloc lab baselines"))
            context = context_for(experiment, missing, splits, progress)
            for one in missing:
                _rank(
                    one(context, config.run.seed), experiment, folder / one.name, splits, progress
                )
    return [folder / one.name for one in techniques]


def finished(folder: Path, split: str) -> bool:
    """Whether a split's run is there with its judgements, which are written last."""
    return (folder / split / JUDGEMENTS_FILE).is_file()


def context_for(
    experiment: ExperimentContext,
    techniques: Sequence[type[Baseline]],
    splits: Sequence[str],
    progress: Progress = ignore_progress,
) -> BaselineContext:
    """What the techniques look at, with the files of all versions that they learn from or search."""
    indexed = experiment.indexed
    cases = [case for split in splits for case in experiment.parts[split]]
    if any(one.learned for one in techniques):
        cases += experiment.parts["validation"]
    for one in techniques:
        cases += one.select_training_cases(experiment.parts["train"])
    snapshots = [
        indexed.snapshot(version) for version in dict.fromkeys(case.version for case in cases)
    ]
    complexity = any(one.needs_complexity for one in techniques)
    files = ParsedFiles.read(
        indexed.repo, snapshots, experiment.config.run.jobs, progress, complexity=complexity
    )
    names = indexed.repo.path_names
    fix_history = FixHistory(experiment.dataset.cases, experiment.history, names.ids)
    return BaselineContext(
        indexed.repo, indexed.suffixes, fix_history, files, PathTable.of(names.names)
    )


def _rank(
    system: Baseline,
    experiment: ExperimentContext,
    folder: Path,
    splits: Sequence[str],
    progress: Progress,
) -> None:
    """Learn, and write the runs that are missing."""
    system.fit(experiment.parts["train"], experiment.parts["validation"], progress)
    record = experiment.provenance() | {"system": system.name}
    if system.choice:
        record["chosen on validation"] = system.choice
    write_text(folder / "provenance.json", json.dumps(record, indent=1, sort_keys=True) + "\n")
    header = experiment.run_header("tosloc lab baselines") | {"system": system.name}

    def rankings(split: str, cases: Sequence[Case]) -> Iterator[Ranking]:
        for case in track(cases, f"{system.name} {split}", progress):
            yield system.rank(case.report, experiment.indexed.snapshot(case.version))

    for split in splits:
        if not finished(folder, split):
            cases = experiment.parts[split]
            experiment.write_part(
                folder / split, header | {"split": split}, rankings(split, cases), cases
            )
