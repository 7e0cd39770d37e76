"""New bug reports, as people have them: text, Markdown, or what GitHub, GitLab, Bugzilla and Jira print as JSON."""

from __future__ import annotations

import re
from datetime import tzinfo

from tosloc.data.report_file import Json, clean, json_of, text_field, time_of
from tosloc.data.templates import is_unfilled
from tosloc.errors import ReportError
from tosloc.records import BugReport

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?=[\w-]+[ \t]*:)(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"#{1,6}[ \t]+")
_UNDERLINE = re.compile(r"(?:=+|-{2,})[ \t]*(?:\n|\Z)")
_COMMENTS = re.compile(r"\A(?:<!--.*?-->\s*)+", re.DOTALL)
_BLOCKS = frozenset(
    "paragraph heading codeBlock blockquote listItem panel rule tableRow taskItem decisionItem expand".split()
)


def issue_of(text: str, *, name: str, fallback: str, zone: tzinfo) -> BugReport:
    """The one report that ``text`` holds. ReportError when there is none, or several; else see ``issues_of``."""
    issues = issues_of(text, name=name, fallback=fallback, zone=zone)
    if len(issues) != 1:
        raise ReportError(f"{name}: holds {len(issues)} reports; give one")
    return issues[0]


def issues_of(text: str, *, name: str, fallback: str, zone: tzinfo) -> list[BugReport]:
    """The reports that ``text`` holds, one or many: a list of JSON, what a search answered, or JSON by the line.

    Its kind is seen from the text. ``name`` stands in errors, ``fallback`` becomes the id of a report that has none.
    ReportError when the text is empty, says nothing beside the form that was to be filled in, or is JSON of no known
    kind.
    """
    text = clean(text).strip("\ufeff")
    records = _records(text, name)
    if records is None:
        return [_report(_text(text), name, fallback, zone)]
    one = len(records) == 1
    return [
        _report(fields_of(record, where), where, fallback if one else f"{fallback}:{number}", zone)
        for number, (where, record) in enumerate(records, start=1)
    ]


def _report(fields: ReportFields, name: str, fallback: str, zone: tzinfo) -> BugReport:
    number, opened, summary, description = fields
    if not summary and not description:
        raise ReportError(f"{name}: the report is empty; write a summary line and a description")
    if is_unfilled(summary, description):
        raise ReportError(f"{name}: the report is an empty template; fill in what happens and where")
    when = None if opened is None or opened == "" else time_of(opened, zone, name)
    return BugReport(number or fallback, summary, description, when)


def _records(text: str, name: str) -> list[tuple[str, Json]] | None:
    """The JSON objects in ``text``, each with where it stands; None for prose, which may begin with a bracket."""
    begin = text.lstrip()
    if not re.match(r'\{\s*["}]|\[\s*[{\]]', begin):
        return None
    if begin.startswith("["):
        try:
            value = json_of(text, name)
        except ReportError:
            return None  # "[{0}] is printed ...": a summary
        return _several(value, name)
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if len(lines) > 1 and _is_object(lines[0][1]):
        return [_object(line, f"{name}, line {number}") for number, line in lines]
    where, record = _object(text, name)
    for key in ("bugs", "issues", "items"):  # of Bugzilla, of Jira's search, of GitHub's
        if key in record and "title" not in record:
            return _several(record[key], name)
    return [(where, record)]


def _is_object(line: str) -> bool:
    try:
        return isinstance(json_of(line, ""), dict)
    except ReportError:
        return False


def _object(text: str, where: str) -> tuple[str, Json]:
    value = json_of(text, where)
    if not isinstance(value, dict):
        raise ReportError(f"{where}: JSON, but no object; give one report")
    return where, value


def _several(value: object, name: str) -> list[tuple[str, Json]]:
    if not isinstance(value, list) or not value or not all(isinstance(record, dict) for record in value):
        raise ReportError(f"{name}: holds 0 reports; give one")
    return [(name if len(value) == 1 else f"{name}, report {number}", record) for number, record in enumerate(value, 1)]


ReportFields = tuple[str, object, str, str]
"""id, opening time as written, summary, description."""


def fields_of(record: Json, name: str) -> ReportFields:
    """What an issue of a known tracker, or a line of our own, says. Raises ReportError for any other."""
    if isinstance(record.get("fields"), dict):
        return _jira(record, name)
    if "title" in record:
        return _gitlab(record, name) if "iid" in record else _github(record, name)
    if "creation_time" in record:
        return _bugzilla(record, name)
    if "summary" in record:
        return (
            text_field(record, "id", name),
            record.get("opened"),
            text_field(record, "summary", name),
            text_field(record, "description", name),
        )
    keys = ", ".join(list(record)[:6]) or "none"
    raise ReportError(
        f"{name}: JSON of no known kind (keys: {keys}); "
        'expected `gh issue view --json title,body,createdAt`, a GitLab, Bugzilla or Jira issue, or {"summary": ...}'
    )


def _github(record: Json, name: str) -> ReportFields:
    """A GitHub issue, printed by ``gh`` or answered by the REST interface; its comments came later and are not read."""
    link = text_field(record, "url", name) or text_field(record, "html_url", name)
    number = text_field(record, "number", name) or link.rstrip("/").rpartition("/")[2]
    opened = record.get("createdAt") or record.get("created_at")
    return number, opened, text_field(record, "title", name), text_field(record, "body", name)


def _gitlab(record: Json, name: str) -> ReportFields:
    """A GitLab issue, printed by ``glab`` or answered by the REST interface."""
    number, opened = text_field(record, "iid", name), record.get("created_at")
    return number, opened, text_field(record, "title", name), text_field(record, "description", name)


def _bugzilla(record: Json, name: str) -> ReportFields:
    """A Bugzilla bug; its description is the field of that name or the first comment, never a later one."""
    description = text_field(record, "description", name)
    comments = record.get("comments")
    if not description and isinstance(comments, list) and comments and isinstance(comments[0], dict):
        description = text_field(comments[0], "text", name)
    return text_field(record, "id", name), record.get("creation_time"), text_field(record, "summary", name), description


def _jira(record: Json, name: str) -> ReportFields:
    fields = record["fields"]
    assert isinstance(fields, dict)
    description = fields.get("description")
    text = _document(description) if isinstance(description, dict) else text_field(fields, "description", name)
    number = text_field(record, "key", name) or text_field(record, "id", name)
    return number, fields.get("created"), text_field(fields, "summary", name), text


def _document(document: Json) -> str:
    """Text of an Atlassian document (ADF): blocks become lines."""
    pieces: list[str] = []
    waiting: list[object] = [document]
    while waiting:  # a stack, not recursion: the nesting is the file's choice
        node = waiting.pop()
        if isinstance(node, str):
            pieces.append(node)
        if not isinstance(node, dict):
            continue
        kind, attributes = _plain(node.get("type")), node.get("attrs")
        if kind == "text":
            pieces.append(_plain(node.get("text")))
        elif kind == "hardBreak":
            pieces.append("\n")
        elif isinstance(attributes, dict) and kind in ("mention", "emoji", "inlineCard", "status", "date"):
            pieces.append(_plain(attributes.get("text") or attributes.get("url")))
        if kind in _BLOCKS:
            waiting.append("\n")
        content = node.get("content")
        if isinstance(content, list):
            waiting.extend(reversed(content))
    return re.sub(r"\n{3,}", "\n\n", clean("".join(pieces))).strip()


def _plain(value: object) -> str:
    return str(value) if isinstance(value, str | int | float) else ""


def _without_closing_marks(heading: str) -> str:
    """A Markdown heading's text without the ``#`` that may close it.

    >>> [_without_closing_marks(text) for text in ("a ##", "a#", "C # ", "##")]
    ['a', 'a#', 'C', '##']
    """
    heading = heading.rstrip(" \t")
    text = heading.rstrip("#")
    return text.rstrip(" \t") if text.endswith((" ", "\t")) else heading


def _text(text: str) -> ReportFields:
    """ReportFields of text or Markdown: the first line that is not blank is the summary, the rest the description."""
    facts: dict[str, str] = {}
    if front := _FRONT_MATTER.match(text):
        text = text[front.end() :]
        for line in front.group(1).splitlines():
            key, _, value = line.partition(":")
            facts[key.strip().casefold()] = value.strip().strip("\"'")
    summary = facts.get("summary") or facts.get("title") or ""
    text = text.strip()
    if not summary:
        text = _COMMENTS.sub("", text)  # what a form tells those who fill it in
        summary, _, text = text.partition("\n")
        if heading := _HEADING.match(summary.strip()):
            summary = _without_closing_marks(summary.strip()[heading.end() :])
        elif underline := _UNDERLINE.match(text):
            text = text[underline.end() :]
    return facts.get("id", ""), facts.get("opened", ""), summary.strip(), text.strip()
