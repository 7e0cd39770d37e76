"""What every experiment shares: labelled reports with their repository, results folders, provenance, ranking."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import file_digest
from importlib import metadata
from pathlib import Path
from typing import Any, Final, Self

import tosloc
from tosloc.code.languages import analyser_version
from tosloc.core.arrays import save_arrays, to_arrays
from tosloc.core.config import Config
from tosloc.core.errors import ToslocError, pluralize
from tosloc.core.io import remove_unfinished
from tosloc.core.records import Case, Progress, Ranking, ignore_progress
from tosloc.evaluate.judgements import Judgement, write_judgements
from tosloc.evaluate.run_paths import JUDGEMENTS_FILE, RUN_FILE
from tosloc.evaluate.runs import TRAINED_ON, write_run
from tosloc.git.history import read_history
from tosloc.git.repository import Repository
from tosloc.localize.checkpoint import WEIGHTS_FILE, shipped, write_record
from tosloc.localize.localization import texts_of
from tosloc.localize.localizer import Localizer
from tosloc.rank.calibration import TEMPERATURE_KEY
from tosloc.rank.extraction import HISTORY_FILE, Extraction
from tosloc.rank.stage_one import StageOne
from tosloc.rank.tables import WORK_FOLDER, FeatureTable, read_blocks
from tosloc.reports.labelled import (
    Dataset,
    attributes_of,
    chronological,
    load_dataset,
    resolve_suffixes,
)
from tosloc.rerank.base import RerankingContext
from tosloc.retrieval.history_index import build_history
from tosloc.storage.build import BuildReport
from tosloc.train.candidates import LabelledCandidates
from tosloc.train.function_runs import write_function_runs

_PACKAGES: Final = ("numpy", "scipy", "tree-sitter", "PyStemmer", "lightgbm")
_OF_RERANKERS: Final = {
    "terms": ("torch", "safetensors"),
    "encoder": ("torch", "transformers", "accelerate"),
}


class ExperimentContext:
    """A repository with its labelled reports, facts and history: all that an experiment needs."""

    def __init__(
        self,
        config: Config,
        repo: Repository,
        reports: Path,
        progress: Progress = ignore_progress,
        *,
        facts: bool = True,
    ) -> None:
        """Read the reports, make the facts of all of their versions, read the history that leads to them. Without
        ``facts`` none are made, for techniques that read the files in ways of their own.
        """
        self.repo, self.reports, self.config = repo, reports, resolve_suffixes(config, reports)
        self.indexed = Localizer(self.config).indexed(repo)
        try:
            self._read(progress, facts)
        except BaseException:
            self.indexed.close()
            raise

    def _read(self, progress: Progress, facts: bool) -> None:
        """Read the reports and their history, and with ``facts`` make the facts of their versions."""
        repo, reports, data, indexed = self.repo, self.reports, self.config.data, self.indexed
        dataset = load_dataset(
            repo, reports, zone=data.zone, suffixes=indexed.suffixes, progress=progress
        )
        self.dataset = dataset.oldest(data.oldest)
        cases = self.dataset.cases
        self.parts = chronological(cases, data.train, data.validation)
        if facts:
            versions = dict.fromkeys(case.version for case in cases)
            indexed.index([indexed.snapshot(version) for version in versions], progress)
        tips = dict.fromkeys(case.fix_commit or case.version for case in cases)
        self.history = read_history(repo, list(tips), indexed.suffixes, progress)
        self.history_index = build_history(self.history, cases, repo.path_names)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.indexed.close()

    def candidates(
        self, stage: StageOne, tables: Callable[[str], Iterable[FeatureTable]]
    ) -> LabelledCandidates:
        """Candidates of all cases; ``tables`` gives the feature tables of a part, anew at each call."""
        cases = {case.report.id: case for case in self.dataset.cases}
        return LabelledCandidates(self.repo, self.indexed.suffixes, cases, stage, tables)

    def shipped(self, case: Case) -> tuple[StageOne, float]:
        """The shipped weights for the files that a report was opened to, and their temperature."""
        return shipped(self.indexed.snapshot(case.version).paths)

    def weak_reports(self, cases: Iterable[Case]) -> int:
        """Return how many of the cases have a commit message in place of a report."""
        return sum(self.dataset.labelled[case.report.id].weak for case in cases)

    def for_reranking(self) -> RerankingContext:
        """What a reranker may read: files of all versions, and the whole history, of which each report sees a part."""
        return RerankingContext(
            self.indexed.facts,
            self.history_index,
            self.history.ancestors,
            texts_of(self.repo),
            self.indexed.vectors_path,
        )

    def extraction(self, folder: Path, names: tuple[str, ...]) -> Extraction:
        """A place for feature tables, with the history that its workers read."""
        indexed, history = self.indexed, folder / HISTORY_FILE
        save_arrays(
            history, to_arrays({"paths": self.repo.path_names.names, "history": self.history_index})
        )
        of_history, where = fingerprint(history), (folder, self.repo.path, indexed.store_path)
        return Extraction(
            *where, indexed.suffixes, names, of_history, self.history.ancestors, indexed.lizard
        )

    def provenance(self) -> dict[str, Any]:
        """Where a result comes from."""
        two, cases = self.config.stage_two, self.dataset.cases
        packages = [*_PACKAGES, *(_OF_RERANKERS[two.reranker] if two.enabled else ())]
        packages += ["lizard"] if self.indexed.lizard else []
        return {
            "tosloc": tosloc.__version__,
            "analyser": analyser_version(self.indexed.lizard),
            "python": platform.python_version(),
            "packages": {name: metadata.version(name) for name in packages},
            "config": self.config.as_dict(),
            "repository": self.repo.name,
            "reports": {**named(self.reports), "cases": len(cases)},
            "newest fix": cases[-1].fix_commit or cases[-1].version,
            "splits": {name: len(self.parts[name]) for name in ("train", "validation", "test")},
        }

    def trained_on(self, provenance: Mapping[str, Any], cases: Sequence[Case]) -> int:
        """How many of these cases taught a checkpoint, by its provenance. It is known where the checkpoint learned from
        the same file of reports, byte for byte; else 0.
        """
        try:
            same = provenance["reports"]["sha256"] == fingerprint(self.reports)
            oldest = self.dataset.cases[: provenance["splits"]["train"]] if same else ()
        except (KeyError, TypeError):
            return 0
        return len({case.report.id for case in oldest} & {case.report.id for case in cases})

    def run_header(self, command: str) -> dict[str, Any]:
        """What a run's first line says: the same for the same command, so that runs can be compared byte for byte."""
        return {
            "command": command,
            "seed": self.config.run.seed,
            "search space": "all source files of the before-fix version",
            "unresolved": len(self.dataset.unresolved),
            **self.provenance(),
        }

    def write_part(
        self,
        folder: Path,
        header: Mapping[str, Any],
        rankings: Iterator[Ranking],
        cases: Sequence[Case],
    ) -> None:
        """Write the rankings of some cases with all that they are scored by."""
        write_run(folder / RUN_FILE, header, rankings)
        write_truth(folder, cases, self.dataset)


def write_truth(folder: Path, cases: Sequence[Case], dataset: Dataset) -> None:
    """Write what rankings of some of a dataset's cases are scored by; last, for a folder with it is a finished run."""
    judgements = [
        Judgement.from_case(
            case, dataset.files[case.report.id], attributes_of(case.report, case.fixed)
        )
        for case in cases
    ]
    write_judgements(folder / JUDGEMENTS_FILE, judgements)


def rank_reports(
    checkpoint: str | Path | None,
    repo_path: str | Path,
    reports_path: str | Path,
    out: str | Path,
    split: str = "test",
    progress: Progress = ignore_progress,
    *,
    config: Config | None = None,
    functions: bool = False,
) -> None:
    """Rank the reports of a split (validation, test or all) with a finished checkpoint (None: the shipped weights),
    without training. With ``functions`` those of the first files are ranked too, by us and by BM25.
    """
    folder = Path(out).expanduser()
    refuse_training(folder)
    localizer = Localizer.load(checkpoint) if checkpoint is not None else Localizer.default()
    config = config or localizer.config
    with (
        results_folder(folder, own=True) as work,
        Repository(repo_path) as repo,
        ExperimentContext(config, repo, Path(reports_path), progress) as experiment,
    ):
        cases, dataset = experiment.parts[split], experiment.dataset
        if not cases:
            raise ToslocError(
                f"{reports_path}: none of its {pluralize(len(dataset.cases), 'report')} falls to {split}",
                hint="rank them with {split}=all",
            )
        if functions and not any(dataset.labelled[case.report.id].functions for case in cases):
            raise ToslocError(
                f"{reports_path}: no report says which functions its fix changed",
                hint="add them as 'functions' or 'methods'",
                about="functions",
            )
        if localizer.is_shipped:
            localizer.stage_one, localizer.temperature = experiment.shipped(
                cases[0]
            )  # none of them is later
        extraction = experiment.extraction(work, localizer.stage_one.features)
        blocks = extraction.run(
            cases, jobs=config.run.jobs, what=f"ranking {split}", progress=progress
        )
        candidates = experiment.candidates(localizer.stage_one, lambda _: read_blocks(blocks))
        rankings = candidates.rankings(
            split, localizer.reranker_, experiment.for_reranking(), progress
        )
        header = experiment.run_header("tosloc rank") | {
            "split": split,
            TEMPERATURE_KEY: localizer.temperature,
        }
        if taught := experiment.trained_on(localizer.provenance_, cases):
            header[TRAINED_ON] = taught
        experiment.write_part(folder / split, header, rankings, cases)
        if functions:
            write_function_runs(
                folder / split, header, experiment.indexed, dataset, cases, progress
            )
        write_record(
            folder / "provenance.json",
            experiment.provenance() | {"checkpoint": localizer.provenance_},
        )
    shutil.rmtree(work)


def index(
    repo_path: str | Path,
    revision: str = "HEAD",
    config: Config | None = None,
    progress: Progress = ignore_progress,
) -> BuildReport:
    """Make the facts of one version's files."""
    with Repository(repo_path) as repo, closing(Localizer(config).indexed(repo)) as indexed:
        return indexed.index([indexed.source_snapshot(revision)], progress)


def refuse_training(folder: Path) -> None:
    """Raise ToslocError where a training, whose runs others would replace, lies in a folder or around it."""
    for place in (folder, folder.absolute().parent):
        if (place / "checkpoint" / WEIGHTS_FILE).exists():
            raise ToslocError(
                f"{place} holds a training, whose runs would be lost; name another folder"
            )


@contextmanager
def results_folder(folder: Path, *, own: bool = False) -> Iterator[Path]:
    """A folder for results, made at once to know a wrong one early; gone again if an error leaves it empty. A command's
    ``own`` has in it a folder for its work, which the block gets, and which stays with what is left there. Raises
    ToslocError for one that holds something, and neither results nor what a command left of them.
    """
    new, work = not folder.exists(), folder / WORK_FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToslocError(
            f"{folder} cannot be made ({error.strerror}); name a folder that can be written"
        ) from error
    try:
        if own:
            remove_unfinished(folder)
            found = sorted(path.name for path in folder.iterdir())
            if found and ({WORK_FOLDER, "provenance.json"}.isdisjoint(found) or work.is_symlink()):
                raise ToslocError(
                    f"{folder} holds other things, such as {found[0]!r}; name a new folder for the results"
                )
            work.mkdir(exist_ok=True)
        yield work
    except BaseException:
        with suppress(OSError):  # not empty: what is there serves the next run
            if own and [*folder.iterdir()] == [work]:
                work.rmdir()
            if new:
                folder.rmdir()
        raise


@contextmanager
def command_folder(folder: Path, command: str) -> Iterator[None]:
    """Let a command without work of its own write into a folder, by the rule of ``results_folder``.

    At the end the folder gets a ``provenance.json``, unless it has one, so that the command may write there again.
    """
    mark = folder / "provenance.json"
    with results_folder(folder, own=True) as work:
        try:
            yield
            if not mark.exists():
                write_record(mark, {"tosloc": tosloc.__version__, "command": command})
        finally:
            # the work folder alone says that unfinished results are ours
            if mark.exists() or [*folder.iterdir()] == [work]:
                with suppress(OSError):  # another command has left something there
                    work.rmdir()


def named(file: Path) -> dict[str, str]:
    """Name and SHA-256 of a file, for provenance."""
    return {"name": file.name, "sha256": fingerprint(file)}


def fingerprint(path: Path) -> str:
    """SHA-256 of a file, for provenance."""
    with path.open("rb") as file:  # runs may be large
        return file_digest(file, "sha256").hexdigest()
