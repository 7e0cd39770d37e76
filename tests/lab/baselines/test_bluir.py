from __future__ import annotations

from collections import Counter
from functools import partial
from math import log

import pytest

from tests.lab.baselines.by_hand import Bug, ask, context, report, scores
from tests.lab.baselines.leaks import ASKED, COLOR, COMMITS, FILES, OLD, SOCKET, TABLE, TREE
from tests.lab.baselines.techniques import build

bluir = partial(build, "bluir")


def slow_score(fields: list[list[str]], place: int, queries: list[list[str]], linear: bool = False) -> float:
    """Section B.5.4 word by word: of one field, file ``place``."""
    average = sum(map(len, fields)) / len(fields)
    counts = Counter(fields[place])
    total = 0.0
    for query in queries:
        for term, often in Counter(query).items():
            frequency = sum(term in field for field in fields)
            if not counts[term]:
                continue
            idf = log((len(fields) + 1) / (frequency + 0.5))
            tf = counts[term] / (counts[term] + 0.7 + 0.3 * len(fields[place]) / average)
            total += tf * (often * 1000 / 1001 if linear else 1000 * often / (often + 1000)) * idf**2
    return total


FIELDS = {
    "split": {
        "class": [["tree", "viewer"], ["tabl", "viewer"]],
        "method": [["expand"], ["paint", "tabl"]],
        "identifier": [
            ["tree", "viewer", "expand", "level"],
            ["tabl", "viewer", "paint", "tabl", "tree", "viewer"],
        ],
        "comments": [["show", "tree"], ["colour", "tabl"]],
    },
    "whole": {
        "class": [["tree", "viewer", "treeview"], ["tabl", "viewer", "tableview"]],
        "method": [["expandal", "expand"], ["paint", "tabl", "painttabl"]],
        "identifier": [
            ["tree", "viewer", "treeview", "expand", "expandal", "level"],
            ["tabl", "viewer", "tableview", "paint", "tabl", "painttabl", "tree", "viewer", "treeview"],
        ],
        "comments": [["show", "tree"], ["colour", "tabl"]],
    },
}
TWO = {
    "A.java": "package p;\n/** Shows trees. */ class TreeViewer { void expandAll(int level) {} }",
    "B.java": "class TableViewer { // colour of tables\n void paintTable() { new TreeViewer(); } }",
}


def test_all_eight_scores_against_a_slow_one() -> None:
    bug = Bug("1", "Bug 1 TreeViewer: the tree", 1, 2, ["A.java"], "tables tables expandAll colour")
    made = context(TWO, [bug])
    split = [["tree", "viewer", "tree"], ["tabl", "tabl", "expand", "colour"]]
    raw = [["treeview", "tree"], ["tabl", "tabl", "expandal", "colour"]]
    both = [split[0] + raw[0], split[1] + raw[1]]
    for forms, upstream in (("whole", False), ("split", True)):
        technique = bluir(made, profile="upstream" if upstream else "clean")
        # "all" of expandAll is a stop word; the package line holds no identifier here
        wanted = [
            sum(
                slow_score(FIELDS[forms][field], place, split if field == "comments" else both, upstream)
                for field in FIELDS[forms]
            )
            for place in range(2)
        ]
        assert list(scores(technique, "1").values()) == pytest.approx(wanted)


def test_a_plain_word_asks_names_twice_and_comments_once() -> None:
    technique = bluir(context(TWO, [OLD[0]]))
    one = report(Bug("9", "Bug 9 - the getURL parser", 1, description="of it"))
    assert technique.queries(one, "class") == [["url", "parser", "geturl", "parser"], []]
    assert technique.queries(one, "comments") == [["url", "parser"], []]
    # "the" counts for Indri: 3 parts with get, 3 whole words, in three fields; the comments' 4 parts
    assert technique.query_length(one) == 3 * (4 + 3) + 4


def test_files_without_a_word_of_the_report_are_left_out_upstream_only() -> None:
    made = context(FILES, [*OLD, ASKED], COMMITS)
    answered = scores(bluir(made), "3")
    assert [path for path, score in answered.items() if score == 0] == [COLOR, SOCKET]
    assert answered[TREE] > answered[TABLE]
    upstream = bluir(made, profile="upstream")
    found = upstream.scores(ask(made, "3"))
    assert (bluir(made).left_out(found), upstream.left_out(found)) == (0, 2)


def test_a_report_without_known_words_gives_zeros() -> None:
    made = context(TWO, [Bug("1", "Bug 1 the", 1, 2, ["A.java"]), Bug("2", "zzz", 1, 3, ["A.java"])])
    assert {*scores(bluir(made), "1").values(), *scores(bluir(made), "2").values()} == {0.0}
