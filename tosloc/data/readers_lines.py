"""Our own format: one JSON object a line, ``{id, summary, description, opened, fix_commit, fixed}``.

In place of ``fix_commit`` it may name the ``version`` to search. What the fix changed within files may follow:
``functions`` ({path: [qualified name]}), ``methods`` ([{path, name, start}], lines after the fix) and ``changed_lines``
([[path, first, last]]).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tosloc.data.report_file import (
    ChangedFunction,
    Json,
    LabelledReport,
    ReportFile,
    clean,
    json_of,
    source_files,
    text_field,
    time_of,
)
from tosloc.errors import ReportError
from tosloc.records import BugReport

MOST_LINES: Final = 1 << 31
"""No file has a line of such a number."""


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
        fix, version = text_field(record, "fix_commit", where), text_field(record, "version", where)
        if fix and version:
            raise ReportError(f"{where}: names both a fix_commit and the version to search; keep one of them")
        yield LabelledReport(
            BugReport(
                text_field(record, "id", where),
                text_field(record, "summary", where),
                text_field(record, "description", where),
                time_of(record["opened"], file.zone, where),
            ),
            fix or None,
            source_files(fixed, file.suffixes),
            text_field(record, "status", where),
            version=version or None,
            functions=tuple(dict.fromkeys((*_functions(record, where), *_methods(record, where)))),
            changed_lines=tuple(_changed_lines(record, where)),
        )


def _functions(record: Json, where: str) -> Iterator[ChangedFunction]:
    by_path = record.get("functions")
    if by_path is None:
        return
    if not isinstance(by_path, dict):
        raise ReportError(f"{where}: 'functions' must be an object of paths with their lists of names")
    for path, names in by_path.items():
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ReportError(f"{where}: 'functions' must be an object of paths with their lists of names")
        yield from (ChangedFunction(clean(path), clean(name)) for name in names if name)


def _methods(record: Json, where: str) -> Iterator[ChangedFunction]:
    form = "objects with a path, a name and a first line"
    for method in _listed(record, "methods", form, where):
        match method:
            case {"path": str(path), "name": str(name), "start": int(start)} if _is_line(start):
                yield ChangedFunction(clean(path), clean(name), start)
            case _:
                raise _no_list("methods", form, where)


def _changed_lines(record: Json, where: str) -> Iterator[tuple[str, int, int]]:
    form = "[path, first, last]"
    for one in _listed(record, "changed_lines", form, where):
        match one:
            case [str(path), int(first), int(last)] if _is_line(first) and _is_line(last) and first <= last:
                yield clean(path), first, last
            case _:
                raise _no_list("changed_lines", form, where)


def _listed(record: Json, key: str, form: str, where: str) -> list[Any]:
    """The list at ``key``, empty where there is none. Raises ReportError for anything else."""
    listed = record.get(key)
    if not isinstance(listed, list | None):
        raise _no_list(key, form, where)
    return listed or []


def _no_list(key: str, form: str, where: str) -> ReportError:
    return ReportError(f"{where}: {key!r} must be a list of {form}")


def _is_line(number: int) -> bool:
    return not isinstance(number, bool) and 1 <= number < MOST_LINES
