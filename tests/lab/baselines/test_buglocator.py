"""BugLocator by hand: terms, similar reports and their fusion."""

from math import log, sqrt

import numpy as np
import pytest

from tests.lab.baselines.by_hand import Bug, bug_report, make_context, make_query, score_files
from tosloc.code.parsed_source import parse_source
from tosloc.lab.baselines.buglocator import BugLocator, SimilarReports, code_terms, report_stems
from tosloc.lab.baselines.vsm import step_length_score
from tosloc.retrieval.texts.bm25 import min_max

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


def test_report_terms_keep_keywords_and_unsplit_words():
    bug = Bug("7", "Bug 7 - Parsers of getURL(2)", opened=1, description="this class isn't Working")
    assert report_stems(bug_report(bug)) == ["parser", "geturl", "2", "class", "isn't", "work"]


def test_code_terms_are_word_parts_then_unsplit_names():
    # In the javadoc "this", "one" and "too" are stop words; J is a single letter.
    words = "render widget unit view view port hello widget open url inner run"
    names = "junitview inner openurl run"
    assert code_terms(parse_source(SOURCE)) == [*words.split(), *names.split()]


def test_similar_reports_by_hand():
    """SimiScore, docs/method.md, section B.3.4."""
    bugs = (
        Bug("1", "red green", opened=1, fixed_at=2, paths=[A, B]),
        Bug("2", "red red blue", opened=3, fixed_at=4, paths=[A, "gone/D.java"]),
        Bug("3", "white", opened=3, fixed_at=5, paths=[C]),
        Bug("asked", "red blue black", opened=10, fixed_at=20, paths=[C]),
        Bug("later", "black blue", opened=11, fixed_at=30, paths=[B]),
    )
    context = make_context(FILES, bugs)
    similar_reports = SimilarReports(context.fix_history)
    query = make_query(context, "asked")
    # N = 4, the three known reports and the asked one: red is in 3, blue in 2, each other word in
    # 1. The report "later" does not count.
    idf_red, idf_blue, idf_one = log(4 / 3), log(2), log(4)
    query_norm = sqrt(idf_red**2 + idf_blue**2 + idf_one**2)
    first = idf_red * idf_red / (query_norm * sqrt(idf_red**2 + idf_one**2))
    twice_red = (log(2) + 1) * idf_red
    second_norm = sqrt(twice_red**2 + idf_blue**2)
    second = (idf_red * twice_red + idf_blue**2) / (query_norm * second_norm)
    similarities = similar_reports.similarities(query).tolist()
    assert similarities == pytest.approx([first, second, 0.0, 0.0, 0.0])
    # The fix of 1 counts for both of its files; the file of 2 that is gone takes its share.
    simi_scores = similar_reports.simi_scores(query).tolist()
    assert simi_scores == pytest.approx([first / 2 + second / 2, first / 2, 0.0])


def test_rvsm_and_fusion_by_hand():
    """Sections B.3.3 and B.3.5."""
    bugs = (
        Bug("1", "Bug 1 broken latch", opened=1, fixed_at=2, paths=[B, C]),
        Bug("2", "Bug 2 silver latch", opened=5, fixed_at=9, paths=[A]),
        Bug("0", "Bug 0 squeaking", opened=1, fixed_at=3, paths=[A]),
    )
    technique = BugLocator(make_context(FILES, bugs))
    # A has copper x3, silver, golden; B silver x3, iron x3, zinc x4; C iron. Class names of one
    # letter count only as names.
    lengths = np.array([6.0, 11.0, 2.0])
    assert technique.counts.lengths.tolist() == lengths.tolist()
    # The query is "silver latch". Silver and iron are in two of three files, latch in none.
    idf_silver, idf_one, tf_three = log(3 / 2), log(3), log(3) + 1
    norm_a = sqrt((tf_three * idf_one) ** 2 + idf_silver**2 + 2 * idf_one**2)
    norm_b = sqrt(2 * (tf_three * idf_silver) ** 2 + ((log(4) + 1) * idf_one) ** 2 + idf_one**2)
    cosines = np.array([idf_silver / norm_a, tf_three * idf_silver / norm_b, 0.0])
    text = cosines * step_length_score(lengths)
    assert technique.rvsm(make_query(technique.context, "2")) == pytest.approx(text)
    # Report 1, which was fixed in B and C, shares "latch".
    similar = np.array([0.0, 1.0, 1.0])
    expected = (0.8 * min_max(text) + 0.2 * similar).tolist()
    assert list(score_files(technique, "2").values()) == pytest.approx(expected)
