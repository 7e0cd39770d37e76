"""BLUiR against slow versions of its formulas (docs/method.md, section B.5)."""

from math import log

import pytest

from tests.lab.baselines.by_hand import Bug, context, report, scores
from tests.lab.baselines.leaks import COLOR, SOCKET, project
from tosloc.lab.baselines.bluir import BLUiR, queries


def slow_score(fields, place, asked):
    """Section B.5.4 word by word: of one field, file ``place``."""
    average = sum(map(len, fields)) / len(fields)
    total = 0.0
    for query in asked:
        for term in set(query) & set(fields[place]):
            often, count, frequency = (
                query.count(term),
                fields[place].count(term),
                sum(term in one for one in fields),
            )
            idf = log((len(fields) + 1) / (frequency + 0.5))
            tf = count / (count + 0.7 + 0.3 * len(fields[place]) / average)
            total += tf * 1000 * often / (often + 1000) * idf**2
    return total


TWO = {
    "A.java": "package p;\n/** Shows trees. */ class TreeViewer { void expandAll(int level) {} }",
    "B.java": "class TableViewer { // colour of tables\n void paintTable() { new TreeViewer(); } }",
}
FIELDS = [  # "all" of expandAll is a stop word; the package line holds no identifier here
    ["tree viewer treeview", "tabl viewer tableview"],
    ["expandal expand", "paint tabl painttabl"],
    [
        "tree viewer treeview expand expandal level",
        "tabl viewer tableview paint tabl painttabl tree viewer treeview",
    ],
]
COMMENTS = [["show", "tree"], ["colour", "tabl"]]


def test_all_eight_scores_against_a_slow_one():
    bug = Bug("1", "Bug 1 TreeViewer: the tree", 1, 2, ["A.java"], "tables tables expandAll colour")
    parts = [["tree", "viewer", "tree"], ["tabl", "tabl", "expand", "colour"]]
    both = [[*parts[0], "treeview", "tree"], [*parts[1], "tabl", "tabl", "expandal", "colour"]]
    wanted = [
        sum(slow_score([one.split() for one in field], place, both) for field in FIELDS)
        + slow_score(COMMENTS, place, parts)
        for place in range(2)
    ]
    assert list(scores(BLUiR(context(TWO, [bug])), "1").values()) == pytest.approx(wanted)


def test_a_plain_word_asks_names_twice_and_comments_once():
    one = report(Bug("9", "Bug 9 - the getURL parser", 1, description="of it"))
    assert queries(one, whole=True) == [["url", "parser", "geturl", "parser"], []]
    assert queries(one, whole=False) == [["url", "parser"], []]


def test_files_without_a_word_of_the_report_have_0():
    assert [path for path, score in scores(BLUiR(project()), "3").items() if not score] == [
        COLOR,
        SOCKET,
    ]
    unknown = BLUiR(context(TWO, [Bug("1", "Bug 1 the", 1, 2, ["A.java"])]))
    assert set(scores(unknown, "1").values()) == {0.0}
