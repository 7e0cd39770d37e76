"""Kinds of reports: which rows a table has, and what a test is."""

from tosloc.evaluate import Judgement
from tosloc.evaluate.tables import STRATA, known_strata
from tosloc.records import ReportAttributes


def judged(report: str, *fixed: str, attributes: ReportAttributes | None = None, gone: int = 0) -> Judgement:
    return Judgement(report, fixed, (*fixed, *(f"Gone{n}" for n in range(gone))), 100, attributes=attributes)


def members(judgements: list[Judgement]) -> dict[str, str]:
    return {
        stratum.name: "".join(one.report for one in judgements if stratum.holds(one))
        for stratum in known_strata(judgements)
    }


def test_strata_by_hand() -> None:
    judgements = [
        judged("a", "src/A.java", attributes=ReportAttributes(True, True, 1)),
        judged("b", "src/A.java", "test/TestA.java", attributes=ReportAttributes(True, False, 0)),
        judged("c", "test/TestA.java", "test/TestB.java", attributes=ReportAttributes(False, False, 2)),
        judged("d", gone=2, attributes=ReportAttributes(False, True, 0)),
        judged("e", *(f"src/{n}.java" for n in range(6)), attributes=ReportAttributes(True, False, 0)),
        judged("f", *(f"src/{n}.java" for n in range(5)), gone=1, attributes=ReportAttributes(True, False, 0)),
    ]
    assert members(judgements) == {
        "reachable only": "abcef",
        "left empty": "d",
        "1 fixed file": "a",
        "2 to 5 fixed files": "bcf",
        "6 or more fixed files": "e",
        "with a description": "abef",
        "without a description": "cd",
        "with a stack trace": "ad",
        "without a stack trace": "bcef",
        "already localized": "ac",
        "not localized": "bdef",
        "only test files fixed": "c",
    }
    assert list(members(judgements)) == [stratum.name for stratum in STRATA]


def test_what_is_not_known_of_every_report_is_left_out() -> None:
    known = judged("a", "A.java", attributes=ReportAttributes(True, True, 1))
    names = list(members([known, judged("b", "B.java")]))
    assert names == [*(stratum.name for stratum in STRATA[:5]), "only test files fixed"]
