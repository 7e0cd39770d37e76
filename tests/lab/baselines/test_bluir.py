"""BLUiR against slow versions of its formulas (docs/method.md, section B.5)."""

from __future__ import annotations

from collections import Counter
from math import log

import pytest

from tests.lab.baselines.by_hand import Bug, context, report, scores
from tests.lab.baselines.leaks import ASKED, COLOR, COMMITS, FILES, OLD, SOCKET, TABLE, TREE
from tosloc.lab.baselines.bluir import BLUiR, queries


def slow_score(fields: list[list[str]], place: int, asked: list[list[str]]) -> float:
    """Section B.5.4 word by word: of one field, file ``place``."""
    average = sum(map(len, fields)) / len(fields)
    counts = Counter(fields[place])
    total = 0.0
    for query in asked:
        for term, often in Counter(query).items():
            frequency = sum(term in field for field in fields)
            if not counts[term]:
                continue
            idf = log((len(fields) + 1) / (frequency + 0.5))
            tf = counts[term] / (counts[term] + 0.7 + 0.3 * len(fields[place]) / average)
            total += tf * 1000 * often / (often + 1000) * idf**2
    return total


TWO = {
    "A.java": "package p;\n/** Shows trees. */ class TreeViewer { void expandAll(int level) {} }",
    "B.java": "class TableViewer { // colour of tables\n void paintTable() { new TreeViewer(); } }",
}
FIELDS = [  # "all" of expandAll is a stop word; the package line holds no identifier here
    [["tree", "viewer", "treeview"], ["tabl", "viewer", "tableview"]],
    [["expandal", "expand"], ["paint", "tabl", "painttabl"]],
    [
        ["tree", "viewer", "treeview", "expand", "expandal", "level"],
        ["tabl", "viewer", "tableview", "paint", "tabl", "painttabl", "tree", "viewer", "treeview"],
    ],
]
COMMENTS = [["show", "tree"], ["colour", "tabl"]]


def test_all_eight_scores_against_a_slow_one() -> None:
    bug = Bug("1", "Bug 1 TreeViewer: the tree", 1, 2, ["A.java"], "tables tables expandAll colour")
    parts = [["tree", "viewer", "tree"], ["tabl", "tabl", "expand", "colour"]]
    whole = [["treeview", "tree"], ["tabl", "tabl", "expandal", "colour"]]
    both = [parts[0] + whole[0], parts[1] + whole[1]]
    wanted = [
        sum(slow_score(field, place, both) for field in FIELDS) + slow_score(COMMENTS, place, parts)
        for place in range(2)
    ]
    assert list(scores(BLUiR(context(TWO, [bug])), "1").values()) == pytest.approx(wanted)


def test_a_plain_word_asks_names_twice_and_comments_once() -> None:
    one = report(Bug("9", "Bug 9 - the getURL parser", 1, description="of it"))
    assert queries(one, whole=True) == [["url", "parser", "geturl", "parser"], []]
    assert queries(one, whole=False) == [["url", "parser"], []]


def test_files_without_a_word_of_the_report_have_0() -> None:
    answered = scores(BLUiR(context(FILES, [*OLD, ASKED], COMMITS)), "3")
    assert [path for path, score in answered.items() if score == 0] == [COLOR, SOCKET]
    assert answered[TREE] > answered[TABLE]
    unknown = BLUiR(context(TWO, [Bug("1", "Bug 1 the", 1, 2, ["A.java"]), Bug("2", "zzz", 1, 3, ["A.java"])]))
    assert {*scores(unknown, "1").values(), *scores(unknown, "2").values()} == {0.0}
