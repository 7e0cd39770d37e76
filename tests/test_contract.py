"""The contract of rankers: all files once, ties by path, repeatable, and blind to the future.

It holds for stage one, for both stages with each reranker, and for the published techniques; a new
ranker joins them in ``tests/rankers.py``. Where the public code of a technique behaves otherwise,
its upstream profile is tested with the techniques.
"""

from contextlib import ExitStack
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests import rankers, toy
from tests.rankers import PAST_BUG, new_report, open_ranker, open_world
from tests.toy import INSIDE_VERSION, PLANT_KINDS, plant_evidence

TEXTS = {
    "usual": (
        "Parser breaks",
        "The openSocket of a cookie at org.app.p1.SocketService.openSocket(SocketService.java:6)",
    ),
    "unknown words": ("xyzzy plugh", "frobnicate"),
    "empty": ("", ""),
    "blanks": (" \n", "\t"),
    "odd": ("\udce9 ü \x00 😀 parser", "a" * 5000 + " $$$ ... at at. at x.(y)"),
    "trace alone": ("", "at org.app.p0.ParserService.openParser(ParserService.java:6)"),
}
"""Name of a report -> its summary and its description."""


def make_report(name):
    """Return the report with the ``TEXTS`` of this name."""
    return new_report(name, *TEXTS[name])


@pytest.fixture(scope="module", params=rankers.RANKERS)
def ranker(request):
    """Return the name of each ranker."""
    return str(request.param)


@pytest.fixture(scope="module")
def rank(world, ranker):
    """Return a function from a report to each ranker's ranking of the newest version."""
    return open_ranker(world, ranker, world.newest_version)


@pytest.fixture(scope="module", params=TEXTS)
def report(request):
    """Return each report of ``TEXTS``."""
    return make_report(request.param)


@pytest.fixture(scope="module")
def ranking(rank, report):
    """Return the ranking by each ranker for each report."""
    return rank(report)


def test_every_source_file_is_ranked_once(world, ranking):
    git = world.project.git
    listed = git.git("ls-tree", "-r", "-z", "--name-only", world.newest_version).split("\0")
    assert sorted(ranking.paths) == sorted(path for path in listed if path.endswith(".java"))
    assert len(ranking.paths) == 25


def test_ranking_names_its_report(ranking, report):
    assert ranking.report == report.id


def test_scores_are_finite(ranking):
    assert np.isfinite(ranking.scores).all()


def test_scores_fall_and_ties_are_in_path_order(ranking):
    keys = []
    for path, score in zip(ranking.paths, ranking.scores.tolist(), strict=True):
        keys.append((-score, path.encode("utf-8", "surrogateescape")))
    assert keys == sorted(keys)


def test_a_report_is_ranked_the_same_after_another_one(rank, ranking, report):
    rank(make_report("usual"))
    assert rank(report) == ranking


def test_the_id_of_a_report_is_no_evidence(rank, ranking, report):
    renamed = rank(replace(report, id="Parser 7"))
    assert renamed == replace(ranking, report="Parser 7")


def test_files_without_any_difference_are_a_tie(rank):
    ranking = rank(make_report("usual"))
    scores = dict(zip(ranking.paths, ranking.scores.tolist(), strict=True))
    assert scores["Twin1.java"] == scores["Twin2.java"]
    assert ranking.paths.index("Twin2.java") == ranking.paths.index("Twin1.java") + 1


def test_words_of_the_report_change_the_ranking(ranker, rank):
    """All rankers but the constant one read the report, so the rankings above mean something."""
    usual = make_report("usual")
    other = replace(usual, summary="Widget planet", description="WidgetService")
    if ranker == "constant":
        assert rank(other).paths == rank(usual).paths
    else:
        assert rank(other).paths != rank(usual).paths


# What must not matter: the future, the report's own label, and the order in which paths are read

LABELS = {
    "own label of another file": toy.class_path("Widget"),
    "own label of no file": "not/there.java",
}
"""Name of a world -> the file that its asked report is labelled with."""
RENUMBERED = "paths known in another order"
OTHER_PAST = "another fix in the past"


@pytest.fixture(scope="module")
def make_world(world, tmp_path_factory):
    """Return a function (kind) -> a world with planted evidence, other labels or other numbers."""
    asked = world.past_case.report
    with ExitStack() as open_worlds:

        @cache
        def make(kind):
            project = world.project
            records = [dict(record) for record in project.records]
            first_paths = ()
            if kind in PLANT_KINDS:
                project = rankers.make_project(tmp_path_factory.mktemp("planted"))
                opened = int(asked.opened_seconds)
                records = plant_evidence(project, kind, opened, asked.description)
            elif kind == RENUMBERED:  # as if other versions had been read before
                newest = world.experiment.indexed.snapshot(world.newest_version)
                first_paths = ("zzz.java", *reversed(newest.paths))
            elif kind == OTHER_PAST:
                records[2] |= {
                    "summary": asked.summary,
                    "description": asked.description,
                    "fixed": [toy.class_path("Falcon")],
                }
            else:
                records[PAST_BUG] |= {"fixed": [LABELS[kind]]}
            opening = open_world(
                project, world.model_folder, records=records, name=kind, first_paths=first_paths
            )
            return open_worlds.enter_context(opening)

        yield make


@pytest.fixture(scope="module")
def past_ranking(world, ranker):
    """Return the ranking of the past report in its version by each ranker."""
    case = world.past_case
    return open_ranker(world, ranker, case.before_commit)(case.report)


@pytest.mark.parametrize("kind", [*PLANT_KINDS, *LABELS, RENUMBERED])
def test_other_worlds_have_the_same_report(world, make_world, kind):
    """Evidence that is planted inside the version makes it another commit with the same files."""
    case = make_world(kind).past_case
    assert case.report == world.past_case.report
    if kind == INSIDE_VERSION:
        assert case.before_commit != world.past_case.before_commit
    else:
        assert case.before_commit == world.past_case.before_commit


@pytest.mark.parametrize("kind", [*PLANT_KINDS, *LABELS, RENUMBERED])
def test_what_must_not_matter_changes_no_ranking(ranker, past_ranking, make_world, kind):
    other_world = make_world(kind)
    case = other_world.past_case
    ranking = open_ranker(other_world, ranker, case.before_commit)(case.report)
    assert ranking.paths == past_ranking.paths
    assert ranking.scores == pytest.approx(past_ranking.scores, rel=1e-5, abs=1e-6)


def test_the_past_changes_rankings(ranker, world, past_ranking, make_world):
    """Another early fix changes the answers of all that read history: the test above can fail."""
    case = world.past_case
    ranking = open_ranker(make_world(OTHER_PAST), ranker, case.before_commit)(case.report)
    # BLUiR reads earlier fixes only as an option of the paper, which its settings leave out.
    if ranker in {"constant", "bluir"}:
        assert ranking == past_ranking
    else:
        assert ranking != past_ranking
