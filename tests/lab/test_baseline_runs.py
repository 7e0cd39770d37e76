"""The runs of published techniques.

Their scores are for tests/test_contract.py and tests/test_leaks.py.
"""

import json

import pytest

from tests import toy
from tosloc.cli import main
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.runs.run import read_run
from tosloc.lab import baseline_runs
from tosloc.lab.baselines.context import Baseline

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return toy.make_project(tmp_path_factory.mktemp("toy"), bugs=30)


class CountingBaseline(Baseline):
    """A technique that ranks by how often a file was fixed, and counts its calls."""

    name = "counting"
    calls = 0
    interrupted_at = 9

    def fit(self, train, validation, progress=None):
        self.choice = {"by": "hand"}

    def scores(self, query):
        if CountingBaseline.calls == CountingBaseline.interrupted_at:
            raise KeyboardInterrupt
        CountingBaseline.calls += 1
        return query.version.from_paths(query.fix_counts)


@pytest.fixture(scope="module")
def finished_folder(project):
    """Return the folder of runs that were interrupted, then finished, then asked for once more."""
    arguments = (
        toy.small_config(0.6, 0.2),
        project.git.path,
        project.write_reports(),
        project.folder / "runs",
    )
    folder = project.folder / "runs/counting"
    with pytest.raises(KeyboardInterrupt):
        baseline_runs.rank_with([CountingBaseline], *arguments)
    assert not (folder / "test/qrels.jsonl").exists()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CountingBaseline, "interrupted_at", -1)
        runs = baseline_runs.rank_with([CountingBaseline], *arguments)
        again = baseline_runs.rank_with([CountingBaseline], *arguments)
    assert runs.folders == again.folders == [folder]
    return folder


def test_finished_splits_are_not_ranked_again(finished_folder):
    # Six reports of validation and three of test were ranked before the interruption, then the six
    # of test.
    assert CountingBaseline.calls == 9 + 6


def test_run_has_the_header_of_our_runs(finished_folder):
    header = read_run(finished_folder / "test/run.jsonl.gz").header
    assert header["search space"] == ".java files of the before-fix version"
    assert header["system"] == "counting"
    assert header["split"] == "test"


def test_command_says_what_it_searched(project, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(baseline_runs, "technique", lambda name: CountingBaseline)
    monkeypatch.setattr(CountingBaseline, "interrupted_at", -1)
    monkeypatch.setattr(CountingBaseline, "calls", 0)
    options = ["--repo", str(project.git.path), "--reports", str(project.write_reports())]
    options += ["--out", str(tmp_path / "out"), "--split", "test"]
    assert main(["lab", "baselines", *options]) == 0
    sentence = "tosloc: searched .java files of the before-fix version: at least a tenth"
    assert sentence in capsys.readouterr().err


def test_run_ranks_every_file_for_every_report(finished_folder):
    counts = ScoredRun.read(finished_folder, "test").evaluation().counts
    assert counts["reports"] == 6
    assert counts["length"] == 1.0


def test_provenance_has_the_choice_by_validation(finished_folder):
    provenance = json.loads((finished_folder / "provenance.json").read_text())
    assert provenance["chosen on validation"] == {"by": "hand"}


def test_unknown_technique_is_refused_before_any_work(project, capsys):
    out = project.folder / "no"
    arguments = ["--repo", str(project.git.path), "--reports", str(project.write_reports())]
    assert main(["lab", "baselines", "blur", *arguments, "--out", str(out)]) == 2
    assert "there is no technique 'blur'" in capsys.readouterr().err
    assert not out.exists()
