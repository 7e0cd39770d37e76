"""BRTracer by hand: segments, lengths, stack traces and their fusion."""

import numpy as np
import pytest

from tests.lab.baselines.by_hand import Bug, ask, by_path, context
from tosloc.lab.baselines import brtracer
from tosloc.lab.baselines.brtracer import (
    BRTracer,
    files_of_frames,
    median_length_score,
    segments,
    trace_boost,
)
from tosloc.lab.baselines.buglocator import code_terms, name_terms
from tosloc.lab.baselines.vsm import VectorSpace, count
from tosloc.retrieval.bm25 import min_max

A, B, C, D, E = (
    "src/p/Alpha.java",
    "src/p/Beta.java",
    "src/q/Gamma.java",
    "src/q/Delta.java",
    "src/r/Extra.java",
)
FILES = {
    A: "package p; class Alpha { int apple; } class Aside { }",
    B: "package p; class Beta { }",
    C: "package q; import q.Delta; import p.Alpha; import r.*; import java.util.List; class Gamma { }",
    D: "package q; class Delta { class Deep { } }",
    E: "package r; class Extra { }",
}


def test_golden_lengths():
    """Section B.4.3."""
    lengths = np.array([10.0, 20.0, 40.0, 80.0, 200.0])
    assert median_length_score(lengths).round(6).tolist() == [
        0.000373,
        0.005152,
        0.5,
        0.999973,
        1.0,
    ]
    assert median_length_score(np.array([0.0, 7.0, 7.0])).tolist() == [0.0, 0.5, 0.5]


def trace(*names):
    return "It fails: java.lang.NullPointerException\n" + "".join(
        f"    at {name}.run({name.rpartition('.')[2].partition('$')[0]}.java:7)\n" for name in names
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (trace("p.Alpha", "p.Beta", "p.Alpha", "q.Gamma"), {A: 1.0, B: 0.5, C: 1 / 3, D: 0.1}),
        # frames of other programs take no rank
        (trace("java.util.ArrayList", "p.Beta", "sun.Main", "q.Delta$Deep"), {B: 1.0, D: 0.5}),
        # an import names one class, however many share letters with it; nor is a whole package meant
        (trace("q.Gamma"), {C: 1.0, A: 0.1, D: 0.1}),
        # the package is another: the only class of that name
        (trace("shaded.p.Beta"), {B: 1.0}),
        ("see Gamma.java", {}),
    ],
)
def test_golden_boosts(text, wanted):
    """Section B.4.4."""
    query = ask(context(FILES, [Bug("1", "", 1, 2, [A])]), "1")
    found = by_path(query, trace_boost(query.version, files_of_frames(query.version, text)))
    assert {path: value for path, value in found.items() if value} == pytest.approx(wanted)


def test_classes_beyond_the_tenth_are_worth_an_import():
    one = context({f"F{number:02}.java": "class X { }" for number in range(12)}).version("root")
    assert trace_boost(one, [[number] for number in range(12)]).tolist()[8:] == pytest.approx(
        [1 / 9, 0.1, 0.1, 0.1]
    )


BUGS = (
    Bug("1", "Bug 1 broken latch", opened=1, fixed_at=2, paths=[B, C]),
    Bug("2", "Bug 2 squeaking", opened=1, fixed_at=3, paths=[A]),
    Bug(
        "3",
        "Bug 3 apples, pears and a latch",
        opened=5,
        fixed_at=9,
        paths=[A],
        description=trace("q.Delta"),
    ),
)
TEXTS = {
    A: "class Alpha { void apple() { pear(plum, plum, plum); cherry(date, fig, pear, pear, pear); } }",
    B: "class Beta { int pear; }",
    C: 'class Gamma { String s = "apple fig"; }',
    D: "class Delta { } // nothing",
}


def test_scores_by_hand(monkeypatch):
    monkeypatch.setattr(brtracer, "SEGMENT_TERMS", 4)
    monkeypatch.setattr(brtracer, "BETA", 3.0)
    made = context(TEXTS, BUGS)
    query = ask(made, "3")
    sources = {
        path: query.version.source(place) for place, path in enumerate(query.version.snapshot.paths)
    }
    parts = [
        (path, part)
        for path, one in sources.items()
        for part in segments(code_terms(one), name_terms(one), 4)
    ]
    owners = [path for path, _ in parts]
    assert [owners.count(path) for path in (A, B, D, C)] == [4, 1, 1, 1]
    words = "bug appl pear latch q delta run java 7 fail lang nullpointerexcept delta".split()
    space = VectorSpace.of(count(part for _, part in parts), np.ones(len(parts), dtype=np.int64))
    worth = median_length_score(np.array([float(len(code_terms(one))) for one in sources.values()]))
    v = min_max(space.cosine(words) * [worth[list(sources).index(owner)] for owner in owners])
    best = {
        path: max(value for value, owner in zip(v, owners, strict=True) if owner == path)
        for path in TEXTS
    }
    # report 1 shares "latch"; Delta stands in the trace
    expected = {
        A: 0.7 * best[A],
        B: 0.7 * best[B] + 0.3,
        C: 0.7 * best[C] + 0.3,
        D: 0.7 * best[D] + 1.0,
    }
    assert by_path(query, BRTracer(made).scores(query)) == pytest.approx(expected)
    assert expected[D] == pytest.approx(1.7), (
        "the best segment of all, and the first class of the trace"
    )
