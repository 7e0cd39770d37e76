"""Runs of the published techniques, as ``train`` makes ours; finished ones and blocks of rankings are kept."""

from __future__ import annotations

import importlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from tosloc.arrays import load_arrays, save_arrays
from tosloc.config import Config, read_toml
from tosloc.errors import ToslocError
from tosloc.evaluate.run_paths import JUDGEMENTS_FILE, RUN_FILE
from tosloc.experiment import ExperimentContext, results_folder
from tosloc.git.repository import Repository
from tosloc.index.corpus import blobs_of
from tosloc.index.paths import PathTable
from tosloc.index.repository import IndexedRepository
from tosloc.io import key_of, write_text
from tosloc.lab.baselines.context import (
    Baseline,
    BaselineContext,
    Cutoff,
    FixHistory,
    ParsedFiles,
    Profile,
    Settings,
)
from tosloc.rank.feature_tables import WORK
from tosloc.records import Case, FloatArray, Progress, Ranking, silent

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
BLOCK = 32
"""Reports whose scores are kept together while a technique is running."""
SPLITS = ("validation", "test")


def technique(name: str) -> type[Baseline]:
    """The class of a technique. Raises ToslocError for an unknown name."""
    if name not in SYSTEMS:
        raise ToslocError(f"no technique is called {name!r}; there are {', '.join(SYSTEMS)}")
    found: type[Baseline] = getattr(importlib.import_module(f"tosloc.lab.baselines.{name}"), SYSTEMS[name])
    return found


@dataclass(frozen=True)
class Chosen:
    """A technique with its settings, under the name that its results get."""

    name: str
    kind: type[Baseline]
    settings: Settings

    @property
    def cutoff(self) -> Cutoff:
        """Which fixes count as earlier."""
        return self.kind.upstream_cutoff if self.settings.profile == "upstream" else "fix_before_open"


def choose_techniques(names: Sequence[str], profile: Profile = "clean", folder: Path | None = None) -> list[Chosen]:
    """Techniques by name (all, if none is named), settings from ``folder/NAME.toml`` where there is one."""
    chosen = []
    for name in names or SYSTEMS:
        kind = technique(name)
        path = None if folder is None else folder / f"{name}.toml"
        values = {} if path is None or not path.exists() else read_toml(path, "settings")
        settings = kind.Settings.of({**values, "profile": profile}, str(path))
        chosen.append(Chosen(name if profile == "clean" else f"{name}-{profile}", kind, settings))
    return chosen


def rank_with(
    chosen: Sequence[Chosen],
    config: Config,
    repo_path: str | Path,
    reports_path: str | Path,
    out: str | Path,
    splits: Sequence[str] = SPLITS,
    progress: Progress = silent,
) -> list[Path]:
    """Rank the splits' reports with each technique; the runs stand under ``out/NAME/SPLIT``. Returns ``out/NAME``."""
    folder = Path(out).expanduser()
    folders = [folder / one.name for one in chosen]
    missing = [
        one
        for one, place in zip(chosen, folders, strict=True)
        if not (place / "provenance.json").is_file() or not all(finished(place, split) for split in splits)
    ]
    for one in chosen:
        if one not in missing:
            shutil.rmtree(folder / one.name / WORK, ignore_errors=True)  # where a kill came at the very end
    if not missing:
        return folders
    with (
        results_folder(folder),
        Repository(repo_path) as repo,
        ExperimentContext.set_up(config, repo, Path(reports_path), progress, facts=False) as experiment,
    ):
        context_of = contexts_for(experiment, missing, splits, progress)
        for one in missing:
            began = time.monotonic()
            system = one.kind(one.settings, context_of(one), config.run.seed)
            run = _BaselineRun(one, system, experiment, folder / one.name, progress)
            run.fit()
            seconds = {"fit": round(time.monotonic() - began, 1)}
            for split in splits:
                if not finished(run.folder, split):
                    began = time.monotonic()
                    run.rank(split)
                    seconds[split] = round(time.monotonic() - began, 1)
            run.finish(seconds)
    return folders


def finished(folder: Path, split: str) -> bool:
    """Whether a split's run is there with its judgements."""
    return (folder / split / RUN_FILE).is_file() and (folder / split / JUDGEMENTS_FILE).is_file()


def contexts_for(
    experiment: ExperimentContext, chosen: Sequence[Chosen], splits: Sequence[str], progress: Progress = silent
) -> Callable[[Chosen], BaselineContext]:
    """What makes the context of each technique: all share files, and differ in which fixes count as earlier."""
    ours = experiment.indexed
    cases = [case for split in splits for case in experiment.part(split)]
    if any(one.kind.learned for one in chosen):
        cases += experiment.part("validation")
    for one in chosen:
        cases += one.kind.training_cases(one.settings, experiment.part("train"))
    snapshots = [ours.snapshot(version) for version in dict.fromkeys(case.version for case in cases)]
    complexities: dict[str, int] = {}
    if any(one.kind.needs_complexity for one in chosen):  # by lizard, whatever stage one counts
        with closing(IndexedRepository(ours.repo, None, ours.suffixes, ours.jobs, lizard=True)) as indexed:
            indexed.index(snapshots, progress)
            corpus = indexed.corpus(snapshots)
        blobs = blobs_of(snapshots, ours.suffixes)
        counted = zip(corpus.blobs, corpus.complexity.tolist(), strict=True)
        complexities = {blob: int(number) for blob, number in counted if blob in blobs}
    files = ParsedFiles.of(ours.repo, snapshots, experiment.config.run.jobs, progress)
    names = ours.repo.path_names
    fix_history = FixHistory(experiment.dataset.cases, experiment.history, names.ids, len(names))
    paths = PathTable.of(names.names)
    return lambda one: BaselineContext(ours.repo, ours.suffixes, fix_history, files, paths, one.cutoff, complexities)


@dataclass(eq=False)
class _BaselineRun:
    """One technique and the folder of its results; what an interruption leaves stands under ``WORK``."""

    chosen: Chosen
    system: Baseline
    experiment: ExperimentContext
    folder: Path
    progress: Progress

    @property
    def work(self) -> Path:
        return self.folder / WORK

    @cached_property
    def key(self) -> str:
        """Names what is kept: of other settings or reports it does not count."""
        cases = [[case.report.id, case.version] for case in self.experiment.dataset.cases]
        seed = self.experiment.config.run.seed
        return key_of(self.chosen.name, self.settings, self.chosen.cutoff, seed, cases)[:16]

    @property
    def settings(self) -> dict[str, Any]:
        return self.chosen.settings.model_dump(mode="json")

    def fit(self) -> None:
        self.work.mkdir(parents=True, exist_ok=True)
        train, validation = self.experiment.part("train"), self.experiment.part("validation")
        self.system.fit(train, validation, self.work / f"fit-{self.key}", self.progress)

    def rank(self, split: str) -> None:
        cases = self.experiment.part(split)
        header = self.experiment.run_header("tosloc baselines") | {
            "system": self.chosen.name,
            "settings": self.settings,
            "cutoff": self.chosen.cutoff,
            "split": split,
        }
        self.experiment.write_part(self.folder / split, header, self._rankings(split, cases), cases)

    def finish(self, seconds: Mapping[str, float]) -> None:
        write_text(self.folder / "seconds.json", json.dumps(seconds, indent=1) + "\n")
        record = self.experiment.provenance() | {"system": self.chosen.name, "settings": self.settings}
        if self.system.choice:
            record |= {"chosen on validation": dict(self.system.choice)}
        write_text(self.folder / "provenance.json", json.dumps(record, indent=1, sort_keys=True) + "\n")
        shutil.rmtree(self.work)

    def _rankings(self, split: str, cases: Sequence[Case]) -> Iterator[Ranking]:
        """Rankings of the cases; at their end left_out.json says how many files the published system would not have
        ranked: before the judgements are written, with which a part is finished.
        """
        context = self.system.context
        left_out: list[int] = []
        for start in range(0, len(cases), BLOCK):
            block = cases[start : start + BLOCK]
            path = self.work / f"{self.key}-{split}" / f"{start}.npz"
            if not path.exists():
                scores: list[FloatArray] = []
                for case in block:
                    scores.append(self.system.scores(context.query(case.report, case.version)))
                    self.progress(f"{self.chosen.name} {split}", start + len(scores), len(cases))
                counts = np.array([self.system.left_out(one) for one in scores], dtype=np.int64)
                save_arrays(path, {"scores": np.concatenate(scores), "left_out": counts}, level=1)
            stored = load_arrays(path)
            left_out += stored["left_out"].tolist()
            snapshots = [context.repo.snapshot(case.version, context.suffixes) for case in block]
            ends = np.cumsum([len(snapshot) for snapshot in snapshots])
            for case, snapshot, of_files in zip(block, snapshots, np.split(stored["scores"], ends[:-1]), strict=True):
                yield Ranking.from_scores(case.report.id, snapshot.paths, of_files)
            self.progress(f"{self.chosen.name} {split}", start + len(block), len(cases))
        mean = round(sum(left_out) / max(len(left_out), 1), 1)
        record = {"reports": len(cases), "files left out by the published system, a report": mean}
        write_text(self.folder / split / "left_out.json", json.dumps(record, indent=1) + "\n")
