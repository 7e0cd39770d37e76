"""``scripts/bench.py``: its rows, what is accepted, and what is told when something got worse by half."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import GitRepository
from tests.rerank.encoder.tiny import write_encoder
from tosloc.errors import ToslocError

SCRIPTS = Path(__file__).parents[1] / "scripts"
TOMCAT = Path(__file__).parents[1] / "checkpoints/tomcat"
JAVA = "package org.x;\n/** Keeps {0} open. */\nclass {0} {{\n  int {1}Count(int a) {{ return a > 0 ? a : 1; }}\n}}\n"
EVALUATION = ["evaluate TREC files / ir-measures", "evaluate JSON lines / ir-measures"]
EVALUATION += ["memory: evaluate TREC files", "memory: evaluate JSON lines"]


@pytest.fixture
def accepted(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from benchmark import accepted  # type: ignore[import-not-found,unused-ignore]

    return accepted


def rows(module: ModuleType, **ratios: float) -> list[Any]:
    return [module.Row(name, 2 * ratio, 2.0) for name, ratio in ratios.items()]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPTS / "bench.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_ratios_are_accepted_as_medians_and_worse_by_half_is_a_sentence(accepted: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "ratios.json"
    runs = [{"one": rows(accepted, a=a, b=2, c=2), "two": rows(accepted, d=2)} for a in (3, 1, 2.0004)]
    accepted.write_accepted(file, runs)
    known = accepted.read_accepted(file)
    assert known["a"] == accepted.Accepted("one", 2.0, 1.0, 3.0, 3)
    assert list(known) == ["a", "b", "c", "d"]
    assert accepted.complaints({"one": rows(accepted, a=3, b=0.1, c=2, new=99)}, known) == []
    [sentence, missing] = accepted.complaints({"one": rows(accepted, a=3.1, b=2)}, known)
    assert sentence.startswith("a: 3.1 where 2 is accepted, 1.55 times as much")
    assert missing.startswith("c: is accepted and was not measured")
    once, again = rows(accepted, a=3.1, b=2), rows(accepted, a=2.1, b=2.5)
    assert [row.ratio for row in accepted.better_of(once, again)] == [2.1, 2.0]
    accepted.write_accepted(file, [{"two": rows(accepted, d=7)}])  # the other part's rows stay
    assert {name: one.ratio for name, one in accepted.read_accepted(file).items()} == {"a": 2, "b": 2, "c": 2, "d": 7}


@pytest.mark.parametrize("content", ["", "[]", '{"ratios": {"a": {}}}', None])
def test_a_file_that_does_not_fit(content: str | None, accepted: ModuleType, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "ratios.json").write_text(content)
    with pytest.raises(ToslocError, match="no accepted ratios" if content is None else "no file of accepted ratios"):
        accepted.read_accepted(tmp_path / "ratios.json")


def test_the_committed_file(accepted: ModuleType) -> None:
    found = accepted.read_accepted(accepted.FILE)
    assert {one.part for one in found.values()} >= {"stage one", "questions", "first index", "evaluation"}
    for one in found.values():
        # whose runs lie further apart than that would fail by chance
        assert one.lowest <= one.ratio <= one.highest < 1.3 * one.ratio


@pytest.mark.slow
def test_no_ratio_got_worse_by_half() -> None:
    done = bench("--quick", "--json")
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert all(row["accepted"] is not None for row in measured), "accept new rows: bench.py --quick --accept"


def test_a_slowdown_is_measured_once_more_and_told(
    accepted: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import bench  # type: ignore[import-not-found,unused-ignore]

    measured = iter([{"one": rows(accepted, a=4, b=4)}, {"one": rows(accepted, a=2, b=5)}])
    monkeypatch.setattr(bench, "measure", lambda *_: next(measured))
    monkeypatch.setattr(bench.synthetic, "write_repository", lambda *_: None)
    known = {name: accepted.Accepted("one", 2.0, 2.0, 2.0, 1) for name in "ab"}
    monkeypatch.setattr(bench.accepted, "read_accepted", lambda _: known)
    assert bench.main(["--quick"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[1] == "bench: measuring once more: one"
    assert [line.partition(",")[0] for line in said[2:]] == ["bench: b: 4 where 2 is accepted"]


@pytest.mark.slow
def test_rows_of_a_small_repository(repository: GitRepository) -> None:
    names = [f"{first}{second}" for first in ("Session", "Cookie", "Header") for second in ("Reader", "Writer")]
    repository.commit({f"src/{name}.java": JAVA.format(name, name.lower()) for name in names}, "first version")
    repository.commit({"src/CookieReader.java": JAVA.format("CookieReader", "value")}, "Fix bug 12345: cookie is lost")
    done = bench("--repo", str(repository.path), "--rankings", "3", "--files", "20", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["name"] for row in rows] == [
        "stage one / bm25s",
        "stage one (paper) / bm25s",
        "second localize, shell / numpy",
        "20 files not committed / committed",
        "question in one process / bm25s",
        "one commit more / first version",
        "throughput: rankings / bm25s",
        "throughput: answers / bm25s",
        "first index / tree-sitter",
        "memory: localize",
        *EVALUATION,
    ]
    for row in rows:
        assert row["value"] > 0
        assert row["ratio"] == pytest.approx(row["value"] / row["reference"])


@pytest.mark.slow
def test_rows_of_a_second_stage(repository: GitRepository, tmp_path: Path) -> None:
    repository.commit({f"src/{name}.java": JAVA.format(name, name.lower()) for name in ("Door", "Key")}, "Begin")
    encoder = write_encoder(tmp_path / "encoder")
    (tmp_path / "c.toml").write_text("[stage_two]\nchunks = 2\nchunk_tokens = 16\nreport_tokens = 16\n")
    where = ["--repo", str(repository.path), "--only", "stage two", "--config", str(tmp_path / "c.toml")]
    done = bench(*where, "--encoder", str(encoder), "--json")
    assert done.returncode == 0, done.stderr
    two, encoding = json.loads(done.stdout)
    assert [two["name"], encoding["name"]] == ["two stages / stage one + one text", "encoding / encoder alone"]
    assert two["value"] > two["reference"] / 2 > 0
    assert 0 < encoding["ratio"] < 1.5  # chunks a second: more work makes fewer
    done = bench(*where, "--checkpoint", str(TOMCAT))
    assert (done.returncode, "no second stage of term vectors" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "said"), [([], "--repo"), (["--accept"], "--quick"), (["--quick", "--only", "growth"], "--only")]
)
def test_what_is_not_to_be_measured_is_one_sentence(accepted: ModuleType, arguments: list[str], said: str) -> None:
    import bench  # type: ignore[import-not-found,unused-ignore]

    with pytest.raises(ToslocError, match=f"^.*{said}.*$"):
        bench.main(arguments)
