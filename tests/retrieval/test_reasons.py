"""Reasons: what is said of a file, and how much of its score each reason carries."""

from __future__ import annotations

import pytest

from tosloc.retrieval import features
from tosloc.retrieval.explainer import Explainer

PATHS = ("src/Leaf.java", "src/Tree.java", "test/TreeTest.java")


@pytest.fixture
def context(make_context):
    files = {
        PATHS[0]: {"code": "leaf", "comment": "grow"},
        PATHS[1]: {"code": "tree grow grow", "method": "grow", "type": "tree"},
        PATHS[2]: {"code": "tree"},
    }
    return make_context(
        files,
        "Growing Tree",
        "The tree grows. at src.Tree.grow(Tree.java:3)",
        commits=[(9, "tree grow", PATHS[1:]), (3, "leaf", PATHS[:1])],
        reports=[(40, "tree grow", PATHS[1:2]), (7, "leaf", PATHS[:1])],
        complexity={PATHS[1]: 5},
    )


def told(context, weights, file):
    columns = features.columns(context, features.ALL)
    return {reason.kind: reason.text for reason in Explainer(context, columns, weights).why(file)}


@pytest.mark.parametrize(
    ("feature", "text"),
    [
        ("code", "words Growing, tree"),
        ("path", "path words tree"),
        ("mention", "named in the report: Tree"),
        ("rare_frame", "stack frame Tree.grow:3"),
        ("near_reports", "earlier report d0, 1972-08-18: "),
        ("near_commits", "commit d0, 1972-09-18: "),
        ("near_package", "commits like the report in its folder src/"),
        ("recency", "changed 9 days before the report"),
        ("co_change", "changes together with TreeTest.java"),
        ("twin", "its test, or what it tests, leads"),
        ("complexity", "cyclomatic complexity 5"),
        ("history", "fixed once before"),
    ],
)
def test_what_is_said(context, feature, text):
    (name, said), *_ = told(context, {feature: 2.0}, 1).items()
    assert name == feature
    assert said.lower().startswith(text.lower())


def test_features_that_say_the_same_are_joined_and_four_are_shown(context):
    weights = {"code": 1.0, "summary": 2.0, "path": 3.0, "recency": 0.5, "twin": 0.4, "mention": 9.0, "test": -5.0}
    got = told(context, weights, 1)
    assert len(got) == 4


def test_only_what_lifts_is_told(context):
    assert told(context, {"test": -1.0, "popularity": -1.0, "mention": 1.0}, 0) == {}


def test_every_feature_but_the_negative_ones_can_speak():
    silent = {name for name, feature in features.FEATURES.items() if feature.reason is None}
    assert silent == {"popularity", "test"}


def test_every_reason_of_every_file_can_be_said(context):
    for file in range(3):
        for name in features.ALL:
            for text in told(context, {name: 1.0}, file).values():
                assert text
