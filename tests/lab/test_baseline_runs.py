"""The harness that runs published techniques; what they say is for tests/test_contract.py and tests/test_leaks.py."""

import json

import pytest

from tests import toy
from tosloc.cli import main
from tosloc.evaluate.run_paths import read_scored_run
from tosloc.evaluate.runs import read_run
from tosloc.lab import baseline_runs
from tosloc.lab.baselines.context import Baseline

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return toy.make_project(tmp_path_factory.mktemp("toy"), bugs=30)


class Counting(Baseline):
    """Ranks by how often a file was fixed, and counts how often it is asked."""

    name = "counting"
    asked, broken_at = 0, 9

    def fit(self, train, validation, progress=None):
        self.choice = {"by": "hand"}

    def scores(self, asked):
        if Counting.asked == Counting.broken_at:
            raise KeyboardInterrupt
        Counting.asked += 1
        return asked.version.from_paths(asked.fix_counts)


def test_runs_are_like_those_of_rank_and_finished_ones_are_left_alone(project, monkeypatch):
    where = (
        toy.small_config(0.6, 0.2),
        project.git.path,
        project.write_reports(),
        project.folder / "runs",
    )
    place = project.folder / "runs/counting"
    with pytest.raises(KeyboardInterrupt):
        baseline_runs.rank_with([Counting], *where)
    assert not (place / "test/qrels.jsonl").exists()
    monkeypatch.setattr(Counting, "broken_at", -1)
    for _ in range(2):
        assert baseline_runs.rank_with([Counting], *where) == [place]
    assert Counting.asked == 9 + 6  # of validation six and of test three, then those of test
    counts, header = (
        read_scored_run(place, "test").evaluation().counts,
        read_run(place / "test/run.jsonl.gz").header,
    )
    assert (counts["reports"], counts["length"]) == (6, 1.0)
    assert header["search space"] == "all source files of the before-fix version"
    assert (header["system"], header["split"]) == ("counting", "test")
    assert json.loads((place / "provenance.json").read_text())["chosen on validation"] == {
        "by": "hand"
    }


def test_a_wrong_name_gets_one_sentence(project, capsys):
    given = [
        "--repo",
        str(project.git.path),
        "--reports",
        str(project.write_reports()),
        "--out",
        str(project.folder / "no"),
    ]
    assert main(["lab", "baselines", "blur", *given]) == 2
    assert "no technique is called 'blur'" in capsys.readouterr().err
    assert not (project.folder / "no").exists()
