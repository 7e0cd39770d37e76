"""Published techniques on a small project: the harness that runs them, and the contract that all of them keep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests import toy
from tests.lab.baselines.techniques import KINDS
from tosloc.cli import main
from tosloc.evaluate.run_paths import read_scored
from tosloc.evaluate.runs import read_run
from tosloc.git.repository import Repository
from tosloc.lab import baseline_runs as systems
from tosloc.lab.baselines.context import Baseline, BaselineQuery
from tosloc.records import FloatArray

pytestmark = pytest.mark.slow

CONFIG = toy.config(0.6, 0.2)
CLASSICAL = ("buglocator", "brtracer", "bluir", "amalgam", "blia")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> toy.Toy:
    return toy.grow(tmp_path_factory.mktemp("toy"), bugs=30)


def ranked(project: toy.Toy, kinds: Sequence[type[Baseline]], out: str, reports: Path | None = None) -> list[Path]:
    return systems.rank_with(kinds, CONFIG, project.git.path, reports or project.reports(), project.folder / out)


class Counting(Baseline):
    """Ranks by how often a file was fixed, and counts how often it is asked."""

    name = "counting"
    asked = 0
    broken_at = -1

    def scores(self, asked: BaselineQuery) -> FloatArray:
        if Counting.asked == Counting.broken_at:
            raise KeyboardInterrupt
        Counting.asked += 1
        return asked.version.from_paths(asked.history.fixes)


def test_runs_are_like_those_of_rank_and_finished_ones_are_left_alone(project: toy.Toy) -> None:
    Counting.asked, Counting.broken_at = 0, 9
    with pytest.raises(KeyboardInterrupt):
        ranked(project, [Counting], "runs")
    place = project.folder / "runs/counting"
    assert not (place / "test/qrels.jsonl").exists()
    Counting.asked, Counting.broken_at = 0, -1
    assert ranked(project, [Counting], "runs") == [place]
    assert Counting.asked == 6  # those of test: validation was finished
    summary = read_scored(place, "test").evaluation().summary()
    assert (summary["reports"], summary["length"]) == (6, 1.0)
    header = read_run(place / "test/run.jsonl.gz").header
    assert header["search space"] == "all source files of the before-fix version"
    assert (header["system"], header["split"]) == ("counting", "test")
    ranked(project, [Counting], "runs")
    assert Counting.asked == 6


@pytest.mark.parametrize("name", CLASSICAL)
def test_every_technique_ranks_every_file(project: toy.Toy, name: str) -> None:
    [place] = ranked(project, [systems.technique(name)], "contract")
    assert place.name == name
    summary = read_scored(place, "test").evaluation().summary()
    assert summary["length"] == 1.0
    assert summary["mrr"] > 0.2  # by chance .14; BRTracer nearly silences files below the median length
    with Repository(project.git.path) as repo:
        for report, order in read_run(place / "test/run.jsonl.gz").orders.items():
            assert len(order.files) == len(repo.snapshot("HEAD", (".java",))), report


@pytest.mark.parametrize("name", CLASSICAL)
def test_nothing_later_than_the_opening_counts(project: toy.Toy, name: str) -> None:
    """Other words in reports that were not yet fixed when the asked ones were opened change no score of them."""
    changed = [
        record | {"summary": "Turbine canyon marble wrong", "description": "TurbineService CanyonService"}
        if number >= 24
        else record
        for number, record in enumerate(project.records)
    ]
    reports = project.reports("changed.jsonl", changed)
    [one] = ranked(project, [systems.technique(name)], "contract")
    [two] = ranked(project, [systems.technique(name)], "leak", reports)
    before, after = (read_run(place / "validation/run.jsonl.gz") for place in (one, two))
    assert len(before.orders) == 6
    for report in before.orders:
        first, second = before.ranking(report), after.ranking(report)
        assert first.paths == second.paths
        np.testing.assert_allclose(first.scores, second.scores)


def test_a_wrong_name_gets_one_sentence(project: toy.Toy, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--repo", str(project.git.path), "--reports", str(project.reports()), "--out", str(project.folder / "no")]
    assert main(["lab", "baselines", "blur", *given]) == 2
    assert "no technique is called 'blur'" in capsys.readouterr().err
    assert not (project.folder / "no").exists()


@pytest.mark.parametrize("name", ["dnnloc", "dreamloc"])
def test_a_learned_technique_learns_and_ranks_every_file(project: toy.Toy, name: str) -> None:
    [place] = ranked(project, [KINDS[name]], "learned")
    assert read_scored(place, "test").evaluation().summary()["length"] == 1.0
    record = json.loads((place / "provenance.json").read_text())
    assert ("chosen on validation" in record) == (name == "dnnloc")
