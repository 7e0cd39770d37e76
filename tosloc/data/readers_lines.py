"""Our own format: one JSON object a line, ``{id, summary, description, opened, fix_commit, fixed}``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo

from tosloc.data.readers_parts import LabelledReport, json_of, source_files, string, time_of
from tosloc.errors import ReportError
from tosloc.records import BugReport


def line_reports(text: str, *, name: str, zone: tzinfo, suffixes: frozenset[str]) -> Iterator[LabelledReport]:
    """Labelled reports of the lines; blank lines are skipped, keys beyond ours ignored.

    ReportError, with the line's number, for malformed JSON and for a field that is missing or of another kind.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
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
                string(record, "id", where),
                string(record, "summary", where),
                string(record, "description", where),
                time_of(record["opened"], zone, where),
            ),
            string(record, "fix_commit", where) or None,
            source_files(fixed, suffixes),
            string(record, "status", where),
        )
