"""What every ranker keeps to: all files of the version, each once, ties by path, the same answer each time.

Stage one, both stages with each reranker, and the published techniques: ``tests.rankers`` lists them, and a new one
joins there. All of them keep all of it; what the public code of a technique does otherwise, its upstream profile, is
tested with the techniques.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from tests import rankers, toy
from tests.planting import INSIDE, KINDS, plant
from tests.rankers import OLD, Answer, World, new_report, opened, world_of
from tosloc.records import BugReport

REPORTS: Final = {
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


def report_of(name: str) -> BugReport:
    """One of REPORTS."""
    return new_report(name, *REPORTS[name])


@pytest.fixture(scope="module", params=rankers.NAMES)
def ranker(request: pytest.FixtureRequest) -> str:
    """The name of each ranker."""
    return str(request.param)


@pytest.fixture(scope="module")
def answer(world: World, ranker: str) -> Answer:
    """Each ranker on the newest version."""
    return opened(world, ranker, world.newest)


@pytest.mark.parametrize("name", REPORTS)
def test_every_file_once_by_falling_scores_the_same_each_time(world: World, answer: Answer, name: str) -> None:
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


def test_files_without_any_difference_are_a_tie(answer: Answer) -> None:
    ranking = answer(report_of("usual"))
    score = dict(zip(ranking.paths, ranking.scores.tolist(), strict=True))
    assert score["Twin1.java"] == score["Twin2.java"]
    assert ranking.paths.index("Twin2.java") == ranking.paths.index("Twin1.java") + 1


def test_words_matter(ranker: str, answer: Answer) -> None:
    """So that the answers above are answers: all but the constant one hear what a report says."""
    said = answer(report_of("usual"))
    other = answer(replace(report_of("usual"), summary="Widget planet", description="WidgetService"))
    assert (said.paths == other.paths) == (ranker == "constant")


@pytest.fixture(scope="module")
def renumbered(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The world with a repository whose paths became known in another order, by reading other versions first."""
    known = ["zzz.java", *reversed(world.experiment.indexed.snapshot(world.newest).paths)]
    with world_of(world.project, world.learned, name="renumbered", known=known) as other:
        yield other


def test_the_order_in_which_paths_became_known_does_not_matter(ranker: str, answer: Answer, renumbered: World) -> None:
    expected, got = answer(report_of("usual")), opened(renumbered, ranker, renumbered.newest)(report_of("usual"))
    assert got.paths == expected.paths
    assert got.scores == pytest.approx(expected.scores, rel=1e-5, abs=1e-6)


@pytest.fixture(scope="module")
def planted(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], World]]:
    """Function (kind) -> the world in which something was planted that nobody could know."""
    made: dict[str, World] = {}
    contexts = []

    def of(kind: str) -> World:
        if kind not in made:
            project = rankers.grown(tmp_path_factory.mktemp("planted"))
            report, _ = world.old
            records = plant(project, kind, int(report.opened_seconds), report.description)
            context = world_of(project, world.learned, records=records)
            made[kind] = context.__enter__()
            contexts.append(context)
        return made[kind]

    yield of
    for context in contexts:
        context.__exit__(None, None, None)


@pytest.mark.parametrize("kind", KINDS)
def test_the_future_does_not_matter(
    ranker: str, world: World, planted: Callable[[str], World], kind: str, request: pytest.FixtureRequest
) -> None:
    other = planted(kind)
    (report, version), (same, planted_version) = world.old, other.old
    assert report == same
    # what is planted inside the version makes it another commit, of the same files
    assert (version == planted_version) == (kind != INSIDE)
    before, after = (opened(one, ranker, one.old[1])(report) for one in (world, other))
    assert after.paths == before.paths
    assert after.scores == pytest.approx(before.scores, rel=1e-5, abs=1e-6)


def changed(world: World, number: int, **values: object) -> list[dict[str, object]]:
    """The world's records, of which one is changed."""
    records = [dict(record) for record in world.project.records]
    records[number] |= values
    return records


def test_the_past_does(ranker: str, world: World) -> None:
    """So that the test above can fail: another early fix changes the answers of all that read history."""
    report, version = world.old
    said = {"summary": report.summary, "description": report.description, "fixed": [toy.path_of("Falcon")]}
    with world_of(world.project, world.learned, records=changed(world, 2, **said), name="past") as other:
        after = opened(other, ranker, version)(report)
    # BLUiR reads earlier fixes only as an option of the paper, which its settings leave out
    assert (opened(world, ranker, version)(report) == after) == (ranker in {"constant", "bluir"})


@pytest.mark.parametrize("fixed", [toy.path_of("Widget"), "not/there.java"])
def test_its_own_label_is_no_evidence(ranker: str, world: World, fixed: str) -> None:
    report, version = world.old
    with world_of(world.project, world.learned, records=changed(world, OLD, fixed=[fixed]), name="label") as other:
        after = opened(other, ranker, version)(report)
    before = opened(world, ranker, version)(report)
    assert after.paths == before.paths
    assert after.scores == pytest.approx(before.scores, rel=1e-5, abs=1e-6)
