"""Read files of labelled reports.

The files are the published tables of Ye et al. (FSE 2014), BugLocator's XML, or our own JSON lines.
The content shows the format; the name does not matter. Each reader yields records with the keys of
our own JSON lines.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, Final, NamedTuple

from tosloc.core.errors import ReportError
from tosloc.core.inputs import clean, decoded, read_bytes, time_of, zone_of
from tosloc.core.reports import BugReport
from tosloc.reports.published_tables import cell_text, spreadsheet_rows, xml_rows
from tosloc.reports.trackers import OUR_LINES, Json, Record

_MAX_LINES: Final = 1 << 31
"""Upper limit of the numbers of lines in a file."""
_COMMIT_ID: Final = re.compile(r"[0-9a-f]{7,64}")
_RANK: Final = re.compile(r"(?s)(?:\A|(?<=\s))([0-9]{1,9}):(.*?)(?=\s[0-9]{1,9}:|\Z)")


class ChangedFunction(NamedTuple):
    """A function that a fix changed, as the data name it."""

    path: str
    name: str
    start: int = 0
    """First line of the function after the fix.

    It is 0 if the data do not contain it; then ``name`` is the qualified name before the fix.
    """


@dataclass(frozen=True)
class LabelledReport:
    """A bug report with its fix, as a file lists them, before any check in a repository."""

    report: BugReport
    """The report. Its id is the tracker's number.

    If a number is listed again with another commit, the id becomes ``55937#2``, and so on."""
    bug: str
    """The tracker's number."""
    commit: str | None
    """The fixing commit as listed, full or abbreviated; None if the data do not name one.

    With ``names_version`` it is the version to search.
    """
    names_version: bool
    """Whether the data name the version to search instead of the fix."""
    listed: tuple[str, ...]
    """The fixed source files as listed, in order, without repetitions.

    They are paths, or dotted class names (``org.x.Y.java``).
    """
    published_ranks: Mapping[str, int]
    """Path -> rank that the authors of the data published; empty if they published none."""
    fixed_on: datetime | None
    """Time of the fix in the tracker; None for formats that name commits."""
    functions: tuple[ChangedFunction, ...]
    """Functions that the fix changed, without repetitions."""
    weak: bool = False
    """Whether a commit message takes the place of the report, as ``tosloc mine`` marks it."""
    introduced_by: tuple[str, ...] = ()
    """Ids of the commits that introduced the bug, if its fix declares them."""
    changed_lines: tuple[tuple[str, int, int], ...] = ()
    """Path, first and last line of each part that the fix changed, if the data list them.

    Only data that name a version list them.
    """


def read_reports(
    path: str | Path, zone: str = "UTC", *, suffixes: Iterable[str] = (".java",)
) -> list[LabelledReport]:
    """Return the labelled reports of a file, in its order, with unique ids.

    The file is a spreadsheet (.xlsx) or phpMyAdmin export of the published data, the XML of
    BugLocator and Bench4BL, or JSON lines: ``{id, summary, description, opened, fix_commit,
    fixed}``. Times without a zone are read in ``zone``. Listed files that end with none of
    ``suffixes`` are left out.

    Raises ReportError if the file cannot be read, has an unknown format, is damaged, or lists no
    source file at all. Raises ConfigError for an unknown zone.
    """
    name = str(path)
    ends = frozenset(suffixes)
    data = read_bytes(Path(path), name)
    read_in = zone_of(zone)
    beginning = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if beginning.startswith(b"PK"):
        records = _of_rows(spreadsheet_rows(data, name), ends)
    elif beginning.startswith((b"<", b"\xff\xfe<", b"\xfe\xff\0<")):
        records = _of_rows(xml_rows(data, name), ends)
    elif beginning.startswith(b"{"):
        records = Record.read_all(decoded(data, name), name)
    else:
        raise ReportError(
            f"{name}: this is not a file of labelled reports; expected .xlsx (not .xls),"
            " phpMyAdmin or BugLocator XML, or JSON lines"
        )
    commits: defaultdict[str, set[str | None]] = defaultdict(set)
    kept: dict[str, LabelledReport] = {}
    for record in records:
        report = _labelled(record, read_in, ends)
        again = len(commits[report.bug])
        commits[report.bug].add(report.commit)
        if again:
            report = replace(report, report=replace(report.report, id=f"{report.bug}#{again + 1}"))
        if len(commits[report.bug]) == again or report.report.id in kept:
            raise ReportError(
                f"{record.where}: report {report.bug} is listed twice, with the same commit or"
                " without one; keep one of them"
            )
        kept[report.report.id] = report
    if not kept:
        raise ReportError(f"{name} contains no report in a known format")
    if not any(report.listed for report in kept.values()):
        first_suffixes = ", ".join(sorted(ends)[:9])
        raise ReportError(
            f"{name}: no listed file has one of the {len(ends)} searched suffixes"
            f" ({first_suffixes}); set suffixes in [data] to those of the project"
        )
    return list(kept.values())


def _of_rows(rows: Iterable[tuple[str, Json]], suffixes: Iterable[str]) -> Iterator[Record]:
    """Yield rows as records, without a leading ``Bug 123456`` of the row's bug in the summary."""
    for where, row in rows:
        texts = defaultdict(str, {key: cell_text(value) for key, value in row.items()})
        bug = texts["bug_id"]
        record = {
            "id": bug,
            "summary": _without_number(texts["summary"], bug),
            "description": texts["description"],
            "opened": row.get("report_time"),
            "fix_commit": texts["commit"],
            "fixed": list(split_paths(texts["files"], suffixes)),
            "fixed_on": texts["fixed_on"],
            "published_ranks": texts["result"],
        }
        yield Record(record, where)


def _without_number(summary: str, bug: str) -> str:
    """Return a summary without a leading ``Bug 123456:`` or ``Bug 123456 -`` that names ``bug``.

    >>> [_without_number(f"Bug {start} Crash", "12") for start in ("12:", "12 -", "12")]
    ['Crash', 'Crash', 'Crash']
    >>> [_without_number(f"Bug {start} Crash", "12") for start in ("123", "12a")]
    ['Bug 123 Crash', 'Bug 12a Crash']
    """
    start = f"Bug {bug}"
    if not summary.startswith(start):
        return summary
    rest = summary[len(start) :]
    marked = rest.lstrip()
    if marked[:1] in (":", "-"):
        after = marked[1:]
        if not after or after[0].isspace():
            return after.lstrip()
    if not rest or rest[0].isspace():
        return marked
    return summary


def split_paths(text: str, suffixes: Iterable[str]) -> tuple[str, ...]:
    """Return the paths in a cell, in order, without repetitions.

    They end with a source suffix, in either case, and may contain blanks. Text without such a
    suffix (a path cut at the end of its cell, a file other than source) is left out.

    >>> split_paths("a/Eclipse SWT/B.java c/D.java", [".java"])
    ('a/Eclipse SWT/B.java', 'c/D.java')
    """
    choices = "|".join(map(re.escape, sorted(suffixes)))
    end = re.compile(rf"(?:{choices})(?=\s|$)", re.IGNORECASE)
    paths = []
    for line in text.splitlines():
        start = 0
        for suffix in end.finditer(line):
            path = line[start : suffix.end()].lstrip()
            if path != suffix[0]:  # A path may begin with a suffix.
                paths.append(path)
                start = suffix.end()
    return tuple(dict.fromkeys(paths))


def split_ranks(text: str) -> dict[str, int]:
    """Return path -> rank from ``rank:path rank:path``.

    Paths may contain blanks; for a repeated path the best rank counts.

    >>> split_ranks("2:a/Eclipse SWT/B.java 13:c/D.java")
    {'a/Eclipse SWT/B.java': 2, 'c/D.java': 13}
    """
    ranks: dict[str, int] = {}
    for rank, path in _RANK.findall(text):
        if path := path.strip():
            ranks[path] = min(int(rank), ranks.get(path, int(rank)))
    return ranks


def _labelled(record: Record, zone: tzinfo, suffixes: Iterable[str]) -> LabelledReport:
    """Return the labelled report in a record; unknown keys are ignored.

    Instead of ``fix_commit``, a record may name the ``version`` to search. It may list functions
    that the fix changed, as ``functions`` ({path: [qualified name]}) and ``methods`` ([{path, name,
    start}], with lines after the fix). It may also list ``changed_lines`` ([[path, first, last]],
    before the fix).
    """
    fields = record.fields
    where = record.where
    missing = [key for key in ("id", "opened", "fixed") if fields.get(key) in (None, "")]
    if missing:
        raise ReportError(f"{where}: this report lacks {', '.join(missing)}")
    fix = record.text("fix_commit")
    version = record.text("version")
    fixed_on = record.text("fixed_on")
    ranks = record.text("published_ranks")
    if fix and version:
        raise ReportError(
            f"{where}: this report names both a fix_commit and a version to search; keep one of"
            " them"
        )
    fixed: Any = fields["fixed"]
    changed = _changed_functions(fields, fixed, where)
    ends = tuple(suffix.lower() for suffix in suffixes)
    listed = tuple(dict.fromkeys(path for path in fixed if path.lower().endswith(ends)))
    report = record.report(zone, OUR_LINES)
    return LabelledReport(
        report=report,
        bug=report.id,
        commit=fix or version or None,
        names_version=bool(version),
        listed=listed,
        published_ranks=split_ranks(ranks),
        fixed_on=time_of(fixed_on, zone, where) if fixed_on else None,
        functions=tuple(dict.fromkeys(changed)),
        weak=fields.get("weak") is True,
        introduced_by=_introducing_commits(fields, where),
        changed_lines=tuple(_changed_lines(fields, where)),
    )


def _introducing_commits(record: Json, where: str) -> tuple[str, ...]:
    """Return the ids of commits that introduced the bug of a record, maybe abbreviated.

    Raises ReportError if the record has values of another form.
    """
    commits: Any = record.get("introduced_by") or []
    if not isinstance(commits, list) or not all(map(_is_commit_id, commits)):
        raise ReportError(f"{where}: 'introduced_by' must be a list of ids of commits")
    return tuple(dict.fromkeys(commits))


def _changed_lines(record: Json, where: str) -> Iterator[tuple[str, int, int]]:
    """Yield path, first and last line of each part that the fix of a record changed.

    Raises ReportError if the record has values of another form.
    """
    spans: Any = record.get("changed_lines") or []
    for span in spans if isinstance(spans, list) else [None]:
        match span:
            case [str(path), int(first), int(last)] if 1 <= first <= last < _MAX_LINES:
                yield clean(path), first, last
            case _:
                raise ReportError(
                    f"{where}: 'changed_lines' must be a list of [path, first line, last line]"
                )


def _is_commit_id(value: object) -> bool:
    return isinstance(value, str) and _COMMIT_ID.fullmatch(value) is not None


def _changed_functions(record: Json, fixed: Any, where: str) -> list[ChangedFunction]:
    """Return the functions that the fix of a record changed.

    Raises ReportError for functions, methods or ``fixed`` files of another form.
    """
    functions = record.get("functions") or {}
    methods = record.get("methods") or []
    names_by_path: dict[str, Any] = functions if isinstance(functions, dict) else {"": None}
    for texts in (fixed, *names_by_path.values()):
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ReportError(
                f"{where}: 'fixed' must be a list of paths, 'functions' an object of lists of names"
            )
    changed: list[ChangedFunction] = []
    for path, names in names_by_path.items():
        changed.extend(ChangedFunction(clean(path), clean(name)) for name in names if name)
    for method in methods if isinstance(methods, list) else [None]:
        match method:
            case {"path": str(path), "name": str(name), "start": int(start)} if (
                start is not True and 1 <= start < _MAX_LINES
            ):
                changed.append(ChangedFunction(clean(path), clean(name), start))
            case _:
                raise ReportError(
                    f"{where}: 'methods' must be a list of objects with a path, a name and a"
                    " first line"
                )
    return changed
