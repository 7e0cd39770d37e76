"""The trackers whose issues are recognized, and the records of issues in their exports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, tzinfo
from functools import cached_property
from typing import Any, Final, NamedTuple, Self, TypeAlias

from tosloc.core.errors import ReportError
from tosloc.core.inputs import clean, time_of
from tosloc.core.reports import BugReport

Json: TypeAlias = dict[str, object]


class Tracker(NamedTuple):
    """Keys under which a tracker writes the parts of an issue as JSON.

    Fields contain dotted keys separated by blanks; the first key with a value counts.
    """

    name: str
    mark: str
    """A key that issues of this tracker have, and issues of the trackers below it do not."""
    opened: str
    closed: str
    id: str = "id"
    summary: str = "summary"
    description: str = "description"
    state: str = "state"
    """Keys of a value that is true or "open" if the issue is open.

    Without a value the issue also counts as open, except for ``state``, which exports of closed
    issues do not contain. For a tracker that only records the time of closing, give the key of this
    time.
    """
    resolution: str = ""
    """Keys of the way in which the issue was closed."""
    labels: str = "labels"
    """Keys of labels and kinds; the values of all keys count."""
    url: str = ""
    link: str = ""
    r"""Pattern of an issue's address in a text; a named group contains the id, \d{1,9}."""


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


@dataclass(frozen=True, eq=False)
class Record:
    """A value of JSON, such as an issue in an export of a tracker."""

    fields: Any
    """The value; for an issue, an object."""
    where: str
    """Location of the value, for errors."""

    @classmethod
    def read_all(cls, text: str, name: str) -> Iterator[Self]:
        """Yield all objects in a JSON text.

        They may be in a list, in the answer to a search, one a line, or in several answers one
        after the other. Raises ReportError.
        """
        for number, fields in enumerate(_objects(text, name), start=1):
            yield cls(fields, f"{name}, record {number}")

    def value(self, keys: str) -> object:
        """Return the value at the first of the dotted keys that has a value; None if none has."""
        return _value_at(self.fields, keys)

    def text(self, keys: str) -> str:
        """Return the text at the first of the dotted keys that has a value.

        A number is returned as digits. Raises ReportError if the value is not text.
        """
        value = self.value(keys)
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            key = keys.split()[0]
            raise ReportError(f"{self.where}: {key!r} must be text, not {type(value).__name__}")
        return "" if value is None else clean(str(value)).strip()

    def inner(self, keys: str) -> list[Record]:
        """Return the list at a key, also in GraphQL's form; a single value becomes a list."""
        value = self.value(f"{keys}.nodes {keys}")
        if value is None:
            return []
        values = value if isinstance(value, list) else [value]
        return [Record(inner, self.where) for inner in values]

    @cached_property
    def tracker(self) -> Tracker:
        """The tracker that wrote the issue. Raises ReportError if no known tracker did."""
        for tracker in TRACKERS:
            if tracker.mark in self.fields:
                return tracker
        keys = ", ".join(list(self.fields)[:6]) or "none"
        names = ", ".join(tracker.name for tracker in TRACKERS if tracker is not OUR_LINES)
        raise ReportError(
            f"{self.where}: unknown kind of JSON (keys: {keys}); expected an issue of {names}, such"
            ' as `gh issue view --json title,body,createdAt` prints, or {"summary": ...}'
        )

    def report(self, zone: tzinfo = UTC, tracker: Tracker | None = None) -> BugReport:
        """Return the bug report in an issue; its id is empty if it has none. Raises ReportError."""
        tracker = tracker or self.tracker
        number = self.text(tracker.id)
        summary = self.text(tracker.summary)
        document = self.value(tracker.description)
        opened = self.value(tracker.opened)
        if isinstance(document, dict):
            try:
                description = re.sub(r"\n{3,}", "\n\n", clean(_document_text(document))).strip()
            except RecursionError:
                raise ReportError(f"{self.where}: its description is nested too deeply") from None
        else:
            description = self.text(tracker.description)
        if number.startswith(("http:", "https:")):
            number = number.rstrip("/").rpartition("/")[2]
        opening_time = None if opened is None else time_of(opened, zone, self.where)
        return BugReport(number, summary, description, opening_time)


def _value_at(fields: object, keys: str) -> object:
    """Return the value at the first of the dotted keys that has a value; None if none has."""
    for key in keys.split():
        value = fields
        for part in key.split("."):
            if isinstance(value, list) and part.isdigit():
                value = value[int(part)] if int(part) < len(value) else None
            else:
                value = value.get(part) if isinstance(value, dict) else None
        if value not in (None, ""):
            return value
    return None


_BLOCKS: Final = frozenset(
    """
    paragraph heading codeBlock blockquote listItem panel rule tableRow taskItem decisionItem expand
    hardBreak
    """.split()
)
"""Types of nodes in an Atlassian document that end a line."""


def _document_text(node: object) -> str:
    """Return the text of an Atlassian document (ADF), with a line for each block.

    Raises RecursionError.
    """
    if not isinstance(node, dict):
        return ""
    own = _value_at(node, "text attrs.text attrs.url")
    text = own if isinstance(own, str) else ""
    content = node.get("content")
    if isinstance(content, list):
        text += "".join(map(_document_text, content))
    ends_line = str(node.get("type")) in _BLOCKS
    return text + "\n" if ends_line else text


def _objects(text: str, name: str) -> Iterator[Json]:
    """Yield all objects in a JSON text, see ``Record.read_all``. Raises ReportError."""
    decoder = json.JSONDecoder()
    begin = re.compile(r"[^\s,\ufeff]")
    text = text.rstrip("\ufeff \t\n,")
    end = 0
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
                yield record


def _listed_records(record: Json) -> list[object] | None:
    """Return the records in an answer to a search; None if ``record`` itself is the record.

    Such answers come from Bugzilla, Jira's search, GitHub's search and GraphQL.
    """
    if {"title", "summary"} & set(record):
        return None
    records = _value_at(record, "bugs issues items nodes")
    return records if isinstance(records, list) else None
