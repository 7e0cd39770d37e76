"""BRTracer by hand: segments, lengths, stack traces and their fusion."""

import numpy as np
import pytest

from tests.lab.baselines.by_hand import Bug, make_context, make_query, values_by_path
from tosloc.lab.baselines import brtracer
from tosloc.lab.baselines.brtracer import (
    BRTracer,
    locate_trace,
    median_length_score,
    split_segments,
    trace_boost,
)
from tosloc.lab.baselines.buglocator import code_terms, name_terms
from tosloc.lab.baselines.vsm import VectorSpace, count_terms
from tosloc.retrieval.texts.bm25 import min_max

A = "src/p/Alpha.java"
B = "src/p/Beta.java"
C = "src/q/Gamma.java"
D = "src/q/Delta.java"
E = "src/r/Extra.java"
FILES = {
    A: "package p; class Alpha { int apple; } class Aside { }",
    B: "package p; class Beta { }",
    C: """package q; import q.Delta; import p.Alpha; import r.*; import java.util.List;
class Gamma { }""",
    D: "package q; class Delta { class Deep { } }",
    E: "package r; class Extra { }",
}


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([10.0, 20.0, 40.0, 80.0, 200.0], [0.000373, 0.005152, 0.5, 0.999973, 1.0]),
        ([0.0, 7.0, 7.0], [0.0, 0.5, 0.5]),
    ],
    ids=["golden values of section B.11", "an empty file gets 0"],
)
def test_length_scores_of_section_b_4_3(lengths, expected):
    assert median_length_score(np.array(lengths)).round(6).tolist() == expected


def trace(*class_names):
    """Return a Java exception with a frame of each class."""
    lines = ["It fails: java.lang.NullPointerException"]
    for class_name in class_names:
        file = class_name.rpartition(".")[2].partition("$")[0]
        lines.append(f"    at {class_name}.run({file}.java:7)")
    return "\n".join([*lines, ""])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (trace("p.Alpha", "p.Beta", "p.Alpha", "q.Gamma"), {A: 1.0, B: 0.5, C: 1 / 3, D: 0.1}),
        (trace("java.util.ArrayList", "p.Beta", "sun.Main", "q.Delta$Deep"), {B: 1.0, D: 0.5}),
        (trace("q.Gamma"), {C: 1.0, A: 0.1, D: 0.1}),
        (trace("shaded.p.Beta"), {B: 1.0}),
        ("see Gamma.java", {}),
    ],
    ids=[
        "repeated frames take no rank",
        "frames of other programs take no rank",
        "an import names one class, a wild card none",
        "in another package the only class of the simple name",
        "a file name is no frame",
    ],
)
def test_trace_boosts_of_section_b_4_4(text, expected):
    query = make_query(make_context(FILES, [Bug("1", "", 1, 2, [A])]), "1")
    boost = trace_boost(query.version, locate_trace(query.version, text))
    nonzero = {path: value for path, value in values_by_path(query, boost).items() if value}
    assert nonzero == pytest.approx(expected)


def test_classes_after_the_tenth_get_the_boost_of_an_import():
    files = {f"F{number:02}.java": "class X { }" for number in range(12)}
    version = make_context(files).version("root")
    boost = trace_boost(version, [[position] for position in range(12)])
    assert boost.tolist()[8:] == pytest.approx([1 / 9, 0.1, 0.1, 0.1])


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
    A: """class Alpha { void apple() { pear(plum, plum, plum);
cherry(date, fig, pear, pear, pear); } }""",
    B: "class Beta { int pear; }",
    C: 'class Gamma { String s = "apple fig"; }',
    D: "class Delta { } // nothing",
}


def test_score_of_the_best_segment_by_hand(monkeypatch):
    monkeypatch.setattr(brtracer, "SEGMENT_TERMS", 4)
    monkeypatch.setattr(brtracer, "LENGTH_STEEPNESS", 3.0)
    context = make_context(TEXTS, BUGS)
    query = make_query(context, "3")
    paths = query.version.snapshot.paths
    sources = [query.version.source(position) for position in range(len(paths))]
    segments = []
    owners = []
    for path, source in zip(paths, sources, strict=True):
        file_segments = split_segments(code_terms(source), name_terms(source), 4)
        segments += file_segments
        owners += [path] * len(file_segments)
    assert [owners.count(path) for path in (A, B, D, C)] == [4, 1, 1, 1]
    report_words = "bug appl pear latch q delta run java 7 fail lang nullpointerexcept delta"
    space = VectorSpace.of_version(count_terms(segments), np.ones(len(segments), dtype=np.int64))
    lengths = np.array([float(len(code_terms(source))) for source in sources])
    length_score = dict(zip(paths, median_length_score(lengths), strict=True))
    segment_scores = min_max(
        space.cosine(report_words.split()) * [length_score[owner] for owner in owners]
    )
    best = dict.fromkeys(TEXTS, 0.0)
    for owner, score in zip(owners, segment_scores, strict=True):
        best[owner] = max(best[owner], score)
    # Report 1, which was fixed in B and C, shares "latch"; Delta is in the trace.
    expected = {
        A: 0.7 * best[A],
        B: 0.7 * best[B] + 0.3,
        C: 0.7 * best[C] + 0.3,
        D: 0.7 * best[D] + 1.0,
    }
    assert values_by_path(query, BRTracer(context).scores(query)) == pytest.approx(expected)
    # Delta has the best segment of all, and is the first class of the trace.
    assert expected[D] == pytest.approx(1.7)
