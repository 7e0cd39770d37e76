"""Where the stages meet: which files become candidates, and what becomes of a reranker's scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from tests import toy
from tosloc.experiment import ExperimentContext
from tosloc.git.repository import Repository
from tosloc.index.context import QueryContext
from tosloc.index.query import Query
from tosloc.localization import LabelledCandidates, candidates_of_answer, final_scores
from tosloc.localizer import Localizer
from tosloc.rank.extract import tasks_of
from tosloc.rank.feature_tables import FeatureTable
from tosloc.rank.stage_one import StageOne, StageOneAnswer
from tosloc.records import Progress, Ranking, silent
from tosloc.rerank.base import Candidates, Reranked, RerankingContext

NAMES = ("code", "recency")
STAGE = StageOne(NAMES, np.array([0.1, 1.0]))
DEPTH = 2


class Opposite(StageOne):
    """Its learned ranker turns the whole order round."""

    def scores(self, table):
        return -self.linear(table)


@dataclass
class Turned:
    """A reranker that turns the head round, says nothing of some reports, and notes what it is asked."""

    weight: float = 1.0
    depth: int = 4
    silent_on: tuple[str, ...] = ()
    asked: list[Candidates] = field(default_factory=list)

    def rerank(
        self, candidates: Iterable[Candidates], context: RerankingContext, progress: Progress = silent
    ) -> Iterator[Reranked | None]:
        for one in candidates:
            self.asked.append(one)
            yield None if one.report.id in self.silent_on else Reranked(-one.scores)


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExperimentContext]:
    project = toy.grow(tmp_path_factory.mktemp("toy"), bugs=10, themes=8)
    with Repository(project.git.path) as repo:
        made = ExperimentContext.set_up(toy.config(0.6, 0.2), repo, project.reports(), project.store)
        yield made
        made.indexed.close()


@pytest.fixture(scope="module")
def tables(experiment: ExperimentContext, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[FeatureTable]]:
    """Part -> the feature tables of all files."""
    extraction = experiment.extraction(tmp_path_factory.mktemp("work"), NAMES)
    return {
        part: list(extraction.tables(extraction.run(tasks_of(experiment.part(part), experiment.history, 0), jobs=1)))
        for part in ("train", "validation")
    }


def labelled_candidates(experiment: ExperimentContext, tables: dict, stage: StageOne = STAGE) -> LabelledCandidates:
    return experiment.candidates(stage, lambda part: iter(tables[part]))


def test_training_has_every_fixed_file_and_validation_the_ranks_of_those_missed(experiment, tables) -> None:
    made = labelled_candidates(experiment, tables)
    missed = 0
    for part, found in (
        ("train", list(made.candidates("train", DEPTH, for_training=True))),
        ("validation", list(made.candidates("validation", DEPTH))),
    ):
        assert [one.report.id for one in found] == [table.report for table in tables[part]]
        for one, table in zip(found, tables[part], strict=True):
            ranked = table.ranking(STAGE.scores(table.rows), experiment.repo.path_names.names)
            [right] = [rank for rank, path in enumerate(ranked.paths, start=1) if path in _fixed(experiment, one)]
            beyond = right > DEPTH
            missed += beyond
            added = ranked.paths[right - 1 : right] if beyond and part == "train" else ()
            assert one.paths == (*ranked.paths[:DEPTH], *added)
            assert one.scores.tolist() == [ranked.scores[ranked.paths.index(path)] for path in one.paths]
            assert one.missed_ranks == ((right,) if beyond and part == "validation" else ())
            assert int(one.fixed.sum()) + len(one.missed_ranks) == one.relevant == 1
    assert 0 < missed < 8


def _fixed(experiment: ExperimentContext, one: Candidates) -> tuple[str, ...]:
    return labelled_candidates(experiment, {}).cases[one.report.id].fixed


def test_candidates_are_files_of_the_report_s_version(experiment, tables) -> None:
    for one in labelled_candidates(experiment, tables).candidates("train", 5, for_training=True):
        case = labelled_candidates(experiment, {}).cases[one.report.id]
        snapshot = experiment.indexed.snapshot(case.version)
        blobs = dict(zip(snapshot.paths, snapshot.blobs, strict=True))
        assert one.blobs == tuple(blobs[path] for path in one.paths)
        assert [experiment.repo.path_names.names[number] for number in one.path_ids] == list(one.paths)
        assert (one.report, one.version, one.fixed_at) == (case.report, case.version, case.fixed_at)


def test_learning_may_look_at_the_weighted_sum_alone(experiment, tables) -> None:
    plain, turned = (
        labelled_candidates(experiment, tables, kind(NAMES, STAGE.weights)) for kind in (StageOne, Opposite)
    )
    firsts = [[one.paths[0] for one in made.candidates("train", 1)] for made in (plain, turned)]
    assert not set(zip(*firsts, strict=True)) & {(path, path) for path in firsts[0]}
    for part in ("train", "validation"):
        linear = [list(made.candidates(part, 3, for_training=True, by_linear_score=True)) for made in (plain, turned)]
        assert [one.paths for one in linear[0]] == [one.paths for one in linear[1]]
        assert all(
            np.array_equal(*pair) for pair in zip(*([one.scores for one in made] for made in linear), strict=True)
        )
    assert [one.missed_ranks for one in plain.candidates("validation", 1, for_training=True)] == [(), ()]


def test_a_user_s_report_gives_the_candidates_of_training(experiment, tables) -> None:
    localizer = Localizer(experiment.config)
    localizer.stage_one_ = STAGE
    for one in labelled_candidates(experiment, tables).candidates("validation", 5):
        version = localizer.open_version(experiment.indexed, one.version).version_
        context = QueryContext(Query(one.report), version.index, version.history.as_of(one.opened))
        asked = candidates_of_answer(StageOneAnswer.of(context, STAGE), 5)
        assert (asked.paths, asked.blobs, asked.version) == (one.paths, one.blobs, one.version)
        assert asked.scores == pytest.approx(one.scores, rel=1e-5, abs=1e-6)
        assert [version.index.paths.table.paths[number] for number in asked.path_ids] == list(asked.paths)
        assert not asked.fixed.any()  # nobody knows
        assert (asked.missed_ranks, asked.relevant, asked.fixed_at) == ((), 0, 0)


def test_only_the_head_moves() -> None:
    scores = np.array([0.1, 0.9, 0.5, 0.7])
    final = final_scores(scores, Reranked(np.array([0.9, 1.3])))
    # file 3 by .7 + .6 before file 1; the others below, in their order
    assert np.argsort(-final, kind="stable").tolist() == [3, 1, 2, 0]
    assert final[1] == pytest.approx(0.9)
    assert final[3] == pytest.approx(1.3)
    sunk = final_scores(scores, Reranked(np.array([-1.8, 0.7])))
    assert np.argsort(-sunk, kind="stable").tolist() == [3, 1, 2, 0]
    assert sunk[[0, 2]].tolist() == [0.1, 0.5]
    assert final_scores(scores, Reranked(np.zeros(0))).tolist() == scores.tolist()
    assert final_scores(scores[:0], Reranked(np.zeros(0))).tolist() == []


def ranked(experiment: ExperimentContext, tables: dict, reranker: Turned | None) -> list[Ranking]:
    context = RerankingContext()
    return list(labelled_candidates(experiment, tables).rankings("train", reranker, context))  # type: ignore[arg-type]


def test_rankings_hold_every_file_and_keep_the_order_past_the_head(experiment, tables) -> None:
    first = ranked(experiment, tables, None)
    reranker = Turned(silent_on=(first[1].report,))
    both = ranked(experiment, tables, reranker)
    assert [one.report.id for one in reranker.asked] == [ranking.report for ranking in first]
    assert both[1] == first[1]  # where a reranker says nothing, stage one's order stands
    for number, (old, new) in enumerate(zip(first, both, strict=True)):
        if number != 1:
            assert sorted(new.paths) == sorted(old.paths)
            assert new.paths[4:] == old.paths[4:]
            scores = dict(zip(old.paths[:4], old.scores[:4].tolist(), strict=True))
            assert list(new.paths[:4]) == sorted(scores, key=lambda path: (scores[path], path))


def test_a_reranker_without_weight_is_not_asked(experiment, tables) -> None:
    reranker = Turned(weight=0)
    assert ranked(experiment, tables, reranker) == ranked(experiment, tables, None)
    assert reranker.asked == []


def test_a_reranker_that_scores_is_told_nothing_of_the_fix(experiment, tables) -> None:
    reranker = Turned()
    ranked(experiment, tables, reranker)
    training = list(labelled_candidates(experiment, tables).candidates("train", 4))
    assert [one.paths for one in reranker.asked] == [one.paths for one in training]
    for asked, known in zip(reranker.asked, training, strict=True):
        assert known.relevant == 1
        assert known.fixed_at > 0
        assert not asked.fixed.any()
        assert (asked.missed_ranks, asked.relevant, asked.fixed_at) == ((), 0, 0)
