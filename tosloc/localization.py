"""The answer to one report before it is cut: every file ranked, reasons and functions for those that are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tosloc.answer import Answer, Searched
from tosloc.calibration import LISTED, UNFITTED
from tosloc.calibration import shares as shares_of
from tosloc.code.languages import SOURCE_SUFFIXES, has_grammar, language_of
from tosloc.index.corpus import suffix_of
from tosloc.index.postings import leaders
from tosloc.open_version import OpenVersion, time_of_seconds
from tosloc.rank.reasons import Sources
from tosloc.rank.stage_one import StageOneAnswer
from tosloc.records import BoolArray, FloatArray, Function, Hit, Ranking, Reason
from tosloc.reports.globs import Chosen
from tosloc.rerank.base import Reranked, Reranker

if TYPE_CHECKING:
    from tosloc.code.function_rows import FunctionFacts


UNDATED = "the report has no date"
"""How the note begins that says so."""


@dataclass(eq=False)
class Localization:
    """The answer to one report: a full ranking, and reasons for as many of its files as are asked for."""

    stage_one: StageOneAnswer
    scores: FloatArray
    """(F,) final scores, in path order."""
    notes: tuple[str, ...]
    reranker: Reranker | None = None
    """Where one was asked."""
    reranked: Reranked | None = None
    """Its answer, where it had one."""
    temperature: float = UNFITTED
    """Of the softmax that makes shares of scores."""
    version: OpenVersion | None = None
    """What functions and reasons are read from beside the facts."""

    @cached_property
    def ranking(self) -> Ranking:
        """Every file of the version, most suspicious first."""
        context = self.stage_one.context
        return Ranking.from_scores(context.query.report.id, context.version.text.snapshot.paths, self.scores)

    def answer(
        self,
        number: int,
        chosen: Chosen | None = None,
        repository: Path | None = None,
        seconds: float = 0.0,
        functions: int = 0,
        only: str | None = None,
    ) -> Answer:
        """The answer with the first ``number`` of the ``chosen`` files (None: of all), with reasons and functions.

        With a path in ``only`` that file alone is in it, at its place among the chosen ones.
        """
        context = self.stage_one.context
        snapshot = context.version.text.snapshot
        kept = np.ones(len(snapshot), dtype=np.bool_) if chosen is None else chosen.kept
        hits = tuple(self._hits(number, kept, functions, only))
        notes = (*self.notes, *(() if chosen is None else chosen.notes), *_about_grammars(hits))
        return Answer(
            None if repository is None else str(repository),
            snapshot.commit,
            time_of_seconds(snapshot.committed_at),
            context.query.report,
            Searched(int(kept.sum()), 0 if chosen is None else chosen.hidden_tests),
            hits,
            notes,
            seconds,
        )

    def top(self, number: int) -> list[Hit]:
        """The first files with their reasons, tests among them."""
        return list(self.answer(number).hits)

    def first(self, number: int, chosen: Chosen) -> list[int]:
        """The first files that ``answer`` would name."""
        return self._first(number, chosen.kept)

    def _first(self, number: int, kept: BoolArray) -> list[int]:
        first = leaders(np.where(kept, self.scores, -np.inf), number)
        files: list[int] = first[kept[first]].tolist()
        return files

    def _hits(self, number: int, kept: BoolArray, functions: int, only: str | None) -> Iterator[Hit]:
        named = np.where(kept, self.scores, -np.inf)
        snapshot = self.stage_one.context.version.text.snapshot
        if only is None:
            shown = self._first(number, kept)
            ranks = range(1, number + 1)
        else:
            order = np.argsort(-named, kind="stable")[: int(kept.sum())].tolist()
            rank = next((rank for rank, file in enumerate(order, start=1) if snapshot.path(file) == only), 0)
            shown, ranks = order[max(rank, 1) - 1 : rank], range(rank, rank + 1)
        shares = self._shares(named)
        said = self._said_by_reranker(shown)
        sources = Sources() if self.version is None else self.version.sources
        facts = self.version.functions_of(shown) if functions and self.version is not None else {}
        reasons = self.stage_one.explainer.why(shown, sources, said, facts)
        scored = self._functions(shown, facts, functions)
        for rank, file, why, found in zip(ranks, shown, reasons, scored, strict=False):
            score, share = round(float(self.scores[file]), 6), round(shares.get(file, 0.0), 6)
            yield Hit(rank, snapshot.path(file), score, share, found, why)

    def _shares(self, named: FloatArray) -> dict[int, float]:
        """The shares of the first files; those of all others are 0."""
        first = leaders(named, LISTED)
        return dict(zip(first.tolist(), shares_of(named[first], self.temperature).tolist(), strict=True))

    def _functions(
        self, files: Sequence[int], facts: Mapping[int, FunctionFacts], most: int
    ) -> Sequence[tuple[Function, ...]]:
        """Of each of some files the first functions, best first."""
        if not facts:
            return [()] * len(files)
        from tosloc.rank.functions import score_functions  # for answers that name functions

        context = self.stage_one.context
        of_files = [facts[file] for file in files]
        return score_functions(context.query, context.version, files, self.scores, of_files, most=most)

    def _said_by_reranker(self, files: Sequence[int]) -> dict[int, Reason]:
        """What the reranker says of those of some files that it has lifted."""
        if self.reranker is None or self.reranked is None:
            return {}
        place_of = np.empty(len(self.scores), dtype=np.int64)
        place_of[np.argsort(-self.scores, kind="stable")] = np.arange(1, len(self.scores) + 1)
        moved = ((file, self._moved(file, int(place_of[file]))) for file in files)
        return {file: reason for file, reason in moved if reason is not None}

    def _moved(self, file: int, place: int) -> Reason | None:
        """What the reranker says of a file that it has lifted to this place."""
        assert self.reranker is not None
        assert self.reranked is not None
        before = int(np.flatnonzero(self.stage_one.order == file)[0]) + 1
        matches = self.reranked.matches(before - 1) if place < before else ()
        if not matches:
            return None
        words = ", ".join(self.stage_one.explainer.as_answered(asked, found) for asked, found in matches)
        return Reason("terms", f"{self.reranker.says}: up from place {before} ({words})")


def _about_grammars(hits: Sequence[Hit]) -> Iterator[str]:
    """A sentence where none of the hits is of a language that is parsed."""
    suffixes = {suffix_of(hit.path, SOURCE_SUFFIXES) for hit in hits}
    if suffixes and not any(has_grammar(language_of(suffix)) for suffix in suffixes):
        listed = ", ".join(sorted(suffixes))
        yield f"there is no grammar for {listed} files: they are searched by their words, and have no functions"
