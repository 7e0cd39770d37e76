"""BLIA against slow versions of its formulas (docs/method.md, section B.7)."""

from collections import Counter
from math import exp, log, sqrt

import numpy as np
import pytest

from tests.lab.baselines.by_hand import Bug, make_context, make_query
from tests.lab.baselines.leaks import ASKED, COLOR, COMMITS, COOKIE, FILES, OLD, SOCKET, TABLE, TREE
from tosloc.lab.baselines.blia import BLIA
from tosloc.lab.baselines.vsm import step_length_score
from tosloc.retrieval.texts.bm25 import min_max

SMALL_FILES = {
    "A.java": """/** Shows trees.
 * @author Tree
 */ class TreeViewer { int level; void expandNode(int level) {} }""",
    "B.java": "/* Copyright tree */ class TableViewer { void paintNode() { int treeLevel; } }",
    "C.java": "class Socket { Object tree; // a tree, a node\n }",
}
PART_TERMS = [
    ["treeview tree viewer", "expandnod expand node", "level level", "show tree"],
    ["tableview tabl viewer", "paintnod paint node", "tree level", ""],
    ["socket", "", "tree", "tree node"],
]
"""Terms of class, method, variable and comment of each file."""
REPORT = Bug("1", "Bug 1 tree level", 1, 2, ["A.java"], "the tree node of the viewer, zzz")
REPORT_TERMS = [["tree", "level"], ["tree", "node", "viewer"]]
"""Terms of the summary and of the description."""


def slow_text_score(file):
    """Return VSM of section B.7.3 for a file, without the length score, word by word."""
    counts_by_file = [Counter(" ".join(parts).split()) for parts in PART_TERMS]
    report_counts = Counter([*REPORT_TERMS[0], *REPORT_TERMS[1]])

    def weigh(term, counts):
        containing = sum(term in file_counts for file_counts in counts_by_file)
        return (log(counts[term]) + 1) * log(len(PART_TERMS) / containing)

    def norm(terms, counts):
        return sqrt(sum(weigh(term, counts) ** 2 for term in terms))

    file_counts = counts_by_file[file]
    total = 0.0
    for part, part_weight in zip(PART_TERMS[file], (1.0, 1.0, 1.0, 0.5), strict=True):
        part_terms = set(part.split())
        part_norm = norm(part_terms, file_counts)
        if not part_norm:
            continue
        for text_terms in REPORT_TERMS:
            product = 0.0
            for term in part_terms.intersection(text_terms):
                product += weigh(term, report_counts) * weigh(term, file_counts)
            total += part_weight * product / part_norm / norm(text_terms, report_counts)
    return total


def test_text_score_equals_a_slow_one():
    context = make_context(SMALL_FILES, [REPORT])
    lengths = np.array([float(len(" ".join(parts).split())) for parts in PART_TERMS])
    slow_scores = np.array([slow_text_score(file) for file in range(3)])
    expected = step_length_score(lengths) * slow_scores
    assert BLIA(context).text(make_query(context, "1")) == pytest.approx(expected)


def frame(class_name, file=""):
    file_name = file or class_name.rpartition(".")[2] + ".java"
    return f"at {class_name}.run({file_name}:1) "


@pytest.fixture
def traced_context():
    """Return a project with a report that has a stack trace, and one that only mentions classes."""
    files = {f"src/p/{name}.java": f"package p; class {name} {{ }}" for name in "ABE"}
    files["src/p/C.java"] = "package p; import q.D; import p.A; import q.*; class C { }"
    files["src/q/D.java"] = "package q; class D { }"
    trace = frame("p.A") + frame("p.B$1", "B.java") + frame("p.A") + frame("p.C") + frame("java.E")
    bugs = [
        Bug("1", "it fails", 1, 2, ["src/p/A.java"], trace),
        Bug("2", "A and p.A fail", 1, 2),
    ]
    return make_context(files, bugs)


def test_trace_boosts_files_by_rank_and_their_imports(traced_context):
    # A, B, A and C have the ranks 1, 2 and 4. C imports D by name, and E only by a wild card; the
    # platform's java.E is not E.
    boost = BLIA(traced_context).trace(make_query(traced_context, "1")).tolist()
    assert boost == pytest.approx([1.0, 0.5, 0.25, 0.0, 0.1])


def test_report_without_a_trace_boosts_no_file(traced_context):
    assert not BLIA(traced_context).trace(make_query(traced_context, "2")).any()


def test_score_combines_text_similar_reports_trace_and_commits():
    description = f"{ASKED.description} {frame('org.app.TableViewer')}"
    bug = Bug("3", ASKED.summary, 10, 20, [TREE], description)
    context = make_context(FILES, [*OLD, bug], COMMITS)
    query = make_query(context, "3")
    technique = BLIA(context)
    text = technique.text(query)
    similar = technique.similar_reports.simi_scores(query)
    assert text.max() > 0
    assert similar.max() > 0
    # The table is in the trace, and imports the tree and the color.
    trace = {TABLE: 1.0, TREE: 0.1, COLOR: 0.1}
    days_since_fix = {TREE: 1, SOCKET: 2, TABLE: 8, COLOR: 8, COOKIE: 5}
    paths = query.version.snapshot.paths
    expected = []
    for path, text_score, similarity in zip(paths, min_max(text), min_max(similar), strict=True):
        base = 0.8 * text_score + 0.2 * similarity + trace.get(path, 0.0)
        commit_score = 1 / (1 + exp(12 * days_since_fix[path] / 15))
        expected.append(0.8 * base + 0.2 * commit_score if base > 0 else 0.0)
    assert technique.scores(query) == pytest.approx(np.array(expected))
    # A recent fix alone does not count.
    assert expected[paths.index(SOCKET)] == 0
