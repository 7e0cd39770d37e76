"""Learning: gradients, recovered weights, choices on validation, and feature tables on disk."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

from tests import toy
from tosloc.core.arrays import load_arrays, save_arrays
from tosloc.core.config import Config, EvolutionSettings
from tosloc.core.errors import CheckpointError, ToslocError
from tosloc.git.repository import Repository
from tosloc.rank.features.tables import FeatureTable, TableFolder, encode_block
from tosloc.rank.model import fitting, stage_one
from tosloc.rank.model.fitting import (
    AS_SHIPPED,
    MIN_LEAD,
    choose_candidate,
    fit_evolution,
    fit_stage_one,
    judge,
    list_quality,
    listwise_loss,
)
from tosloc.rank.model.ranking_lists import RankingLists
from tosloc.rank.model.stage_one import HeadRanker, StageOne, Trees
from tosloc.train.experiment import ExperimentContext

NAMES = ("good", "bad")


def make_table(name, rows, fixed):
    size = len(rows)
    return FeatureTable(
        name,
        np.array(rows, dtype=np.float32),
        np.array(fixed),
        np.ones(size, dtype=np.float32),
        np.arange(size, dtype=np.int32),
        np.zeros(size, dtype=np.float32),
    )


def first_feature(rows):
    return rows[:, 0]


def second_feature(rows):
    return rows[:, 1]


def nearness_to_middle(rows):
    """Return a quality that no weighted sum finds, but trees do."""
    return -np.abs(rows[:, 0] - 0.5)


def make_reports(number, seed, quality=first_feature):
    """Return tables of 20 files with two features; the file of the highest quality is fixed."""
    rng = np.random.default_rng(seed)
    tables = []
    for report in range(number):
        rows = rng.random((20, 2))
        tables.append(make_table(str(report), rows, quality(rows) == quality(rows).max()))
    return tables


def make_stage(*weights, names=NAMES):
    return StageOne(names, np.array(weights))


def fit(train, validation, default, ranker=False):
    settings = Config.of({"stage_one": {"ranker": ranker}}, "test").stage_one
    return fit_stage_one(settings, NAMES, iter(train), lambda: validation, default)


# Judging and choosing

UP_AND_DOWN = {"up": make_stage(1.0, names=("f",)), "down": make_stage(-1.0, names=("f",))}


def test_judging_counts_reports_without_a_fixed_file_as_0():
    """The fixed file of the first report is second by "up" and first by "down"."""
    tables = [make_table("a", [[1.0], [2.0]], [True, False]), make_table("b", [[1.0]], [False])]
    assert judge(UP_AND_DOWN, iter(tables)) == {"up": (0.25, 0.25), "down": (0.5, 0.5)}


def test_judging_without_reports_is_0():
    assert judge(UP_AND_DOWN, []) == {"up": (0.0, 0.0), "down": (0.0, 0.0)}


@pytest.mark.parametrize(
    ("maps", "chosen"),
    [([0.5, 0.5 + MIN_LEAD / 2], 0), ([0.5, 0.5 + MIN_LEAD * 2], 1), ([0.5, 0.4, 0.6, 0.6], 2)],
    ids=["within the lead", "beyond the lead", "first of the best"],
)
def test_the_simplest_candidate_within_the_lead_is_chosen(maps, chosen):
    tried = {str(number): (0.5, mean_ap) for number, mean_ap in enumerate(maps)}
    assert choose_candidate(tried) == str(chosen)


# Own and shipped weights


@pytest.fixture
def no_pull(monkeypatch):
    """Keep the shipped weights from attracting the fitted ones."""
    monkeypatch.setattr(fitting, "SHRINK", 0.0)


@pytest.mark.usefixtures("no_pull")
def test_own_weights_win_where_the_shipped_ones_mislead():
    stage, choice = fit(make_reports(60, 1), make_reports(20, 2), make_stage(-5.0, 5.0))
    assert choice.taken == "own weights"
    assert set(choice.tried) == {"own weights", "shipped weights", "mean of both"}
    assert stage.weights[0] > 5 * abs(stage.weights[1])
    assert choice.tried["own weights"][0] > 0.9
    assert choice.tried["shipped weights"][0] < 0.3


@pytest.mark.usefixtures("no_pull")
def test_shipped_weights_win_where_training_misleads():
    train = make_reports(60, 1, second_feature)
    stage, choice = fit(train, make_reports(20, 2), make_stage(5.0, 0.0))
    assert choice.taken == "shipped weights"
    assert stage.weights.tolist() == [5.0, 0.0]


@pytest.mark.usefixtures("no_pull")
def test_shipped_weights_of_unknown_features_are_ignored():
    _, choice = fit(make_reports(60, 1), make_reports(20, 2), make_stage(5.0, names=("other",)))
    assert set(choice.tried) == {"own weights"}


@pytest.mark.usefixtures("no_pull")
def test_shipped_weights_of_fewer_features_are_a_candidate():
    stage, choice = fit(make_reports(60, 1), make_reports(20, 2), make_stage(5.0, names=("good",)))
    assert stage.features == NAMES
    assert choice.tried["shipped weights"] == (1.0, 1.0)


@pytest.mark.parametrize(("shrink", "is_near"), [(100.0, True), (0.0, False)])
def test_shipped_weights_attract_those_of_few_reports(monkeypatch, shrink, is_near):
    monkeypatch.setattr(fitting, "SHRINK", shrink)
    stage, _ = fit(make_reports(10, 1), [], make_stage(3.0, 1.0))
    distance = abs(stage.weights - [3.0, 1.0]).max()
    assert (distance < 0.05) == is_near


# Rankers


@pytest.fixture
def whole_heads(small_trees, monkeypatch):
    """Let rankers order all 20 files."""
    monkeypatch.setattr(stage_one, "HEAD_DEPTH", 20)


@pytest.fixture
def fit_with_trees(whole_heads):
    """Return a stage one whose ranker finds the middle, and the choice that took it."""
    train = make_reports(60, 1, nearness_to_middle)
    validation = make_reports(20, 2, nearness_to_middle)
    return fit(train, validation, None, ranker=True)


@pytest.fixture
def shipped(fit_with_trees):
    """Return a stage one to ship, with a ranker."""
    stage, _ = fit_with_trees
    return stage


def quality_text(choice):
    """Return MRR and MAP of what was chosen as a sentence shows them."""
    mrr, mean_ap = choice.tried[choice.taken]
    return f"MRR {mrr:.3f}, MAP {mean_ap:.3f}"


def test_a_ranker_is_taken_when_it_helps(fit_with_trees):
    stage, choice = fit_with_trees
    assert choice.taken.startswith("own weights, own ranker x ")
    assert stage.ranker is not None
    assert sum(choice.tried[choice.taken]) > sum(choice.tried["own weights"]) + 0.3


@pytest.mark.usefixtures("whole_heads")
def test_no_ranker_is_taken_when_it_does_not_help():
    stage, choice = fit(make_reports(60, 1), make_reports(20, 2), None, ranker=True)
    assert stage.ranker is None
    assert choice.taken == "own weights"
    assert choice.sentence == ""


@pytest.mark.parametrize(
    ("train", "validation", "taken"),
    [
        (make_reports(60, 1, nearness_to_middle), make_reports(20, 2), "shipped weights"),
        (make_reports(60, 1), make_reports(20, 3, nearness_to_middle), "own weights"),
    ],
    ids=["shipped weights", "own weights"],
)
def test_cross_validation_decides_for_few_reports(shipped, train, validation, taken):
    """Whatever validation says, the candidate that is best in the folds is taken."""
    stage, choice = fit(train, validation, shipped, ranker=True)
    assert choice.taken.startswith(taken)
    assert stage.ranker is not None
    assert stage.ranker.trees is shipped.ranker.trees
    judged = f"({quality_text(choice)} in cross-validation of 60 training reports)"
    assert choice.sentence.startswith(f"Using your trained weights {judged} instead of the")


def test_misleading_reports_do_not_beat_the_shipped_ranker(shipped, monkeypatch):
    monkeypatch.setattr(fitting, "MIN_REPORTS_OWN_RANKER", 0)
    validation = make_reports(20, 3, nearness_to_middle)
    stage, choice = fit(make_reports(60, 1), validation, shipped, ranker=True)
    assert choice.taken == AS_SHIPPED
    assert stage.ranker is shipped.ranker
    judged = f"({quality_text(choice)} in validation)"
    assert choice.sentence.startswith(f"Keeping the shipped weights {judged} instead of t")


def test_good_reports_beat_the_shipped_ranker(shipped, monkeypatch):
    monkeypatch.setattr(fitting, "MIN_REPORTS_OWN_RANKER", 0)
    stage, choice = fit(make_reports(60, 1), make_reports(20, 2), shipped, ranker=True)
    assert choice.taken != AS_SHIPPED
    assert stage.ranker is not shipped.ranker
    judged = f"({quality_text(choice)} in validation)"
    assert choice.sentence.startswith(f"Using your trained weights {judged} instead of t")


# Twelve reports with thirty features, of which the first tells a little: a sum of all features fits
# these reports, and no new one.

MANY_NAMES = tuple(map(str, range(30)))


@pytest.fixture
def overfit_tables(no_pull):
    """Return tables whose fixed file has the second or third largest first feature."""
    rng = np.random.default_rng(1)
    tables = []
    for number in range(12):
        rows = rng.random((20, 30))
        largest_first = np.sort(rows[:, 0])
        tables.append(make_table("", rows, rows[:, 0] == largest_first[-2 - number % 2]))
    return tables


@pytest.fixture
def by_first_feature():
    """Return a shipped stage one of the first feature, with a ranker without trees."""
    ranker = HeadRanker(MANY_NAMES, Trees.of_model({"tree_info": []}), 1.0)
    return StageOne(MANY_NAMES, np.eye(30)[0], ranker)


def test_nothing_is_learned_from_too_few_reports(overfit_tables, by_first_feature):
    settings = Config().stage_one
    stage, choice = fit_stage_one(settings, MANY_NAMES, overfit_tables, list, by_first_feature)
    assert stage.weights.tolist() == by_first_feature.weights.tolist()
    assert [*choice.tried] == [AS_SHIPPED]
    needed = "training needs 20 reports with a fixed file to learn from, but there are only 12"
    assert choice.sentence == f"Keeping the shipped weights: {needed}."


def test_what_is_learned_by_heart_wins_no_fold(overfit_tables, by_first_feature, monkeypatch):
    """The shipped stage one has the same quality in every fold."""
    monkeypatch.setattr(fitting, "MIN_REPORTS", 0)
    settings = Config().stage_one
    _, choice = fit_stage_one(settings, MANY_NAMES, overfit_tables, list, by_first_feature)
    assert choice.taken == AS_SHIPPED
    judged = judge({"": by_first_feature}, overfit_tables)[""]
    assert choice.tried[AS_SHIPPED] == pytest.approx(judged)
    assert choice.tried["own weights, shipped ranker x 0.5"][0] < 0.4


# The objectives


def make_lists(tables, weights):
    """Return ranking lists of reports, each (rows, fixed), with the weights of all rows."""
    lists = RankingLists.of_tables(make_table("", rows, fixed) for rows, fixed in tables)
    return replace(lists, weights=np.array(weights, dtype=np.float32))


def test_the_loss_of_one_report_is_the_mean_over_its_fixed_files():
    """Fixed files have the scores 1 and 0; the other one has 2 and stands for 3 files."""
    lists = make_lists([([[1.0], [0.0], [2.0]], [True, True, False])], [1, 1, 3])
    loss, _ = listwise_loss(np.array([1.0]), lists, 0.0, np.zeros(1), 0.0)
    first = np.e / (np.e + 3 * np.e**2)
    second = 1 / (1 + 3 * np.e**2)
    assert loss == pytest.approx(-(np.log(first) + np.log(second)) / 2, rel=1e-6)


def test_the_loss_grows_with_the_distances_to_0_and_to_the_centre():
    """Weight 1 is at distance 1 from 0, and at 2 from the centre 3."""
    lists = make_lists([([[1.0], [0.0], [2.0]], [True, True, False])], [1, 1, 3])
    free, _ = listwise_loss(np.array([1.0]), lists, 0.0, np.zeros(1), 0.0)
    pulled, _ = listwise_loss(np.array([1.0]), lists, 0.1, np.array([3.0]), 0.01)
    assert pulled - free == pytest.approx(0.1 * 1 + 0.01 * 4)


def test_the_gradient_is_that_of_the_loss():
    rng = np.random.default_rng(0)
    tables = []
    for size in (3, 5, 8):
        rows = rng.random((size, 4))
        tables.append((rows, [True, False, *(rng.random(size - 2) < 0.4)]))
    lists = make_lists(tables, rng.integers(1, 5, 16))
    centre = rng.normal(size=4)

    def loss(weights):
        return listwise_loss(weights, lists, 0.05, centre, 0.2)[0]

    def gradient(weights):
        return listwise_loss(weights, lists, 0.05, centre, 0.2)[1]

    point = rng.normal(size=4)
    error = optimize.check_grad(loss, gradient, point, epsilon=1e-2)  # rows are single precision
    assert error < 0.02


@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, -1.0), (0.25, 2.0)])
def test_list_quality_is_what_is_judged(weights):
    tables = []
    for number, report in enumerate(make_reports(9, 4)):
        fixed = report.fixed | (number % 2 == np.arange(20))
        tables.append(make_table(str(number), report.rows, fixed))
    judged = judge({"": make_stage(*weights)}, tables)[""]
    assert list_quality(np.array(weights), RankingLists.of_tables(tables)) == pytest.approx(
        sum(judged)
    )


def test_list_quality_puts_fixed_files_behind_others_of_their_score():
    """Two fixed files of four with equal scores have the ranks 3 and 4."""
    lists = RankingLists.of_tables([make_table("", np.zeros((4, 2)), [True, False, True, False])])
    assert list_quality(np.zeros(2), lists) == pytest.approx(1 / 3 + (1 / 3 + 2 / 4) / 2)


TOP = np.array([0.3, 0.8, 0.55])


def climb(seed, progress=lambda *_: None):
    """Return the point that evolution finds on a hill with its top at ``TOP``."""

    def height(weights):
        assert (weights >= 0).all()
        assert (weights <= 1).all()
        return -float(((weights - TOP) ** 2).sum())

    settings = EvolutionSettings(generations=40, population=8)
    return fit_evolution(3, height, settings, seed, progress).tolist()


def test_evolution_finds_the_top_of_a_hill():
    assert climb(11) == pytest.approx(TOP, abs=0.01)


def test_evolution_repeats_for_a_seed():
    first = climb(11)
    assert climb(11) == first
    assert climb(12) != first


def test_evolution_reports_each_generation():
    calls = []
    climb(11, lambda *call: calls.append(call))
    label = "fitting weights by differential evolution"
    assert calls[:2] == [(label, 1, 40), (label, 2, 40)]


# Feature tables: which rows are kept, what they stand for, and the files of blocks


def content_of(table):
    arrays = (table.rows, table.fixed, table.weights, table.path_ids)
    return table.report, *(array.tolist() for array in arrays)


def sample(prior, fixed, number):
    """Return the weights of the files that are kept of a table."""
    table = make_table("1", np.zeros((len(prior), 1)), fixed)
    kept = table.sample({"code": np.array(prior)}, number, "v")
    return dict(zip(kept.path_ids.tolist(), kept.weights.tolist(), strict=True))


def test_kept_rows_stand_for_all_files():
    """Files by the prior: 2, 4, 0, 1, 3, 5; 4 and 5 are fixed.

    Of the four wrong files three are kept: 2, 0, and one of 1 and 3, which stands for both.
    """
    kept = sample([0.3, 0.2, 0.9, 0.1, 0.5, 0.0], [False, False, False, False, True, True], 3)
    assert kept in ({0: 1, 1: 2, 2: 1, 4: 1, 5: 1}, {0: 1, 2: 1, 3: 2, 4: 1, 5: 1})


@pytest.mark.parametrize("number", [1, 40, 97])
def test_kept_rows_contain_every_fixed_file_and_repeat(number):
    rng = np.random.default_rng(1)
    prior = rng.random(100)
    fixed = rng.random(100) < 0.03
    kept = sample(prior, fixed, number)
    assert sum(kept.values()) == pytest.approx(100)
    assert len(kept) == min(100, number + fixed.sum())
    assert all(kept[file] == 1 for file in np.flatnonzero(fixed))
    assert sample(prior, fixed, number) == kept


@pytest.fixture
def extract(project, tmp_path):
    """Return a function (records, folder, sampled) -> tables of the last four reports."""

    def extract_tables(records, folder, sampled):
        reports = project.write_reports(f"{folder}.jsonl", records)
        config = toy.small_config(0.5, 0.2)
        with (
            Repository(project.git.path) as repo,
            ExperimentContext(config, repo, reports) as experiment,
        ):
            names = ("code", "near_reports", "popularity")
            extraction = experiment.extraction(tmp_path / folder, names)
            blocks = extraction.run(experiment.dataset.cases[-4:], sampled, jobs=1)
            return list(FeatureTable.read_blocks(blocks))

    return extract_tables


def test_sampled_tables_have_rows_of_the_whole_ones(extract):
    """A file is fixed in each report, and four wrong files are kept."""
    whole_tables = extract(None, "same", 0)
    for whole, part in zip(whole_tables, extract(None, "same", 4), strict=True):
        assert len(part.rows) == 5
        assert part.weights.sum() == pytest.approx(len(whole.rows))
        whole_ids = whole.path_ids.tolist()
        rows = [whole_ids.index(number) for number in part.path_ids.tolist()]
        assert part.rows.tolist() == whole.rows[rows].tolist()
        assert part.fixed.sum() == whole.fixed.sum()


def test_blocks_of_an_interrupted_run_serve_no_other_reports(extract, project):
    first = [content_of(table) for table in extract(None, "same", 0)]
    records = [record | {"summary": "ribbon button slow"} for record in project.records[:9]]
    records += project.records[9:]
    after = [content_of(table) for table in extract(records, "same", 0)]
    fresh = [content_of(table) for table in extract(records, "fresh", 0)]
    assert after == fresh
    assert after != first


@pytest.mark.parametrize(
    "listing", [None, "{", '{"train": []}'], ids=["no file", "no JSON", "parts missing"]
)
def test_a_training_without_tables_is_an_error(tmp_path, listing):
    if listing is not None:
        (tmp_path / ".tosloc-work").mkdir()
        (tmp_path / ".tosloc-work/blocks.json").write_text(listing)
    with pytest.raises(
        ToslocError, match="contains no feature tables; train it with keep_features"
    ):
        TableFolder(tmp_path).list_blocks()


@pytest.fixture
def block(tmp_path):
    """Return the file of a block with two tables of three files."""
    table = make_table("1", np.ones((3, 2)), [True] * 3)
    path = tmp_path / "block.npz"
    path.write_bytes(encode_block([table, table]))
    return path


def test_a_block_keeps_its_tables(block):
    expected = content_of(make_table("1", np.ones((3, 2)), [True] * 3))
    assert [content_of(table) for table in FeatureTable.read_blocks([block])] == [expected] * 2


@pytest.mark.parametrize("name", ["rows", "starts", "reports"])
def test_a_damaged_block_is_an_error(block, name):
    arrays = load_arrays(block)
    save_arrays(block, arrays | {name: arrays[name][:-1]})
    message = r"block\.npz is damaged .* delete it and run the same command again"
    with pytest.raises(CheckpointError, match=message):
        list(FeatureTable.read_blocks([block]))
