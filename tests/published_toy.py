"""A repository with fixes, and the spreadsheet of their reports with published ranks, as in the data of Ye et al."""

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
)
COLUMNS += ("commit_timestamp", "files")


def commit_fixes(repository):
    """Ids of four commits after a first one of three source files."""
    repository.commit({WIDGET_PATH: "1", "B.java": "1", "C.java": "1", "notes.txt": "1"}, "start")
    return [
        repository.commit({WIDGET_PATH: "2", "B.java": "2"}, "Bug 1"),
        repository.commit({WIDGET_PATH: "3", "New.java": "1"}, "Bug 2"),
        repository.commit({"B.java": "3"}, "Bug 3"),
        repository.commit({"Other.java": "1"}, "Bug 4"),
    ]


def write_spreadsheet(path, ids, results):
    """The reports of the four fixes; the last column, of published ranks, has no name."""
    files = [f"{WIDGET_PATH} B.java", f"{WIDGET_PATH} New.java", "B.java", "Other.java"]
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(COLUMNS)
    for number, (commit, listed, result) in enumerate(
        zip(ids, files, results, strict=True), start=1
    ):
        opened = datetime.fromtimestamp(FIRST_TIME + HOUR * number - 60, UTC).strftime(
            "%Y-%m-%d %H:%M:%S"
        )
        summary = f"Bug {number} Widget fails"
        sheet.append(
            [
                number,
                number,
                summary,
                "badly",
                opened,
                0,
                "resolved fixed",
                commit[:8],
                0,
                listed,
                result,
            ]
        )
    book.save(path)
    return path


PUBLISHED_RANKS = [None, f"2:{WIDGET_PATH} 9:New.java", "4:B.java", "1:Other.java"]
