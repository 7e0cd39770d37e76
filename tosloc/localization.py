"""One version ready to be asked, and the answer to a report: all files ranked, the first with reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Self

import numpy as np

from tosloc.answer import Answer, Searched
from tosloc.calibration import LISTED, shares
from tosloc.candidates import candidates_of_answer, final_scores
from tosloc.code.languages import SOURCE_SUFFIXES, has_grammar, language_of
from tosloc.errors import CheckpointError
from tosloc.git.repository import Repository, decode
from tosloc.git.web_pages import WebPages
from tosloc.index.context import QueryContext, VersionIndex
from tosloc.index.corpus import suffix_of
from tosloc.index.documents import Documents
from tosloc.index.history_index import HistoryIndex
from tosloc.index.postings import leaders
from tosloc.index.query import Query
from tosloc.index.repository import IndexedRepository, PreparedVersion
from tosloc.rank.reasons import Sources
from tosloc.rank.stage_one import StageOne, StageOneAnswer
from tosloc.records import BugReport, FloatArray, Function, Hit, Ranking, Reason, Snapshot
from tosloc.reports.globs import Chosen, PathFilter
from tosloc.rerank.base import Reranked, Reranker, RerankingContext, TextSource, facts_in_corpus

if TYPE_CHECKING:
    from tosloc.code.function_rows import FunctionFacts
    from tosloc.index.function_facts import Remembered

UNDATED = "the report has no date"
"""How the note begins that says so."""


@dataclass(eq=False)
class OpenVersion:
    """One version ready for queries, with the history of its files and what is read beside them."""

    snapshot: Snapshot
    index: VersionIndex
    history: HistoryIndex
    notes: tuple[str, ...] = ()
    repository: IndexedRepository | None = None
    """What functions, texts and messages are read from; None of a version that a checkpoint carries."""
    reranking: RerankingContext | None = None
    """What a reranker reads; None where stage one is alone."""
    _functions: Remembered = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        repository: IndexedRepository | None,
        prepared: PreparedVersion,
        reports: tuple[Documents, Sequence[str]] | None,
        reranker: Reranker | None,
    ) -> Self:
        """A version with the fixed reports that training knew, and the paths that their numbers mean, if there are any.

        The ``reranker`` is one that may be asked of it.
        """
        history = prepared.history if reports is None else prepared.with_reports(*reports)
        about = () if repository is None else repository.repo.notes(prepared.missing, len(history.reports))
        version = cls(prepared.snapshot, prepared.index, history, (*about, *prepared.notes), repository)
        context = version.for_reranking()
        version.reranking = context if reranker is not None and reranker.can_score(context) else None
        return version

    @property
    def newest(self) -> datetime:
        """Right after the version's own commit: when a report without a date is taken to be opened.

        Not after the newest commit of its history, where one wrong clock would make all the others old.
        """
        return datetime.fromtimestamp(max(self.snapshot.committed_at, 0) + 1, UTC)

    def choose(self, wanted: PathFilter) -> Chosen:
        """Which of its files an answer may name. Raises ToslocError for a glob that matches nothing."""
        paths = self.index.paths
        return wanted.choose(paths.table.test[paths.path_ids], lambda: self.snapshot.paths)

    @cached_property
    def sources(self) -> Sources:
        """What reasons may read of the repository."""
        if self.repository is None:
            return Sources()
        pages = WebPages.of(self.repository.repo.remote_url())
        return Sources(self.repository.repo.subjects, lambda commit: None if pages is None else pages.commit(commit))

    def functions_of(self, files: Sequence[int]) -> dict[int, FunctionFacts]:
        """The functions of each of some files; of none where there is no repository."""
        if self.repository is None or not files:
            return {}
        from tosloc.index.function_facts import functions_of_files  # which loads a parser

        place, suffixes = self.repository, self.repository.suffixes
        wanted = [(self.snapshot.blob(file), suffix_of(self.snapshot.path(file), suffixes)) for file in files]
        found = functions_of_files(place.repo, place.store_path, wanted, remembered=self._functions)
        return dict(zip(files, found, strict=True))

    def for_reranking(self) -> RerankingContext:
        """What a reranker may read of the version."""
        place = self.repository
        return RerankingContext(
            facts_in_corpus(self.index.text.corpus),
            self.history,
            len(self.index.paths.table),
            texts=None if place is None else texts_of(place.repo),
            vectors=None if place is None else place.vectors_path,
        )


def texts_of(repo: Repository) -> TextSource:
    """Texts of a repository's blobs."""
    return lambda blobs: ((blob, None if data is None else decode(data)) for blob, data in repo.texts(blobs))


@dataclass(eq=False)
class Localization:
    """The answer to one report: a full ranking, and reasons for as many of its files as are asked for."""

    version: OpenVersion
    stage_one: StageOneAnswer
    scores: FloatArray
    """(F,) final scores, in path order."""
    notes: tuple[str, ...]
    temperature: float
    """Of the softmax that makes shares of scores."""
    reranker: Reranker | None
    reranked: Reranked | None
    """The reranker's answer, where it had one."""

    @classmethod
    def of(
        cls, report: BugReport, version: OpenVersion, stage: StageOne, reranker: Reranker | None, temperature: float
    ) -> Self:
        """Every file of a version ranked for a report. Raises CheckpointError for weights that give no scores."""
        notes = version.notes
        if report.opened is None:
            report = replace(report, opened=version.newest)
            notes += (f"{UNDATED}; it is asked as if opened at {report.opened:%Y-%m-%d %H:%M} UTC",)
        context = QueryContext(Query(report), version.index, version.history.as_of(report.opened_seconds))
        first = StageOneAnswer.of(context, stage)
        scores, reranked = first.scores, None
        if reranker is not None and version.reranking is not None and reranker.may_score(report.opened_seconds):
            [reranked] = reranker.rerank([candidates_of_answer(first, reranker.depth)], version.reranking)
            scores = scores if reranked is None else final_scores(scores, reranked)
        if not context.shares_words:
            notes += ("no word of the report occurs in any file; the order says only which files change most",)
        if not np.isfinite(scores).all():
            raise CheckpointError("the weights give scores that are no numbers; train again")
        return cls(version, first, scores, notes, temperature, reranker, reranked)

    @cached_property
    def ranking(self) -> Ranking:
        """Every file of the version, most suspicious first."""
        return Ranking.from_scores(self.stage_one.context.query.report.id, self.version.snapshot.paths, self.scores)

    def top(self, number: int) -> list[Hit]:
        """The first files with their reasons, tests among them."""
        return list(self.answer(number, self.version.choose(PathFilter(tests=True))).hits)

    def answer(self, number: int, chosen: Chosen, *, functions: int = 0, only: int | None = None) -> Answer:
        """The answer with the first ``number`` of the ``chosen`` files, with reasons and so many functions.

        With a file in ``only`` that file alone is in it, at its place among the chosen ones.
        """
        version, place = self.version, self.version.repository
        named = np.where(chosen.kept, self.scores, -np.inf)
        if only is None:
            first = leaders(named, number)
            files, rank = first[chosen.kept[first]].tolist(), 1
        else:
            before = (named > named[only]).sum() + (named[:only] == named[only]).sum()
            files, rank = [only], int(before) + 1
        hits = tuple(self._hits(files, rank, named, functions))
        suffixes = {suffix_of(hit.path, SOURCE_SUFFIXES) for hit in hits}
        notes = [*self.notes, *chosen.notes]
        if suffixes and not any(has_grammar(language_of(suffix)) for suffix in suffixes):
            listed = ", ".join(sorted(suffixes))
            notes.append(
                f"there is no grammar for {listed} files: they are searched by their words, and have no functions"
            )
        return Answer(
            None if place is None else str(place.repo.path),
            version.snapshot.commit,
            datetime.fromtimestamp(version.snapshot.committed_at, UTC),
            self.stage_one.context.query.report,
            Searched(int(chosen.kept.sum()), chosen.hidden_tests),
            hits,
            tuple(notes),
        )

    def _hits(self, files: Sequence[int], rank: int, named: FloatArray, most: int) -> list[Hit]:
        """Hits of some files, the first of them at ``rank``; ``named`` are the scores of those that may be named."""
        version, context = self.version, self.stage_one.context
        first = leaders(named, LISTED)  # the shares of all others are 0
        share_of = dict(zip(first.tolist(), shares(named[first], self.temperature).tolist(), strict=True))
        facts = version.functions_of(files) if most else {}
        why = self.stage_one.explainer.why(files, version.sources, self._lifted(files), facts)
        functions: Sequence[tuple[Function, ...]] = [()] * len(files)
        if facts:
            from tosloc.rank.functions import score_functions  # for answers that name functions

            of_files = [facts[file] for file in files]
            functions = score_functions(context.query, context.version, files, self.scores, of_files, most=most)
        return [
            Hit(
                number,
                version.snapshot.path(file),
                round(float(self.scores[file]), 6),
                round(share_of.get(file, 0.0), 6),
                found,
                said,
            )
            for number, file, found, said in zip(count(rank), files, functions, why, strict=False)
        ]

    def _lifted(self, files: Sequence[int]) -> dict[int, Reason]:
        """What the reranker says of those of some files that it has lifted."""
        if self.reranker is None or self.reranked is None:
            return {}
        first, order = self.stage_one.order, np.argsort(-self.scores, kind="stable")
        found = {}
        for file in files:
            before, now = (int(np.flatnonzero(places == file)[0]) for places in (first, order))
            matches = self.reranked.matches(before) if now < before else ()
            if matches:
                words = ", ".join(self.stage_one.explainer.as_answered(asked, answer) for asked, answer in matches)
                found[file] = Reason("terms", f"{self.reranker.says}: up from place {before + 1} ({words})")
        return found
