"""BLIA against slow versions of its formulas (docs/method.md, section B.7)."""

from __future__ import annotations

from collections import Counter
from math import exp, log, sqrt

import numpy as np
import pytest

from tests.lab.baselines.by_hand import Bug, ask, context
from tests.lab.baselines.leaks import ASKED, COLOR, COMMITS, COOKIE, FILES, OLD, SOCKET, TABLE, TREE
from tosloc.index.bm25 import min_max
from tosloc.lab.baselines.blia import BLIA
from tosloc.lab.baselines.vsm import step_length_score

# of three files: terms of class, method, variable and comment
SMALL = {
    "A.java": "/** Shows trees.\n * @author Tree\n */ class TreeViewer { int level; void expandNode(int level) {} }",
    "B.java": "/* Copyright tree */ class TableViewer { void paintNode() { int treeLevel; } }",
    "C.java": "class Socket { Object tree; // a tree, a node\n }",
}
TERMS = [
    [["treeview", "tree", "viewer"], ["expandnod", "expand", "node"], ["level", "level"], ["show", "tree"]],
    [["tableview", "tabl", "viewer"], ["paintnod", "paint", "node"], ["tree", "level"], []],
    [["socket"], [], ["tree"], ["tree", "node"]],
]
REPORT = Bug("1", "Bug 1 tree level", 1, 2, ["A.java"], "the tree node of the viewer, zzz")
SUMMARY, DESCRIPTION = ["tree", "level"], ["tree", "node", "viewer"]


def slow_text(place: int) -> float:
    """VSM of section B.7.3, without the length score, word by word."""
    wholes = [Counter(term for part in file for term in part) for file in TERMS]

    def weigh(term: str, often: int) -> float:
        return (log(often) + 1) * log(len(TERMS) / sum(term in whole for whole in wholes))

    query = Counter([*SUMMARY, *DESCRIPTION])
    total = 0.0
    for number, part in enumerate(TERMS[place]):
        norm = sqrt(sum(weigh(term, wholes[place][term]) ** 2 for term in set(part)))
        for text in (SUMMARY, DESCRIPTION):
            length = sqrt(sum(weigh(term, query[term]) ** 2 for term in set(text)))
            both = set(text) & set(part)
            product = sum(weigh(term, query[term]) * weigh(term, wholes[place][term]) for term in both)
            total += (0.5 if number == 3 else 1.0) * (product / norm / length if norm and length else 0.0)
    return total


def test_text_against_a_slow_one() -> None:
    made = context(SMALL, [REPORT])
    lengths = np.array([float(sum(map(len, file))) for file in TERMS])
    wanted = step_length_score(lengths) * [slow_text(place) for place in range(3)]
    assert BLIA(made).text(ask(made, "1")) == pytest.approx(wanted)


def frame(name: str, file: str = "") -> str:
    return f"at {name}.run({file or name.rpartition('.')[2] + '.java'}:1) "


def test_trace_of_a_report() -> None:
    files = {f"src/p/{name}.java": f"package p; class {name} {{ }}" for name in "ABE"}
    files["src/p/C.java"] = "package p; import q.D; import p.A; import q.*; class C { }"
    files["src/q/D.java"] = "package q; class D { }"
    trace = frame("p.A") + frame("p.B$1", "B.java") + frame("p.A") + frame("p.C") + frame("java.E")
    made = context(files, [Bug("1", "it fails", 1, 2, ["src/p/A.java"], trace), Bug("2", "A and p.A fail", 1, 2)])
    # A, B, A, C: places 1, 2 and 4; D is imported by C; E is not, nor is the wild card followed; java.E is no E
    assert BLIA(made).trace(ask(made, "1")).tolist() == pytest.approx([1.0, 0.5, 0.25, 0.0, 0.1])
    assert not BLIA(made).trace(ask(made, "2")).any()


def test_it_is_made_of_its_four_parts() -> None:
    bug = Bug("3", ASKED.summary, 10, 20, [TREE], f"{ASKED.description} {frame('org.app.TableViewer')}")
    made = context(FILES, [*OLD, bug], COMMITS)
    query, technique = ask(made, "3"), BLIA(made)
    text, similar = technique.text(query), technique.similar_reports.simi_scores(query)
    assert text.max() > 0
    assert similar.max() > 0
    # the table is named, and imports the version and the color
    trace = {TABLE: 1.0, TREE: 0.1, COLOR: 0.1}
    # ages 1 (fix of the version), 2, 8 and 5 days
    recent = {TREE: 1 / (1 + exp(12 / 15)), SOCKET: 1 / (1 + exp(24 / 15)), TABLE: 1 / (1 + exp(96 / 15))}
    recent |= {COLOR: recent[TABLE], COOKIE: 1 / (1 + exp(60 / 15))}
    wanted = []
    for place, path in enumerate(query.version.snapshot.paths):
        base = 0.8 * min_max(text)[place] + 0.2 * min_max(similar)[place] + trace.get(path, 0.0)
        wanted.append(0.8 * base + 0.2 * recent.get(path, 0.0) if base > 0 else 0.0)
    answered = technique.scores(query)
    assert answered == pytest.approx(np.array(wanted))
    assert answered[query.version.snapshot.paths.index(SOCKET)] == 0  # a recent fix alone does not count
