"""A repository with four fixes, and a spreadsheet of their reports in the format of Ye et al."""

from datetime import UTC, datetime

import openpyxl

from tests.conftest import FIRST_TIME, HOUR

WIDGET_PATH = "bundles/Eclipse SWT/gtk/Widget.java"
COLUMNS = (
    "id",
    "bug_id",
    "summary",
    "description",
    "report_time",
    "report_timestamp",
    "status",
    "commit",
    "commit_timestamp",
    "files",
)
PUBLISHED_RANKS = [None, f"2:{WIDGET_PATH} 9:New.java", "4:B.java", "1:Other.java"]
"""Cells with the published ranks of the fixed files of each report."""


def commit_fixes(repository):
    """Commit three source files and then four fixes; return the ids of the fixes."""
    first = {WIDGET_PATH: "1", "B.java": "1", "C.java": "1", "notes.txt": "1"}
    repository.commit(first, "start")
    return [
        repository.commit({WIDGET_PATH: "2", "B.java": "2"}, "Bug 1"),
        repository.commit({WIDGET_PATH: "3", "New.java": "1"}, "Bug 2"),
        repository.commit({"B.java": "3"}, "Bug 3"),
        repository.commit({"Other.java": "1"}, "Bug 4"),
    ]


def write_spreadsheet(path, fixes, ranks):
    """Write the reports of the four fixes; the last column, of published ranks, has no name."""
    files = [f"{WIDGET_PATH} B.java", f"{WIDGET_PATH} New.java", "B.java", "Other.java"]
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(COLUMNS)
    rows = zip(fixes, files, ranks, strict=True)
    for number, (commit, fixed, published) in enumerate(rows, start=1):
        opened = datetime.fromtimestamp(FIRST_TIME + HOUR * number - 60, UTC)
        values = {
            "id": number,
            "bug_id": number,
            "summary": f"Bug {number} Widget fails",
            "description": "badly",
            "report_time": opened.strftime("%Y-%m-%d %H:%M:%S"),
            "report_timestamp": 0,
            "status": "resolved fixed",
            "commit": commit[:8],
            "commit_timestamp": 0,
            "files": fixed,
        }
        sheet.append([*(values[column] for column in COLUMNS), published])
    book.save(path)
    return path
