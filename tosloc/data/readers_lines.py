"""Our own format: one JSON object a line, ``{id, summary, description, opened, fix_commit, fixed}``."""

from __future__ import annotations

from collections.abc import Iterator

from tosloc.data.report_file import LabelledReport, ReportFile, json_of, source_files, text_field, time_of
from tosloc.errors import ReportError
from tosloc.records import BugReport


def line_reports(file: ReportFile) -> Iterator[LabelledReport]:
    """Labelled reports of the lines; blank lines are skipped, keys beyond ours ignored.

    ReportError, with the line's number, for malformed JSON and for a field that is missing or of another kind.
    """
    for number, line in enumerate(file.text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{file.name}, line {number}"
        record = json_of(line, where)
        if not isinstance(record, dict):
            raise ReportError(f"{where}: is no JSON object; write one object a line")
        missing = [key for key in ("id", "summary", "opened", "fixed") if record.get(key) in (None, "")]
        if missing:
            raise ReportError(f"{where}: lacks {', '.join(missing)}")
        fixed = record["fixed"]
        if not isinstance(fixed, list) or not all(isinstance(path, str) for path in fixed):
            raise ReportError(f"{where}: 'fixed' must be a list of paths")
        yield LabelledReport(
            BugReport(
                text_field(record, "id", where),
                text_field(record, "summary", where),
                text_field(record, "description", where),
                time_of(record["opened"], file.zone, where),
            ),
            text_field(record, "fix_commit", where) or None,
            source_files(fixed, file.suffixes),
            text_field(record, "status", where),
        )
