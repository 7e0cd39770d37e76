from __future__ import annotations

from functools import partial
from math import exp
from typing import Any

import numpy as np
import pytest

from tests.lab.baselines import leaks
from tests.lab.baselines.by_hand import Bug, Commit, ask, context
from tests.lab.baselines.leaks import ASKED, COLOR, COMMITS, COOKIE, FILES, OLD, SOCKET, TABLE, TREE
from tests.lab.baselines.techniques import build
from tosloc.index.bm25 import min_max
from tosloc.lab.baselines.buglocator import SimilarReports, report_stems

amalgam = partial(build, "amalgam")


def age(days: float, window: float = 15.0) -> float:
    return 1 / (1 + exp(12 * days / window))


def history(commits: list[Commit], *, fix: bool = False, opened: float = 20, **values: Any) -> dict[str, float]:
    """H of each file for a report opened at day 20 and fixed at day 30."""
    made = context(FILES, [Bug("1", "it", opened, 30, [TREE])], commits)
    technique = amalgam(made, **values, **({"ages": "fix"} if fix else {}))
    found = technique.history(ask(made, "1")).tolist()
    return {path: value for path, value in zip(FILES_SORTED, found, strict=True) if value}


FILES_SORTED = sorted(FILES)


def test_fixing_commits_of_the_window_add_up() -> None:
    commits = [
        Commit("a", 19, message="A BUG in it", touched=[TREE, TABLE]),
        Commit("b", 17, message="say\n\nprefix", touched=[TREE]),
        Commit("c", 18, message="polish", touched=[COLOR]),
        Commit("d", 5, message="fix, exactly 15 days ago", touched=[SOCKET]),
        Commit("e", 4.9, message="fix, too long ago", touched=[COOKIE]),
        Commit("f", 20, message="fix at the opening itself", touched=[COOKIE]),
        Commit("g", 25, message="fix after it", touched=[COOKIE]),
    ]
    assert history(commits) == pytest.approx({TREE: age(1) + age(3), TABLE: age(1), SOCKET: age(15)})
    assert history(commits, days=120.0)[COOKIE] == pytest.approx(age(15.1, 120))


def test_merges_and_other_branches_do_not_count() -> None:
    commits = [
        Commit("side", 15, message="fix", touched=[COOKIE], parents=["root"]),
        Commit("unmerged", 16, message="fix", touched=[COLOR], parents=["root"]),
        Commit("main", 17, message="fix", touched=[TREE], parents=["root"]),
        Commit("merge", 18, message="Merge fix", touched=[SOCKET], parents=["main", "side"]),
    ]
    assert history(commits) == pytest.approx({COOKIE: age(5), TREE: age(3)})


def test_upstream_counts_from_the_fix_and_keeps_the_first_fix_of_a_file() -> None:
    commits = [
        Commit("a", 22, message="fix, part one of this very bug", touched=[TREE, TABLE]),
        Commit("b", 24, message="fix", touched=[TREE]),
        Commit("c", 10, message="fix of old", touched=[TABLE, SOCKET]),
        Commit("d", 29, message="fix", touched=[SOCKET, COOKIE]),
    ]
    # the first of the version is 8 days old at the fix; those of table and socket are beyond the window
    assert history(commits, fix=True) == pytest.approx({TREE: age(8), COOKIE: age(1)})
    assert history(commits) == pytest.approx({TABLE: age(10), SOCKET: age(10)})


def test_it_is_made_of_its_three_parts() -> None:
    made = context(FILES, [*OLD, ASKED], COMMITS)
    query = ask(made, "3")
    structured = build("bluir", made).scores(query)
    similar = SimilarReports(made.fix_history, report_stems).simi_scores(query)
    recent = {TREE: age(1), SOCKET: age(2)}  # the fix of bug 2 at day 8, another fix at day 9; bug 1's table at day 2
    recent |= {TABLE: age(8), COLOR: age(8), COOKIE: age(5)}
    structured, similar = min_max(structured), min_max(similar)
    both = 0.2 * similar + 0.8 * structured
    wanted = np.where(both > 0, 0.7 * both + 0.3 * np.array([recent.get(path, 0.0) for path in FILES_SORTED]), 0.0)
    assert amalgam(made).scores(query) == pytest.approx(wanted)
    assert similar.max() > 0
    assert wanted[FILES_SORTED.index(SOCKET)] == 0  # neither text nor similar bugs name it: gated


def test_upstream_mixes_text_by_the_length_of_the_query_with_history() -> None:
    made = context(FILES, [*OLD, ASKED], COMMITS)
    query = ask(made, "3")
    technique = amalgam(made, profile="upstream")
    text = build("bluir", made, profile="upstream")
    # summary: table, flickers; description: tree, viewer, expand, all, paints, cookies, or treeviewer, expandall, ...
    assert text.query_length(query.report) == 3 * (2 + 2 + 6 + 4) + 2 + 6
    # "Fix the version" has no lower-case word; from the fix bug 1 is 18 days ago, bug 6 15 and bug 2 12
    recent = np.array([{SOCKET: age(12), COOKIE: age(15)}.get(path, 0.0) for path in FILES_SORTED])
    wanted = 0.5 * text.scores(query) / 50 + 0.2 * recent
    found = technique.scores(query)
    assert found == pytest.approx(wanted)
    assert technique.left_out(found) == int((wanted <= 0).sum()) == 1
    assert amalgam(made).left_out(found) == 0


def test_upstream_leaks_what_is_committed_before_the_fix() -> None:
    upstream = partial(amalgam, profile="upstream")
    assert leaks.sees_the_fix_between(upstream)
    assert not leaks.sees_what_comes_later(upstream)
    assert not leaks.sees_the_order(upstream)
