"""The published techniques at work: rank labelled reports of a project with each of them, as ``train`` does with ours.

What they share on a project, the readings of its files, is made once for all that are query for. Finished systems are
skipped, and blocks of finished rankings are kept, so that an interrupted call goes on where it was.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from tosloc.arrays import load_arrays, save_arrays
from tosloc.config import Config
from tosloc.data.git import Repository
from tosloc.errors import ToslocError
from tosloc.evaluation.run_paths import JUDGEMENTS_FILE, RUN_FILE
from tosloc.experiment import ExperimentContext, results_folder
from tosloc.files import write_text
from tosloc.index.corpus import blobs_of
from tosloc.index.paths import PathTable
from tosloc.lab.baselines.context import Baseline, BaselineContext, Cutoff, FixHistory, ParsedFiles
from tosloc.lab.baselines.settings import Profile, Settings, load
from tosloc.records import Case, FloatArray, Progress, Ranking, Snapshot, silent

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
"""Reports whose scores are kept together while a system is at work."""
SPLITS = ("validation", "test")


def technique(name: str) -> type[Baseline]:
    """The class of a technique. Raises ToslocError for a name that is none."""
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


def choose(names: Sequence[str], profile: Profile = "clean", folder: Path | None = None) -> list[Chosen]:
    """Techniques by name (all, if none is named), settings from ``folder/NAME.toml`` where there is one.

    Raises ToslocError for an unknown name, ConfigError for wrong settings.
    """
    chosen = []
    for name in names or SYSTEMS:
        kind = technique(name)
        path = None if folder is None else folder / f"{name}.toml"
        settings = load(kind.Settings, path if path is not None and path.exists() else None)
        if profile != settings.profile:
            settings = settings.under(profile)
        chosen.append(Chosen(name if profile == "clean" else f"{name}-{profile}", kind, settings))
    return chosen


def rank_with(
    chosen: Sequence[Chosen],
    config: Config,
    repo_path: str | Path,
    reports_path: str | Path,
    out: str | Path,
    store_path: Path | None = None,
    splits: Sequence[str] = SPLITS,
    progress: Progress = silent,
) -> list[Path]:
    """Rank the splits' reports with each technique; the runs stand under ``out/NAME/SPLIT``. Returns ``out/NAME``.

    Systems whose runs are all there are skipped. Facts are made only for a technique that needs complexity.
    """
    folder = Path(out).expanduser()
    places = [folder / one.name for one in chosen]
    waiting = [
        one for one, place in zip(chosen, places, strict=True) if not all(finished(place, split) for split in splits)
    ]
    if not waiting:
        return places
    with results_folder(folder), Repository(repo_path) as repo:
        experiment = ExperimentContext.set_up(config, repo, Path(reports_path), store_path, progress, facts=False)
        try:
            contexts = BaselineContexts(experiment, config, waiting, splits, progress)
            for one in waiting:
                _rank(
                    one,
                    contexts.context(one),
                    experiment,
                    config,
                    Path(reports_path),
                    folder / one.name,
                    splits,
                    progress,
                )
        finally:
            experiment.indexed.close()
    return places


def finished(place: Path, split: str) -> bool:
    """Whether a split's run is there with its judgements."""
    return (place / split / RUN_FILE).is_file() and (place / split / JUDGEMENTS_FILE).is_file()


class BaselineContexts:
    """Contexts for techniques on one project: they share its files, and differ in which fixes count as earlier."""

    def __init__(
        self,
        experiment: ExperimentContext,
        config: Config,
        chosen: Sequence[Chosen],
        splits: Sequence[str],
        progress: Progress = silent,
    ) -> None:
        self.experiment, self.progress = experiment, progress
        project = experiment.indexed
        cases = [case for split in splits for case in experiment.part(split)]
        if any(one.kind.learned for one in chosen):
            cases += experiment.part("validation")
        for one in chosen:
            cases += one.kind.wanted(one.settings, experiment.part("train"))
        versions = list(dict.fromkeys(case.version for case in cases))
        snapshots = [project.snapshot(version) for version in versions]
        self._complexities = self._measured(snapshots) if any(one.kind.needs_complexity for one in chosen) else {}
        self._files = ParsedFiles.of(project.repo, snapshots, config.run.jobs, progress)
        names = project.repo.path_names
        self._archive = FixHistory(experiment.dataset.cases, experiment.history, names.ids, len(names))
        self._table = PathTable(names.names)

    def _measured(self, snapshots: Sequence[Snapshot]) -> dict[str, int]:
        project = self.experiment.indexed
        project.index(snapshots, self.progress)
        blobs = blobs_of(snapshots, project.suffixes)
        table = project.corpus(snapshots).table
        return {
            blob: int(number)
            for blob, number in zip(table.blobs, table.complexity.tolist(), strict=True)
            if blob in blobs
        }

    def context(self, one: Chosen) -> BaselineContext:
        """The context of one technique."""
        project = self.experiment.indexed
        return BaselineContext(
            project.repo,
            project.suffixes,
            self._archive,
            self._files,
            self._table,
            one.cutoff,
            self._complexities,
        )


def _rank(
    one: Chosen,
    context: BaselineContext,
    experiment: ExperimentContext,
    config: Config,
    reports: Path,
    place: Path,
    splits: Sequence[str],
    progress: Progress,
) -> None:
    began = time.monotonic()
    seconds: dict[str, float] = {}
    work = place / "work"
    work.mkdir(parents=True, exist_ok=True)
    key = _key(one, experiment, config)
    system = one.kind(one.settings, context, config.run.seed)
    system.fit(experiment.part("train"), experiment.part("validation"), work / f"fit-{key}", progress)
    seconds["fit"] = round(time.monotonic() - began, 1)
    header = experiment.run_header("tosloc baselines") | {
        "system": one.name,
        "settings": one.settings.model_dump(mode="json"),
        "cutoff": one.cutoff,
    }
    for split in splits:
        if finished(place, split):
            continue
        cases = experiment.part(split)
        began = time.monotonic()
        left_out = list[int]()
        told = partial(_tell, progress, f"{one.name} {split}", len(cases))
        rankings = _rankings(system, cases, work / f"{key}-{split}", left_out, told)
        experiment.write_part(place / split, header | {"split": split}, rankings, cases)
        seconds[split] = round(time.monotonic() - began, 1)
        said = {"reports": len(cases), "files left out by the published system, a report": _mean(left_out)}
        write_text(place / split / "left_out.json", json.dumps(said, indent=1) + "\n")
    write_text(place / "seconds.json", json.dumps(seconds, indent=1) + "\n")
    record = experiment.provenance() | {"system": one.name, "settings": header["settings"]}
    write_text(place / "provenance.json", json.dumps(record, indent=1, sort_keys=True) + "\n")
    shutil.rmtree(work)


def _rankings(
    system: Baseline, cases: Sequence[Case], work: Path, left_out: list[int], progress: Callable[[int], None]
) -> Iterator[Ranking]:
    """Rankings of the cases; the scores of finished blocks are kept until all are done."""
    context = system.context
    for start in range(0, len(cases), BLOCK):
        block = cases[start : start + BLOCK]
        path = work / f"{start}.npz"
        if path.exists():
            stored = load_arrays(path)
            scores, missing = stored["scores"], stored["left_out"].tolist()
        else:
            made: list[FloatArray] = []
            missing = []
            for case in block:
                query = context.asked(case.report, case.version)
                made.append(system.scores(query))
                missing.append(system.left_out(query))
                progress(start + len(made))
            scores = np.concatenate(made)
            work.mkdir(parents=True, exist_ok=True)
            save_arrays(path, {"scores": scores, "left_out": np.array(missing, dtype=np.int64)}, level=1)
        left_out += missing
        at = 0
        for case in block:
            paths = context.repo.snapshot(case.version, context.suffixes).paths
            yield Ranking.from_scores(case.report.id, paths, scores[at : at + len(paths)])
            at += len(paths)
        progress(start + len(block))


def _tell(progress: Progress, what: str, total: int, done: int) -> None:
    progress(what, done, total)


def _key(one: Chosen, experiment: ExperimentContext, config: Config) -> str:
    told = [one.name, one.settings.model_dump(mode="json"), one.cutoff, config.run.seed]
    told += [[case.report.id, case.version] for case in experiment.dataset.cases]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


def _mean(values: Sequence[int]) -> float:
    return round(sum(values) / max(len(values), 1), 1)
