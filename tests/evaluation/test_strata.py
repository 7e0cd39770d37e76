"""Kinds of reports: which rows a table has, and what a test is."""

import pytest

from tosloc.evaluation import Judgement
from tosloc.evaluation.strata import STRATA, is_test_path, known_strata
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


@pytest.mark.parametrize(
    "path",
    [
        "test/org/apache/catalina/connector/TestRequest.java",
        "modules/jdbc-pool/src/test/java/org/apache/tomcat/jdbc/test/Bug50571.java",
        "tests/org.eclipse.swt.tests/JUnit Tests/org/eclipse/swt/tests/junit/Test_org_eclipse_swt_widgets_Text.java",
        "org.eclipse.jdt.ui.tests.refactoring/resources/RenameType/A.java",
        "org.eclipse.jdt.ui.tests/test plugin/org/eclipse/jdt/testplugin/JavaProjectHelper.java",
        "chart/org.eclipse.birt.chart.tests/src/org/eclipse/birt/chart/AllTests.java",
        "pkg/server_test.go",
        "python/test_reader.py",
        "lib/reader.test.js",
    ],
)
def test_tests(path: str) -> None:
    assert is_test_path(path)


@pytest.mark.parametrize(
    "path",
    [
        "org.eclipse.jdt.junit/src/org/eclipse/jdt/internal/junit/ui/TestRunnerViewPart.java",
        "org.eclipse.jdt.ui.unittest.junit/src/org/eclipse/jdt/ui/unittest/junit/ui/RerunAction.java",
        "webapps/examples/WEB-INF/classes/checkbox/CheckTest.java",
        "java/org/apache/catalina/Contest.java",
        "latest/Attested.java",
    ],
)
def test_no_tests(path: str) -> None:
    assert not is_test_path(path)
