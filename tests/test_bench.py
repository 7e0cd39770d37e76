"""``scripts/bench.py``: its rows, the accepted ratios, and the sentences about regressions."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import bench, synthetic, timing
from scripts.timing import Row
from tests.rerank.encoder.tiny import write_encoder
from tosloc.cli.guard import run_guarded

TOMCAT = Path(__file__).parents[1] / "checkpoints/tomcat"
JAVA = """package org.x;
/** Keeps {0} open. */
class {0} {{
  int {1}Count(int a) {{ return a > 0 ? a : 1; }}
}}
"""


def rows(**ratios):
    """Return a row for each name and ratio."""
    return [Row(name, 2 * ratio, 2.0) for name, ratio in ratios.items()]


def run(*arguments):
    """Run the script and return the rows that it prints."""
    command = [sys.executable, bench.__file__, *map(str, arguments), "--json"]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return list(json.loads(printed))


@pytest.fixture
def ratios_file(tmp_path):
    """Accept three runs of the parts one and two; return the file."""
    file = tmp_path / "ratios.json"
    runs = [{"one": rows(a=ratio, b=2, c=2), "two": rows(d=2)} for ratio in (3, 1, 2.0004)]
    bench.accept(file, runs)
    return file


def read_ratios(file):
    return json.loads(file.read_text())["ratios"]


def test_medians_are_accepted(ratios_file):
    ratios = {"part": "one", "ratio": 2.0, "lowest": 1.0, "highest": 3.0, "runs": 3}
    assert read_ratios(ratios_file)["a"] == ratios


def test_accepting_one_part_keeps_the_others(ratios_file):
    bench.accept(ratios_file, [{"two": rows(d=7)}])
    ratios = {name: record["ratio"] for name, record in read_ratios(ratios_file).items()}
    assert ratios == {"a": 2, "b": 2, "c": 2, "d": 7}


def test_accepting_one_part_keeps_the_order_of_rows(ratios_file):
    bench.accept(ratios_file, [{"one": rows(a=1, b=1, c=1)}])
    assert list(read_ratios(ratios_file)) == ["a", "b", "c", "d"]


def test_accepting_a_part_forgets_its_rows_that_are_gone(ratios_file):
    bench.accept(ratios_file, [{"one": rows(a=1, c=1)}])
    assert list(read_ratios(ratios_file)) == ["a", "c", "d"]


def test_a_ratio_up_to_the_bound_is_no_regression(ratios_file):
    measured = {"one": rows(a=3, b=0.1, c=2, new=99)}
    assert bench.complaints(measured, read_ratios(ratios_file)) == []


def test_a_regression_and_a_missing_row_are_sentences(ratios_file):
    measured = {"one": rows(a=3.1, b=2)}
    [regression, missing] = bench.complaints(measured, read_ratios(ratios_file))
    assert regression.startswith("a: the ratio 3.1 is 1.55 times the accepted 2")
    assert missing.startswith("c: this row has an accepted ratio but was not measured")


def test_the_committed_file_has_all_quick_parts():
    parts = {record["part"] for record in read_ratios(bench.FILE).values()}
    assert parts == set(bench.QUICK)


def test_runs_in_the_committed_file_are_close_together():
    """Runs further apart than this would be regressions by chance."""
    for record in read_ratios(bench.FILE).values():
        assert record["lowest"] <= record["ratio"]
        assert record["ratio"] <= record["highest"]
        assert record["highest"] < 1.3 * record["ratio"]


def test_bench_asks_for_a_repository_where_it_needs_one(capsys):
    assert run_guarded(lambda: bench.main([])) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "name a git repository with --repo; only the part evaluation works without one" in err
    assert err.count("\n") == 1


def test_the_package_is_compiled_before_processes_are_timed(monkeypatch, tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "module.py").write_text("VALUE = 1\n")
    monkeypatch.setattr(timing, "PACKAGE", package)
    assert bench.main(["--only", "evaluation", "--rankings", "2", "--files", "20"]) == 0
    assert list(package.glob("__pycache__/module.*.pyc"))


def test_a_regression_is_measured_once_more_before_it_is_reported(monkeypatch, capsys, tmp_path):
    measured = iter([{"one": rows(a=4, b=4)}, {"one": rows(a=2, b=5)}])
    monkeypatch.setattr(bench, "measure", lambda *_: next(measured))
    monkeypatch.setattr(synthetic, "write_repository", lambda *_: None)
    monkeypatch.setattr(bench, "FILE", tmp_path / "ratios.json")
    bench.accept(bench.FILE, [{"one": rows(a=2, b=2)}])
    assert bench.main(["--quick"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[1] == "bench: measuring again: one"
    assert len(lines) == 3
    assert lines[2].startswith("bench: b: the ratio 4 is 2.00 times")


@pytest.mark.slow
def test_no_ratio_is_a_regression():
    measured = run("--quick")
    assert all(row["accepted"] for row in measured), "accept new rows: bench.py --quick --accept"


@pytest.fixture
def small_project(repository):
    """Create a repository of six classes with one fix."""
    files = {}
    for first in ("Session", "Cookie", "Header"):
        for second in ("Reader", "Writer"):
            name = f"{first}{second}"
            files[f"src/{name}.java"] = JAVA.format(name, name.lower())
    repository.commit(files, "first version")
    fixed = {"src/CookieReader.java": JAVA.format("CookieReader", "value")}
    repository.commit(fixed, "Fix bug 12345: cookie is lost")
    return repository


@pytest.mark.slow
def test_rows_of_a_small_repository(small_project):
    measured = run("--repo", small_project.path, "--rankings", "3", "--files", "20")
    assert [row["name"] for row in measured] == list(read_ratios(bench.FILE))
    for row in measured:
        assert row["value"] > 0
        assert row["ratio"] == pytest.approx(row["value"] / row["reference"])


@pytest.mark.slow
def test_rows_of_stage_two_by_an_encoder(small_project, tmp_path):
    settings = tmp_path / "settings.toml"
    settings.write_text("[stage_two]\nchunks = 2\nchunk_tokens = 16\nreport_tokens = 16\n")
    encoder = write_encoder(tmp_path / "encoder")
    options = ["--only", "stage two", "--config", settings, "--encoder", encoder]
    two_stages, encoding = run("--repo", small_project.path, *options)
    assert two_stages["name"] == "two stages / stage one + one text"
    assert encoding["name"] == "encoding / encoder alone"
    assert two_stages["value"] > two_stages["reference"] / 2
    # The ratio is of chunks a second, of which other work makes fewer.
    assert 0 < encoding["ratio"] < 1.5


@pytest.mark.slow
def test_stage_two_refuses_a_checkpoint_without_term_vectors(small_project, capsys):
    options = ["--only", "stage two", "--checkpoint", str(TOMCAT)]
    assert run_guarded(lambda: bench.main(["--repo", str(small_project.path), *options])) == 2
    message = "no second stage of term vectors; name a checkpoint that has one"
    assert message in capsys.readouterr().err
