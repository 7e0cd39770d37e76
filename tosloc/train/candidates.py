"""Candidates of labelled reports, from which rerankers learn, and the rankings that are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tosloc.core.arrays import FloatArray
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.rankings import Ranking
from tosloc.core.reports import Case
from tosloc.git.repository import Repository
from tosloc.rank.features import FeatureTable
from tosloc.rank.model import StageOne
from tosloc.rerank.base import Candidates, Reranker, RerankingContext


@dataclass(frozen=True, eq=False)
class LabelledCandidates:
    """The candidates of labelled reports, read from feature tables.

    It is the ``TrainingSet`` of rerankers.
    """

    repo: Repository
    suffixes: frozenset[str]
    """Suffixes of the ranked files."""
    cases: Mapping[str, Case]
    """Report's id -> labelled report."""
    stage: StageOne
    tables: Callable[[str], Iterable[FeatureTable]]
    """Function that reads the feature tables of a part (train, validation or test) at each call."""

    def candidates(
        self, part: str, depth: int, *, for_training: bool = False, by_linear_score: bool = False
    ) -> Iterator[Candidates]:
        """Yield the first ``depth`` files of each report of a part.

        With ``for_training``, every fixed file is also a candidate. With ``by_linear_score``, the
        files are ordered by stage one's weighted sum, without its learned ranker.
        """
        for table in self.tables(part):
            if by_linear_score:
                scores = self.stage.linear(table.rows)
            else:
                scores = self.stage.scores(table.rows, table.asserted)
            yield self._candidates(table, scores, depth, for_training=for_training)

    def _candidates(
        self, table: FeatureTable, scores: FloatArray, depth: int, *, for_training: bool = False
    ) -> Candidates:
        case = self.cases[table.report]
        order = np.argsort(-scores, kind="stable")
        chosen = order[:depth]
        rest = order[depth:]
        missed = np.flatnonzero(table.fixed[rest])
        missed_ranks: tuple[int, ...] = tuple((missed + len(chosen) + 1).tolist())
        if for_training:
            chosen = np.concatenate((chosen, rest[missed]))
            missed_ranks = ()
        snapshot = self.repo.snapshot(case.before_commit, self.suffixes)
        by_path_id = np.argsort(snapshot.path_ids)
        path_ids = table.path_ids[chosen]
        places = np.searchsorted(snapshot.path_ids, path_ids, sorter=by_path_id)
        files = by_path_id[places].tolist()
        return Candidates(
            case.report,
            case.before_commit,
            tuple(map(snapshot.path, files)),
            tuple(map(snapshot.blob, files)),
            path_ids,
            scores[chosen],
            table.fixed[chosen],
            missed_ranks,
            len(case.fixed),
            int(case.fixed_at),
        )

    def rankings(
        self,
        part: str,
        reranker: Reranker | None = None,
        context: RerankingContext | None = None,
        progress: Progress = ignore_progress,
    ) -> Iterator[Ranking]:
        """Yield the final ranking of each report of a part, with every file of its version.

        The order is that of stage one if there is no reranker, or if it does not score the report.
        """
        paths = self.repo.path_names.names
        for table in self.tables(part):
            scores = self.stage.scores(table.rows, table.asserted)
            if reranker is not None and context is not None and reranker.weight:
                first = self._candidates(table, scores, reranker.depth).without_labels()
                reranked = reranker.rerank(first, context, progress)
                if reranked is not None:
                    scores = reranked.final_scores(scores)
            yield table.ranking(scores, paths)
