"""Features of the places, words and names that reports on GitHub have, with values worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tosloc.rank import features

FILES = (
    "docs/conf.py",
    "shop/__init__.py",
    "shop/door.py",
    "shop/key.py",
    "shop/old/door.py",
    "third_party/x/door.c",
)
TRACEBACK = """Traceback (most recent call last):
  File "/home/me/run.py", line 3, in <module>
  File "/env/lib/python3.8/site-packages/shop/key.py", line 4, in turn
  File "/env/lib/python3.8/site-packages/shop/door.py", line 14, in open
  File "/env/lib/python3.8/site-packages/other/key.py", line 4, in turn
  File "/env/lib/python3.8/json/door.py", line 4, in load
"""


def of(name, context, *shares):
    return features.FEATURES[name].values(context, *shares)


def test_frames_of_the_projects_own_files_count_from_the_innermost(make_context):
    context = make_context(FILES, "x", TRACEBACK)
    assert of("own_frame", context).tolist() == [0, 0, 1, 1 / 2, 0, 0]


def test_a_second_trace_counts_less(make_context):
    context = make_context(
        FILES, "x", f'{TRACEBACK}\nTraceback (most recent call last):\n  File "docs/conf.py", line 3\n'
    )
    assert of("own_frame", context) == pytest.approx([1 / math.sqrt(2), 0, 1, 1 / 2, 0, 0])


def test_a_name_that_two_files_have_is_divided(make_context):
    context = make_context(FILES, "x", 'File "door.py", line 3, in open')
    assert of("own_frame", context).tolist() == [0, 0, 1 / 2, 0, 1 / 2, 0]


def test_links_and_written_paths_in_their_order(make_context):
    said = (
        "See https://github.com/me/shop/blob/abc/shop/key.py#L3 and https://github.com/me/shop/blob/abc/docs/conf.py."
    )
    context = make_context(FILES, "x", f"{said} In old/door.py and key.py, as run by `python docs/conf.py`.")
    assert of("linked", context) == pytest.approx([1 / math.sqrt(2), 0, 0, 1, 0, 0])
    assert of("written_path", context).tolist() == [0, 0, 0, 1 / 2, 1, 0]


def test_kinds_of_places(make_context):
    context = make_context(FILES)
    assert of("example", context).tolist() == [1, 0, 0, 0, 0, 0]
    assert of("setup", context).tolist() == [1, 0, 0, 0, 0, 0]
    assert of("vendored", context).tolist() == [0, 0, 0, 0, 0, 1]


def test_namesake(make_context):
    shares = np.array([0.0, 0.1, 0.5, 0.1, 0.2, 0.1])
    assert of("namesake", make_context(FILES), shares).tolist() == [0, 0, 0.2, 0, 0.5, 0]


def test_a_report_that_names_nothing(make_context):
    context = make_context(FILES, "It fails.", "Nothing is to be seen.")
    for name in ("own_frame", "linked", "written_path"):
        assert of(name, context).tolist() == [0] * len(FILES)


# Words, names of code, messages


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


def test_what_is_reported_later_makes_no_word_common(make_context):
    files = {"a": {"code": "crash"}, "b": {"code": "version"}}
    later = make_context(files, "crash version", reports=[(-1, "version", ["a"])])
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


@pytest.mark.parametrize("name", ["rare_bm25f", "rare_chunk", "summary_strings", "defined_names", "message_strings"])
def test_nothing_said_and_nothing_there(name, make_context):
    for context in (
        make_context(("a", "b")),
        make_context(()),
        make_context((), "parse_args fails", '"no such thing"'),
    ):
        assert np.all(of(name, context) == 0)
