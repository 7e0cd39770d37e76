"""Published techniques on a small project: the harness that runs them, and the contract that all of them keep."""

import json

import numpy as np
import pytest

from tests import toy
from tests.lab.baselines.techniques import KINDS
from tosloc.cli import main
from tosloc.evaluate.run_paths import read_scored
from tosloc.evaluate.runs import read_run
from tosloc.lab import baseline_runs as systems
from tosloc.lab.baselines.context import Baseline

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return toy.grow(tmp_path_factory.mktemp("toy"), bugs=30)


def ranked(project, kind, out, reports=None):
    """The folder of a technique's runs."""
    where = project.git.path, reports or project.reports(), project.folder / out
    [place] = systems.rank_with([kind], toy.config(0.6, 0.2), *where)
    return place


class Counting(Baseline):
    """Ranks by how often a file was fixed, and counts how often it is asked."""

    name = "counting"
    asked, broken_at = 0, 9

    def scores(self, asked):
        if Counting.asked == Counting.broken_at:
            raise KeyboardInterrupt
        Counting.asked += 1
        return asked.version.from_paths(asked.fixes)


def test_runs_are_like_those_of_rank_and_finished_ones_are_left_alone(project, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        ranked(project, Counting, "runs")
    assert not (project.folder / "runs/counting/test/qrels.jsonl").exists()
    monkeypatch.setattr(Counting, "broken_at", -1)
    monkeypatch.setattr(Counting, "asked", 0)
    place = ranked(project, Counting, "runs")
    assert Counting.asked == 6  # those of test: validation was finished
    summary, header = read_scored(place, "test").evaluation().summary(), read_run(place / "test/run.jsonl.gz").header
    assert (summary["reports"], summary["length"]) == (6, 1.0)
    assert header["search space"] == "all source files of the before-fix version"
    assert (header["system"], header["split"]) == ("counting", "test")
    ranked(project, Counting, "runs")
    assert Counting.asked == 6


@pytest.mark.parametrize("name", KINDS)
def test_every_technique_ranks_every_file(project, name):
    place = ranked(project, KINDS[name], "contract")
    assert place.name == name
    summary = read_scored(place, "test").evaluation().summary()
    assert summary["length"] == 1.0
    assert KINDS[name].learned or summary["mrr"] > 0.2  # by chance .14; learned ones learn for a moment only
    assert ("chosen on validation" in json.loads((place / "provenance.json").read_text())) == (name == "dnnloc")


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.learned])
def test_nothing_later_than_the_opening_counts(project, name):
    """Other words in reports that were not yet fixed when the asked ones were opened change no score of them."""
    words = {"summary": "Turbine canyon marble wrong", "description": "TurbineService CanyonService"}
    reports = project.reports("changed.jsonl", [*project.records[:24], *(one | words for one in project.records[24:])])
    places = ranked(project, KINDS[name], "contract"), ranked(project, KINDS[name], "leak", reports)
    before, after = (read_run(place / "validation/run.jsonl.gz") for place in places)
    assert len(before.orders) == 6
    for report in before.orders:
        first, second = before.ranking(report), after.ranking(report)
        assert first.paths == second.paths
        np.testing.assert_allclose(first.scores, second.scores)


def test_a_wrong_name_gets_one_sentence(project, capsys):
    given = ["--repo", str(project.git.path), "--reports", str(project.reports()), "--out", str(project.folder / "no")]
    assert main(["lab", "baselines", "blur", *given]) == 2
    assert "no technique is called 'blur'" in capsys.readouterr().err
    assert not (project.folder / "no").exists()
