"""AmaLgam by hand: the score of commits, and the fusion with its other parts (docs/method.md, section B.6)."""

from math import exp

import numpy as np
import pytest

from tests.lab.baselines.by_hand import Bug, Commit, ask, context
from tests.lab.baselines.leaks import COLOR, COOKIE, FILES, SOCKET, TABLE, TREE, project
from tosloc.lab.baselines.amalgam import AmaLgam, FixCommits
from tosloc.lab.baselines.bluir import BLUiR
from tosloc.lab.baselines.buglocator import SimilarReports
from tosloc.retrieval.bm25 import min_max


def age(days):
    return 1 / (1 + exp(12 * days / 15))


@pytest.mark.parametrize(
    ("commits", "expected"),
    [
        (
            [
                Commit("a", 19, message="A BUG in it", touched=[TREE, TABLE]),
                Commit("b", 17, message="say\n\nprefix", touched=[TREE]),
                Commit("c", 18, message="polish", touched=[COLOR]),
                Commit("d", 5, message="fix, exactly 15 days ago", touched=[SOCKET]),
                Commit("e", 4.9, message="fix, too long ago", touched=[COOKIE]),
                Commit("f", 20, message="fix at the opening itself", touched=[COOKIE]),
                Commit("g", 25, message="fix after it", touched=[COOKIE]),
            ],
            {TREE: age(1) + age(3), TABLE: age(1), SOCKET: age(15)},
        ),
        (
            [
                Commit("side", 15, message="fix", touched=[COOKIE], parents=["root"]),
                Commit("unmerged", 16, message="fix", touched=[COLOR], parents=["root"]),
                Commit("main", 17, message="fix", touched=[TREE], parents=["root"]),
                Commit(
                    "merge", 18, message="Merge fix", touched=[SOCKET], parents=["main", "side"]
                ),
            ],
            {COOKIE: age(5), TREE: age(3)},
        ),
    ],
    ids=["fixing commits of the window add up", "neither merges nor other branches count"],
)
def test_commits(commits, expected):
    """H of each file for a report opened at day 20 and fixed at day 30."""
    made = context(FILES, [Bug("1", "it", 20, 30, [TREE])], commits)
    found = zip(
        sorted(FILES), FixCommits(made.fix_history).scores(ask(made, "1")).tolist(), strict=True
    )
    assert {path: value for path, value in found if value} == pytest.approx(expected)


def test_it_is_made_of_its_three_parts():
    made = project()
    query = ask(made, "3")
    structured, similar = (
        BLUiR(made).scores(query),
        SimilarReports(made.fix_history).simi_scores(query),
    )
    assert similar.max() > 0
    # the fix of bug 2 at day 8, another fix at day 9; bug 1's table at day 2
    recent = {TREE: age(1), SOCKET: age(2), TABLE: age(8), COLOR: age(8), COOKIE: age(5)}
    both = 0.2 * min_max(similar) + 0.8 * min_max(structured)
    wanted = np.where(
        both > 0, 0.7 * both + 0.3 * np.array([recent[path] for path in sorted(FILES)]), 0.0
    )
    assert AmaLgam(made).scores(query) == pytest.approx(wanted)
    assert wanted[sorted(FILES).index(SOCKET)] == 0  # neither text nor similar bugs name it: gated
