from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from math import exp, log, sqrt

import numpy as np
import pytest

from tests.lab.baselines.by_hand import Bug, Commit, ask, context
from tests.lab.baselines.leaks import ASKED, COLOR, COMMITS, COOKIE, FILES, OLD, SOCKET, TABLE, TREE
from tests.lab.baselines.techniques import build
from tosloc.index.bm25 import min_max
from tosloc.lab.baselines.blia import BLIATokenizer, listed_by_text
from tosloc.lab.baselines.brtracer import trace_scores
from tosloc.lab.baselines.vsm import step_length_score

blia = partial(build, "blia")


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


def slow_text(terms: Sequence[Sequence[Sequence[str]]], place: int, weight: str) -> float:
    """VSM of docs/method.md, section B.7.3, without the length score, word by word."""
    wholes = [Counter(term for part in file for term in part) for file in terms]

    def idf(term: str) -> float:
        return log(len(terms) / sum(term in whole for whole in wholes))

    def weigh(term: str, often: int) -> float:
        return (log(often) + 1) * idf(term)

    query = Counter([*SUMMARY, *DESCRIPTION])
    total = 0.0
    for number, part in enumerate(terms[place]):
        norm = sqrt(sum(weigh(term, wholes[place][term]) ** 2 for term in set(part)))
        for text in (SUMMARY, DESCRIPTION):
            length = sqrt(sum(weigh(term, query[term]) ** 2 for term in set(text)))
            product = 0.0
            for term in set(text) & set(part):
                source = weigh(term, wholes[place][term]) if weight == "tf_idf" else part.count(term) * idf(term) ** 2
                product += weigh(term, query[term]) * source
            total += (0.5 if number == 3 else 1.0) * (product / norm / length if norm and length else 0.0)
    return total


def test_stop_words_differ_between_reports_and_files() -> None:
    clean, upstream = BLIATokenizer(["main"]), BLIATokenizer(["main", "eclipse"])
    assert clean.report("new Eclipse main loop's the") == ["new", "eclips", "loop"]
    assert upstream.report("new Eclipse main loop") == ["new", "loop"]
    assert clean.names(["newLoop_old$3", "main"]) == ["newloop", "loop", "old", "3"]


@pytest.mark.parametrize("weight", ["tf_idf", "idf_idf"])
def test_text_against_a_slow_one(weight: str) -> None:
    made = context(SMALL, [REPORT])
    technique = blia(made, source_weight=weight)
    lengths = np.array([float(sum(map(len, file))) for file in TERMS])
    wanted = step_length_score(lengths) * [slow_text(TERMS, place, weight) for place in range(3)]
    assert technique.text(ask(made, "1")) == pytest.approx(wanted)


def test_golden_trace() -> None:
    assert list(trace_scores([[place] for place in range(12)]).values())[9:] == pytest.approx([0.1, 0.1, 0.1])
    # frames of other projects take places as well
    assert trace_scores([[], [3, 4]]) == {3: 0.5, 4: 0.5}


def frame(name: str, file: str = "") -> str:
    return f"at {name}.run({file or name.rpartition('.')[2] + '.java'}:1) "


def test_trace_of_a_report() -> None:
    files = {f"src/p/{name}.java": f"package p; class {name} {{ }}" for name in "ABE"}
    files["src/p/C.java"] = "package p; import q.D; import p.A; import q.*; class C { }"
    files["src/q/D.java"] = "package q; class D { }"
    trace = frame("p.A") + frame("p.B$1", "B.java") + frame("p.A") + frame("p.C")
    made = context(files, [Bug("1", "it fails", 1, 2, ["src/p/A.java"], trace)])
    query = ask(made, "1")
    # A, B, A, C: places 1, 2 and 4; D is imported by C; E is not, nor is the wild card followed
    assert blia(made).trace(query).tolist() == pytest.approx([1.0, 0.5, 0.25, 0.0, 0.1])
    assert blia(made, profile="upstream").trace(query).tolist() == pytest.approx([1.0, 0.5, 0.25, 0.0, 0.0])
    made = context(files, [Bug("1", "A and p.A fail", 1, 2, ["src/p/A.java"])])
    assert not blia(made).trace(ask(made, "1")).any()


def test_golden_candidates() -> None:
    values = np.repeat(np.arange(1.0, 41.0), 2)  # 40 distinct values above 0
    text = np.concatenate((np.zeros(20), values))
    kept = listed_by_text(text, 0.1)
    assert text[kept].tolist() == np.repeat(np.arange(31.0, 41.0), 2).tolist()
    assert listed_by_text(text, 0.5).tolist() == (text > 0).tolist()
    assert listed_by_text(text, 1.0).all()


def test_it_is_made_of_its_four_parts() -> None:
    bug = Bug("3", ASKED.summary, 10, 20, [TREE], f"{ASKED.description} {frame('org.app.TableViewer')}")
    made = context(FILES, [*OLD, bug], COMMITS)
    query = ask(made, "3")
    technique = blia(made)
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
    assert technique.left_out(answered) == 0


MANY = {
    f"F{number:02}.java": f"class F{number:02} {{ int {'apple ' if number < 2 else 'pear '}; }}" for number in range(20)
}


def test_a_cut_list_takes_files_of_similar_bugs_in_and_leaves_the_rest_out() -> None:
    bugs = [Bug("1", "plum", 1, 2, ["F19.java"]), Bug("2", "apple plum", 5, 9, ["F00.java"])]
    bugs += [Bug("3", "kiwi", 1, 1, ["F18.java"])]
    made = context(MANY, bugs, [Commit("c", 4, message="fix", touched=["F19.java", "F18.java"])])
    query = ask(made, "2")
    technique = blia(made, candidate_rate=0.1)
    paths = query.version.snapshot.paths
    answered = dict(zip(paths, technique.scores(query).tolist(), strict=True))
    listed = {path for path, score in answered.items() if score >= 0}
    assert listed == {"F00.java", "F01.java", "F19.java"}
    assert {answered[path] for path in paths if path not in listed} == {-1.0}
    assert technique.left_out(technique.scores(query)) == 17
    # within the list both go from 0 to 1: .8 x text for the first two, .2 x similar bugs for the other, and its commit
    assert answered["F00.java"] == answered["F01.java"] == pytest.approx(0.8 * 0.8)
    recent = 1 / (1 + exp(12 / 15)) + 1 / (1 + exp(36 / 15))  # "fix" at day 4, and the fix of bug 1 at day 2
    assert answered["F19.java"] == pytest.approx(0.8 * 0.2 + 0.2 * recent)
