"""Read new bug reports: text, Markdown, the JSON of a tracker, or what machines write of failures.

Each tracker is a row of ``TRACKERS``, each format of failures one of ``failures.table.FORMATS``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Final, Literal, NamedTuple, TextIO

from tosloc.core.errors import ReportError, pluralize
from tosloc.core.inputs import Json, clean, read_text, time_of, zone_of
from tosloc.core.reports import BugReport
from tosloc.reports.failures.table import read_failures
from tosloc.reports.markdown import parse_markdown
from tosloc.reports.text.forms import bare_title, is_pointer
from tosloc.reports.text.markup import COMMENT, without_pictures
from tosloc.reports.text.parts import split_report_text

LARGEST_REPORT: Final = 10_000_000
"""Characters from which on a report is refused: it is a log or a dump, not a description."""


class Tracker(NamedTuple):
    """How a tracker writes an issue as JSON.

    Fields are dotted keys with blanks between them; the first key with a value counts.
    """

    name: str
    mark: str
    """A key that its issues have, and that those of the trackers below it lack."""
    opened: str
    closed: str
    id: str = "id"
    summary: str = "summary"
    description: str = "description"
    state: str = "state"
    """Keys of a value that is true or "open" if the issue is open.

    Without a value the issue is open, too, except for ``state``, which exports of closed issues
    lack. For a tracker that only tells the time of closing, give the key of this time.
    """
    resolution: str = ""
    """Keys of how the issue was closed."""
    labels: str = "labels"
    """Keys of labels and kinds; all of them count."""
    url: str = ""
    link: str = ""
    r"""Pattern of its addresses in a text; the id, \d{1,9}, is in a group with its own name."""


_PAGES: Final = r"""
    https?://[^\s/]{1,200}/(?P<project>[\w.-]{1,100}(?:/[\w.-]{1,100}){1,20}?)/(?:-/)?
    (?P<page>issues|pull|merge_requests)/(?P<url>\d{1,9})\b(?P<comment>\#issuecomment|\#note_)?"""
OUR_LINES: Final = Tracker(
    name="lines",
    mark="summary",
    opened="opened",
    closed="closed closedAt closed_at",
    resolution="stateReason state_reason",
    url="html_url web_url url",
)
TRACKERS: Final = (
    Tracker(
        name="Jira",
        mark="fields",
        opened="fields.created",
        closed="fields.resolutiondate",
        id="key id",
        summary="fields.summary",
        description="fields.description",
        state="fields.resolution",
        resolution="fields.resolution.name fields.status.name",
        labels="fields.issuetype fields.labels",
        link=r"https?://\S{1,200}?/browse/(?P<browse>[a-z][a-z0-9_]{0,30}-[1-9]\d{0,8})\b",
    ),
    Tracker(
        "GitLab",
        "iid",
        "created_at",
        "closed_at",
        id="iid",
        summary="title",
        url="web_url",
        link=_PAGES,
    ),
    Tracker(
        name="GitHub",
        mark="title",
        opened="createdAt created_at",
        closed="closedAt closed_at",
        id="number url html_url",
        summary="title",
        description="body",  # comments came later
        resolution="stateReason state_reason",
        url="html_url url",
        link=_PAGES,
    ),
    Tracker(
        name="Bugzilla",
        mark="creation_time",
        opened="creation_time",
        closed="cf_last_resolved",
        description="description comments.0.text",
        state="is_open resolution",
        resolution="resolution",
        labels="type severity",
        link=r"https?://\S{1,200}?show_bug\.cgi\?id=(?P<tracker>\d{1,9})\b",
    ),
    OUR_LINES,
)


# ---- one issue of a tracker


def tracker_of(record: Json, where: str) -> Tracker:
    """Return the tracker of an issue. Raises ReportError if no tracker writes such an issue."""
    for tracker in TRACKERS:
        if tracker.mark in record:
            return tracker
    keys = ", ".join(list(record)[:6]) or "none"
    names = ", ".join(tracker.name for tracker in TRACKERS if tracker is not OUR_LINES)
    raise ReportError(
        f"{where}: unknown kind of JSON (keys: {keys}); expected an issue of {names}, such as"
        ' `gh issue view --json title,body,createdAt` prints, or {"summary": ...}'
    )


def report_of(
    record: Json, where: str, zone: tzinfo = UTC, tracker: Tracker | None = None
) -> BugReport:
    """Return the report of an issue; its id is empty if the issue has none. Raises ReportError."""
    tracker = tracker or tracker_of(record, where)
    number = text_at(record, tracker.id, where)
    summary = text_at(record, tracker.summary, where)
    document = value_at(record, tracker.description)
    opened = value_at(record, tracker.opened)
    if isinstance(document, dict):
        try:
            description = re.sub(r"\n{3,}", "\n\n", clean(_document_text(document))).strip()
        except RecursionError:
            raise ReportError(f"{where}: its description is nested too deeply") from None
    else:
        description = text_at(record, tracker.description, where)
    if number.startswith(("http:", "https:")):
        number = number.rstrip("/").rpartition("/")[2]
    opening_time = None if opened is None else time_of(opened, zone, where)
    return BugReport(number, summary, description, opening_time)


def value_at(record: object, keys: str) -> object:
    """Return the value at the first of some dotted keys that has one; None if none has."""
    for key in keys.split():
        value = record
        for part in key.split("."):
            if isinstance(value, list) and part.isdigit():
                value = value[int(part)] if int(part) < len(value) else None
            else:
                value = value.get(part) if isinstance(value, dict) else None
        if value not in (None, ""):
            return value
    return None


def text_at(record: object, keys: str, where: str) -> str:
    """Return the text at the first of some dotted keys that has a value.

    A number becomes digits. Raises ReportError if the value is no text.
    """
    value = value_at(record, keys)
    if isinstance(value, bool) or not isinstance(value, str | int | float | None):
        raise ReportError(f"{where}: {keys.split()[0]!r} must be text, not {type(value).__name__}")
    return "" if value is None else clean(str(value)).strip()


_BLOCKS: Final = frozenset(
    """
    paragraph heading codeBlock blockquote listItem panel rule tableRow taskItem decisionItem expand
    hardBreak
    """.split()
)
"""Nodes of an Atlassian document that end a line."""


def _document_text(node: object) -> str:
    """Return the text of an Atlassian document (ADF), with a line for each block.

    Raises RecursionError.
    """
    if not isinstance(node, dict):
        return ""
    own = value_at(node, "text attrs.text attrs.url")
    text = own if isinstance(own, str) else ""
    content = node.get("content")
    if isinstance(content, list):
        text += "".join(map(_document_text, content))
    ends_line = str(node.get("type")) in _BLOCKS
    return text + "\n" if ends_line else text


def records_of(text: str, name: str) -> Iterator[tuple[str, Json]]:
    """Yield all objects of a text of JSON, each with its place for errors.

    They may be in a list, in the answer to a search, a line each, or in one answer after the other.
    Raises ReportError.
    """
    decoder = json.JSONDecoder()
    begin = re.compile(r"[^\s,\ufeff]")
    text = text.rstrip("\ufeff \t\n,")
    end = 0
    number = 0
    while match := begin.search(text, end):
        try:
            value, end = decoder.raw_decode(text, match.start())
        except json.JSONDecodeError as error:
            where = f"line {error.lineno}, column {error.colno}"
            raise ReportError(f"{name}: malformed JSON in {where}: {error.msg}") from error
        except (ValueError, RecursionError) as error:
            raise ReportError(f"{name}: the JSON cannot be read ({error})") from error
        waiting: list[object] = [value]
        while waiting:
            record = waiting.pop()
            if isinstance(record, list):
                waiting.extend(reversed(record))
            elif not isinstance(record, dict):
                raise ReportError(
                    f"{name}: the JSON is not an object but {str(record)[:40]!r}; a report was"
                    " expected"
                )
            elif (records := _listed_records(record)) is not None:
                waiting.extend(reversed(records))
            else:
                number += 1
                yield f"{name}, record {number}", record


def _listed_records(record: Json) -> list[object] | None:
    """Return the records in an answer to a search; None if it is a record itself.

    They are those of Bugzilla, of Jira's search, of GitHub's search and of GraphQL.
    """
    if {"title", "summary"} & set(record):
        return None
    records = value_at(record, "bugs issues items nodes")
    return records if isinstance(records, list) else None


# ---- new reports


def read_report(source: Path | Literal["-"] | TextIO, *, zone: str = "UTC") -> BugReport:
    """Return the one new report in a file, on standard input (``"-"``) or in an open text stream.

    It is text or Markdown (its first line with words is the summary; front matter may give ``id``
    and ``opened``), the JSON of ``gh issue view``, of GitLab's, Bugzilla's or Jira's REST
    interface, or our own ``{id, summary, description, opened}``. Of test results, the output of a
    run or an event of Sentry (see docs/formats.md) it is the most frequent failure, with a note
    about the others. Its opening time is None if it has none; a time without a zone is read in
    ``zone``. A report without an id is called like its file.

    Raises ReportError if it is missing, empty, an empty template, binary, too large, or JSON of no
    known kind.
    """
    return read_new_reports(source, zone=zone, one=True)[0]


def read_new_reports(
    source: Path | Literal["-"] | TextIO,
    *,
    zone: str = "UTC",
    one: bool = False,
    every_failure: bool = False,
) -> list[BugReport]:
    """Return the new reports in a file, ``one`` or many.

    They are those of ``read_report``, or many as JSON lines or as a list of JSON. With
    ``every_failure`` each distinct failure of a run is a report. One of many without an id is
    called like its file, with its number. Raises ReportError.
    """
    text, name = read_text(source)
    default_id = source.stem if isinstance(source, Path) and source.is_file() else "report"
    read_in = zone_of(zone)
    failures = read_failures(text, read_in, name)
    if failures:
        if not every_failure:
            failures = _lead_failure(failures, name)
        return _with_ids(failures, default_id)
    if re.match(r'\s*(?:\[\s*)?\{\s*["}]|\s*\[\s*\]', text) and not _begins_with_json(text):
        found = []
        for where, record in records_of(text, name):
            found.append((where, report_of(record, where, read_in)))
    else:
        found = [(name, parse_markdown(text, name, read_in))]
    if not found or (one and len(found) > 1):
        raise ReportError(f"{name} contains {len(found)} reports; give exactly one")
    if len(found) == 1 and len(text) >= LARGEST_REPORT:
        raise ReportError(
            f"{name} is 10 MB or larger; keep only the description and the stack trace"
        )
    for where, report in found:
        if not report.summary and not report.description:
            raise ReportError(
                f"{where}: the report is empty; write a summary line and a description"
            )
        if is_unfilled(report):
            raise ReportError(
                f"{where}: the report is an empty template; fill in what happens and where"
            )
    return _with_ids([report for _, report in found], default_id)


def _lead_failure(failures: Sequence[BugReport], name: str) -> list[BugReport]:
    """Return the first of the failures of a run, with a note about the others."""
    others = len(failures) - 1
    if not others:
        return [failures[0]]
    note = (
        f"{name} has {pluralize(others, 'other failure')}; `tosloc localize --jsonl` answers each"
    )
    return [replace(failures[0], notes=(note,))]


def _with_ids(reports: Sequence[BugReport], default_id: str) -> list[BugReport]:
    """Return the reports; those without an id get ``default_id``, with a number if there are more.

    >>> [report.id for report in _with_ids([BugReport("", "a", "", None)] * 2, "bug")]
    ['bug:1', 'bug:2']
    """
    named = []
    for number, report in enumerate(reports, start=1):
        suffix = "" if len(reports) == 1 else f":{number}"
        named.append(replace(report, id=report.id or f"{default_id}{suffix}"))
    return named


def _begins_with_json(text: str) -> bool:
    """Return whether a text only begins with JSON, such as a line of a log, and goes on in words.

    >>> texts = ('{"level": 3} is logged', '{"level": 3}', '{"title": "a"} b')
    >>> [_begins_with_json(text) for text in texts]
    [True, False, False]
    """
    text = text.lstrip("\ufeff \t\n")
    if not text.startswith("{"):
        return False
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    is_issue = bool({"title", "summary"} & set(value))
    next_character = text[end:].lstrip()[:1]
    return not is_issue and next_character not in ("", ",", "{", "[")


# ---- a form that nobody has filled in: what trackers put into a new issue, and nothing beside it


_FORM: Final = re.compile(
    r"""(?ix)
      \W*  # blank, a rule, an empty list item
    | \#{1,6}\s.* | (?:=+|-{2,})  # a heading
    | [-*+]?\s* (?:\*\*|__) [^*_]+ (?:\*\*|__) \s*:?  # **Describe the bug**
    | [-*+]\s+\[[\sx]?\]\s.*  # a box to tick
    | [-*+]?\s* [^:]{1,40} : \s* (?:\[?e\.?g\.?.*)?  # - OS: [e.g. iOS]
    | [-*+]?\s* [\w\s]{1,20} \[e\.?g\.?[^\]]*\] \s*  # - Browser [e.g. chrome]
    | _?no\ response_? | n/?a | none | tbd | \W*what\ did\ you\ expect.*
    | \d\.\s* (?: (?:go\ to|click\ on|scroll\ down\ to)\ ['"].* | see\ error )
    | (?:please\ )?
      (?:describe|explain|include|provide|paste|fill\ in|tell\ us|enter|replace\ this)\b.*
    """
)
"""Lines of a form that nobody has filled in, beside those that ``split_report_text`` knows."""


def is_unfilled(report: BugReport) -> bool:
    """Return whether a report has only a form: its comments, headings, boxes and examples.

    A report that only points to a picture, or shows one, has no words, but it is no form.

    >>> form = "**Describe the bug**\\nA clear and concise description.\\n\\n- OS: [e.g. iOS]"
    >>> [is_unfilled(BugReport("", title, form, None)) for title in ("Bug report", "Crash")]
    [True, False]
    """
    if bare_title(COMMENT.sub("", report.summary)):
        return False
    visible = COMMENT.sub("", report.description)
    if without_pictures(visible) != visible or is_pointer(visible):
        return False
    parts = split_report_text(report.description)
    lines = "\n".join(parts._replace(environment="", form="")).splitlines()
    return all(_FORM.fullmatch(line.strip(" *_")) for line in lines)
