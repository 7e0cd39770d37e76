"""BRTracer by hand: segments, lengths, stack traces, their fusion; and what it must not know."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.lab.baselines.by_hand import Bug, ask, context
from tests.lab.baselines.techniques import build
from tosloc.index.bm25 import min_max
from tosloc.lab.baselines.brtracer import (
    BRTracer,
    BRTracerSettings,
    flat_boost,
    median_length_score,
    rank_boost,
    segments,
)
from tosloc.lab.baselines.buglocator import code_terms, name_terms
from tosloc.lab.baselines.vsm import VectorSpace, count

LENGTHS = np.array([10.0, 20.0, 40.0, 80.0, 200.0])


brtracer = partial(build, "brtracer")


def test_golden_lengths() -> None:
    """Section B.4.3; behind it the public median."""
    assert median_length_score(LENGTHS).round(6).tolist() == [0.000373, 0.005152, 0.5, 0.999973, 1.0]
    assert median_length_score(LENGTHS, 50.0, "upper").round(6).tolist() == [0.0, 0.0, 0.000027, 0.5, 1.0]


A, B, C, D, E = "src/p/Alpha.java", "src/p/Beta.java", "src/q/Gamma.java", "src/q/Delta.java", "src/r/Extra.java"
FILES = {
    A: "package p; class Alpha { int apple; } class Aside { }",
    B: "package p; class Beta { }",
    C: "package q; import q.Delta; import p.Alpha; import r.*; import java.util.List; class Gamma { }",
    D: "package q; class Delta { class Deep { } }",
    E: "package r; class Extra { }",
}


def trace(*names: str) -> str:
    return "It fails: java.lang.NullPointerException\n" + "".join(
        f"    at {name}.run({name.rpartition('.')[2].partition('$')[0]}.java:7)\n" for name in names
    )


@pytest.mark.parametrize(
    ("boost", "text", "wanted"),
    [
        (rank_boost, trace("p.Alpha", "p.Beta", "p.Alpha", "q.Gamma"), {A: 1.0, B: 0.5, C: 1 / 3, D: 0.1}),
        # frames of other programs take no rank
        (rank_boost, trace("java.util.ArrayList", "p.Beta", "sun.Main", "q.Delta$Deep"), {B: 1.0, D: 0.5}),
        # an import names one class, however many share letters with it; nor is a whole package meant
        (rank_boost, trace("q.Gamma"), {C: 1.0, A: 0.1, D: 0.1}),
        (flat_boost, "see Gamma.java", {C: 0.5, D: 0.2, A: 0.2, E: 0.2}),
        (flat_boost, "see Gamma.java, Alpha.java and Missing.java", {C: 0.5, A: 0.5, D: 0.2, E: 0.2}),
        (flat_boost, "see Gamma", {}),
        (flat_boost, trace("p.Beta"), {B: 0.5}),
    ],
)
def test_golden_boosts(boost: Callable[..., Any], text: str, wanted: dict[str, float]) -> None:
    """The paper's and the public code's, docs/method.md, section B.4.4."""
    one = context(FILES).version("root")
    found = zip(one.snapshot.paths, boost(one, text).tolist(), strict=True)
    assert {path: value for path, value in found if value} == pytest.approx(wanted)


class TestScores:
    """Segments, similar reports and the boost together."""

    BUGS = (
        Bug("1", "Bug 1 broken latch", opened=1, fixed_at=2, paths=[B, C]),
        Bug("2", "Bug 2 squeaking", opened=1, fixed_at=3, paths=[A]),
        Bug("3", "Bug 3 apples, pears and a latch", opened=5, fixed_at=9, paths=[A], description=trace("q.Delta")),
    )
    TEXTS: ClassVar = {
        A: "class Alpha { void apple() { pear(plum, plum, plum); cherry(date, fig, pear, pear, pear); } }",
        B: "class Beta { int pear; }",
        C: 'class Gamma { String s = "apple fig"; }',
        D: "class Delta { } // nothing",
    }

    def test_by_hand(self) -> None:
        made = context(self.TEXTS, self.BUGS)
        settings = BRTracerSettings(segment_terms=4, beta=3.0)
        technique = BRTracer(settings, made)
        query = ask(made, "3")
        parts, owners, lengths = [], [], []
        for place, path in enumerate(query.version.snapshot.paths):
            source = query.version.source(place)
            assert source is not None
            own = segments(code_terms(source, settings), name_terms(source, settings), 4)
            lengths.append(len(code_terms(source, settings)))
            parts += own
            owners += [path] * len(own)
        assert [owners.count(path) for path in (A, B, D, C)] == [4, 1, 1, 1]
        cosine = VectorSpace(count(parts), np.ones(len(parts), dtype=np.int64)).cosine(
            "bug appl pear latch q delta run java 7 fail lang nullpointerexcept delta".split()
        )
        worth = dict(
            zip(query.version.snapshot.paths, median_length_score(np.array(lengths, dtype=float), 3.0), strict=True)
        )
        v = min_max(np.array([value * worth[owner] for value, owner in zip(cosine, owners, strict=True)]))
        similar = {A: 0.0, B: 1.0, C: 1.0, D: 0.0}  # report 1 shares "latch"
        expected = {
            path: 0.7 * max(value for value, owner in zip(v, owners, strict=True) if owner == path)
            + 0.3 * similar[path]
            + (1.0 if path == D else 0.0)
            for path in self.TEXTS
        }
        found = dict(zip(query.version.snapshot.paths, technique.scores(query).tolist(), strict=True))
        assert found == pytest.approx(expected)
        assert expected[D] == pytest.approx(1.7), "the best segment of all, and the first class of the trace"

    def test_terms_count_the_segments_that_hold_them(self) -> None:
        # "plum" and "fig" stand in one file each, but "plum" in two of three segments
        made = context({A: "class X { int plum1, plum2; }", B: "class Y { int fig; }"}, self.BUGS)
        technique = brtracer(made, segment_terms=1, code_stops=("int",))
        assert technique.starts.tolist() in ([0, 3], [0, 2])  # plum, plum, x; fig, y
        space = VectorSpace(technique.counts, np.ones(5, dtype=np.int64))
        idf = {term: round(float(value), 6) for term, value in zip(space.counts.vocabulary, space.idf, strict=True)}
        assert idf == {"plum": 0.916291, "fig": 1.609438, "x": 0.510826, "y": 0.916291}  # ln 5/2, 5/1, 5/3, 5/2
