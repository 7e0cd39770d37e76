"""Simulated bisections: test runs in a line of commits, ranges of reports, and the command."""

import json

import numpy as np
import pytest

from tests.conftest import FIRST_TIME, HOUR
from tosloc.bisect.graph import count_runs
from tosloc.cli import main
from tosloc.lab.bisect import SimulatedReport, simulate

CART = "class Cart:\n    def total(self):\n        return 1\n"
BROKEN = CART.replace("return 1", "return 2")


def test_equal_weights_are_halved():
    weights = np.ones(16)
    assert {count_runs(weights, culprit) for culprit in range(16)} == {4}


def test_single_commit_takes_no_run():
    assert count_runs(np.ones(1), 0) == 0


def test_heavy_commit_takes_the_runs_on_both_of_its_sides():
    weights = np.array([1.0] * 7 + [100.0] + [1.0] * 8)
    assert count_runs(weights, 7) == 2


def make_report(number, culprit, score):
    """Return a report whose culprit has a score among others of 0."""
    history = [str(position) for position in range(number)]
    return SimulatedReport(history, culprit, {"1": 0.0, str(culprit): score})


def test_known_culprit_needs_fewer_runs_than_git():
    [runs] = simulate([make_report(100, 50, 5.0)], [64])
    assert runs.plain == 6.0
    assert runs.weighted <= 3.0
    assert runs.reports == 1


def test_wrong_suspect_costs_some_runs():
    report = make_report(100, 50, 0.0)
    wrong = report._replace(scores={"40": 5.0})
    [runs] = simulate([wrong], [64])
    assert runs.weighted > runs.plain
    assert runs.most_worse <= 3


def test_sizes_beyond_the_history_are_left_out():
    runs = simulate([make_report(20, 5, 1.0), make_report(40, 5, 1.0)], [8, 32, 64])
    assert [(row.commits, row.reports) for row in runs] == [(8, 2), (32, 1)]


@pytest.fixture
def projects_file(repository, tmp_path):
    """Return a file of projects with one report, whose fault twelve commits contain."""
    repository.commit({"cart.py": CART})
    repository.commit({"cart.py": BROKEN}, "Change the total")
    for number in range(12):
        repository.commit({"door.py": f"number = {number}\n"})
    fix = repository.commit({"cart.py": CART}, "Fix the total", when=FIRST_TIME + 99 * HOUR)
    record = {
        "id": "1",
        "summary": "The total of the cart is wrong",
        "description": "Cart.total returns 2",
        "opened": "2001-09-12T00:00:00+00:00",
        "fix_commit": fix,
        "fixed": ["cart.py"],
    }
    (tmp_path / "reports.jsonl").write_text(json.dumps(record) + "\n")
    path = tmp_path / "projects.toml"
    path.write_text(f'[one]\nrepo = "{repository.path}"\nreports = "reports.jsonl"\n')
    return path


def test_command_compares_with_git(projects_file, capsys):
    assert main(["lab", "bisect", "--projects", str(projects_file), "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert row["commits"] == 8
    assert row["reports"] == 1
    assert row["weighted"] < row["plain"] == 3.0


def test_command_prints_the_mean_over_sizes(projects_file, capsys):
    assert main(["lab", "bisect", "--projects", str(projects_file), "--markdown"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("| mean |")


def test_reports_without_truth_are_an_error(projects_file, tmp_path, capsys):
    reports = tmp_path / "reports.jsonl"
    reports.write_text(reports.read_text().replace("2001-09-12", "1999-09-12"))
    assert main(["lab", "bisect", "--projects", str(projects_file)]) == 2
    assert "no fix changes or removes a line" in capsys.readouterr().err
