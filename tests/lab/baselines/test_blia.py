"""BLIA against slow versions of its formulas (docs/method.md, section B.7)."""

from collections import Counter
from math import exp, log, sqrt

import numpy as np
import pytest

from tests.lab.baselines.by_hand import Bug, ask, context
from tests.lab.baselines.leaks import ASKED, COLOR, COMMITS, COOKIE, FILES, OLD, SOCKET, TABLE, TREE
from tosloc.lab.baselines.blia import BLIA
from tosloc.lab.baselines.vsm import step_length_score
from tosloc.retrieval.bm25 import min_max

# of three files: terms of class, method, variable and comment
SMALL = {
    "A.java": "/** Shows trees.\n * @author Tree\n */ class TreeViewer { int level; void expandNode(int level) {} }",
    "B.java": "/* Copyright tree */ class TableViewer { void paintNode() { int treeLevel; } }",
    "C.java": "class Socket { Object tree; // a tree, a node\n }",
}
TERMS = [
    ["treeview tree viewer", "expandnod expand node", "level level", "show tree"],
    ["tableview tabl viewer", "paintnod paint node", "tree level", ""],
    ["socket", "", "tree", "tree node"],
]
REPORT = Bug("1", "Bug 1 tree level", 1, 2, ["A.java"], "the tree node of the viewer, zzz")
TEXTS = [["tree", "level"], ["tree", "node", "viewer"]]


def slow_text(place):
    """VSM of section B.7.3, without the length score, word by word."""
    wholes = [Counter(" ".join(file).split()) for file in TERMS]
    asked = Counter([*TEXTS[0], *TEXTS[1]])

    def weigh(term, counts):
        return (log(counts[term]) + 1) * log(len(TERMS) / sum(term in whole for whole in wholes))

    total = 0.0
    for number, part in enumerate(TERMS[place]):
        own = set(part.split())
        norm = sqrt(sum(weigh(term, wholes[place]) ** 2 for term in own))
        for text in TEXTS:
            length = sqrt(sum(weigh(term, asked) ** 2 for term in text))
            product = sum(
                weigh(term, asked) * weigh(term, wholes[place]) for term in own.intersection(text)
            )
            total += (0.5 if number == 3 else 1.0) * (product / norm / length if norm else 0.0)
    return total


def test_text_against_a_slow_one():
    made = context(SMALL, [REPORT])
    lengths = np.array([float(len(" ".join(file).split())) for file in TERMS])
    assert BLIA(made).text(ask(made, "1")) == pytest.approx(
        step_length_score(lengths) * list(map(slow_text, range(3)))
    )


def frame(name, file=""):
    return f"at {name}.run({file or name.rpartition('.')[2] + '.java'}:1) "


def test_trace_of_a_report():
    files = {f"src/p/{name}.java": f"package p; class {name} {{ }}" for name in "ABE"}
    files["src/p/C.java"] = "package p; import q.D; import p.A; import q.*; class C { }"
    files["src/q/D.java"] = "package q; class D { }"
    trace = frame("p.A") + frame("p.B$1", "B.java") + frame("p.A") + frame("p.C") + frame("java.E")
    made = context(
        files,
        [Bug("1", "it fails", 1, 2, ["src/p/A.java"], trace), Bug("2", "A and p.A fail", 1, 2)],
    )
    # A, B, A, C: places 1, 2 and 4; D is imported by C; E is not, nor is the wild card followed; java.E is no E
    assert BLIA(made).trace(ask(made, "1")).tolist() == pytest.approx([1.0, 0.5, 0.25, 0.0, 0.1])
    assert not BLIA(made).trace(ask(made, "2")).any()


def test_it_is_made_of_its_four_parts():
    bug = Bug(
        "3", ASKED.summary, 10, 20, [TREE], f"{ASKED.description} {frame('org.app.TableViewer')}"
    )
    made = context(FILES, [*OLD, bug], COMMITS)
    query, technique = ask(made, "3"), BLIA(made)
    text, similar = technique.text(query), technique.similar_reports.simi_scores(query)
    assert min(text.max(), similar.max()) > 0
    # the table is named, and imports the tree and the color
    trace = {TABLE: 1.0, TREE: 0.1, COLOR: 0.1}
    days = {TREE: 1, SOCKET: 2, TABLE: 8, COLOR: 8, COOKIE: 5}  # since the last fix
    wanted = []
    for path, words, alike in zip(
        query.version.snapshot.paths, min_max(text), min_max(similar), strict=True
    ):
        base = 0.8 * words + 0.2 * alike + trace.get(path, 0.0)
        wanted.append(0.8 * base + 0.2 / (1 + exp(12 * days[path] / 15)) if base > 0 else 0.0)
    assert technique.scores(query) == pytest.approx(np.array(wanted))
    assert (
        wanted[query.version.snapshot.paths.index(SOCKET)] == 0
    )  # a recent fix alone does not count
