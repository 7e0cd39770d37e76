"""A report as stage one sees it."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from tosloc.index.query import Query
from tosloc.records import BugReport

TRACE = "at org.x.Tree.grow(Tree.java:3) at org.x.Leaf$Cell.fall(Leaf.java:9)"


def query(summary, description=""):
    return Query(BugReport("r", summary, description, datetime(2020, 1, 1, tzinfo=UTC)))


def test_words_of_the_summary_count_three_times_or_five():
    asked = query("tree leaf leaf", "leaf node")
    assert asked.weights == pytest.approx({"leaf": 1 + math.log(7), "node": 1.0, "tree": 1 + math.log(3)})
    assert asked.fielded_weights == pytest.approx({"leaf": 1 + math.log(11), "node": 1.0, "tree": 1 + math.log(5)})
    assert asked.plain_weights == pytest.approx({"leaf": 1 + math.log(3), "node": 1.0, "tree": 1.0})
    assert asked.summary_weights == pytest.approx({"leaf": 1 + math.log(2), "tree": 1.0})
    assert list(asked.weights) == list(asked.fielded_weights) == sorted(asked.weights)


def test_stack_frames_are_no_prose_except_for_the_paper():
    asked = query("crash", f"node {TRACE} label")
    assert list(asked.weights) == ["crash", "label", "node"]
    assert {"tree", "grow", "leaf", "fall"} <= set(asked.plain_weights)
    assert [frame.type for frame in asked.frames] == ["org.x.Tree", "org.x.Leaf"]
    assert asked.qualified_names == ("org.x.Tree", "org.x.Leaf")
    assert "Tree" not in asked.mentions


def test_names_in_the_text():
    asked = query("StandardContext of a web app", "call max_size, then Display and getURLFor")
    assert asked.compounds == {"standardcontext", "maxsize", "geturlfor"}
    assert {"StandardContext", "max_size", "Display", "web"} <= set(asked.mentions)


def test_an_empty_report():
    asked = query("", "")
    assert asked.weights == asked.plain_weights == asked.summary_weights == {}
    assert asked.frames == ()
    assert asked.compounds == frozenset()
