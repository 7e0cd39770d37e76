"""Whole experiments: index a repository, train on labelled reports, rank them with a finished checkpoint."""

from __future__ import annotations

import json
import platform
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

import tosloc
from tosloc.analysis.build import BuildReport
from tosloc.analysis.facts import ANALYSER
from tosloc.analysis.report_attributes import attributes_of
from tosloc.arrays import load_arrays
from tosloc.config import Config
from tosloc.data.datasets import Dataset, load_dataset
from tosloc.data.git import Repository
from tosloc.data.history import History
from tosloc.data.splits import Splits, chronological
from tosloc.errors import LearnedError, ToslocError
from tosloc.evaluation.file_lists import FILE_LISTS_FILE, write_file_lists
from tosloc.evaluation.judgements import Judgement, write_judgements
from tosloc.evaluation.run_paths import JUDGEMENTS_FILE, RUN_FILE
from tosloc.evaluation.runs import write_run
from tosloc.files import write_text
from tosloc.index.build_history import report_documents
from tosloc.index.history_index import HistoryIndex
from tosloc.index.repository import IndexedRepository
from tosloc.localizer import SECOND, Localizer, shipped, ships
from tosloc.records import Case, Progress, Ranking, silent
from tosloc.reranking.terms.reranker import Learned, Material
from tosloc.retrieval.feature_tables import Extraction, FeatureTable, LabelledReports, tasks_of
from tosloc.retrieval.stage_one import StageOne
from tosloc.retrieval.stored_tables import StoredFeatureTables, write_listing

STAGE_ONE = "stage_one"
"""Folder of the runs of stage one alone, where there are two stages."""
PACKAGES = ("numpy", "scipy", "scikit-learn", "lizard", "GitPython", "tree-sitter", "PyStemmer", "lightgbm")
DEEP_PACKAGES = ("torch", "transformers", "accelerate")
TERMS_PACKAGES = ("torch", "safetensors")


class Stopwatch:
    """Seconds since the last look, by what was done in them."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.monotonic()

    def took(self, what: str) -> None:
        """Note the seconds since the last call under ``what``."""
        now = time.monotonic()
        self.seconds[what] = round(now - self._last, 1)
        self._last = now

    def write(self, folder: Path) -> None:
        """Write seconds.json; it stands apart, so that everything else of a run is the same byte for byte."""
        write_text(folder / "seconds.json", json.dumps(self.seconds, indent=1) + "\n")


@dataclass(eq=False)
class ExperimentContext:
    """A project with its labelled reports, facts and evidence: all that an experiment needs."""

    project: IndexedRepository
    dataset: Dataset
    splits: Splits
    history: History
    evidence: HistoryIndex

    @classmethod
    def set_up(
        cls,
        config: Config,
        repo: Repository,
        reports: Path,
        store_path: Path | None,
        progress: Progress = silent,
        *,
        facts: bool = True,
    ) -> ExperimentContext:
        """Read the reports, make the facts of all of their versions, read the history that leads to them.

        Without ``facts`` none are made, for techniques that read the files in ways of their own.
        """
        project = IndexedRepository(repo, store_path, config.data.suffixes, config.run.jobs)
        dataset = load_dataset(repo, reports, zone=config.data.zone, suffixes=project.suffixes, progress=progress)
        splits = chronological(dataset.cases, config.data.train, config.data.validation)
        versions = list(dict.fromkeys(case.version for case in dataset.cases))
        if facts:
            project.index([project.snapshot(version) for version in versions], progress)
        tips = list(dict.fromkeys(case.fix_commit for case in dataset.cases))
        history = project.history(tips, progress)
        return cls(
            project, dataset, splits, history, project.build_history(history, dataset.cases, config.history.max_files)
        )

    def part(self, name: str) -> Sequence[Case]:
        """The cases of train, validation, test or all."""
        parts: Mapping[str, Sequence[Case]] = {
            "train": self.splits.train,
            "validation": self.splits.validation,
            "test": self.splits.test,
            "all": self.dataset.cases,
        }
        return parts[name]

    def labelled(self) -> LabelledReports:
        """All cases by report, with their repository."""
        project = self.project
        return LabelledReports(project.repo, project.suffixes, {case.report.id: case for case in self.dataset.cases})

    def material(self) -> Material:
        """All cases with the facts of their files and what was known when they were opened."""
        return Material(self.labelled(), self.project.store, self.evidence, self.history.ancestors)

    def extraction(self, folder: Path, names: Sequence[str]) -> Extraction:
        """A place for feature tables, with the evidence that its workers read."""
        made = Extraction(folder, self.project.repo.path, self.project.store_path, self.project.suffixes, names)
        made.write_history(self.evidence, self.project.repo.path_names)
        return made


def train(
    config: Config,
    repo_path: str | Path,
    reports_path: str | Path,
    out: str | Path,
    store_path: Path | None = None,
    progress: Progress = silent,
    *,
    carry: bool = True,
    keep_features: bool = False,
    default: StageOne | str | None = "shipped",
) -> Localizer:
    """Learn on train, choose on validation, rank validation and test; the checkpoint and both runs stand under ``out``.

    With ``carry`` the checkpoint holds the newest version among the reports, for localizing without a repository.
    ``default`` is the stage one that training may lean on: the shipped one, another, or None.
    """
    folder = Path(out).expanduser()
    watch = Stopwatch()
    localizer = Localizer(config)
    names = localizer.feature_names
    with results_folder(folder), Repository(repo_path) as repo:
        experiment = ExperimentContext.set_up(config, repo, Path(reports_path), store_path, progress)
        if not experiment.splits.train:
            number = len(experiment.dataset.cases)
            counted = "1 report" if number == 1 else f"{number} reports"
            raise ToslocError(
                f"{reports_path}: {counted} with a fix in the repository, of which the oldest"
                f" {config.data.train:.0%} are none to train on; give more, or use the shipped weights"
            )
        watch.took("facts and history")
        chosen, sampled = localizer.training_tasks(experiment.splits.train)
        work = folder / "work"
        extraction = experiment.extraction(work, names)

        def tables(cases: Sequence[Case], sampled: int, what: str) -> list[Path]:
            return extraction.run(
                tasks_of(cases, experiment.history, sampled), jobs=config.run.jobs, what=what, progress=progress
            )

        learned = tables(chosen, sampled, "features of train")
        validation = tables(experiment.splits.validation, 0, "features of validation")
        watch.took("features of train and validation")
        if default == "shipped":
            default = shipped() if ships() else None
        base = default if isinstance(default, StageOne) else None
        localizer.fit(extraction, learned, validation, default=base, progress=progress)
        watch.took("fit and choice")
        labelled = experiment.labelled()
        wording = None
        if config.stage_two.reader == "terms":
            wording = localizer.fit_wording(
                experiment.material(), extraction.tables(learned), lambda: extraction.tables(validation), progress
            )
            watch.took("stage two")
        elif config.stage_two.enabled:
            localizer.fit_second(
                experiment.project,
                labelled,
                lambda: extraction.tables(learned),
                lambda: extraction.tables(validation),
                work / SECOND,
                progress,
            )
            watch.took("stage two")
        test = tables(experiment.splits.test, 0, "features of test")
        localizer.provenance_ = provenance(config, experiment, Path(reports_path)) | taught(wording)
        paths = repo.path_names.names
        header = run_header("tosloc train", config, experiment, Path(reports_path))
        for part, blocks in (("validation", validation), ("test", test)):
            named, cases = header | {"split": part}, experiment.part(part)
            if wording is not None:
                write_reworded(folder, named, partial(extraction.tables, blocks), experiment, wording)
                continue
            first = (localizer.rank_table(table, paths) for table in extraction.tables(blocks))
            if localizer.second_ is None:
                write_part(folder / part, named, first, experiment, cases)
                continue
            # what stage two adds is judged beside what it began with
            write_part(folder / STAGE_ONE / part, named | {"stage": "one"}, first, experiment, cases)
            both = localizer.reranked(experiment.project, extraction.tables(blocks), labelled, progress)
            write_part(folder / part, named, both, experiment, cases)
        watch.took("features of test, rankings")
        localizer.reports_ = (
            report_documents(experiment.dataset.cases, experiment.history, repo.path_names),
            tuple(paths),
        )
        if carry:
            newest = max(experiment.dataset.cases, key=lambda case: case.fixed_at).version
            localizer.open(experiment.project, newest, progress)
        localizer.save(folder / "checkpoint")
        watch.took("checkpoint")
        watch.write(folder)
        write_text(folder / "provenance.json", json.dumps(localizer.provenance_, indent=1, sort_keys=True) + "\n")
        experiment.project.close()
    if keep_features:
        write_listing(work, extraction.names, {"train": learned, "validation": validation, "test": test})
    else:
        shutil.rmtree(work)
    return localizer


def learn_terms(
    config: Config,
    run: str | Path,
    repo_path: str | Path,
    reports_path: str | Path,
    out: str | Path,
    store_path: Path | None = None,
    progress: Progress = silent,
) -> Localizer:
    """Add a second stage of term vectors to a training folder that keeps its feature tables.

    ``out`` gets what ``train`` with this configuration leaves; stage one is the run's. Raises ToslocError when the run
    keeps no tables, or was trained on other reports or another history.
    """
    folder = Path(out).expanduser()
    kept, localizer = StoredFeatureTables.read(Path(run).expanduser()), Localizer.load(run)
    watch = Stopwatch()
    base = localizer.config
    two = base.stage_two.model_copy(update={"reader": "terms", "terms": config.stage_two.terms})
    localizer.config = config = base.model_copy(update={"stage_two": two, "run": config.run})
    with results_folder(folder), Repository(repo_path) as repo:
        evidence, names = HistoryIndex.from_arrays(load_arrays(kept.history_path))
        for name in names:  # the tables' numbers of paths
            repo.path_names.id(name)
        experiment = ExperimentContext.set_up(config, repo, Path(reports_path), store_path, progress)
        for was, now in (
            (evidence.commits, experiment.evidence.commits),
            (evidence.reports, experiment.evidence.reports),
        ):
            if was.ids != now.ids or was.commit_ids != now.commit_ids:
                raise ToslocError(f"{run} was trained on other reports or another history; train it again")
        watch.took("facts and history")
        tables = {part: partial(kept.tables, part) for part in kept.blocks}
        wording = localizer.fit_wording(experiment.material(), tables["train"](), tables["validation"], progress)
        watch.took("stage two")
        localizer.provenance_ = provenance(config, experiment, Path(reports_path)) | taught(wording)
        header = run_header("tosloc train", config, experiment, Path(reports_path))
        for part in ("validation", "test"):
            write_reworded(folder, header | {"split": part}, tables[part], experiment, wording)
        watch.took("rankings")
        localizer.save(folder / "checkpoint")
        watch.took("checkpoint")
        watch.write(folder)
        write_text(folder / "provenance.json", json.dumps(localizer.provenance_, indent=1, sort_keys=True) + "\n")
        experiment.project.close()
    return localizer


def rank_reports(
    checkpoint: str | Path | None,
    repo_path: str | Path,
    reports_path: str | Path,
    out: str | Path,
    split: str = "test",
    store_path: Path | None = None,
    progress: Progress = silent,
    *,
    config: Config | None = None,
) -> None:
    """Rank labelled reports with a finished checkpoint (None: the shipped weights), without training.

    ``split`` is validation, test or all of the chronological split; each report is asked of its before-fix version with
    what was known when it was opened.
    """
    folder = Path(out).expanduser()
    localizer = Localizer.load(checkpoint) if checkpoint is not None else Localizer.default()
    config = config or localizer.config
    watch = Stopwatch()
    with results_folder(folder), Repository(repo_path) as repo:
        experiment = ExperimentContext.set_up(config, repo, Path(reports_path), store_path, progress)
        cases = experiment.part(split)
        if localizer.wording_ is not None and localizer.wording_.learned_from(split, cases):
            raise LearnedError(
                f"the second stage of {checkpoint} has learned from the {split} reports themselves; rank test, or train"
                " with refit = false in [stage_two.terms]"
            )
        if not cases:
            raise ToslocError(
                f"{reports_path}: none of its {len(experiment.dataset.cases)} reports falls to {split}; rank them with"
                " --split all"
            )
        watch.took("facts and history")
        work = folder / "work"
        extraction = experiment.extraction(work, localizer.stage_one.features)
        blocks = extraction.run(
            tasks_of(cases, experiment.history, 0), jobs=config.run.jobs, what=f"ranking {split}", progress=progress
        )
        header = run_header("tosloc rank", config, experiment, Path(reports_path)) | {"split": split}
        rankings: Iterator[Ranking]
        if localizer.wording_ is not None:
            wording, material = localizer.wording_, experiment.material()
            words = material.words(wording.vocabulary, wording.settings)
            header |= {"stage two learned on": list(wording.learned_on)}
            rankings = wording.rankings(extraction.tables(blocks), localizer.stage_one, words, material)
        elif localizer.second_ is None:
            paths = repo.path_names.names
            rankings = (localizer.rank_table(table, paths) for table in extraction.tables(blocks))
        else:
            rankings = localizer.reranked(
                experiment.project, extraction.tables(blocks), experiment.labelled(), progress
            )
        write_part(folder / split, header, rankings, experiment, cases)
        watch.took("features, rankings")
        watch.write(folder)
        record = provenance(config, experiment, Path(reports_path)) | {"checkpoint": localizer.provenance_}
        write_text(folder / "provenance.json", json.dumps(record, indent=1, sort_keys=True) + "\n")
        experiment.project.close()
    shutil.rmtree(work)


def index(
    repo_path: str | Path,
    revision: str = "HEAD",
    config: Config | None = None,
    store_path: Path | None = None,
    progress: Progress = silent,
) -> BuildReport:
    """Make the facts of one version's files."""
    suffixes = config.data.suffixes if config is not None else ()
    jobs = config.run.jobs if config is not None else -1
    with Repository(repo_path) as repo:
        project = IndexedRepository(repo, store_path, suffixes, jobs)
        try:
            return project.index([project.sources(revision)], progress)
        finally:
            project.close()


def write_reworded(
    folder: Path,
    header: Mapping[str, Any],
    tables: Callable[[], Iterable[FeatureTable]],
    experiment: ExperimentContext,
    learned: Learned,
) -> None:
    """Write the rankings of one part by both stages, and beside them those of stage one; the header names the part."""
    part = str(header["split"])
    paths, cases = experiment.project.repo.path_names.names, experiment.part(part)
    first = (table.ranking(learned.stage.scores(table.rows), paths) for table in tables())
    write_part(folder / STAGE_ONE / part, {**header, "stage": "one"}, first, experiment, cases)
    judged = part == "validation"
    seen = {"stage two learned on": list((learned.judged if judged else learned.final).learned_on)}
    both = learned.rankings(tables(), validation=judged)
    write_part(folder / part, {**header, **seen}, both, experiment, cases)


def taught(learned: Learned | None) -> dict[str, Any]:
    """What provenance says of a second stage of term vectors."""
    return {} if learned is None else {"stage two learned on": list(learned.final.learned_on)}


def write_part(
    folder: Path,
    header: Mapping[str, Any],
    rankings: Iterator[Ranking],
    experiment: ExperimentContext,
    cases: Sequence[Case],
) -> None:
    """Write the rankings of some cases with all that judges them."""
    project, files = experiment.project, experiment.dataset.files
    write_run(folder / RUN_FILE, header, rankings)
    write_file_lists(folder / FILE_LISTS_FILE, ((case.version, project.snapshot(case.version).paths) for case in cases))
    # last, since a folder with judgements is a finished run
    judgements = [Judgement.of(case, files[case.report.id], attributes_of(case.report, case.fixed)) for case in cases]
    write_judgements(folder / JUDGEMENTS_FILE, judgements)


@contextmanager
def results_folder(folder: Path) -> Iterator[None]:
    """A folder for results, made at once to know a wrong one early; gone again if an error leaves it empty."""
    made = [place for place in (folder, *folder.parents) if not place.exists()]
    _writable(folder)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # not empty: what is there serves the next run
            for place in made:
                place.rmdir()
        raise


def _writable(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ToslocError(f"{folder} is a file; name a folder for the results")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToslocError(f"{folder} cannot be made ({error.strerror}); name a folder that can be written") from error


def fingerprint(path: Path) -> str:
    """SHA-256 of a file, for provenance."""
    return sha256(path.read_bytes()).hexdigest()


def run_header(command: str, config: Config, experiment: ExperimentContext, reports: Path) -> dict[str, Any]:
    """What a run's first line says: the same for the same command, so that runs can be compared byte for byte.

    What it took stands beside the run, in seconds.json.
    """
    return {
        "command": command,
        "seed": config.run.seed,
        "search space": "all source files of the before-fix version",
        "unresolved": len(experiment.dataset.unresolved),
        **provenance(config, experiment, reports),
    }


def provenance(config: Config, experiment: ExperimentContext, reports: Path) -> dict[str, Any]:
    """Where a result comes from."""
    two = config.stage_two
    deep = TERMS_PACKAGES if two.reader == "terms" else DEEP_PACKAGES if two.enabled else ()
    return {
        "tosloc": tosloc.__version__,
        "analyser": ANALYSER,
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in (*PACKAGES, *deep)},
        "config": config.as_dict(),
        "repository": experiment.project.repo.name,
        "reports": {"name": reports.name, "sha256": fingerprint(reports), "cases": len(experiment.dataset.cases)},
        "newest fix": experiment.dataset.cases[-1].fix_commit,
        "splits": {name: len(experiment.part(name)) for name in ("train", "validation", "test")},
    }
