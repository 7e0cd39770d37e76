"""Features of the first files: words that mean the same, who uses what who defines, and what they are found to add."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.lab.test_pool import world as world
from tests.reranking.made import candidates, report
from tosloc.analysis.facts import analyse
from tosloc.cli import main
from tosloc.errors import ToslocError
from tosloc.index.fact_table import FactTable
from tosloc.index.store import FactStore
from tosloc.lab.candidate_features import TermVectors, uses
from tosloc.lab.second_stage import FeaturedReport

SOURCES = {
    "asked": "class Panel {\n void repaintTooltip() { new GradientBrush().stroke(); }\n}\n",
    "callee": "class GradientBrush {\n void stroke() { fill(); }\n}\n",
    "other": "class Unrelated {\n int panic() { return 1; }\n}\n",
}


@pytest.fixture
def vectors(tmp_path: Path) -> TermVectors:
    """Two directions: failing, and painting; "crash" and "panic" are near."""
    path = tmp_path / "words.npz"
    words = np.array([b"crash", b"crashes", b"panic", b"paint", b"brush"])
    np.savez(
        path,
        tokens=words,
        vectors=np.array([[90, 10], [100, 0], [90, 20], [0, 100], [10, 90]], dtype=np.int8),
        scale=np.array([0.01, 0.01], dtype=np.float32),
    )
    return TermVectors.read(path)


def test_a_term_is_the_mean_of_its_words(vectors: TermVectors) -> None:
    assert len(vectors.rows) == 4  # crash and crashes have one stem
    assert np.linalg.norm(vectors.vectors, axis=1) == pytest.approx(1)
    assert vectors.of("crash") == pytest.approx(np.array([190, 10]) / np.hypot(190, 10))
    both = vectors.of("crash") + vectors.of("panic")
    assert vectors.of("crashpanic") == pytest.approx(both / np.linalg.norm(both))
    assert not vectors.of("zzz").any()


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK"])
def test_what_is_no_archive_of_vectors_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "wrong.npz").write_bytes(content)
    with pytest.raises(ToslocError, match="no archive of tokens, vectors and scale"):
        TermVectors.read(tmp_path / "wrong.npz")
    with pytest.raises(ToslocError, match="no archive of tokens, vectors and scale"):
        TermVectors.read(tmp_path / "missing.npz")
    np.savez(tmp_path / "lacks.npz", tokens=np.array([b"a"]))
    with pytest.raises(ToslocError, match="vectors"):
        TermVectors.read(tmp_path / "lacks.npz")


@pytest.fixture
def table(tmp_path: Path) -> FactTable:
    with FactStore(tmp_path / "facts") as store:
        store.put([(blob, "java", analyse(text, ".java")) for blob, text in SOURCES.items()])
        return store.load([*SOURCES])


def test_words_that_mean_the_same(vectors: TermVectors, table: FactTable) -> None:
    asked = candidates("asked callee other", of=report(summary="crash"))
    made = vectors.words(asked, table, np.arange(3))
    assert not made["summary_exact"].any()  # nobody writes "crash"
    assert made["summary_late"].argmax() == made["summary_mean"].argmax() == 2
    assert made["summary_late"][2] > 0.9
    empty = vectors.words(candidates("asked callee other"), table, np.arange(3))
    assert not any(values.any() for values in empty.values())


def test_uses_lead_to_definers_and_users(table: FactTable) -> None:
    asked = candidates("asked other callee", of=report(summary="Tooltip is not repainted"), scores=[3.0, 1.0, 1.0])
    made = uses(asked, table, np.array([0, 2, 1]))
    assert made["callee"][2] > made["callee"][1]
    back = candidates("callee other asked", of=report(summary="stroke of a brush"), scores=[3.0, 1.0, 1.0])
    assert uses(back, table, np.array([1, 2, 0]))["user"][2] > 0


def test_values_of_an_order() -> None:
    rows = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 0.0]], dtype=np.float32)
    one = FeaturedReport(rows, np.array([False, True, False]), (9,), 2)
    rr, ap, loss = one.values(np.array([3.0, 2.0, 1.0]))
    assert (rr, ap) == (1 / 2, pytest.approx((1 / 2 + 2 / 9) / 2))
    assert loss == pytest.approx(np.log(1 + np.e + 1 / np.e))
    none = FeaturedReport(rows, np.zeros(3, dtype=np.bool_), (), 0)
    assert np.isnan(none.values(np.zeros(3))[2])


@pytest.mark.slow
def test_the_command(world: Path, vectors: TermVectors, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = ["--projects", str(world / "projects.toml"), "--work", str(world / "work"), "--stores", str(world / "s")]
    words = ["lab", "candidate-features", *places, "--config", str(world / "small.toml"), "--leave-projects-out", "2"]
    words += ["--vectors", str(tmp_path / "words.npz")]
    assert main([*words, "--features", "uses.callee,words.summary_exact", "--json"]) == 1  # dan+four failed
    made = json.loads(capsys.readouterr().out)
    assert (made["projects"], made["reports"]) == (2, 24)  # the one that stands alone is not looked at
    first, second, everything, chosen = (one["features"] for one in made["gains"])
    assert first == ["uses.callee", "uses.user"]
    assert everything == [*first, *second]
    assert chosen == ["uses.callee", "words.summary_exact"]
    for one in made["gains"]:
        assert one["values"][0] == pytest.approx(made["stage one"][0] + one["mrr"]["mean"])
    assert main(words) == 1
    assert "| stage one |" in capsys.readouterr().out
    assert main([*words, "--features", "uses.nobody"]) == 2
    assert "no feature of candidates is called 'uses.nobody'" in capsys.readouterr().err
    unlike = [word for word in words if word not in ("--vectors", str(tmp_path / "words.npz"))]
    assert main([*unlike, "--features", "words.summary_late"]) == 2
    assert "name their archive with --vectors" in capsys.readouterr().err
