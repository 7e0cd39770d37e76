"""What a repository and a report are like, as features: alike for every file."""

import math

import pytest

from tosloc.retrieval import context_features, features

FILES = {"a/Leaf.java": {"code": "leaf"}, "a/Tree.java": {"code": "tree"}, "a/view.js": {"code": "tree"}}


@pytest.mark.parametrize(
    ("name", "number"), [("files", 3), ("known_reports", 1), ("known_commits", 2), ("report_terms", 2)]
)
def test_a_count_is_the_same_for_every_file(make_context, name, number):
    commits = [(9, "tree grow", ["a/Tree.java"]), (8, "leaf", ["a/Leaf.java"])]
    context = make_context(FILES, "Tree grows", "the tree", commits, [(7, "tree", ["a/Tree.java"])])
    assert features.FEATURES[name].values(context).tolist() == [math.log1p(number)] * 3


def test_language_share_is_that_of_the_files_language(make_context):
    assert context_features.language_share(make_context(FILES, "Tree", "")).tolist() == [2 / 3, 2 / 3, 1 / 3]


def test_an_empty_version_has_no_values(make_context):
    context = make_context({}, "Tree", "")
    assert [len(feature.values(context)) for feature in features.CONTEXT] == [0] * 5


def test_the_types_that_a_file_declares_count_apart(make_context):
    files = {"a/A.java": {"code": "parser"}, "a/B.java": {"code": "parser", "type": "parser"}}
    low, high = features.types(make_context(files, "parser", ""))
    assert low == 0 < high
