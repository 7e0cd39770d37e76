"""Where the stages meet: stage one's first files become candidates, and a reranker's scores their new order.

Shapes: F files of a version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import tee

import numpy as np

from tosloc.git.repository import Repository
from tosloc.rank.feature_tables import FeatureTable
from tosloc.rank.lambdamart import raised
from tosloc.rank.stage_one import StageOne, StageOneAnswer
from tosloc.records import Case, FloatArray, Progress, Ranking, silent
from tosloc.rerank.base import Candidates, Reranked, Reranker, RerankingContext


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
    return raised(scores, order, reranked.scores)


@dataclass(frozen=True, eq=False)
class LabelledCandidates:
    """Candidates of labelled reports, whose features stand in tables: the ``TrainingSet`` of rerankers."""

    repo: Repository
    suffixes: frozenset[str]
    cases: Mapping[str, Case]
    """Report id -> its case."""
    stage: StageOne
    tables: Callable[[str], Iterable[FeatureTable]]
    """Part (train, validation, test) -> its feature tables, read anew at each call."""

    def candidates(
        self, part: str, depth: int, *, for_training: bool = False, by_linear_score: bool = False
    ) -> Iterator[Candidates]:
        """The first files of each report of a part; in training every fixed file too."""
        scores_of = self.stage.linear if by_linear_score else self.stage.scores
        for table in self.tables(part):
            yield self._of(table, scores_of(table.rows), depth, for_training=for_training)

    def _of(self, table: FeatureTable, scores: FloatArray, depth: int, *, for_training: bool = False) -> Candidates:
        case, names = self.cases[table.report], self.repo.path_names.names
        order = np.argsort(-scores, kind="stable")
        rows, rest = order[:depth], order[depth:]
        missed = np.flatnonzero(table.fixed[rest])
        missed_ranks: tuple[int, ...] = tuple((missed + len(rows) + 1).tolist())
        if for_training:
            rows, missed_ranks = np.concatenate((rows, rest[missed])), ()
        snapshot = self.repo.snapshot(case.version, self.suffixes)
        by_path = np.argsort(snapshot.path_ids)
        path_ids = table.path_ids[rows]
        files = by_path[np.searchsorted(snapshot.path_ids, path_ids, sorter=by_path)]
        return Candidates(
            case.report,
            case.version,
            tuple(names[number] for number in path_ids.tolist()),
            tuple(map(snapshot.blob, files.tolist())),
            path_ids,
            scores[rows],
            table.fixed[rows],
            missed_ranks,
            len(case.fixed),
            int(case.fixed_at),
        )

    def rankings(
        self,
        part: str,
        reranker: Reranker | None = None,
        context: RerankingContext | None = None,
        progress: Progress = silent,
    ) -> Iterator[Ranking]:
        """Final rankings of a part's reports, every file of each version; by stage one alone without a reranker."""
        paths = self.repo.path_names.names
        scored = ((table, self.stage.scores(table.rows)) for table in self.tables(part))
        if reranker is None or context is None or not reranker.weight:
            for table, scores in scored:
                yield table.ranking(scores, paths)
            return
        mine, theirs = tee(scored)
        first = (self._of(table, scores, reranker.depth).unlabelled() for table, scores in theirs)
        answers = reranker.rerank(first, context, progress)
        for (table, scores), reranked in zip(mine, answers, strict=True):
            yield table.ranking(scores if reranked is None else final_scores(scores, reranked), paths)
