"""One new bug report, as people have it: text, Markdown, or what GitHub, Bugzilla and Jira print as JSON."""

from __future__ import annotations

import re
from datetime import tzinfo

from tosloc.data.report_file import Json, clean, json_of, text_field, time_of
from tosloc.errors import ReportError
from tosloc.records import BugReport

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?=[\w-]+[ \t]*:)(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"#{1,6}[ \t]+")
_UNDERLINE = re.compile(r"(?:=+|-{2,})[ \t]*(?:\n|\Z)")
_BLOCKS = frozenset(
    "paragraph heading codeBlock blockquote listItem panel rule tableRow taskItem decisionItem expand".split()
)


def issue_of(text: str, *, name: str, fallback: str, zone: tzinfo) -> BugReport:
    """The report that ``text`` holds; its kind is seen from the text.

    ``name`` stands in errors, ``fallback`` becomes the id of a report that has none.
    ReportError when the text is empty, or JSON of no known kind.
    """
    text = clean(text).strip("\ufeff")
    record = _record(text, name)
    if record is None:
        number, opened, summary, description = _text(text)
    else:
        number, opened, summary, description = _known(record, name)
    if not summary and not description:
        raise ReportError(f"{name}: the report is empty; write a summary line and a description")
    when = None if opened is None or opened == "" else time_of(opened, zone, name)
    return BugReport(number or fallback, summary, description, when)


def _record(text: str, name: str) -> Json | None:
    """The JSON object in ``text``, or None when it is prose (which may begin with a bracket, too)."""
    begin = text.lstrip()
    if not re.match(r'\{\s*["}]|\[\s*[{\]]', begin):
        return None
    if begin.startswith("["):
        try:
            value = json_of(text, name)
        except ReportError:
            return None  # "[{0}] is printed ...": a summary
        return _only(value, name)
    value = json_of(text, name)
    if not isinstance(value, dict):
        raise ReportError(f"{name}: JSON, but no object; give one report")
    return value


def _only(value: object, name: str) -> Json:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        return value[0]
    count = len(value) if isinstance(value, list) else 0
    raise ReportError(f"{name}: holds {count} reports; give one")


_Fields = tuple[str, object, str, str]
"""id, opening time as written, summary, description."""


def _known(record: Json, name: str) -> _Fields:
    if isinstance(record.get("fields"), dict):
        return _jira(record, name)
    if "bugs" in record:
        return _bugzilla(_only(record["bugs"], name), name)
    if "title" in record:
        return _github(record, name)
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
        'expected `gh issue view --json title,body,createdAt`, a Bugzilla or Jira issue, or {"summary": ...}'
    )


def _github(record: Json, name: str) -> _Fields:
    """A GitHub issue, printed by ``gh`` or answered by the REST interface; its comments came later and are not read."""
    link = text_field(record, "url", name) or text_field(record, "html_url", name)
    number = text_field(record, "number", name) or link.rstrip("/").rpartition("/")[2]
    opened = record.get("createdAt") or record.get("created_at")
    return number, opened, text_field(record, "title", name), text_field(record, "body", name)


def _bugzilla(record: Json, name: str) -> _Fields:
    """A Bugzilla bug; its description is the field of that name or the first comment, never a later one."""
    description = text_field(record, "description", name)
    comments = record.get("comments")
    if not description and isinstance(comments, list) and comments and isinstance(comments[0], dict):
        description = text_field(comments[0], "text", name)
    return text_field(record, "id", name), record.get("creation_time"), text_field(record, "summary", name), description


def _jira(record: Json, name: str) -> _Fields:
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


def _text(text: str) -> _Fields:
    """_Fields of text or Markdown: the first line that is not blank is the summary, the rest the description."""
    facts: dict[str, str] = {}
    if front := _FRONT_MATTER.match(text):
        text = text[front.end() :]
        for line in front.group(1).splitlines():
            key, _, value = line.partition(":")
            facts[key.strip().casefold()] = value.strip().strip("\"'")
    summary = facts.get("summary") or facts.get("title") or ""
    text = text.strip()
    if not summary:
        summary, _, text = text.partition("\n")
        if heading := _HEADING.match(summary.strip()):
            summary = _without_closing_marks(summary.strip()[heading.end() :])
        elif underline := _UNDERLINE.match(text):
            text = text[underline.end() :]
    return facts.get("id", ""), facts.get("opened", ""), summary.strip(), text.strip()
