"""The ranking of a version's files for one report, and the answer that is cut from it.

This is where the two stages meet: the first files of stage one become candidates, and a reranker
gives them new scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

import numpy as np

from tosloc.code.functions import NO_FUNCTIONS, FunctionFacts
from tosloc.code.languages import has_grammar, language_name
from tosloc.core.answers import EarlierChange, Hit, Reason, RoutineNote, SuspectChange
from tosloc.core.arrays import BoolArray, FloatArray
from tosloc.core.errors import CheckpointError
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.rankings import Ranking
from tosloc.core.reports import BugReport
from tosloc.localize.answer import Answer, SearchScope, suspect_heading
from tosloc.localize.code_lines import add_code_lines, choose_card_lines
from tosloc.localize.searchable_version import SearchableVersion
from tosloc.paths.globs import FileSelection
from tosloc.rank.explain import (
    collect_background,
    find_later_fix,
    find_other_files,
    score_functions,
)
from tosloc.rank.features import QueryContext
from tosloc.rank.model import (
    CALIBRATED_FILES,
    LOW_PRESENCE,
    StageOne,
    StageOneResult,
    presence_signals,
    shares,
    shipped_presence,
)
from tosloc.rank.suspects import MAX_FILES, SuspectSearch, describe_statements, find_suspects
from tosloc.rerank.base import Candidates, Reranked, Reranker, final_scores
from tosloc.retrieval.query import Query
from tosloc.retrieval.texts import top_k

if TYPE_CHECKING:
    from tosloc.rerank.llm.prompt import FileCard
    from tosloc.rerank.llm.reranker import LanguageModelReranker

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
MAX_FUNCTIONS_OF_CARD: Final = 5
"""Functions of a file that a language model gets to know."""
FUNCTIONS_OF_SUSPECTS: Final = 3
"""Functions of a file in which suspect changes are looked for."""
NO_CHANGES_TO_SUSPECT: Final = "suspect changes are read from a repository, and there is none"


class Localization:
    """The scores of all files of a version for one report, and the answer that is cut from them."""

    reranked: Reranked | None = None
    """The reranker's scores, if it gave any."""

    def __init__(
        self,
        report: BugReport,
        version: SearchableVersion,
        stage_one: StageOne,
        reranker: Reranker | None,
        temperature: float,
        progress: Progress = ignore_progress,
    ) -> None:
        """Rank every file of a version for a report.

        ``temperature`` is that of the softmax that turns scores into shares. ``progress`` is called
        while the reranker encodes files. Raises CheckpointError if the weights give a score that is
        not a finite number.
        """
        self.version = version
        self.temperature = temperature
        self.notes = (*version.notes, *report.notes)
        self.report = report
        """The report as it was asked; its date may be missing."""
        if report.opened is None:
            report = replace(report, opened=version.newest)
            when = f"{report.opened:%Y-%m-%d %H:%M} UTC"
            note = RoutineNote(f"the report has no date, so it is treated as opened at {when}")
            self.notes += (note,)
        history = version.history.as_of(report.opened_seconds)
        form_lines = version.template | history.shared_lines
        projects = history.releases.projects
        query = Query(report, form_lines, projects, version.index.has_term)
        repository = None if version.repository is None else version.repository.repo
        context = QueryContext(query, version.index, history, repository)
        self.stage_one = StageOneResult.of(context, stage_one)
        self.scores = self.stage_one.scores
        """(F,) final scores, in the order of paths."""
        if (
            reranker is not None
            and version.reranking is not None
            and reranker.may_score(report.opened_seconds)
        ):
            candidates = candidates_of_answer(self.stage_one, reranker.depth)
            self.reranked = reranker.rerank(candidates, version.reranking, progress)
            if self.reranked is not None:
                self.scores = final_scores(self.scores, self.reranked)
                if reranker.note:
                    self.notes += (RoutineNote(reranker.note),)
        if not np.isfinite(self.scores).all():
            raise CheckpointError("the weights give scores that are not numbers; train again")
        self.scores_by_stages = self.scores
        """(F,) scores before a language model changed the order, for shares and reasons."""
        self._moved_up: dict[int, int] | None = None
        """Files that a language model moved up, with their old ranks; None if none was asked."""

    @cached_property
    def _notes_on_report(self) -> tuple[str, ...]:
        """Notes on what the report names, and on how well it fits the version.

        A ranking alone needs none of them, and they take longer than the ranking by few features.
        """
        context = self.stage_one.context
        notes = list(context.named_history.notes)
        if not context.distinguishes_files:
            notes.append(_describe_gap(context))
        elif self.presence < LOW_PRESENCE:
            notes.append(NOT_HERE)
        return tuple(notes)

    @cached_property
    def presence(self) -> float:
        """The probability that the report is about this project.

        A report that refers to the project's history is about it, however few words they share.
        """
        if self.stage_one.context.named_history.is_about_project:
            return 1.0
        signals = presence_signals(self.stage_one.context)
        return float(shipped_presence().probabilities(signals[None, :])[0])

    @cached_property
    def ranking(self) -> Ranking:
        """Every file of the version, most suspicious first."""
        report = self.stage_one.context.query.report
        return Ranking.from_scores(report.id, self.version.snapshot.paths, self.scores)

    def reorder(
        self,
        language_model: LanguageModelReranker,
        selection: FileSelection,
        progress: Progress = ignore_progress,
        suspects: bool | None = False,
    ) -> None:
        """Let a language model order the first selected files; the other files keep their places.

        The files share their old scores in the new order. They have no shares afterwards.
        ``suspects`` is as in ``answer``.
        """
        files, cards = self.cards(language_model.depth, selection, suspects)
        if len(files) < 2:
            return
        report = self.stage_one.context.query.report
        folder = None
        if self.version.repository is not None:
            folder = self.version.repository.answers_folder
        result = language_model.order(report, cards, folder, progress)
        self.notes += (result.note,)
        if result.positions is None:
            return
        self._moved_up = {}
        for new_place, old_place in enumerate(result.positions):
            if new_place < old_place:
                self._moved_up[files[old_place]] = old_place + 1
        scores = -np.sort(-self.scores[files])
        for place in range(1, len(scores)):
            # Equal scores would be ranked by path.
            below = np.nextafter(scores[place - 1], -np.inf)
            scores[place] = min(scores[place], below)
        self.scores = self.scores.copy()
        self.scores[[files[position] for position in result.positions]] = scores

    def cards(
        self, depth: int, selection: FileSelection, suspects: bool | None = False
    ) -> tuple[list[int], list[FileCard]]:
        """Return the first ``depth`` selected files, and what a language model is told of each.

        ``suspects`` is as in ``answer``.
        """
        from tosloc.rerank.llm.prompt import FileCard  # few processes ask a language model

        selection = self._with_named_files(selection)
        files, _ = self._first_files(depth, selection, None)
        share = self._shares(selection)
        hits = self._hits(files, 1, share, MAX_FUNCTIONS_OF_CARD)
        lines = choose_card_lines(self.version, self.stage_one.context, files, hits)
        changes = self._find_suspects(
            suspects, selection, files, hits, MAX_FUNCTIONS_OF_CARD
        ).changes
        cards = []
        for hit, file_lines in zip(hits, lines, strict=True):
            reasons = [reason.text for reason in hit.why]
            of_file = [_describe_suspect(change) for change in changes if change.path == hit.path]
            cards.append(FileCard(hit.path, hit.functions, reasons, file_lines, of_file))
        return files, cards

    def answer(
        self,
        number: int,
        selection: FileSelection,
        *,
        functions: int = 0,
        min_share: float = 0.0,
        only: int | None = None,
        background: bool = False,
        code: bool = False,
        suspects: bool | None = False,
    ) -> Answer:
        """Return the answer with the first ``number`` selected files.

        Files with a share below ``min_share`` are left out. Each file has at most ``functions``
        functions. With ``only``, the answer lists that one file, at its rank among the selected
        ones. With ``background`` it has similar past changes, and tests and people of the first
        file. With ``code`` the first files have the lines of code that say most, and suspect
        changes the lines of their diff. With ``suspects`` the answer has past changes that may have
        introduced the fault; None: if the report says that something worked before.
        """
        version = self.version
        context = self.stage_one.context
        selection = self._with_named_files(selection)
        first, first_rank = self._first_files(number, selection, only)
        share = self._shares(selection)
        notes = [*self.notes, *self._notes_on_report, *selection.notes]
        files = [file for file in first if share[file] >= min_share]
        if not files:
            notes.append(
                f"no file is shown, because none has a confidence of at least {min_share:.0%}"
            )
        if self._moved_up is not None:
            share = np.zeros(len(share))
        hits = self._hits(files, first_rank, share, functions)
        suspected = self._find_suspects(suspects, selection, files, hits, functions)
        notes += suspected.notes
        changes = suspected.changes
        if not code:
            changes = tuple(replace(change, diff=()) for change in changes)
        if code:
            hits = add_code_lines(version, context, files, hits)
        notes += _notes_on_grammars(hits)
        about = None
        if background:
            first_file = files[0] if files else None
            about = collect_background(self.stage_one.reasons, first_file, version.sources)
        return Answer(
            None if version.repository is None else str(version.repository.repo.path),
            version.snapshot.commit,
            datetime.fromtimestamp(version.snapshot.committed_at, UTC),
            context.query.report,
            SearchScope(
                int(selection.kept.sum()),
                selection.hidden_tests,
                version.uncommitted,
                selection.hidden_files,
            ),
            tuple(hits),
            tuple(self._others(selection.others, hits[0].path if hits else None)),
            about,
            changes,
            tuple(notes),
            statements=describe_statements(context.named_history),
            fixed_by=self.later_fix,
        )

    @cached_property
    def later_fix(self) -> EarlierChange | None:
        """The commit by which the report is probably fixed already, if there is one."""
        repository = self.version.repository
        if repository is None:
            return None
        context = self.stage_one.context
        return find_later_fix(self.report, context, repository.repo, self.version.sources)

    @cached_property
    def worked_before(self) -> bool:
        """Whether the report says that something worked before some change.

        It says so in words, by releases or commits in which it worked or began to fail, or by
        blaming or naming an earlier change of this project.
        """
        context = self.stage_one.context
        if context.query.names.says_that_it_worked:
            return True
        named = context.named_history
        return named.states_regression or any(change.is_change for change in named.changes)

    def _find_suspects(
        self,
        wanted: bool | None,
        selection: FileSelection,
        files: Sequence[int],
        hits: Sequence[Hit],
        functions: int,
    ) -> SuspectSearch:
        """Return past changes that may have introduced the fault, if they are wanted.

        They depend on the first selected files alone, whatever the number of listed files and of
        their functions. ``hits`` are the listed files, each with at most ``functions`` functions.
        """
        if not (self.worked_before if wanted is None else wanted):
            return SuspectSearch(())
        repository = self.version.repository
        if repository is None:
            return SuspectSearch((), () if wanted is None else (NO_CHANGES_TO_SUSPECT,))
        searched, blamed_files = self.suspect_files(selection, files, hits, functions)
        return find_suspects(
            repository.repo,
            self.stage_one.reasons,
            searched,
            self.version.sources,
            blamed_files=blamed_files,
            later_fix="" if self.later_fix is None else self.later_fix.commit,
        )

    def suspect_files(
        self,
        selection: FileSelection,
        files: Sequence[int] = (),
        hits: Sequence[Hit] = (),
        functions: int = 0,
    ) -> tuple[list[Hit], list[Hit]]:
        """Return the files in which suspect changes are looked for, as hits with functions.

        First come the first selected files, then other selected ones, which blamed commits changed.
        ``hits`` are those of ``files`` if they are known, each with at most ``functions``
        functions.
        """
        first, _ = self._first_files(MAX_FILES, selection, None)
        paths = self.version.index.paths
        is_blamed = np.isin(paths.path_ids, self.stage_one.context.named_history.blamed_rows)
        is_blamed &= selection.kept
        is_blamed[first] = False
        further = top_k(np.where(is_blamed, self.scores, -np.inf), MAX_FILES)
        further = further[is_blamed[further]]
        share = self._shares(selection)
        if self._moved_up is not None:
            share = np.zeros(len(share))
        if list(files[:MAX_FILES]) != first or functions < FUNCTIONS_OF_SUSPECTS:
            hits = self._hits(first, 1, share, FUNCTIONS_OF_SUSPECTS)
        searched = []
        for hit in hits[:MAX_FILES]:
            searched.append(replace(hit, functions=hit.functions[:FUNCTIONS_OF_SUSPECTS]))
        first_rank = len(searched) + 1
        return searched, self._hits(further.tolist(), first_rank, share, FUNCTIONS_OF_SUSPECTS)

    def _with_named_files(self, selection: FileSelection) -> FileSelection:
        """Return the selection with the hidden files that the report names."""
        paths = self.version.index.paths
        are_tests = paths.table.test[paths.path_ids]
        return selection.with_files(self.stage_one.context.named_files.files, are_tests)

    def _first_files(
        self, number: int, selection: FileSelection, only: int | None
    ) -> tuple[list[int], int]:
        """Return the files to list, best first, and the rank of the first of them."""
        scores = np.where(selection.kept, self.scores, -np.inf)
        if only is None:
            first = top_k(scores, number)
            return first[selection.kept[first]].tolist(), 1
        better = (scores > scores[only]).sum()
        equal_before = (scores[:only] == scores[only]).sum()
        return [only], int(better + equal_before) + 1

    def _hits(
        self, files: Sequence[int], first_rank: int, share: FloatArray, functions: int
    ) -> list[Hit]:
        """Return a hit with functions and reasons for each of the files, which are best first."""
        version = self.version
        context = self.stage_one.context
        facts: Sequence[FunctionFacts] = [NO_FUNCTIONS] * len(files)
        if functions:
            facts = version.functions_of(files)
        scored = score_functions(
            context.query, context.version, files, self.scores, facts, most=functions
        )
        lifted = self._lifted(files)
        hits = []
        for place, file in enumerate(files):
            reasons = self.stage_one.choose_reasons(
                file, version.sources, lifted.get(file), facts[place], scored[place]
            )
            reasons = (*reasons, *self._model_reason(file))
            hit = Hit(
                first_rank + place,
                version.snapshot.path(file),
                round(float(self.scores[file]), 6),
                round(float(share[file]), 6),
                scored[place],
                reasons,
            )
            hits.append(hit)
        return hits

    def _model_reason(self, file: int) -> list[Reason]:
        """Return a reason if a language model moved a file up."""
        if self._moved_up is None or file not in self._moved_up:
            return []
        text = f"Moved up from rank {self._moved_up[file]} by a language model"
        return [Reason("model", text)]

    def _others(self, kept: BoolArray | None, first: str | None) -> list[Hit]:
        """Return other files than source code that the report names or shares words with.

        ``kept`` says which of them may be listed; None: all. ``first`` is the path of the
        first hit.
        """
        others = self.version.others
        if others is None:
            return []
        context = self.stage_one.context
        history = others.history.as_of(context.history.opened)
        asked = QueryContext(context.query, others, history)
        return find_other_files(asked, context.word_rarity.common_words, kept, first)

    def _shares(self, selection: FileSelection) -> FloatArray:
        """Return (F,) the shares of the first files; 0 for all others."""
        result = np.zeros(len(self.scores))
        if self.stage_one.context.distinguishes_files:
            scores = np.where(selection.sharing, self.scores_by_stages, -np.inf)
            first = top_k(scores, CALIBRATED_FILES)
            temperature = self.temperature * shipped_presence().temperature_factor
            result[first] = self.presence * shares(scores[first], temperature)
        return result

    def _lifted(self, files: Sequence[int]) -> dict[int, Reason]:
        """Return the reranker's reason for each of the files that it has moved up."""
        if self.reranked is None:
            return {}
        old_order = self.stage_one.order
        new_order = np.argsort(-self.scores_by_stages, kind="stable")
        reasons = {}
        for file in files:
            old_place = int(np.flatnonzero(old_order == file)[0])
            new_place = int(np.flatnonzero(new_order == file)[0])
            if new_place >= old_place:
                continue
            matches = self.reranked.matches(old_place)
            if not matches:
                continue
            spelling = self.stage_one.reasons.spelling
            words = [spelling.describe_match(asked, answer) for asked, answer in matches]
            text = f"Moved up from rank {old_place + 1} by stage two: {', '.join(words)}"
            reasons[file] = Reason("terms", text)
        return reasons


def _describe_gap(context: QueryContext) -> str:
    """Return what a report lacks that distinguishes no files."""
    if not context.query.weights:
        return NO_WORD
    if not context.shares_words:
        return NO_SHARED_WORD
    # Reasons may still name shared words: too few of them, or in too many files.
    return TOO_GENERAL


def _describe_suspect(change: SuspectChange) -> str:
    """Return a suspect change of a file in words, for a language model."""
    text = f"suspect change: {suspect_heading(change)}"
    return f"{text} ({', '.join(change.reasons)})" if change.reasons else text


def _notes_on_grammars(hits: Sequence[Hit]) -> list[str]:
    """Return a note if there is no grammar for any of the listed files, so none has functions."""
    suffixes = {PurePosixPath(hit.path).suffix.lower() for hit in hits}
    if not suffixes or any(has_grammar(language_name(suffix)) for suffix in suffixes):
        return []
    kinds = ", ".join(sorted(suffixes))
    no_grammar = f"there is no grammar for {kinds} files"
    return [f"{no_grammar}, so they are searched only by their words and have no functions"]


def candidates_of_answer(answer: StageOneResult, depth: int) -> Candidates:
    """Return the first ``depth`` files of stage one for a new report, whose fix is unknown."""
    rows = answer.order[:depth]
    version = answer.context.version
    snapshot = version.snapshot
    files = rows.tolist()
    return Candidates(
        answer.context.query.report,
        snapshot.commit,
        tuple(map(snapshot.path, files)),
        tuple(map(snapshot.blob, files)),
        version.paths.path_ids[rows],
        answer.scores[rows],
        np.zeros(len(rows), dtype=np.bool_),
    )
