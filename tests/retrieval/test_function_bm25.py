"""BM25 over functions, against bm25s and by hand."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import bm25s
import numpy as np
import pytest

from tosloc.analysis.function_rows import FunctionFacts
from tosloc.analysis.functions import functions_of
from tosloc.analysis.text import terms
from tosloc.records import BugReport
from tosloc.retrieval.function_bm25 import function_bm25

DRAW = """\
def draw_line(canvas, colour):
    canvas.line(colour)

def draw_circle(canvas):
    canvas.circle()
"""
STORE = """\
def load(path):
    return read(path)

def empty(): pass
"""
FACTS = [functions_of(DRAW, ".py"), functions_of(STORE, ".py"), FunctionFacts()]
TEXTS = [*DRAW.split("\n\n"), *STORE.split("\n\n")]


def report(summary, description=""):
    return BugReport("r", summary, description, datetime(2020, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("words", ["draw a line", "colour of the line on the canvas", "load the path, load it twice"])
def test_it_ranks_as_bm25s_does(words):
    index = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
    index.index([terms(text) for text in TEXTS], show_progress=False)
    expected = index.get_scores(terms(words))
    np.testing.assert_allclose(function_bm25(report(words), FACTS), expected, rtol=1e-5)


def test_by_hand():
    # 4 functions; "load" stands in one, once; of 2 + 3 + ... terms
    lengths = [len(terms(text)) for text in TEXTS]
    idf = math.log(1 + (4 - 1 + 0.5) / (1 + 0.5))
    saturated = 1 / (1 + 1.5 * (0.25 + 0.75 * lengths[2] / (sum(lengths) / 4)))
    assert function_bm25(report("load"), FACTS).tolist() == pytest.approx([0, 0, idf * saturated, 0])


def test_what_meets_nothing_scores_nothing():
    assert function_bm25(report("zebra"), FACTS).tolist() == [0, 0, 0, 0]
    assert function_bm25(report("the a of"), FACTS).tolist() == [0, 0, 0, 0]
    assert function_bm25(report("load"), []).tolist() == []
