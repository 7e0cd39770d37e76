"""Labelled reports with their repository, provenance and result folders, for all experiments."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import tosloc
from tosloc.code.languages import SOURCE_SUFFIXES, analyser_version
from tosloc.core.config import Config
from tosloc.core.errors import ToslocError, pluralize
from tosloc.core.io import fingerprint, remove_unfinished
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.rankings import Ranking
from tosloc.core.reports import Case
from tosloc.evaluate.runs import Judgement, RunFolder, header_counts
from tosloc.git.history import History
from tosloc.git.repository import Repository
from tosloc.localize.checkpoint import WEIGHTS_FILE, shipped, write_record
from tosloc.localize.localizer import Localizer
from tosloc.localize.question import Question
from tosloc.rank.features import WORK_FOLDER, FeatureTable
from tosloc.rank.features.extraction import Extraction
from tosloc.rank.model import TEMPERATURE_KEY, StageOne
from tosloc.reports.labelled import Dataset, attributes_of, resolve_suffixes
from tosloc.reports.text import IssueTemplates
from tosloc.rerank.base import Reranker, RerankingContext, texts_of
from tosloc.retrieval.history import HistoryIndex, Releases
from tosloc.storage.cache import create_folder
from tosloc.storage.repository import IndexedRepository
from tosloc.train.candidates import LabelledCandidates
from tosloc.train.function_runs import write_function_runs

_PACKAGES: Final = ("numpy", "scipy", "tree-sitter", "PyStemmer", "lightgbm")
_RERANKER_PACKAGES: Final = {
    "terms": ("torch", "safetensors"),
    "encoder": ("torch", "transformers", "accelerate"),
}


class ExperimentContext:
    """A repository with its labelled reports, facts and history."""

    def __init__(
        self,
        config: Config,
        repo: Repository,
        reports: Path,
        progress: Progress = ignore_progress,
        *,
        facts: bool = True,
    ) -> None:
        """Read the reports, compute the facts of their versions, and read the history before them.

        With ``facts=False`` no facts are computed, for techniques that read the files themselves.
        """
        self.repo = repo
        self.reports = reports
        self.config = resolve_suffixes(config, reports)
        self._reports_choose_suffixes = config.data.suffixes == "auto"
        self.indexed = IndexedRepository.configured(repo, self.config)
        try:
            self._read(progress, facts)
        except BaseException:
            self.indexed.close()
            raise

    def _read(self, progress: Progress, facts: bool) -> None:
        repo = self.repo
        data = self.config.data
        indexed = self.indexed
        dataset = Dataset.load(
            repo, self.reports, zone=data.zone, suffixes=indexed.suffixes, progress=progress
        )
        self.dataset = dataset.oldest(data.oldest)
        cases = self.dataset.cases
        self.parts = self.dataset.split(data.train, data.validation)
        if facts:
            commits = dict.fromkeys(case.before_commit for case in cases)
            indexed.build_facts([indexed.snapshot(commit) for commit in commits], progress)
        tips = dict.fromkeys(case.fix_commit or case.before_commit for case in cases)
        self.history = History.read(repo, list(tips), indexed.suffixes, progress)
        history_index = HistoryIndex.build(self.history, cases, repo.path_names)
        self.history_index = replace(history_index, releases=Releases.read(repo))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.indexed.close()

    def candidates(
        self, stage: StageOne, tables: Callable[[str], Iterable[FeatureTable]]
    ) -> LabelledCandidates:
        """Return the candidates of all cases; ``tables`` reads the feature tables of a part."""
        cases = {case.report.id: case for case in self.dataset.cases}
        return LabelledCandidates(self.repo, self.indexed.suffixes, cases, stage, tables)

    def shipped(self, case: Case) -> tuple[StageOne, float]:
        """Return the shipped weights for the version of a case, and their softmax temperature."""
        return shipped(self.indexed.snapshot(case.before_commit).paths)

    def weak_reports(self, cases: Iterable[Case]) -> int:
        """Return the number of cases that have a commit message in place of a report."""
        return sum(self.dataset.labelled[case.report.id].weak for case in cases)

    def for_reranking(self) -> RerankingContext:
        """Return what a reranker may read: the files of all versions, and the whole history.

        Each report uses only the part of the history before its opening.
        """
        return RerankingContext(
            self.indexed.load_facts,
            self.history_index,
            self.history.ancestors,
            texts_of(self.repo),
            self.indexed.vectors_path,
            IssueTemplates(self.repo).of_commit,
        )

    def extraction(self, folder: Path, names: tuple[str, ...]) -> Extraction:
        """Write the history for worker processes, and return an extraction of feature tables.

        ``folder`` is where both are stored, and ``names`` are the features.
        """
        history = self.history_index
        return Extraction.of(folder, self.indexed, names, history, self.history.ancestors)

    def provenance(self) -> dict[str, Any]:
        """Return everything that a result depends on: versions, settings, repository, reports."""
        stage_two = self.config.stage_two
        cases = self.dataset.cases
        packages = list(_PACKAGES)
        if stage_two.enabled:
            packages += _RERANKER_PACKAGES[stage_two.reranker]
        if self.indexed.lizard:
            packages.append("lizard")
        return {
            "tosloc": tosloc.__version__,
            "analyser": analyser_version(self.indexed.lizard),
            "python": platform.python_version(),
            "packages": {name: metadata.version(name) for name in packages},
            "config": self.config.as_dict(),
            "repository": self.repo.name,
            "reports": {**file_provenance(self.reports), "cases": len(cases)},
            "newest fix": cases[-1].fix_commit or cases[-1].before_commit,
            "splits": {name: len(self.parts[name]) for name in ("train", "validation", "test")},
        }

    def trained_on(self, provenance: Mapping[str, Any], cases: Sequence[Case]) -> int:
        """Return the number of these cases that a checkpoint learned from, by its provenance.

        The number is only known if the checkpoint learned from the same file of reports, byte for
        byte; otherwise it is 0.
        """
        try:
            if provenance["reports"]["sha256"] != fingerprint(self.reports):
                return 0
            oldest = self.dataset.cases[: provenance["splits"]["train"]]
        except (KeyError, TypeError):
            return 0
        return len({case.report.id for case in oldest} & {case.report.id for case in cases})

    @property
    def search_space(self) -> str:
        """The searched files in words, by their suffixes unless all source files are searched."""
        suffixes = self.indexed.suffixes
        kinds = ["all source"] if suffixes >= SOURCE_SUFFIXES else []
        kinds += sorted(suffixes - SOURCE_SUFFIXES if kinds else suffixes)
        return f"{', '.join(kinds)} files of the before-fix version"

    @property
    def search_notes(self) -> list[str]:
        """A sentence on the searched files if the settings do not name them, else nothing."""
        if not self._reports_choose_suffixes:
            return []
        return [
            f"searched {self.search_space}: at least a tenth of the reports fixed such files;"
            " to search others, set suffixes in [data] of a configuration"
        ]

    def run_header(self, command: str) -> dict[str, Any]:
        """Return the first line of a run.

        Equal commands give equal lines, so that runs can be compared byte for byte.
        """
        return {
            "command": command,
            "seed": self.config.run.seed,
            "search space": self.search_space,
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
        """Write the rankings of some cases, followed by their judgements."""
        RunFolder(folder).write(header, rankings, judge_cases(cases, self.dataset))


def judge_cases(cases: Sequence[Case], dataset: Dataset) -> list[Judgement]:
    """Return the judgements of some cases."""
    judgements = []
    for case in cases:
        report = case.report
        attributes = attributes_of(report, case.fixed, dataset.labelled[report.id].weak)
        judgements.append(Judgement.from_case(case, dataset.files[report.id], attributes))
    return judgements


class RankedReports(NamedTuple):
    """The labelled reports that were ranked."""

    judgements: list[Judgement]
    """Judgement of each report in the split that was ranked."""
    total: int
    """Number of reports in all splits."""
    search_notes: list[str]
    """See ``ExperimentContext.search_notes``."""


def rank_reports(
    localizer: Localizer,
    repo_path: str | Path,
    reports_path: str | Path,
    out: str | Path,
    split: str = "test",
    progress: Progress = ignore_progress,
    *,
    functions: bool = False,
) -> RankedReports:
    """Rank the reports of a split (validation, test or all) without training.

    Return the judgements of its reports. With ``functions``, the functions of the first files are
    also ranked, by TosLoc and by BM25. The localizer ranks by its model; if it has a language
    model, that orders the first files of each report. Raises ToslocError if there is nothing
    to rank.
    """
    folder = Path(out).expanduser()
    refuse_training(folder)
    model = localizer.model
    language_model = localizer.language_model
    config = model.config
    with (
        results_folder(folder, own=True) as work,
        Repository(repo_path) as repo,
        ExperimentContext(config, repo, Path(reports_path), progress) as experiment,
    ):
        cases = experiment.parts[split]
        dataset = experiment.dataset
        if not cases:
            count = pluralize(len(dataset.cases), "report")
            raise ToslocError(
                f"{reports_path}: none of its {count} is in the split {split}",
                hint="rank them with {split}=all",
            )
        if functions and not any(dataset.labelled[case.report.id].functions for case in cases):
            raise ToslocError(
                f"{reports_path}: no report says which functions its fix changed",
                hint="add them as 'functions' or 'methods'",
                about="functions",
            )
        own_reranker = _own_reranker(model.reranker)
        header = experiment.run_header("tosloc rank") | {"split": split} | own_reranker
        if language_model is not None:
            rankings = _rank_by_language_model(experiment, localizer, cases, progress)
            header["language model"] = language_model.settings.model
        else:
            # One choice among the shipped weights serves all reports: that of the oldest version.
            oldest = experiment.indexed.snapshot(cases[0].before_commit)
            stage_one, temperature = model.stage_one_for(oldest.paths)
            extraction = experiment.extraction(work, stage_one.features)
            blocks = extraction.run(
                cases, jobs=config.run.jobs, what=f"ranking {split}", progress=progress
            )
            candidates = experiment.candidates(
                stage_one, lambda _: FeatureTable.read_blocks(blocks)
            )
            rankings = candidates.rankings(
                split, model.reranker, experiment.for_reranking(), progress
            )
            if not own_reranker:  # its scores may have any scale
                header[TEMPERATURE_KEY] = temperature
        learned_cases = experiment.trained_on(model.provenance, cases)
        header |= header_counts(trained_on=learned_cases or None)
        judgements = judge_cases(cases, dataset)
        RunFolder(folder / split).write(header, rankings, judgements)
        if functions:
            write_function_runs(
                folder / split,
                header,
                experiment.indexed,
                dataset,
                cases,
                experiment.history_index.shared_lines,
                progress,
            )
        provenance = experiment.provenance() | {"checkpoint": model.provenance} | own_reranker
        if language_model is not None:
            provenance["language model"] = {
                "model": language_model.settings.model,
                "files": language_model.settings.files,
                **language_model.usage.as_dict(),
            }
        write_record(folder / "provenance.json", provenance)
    shutil.rmtree(work)
    return RankedReports(judgements, len(dataset.cases), experiment.search_notes)


def _own_reranker(reranker: Reranker | None) -> dict[str, Any]:
    """Return the provenance of a reranker that the user wrote; nothing for any other."""
    if reranker is None or not reranker.source:
        return {}
    source = Path(reranker.source)
    values: dict[str, Any] = {"class": type(reranker).__qualname__}
    if source.is_file():
        values |= file_provenance(source)
    return {"reranker": values}


def _rank_by_language_model(
    experiment: ExperimentContext,
    localizer: Localizer,
    cases: Sequence[Case],
    progress: Progress,
) -> Iterator[Ranking]:
    """Yield the rankings of cases, in the order in which ``Localizer.localize`` lists the files."""
    for number, case in enumerate(cases, start=1):
        version = localizer.model.open_version(experiment.indexed, case.before_commit)
        question = Question(case.report, suspects=False)
        ranking = localizer.rank(question, version).ranking
        progress("reranking with the language model", number, len(cases))
        yield ranking


def refuse_training(folder: Path) -> None:
    """Raise ToslocError if a folder is, or is inside, a training whose runs would be replaced."""
    for candidate in (folder, folder.absolute().parent):
        if (candidate / "checkpoint" / WEIGHTS_FILE).exists():
            raise ToslocError(
                f"{candidate} contains a training, whose runs would be overwritten",
                hint="name another folder",
            )


@contextmanager
def results_folder(folder: Path, *, own: bool = False) -> Iterator[Path]:
    """Create a folder for results before the work, so that a wrong path is noticed early.

    Yield the work folder. If an error leaves the folder empty, it is removed again. With ``own``,
    the folder belongs to one command: its work folder is created inside, and stays until the
    command removes it. Raises ToslocError for a folder that contains anything but results of a
    command.
    """
    is_new = not folder.exists()
    work = folder / WORK_FOLDER
    try:
        create_folder(folder)
    except OSError as error:
        raise ToslocError(
            f"{folder} cannot be created ({error.strerror})", hint="name a folder that is writable"
        ) from error
    try:
        if own:
            remove_unfinished(folder)
            _check_contents(folder)
            work.mkdir(exist_ok=True)
        yield work
    except BaseException:
        with suppress(OSError):  # the folder is not empty: the next run uses its files
            if own and [*folder.iterdir()] == [work]:
                work.rmdir()
            if is_new:
                folder.rmdir()
        raise


def _check_contents(folder: Path) -> None:
    """Raise ToslocError if a folder contains anything but results of a command."""
    names = sorted(path.name for path in folder.iterdir())
    if not names:
        return
    is_ours = WORK_FOLDER in names or "provenance.json" in names
    if not is_ours or (folder / WORK_FOLDER).is_symlink():
        raise ToslocError(
            f"{folder} contains other files, such as {names[0]!r}",
            hint="name a new folder for the results",
        )


@contextmanager
def command_folder(folder: Path, command: str) -> Iterator[None]:
    """Prepare a folder for the results of a command that needs no work folder.

    The conditions are those of ``results_folder``. At the end a ``provenance.json`` is added to the
    folder if it is missing, so that the command may write there again.
    """
    mark = folder / "provenance.json"
    with results_folder(folder, own=True) as work:
        try:
            yield
            if not mark.exists():
                write_record(mark, {"tosloc": tosloc.__version__, "command": command})
        finally:
            # Without a mark, only the work folder shows that unfinished results are tosloc's.
            if mark.exists() or [*folder.iterdir()] == [work]:
                with suppress(OSError):  # another command has left something there
                    work.rmdir()


def file_provenance(file: Path) -> dict[str, str]:
    """Return the name and SHA-256 of a file, for provenance."""
    return {"name": file.name, "sha256": fingerprint(file)}
