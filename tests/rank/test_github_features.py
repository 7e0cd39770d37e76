"""Features of the places, words and names that reports on GitHub have, worked by hand; and all features together."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.rank.test_features import FILES, of
from tosloc.rank import features

TRACEBACK = """Traceback (most recent call last):
  File "/home/me/run.py", line 3, in <module>
  File "/env/lib/python3.8/site-packages/shop/key.py", line 4, in turn
  File "/env/lib/python3.8/site-packages/shop/door.py", line 14, in open
  File "/env/lib/python3.8/site-packages/other/key.py", line 4, in turn
  File "/env/lib/python3.8/json/door.py", line 4, in load
"""


def test_frames_of_the_projects_own_files_count_from_the_innermost(make_context):
    assert of("own_frame", make_context(FILES, "x", TRACEBACK)).tolist() == [0, 0, 1, 1 / 2, 0, 0]
    second = f'{TRACEBACK}\nTraceback (most recent call last):\n  File "docs/conf.py", line 3\n'
    assert of("own_frame", make_context(FILES, "x", second)) == pytest.approx([1 / math.sqrt(2), 0, 1, 1 / 2, 0, 0])
    two_files = make_context(FILES, "x", 'File "door.py", line 3, in open')
    assert of("own_frame", two_files).tolist() == [0, 0, 1 / 2, 0, 1 / 2, 0]


def test_links_and_written_paths_in_their_order(make_context):
    said = (
        "See https://github.com/me/shop/blob/abc/shop/key.py#L3 and https://github.com/me/shop/blob/abc/docs/conf.py."
    )
    context = make_context(FILES, "x", f"{said} In old/door.py and key.py, as run by `python docs/conf.py`.")
    assert of("linked", context) == pytest.approx([1 / math.sqrt(2), 0, 0, 1, 0, 0])
    assert of("written_path", context).tolist() == [0, 0, 0, 1 / 2, 1, 0]


def test_words_of_earlier_reports_and_commits_count_less(make_context):
    files = {"a": {"code": "crash"}, "b": {"code": "version"}}
    alike = make_context(files, "crash version")
    assert of("rare_bm25f", alike) == pytest.approx(of("bm25f", alike))
    assert of("rare_chunk", alike) == pytest.approx(of("chunk", alike))
    # of 2 reports both say it, of 1 commit none: ln(12 / 3) / ln 12, and 1 for the commits
    reports = [(20, "version", ["a"]), (10, "version", ["b"])]
    context = make_context(files, "crash version", reports=reports, commits=[(5, "other", ["a"])])
    less = np.array([1.0, math.log(12 / 3) / math.log(12)])
    assert of("rare_bm25f", context) == pytest.approx(of("bm25f", alike) * less)
    assert of("rare_chunk", context) == pytest.approx(of("chunk", alike) * less)
    later = make_context(files, "crash version", reports=[(-1, "version", ["a"])])  # makes no word common
    assert of("rare_bm25f", later) == pytest.approx(of("bm25f", later))


def test_defined_names_by_how_few_files_define_them(make_context):
    files = {
        "a": {"code": "parseargs main", "method": "parseargs main"},
        "b": {"code": "parseargs main", "method": "main"},
        "c": {"code": "reader", "type": "reader"},
    }
    # one file defines parse_args, named in the summary: 3 / 1; two define main, one word, called in prose: .5 / 2
    got = of("defined_names", make_context(files, "parse_args fails", "after main() of my code"))
    assert got == pytest.approx([3.0, 0.25, 0.0])  # never more than 3
    got = of("defined_names", make_context(files, "It fails", "in `parse_args`"))
    assert got == pytest.approx([1.0, 0.0, 0.0])
    # a word that nobody wrote as code is no name
    assert of("defined_names", make_context(files, "main reader", "reader")).tolist() == [0, 0, 0]


def test_messages_in_strings(make_context):
    files = {
        "a": {"string": "tabl missing schema"},
        "b": {"string": "missing"},
        "c": {"code": "tabl miss schema"},
        "d": {"string": "miss tabl schema"},
    }
    context = make_context(files, "It fails", 'It says "table x12 miss schema" and stops')
    # of tabl, miss, schema: df 2, 1, 2 among 4 files; d holds all, a tabl and schema
    rare, common = math.log(1 + 3.5 / 1.5), math.log(1 + 2.5 / 2.5)
    whole = rare + 2 * common
    expected = [2 * common * (2 * common / whole) ** 2, 0, 0, whole]
    assert of("message_strings", context) == pytest.approx(expected)


TEXTS = {
    "src/Leaf.java": {"code": "leaf tree tree", "comment": "node"},
    "src/Tree.java": {"code": "tree node", "method": "grow", "type": "tree"},
    "test/TreeTest.java": {"code": "tree", "type": "treetest"},
}
SAID = ("Tree grows too much", "The tree and its node at src.Tree.grow(Tree.java:3)")


@pytest.fixture
def rich(make_context):
    paths = list(TEXTS)
    commits, reports = [(9, "tree grow", paths[1:]), (3, "leaf", paths[:1])], [(7, "tree node", [paths[1]])]
    return make_context(TEXTS, *SAID, commits=commits, reports=reports, complexity={paths[1]: 5})


def test_what_a_report_and_a_repository_are_like(make_context):
    files = {"a/Leaf.java": {"code": "leaf"}, "a/Tree.java": {"code": "tree"}, "b/x.py": {"code": "x"}}
    made = features.columns(
        make_context(files, "Tree", "of a leaf", [(3, "x", ["b/x.py"])]), [feature.name for feature in features.CONTEXT]
    )
    assert made["language_share"].tolist() == [2 / 3, 2 / 3, 1 / 3]
    numbers = {"files": 3, "known_reports": 0, "known_commits": 1, "report_terms": 2}
    assert {name: made[name].tolist() for name in numbers} == {name: [math.log1p(n)] * 3 for name, n in numbers.items()}


def test_all_columns_are_finite_and_comparable(rich):
    made = features.columns(rich, features.ALL)
    assert tuple(made) == features.ALL
    for name, values in made.items():
        assert values.shape == (3,)
        assert np.isfinite(values).all()
        if features.FEATURES[name].scaled:
            assert values.max() in (0.0, 1.0)
        assert features.columns(rich, [name])[name].tolist() == values.tolist()  # whatever else is wanted


def test_nothing_said_and_nothing_there(make_context):
    said = "parse_args fails", 'node at x.A.go(A.java:1) "no such thing"'
    for context in (make_context({}, *said), make_context({"a": {"code": "tree"}}), make_context(("a", "b"), *said)):
        for name, values in features.columns(context, features.ALL).items():
            assert values.shape == (context.files,), name
            assert np.isfinite(values).all(), name
    for name in ("rare_bm25f", "rare_chunk", "summary_strings", "defined_names", "message_strings", "linked"):
        assert not features.columns(make_context(("a", "b"), *said), [name])[name].any(), name


def test_changes_that_a_report_mentions_by_number_or_name(make_context):
    files = ["src/Leaf.java", "src/Tree.java", "src/View.java"]
    commits = [
        (9, "tree", ["src/Tree.java"], ["#8265"]),
        (8, "leaf", ["src/Leaf.java", "src/View.java"], ["#12"]),
        (7, "view", ["src/View.java"]),
    ]

    def referenced(said):
        return of("referenced", make_context(files, "Grows", said, commits)).round(3).tolist()

    assert referenced("follow-up to #8265") == [0, 1, 0]
    assert referenced("see https://example.org/a/b/pull/12") == [0.707, 0, 0.707]
    assert referenced("nothing, only 8265 trees") == [0, 0, 0]
    named = make_context(["a.c"], "Broken since 0abc1234", "not 1234567, deadbeef or 0abc12345")
    assert named.query.commit_names == ("0abc1234", "0abc12345")
