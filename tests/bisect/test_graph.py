"""Arithmetic of bisections on graphs of commits, without git."""

import random

import numpy as np
import pytest

from tosloc.bisect.graph import (
    TOTAL_WEIGHT,
    CommitGraph,
    choose_commit,
    expected_runs,
    plain_runs,
    scale_weights,
    split_line,
    sums_before,
)

DIAMOND = CommitGraph("abcde", [[], [0], [0], [2], [1, 3]])
"""A fork at a: b on one side, c and d on the other, merged by e."""


def make_line(number):
    """Return a graph of commits without merges."""
    parents = [[position - 1] if position else [] for position in range(number)]
    return CommitGraph([str(position) for position in range(number)], parents)


def make_random_graph(rng, number):
    """Return a graph in which every third commit or so merges an earlier one."""
    parents = [[]]
    for position in range(1, number):
        parents.append([position - 1])
        if position > 5 and rng.random() < 0.3:
            parents[-1].append(rng.randrange(position - 5))
    return CommitGraph([str(position) for position in range(number)], parents)


def sum_ancestors(graph, weights):
    """Return the weight of the ancestors of each commit, by sets of positions."""
    ancestors = []
    for position, parents in enumerate(graph.parents):
        contained = {position}
        for parent in parents:
            contained |= ancestors[parent]
        ancestors.append(contained)
    return [sum(int(weights[position]) for position in contained) for contained in ancestors]


def test_merge_contains_common_ancestors_once():
    sums = DIAMOND.contained_weights(np.array([1, 10, 100, 1000, 10_000]))
    assert sums.tolist() == [1, 11, 101, 1101, 11_111]


def test_contained_weights_are_those_of_all_ancestors():
    rng = random.Random(3)
    for number in range(2, 60):
        graph = make_random_graph(rng, number)
        weights = np.array([rng.randint(1, 99) for _ in range(number)])
        assert graph.contained_weights(weights).tolist() == sum_ancestors(graph, weights)


def test_many_commits_need_few_sets_of_bits():
    """Sets are dropped once all children are done, so that memory stays small."""
    number = 20_000
    graph = make_random_graph(random.Random(5), number)
    sums = graph.contained_weights(np.ones(number, dtype=np.int64))
    assert sums[-1] == number


def test_first_parent_line_gives_a_merge_what_it_brought():
    line, weights = DIAMOND.first_parent_line(np.array([1, 10, 100, 1000, 10_000]))
    assert line.commits == ["a", "b", "e"]
    assert line.parents == [[], [0], [1]]
    assert weights.tolist() == [1, 10, 11_100]


def test_scaled_weights_are_positive():
    scaled = scale_weights(np.array([1.0, 1e-30]))
    assert scaled.tolist() == [TOTAL_WEIGHT, 1]


def test_equal_weights_are_halved_by_count():
    assert choose_commit(make_line(8), np.ones(8, dtype=np.int64)) == 3


def test_half_of_the_weight_is_chosen():
    assert choose_commit(make_line(8), np.array([1, 1, 1, 1, 1, 1, 9, 1])) == 5


def test_bad_commit_is_not_chosen_however_heavy():
    assert choose_commit(make_line(4), np.array([1, 1, 1, 100])) == 2


def test_side_of_a_merge_is_chosen_by_its_own_weight():
    assert choose_commit(DIAMOND, np.array([1, 1, 3, 1, 2])) == 2


def test_single_commit_needs_no_test():
    assert choose_commit(make_line(1), np.array([1])) is None


def test_skipped_commits_are_not_chosen():
    weights = np.ones(4, dtype=np.int64)
    assert choose_commit(make_line(4), weights, [1, 2]) == 0
    assert choose_commit(make_line(4), weights, [0, 1, 2]) is None


def count_runs(number, culprit, broken):
    """Return the tests of a bisection by count in which the commits in ``broken`` are skipped."""
    low, high = 0, number
    skipped = set()
    runs = 0
    while True:
        part = make_line(high - low)
        near = [place - low for place in skipped if low <= place < high]
        chosen = choose_commit(part, np.ones(len(part), dtype=np.int64), near)
        if chosen is None:
            break
        runs += 1
        place = low + chosen
        if place in broken:
            skipped.add(place)
        elif place >= culprit:
            high = place + 1
        else:
            low = place + 1
    return runs


def test_long_stretch_of_skipped_commits_is_left_quickly():
    """A stretch of 300 commits that cannot be built would cost 150 tests one by one."""
    assert count_runs(1000, 850, range(350, 650)) < 25


@pytest.mark.parametrize("number", [1, 2, 3, 5, 8, 100, 1000])
def test_expected_runs_of_equal_weights_are_those_of_counts(number):
    runs = expected_runs(np.ones(number, dtype=np.int64))
    assert runs == pytest.approx(plain_runs(number))


def test_expected_runs_weigh_each_culprit():
    weights = scale_weights(np.array([0.7, 0.1, 0.1, 0.1]))
    assert expected_runs(weights) == pytest.approx(0.7 * 1 + 0.1 * 2 + 0.2 * 3)


def test_split_of_a_line_is_the_choice_on_its_graph():
    rng = random.Random(7)
    for number in range(2, 60):
        weights = np.array([rng.randint(1, 9) for _ in range(number)])
        split = split_line(sums_before(weights), 0, number)
        assert choose_commit(make_line(number), weights) == split - 1
