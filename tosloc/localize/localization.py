"""One version ready to be asked, and the answer to a report: all files ranked, the first with reasons.

Where the stages meet: stage one's first files become candidates, and a reranker's scores their new order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import PurePosixPath

import numpy as np

from tosloc.code.functions import NO_FUNCTIONS, FunctionFacts
from tosloc.code.languages import has_grammar, language_name
from tosloc.core.errors import CheckpointError
from tosloc.core.records import BoolArray, BugReport, FloatArray, Hit, Ranking, Reason, RoutineNote
from tosloc.git.discovery import WebPages
from tosloc.git.repository import Repository, decode_text
from tosloc.localize.answer import Answer, Searched
from tosloc.localize.checkpoint import shipped
from tosloc.localize.repository_notes import describe_gaps
from tosloc.paths.code_owners import owners_of
from tosloc.paths.globs import FileSelection, match_globs, select_files
from tosloc.rank.background import collect_background, find_other_files, read_code_owners
from tosloc.rank.calibration import CALIBRATED_FILES, shares
from tosloc.rank.functions import score_functions
from tosloc.rank.reasons import RepositoryLookups
from tosloc.rank.stage_one import StageOne, StageOneAnswer, splice_head_above_rest
from tosloc.rerank.base import Candidates, Reranked, Reranker, RerankingContext, TextSource
from tosloc.retrieval.context import QueryContext
from tosloc.retrieval.documents import Documents
from tosloc.retrieval.postings import top_k
from tosloc.retrieval.query import Query
from tosloc.storage.prepared import PreparedVersion
from tosloc.storage.repository import IndexedRepository


class OpenVersion:
    """One version ready for queries, with the history of its files and what is read beside them."""

    uncommitted = 0  # files that are not as the commit has them: changed, new or gone
    others: PreparedVersion | None = None
    """Its files that are no sources; None of a version that a checkpoint carries, and in experiments."""
    reranking: RerankingContext | None = (
        None  # what a reranker reads; None where stage one is alone
    )

    def __init__(
        self,
        repository: IndexedRepository | None,
        prepared: PreparedVersion,
        reports: tuple[Documents, Sequence[str]] | None,
        reranker: Reranker | None,
    ) -> None:
        """Functions, texts and messages are read from the ``repository``; None: a checkpoint carries the version.
        ``reports`` are the fixed ones that training knew, if any, and what their paths' numbers mean.
        """
        self.snapshot, self.index, self.repository = prepared.snapshot, prepared.index, repository
        self.history = prepared.history if reports is None else prepared.with_reports(*reports)
        fixes = int((self.history.reports.commits >= 0).sum())
        gaps: Iterable[str] = ()
        if repository is not None:
            gaps = describe_gaps(repository.repo, prepared.missing, fixes)
        self.notes: tuple[str, ...] = (*gaps, *prepared.notes)
        context = self.for_reranking()
        if reranker is not None and reranker.can_score(context):
            self.reranking = context
        elif reranker is not None and reranker.weight:
            self.notes += (
                "the second stage reads the files' texts, so stage one alone answers; open a repository",
            )

    @property
    def newest(self) -> datetime:
        """Right after the version's own commit: when a report without a date is taken to be opened. Not after the
        newest commit of its history, where one wrong clock would make all the others old.
        """
        return datetime.fromtimestamp(max(self.snapshot.committed_at, 0) + 1, UTC)

    @cached_property
    def shipped(self) -> tuple[StageOne, float]:
        """The shipped weights for its files, and their temperature."""
        return shipped(self.snapshot.paths)

    def choose(
        self,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        *,
        tests: bool = False,
        may_miss: Collection[str] = (),
    ) -> FileSelection:
        """Which of its files an answer may name, see ``tosloc.paths.globs.select_files``."""
        paths, globs = self.index.paths, (include, exclude)
        chosen = select_files(
            self.snapshot.paths,
            paths.table.test[paths.path_ids],
            *globs,
            tests=tests,
            may_miss=may_miss,
        )
        if self.others is None or not any(globs):
            return chosen
        return chosen._replace(
            others=match_globs(self.others.snapshot.paths, include, exclude, ("include", "exclude"))
        )

    @cached_property
    def sources(self) -> RepositoryLookups:
        """What reasons may read of the repository."""
        if self.repository is None:
            return RepositoryLookups()
        repo = self.repository.repo
        pages = WebPages.of(repo.remote_url())
        rules = read_code_owners(repo, self.snapshot.commit)
        return RepositoryLookups(
            repo.subject,
            lambda commit: None if pages is None else pages.commit(commit),
            lambda commits: repo.authors(commits, self.snapshot.commit),
            lambda path: owners_of(rules, path),
        )

    def functions_of(self, files: Sequence[int]) -> Sequence[FunctionFacts]:
        """The functions of each of some files; none where there is no repository."""
        if self.repository is None:
            return [NO_FUNCTIONS] * len(files)
        blobs = [self.snapshot.blob(file) for file in files]
        paths = [self.snapshot.path(file) for file in files]
        functions = self.repository.functions.read(dict(zip(blobs, paths, strict=True)))
        return [functions.get(blob, NO_FUNCTIONS) for blob in blobs]

    def for_reranking(self) -> RerankingContext:
        """What a reranker may read of the version."""
        place = self.repository
        return RerankingContext(
            lambda blobs: self.index.text.corpus,
            self.history,
            texts=None if place is None else texts_of(place.repo),
            vectors=None if place is None else place.vectors_path,
        )


def texts_of(repo: Repository) -> TextSource:
    """Texts of a repository's blobs."""
    return lambda blobs: (
        (blob, None if data is None else decode_text(data)) for blob, data in repo.texts(blobs)
    )


class Localization:
    """The answer to one report: a full ranking, and reasons for as many of its files as are asked for."""

    reranked: Reranked | None = None  # the reranker's answer, where it had one

    def __init__(
        self,
        report: BugReport,
        version: OpenVersion,
        stage: StageOne,
        reranker: Reranker | None,
        temperature: float,
    ) -> None:
        """Every file of a version ranked for a report; ``temperature`` is that of the softmax that makes shares of
        scores. Raises CheckpointError for weights that give no scores.
        """
        self.version, self.temperature, self.notes = version, temperature, version.notes
        if report.opened is None:
            report = replace(report, opened=version.newest)
            when = f"{report.opened:%Y-%m-%d %H:%M} UTC"
            self.notes += (
                RoutineNote(f"the report has no date; it is asked as if opened at {when}"),
            )
        context = QueryContext(
            Query(report), version.index, version.history.as_of(report.opened_seconds)
        )
        self.stage_one = StageOneAnswer.of(context, stage)
        self.scores = self.stage_one.scores  # (F,) in path order
        if (
            reranker is not None
            and version.reranking is not None
            and reranker.may_score(report.opened_seconds)
        ):
            self.reranked = reranker.rerank(
                candidates_of_answer(self.stage_one, reranker.depth), version.reranking
            )
            if self.reranked is not None:
                self.scores = final_scores(self.scores, self.reranked)
        if not context.shares_words:
            self.notes += (
                "no word of the report occurs in any file; the order says only which files change most",
            )
        elif not context.distinguishes_files:
            # it may share words with files, which reasons name: they are too few, or stand in too many files
            self.notes += (
                "the report is too general for a confidence score; add an error message, an identifier or a file name",
            )
        if not np.isfinite(self.scores).all():
            raise CheckpointError("the weights give scores that are no numbers; train again")

    @cached_property
    def ranking(self) -> Ranking:
        """Every file of the version, most suspicious first."""
        return Ranking.from_scores(
            self.stage_one.context.query.report.id, self.version.snapshot.paths, self.scores
        )

    def answer(
        self,
        number: int,
        chosen: FileSelection,
        *,
        functions: int = 0,
        min_share: float = 0.0,
        only: int | None = None,
        background: bool = False,
    ) -> Answer:
        """The answer with the first ``number`` of the ``chosen`` files that have ``min_share``, with reasons and so
        many functions. With a file in ``only`` that file alone is in it, at its place among the chosen ones. With
        ``background`` it has that, too.
        """
        version, place, context = self.version, self.version.repository, self.stage_one.context
        named = np.where(chosen.kept, self.scores, -np.inf)
        if only is None:
            first = top_k(named, number)
            files, rank = first[chosen.kept[first]].tolist(), 1
        else:
            before = (named > named[only]).sum() + (named[:only] == named[only]).sum()
            files, rank = [only], int(before) + 1
        share, notes = self._shares(chosen), [*self.notes, *chosen.notes]
        files = [file for file in files if share[file] >= min_share]
        if not files:
            notes.append(f"nothing is sure enough: no file has a share of {min_share:.0%}")
        facts = version.functions_of(files) if functions else [NO_FUNCTIONS] * len(files)
        scored = score_functions(
            context.query, context.version, files, self.scores, facts, most=functions
        )
        lifted, hits = self._lifted(files), list[Hit]()
        for number, (file, known, found) in enumerate(
            zip(files, facts, scored, strict=True), start=rank
        ):
            why = self.stage_one.why(file, version.sources, lifted.get(file), known, found)
            score, sure = (round(float(values[file]), 6) for values in (self.scores, share))
            hits.append(Hit(number, version.snapshot.path(file), score, sure, found, why))
        suffixes = {PurePosixPath(hit.path).suffix.lower() for hit in hits}
        if suffixes and not any(map(has_grammar, map(language_name, suffixes))):
            said_of = f"there is no grammar for {', '.join(sorted(suffixes))} files"
            notes.append(f"{said_of}: they are searched by their words, and have no functions")
        about = (
            collect_background(self.stage_one.reasons, next(iter(files), None), version.sources)
            if background
            else None
        )
        return Answer(
            None if place is None else str(place.repo.path),
            version.snapshot.commit,
            datetime.fromtimestamp(version.snapshot.committed_at, UTC),
            context.query.report,
            Searched(int(chosen.kept.sum()), chosen.hidden_tests, version.uncommitted),
            tuple(hits),
            tuple(self._others(chosen.others)),
            about,
            tuple(notes),
        )

    def _others(self, kept: BoolArray | None) -> list[Hit]:
        """Files that are no sources and that the report names, or shares words with; None: all may be named."""
        version = self.version.others
        if version is None:
            return []
        context = self.stage_one.context
        asked = QueryContext(
            context.query, version.index, version.history.as_of(context.history.opened)
        )
        return find_other_files(asked, context.common_words, kept)

    def _shares(self, chosen: FileSelection) -> FloatArray:
        """(F,) those of the first files; of all others 0."""
        if not self.stage_one.context.distinguishes_files:
            return np.zeros(len(self.scores))
        sharing, found = np.where(chosen.sharing, self.scores, -np.inf), np.zeros(len(self.scores))
        first = top_k(sharing, CALIBRATED_FILES)
        found[first] = shares(sharing[first], self.temperature)
        return found

    def _lifted(self, files: Sequence[int]) -> dict[int, Reason]:
        """What the reranker says of those of some files that it has lifted."""
        if self.reranked is None:
            return {}
        first, order = self.stage_one.order, np.argsort(-self.scores, kind="stable")
        found = {}
        for file in files:
            before, now = (int(np.flatnonzero(places == file)[0]) for places in (first, order))
            matches = self.reranked.matches(before) if now < before else ()
            if matches:
                words = ", ".join(
                    self.stage_one.reasons.describe_match(asked, answer)
                    for asked, answer in matches
                )
                found[file] = Reason(
                    "terms", f"read again by its words: up from place {before + 1} ({words})"
                )
        return found


def candidates_of_answer(answer: StageOneAnswer, depth: int) -> Candidates:
    """The first ``depth`` files of stage one's answer to a new report."""
    rows, version = answer.order[:depth], answer.context.version
    snapshot, chosen = version.text.snapshot, rows.tolist()
    return Candidates(
        answer.context.query.report,
        snapshot.commit,
        tuple(map(snapshot.path, chosen)),
        tuple(map(snapshot.blob, chosen)),
        version.paths.path_ids[rows],
        answer.scores[rows],
        np.zeros(len(rows), dtype=np.bool_),
    )


def final_scores(scores: FloatArray, reranked: Reranked) -> FloatArray:
    """(F,) final scores: the first files by the reranker, above all the rest, which keeps its order."""
    order = np.argsort(-scores, kind="stable")[: len(reranked.scores)]
    return splice_head_above_rest(scores, order, reranked.scores)
