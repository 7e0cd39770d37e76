"""BLUiR against slow versions of its formulas (docs/method.md, section B.5)."""

from math import log

import pytest

from tests.lab.baselines.by_hand import Bug, bug_report, make_context, score_files
from tests.lab.baselines.leaks import COLOR, SOCKET, make_project
from tosloc.lab.baselines.bluir import BLUiR, query_terms


def slow_score(fields, file, queries):
    """Return the score of section B.5.4 word by word, of one field of the file."""
    average_length = sum(map(len, fields)) / len(fields)
    total = 0.0
    for query in queries:
        for term in set(query) & set(fields[file]):
            query_frequency = query.count(term)
            frequency = fields[file].count(term)
            containing = sum(term in field for field in fields)
            idf = log((len(fields) + 1) / (containing + 0.5))
            tf = frequency / (frequency + 0.7 + 0.3 * len(fields[file]) / average_length)
            total += tf * 1000 * query_frequency / (query_frequency + 1000) * idf**2
    return total


TWO_FILES = {
    "A.java": "package p;\n/** Shows trees. */ class TreeViewer { void expandAll(int level) {} }",
    "B.java": "class TableViewer { // colour of tables\n void paintTable() { new TreeViewer(); } }",
}
# "all" of expandAll is a stop word, and the package line has no identifier.
NAME_FIELDS = [
    ["tree viewer treeview", "tabl viewer tableview"],
    ["expandal expand", "paint tabl painttabl"],
    [
        "tree viewer treeview expand expandal level",
        "tabl viewer tableview paint tabl painttabl tree viewer treeview",
    ],
]
"""Terms of types, methods and identifiers of both files."""
COMMENTS = [["show", "tree"], ["colour", "tabl"]]
"""Terms of the comments of both files."""


def test_sum_of_the_eight_scores_equals_a_slow_one():
    bug = Bug("1", "Bug 1 TreeViewer: the tree", 1, 2, ["A.java"], "tables tables expandAll colour")
    parts = [["tree", "viewer", "tree"], ["tabl", "tabl", "expand", "colour"]]
    whole_words = [["treeview", "tree"], ["tabl", "tabl", "expandal", "colour"]]
    parts_and_words = [parts[0] + whole_words[0], parts[1] + whole_words[1]]
    expected = []
    for file in range(2):
        score = slow_score(COMMENTS, file, parts)
        for field in NAME_FIELDS:
            score += slow_score([terms.split() for terms in field], file, parts_and_words)
        expected.append(score)
    scores = score_files(BLUiR(make_context(TWO_FILES, [bug])), "1")
    assert list(scores.values()) == pytest.approx(expected)


def test_names_are_queried_with_whole_words_and_comments_without():
    report = bug_report(Bug("9", "Bug 9 - the getURL parser", 1, description="of it"))
    assert query_terms(report, whole_words=True) == [["url", "parser", "geturl", "parser"], []]
    assert query_terms(report, whole_words=False) == [["url", "parser"], []]


def test_files_without_a_word_of_the_report_score_zero():
    scores = score_files(BLUiR(make_project()), "3")
    assert [path for path, score in scores.items() if not score] == [COLOR, SOCKET]


def test_report_of_stop_words_scores_every_file_zero():
    technique = BLUiR(make_context(TWO_FILES, [Bug("1", "Bug 1 the", 1, 2, ["A.java"])]))
    assert set(score_files(technique, "1").values()) == {0.0}
