"""The scores of every file of a version for one report, by both stages.

This module combines the two stages: the first files of stage one become candidates, and a reranker
gives them new scores. Each step returns a new ``Scores``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import StringIO
from typing import Final

import numpy as np

from tosloc.core.answers import EarlierChange, Reason, RoutineNote
from tosloc.core.arrays import FloatArray
from tosloc.core.errors import CheckpointError
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.rankings import Ranking
from tosloc.core.reports import BugReport
from tosloc.localize.globs import FileSelection
from tosloc.localize.model import Model
from tosloc.localize.question import Question
from tosloc.localize.searchable_version import SearchableVersion
from tosloc.rank.explain import find_later_fix
from tosloc.rank.features import QueryContext
from tosloc.rank.model import (
    PresenceModel,
    StageOneResult,
    shares,
)
from tosloc.reports.issues import read_report
from tosloc.rerank.base import Candidates, Reranked, Reranker
from tosloc.retrieval.query import Query
from tosloc.retrieval.texts import top_k

NARROW_RANGE: Final = 50
"""Largest number of commits in a range that makes suspect changes come before the files."""
LOW_PRESENCE: Final = 0.5
"""Probability below which an answer says that no file matches the report well."""
_WHAT_TO_ADD: Final = "add an error message, an identifier or a file name"
NO_WORD: Final = (
    "the report has no words of its own beside pictures, its form and the environment, so the files"
    f" are ordered only by how often they change; {_WHAT_TO_ADD}"
)
NO_SHARED_WORD: Final = (
    "no word of the report occurs in any file, so the files are ordered only by how often they"
    f" change; {_WHAT_TO_ADD}"
)
TOO_GENERAL: Final = f"the report is too general for a confidence score; {_WHAT_TO_ADD}"
NOT_HERE: Final = (
    "nothing in this repository fits this report well; check that the report is about this project,"
    f" or {_WHAT_TO_ADD}"
)


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of all F files of a version for one report, in path order."""

    report: BugReport
    """The report as the user gave it; its date may be missing."""
    version: SearchableVersion
    """The searched version."""
    stage_one: StageOneResult
    """Features and scores of stage one."""
    temperature: float
    """Temperature of the softmax that turns scores into confidence."""
    values: FloatArray
    """(F,) final scores of the files."""
    values_by_stages: FloatArray
    """(F,) scores by the two stages, without a language model, for confidence and reasons."""
    notes: tuple[str, ...]
    """Sentences for the user about the version and the steps so far."""
    reranked: Reranked | None = None
    """The reranker's scores; None if there are none."""
    moved_up: Mapping[int, int] | None = None
    """File -> its old rank, if a language model moved it up; None if no model was used."""
    model_reasons: Mapping[int, Reason] = field(default_factory=dict)
    """File -> what a language model says of it."""
    model_functions: Mapping[int, int] = field(default_factory=dict)
    """File -> number of the function in it that a language model says must change."""

    @cached_property
    def ranking(self) -> Ranking:
        """Every file of the version, most suspicious first."""
        return Ranking.from_scores(self.report.id, self.version.snapshot.paths, self.values)

    @cached_property
    def notes_on_report(self) -> tuple[str, ...]:
        """Notes on what the report names, and on how well it fits the version.

        They take longer to compute than a ranking with few features, so they are computed only for
        answers.
        """
        context = self.stage_one.context
        notes = list(context.named_history.notes)
        if self.version.searched_share < 0.5:
            notes.append(_describe_scope(self.version))
        if not context.distinguishes_files:
            notes.append(_describe_gap(context))
        elif self.presence < LOW_PRESENCE:
            notes.append(NOT_HERE)
        return tuple(notes)

    @cached_property
    def presence(self) -> float:
        """Probability that the report is about this project.

        It is 1 if the report refers to the project's history, even if they share few words.
        """
        if self.stage_one.context.named_history.is_about_project:
            return 1.0
        return PresenceModel.shipped().probability(self.stage_one.context)

    @cached_property
    def worked_before(self) -> bool:
        """Whether the report says that something worked before some change.

        It may say so in words, by releases or commits that worked or began to fail, or by naming an
        earlier change of this project.
        """
        context = self.stage_one.context
        if context.query.names.says_that_it_worked:
            return True
        named = context.named_history
        return named.states_regression or any(change.is_change for change in named.changes)

    @property
    def points_at_suspects(self) -> bool:
        """Whether the report blames a commit, or states a narrow range in which it broke."""
        named = self.stage_one.context.named_history
        between = named.range
        return bool(named.blamed) or (between is not None and 0 < len(between) <= NARROW_RANGE)

    @cached_property
    def later_fix(self) -> EarlierChange | None:
        """The commit that has probably fixed the report already; None if there is none."""
        repository = self.version.repository
        if repository is None:
            return None
        context = self.stage_one.context
        return find_later_fix(self.report, context, repository.repo, self.version.sources)

    def confidence(self, selection: FileSelection) -> FloatArray:
        """Return (F,) the confidence in each of the first files; 0 for all other files.

        It is lower if most text of the version is not searched, because the bug may be there. It is
        0 if the report does not distinguish files, or if there is only one file to choose from.
        """
        if self.stage_one.context.distinguishes_files and selection.sharing.sum() > 1:
            scores = np.where(selection.sharing, self.values_by_stages, -np.inf)
            probability = self.presence * min(1.0, 2 * self.version.searched_share)
            return probability * shares(scores, self.temperature)
        return np.zeros(len(self.values))

    def selection(self, question: Question) -> FileSelection:
        """Return the files that the answer may list, with hidden files that the report names."""
        paths = self.version.index.paths
        are_tests = paths.table.test[paths.path_ids]
        selection = self.version.select(question)
        return selection.with_files(self.stage_one.context.named_files.files, are_tests)

    def first_files(self, number: int, selection: FileSelection) -> list[int]:
        """Return the first ``number`` selected files, the best first."""
        first = top_k(np.where(selection.kept, self.values, -np.inf), number)
        files: list[int] = first[selection.kept[first]].tolist()
        return files

    def rank_of(self, file: int, selection: FileSelection) -> int:
        """Return the rank of a file among the selected files, from 1."""
        scores = np.where(selection.kept, self.values, -np.inf)
        better = (scores > scores[file]).sum()
        equal_before = (scores[:file] == scores[file]).sum()
        return int(better + equal_before) + 1


def rank(question: Question, version: SearchableVersion, model: Model) -> Scores:
    """Rank every file of a version for a report, by stage one.

    The result depends on the report, the version and the model alone, not on the current time.
    Raises ReportError if the question's text is not a report, CheckpointError if the weights yield
    a score that is not a finite number, and the errors of ``QueryContext.with_ends``.
    """
    report = question.report
    if isinstance(report, str):
        report = read_report(StringIO(report))
    notes = (*version.notes, *report.notes)
    dated = report
    if report.opened is None:
        dated = replace(report, opened=version.newest)
        when = f"{version.newest:%Y-%m-%d %H:%M} UTC"
        note = RoutineNote(f"the report has no date, so it is treated as opened at {when}")
        notes += (note,)
    history = version.history.as_of(dated.opened_seconds)
    if report.opened is None:
        # The assumed date is that of the version's commit, whose tag may have been made later.
        history = replace(history, releases=history.releases.tagged_at_once())
    form_lines = version.template | history.shared_lines
    query = Query(dated, form_lines, history.releases.projects, version.index.has_term)
    repository = None if version.repository is None else version.repository.repo
    context = QueryContext(query, version.index, history, repository)
    context = context.with_ends(question.good, question.bad)
    stage_one, temperature = version.weights(model)
    result = StageOneResult.of(context, stage_one)
    values = _check_finite(result.scores)
    return Scores(report, version, result, temperature, values, values, notes)


def rerank(scores: Scores, reranker: Reranker, progress: Progress = ignore_progress) -> Scores:
    """Return the scores after stage two, or ``scores`` if the reranker does not score this report.

    ``progress`` is called while the reranker encodes files. Raises CheckpointError if a score is
    not a finite number.
    """
    context = scores.version.reranking
    opened = scores.stage_one.context.query.report.opened_seconds
    if context is None or not reranker.may_score(opened):
        return scores
    candidates = candidates_of_answer(scores.stage_one, reranker.depth)
    reranked = reranker.rerank(candidates, context, progress)
    if reranked is None:
        return scores
    values = _check_finite(reranked.final_scores(scores.values))
    notes = scores.notes
    if reranker.note:
        notes += (RoutineNote(reranker.note),)
    return replace(scores, values=values, values_by_stages=values, notes=notes, reranked=reranked)


def _check_finite(values: FloatArray) -> FloatArray:
    """Return the scores, or raise CheckpointError if a score is not a finite number."""
    if not np.isfinite(values).all():
        raise CheckpointError("the weights give scores that are not numbers; train again")
    return values


def _describe_scope(version: SearchableVersion) -> str:
    """Return a note that most text files are not searched, with the most frequent kind."""
    [(kind, number), *_] = version.unsearched.items()
    total = sum(version.unsearched.values()) + len(version.snapshot)
    return (
        f"most text of this version is not searched: {number:,} of {total:,} text files are {kind},"
        " so the confidence is lower"
    )


def _describe_gap(context: QueryContext) -> str:
    """Return a sentence on what is missing in a report that does not distinguish files."""
    if not context.query.weights:
        return NO_WORD
    if not context.shares_words:
        return NO_SHARED_WORD
    # Reasons may still name shared words: too few of them, or in too many files.
    return TOO_GENERAL


def candidates_of_answer(answer: StageOneResult, depth: int) -> Candidates:
    """Return the first ``depth`` files of stage one as candidates, for a report without a fix."""
    rows = answer.order[:depth]
    version = answer.context.version
    snapshot = version.snapshot
    files = rows.tolist()
    return Candidates(
        answer.context.query.report,
        snapshot.commit,
        tuple(map(snapshot.path, files)),
        tuple(map(snapshot.blob, files)),
        snapshot.path_ids[rows],
        answer.scores[rows],
        np.zeros(len(rows), dtype=np.bool_),
    )
