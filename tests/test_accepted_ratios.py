"""``scripts/bench.py --quick``: what is accepted, and what is told when something got worse by half."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[1] / "scripts"
SLOWED = """
import sys, time
sys.path.insert(0, {scripts!r})
from tosloc.localizer import Localizer

localization = Localizer.localization

def slow(self, *arguments, **named):
    start = time.process_time()
    found = localization(self, *arguments, **named)
    end = time.process_time() + (time.process_time() - start)
    while time.process_time() < end:
        pass
    return found

Localizer.localization = slow
import bench
sys.exit(bench.main(["--quick", "--only", "stage one"]))
"""


@pytest.fixture
def accepted(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from benchmark import accepted  # type: ignore[import-not-found,unused-ignore]

    return accepted


def rows(module: ModuleType, **ratios: float) -> list[Any]:
    return [module.Row(name, 2 * ratio, 2.0) for name, ratio in ratios.items()]


def test_written_and_read(accepted: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "ratios.json"
    runs = [{"one": rows(accepted, a=a, b=10), "two": rows(accepted, c=1)} for a in (3, 1, 2.0004)]
    accepted.write_accepted(file, runs)
    found = accepted.read_accepted(file)
    assert found["a"] == accepted.Accepted("one", 2.0, 1.0, 3.0, 3)
    assert list(found) == ["a", "b", "c"]
    accepted.write_accepted(file, [{"one": rows(accepted, a=7)}])  # the other part's rows stay
    assert {name: one.ratio for name, one in accepted.read_accepted(file).items()} == {"c": 1.0, "a": 7.0}


def test_worse_by_half_is_a_sentence(accepted: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "ratios.json"
    accepted.write_accepted(file, [{"one": rows(accepted, a=2, b=2, c=2), "two": rows(accepted, d=2)}])
    known = accepted.read_accepted(file)
    assert accepted.complaints({"one": rows(accepted, a=3, b=0.1, c=2, new=99)}, known) == []
    [sentence, missing] = accepted.complaints({"one": rows(accepted, a=3.1, b=2)}, known)
    assert sentence.startswith("a: 3.1 where 2 is accepted, 1.55 times as much")
    assert missing.startswith("c: is accepted and was not measured")
    once, again = rows(accepted, a=3.1, b=2), rows(accepted, a=2.1, b=2.5)
    assert [row.ratio for row in accepted.better_of(once, again)] == [2.1, 2.0]


@pytest.mark.parametrize(
    "content", ["", "[]", '{"ratios": []}', '{"ratios": {"a": {}}}', '{"ratios": {"a": {"ratio": 1}}}']
)
def test_a_file_that_does_not_fit(content: str, accepted: ModuleType, tmp_path: Path) -> None:
    from tosloc.errors import ToslocError

    file = tmp_path / "ratios.json"
    file.write_text(content)
    with pytest.raises(ToslocError, match="no file of accepted ratios"):
        accepted.read_accepted(file)
    with pytest.raises(ToslocError, match="no accepted ratios"):
        accepted.read_accepted(tmp_path / "none.json")


def test_the_committed_file(accepted: ModuleType) -> None:
    found = accepted.read_accepted(accepted.FILE)
    assert {one.part for one in found.values()} >= {"stage one", "questions", "first index", "evaluation"}
    for one in found.values():
        # whose runs lie further apart than that would fail by chance
        assert one.lowest <= one.ratio <= one.highest < 1.3 * one.ratio


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_no_ratio_got_worse_by_half() -> None:
    done = run(str(SCRIPTS / "bench.py"), "--quick", "--json")
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert all(row["accepted"] is not None for row in measured), "accept new rows: bench.py --quick --accept"


@pytest.mark.slow
def test_a_planted_slowdown_is_told() -> None:
    done = run("-c", SLOWED.format(scripts=str(SCRIPTS)))
    assert done.returncode == 1, done.stderr
    assert "bench: measuring once more: stage one\n" in done.stderr
    told = [line for line in done.stderr.splitlines() if " is accepted, " in line]
    assert [line.partition(": ")[2].partition(":")[0] for line in told] == [
        "stage one / bm25s",
        "stage one (paper) / bm25s",
    ]
