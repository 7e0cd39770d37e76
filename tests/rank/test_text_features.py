"""Features of what reports on GitHub say, each on a small context with its value worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tosloc.rank import features


def of(name, context):
    return features.FEATURES[name].values(context)


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


TEXT_FEATURES = (
    *("rare_bm25f", "rare_chunk", "summary_strings"),
    *("defined_names", "message_strings"),
)


@pytest.mark.parametrize(
    "feature", [features.FEATURES[name] for name in TEXT_FEATURES], ids=lambda feature: feature.name
)
def test_nothing_said_and_nothing_there(feature, make_context):
    if feature in features.RELATED:
        return
    for context in (
        make_context(("a", "b")),
        make_context(()),
        make_context((), "parse_args fails", '"no such thing"'),
    ):
        assert np.all(feature.values(context) == 0)
