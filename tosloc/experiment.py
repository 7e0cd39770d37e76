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
from tosloc.analysis.traits import traits_of
from tosloc.config import Config
from tosloc.data.datasets import Dataset, load_dataset
from tosloc.data.git import Repository
from tosloc.data.history import History
from tosloc.data.splits import Splits, chronological
from tosloc.errors import LearnedError, ToslocError
from tosloc.evaluation.judgements import Judgement, write_judgements
from tosloc.evaluation.places import JUDGEMENTS_FILE, RUN_FILE
from tosloc.evaluation.runs import write_run
from tosloc.evaluation.searched import SEARCHED_FILE, write_searched
from tosloc.files import write_text
from tosloc.pipeline.extraction import Extraction, Labelled, Table, tasks_of
from tosloc.pipeline.localizer import SECOND, Localizer, shipped, ships
from tosloc.pipeline.pooling import Kept, write_listing
from tosloc.pipeline.project import Project
from tosloc.pipeline.wording import Learned, Material
from tosloc.records import Case, Progress, Ranking, silent
from tosloc.retrieval.arrays import evidence_from, load
from tosloc.retrieval.evidence import Evidence
from tosloc.retrieval.gather import report_documents
from tosloc.retrieval.stage_one import StageOne

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
class Laboratory:
    """A project with its labelled reports, facts and evidence: all that an experiment needs."""

    project: Project
    dataset: Dataset
    splits: Splits
    history: History
    evidence: Evidence

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
    ) -> Laboratory:
        """Read the reports, make the facts of all of their versions, read the history that leads to them.

        Without ``facts`` none are made, for techniques that read the files in ways of their own.
        """
        project = Project(repo, store_path, config.data.suffixes, config.run.jobs)
        dataset = load_dataset(repo, reports, zone=config.data.zone, suffixes=project.suffixes, progress=progress)
        splits = chronological(dataset.cases, config.data.train, config.data.validation)
        versions = list(dict.fromkeys(case.version for case in dataset.cases))
        if facts:
            project.index([project.snapshot(version) for version in versions], progress)
        tips = list(dict.fromkeys(case.fix_commit for case in dataset.cases))
        history = project.history(tips, progress)
        return cls(
            project, dataset, splits, history, project.evidence(history, dataset.cases, config.history.max_files)
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

    def labelled(self) -> Labelled:
        """All cases by report, with their repository."""
        project = self.project
        return Labelled(project.repo, project.suffixes, {case.report.id: case for case in self.dataset.cases})

    def material(self) -> Material:
        """All cases with the facts of their files and what was known when they were opened."""
        return Material(self.labelled(), self.project.store, self.evidence, self.history.ancestors)

    def extraction(self, folder: Path, names: Sequence[str]) -> Extraction:
        """A place for feature tables, with the evidence that its workers read."""
        made = Extraction(folder, self.project.repo.path, self.project.store_path, self.project.suffixes, names)
        made.write_evidence(self.evidence, self.project.repo.path_names)
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
        laboratory = Laboratory.set_up(config, repo, Path(reports_path), store_path, progress)
        if not laboratory.splits.train:
            number = len(laboratory.dataset.cases)
            counted = "1 report" if number == 1 else f"{number} reports"
            raise ToslocError(
                f"{reports_path}: {counted} with a fix in the repository, of which the oldest"
                f" {config.data.train:.0%} are none to train on; give more, or use the shipped weights"
            )
        watch.took("facts and history")
        chosen, sampled = localizer.training_tasks(laboratory.splits.train)
        work = folder / "work"
        extraction = laboratory.extraction(work, names)

        def tables(cases: Sequence[Case], sampled: int, what: str) -> list[Path]:
            return extraction.run(
                tasks_of(cases, laboratory.history, sampled), jobs=config.run.jobs, what=what, progress=progress
            )

        learned = tables(chosen, sampled, "features of train")
        validation = tables(laboratory.splits.validation, 0, "features of validation")
        watch.took("features of train and validation")
        if default == "shipped":
            default = shipped() if ships() else None
        base = default if isinstance(default, StageOne) else None
        localizer.fit(extraction, learned, validation, default=base, progress=progress)
        watch.took("fit and choice")
        labelled = laboratory.labelled()
        wording = None
        if config.stage_two.reader == "terms":
            wording = localizer.fit_wording(
                laboratory.material(), extraction.tables(learned), lambda: extraction.tables(validation), progress
            )
            watch.took("stage two")
        elif config.stage_two.enabled:
            localizer.fit_second(
                laboratory.project,
                labelled,
                lambda: extraction.tables(learned),
                lambda: extraction.tables(validation),
                work / SECOND,
                progress,
            )
            watch.took("stage two")
        test = tables(laboratory.splits.test, 0, "features of test")
        localizer.provenance_ = provenance(config, laboratory, Path(reports_path)) | taught(wording)
        paths = repo.path_names.names
        header = run_header("tosloc train", config, laboratory, Path(reports_path))
        for part, blocks in (("validation", validation), ("test", test)):
            named, cases = header | {"split": part}, laboratory.part(part)
            if wording is not None:
                write_reworded(folder, named, partial(extraction.tables, blocks), laboratory, wording)
                continue
            first = (localizer.rank_table(table, paths) for table in extraction.tables(blocks))
            if localizer.second_ is None:
                write_part(folder / part, named, first, laboratory, cases)
                continue
            # what stage two adds is judged beside what it began with
            write_part(folder / STAGE_ONE / part, named | {"stage": "one"}, first, laboratory, cases)
            both = localizer.reranked(laboratory.project, extraction.tables(blocks), labelled, progress)
            write_part(folder / part, named, both, laboratory, cases)
        watch.took("features of test, rankings")
        localizer.reports_ = (
            report_documents(laboratory.dataset.cases, laboratory.history, repo.path_names),
            tuple(paths),
        )
        if carry:
            newest = max(laboratory.dataset.cases, key=lambda case: case.fixed_at).version
            localizer.open(laboratory.project, newest, progress)
        localizer.save(folder / "checkpoint")
        watch.took("checkpoint")
        watch.write(folder)
        write_text(folder / "provenance.json", json.dumps(localizer.provenance_, indent=1, sort_keys=True) + "\n")
        laboratory.project.close()
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
    kept, localizer = Kept.read(Path(run).expanduser()), Localizer.load(run)
    watch = Stopwatch()
    base = localizer.config
    two = base.stage_two.model_copy(update={"reader": "terms", "terms": config.stage_two.terms})
    localizer.config = config = base.model_copy(update={"stage_two": two, "run": config.run})
    with results_folder(folder), Repository(repo_path) as repo:
        evidence, names = evidence_from(load(kept.evidence_path))
        for name in names:  # the tables' numbers of paths
            repo.path_names.id(name)
        laboratory = Laboratory.set_up(config, repo, Path(reports_path), store_path, progress)
        for was, now in (
            (evidence.commits, laboratory.evidence.commits),
            (evidence.reports, laboratory.evidence.reports),
        ):
            if was.ids != now.ids or was.commit_ids != now.commit_ids:
                raise ToslocError(f"{run} was trained on other reports or another history; train it again")
        watch.took("facts and history")
        tables = {part: partial(kept.tables, part) for part in kept.blocks}
        wording = localizer.fit_wording(laboratory.material(), tables["train"](), tables["validation"], progress)
        watch.took("stage two")
        localizer.provenance_ = provenance(config, laboratory, Path(reports_path)) | taught(wording)
        header = run_header("tosloc train", config, laboratory, Path(reports_path))
        for part in ("validation", "test"):
            write_reworded(folder, header | {"split": part}, tables[part], laboratory, wording)
        watch.took("rankings")
        localizer.save(folder / "checkpoint")
        watch.took("checkpoint")
        watch.write(folder)
        write_text(folder / "provenance.json", json.dumps(localizer.provenance_, indent=1, sort_keys=True) + "\n")
        laboratory.project.close()
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
        laboratory = Laboratory.set_up(config, repo, Path(reports_path), store_path, progress)
        cases = laboratory.part(split)
        if localizer.wording_ is not None and localizer.wording_.learned_from(split, cases):
            raise LearnedError(
                f"the second stage of {checkpoint} has learned from the {split} reports themselves; rank test, or train"
                " with refit = false in [stage_two.terms]"
            )
        if not cases:
            raise ToslocError(
                f"{reports_path}: none of its {len(laboratory.dataset.cases)} reports falls to {split}; rank them with"
                " --split all"
            )
        watch.took("facts and history")
        work = folder / "work"
        extraction = laboratory.extraction(work, localizer.stage_one.features)
        blocks = extraction.run(
            tasks_of(cases, laboratory.history, 0), jobs=config.run.jobs, what=f"ranking {split}", progress=progress
        )
        header = run_header("tosloc rank", config, laboratory, Path(reports_path)) | {"split": split}
        rankings: Iterator[Ranking]
        if localizer.wording_ is not None:
            wording, material = localizer.wording_, laboratory.material()
            words = material.words(wording.lexicon, wording.settings)
            header |= {"stage two learned on": list(wording.learned_on)}
            rankings = wording.rankings(extraction.tables(blocks), localizer.stage_one, words, material)
        elif localizer.second_ is None:
            paths = repo.path_names.names
            rankings = (localizer.rank_table(table, paths) for table in extraction.tables(blocks))
        else:
            rankings = localizer.reranked(
                laboratory.project, extraction.tables(blocks), laboratory.labelled(), progress
            )
        write_part(folder / split, header, rankings, laboratory, cases)
        watch.took("features, rankings")
        watch.write(folder)
        record = provenance(config, laboratory, Path(reports_path)) | {"checkpoint": localizer.provenance_}
        write_text(folder / "provenance.json", json.dumps(record, indent=1, sort_keys=True) + "\n")
        laboratory.project.close()
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
        project = Project(repo, store_path, suffixes, jobs)
        try:
            return project.index([project.sources(revision)], progress)
        finally:
            project.close()


def write_reworded(
    folder: Path,
    header: Mapping[str, Any],
    tables: Callable[[], Iterable[Table]],
    laboratory: Laboratory,
    learned: Learned,
) -> None:
    """Write the rankings of one part by both stages, and beside them those of stage one; the header names the part."""
    part = str(header["split"])
    paths, cases = laboratory.project.repo.path_names.names, laboratory.part(part)
    first = (table.ranking(learned.stage.scores(table.rows), paths) for table in tables())
    write_part(folder / STAGE_ONE / part, {**header, "stage": "one"}, first, laboratory, cases)
    judged = part == "validation"
    seen = {"stage two learned on": list((learned.judged if judged else learned.final).learned_on)}
    both = learned.rankings(tables(), validation=judged)
    write_part(folder / part, {**header, **seen}, both, laboratory, cases)


def taught(learned: Learned | None) -> dict[str, Any]:
    """What provenance says of a second stage of term vectors."""
    return {} if learned is None else {"stage two learned on": list(learned.final.learned_on)}


def write_part(
    folder: Path, header: Mapping[str, Any], rankings: Iterator[Ranking], laboratory: Laboratory, cases: Sequence[Case]
) -> None:
    """Write the rankings of some cases with all that judges them."""
    project, files = laboratory.project, laboratory.dataset.files
    write_run(folder / RUN_FILE, header, rankings)
    write_searched(folder / SEARCHED_FILE, ((case.version, project.snapshot(case.version).paths) for case in cases))
    # last, since a folder with judgements is a finished run
    judgements = [Judgement.of(case, files[case.report.id], traits_of(case.report, case.fixed)) for case in cases]
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


def run_header(command: str, config: Config, laboratory: Laboratory, reports: Path) -> dict[str, Any]:
    """What a run's first line says: the same for the same command, so that runs can be compared byte for byte.

    What it took stands beside the run, in seconds.json.
    """
    return {
        "command": command,
        "seed": config.run.seed,
        "search space": "all source files of the before-fix version",
        "unresolved": len(laboratory.dataset.unresolved),
        **provenance(config, laboratory, reports),
    }


def provenance(config: Config, laboratory: Laboratory, reports: Path) -> dict[str, Any]:
    """Where a result comes from."""
    two = config.stage_two
    deep = TERMS_PACKAGES if two.reader == "terms" else DEEP_PACKAGES if two.enabled else ()
    return {
        "tosloc": tosloc.__version__,
        "analyser": ANALYSER,
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in (*PACKAGES, *deep)},
        "config": config.as_dict(),
        "repository": laboratory.project.repo.name,
        "reports": {"name": reports.name, "sha256": fingerprint(reports), "cases": len(laboratory.dataset.cases)},
        "newest fix": laboratory.dataset.cases[-1].fix_commit,
        "splits": {name: len(laboratory.part(name)) for name in ("train", "validation", "test")},
    }
