"""Answer reports in their own repository and in others, and fit the model of presence.

Every few reports of a project are searched for in other projects of the same language and of
similar size, as if they had been opened together with one of these projects' own reports. The
answers yield the signals of ``tosloc.rank.model.presence``, and whether the first file is right; in
another project it never is. The model is measured on projects that it was not fitted to.
"""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from tosloc.code.languages import SOURCE_SUFFIXES, language_name
from tosloc.core.arrays import BoolArray, FloatArray
from tosloc.core.config import Config
from tosloc.core.errors import ToslocError
from tosloc.core.io import parse_json, read_regular_file, write_text
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import BugReport, Case
from tosloc.core.versions import first_path_by_blob
from tosloc.git.repository import Repository
from tosloc.lab.pretraining import CHECKPOINT_FOLDER
from tosloc.lab.projects import Project, spread_evenly
from tosloc.lab.reliability import Reliability
from tosloc.localize.model import Model
from tosloc.paths.classify import is_hidden_class
from tosloc.rank.features import QueryContext
from tosloc.rank.model import (
    JudgedAnswer,
    PresenceModel,
    StageOneResult,
    shares,
)
from tosloc.reports.labelled import Dataset
from tosloc.reports.text import IssueTemplates
from tosloc.retrieval.paths import PathTable
from tosloc.retrieval.query import Query
from tosloc.retrieval.version_index import VersionIndex
from tosloc.storage.store import FactStore
from tosloc.train.experiment import ExperimentContext

BLOCK_REPORTS: Final = 24
"""Number of reports whose versions are loaded together."""
HOSTS: Final = 3
"""Number of other projects, the most similar, in which the reports of a project are answered."""
HOME_WEIGHT: Final = 0.9
"""Weight of all answers in the own project in the fit: most users search the right repository."""
Visitor: TypeAlias = tuple[str, BugReport]
"""A report that is answered in another project, with its own project."""


class Answer(NamedTuple):
    """The answer to a report in its own or in another project."""

    project: str
    """Project of the report."""
    host: str
    """Project that was searched."""
    signals: Sequence[float]
    """The signals (K,)."""
    scores: Sequence[float]
    """Scores of the first files; empty if the report distinguishes no files."""
    temperature: float
    right: bool
    """Whether the fix changed the first file."""
    refers: bool = False
    """Whether the report refers to the history of the host, so that the model is not needed."""

    def first_share(self) -> float:
        """Return the share of the first file, without the model."""
        if not self.scores:
            return 0.0
        return float(shares(np.array(self.scores), self.temperature)[0])


class _Kind(NamedTuple):
    """Properties by which projects are compared."""

    language: str
    """The most common language of the project's files."""
    files: int
    """Number of the project's source files."""


def _project_kind(project: Project) -> _Kind:
    """Return the most common language of a project and the number of its source files."""
    with Repository(project.repo) as repo:
        snapshot = repo.snapshot("HEAD", SOURCE_SUFFIXES)
        names = Counter(language_name(path) for path in snapshot.paths)
    language = min(names, key=lambda name: (-names[name], name)) if names else ""
    return _Kind(language, sum(names.values()))


def choose_hosts(kinds: Mapping[str, _Kind]) -> dict[str, list[str]]:
    """Return project -> the other projects that are most similar to it, most similar first.

    Projects of the same language come first, and then similar size counts.
    """
    hosts: dict[str, list[str]] = {}
    for name, kind in kinds.items():

        def distance(other: str, kind: _Kind = kind) -> tuple[bool, float, str]:
            size = abs(math.log1p(kinds[other].files) - math.log1p(kind.files))
            return kinds[other].language != kind.language, size, other

        others = sorted((other for other in kinds if other != name), key=distance)
        alike = [other for other in others if kinds[other].language == kind.language]
        hosts[name] = (alike or others[:1])[:HOSTS]
    return hosts


def ask_reports(
    project: Project,
    visitors: Sequence[Visitor],
    config: Config,
    file: Path,
    left_out: Sequence[Path] = (),
    progress: Progress = ignore_progress,
) -> list[Answer]:
    """Return the answers of a project to its own reports and to visitors, and store them.

    A visitor is a report of another project; it counts as opened at the same time as one of the own
    reports. The weights that rank the files were learned without the project: they are in the first
    of the folders ``left_out`` that contains such weights. If none does, the shipped weights rank.
    Answers that ``file`` already contains are not computed again. Raises ToslocError.
    """
    if file.exists():
        return [Answer(*row) for row in parse_json(read_regular_file(file))]
    answers: list[Answer] = []
    settings = config.model_copy(update={"data": project.config.data})
    with (
        Repository(project.repo) as repo,
        ExperimentContext(settings, repo, project.reports, facts=False) as experiment,
    ):
        host = _Host(project.name, experiment, _find_model(project.name, left_out))
        cases = spread_evenly(experiment.parts[project.judged], project.at_most)
        commits = dict.fromkeys(case.before_commit for case in cases)
        experiment.indexed.build_facts([experiment.indexed.snapshot(commit) for commit in commits])
        visitors_by_case: defaultdict[int, list[Visitor]] = defaultdict(list)
        for number, visitor in enumerate(visitors):
            visitors_by_case[number % len(cases)].append(visitor)
        for number, (case, version) in enumerate(_read_versions(experiment, cases)):
            answers.append(host.ask(case, version, (project.name, case.report)))
            for visitor in visitors_by_case[number]:
                answers.append(host.ask(case, version, visitor))
            progress(f"asking reports in {project.name}", number + 1, len(cases))
    write_text(file, json.dumps(answers) + "\n")
    return answers


def _find_model(name: str, left_out: Sequence[Path]) -> Model:
    """Return a project's model from the first folder with one, or else the shipped model."""
    for folder in left_out:
        if (folder / name / CHECKPOINT_FOLDER).is_dir():
            return Model.load(folder / name)
    return Model()


def _read_versions(
    experiment: ExperimentContext, cases: Sequence[Case]
) -> Iterator[tuple[Case, VersionIndex]]:
    """Yield each case with the index of its before-fix version."""
    indexed = experiment.indexed
    repo = experiment.repo
    table = PathTable.of(repo.path_names.names)
    with FactStore(indexed.store_path) as store:
        for start in range(0, len(cases), BLOCK_REPORTS):
            block = cases[start : start + BLOCK_REPORTS]
            snapshots = [repo.snapshot(case.before_commit, indexed.suffixes) for case in block]
            corpus = store.read_facts(first_path_by_blob(snapshots), lizard=indexed.lizard)
            for case, snapshot in zip(block, snapshots, strict=True):
                yield case, VersionIndex(corpus, snapshot, table)


class _Host:
    """A project that answers its own reports and reports of other projects."""

    def __init__(self, name: str, experiment: ExperimentContext, model: Model) -> None:
        self._name = name
        self._experiment = experiment
        self._model = model
        self._templates = IssueTemplates(experiment.repo)

    def ask(self, case: Case, version: VersionIndex, visitor: Visitor) -> Answer:
        """Return the answer to a report in the version of a case, as if opened at the same time."""
        project, report = visitor
        report = replace(report, opened=case.report.opened)
        experiment = self._experiment
        commits = experiment.history.ancestors(case.before_commit)
        history = experiment.history_index.as_of(report.opened_seconds, commits)
        form_lines = self._templates.of_commit(case.before_commit) | history.shared_lines
        query = Query(report, form_lines, history.releases.projects, version.has_term)
        context = QueryContext(query, version, history, experiment.repo)
        stage_one, temperature = self._model.stage_one_for(version.snapshot.paths)
        paths = version.paths
        hidden = paths.table.test[paths.path_ids] | is_hidden_class(version.file_class)
        scores = np.where(hidden, -np.inf, StageOneResult.of(context, stage_one).scores)
        is_right = False
        if project == self._name and not hidden.all():
            is_right = paths.table.paths[paths.path_ids[scores.argmax()]] in case.fixed
        first_scores: list[float] = []
        if context.distinguishes_files:
            judged = JudgedAnswer.of(scores, is_right)
            first_scores = judged.scores[np.isfinite(judged.scores)].tolist()
        signals = PresenceModel.signals(context).tolist()
        refers = context.named_history.is_about_project
        return Answer(project, self._name, signals, first_scores, temperature, is_right, refers)


@dataclass(frozen=True)
class Presence:
    """The fitted model, and its effect on reports of projects that it was not fitted to."""

    model: PresenceModel
    before: Mapping[str, float]
    """Measures of first shares without the model, see ``_measure``."""
    after: Mapping[str, float]
    """Measures of first shares with the model, with each project left out."""
    nameless: Mapping[str, float]
    """Measures with the model, as if the names of the projects were not known."""
    shipped: Mapping[str, float]
    """Measures with the shipped model, which may have been fitted to these projects."""


def learn_presence(
    projects: Sequence[Project],
    work: Path,
    config: Config,
    every: int = 10,
    left_out: Sequence[Path] = (),
    progress: Progress = ignore_progress,
) -> Presence:
    """Return the model fitted to answers, and measured on projects that are left out.

    Every ``every``-th report of a project is also answered in other projects. Answers in the folder
    ``work`` are not computed again. Raises ToslocError.
    """
    if len(projects) < 3:
        raise ToslocError(
            "to leave out a project and the one that its reports were asked in, at least three are"
            " needed",
            hint="name more {projects}",
        )
    kinds = {project.name: _project_kind(project) for project in projects}
    hosts = choose_hosts(kinds)
    visitors: defaultdict[str, list[Visitor]] = defaultdict(list)
    for project in projects:
        with Repository(project.repo) as repo:
            zone = project.config.data.zone
            dataset = Dataset.load(repo, project.reports, zone=zone, suffixes=SOURCE_SUFFIXES)
            cases = dataset.cases
        for number, case in enumerate(spread_evenly(cases, project.at_most)[::every]):
            own_hosts = hosts[project.name]
            visitors[own_hosts[number % len(own_hosts)]].append((project.name, case.report))
    answers: list[Answer] = []
    for project in projects:
        file = work / f"{project.name}.json"
        answers += ask_reports(project, visitors[project.name], config, file, left_out, progress)
    return measure_presence(answers)


def measure_presence(answers: Sequence[Answer]) -> Presence:
    """Return the model fitted to answers, and measured on projects that are left out.

    A project is left out with all its reports, and with all answers that it gave to others.
    """
    signals = np.array([answer.signals for answer in answers])
    nameless = signals.copy()
    nameless[:, PresenceModel.SIGNALS.index("own_name")] = 0.5
    refers = np.array([answer.refers for answer in answers], dtype=np.bool_)
    first_shares = np.array([answer.first_share() for answer in answers])
    presence = np.zeros(len(answers))
    presence_nameless = np.zeros(len(answers))
    for project in dict.fromkeys(answer.project for answer in answers):
        own = np.array([answer.project == project for answer in answers])
        left_out = np.array([project in (answer.project, answer.host) for answer in answers])
        learned = [answer for answer in answers if project not in (answer.project, answer.host)]
        model = _fit(learned, signals[~left_out])
        presence[own] = model.probabilities(signals[own])
        presence_nameless[own] = model.probabilities(nameless[own])
    shipped = PresenceModel.shipped().probabilities(signals)
    return Presence(
        _fit(answers, signals),
        _measure(answers, first_shares),
        _measure(answers, np.where(refers, 1.0, presence) * first_shares),
        _measure(answers, np.where(refers, 1.0, presence_nameless) * first_shares),
        _measure(answers, np.where(refers, 1.0, shipped) * first_shares),
    )


def _at_home(answers: Sequence[Answer]) -> BoolArray:
    """Return (R,) whether each report was answered in its own project."""
    return np.array([answer.project == answer.host for answer in answers], dtype=np.bool_)


def _fit(answers: Sequence[Answer], signals: FloatArray) -> PresenceModel:
    """Return the model that is fitted to answers, whose signals are ``signals`` (R, K)."""
    at_home = _at_home(answers)
    home_count = max(int(at_home.sum()), 1)
    abroad_count = max(int((~at_home).sum()), 1)
    counts = np.where(at_home, HOME_WEIGHT / home_count, (1 - HOME_WEIGHT) / abroad_count)
    return PresenceModel.fit(signals, at_home, counts)


def _measure(answers: Sequence[Answer], first_shares: FloatArray) -> dict[str, float]:
    """Return measures of how first shares (R,) distinguish the own project from others.

    They also say how large the shares are in the own project.
    """
    from scipy.stats import rankdata

    at_home = _at_home(answers)
    right = np.array([answer.right for answer in answers], dtype=np.bool_)
    home_count = int(at_home.sum())
    abroad_count = int((~at_home).sum())
    rank_sum = float(rankdata(first_shares)[at_home].sum())
    above = rank_sum - home_count * (home_count + 1) / 2
    reliability = Reliability.of_shares(first_shares[at_home], right[at_home])
    return {
        "home": home_count,
        "abroad": abroad_count,
        "auc": above / max(home_count * abroad_count, 1),
        "abroad from .5": float((first_shares[~at_home] >= 0.5).mean()),
        "abroad from .3": float((first_shares[~at_home] >= 0.3).mean()),
        "right from .5": float((first_shares[right] >= 0.5).mean()),
        "mean share": reliability.share,
        "right": reliability.right,
        "error": reliability.error,
        "error by chance": reliability.error_by_chance,
    }
