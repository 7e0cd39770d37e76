"""BugLocator by hand: terms, lengths, similar reports, their fusion; and what it must not know."""

from __future__ import annotations

from functools import partial
from math import log, sqrt

import numpy as np
import pytest

from tests.lab.baselines import leaks
from tests.lab.baselines.by_hand import Bug, ask, case, context, report, scores
from tests.lab.baselines.techniques import build
from tosloc.index.bm25 import min_max
from tosloc.lab.baselines.buglocator import (
    SimilarReports,
    TextSettings,
    Weighting,
    code_terms,
    report_stems,
)
from tosloc.lab.baselines.parsed_source import parse_source
from tosloc.lab.baselines.vsm import plain_length_score, step_length_score

A, B, C = "src/A.java", "src/B.java", "src/C.java"
FILES = {
    A: "class A { void copper() { copper(silver, golden); } }",
    B: "class B { void silver() { silver(iron); iron(iron); zinc(zinc, zinc, zinc); } }",
    C: "class C { int iron; }",
}


buglocator = partial(build, "buglocator")


class TestTerms:
    """Section B.3.2."""

    def test_of_a_report(self) -> None:
        bug = Bug("7", "Bug 7 - Parsers of getURL(2)", opened=1, description="this class isn't Working")
        # Java's keywords stay, parts of words are not cut
        assert report_stems(report(bug)) == ["parser", "geturl", "2", "class", "isn't", "work"]

    SOURCE = """/* Licence. */ package org.app; import java.util.List;
/** Renders widgets, this one too. */
public class JUnitView { // a plain remark
    String viewPort = "Hello widgets"; void openURL(String[] args) { return; }
    static class Inner { void run() { } }
}
"""

    def test_of_code(self) -> None:
        assert code_terms(parse_source(self.SOURCE), TextSettings()) == [
            *("render", "widget"),  # javadoc; "this", "one" and "too" are stop words
            *("unit", "view", "view", "port", "hello", "widget", "open", "url", "inner", "run"),  # J is one letter
            *("junitview", "inner", "openurl", "run"),
        ]


def test_golden_length_score() -> None:
    lengths = np.array([10.0, 20.0, 40.0, 80.0, 200.0])
    assert plain_length_score(lengths).round(6).tolist() == [0.5, 0.513155, 0.539392, 0.591077, 0.731059]
    assert plain_length_score(np.array([4.0, 4.0])).tolist() == [0.5, 0.5]


class TestReports:
    """SimiScore, docs/method.md, section B.3.4."""

    BUGS = (
        Bug("1", "red green", opened=1, fixed_at=2, paths=[A, B]),
        Bug("2", "red red blue", opened=3, fixed_at=4, paths=[A, "gone/D.java"]),
        Bug("3", "white", opened=3, fixed_at=5, paths=[C]),
        Bug("asked", "red blue black", opened=10, fixed_at=20, paths=[C]),
        Bug("later", "black blue", opened=11, fixed_at=30, paths=[B]),
    )

    @staticmethod
    def made(weighting: Weighting = "published") -> SimilarReports:
        return SimilarReports(context(FILES, TestReports.BUGS).fix_history, report_stems, weighting)

    def similarities(self, reports: SimilarReports, bug: str = "asked") -> dict[str, float]:
        past = ask(context(FILES, self.BUGS), bug).history
        found = reports.similarities(case(context(FILES, self.BUGS), bug).report, past).tolist()
        return {one.report.id: value for one, value in zip(reports.fix_history.cases, found, strict=True)}

    def test_published_weights_by_hand(self) -> None:
        # N = 4, the three known reports and this one; red in 3, blue in 2, others in 1; "later" does not count
        red, blue, black, green = log(4 / 3), log(2), log(4), log(4)
        own = sqrt(red**2 + blue**2 + black**2)
        first = red * red / (own * sqrt(red**2 + green**2))
        more = (log(2) + 1) * red
        second = (red * more + blue**2) / (own * sqrt(more**2 + blue**2))
        expected = {"1": first, "2": second, "3": 0.0, "asked": 0.0, "later": 0.0}
        assert self.similarities(self.made()) == pytest.approx(expected)

    def test_wvtool_weights_by_hand(self) -> None:
        # R = 5 reports, the later one too: red in 3, blue in 3, black in 2, green in 1
        red, blue, black, green = log(5 / 3), log(5 / 3), log(5 / 2), log(5)
        own = sqrt(red**2 + blue**2 + black**2)
        first = red**2 / (own * sqrt(red**2 + green**2))
        second = (2 * red**2 + blue**2) / (own * sqrt((2 * red) ** 2 + blue**2))
        expected = {"1": first, "2": second, "3": 0.0, "asked": 0.0, "later": 0.0}
        assert self.similarities(self.made("wvtool")) == pytest.approx(expected)

    def test_a_fix_counts_once_for_all_its_files_and_gone_ones_take_their_share(self) -> None:
        reports = self.made()
        similar = self.similarities(reports)
        found = reports.simi_scores(ask(context(FILES, self.BUGS), "asked")).tolist()
        assert found == pytest.approx([similar["1"] / 2 + similar["2"] / 2, similar["1"] / 2, 0.0])


class TestScores:
    """rVSM and the fusion, docs/method.md, sections B.3.3 and B.3.5."""

    BUGS = (
        Bug("1", "Bug 1 broken latch", opened=1, fixed_at=2, paths=[B, C]),
        Bug("2", "Bug 2 silver latch", opened=5, fixed_at=9, paths=[A]),
        Bug("0", "Bug 0 squeaking", opened=1, fixed_at=3, paths=[A]),
    )
    # a copper x3, silver, golden; b silver x3, iron x3, zinc x4; c iron; class names of one letter are only appended
    LENGTHS = (6.0, 11.0, 2.0)

    def rvsm(self) -> list[float]:
        """By hand: the query is "silver latch"; silver stands in A and B of three files, latch in none."""
        silver, iron = log(3 / 2), log(3 / 2)
        alone = log(3)

        def norm(*weights: float) -> float:
            return sqrt(sum(weight**2 for weight in weights))

        a = norm((log(3) + 1) * alone, silver, alone, alone)  # copper x3, silver, golden, the name a
        b = norm((log(3) + 1) * silver, (log(3) + 1) * iron, (log(4) + 1) * alone, alone)
        return [silver / a, (log(3) + 1) * silver / b, 0.0]

    @pytest.mark.parametrize("length", ["minmax", "three_sigma"])
    def test_rvsm_by_hand(self, length: str) -> None:
        made = context(FILES, self.BUGS)
        technique = buglocator(made, length=length)
        assert technique.counts.lengths.tolist() == list(self.LENGTHS)
        lengths = np.array(self.LENGTHS)
        worth = {"minmax": plain_length_score(lengths), "three_sigma": step_length_score(lengths)}[length]
        assert technique.rvsm(ask(made, "2")).tolist() == pytest.approx((np.array(self.rvsm()) * worth).tolist())

    def test_fusion_by_hand(self) -> None:
        made = context(FILES, self.BUGS)
        text = min_max(np.array(self.rvsm()) * plain_length_score(np.array(self.LENGTHS)))
        similar = np.array([0.0, 1.0, 1.0])  # report 1 shares "latch" and was fixed in B and C
        for alpha in (0.0, 0.2, 1.0):
            found = list(scores(buglocator(made, alpha=alpha, length="minmax"), "2").values())
            assert found == pytest.approx(((1 - alpha) * text + alpha * similar).tolist())


def test_the_past_matters() -> None:
    assert leaks.answer(buglocator) != leaks.answer(buglocator, [leaks.ASKED])
