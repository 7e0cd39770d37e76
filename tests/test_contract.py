"""What every ranker keeps to: all files of the version, each once, ties by path, the same answer each time.

Stage one, both stages with each reranker, and the published techniques: ``tests.rankers`` lists them, and a new one
joins there. All of them keep all of it; what the public code of a technique does otherwise, its upstream profile, is
tested with the techniques.
"""

from contextlib import ExitStack
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests import rankers, toy
from tests.rankers import OLD, new_report, open_world, opened
from tests.toy import INSIDE, KINDS, plant

REPORTS = {
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


def report_of(name):
    """One of REPORTS."""
    return new_report(name, *REPORTS[name])


@pytest.fixture(scope="module", params=rankers.NAMES)
def ranker(request):
    """The name of each ranker."""
    return str(request.param)


@pytest.fixture(scope="module")
def answer(world, ranker):
    """Each ranker on the newest version."""
    return opened(world, ranker, world.newest)


@pytest.mark.parametrize("name", REPORTS)
def test_every_file_once_by_falling_scores_the_same_each_time(world, answer, name):
    listed = world.project.git.git("ls-tree", "-r", "-z", "--name-only", world.newest).split("\0")
    ranking = answer(report_of(name))
    assert sorted(ranking.paths) == sorted(path for path in listed if path.endswith(".java"))
    assert len(ranking.paths) == 25
    assert ranking.report == name
    assert np.isfinite(ranking.scores).all()
    places = zip(ranking.paths, ranking.scores.tolist(), strict=True)
    keys = [(-score, path.encode("utf-8", "surrogateescape")) for path, score in places]
    assert keys == sorted(keys)  # ties in path order
    answer(report_of("usual"))
    assert answer(report_of(name)) == ranking
    renamed = answer(replace(report_of(name), id="Parser 7"))  # the name of a report is no evidence
    assert renamed == replace(ranking, report="Parser 7")


def test_files_without_any_difference_are_a_tie(answer):
    ranking = answer(report_of("usual"))
    score = dict(zip(ranking.paths, ranking.scores.tolist(), strict=True))
    assert score["Twin1.java"] == score["Twin2.java"]
    assert ranking.paths.index("Twin2.java") == ranking.paths.index("Twin1.java") + 1


def test_words_matter(ranker, answer):
    """So that the answers above are answers: all but the constant one hear what a report says."""
    said = answer(report_of("usual"))
    other = answer(
        replace(report_of("usual"), summary="Widget planet", description="WidgetService")
    )
    assert (said.paths == other.paths) == (ranker == "constant")


LABELS = {
    "own label of another file": toy.class_path("Widget"),
    "own label of no file": "not/there.java",
}
PAST = "another fix in the past"
RENUMBERED = "paths known in another order"


@pytest.fixture(scope="module")
def other(world, tmp_path_factory):
    """Function (kind) -> the world in which something was planted or is labelled or numbered otherwise."""
    report, _ = world.old
    said = {
        "summary": report.summary,
        "description": report.description,
        "fixed": [toy.class_path("Falcon")],
    }
    with ExitStack() as opened_worlds:

        @cache
        def of(kind):
            project, known = world.project, ()
            records = [dict(record) for record in project.records]
            if kind in KINDS:
                project = rankers.make_project(tmp_path_factory.mktemp("planted"))
                records = plant(project, kind, int(report.opened_seconds), report.description)
            elif kind == RENUMBERED:  # by reading other versions first
                known = (
                    "zzz.java",
                    *reversed(world.experiment.indexed.snapshot(world.newest).paths),
                )
            elif kind == PAST:
                records[2] |= said
            else:
                records[OLD] |= {"fixed": [LABELS[kind]]}
            made = open_world(project, world.learned, records=records, name=kind, known=known)
            return opened_worlds.enter_context(made)

        yield of


@pytest.fixture(scope="module")
def before(world, ranker):
    """What each ranker says of a report of the past."""
    report, version = world.old
    return opened(world, ranker, version)(report)


def same(after, before):
    assert after.paths == before.paths
    assert after.scores == pytest.approx(before.scores, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kind", [*KINDS, *LABELS, RENUMBERED])
def test_what_must_not_matter(ranker, world, before, other, kind):
    """What the future brings, the report's own label, and the order in which paths became known."""
    (report, version), (planted_report, planted_version) = world.old, other(kind).old
    assert report == planted_report
    # what is planted inside the version makes it another commit, of the same files
    assert (version == planted_version) == (kind != INSIDE)
    same(opened(other(kind), ranker, planted_version)(report), before)


def test_the_past_does(ranker, world, before, other):
    """So that the test above can fail: another early fix changes the answers of all that read history."""
    report, version = world.old
    after = opened(other(PAST), ranker, version)(report)
    # BLUiR reads earlier fixes only as an option of the paper, which its settings leave out
    assert (before == after) == (ranker in {"constant", "bluir"})
