"""Scores of functions: what each sign adds, and that the answer is a function of what it is given."""

from __future__ import annotations

from datetime import UTC, datetime

import bm25s
import numpy as np
import pytest

from tosloc.code.functions import FunctionFacts, functions_of
from tosloc.code.text import terms
from tosloc.rank.functions import WEIGHTS, function_bm25, score_functions
from tosloc.records import BugReport

NOTHING = dict.fromkeys(WEIGHTS, 0.0)
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
FACTS = [functions_of(SHAPES, ".py"), functions_of(STORE, ".py")]


def scored(context, *given):
    return score_functions(context.query, context.version, *given)


@pytest.fixture
def ask(make_context):
    """Function (summary, description, weights, scores, files) -> name -> score, of all functions."""

    def of_report(summary, description="", weights=NOTHING, scores=(2.0, 1.0), files=(0, 1)):
        texts = {
            PATHS[0]: {"code": "shape draw canvas line colour area computearea comput corner angl sum"},
            PATHS[1]: {"code": "load shape loadshape path read store open"},
        }
        context = make_context(texts, summary, description)
        got = scored(context, files, np.array(scores), [FACTS[file] for file in files], weights)
        return {function.name: function.score for functions in got for function in functions}

    return of_report


def test_every_function_of_every_file_comes_best_first(make_context):
    context = make_context({PATHS[0]: {"code": "colour"}, PATHS[1]: {"code": "path"}}, "colour of a line")
    first, second = scored(context, (0, 1), np.array([2.0, 1.0]), FACTS)
    assert [function.name for function in second].count("load_shape") == 1
    assert (len(first), len(second)) == (4, 3)
    assert [function.score for function in first] == sorted((function.score for function in first), reverse=True)
    assert first[0].name == "Shape.draw"
    assert (first[0].start, first[0].end) == (4, 5)


TRACE = 'File "/usr/lib/pkg/store.py", line 7, in open\n  x\nFile "pkg/shapes.py", line 5, in elsewhere\n'
SHOWN = 'pkg/store.py\n\n  Line 7\n  in\n 5809c29\n File "/env/site-packages/other/pkg/shapes.py", line 5, in draw'
BOTH = {"Shape.area", "compute_area"}


@pytest.mark.parametrize(
    ("sign", "summary", "description", "met"),
    [
        ("text", "colour of a line", "", {"Shape.draw"}),
        ("own", "the area is wrong", "", BOTH),
        ("named", "s", "compute_area is wrong", {"compute_area"}),
        ("named", "s", "it is in `draw` I think", {"Shape.draw"}),
        ("named", "s", "calling draw() fails", {"Shape.draw"}),
        ("named", "s", "Shape.draw fails", {"Shape.draw", "Shape"}),
        ("named", "s", "draw fails, and open too", set()),  # words of English
        *(
            ("qualified", "s", said, {"Shape.draw"})
            for said in ("Shape.draw() fails", "pkg.shapes.Shape.draw", "Shape::draw", "Shape#draw is wrong")
        ),
        ("of_class", "Store loses files", "", {"Store.open"}),
        # by file and method, and by line where there is no method; linked lines, and frames of other projects
        ("frame", "s", TRACE, {"Store.open"}),
        ("frame", "s", SHOWN, {"Store.open"}),
        ("is_class", "s", "", {"Shape", "Store"}),
    ],
)
def test_what_each_sign_adds(ask, sign, summary, description, met):
    got = ask(summary, description, NOTHING | {sign: 1.0})
    assert {name for name, score in got.items() if score} == met
    assert max(got.values()) == (1.0 if met else 0.0)


def test_a_name_that_many_functions_have_counts_less(make_context):
    facts = [functions_of("def get(): pass\n", ".py"), functions_of("def get(): pass\ndef put(): pass\n", ".py")]
    context = make_context({"a.py": {}, "b.py": {}}, "get() and put() fail")
    got = scored(context, (0, 1), np.array([2.0, 1.0]), facts, NOTHING | {"named": 1.0})
    scores = {function.name: function.score for function in got[1]}
    assert scores["put"] == 1.0
    assert scores["get"] == pytest.approx(1 / (1 + np.log(2)), abs=1e-6)


def test_lines_of_a_frame_without_a_name(make_context):
    text = "class Door {\n  void open() {\n    run(() -> turn());\n  }\n  Door() {}\n}\n"
    said = "at a.Door.lambda$open$0(Door.java:3) at a.Door.<init>(Door.java:9)"
    facts, weights = [functions_of(text, ".java")], NOTHING | {"frame": 1.0}
    [functions] = scored(make_context({"a/Door.java": {}}, "s", said), (0,), np.array([1.0]), facts, weights)
    assert {function.name for function in functions if function.score} == {"Door.open", "Door.Door"}


def test_the_file_counts_by_place_and_by_what_its_score_lacks(ask):
    got = ask("s", weights=NOTHING | {"place": 1.0})
    assert (got["Shape.draw"], got["Store.open"]) == (0.0, pytest.approx(-np.log(2), abs=1e-6))
    got = ask("s", weights=NOTHING | {"gap": 1.0})
    assert (got["Shape.draw"], got["Store.open"]) == (0.0, -2.0)  # a standard deviation of 2 and 1 is .5
    got = ask("s", weights=NOTHING | {"size": 1.0})
    assert got["compute_area"] > got["load_shape"]


def test_files_without_functions_and_no_files(make_context):
    context = make_context({PATHS[0]: {}, PATHS[1]: {}}, "anything")
    assert scored(context, (), np.array([1.0, 2.0]), []) == []
    assert scored(context, (1, 0), np.array([1.0, 2.0]), [FunctionFacts(), FunctionFacts()]) == [(), ()]
    one = scored(context, (1, 0), np.array([1.0, 2.0]), [FunctionFacts(), FACTS[0]])
    assert [len(functions) for functions in one] == [0, 4]


@pytest.mark.parametrize("words", ["draw a line", "colour of the line on the canvas", "load the path, load it twice"])
def test_the_reference_ranks_as_bm25s_does(words):
    draw = "def draw_line(canvas, colour):\n    canvas.line(colour)\n\ndef draw_circle(canvas):\n    canvas.circle()\n"
    store = "def load(path):\n    return read(path)\n\ndef empty(): pass\n"
    index = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    index.index([terms(text) for text in (*draw.split("\n\n"), *store.split("\n\n"))], show_progress=False)
    facts = [functions_of(draw, ".py"), functions_of(store, ".py"), FunctionFacts()]

    def asked(summary):
        return function_bm25(BugReport("r", summary, "", datetime(2020, 1, 1, tzinfo=UTC)), facts)

    np.testing.assert_allclose(asked(words), index.get_scores(terms(words)) * 2.5, rtol=1e-5)  # k1 + 1
    assert asked("zebra the a of").tolist() == [0, 0, 0, 0]
    assert function_bm25(BugReport("r", "load", "", datetime(2020, 1, 1, tzinfo=UTC)), []).tolist() == []
