"""``scripts/bench.py``: its rows, what is accepted, and what is told when something got worse by half."""

import json
import subprocess
import sys

import pytest

from scripts import bench
from scripts.timing import Row

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


@pytest.mark.slow
def test_no_ratio_got_worse_by_half():
    assert all(row["accepted"] for row in run("--quick")), "accept new rows: bench.py --quick --accept"


@pytest.mark.slow
def test_rows_of_a_small_repository(repository):
    names = [f"{first}{second}" for first in ("Session", "Cookie", "Header") for second in ("Reader", "Writer")]
    repository.commit({f"src/{name}.java": JAVA.format(name, name.lower()) for name in names}, "first version")
    repository.commit({"src/CookieReader.java": JAVA.format("CookieReader", "value")}, "Fix bug 12345: cookie is lost")
    found = run("--repo", repository.path, "--rankings", "3", "--files", "20")
    assert [row["name"] for row in found] == [*json.loads(bench.FILE.read_text())["ratios"]]
    for row in found:
        assert row["value"] > 0
        assert row["ratio"] == pytest.approx(row["value"] / row["reference"])
