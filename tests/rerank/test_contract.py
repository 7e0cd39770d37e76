"""What every reranker keeps to: what is saved scores the same, an answer for each report, and None where it may not."""

from dataclasses import replace

import numpy as np
import pytest

from tests import rankers
from tests.rankers import RERANKED_FILES
from tests.rerank.made import candidates, report
from tosloc.core.errors import ToslocError
from tosloc.rerank.base import RERANKERS, RerankingContext, reranker_class, rr_and_ap_reranked

LATER = 4_000_000_000  # when a report was opened that nobody learned from


@pytest.fixture(scope="module")
def training_set(world):
    return rankers.make_training_set(world)


@pytest.fixture(scope="module")
def context(world):
    return world.experiment.for_reranking()


@pytest.fixture(scope="module")
def asked(training_set):
    """The candidates of the validation reports, as if all were opened later."""
    found = training_set.candidates("validation", RERANKED_FILES)
    return [
        replace(one, report=replace(one.report, opened=report(opened=LATER).opened))
        for one in found
    ]


@pytest.fixture(scope="module", params=RERANKERS)
def reranker(request, world):
    """Each reranker, as it was learned."""
    return reranker_class(request.param).load(world.learned / request.param)


def scores(reranker, listed, context):
    found = [reranker.rerank(one, context) for one in listed]
    return [None if one is None else one.scores.tolist() for one in found]


def test_what_was_learned_is_learned_again_and_survives_the_disk(
    reranker, world, training_set, context, asked, tmp_path
):
    # what `learn` of the world saved was fitted by another object
    fitted = rankers.fit_reranker(replace(world, learned=tmp_path), reranker.name, training_set)
    fitted.save(tmp_path / "saved" / reranker.name)
    (tmp_path / "saved").rename(tmp_path / "moved")  # as a checkpoint may be
    expected = scores(fitted, asked, context)
    for one in (reranker, type(reranker).load(tmp_path / "moved" / reranker.name)):
        assert scores(one, asked, context) == expected
        for name in ("weight", "depth", "trained_until", "validation_results"):
            assert getattr(one, name) == getattr(fitted, name)


def test_one_answer_of_its_own_for_each_report_in_their_order(reranker, asked, context):
    together = scores(reranker, asked, context)
    assert [len(one) for one in together] == [len(one) for one in asked]
    assert len({tuple(one) for one in together}) == len(asked)
    assert not any(
        np.allclose(found, one.scores) for one, found in zip(asked, together, strict=True)
    )
    # the order of asking, and what else is asked, do not matter, nor what is known of the fix
    assert scores(reranker, asked[::-1], context) == together[::-1]
    assert [scores(reranker, [one], context)[0] for one in asked] == together
    other = [
        replace(one, fixed=~one.fixed, missed_ranks=(9,), relevant=7, fixed_at=5) for one in asked
    ]
    assert scores(reranker, other, context) == together
    answer = reranker.rerank(asked[0], context)
    assert answer is not None
    pairs = [pair for position in range(len(asked[0])) for pair in answer.matches(position)]
    assert all(len(pair) == 2 and all(pair) for pair in pairs)
    assert bool(pairs) == (reranker.name == "terms")  # only they name what met


def test_a_report_opened_before_what_was_learned_is_left_to_stage_one(
    reranker, world, asked, context
):
    until = reranker.trained_until
    assert until == max(int(case.fixed_at) for case in world.experiment.parts["train"])
    times = [until, until - 1, LATER, 0]
    dated = [
        replace(asked[0], report=replace(asked[0].report, opened=report(opened=time).opened))
        for time in times
    ]
    assert [one is None for one in scores(reranker, dated, context)] == [False, True, False, True]
    assert [reranker.may_score(time) for time in times] == [True, False, True, False]
    # a context without anything: whoever reads a file or the history from it fails
    assert reranker.rerank(dated[1], RerankingContext()) is None
    other = type(reranker).load(world.learned / reranker.name)
    other.weight = 0.0
    assert not other.may_score(LATER)


def test_whatever_is_asked(reranker, asked, context):
    first, second = scores(reranker, asked[:2], context)
    few, other = scores(reranker, [asked[0].head(1), asked[1]], context)
    assert (len(few), other) == (1, second)
    assert scores(reranker, [asked[0].head(0)], context) == [None]
    unknown = replace(asked[0], blobs=tuple(f"{n:040}" for n in range(len(asked[0]))))
    said = (" \n", "\t"), ("\udce9 \x00 😀", "x" * 9999), ("", "at a.B.c(B.java:1)")
    odd = [replace(asked[0], report=report("odd", LATER, *texts)) for texts in said]
    found = scores(reranker, [unknown, *odd], context)
    assert np.isfinite(found).all()
    assert found[0] != first
    # the candidates turned round have their scores turned round, but for stage one's, which follow their ranks
    one = replace(asked[0], scores=np.zeros(len(asked[0])))
    straight, back = scores(reranker, [one, one.take(np.arange(len(one))[::-1].copy())], context)
    assert straight[::-1] == pytest.approx(back, abs=1e-5)


@pytest.mark.parametrize("name", RERANKERS)
def test_nothing_to_learn_from_is_one_sentence(name, world, context):
    class Nothing:
        def candidates(self, part, depth, **options):
            return iter(())

    with pytest.raises(ToslocError, match=r"\A[^\n]+\Z"):
        reranker_class(name).from_config(world.experiment.config).fit(
            Nothing(), context, world.learned / "no", seed=1
        )


def test_a_reordered_head_is_measured_with_the_rest_in_its_places():
    whole = candidates("a b c d", "0101", missed_ranks=(10,))
    head = whole.head(2)  # what a shorter head loses keeps its rank
    assert (head.fixed.tolist(), head.scores.tolist(), head.missed_ranks) == (
        [False, True],
        [0, -1],
        (4, 10),
    )
    assert (head.paths, head.blobs, head.path_ids.tolist()) == (
        ("src/a.java", "src/b.java"),
        ("a", "b"),
        [0, 1],
    )
    # the fixed file at place 2 rises to the first place, the others stay; equal scores keep stage one's order
    stays, rises = (1 / 2, (1 / 2 + 2 / 4 + 3 / 10) / 3), (1, (1 + 2 / 4 + 3 / 10) / 3)
    for found, wanted in (
        (head.scores, stays),
        (np.zeros(2), stays),
        (np.array([0.0, 1.0]), rises),
    ):
        assert rr_and_ap_reranked(head, found) == pytest.approx(wanted)
    assert rr_and_ap_reranked(candidates("a", "0"), np.zeros(1)) == (0.0, 0.0)
    assert whole.head(0).missed_ranks == (2, 4, 10)
