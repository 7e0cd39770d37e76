"""Learning: feature tables, gradients, recovered weights, differential evolution, and choices on validation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

from tests import toy
from tosloc.core.arrays import load_arrays, save_arrays
from tosloc.core.config import Config, EvolutionSettings
from tosloc.core.errors import CheckpointError, ToslocError
from tosloc.git.repository import Repository
from tosloc.rank import fitting, stage_one
from tosloc.rank.extraction import sample_table
from tosloc.rank.fitting import (
    MIN_LEAD,
    choose_candidate,
    fit_evolution,
    fit_stage_one,
    judge,
    list_quality,
    listwise_loss,
)
from tosloc.rank.ranking_lists import ranking_lists
from tosloc.rank.stage_one import HeadRanker, StageOne, Trees
from tosloc.rank.tables import FeatureTable, encode_block, list_blocks, read_blocks
from tosloc.train.experiment import ExperimentContext

NAMES = ("good", "bad")


def table(name, rows, fixed):
    size = len(rows)
    ones = np.ones(size, dtype=np.float32)
    return FeatureTable(
        name,
        np.array(rows, dtype=np.float32),
        np.array(fixed),
        ones,
        np.arange(size, dtype=np.int32),
    )


def reports(number, seed, quality=lambda rows: rows[:, 0]):
    """Reports whose fixed file is the one of the highest quality, which is the first feature."""
    rng = np.random.default_rng(seed)
    every = [rng.random((20, 2)) for _ in range(number)]
    return [
        table(str(n), rows, quality(rows) == quality(rows).max()) for n, rows in enumerate(every)
    ]


def fitted(train, validation, default, ranker=False):
    settings = Config.of({"stage_one": {"ranker": ranker}}, "test").stage_one
    return fit_stage_one(settings, NAMES, iter(train), lambda: validation, default)


def stage_of(*weights, names=NAMES):
    return StageOne(names, np.array(weights))


def test_judging_and_choosing_the_simplest_within_the_margin():
    tables = [
        table("a", [[1.0], [2.0]], [True, False]),
        table("b", [[1.0]], [False]),
    ]  # b has nothing to find
    stages = {"up": stage_of(1.0, names=("f",)), "down": stage_of(-1.0, names=("f",))}
    assert judge(stages, iter(tables)) == {"up": (0.25, 0.25), "down": (0.5, 0.5)}
    assert judge(stages, []) == {"up": (0.0, 0.0), "down": (0.0, 0.0)}
    for others, chosen in (
        ([0.5 + MIN_LEAD / 2], 0),
        ([0.5 + MIN_LEAD * 2], 1),
        ([0.4, 0.6, 0.6], 2),
    ):
        assert choose_candidate(
            {str(n): (0.5, value) for n, value in enumerate([0.5, *others])}
        ) == str(chosen)


def test_own_and_shipped_weights_win_where_the_others_mislead(monkeypatch):
    monkeypatch.setattr(fitting, "SHRINK", 0.0)
    train, validation = reports(60, 1), reports(20, 2)
    stage, choice = fitted(train, validation, stage_of(-5.0, 5.0))
    assert (choice.taken, set(choice.tried)) == (
        "own weights",
        {"own weights", "shipped weights", "mean of both"},
    )
    assert stage.weights[0] > 5 * abs(stage.weights[1])
    assert choice.tried["own weights"][0] > 0.9 > 0.3 > choice.tried["shipped weights"][0]
    stage, choice = fitted(reports(60, 1, lambda rows: rows[:, 1]), validation, stage_of(5.0, 0.0))
    assert (choice.taken, stage.weights.tolist()) == ("shipped weights", [5.0, 0.0])
    # shipped weights of other features are of no use, those of fewer are
    assert set(fitted(train, validation, stage_of(5.0, names=("other",)))[1].tried) == {
        "own weights"
    }
    stage, choice = fitted(train, validation, stage_of(5.0, names=("good",)))
    assert (stage.features, choice.tried["shipped weights"]) == (NAMES, (1.0, 1.0))


def test_few_reports_lean_on_the_shipped_weights(monkeypatch):
    for shrink, leans in ((100.0, True), (0.0, False)):
        monkeypatch.setattr(fitting, "SHRINK", shrink)
        found = fitted(reports(10, 1), [], stage_of(3.0, 1.0))[0].weights
        assert (abs(found - [3.0, 1.0]).max() < 0.05) == leans


def middle(rows):
    """Quality by which the fixed file is that of the middle first feature: no weighted sum finds it, trees do."""
    return -np.abs(rows[:, 0] - 0.5)


@pytest.fixture
def with_trees(small_trees, monkeypatch):
    """A stage one whose ranker was learned from the middle, and the choice that took it."""
    monkeypatch.setattr(stage_one, "HEAD_DEPTH", 20)
    return fitted(reports(60, 1, middle), reports(20, 2, middle), None, ranker=True)


def test_a_ranker_is_taken_when_it_helps(with_trees):
    stage, choice = with_trees
    assert choice.taken.startswith("own weights, own ranker x ")
    assert stage.ranker is not None
    assert sum(choice.tried[choice.taken]) > sum(choice.tried["own weights"]) + 0.3


def test_no_ranker_is_taken_when_it_does_not_help(small_trees, monkeypatch):
    monkeypatch.setattr(stage_one, "HEAD_DEPTH", 20)
    stage, choice = fitted(reports(60, 1), reports(20, 2), None, ranker=True)
    assert stage.ranker is None
    assert choice.taken == "own weights"
    assert choice.sentence == ""


@pytest.mark.parametrize(
    ("train", "validation", "taken"),
    [
        (reports(60, 1, middle), reports(20, 2), "shipped weights"),
        (reports(60, 1), reports(20, 3, middle), "own weights"),
    ],
)
def test_of_few_reports_what_helps_in_the_folds_is_taken_whatever_validation_says(
    with_trees, train, validation, taken
):
    shipped, _ = with_trees
    kept, choice = fitted(train, validation, shipped, ranker=True)
    assert choice.taken.startswith(taken)
    assert kept.ranker is not None
    assert kept.ranker.trees is shipped.ranker.trees
    quality = "MRR {:.3f}, MAP {:.3f}".format(*choice.tried[choice.taken])
    assert choice.sentence.startswith(
        f"Using your trained weights ({quality} in cross-validation of 60 training reports) instead of the"
    )


def test_what_misleading_reports_teach_does_not_beat_the_shipped_ranker_as_it_is(
    with_trees, monkeypatch
):
    monkeypatch.setattr(fitting, "MIN_REPORTS_OWN_RANKER", 0)
    shipped, _ = with_trees
    kept, choice = fitted(reports(60, 1), reports(20, 3, middle), shipped, ranker=True)
    assert choice.taken == fitting.AS_SHIPPED
    assert kept.ranker is shipped.ranker
    quality = "MRR {:.3f}, MAP {:.3f}".format(*choice.tried[choice.taken])
    assert choice.sentence.startswith(
        f"Keeping the shipped weights ({quality} in validation) instead of t"
    )


def test_what_good_reports_teach_beats_the_shipped_ranker_as_it_is(with_trees, monkeypatch):
    monkeypatch.setattr(fitting, "MIN_REPORTS_OWN_RANKER", 0)
    shipped, _ = with_trees
    kept, choice = fitted(reports(60, 1), reports(20, 2), shipped, ranker=True)
    assert choice.taken != fitting.AS_SHIPPED
    assert kept.ranker is not shipped.ranker
    quality = "MRR {:.3f}, MAP {:.3f}".format(*choice.tried[choice.taken])
    assert choice.sentence.startswith(
        f"Using your trained weights ({quality} in validation) instead of t"
    )


def test_what_is_learned_by_heart_wins_no_fold(monkeypatch):
    """Thirty features of which one tells a little: a sum of all of them fits twelve reports, and none that is new."""
    monkeypatch.setattr(fitting, "SHRINK", 0.0)
    names, rng = tuple(map(str, range(30))), np.random.default_rng(1)
    train = [rng.random((20, 30)) for _ in range(12)]
    tables = [
        table("", rows, rows[:, 0] == np.sort(rows[:, 0])[-2 - n % 2])
        for n, rows in enumerate(train)
    ]
    ranker = HeadRanker(names, Trees.of_model({"tree_info": []}), 1.0)
    shipped = StageOne(names, np.eye(30)[0], ranker)
    stage, choice = fit_stage_one(
        Config().stage_one, names, tables, list, shipped
    )  # too few to learn from
    assert (stage.weights.tolist(), [*choice.tried]) == (
        shipped.weights.tolist(),
        [fitting.AS_SHIPPED],
    )
    needed = "training needs 20 reports with a fixed file to learn from, and there are 12"
    assert choice.sentence == f"Keeping the shipped weights: {needed}."
    monkeypatch.setattr(fitting, "MIN_REPORTS", 0)
    _, choice = fit_stage_one(Config().stage_one, names, tables, list, shipped)
    assert choice.taken == fitting.AS_SHIPPED
    assert choice.tried[fitting.AS_SHIPPED] == pytest.approx(
        judge({"": shipped}, tables)[""]
    )  # whatever the fold
    assert choice.tried["own weights, shipped ranker x 0.5"][0] < 0.4


def lists_of(tables, weights):
    """Lists of (rows, fixed) for each report."""
    lists = ranking_lists(table("", rows, fixed) for rows, fixed in tables)
    return replace(lists, weights=np.array(weights, dtype=np.float32))


def test_the_loss_by_hand_and_its_gradient_by_differences():
    """One report: fixed files with score 1 and 0, one other with 2 that stands for 3 files."""
    lists = lists_of([([[1.0], [0.0], [2.0]], [True, True, False])], [1, 1, 3])
    loss, _ = listwise_loss(np.array([1.0]), lists, 0.0, np.zeros(1), 0.0)
    first, second = np.e / (np.e + 3 * np.e**2), 1 / (1 + 3 * np.e**2)
    assert loss == pytest.approx(-(np.log(first) + np.log(second)) / 2, rel=1e-6)
    held, _ = listwise_loss(np.array([1.0]), lists, 0.1, np.array([3.0]), 0.01)
    assert held - loss == pytest.approx(0.1 * 1 + 0.01 * 4)

    rng = np.random.default_rng(0)
    tables = [
        (rng.random((size, 4)), [True, False, *(rng.random(size - 2) < 0.4)]) for size in (3, 5, 8)
    ]
    more = lists_of(tables, rng.integers(1, 5, 16)), 0.05, rng.normal(size=4), 0.2
    error = optimize.check_grad(
        lambda weights: listwise_loss(weights, *more)[0],
        lambda weights: listwise_loss(weights, *more)[1],
        rng.normal(size=4),
        epsilon=1e-2,  # rows are single precision
    )
    assert error < 0.02


def test_list_quality_is_what_is_judged_and_puts_a_fixed_file_behind_others_of_its_score():
    tables = [
        table(str(n), one.rows, one.fixed | (n % 2 == np.arange(20)))
        for n, one in enumerate(reports(9, 4))
    ]
    lists = ranking_lists(tables)
    for weights in ((1.0, 1.0), (1.0, -1.0), (0.25, 2.0)):
        judged = judge({"": stage_of(*weights)}, tables)[""]
        assert list_quality(np.array(weights), lists) == pytest.approx(sum(judged))
    nothing = list_quality(
        np.zeros(2), ranking_lists([table("", np.zeros((4, 2)), [True, False, True, False])])
    )
    assert nothing == pytest.approx(1 / 3 + (1 / 3 + 2 / 4) / 2)


def test_evolution_finds_the_top_of_a_hill_and_repeats():
    top, settings = np.array([0.3, 0.8, 0.55]), EvolutionSettings(generations=40, population=8)

    def hill(weights):
        assert ((weights >= 0) & (weights <= 1)).all()
        return -float(((weights - top) ** 2).sum())

    told = []
    first, again, other = (
        fit_evolution(3, hill, settings, seed, lambda *said: told.append(said)).tolist()
        for seed in (11, 11, 12)
    )
    assert first == pytest.approx(top, abs=0.01)
    assert first == again != other
    assert told[:2] == [("differential evolution", 1, 40), ("differential evolution", 2, 40)]


# Feature tables: which rows are kept, what they stand for, blocks that resume and never serve another project


def content(table):
    arrays = (table.rows, table.fixed, table.weights, table.path_ids)
    return table.report, *(array.tolist() for array in arrays)


def sample(guess, fixed, number):
    whole = table("1", np.zeros((len(guess), 1)), fixed)
    kept = sample_table(whole, {"code": np.array(guess)}, number, "v")
    return dict(zip(kept.path_ids.tolist(), kept.weights.tolist(), strict=True))


def test_kept_rows_stand_for_all_files():
    """Files by the guess: 2, 4, 0, 1, 3, 5; fixed: 4 and 5. Of 4 wrong files 3: 2, 0 and one of 1, 3 for both."""
    kept = sample([0.3, 0.2, 0.9, 0.1, 0.5, 0.0], [False, False, False, False, True, True], 3)
    assert kept in ({0: 1, 1: 2, 2: 1, 4: 1, 5: 1}, {0: 1, 2: 1, 3: 2, 4: 1, 5: 1})
    rng = np.random.default_rng(1)
    guess, fixed = rng.random(100), rng.random(100) < 0.03
    for number in (1, 40, 97):
        kept = sample(guess, fixed, number)
        assert (sum(kept.values()), len(kept)) == (
            pytest.approx(100),
            min(100, number + fixed.sum()),
        )
        assert all(kept[file] == 1 for file in np.flatnonzero(fixed))
        assert sample(guess, fixed, number) == kept


def test_blocks_hold_rows_of_all_files_and_serve_no_other_history(project, tmp_path):
    """A folder left by an interrupted run must not serve a run on other reports."""

    def tables(records, folder, most):
        with Repository(project.git.path) as repo:
            reports = project.reports(f"{folder}.jsonl", records)
            with ExperimentContext(toy.config(0.5, 0.2), repo, reports) as experiment:
                extraction = experiment.extraction(
                    tmp_path / folder, ("code", "near_reports", "popularity")
                )
                return list(
                    read_blocks(extraction.run(experiment.dataset.cases[-4:], most, jobs=1))
                )

    full, some = tables(None, "same", 0), tables(None, "same", 4)
    for whole, part in zip(full, some, strict=True):
        assert len(part.rows) == 5
        assert part.weights.sum() == pytest.approx(len(whole.rows))
        rows = [whole.path_ids.tolist().index(number) for number in part.path_ids.tolist()]
        assert part.rows.tolist() == whole.rows[rows].tolist()
        assert part.fixed.sum() == whole.fixed.sum()
    other = [
        record | {"summary": "ribbon button slow"} for record in project.records[:9]
    ] + project.records[9:]
    after, fresh = (
        [content(one) for one in tables(other, folder, 0)] for folder in ("same", "fresh")
    )
    assert after == fresh != [content(one) for one in full]


def test_what_is_missing_or_damaged_is_one_sentence(tmp_path):
    for kept in (None, "{", '{"train": []}'):
        if kept is not None:
            (tmp_path / ".tosloc-work").mkdir(exist_ok=True)
            (tmp_path / ".tosloc-work/blocks.json").write_text(kept)
        with pytest.raises(
            ToslocError, match="keeps no feature tables; train it with keep_features"
        ):
            list_blocks(tmp_path)
    whole, path = table("1", np.ones((3, 2)), [True] * 3), tmp_path / "block.npz"
    path.write_bytes(encode_block([whole, whole]))
    assert [content(one) for one in read_blocks([path])] == [content(whole)] * 2
    arrays = load_arrays(path)
    for name in ("rows", "starts", "reports"):
        save_arrays(path, arrays | {name: arrays[name][:-1]})
        with pytest.raises(
            CheckpointError,
            match=r"block\.npz is damaged .* delete it and run the same command again",
        ):
            list(read_blocks([path]))
