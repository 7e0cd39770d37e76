"""Scores of functions: what each sign adds, and that the answer is a function of what it is given."""

from datetime import UTC, datetime

import bm25s
import numpy as np
import pytest

from tosloc.code.functions import NO_FUNCTIONS as NONE
from tosloc.code.functions import find_functions
from tosloc.code.text import terms
from tosloc.core.records import BugReport
from tosloc.rank import functions
from tosloc.rank.functions import SIGN_WEIGHTS, function_bm25, score_functions

NOTHING = dict.fromkeys(SIGN_WEIGHTS, 0.0)
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


@pytest.fixture
def scored(make_context, monkeypatch):
    """Function (files, report, weights, scores) -> functions of each file; files are path -> words, or their facts."""

    def of(report, weights=SIGN_WEIGHTS, facts=FACTS, texts=None, scores=(2.0, 1.0)):
        monkeypatch.setattr(functions, "SIGN_WEIGHTS", weights)
        texts = texts or {path: {} for path in PATHS}
        context, files = make_context(texts, *report), range(len(facts))
        return score_functions(context.query, context.version, files, np.array(scores), facts)

    return of


def scores_of(found):
    return {function.name: function.score for functions in found for function in functions}


def test_every_function_of_every_file_comes_best_first(scored):
    texts = {PATHS[0]: {"code": "colour"}, PATHS[1]: {"code": "path"}}
    first, second = scored(["colour of a line"], texts=texts)
    assert (len(first), len(second)) == (4, 3)
    assert [function.score for function in first] == sorted(
        (function.score for function in first), reverse=True
    )
    assert (first[0].name, first[0].start, first[0].end) == ("Shape.draw", 4, 5)
    # files without functions, and no files
    for facts, found in (([], []), ([NONE], [0]), ([NONE, FACTS[0]], [0, 4])):
        assert [len(of_file) for of_file in scored(["anything"], facts=facts)] == found


TRACE = 'File "/usr/lib/pkg/store.py", line 7, in open\n  x\nFile "pkg/shapes.py", line 5, in elsewhere\n'
SHOWN = 'pkg/store.py\n\n  Line 7\n  in\n 5809c29\n File "/env/site-packages/other/pkg/shapes.py", line 5, in draw'
TEXTS = {
    PATHS[0]: {"code": "shape draw canvas line colour area computearea comput corner angl sum"},
    PATHS[1]: {"code": "load shape loadshape path read store open"},
}


@pytest.mark.parametrize(
    ("sign", "summary", "description", "met"),
    [
        ("text", "colour of a line", "", {"Shape.draw"}),
        ("own", "the area is wrong", "", {"Shape.area", "compute_area"}),
        ("named", "s", "compute_area is wrong", {"compute_area"}),
        ("named", "s", "it is in `draw` I think", {"Shape.draw"}),
        ("named", "s", "Shape.draw fails", {"Shape.draw", "Shape"}),
        ("named", "s", "draw fails, and open too", set()),  # words of English
        ("qualified", "s", "pkg.shapes.Shape.draw() fails", {"Shape.draw"}),
        ("qualified", "s", "Shape::draw", {"Shape.draw"}),
        ("of_class", "Store loses files", "", {"Store.open"}),
        # by file and method, and by line where there is no method; linked lines, and frames of other projects
        ("frame", "s", TRACE, {"Store.open"}),
        ("frame", "s", SHOWN, {"Store.open"}),
        ("is_class", "s", "", {"Shape", "Store"}),
    ],
)
def test_what_each_sign_adds(scored, sign, summary, description, met):
    got = scores_of(scored((summary, description), NOTHING | {sign: 1.0}, texts=TEXTS))
    assert {name for name, score in got.items() if score} == met
    assert max(got.values()) == (1.0 if met else 0.0)


def test_a_name_that_many_functions_have_counts_less(scored):
    facts = [
        find_functions("def get(): pass\n", ".py"),
        find_functions("def get(): pass\ndef put(): pass\n", ".py"),
    ]
    scores = scores_of(scored(["get() and put() fail"], NOTHING | {"named": 1.0}, facts))
    assert scores == {"put": 1.0, "get": pytest.approx(1 / (1 + np.log(2)), abs=1e-6)}


def test_overloads_are_listed_once_as_the_best_of_them(scored):
    overloaded = find_functions("def get(a): pass\n\n\ndef get(a): return colour\n", ".py")
    [[best]] = scored(["colour"], facts=[overloaded], texts={"a": {"code": "colour"}}, scores=[1.0])
    assert best.start == 4


def test_frames_of_lambdas_and_constructors_mean_the_function_around_their_line(scored):
    source = "class Door {\n  void open() {\n    run(() -> turn());\n  }\n  Door() {}\n}\n"
    report = "s", "at a.Door.lambda$open$0(Door.java:3) at a.Door.<init>(Door.java:9)"
    facts = [find_functions(source, ".java")]
    scores = scores_of(scored(report, NOTHING | {"frame": 1.0}, facts, {"a/Door.java": {}}, [1.0]))
    assert {name for name, score in scores.items() if score} == {"Door.open", "Door.Door"}


def test_functions_count_by_how_many_their_file_has(scored):
    """The file has 4 functions, the other 3: ln(1 + number) / 10."""
    scores = scores_of(scored(["s"], NOTHING | {"among": 1.0}))
    assert scores["Shape.draw"] == pytest.approx(np.log(5) / 10, abs=1e-6)
    assert scores["Store.open"] == pytest.approx(np.log(4) / 10, abs=1e-6)


def test_functions_count_by_what_the_score_of_their_file_lacks(scored):
    """The standard deviation of the scores 2 and 1 is .5: the second lacks two of them."""
    scores = scores_of(scored(["s"], NOTHING | {"gap": 1.0}))
    assert scores["Shape.draw"] == pytest.approx(0.0, abs=1e-6)
    assert scores["Store.open"] == pytest.approx(-2.0, abs=1e-6)


def test_words_count_by_the_best_function_of_the_file_whatever_other_files_have(scored):
    scores = scores_of(
        scored(["colour of a path, path, path"], NOTHING | {"text": 1.0}, texts=TEXTS)
    )
    assert scores["Shape.draw"] == 1.0
    assert max(scores["load_shape"], scores["Store.open"], scores["Store"]) == 1.0


def test_a_longer_function_counts_more_by_size(scored):
    scores = scores_of(scored(["s"], NOTHING | {"size": 1.0}))
    assert scores["compute_area"] > scores["load_shape"]


@pytest.mark.parametrize(
    "words", ["draw a line", "colour of the line on the canvas", "load the path, load it twice"]
)
def test_the_reference_ranks_as_bm25s_does(words):
    draw = "def draw_line(canvas, colour):\n    canvas.line(colour)\n\ndef draw_circle(canvas):\n    canvas.circle()\n"
    store = "def load(path):\n    return read(path)\n\ndef empty(): pass\n"
    index = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    index.index(
        [terms(text) for text in (*draw.split("\n\n"), *store.split("\n\n"))], show_progress=False
    )
    facts = [find_functions(draw, ".py"), find_functions(store, ".py"), NONE]

    def asked(summary):
        return function_bm25(BugReport("r", summary, "", datetime(2020, 1, 1, tzinfo=UTC)), facts)

    np.testing.assert_allclose(
        asked(words), index.get_scores(terms(words)) * 2.5, rtol=1e-5
    )  # k1 + 1
    assert asked("zebra the a of").tolist() == [0, 0, 0, 0]
