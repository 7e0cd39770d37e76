"""BugLocator by hand: terms, similar reports, their fusion."""

from math import log, sqrt

import numpy as np
import pytest

from tests.lab.baselines.by_hand import Bug, ask, context, report, scores
from tosloc.lab.baselines.buglocator import BugLocator, SimilarReports, code_terms, report_stems
from tosloc.lab.baselines.texts import parse_source
from tosloc.lab.baselines.vsm import step_length_score
from tosloc.retrieval.bm25 import min_max

A, B, C = "src/A.java", "src/B.java", "src/C.java"
FILES = {
    A: "class A { void copper() { copper(silver, golden); } }",
    B: "class B { void silver() { silver(iron); iron(iron); zinc(zinc, zinc, zinc); } }",
    C: "class C { int iron; }",
}
SOURCE = """/* Licence. */ package org.app; import java.util.List;
/** Renders widgets, this one too. */
public class JUnitView { // a plain remark
    String viewPort = "Hello widgets"; void openURL(String[] args) { return; }
    static class Inner { void run() { } }
}
"""


def test_terms_of_a_report_and_of_code():
    bug = Bug("7", "Bug 7 - Parsers of getURL(2)", opened=1, description="this class isn't Working")
    # Java's keywords stay, parts of words are not cut
    assert report_stems(report(bug)) == ["parser", "geturl", "2", "class", "isn't", "work"]
    # javadoc, in which "this", "one" and "too" are stop words; J is one letter; names as they are
    terms = "render widget unit view view port hello widget open url inner run junitview inner openurl run"
    assert code_terms(parse_source(SOURCE)) == terms.split()


def test_similar_reports_by_hand():
    """SimiScore, docs/method.md, section B.3.4."""
    bugs = (
        Bug("1", "red green", opened=1, fixed_at=2, paths=[A, B]),
        Bug("2", "red red blue", opened=3, fixed_at=4, paths=[A, "gone/D.java"]),
        Bug("3", "white", opened=3, fixed_at=5, paths=[C]),
        Bug("asked", "red blue black", opened=10, fixed_at=20, paths=[C]),
        Bug("later", "black blue", opened=11, fixed_at=30, paths=[B]),
    )
    made = context(FILES, bugs)
    similar, query = SimilarReports(made.fix_history), ask(made, "asked")
    # N = 4, the three known reports and this one; red in 3, blue in 2, others in 1; "later" does not count
    red, blue, alone = log(4 / 3), log(2), log(4)
    own = sqrt(red**2 + blue**2 + alone**2)
    first = red * red / (own * sqrt(red**2 + alone**2))
    more = (log(2) + 1) * red
    second = (red * more + blue**2) / (own * sqrt(more**2 + blue**2))
    assert similar.similarities(query).tolist() == pytest.approx([first, second, 0.0, 0.0, 0.0])
    # the fix of 1 counts for both of its files, and the file of 2 that is gone takes its share
    assert similar.simi_scores(query).tolist() == pytest.approx(
        [first / 2 + second / 2, first / 2, 0.0]
    )


def test_rvsm_and_fusion_by_hand():
    """Sections B.3.3 and B.3.5."""
    bugs = (
        Bug("1", "Bug 1 broken latch", opened=1, fixed_at=2, paths=[B, C]),
        Bug("2", "Bug 2 silver latch", opened=5, fixed_at=9, paths=[A]),
        Bug("0", "Bug 0 squeaking", opened=1, fixed_at=3, paths=[A]),
    )
    technique = BugLocator(context(FILES, bugs))
    # a copper x3, silver, golden; b silver x3, iron x3, zinc x4; c iron; class names of one letter are only appended
    lengths = np.array([6.0, 11.0, 2.0])
    assert technique.counts.lengths.tolist() == lengths.tolist()
    # the query is "silver latch"; silver and iron stand in two of three files, latch in none
    silver, alone, thrice = log(3 / 2), log(3), log(3) + 1
    a = sqrt((thrice * alone) ** 2 + silver**2 + 2 * alone**2)
    b = sqrt(2 * (thrice * silver) ** 2 + ((log(4) + 1) * alone) ** 2 + alone**2)
    text = np.array([silver / a, thrice * silver / b, 0.0]) * step_length_score(lengths)
    assert technique.rvsm(ask(technique.context, "2")) == pytest.approx(text)
    similar = np.array([0.0, 1.0, 1.0])  # report 1 shares "latch" and was fixed in B and C
    assert list(scores(technique, "2").values()) == pytest.approx(
        (0.8 * min_max(text) + 0.2 * similar).tolist()
    )
