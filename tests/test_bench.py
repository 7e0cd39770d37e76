"""``scripts/bench.py``: its rows, what is accepted, and what is told when something got worse by half."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import bench
from scripts.timing import Row
from tests.rerank.encoder.tiny import write_encoder
from tosloc.cli.guard import run_guarded

TOMCAT = Path(__file__).parents[1] / "checkpoints/tomcat"
JAVA = "package org.x;\n/** Keeps {0} open. */\nclass {0} {{\n  int {1}Count(int a) {{ return a > 0 ? a : 1; }}\n}}\n"


def rows(**ratios):
    return [Row(name, 2 * ratio, 2.0) for name, ratio in ratios.items()]


def run(*arguments):
    """The rows that the script prints."""
    command = [sys.executable, bench.__file__, *map(str, arguments), "--json"]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return list(json.loads(printed))


def test_ratios_are_accepted_as_medians_and_worse_by_half_is_a_sentence(tmp_path):
    file = tmp_path / "ratios.json"
    bench.accept(file, [{"one": rows(a=a, b=2, c=2), "two": rows(d=2)} for a in (3, 1, 2.0004)])
    known = json.loads(file.read_text())["ratios"]
    assert known["a"] == {"part": "one", "ratio": 2.0, "lowest": 1.0, "highest": 3.0, "runs": 3}
    assert bench.complaints({"one": rows(a=3, b=0.1, c=2, new=99)}, known) == []
    [sentence, missing] = bench.complaints({"one": rows(a=3.1, b=2)}, known)
    assert sentence.startswith("a: 3.1 where 2 is accepted, 1.55 times as much")
    assert missing.startswith("c: is accepted and was not measured")
    bench.accept(file, [{"two": rows(d=7)}])  # the other part's rows stay
    assert [one["ratio"] for one in json.loads(file.read_text())["ratios"].values()] == [2, 2, 2, 7]


def test_the_committed_file():
    found = json.loads(bench.FILE.read_text())["ratios"].values()
    assert {one["part"] for one in found} == set(bench.QUICK)
    for one in found:
        # whose runs lie further apart than that would fail by chance
        assert one["lowest"] <= one["ratio"] <= one["highest"] < 1.3 * one["ratio"]


def test_bench_asks_for_a_repository_where_it_needs_one(capsys):
    assert run_guarded(lambda: bench.main([])) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "name a git repository with --repo; only the part evaluation needs none" in err
    assert err.count("\n") == 1


def test_a_slowdown_is_measured_once_more_and_told(monkeypatch, capsys, tmp_path):
    measured = iter([{"one": rows(a=4, b=4)}, {"one": rows(a=2, b=5)}])
    monkeypatch.setattr(bench, "measure", lambda *_: next(measured))
    monkeypatch.setattr(bench.synthetic, "write_repository", lambda *_: None)
    monkeypatch.setattr(bench, "FILE", tmp_path / "ratios.json")
    bench.accept(bench.FILE, [{"one": rows(a=2, b=2)}])
    assert bench.main(["--quick"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[1] == "bench: measuring once more: one"
    assert len(lines) == 3
    assert lines[2].startswith("bench: b: 4 where 2 is accepted,")


@pytest.mark.slow
def test_no_ratio_got_worse_by_half():
    assert all(row["accepted"] for row in run("--quick")), (
        "accept new rows: bench.py --quick --accept"
    )


@pytest.fixture
def small(repository):
    """A repository of six classes with one fix."""
    names = [
        f"{first}{second}"
        for first in ("Session", "Cookie", "Header")
        for second in ("Reader", "Writer")
    ]
    repository.commit(
        {f"src/{name}.java": JAVA.format(name, name.lower()) for name in names}, "first version"
    )
    repository.commit(
        {"src/CookieReader.java": JAVA.format("CookieReader", "value")},
        "Fix bug 12345: cookie is lost",
    )
    return repository


@pytest.mark.slow
def test_rows_of_a_small_repository(small):
    found = run("--repo", small.path, "--rankings", "3", "--files", "20")
    assert [row["name"] for row in found] == [*json.loads(bench.FILE.read_text())["ratios"]]
    for row in found:
        assert row["value"] > 0
        assert row["ratio"] == pytest.approx(row["value"] / row["reference"])


@pytest.mark.slow
def test_rows_of_stage_two_by_an_encoder(small, tmp_path):
    settings = tmp_path / "settings.toml"
    settings.write_text("[stage_two]\nchunks = 2\nchunk_tokens = 16\nreport_tokens = 16\n")
    encoder = write_encoder(tmp_path / "encoder")
    words = [
        "--repo",
        small.path,
        "--only",
        "stage two",
        "--config",
        settings,
        "--encoder",
        encoder,
    ]
    two_stages, encoding = run(*words)
    assert two_stages["name"] == "two stages / stage one + one text"
    assert encoding["name"] == "encoding / encoder alone"
    assert two_stages["value"] > two_stages["reference"] / 2
    # chunks a second: what else is to be done makes fewer
    assert 0 < encoding["ratio"] < 1.5


@pytest.mark.slow
def test_stage_two_refuses_a_checkpoint_without_term_vectors(small, capsys):
    words = ["--repo", str(small.path), "--only", "stage two", "--checkpoint", str(TOMCAT)]
    assert run_guarded(lambda: bench.main(words)) == 2
    assert (
        "no second stage of term vectors; name a checkpoint that has one" in capsys.readouterr().err
    )
