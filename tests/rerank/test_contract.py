"""The contract of all rerankers.

What is saved scores the same, every report gets its own scores, and None where it may not have any.
"""

from dataclasses import replace

import numpy as np
import pytest

from tests import rankers
from tests.rankers import RERANKED_FILES
from tests.rerank.by_hand import candidates, report
from tosloc.core.errors import ToslocError
from tosloc.rerank.base import RERANKERS, RerankingContext, reranker_class

LATER = 4_000_000_000  # seconds since 1970, after every fix that a reranker learned from


@pytest.fixture(scope="module")
def training_set(world):
    return rankers.make_training_set(world)


@pytest.fixture(scope="module")
def context(world):
    return world.experiment.for_reranking()


def opened_at(report_candidates, time):
    """Return the candidates as those of a report that was opened at this time."""
    opened = report(opened=time).opened
    return replace(report_candidates, report=replace(report_candidates.report, opened=opened))


@pytest.fixture(scope="module")
def validation(training_set):
    """Return the candidates of the validation reports, as if all were opened later."""
    return [
        opened_at(report_candidates, LATER)
        for report_candidates in training_set.candidates("validation", RERANKED_FILES)
    ]


@pytest.fixture(scope="module", params=RERANKERS)
def reranker(request, world):
    """Return each reranker after training."""
    return reranker_class(request.param).load(world.model_folder / request.param)


def scores(reranker, all_candidates, context):
    """Return for each report the scores as a list, or None."""
    results = []
    for report_candidates in all_candidates:
        reranked = reranker.rerank(report_candidates, context)
        results.append(None if reranked is None else reranked.scores.tolist())
    return results


@pytest.fixture(scope="module")
def retrained_reranker(reranker, world, training_set, tmp_path_factory):
    """Return the reranker trained once more, in another folder."""
    folder = tmp_path_factory.mktemp("again")
    return rankers.fit_reranker(replace(world, model_folder=folder), reranker.name, training_set)


def check_same_reranker(reranker, other, validation, context):
    """Assert that two rerankers score alike and have learned the same."""
    assert scores(reranker, validation, context) == scores(other, validation, context)
    assert reranker.weight == other.weight
    assert reranker.depth == other.depth
    assert reranker.trained_until == other.trained_until
    assert reranker.validation_results == other.validation_results


def test_training_twice_gives_the_same_reranker(reranker, retrained_reranker, validation, context):
    check_same_reranker(reranker, retrained_reranker, validation, context)


def test_a_saved_reranker_can_be_moved_and_loaded(
    retrained_reranker, validation, context, tmp_path
):
    retrained_reranker.save(tmp_path / "saved" / retrained_reranker.name)
    (tmp_path / "saved").rename(tmp_path / "moved")
    loaded = type(retrained_reranker).load(tmp_path / "moved" / retrained_reranker.name)
    check_same_reranker(loaded, retrained_reranker, validation, context)


def test_each_report_has_as_many_scores_as_candidates(reranker, validation, context):
    results = scores(reranker, validation, context)
    assert [len(result) for result in results] == [
        len(report_candidates) for report_candidates in validation
    ]


def test_scores_differ_between_reports(reranker, validation, context):
    results = scores(reranker, validation, context)
    assert len({tuple(result) for result in results}) == len(validation)


def test_scores_differ_from_those_of_stage_one(reranker, validation, context):
    results = scores(reranker, validation, context)
    for report_candidates, result in zip(validation, results, strict=True):
        assert not np.allclose(result, report_candidates.scores)


def test_scores_do_not_depend_on_the_order_of_asking(reranker, validation, context):
    results = scores(reranker, validation, context)
    assert scores(reranker, validation[::-1], context) == results[::-1]


def test_scores_do_not_depend_on_what_else_is_asked(reranker, validation, context):
    alone = [scores(reranker, [report_candidates], context)[0] for report_candidates in validation]
    assert alone == scores(reranker, validation, context)


def test_scores_do_not_depend_on_labels(reranker, validation, context):
    relabelled = []
    for report_candidates in validation:
        labels = {
            "fixed": ~report_candidates.fixed,
            "missed_ranks": (9,),
            "relevant": 7,
            "fixed_at": 5,
        }
        relabelled.append(replace(report_candidates, **labels))
    assert scores(reranker, relabelled, context) == scores(reranker, validation, context)


def test_only_the_term_reranker_names_matching_terms(reranker, validation, context):
    reranked = reranker.rerank(validation[0], context)
    pairs = []
    for position in range(len(validation[0])):
        pairs.extend(reranked.matches(position))
    for report_term, file_term in pairs:
        assert report_term
        assert file_term
    expects_terms = reranker.name == "terms"
    assert bool(pairs) == expects_terms


def test_the_last_fix_of_train_limits_what_may_be_scored(reranker, world):
    fixes = [int(case.fixed_at) for case in world.experiment.parts["train"]]
    assert reranker.trained_until == max(fixes)


@pytest.mark.parametrize(
    ("after_last_fix", "scored"),
    [(0, True), (-1, False), (LATER, True)],
    ids=["at the last fix", "before it", "much later"],
)
def test_only_reports_opened_after_training_are_scored(
    reranker, validation, context, after_last_fix, scored
):
    time = min(LATER, reranker.trained_until + after_last_fix)
    [result] = scores(reranker, [opened_at(validation[0], time)], context)
    has_scores = result is not None
    assert has_scores == scored
    assert reranker.may_score(time) == scored


def test_an_early_report_is_left_to_stage_one_without_reading_anything(reranker, validation):
    early = opened_at(validation[0], reranker.trained_until - 1)
    assert reranker.rerank(early, RerankingContext()) is None
    assert reranker.rerank(opened_at(validation[0], 0), RerankingContext()) is None


def test_a_reranker_without_weight_may_not_score(reranker, world):
    other = type(reranker).load(world.model_folder / reranker.name)
    other.weight = 0.0
    assert not other.may_score(LATER)


def test_fewer_candidates_of_one_report_do_not_change_another(reranker, validation, context):
    expected = scores(reranker, validation[1:2], context)
    few, other = scores(reranker, [validation[0].head(1), validation[1]], context)
    assert len(few) == 1
    assert [other] == expected


def test_a_report_without_candidates_is_left_to_stage_one(reranker, validation, context):
    assert scores(reranker, [validation[0].head(0)], context) == [None]


def test_unknown_files_are_scored_by_their_paths(reranker, validation, context):
    known_files = validation[0]
    unknown = replace(known_files, blobs=tuple(f"{n:040}" for n in range(len(known_files))))
    [result] = scores(reranker, [unknown], context)
    assert np.isfinite(result).all()
    assert [result] != scores(reranker, [known_files], context)


@pytest.mark.parametrize(
    ("summary", "description"),
    [(" \n", "\t"), ("\udce9 \x00 😀", "x" * 9999), ("", "at a.B.c(B.java:1)")],
    ids=["white space", "odd characters", "stack frame alone"],
)
def test_odd_texts_have_finite_scores(reranker, validation, context, summary, description):
    odd = replace(validation[0], report=report("odd", LATER, summary, description))
    assert np.isfinite(scores(reranker, [odd], context)).all()


def test_scores_do_not_depend_on_the_order_of_candidates(reranker, validation, context):
    # without stage one's scores, which follow the order
    straight = replace(validation[0], scores=np.zeros(len(validation[0])))
    reverse = straight.take(np.arange(len(straight))[::-1].copy())
    straight_scores, reverse_scores = scores(reranker, [straight, reverse], context)
    assert straight_scores[::-1] == pytest.approx(reverse_scores, abs=1e-5)


@pytest.mark.parametrize("name", RERANKERS)
def test_training_without_reports_is_refused_in_one_sentence(name, world, context):
    class EmptyTrainingSet:
        def candidates(self, part, depth, **options):
            return iter(())

    reranker = reranker_class(name).from_config(world.experiment.config)
    with pytest.raises(ToslocError, match=r"\A[^\n]+\Z"):
        reranker.fit(EmptyTrainingSet(), context, world.model_folder / "no", seed=1)


FOUR = candidates("a b c d", "0101", missed_ranks=(10,))


def test_head_keeps_the_first_candidates():
    head = FOUR.head(2)
    assert head.paths == ("src/a.java", "src/b.java")
    assert head.blobs == ("a", "b")
    assert head.path_ids.tolist() == [0, 1]
    assert head.fixed.tolist() == [False, True]
    assert head.scores.tolist() == [0, -1]


def test_head_keeps_the_ranks_of_the_fixed_files_that_it_loses():
    assert FOUR.head(2).missed_ranks == (4, 10)
    assert FOUR.head(0).missed_ranks == (2, 4, 10)


@pytest.mark.parametrize(
    ("scores", "rr", "ap"),
    [
        ([0.0, -1.0], 1 / 2, (1 / 2 + 2 / 4 + 3 / 10) / 3),
        ([0.0, 0.0], 1 / 2, (1 / 2 + 2 / 4 + 3 / 10) / 3),
        ([0.0, 1.0], 1, (1 + 2 / 4 + 3 / 10) / 3),
    ],
    ids=["as stage one", "equal scores keep stage one's order", "the fixed file rises"],
)
def test_a_reordered_head_is_measured_with_the_rest_in_its_places(scores, rr, ap):
    result = FOUR.head(2).rr_and_ap(np.array(scores))
    assert result == pytest.approx((rr, ap))


def test_a_report_without_fixed_files_counts_0():
    assert candidates("a", "0").rr_and_ap(np.zeros(1)) == (0.0, 0.0)
