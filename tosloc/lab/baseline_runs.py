"""Runs of the published techniques, in the form of ``train``'s runs; finished runs are kept."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from tosloc.core.config import Config
from tosloc.core.errors import ToslocError
from tosloc.core.io import write_text
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.rankings import Ranking
from tosloc.core.reports import Case
from tosloc.evaluate.runs import RunFolder
from tosloc.git.repository import Repository
from tosloc.lab.baselines.context import Baseline, BaselineContext, FixHistory, ParsedFiles
from tosloc.lab.tracking import track
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
"""Module under ``tosloc.lab.baselines`` -> class of the technique, by year of publication."""
SPLITS = ("validation", "test")
"""Splits that are ranked by default."""
_COMMAND: Final = "tosloc lab baselines"


class BaselineRuns(NamedTuple):
    """The runs of the published techniques on a project."""

    folders: list[Path]
    """Folder of each technique's runs."""
    search_notes: list[str]
    """See ``ExperimentContext.search_notes``; empty if all runs were finished before."""


def technique(name: str) -> type[Baseline]:
    """Return the class of a technique. Raises ToslocError for an unknown name."""
    if name not in SYSTEMS:
        raise ToslocError(f"there is no technique {name!r}; choose from {', '.join(SYSTEMS)}")
    module = importlib.import_module(f"tosloc.lab.baselines.{name}")
    technique_class: type[Baseline] = getattr(module, SYSTEMS[name])
    return technique_class


def rank_with(
    techniques: Sequence[type[Baseline]],
    config: Config,
    repo_path: str | Path,
    reports_path: str | Path,
    out: str | Path,
    splits: Sequence[str] = SPLITS,
    progress: Progress = ignore_progress,
) -> BaselineRuns:
    """Rank the reports of the splits with each technique, and write runs to ``out/NAME/SPLIT``.

    Finished runs are skipped.
    """
    search_notes: list[str] = []
    folder = Path(out).expanduser()
    missing: list[type[Baseline]] = []
    for technique_class in techniques:
        if not all(is_finished(folder / technique_class.name, split) for split in splits):
            missing.append(technique_class)
    if missing:
        with (
            results_folder(folder),
            Repository(repo_path) as repo,
            ExperimentContext(
                config, repo, Path(reports_path), progress, facts=False
            ) as experiment,
            ExitStack() as locks,
        ):
            for technique_class in missing:
                locks.enter_context(command_folder(folder / technique_class.name, _COMMAND))
            search_notes = experiment.search_notes
            context = context_for(experiment, missing, splits, progress)
            for technique_class in missing:
                baseline = technique_class(context, config.run.seed)
                _write_runs(baseline, experiment, folder / technique_class.name, splits, progress)
    folders = [folder / technique_class.name for technique_class in techniques]
    return BaselineRuns(folders, search_notes)


def is_finished(folder: Path, split: str) -> bool:
    """Return whether a split's run has its judgements, which are written last."""
    return RunFolder(folder / split).is_finished


def context_for(
    experiment: ExperimentContext,
    techniques: Sequence[type[Baseline]],
    splits: Sequence[str],
    progress: Progress = ignore_progress,
) -> BaselineContext:
    """Return everything that the techniques read on a project.

    It contains the parsed files of all versions that they learn from or rank.
    """
    indexed = experiment.indexed
    cases: list[Case] = []
    for split in splits:
        cases += experiment.parts[split]
    if any(technique_class.learned for technique_class in techniques):
        cases += experiment.parts["validation"]
    for technique_class in techniques:
        cases += technique_class.select_training_cases(experiment.parts["train"])
    commits = dict.fromkeys(case.before_commit for case in cases)
    files = ParsedFiles.read(
        indexed.repo,
        [indexed.snapshot(commit) for commit in commits],
        experiment.config.run.jobs,
        progress,
        complexity=any(technique_class.needs_complexity for technique_class in techniques),
    )
    path_names = indexed.repo.path_names
    fix_history = FixHistory(experiment.dataset.cases, experiment.history, path_names.ids)
    table = PathTable.of(path_names.names)
    return BaselineContext(indexed.repo, indexed.suffixes, fix_history, files, table)


def _write_runs(
    baseline: Baseline,
    experiment: ExperimentContext,
    folder: Path,
    splits: Sequence[str],
    progress: Progress,
) -> None:
    """Fit a technique, and write those of its runs that are missing."""
    baseline.fit(experiment.parts["train"], experiment.parts["validation"], progress)
    record = experiment.provenance() | {"system": baseline.name}
    if baseline.choice:
        record["chosen on validation"] = baseline.choice
    write_text(folder / "provenance.json", json.dumps(record, indent=1, sort_keys=True) + "\n")
    header = experiment.run_header(_COMMAND) | {"system": baseline.name}

    def rankings(split: str, cases: Sequence[Case]) -> Iterator[Ranking]:
        for case in track(cases, f"ranking {split} by {baseline.name}", progress):
            yield baseline.rank(case.report, experiment.indexed.snapshot(case.before_commit))

    for split in splits:
        if not is_finished(folder, split):
            cases = experiment.parts[split]
            experiment.write_part(
                folder / split, header | {"split": split}, rankings(split, cases), cases
            )
