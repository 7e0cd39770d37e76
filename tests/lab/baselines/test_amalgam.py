"""AmaLgam by hand: the commit score, and the fusion with its other parts.

Docs/method.md, section B.6.
"""

from math import exp

import numpy as np
import pytest

from tests.lab.baselines.by_hand import Bug, Commit, make_context, make_query
from tests.lab.baselines.leaks import COLOR, COOKIE, FILES, SOCKET, TABLE, TREE, make_project
from tosloc.lab.baselines.amalgam import AmaLgam, FixCommits
from tosloc.lab.baselines.bluir import BLUiR
from tosloc.lab.baselines.buglocator import SimilarReports
from tosloc.retrieval.texts.bm25 import min_max


def commit_score(days):
    return 1 / (1 + exp(12 * days / 15))


ONE_BRANCH = [
    Commit("a", 19, message="A BUG in it", touched=[TREE, TABLE]),
    Commit("b", 17, message="say\n\nprefix", touched=[TREE]),
    Commit("c", 18, message="polish", touched=[COLOR]),
    Commit("d", 5, message="fix, exactly 15 days ago", touched=[SOCKET]),
    Commit("e", 4.9, message="fix, too long ago", touched=[COOKIE]),
    Commit("f", 20, message="fix at the opening itself", touched=[COOKIE]),
    Commit("g", 25, message="fix after it", touched=[COOKIE]),
]
BRANCHES = [
    Commit("side", 15, message="fix", touched=[COOKIE], parents=["root"]),
    Commit("unmerged", 16, message="fix", touched=[COLOR], parents=["root"]),
    Commit("main", 17, message="fix", touched=[TREE], parents=["root"]),
    Commit("merge", 18, message="Merge fix", touched=[SOCKET], parents=["main", "side"]),
]


@pytest.mark.parametrize(
    ("commits", "expected"),
    [
        (
            ONE_BRANCH,
            {
                TREE: commit_score(1) + commit_score(3),
                TABLE: commit_score(1),
                SOCKET: commit_score(15),
            },
        ),
        (BRANCHES, {COOKIE: commit_score(5), TREE: commit_score(3)}),
    ],
    ids=["fixing commits of the window add up", "neither merges nor other branches count"],
)
def test_commit_scores_by_hand(commits, expected):
    """H of each file for a report opened on day 20 and fixed on day 30."""
    context = make_context(FILES, [Bug("1", "it", 20, 30, [TREE])], commits)
    scores = FixCommits(context.fix_history).scores(make_query(context, "1")).tolist()
    nonzero = {path: score for path, score in zip(sorted(FILES), scores, strict=True) if score}
    assert nonzero == pytest.approx(expected)


def test_score_combines_text_similar_reports_and_commits():
    context = make_project()
    query = make_query(context, "3")
    structured = BLUiR(context).scores(query)
    similar = SimilarReports(context.fix_history).simi_scores(query)
    assert similar.max() > 0
    # The report is opened on day 10. The tree is fixed on day 9, the socket by bug 2 on day 8, the
    # table and the color by bug 1 on day 2, the cookie by bug 6 on day 5.
    days = {TREE: 1, SOCKET: 2, TABLE: 8, COLOR: 8, COOKIE: 5}
    recent = np.array([commit_score(days[path]) for path in sorted(FILES)])
    text = 0.2 * min_max(similar) + 0.8 * min_max(structured)
    expected = np.where(text > 0, 0.7 * text + 0.3 * recent, 0.0)
    assert AmaLgam(context).scores(query) == pytest.approx(expected)
    # Neither the text nor a similar bug leads to the socket: its recent fix alone does not count.
    assert expected[sorted(FILES).index(SOCKET)] == 0
