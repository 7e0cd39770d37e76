"""Scores of functions: what each sign adds, and how functions are listed."""

from datetime import UTC, datetime

import bm25s
import numpy as np
import pytest

from tosloc.code.functions import NO_FUNCTIONS, find_functions
from tosloc.code.text import terms
from tosloc.core.reports import BugReport
from tosloc.rank.explain import functions
from tosloc.rank.explain.functions import SIGN_WEIGHTS, function_bm25, score_functions

NO_SIGNS = dict.fromkeys(SIGN_WEIGHTS, 0.0)
SHAPES = '''\
class Shape:
    """Anything with an area."""

    def draw(self, canvas):
        canvas.line(self.colour)

    def area(self):
        return compute_area(self)


def compute_area(shape):
    """Area of a shape."""
    return sum(corner.angle for corner in shape.corners)
'''
STORE = """\
def load_shape(path):
    return read(path)


class Store:
    def open(self, path):
        return load_shape(path)
"""
PATHS = ("pkg/shapes.py", "pkg/store.py")
FACTS = [find_functions(SHAPES, ".py"), find_functions(STORE, ".py")]
TEXTS = {
    PATHS[0]: {"code": "shape draw canvas line colour area computearea comput corner angl sum"},
    PATHS[1]: {"code": "load shape loadshape path read store open"},
}


@pytest.fixture
def score(make_context, monkeypatch):
    """Return a function (report, weights, facts, texts, scores) -> functions of each file.

    The report is a list of its summary and description; texts are path -> field -> words.
    """

    def score_with(report, weights=SIGN_WEIGHTS, facts=FACTS, texts=None, scores=(2.0, 1.0)):
        monkeypatch.setattr(functions, "SIGN_WEIGHTS", weights)
        texts = texts or {path: {} for path in PATHS}
        context = make_context(texts, *report)
        files = range(len(facts))
        return score_functions(context.query, context.version, files, np.array(scores), facts)

    return score_with


def scores_by_name(by_file):
    return {function.name: function.score for listed in by_file for function in listed}


def test_every_function_of_every_file_comes_best_first(score):
    texts = {PATHS[0]: {"code": "colour"}, PATHS[1]: {"code": "path"}}
    first, second = score(["colour of a line"], texts=texts)
    assert len(first) == 4
    assert len(second) == 3
    scores = [function.score for function in first]
    assert scores == sorted(scores, reverse=True)
    assert first[0].name == "Shape.draw"
    assert first[0].start == 4
    assert first[0].end == 5


@pytest.mark.parametrize(
    ("facts", "counts"),
    [([], []), ([NO_FUNCTIONS], [0]), ([NO_FUNCTIONS, FACTS[0]], [0, 4])],
    ids=["no file", "no function", "a file without functions"],
)
def test_files_without_functions_have_an_empty_list(score, facts, counts):
    assert [len(listed) for listed in score(["anything"], facts=facts)] == counts


FRAMES = """\
File "/usr/lib/pkg/store.py", line 7, in open
  x
File "pkg/shapes.py", line 5, in elsewhere
"""
"""Of the frames, the second one names no function of its file."""
LINKED_LINE = """\
pkg/store.py

  Line 7
  in
 5809c29
 File "/env/site-packages/other/pkg/shapes.py", line 5, in draw"""
"""A line as GitHub shows it in an issue, and a frame of another project."""


@pytest.mark.parametrize(
    ("sign", "summary", "description", "names"),
    [
        pytest.param("text", "colour of a line", "", {"Shape.draw"}, id="text"),
        pytest.param("own", "the area is wrong", "", {"Shape.area", "compute_area"}, id="own"),
        pytest.param("named", "s", "compute_area is wrong", {"compute_area"}, id="underscore"),
        pytest.param("named", "s", "it is in `draw` I think", {"Shape.draw"}, id="quoted"),
        pytest.param("named", "s", "Shape.draw fails", {"Shape.draw", "Shape"}, id="dotted"),
        pytest.param("named", "s", "draw fails, and open too", set(), id="words of English"),
        pytest.param("qualified", "s", "pkg.shapes.Shape.draw() fails", {"Shape.draw"}, id="dots"),
        pytest.param("qualified", "s", "Shape::draw", {"Shape.draw"}, id="colons"),
        pytest.param("of_class", "Store loses files", "", {"Store.open"}, id="of_class"),
        pytest.param("frame", "s", FRAMES, {"Store.open"}, id="frames"),
        pytest.param("frame", "s", LINKED_LINE, {"Store.open"}, id="linked line"),
        pytest.param("is_class", "s", "", {"Shape", "Store"}, id="is_class"),
    ],
)
def test_a_sign_is_1_for_the_functions_that_have_it(score, sign, summary, description, names):
    by_file = score((summary, description), NO_SIGNS | {sign: 1.0}, texts=TEXTS)
    scores = scores_by_name(by_file)
    assert {name for name, value in scores.items() if value} == names
    assert max(scores.values()) == (1.0 if names else 0.0)


WORDS = {PATHS[0]: {"code": "shape draw canvas line colour area corner angl sum"}, PATHS[1]: {}}


def test_function_of_a_frame_is_listed_first_however_short_it_is(score):
    trace = 'File "pkg/shapes.py", line 8, in area\n'
    [first, _] = score(["sum of corner angles"], texts=WORDS)
    assert first[0].name == "compute_area"
    [first, _] = score(["sum of corner angles", trace], texts=WORDS)
    assert first[0].name == "Shape.area"


def test_functions_of_frames_are_listed_from_the_innermost_one(score):
    trace = 'File "pkg/shapes.py", line 5, in draw\nFile "pkg/shapes.py", line 8, in area\n'
    [first, _] = score(["draw canvas line colour", trace], texts=WORDS)
    assert [function.name for function in first[:2]] == ["Shape.area", "Shape.draw"]


def test_a_name_that_many_functions_have_counts_less(score):
    facts = [
        find_functions("def get(): pass\n", ".py"),
        find_functions("def get(): pass\ndef put(): pass\n", ".py"),
    ]
    scores = scores_by_name(score(["get() and put() fail"], NO_SIGNS | {"named": 1.0}, facts))
    assert scores == {"put": 1.0, "get": pytest.approx(1 / (1 + np.log(2)), abs=1e-6)}


def test_overloads_are_listed_once_as_the_best_of_them(score):
    overloaded = find_functions("def get(a): pass\n\n\ndef get(a): return colour\n", ".py")
    [[best]] = score(["colour"], facts=[overloaded], texts={"a": {"code": "colour"}}, scores=[1.0])
    assert best.start == 4


def test_lambdas_and_constructors_in_frames_mean_the_function_around_them(score):
    """A lambda's line is inside open; a constructor is called by the name of its class."""
    source = "class Door {\n  void open() {\n    run(() -> turn());\n  }\n  Door() {}\n}\n"
    report = "s", "at a.Door.lambda$open$0(Door.java:3) at a.Door.<init>(Door.java:9)"
    facts = [find_functions(source, ".java")]
    weights = NO_SIGNS | {"frame": 1.0}
    scores = scores_by_name(score(report, weights, facts, {"a/Door.java": {}}, [1.0]))
    assert {name for name, value in scores.items() if value} == {"Door.open", "Door.Door"}


def test_among_counts_the_functions_of_the_file(score):
    """The first file has 4 functions, the second 3: ln(1 + number) / 10."""
    scores = scores_by_name(score(["s"], NO_SIGNS | {"among": 1.0}))
    assert scores["Shape.draw"] == pytest.approx(np.log(5) / 10, abs=1e-6)
    assert scores["Store.open"] == pytest.approx(np.log(4) / 10, abs=1e-6)


def test_gap_counts_standard_deviations_below_the_first_file(score):
    """The standard deviation of the scores 2 and 1 is .5: the second is two of them below."""
    scores = scores_by_name(score(["s"], NO_SIGNS | {"gap": 1.0}))
    assert scores["Shape.draw"] == pytest.approx(0.0, abs=1e-6)
    assert scores["Store.open"] == pytest.approx(-2.0, abs=1e-6)


def test_text_is_1_for_the_best_function_of_each_file(score):
    report = ["colour of a path, path, path"]
    scores = scores_by_name(score(report, NO_SIGNS | {"text": 1.0}, texts=TEXTS))
    assert scores["Shape.draw"] == 1.0
    assert max(scores["load_shape"], scores["Store.open"], scores["Store"]) == 1.0


def test_size_is_larger_for_a_longer_function(score):
    scores = scores_by_name(score(["s"], NO_SIGNS | {"size": 1.0}))
    assert scores["compute_area"] > scores["load_shape"]


DRAW = """\
def draw_line(canvas, colour):
    canvas.line(colour)

def draw_circle(canvas):
    canvas.circle()
"""
LOAD = """\
def load(path):
    return read(path)

def empty(): pass
"""


def baseline_scores(summary):
    """Return ``function_bm25`` of a report about the functions of three files, one empty."""
    report = BugReport("r", summary, "", datetime(2020, 1, 1, tzinfo=UTC))
    facts = [find_functions(DRAW, ".py"), find_functions(LOAD, ".py"), NO_FUNCTIONS]
    return function_bm25(report, facts)


@pytest.mark.parametrize(
    "words", ["draw a line", "colour of the line on the canvas", "load the path, load it twice"]
)
def test_the_baseline_scores_as_bm25s_does(words):
    """bm25s leaves out the constant factor k1 + 1 = 2.5."""
    index = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    functions_of_files = (*DRAW.split("\n\n"), *LOAD.split("\n\n"))
    index.index([terms(function) for function in functions_of_files], show_progress=False)
    expected = index.get_scores(terms(words)) * 2.5
    np.testing.assert_allclose(baseline_scores(words), expected, rtol=1e-5)


def test_the_baseline_is_0_for_words_of_no_function():
    assert baseline_scores("zebra the a of").tolist() == [0, 0, 0, 0]
