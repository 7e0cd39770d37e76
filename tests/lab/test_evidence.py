"""Counting what reports state: kinds, frames by language, and the command."""

import json

import pytest

from tests import toy
from tosloc.cli import main
from tosloc.lab.evidence import ALL_REPORTS, StatedReport, count_frames, count_kinds

FIRST = StatedReport(
    {"link": [True, False], "innermost frame": [True]},
    [("python", True), ("python", False)],
    learned=(0.5, 0.25),
    final=(1.0, 0.5),
)
SECOND = StatedReport({"link": [False]}, [("python", False)], learned=(0.1, 0.1), final=(0.1, 0.1))


def test_kind_is_counted_over_the_reports_that_have_it():
    rows = {row.kind: row for row in count_kinds([FIRST, SECOND])}
    assert rows["link"].reports == 2
    assert rows["link"].files == 3
    assert rows["link"].right == pytest.approx(1 / 3)
    assert rows["innermost frame"].reports == 1
    assert "further frame" not in rows


def test_means_are_those_before_and_after_the_statements():
    [row, *_] = count_kinds([FIRST, SECOND])
    assert row.kind == ALL_REPORTS
    assert row.mrr_learned == pytest.approx(0.3)
    assert row.mrr == pytest.approx(0.55)
    assert row.map == pytest.approx(0.3)


def test_frames_are_counted_by_language_and_distance():
    [row] = count_frames([FIRST, SECOND])
    assert row.language == "python"
    assert row.counts == [2, 1, 0, 0, 0]
    assert row.right == [0.5, 0.0, 0.0, 0.0, 0.0]


def test_command_counts_the_statements_of_projects(tmp_path, capsys):
    project = toy.make_project(tmp_path, bugs=4, themes=4)
    for record in project.records:
        record["description"] += "\nThe bug is in " + record["fixed"][0]
    reports = project.write_reports("blamed.jsonl", project.records)
    projects = tmp_path / "projects.toml"
    projects.write_text(f'[toy]\nrepo = "{project.git.path}"\nreports = "{reports}"\n')
    assert main(["lab", "evidence", "--projects", str(projects), "--json"]) == 0
    kinds = json.loads(capsys.readouterr().out)["kinds"]
    blamed = {row["kind"]: row for row in kinds}["path that a sentence blames"]
    assert blamed["reports"] == 4
    assert blamed["right"] == 1.0
    assert blamed["mrr"] == 1.0
