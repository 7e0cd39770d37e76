"""What every ranker keeps to: all files of the version, each once, ties by path, the same answer each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from tests.end_to_end import toy
from tosloc.data.git import Repository
from tosloc.index.repository import IndexedRepository
from tosloc.localizer import Localizer
from tosloc.records import BugReport, Ranking
from tosloc.retrieval import features
from tosloc.retrieval.stage_one import StageOne

WEIGHTED = StageOne(features.NAMES, np.linspace(0.2, 1.5, len(features.NAMES)))
PAPER = StageOne(features.PAPER_NAMES, np.array([0.9, 0.4, 0.3, 0.1]))
CONSTANT = StageOne(("test",), np.array([0.0]))

Answer = Callable[[BugReport], Ranking]


def stage_ranker(stage: StageOne) -> Callable[[IndexedRepository, str], Answer]:
    """Ranker (project, revision) -> (report) -> ranking with a stage one."""

    def opened(project: IndexedRepository, revision: str) -> Answer:
        localizer = Localizer(toy.config())
        localizer.stage_one_ = stage
        localizer.open(project, revision)
        return lambda report: localizer.rank(report, project.snapshot(revision))

    return opened


RANKERS = {
    "weighted sum": stage_ranker(WEIGHTED),
    "paper": stage_ranker(PAPER),
    "constant": stage_ranker(CONSTANT),
}
"""Name -> function that opens a version of a project and gives what answers reports; later rankers join here."""

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


def report_of(name: str) -> BugReport:
    """One of REPORTS, opened after all commits."""
    return BugReport(name, *REPORTS[name], datetime.fromtimestamp(toy.START + 200 * toy.DAY, UTC))


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> toy.Toy:
    project = toy.grow(tmp_path_factory.mktemp("toy"), bugs=16, themes=16)
    odd: dict[str | bytes, str | bytes] = {
        b"src/\xe9t\xe9.java": "class X { int parser; }",
        "src/a b/ü.java": "class Y { int parser; }",
        "Twin1.java": "class T { }",
        "Twin2.java": "class T { }",
        "empty.java": "",
        "binary.java": bytes(range(256)),
        "notes.txt": "parser",
    }
    project.git.commit(odd, "Odd files", when=toy.START + 100 * toy.DAY)
    return project


@pytest.fixture(scope="module")
def project(made) -> Iterator[IndexedRepository]:
    with Repository(made.git.path) as repo:
        opened = IndexedRepository(repo, made.store, (".java",), jobs=1)
        yield opened
        opened.close()


@pytest.fixture(scope="module", params=RANKERS)
def answer(request, project) -> Answer:
    return RANKERS[request.param](project, "main")


@pytest.mark.parametrize("name", REPORTS)
class TestContract:
    def test_every_file_once(self, answer, made, name):
        listed = made.git.git("ls-tree", "-r", "-z", "--name-only", "main").split("\0")
        ranking = answer(report_of(name))
        assert sorted(ranking.paths) == sorted(path for path in listed if path.endswith(".java"))
        assert len(ranking.paths) == 25
        assert ranking.report == name

    def test_scores_fall_and_ties_stand_in_path_order(self, answer, name):
        ranking = answer(report_of(name))
        assert np.isfinite(ranking.scores).all()
        keys = [
            (-score, path.encode("utf-8", "surrogateescape"))
            for path, score in zip(ranking.paths, ranking.scores.tolist(), strict=True)
        ]
        assert keys == sorted(keys)

    def test_the_second_answer_is_the_first(self, answer, name):
        first = answer(report_of(name))
        answer(report_of("usual"))
        assert answer(report_of(name)) == first

    def test_the_name_of_a_report_is_no_evidence(self, answer, name):
        renamed = answer(replace(report_of(name), id="Parser 7"))
        assert renamed.paths == answer(report_of(name)).paths


def test_files_without_any_difference_are_a_tie(answer):
    ranking = answer(report_of("usual"))
    score = dict(zip(ranking.paths, ranking.scores.tolist(), strict=True))
    assert score["Twin1.java"] == score["Twin2.java"]
    assert ranking.paths.index("Twin2.java") == ranking.paths.index("Twin1.java") + 1


@pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS)
def test_the_order_in_which_paths_became_known_does_not_matter(ranker, made, project, tmp_path: Path):
    """A repository whose paths were numbered in another order, by reading other versions first, ranks alike."""
    expected = ranker(project, "main")(report_of("usual"))
    with Repository(made.git.path) as repo:
        other = IndexedRepository(repo, tmp_path / "facts.sqlite", (".java",), jobs=1)
        for name in ("zzz.java", *reversed(expected.paths)):
            repo.path_names.id(name)
        other.snapshot(made.git.made[3])
        got = ranker(other, "main")(report_of("usual"))
        other.close()
    assert got.paths == expected.paths
    assert got.scores == pytest.approx(expected.scores, rel=1e-5, abs=1e-6)


def test_only_an_open_version_is_ranked(project, made):
    localizer = Localizer(toy.config())
    localizer.stage_one_ = WEIGHTED
    localizer.open(project, "main")
    with pytest.raises(Exception, match="is not open"):
        localizer.rank(report_of("usual"), project.snapshot(made.git.made[2]))
